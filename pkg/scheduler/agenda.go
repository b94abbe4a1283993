package scheduler

import (
	"fmt"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/schedule"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// punctual is how late a firing may begin that was not missed: longer than another
// scheduler needs to notice that the one before it is gone.
const punctual = time.Minute

// An agenda is what is due of a schedule: first firings that come to nothing, then
// those to begin.
type agenda struct {
	passed      int
	first, last time.Time // of those
	fire        []time.Time
	next        time.Time // is not due yet
}

// agendaOf finds out what is due at a moment.
func agendaOf(s store.Schedule, cron *schedule.Cron, now time.Time) agenda {
	a := agenda{next: s.Due}
	makeUp := map[eval.CatchUp]int{eval.CatchUpOnce: 1, eval.CatchUpAll: s.CatchUpLimit}[s.CatchUp]
	var missed []time.Time
	var begins time.Time
	for ; ; a.next = cron.Next(a.next) {
		// Jitter does not let a firing overtake the one before it.
		if at := a.next.Add(schedule.Jitter(s.Name, a.next, s.Jitter)); at.After(begins) {
			begins = at
		}
		if begins.After(now) {
			break
		}
		switch {
		case s.Rests():
			a.drop(a.next)
		case now.Sub(begins) <= punctual:
			a.fire = append(a.fire, a.next)
		default:
			missed = append(missed, a.next)
			if len(missed) > makeUp {
				a.drop(missed[0])
				missed = missed[1:]
			}
		}
	}
	if s.CatchUp == eval.CatchUpOnce && len(a.fire) > 0 { // that one is for all of them
		for _, due := range missed {
			a.drop(due)
		}
		missed = nil
	}
	a.fire = append(missed, a.fire...)
	return a
}

func (a *agenda) drop(due time.Time) {
	if a.passed == 0 {
		a.first = due
	}
	a.passed++
	a.last = due
}

// after is when the schedule is due after the i-th firing that begins, or with -1
// after those that come to nothing.
func (a *agenda) after(i int) time.Time {
	if i+1 < len(a.fire) {
		return a.fire[i+1]
	}
	return a.next
}

// pass is the entry in the history of the firings that come to nothing: a schedule of
// minutes may have had thousands.
func (a *agenda) pass(s store.Schedule, now time.Time) eval.Firing {
	f := eval.Firing{Schedule: s.Name, Due: a.first, At: now, Outcome: eval.FiringMissed, Message: "no scheduler was there in time"}
	if s.Rests() {
		f.Outcome, f.Message = eval.FiringPaused, "the schedule was paused"
	}
	if a.passed > 1 {
		f.Message += fmt.Sprintf("; the same of %d more, up to that of %s", a.passed-1, a.last.Format(time.RFC3339))
	}
	return f
}
