package telemetrytest

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// A Page is what was scraped: the series of each metric by their labels, "a=1,b=2" in
// the order of their names. The value is that of a counter or a gauge; of a histogram
// it is how many were recorded.
type Page map[string]map[string]float64

// Scrape reads a page of metrics as Prometheus does. A URL that does not answer ends
// the test.
func Scrape(tb testing.TB, url string) Page {
	tb.Helper()
	r, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, url, nil)
	if err != nil {
		tb.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		tb.Fatal(err)
	}
	defer answer.Body.Close()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		tb.Fatalf("scrape %s: %s, %v", url, answer.Status, err)
	}
	page := Page{}
	for name, f := range families {
		page[name] = map[string]float64{}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			slices.Sort(labels)
			page[name][strings.Join(labels, ",")] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return page
}

// Sum of the series of a metric that have all of these labels, each "a=1"; of all
// without any.
func (p Page) Sum(name string, labels ...string) (sum float64) {
	for series, value := range p[name] {
		has := strings.Split(series, ",")
		if !slices.ContainsFunc(labels, func(l string) bool { return !slices.Contains(has, l) }) {
			sum += value
		}
	}
	return sum
}
