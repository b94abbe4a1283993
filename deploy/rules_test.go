package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"sigs.k8s.io/yaml"
)

// alerts are the rules of observability/rules.yml: a key that the Prometheus Operator
// does not know, whose rules are those of Prometheus, is refused.
func alerts(t *testing.T) []monitoring.Rule {
	t.Helper()
	content, err := os.ReadFile("observability/rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	var rules monitoring.PrometheusRuleSpec
	if err := yaml.UnmarshalStrict(content, &rules); err != nil {
		t.Fatal(err)
	}
	var all []monitoring.Rule
	for _, g := range rules.Groups {
		all = append(all, g.Rules...)
	}
	if len(all) == 0 {
		t.Fatal("there are no rules")
	}
	return all
}

// anchors of the headings of a page, as GitHub makes them.
func anchors(t *testing.T, page string) map[string]bool {
	t.Helper()
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(string(content), -1) {
		found[strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, m[1])] = true
	}
	return found
}

// runbooks is where the rules say what to do.
const runbooks = "https://github.com/evalfarm/evalfarm/blob/main/docs/operations.md#"

func TestAlerts(t *testing.T) {
	var (
		headings = anchors(t, "../docs/operations.md")
		label    = regexp.MustCompile(`\$labels\.(\w+)`)
		seen     = map[string]bool{}
	)
	for _, a := range alerts(t) {
		t.Run(a.Alert, func(t *testing.T) {
			if !strings.HasPrefix(a.Alert, "Evalfarm") || seen[a.Alert] {
				t.Errorf("%q is there twice, or could be another program's", a.Alert)
			}
			seen[a.Alert] = true
			if s := a.Labels["severity"]; !slices.Contains([]string{"info", "warning", "critical"}, s) {
				t.Errorf("its severity is %q", s)
			}
			if a.Annotations["summary"] == "" || a.Annotations["description"] == "" {
				t.Error("it does not say what is wrong")
			}
			if anchor, ok := strings.CutPrefix(a.Annotations["runbook_url"], runbooks); !ok || !headings[anchor] {
				t.Errorf("%s leads nowhere", a.Annotations["runbook_url"])
			}
			of := promql(t, a.Expr.String())
			for _, text := range a.Annotations {
				for _, m := range label.FindAllStringSubmatch(text, -1) {
					if !slices.Contains(of, m[1]) {
						t.Errorf("%s: %s has the labels %q", text, a.Expr.String(), of)
					}
				}
			}
		})
	}
}

// installed finds a program of Debian's package prometheus, which scripts/setup.sh puts
// beside what Go installs.
func installed(t *testing.T, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	gopath, err := exec.Command("go", "env", "GOPATH").Output()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(strings.TrimSpace(string(gopath)), "bin", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s is not installed; scripts/setup.sh does it", name)
	}
	return path
}

// promtool is the program of the Prometheus project that reads rules as its server does.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command(installed(t, "promtool"), args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestPromtoolReadsThem(t *testing.T) {
	promtool(t, "check", "rules", "--lint-fatal", "observability/rules.yml")
	promtool(t, "check", "config", "--lint-fatal", "observability/prometheus.yml")
}

// Each alert fires when it should, and not when all is well.
func TestAlertsFire(t *testing.T) {
	const cases = "testdata/rules_test.yml"
	promtool(t, "test", "rules", cases)
	content, err := os.ReadFile(cases)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range alerts(t) {
		if !strings.Contains(string(content), `labels: '{alertname="`+a.Alert+`"`) {
			t.Errorf("nobody has seen %s fire", a.Alert)
		}
	}
}
