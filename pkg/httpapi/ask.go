package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
)

// A Retrying asks that trials are tried again.
type Retrying struct {
	// Only trials with these verdicts: error, unjudged, unfinished.
	Only []eval.Verdict `json:"only,omitempty"`
	// Budget replaces that of the run, number by number. Its time counts from now.
	Budget eval.Budget `json:"budget,omitzero"`
}

// maxBudgetTime keeps what is added to it from overflowing.
const maxBudgetTime = 100 * 365 * 24 * time.Hour

// Retried says how many trials are due again, and where their run stands.
type Retried struct {
	Due int `json:"due"`
	Status
}

// What can be asked of a run.
const (
	askCancel = "cancel"
	askPause  = "pause"
	askResume = "resume"
	askRetry  = "retry"
)

// ask does what the path says behind its colon.
func (a *api) ask(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	id, what, _ := strings.Cut(r.PathValue("asked"), ":")
	if !slices.Contains([]string{askCancel, askPause, askResume, askRetry}, what) {
		Problem{Status: http.StatusNotFound, Detail: "the API has no such path; want " + RunsPath + "/{id}:cancel, :pause, :resume or :retry"}.write(w)
		return
	}
	run, err := a.find(ctx, id)
	if err == nil && run.State != eval.RunDone && run.Carrier != eval.CarrierService {
		err = &scheduler.RefusedError{Message: "run " + id + " is carried out by the process that made it, and not by the farm", Hint: "evalfarm " + what + " where that process runs"}
	}
	due := 0
	if err == nil {
		switch what {
		case askCancel:
			err = scheduler.Cancel(ctx, a.Store, run)
		case askPause:
			err = scheduler.Pause(ctx, a.Store, run)
		case askResume:
			run, err = scheduler.Whole(ctx, a.Store, run)
			if err == nil {
				err = scheduler.Unpause(ctx, a.Store, run)
			}
		case askRetry:
			var how Retrying
			if err = decode(w, r, &how); err == nil {
				due, err = a.retry(ctx, run, how)
			}
		}
	}
	if err == nil {
		run, err = a.Store.Run(ctx, run.ID)
	}
	var st Status
	if err == nil {
		st, err = StatusOf(ctx, a.Store, run, a.knownUnpriced)
	}
	if err != nil {
		a.fail(w, r, err)
		return
	}
	w.Header().Set("Location", RunsPath+"/"+run.ID)
	if what == askRetry {
		reply(w, http.StatusAccepted, Retried{due, st})
		return
	}
	reply(w, http.StatusAccepted, st)
}

// retry makes trials due again and says how many.
func (a *api) retry(ctx context.Context, run eval.Run, how Retrying) (int, error) {
	if len(how.Only) == 0 {
		how.Only = []eval.Verdict{eval.Error, eval.Unfinished}
	}
	for _, v := range how.Only {
		if !slices.Contains([]eval.Verdict{eval.Error, eval.Unjudged, eval.Unfinished}, v) {
			return 0, malformed("only %.40q: want error, unjudged or unfinished", v)
		}
	}
	if b := how.Budget; b.MicroUSD < 0 || b.Tokens < 0 || b.Time < 0 || b.Time > maxBudgetTime {
		return 0, malformed("a budget is something positive, and its time at most %s", maxBudgetTime)
	}
	if err := scheduler.Retryable(run); err != nil {
		return 0, err
	}
	if run.Carrier != eval.CarrierService {
		return 0, &scheduler.RefusedError{Message: "run " + run.ID + " is not one of the farm's", Hint: "evalfarm retry where it was made"}
	}
	due, err := scheduler.Due(ctx, a.Store, run, how.Only)
	if err != nil || due == 0 {
		return 0, err
	}
	if run, err = scheduler.TakeUp(ctx, a.Store, run, how.Budget, a.DayMicroUSD, nil); err != nil {
		return 0, err
	}
	due, _, err = scheduler.Retry(ctx, a.Store, run, how.Only)
	return due, err
}
