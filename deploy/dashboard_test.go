package deploy_test

import (
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/bargauge"
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
	"sigs.k8s.io/yaml"
)

const dashboardFile = "observability/grafana/dashboards/evalfarm.json"

// A query is one of a panel.
type query struct{ panel, expr, legend string }

// A panel is what these tests read of one of the dashboard.
type panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ H, W, X, Y int }
	Datasource               struct{ Type, UID string }
	Targets                  []struct{ RefID, Expr, LegendFormat string }
}

func panels(t *testing.T) []panel {
	t.Helper()
	content, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	var d struct{ Panels []panel }
	if err := json.Unmarshal(content, &d); err != nil {
		t.Fatal(err)
	}
	return d.Panels
}

// queries of the dashboard, with its variables as Grafana would set them.
func queries(t *testing.T) []query {
	t.Helper()
	var all []query
	for _, p := range panels(t) {
		for _, q := range p.Targets {
			expr := strings.NewReplacer("$__rate_interval", "1m", "$__range", "1h", "$lane", "trials|judging").Replace(q.Expr)
			if strings.Contains(expr, "$") {
				t.Errorf("%s: there is no such variable: %s", p.Title, expr)
			}
			all = append(all, query{p.Title, expr, q.LegendFormat})
		}
	}
	if len(all) == 0 {
		t.Fatal("the dashboard asks nothing")
	}
	return all
}

// The schema of Grafana knows every key. What a panel does not say of its options has a
// default.
func TestDashboardHasItsSchema(t *testing.T) {
	cog.NewRuntime().RegisterDataqueryVariant(prometheus.VariantConfig())
	for _, kind := range []variants.PanelcfgConfig{timeseries.VariantConfig(), stat.VariantConfig(), bargauge.VariantConfig()} {
		cog.NewRuntime().RegisterPanelcfgVariant(kind)
	}
	for _, p := range panels(t) {
		if _, known := cog.ConfigForPanelcfgVariant(p.Type); !known && p.Type != "row" {
			t.Errorf("%s is a panel of type %s, whose schema this test does not know", p.Title, p.Type)
		}
	}
	content, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard.Dashboard
	var bad cog.BuildErrors
	if err := d.UnmarshalJSONStrict(content); err != nil && !errors.As(err, &bad) {
		t.Fatal(err)
	}
	for _, err := range bad {
		if !strings.Contains(err.Path, ".options.") || err.Message != "required field is missing from input" {
			t.Error(err)
		}
	}
}

func TestDashboardQueries(t *testing.T) {
	template := regexp.MustCompile(`\{\{(\w+)\}\}`)
	for _, q := range queries(t) {
		of := promql(t, q.expr)
		for _, l := range template.FindAllStringSubmatch(q.legend, -1) {
			if !slices.Contains(of, l[1]) {
				t.Errorf("%s: the legend %s names %s, and the result has the labels %q", q.panel, q.legend, l[1], of)
			}
		}
		for _, l := range of {
			if !strings.Contains(q.legend, "{{"+l+"}}") && l != "instance" && l != "job" {
				t.Errorf("%s: several lines of %s have the legend %s", q.panel, l, q.legend)
			}
		}
	}
}

func TestDashboardPanels(t *testing.T) {
	var sources struct {
		Datasources []struct{ Name, UID, Type, URL string }
	}
	content, err := os.ReadFile("observability/grafana/provisioning/datasources/datasources.yaml")
	if err == nil {
		err = yaml.Unmarshal(content, &sources)
	}
	if err != nil {
		t.Fatal(err)
	}
	ids, places := map[int]bool{}, map[[2]int]string{}
	for _, p := range panels(t) {
		if ids[p.ID] || p.Title == "" {
			t.Errorf("panel %d (%s) is there twice, or has no title", p.ID, p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := places[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%s lies over %q, or beyond the edge", p.Title, other)
				}
				places[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if p.Description == "" || len(p.Targets) == 0 {
			t.Errorf("%s does not say what it shows, or shows nothing", p.Title)
		}
		known := false
		for _, s := range sources.Datasources {
			known = known || s.UID == p.Datasource.UID && s.Type == p.Datasource.Type
		}
		if !known {
			t.Errorf("%s asks %s, which is not provisioned", p.Title, p.Datasource.UID)
		}
	}
}
