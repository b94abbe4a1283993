package worker_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/internal/commandtest"
	"github.com/evalfarm/evalfarm/internal/demo"
	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
	"github.com/evalfarm/evalfarm/pkg/mcp/client"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/telemetry/telemetrytest"
	"github.com/evalfarm/evalfarm/pkg/worker"
)

// serveDemo makes the test binary a server under test.
const serveDemo = "serve-demo"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == serveDemo {
		fmt.Fprintln(os.Stderr, "token", os.Getenv("TOKEN"))
		o := demo.Options{Name: "acme", In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
		if len(os.Args) > 2 {
			o.Break = os.Args[2]
		}
		if file := os.Getenv("HEARD"); file != "" {
			o.Heard = heardIn(file)
		}
		if err := demo.Serve(context.Background(), o); err != nil {
			os.Exit(1)
		}
		commandtest.Exit(0)
	}
	os.Exit(m.Run())
}

// place is a queue of one worker. It hands out the jobs that a test enqueues and
// says what the test wants.
type place struct {
	jobs  chan jobs.Job
	grant func(jobs.Claim) jobs.Grant
	word  func(jobs.Claim) jobs.Word
	tell  func([]eval.Activity)
	// passage of what the worker keeps; needed with a spool only
	passage func(jobs.Claim) jobs.Passage

	mu       sync.Mutex // guards the following fields
	returned []jobs.Claim
	answers  map[string]error // of the handler, by job key
	handled  chan string
}

func (p *place) Serve(ctx context.Context, _ string, slots int, h jobs.Handler) error {
	var handlers sync.WaitGroup
	for range slots {
		handlers.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case j := <-p.jobs:
					err := h(context.WithoutCancel(ctx), j)
					p.mu.Lock()
					p.answers[j.Key()] = err
					p.mu.Unlock()
					p.handled <- j.Key()
				}
			}
		})
	}
	handlers.Wait()
	return nil
}

func (p *place) Claim(_ context.Context, c jobs.Claim) (jobs.Grant, error) {
	if p.grant == nil {
		return jobs.Granted, nil
	}
	return p.grant(c), nil
}

func (p *place) Return(_ context.Context, c jobs.Claim) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.returned = append(p.returned, c)
	return nil
}

func (p *place) Tell(_ context.Context, _ string, as []eval.Activity) error {
	if p.tell != nil {
		p.tell(as)
	}
	return nil
}

func (p *place) Beat(_ context.Context, _ string, _ int, cs []jobs.Claim) ([]jobs.Word, error) {
	var words []jobs.Word
	for _, c := range cs {
		w := jobs.Word{UID: c.UID, Control: eval.ControlRun}
		if p.word != nil {
			w = p.word(c)
		}
		words = append(words, w)
	}
	return words, nil
}

func (p *place) Passages(_ context.Context, cs []jobs.Claim) ([]jobs.Passage, error) {
	passages := make([]jobs.Passage, len(cs))
	for i, c := range cs {
		passages[i] = p.passage(c)
	}
	return passages, nil
}

func (p *place) Discard(context.Context, []jobs.Claim) error           { return nil }
func (p *place) Commit(context.Context, jobs.Claim, eval.Record) error { return nil }
func (p *place) Finish(context.Context, jobs.Claim) error              { return nil }
func (p *place) Lease() time.Duration                                  { return 50 * time.Millisecond }

// memory is a blob store and a sink.
type memory struct {
	mu      sync.Mutex // guards the following fields
	blobs   map[string]eval.Blob
	records []eval.Record
	failing int // how many commits fail before one succeeds
}

func (m *memory) PutBlobs(_ context.Context, bs ...eval.Blob) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range bs {
		m.blobs[b.SHA256] = b
	}
	return nil
}

func (m *memory) GetBlob(_ context.Context, sha string) (eval.Blob, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.blobs[sha]
	if !ok {
		return b, store.ErrNotFound
	}
	return b, nil
}

func (m *memory) Commit(_ context.Context, _ jobs.Claim, r eval.Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failing > 0 {
		m.failing--
		return errors.New("the way is blocked")
	}
	m.records = append(m.records, r)
	return nil
}

// bundle is a worker among the parts above.
type bundle struct {
	t      *testing.T
	place  *place
	memory *memory
	header string
	stop   context.CancelFunc
	done   chan error
}

type option func(*worker.Options, *eval.Snapshot, []eval.Case)

func setup(t *testing.T, cases []eval.Case, opts ...option) *bundle {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b := &bundle{
		t:      t,
		place:  &place{jobs: make(chan jobs.Job, 100), answers: map[string]error{}, handled: make(chan string, 100)},
		memory: &memory{blobs: map[string]eval.Blob{}},
		done:   make(chan error, 1),
	}
	snap := eval.Snapshot{
		Suite:    "made",
		Dir:      t.TempDir(),
		Servers:  map[string]eval.Server{"acme": {Command: []string{self, serveDemo}}},
		Variants: []eval.Variant{eval.NewVariant(nil)},
	}
	pool := client.NewPool(client.NewOpener(client.Options{}), 0)
	o := worker.Options{ID: "w", Slots: 4, Place: b.place, Blobs: b.memory, Sink: b.memory, Sessions: pool, Grace: time.Minute}
	for _, opt := range opts {
		opt(&o, &snap, cases)
	}
	for i, c := range cases {
		packed := blob.Pack(eval.Encode(c))
		_ = b.memory.PutBlobs(t.Context(), packed)
		snap.Cases = append(snap.Cases, eval.CaseRef{ID: c.ID, Kind: c.Kind, Blob: packed.SHA256})
		for v := range snap.Variants {
			snap.Plan.Cells = append(snap.Plan.Cells, eval.Cell{Case: i, Variant: v, Repeats: 1})
		}
	}
	header := blob.Pack(eval.Encode(snap))
	_ = b.memory.PutBlobs(t.Context(), header)
	b.header = header.SHA256
	ctx, stop := context.WithCancel(t.Context())
	b.stop = stop
	go func() { b.done <- worker.New(o).Run(ctx) }()
	t.Cleanup(func() {
		stop()
		pool.Close()
	})
	return b
}

// do delivers the first n ordinals and waits until they are dealt with.
func (b *bundle) do(n int) []eval.Record {
	b.t.Helper()
	for i := range n {
		b.place.jobs <- jobs.Job{Run: "r-1", Ordinal: i, Attempt: 1, Header: b.header}
	}
	for range n {
		b.handled()
	}
	b.memory.mu.Lock()
	defer b.memory.mu.Unlock()
	return b.memory.records
}

// handled waits for one delivery to be dealt with and gives the answer.
func (b *bundle) handled() error {
	b.t.Helper()
	select {
	case key := <-b.place.handled:
		b.place.mu.Lock()
		defer b.place.mu.Unlock()
		return b.place.answers[key]
	case <-time.After(time.Minute):
		b.t.Fatal("a delivery was never dealt with")
		return nil
	}
}

func call(id, arguments, expect string) eval.Case {
	return eval.Case{ID: id, Kind: eval.KindScript, Server: "acme", Steps: []eval.Step{{
		ID: "1", Call: "getCustomerStatus", Arguments: eval.JSON(arguments), Expect: eval.JSON(expect),
	}}}
}

func active(id string) eval.Case {
	return call(id, `{"customerId":"CUST-4091"}`, `{"status":"ACTIVE"}`)
}

func TestRecordOfATrial(t *testing.T) {
	b := setup(t, []eval.Case{active("a")})
	records := b.do(1)
	if len(records) != 1 {
		t.Fatalf("%d records, want 1", len(records))
	}
	r := records[0]
	if r.Outcome != eval.AttemptDone || r.Result.Verdict != eval.Pass || r.N != 1 || r.Worker != "w" || r.UID == "" {
		t.Errorf("record %+v, want a pass of attempt 1 by w", r)
	}
	if r.Result.Counts.ToolCalls != 1 || len(r.Result.Scores) != 1 || r.Result.Server.Name == "" {
		t.Errorf("result %+v, want one call, one score and the server's name", r.Result)
	}
	var tr eval.Trajectory
	if err := b.memory.PutBlobs(t.Context(), r.Blobs...); err != nil {
		t.Fatal(err)
	}
	if err := blob.LoadJSON(t.Context(), b.memory, r.Result.Trajectory, &tr); err != nil {
		t.Fatal(err)
	}
	if tr.Hash() != r.Result.TrajectoryHash || len(tr.Turns) != 1 {
		t.Errorf("the stored trajectory has %d turns and another hash than the result", len(tr.Turns))
	}
}

func TestAxesSetVarsAndEnv(t *testing.T) {
	c := call("a", `{"customerId":"{{own}}"}`, `{"customerId":"{{own}}"}`)
	b := setup(t, []eval.Case{c}, func(_ *worker.Options, s *eval.Snapshot, _ []eval.Case) {
		s.Axes = []eval.Axis{{Name: "tenant", Points: []eval.Point{
			{Value: "acme", Vars: map[string]eval.JSON{"own": eval.JSON(`"CUST-4091"`)}},
			{Value: "globex", Vars: map[string]eval.JSON{"own": eval.JSON(`"CUST-7734"`)}},
		}}}
		s.Variants = []eval.Variant{eval.NewVariant(map[string]string{"tenant": "acme"}), eval.NewVariant(map[string]string{"tenant": "globex"})}
	})
	records := b.do(2)
	for _, r := range records {
		if r.Result.Verdict != eval.Pass {
			t.Errorf("trial %d: %s %s", r.Ordinal, r.Result.Verdict, r.Result.Message)
		}
	}
	if len(records) == 2 && records[0].Result.TrajectoryHash == records[1].Result.TrajectoryHash {
		t.Error("both tenants did the same")
	}
}

func TestSecretsNeverLeaveTheWorker(t *testing.T) {
	const secret = "s3cr3t-of-the-worker"
	// The demo writes its token to stderr, which is kept for trials that fail.
	c := call("a", `{"customerId":"CUST-4091"}`, `{"status":"GONE"}`)
	b := setup(t, []eval.Case{c}, func(o *worker.Options, s *eval.Snapshot, _ []eval.Case) {
		server := s.Servers["acme"]
		server.Env = map[string]string{"TOKEN": "${{ secrets.TOKEN }}"}
		s.Servers["acme"] = server
		o.Secret = func(string) (string, error) { return secret, nil }
	})
	r := b.do(1)[0]
	if r.Result.Verdict != eval.Fail || !strings.Contains(r.Result.Stderr, "token [secret TOKEN]") {
		t.Errorf("verdict %s, stderr %q; want a fail that shows the redacted token", r.Result.Verdict, r.Result.Stderr)
	}
	everything := string(eval.Encode(r))
	for _, packed := range r.Blobs {
		raw, err := blob.Unpack(packed)
		if err != nil {
			t.Fatal(err)
		}
		everything += string(raw)
	}
	if strings.Contains(everything, secret) {
		t.Error("the secret is in the record")
	}
}

func TestTrialsThatCannotStart(t *testing.T) {
	tests := []struct {
		name    string
		server  eval.Server
		reason  eval.Reason
		outcome eval.AttemptOutcome
	}{
		{"no such command", eval.Server{Command: []string{"/no/such/command"}}, eval.ReasonStartFailed, eval.AttemptDone},
		{"exits at once", eval.Server{Command: []string{"/bin/false"}}, eval.ReasonStartExited, eval.AttemptFailed},
		{"nobody listens", eval.Server{URL: "http://127.0.0.1:1/mcp"}, eval.ReasonUnreachable, eval.AttemptFailed},
		{"no secret", eval.Server{URL: "http://127.0.0.1:1/${{ secrets.GONE }}"}, eval.ReasonSecretMissing, eval.AttemptDone},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := setup(t, []eval.Case{active("a")}, func(_ *worker.Options, s *eval.Snapshot, _ []eval.Case) { s.Servers["acme"] = tt.server })
			r := b.do(1)[0]
			if r.Outcome != tt.outcome || r.Result.Verdict != eval.Error || r.Result.Reason != tt.reason || r.Result.Message == "" {
				t.Errorf("got %s, %s, %s, %q; want %s, error, %s", r.Outcome, r.Result.Verdict, r.Result.Reason, r.Result.Message, tt.outcome, tt.reason)
			}
		})
	}
}

// What is shown of an answer is cut short; a secret across the cut must not leave
// its half behind. The demo repeats its token in a rejection, behind padding of
// every length around the cuts.
func TestSecretsAreTakenOutBeforeAnythingIsCut(t *testing.T) {
	const secret = "s3cr3t-of-the-worker"
	var cases []eval.Case
	for pad := 0; pad < 400; pad += 7 {
		id := strings.Repeat("A", pad) + secret
		cases = append(cases, call(fmt.Sprintf("pad-%d", pad), fmt.Sprintf(`{"customerId":%q}`, id), `{"status":"ACTIVE"}`))
	}
	b := setup(t, cases, func(o *worker.Options, s *eval.Snapshot, _ []eval.Case) {
		server := s.Servers["acme"]
		server.Env = map[string]string{"TOKEN": "${{ secrets.TOKEN }}"}
		s.Servers["acme"] = server
		o.Secret = func(string) (string, error) { return secret, nil }
	})
	for _, r := range b.do(len(cases)) {
		everything := string(eval.Encode(r.Result))
		for _, packed := range r.Blobs {
			raw, err := blob.Unpack(packed)
			if err != nil {
				t.Fatal(err)
			}
			everything += string(raw)
		}
		if strings.Contains(everything, secret[:8]) {
			t.Errorf("trial %d keeps a part of the secret", r.Ordinal)
		}
	}
}

// A crash takes the session from under every trial that uses it. Only the trial
// that crashes the server when it is alone with it has failed.
func TestCrashOfASharedSessionJudgesOnlyTheCulprit(t *testing.T) {
	cases := []eval.Case{call("culprit", `{"customerId":"'; DROP TABLE users; --"}`, `{"status":"ACTIVE"}`)}
	for i := range 7 {
		cases = append(cases, active(fmt.Sprintf("bystander-%d", i)))
	}
	tracer, rec := telemetrytest.New(t)
	b := setup(t, cases, func(o *worker.Options, s *eval.Snapshot, _ []eval.Case) {
		o.Slots, o.Tracer = 8, tracer
		server := s.Servers["acme"]
		server.Command = append(server.Command, "crash-on-hostile-input")
		s.Servers["acme"] = server
	})
	for _, r := range b.do(len(cases)) {
		want := eval.Pass
		if r.Result.Reason == eval.ReasonServerCrashed {
			want = eval.Fail
		}
		if r.Result.Verdict != want {
			t.Errorf("trial %d: %s %s %s", r.Ordinal, r.Result.Verdict, r.Result.Reason, r.Result.Message)
		}
	}
	crashed, told := 0, 0
	for _, r := range b.memory.records {
		for _, f := range r.Result.Findings {
			if f.Code == "repeated_alone" {
				told++
				// Its trace shows both, and judges nobody by the first.
				var verdicts []any
				for _, s := range rec.Spans() {
					if strings.HasPrefix(s.Name, "script ") && s.TraceID == r.TraceID {
						verdicts = append(verdicts, s.Attrs["evalfarm.outcome"], s.Attrs["evalfarm.verdict"], len(s.Events))
					}
				}
				if diff := cmp.Diff([]any{"in_doubt", nil, 0, nil, string(r.Result.Verdict), 1}, verdicts); diff != "" {
					t.Errorf("trial %d: outcomes, verdicts and events of its scripts (-want +got):\n%s", r.Ordinal, diff)
				}
			}
		}
		if r.Result.Reason == eval.ReasonServerCrashed {
			crashed++
		}
	}
	if crashed != 1 {
		t.Errorf("%d trials failed by the crash, want the culprit alone", crashed)
	}
	if told == 0 {
		t.Error("no trial tells that it was repeated alone; a server that breaks under company must not pass in silence")
	}
}

// A worker that cannot read what to do has tried nothing: the attempt goes back.
func TestTrialThatCannotBeReadIsGivenBack(t *testing.T) {
	b := setup(t, []eval.Case{active("a")})
	b.place.jobs <- jobs.Job{Run: "r-1", Attempt: 1, Header: strings.Repeat("0", 64)}
	if _, later := errors.AsType[*jobs.LaterError](b.handled()); !later || len(b.place.returned) != 1 || len(b.memory.records) != 0 {
		t.Errorf("later %t, %d given back, %d records; want the attempt given back", later, len(b.place.returned), len(b.memory.records))
	}
}

func TestCommitGoesOnUntilTheWayIsFree(t *testing.T) {
	b := setup(t, []eval.Case{active("a")})
	b.memory.failing = 3
	if got := len(b.do(1)); got != 1 {
		t.Errorf("%d records, want 1", got)
	}
}

func TestGrants(t *testing.T) {
	tests := []struct {
		grant   jobs.Grant
		records int
		later   bool
	}{
		{jobs.Granted, 1, false},
		{jobs.Refused, 0, false},
		{jobs.Dropped, 0, false},
		{jobs.Held, 0, true},
	}
	for _, tt := range tests {
		t.Run(string(tt.grant), func(t *testing.T) {
			b := setup(t, []eval.Case{active("a")})
			b.place.grant = func(jobs.Claim) jobs.Grant { return tt.grant }
			b.place.jobs <- jobs.Job{Run: "r-1", Attempt: 1, Header: b.header}
			_, later := errors.AsType[*jobs.LaterError](b.handled())
			if later != tt.later || len(b.memory.records) != tt.records {
				t.Errorf("later %t with %d records, want %t with %d", later, len(b.memory.records), tt.later, tt.records)
			}
		})
	}
}

// poll is a case that polls for a minute.
func poll() eval.Case {
	c := active("slow")
	c.Steps[0].RepeatUntil = &eval.RepeatUntil{Path: "status", Equals: eval.JSON(`"NEVER"`), Max: 1000, Every: 50 * time.Millisecond}
	return c
}

func TestWordsEndATrial(t *testing.T) {
	tests := []struct {
		name     string
		word     jobs.Word
		returned bool
	}{
		{"cancelled", jobs.Word{Control: eval.ControlCancel}, true},
		{"superseded", jobs.Word{Superseded: true}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := setup(t, []eval.Case{poll()})
			b.place.word = func(c jobs.Claim) jobs.Word {
				w := tt.word
				w.UID = c.UID
				return w
			}
			b.place.jobs <- jobs.Job{Run: "r-1", Attempt: 1, Header: b.header}
			if err := b.handled(); err != nil {
				t.Errorf("the delivery came to %v, want it dealt with", err)
			}
			if got := len(b.place.returned) == 1; got != tt.returned || len(b.memory.records) != 0 {
				t.Errorf("given back: %t, %d records; want %t and none", got, len(b.memory.records), tt.returned)
			}
		})
	}
}

func TestDrainGivesBackWhatDoesNotFinish(t *testing.T) {
	began := make(chan string, 1)
	b := setup(t, []eval.Case{poll()}, func(o *worker.Options, _ *eval.Snapshot, _ []eval.Case) {
		o.Grace = time.Millisecond
		o.Began = func(uid string, _ eval.Trial) { began <- uid }
	})
	b.place.jobs <- jobs.Job{Run: "r-1", Attempt: 1, Header: b.header}
	<-began
	b.stop()
	if err := <-b.done; err != nil {
		t.Errorf("worker ended with %v", err)
	}
	if _, later := errors.AsType[*jobs.LaterError](b.handled()); !later || len(b.place.returned) != 1 || len(b.memory.records) != 0 {
		t.Errorf("later %t, %d given back, %d records; want the attempt given back", later, len(b.place.returned), len(b.memory.records))
	}
}

// A worker that joined before the scheduler was upgraded hands back, unclaimed, what it
// cannot read, finishes what runs, and says why it ends.
func TestWorkerEndsWhenAJobIsTooNewForIt(t *testing.T) {
	b := setup(t, []eval.Case{active("a")})
	claims := 0
	b.place.grant = func(jobs.Claim) jobs.Grant { claims++; return jobs.Granted }
	b.place.jobs <- jobs.Job{Run: "r-1", Attempt: 1, Header: b.header, Format: jobs.Format}
	if err := b.handled(); err != nil {
		t.Fatalf("a job of its own format: %v", err)
	}
	b.place.jobs <- jobs.Job{Run: "r-1", Attempt: 2, Header: "of a format unknown", Format: jobs.Format + 1}
	if _, later := errors.AsType[*jobs.LaterError](b.handled()); !later || claims != 1 {
		t.Errorf("a job of a newer format: later %t after %d claims, want it handed back unclaimed", later, claims)
	}
	select {
	case err := <-b.done:
		if old, ok := errors.AsType[*worker.OutdatedError](err); !ok || old.Format != jobs.Format+1 {
			t.Errorf("the worker ended with %v, want an OutdatedError", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the worker goes on")
	}
}
