package redact_test

import (
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/redact"
)

func ExampleRedactor() {
	r := redact.New(map[string]string{"DESK_TOKEN": "open sesame"})
	fmt.Println(r.String("GET /?token=open+sesame"))
	fmt.Println(r.String("Authorization: Basic dXNlcjpvcGVuIHNlc2FtZQ=="))
	// Output:
	// GET /?token=[secret DESK_TOKEN]
	// Authorization: Basic dXNlcjp[secret DESK_TOKEN]Q==
}
