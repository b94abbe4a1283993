package similar

import (
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// maxMismatches is how many arguments of one call are listed.
const maxMismatches = 20

// differences says what differs, by the best alignment in order. What that
// leaves over and has something in common was made out of order.
func (c *comparer) differences(t *table, aligned []pair) []Difference {
	wantLeft, gotLeft := left(t, aligned)
	_, moved := c.assign(t, wantLeft, gotLeft)
	to, placed := map[int]int{}, map[int]bool{}
	for _, p := range moved {
		to[p.got], placed[p.want] = p.want, true
	}

	var found []Difference
	var i, j int
	// until lists what lies before a pair.
	until := func(want, got int) {
		for ; i < want; i++ {
			if !placed[i] {
				found = append(found, missing(t, i))
			}
		}
		for ; j < got; j++ {
			if want, ok := to[j]; ok {
				found = append(found, outOfOrder(t, want, j))
				found = append(found, c.mismatches(t, want, j)...)
			} else {
				found = append(found, extra(t, j))
			}
		}
	}
	for _, p := range aligned {
		until(p.want, p.got)
		found = append(found, c.mismatches(t, p.want, p.got)...)
		i, j = p.want+1, p.got+1
	}
	until(len(t.want), len(t.got))
	return found
}

// left returns the indices of the calls that stand in no pair.
func left(t *table, pairs []pair) (want, got []int) {
	var i, j int
	for _, p := range append(slices.Clip(pairs), pair{len(t.want), len(t.got)}) {
		for ; i < p.want; i++ {
			want = append(want, i)
		}
		for ; j < p.got; j++ {
			got = append(got, j)
		}
		i, j = p.want+1, p.got+1
	}
	return want, got
}

func missing(t *table, i int) Difference {
	return Difference{Kind: Missing, Want: i, Got: -1, Tool: t.want[i].tool, Expected: t.want[i].raw()}
}

func extra(t *table, j int) Difference {
	return Difference{Kind: Extra, Want: -1, Got: j, Tool: t.got[j].tool, Actual: t.got[j].raw()}
}

func outOfOrder(t *table, i, j int) Difference {
	return Difference{Kind: OutOfOrder, Want: i, Got: j, Tool: t.got[j].tool, Expected: t.want[i].raw(), Actual: t.got[j].raw()}
}

// mismatches lists the arguments in which two calls of a tool differ, in the
// order of their names.
func (c *comparer) mismatches(t *table, i, j int) []Difference {
	if t.grade(i, j) == 1 && t.fits(i, j) {
		return nil
	}
	want, got := &t.want[i], &t.got[j]
	mismatch := Difference{Kind: ArgumentMismatch, Want: i, Got: j, Tool: got.tool}
	if want.arguments == nil || got.arguments == nil {
		mismatch.Expected, mismatch.Actual = want.raw(), got.raw()
		return []Difference{mismatch}
	}
	var found []Difference
	for name := range union(want.names, got.names) {
		if c.work < 0 {
			break
		}
		value, counts := c.argument(want, got, name)
		fits := c.argumentFits(want, got, name)
		if fits && (value == 1 || !counts) {
			continue
		}
		if len(found) == maxMismatches {
			found[maxMismatches-1].More++
			continue
		}
		mismatch.Argument, mismatch.Unasked = name, fits
		mismatch.Expected, mismatch.Actual = member(want, name), member(got, name)
		found = append(found, mismatch)
	}
	return found
}

// member returns an argument as JSON, or nil when the call does not have it.
func member(c *call, name string) eval.JSON {
	value, ok := c.arguments[name]
	if !ok {
		return nil
	}
	return eval.Encode(value)
}
