package scheduler

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

// traced names the current attempt at a trial in its trace. What a run's own grading
// does is a part of the trial's trace.
func (r *running) traced(t store.Trial) telemetry.Attempt {
	a := telemetry.Attempt{Run: r.run.ID, Ordinal: t.Ordinal, N: t.Attempt}
	if r.judged != nil {
		a.Of = r.judged.run.ID
	}
	return a
}

// traceparent is what travels with an attempt.
func (s *Scheduler) traceparent(r *running, t store.Trial) string {
	a := r.traced(t)
	return a.Traceparent(s.opts.Tracer.Sampled(a.TraceID()))
}

// traceOf is the trace that has an attempt which was lost: that is always told. Empty if
// nobody traces.
func (s *Scheduler) traceOf(r *running, t store.Trial) string {
	if !s.opts.Tracer.On() {
		return ""
	}
	return r.traced(t).TraceID().String()
}

// What a trace shows of a trial is told when the trial is settled: when its result is
// stored or, if it waits for a judge of the run's own grading, when that is. A trial
// that nobody judges after all is told at the end of its run. All of it is known from
// the record and the store, so a scheduler that takes over needs nothing of the one
// before. What is lost with a process is what its exporter has not sent, and what it has
// stored and not told.

// laneOf is the one that the attempt of a record came through.
func laneOf(st store.Stored) telemetry.Lane {
	if st.Parent != "" {
		return telemetry.Judging
	}
	return telemetry.Trials
}

// settled tells of a trial that a record settles: at once if the record says all that
// there is to tell, else when the store can be asked.
func (s *Scheduler) settled(r *running, st store.Stored) {
	switch {
	case !s.opts.Tracer.On() || !st.Final || st.Judging > 0:
	case r != nil && r.judged == nil && st.N == 1:
		s.tellTrial(r.places, st.Run, st.Parent, st.Ordinal, st.Result, []telemetry.Send{send(store.Attempt{
			UID: st.UID, Run: st.Run, Ordinal: st.Ordinal, N: st.N, Worker: st.Worker, Outcome: st.Outcome, Reason: st.Result.Reason,
			CostMicroUSD: st.CostMicroUSD, Sent: st.Sent, Started: st.Started, Ended: st.Ended,
		}, laneOf(st), "")})
	default:
		s.mu.Lock()
		s.untold = append(s.untold, st)
		s.mu.Unlock()
	}
}

// tellRest tells of the trials that took several attempts or were judged, and of those
// of runs that this scheduler does not have: it has not taken them up yet, or let go of
// them before their last records came. What the store does not say is left out: nothing
// else waits for it. A scheduler that is told to stop does it to the end.
func (s *Scheduler) tellRest(ctx context.Context) {
	if !s.opts.Tracer.On() {
		return
	}
	s.mu.Lock()
	rest := s.untold
	s.untold = nil
	s.mu.Unlock()
	if len(rest) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	strangers := map[string]*places{}
	for _, st := range rest {
		err := s.tellStored(ctx, st, strangers)
		if err != nil && !errors.Is(err, store.ErrNotFound) { // it was deleted
			s.log.WarnContext(ctx, "trace a trial", "run", st.Run, "ordinal", st.Ordinal, "error", err)
		}
	}
}

// tellStored tells of a trial that a record settled, with what the store has of it.
func (s *Scheduler) tellStored(ctx context.Context, st store.Stored, strangers map[string]*places) error {
	at, own, err := s.placesOf(ctx, st.Run, strangers)
	if err != nil {
		return err
	}
	if own {
		return s.tellWhole(ctx, at, st.Parent, st.Run, st.Ordinal, st.Result)
	}
	sends, err := s.sends(ctx, st.Run, st.Ordinal, laneOf(st), "")
	if err != nil {
		return err
	}
	s.tellTrial(at, st.Run, st.Parent, st.Ordinal, st.Result, sends)
	return nil
}

// tellWhole tells of a trial of a run and of its judging in the run's own grading.
func (s *Scheduler) tellWhole(ctx context.Context, at *places, run, grading string, ordinal int, result eval.Result) error {
	sends, err := s.sends(ctx, run, ordinal, telemetry.Trials, "")
	if err != nil {
		return err
	}
	judging, err := s.sends(ctx, grading, ordinal, telemetry.Judging, run)
	if err != nil {
		return err
	}
	s.tellTrial(at, run, "", ordinal, result, append(sends, judging...))
	return nil
}

// tellTrial tells of a trial, or of the judging of one that a later grading did.
func (s *Scheduler) tellTrial(at *places, run, of string, ordinal int, result eval.Result, sends []telemetry.Send) {
	trial, err := at.trial(run, ordinal)
	if err != nil {
		s.log.Warn("trace a trial", "run", run, "error", err)
		return
	}
	s.opts.Tracer.Trial(telemetry.Settled{Trial: trial, Of: of, Result: result, Sends: sends})
}

// tellRun tells of a run that is done, and before that of its trials that no judge has
// come to. A grading that the run waited for is a part of it.
func (s *Scheduler) tellRun(ctx context.Context, r *running) {
	if !s.opts.Tracer.On() {
		return
	}
	s.tellRest(ctx)
	if all := r.judges != nil && r.judges.run.Outcome == eval.OutcomeComplete; r.run.Grading != "" && !all {
		err := s.store.EachResult(ctx, r.run.ID, func(row store.Row) error {
			if !row.Result.AwaitsJudge() {
				return nil
			}
			return s.tellWhole(ctx, r.places, r.run.ID, r.run.Grading, row.Ordinal, row.Result)
		})
		if err != nil { // the run is done all the same
			s.log.WarnContext(ctx, "trace what nobody judged", "run", r.run.ID, "error", err)
		}
	}
	if r.judged == nil {
		s.opts.Tracer.Run(r.run, r.places.snapshot.Traceparent) //nolint:contextcheck // the library reads a header into one of its own
	}
}

// maxUnseen bounds how many attempts in a row can have left nothing in the store.
const maxUnseen = 1000

// sends are the dispatches of all attempts at a trial up to the one that settled it, or
// the last one if none has, by their numbers. An attempt of which nothing was stored is
// among them.
func (s *Scheduler) sends(ctx context.Context, run string, ordinal int, lane telemetry.Lane, of string) ([]telemetry.Send, error) {
	as, err := s.store.Attempts(ctx, run, ordinal)
	if err != nil {
		return nil, err
	}
	var out []telemetry.Send
	for _, a := range as { // by number
		if a.N < 1 || a.N > len(out)+maxUnseen {
			continue // no scheduler gave it
		}
		for n := len(out) + 1; n <= a.N; n++ {
			out = append(out, send(store.Attempt{Run: run, Ordinal: ordinal, N: n}, lane, of))
		}
		// A record that comes after its attempt was taken for lost is not what was answered.
		if at := &out[a.N-1]; at.Outcome == "" || a.Counts || a.Outcome == eval.AttemptLost {
			cost := at.CostMicroUSD
			*at = send(a, lane, of)
			at.CostMicroUSD += cost
		} else {
			at.CostMicroUSD += a.CostMicroUSD
		}
		if a.Counts {
			return out[:a.N], nil
		}
	}
	return out, nil
}

// send is what a trace shows of the dispatch of an attempt.
func send(a store.Attempt, lane telemetry.Lane, of string) telemetry.Send {
	s := telemetry.Send{
		Attempt: telemetry.Attempt{Run: a.Run, Ordinal: a.Ordinal, N: a.N, Of: of},
		Lane:    lane, UID: a.UID, Worker: a.Worker, Outcome: a.Outcome, CostMicroUSD: a.CostMicroUSD, Sent: a.Sent, Started: a.Started, Ended: a.Ended,
	}
	if a.Outcome != eval.AttemptDone { // else it is the trial's
		s.Reason = a.Reason
	}
	return s
}

// places are the trials of a run by their ordinals.
type places struct {
	snapshot eval.Snapshot

	mu    sync.Mutex // guards order
	order *eval.Order
}

func newPlaces(snap eval.Snapshot) *places {
	return &places{snapshot: snap, order: eval.NewOrder(snap.Plan)}
}

func (p *places) trial(run string, ordinal int) (eval.Trial, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	cell, repeat, err := p.order.At(ordinal)
	if err != nil {
		return eval.Trial{}, fmt.Errorf("find the cell of trial %d: %w", ordinal, err)
	}
	at := p.snapshot.Plan.Cells[cell]
	return eval.Trial{Run: run, Ordinal: ordinal, Case: p.snapshot.Cases[at.Case], Variant: p.snapshot.Variants[at.Variant], Repeat: repeat}, nil
}

// placesOf finds those of a run, and says whether it is the grading that another run
// waits for. Those of strangers it remembers.
func (s *Scheduler) placesOf(ctx context.Context, id string, strangers map[string]*places) (at *places, own bool, err error) {
	s.mu.Lock()
	r := s.runs[id]
	s.mu.Unlock()
	if r != nil {
		return r.places, r.judged != nil, nil
	}
	run, err := s.store.Run(ctx, id)
	if err == nil && run.Parent != "" {
		var of eval.Run
		of, err = s.store.Run(ctx, run.Parent)
		own = of.Grading == id && of.State != eval.RunDone
	}
	if err != nil {
		return nil, false, err
	}
	if at = strangers[id]; at == nil {
		var snap eval.Snapshot
		if err := blob.LoadJSON(ctx, s.store, run.Header, &snap); err != nil {
			return nil, false, err
		}
		at = newPlaces(snap)
		strangers[id] = at
	}
	return at, own, nil
}
