package aggregate

import (
	"math"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/stats"
)

// numbers makes those of cells and of sets of them.
type numbers struct {
	evidence evidence
	ranks    ranks
}

func newNumbers() numbers { return numbers{evidence{}, ranks{}} }

// of gives the numbers of some cells, each counting the same. Those of a cell alone
// are of one [eval.Cell], so nothing is said of others.
func (n numbers) of(cells []*cell) eval.Stats {
	var s eval.Stats
	var complete eval.VerdictCounts
	for _, c := range cells {
		s.Counts = s.Counts.Plus(c.stats.Counts)
		complete = complete.Plus(c.complete)
	}
	if complete != s.Counts {
		s.Complete = &complete
	}
	s.PassRate = n.rate(cells)
	s.Open = open(cells, s.Counts)
	s.PassAtK = n.upTo(cells, func(s *shown) []float64 { return s.passAtK })
	s.PassHatK = n.upTo(cells, func(s *shown) []float64 { return s.passHatK })
	if d := n.mean(cells, func(s *shown) float64 { return s.disagreement }); d.Cells > 0 {
		s.Disagreement = &d
	}
	s.Variance = split(cells)
	percentiles := func(of func(*cell) *sample) eval.Percentiles {
		samples := make([]*sample, len(cells))
		for i, c := range cells {
			samples[i] = of(c)
		}
		return merged(samples).percentiles(n.ranks)
	}
	s.Latency = percentiles(func(c *cell) *sample { return &c.latency })
	s.Tokens = percentiles(func(c *cell) *sample { return &c.tokens })
	s.Turns = percentiles(func(c *cell) *sample { return &c.turns })
	if !slices.ContainsFunc(cells, func(c *cell) bool { return c.unpriced }) {
		s.Cost = percentiles(func(c *cell) *sample { return &c.cost })
	}
	return s
}

// rate of the trials that passed or failed in complete rounds. Of one cell it is that
// of [stats.Wilson].
func (n numbers) rate(cells []*cell) eval.Rate95 {
	cases := make([]stats.Case, len(cells))
	var rate eval.Rate95
	for i, c := range cells {
		cases[i] = n.evidence.of(c.complete).of
		cases[i].Cluster = c.cluster
		if cases[i].Repeats > 0 {
			rate.N += cases[i].Repeats
			rate.Cells++
		}
	}
	again := stats.Repeatability(cases, confidence)
	rate.Value, rate.Low, rate.High = number(again.Point), again.Low, again.High
	rate.Others = others(stats.Generalize(cases, confidence), rate.Cells)
	return rate
}

// upTo gives the means for each k, as far as any of the cells goes.
func (n numbers) upTo(cells []*cell, of func(*shown) []float64) []eval.Mean95 {
	most := 0
	for _, c := range cells {
		most = max(most, len(of(n.evidence.of(c.complete))))
	}
	if most < 2 {
		return nil
	}
	means := make([]eval.Mean95, most)
	for k := range means {
		means[k] = n.mean(cells, func(s *shown) float64 {
			if all := of(s); k < len(all) {
				return all[k]
			}
			return math.NaN()
		})
	}
	return means
}

// mean of what the repeats of each cell show, over those that show it.
func (n numbers) mean(cells []*cell, of func(*shown) float64) eval.Mean95 {
	cases := make([]stats.Case, 0, len(cells))
	for _, c := range cells {
		s := n.evidence.of(c.complete)
		if value := of(s); !math.IsNaN(value) {
			cases = append(cases, stats.Case{Repeats: s.of.Repeats, Mean: value, Variance: math.NaN(), Cluster: c.cluster})
		}
	}
	e := stats.Generalize(cases, confidence)
	return eval.Mean95{Value: number(e.Point), Others: others(e, len(cases)), Cells: len(cases)}
}

func others(e stats.Estimate, cells int) *eval.Bounds {
	if cells == 0 || math.IsNaN(e.Low) || math.IsNaN(e.High) {
		return nil
	}
	return &eval.Bounds{Low: e.Low, High: e.High}
}

// open says what the trials without a pass or a fail leave open.
func open(cells []*cell, all eval.VerdictCounts) *eval.Open {
	missing := func(c eval.VerdictCounts) int { return c.Error + c.Unjudged + c.Unfinished }
	if missing(all) == 0 {
		return nil
	}
	var low, high []stats.Case
	for _, c := range cells {
		counts := c.stats.Counts
		judged := counts.Pass + counts.Fail
		bounds := stats.Manski(counts.Pass, judged, missing(counts))
		low = append(low, stats.Case{Repeats: judged + missing(counts), Mean: bounds.Low})
		high = append(high, stats.Case{Repeats: judged + missing(counts), Mean: bounds.High})
	}
	total := float64(all.Total() - all.Skipped)
	return &eval.Open{
		Bounds: eval.Bounds{Low: stats.Macro(low), High: stats.Macro(high)},
		Error:  float64(all.Error) / total, Unjudged: float64(all.Unjudged) / total, Unfinished: float64(all.Unfinished) / total,
	}
}

// split says whose doing it is that repeats disagree, as [eval.VarianceSplit] has it.
func split(cells []*cell) *eval.VarianceSplit {
	var between, lost, judges []stats.Case
	for _, c := range cells {
		judged := c.complete.Pass + c.complete.Fail
		all := judged + c.complete.Error + c.complete.Unjudged
		if all < 2 {
			continue
		}
		d := stats.Disagreement(c.complete.Pass, judged)
		if math.IsNaN(d) {
			d = 0
		}
		between = append(between, stats.Case{Repeats: all, Mean: d})
		lost = append(lost, stats.Case{Repeats: all, Mean: stats.Disagreement(c.complete.Pass, all)})
		judges = append(judges, stats.Case{Repeats: all, Mean: c.contested.value()})
	}
	if len(between) == 0 {
		return nil
	}
	d := stats.Macro(between)
	rise := max(0, stats.Macro(lost)-d)
	whole := d + rise
	if whole == 0 {
		return nil
	}
	judge := min(stats.Macro(judges), d)
	return &eval.VarianceSplit{Agent: (d - judge) / whole, Judge: judge / whole, Infrastructure: rise / whole}
}
