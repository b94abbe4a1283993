package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/gate"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// confirmRepeats is how often a suspect is tried again where the gate does not say it.
const confirmRepeats = 8

// confirmable says whether the suspects of a run are to be tried again: its gate wants
// it, and there is a history to compare with.
func confirmable(snap eval.Snapshot) bool {
	return snap.Gate.Confirm != nil && snap.Baseline != nil && snap.Baseline.History != "" && snap.Grading == nil
}

// reserve is the part of a budget that a run leaves to the confirmation of its suspects.
// That is decided when the run is created, so that both together keep the caps without
// knowing of each other.
func reserve(snap eval.Snapshot, b eval.Budget) (eval.Amount, error) {
	if !confirmable(snap) {
		return eval.Amount{}, nil
	}
	part := eval.Amount{Tokens: b.Tokens / 10}
	if b.MicroUSD > 0 {
		part.MicroUSD = cmp.Or(snap.Gate.Confirm.MicroUSD, b.MicroUSD/10)
		if part.MicroUSD >= b.MicroUSD {
			return part, &BudgetError{[]string{fmt.Sprintf("confirming suspects keeps %s of the budget of %s, which leaves nothing for the run itself", eval.USD(part.MicroUSD), eval.USD(b.MicroUSD))}}
		}
	}
	return part, nil
}

// confirm gives the suspects of a run whose trials are done fresh repeats, in a run of
// their own, and says whether there is one to wait for.
func (s *Scheduler) confirm(ctx context.Context, r *running) (waits bool, err error) {
	if r.confirmation != nil {
		return !r.confirmation.over(), nil
	}
	if r.screened || r.run.Parent != "" || r.run.Confirms != "" || !confirmable(r.snapshot) {
		return false, nil
	}
	suspects, err := s.suspects(ctx, r)
	if err != nil {
		return false, fmt.Errorf("look for suspects: %w", err)
	}
	if len(suspects) == 0 {
		r.screened = true
		return false, nil
	}
	if err := s.createConfirmation(ctx, r, suspects); err != nil {
		return false, err
	}
	taken, err := s.takeConfirmation(ctx, r, false)
	if err != nil {
		return false, err
	}
	s.keep(taken)
	return r.confirmation != nil, nil
}

func (s *Scheduler) suspects(ctx context.Context, r *running) ([]int, error) {
	summary, err := numbers(ctx, s.store, r.run, r.snapshot)
	if err != nil {
		return nil, err
	}
	arms, err := Arms(ctx, s.store, r.run, r.snapshot)
	if err != nil {
		return nil, err
	}
	return gate.Suspects(summary, r.snapshot, arms), nil
}

// createConfirmation stores the run that tries suspects again: the same conditions, other
// seeds, and no gate. It has the name and the time of the run that it is for, so that
// whoever was killed after making it does not make another one.
func (s *Scheduler) createConfirmation(ctx context.Context, r *running, suspects []int) error {
	snap := r.snapshot
	how := *snap.Gate.Confirm
	snap.Gate, snap.Baseline, snap.Agreement, snap.Waivers, snap.Quarantines = eval.Gate{}, nil, nil, nil, nil
	snap.Plan = eval.Plan{Seed: r.snapshot.Plan.SeedOf("", 1)} // there is no case without a name
	judged := false
	for _, i := range suspects {
		cell := r.snapshot.Plan.Cells[i]
		cell.Repeats, cell.Sequential = cmp.Or(how.Repeats, confirmRepeats), false
		snap.Plan.Cells = append(snap.Plan.Cells, cell)
		judged = judged || len(snap.Cases[cell.Case].Judges) > 0
	}
	header := blob.Pack(eval.Encode(snap))
	of := r.run
	run := eval.Run{
		ID: of.Confirmation(), Confirms: of.ID, Suite: of.Suite, SuiteHash: of.SuiteHash, SuitePath: of.SuitePath,
		State: eval.RunQueued, Control: eval.ControlRun, Header: header.SHA256, Trials: snap.Plan.Trials(),
		Attempts: of.Attempts, MaxLost: of.MaxLost, Priority: of.Priority, Tenant: of.Tenant, Carrier: of.Carrier, Created: of.Created,
		Budget:      eval.Budget{MicroUSD: cmp.Or(of.Reserve.MicroUSD, how.MicroUSD), Tokens: of.Reserve.Tokens, Time: of.Budget.Time},
		DayMicroUSD: of.DayMicroUSD, Schedule: of.Schedule, ScheduleMicroUSD: of.ScheduleMicroUSD,
	}
	blobs := []eval.Blob{header}
	var gradings []eval.Run
	if judged {
		g, header := grading(run, snap, 1, eval.Grading{})
		g.Carrier, run.Grading = run.Carrier, g.ID
		gradings, blobs = append(gradings, g), append(blobs, header)
	}
	_, err := s.store.Run(ctx, run.ID)
	if errors.Is(err, store.ErrNotFound) {
		err = s.store.CreateRun(ctx, run, blobs, gradings...)
	}
	if err != nil {
		return fmt.Errorf("try the suspects of run %s again: %w", of.ID, err)
	}
	return nil
}

// takeConfirmation makes the copies of the run that tries a run's suspects again, and of
// its grading; none if there is no such run, or it is done.
func (s *Scheduler) takeConfirmation(ctx context.Context, r *running, workersGone bool) ([]*running, error) {
	if r.run.Parent != "" || r.run.Confirms != "" || !confirmable(r.snapshot) {
		return nil, nil
	}
	now, err := s.store.Run(ctx, r.run.Confirmation())
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case now.State == eval.RunDone:
		r.screened = true
		return nil, nil
	}
	taken, err := s.takeWhole(ctx, now.ID, workersGone)
	if err != nil {
		return nil, err
	}
	r.confirmation, taken[0].confirms = taken[0], r
	return taken, nil
}

// keep holds on to copies of runs.
func (s *Scheduler) keep(taken []*running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range taken {
		s.runs[r.run.ID] = r
	}
}

// family is a run with all that is carried out for it.
func (r *running) family() []*running {
	all := []*running{r, r.judges}
	if c := r.confirmation; c != nil {
		all = append(all, c, c.judges)
	}
	return slices.DeleteFunc(all, func(r *running) bool { return r == nil })
}

// obey lets a run that confirms another one do what people want of that.
func (s *Scheduler) obey(ctx context.Context, r *running, now *eval.Run) error {
	if r.confirms == nil || now.State == eval.RunDone {
		return nil
	}
	of, err := s.store.Run(ctx, now.Confirms)
	if err != nil || of.Control == now.Control {
		return err
	}
	now.Control = of.Control
	return s.store.SetControl(ctx, now.ID, of.Control) // for its grading
}

// confirmed is what the fresh repeats of a run's suspects came to, if there are any and
// they are done.
func confirmed(ctx context.Context, s armory, run eval.Run, snap eval.Snapshot) (*eval.Confirmation, *eval.Arm, error) {
	if !confirmable(snap) {
		return nil, nil, nil
	}
	again, err := s.Run(ctx, run.Confirmation())
	if errors.Is(err, store.ErrNotFound) || err == nil && again.State != eval.RunDone {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	var of eval.Snapshot
	var summary eval.Summary
	if err := errors.Join(blob.LoadJSON(ctx, s, again.Header, &of), blob.LoadJSON(ctx, s, again.Summary, &summary)); err != nil {
		return nil, nil, fmt.Errorf("read what confirmed run %s: %w", run.ID, err)
	}
	arm := eval.NewArm(of, summary)
	return &eval.Confirmation{
		Run: again.ID, Cells: len(summary.Cells), Trials: summary.Trials, Counts: summary.Counts, Outcome: summary.Outcome,
		MicroUSD: summary.Cost.MicroUSD, KnownMicroUSD: summary.Cost.KnownMicroUSD,
	}, &arm, nil
}

// endConfirmation ends what confirms a run that nobody carries out, as the run is ended.
func endConfirmation(ctx context.Context, s Ender, run eval.Run, snap eval.Snapshot) error {
	if run.Parent != "" || run.Confirms != "" || !confirmable(snap) {
		return nil
	}
	again, err := s.Run(ctx, run.Confirmation())
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil || again.State == eval.RunDone:
		return err
	}
	_, err = End(ctx, s, again, run.Outcome)
	return err
}
