package compare

import (
	"cmp"
	"math"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/stats"
)

// Options of a comparison. Zero values mean the defaults.
type Options struct {
	// Alpha is the one-sided error of each bound and test; 0.05.
	Alpha float64
	// Margin is the drop of the pass rate that is accepted; 0.05.
	Margin float64
	// Tolerance is the rise of latency and cost that is accepted; 0.1.
	Tolerance float64
}

const (
	defaultAlpha     = 0.05
	defaultMargin    = 0.05
	defaultTolerance = 0.1
	power            = 0.8
)

// Compare says what changed from base to head.
func Compare(base, head eval.Arm, o Options) eval.ArmComparison {
	o = Options{cmp.Or(o.Alpha, defaultAlpha), cmp.Or(o.Margin, defaultMargin), cmp.Or(o.Tolerance, defaultTolerance)}
	p := Match(base, head)
	c := eval.ArmComparison{
		Base: side(base), Head: side(head), Alpha: o.Alpha, Margin: o.Margin, Tolerance: o.Tolerance,
		Decision: eval.DecisionNone, Reasons: []string{}, Differ: append([]eval.Difference{}, p.Differ...),
		Kinds: []eval.KindComparison{}, Cells: []eval.CellComparison{},
	}
	for _, k := range []eval.Kind{eval.KindScript, eval.KindCatalog, eval.KindAgent} {
		cells := p.ofKind(k, o)
		if len(cells) == 0 {
			continue
		}
		kind := kindOf(k, p.Where(OfKind(k)), cells, o)
		c.Kinds = append(c.Kinds, kind)
		c.Cells = append(c.Cells, cells...)
		c.Reasons = append(c.Reasons, string(k)+": "+kind.Message)
		c.Decision = worst(c.Decision, kind.Decision)
	}
	order := eval.Changes()
	slices.SortStableFunc(c.Cells, func(a, b eval.CellComparison) int {
		return cmp.Or(
			cmp.Compare(slices.Index(order, a.Change), slices.Index(order, b.Change)),
			cmp.Compare(*cmp.Or(a.P, new(1.0)), *cmp.Or(b.P, new(1.0))),
		)
	})
	return c
}

// worst of two decisions: a fail, else one that is inconclusive, else a pass.
func worst(a, b eval.Decision) eval.Decision {
	order := []eval.Decision{eval.DecisionFail, eval.DecisionInconclusive, eval.DecisionPass, eval.DecisionNone}
	return order[min(slices.Index(order, a), slices.Index(order, b))]
}

func side(a eval.Arm) eval.Side {
	return eval.Side{
		Run: a.Run, Suite: a.Suite, SuiteHash: a.SuiteHash, Outcome: a.Outcome, Verdict: a.Verdict, Runs: a.Runs,
		Git: a.Git, Version: a.Version, Created: a.Created, Note: a.Note,
	}
}

// ofKind are all cells of a kind, in whichever arm they are.
func (p Pairing) ofKind(k eval.Kind, o Options) []eval.CellComparison {
	cells := changes(p.Where(OfKind(k)).Pairs, o.Alpha)
	for _, x := range p.Excluded {
		if x.Kind == k {
			cells = append(cells, eval.CellComparison{Case: x.Case, Variant: x.Variant, Kind: k, Change: eval.ChangeIncomparable, Why: x.Why})
		}
	}
	for _, n := range p.New {
		if n.Kind == k {
			cells = append(cells, eval.CellComparison{Case: n.Case, Variant: n.Variant, Kind: k, Change: eval.ChangeNew, Head: &n.Counts})
		}
	}
	for _, r := range p.Removed {
		if r.Kind == k {
			cells = append(cells, eval.CellComparison{Case: r.Case, Variant: r.Variant, Kind: k, Change: eval.ChangeRemoved, Base: &r.Counts})
		}
	}
	return cells
}

// kindOf compares the pairs of one kind.
func kindOf(k eval.Kind, p Pairing, cells []eval.CellComparison, o Options) eval.KindComparison {
	all := p
	p = p.Where(func(pair Pair) bool { c := pair.Counts(); return c.Base.Trials > 0 && c.Head.Trials > 0 })
	base, head := p.Cases()
	out := eval.KindComparison{
		Kind: k, Cells: len(p.Pairs), Changes: map[eval.Change]int{},
		Base: rateOf(all, base, func(p Pair) eval.ArmCell { return p.Base }), Head: rateOf(all, head, func(p Pair) eval.ArmCell { return p.Head }),
	}
	for _, c := range cells {
		out.Changes[c.Change]++
	}
	out.Latency, out.Cost = latency(p, o), costs(p, o)
	if len(p.Pairs) == 0 {
		out.Difference = estimate(stats.Difference(nil, nil, o.Alpha))
		out.Decision, out.Message = eval.DecisionNone, "no cell can be compared"
		if len(all.Pairs) > 0 {
			out.Decision, out.Message = eval.DecisionInconclusive, "no cell passed or failed in both arms"
		}
		return out
	}
	difference := stats.Difference(base, head, o.Alpha)
	out.Difference = estimate(difference)
	out.Single = !slices.ContainsFunc(slices.Concat(base, head), func(c stats.Case) bool { return c.Repeats != 1 })
	test := stats.StratifiedTest(p.Counts())
	out.P = eval.PValues{Harm: known(test.Harm), Improve: known(test.Improve), Two: known(test.Two)}
	out.Others = others(p, o)
	out.MDE, out.Repeats = detectable(base, head, o)
	if k == eval.KindAgent {
		decide(&out, all, difference, o)
	} else {
		decideCertain(&out, all)
	}
	return out
}

func rateOf(all Pairing, cases []stats.Case, arm func(Pair) eval.ArmCell) eval.ArmRate {
	r := eval.ArmRate{Value: known(stats.Macro(cases))}
	for _, c := range cases {
		r.N += c.Repeats
	}
	for _, p := range all.Pairs {
		c := arm(p)
		r.Open += open(c)
		r.Unfinished += max(0, c.Planned-c.Counts.Total())
	}
	return r
}

// open are the trials of complete rounds without a verdict.
func open(c eval.ArmCell) int { return c.Counts.Error + c.Counts.Unjudged + c.Counts.Unfinished }

func estimate(i stats.Interval) eval.Estimate {
	return eval.Estimate{Value: known(i.Point), Low: known(i.Low), High: known(i.High)}
}

// known is a number that JSON can write; nil for what nobody knows.
func known(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// latency compares the median latencies of the cells.
func latency(p Pairing, o Options) *eval.RatioComparison {
	var base, head []float64
	for _, pair := range p.Pairs {
		if pair.Base.MedianMS > 0 && pair.Head.MedianMS > 0 {
			base, head = append(base, pair.Base.MedianMS), append(head, pair.Head.MedianMS)
		}
	}
	if len(base) == 0 {
		return nil
	}
	logs, _ := stats.SignedRank(stats.LogRatios(base, head), 1-2*o.Alpha)
	return ratio(logs.Exp(), len(base), o)
}

// costs compares what a trial costs, summed up over the cells.
func costs(p Pairing, o Options) *eval.RatioComparison {
	var base, head []float64
	for _, pair := range p.Pairs {
		if pair.CostComparable {
			base, head = append(base, *pair.Base.MicroUSD), append(head, *pair.Head.MicroUSD)
		}
	}
	r := stats.RatioOfMeans(base, head, 1-2*o.Alpha)
	if known(r.Point) == nil {
		return nil
	}
	return ratio(r, len(base), o)
}

func ratio(i stats.Interval, cells int, o Options) *eval.RatioComparison {
	return &eval.RatioComparison{Ratio: estimate(i), Cells: cells, Decision: eval.Decision(stats.DecideRatio(i, o.Tolerance))}
}

// others looks at the cases as a sample: what a case has in several variants is one
// difference.
func others(p Pairing, o Options) eval.OtherCases {
	drops := map[string][]float64{}
	var order []string
	for _, pair := range p.Pairs {
		c := pair.Counts()
		if drops[pair.Head.Case] == nil {
			order = append(order, pair.Head.Case)
		}
		drops[pair.Head.Case] = append(drops[pair.Head.Case], float64(c.Head.Passed)/float64(c.Head.Trials)-float64(c.Base.Passed)/float64(c.Base.Trials))
	}
	differences := make([]float64, len(order))
	for i, name := range order {
		for _, d := range drops[name] {
			differences[i] += d / float64(len(drops[name]))
		}
	}
	t := stats.PairedTest(differences, 1-2*o.Alpha)
	flip, _ := stats.SignFlip(differences)
	return eval.OtherCases{Cases: len(order), Difference: estimate(t.Interval), TestP: known(t.Harm), SignFlipP: known(flip)}
}
