package scheduler

import (
	"context"
	"fmt"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/gate"
)

// reach is the first ordinal of a run that waits for a look, when so many have been
// dispatched: the end of the plan up to the look that comes next, or that is due. It is
// the end of the run when no look can stop it any more.
func reach(run eval.Run, p eval.Plan, cursor int) int {
	if run.Rounds > 0 || run.Parent != "" {
		return run.Trials
	}
	for _, round := range p.Looks {
		if end := p.Until(round).Trials(); end >= max(cursor, 1) {
			return end
		}
	}
	return run.Trials
}

// look asks the gate, when all trials up to a look have their results and judgements,
// whether the run is decided, and either ends its plan there or lets the next rounds
// begin. The end is stored, so that nobody looks twice. That a run goes on shows in its
// cursor; whoever is killed before it has moved sees the same trials again.
//
// Nothing is begun before the answer: what were under way would have been paid for
// nothing, or would be a reason to look at what nobody planned to look at.
func (s *Scheduler) look(ctx context.Context, r *running) error {
	if !r.settled() {
		return nil
	}
	// What waits in the store beyond what a copy holds, it shows now.
	for _, of := range []*running{r, r.judges} {
		if of != nil {
			if err := s.reload(ctx, of); err != nil {
				return err
			}
		}
	}
	if !r.settled() {
		return nil
	}
	plan := r.snapshot.Plan
	i := slices.IndexFunc(plan.Looks, func(round int) bool { return plan.Until(round).Trials() == r.reach })
	if i < 0 {
		return fmt.Errorf("no look is due after %d trials", r.reach)
	}
	round := plan.Looks[i]
	decided, err := s.decided(ctx, r, round)
	if err != nil {
		return fmt.Errorf("look after %d rounds: %w", round, err)
	}
	if !decided {
		r.reach = reach(r.run, plan, r.reach+1)
		return nil
	}
	if err := s.store.SetRounds(ctx, r.run.ID, round); err != nil {
		return err
	}
	now, err := s.store.Run(ctx, r.run.ID)
	if err != nil {
		return err
	}
	r.renew(now)
	return nil
}

// settled says whether a look is due: all trials before it have been dispatched, and
// none of them waits for anything.
func (r *running) settled() bool {
	if r.run.Parent != "" || r.reach >= r.run.Trials {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.run.Cursor < r.reach || len(r.outstanding) > 0 {
		return false
	}
	if r.judges == nil {
		return true
	}
	r.judges.mu.Lock()
	defer r.judges.mu.Unlock()
	return len(r.judges.outstanding) == 0
}

// renew follows how far the store says that a run has come: another scheduler may have
// been at it.
func (r *running) renew(now eval.Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run.Cursor = max(r.run.Cursor, now.Cursor)
	r.run.Rounds, r.run.Trials = now.Rounds, now.Trials
	r.reach = min(max(r.reach, reach(r.run, r.snapshot.Plan, r.run.Cursor)), r.run.Trials)
}

// decided asks the gate after a round.
func (s *Scheduler) decided(ctx context.Context, r *running, round int) (bool, error) {
	run := r.run
	run.Rounds = round
	summary, err := numbers(ctx, s.store, run, r.snapshot)
	if err != nil {
		return false, err
	}
	arms, err := Arms(ctx, s.store, r.run, r.snapshot)
	if err != nil {
		return false, err
	}
	return gate.Decided(summary, r.snapshot, arms, round), nil
}

// sequential says how far a run went whose repeats end when it is decided; nil for any
// other.
func sequential(run eval.Run, p eval.Plan, covered *eval.Coverage) *eval.Sequential {
	if len(p.Looks) == 0 {
		return nil
	}
	s := &eval.Sequential{Looks: p.Looks, Rounds: run.Rounds, Decided: run.Rounds > 0}
	if s.Decided {
		return s
	}
	s.Rounds = p.Looks[len(p.Looks)-1]
	if covered != nil {
		s.Rounds = min(s.Rounds, covered.CompleteRounds)
	}
	if !slices.Contains(p.Looks, s.Rounds) {
		s.Rounds = 0 // a budget that ends is no look
	}
	return s
}
