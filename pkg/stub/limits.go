package stub

import (
	"sync"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// Limits of one key and model. Zero is no limit.
type Limits struct {
	// Requests a minute, and tokens in and out together, as OpenAI counts them:
	// those of the request and the most that it allows to come out, up front.
	Requests, Tokens int
	// InputTokens and OutputTokens a minute, as Anthropic counts them: estimated up
	// front, and put right by the answer. What is read from a cache is free.
	InputTokens, OutputTokens int
	// InFlight is how many calls may be open at once.
	InFlight int
	// Burst is how long what the buckets hold takes to come in: they start full. Zero
	// means a minute.
	Burst time.Duration
}

// bucket makes one of a limit a minute.
func (l Limits) bucket(limit int, now time.Time) bucket {
	holds := float64(limit)
	if l.Burst > 0 {
		holds = min(holds, max(1, holds*l.Burst.Minutes()))
	}
	return bucket{limit: float64(limit), holds: holds, level: holds, at: now}
}

// inFlightWait is what a client is told that has too many calls open: nobody
// knows when one of them will end.
const inFlightWait = time.Second

// maxAccounts bounds the memory of a limiter.
const maxAccounts = 4096

// A limiter applies the limits to each account: a key and a model.
type limiter struct {
	limits   Limits
	mu       sync.Mutex
	accounts map[string]*account
	swept    time.Time // when idle accounts were last looked for
}

func newLimiter(l Limits) *limiter {
	return &limiter{limits: l, accounts: map[string]*account{}}
}

// An account is what one key has used of a model.
type account struct {
	requests, tokens, input, output bucket
	inFlight                        int
}

// idle accounts are as good as new ones.
func (a *account) idle(now time.Time) bool {
	a.fill(now)
	for _, b := range a.buckets() {
		if b.level < b.holds {
			return false
		}
	}
	return a.inFlight == 0
}

func (a *account) buckets() []*bucket {
	return []*bucket{&a.requests, &a.tokens, &a.input, &a.output}
}

func (a *account) fill(now time.Time) {
	for _, b := range a.buckets() {
		b.fill(now)
	}
}

func (a *account) standings() []standing {
	var out []standing
	for i, what := range []string{"requests", "tokens", "input-tokens", "output-tokens"} {
		if b := a.buckets()[i]; b.limit > 0 {
			out = append(out, b.standing(what))
		}
	}
	return out
}

// A ticket is a call that was let in, and what it took.
type ticket struct {
	limiter       *limiter
	account       *account
	input, output float64
	standings     []standing
}

// A denial is a call that was not: nothing was taken.
type denial struct {
	wait time.Duration
	// scarce is what there is too little of.
	scarce    string
	standings []standing
}

// admit lets a call in, or says how long to wait. Output is what the request
// allows at most; 0 when it does not say.
func (l *limiter) admit(now time.Time, name string, input, output int) (*ticket, *denial) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.account(now, name)
	a.fill(now)
	in, out := float64(input), max(0, float64(output)) // a client may ask for less than nothing
	needs := []struct {
		bucket *bucket
		n      float64
		what   string
	}{{&a.requests, 1, "requests"}, {&a.tokens, in + out, "tokens"}, {&a.input, in, "input-tokens"}, {&a.output, out, "output-tokens"}}
	var d denial
	for _, need := range needs {
		if w := need.bucket.wait(need.n); w > d.wait {
			d.wait, d.scarce = w, need.what
		}
	}
	if l.limits.InFlight > 0 && a.inFlight >= l.limits.InFlight && d.wait < inFlightWait {
		d.wait, d.scarce = inFlightWait, "requests"
	}
	if d.wait > 0 {
		d.standings = a.standings()
		return nil, &d
	}
	a.inFlight++
	a.requests.take(1)
	a.tokens.take(in + out)
	t := &ticket{limiter: l, account: a, input: a.input.take(in), output: a.output.take(out)}
	t.standings = a.standings()
	return t, nil
}

// account finds or opens an account. When there are too many, those that are
// idle are closed; if none is, the newcomers share one.
func (l *limiter) account(now time.Time, name string) *account {
	if a := l.accounts[name]; a != nil {
		return a
	}
	if len(l.accounts) >= maxAccounts && now.Sub(l.swept) >= time.Second { // it takes its time
		l.swept = now
		for name, a := range l.accounts {
			if a.idle(now) {
				delete(l.accounts, name)
			}
		}
	}
	if len(l.accounts) >= maxAccounts {
		name = ""
		if a := l.accounts[name]; a != nil {
			return a
		}
	}
	a := &account{
		requests: l.limits.bucket(l.limits.Requests, now), tokens: l.limits.bucket(l.limits.Tokens, now),
		input: l.limits.bucket(l.limits.InputTokens, now), output: l.limits.bucket(l.limits.OutputTokens, now),
	}
	l.accounts[name] = a
	return a
}

// close ends a call, which used so many tokens.
func (t *ticket) close(now time.Time, used eval.Usage) {
	t.limiter.mu.Lock()
	defer t.limiter.mu.Unlock()
	t.account.inFlight--
	t.account.fill(now)
	t.account.input.give(t.input - float64(used.Input-used.CacheRead))
	t.account.output.give(t.output - float64(used.Output))
}
