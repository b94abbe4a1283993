package scheduler

import "context"

// Held is how many trials of a run the scheduler has in memory.
func (s *Scheduler) Held(run string) int {
	s.mu.Lock()
	r := s.runs[run]
	s.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.outstanding)
}

// Between does something between two rounds.
func (s *Scheduler) Between(do func()) {
	s.turn.Lock()
	defer s.turn.Unlock()
	do()
}

// Round is one more round beside those of Run, which come when they come. What fails,
// fails in theirs too.
func (s *Scheduler) Round(ctx context.Context) { _ = s.round(ctx) }

// Look does what is due by a timetable, once.
func (t *Timetable) Look(ctx context.Context) error { return t.look(ctx) }

// Remembered is how many waiting trials of a grading it keeps at most.
const Remembered = remembered

// TellRest tells of the trials that are told of in the next round.
func (s *Scheduler) TellRest(ctx context.Context) { s.tellRest(ctx) }
