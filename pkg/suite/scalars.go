package suite

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// The scalar types of the suite format. Strings with few values say which.

type (
	transport       string
	isolation       string
	onLimit         string
	errorKind       string
	trajectoryMatch string
	provider        string
	effort          string
	textPlace       string
	how             string
	fit             string
	stop            string
)

func (transport) Choices() []string {
	return []string{string(eval.TransportHTTP), string(eval.TransportSSE)}
}

func (isolation) Choices() []string {
	return []string{string(eval.IsolationShared), string(eval.IsolationTrial)}
}

func (onLimit) Choices() []string {
	return []string{string(eval.OnLimitScore), string(eval.OnLimitFail)}
}

func (errorKind) Choices() []string {
	return []string{string(eval.ErrorAny), string(eval.ErrorTool), string(eval.ErrorProtocol), string(eval.ErrorUnknownTool)}
}

func (trajectoryMatch) Choices() []string {
	return []string{
		string(eval.MatchAligned), string(eval.MatchPositional), string(eval.MatchExact), string(eval.MatchInOrder),
		string(eval.MatchAnyOrder), string(eval.MatchSubset), string(eval.MatchSuperset),
	}
}

func (provider) Choices() []string {
	return []string{string(eval.ProviderAnthropic), string(eval.ProviderOpenAI), string(eval.ProviderScripted)}
}

func (effort) Choices() []string {
	return []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
}

func (textPlace) Choices() []string {
	return []string{string(eval.PlaceAnswer), string(eval.PlaceSaid), string(eval.PlaceCalls), string(eval.PlaceResults), string(eval.PlaceAll)}
}

func (how) Choices() []string { return []string{"exact", "ignore_case", "ignore", "set"} }

func (fit) Choices() []string  { return []string{"budget"} }
func (stop) Choices() []string { return []string{"decided"} }

// version is the version of the suite format.
type version int

const formatVersion = 1

func (v *version) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	d.Decode(n, (*int)(v))
	switch {
	case *v > formatVersion:
		d.Report(n.Pos, fmt.Sprintf("suite format %d is newer than this evalfarm, which reads %d", *v, formatVersion), "use a newer evalfarm")
	case *v < formatVersion && n.Kind == strictyaml.Number:
		d.Report(n.Pos, fmt.Sprintf("there is no suite format %s", n.Text), fmt.Sprintf("write version: %d", formatVersion))
	}
}

// positive is a whole number from 1, several one from 2, natural one from 0. sum
// is one from 1 that counts over a run.
type (
	positive int
	several  int
	natural  int
	sum      int
)

func (p *positive) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	*p = positive(wholeFrom(d, n, 1, most))
}

func (p *several) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	*p = several(wholeFrom(d, n, 2, most))
}

func (p *natural) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	*p = natural(wholeFrom(d, n, 0, most))
}

func (s *sum) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	*s = sum(wholeFrom(d, n, 1, mostSum))
}

// Positive is a whole number from 1, as suites and farm files write it.
type Positive = positive

// most bounds every whole number of a suite but sums over a run, so that products
// of them fit.
const (
	most    = 1_000_000_000
	mostSum = most * 1_000_000
)

func wholeFrom(d *strictyaml.Decoder, n *strictyaml.Node, least, bound int) int {
	i, err := strconv.Atoi(n.Text)
	if n.Kind != strictyaml.Number && !n.Loose || err != nil || i < least || i > bound {
		d.Want(n, fmt.Sprintf("a whole number from %d", least))
		return 0
	}
	return i
}

// The numbers of the format that are no whole ones.
type (
	// share is a number from 0 to 1.
	share float64
	// threshold is a share that not everything reaches.
	threshold float64
	// chance is a number above 0 and below 0.5, margin one above 0 and up to 1.
	chance float64
	margin float64
	// checkWeight and distance are numbers from 0.
	checkWeight float64
	distance    float64
	// temperature is a number from 0 to 2.
	temperature float64
)

func (s *share) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	*s = share(numberUpTo(d, n, 1, "a number from 0 to 1"))
}

func (t *threshold) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	const want = "a number above 0, up to 1"
	*t = threshold(numberUpTo(d, n, 1, want))
	if f, err := strconv.ParseFloat(n.Text, 64); err == nil && f == 0 && (n.Kind == strictyaml.Number || n.Loose) {
		d.Report(n.Pos, "want "+want+", got "+n.Describe(), "everything reaches 0; weight: 0 makes a check that decides nothing")
	}
}

func (c *chance) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	const want = "a number above 0 and below 0.5" // at more, an interval ends before it begins
	*c = chance(numberUpTo(d, n, 0.5, want))
	if f, err := strconv.ParseFloat(n.Text, 64); err == nil && (f == 0 || f == 0.5) && (n.Kind == strictyaml.Number || n.Loose) {
		d.Want(n, want)
	}
}

func (m *margin) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	const want = "a number above 0, up to 1"
	*m = margin(numberUpTo(d, n, 1, want))
	if f, err := strconv.ParseFloat(n.Text, 64); err == nil && f == 0 && (n.Kind == strictyaml.Number || n.Loose) {
		d.Report(n.Pos, "want "+want+", got "+n.Describe(),
			"with no margin only an improvement can pass: runs that are alike would be inconclusive, whatever their number; say which drop is still acceptable, such as 0.05")
	}
}

func (w *checkWeight) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	*w = checkWeight(numberUpTo(d, n, most, "a number from 0"))
}

func (m *distance) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	*m = distance(numberUpTo(d, n, math.MaxFloat64, "a number from 0"))
}

func (t *temperature) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	*t = temperature(numberUpTo(d, n, 2, "a number from 0 to 2"))
}

// numberUpTo is a number from 0 to a bound.
func numberUpTo(d *strictyaml.Decoder, n *strictyaml.Node, bound float64, want string) float64 {
	f, err := strconv.ParseFloat(n.Text, 64)
	if n.Kind != strictyaml.Number && !n.Loose || err != nil || !(f >= 0 && f <= bound) {
		d.Want(n, want)
		return 0
	}
	return f
}

// Dollars is an amount of money above 0, kept in micro-dollars.
type Dollars int64

// UnmarshalNode decodes an amount that is a whole number of micro-dollars.
func (m *Dollars) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	*m = Dollars(millionths(d, n, 1, most, "an amount of dollars above 0"))
}

const million = 1_000_000

// millionths reads a decimal as a number of millionths, exactly: at least so many
// of them, and at most bound whole ones.
func millionths(d *strictyaml.Decoder, n *strictyaml.Node, least int64, bound float64, want string) int64 {
	f, err := strconv.ParseFloat(n.Text, 64)
	if n.Kind != strictyaml.Number && !n.Loose || err != nil || !(f >= 0 && f <= bound) || f == 0 && least > 0 || len(n.Text) > 40 {
		d.Want(n, want)
		return 0
	}
	// What is too small for a float is too long to be written out.
	digits, _, _ := strings.Cut(strings.ToLower(n.Text), "e")
	exact := new(big.Rat)
	ok := f > 0 || !strings.ContainsAny(digits, "123456789")
	if ok && f > 0 {
		_, ok = exact.SetString(n.Text)
	}
	if exact.Mul(exact, big.NewRat(million, 1)); !ok || !exact.IsInt() {
		d.Report(n.Pos, n.Text+" has more than 6 decimals", "it is counted in millionths")
		return 0
	}
	return exact.Num().Int64()
}

// Duration is a time as suites and farm files write it.
type Duration = duration

// duration is written as Go writes it: 90s, 2m, 1h30m.
type duration time.Duration

var durationRE = regexp.MustCompile(durationPattern)

const durationPattern = `^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`

func (t *duration) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	if n.Kind != strictyaml.String || !durationRE.MatchString(n.Text) {
		p := "a duration such as 90s, 2m or 1h30m"
		if n.Kind == strictyaml.Number {
			d.Report(n.Pos, "want "+p+", got "+n.Describe(), fmt.Sprintf("a duration has a unit: %ss", n.Text))
			return
		}
		d.Want(n, p)
		return
	}
	v, err := time.ParseDuration(n.Text)
	switch {
	case err != nil:
		d.Want(n, "a duration that fits into 290 years")
	case v <= 0:
		d.Report(n.Pos, "a duration must be longer than nothing", "leave the key out for its default")
	default:
		*t = duration(v)
	}
}

// rule compares a number with a bound: ">= 0.95".
type rule eval.Rule

var ruleRE = regexp.MustCompile(rulePattern)

const rulePattern = `^(>=|>) *(0(\.[0-9]+)?|1(\.0+)?)$`

func (r *rule) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	*r = rule(shareRule(d, n, ruleRE, ">= 0.95"))
}

// shareRule reads an operator and a share, which are the first two groups of a pattern.
// What does not match is reported, with an example, and comes out empty.
func shareRule(d *strictyaml.Decoder, n *strictyaml.Node, pattern *regexp.Regexp, example string) eval.Rule {
	m := pattern.FindStringSubmatch(n.Text)
	if n.Kind != strictyaml.String || m == nil {
		d.Want(n, fmt.Sprintf("a rule such as %q, with a bound from 0 to 1", example))
		return eval.Rule{}
	}
	bound, err := strconv.ParseFloat(m[2], 64)
	if err != nil {
		d.Want(n, "a bound that is a number")
		return eval.Rule{}
	}
	return eval.Rule{Op: m[1], Bound: bound}
}

// caseID and stepID name cases and steps.
type (
	caseID string
	stepID string
)

const (
	idPattern = `^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$`
	maxID     = 200
)

var idRE = regexp.MustCompile(idPattern)

func (id *caseID) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	d.Decode(n, (*string)(id))
	checkID(d, n, string(*id))
}

func (id *stepID) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	d.Decode(n, (*string)(id))
	checkID(d, n, string(*id))
}

func checkID(d *strictyaml.Decoder, n *strictyaml.Node, id string) {
	if problem := badID(id); problem != "" && (n.Kind == strictyaml.String || n.Loose) {
		d.Report(n.Pos, strictyaml.Quote(id)+" is no id: "+problem, "letters, digits, dots, dashes and underscores, in parts separated by slashes")
	}
}

// badID says what is wrong with an id, or nothing.
func badID(id string) string {
	switch {
	case id == "":
		return "it is empty"
	case len(id) > maxID:
		return fmt.Sprintf("longer than %d characters", maxID)
	case !idRE.MatchString(id):
		if i := strings.IndexFunc(id, func(r rune) bool { return !strings.ContainsRune("._-/", r) && !isAlnum(r) }); i >= 0 {
			return fmt.Sprintf("%q is not allowed", []rune(id[i:])[0])
		}
		return "a part is empty"
	}
	return ""
}

func isAlnum(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// variableNameRE matches names of variables, extracted values and axes.
var variableNameRE = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)
