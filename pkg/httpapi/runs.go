package httpapi

import (
	"context"
	"net/http"
	"strconv"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// Bounds of a page.
const (
	pageSize = 100
	maxPage  = 1000
)

// runs of a list.
type runList struct {
	Runs []eval.Run `json:"runs"`
}

// A trialPage is a page of standing results. Next is the cursor of the next page;
// empty after the last one.
type trialPage struct {
	Trials []store.Row `json:"trials"`
	Next   string      `json:"next,omitempty"`
}

type attemptList struct {
	Attempts []store.Attempt `json:"attempts"`
}

// find is the run of a request, if whoever asks may see it.
func (a *api) find(ctx context.Context, id string) (eval.Run, error) {
	run, err := a.Store.Run(ctx, id)
	if err != nil {
		return run, err
	}
	of := run
	if run.Parent != "" {
		if of, err = a.Store.Run(ctx, run.Parent); err != nil {
			return run, err
		}
	}
	if bound := tenant(ctx); bound != "" && of.Tenant != bound {
		return eval.Run{}, store.ErrNotFound
	}
	return run, nil
}

// number reads a number of the query. Without it, or when it is none, ok is false.
func number(r *http.Request, name string) (n int, ok bool, err error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return 0, false, nil
	}
	n, err = strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, false, malformed("%s=%.40q is no number", name, text)
	}
	return n, true, nil
}

// limit of a page.
func limit(r *http.Request, otherwise, most int) (int, error) {
	n, ok, err := number(r, "limit")
	switch {
	case err != nil:
		return 0, err
	case !ok || n == 0:
		return otherwise, nil
	}
	return min(n, most), nil
}

func (a *api) listRuns(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	f := store.RunFilter{
		Suite: q.Get("suite"), Prefix: q.Get("prefix"), Schedule: q.Get("schedule"), Tenant: q.Get("tenant"),
		Branch: q.Get("branch"), Unfinished: q.Get("unfinished") == "true", Green: q.Get("green") == "true",
	}
	var err error
	if f.Limit, err = limit(r, 20, maxPage); err != nil {
		a.fail(w, r, err)
		return
	}
	if bound := tenant(r.Context()); bound != "" {
		f.Tenant = bound
	}
	runs, err := a.Store.ListRuns(r.Context(), f)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	if runs == nil {
		runs = []eval.Run{}
	}
	reply(w, http.StatusOK, runList{runs})
}

// of gives a handler of what one run has.
func (a *api) of(w http.ResponseWriter, r *http.Request, get func(ctx context.Context, run eval.Run) (any, error)) {
	run, err := a.find(r.Context(), r.PathValue("id"))
	if err != nil {
		a.fail(w, r, err)
		return
	}
	got, err := get(r.Context(), run)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	reply(w, http.StatusOK, got)
}

func (a *api) getRun(w http.ResponseWriter, r *http.Request) {
	a.of(w, r, func(ctx context.Context, run eval.Run) (any, error) {
		return StatusOf(ctx, a.Store, run, a.knownUnpriced)
	})
}

func (a *api) gradings(w http.ResponseWriter, r *http.Request) {
	a.of(w, r, func(ctx context.Context, run eval.Run) (any, error) {
		gs, err := a.Store.Gradings(ctx, run.ID)
		if gs == nil {
			gs = []eval.Run{}
		}
		return runList{gs}, err
	})
}

func (a *api) summary(w http.ResponseWriter, r *http.Request) {
	a.of(w, r, func(ctx context.Context, run eval.Run) (any, error) {
		if run.State != eval.RunDone {
			s, err := scheduler.Summarize(ctx, a.Store, run)
			return s.Linked(a.Traces), err
		}
		var s eval.Summary
		err := blob.LoadJSON(ctx, a.Store, run.Summary, &s)
		return s.Linked(a.Traces), err
	})
}

func (a *api) trials(w http.ResponseWriter, r *http.Request) {
	a.of(w, r, func(ctx context.Context, run eval.Run) (any, error) {
		size, err := limit(r, pageSize, maxPage)
		if err != nil {
			return nil, err
		}
		from, _, err := number(r, "cursor")
		if err != nil {
			return nil, err
		}
		rows, err := a.Store.Results(ctx, run.ID, from-1, size)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			rows[i].TraceURL = a.Traces.Of(rows[i].TraceID)
		}
		page := trialPage{Trials: rows}
		if rows == nil {
			page.Trials = []store.Row{}
		}
		if len(rows) == size {
			page.Next = strconv.Itoa(rows[size-1].Ordinal + 1)
		}
		return page, nil
	})
}

func (a *api) attempts(w http.ResponseWriter, r *http.Request) {
	a.of(w, r, func(ctx context.Context, run eval.Run) (any, error) {
		ordinal, err := strconv.Atoi(r.PathValue("ordinal"))
		if err != nil {
			return nil, malformed("%.40q is no ordinal of a trial", r.PathValue("ordinal"))
		}
		as, err := a.Store.Attempts(ctx, run.ID, ordinal)
		if as == nil {
			as = []store.Attempt{}
		}
		for i := range as {
			as[i].TraceURL = a.Traces.Of(as[i].TraceID)
		}
		return attemptList{as}, err
	})
}
