package flake

import (
	"cmp"
	"math"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/stats"
)

// A Memory is what the last runs of a suite say of its cells.
type Memory struct {
	// Runs that count, and Storms that were left out, oldest first.
	Runs   []string `json:"runs"`
	Storms []string `json:"storms"`
	// Cells that have both passed and failed, the flakiest first.
	Cells []Cell `json:"cells"`
	// Steady is how many cells of the newest run always came to the same.
	Steady int `json:"steady"`
}

// A Cell is one that has both passed and failed under the same conditions.
type Cell struct {
	Case    string    `json:"case"`
	Variant string    `json:"variant"`
	Kind    eval.Kind `json:"kind"`
	// Passed and Failed trials of its history.
	Passed int `json:"passed"`
	Failed int `json:"failed"`
	// Flips out of Chances: runs with several repeats that came out differently, and
	// neighbours among the other runs that did.
	Flips   int `json:"flips"`
	Chances int `json:"chances"`
	// Low is the one-sided 95 % lower bound of Wilson on the share of flips, by which
	// cells are ranked.
	Low float64 `json:"low"`
	// Disagreement is the chance that two trials of the history come out differently.
	Disagreement float64 `json:"disagreement"`
	// Few is the chance of so few changes between passing and failing, were the order one
	// of chance. Where it is at most [FewIsChange], Changed is the run since which the
	// cell is another one.
	Few     float64 `json:"few"`
	Changed string  `json:"changed,omitempty"`
	// MicroUSD is what the trials that failed have cost, each at the mean of its run; nil
	// if nobody knows.
	MicroUSD *int64 `json:"microusd,omitempty"`
	// History has a mark for each run of the memory.
	History []Mark `json:"history"`
	// Since is the run with which the history begins anew, because these conditions
	// changed; empty if it goes back to the first run.
	Since string   `json:"since,omitempty"`
	Why   []string `json:"why,omitempty"`
}

// A Mark is what a cell came to in a run.
type Mark string

const (
	Passed Mark = "pass"
	Failed Mark = "fail"
	Mixed  Mark = "mixed" // some repeats passed and some failed
	Open   Mark = "open"  // no repeat passed or failed
	Absent Mark = "absent"
	// Before is a run under other conditions.
	Before Mark = "before"
)

// FewIsChange is the chance below which an order is not taken for one of chance.
const FewIsChange = 0.05

func (o Outcome) mark() Mark {
	switch {
	case o.Counts.Pass > 0 && o.Counts.Fail > 0:
		return Mixed
	case o.Counts.Pass > 0:
		return Passed
	case o.Counts.Fail > 0:
		return Failed
	}
	return Open
}

// Remember looks at runs of one suite, oldest first. Only cells of the newest run that
// counts are looked at: what is gone cannot be mended.
func Remember(runs []Run) Memory {
	m := Memory{Runs: []string{}, Storms: []string{}, Cells: []Cell{}}
	var kept []Run
	for _, r := range runs {
		if r.Storm {
			m.Storms = append(m.Storms, r.ID)
			continue
		}
		kept, m.Runs = append(kept, r), append(m.Runs, r.ID)
	}
	if len(kept) == 0 {
		return m
	}
	where := make([]map[[2]string]Outcome, len(kept))
	for i, r := range kept {
		where[i] = map[[2]string]Outcome{}
		for _, o := range r.Cells {
			where[i][[2]string{o.Case, o.Variant}] = o
		}
	}
	for _, newest := range kept[len(kept)-1].Cells {
		past := make([]*Outcome, len(kept))
		for i := range kept {
			if o, ok := where[i][[2]string{newest.Case, newest.Variant}]; ok {
				past[i] = &o
			}
		}
		if c := look(newest, past, m.Runs); c.Passed > 0 && c.Failed > 0 {
			m.Cells = append(m.Cells, c)
		} else {
			m.Steady++
		}
	}
	slices.SortStableFunc(m.Cells, func(a, b Cell) int {
		return cmp.Or(cmp.Compare(len(a.Changed), len(b.Changed)), cmp.Compare(b.Low, a.Low), cmp.Compare(b.Disagreement, a.Disagreement),
			cmp.Compare(a.Case, b.Case), cmp.Compare(a.Variant, b.Variant))
	})
	return m
}

// look at one cell in the runs of a memory; it is nil where it was not run.
func look(newest Outcome, past []*Outcome, runs []string) Cell {
	c := Cell{Case: newest.Case, Variant: newest.Variant, Kind: newest.Kind, History: make([]Mark, len(past))}
	begin := 0
	for i, o := range slices.Backward(past) {
		if o == nil {
			continue
		}
		if why := changed(*o, newest); len(why) > 0 {
			c.Why, begin = why, i+1
			for past[begin] == nil { // the newest is there
				begin++
			}
			c.Since = runs[begin]
			break
		}
	}
	var money float64
	known := true
	var last Mark
	for i, o := range past {
		switch {
		case i < begin:
			c.History[i] = Before
			continue
		case o == nil:
			c.History[i] = Absent
			continue
		}
		mark := o.mark()
		c.History[i] = mark
		c.Passed, c.Failed = c.Passed+o.Counts.Pass, c.Failed+o.Counts.Fail
		if o.MicroUSD != nil {
			money += *o.MicroUSD * float64(o.Counts.Fail)
		} else if o.Counts.Fail > 0 {
			known = false
		}
		if o.Counts.Pass+o.Counts.Fail > 1 {
			c.Chances++
			if mark == Mixed {
				c.Flips++
			}
		}
		if mark == Passed || mark == Failed {
			if last != "" {
				c.Chances++
				if mark != last {
					c.Flips++
				}
			}
			last = mark
		}
	}
	c.Low = stats.Wilson(c.Flips, c.Chances, 0.9).Low
	if c.Passed == 0 || c.Failed == 0 {
		return c
	}
	c.Disagreement = stats.Disagreement(c.Passed, c.Passed+c.Failed)
	if known {
		c.MicroUSD = new(int64(math.Round(money)))
	}
	c.Few = stats.RunsTest(order(past[begin:])).Few
	if c.Few <= FewIsChange {
		c.Changed = runs[begin+turn(past[begin:])]
	}
	return c
}

// changed names the conditions that differ.
func changed(a, b Outcome) []string {
	var why []string
	for _, name := range conditions() {
		if a.Conditions[name] != b.Conditions[name] {
			why = append(why, name)
		}
	}
	return why
}

// order is what came of the trials, one after the other. The order of the repeats of a
// run is not known: they alternate here, which makes the most changes and so speaks
// least for a cell that has changed.
func order(past []*Outcome) []bool {
	var out []bool
	for _, o := range past {
		if o == nil {
			continue
		}
		pass, fail := o.Counts.Pass, o.Counts.Fail
		next := pass > fail || pass == fail && (len(out) == 0 || !out[len(out)-1])
		for pass+fail > 0 {
			if next && pass == 0 || !next && fail == 0 {
				next = !next
			}
			if next {
				pass--
			} else {
				fail--
			}
			out = append(out, next)
			next = !next
		}
	}
	return out
}

// turn is the run, by its index, at which the rate before and the rate from then on
// are least alike, by Fisher. There are runs of both kinds.
func turn(past []*Outcome) int {
	count := func(of []*Outcome) stats.Count {
		var n stats.Count
		for _, o := range of {
			if o != nil {
				n.Passed, n.Trials = n.Passed+o.Counts.Pass, n.Trials+o.Counts.Pass+o.Counts.Fail
			}
		}
		return n
	}
	at, least := 0, 2.0
	for i := 1; i < len(past); i++ {
		if past[i] == nil {
			continue
		}
		if _, two := stats.Fisher(stats.Pair{Base: count(past[:i]), Head: count(past[i:])}); two < least {
			at, least = i, two
		}
	}
	return at
}
