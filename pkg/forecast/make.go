package forecast

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A Plan is a run before it begins.
type Plan struct {
	// Run and Snapshot as they would be stored, and the cases of the snapshot in its
	// order.
	Run      eval.Run
	Snapshot eval.Snapshot
	Cases    []eval.Case
	// Repeats of the suite, when they are for the budget to decide: those of the
	// snapshot do not matter then. Own are the repeats that cases ask for
	// themselves, which nothing changes.
	Repeats eval.Repeats
	Own     map[string]int
	// Slots and JudgeSlots are how many trials run, and are judged, at once. Zero is
	// not known.
	Slots, JudgeSlots int
	// Day is what the cap of a day leaves; nil without one.
	Day *eval.DayLeft
	// Past are the trials of the same cells, as [Read] gives them.
	Past []Row
}

// Make works out what a run will take.
func Make(p Plan) eval.Forecast {
	f := forecast{plan: p, cells: cellsOf(p.Snapshot, p.Cases), rows: rowsOf(p)}
	f.calls, f.tokens, f.cost = f.numbers(calls()), f.numbers(tokens()), f.numbers(cost())
	repeats := f.planned()
	out := eval.Forecast{Suite: p.Snapshot.Suite, SuiteHash: p.Snapshot.SuiteHash, Prices: p.Snapshot.Prices, Unpriced: f.unpriced(), PricedLike: f.pricedLike()}
	if f.agents() > 0 {
		if p.Repeats.Fit != "" && p.Run.Budget != (eval.Budget{}) {
			f.plan.Day = nil // how many repeats a run has is no matter of the day
			out.Fit = f.fit(*f.affords())
			repeats = f.run(out.Fit.Rounds)
			f.plan.Day = p.Day
		}
		if p.Run.Budget != (eval.Budget{}) || p.Day != nil {
			out.Affords = f.affords()
		}
	}
	out.Kinds = map[eval.Kind]int{}
	for i, c := range f.cells {
		out.Trials += repeats[i]
		out.Kinds[c.kase.Kind] += repeats[i]
		out.Rounds = max(out.Rounds, repeats[i])
	}
	out.Cells = len(f.cells)
	out.Past = f.past()
	out.Calls, out.Tokens, out.Cost = f.calls.expect(repeats), f.tokens.expect(repeats), f.cost.expect(repeats)
	if looks := p.Snapshot.Plan.Looks; len(looks) > 0 {
		first := eval.Earliest{Looks: looks}
		repeats := make([]int, len(f.cells))
		for i, c := range p.Snapshot.Plan.Until(looks[0]).Cells {
			repeats[i] = c.Repeats
			first.Trials += c.Repeats
		}
		first.Calls, first.Tokens, first.Cost = f.calls.expect(repeats), f.tokens.expect(repeats), f.cost.expect(repeats)
		out.Sequential = &first
	}
	out.Duration = f.duration(repeats)
	out.Shows = f.shows(f.fewest(repeats))
	return out
}

// A forecast is one at work.
type forecast struct {
	plan  Plan
	cells []cell
	// rows of the past, for each cell.
	rows                [][]Row
	calls, tokens, cost numbers
}

// rowsOf sorts the rows of the past by the cells of the plan.
func rowsOf(p Plan) [][]Row {
	by := map[[2]string][]Row{}
	for _, row := range p.Past {
		key := [2]string{row.Case, row.Variant}
		by[key] = append(by[key], row)
	}
	rows := make([][]Row, len(p.Snapshot.Plan.Cells))
	for i, at := range p.Snapshot.Plan.Cells {
		rows[i] = by[[2]string{p.Snapshot.Cases[at.Case].ID, p.Snapshot.Variants[at.Variant].ID}]
	}
	return rows
}

// past is what the numbers rest on: the trials of agents, if there are any.
func (f *forecast) past() eval.Past {
	var out eval.Past
	all := f.agents() == 0
	took := map[string]bool{} // runs
	for i, c := range f.cells {
		if !all && c.kase.Kind != eval.KindAgent {
			continue
		}
		out.Trials += len(f.rows[i])
		for _, row := range f.rows[i] {
			took[row.Run] = true
		}
	}
	for _, row := range f.plan.Past { // in their order
		if took[row.Run] {
			out.Runs = append(out.Runs, row.Run)
			delete(took, row.Run)
		}
	}
	return out
}

// agents is how many cells are those of agents.
func (f *forecast) agents() int {
	n := 0
	for _, c := range f.cells {
		if c.kase.Kind == eval.KindAgent {
			n++
		}
	}
	return n
}

// planned are the repeats of each cell as they stand in the plan.
func (f *forecast) planned() []int {
	repeats := make([]int, len(f.cells))
	for i, c := range f.cells {
		repeats[i] = c.repeats
	}
	return repeats
}

// elastic says whether a cell has as many repeats as there are rounds.
func (f *forecast) elastic(c cell) bool {
	_, own := f.plan.Own[c.kase.ID]
	return c.kase.Kind == eval.KindAgent && !own
}

// first are the repeats of each cell in the first so many rounds.
func (f *forecast) first(rounds int) []int {
	repeats := f.run(rounds)
	for i := range repeats {
		repeats[i] = min(repeats[i], rounds)
	}
	return repeats
}

// run are the repeats of each cell in a run of so many rounds.
func (f *forecast) run(rounds int) []int {
	repeats := f.planned()
	for i, c := range f.cells {
		if f.elastic(c) {
			repeats[i] = rounds
		}
	}
	return repeats
}

// fewest is the smallest number of repeats of an agent's cell.
func (f *forecast) fewest(repeats []int) int {
	fewest := 0
	for i, c := range f.cells {
		if c.kase.Kind == eval.KindAgent && (fewest == 0 || repeats[i] < fewest) {
			fewest = repeats[i]
		}
	}
	return fewest
}

// unpriced are the models that are asked and whose price nobody knows, by name.
func (f *forecast) unpriced() []eval.Unpriced {
	var list []eval.Unpriced
	for _, name := range f.models() {
		if m := f.plan.Snapshot.Models[name]; !m.Free() && m.Price == nil {
			list = append(list, eval.Unpriced{Name: name, Hint: cmp.Or(m.PriceHint, "nobody knows the price of the model "+m.Model)})
		}
	}
	return list
}

// pricedLike are the models that are asked and whose price is found under another
// name, by name.
func (f *forecast) pricedLike() []eval.PricedLike {
	var list []eval.PricedLike
	for _, name := range f.models() {
		m := f.plan.Snapshot.Models[name]
		if m.Price == nil || m.Free() {
			continue
		}
		if _, entry, listed := strings.Cut(m.Price.From, "/"); listed && !strings.EqualFold(entry, m.Model) {
			list = append(list, eval.PricedLike{Name: name, Model: m.Model, Entry: m.Price.From})
		}
	}
	return list
}

// models names those that are asked, judges too.
func (f *forecast) models() []string {
	names := map[string]bool{}
	for _, c := range f.cells {
		for _, name := range c.names {
			names[name] = true
		}
		for _, j := range c.judges {
			names[j.name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
