package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// hookSecret is what the webhooks of scripts are signed with.
const hookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// receive starts a receiver of webhooks at $HOOK that answers with the codes, one
// after the other, and with 200 then: "receive CODE…". A line of the file received
// says of each request whether its signature is good, its id, type, run and verdict;
// of another JSON document, its text.
func receive(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: receive CODE...")
	}
	var codes []int
	for _, arg := range args {
		code, err := strconv.Atoi(arg)
		ts.Check(err)
		codes = append(codes, code)
	}
	file := ts.MkAbs("received")
	ts.Check(os.WriteFile(file, nil, 0o600))
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		line := received(r)
		f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		defer f.Close()
		_, _ = fmt.Fprintln(f, line)
		if len(codes) > 0 {
			w.WriteHeader(codes[0])
			codes = codes[1:]
		}
	}))
	ts.Defer(server.Close)
	ts.Setenv("HOOK", server.URL)
	ts.Setenv("HOOK_SECRET", hookSecret)
}

func received(r *http.Request) string {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err.Error()
	}
	var m struct {
		Text string
		Type string
		Data struct{ Run, Suite, Verdict string }
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return err.Error()
	}
	if m.Text != "" {
		return r.URL.Path + " " + m.Text
	}
	wh, err := standardwebhooks.NewWebhook(hookSecret)
	if err == nil {
		err = wh.Verify(body, r.Header)
	}
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("signed %s %s %s %s %s", r.Header.Get("webhook-id"), m.Type, m.Data.Run, m.Data.Suite, m.Data.Verdict)
}
