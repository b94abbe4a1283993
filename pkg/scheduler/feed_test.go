package scheduler_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// ask creates a run of scripts, of a tenant.
func (b *bundle) ask(trials int, tenant string) eval.Run {
	b.t.Helper()
	of := &suite.Loaded{Suite: eval.Suite{Name: "made", Cases: []eval.Case{{ID: "a", Kind: eval.KindScript, Server: "s"}}}, Hash: "hash"}
	run, err := scheduler.Create(b.t.Context(), b.store, scheduler.Request{
		Suite: of, Seed: 1, Selection: suite.Selection{Repeats: trials}, Tenant: tenant,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return run
}

// pass lets the first n trials of a run pass that have not.
func (b *bundle) pass(run eval.Run, from, n int) {
	b.t.Helper()
	for _, j := range b.queue.of(run.ID)[from : from+n] {
		b.record(j, eval.AttemptDone, eval.Pass)
	}
}

func (b *bundle) given(run eval.Run) int { return len(b.queue.of(run.ID)) }

func TestTwentyTrialsGoBeforeTheNextSixtyOfTenThousand(t *testing.T) {
	const window = 100
	b := setup(t, scheduler.Options{Window: window})
	large := b.ask(10_000, "")
	b.adopt(large)
	b.eventually("the large run fills the window", func() bool { return b.given(large) == window })
	small := b.ask(20, "")
	b.adopt(small)
	for i := range window {
		if b.given(small) == 20 {
			break
		}
		b.pass(large, i, 1)
	}
	b.eventually("all of the small run is out", func() bool { return b.given(small) == 20 })
	if n := b.given(large) - window; n >= 60 {
		t.Errorf("the large run got %d places before the small one was served, want less than 60", n)
	}
}

// What waits in the queue goes before a run that comes now, so it is no more than what
// workers take until the next look.
func TestWindowIsAsShallowAsWorkersAllow(t *testing.T) {
	for _, tt := range []struct{ slots, want int }{{1, 5}, {4, 8}, {40, 60}, {900, 1000}} {
		t.Run(fmt.Sprint(tt.slots), func(t *testing.T) {
			b := setup(t, scheduler.Options{})
			b.queue.slots = tt.slots
			run := b.ask(2000, "")
			b.adopt(run)
			b.eventually("the window is full", func() bool { return b.given(run) == tt.want })
			// A second run gets nothing while nothing ends.
			other := b.ask(2000, "")
			b.adopt(other)
			b.eventually("another is taken up", func() bool {
				r, err := b.store.Live(t.Context(), other.ID)
				return err == nil && !r.At.IsZero()
			})
			if b.given(run) != tt.want || b.given(other) != 0 {
				t.Errorf("%d and %d are out, want %d and none", b.given(run), b.given(other), tt.want)
			}
		})
	}
}

func TestTenantsShareTheWindow(t *testing.T) {
	for _, tt := range []struct {
		name    string
		tenants map[string]scheduler.Tenant
		want    int // places of the tenant with one run, of 60
	}{
		{"evenly", nil, 30},
		{"by weight", map[string]scheduler.Tenant{"one": {Weight: 2}}, 40},
		{"within a quota", map[string]scheduler.Tenant{"one": {Trials: 7}}, 7},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := setup(t, scheduler.Options{Window: 60, Tenants: tt.tenants})
			var many []eval.Run
			for range 3 {
				many = append(many, b.ask(1000, "many"))
				b.adopt(many[len(many)-1])
			}
			all := func() (n int) {
				for _, r := range many {
					n += b.given(r)
				}
				return n
			}
			b.eventually("one tenant fills the window", func() bool { return all() == 60 })
			one := b.ask(1000, "one")
			b.adopt(one)
			first := b.given(many[0])
			for i := range first {
				before := all() + b.given(one)
				b.pass(many[0], i, 1)
				b.eventually("the place is given", func() bool { return all()+b.given(one) == before+1 })
				if b.given(one) == tt.want {
					break
				}
			}
			for i := 1; b.given(one) < tt.want; i++ {
				before := all() + b.given(one)
				b.pass(many[i%2+1], i/2, 1)
				b.eventually("the place is given", func() bool { return all()+b.given(one) == before+1 })
			}
			if got := all() - 60; got > tt.want {
				t.Errorf("the tenant of many runs got %d places while the other one got %d", got, b.given(one))
			}
			// It has its share, and each place that one leaves, it gets itself.
			if tt.want > 7 {
				before := b.given(one)
				b.pass(one, 0, 1)
				b.eventually("its place is its own", func() bool { return b.given(one) == before+1 })
			}
			if open := b.given(one); open > tt.want+1 {
				t.Errorf("%d trials of one tenant are out, want %d", open, tt.want)
			}
		})
	}
}

// limiter tells what a test wants to be the standing of a key.
type limiter struct {
	mu    sync.Mutex
	state []eval.LimitState
}

func (l *limiter) set(states ...eval.LimitState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = states
}

func (l *limiter) states(context.Context) ([]eval.LimitState, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state, nil
}

// Trials of a model that is called slowly take no more slots than half as many again
// as calls are allowed; those of one that is paused take none.
func TestTrialsOfAModelAreAdmittedAsItsLimitAllows(t *testing.T) {
	const key = "openai:3fa9/slow"
	l := &limiter{}
	l.set(eval.LimitState{Key: key, Concurrent: 7})
	b := setup(t, scheduler.Options{Window: 50, Limits: l.states})
	of := loaded(agentCase("a", "slow", eval.Limits{}))
	of.Suite.Models = map[string]eval.Model{"slow": {Provider: eval.ProviderOpenAI, Model: "slow"}}
	slow, err := scheduler.Create(t.Context(), b.store, scheduler.Request{Suite: of, Seed: 1, Selection: suite.Selection{Repeats: 500}})
	if err != nil {
		t.Fatal(err)
	}
	again, err := scheduler.Create(t.Context(), b.store, scheduler.Request{Suite: of, Seed: 1, Selection: suite.Selection{Repeats: 500}})
	if err != nil {
		t.Fatal(err)
	}
	b.adopt(slow)
	b.eventually("as many are out as its limit allows", func() bool { return b.given(slow) == 11 })
	b.adopt(again)
	scripts := b.ask(500, "")
	b.adopt(scripts)
	b.eventually("another run has the other places", func() bool { return b.given(scripts) == 39 })
	if b.given(slow) != 11 || b.given(again) != 0 {
		t.Errorf("%d and %d trials of the model are out, want 11 in all", b.given(slow), b.given(again))
	}

	l.set(eval.LimitState{Key: key, Concurrent: 7, PausedUntil: time.Now().Add(time.Hour)})
	b.eventually("those that wait for the model give up their places", func() bool { return b.given(scripts) == 50 })
	b.pass(slow, 0, 11)
	b.pass(scripts, 0, 20)
	b.eventually("the places go to the other run", func() bool { return b.given(scripts) == 70 })
	if b.given(slow) != 11 || b.given(again) != 0 {
		t.Errorf("%d and %d trials of the model were given out, want none more while it is paused", b.given(slow), b.given(again))
	}
	l.set(eval.LimitState{Key: key, Concurrent: 7})
	passed := 20
	b.eventually("they come again", func() bool {
		// As places are left: it takes a moment to hear of the limiter.
		if n := b.given(slow) + b.given(again); n < 22 && passed < b.given(scripts) {
			b.pass(scripts, passed, 1)
			passed++
		}
		return b.given(slow)+b.given(again) == 22
	})
}

// Before the limiter has seen a key, it is taken to allow what it will at first.
func TestTrialsOfAModelThatNobodyKnows(t *testing.T) {
	for _, tt := range []struct {
		name  string
		model eval.Model
		want  int
	}{
		{"nothing is configured", eval.Model{Provider: eval.ProviderOpenAI, Model: "m"}, 6},
		{"with two keys", eval.Model{Provider: eval.ProviderOpenAI, Model: "m", APIKeys: []string{"${{ secrets.A }}", "${{ secrets.B }}"}}, 12},
		{"calls in flight are", eval.Model{Provider: eval.ProviderOpenAI, Model: "m", Rate: &eval.Rate{Concurrent: 9}}, 14},
		{"calls in a minute are", eval.Model{Provider: eval.ProviderOpenAI, Model: "m", Rate: &eval.Rate{RequestsPerMinute: 9}}, 20},
		{"it is scripted", eval.Model{Provider: eval.ProviderScripted, Model: "m"}, 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := setup(t, scheduler.Options{Window: 20, Limits: new(limiter).states})
			of := loaded(agentCase("a", "m", eval.Limits{}))
			of.Suite.Models = map[string]eval.Model{"m": tt.model}
			run, err := scheduler.Create(t.Context(), b.store, scheduler.Request{Suite: of, Seed: 1, Selection: suite.Selection{Repeats: 100}})
			if err != nil {
				t.Fatal(err)
			}
			b.adopt(run)
			b.eventually("as many are out as may", func() bool { return b.given(run) == tt.want })
			other := b.ask(100, "")
			b.adopt(other)
			b.eventually("others have the rest", func() bool { return b.given(other) == 20-tt.want })
			if b.given(run) != tt.want {
				t.Errorf("%d are out, want %d", b.given(run), tt.want)
			}
		})
	}
}
