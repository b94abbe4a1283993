package suite

import (
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// rules of the run as a whole.
func (b *build) rules() {
	s, f := b.suite, b.file
	at := f.Node()
	b.runBudget()
	b.repeats()
	if v := f.Validity; v != nil {
		s.Validity.MaxErrorRate = (*float64)(v.MaxErrorRate)
	}
	s.MinAgreement = float64(f.MinAgreement)
	if at.Field("min_agreement") != nil && b.agentless() {
		b.warn(at.Place("min_agreement"), "the suite has no agent case to judge", "")
	}
	if f.Gate != nil {
		b.gate(f.Gate)
	}
	b.undecidable()
}

// runBudget is what all of a run may take.
func (b *build) runBudget() {
	f := b.file.Budget
	if f == nil {
		return
	}
	b.suite.Budget = eval.Budget{MicroUSD: int64(f.USD), Tokens: int64(f.Tokens), Time: f.Time.std()}
	at := f.Node()
	if len(at.Fields) == 0 && b.sound(at) {
		b.report(at.Pos, "the budget bounds nothing", "give it usd, tokens or time")
	}
	for _, key := range []string{"usd", "tokens"} {
		if at.Field(key) != nil && b.agentless() && !b.failed() {
			b.warn(at.Place(key), key+" bounds what models take, and the suite has no agent case", "")
		}
	}
}

// repeats of agent cases.
func (b *build) repeats() {
	s, r := b.suite, b.file.Repeats
	if r == nil {
		return
	}
	at := b.file.Node()
	s.Repeats.N = int(r.N)
	if r.Range != nil {
		s.Repeats = eval.Repeats{Min: int(r.Range.Min), Max: int(r.Range.Max), Fit: string(r.Range.Fit), Stop: string(r.Range.Stop)}
		if s.Repeats.Min > s.Repeats.Max && s.Repeats.Max > 0 {
			b.report(r.Node().Place("min"), "min is more than max", "")
		}
		if s.Repeats.Fit != "" && s.Budget.MicroUSD == 0 && s.Budget.Tokens == 0 && b.sound(r.Node()) && b.sound(at.Get("budget")) {
			b.report(r.Node().Place("fit"), "fit: budget needs a budget", "write budget: {usd: …} or budget: {tokens: …}")
		}
		b.fewRepeats(r.Node())
	}
	if b.agentless() {
		b.warn(at.Place("repeats"), "the suite has no agent case to repeat", "script and catalog cases run once, unless a case has repeats itself or -n is given")
	}
}

// agentless says whether the suite has cases, and none of an agent.
func (b *build) agentless() bool {
	return len(b.suite.Cases) > 0 && !slices.ContainsFunc(b.suite.Cases, func(c eval.Case) bool { return c.Kind == eval.KindAgent })
}
