package stub

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/stats"
)

// Bounds of what is kept, so that no client can fill the memory.
const (
	maxSamples   = 10_000
	maxKeysShown = 1000
	maxPauses    = 1000
)

// statusGone is noted for calls whose client went away before an answer; nginx
// has the number.
const statusGone = 499

// Stats are what was asked of a server since it started, or since they were
// reset.
type Stats struct {
	Since time.Time `json:"since"`
	// Requests by route and status. 499 stands for a client that went away before
	// it had an answer.
	Requests map[string]map[int]int `json:"requests"`
	Load
	// First and Last are when calls of models came.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
	// Pauses that calls were refused with, the first 1,000.
	Pauses []PauseStats `json:"pauses,omitempty"`
	// Faults by kind.
	Faults map[FaultKind]int `json:"faults,omitempty"`
	// Keys by their fingerprints, the beginnings of their SHA-256.
	Keys map[string]Load `json:"keys"`
	// Latency of the latest 10,000 answers with status 200.
	Latency Percentiles `json:"latency_ms"`
}

// Load is what was asked of a server, by everybody or with one key. Only calls
// of models count.
type Load struct {
	Calls int `json:"calls"`
	// InFlight is how many calls that were let in are open, MaxInFlight the most
	// that were open at once.
	InFlight    int        `json:"in_flight"`
	MaxInFlight int        `json:"max_in_flight"`
	RateLimited int        `json:"rate_limited"`
	Tokens      eval.Usage `json:"tokens"`
	// Unheard are the tokens of answers that did not arrive, because the client had
	// gone away or a fault spoiled them. Providers want them paid all the same.
	Unheard eval.Usage `json:"unheard,omitzero"`
}

// Percentiles of times in ms, by nearest rank. All are 0 when there are none.
type Percentiles struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50"`
	P95   float64 `json:"p95"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

// A ledger keeps the stats.
type ledger struct {
	mu      sync.Mutex
	stats   Stats
	keys    map[string]*Load
	samples []float64 // ms, a ring of the latest
	next    int
}

func newLedger(now time.Time) *ledger {
	l := &ledger{keys: map[string]*Load{}}
	l.reset(now)
	return l
}

// reset forgets all but the calls that are open.
func (l *ledger) reset(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	open := l.stats.InFlight
	l.stats = Stats{Since: now, Requests: map[string]map[int]int{}, Faults: map[FaultKind]int{}}
	l.stats.Load = Load{InFlight: open, MaxInFlight: open}
	for name, k := range l.keys {
		if *k = (Load{InFlight: k.InFlight, MaxInFlight: k.InFlight}); k.InFlight == 0 {
			delete(l.keys, name)
		}
	}
	l.samples, l.next = nil, 0
}

// loads are those that a call with a key counts for.
func (l *ledger) loads(key string) []*Load {
	k := l.keys[key]
	if k == nil {
		if len(l.keys) >= maxKeysShown {
			key = "others"
		}
		if k = l.keys[key]; k == nil {
			k = &Load{}
			l.keys[key] = k
		}
	}
	return []*Load{&l.stats.Load, k}
}

// call counts a call, let in or not.
func (l *ledger) call(key string, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stats.First.IsZero() {
		l.stats.First = at
	}
	l.stats.Last = at
	for i := range l.stats.Pauses {
		if p := &l.stats.Pauses[i]; at.After(p.At.Add(pauseGrace)) && at.Before(p.Until) {
			p.Late++
		}
	}
	for _, load := range l.loads(key) {
		load.Calls++
	}
}

// open counts a call that was let in as open; what it returns closes it.
func (l *ledger) open(key string) (done func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	loads := l.loads(key)
	for _, load := range loads {
		load.InFlight++
		load.MaxInFlight = max(load.MaxInFlight, load.InFlight)
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, load := range loads {
			load.InFlight--
		}
	}
}

// request counts a request by its status.
func (l *ledger) request(route string, status int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stats.Requests[route] == nil {
		l.stats.Requests[route] = map[int]int{}
	}
	l.stats.Requests[route][status]++
}

func (l *ledger) rateLimited(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, load := range l.loads(key) {
		load.RateLimited++
	}
}

func (l *ledger) fault(kind FaultKind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stats.Faults[kind]++
}

func (l *ledger) pause(p PauseStats) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.stats.Pauses) < maxPauses {
		l.stats.Pauses = append(l.stats.Pauses, p)
	}
}

// unheard counts what was generated for nobody.
func (l *ledger) unheard(key string, used eval.Usage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, load := range l.loads(key) {
		load.Unheard = load.Unheard.Add(used)
	}
}

// answered counts an answer and the time it took.
func (l *ledger) answered(key string, used eval.Usage, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, load := range l.loads(key) {
		load.Tokens = load.Tokens.Add(used)
	}
	ms := float64(took) / float64(time.Millisecond)
	if len(l.samples) < maxSamples {
		l.samples = append(l.samples, ms)
		return
	}
	l.samples[l.next] = ms
	l.next = (l.next + 1) % maxSamples
}

// snapshot is a copy of the stats.
func (l *ledger) snapshot() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stats
	s.Requests = map[string]map[int]int{}
	for route, byStatus := range l.stats.Requests {
		s.Requests[route] = maps.Clone(byStatus)
	}
	s.Faults, s.Pauses = maps.Clone(l.stats.Faults), slices.Clone(l.stats.Pauses)
	s.Keys = map[string]Load{}
	for name, k := range l.keys {
		s.Keys[name] = *k
	}
	if sorted := slices.Sorted(slices.Values(l.samples)); len(sorted) > 0 {
		s.Latency = Percentiles{
			Count: len(sorted), P50: stats.Percentile(sorted, 50, 100), P95: stats.Percentile(sorted, 95, 100),
			P99: stats.Percentile(sorted, 99, 100), Max: sorted[len(sorted)-1],
		}
	}
	return s
}
