package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/blob/blobtest"
	"github.com/evalfarm/evalfarm/pkg/blob/httpblob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/httpapi"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/store/sqlitestore"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

const token = "the farm's token"

// A rig is the API over a real store, whose answers are held against its description.
type rig struct {
	t     *testing.T
	store store.Store
	url   string
	http  *http.Client
	sees  *witness
	// delivered is what the last order brought.
	delivered httpapi.Delivery
}

// serve serves the API. Its runs are of the suites that are sent, with a registered
// server shop.
func serve(t *testing.T, tokens ...httpapi.Token) *rig {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "evalfarm.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	_, router := described(t)
	r := &rig{t: t, store: s}
	srv := httptest.NewServer(httpapi.New(httpapi.Options{
		Farm:  httpblob.Farm{ID: s.ID(), Version: "1.2.3", Lease: 2 * time.Second},
		Token: token, Tokens: tokens, Store: s, Create: r.create, Logger: slog.New(slog.DiscardHandler),
		Traces: "https://jaeger.example/trace/{trace_id}",
	}))
	t.Cleanup(srv.Close)
	r.url = srv.URL
	r.sees = &witness{t: t, next: srv.Client().Transport, router: router}
	r.http = &http.Client{Transport: r.sees}
	return r
}

func (r *rig) create(ctx context.Context, d httpapi.Delivery) (eval.Run, error) {
	r.delivered = d
	loaded, err := suite.Load(d.SuitePath, suite.Options{
		With: d.WithPath, Gate: d.GatePath, Base: d.Dir, Projects: d.Projects(), Set: d.Set, Grant: &suite.Grant{},
		Registered: map[string]eval.Server{"shop": {Command: []string{"shop"}}},
	})
	if err != nil {
		return eval.Run{}, err
	}
	req := scheduler.Request{
		Suite: loaded, Selection: suite.Selection{Cases: d.Cases}, Seed: 7, Tenant: d.Tenant, Carrier: eval.CarrierService, Key: d.Key, Budget: d.Budget,
	}
	if d.Key != "" {
		req.Asked = scheduler.Asked(req, d.Seed, d.Baseline)
	}
	return scheduler.CreateOnce(ctx, r.store, req)
}

func (r *rig) client(token string) *httpapi.Client {
	return httpapi.NewClient(r.url+"/", token, r.http)
}

// shopSuite has two cases, one of them in another file.
func shopSuite() map[string]string {
	return map[string]string{
		"shop/suite.yaml": "version: 1\nservers: {shop: {registered: shop}}\ninclude: [cases/*.yaml]\n" +
			"cases:\n  - {id: one, call: status, arguments: {id: 1}}\n",
		"shop/cases/two.yaml": "version: 1\ncases:\n  - {id: two, call: status, arguments: {id: 2}}\n",
	}
}

// order asks for a run of files, the first of them by name suite.yaml.
func order(files map[string]string) (httpapi.Order, func(string) (eval.Blob, bool)) {
	contents := map[string]eval.Blob{}
	o := httpapi.Order{Suite: httpapi.Sources{Path: "shop/suite.yaml"}, Name: "suites/shop"}
	for name, text := range files {
		b := blob.Pack([]byte(text))
		contents[b.SHA256] = b
		o.Suite.Files = append(o.Suite.Files, httpapi.SourceFile{Path: name, SHA256: b.SHA256})
	}
	return o, func(sha256 string) (eval.Blob, bool) { b, ok := contents[sha256]; return b, ok }
}

// made asks for a run of the shop.
func (r *rig) made(c *httpapi.Client, change ...func(*httpapi.Order)) eval.Run {
	r.t.Helper()
	o, content := order(shopSuite())
	for _, f := range change {
		f(&o)
	}
	run, err := c.Create(r.t.Context(), o, content)
	if err != nil {
		r.t.Fatal(err)
	}
	return run
}

// finish gives the trials of a run results, and ends it.
// traceIDs of trials that are traced.
var traceIDs = map[eval.Verdict]string{eval.Fail: "4bf92f3577b34da6a3ce929d0e0e4736"}

func (r *rig) finish(run eval.Run, verdicts ...eval.Verdict) {
	r.t.Helper()
	var marks []store.Mark
	var records []eval.Record
	for i, v := range verdicts {
		marks = append(marks, store.Mark{Ordinal: i, Attempt: 1, Cursor: i + 1})
		records = append(records, eval.Record{
			UID: run.ID + string(rune('a'+i)), Run: run.ID, Ordinal: i, N: 1, Worker: "w1", Outcome: eval.AttemptDone,
			Result: eval.Result{Verdict: v}, TraceID: traceIDs[v], Started: time.Now().UTC(), Ended: time.Now().UTC(),
		})
	}
	_, err := r.store.Dispatch(r.t.Context(), run.ID, marks)
	if err == nil {
		_, err = r.store.Commit(r.t.Context(), records)
	}
	if err == nil {
		_, err = scheduler.End(r.t.Context(), r.store, run, eval.OutcomeComplete)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// do sends a request and gives the status and the body of its answer.
func (r *rig) do(method, path, auth, body string, headers ...string) (int, string, http.Header) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	if auth != "" {
		req.Header.Set("Authorization", "Bearer "+auth)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := r.http.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, string(answer), resp.Header
}

// Whatever workers put and get at the API passes what every blob store passes.
func TestBlobStore(t *testing.T) {
	r := serve(t)
	blobtest.Exercise(t, func(*testing.T) blob.Store { return httpblob.New(r.url, token, http.DefaultClient) })
}

// Every operation of the description is there, and its answers are as described: the
// witness holds each against it.
func TestEveryOperation(t *testing.T) {
	r := serve(t)
	c := r.client(token)
	ctx := t.Context()
	run := r.made(c)
	if run.Trials != 2 || run.State != eval.RunQueued || run.SuitePath == "" {
		t.Errorf("got %+v, want a queued run of two trials", run)
	}
	if _, err := c.Pause(ctx, run.ID); err != nil {
		t.Error(err)
	}
	if st, err := c.Resume(ctx, run.ID); err != nil || st.Control != eval.ControlRun {
		t.Errorf("got control %q (%v), want %q", st.Control, err, eval.ControlRun)
	}
	live := eval.Live{At: time.Now().UTC(), Running: []eval.Activity{{Run: run.ID, Case: "one", Doing: eval.DoingTool, Since: time.Now().UTC()}}}
	if err := r.store.SetLive(ctx, run.ID, live); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Live(ctx, run.ID); err != nil || len(got.Running) != 1 {
		t.Errorf("got %+v (%v), want what the run is doing", got, err)
	}
	if code, body, _ := r.do("GET", "/api/v1/runs/"+run.ID+"/summary", token, ""); code != 200 {
		t.Errorf("summary of a run that goes on: %d %s", code, body)
	}
	r.finish(run, eval.Pass, eval.Error)
	if code, body, _ := r.do("GET", "/api/v1/runs/"+run.ID+"/summary", token, ""); code != 200 || !strings.Contains(body, `"verdict":"error"`) {
		t.Errorf("summary of a done run: %d %s, want the verdict error", code, body)
	}
	st, err := c.Status(ctx, run.ID)
	if err != nil || st.State != eval.RunDone || st.Done != 2 || st.Counts.Pass != 1 || st.ID != run.ID || st.RunID != run.ID {
		t.Errorf("got %+v (%v), want a done run with one pass", st, err)
	}
	if _, err := c.Gradings(ctx, run.ID); err != nil {
		t.Error(err)
	}
	if as, err := c.Attempts(ctx, run.ID, 1); err != nil || len(as) != 1 || as[0].Verdict != eval.Error {
		t.Errorf("got attempts %+v (%v), want one", as, err)
	}
	if row, err := c.Result(ctx, run.ID, 1); err != nil || row.Result.Verdict != eval.Error {
		t.Errorf("got %+v (%v), want the error", row, err)
	}
	if es, err := c.Events(ctx, run.ID, 0, 100); err != nil || len(es) < 3 {
		t.Errorf("got events %+v (%v), want the results and the states", es, err)
	}
	if got, err := c.Retry(ctx, run.ID, httpapi.Retrying{}); err != nil || got.Due != 1 || got.State != eval.RunRunning {
		t.Errorf("got %d due of a run that is %s (%v), want 1 of a running one", got.Due, got.State, err)
	}
	if st, err := c.Cancel(ctx, run.ID); err != nil || st.Control != eval.ControlCancel {
		t.Errorf("got control %q (%v), want %q", st.Control, err, eval.ControlCancel)
	}
	if runs, err := c.ListRuns(ctx, store.RunFilter{Prefix: "r-", Unfinished: true, Limit: 5}); err != nil || len(runs) != 1 {
		t.Errorf("got %d runs (%v), want 1", len(runs), err)
	}
	for name, none := range map[string]store.RunFilter{"green": {Green: true}, "on a branch": {Branch: "elsewhere"}} {
		if runs, err := c.ListRuns(ctx, none); err != nil || len(runs) != 0 {
			t.Errorf("got %d runs (%v) that are %s, want none", len(runs), err, name)
		}
	}
	if farm, err := c.Farm(ctx); err != nil || farm.Version != "1.2.3" || farm.Lease != 2*time.Second {
		t.Errorf("got farm %+v (%v), want its version and lease", farm, err)
	}
	if _, err := c.GetBlob(ctx, run.Header); err != nil {
		t.Error(err)
	}
	r.do("PUT", httpblob.BlobPath+run.Header, token, string(must(r.store.GetBlob(ctx, run.Header)).Zstd), "Content-Type", "application/zstd")
	for _, path := range []string{"/openapi.yaml", "/healthz", "/readyz"} {
		if code, body, _ := r.do("GET", path, "", ""); code != 200 {
			t.Errorf("%s without a token: %d %s, want 200", path, code, body)
		}
	}
	doc, _ := described(t)
	if left := r.sees.unseen(doc); len(left) > 0 {
		t.Errorf("operations of the description that no request was answered well for: %q", left)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Pages have every trial once, in their order.
func TestTrialsByThePage(t *testing.T) {
	r := serve(t)
	run := r.made(r.client(token))
	r.finish(run, eval.Pass, eval.Fail)
	var got []int
	for cursor := ""; ; {
		code, body, _ := r.do("GET", "/api/v1/runs/"+run.ID+"/trials?limit=1&cursor="+cursor, token, "")
		var page struct {
			Trials []store.Row `json:"trials"`
			Next   string      `json:"next"`
		}
		if err := json.Unmarshal([]byte(body), &page); err != nil || code != 200 {
			t.Fatalf("%d %s: %v", code, body, err)
		}
		for _, row := range page.Trials {
			got = append(got, row.Ordinal)
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if len(got) != 2 || got[0] != 0 || got[1] != 1 {
		t.Errorf("got the ordinals %v, want 0 and 1", got)
	}
	var all []int
	err := r.client(token).EachResult(t.Context(), run.ID, func(row store.Row) error { all = append(all, row.Ordinal); return nil })
	if err != nil || len(all) != 2 {
		t.Errorf("the client got %v (%v), want both", all, err)
	}
}

// The farm says where the traces of trials are, wherever it tells of one that has a
// trace.
func TestLinksToTraces(t *testing.T) {
	const want = "https://jaeger.example/trace/4bf92f3577b34da6a3ce929d0e0e4736"
	r := serve(t)
	c := r.client(token)
	run := r.made(c)
	r.finish(run, eval.Pass, eval.Fail)
	for ordinal, want := range []string{"", want} {
		row := must(c.Result(t.Context(), run.ID, ordinal))
		as := must(c.Attempts(t.Context(), run.ID, ordinal))
		if len(as) != 1 || row.TraceURL != want || as[0].TraceURL != want {
			t.Errorf("trial %d: got %q and %+v, want %q", ordinal, row.TraceURL, as, want)
		}
	}
	var got []string
	for _, cell := range must(c.Summary(t.Context(), run.ID)).Cells {
		if cell.Failure != nil {
			got = append(got, cell.Failure.TraceURL)
		}
	}
	if !slices.Contains(got, want) {
		t.Errorf("got %q in the summary, want %q", got, want)
	}
}

// A stream tells everything once, goes on where it broke off, and ends with the run.
func TestEventStream(t *testing.T) {
	r := serve(t)
	run := r.made(r.client(token))
	path := "/api/v1/runs/" + run.ID + "/events"
	ended := make(chan string, 1)
	go func() {
		_, body, headers := r.do("GET", path, token, "", "Accept", "text/event-stream")
		ended <- headers.Get("Content-Type") + "\n" + body
	}()
	r.finish(run, eval.Pass, eval.Fail)
	whole := <-ended
	if !strings.HasPrefix(whole, "text/event-stream") || strings.Count(whole, "event: result\n") != 2 || !strings.Contains(whole, `"state":"done"`) {
		t.Fatalf("the stream was %q, want two results and the end of the run", whole)
	}
	es, err := r.client(token).Events(t.Context(), run.ID, 0, 100)
	if err != nil || len(es) < 3 {
		t.Fatalf("got %v (%v), want events", es, err)
	}
	last := es[len(es)-1]
	_, rest, _ := r.do("GET", path, token, "", "Accept", "text/event-stream", "Last-Event-ID", itoa(es[len(es)-2].Seq))
	if strings.Count(rest, "data: ") != 1 || !strings.Contains(rest, "id: "+itoa(last.Seq)+"\n") {
		t.Errorf("after the last but one the stream was %q, want the last event", rest)
	}
	if code, body, _ := r.do("GET", path, token, "", "Accept", "text/event-stream", "Last-Event-ID", itoa(last.Seq)); code != 204 || body != "" {
		t.Errorf("after the last one: %d %q, want 204: a browser that is told so asks no more", code, body)
	}
}

func itoa(n int64) string { return string(must(json.Marshal(n))) }

func TestRefusals(t *testing.T) {
	r := serve(t)
	run := r.made(r.client(token))
	good := blob.Pack([]byte("x"))
	tests := []struct {
		name, method, path, auth, body string
		status                         int
	}{
		{"no token", "GET", httpblob.FarmPath, "", "", 401},
		{"another token", "GET", "/api/v1/runs", "nonsense", "", 401},
		{"the token in a query", "GET", httpblob.FarmPath + "?token=" + strings.ReplaceAll(token, " ", "%20"), "", "", 401},
		{"no token for a blob", "PUT", httpblob.BlobPath + good.SHA256, "", string(good.Zstd), 401},
		{"content of another hash", "PUT", httpblob.BlobPath + strings.Repeat("0", 64), token, string(good.Zstd), 422},
		{"content that is no zstd", "PUT", httpblob.BlobPath + good.SHA256, token, "junk", 422},
		{"a method that is none", "DELETE", httpblob.BlobPath + good.SHA256, token, "", 405},
		{"no such path", "GET", "/eval/nothing", token, "", 404},
		{"a zero in a path", "GET", "/api/v1/runs/r-%00", token, "", 400},
		{"a zero in a query", "GET", "/api/v1/runs?suite=%00", token, "", 400},
		{"a zero in a name", "POST", "/api/v1/runs", token, `{"name":"\u0000","suite":{"path":"a","files":[{"path":"a","sha256":"` + good.SHA256 + `"}]}}`, 400},
		{"no such run", "GET", "/api/v1/runs/r-1", token, "", 404},
		{"nothing to ask of a run", "POST", "/api/v1/runs/" + run.ID, token, "", 404},
		{"another thing to ask", "POST", "/api/v1/runs/" + run.ID + ":explode", token, "", 404},
		{"a page of what is no number", "GET", "/api/v1/runs/" + run.ID + "/trials?cursor=abc", token, "", 400},
		{"a page before the first", "GET", "/api/v1/runs/" + run.ID + "/trials?cursor=-1", token, "", 400},
		{"retrying what passed", "POST", "/api/v1/runs/" + run.ID + ":retry", token, `{"only":["pass"]}`, 400},
		{"an order that is no JSON", "POST", "/api/v1/runs", token, `suite: x`, 400},
		{"an order with an unknown key", "POST", "/api/v1/runs", token, `{"suit":{}}`, 400},
		{"two orders", "POST", "/api/v1/runs", token, `{"suite":{"path":"a","files":[]}} {}`, 400},
		{"an order beyond its bounds", "POST", "/api/v1/runs", token, `{"name":"` + strings.Repeat("x", 5<<20) + `"}`, 413},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, body, headers := r.do(tt.method, tt.path, tt.auth, tt.body)
			var p httpapi.Problem
			if err := json.Unmarshal([]byte(body), &p); err != nil || code != tt.status || p.Status != code || p.Detail == "" || headers.Get("Content-Type") != "application/problem+json" {
				t.Errorf("got %d %s (%v), want %d as a problem with a sentence", code, body, err, tt.status)
			}
		})
	}
}

// A page of another origin cannot make a browser ask for anything.
func TestCrossOrigin(t *testing.T) {
	r := serve(t)
	run := r.made(r.client(token))
	for name, headers := range map[string][]string{
		"by its origin":          {"Origin", "https://evil.example"},
		"as the browser says it": {"Sec-Fetch-Site", "cross-site"},
	} {
		if code, body, _ := r.do("POST", "/api/v1/runs/"+run.ID+":cancel", token, "", headers...); code != 403 {
			t.Errorf("%s: got %d %s, want 403", name, code, body)
		}
	}
	if got, err := r.store.Run(t.Context(), run.ID); err != nil || got.Control != eval.ControlRun {
		t.Errorf("the run has control %s (%v), want it left alone", got.Control, err)
	}
}

// Each scope lets do what it says, and nothing else.
func TestScopes(t *testing.T) {
	scoped := func(s httpapi.Scope) httpapi.Token {
		return httpapi.Token{Name: string(s), SHA256: httpapi.HashToken("token of " + string(s)), Scope: s}
	}
	r := serve(t, scoped(httpapi.ScopeWorker), scoped(httpapi.ScopeRead), scoped(httpapi.ScopeRun))
	run := r.made(r.client("token of run"))
	good := blob.Pack([]byte("x"))
	put := func(auth string) int {
		code, _, _ := r.do("PUT", httpblob.BlobPath+good.SHA256, auth, string(good.Zstd), "Content-Type", "application/zstd")
		return code
	}
	for _, tt := range []struct {
		scope                   httpapi.Scope
		join, blob, read, start int
	}{
		{httpapi.ScopeWorker, 200, 204, 403, 403},
		{httpapi.ScopeRead, 200, 403, 200, 403},
		{httpapi.ScopeRun, 200, 204, 200, 202},
	} {
		auth := "token of " + string(tt.scope)
		join, _, _ := r.do("GET", httpblob.FarmPath, auth, "")
		read, _, _ := r.do("GET", "/api/v1/runs/"+run.ID, auth, "")
		start, _, _ := r.do("POST", "/api/v1/runs/"+run.ID+":pause", auth, "")
		if blobs := put(auth); join != tt.join || blobs != tt.blob || read != tt.read || start != tt.start {
			t.Errorf("%s: join %d, put a blob %d, read a run %d, pause one %d; want %+v", tt.scope, join, blobs, read, start, tt)
		}
	}
	_, err := r.client("token of read").Pause(t.Context(), run.ID)
	if denied, ok := errors.AsType[*httpapi.DeniedError](err); !ok || !strings.Contains(denied.Detail, "run") {
		t.Errorf("the client got %v, want a DeniedError that names the scope", err)
	}
}

// A token of a tenant sees and makes its runs only.
func TestTenantsAreKeptApart(t *testing.T) {
	r := serve(t,
		httpapi.Token{Name: "a", SHA256: httpapi.HashToken("a"), Scope: httpapi.ScopeRun, Tenant: "team-a"},
		httpapi.Token{Name: "b", SHA256: httpapi.HashToken("b"), Scope: httpapi.ScopeRun, Tenant: "team-b"})
	ctx := t.Context()
	keyed := func(o *httpapi.Order) { o.Key = "nightly" }
	of := r.made(r.client("a"), keyed)
	if of.Tenant != "team-a" {
		t.Errorf("the run is of tenant %q, want team-a", of.Tenant)
	}
	other := r.made(r.client("b"), keyed) // a key is a tenant's
	if other.ID == of.ID {
		t.Error("one tenant got the run of another by its key")
	}
	for name, get := range map[string]func(c *httpapi.Client) error{
		"status": func(c *httpapi.Client) error { _, err := c.Status(ctx, of.ID); return err },
		"events": func(c *httpapi.Client) error { _, err := c.Events(ctx, of.ID, 0, 1); return err },
		"trials": func(c *httpapi.Client) error { return c.EachResult(ctx, of.ID, func(store.Row) error { return nil }) },
		"cancel": func(c *httpapi.Client) error { _, err := c.Cancel(ctx, of.ID); return err },
		"retry":  func(c *httpapi.Client) error { _, err := c.Retry(ctx, of.ID, httpapi.Retrying{}); return err },
	} {
		if err := get(r.client("b")); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s of another tenant's run: got %v, want ErrNotFound", name, err)
		}
	}
	runs, err := r.client("b").ListRuns(ctx, store.RunFilter{Tenant: "team-a"})
	if err != nil || len(runs) != 1 || runs[0].ID != other.ID {
		t.Errorf("the tenant lists %+v (%v), want its own run", runs, err)
	}
	o, content := order(shopSuite())
	o.Tenant = "team-a"
	if _, err := r.client("b").Create(ctx, o, content); err == nil {
		t.Error("a run was made on another tenant's account")
	}
}

func TestTokenIsRequired(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a farm without a token was served")
		}
	}()
	httpapi.New(httpapi.Options{})
}

// The same key with the same order gives the same run, and with another order none.
func TestIdempotencyKey(t *testing.T) {
	r := serve(t)
	c := r.client(token)
	keyed := func(o *httpapi.Order) { o.Key = "nightly-1" }
	first := r.made(c, keyed)
	if again := r.made(c, keyed); again.ID != first.ID {
		t.Errorf("the same order again made run %s, want %s", again.ID, first.ID)
	}
	o, content := order(shopSuite())
	for _, bad := range []string{strings.Repeat("k", 201), "k\xff"} {
		o.Key = bad
		if _, err := c.Create(t.Context(), o, content); err == nil || !strings.Contains(err.Error(), "idempotency key") {
			t.Errorf("the key %.5q: got %v, want it refused", bad, err)
		}
	}
	o.Key, o.Cases = "nightly-1", []string{"one"}
	_, err := c.Create(t.Context(), o, content)
	if used, ok := errors.AsType[*scheduler.KeyError](err); !ok || used.Run != first.ID || used.Key != "nightly-1" {
		t.Errorf("another order with the key: got %v, want a KeyError with the run", err)
	}
	if runs, err := c.ListRuns(t.Context(), store.RunFilter{}); err != nil || len(runs) != 1 {
		t.Errorf("there are %d runs (%v), want 1", len(runs), err)
	}
}

// The trace context of who asks travels beside the order, and is no part of it.
func TestCallerTravels(t *testing.T) {
	const caller = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	r := serve(t)
	c := r.client(token)
	keyed := func(traceparent string) func(*httpapi.Order) {
		return func(o *httpapi.Order) { o.Key, o.Traceparent = "nightly-1", traceparent }
	}
	first := r.made(c, keyed(caller))
	if got := r.delivered.Traceparent; got != caller {
		t.Errorf("got the caller %q, want %q", got, caller)
	}
	if again := r.made(c, keyed("none of them")); again.ID != first.ID || r.delivered.Traceparent != "" {
		t.Errorf("got the run %s of the caller %q, want the same run, and no caller", again.ID, r.delivered.Traceparent)
	}
}

// What is wrong with an order comes back as the error that it was.
func TestErrorsTravel(t *testing.T) {
	r := serve(t)
	c := r.client(token)
	ctx := t.Context()
	files := shopSuite()
	files["shop/suite.yaml"] += "  - {id: three, cal: status}\n"
	o, content := order(files)
	_, err := c.Create(ctx, o, content)
	problems, ok := errors.AsType[*suite.ProblemsError](err)
	if !ok {
		t.Fatalf("a mistake in a suite: got %v, want its problems", err)
	}
	p := problems.Problems[0]
	if p.File != "suite/shop/suite.yaml" || p.Line != 6 || p.Column == 0 || !strings.Contains(p.Source, "cal: status") || !strings.Contains(p.Hint, "call") {
		t.Errorf("got %+v, want it with its place, line and hint", p)
	}
	o, content = order(shopSuite())
	o.Cases = []string{"nothing"}
	if _, err := c.Create(ctx, o, content); !errors.Is(err, scheduler.ErrEmpty) {
		t.Errorf("a selection of nothing: got %v, want ErrEmpty", err)
	}
	run := r.made(c)
	r.finish(run, eval.Pass, eval.Pass)
	_, err = c.Cancel(ctx, run.ID)
	if refused, ok := errors.AsType[*scheduler.RefusedError](err); !ok || !strings.Contains(refused.Message, "done already") {
		t.Errorf("cancelling a done run: got %v, want a RefusedError", err)
	}
	gone := httpapi.NewClient("http://127.0.0.1:1", token, http.DefaultClient)
	if _, err := gone.Status(ctx, run.ID); err == nil || !strings.Contains(err.Error(), "reach the farm at http://127.0.0.1:1") {
		t.Errorf("nobody there: got %v, want that the farm is not reached", err)
	}
	stranger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, bytes.NewReader([]byte("<html>"))) }))
	defer stranger.Close()
	if _, err := httpapi.NewClient(stranger.URL, token, http.DefaultClient).Status(ctx, run.ID); err == nil || !strings.Contains(err.Error(), "no farm") {
		t.Errorf("something else there: got %v, want that it is no farm", err)
	}
}

// A farm whose scheduler is started anew is waited for by who reads, once it has
// answered; what is asked for is asked once.
func TestPatience(t *testing.T) {
	r := serve(t)
	run := r.made(r.client(token))
	flaky := &flaky{next: r.http.Transport}
	c := httpapi.NewClient(r.url, token, &http.Client{Transport: flaky})
	flaky.failing = 1
	if _, err := c.Status(t.Context(), run.ID); err == nil {
		t.Error("a farm that never answered was waited for")
	}
	if _, err := c.Status(t.Context(), run.ID); err != nil {
		t.Fatal(err)
	}
	flaky.failing = 2
	if _, err := c.Status(t.Context(), run.ID); err != nil || flaky.failing != 0 {
		t.Errorf("a farm that was away for a moment: %v, want its answer", err)
	}
	flaky.failing = 1
	if _, err := c.Pause(t.Context(), run.ID); err == nil || flaky.failing != 0 {
		t.Errorf("got %v, want the request to have failed once", err)
	}
}

// A flaky transport fails as often as it is told.
type flaky struct {
	next    http.RoundTripper
	failing int
}

func (f *flaky) RoundTrip(req *http.Request) (*http.Response, error) {
	if f.failing > 0 {
		f.failing--
		return nil, errors.New("connection refused")
	}
	return f.next.RoundTrip(req)
}
