package deploy_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

// catalogue is the series that Prometheus has of a farm, each with its labels: those of
// the product's catalogue, and what Prometheus and its client library add.
func catalogue() map[string][]string {
	target := []string{"instance", "job"}
	series := map[string][]string{"up": target, "process_resident_memory_bytes": target}
	for _, in := range telemetry.Catalogue() {
		of := slices.Clone(target)
		for _, l := range in.Labels {
			of = append(of, strings.ReplaceAll(l, ".", "_"))
		}
		name := in.Prometheus()
		if in.Kind != telemetry.Histogram {
			series[name] = of
			continue
		}
		series[name+"_bucket"] = append(slices.Clone(of), "le")
		series[name+"_sum"], series[name+"_count"] = of, of
	}
	return series
}

// promql parses an expression, wants all metrics and labels in it to exist, and gives
// the labels that its result can have.
func promql(t *testing.T, expr string) []string {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		t.Errorf("%s: %v", expr, err)
		return nil
	}
	of, err := resultLabels(catalogue(), parsed)
	if err != nil {
		t.Errorf("%s: %v", expr, err)
	}
	return of
}

// resultLabels of an expression. What it does not know it refuses: an expression is not
// checked by accident.
func resultLabels(series map[string][]string, e parser.Expr) ([]string, error) {
	switch e := e.(type) {
	case *parser.NumberLiteral:
		return nil, nil
	case *parser.ParenExpr:
		return resultLabels(series, e.Expr)
	case *parser.MatrixSelector:
		return resultLabels(series, e.VectorSelector)
	case *parser.VectorSelector:
		of, ok := series[e.Name]
		if !ok {
			return nil, fmt.Errorf("there is no metric %s", e.Name)
		}
		for _, m := range e.LabelMatchers {
			if m.Name != labels.MetricName && !slices.Contains(of, m.Name) {
				return nil, fmt.Errorf("%s has no label %s, but %q", e.Name, m.Name, of)
			}
		}
		return of, nil
	case *parser.AggregateExpr:
		of, err := resultLabels(series, e.Expr)
		if err != nil {
			return nil, err
		}
		if e.Without {
			return nil, fmt.Errorf("this test knows no without")
		}
		if e.Op == parser.TOPK {
			return of, nil
		}
		for _, l := range e.Grouping {
			if !slices.Contains(of, l) {
				return nil, fmt.Errorf("%s is by %s, and there are the labels %q", e.Op, l, of)
			}
		}
		return e.Grouping, nil
	case *parser.Call:
		var of []string
		for _, arg := range e.Args {
			got, err := resultLabels(series, arg)
			if err != nil {
				return nil, err
			}
			of = append(of, got...)
		}
		switch e.Func.Name {
		case "absent":
			return nil, nil
		case "histogram_quantile":
			i := slices.Index(of, "le")
			if i < 0 {
				return nil, fmt.Errorf("a quantile without le")
			}
			return slices.Delete(slices.Clone(of), i, i+1), nil
		case "rate", "increase", "deriv", "predict_linear":
			return of, nil
		}
		return nil, fmt.Errorf("this test knows no function %s", e.Func.Name)
	case *parser.BinaryExpr:
		left, err := resultLabels(series, e.LHS)
		if err != nil {
			return nil, err
		}
		right, err := resultLabels(series, e.RHS)
		if err != nil {
			return nil, err
		}
		switch {
		case e.LHS.Type() == parser.ValueTypeScalar:
			return right, nil
		case e.RHS.Type() == parser.ValueTypeScalar:
			return left, nil
		case alike(left, right):
			return left, nil
		}
		return nil, fmt.Errorf("%q and %q never match", left, right)
	}
	return nil, fmt.Errorf("this test knows no %T", e)
}

// alike says whether two sides of an operator have the same labels, by which they match.
func alike(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func TestPromQLIsChecked(t *testing.T) {
	for name, bad := range map[string]string{
		"no such metric":         `sum(evalfarm_trails_total)`,
		"no such label":          `sum(evalfarm_trials_total{lane="trials"})`,
		"grouped by no label":    `sum by (lane) (rate(evalfarm_trials_total[5m]))`,
		"label lost before":      `sum by (verdict) (sum by (reason) (evalfarm_trials_total))`,
		"bucket without le":      `histogram_quantile(0.9, sum by (lane) (rate(evalfarm_queue_wait_seconds_bucket[5m])))`,
		"histogram as a number":  `evalfarm_queue_wait_seconds`,
		"sides never match":      `sum by (key) (evalfarm_limiter_waiting) and sum(evalfarm_workers)`,
		"a function not checked": `label_replace(evalfarm_workers, "a", "b", "c", "d")`,
	} {
		t.Run(name, func(t *testing.T) {
			parsed, err := parser.NewParser(parser.Options{}).ParseExpr(bad)
			if err != nil {
				t.Fatal(err)
			}
			if of, err := resultLabels(catalogue(), parsed); err == nil {
				t.Errorf("%s has the labels %q, want an error", bad, of)
			}
		})
	}
}

// names of the metrics in an expression, without what is added to those of histograms.
func names(t *testing.T, expr string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	parser.Inspect(parsed, func(n parser.Node, _ []parser.Node) error {
		if v, ok := n.(*parser.VectorSelector); ok {
			found[strings.TrimSuffix(v.Name, "_bucket")] = true
		}
		return nil
	})
	return found
}

// Whatever the farm measures can be seen.
func TestDashboardShowsEveryMetric(t *testing.T) {
	shown := map[string]bool{}
	for _, q := range queries(t) {
		maps.Copy(shown, names(t, q.expr))
	}
	for _, in := range telemetry.Catalogue() {
		if !shown[in.Prometheus()] {
			t.Errorf("the dashboard does not show %s", in.Prometheus())
		}
	}
}
