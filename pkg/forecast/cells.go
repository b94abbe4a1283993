package forecast

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A cell is one of a plan, with what it asks.
type cell struct {
	kase    eval.Case
	variant eval.Variant
	repeats int
	hold    eval.Amount
	// asked are the agent's model and that of the user, if a model plays it; names
	// are theirs in the suite.
	asked  []eval.Model
	names  []string
	judges []judging
}

// judging is a judge check: its model, and how often one trial asks it.
type judging struct {
	name   string
	model  eval.Model
	calls  int
	rubric int // bytes
}

// cellsOf are the cells of a plan, in its order.
func cellsOf(snap eval.Snapshot, cases []eval.Case) []cell {
	cells := make([]cell, len(snap.Plan.Cells))
	for i, at := range snap.Plan.Cells {
		cells[i] = newCell(snap, cases[at.Case], snap.Variants[at.Variant], at)
	}
	return cells
}

func newCell(snap eval.Snapshot, c eval.Case, v eval.Variant, at eval.Cell) cell {
	out := cell{kase: c, variant: v, repeats: at.Repeats, hold: at.Hold}
	if c.Kind != eval.KindAgent {
		return out
	}
	out.names = c.Models(v)
	for _, name := range out.names {
		out.asked = append(out.asked, snap.Models[name])
	}
	for _, check := range (eval.Grading{}).Checks(c) {
		j := judging{name: check.Judge.Model, model: snap.Models[check.Judge.Model], calls: max(1, check.Judge.Votes), rubric: len(check.Judge.Rubric)}
		if check.Judge.Reference != "" {
			j.calls, j.rubric = 2*j.calls, j.rubric+2*len(check.Judge.Reference)
		}
		out.judges = append(out.judges, j)
	}
	return out
}

// agents names the models that a trial asks, as providers call them.
func (c cell) agents() string {
	var names []string
	for _, m := range c.asked {
		names = append(names, nameOf(m))
	}
	return strings.Join(names, " ")
}

// judgeNames names the models that judge a trial, and how often each is asked.
func (c cell) judgeNames() string {
	calls := map[string]int{}
	for _, j := range c.judges {
		calls[nameOf(j.model)] += j.calls
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		names = append(names, fmt.Sprintf("%s×%d", name, calls[name]))
	}
	return strings.Join(names, " ")
}

// oneJudge says whether all judges are one model.
func (c cell) oneJudge() bool {
	return !slices.ContainsFunc(c.judges, func(j judging) bool { return nameOf(j.model) != nameOf(c.judges[0].model) })
}

// nameOf is a model as its provider calls it. What is played back is another one,
// because it takes no time.
func nameOf(m eval.Model) string {
	name := string(m.Provider) + "/" + cmp.Or(m.Model, m.Script)
	if m.Replayed() {
		name += " played back"
	}
	return name
}

// userTurns is how often a model that plays the user may speak.
func (c cell) userTurns() int {
	if len(c.asked) < 2 {
		return 0
	}
	return cmp.Or(c.kase.User.MaxTurns, 10)
}
