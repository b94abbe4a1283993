package cli_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
)

// A run that is over waits a while for a collector that says nothing. Whoever does not
// want to wait ends that, and the run came to what it came to.
func TestSignalWhileACollectorIsWaitedFor(t *testing.T) {
	t.Parallel()
	asked, over := make(chan struct{}), make(chan struct{})
	var once sync.Once
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/metrics" { // which are sent when the command ends
			once.Do(func() { close(asked) })
		}
		<-over
	}))
	t.Cleanup(silent.Close)
	t.Cleanup(func() { close(over) })
	s := newShop(t)
	s.env = append(s.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+silent.URL)
	run := s.start("run", s.file("suite.yaml", `version: 1
name: one
servers: {acme: {command: [evalfarm, demo, acme]}}
defaults: {server: acme}
cases: [{id: status, call: getCustomerStatus, arguments: {customerId: CUST-4091}}]
`), "-n", "1")
	<-asked
	run.signal(os.Interrupt)
	if code := run.wait(); code != 0 {
		t.Errorf("exit code %d, want that of a run that passed\n%s", code, run.errs.String())
	}
	if errs := run.errs.String(); !strings.Contains(errs, "interrupted") {
		t.Errorf("standard error says %q, want what was lost because of the interrupt", errs)
	}
}
