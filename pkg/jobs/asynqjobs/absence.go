package asynqjobs

import (
	"sync"
	"time"

	"github.com/evalfarm/evalfarm/pkg/jobs"
)

// absences remembers since when attempts have been looked for in vain. It lives
// in the scheduler's memory: after a restart the wait begins anew.
type absences struct {
	lease time.Duration

	mu   sync.Mutex // guards runs
	runs map[string]map[string]absence
}

type absence struct{ since, seen time.Time }

// missed notes that an attempt was not found, and is true when that has been so
// for a whole lease.
func (a *absences) missed(j jobs.Job, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.runs == nil {
		a.runs = map[string]map[string]absence{}
	}
	if a.runs[j.Run] == nil {
		a.runs[j.Run] = map[string]absence{}
	}
	was, ok := a.runs[j.Run][j.Key()]
	if !ok {
		was.since = now
	}
	was.seen = now
	a.runs[j.Run][j.Key()] = was
	return now.Sub(was.since) >= a.lease
}

// found ends an absence.
func (a *absences) found(j jobs.Job) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.runs[j.Run], j.Key())
}

// prune drops what nobody has asked for in a while.
func (a *absences) prune(run string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, was := range a.runs[run] {
		if now.Sub(was.seen) > 4*a.lease {
			delete(a.runs[run], key)
		}
	}
}

// forget drops a run.
func (a *absences) forget(run string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.runs, run)
}
