package waiver

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// A File holds the waivers of one suite.
type File struct {
	// Name that problems show.
	Name    string
	Suite   string
	Waivers []Waiver
}

// A Waiver is one entry of a file.
type Waiver struct {
	eval.Waiver
	// N is its number in the file, from 1.
	N int
	// Signature is the armored SSH signature of its text; empty if there is none.
	Signature string

	at, signature strictyaml.Pos
}

// Problem reports something about the waiver at its place.
func (w Waiver) Problem(message, hint string) strictyaml.Problem { return w.at.Problem(message, hint) }

// Name is what the waiver takes out of the gate, in words.
func Name(w eval.Waiver) string {
	if w.Rule != "" {
		return "rule " + string(w.Rule)
	}
	return "case " + w.Case
}

// fileForm and waiverForm are the format. A field without omitempty is required.
type fileForm struct {
	strictyaml.At
	// Suite that the waivers are for: a signature is good in no other.
	Suite   text         `yaml:"suite"`
	Waivers []waiverForm `yaml:"waivers"`
}

type waiverForm struct {
	strictyaml.At
	Case      glob   `yaml:"case,omitempty"`
	Rule      metric `yaml:"rule,omitempty"`
	Reason    text   `yaml:"reason"`
	Approver  text   `yaml:"approver"`
	Expires   moment `yaml:"expires"`
	Signature string `yaml:"signature,omitempty"`
}

// Parse reads a file of waivers, YAML or JSON by its name, which problems show. The
// file is nil if any of them is no warning.
func Parse(name string, data []byte) (*File, []strictyaml.Problem) {
	root, problems := strictyaml.Parse(name, data)
	if root == nil {
		return nil, problems
	}
	var form fileForm
	problems = append(problems, strictyaml.Decode(root, &form, strictyaml.Options{Free: "x-"})...)
	file := &File{Name: name, Suite: string(form.Suite)}
	for i := range form.Waivers {
		f := &form.Waivers[i]
		at := f.Node()
		if at == nil {
			continue // it is no map, which is reported
		}
		switch {
		case at.Field("case") != nil && at.Field("rule") != nil:
			problems = append(problems, at.Place("rule").Problem("a waiver is of a case or of a rule", "write two waivers"))
		case at.Field("case") == nil && at.Field("rule") == nil:
			problems = append(problems, at.Problem("the waiver names no case and no rule", "case: an id or a glob of ids; rule: a metric of the gate"))
		}
		w := Waiver{N: i + 1, Signature: f.Signature, at: at.Pos, signature: at.Place("signature")}
		w.Waiver = eval.Waiver{
			Case: string(f.Case), Rule: eval.Metric(f.Rule), Reason: string(f.Reason), Approver: string(f.Approver),
			Expires: time.Time(f.Expires), At: fmt.Sprintf("%s:%d", name, at.Line),
		}
		file.Waivers = append(file.Waivers, w)
	}
	if slices.ContainsFunc(problems, func(p strictyaml.Problem) bool { return !p.Warning }) {
		return nil, problems
	}
	return file, problems
}

// Looks says whether a file is one of waivers and no suite, which has a version.
func Looks(data []byte) bool {
	root, _ := strictyaml.Parse("", data)
	return root.Field("waivers") != nil && root.Field("version") == nil
}

// Has says whether the file has a waiver of the same suite with the same text.
func (f *File) Has(suite string, w eval.Waiver) bool {
	return f.Suite == suite && slices.ContainsFunc(f.Waivers, func(other Waiver) bool {
		return Text(suite, other.Waiver) == Text(suite, w)
	})
}

// text is a string in one line that says something.
type text string

func (t *text) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	d.Decode(n, (*string)(t))
	switch {
	case n.Kind != strictyaml.String || n.Bad:
	case strings.TrimSpace(n.Text) == "":
		d.Report(n.Pos, "it is empty", "")
	case len(n.Text) > maxText:
		d.Report(n.Pos, fmt.Sprintf("it has more than %d bytes", maxText), "")
	case strings.ContainsFunc(n.Text, func(r rune) bool { return r < ' ' || r == 0x7f }):
		d.Report(n.Pos, "it is more than one line, or has control characters", "what is signed is what people have read")
	}
}

// maxText is as much as anybody reads of a reason.
const maxText = 1000

// glob of case ids.
type glob string

func (g *glob) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	d.Decode(n, (*text)(g))
	if _, err := path.Match(string(*g), ""); err != nil {
		d.Report(n.Pos, "bad pattern "+strictyaml.Quote(n.Text), "* and ? match inside one part of an id, […] one character of several")
	}
}

// metric is what a rule is about.
type metric string

func (metric) Choices() []string {
	return []string{
		string(eval.MetricPassRate), string(eval.MetricPassHatK), string(eval.MetricRegressions), string(eval.MetricDisagreement),
		string(eval.MetricUnjudged), string(eval.MetricLatencyP50), string(eval.MetricLatencyP95), string(eval.MetricLatencyP99),
		string(eval.MetricCost), string(eval.MetricCatalog), string(eval.MetricJudgeAgreement),
	}
}

// moment is a date, which begins at midnight UTC, or a time with its zone.
type moment time.Time

func (m *moment) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	t, err := Moment(n.Text)
	if n.Bad {
		return
	}
	if n.Kind != strictyaml.String || err != nil {
		d.Want(n, "a date such as 2026-12-31, which begins at midnight UTC, or a time such as 2026-12-31T18:00:00Z")
		return
	}
	*m = moment(t)
}

var dateRE = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)

// Moment reads a date, which begins at midnight UTC, or a time of RFC 3339, in whole
// seconds.
func Moment(s string) (time.Time, error) {
	if dateRE.MatchString(s) {
		return time.ParseInLocation(time.DateOnly, s, time.UTC)
	}
	t, err := time.Parse(time.RFC3339, s)
	return t.UTC().Truncate(time.Second), err
}
