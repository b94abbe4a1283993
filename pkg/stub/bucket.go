package stub

import (
	"math"
	"time"
)

// A bucket holds what may be used at once, and fills up continuously. It starts
// full.
type bucket struct {
	// limit is what comes in within a minute. Zero has no bound.
	limit float64
	// holds is the capacity.
	holds float64
	level float64
	at    time.Time
}

// fill brings the bucket up to date.
func (b *bucket) fill(now time.Time) {
	if d := now.Sub(b.at); d > 0 {
		b.level = min(b.holds, b.level+b.limit*d.Minutes())
		b.at = now
	}
}

// wait is how long it takes until n are there. More than the bucket can hold
// counts as all of it, else it would take for ever.
func (b *bucket) wait(n float64) time.Duration {
	missing := min(n, b.holds) - b.level
	if b.limit == 0 || missing < 1e-6 { // sums of fractions fall short by a hair
		return 0
	}
	return time.Duration(math.Ceil(missing / b.limit * float64(time.Minute)))
}

// take takes n, or all that the bucket can hold, and says how many.
func (b *bucket) take(n float64) float64 {
	n = min(n, b.holds)
	b.level -= n
	return n
}

// give puts n back. A negative n leaves a debt that has to fill up first.
func (b *bucket) give(n float64) {
	if b.limit > 0 {
		b.level = min(b.holds, b.level+n)
	}
}

// standing tells how full the bucket is.
func (b *bucket) standing(what string) standing {
	return standing{
		what: what, limit: int(b.limit), remaining: max(0, int(b.level)),
		full: time.Duration((b.holds - b.level) / b.limit * float64(time.Minute)),
	}
}

// A standing is where a client stands with one of its limits.
type standing struct {
	// what is counted: requests, tokens, input-tokens or output-tokens.
	what             string
	limit, remaining int
	// full is how long it takes until all of it is there again.
	full time.Duration
}
