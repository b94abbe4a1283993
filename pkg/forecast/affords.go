package forecast

import (
	"slices"
	"sort"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

// mostRounds is how far rounds are counted where no suite says how many it wants. It
// may be more, and is told so.
const mostRounds = 1000

// affords works out how far the budget reaches.
func (f *forecast) affords() *eval.Affordable {
	most := mostRounds
	repeats := f.first
	if f.plan.Repeats.Fit != "" { // the others are in the run, whatever is decided
		most, repeats = f.plan.Repeats.Max, f.run
	}
	b := f.plan.Run.Budget
	out := &eval.Affordable{Budget: b, Day: f.plan.Day}
	rounds := func(n int) *eval.Rounds {
		r := f.rounds(n)
		r.AtLeast = n == mostRounds && f.plan.Repeats.Fit == ""
		return &r
	}
	if f.capped() {
		n := largest(most, func(n int) bool { return f.holds(repeats(n)) })
		out.Guaranteed = rounds(n)
	}
	if _, known := f.expected(repeats(1)); !known {
		return out
	}
	short := func(n int) eval.Shortage { return f.short(repeats(n)) }
	n := largest(most, func(n int) bool { return short(n) == "" })
	if n < most {
		out.Short = short(n + 1)
	}
	if out.Short != eval.ShortOfTime && out.Guaranteed != nil && out.Guaranteed.N > n && !f.judged() {
		n = out.Guaranteed.N // what is guaranteed can be expected
		if n == most {
			out.Short = ""
		}
	}
	out.Expected = rounds(n)
	return out
}

// judged says whether judges are asked, for whom nothing is guaranteed.
func (f *forecast) judged() bool {
	return slices.ContainsFunc(f.cells, func(c cell) bool { return len(c.judges) > 0 })
}

func (f *forecast) rounds(n int) eval.Rounds { return eval.Rounds{N: n, Shows: f.shows(n)} }

// largest is the largest number up to most that something holds of, which holds of
// all below it.
func largest(most int, holds func(n int) bool) int {
	return sort.Search(most, func(i int) bool { return !holds(i + 1) })
}

// holds says whether the budget can hold for all trials at once.
func (f *forecast) holds(repeats []int) bool {
	var all eval.Amount
	for i, r := range repeats {
		hold := f.cells[i].hold
		all = all.Add(eval.Amount{MicroUSD: int64(r) * hold.MicroUSD, Tokens: int64(r) * hold.Tokens})
	}
	money, tokens := f.money(), f.plan.Run.Budget.Tokens
	return (!money.capped || all.MicroUSD <= money.most) && (tokens == 0 || all.Tokens <= tokens)
}

// A purse is what a run may spend.
type purse struct {
	capped bool
	most   int64 // micro-dollars
	short  eval.Shortage
}

// money is the tighter of the run's budget and what is left of the day.
func (f *forecast) money() purse {
	b := f.plan.Run.Budget.MicroUSD
	if d := f.plan.Day; d != nil && (b == 0 || d.LeftMicroUSD < b) {
		return purse{true, d.LeftMicroUSD, eval.ShortOfDayMoney}
	}
	return purse{b > 0, b, eval.ShortOfMoney}
}

// capped says whether what trials may take has to be held.
func (f *forecast) capped() bool { return f.money().capped || f.plan.Run.Budget.Tokens > 0 }

// expected is what no more than 5 of 100 runs exceed, of what the budget caps, and
// whether it is known. Of a budget of time alone, the time has to be.
func (f *forecast) expected(repeats []int) (eval.Amount, bool) {
	b := f.plan.Run.Budget
	var out eval.Amount
	known := true
	for _, one := range []struct {
		of     numbers
		capped bool
		into   *int64
	}{{f.cost, f.money().capped, &out.MicroUSD}, {f.tokens, b.Tokens > 0, &out.Tokens}} {
		if !one.capped {
			continue
		}
		total := one.of.expect(repeats).Total
		*one.into, known = total.Known, known && total.P95 != nil
	}
	if !f.capped() {
		known = f.duration(repeats).Time != nil
	}
	return out, known
}

// short is the bound of the budget that a run would break, if any. The last trial
// begins only when its hold fits beside what all others have taken, so there has to
// be room for one hold more than what is expected.
func (f *forecast) short(repeats []int) eval.Shortage {
	b := f.plan.Run.Budget
	need, _ := f.expected(repeats)
	room, money := f.room(), f.money()
	switch {
	case money.capped && need.MicroUSD+room.MicroUSD > money.most:
		return money.short
	case b.Tokens > 0 && need.Tokens+room.Tokens > b.Tokens:
		return eval.ShortOfTokens
	case b.Time > 0:
		if d := f.duration(repeats); d.Time != nil && *d.Time > b.Time {
			return eval.ShortOfTime
		}
	}
	return ""
}

// room is the largest hold of a trial or, as far as its history tells, of a judge.
func (f *forecast) room() eval.Amount {
	var room eval.Amount
	for i, c := range f.cells {
		judge := c.judgeHold(f.rows[i])
		room.MicroUSD = max(room.MicroUSD, c.hold.MicroUSD, judge.MicroUSD)
		room.Tokens = max(room.Tokens, c.hold.Tokens, judge.Tokens)
	}
	return room
}

const (
	// judgePrompt bounds, in bytes, what stands around a rubric and a trajectory, as
	// the scheduler has it.
	judgePrompt = 8 << 10
	// perToken is about how many bytes of a trajectory a token of it comes from.
	perToken = 5
)

// judgeHold is about what the scheduler holds for judging a trial.
func (c cell) judgeHold(rows []Row) eval.Amount {
	var hold eval.Amount
	var input int64 // of the largest call
	for _, row := range rows {
		if row.Judge != nil && row.Judge.Calls > 0 {
			input = max(input, row.Judge.Input/row.Judge.Calls)
		}
	}
	for _, j := range c.judges {
		bytes := judgePrompt + j.rubric + perToken*int(input)
		output := llm.Request{Sampling: j.model.Sampling}.MaxOutput()
		if j.model.Price != nil && !j.model.Free() {
			hold.MicroUSD += int64(j.calls) * j.model.Price.Bound(bytes, output)
		}
		hold.Tokens += int64(j.calls) * int64(bytes+output)
	}
	return hold
}

// fit decides how many repeats there are: those that are expected to be affordable
// when all is known from history, else those that are guaranteed.
func (f *forecast) fit(a eval.Affordable) *eval.Fit {
	out := &eval.Fit{Min: f.plan.Repeats.Min, Max: f.plan.Repeats.Max, Basis: eval.BasisLimits}
	if a.Guaranteed != nil {
		out.Rounds = a.Guaranteed.N
	}
	b := f.plan.Run.Budget
	repeats := f.run(1)
	known := func(of numbers) bool {
		basis := of.expect(repeats).Total.Basis
		return basis == eval.BasisHistory || basis == eval.BasisNone
	}
	if a.Expected != nil && (b.MicroUSD == 0 || known(f.cost)) && (b.Tokens == 0 || known(f.tokens)) {
		out.Rounds, out.Basis = a.Expected.N, eval.BasisHistory
	}
	return out
}
