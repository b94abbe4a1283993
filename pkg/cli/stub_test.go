package cli_test

import (
	"io"
	"net/http"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// ask gets an address, or with a key and a file posts the file there, and
// prints the answer: "ask URL [KEY FILE]".
func ask(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 && len(args) != 3 {
		ts.Fatalf("usage: ask URL [KEY FILE]")
	}
	req, err := http.NewRequest(http.MethodGet, args[0], nil)
	ts.Check(err)
	if len(args) == 3 {
		req, err = http.NewRequest(http.MethodPost, args[0], strings.NewReader(ts.ReadFile(args[2])))
		ts.Check(err)
		req.Header.Set("Authorization", "Bearer "+args[1])
	}
	res, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer res.Body.Close()
	_, err = io.Copy(ts.Stdout(), res.Body)
	ts.Check(err)
}
