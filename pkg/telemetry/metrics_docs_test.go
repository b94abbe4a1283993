package telemetry_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

// TestDocsOfMetrics compares the tables of docs/metrics.md with the catalogue.
func TestDocsOfMetrics(t *testing.T) {
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	kind := ""
	for line := range strings.Lines(string(page)) {
		if section, ok := strings.CutPrefix(line, "## "); ok {
			kind = strings.ToLower(strings.TrimSuffix(strings.TrimSpace(section), "s"))
		}
		if cells := strings.Split(line, " | "); strings.HasPrefix(line, "| `") && len(cells) == 6 {
			got = append(got, kind+" "+strings.Join(cells[:5], " | "))
		}
	}
	for _, in := range telemetry.Catalogue() {
		var labels []string
		for _, l := range in.Labels {
			labels = append(labels, "`"+strings.ReplaceAll(l, ".", "_")+"`")
		}
		want = append(want, fmt.Sprintf("%s | `%s` | `%s` | %s | %s | %s", in.Kind, in.Name, in.Prometheus(), strings.Join(labels, " "), in.Of, in.Help))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/metrics.md: got + and want -:\n%s", diff)
	}
}
