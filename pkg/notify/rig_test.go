package notify_test

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/notify"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/store/sqlitestore"
)

const (
	secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	commit = "0123456789abcdef0123456789abcdef01234567"
)

// A rig is a store with runs that are done, and senders over it whose clock stands.
type rig struct {
	t       *testing.T
	store   store.Store
	now     time.Time
	targets []eval.Target
	secrets map[string]string
	roots   *x509.CertPool
	// patience of the senders; zero is theirs.
	patience time.Duration
}

func newRig(t *testing.T, targets ...eval.Target) *rig {
	t.Helper()
	path := filepath.Join(t.TempDir(), "evalfarm.db")
	if err := os.WriteFile(path, emptyStore(), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := sqlitestore.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for i := range targets {
		if targets[i].On == nil {
			targets[i].On = []eval.Occasion{eval.OnAlways}
		}
	}
	return &rig{t: t, store: s, now: time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC), targets: targets, secrets: map[string]string{"S": secret}}
}

// emptyStore is the file of a store without runs. To make one takes longer than most
// tests.
var emptyStore = sync.OnceValue(func() []byte {
	dir, err := os.MkdirTemp("", "notify")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "evalfarm.db")
	s, err := sqlitestore.Open(context.Background(), path)
	if err != nil {
		panic(err)
	}
	if err := s.Close(); err != nil {
		panic(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	return content
})

// sender is another process over the same store.
func (r *rig) sender() *notify.Sender { return r.senderOver(r.store) }

func (r *rig) senderOver(s notify.Store) *notify.Sender {
	return notify.New(s, notify.Options{
		Targets: r.targets, Traces: "https://jaeger.example/trace/{trace_id}?a=1&b=|", Version: "test", RootCAs: r.roots, Patience: r.patience,
		Now: func() time.Time { return r.now },
		Secret: func(name string) (string, error) {
			if v, ok := r.secrets[name]; ok {
				return v, nil
			}
			return "", errors.New("there is no secret " + name)
		},
	})
}

// summary of a run of which one script case failed.
func summary(id string) eval.Summary {
	cost, value := int64(1_230_000), 0.75
	begun := time.Date(2026, 3, 1, 1, 58, 40, 0, time.UTC)
	return eval.Summary{
		Run: id, Suite: "nightly-desk", Outcome: eval.OutcomeComplete, Verdict: eval.RunFail, ExitCode: 1,
		Reasons: []string{"NO GATE: script: 1 of 4 failed"}, Trials: 4, Counts: eval.VerdictCounts{Pass: 3, Fail: 1},
		Kinds: map[eval.Kind]eval.Stats{eval.KindScript: {
			Counts: eval.VerdictCounts{Pass: 3, Fail: 1}, PassRate: eval.Rate95{Value: &value, Low: 0.3, High: 0.95, N: 4},
		}},
		Cells: []eval.CellStats{
			{Case: "order/shipped", Variant: "default", Kind: eval.KindScript},
			{Case: "order/lost", Variant: "big", Kind: eval.KindScript, Failure: &eval.Failure{
				Repeat: 1, Verdict: eval.Fail, Reason: eval.ReasonMismatch, Message: "status: want lost, got <b>shipped</b> & paid",
				TraceID: "4bf92f3577b34da6a3ce929d0e0e4736",
			}},
		},
		Cost: eval.Cost{MicroUSD: &cost, KnownMicroUSD: cost}, Git: &eval.Git{Commit: commit},
		Started: begun, Finished: begun.Add(80 * time.Second),
	}
}

// end stores a run that is done, with the notices that its end asks for.
func (r *rig) end(s eval.Summary) {
	r.t.Helper()
	ctx := r.t.Context()
	header := blob.Pack(eval.Encode(eval.Snapshot{Suite: s.Suite, Plan: eval.Plan{}}))
	run := eval.Run{ID: s.Run, Suite: s.Suite, State: eval.RunRunning, Header: header.SHA256, Created: s.Started}
	r.must(r.store.CreateRun(ctx, run, []eval.Blob{header}))
	run.Outcome, run.Verdict, run.ExitCode, run.Finished = s.Outcome, s.Verdict, s.ExitCode, s.Finished
	notices, err := r.sender().Ended(ctx, run)
	r.must(err)
	r.must(r.store.Finish(ctx, run, blob.Pack(eval.Encode(s)), notices...))
}

// deliver is one round of one sender.
func (r *rig) deliver() []store.Notice {
	r.t.Helper()
	ns, err := r.sender().Deliver(r.t.Context(), "")
	r.must(err)
	return ns
}

// one is the only notice of the only run.
func (r *rig) one() store.Notice {
	r.t.Helper()
	ns, err := r.store.Notices(r.t.Context(), "", 0)
	r.must(err)
	if len(ns) != 1 {
		r.t.Fatalf("got the notices %v, want one", ns)
	}
	return ns[0]
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// A receiver is a real server that keeps what is posted to it, and answers as it is
// told; 200 in the end.
type receiver struct {
	*httptest.Server
	mu      sync.Mutex
	got     []*http.Request
	bodies  [][]byte
	answers []http.HandlerFunc
}

func newReceiver(t *testing.T, answers ...http.HandlerFunc) *receiver {
	t.Helper()
	r := &receiver{answers: answers}
	r.Server = httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) serve(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	r.mu.Lock()
	r.got, r.bodies = append(r.got, req), append(r.bodies, body)
	var answer http.HandlerFunc
	if len(r.answers) > 0 {
		answer, r.answers = r.answers[0], r.answers[1:]
	}
	r.mu.Unlock()
	if answer != nil {
		answer(w, req)
	}
}

// requests are those that have come, with their bodies.
func (r *receiver) requests() ([]*http.Request, [][]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got, r.bodies
}

// answer is one with a code, a body and headers in pairs.
func answer(code int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// reset cuts the connection without an answer.
func reset(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// decode reads a JSON document.
func decode(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v in %.200q", err, raw)
	}
	return v
}

// texts lists every string of a JSON document.
func texts(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var all []string
		for _, one := range v {
			all = append(all, texts(one)...)
		}
		return all
	case map[string]any:
		var all []string
		for _, one := range v {
			all = append(all, texts(one)...)
		}
		return all
	}
	return nil
}

// harmless wants a text on one line, in which nothing is hidden.
func harmless(t *testing.T, text string) {
	t.Helper()
	for _, r := range text {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			t.Errorf("U+%04X in %.200q", r, text)
			return
		}
	}
}

// hostile is the corpus of the reports, and texts without an end.
func hostile(t *testing.T) []string {
	t.Helper()
	f, err := os.Open("../report/testdata/hostile.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := []string{
		strings.Repeat("long \x1b]0;", 3000), strings.Repeat("\u0300", 5000), strings.Repeat("<&>", 5000),
		"<!channel> <@U123> <https://evil.example|click> <!subteam^S1>", "a\r\nBcc: evil@example.com\r\n\r\nbody",
		"=?utf-8?q?encoded?= word", "*bold* `code` @channel",
	}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		s, err := strconv.Unquote(lines.Text())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	if lines.Err() != nil || len(all) < 30 {
		t.Fatalf("read %d hostile texts, want at least 30 (error %v)", len(all), lines.Err())
	}
	return all
}

// told is a summary in which everybody talks like this.
func told(id, s string) eval.Summary {
	sum := summary(id)
	sum.Suite, sum.Reasons = s, nil
	sum.Cells = nil
	for range 8 {
		sum.Reasons = append(sum.Reasons, s)
		sum.Cells = append(sum.Cells, eval.CellStats{Case: s, Variant: s, Failure: &eval.Failure{
			Verdict: eval.Fail, Reason: eval.Reason(s), Message: s, TraceID: summary(id).Cells[1].Failure.TraceID,
		}})
	}
	return sum
}
