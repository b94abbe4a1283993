package stats

import (
	"math"
	"slices"
)

// A Case is what came of the repeats of one case in one arm: the case of a suite
// or a cell of it, whatever is sampled as one. Repeats without a verdict are not
// in it.
type Case struct {
	// Repeats that have a verdict. A case without any says nothing and is left out.
	Repeats int
	// Mean over the repeats, in [0, 1]: the share that passed, or the mean of
	// scores. It may be something else that the repeats say of the case and that
	// lies in [0, 1], such as [PassHatK] or [Disagreement], for [Generalize]. A case
	// whose Mean is NaN is left out.
	Mean float64
	// Variance of a single repeat, unbiased; NaN with fewer than two.
	Variance float64
	// Weight of the case; 0 is 1.
	Weight float64
	// Cluster names what the case has in common with others: a template, a server,
	// a document. Empty is a cluster of its own.
	Cluster string
}

// Passed is a case of which c of n repeats passed. Its variance is that of one
// repeat, c(n-c)/(n(n-1)): half of its [Disagreement].
func Passed(c, n int) Case {
	return Case{Repeats: n, Mean: float64(c) / float64(n), Variance: Disagreement(c, n) / 2}
}

// Scored is a case whose repeats were given scores in [0, 1].
func Scored(scores []float64) Case {
	c := Case{Repeats: len(scores), Mean: mean(scores), Variance: math.NaN()}
	if len(scores) > 1 {
		c.Variance = variance(scores)
	}
	return c
}

func (c Case) known() bool { return c.Repeats > 0 && !math.IsNaN(c.Mean) }

func (c Case) weight() float64 {
	if c.Weight == 0 {
		return 1
	}
	return c.Weight
}

// known are the cases that say something.
func known(cases []Case) []Case {
	silent := func(c Case) bool { return !c.known() }
	if !slices.ContainsFunc(cases, silent) {
		return cases
	}
	return slices.DeleteFunc(slices.Clone(cases), silent)
}

// sumOver adds a term of each case, in the same bits whatever their order.
func sumOver(cases []Case, term func(Case) float64) float64 {
	terms := make([]float64, len(cases))
	for i, c := range cases {
		terms[i] = term(c)
	}
	return total(terms)
}
