package vars_test

import (
	"encoding/json"
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/vars"
)

func ExampleFill() {
	lookup := func(name string) (json.RawMessage, bool) {
		value, ok := map[string]json.RawMessage{"order": json.RawMessage(`"ORD-1"`), "count": json.RawMessage(`6`)}[name]
		return value, ok
	}
	filled, err := vars.Fill(json.RawMessage(`{"id": "{{order}}", "n": "{{count}}", "note": "{{count}} of {{order}}"}`), lookup)
	fmt.Println(string(filled), err)
	_, err = vars.Fill(json.RawMessage(`{"ids": ["{{nobody}}"]}`), lookup)
	fmt.Println(err)
	// Output:
	// {"id":"ORD-1","n":6,"note":"6 of ORD-1"} <nil>
	// /ids/0: nothing gives {{nobody}} a value
}
