package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/app"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/httpapi"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// A desk is where commands read runs and ask for things of them: here is the store,
// there a farm behind its API.
type desk interface {
	reader
	Status(ctx context.Context, run eval.Run) (runStatus, error)
	// Summary is what a run came to, or how it stands.
	Summary(ctx context.Context, run eval.Run) (eval.Summary, error)
	// Cancel, Pause and Resume say where the run stands then.
	Cancel(ctx context.Context, run eval.Run) (runStatus, error)
	Pause(ctx context.Context, run eval.Run) (runStatus, error)
	Resume(ctx context.Context, run eval.Run) (runStatus, error)
	// Retry says also how many trials are due again. A run of a process is the
	// command's to carry out then.
	Retry(ctx context.Context, run eval.Run, how retrying) (int, runStatus, error)
}

// retrying is what is to be tried again, and what it may spend.
type retrying struct {
	verdicts []eval.Verdict
	more     ceiling
}

// here is the desk of a store.
type here struct {
	store.Store
	c *command
}

func (h here) Status(ctx context.Context, run eval.Run) (runStatus, error) {
	st, err := httpapi.StatusOf(ctx, h.Store, run, scheduler.Unpriced)
	out := runStatus{Status: st}
	if owner, held := app.Locked(h.c.env.Home(), run.ID); held {
		out.Owner = &owner
	}
	return out, err
}

func (h here) Summary(ctx context.Context, run eval.Run) (eval.Summary, error) {
	s, err := loadSummary(ctx, h, run)
	return s.Linked(h.c.traces), err
}

// Result, EachResult and Attempts are the store's, with the addresses of traces.
func (h here) Result(ctx context.Context, run string, ordinal int) (store.Row, error) {
	row, err := h.Store.Result(ctx, run, ordinal)
	row.TraceURL = h.c.traces.Of(row.TraceID)
	return row, err
}

func (h here) EachResult(ctx context.Context, run string, fn func(store.Row) error) error {
	return h.Store.EachResult(ctx, run, func(row store.Row) error {
		row.TraceURL = h.c.traces.Of(row.TraceID)
		return fn(row)
	})
}

func (h here) Attempts(ctx context.Context, run string, ordinal int) ([]store.Attempt, error) {
	as, err := h.Store.Attempts(ctx, run, ordinal)
	for i := range as {
		as[i].TraceURL = h.c.traces.Of(as[i].TraceID)
	}
	return as, err
}

// now is the status of a run that something was asked of.
func (h here) now(ctx context.Context, run eval.Run) (runStatus, error) {
	run, err := h.Run(ctx, run.ID)
	if err != nil {
		return runStatus{}, err
	}
	return h.Status(ctx, run)
}

func (h here) Cancel(ctx context.Context, run eval.Run) (runStatus, error) {
	if err := scheduler.Cancel(ctx, h, run); err != nil {
		return runStatus{}, err
	}
	if _, held := app.Locked(h.c.env.Home(), run.ID); !held && run.Carrier != eval.CarrierService {
		// Nobody carries it out, so nobody but us can end it.
		run.Control = eval.ControlCancel
		if _, err := scheduler.End(ctx, h, run, eval.OutcomeRunCancelled); err != nil {
			return runStatus{}, fmt.Errorf("cancel run %s: %w", run.ID, err)
		}
	}
	return h.now(ctx, run)
}

func (h here) Pause(ctx context.Context, run eval.Run) (runStatus, error) {
	if err := scheduler.Pausable(run); err != nil {
		return runStatus{}, err
	}
	if _, held := app.Locked(h.c.env.Home(), run.ID); !held && run.Carrier != eval.CarrierService {
		return runStatus{}, usage("evalfarm resume "+run.ID, "no process carries run %s out, so there is nothing to pause", run.ID)
	}
	if err := scheduler.Pause(ctx, h, run); err != nil {
		return runStatus{}, err
	}
	return h.now(ctx, run)
}

func (h here) Resume(ctx context.Context, run eval.Run) (runStatus, error) {
	run, err := scheduler.Whole(ctx, h, run)
	if err == nil {
		err = scheduler.Unpause(ctx, h, run)
	}
	if err != nil {
		return runStatus{}, err
	}
	return h.now(ctx, run)
}

func (h here) Retry(ctx context.Context, run eval.Run, how retrying) (int, runStatus, error) {
	if run.Parent == "" {
		if owner, held := app.Locked(h.c.env.Home(), run.ID); held {
			return 0, runStatus{}, &app.LockedError{Run: run.ID, Owner: owner}
		}
	}
	if err := scheduler.Retryable(run); err != nil {
		return 0, runStatus{}, err
	}
	due, err := scheduler.Due(ctx, h.Store, run, how.verdicts)
	if err == nil && due > 0 {
		if run, err = h.c.takeUp(ctx, h.Store, run, how.more, nil); err == nil {
			due, run, err = scheduler.Retry(ctx, h.Store, run, how.verdicts)
		}
	}
	if err != nil {
		return 0, runStatus{}, err
	}
	st, err := h.Status(ctx, run)
	return due, st, err
}

// there is the desk of a farm behind its API.
type there struct{ *httpapi.Client }

func (t there) Status(ctx context.Context, run eval.Run) (runStatus, error) {
	return far(t.Client.Status(ctx, run.ID))
}

func (t there) Summary(ctx context.Context, run eval.Run) (eval.Summary, error) {
	return t.Client.Summary(ctx, run.ID)
}

func (t there) Cancel(ctx context.Context, run eval.Run) (runStatus, error) {
	return far(t.Client.Cancel(ctx, run.ID))
}

func (t there) Pause(ctx context.Context, run eval.Run) (runStatus, error) {
	return far(t.Client.Pause(ctx, run.ID))
}

func (t there) Resume(ctx context.Context, run eval.Run) (runStatus, error) {
	return far(t.Client.Resume(ctx, run.ID))
}

func (t there) Retry(ctx context.Context, run eval.Run, how retrying) (int, runStatus, error) {
	budget, err := how.more.budget()
	if err != nil {
		return 0, runStatus{}, err
	}
	got, err := t.Client.Retry(ctx, run.ID, httpapi.Retrying{Only: how.verdicts, Budget: budget})
	return got.Due, runStatus{Status: got.Status}, err
}

// Baselines are not served.
func (t there) Baselines(context.Context) ([]store.Baseline, error) {
	return nil, usage("name the run by its id, or run it where the store is", "the farm's baselines cannot be read over its API")
}

// far is the status of a run that no process of this machine is known to carry out.
func far(st httpapi.Status, err error) (runStatus, error) { return runStatus{Status: st}, err }

// withDesk opens the desk and finds a run; an empty ref means latest.
func (c *command) withDesk(ctx context.Context, args []string, fn func(desk, eval.Run) error) error {
	ref := "latest"
	if len(args) > 0 {
		ref = args[0]
	}
	return c.atDesk(ctx, func(d desk) error {
		run, err := c.resolveRun(ctx, d, ref)
		if err != nil {
			return err
		}
		return fn(d, run)
	})
}

// atDesk opens the desk for the length of a function.
func (c *command) atDesk(ctx context.Context, fn func(desk) error) error {
	if c.serverURL == "" {
		return c.withStore(ctx, func(s store.Store) error { return fn(here{s, c}) })
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	return c.denied(fn(there{client}))
}

// denied says what to do when the farm refuses the token.
func (c *command) denied(err error) error {
	if no, ok := errors.AsType[*httpapi.DeniedError](err); ok {
		return usage("the token comes from EVALFARM_TOKEN, or the token_file of farm.yaml", "the farm at %s refuses: %s", c.serverURL, no.Detail)
	}
	return err
}
