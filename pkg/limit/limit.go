// Package limit keeps the calls of a whole farm within what providers allow.
//
// A [Gate] is what all processes of the farm share: it counts requests, tokens
// and calls in flight for each key and holds everybody back while a provider has
// asked for it. A [Limiter] is one process's queue before it: callers wait first
// come, first served, and only the first of each key asks the gate, so that a
// thousand waiting trials cost no more than one.
package limit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A Key names what a provider counts together: an account and a model. It holds
// no secret, and people see it: "anthropic:3fa9c1d2/claude-haiku-4-5".
type Key string

// An Ask is a call that wants to be made.
type Ask struct {
	// Permit names the call for ever: asking again with it is the same as once.
	Permit string
	// Input and Output are the tokens that the provider will count it for.
	Input, Output int
	// Rate that is configured for the key. What it leaves open is found out.
	Rate eval.Rate
}

// A Why says what a caller waits for.
type Why string

const (
	WhyRequests Why = "requests" // per minute
	WhyTokens   Why = "tokens"   // per minute, of any kind
	WhyInFlight Why = "in_flight"
	WhyPause    Why = "pause" // the provider has asked for it
	WhyTurn     Why = "turn"  // callers of this process that came before
	WhyGate     Why = "gate"  // the gate is away
)

// An Answer of the gate to an ask.
type Answer struct {
	Granted bool
	// Wait at least so long before asking again; 0 when nobody can know.
	Wait time.Duration
	Why  Why
}

// A Report is what a call came to.
type Report struct {
	// Input and Output tokens that the provider counted; -1 when it did not say.
	// What was asked for is corrected by them. Of a call that the provider refused
	// or that was not made, they are 0.
	Input, Output int
	// Failed: the call was not made, or failed for another reason than limits, so it
	// tells nothing of them.
	Failed bool
	// Throttled: the provider refused the call because of its limits. Pause is how
	// long it asks everybody to wait.
	Throttled bool
	Pause     time.Duration
	// Standing as the headers of the answer tell.
	Standing Standing
	// Rate that was asked with. [Permit.Release] fills it in.
	Rate eval.Rate
}

// A Standing is what a provider says of its limits for a key.
type Standing struct{ Requests, Tokens, Input, Output Level }

// A Level is how one limit of a minute stands. Limit is 0 when nothing is known,
// Remaining -1.
type Level struct{ Limit, Remaining int }

// A Gate is shared by all processes of a farm. Its methods are atomic, and doing
// one again is the same as once, but for Pause. Permits that nobody renews for a
// lease are taken back, for their holders have crashed.
type Gate interface {
	// Try asks for a permit.
	Try(ctx context.Context, key Key, ask Ask) (Answer, error)
	// Renew extends the leases of permits. Those that were taken back stay so.
	Renew(ctx context.Context, key Key, permits []string) error
	// Release gives a permit back and tells what its call came to.
	Release(ctx context.Context, key Key, permit string, r Report) error
	// Waiting tells how many callers of a process wait for a key. It is forgotten
	// after a while.
	Waiting(ctx context.Context, key Key, process string, n int) error
	// States tells how all keys stand that were used lately, by key.
	States(ctx context.Context) ([]eval.LimitState, error)
	// Lease is how long a permit lives that nobody renews.
	Lease() time.Duration
}

// Patience bounds a wait.
type Patience struct {
	// Most is how long the caller waits in all. Zero means for ever.
	Most time.Duration
	// Once is the longest single wait that it sits out: a gate that asks for more is
	// answered with a [LongError] at once. Zero means Most.
	Once time.Duration
}

// ErrAway means that the gate has not answered for too long. It is wrapped together
// with what the gate said.
var ErrAway = errors.New("the farm's limiter is away")

// A LongError refuses a wait that is longer than the caller's patience.
type LongError struct {
	Key  Key
	Why  Why
	Wait time.Duration // what is left of it, at least
}

func (e *LongError) Error() string {
	return fmt.Sprintf("%s would have to wait %s more (%s)", e.Key, e.Wait.Round(time.Millisecond), e.Why)
}

// Waited is how long a caller has waited.
type Waited struct {
	// Paused because the provider asked for it; Limited by our own count.
	Paused, Limited time.Duration
}

// A Wait is what a waiting caller is told of its wait.
type Wait struct {
	Why Why
	// Until at least, if that is known.
	Until time.Time
	// Before is how many callers of this process come first.
	Before int
}
