package suite

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// Rules on the numbers of a run, for all cases or for those that they stand under.
type numbersFile struct {
	// Pass rate to reach, such as ">= 0.95": for agent cases, or by kind (script, catalog, agent).
	PassRate *passRateFile `yaml:"pass_rate,omitempty"`
	// How likely all of k repeats must pass.
	PassHatK *passHatKFile `yaml:"pass_hat_k,omitempty"`
	// Comparison with a baseline.
	Regressions *regressionsFile `yaml:"regressions,omitempty"`
	// How often two repeats of a case may come out differently, such as "<= 0.1".
	Disagreement ceiling `yaml:"disagreement,omitempty"`
	// Share of the trials that may be left without a verdict of their judge, such as "<= 0.02".
	Unjudged ceiling `yaml:"unjudged,omitempty"`
	// Bound of the median latency of a trial, such as "<= 2s" or "<= baseline * 1.2".
	LatencyP50 latencyBound `yaml:"latency_p50,omitempty"`
	// Bound of the 95th percentile of latency; the same forms.
	LatencyP95 latencyBound `yaml:"latency_p95,omitempty"`
	// Bound of the 99th percentile of latency; the same forms.
	LatencyP99 latencyBound `yaml:"latency_p99,omitempty"`
	// Dollars that a trial may cost on average, such as "<= 0.05" or "<= baseline * 1.1".
	CostUSD costBound `yaml:"cost_usd,omitempty"`
}

// Rules on cases with a tag, or on variants.
type scopeFile struct {
	strictyaml.At
	numbersFile
}

// Rules on the calls of a tool.
type toolGateFile struct {
	strictyaml.At
	// Bound of the median latency of a call, such as "<= 500ms" or "<= baseline * 1.2".
	LatencyP50 latencyBound `yaml:"latency_p50,omitempty"`
	// Bound of the 95th percentile; the same forms.
	LatencyP95 latencyBound `yaml:"latency_p95,omitempty"`
	// Bound of the 99th percentile; the same forms.
	LatencyP99 latencyBound `yaml:"latency_p99,omitempty"`
}

// How likely all of k repeats must pass.
type passHatKFile struct {
	strictyaml.At
	// How many repeats; no more than a case gets.
	K several `yaml:"k"`
	// The least chance that all of them pass.
	AtLeast threshold `yaml:"at_least"`
}

// How cases that look worse than the baseline are tried again before they count as regressions.
type confirmFile struct {
	strictyaml.At
	// Fresh repeats of each. Default 8.
	Repeats positive `yaml:"repeats,omitempty"`
	// Dollars of the budget that are kept for them. Default: a tenth.
	USD Dollars `yaml:"usd,omitempty"`
}

type (
	ifMissing string
	basis     string
	// ceiling is a share that may not be exceeded, latencyBound a time or a factor of
	// the baseline's, costBound an amount of dollars or a factor.
	ceiling      eval.Rule
	latencyBound eval.Rule
	costBound    eval.Rule
	// fingerprintRule is same, or the sha256 of a tool listing.
	fingerprintRule string
)

func (ifMissing) Choices() []string {
	return []string{string(eval.IfMissingNote), string(eval.IfMissingInconclusive)}
}

const basisObserved = "observed"

func (basis) Choices() []string { return []string{"interval", basisObserved} }

const (
	ceilingPattern     = `^(<=|<) *(0(\.[0-9]+)?|1(\.0+)?)$`
	relativePattern    = `baseline *\* *(?P<factor>[0-9]{1,3}(\.[0-9]{1,6})?)`
	latencyPattern     = `^(?P<op><=|<) *(` + relativePattern + `|(?P<time>([0-9]+(\.[0-9]+)?(ms|s|m|h))+))$`
	costPattern        = `^(?P<op><=|<) *(` + relativePattern + `|(?P<usd>[0-9]{1,9}(\.[0-9]{1,6})?))$`
	fingerprintPattern = `^(same|sha256:[0-9a-f]{64})$`
)

var (
	ceilingRE = regexp.MustCompile(ceilingPattern)
	latencyRE = regexp.MustCompile(latencyPattern)
	costRE    = regexp.MustCompile(costPattern)
	sameRE    = regexp.MustCompile(fingerprintPattern)
)

// unnamed is a pattern in the words that editors know: they have no named groups.
func unnamed(pattern string) string {
	return regexp.MustCompile(`\?P<[a-z]+>`).ReplaceAllString(pattern, "")
}

// Patterns for editors.
func (ceiling) Pattern() string         { return ceilingPattern }
func (latencyBound) Pattern() string    { return unnamed(latencyPattern) }
func (costBound) Pattern() string       { return unnamed(costPattern) }
func (fingerprintRule) Pattern() string { return fingerprintPattern }

func (c *ceiling) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	*c = ceiling(shareRule(d, n, ceilingRE, "<= 0.1"))
}

func (l *latencyBound) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	r, text := bounded(d, n, latencyRE, "time", `a rule such as "<= 2s" or "<= baseline * 1.2"`)
	if text != "" {
		t, err := time.ParseDuration(text)
		if err != nil || t <= 0 {
			d.Want(n, "a time above 0 that fits into 290 years")
			return
		}
		r.Bound = float64(t) / float64(time.Millisecond)
	}
	*l = latencyBound(r)
}

func (c *costBound) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	r, text := bounded(d, n, costRE, "usd", `a rule such as "<= 0.05" or "<= baseline * 1.1"`)
	if text != "" {
		usd, err := strconv.ParseFloat(text, 64)
		if err != nil {
			d.Want(n, "an amount of dollars")
			return
		}
		r.Bound = usd * million
	}
	*c = costBound(r)
}

// bounded reads a bound that may be a factor of the baseline's number; otherwise it
// gives the text of the group that has the bound. The rule is empty if it is none.
func bounded(d *strictyaml.Decoder, n *strictyaml.Node, re *regexp.Regexp, group, want string) (eval.Rule, string) {
	m := re.FindStringSubmatch(n.Text)
	if n.Kind != strictyaml.String || m == nil {
		d.Want(n, want)
		return eval.Rule{}, ""
	}
	r := eval.Rule{Op: m[re.SubexpIndex("op")]}
	if factor := m[re.SubexpIndex("factor")]; factor != "" {
		f, err := strconv.ParseFloat(factor, 64)
		if err != nil || f <= 0 {
			d.Want(n, "a factor above 0")
			return eval.Rule{}, ""
		}
		r.Relative, r.Bound = true, f
		return r, ""
	}
	return r, m[re.SubexpIndex(group)]
}

func (f *fingerprintRule) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	if n.Kind != strictyaml.String && !n.Loose || !sameRE.MatchString(n.Text) {
		d.Want(n, "same, or sha256: and 64 hex digits")
		return
	}
	*f = fingerprintRule(n.Text)
}

// axesOf reads the key of a variant: AXIS=VALUE, or several with commas between.
func axesOf(key string) (map[string]string, error) {
	axes := map[string]string{}
	for pair := range strings.SplitSeq(key, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if !ok || name == "" || value == "" {
			return nil, fmt.Errorf("%s names no variant", strictyaml.Quote(key))
		}
		axes[name] = value
	}
	return axes, nil
}
