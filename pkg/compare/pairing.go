package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A Pairing is which cells of two arms can be compared.
type Pairing struct {
	// Pairs in the order of the head.
	Pairs []Pair
	// Differ are the conditions that are not the same in both arms, by name.
	Differ []eval.Difference
	// Excluded are in both arms and cannot be compared.
	Excluded []eval.Excluded
	// New cells are in the head alone, Removed ones in the base alone.
	New, Removed []eval.ArmCell
}

// A Pair is one cell in both arms.
type Pair struct {
	Base, Head eval.ArmCell
	// CostComparable is true if both arms know what the cell cost, by the same prices.
	CostComparable bool
}

// Match pairs the cells of two arms by case and variant.
//
// A cell is excluded where the measure itself is another one: its task, its checks, its
// judge, or a condition of the operator's own. What a change under test may change, such
// as the model, the servers and their tools, is told, and the cell is compared. Other
// prices take out the costs alone. What a server told is no difference where it told
// nothing in one of the arms, because no trial came so far.
func Match(base, head eval.Arm) Pairing {
	var p Pairing
	d := differences{}
	was := map[string]eval.ArmCell{}
	for _, c := range base.Cells {
		was[c.Key()] = c
	}
	d.arms(base, head)
	for _, now := range head.Cells {
		before, both := was[now.Key()]
		if !both {
			p.New = append(p.New, now)
			continue
		}
		delete(was, now.Key())
		if why := d.cell(before, now); why != "" {
			p.Excluded = append(p.Excluded, eval.Excluded{Case: now.Case, Variant: now.Variant, Kind: now.Kind, Why: why})
			continue
		}
		p.Pairs = append(p.Pairs, Pair{Base: before, Head: now, CostComparable: before.MicroUSD != nil && now.MicroUSD != nil &&
			before.Conditions[eval.ConditionPrices] == now.Conditions[eval.ConditionPrices]})
	}
	for _, c := range base.Cells {
		if _, gone := was[c.Key()]; gone {
			p.Removed = append(p.Removed, c)
		}
	}
	p.Differ = d.sorted()
	return p
}

// Where keeps the pairs that something holds of.
func (p Pairing) Where(holds func(Pair) bool) Pairing {
	p.Pairs = slices.DeleteFunc(slices.Clone(p.Pairs), func(pair Pair) bool { return !holds(pair) })
	return p
}

// Refused are the differences for which a strict comparison refuses: all but those of
// the commit, which is another one whenever a change is under test.
func (p Pairing) Refused() []eval.Difference {
	return slices.DeleteFunc(slices.Clone(p.Differ), func(d eval.Difference) bool { return d.Condition == eval.ConditionCommit })
}

// effect is what becomes of cells whose condition is not the same.
type effect int

const (
	excludes effect = iota // another measure
	tells                  // what a change under test may change
	observes               // the same, told by servers: nothing told is no difference
)

// effectOf a condition; one of the operator's own excludes.
func effectOf(condition string) effect {
	switch condition {
	case eval.ConditionModel, eval.ConditionSampling, eval.ConditionRevision, eval.ConditionPrices:
		return tells
	case eval.ConditionServer, eval.ConditionListing:
		return observes
	}
	return excludes
}

// differences counts the cells in which a condition has changed from one value to
// another.
type differences map[eval.Difference]int

// arms compares what holds for all cells.
func (d differences) arms(base, head eval.Arm) {
	note := func(condition, a, b string) {
		if a != b && a != "" && b != "" {
			d[eval.Difference{Condition: condition, Base: a, Head: b}] = 0
		}
	}
	note(eval.ConditionCommit, commit(base.Git), commit(head.Git))
	note(eval.ConditionVersion, base.Version, head.Version)
}

func commit(g *eval.Git) string {
	if g == nil {
		return ""
	}
	s := g.Commit
	if g.Branch != "" {
		s += " on " + g.Branch
	}
	if g.Dirty {
		s += " with changes"
	}
	return s
}

// cell compares the conditions of a cell, and says why it cannot be compared; empty if
// it can.
func (d differences) cell(base, head eval.ArmCell) string {
	why := ""
	if base.Kind != head.Kind {
		why = fmt.Sprintf("it was a case of kind %s and is one of kind %s", base.Kind, head.Kind)
	}
	names := maps.Clone(base.Conditions)
	if names == nil {
		names = map[string]string{}
	}
	maps.Copy(names, head.Conditions)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		a, b := base.Conditions[name], head.Conditions[name]
		what := effectOf(name)
		if a == b || what == observes && (a == "" || b == "") {
			continue
		}
		d[eval.Difference{Condition: name, Base: a, Head: b, Excludes: what == excludes}]++
		if what == excludes && why == "" {
			why = reason(name, a, b)
		}
	}
	return why
}

// reason says why another value of a condition excludes a cell.
func reason(condition, base, head string) string {
	switch {
	case base == "":
		return fmt.Sprintf("the base does not say its %s", condition)
	case head == "":
		return fmt.Sprintf("the head does not say its %s", condition)
	case condition == eval.ConditionCase:
		return "the case itself changed"
	case condition == eval.ConditionChecks:
		return "its checks changed"
	}
	return fmt.Sprintf("%s was %s and is %s", condition, base, head)
}

// sorted lists the differences by condition, those in most cells first.
func (d differences) sorted() []eval.Difference {
	var all []eval.Difference
	for difference, cells := range d {
		difference.Cells = cells
		all = append(all, difference)
	}
	slices.SortFunc(all, func(a, b eval.Difference) int {
		return cmp.Or(cmp.Compare(a.Condition, b.Condition), cmp.Compare(b.Cells, a.Cells), cmp.Compare(a.Base, b.Base), cmp.Compare(a.Head, b.Head))
	})
	return all
}
