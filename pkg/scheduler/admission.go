package scheduler

import (
	"context"
	"strings"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A pool is what the limiter counts together, whatever the key: a provider and a
// model, or a family of models.
type pool struct{ provider, name string }

// poolsOf lists the pools that the trials of each cell need; nil if none does.
func poolsOf(snap eval.Snapshot) [][]pool {
	var pools [][]pool
	for i, cell := range snap.Plan.Cells {
		for _, name := range cell.Models {
			m := snap.Models[name]
			if m.Provider == eval.ProviderScripted || m.Replayed() {
				continue // nobody limits it
			}
			if pools == nil {
				pools = make([][]pool, len(snap.Plan.Cells))
			}
			pools[i] = append(pools[i], poolOf(m))
		}
	}
	return pools
}

func poolOf(m eval.Model) pool {
	name := m.Model
	if m.Rate != nil && m.Rate.Pool != "" {
		name = m.Rate.Pool
	}
	return pool{string(m.Provider), name}
}

// limits remembers how the limiter stood.
type limits struct {
	states []eval.LimitState
	asked  time.Time
}

// states asks the limiter once a second. One that does not answer stands as before: calls
// wait for it anyway.
func (s *Scheduler) states(ctx context.Context) []eval.LimitState {
	if time.Since(s.limits.asked) < showEvery {
		return s.limits.states
	}
	s.limits.asked = time.Now()
	states, err := s.opts.Limits(ctx)
	if err != nil {
		s.log.WarnContext(ctx, "see how limits stand", "error", err)
		return s.limits.states
	}
	s.limits.states = states
	return states
}

const (
	// longPause of a model keeps its trials from being given out: a worker would give
	// them back at once.
	longPause = 30 * time.Second
	// firstInFlight is how many calls the limiter allows at first with a key of which
	// nothing is known.
	firstInFlight = 4
)

// An admission says how many trials of each pool may be outstanding, so that trials that
// wait for one model do not take the slots of others: half as many again as calls may be
// in flight.
type admission struct {
	open, most map[pool]int // most has no entry for a pool without a bound
	paused     map[pool]bool
}

// admit makes the admission of a round: what the limiter allows the models of runs.
func (s *Scheduler) admit(ctx context.Context, runs []*running) *admission {
	a := &admission{open: map[pool]int{}, most: map[pool]int{}, paused: map[pool]bool{}}
	if s.opts.Limits == nil {
		return a
	}
	models := map[pool]eval.Model{}
	for _, r := range runs {
		if r.pools == nil {
			continue
		}
		for _, m := range r.snapshot.Models {
			models[poolOf(m)] = m
		}
	}
	if len(models) == 0 {
		return a
	}
	states := map[pool][]eval.LimitState{}
	for _, l := range s.states(ctx) {
		if strings.HasSuffix(l.Key, "/judge") {
			continue
		}
		account, name, _ := strings.Cut(l.Key, "/")
		provider, _, _ := strings.Cut(account, ":")
		at := pool{provider, name}
		states[at] = append(states[at], l)
	}
	for p, m := range models {
		a.bound(p, m, states[p])
	}
	return a
}

// bound works out how much of one pool is allowed with all its keys.
func (a *admission) bound(p pool, m eval.Model, states []eval.LimitState) {
	inFlight, free, paused := 0, false, 0
	for _, l := range states {
		switch {
		case time.Until(l.PausedUntil) > longPause:
			paused++
		case l.Concurrent == 0:
			free = true
		default:
			inFlight += l.Concurrent
		}
	}
	if unseen := max(1, len(m.APIKeys)) - len(states); unseen > 0 {
		switch {
		case m.Rate != nil && m.Rate.Concurrent > 0:
			inFlight += unseen * m.Rate.Concurrent
		case m.Rate != nil && m.Rate.Bounded():
			free = true
		default:
			inFlight += unseen * firstInFlight
		}
	}
	a.paused[p] = paused > 0 && inFlight == 0 && !free
	if !free {
		a.most[p] = (3*inFlight + 1) / 2
	}
}

// admits says whether a trial that needs pools may be given out.
func (a *admission) admits(pools []pool) bool {
	for _, p := range pools {
		if most, bounded := a.most[p]; bounded && a.open[p] >= most {
			return false
		}
	}
	return true
}

// add counts a trial that is out.
func (a *admission) add(pools []pool) {
	for _, p := range pools {
		a.open[p]++
	}
}

// waits says whether a trial waits for a model that is paused for long, so that it needs
// no slot now.
func (a *admission) waits(pools []pool) bool {
	for _, p := range pools {
		if a.paused[p] {
			return true
		}
	}
	return false
}
