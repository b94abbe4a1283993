package forecast

import (
	"cmp"
	"slices"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// duration is how long a run takes. Each limit alone needs some time; the run takes
// as long as the one that needs the longest. Waits because of errors, and rates that
// nobody has configured, are not in it.
func (f *forecast) duration(repeats []int) eval.Duration {
	w := work{loads: map[account]*load{}}
	var e eval.Expected
	for i, r := range repeats {
		if r == 0 {
			continue
		}
		switch w.add(f.cells[i], f.rows[i], float64(r)) {
		case eval.BasisHistory:
			e.FromHistory += r
		case eval.BasisLimits:
			e.FromLimits += r
		case eval.BasisUnknown, eval.BasisMixed, eval.BasisNone:
			e.Unknown += r
		}
	}
	out := eval.Duration{Basis: basis(e), Bounds: w.bounds(f.plan.Slots, f.plan.JudgeSlots)}
	if e.Unknown == 0 {
		out.Time = new(time.Duration(0))
		if len(out.Bounds) > 0 {
			out.Time = &out.Bounds[0].Time
		}
	}
	return out
}

// work is what a run has to get done.
type work struct {
	// busy and judging are the milliseconds of slots, and longest those of the
	// longest trial.
	busy, judging, longest float64
	// loads of the limiter's keys.
	loads map[account]*load
}

// An account is what a provider counts together.
type account struct {
	provider        eval.Provider
	address, apiKey string
	pool            string
	judges          bool
}

// A load is what a key of the limiter has to let through.
type load struct {
	rate                     eval.Rate
	keys                     int
	calls, input, output, ms float64
	// split is false when it is not known how many tokens go in and how many come out.
	split bool
}

// add adds the trials of a cell, and says what is known of them.
func (w *work) add(c cell, rows []Row, r float64) eval.Basis {
	if len(rows) == 0 {
		return w.limited(c, r)
	}
	n := float64(len(rows))
	var busy float64
	for _, row := range rows {
		busy += row.BusyMS / n
		for i, m := range c.asked {
			took := row.Agent
			if i > 0 {
				took = row.User
			}
			w.load(m, false).add(took, r/n)
		}
	}
	w.busy += r * busy
	w.longest = max(w.longest, busy)
	if len(c.judges) == 0 {
		return eval.BasisHistory
	}
	return w.judge(c, rows, r)
}

// judge adds what judging takes.
func (w *work) judge(c cell, rows []Row, r float64) eval.Basis {
	var n, asked float64
	for _, row := range rows {
		if row.Judge != nil {
			n++
		}
	}
	for _, j := range c.judges {
		asked += float64(j.calls)
	}
	if n == 0 {
		return eval.BasisUnknown
	}
	for _, row := range rows {
		if row.Judge == nil {
			continue
		}
		w.judging += r * row.Judge.BusyMS / n
		for _, j := range c.judges { // whose part it was, nobody has counted
			w.load(j.model, true).add(row.Judge.Took, r/n*float64(j.calls)/asked)
		}
	}
	return eval.BasisHistory
}

// limited adds the trials of a cell without a history at their limits.
func (w *work) limited(c cell, r float64) eval.Basis {
	limits := c.kase.Limits
	ms := float64(limits.Time.Milliseconds())
	w.busy += r * ms
	w.longest = max(w.longest, ms)
	known := ms > 0 && len(c.judges) == 0
	for i, m := range c.asked {
		l := w.load(m, false)
		turns := limits.Turns
		if i > 0 {
			turns = min(turns, c.userTurns())
		}
		l.calls += r * float64(turns)
		l.input += r * float64(c.hold.Tokens)
		l.ms += r * ms
		l.split = false
		b := l.rate
		known = known && (b.RequestsPerMinute == 0 || turns > 0) &&
			(b.TokensPerMinute == 0 || c.hold.Tokens > 0) && b.InputTokensPerMinute == 0 && b.OutputTokensPerMinute == 0
	}
	if !known {
		return eval.BasisUnknown
	}
	return eval.BasisLimits
}

func (l *load) add(t Took, share float64) {
	l.calls += share * float64(t.Calls)
	l.input += share * float64(t.Input)
	l.output += share * float64(t.Output)
	l.ms += share * t.ModelMS
}

// load is that of the key which a model is called with.
func (w *work) load(m eval.Model, judges bool) *load {
	of := account{provider: m.Provider, address: eval.Address(m.Provider, m.BaseURL), apiKey: m.APIKey, pool: m.Model}
	var rate eval.Rate
	if m.Rate != nil && !m.Replayed() && m.Provider != eval.ProviderScripted { // those wait for nobody
		rate = *m.Rate
		of.pool = cmp.Or(rate.Pool, m.Model)
		if judges && rate.Judge != nil {
			rate, of.judges = *rate.Judge, true
		}
	}
	l := w.loads[of]
	if l == nil {
		// Trials take the keys of a model in turn, and each has the rate to itself.
		l = &load{rate: rate, keys: max(1, len(m.APIKeys)), split: true}
		w.loads[of] = l
	}
	return l
}

// bounds of a run, from the tightest on.
func (w *work) bounds(slots, judgeSlots int) []eval.Bound {
	var out []eval.Bound
	bound := func(by, key string, value int, ms float64) {
		if value > 0 && ms > 0 {
			out = append(out, eval.Bound{By: by, Key: key, Value: value, Time: time.Duration(ms * float64(time.Millisecond))})
		}
	}
	bound("slots", "", slots, w.busy/float64(max(1, slots)))
	bound("judge_slots", "", judgeSlots, w.judging/float64(max(1, judgeSlots)))
	bound("longest_trial", "", min(slots, 1), w.longest) // where nobody knows the slots, rates alone bound
	for of, l := range w.loads {
		key := string(of.provider) + "/" + of.pool
		if of.judges {
			key += "/judge"
		}
		perMinute := func(by string, n int, need float64) {
			bound(by, key, n, need/float64(max(1, n)*l.keys)*float64(time.Minute.Milliseconds()))
		}
		perMinute("requests_per_minute", l.rate.RequestsPerMinute, l.calls)
		perMinute("tokens_per_minute", l.rate.TokensPerMinute, l.input+l.output)
		if l.split {
			perMinute("input_tokens_per_minute", l.rate.InputTokensPerMinute, l.input)
			perMinute("output_tokens_per_minute", l.rate.OutputTokensPerMinute, l.output)
		}
		bound("concurrent", key, l.rate.Concurrent, l.ms/float64(max(1, l.rate.Concurrent)*l.keys))
	}
	slices.SortFunc(out, func(a, b eval.Bound) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Key, b.Key), cmp.Compare(a.By, b.By))
	})
	return out
}
