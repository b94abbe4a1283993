package chaos

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// A Fault is one thing that goes wrong, and is made good again.
type Fault struct {
	Name string
	// Leases that it lasts, about.
	Leases float64
	// felt are words of which the log of a process has one when it was felt; nil if no
	// log must say it.
	felt []string
	// lacks says what a farm or this machine lacks for it; empty if nothing.
	lacks func(f *Farm) string
	// befall lets it happen, and returns when it is over. An error is one of this
	// machine. When ctx ends it is made good at once.
	befall func(ctx context.Context, f *Farm, s Step) error
}

// Lacks says why a fault cannot befall a farm; empty if it can.
func (f *Farm) Lacks(fault Fault) string {
	if fault.lacks == nil {
		return ""
	}
	return fault.lacks(f)
}

// A Step of a plan is a fault that befalls a farm once.
type Step struct {
	// At is the share of a run's trials that have a result then.
	At    float64
	Fault Fault
	// Victim is the number of the process that it befalls; modulo how many there are.
	Victim int
	// After is how long after that, so that it comes at any moment of a round of the
	// scheduler, and For how long it lasts.
	After, For time.Duration
}

func (s Step) String() string {
	return fmt.Sprintf("%s (%d, at %.0f %%, %s)", s.Fault.Name, s.Victim, 100*s.At, s.For.Round(10*time.Millisecond))
}

// Plan makes a plan in which each fault happens so many times, while from 5 to 70 % of
// the results come in, so that none comes too late. It depends on its arguments alone.
func Plan(seed uint64, times int, lease time.Duration, faults ...Fault) []Step {
	var steps []Step
	for _, fault := range faults {
		// By name, so that a step is the same whatever other faults there are.
		chance := rand.New(rand.NewPCG(seed, hash(fault.Name)))
		for range times {
			steps = append(steps, Step{
				At: 0.05 + 0.65*chance.Float64(), Fault: fault, Victim: chance.IntN(100),
				After: time.Duration(chance.Float64() / 4 * float64(lease)),
				For:   time.Duration(fault.Leases * (1 + chance.Float64()/2) * float64(lease)),
			})
		}
	}
	slices.SortStableFunc(steps, func(a, b Step) int { return cmp.Compare(a.At, b.At) })
	return steps
}

// hash is FNV-1a.
func hash(text string) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range []byte(text) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}

// Faults are all that there are.
func Faults() []Fault {
	return []Fault{
		WorkerKilled(), WorkerFrozen(), WorkerCutOff(), WorkerDiskFull(), WorkerClockJumps(),
		SchedulerKilled(), SchedulerFrozen(), TwoLeaders(), KilledBeforeJob(), KilledBeforeAck(),
		RedisKilled(), RedisFrozen(), RedisWiped(), RedisAway(),
		StoreAway(), StoreDiskFull(),
	}
}

// pass lets time pass, unless ctx ends.
func pass(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

func list(steps []Step) string {
	var lines []string
	for _, s := range steps {
		lines = append(lines, s.String())
	}
	return strings.Join(lines, "; ")
}
