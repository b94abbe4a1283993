package eval

import (
	"cmp"
	"fmt"
	"time"
)

// A Budget bounds one run, with its judges and all its attempts. Zero means no
// bound.
type Budget struct {
	// MicroUSD and Tokens are never exceeded.
	MicroUSD int64 `json:"microusd,omitempty"`
	Tokens   int64 `json:"tokens,omitempty"`
	// Time since the run was created, after which nothing more is begun.
	Time time.Duration `json:"time_ns,omitempty"`
}

// Capped says whether what trials may take has to be held before they begin.
func (b Budget) Capped() bool { return b.MicroUSD > 0 || b.Tokens > 0 }

// Words are its bounds, for people.
func (b Budget) Words() []string {
	var words []string
	if b.MicroUSD > 0 {
		words = append(words, USD(b.MicroUSD))
	}
	if b.Tokens > 0 {
		words = append(words, fmt.Sprintf("%d tokens", b.Tokens))
	}
	if b.Time > 0 {
		words = append(words, b.Time.String())
	}
	return words
}

// Over returns b with what o sets on top.
func (b Budget) Over(o Budget) Budget {
	return Budget{MicroUSD: cmp.Or(o.MicroUSD, b.MicroUSD), Tokens: cmp.Or(o.Tokens, b.Tokens), Time: cmp.Or(o.Time, b.Time)}
}

// An Amount is what calls of models take: money and tokens, in and out. A hold is
// the amount that one attempt may take at most.
type Amount struct {
	MicroUSD int64 `json:"microusd,omitempty"`
	Tokens   int64 `json:"tokens,omitempty"`
}

// Add returns the sum.
func (a Amount) Add(o Amount) Amount {
	return Amount{MicroUSD: a.MicroUSD + o.MicroUSD, Tokens: a.Tokens + o.Tokens}
}

// A Ledger is what a run and its gradings have taken so far.
type Ledger struct {
	// Spent by attempts whose records are stored, whether they count or not.
	Spent Amount `json:"spent"`
	// Judges is the part of Spent that gradings took, and Uncounted the part that
	// attempts took whose result does not stand, be it in the run or in a grading.
	Judges    Amount `json:"judges,omitzero"`
	Uncounted Amount `json:"uncounted,omitzero"`
	// Charged for attempts that ended unseen, each with its whole hold. A record that
	// comes late corrects it.
	Charged Amount `json:"charged"`
	// Held for attempts that are out.
	Held Amount `json:"held"`
}

// Total is what can no longer be spent on anything else.
func (l Ledger) Total() Amount { return l.Spent.Add(l.Charged).Add(l.Held) }

// A Day is the money of one UTC day, of all runs of a store, in micro-dollars.
type Day struct {
	// Spent or charged on the day, and Held by runs now.
	SpentMicroUSD int64 `json:"spent_microusd"`
	HeldMicroUSD  int64 `json:"held_microusd"`
}

// Left is what a cap of the day leaves for further holds.
func (d Day) Left(most int64) int64 { return max(0, most-d.SpentMicroUSD-d.HeldMicroUSD) }

// A Shortage is the bound that keeps a run from going on.
type Shortage string

const (
	ShortOfMoney    Shortage = "money"     // of the run's budget
	ShortOfTokens   Shortage = "tokens"    // of the run's budget
	ShortOfTime     Shortage = "time"      // of the run's budget
	ShortOfDayMoney Shortage = "day_money" // of all runs of the day
	// ShortOfScheduleMoney is of all runs of the schedule.
	ShortOfScheduleMoney Shortage = "schedule_money"
)
