package gate

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/stats"
)

// defaultAlpha is the chance of a false alarm of a gate that names none.
const defaultAlpha = 0.05

// A claim is what is decided at once: a rule, narrowed to one value of the gate's axis.
type claim struct {
	eval.Rule
	// index of the rule in the gate.
	index int
	// level is the one-sided error that it may have; 0 before the first look of a run
	// that is looked at several times.
	level float64
}

// claims are the rules of a gate with what they are narrowed to, but for those that
// loosen what script and catalog cases must do. The error that the gate may have is
// split: rules that name a part of it have that, the others have equal shares of the
// rest, and the values of an axis share what their rule has. Rules that are not about
// chance take no part.
func claims(snap eval.Snapshot, round int) []claim {
	g := snap.Gate
	var all []claim
	levels := map[float64]float64{} // by alpha: to find one takes a quarter of a second
	values := axisValues(snap, g.Per)
	rest, sharing := cmp.Or(g.Alpha, defaultAlpha), 0
	for _, r := range g.Rules {
		if !judgesKind(r) && r.ByChance() {
			rest -= r.Alpha
			if r.Alpha == 0 {
				sharing++
			}
		}
	}
	for i, r := range g.Rules {
		if judgesKind(r) {
			continue
		}
		alpha := r.Alpha
		if alpha == 0 {
			alpha = max(rest, 0) / float64(max(sharing, 1))
		}
		narrowed := []eval.Rule{r}
		_, said := r.Axes[g.Per]
		if g.Per != "" && !said && r.Tool == "" && r.Metric != eval.MetricJudgeAgreement && len(values) > 0 { // all values have one judge
			narrowed = nil
			for _, value := range values {
				one := r
				one.Axes = maps.Clone(r.Axes)
				if one.Axes == nil {
					one.Axes = map[string]string{}
				}
				one.Axes[g.Per] = value
				narrowed = append(narrowed, one)
			}
			alpha /= float64(len(values))
		}
		if r.ByChance() {
			level, known := levels[alpha]
			if !known {
				level = atLook(snap, alpha, round)
				levels[alpha] = level
			}
			alpha = level
		}
		for _, one := range narrowed {
			for _, of := range kindsOf(snap, one) {
				all = append(all, claim{Rule: of, index: i, level: alpha})
			}
		}
	}
	return all
}

// judgesKind says whether a rule only loosens what script or catalog cases must do.
func judgesKind(r eval.Rule) bool {
	return r.Metric == eval.MetricPassRate && r.Kind != "" && r.Kind != eval.KindAgent && r.Tag == "" && len(r.Axes) == 0
}

// atLook is the level of the look after a round, so that all looks together err with
// alpha; 0 where there is no look. A run without planned looks is looked at once.
func atLook(snap eval.Snapshot, alpha float64, round int) float64 {
	looks := Looks(snap)
	switch {
	case len(looks) == 0:
		return alpha
	case !slices.Contains(looks, round):
		return 0
	}
	level, _ := stats.WangTsiatis(alpha, looks[len(looks)-1], looks, stats.WangTsiatisShape).Level(round)
	return level
}

// axisValues are the values of an axis in which the run has cells, in the order of the
// axis.
func axisValues(snap eval.Snapshot, axis string) []string {
	if axis == "" {
		return nil
	}
	there := map[string]bool{}
	for _, c := range snap.Plan.Cells {
		there[snap.Variants[c.Variant].Axes[axis]] = true
	}
	var values []string
	for _, a := range snap.Axes {
		for _, p := range a.Points {
			if a.Name == axis && there[p.Value] {
				values = append(values, p.Value)
			}
		}
	}
	return values
}

// kindsOf makes a rule on the latency of trials that names no kind one for each kind
// that it has cells of: numbers of several kinds are never pooled. Others are about
// agents.
func kindsOf(snap eval.Snapshot, r eval.Rule) []eval.Rule {
	if r.Kind != "" || r.Tool != "" || r.Metric == eval.MetricCatalog {
		return []eval.Rule{r}
	}
	if !r.OfLatency() {
		r.Kind = eval.KindAgent
		return []eval.Rule{r}
	}
	var rules []eval.Rule
	for _, k := range []eval.Kind{eval.KindScript, eval.KindAgent} {
		of := func(c eval.Cell) bool {
			for axis, value := range r.Axes {
				if snap.Variants[c.Variant].Axes[axis] != value {
					return false
				}
			}
			return snap.Cases[c.Case].Kind == k
		}
		if slices.ContainsFunc(snap.Plan.Cells, of) {
			one := r
			one.Kind = k
			rules = append(rules, one)
		}
	}
	if len(rules) == 0 {
		r.Kind = eval.KindAgent
		return []eval.Rule{r}
	}
	return rules
}

// covers says whether a cell is one that the claim is about.
func (c claim) covers(cell eval.CellStats, v eval.Variant) bool {
	if c.Kind != "" && cell.Kind != c.Kind || c.Tag != "" && !slices.Contains(cell.Tags, c.Tag) {
		return false
	}
	for axis, value := range c.Axes {
		if v.Axes[axis] != value {
			return false
		}
	}
	return true
}

// narrowed says in words what the claim is about: agent, agent [model=fast], agent
// tagged refund, get_order.
func (c claim) narrowed() string {
	words := []string{cmp.Or(c.Tool, string(c.Kind), "all cases")}
	if len(c.Axes) > 0 {
		words = append(words, "["+eval.NewVariant(c.Axes).ID+"]")
	}
	if c.Tag != "" {
		words = append(words, "tagged "+c.Tag)
	}
	return strings.Join(words, " ")
}
