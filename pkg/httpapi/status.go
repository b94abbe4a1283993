package httpapi

import (
	"context"
	"errors"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// Status says where a run stands. It has all that the run itself says.
type Status struct {
	// RunID is the run's id once more.
	RunID string `json:"run"`
	eval.Run
	// Done trials of all, by verdict in Counts.
	Done   int                `json:"done"`
	Counts eval.VerdictCounts `json:"counts"`
	// Outstanding trials are dispatched or wait for their next attempt.
	Outstanding int `json:"outstanding"`
	// Leader is the scheduler that leads the farm now, of a run of the service.
	Leader string `json:"leader,omitempty"`
	// Ledger is what the run has taken and holds, of its Budget.
	Ledger Ledger `json:"ledger"`
	// Live is what the run was doing when its scheduler last said so.
	Live *eval.Live `json:"live,omitempty"`
	// Notices of a done run.
	Notices []store.Notice `json:"notices,omitempty"`
}

// A Ledger is what a run has taken. Its spent money is null when a model was asked
// whose price nobody knows.
type Ledger struct {
	eval.Ledger
	Spent Spent `json:"spent"`
}

// Spent is an amount whose money may be unknown.
type Spent struct {
	MicroUSD *int64 `json:"microusd"`
	Tokens   int64  `json:"tokens"`
}

// Known is the ledger with unknown money taken for none.
func (l Ledger) Known() eval.Ledger {
	out := l.Ledger
	out.Spent.Tokens = l.Spent.Tokens
	if l.Spent.MicroUSD != nil {
		out.Spent.MicroUSD = *l.Spent.MicroUSD
	}
	return out
}

// Unpriced says what [scheduler.Unpriced] says of a run.
type Unpriced func(ctx context.Context, s blob.Store, run eval.Run) (agents, judges bool, err error)

// StatusOf reads where a run stands.
func StatusOf(ctx context.Context, s Store, run eval.Run, unpriced Unpriced) (Status, error) {
	st := Status{RunID: run.ID, Run: run}
	var err error
	if st.Counts, err = s.Counts(ctx, run.ID); err != nil {
		return st, err
	}
	st.Done = st.Counts.Total()
	out, err := s.Outstanding(ctx, run.ID)
	if err != nil {
		return st, err
	}
	st.Outstanding = len(out)
	if st.Ledger, err = ledgerOf(ctx, s, run, unpriced); err != nil {
		return st, err
	}
	if live, err := s.Live(ctx, run.ID); err == nil {
		st.Live = &live
	} else if !errors.Is(err, store.ErrNotFound) {
		return st, err
	}
	if run.Carrier == eval.CarrierService {
		if st.Leader, err = scheduler.Leader(ctx, s); err != nil {
			return st, err
		}
	}
	st.Notices, err = s.Notices(ctx, run.ID, 0)
	return st, err
}

// ledgerOf reads the ledger of a run, or of the run of a grading.
func ledgerOf(ctx context.Context, s Store, run eval.Run, unpriced Unpriced) (Ledger, error) {
	l, err := s.Ledger(ctx, run.ID)
	if err != nil {
		return Ledger{}, err
	}
	agents, judges, err := unpriced(ctx, s, run)
	out := Ledger{Ledger: l, Spent: Spent{Tokens: l.Spent.Tokens}}
	if unknown := agents && l.Spent.Tokens > l.Judges.Tokens || judges && l.Judges.Tokens > 0; !unknown {
		out.Spent.MicroUSD = &l.Spent.MicroUSD
	}
	return out, err
}

// knownUnpriced remembers what it has found out: a header never changes, and who
// watches a run asks for its status again and again.
func (a *api) knownUnpriced(ctx context.Context, s blob.Store, run eval.Run) (agents, judges bool, err error) {
	if known, ok := a.unpriced.Load(run.Header); ok {
		both := known.([2]bool)
		return both[0], both[1], nil
	}
	agents, judges, err = scheduler.Unpriced(ctx, s, run)
	if err == nil {
		a.unpriced.Store(run.Header, [2]bool{agents, judges})
	}
	return agents, judges, err
}
