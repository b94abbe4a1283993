package stub

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Pause refuses one call, as a provider does that wants to be left alone for a
// while. Others that come meanwhile are not refused for it, but counted.
type Pause struct {
	// Call is the number of the call, from 1, of all that show a key which is let in.
	Call int
	Wait time.Duration
	// Form in which the client is told. Empty means that of [Options].
	Form RetryAfter
}

// longestPause bounds what a pause may ask for.
const longestPause = 24 * time.Hour

// ParsePauses reads pauses as CALL=WAIT or CALL=WAIT/FORM, such as 20=7s/http-date.
func ParsePauses(specs ...string) ([]Pause, error) {
	var pauses []Pause
	seen := map[int]bool{}
	for _, s := range specs {
		call, rest, _ := strings.Cut(s, "=")
		wait, form, told := strings.Cut(rest, "/")
		n, err := strconv.Atoi(call)
		d, err2 := time.ParseDuration(wait)
		if err != nil || err2 != nil || n < 1 || d <= 0 || d > longestPause {
			return nil, fmt.Errorf("want CALL=WAIT with a number from 1 and a wait of at most 24h, such as 20=7s, got %q", s)
		}
		if seen[n] {
			return nil, fmt.Errorf("call %d is refused twice", n)
		}
		seen[n] = true
		p := Pause{Call: n, Wait: d}
		if told {
			if p.Form, err = ParseRetryAfter(form); err != nil {
				return nil, err
			}
		}
		pauses = append(pauses, p)
	}
	return pauses, nil
}

// PauseStats are what came of a pause.
type PauseStats struct {
	Call int        `json:"call"`
	Form RetryAfter `json:"form"`
	// At the call was refused; Until the client was told to wait.
	At    time.Time `json:"at"`
	Until time.Time `json:"until"`
	// Late calls came, with whatever key, more than a second after At and before Until:
	// in the second, those that were on their way may still arrive.
	Late int `json:"late"`
}

// pauseGrace is how long calls may still arrive that were on their way.
const pauseGrace = time.Second

// A turnstile counts calls and knows which of them are refused.
type turnstile struct {
	mu     sync.Mutex
	calls  int
	pauses map[int]Pause
}

func newTurnstile(pauses []Pause) *turnstile {
	t := &turnstile{pauses: map[int]Pause{}}
	for _, p := range pauses {
		t.pauses[p.Call] = p
	}
	return t
}

// pass counts a call, and gives the pause that refuses it, if one does.
func (t *turnstile) pass() (Pause, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls++
	p, refused := t.pauses[t.calls]
	return p, refused
}
