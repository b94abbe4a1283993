package suite

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// minSequential is the fewest repeats at which a run may be decided: one shows nothing
// of chance.
const minSequential = 2

// fewRepeats refuses a decision after too few repeats.
func (b *build) fewRepeats(at *strictyaml.Node) {
	r := b.suite.Repeats
	if r.Stop == eval.StopDecided && r.Min > 0 && r.Min < minSequential && b.sound(at) {
		b.report(at.Place("min"), fmt.Sprintf("stop: decided needs min: %d or more", minSequential), "one repeat shows nothing of chance")
	}
}

// undecidable refuses repeats that end when the gate is decided where no rule is about
// the cases that are repeated.
func (b *build) undecidable() {
	if b.suite.Repeats.Stop != eval.StopDecided || b.file.Repeats == nil || !b.sound(b.file.Repeats.Node()) || !b.sound(b.file.Node().Get("gate")) {
		return
	}
	of := func(r eval.Rule) bool { return cmp.Or(r.Kind, eval.KindAgent) == eval.KindAgent }
	if !slices.ContainsFunc(b.suite.Gate.Rules, of) {
		b.report(b.file.Repeats.Node().Place("stop"), "stop: decided needs a gate with a rule for agent cases", `write gate: {pass_rate: ">= 0.9"}`)
	}
}

// sequential says whether a case is repeated until the run is decided.
func (sel Selection) sequential(c eval.Case, s *eval.Suite) bool {
	_, own := s.CaseRepeats[c.ID]
	return s.Repeats.Stop == eval.StopDecided && sel.Repeats == 0 && c.Kind == eval.KindAgent && !own
}
