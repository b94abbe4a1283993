package cli_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/internal/redistest"
	"github.com/evalfarm/evalfarm/pkg/app"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// scriptedSuite has one agent, of a model that takes so long for its answer and asks
// nobody.
func scriptedSuite(s *shop, latency string) string {
	s.file("policy.yaml", "version: 1\ndefault: [{say: \"They are ACTIVE.\", latency: "+latency+"}]\n")
	return s.file("suite.yaml", `version: 1
name: scripted
servers: {shop: {command: [evalfarm, demo, acme], isolation: shared}}
models: {m: {provider: scripted, script: policy.yaml}}
defaults: {server: shop, model: m}
cases:
  - {id: a, prompt: "How are they?", checks: [{contains: ACTIVE}]}
`)
}

// dispatched is when the trials of a run were given out that have a result, the first
// first.
func (s *shop) dispatched(run string) (at []time.Time) {
	s.t.Helper()
	db, err := app.Config{Home: filepath.Join(s.dir, "home")}.OpenStore(s.t.Context())
	if err == nil {
		defer db.Close()
		err = db.EachResult(s.t.Context(), run, func(r store.Row) error {
			at = append(at, r.Started.Add(-time.Duration(r.Result.Times.QueueMS*float64(time.Millisecond))))
			return nil
		})
	}
	if err != nil {
		s.t.Fatal(err)
	}
	slices.SortFunc(at, time.Time.Compare)
	return at
}

// A run of 20 trials that is enqueued behind one of 10,000 has all of them out before
// the large one gets its next 60.
func TestSmallRunBehindALargeOne(t *testing.T) {
	s := newShop(t)
	suite := scriptedSuite(s, "300ms")
	redis := redistest.Start(t)
	sched, at := serve(s, redis)
	hands := join(s, redis, at, 2)
	large := s.enqueue(suite, "-n", "10000")
	eventually(t, "the large run is under way", func() bool { return s.done() >= 30 })
	small := s.enqueue(suite, "-n", "20")
	if out, code := s.run("watch", small, "-q", "--progress", "none"); code != 0 {
		t.Fatalf("the small run: exit code %d, want 0\n%s", code, out)
	}
	// What the large one got last comes to its end.
	stopped(t, append(hands, sched)...)
	few := s.dispatched(small)
	if len(few) != 20 {
		t.Fatalf("%d trials of the small run have a result, want 20", len(few))
	}
	between := 0
	for _, when := range s.dispatched(large) {
		if when.After(few[0]) && when.Before(few[len(few)-1]) {
			between++
		}
	}
	if between == 0 || between >= 60 {
		t.Errorf("the large run got %d places while the small one got its 20, want some and less than 60", between)
	}
	t.Logf("%d places of the large run in %s", between, few[len(few)-1].Sub(few[0]))
}
