package store

import (
	"context"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A Schedule is a schedule as it stands.
type Schedule struct {
	eval.Schedule
	// PausedByHand is true while a person has paused it, whatever its file says.
	PausedByHand bool `json:"paused_by_hand,omitempty"`
	// Due is when it fires next.
	Due time.Time `json:"due"`
	// TakenMicroUSD is what all its runs have spent, been charged and hold, those that
	// are deleted too.
	TakenMicroUSD int64 `json:"taken_microusd"`
}

// Rests says whether the schedule is paused, by hand or in its file.
func (s Schedule) Rests() bool { return s.Paused || s.PausedByHand }

// A Start is the run that a firing starts.
type Start struct {
	Run      eval.Run
	Blobs    []eval.Blob
	Gradings []eval.Run
	// Cancel asks the other runs of the schedule to end that are not done.
	Cancel bool
}

// A FiringFilter selects firings of a schedule, the newest first.
type FiringFilter struct {
	Schedule string
	// Outcome keeps only firings with this one.
	Outcome eval.FiringOutcome
	Limit   int
}

// Schedules is the table of schedules, with what became of their firings. Times of
// firings are kept to the microsecond.
type Schedules interface {
	// PutSchedule stores a schedule that is due at a time, in place of the one of its
	// name. One that had the same cron expression and time zone stays due when it was,
	// and one that is paused by hand stays paused.
	PutSchedule(ctx context.Context, s eval.Schedule, due time.Time) error
	// Schedule returns a schedule, or ErrNotFound; Schedules all, by name.
	Schedule(ctx context.Context, name string) (Schedule, error)
	Schedules(ctx context.Context) ([]Schedule, error)
	// PauseSchedule pauses a schedule by hand; ResumeSchedule ends that, and makes it
	// due at a time.
	PauseSchedule(ctx context.Context, name string) error
	ResumeSchedule(ctx context.Context, name string, due time.Time) error
	// DeleteSchedule deletes a schedule and its firings. Its runs stay, and a schedule
	// that gets its name has taken what they took.
	DeleteSchedule(ctx context.Context, name string) error
	// Fire stores what becomes of a firing, the run that it starts if it does, and
	// when the schedule is due next, in one step and only if the schedule is due at
	// f.Due: of several schedulers that find it due, one fires. It says whether it was
	// this one. A zero next is for a firing by hand, and for one that was queued: the
	// schedule stays due when it is, and there must be no such firing, or a queued one.
	Fire(ctx context.Context, f eval.Firing, next time.Time, start *Start) (bool, error)
	// Firings returns what became of firings.
	Firings(ctx context.Context, f FiringFilter) ([]eval.Firing, error)
}
