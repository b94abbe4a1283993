package cli

import "time"

// A pace estimates how long a run still takes, from the trials done since the
// first status: a resumed run begins with results that took no time now.
type pace struct {
	begun bool
	first Status
}

// eta gives the rest of the run's time, and false while nothing was done that it
// could be told from.
func (p *pace) eta(s Status) (time.Duration, bool) {
	if !p.begun {
		p.begun, p.first = true, s
	}
	done, took := s.Done-p.first.Done, s.Elapsed-p.first.Elapsed
	if !s.Paused.IsZero() { // until then nothing is done, whatever was done before
		return 0, false
	}
	if done <= 0 || took <= 0 || s.Done >= s.Total {
		return 0, false
	}
	return time.Duration(float64(took) / float64(done) * float64(s.Total-s.Done)), true
}
