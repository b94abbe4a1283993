package forecast

import (
	"math"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// z95 is how many standard deviations above its mean a normal number has its 95th
// percentile.
const z95 = 1.6448536269514722

// A guess is what one trial of a cell takes of something.
type guess struct {
	basis eval.Basis
	// mean, and variance of n trials of history. From limits, nothing varies.
	mean, variance float64
	n              int
	// most that it can be, if bounded.
	most    float64
	bounded bool
}

// none of a number is taken where nobody is asked, or nothing is paid.
func none() guess { return guess{basis: eval.BasisNone, bounded: true} }

// observed is a guess from history, within what limits allow.
func (g guess) observed(xs []float64) guess {
	g.basis, g.n = eval.BasisHistory, len(xs)
	for _, x := range xs {
		g.mean += x / float64(len(xs))
	}
	if g.bounded && g.mean >= g.most {
		g.mean = g.most
		return g
	}
	for _, x := range xs {
		g.variance += (x - g.mean) * (x - g.mean) / float64(max(1, len(xs)-1))
	}
	return g
}

// limited is a guess from limits alone.
func (g guess) limited() guess {
	g.basis = eval.BasisUnknown
	if g.bounded {
		g.basis, g.mean = eval.BasisLimits, g.most
	}
	return g
}

// A number is something that trials take.
type number struct {
	// agent and judge give it of a past trial, unless it is not known.
	agent func(Row) (float64, bool)
	judge func(Judged) (float64, bool)
	// limit of a trial; 0 when it has none.
	limit func(cell) int64
	// paid is true of what only priced models take.
	paid bool
	// judged is true of what judging is known to take without a history.
	judged bool
}

// calls of models.
func calls() number {
	return number{
		agent:  func(r Row) (float64, bool) { return float64(r.Agent.Calls + r.User.Calls), true },
		judge:  func(j Judged) (float64, bool) { return float64(j.Calls), true },
		limit:  func(c cell) int64 { return int64(c.kase.Limits.Turns + min(c.kase.Limits.Turns, c.userTurns())) },
		judged: true,
	}
}

// tokens in and out.
func tokens() number {
	return number{
		agent: func(r Row) (float64, bool) { return float64(r.Agent.tokens() + r.User.tokens()), true },
		judge: func(j Judged) (float64, bool) { return float64(j.tokens()), true },
		limit: func(c cell) int64 { return c.hold.Tokens },
	}
}

// cost in micro-dollars.
func cost() number {
	return number{
		agent: func(r Row) (float64, bool) { return known(r.MicroUSD) },
		judge: func(j Judged) (float64, bool) { return known(j.MicroUSD) },
		limit: func(c cell) int64 { return c.hold.MicroUSD },
		paid:  true,
	}
}

func known(micro *int64) (float64, bool) {
	if micro == nil {
		return 0, false
	}
	return float64(*micro), true
}

// numbers are the guesses at one number, for each cell.
type numbers struct{ agents, judges []guess }

// numbers guesses at a number for all cells.
func (f *forecast) numbers(of number) numbers {
	out := numbers{make([]guess, len(f.cells)), make([]guess, len(f.cells))}
	for i, c := range f.cells {
		out.agents[i] = of.agents(c, f.rows[i])
		out.judges[i] = of.judges(c, f.rows[i])
	}
	spread(out.agents)
	spread(out.judges)
	return out
}

// agents is the guess at what a trial takes before it is judged.
func (of number) agents(c cell, rows []Row) guess {
	free, priced := standing(c.asked)
	switch {
	case len(c.asked) == 0 || of.paid && free:
		return none()
	case of.paid && !priced: // a limit of cost bounds nothing then
		return guess{basis: eval.BasisUnknown}
	}
	var g guess
	if limit := of.limit(c); limit > 0 {
		g.most, g.bounded = float64(limit), true
	}
	var xs []float64
	for _, row := range rows {
		if x, known := of.agent(row); known {
			xs = append(xs, x)
		}
	}
	if len(xs) > 0 {
		return g.observed(xs)
	}
	return g.limited()
}

// judges is the guess at what judging a trial takes.
func (of number) judges(c cell, rows []Row) guess {
	var models []eval.Model
	var asked int
	for _, j := range c.judges {
		models, asked = append(models, j.model), asked+j.calls
	}
	free, priced := standing(models)
	switch {
	case len(models) == 0 || of.paid && free:
		return none()
	case of.paid && !priced:
		return guess{basis: eval.BasisUnknown}
	}
	var xs []float64
	for _, row := range rows {
		if row.Judge == nil {
			continue
		}
		if x, known := of.judge(*row.Judge); known {
			xs = append(xs, x)
		}
	}
	var g guess
	if of.judged {
		g.most, g.bounded = float64(asked), true
	}
	if len(xs) > 0 {
		return g.observed(xs)
	}
	return g.limited()
}

// standing says whether models cost nothing, and whether the price of all that cost
// something is known.
func standing(models []eval.Model) (free, priced bool) {
	free, priced = true, true
	for _, m := range models {
		free = free && m.Free()
		priced = priced && (m.Free() || m.Price != nil)
	}
	return free, priced
}

// spread gives those with one trial the variance of the others, relative to the
// mean. Without others it is as wide as the mean.
func spread(gs []guess) {
	var sum, weight float64
	for _, g := range gs {
		if g.n > 1 && g.mean > 0 {
			sum += float64(g.n-1) * g.variance / (g.mean * g.mean)
			weight += float64(g.n - 1)
		}
	}
	relative := 1.0
	if weight > 0 {
		relative = sum / weight
	}
	for i, g := range gs {
		if g.n == 1 && !(g.bounded && g.mean >= g.most) {
			gs[i].variance = relative * g.mean * g.mean
		}
	}
}

// A sum is that of guesses over the trials of a run.
type sum struct{ mean, variance, most float64 }

func (s *sum) add(g guess, repeats int) {
	r := float64(repeats)
	s.mean += r * g.mean
	if g.n > 0 {
		s.variance += r*g.variance + r*r*g.variance/float64(g.n)
	}
	s.most += r * g.most
}

// expect sums up a number over a run.
func (ns numbers) expect(repeats []int) eval.Expectations {
	out := eval.Expectations{Total: expect(repeats, ns.agents, ns.judges), Agents: expect(repeats, ns.agents), Judges: expect(repeats, ns.judges)}
	// The parts may have been cut to their limits, and then the whole is too.
	total := &out.Total
	total.Known = min(total.Known, out.Agents.Known+out.Judges.Known)
	if total.P95 != nil {
		total.P95 = new(total.Known)
		total.P50 = new(min(*total.P50, *out.Agents.P50+*out.Judges.P50))
	}
	return out
}

// expect sums up guesses. A trial that several of them are about is known as well
// as the worst of them.
func expect(repeats []int, parts ...[]guess) eval.Expected {
	var e eval.Expected
	var s sum
	bounded := true
	for i, r := range repeats {
		worst := eval.BasisNone
		for _, gs := range parts {
			g := gs[i]
			worst = worse(worst, g.basis)
			bounded = bounded && (g.bounded || r == 0)
			s.add(g, r)
		}
		switch worst {
		case eval.BasisHistory:
			e.FromHistory += r
		case eval.BasisLimits:
			e.FromLimits += r
		case eval.BasisUnknown:
			e.Unknown += r
		case eval.BasisNone, eval.BasisMixed:
		}
	}
	// What is left of an exact sum in a float is no micro-dollar.
	p50, p95 := whole(math.Round(s.mean)), whole(math.Ceil(s.mean+z95*math.Sqrt(s.variance)-1e-6))
	if bounded {
		e.Most = new(whole(math.Round(s.most)))
		p50, p95 = min(p50, *e.Most), min(p95, *e.Most)
	}
	p95 = max(p95, p50)
	e.Known, e.Basis = p95, basis(e)
	if e.Unknown == 0 {
		e.P50, e.P95 = &p50, &p95
	}
	return e
}

// whole is a number as an integer, as large as one can be.
func whole(x float64) int64 { return int64(min(x, math.MaxInt64/4)) }

// basis of a number, by how many trials are known in what way.
func basis(e eval.Expected) eval.Basis {
	switch {
	case e.Unknown > 0:
		return eval.BasisUnknown
	case e.FromHistory > 0 && e.FromLimits > 0:
		return eval.BasisMixed
	case e.FromHistory > 0:
		return eval.BasisHistory
	case e.FromLimits > 0:
		return eval.BasisLimits
	default:
		return eval.BasisNone
	}
}

// worse is the basis of the two that says less.
func worse(a, b eval.Basis) eval.Basis {
	order := []eval.Basis{eval.BasisNone, eval.BasisHistory, eval.BasisMixed, eval.BasisLimits, eval.BasisUnknown}
	return order[max(slices.Index(order, a), slices.Index(order, b))]
}
