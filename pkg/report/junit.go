package report

import (
	"bufio"
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// JUnit writes the summary for CI systems: the run is <testsuites>, each
// variant a <testsuite>, each cell a <testcase>. The steps of a workflow are
// test cases of their own, "case/step". A fail is a <failure>, an error an
// <error>, whatever has no answer is <skipped> and says why.
//
// Times are seconds: of a cell the median of its trials' time in tools, of a
// step the time of its calls.
func JUnit(w io.Writer, s eval.Summary) error {
	run := junitRun{
		Name:       clean(s.Suite + " " + s.Run),
		Time:       seconds(took(s)),
		Properties: junitProperties{runProperties(s)},
	}
	if s.Finished.IsZero() {
		run.Time = seconds(0)
	}
	suites := map[string]*junitSuite{}
	for _, c := range s.Cells {
		suite := suites[c.Variant]
		if suite == nil {
			suite = &junitSuite{Name: clean(eval.InVariant(s.Suite, c.Variant)), Timestamp: s.Started.UTC().Format(time.RFC3339)}
			suites[c.Variant] = suite
			run.Suites = append(run.Suites, suite)
		}
		for _, tc := range testCases(s.Suite, c, slices.Contains(s.Tolerated, c.Kind) || c.Exempt != "") {
			suite.add(tc)
		}
	}
	for _, suite := range run.Suites {
		suite.Time = seconds(suite.ms)
		run.Tests += suite.Tests
		run.Failures += suite.Failures
		run.Errors += suite.Errors
		run.Skipped += suite.Skipped
	}
	out := bufio.NewWriter(w)
	fmt.Fprint(out, xml.Header)
	enc := xml.NewEncoder(out)
	enc.Indent("", "  ")
	if err := enc.Encode(run); err != nil {
		return fmt.Errorf("report run %s as JUnit: %w", s.Run, err)
	}
	fmt.Fprintln(out)
	return out.Flush()
}

type junitRun struct {
	XMLName    xml.Name        `xml:"testsuites"`
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Time       string          `xml:"time,attr"`
	Properties junitProperties `xml:"properties"`
	Suites     []*junitSuite   `xml:"testsuite"`
}

type junitSuite struct {
	Name      string      `xml:"name,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Errors    int         `xml:"errors,attr"`
	Skipped   int         `xml:"skipped,attr"`
	Time      string      `xml:"time,attr"`
	Timestamp string      `xml:"timestamp,attr"`
	Cases     []junitCase `xml:"testcase"`

	ms float64
}

type junitCase struct {
	Name       string           `xml:"name,attr"`
	Class      string           `xml:"classname,attr"`
	Time       string           `xml:"time,attr"`
	Properties *junitProperties `xml:"properties"`
	Failure    *junitProblem    `xml:"failure"`
	Error      *junitProblem    `xml:"error"`
	Skipped    *junitProblem    `xml:"skipped"`
	Stderr     string           `xml:"system-err,omitempty"`

	ms float64
}

type junitProblem struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

type junitProperties struct {
	List []junitProperty `xml:"property"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

func (s *junitSuite) add(tc junitCase) {
	s.Cases = append(s.Cases, tc)
	s.Tests++
	s.ms += tc.ms
	switch {
	case tc.Failure != nil:
		s.Failures++
	case tc.Error != nil:
		s.Errors++
	case tc.Skipped != nil:
		s.Skipped++
	}
}

func runProperties(s eval.Summary) []junitProperty {
	ps := []junitProperty{
		{"run", s.Run},
		{"suite_hash", s.SuiteHash},
		{"version", s.Version},
		{"outcome", string(s.Outcome)},
		{"verdict", string(s.Verdict)},
		{"exit_code", strconv.Itoa(s.ExitCode)},
	}
	for _, k := range kinds(s) {
		stats := s.Kinds[k]
		ps = append(ps, junitProperty{"pass_rate_" + string(k), rate(stats)})
		if o := stats.PassRate.Others; o != nil && repeated(s, k) {
			ps = append(ps, junitProperty{"pass_rate_of_cases_like_these_" + string(k), interval(o.Low, o.High)})
		}
		if d := stats.Disagreement; d != nil && d.Value != nil {
			ps = append(ps, junitProperty{"disagreement_" + string(k), fmt.Sprintf("%.1f %%", 100**d.Value)})
		}
	}
	if s.Git != nil {
		ps = append(ps, junitProperty{"git_commit", s.Git.Commit})
	}
	ps = append(ps, ruleProperties(s)...)
	for i := range ps {
		ps[i].Name, ps[i].Value = clean(ps[i].Name), clean(ps[i].Value)
	}
	return ps
}

// testCases of a cell: one for each step of a workflow, or one for the cell. A
// workflow that has a failure which no step shows, such as a server that did not
// start in one of its repeats, gets a case of its own for it. A fail that the
// run's rules tolerate is shown as skipped, or CI would go red where evalfarm does
// not.
func testCases(suite string, c eval.CellStats, tolerated bool) []junitCase {
	list := untolerated(suite, c)
	for i := range list {
		if tc := &list[i]; tolerated && tc.Failure != nil {
			why := "does not fail the run: "
			if c.Exempt != "" {
				why = clean(c.Exempt) + ": "
			}
			tc.Failure.Message = why + tc.Failure.Message
			tc.Failure, tc.Skipped = nil, tc.Failure
		}
		if tc := &list[i]; c.Exempt != "" && tc.Error != nil {
			tc.Error.Message = clean(c.Exempt) + ": " + tc.Error.Message
			tc.Error, tc.Skipped = nil, tc.Error
		}
	}
	return list
}

func untolerated(suite string, c eval.CellStats) []junitCase {
	if !c.Workflow || len(c.Scores) == 0 {
		return []junitCase{cellCase(suite, c)}
	}
	var list []junitCase
	shown := false
	for _, s := range scores(c) {
		if s.Warning {
			continue
		}
		tc := newCase(suite, c, c.Case+"/"+s.Check, s.LatencyMS)
		if failed(s) {
			tc.Failure = &junitProblem{
				Type:    clean(string(s.Reason)),
				Message: clean(cause(s.Reason, s.Message)),
				Text:    difference(s),
			}
			if !shown && c.Failure != nil {
				tc.Stderr = paragraph(c.Failure.Stderr)
			}
			tc.traced(c.Failure, tc.Failure)
			shown = true
		}
		list = append(list, tc)
	}
	if v := verdict(c); v != eval.Pass && (v != eval.Fail || !shown) {
		list = append(list, cellCase(suite, c))
	}
	return list
}

func cellCase(suite string, c eval.CellStats) junitCase {
	tc := newCase(suite, c, c.Case, c.Latency.P50)
	v := verdict(c)
	if v == eval.Pass {
		return tc
	}
	problem := &junitProblem{Type: string(v), Message: string(v)}
	if f := c.Failure; f != nil {
		problem.Type = clean(cmp.Or(string(f.Reason), string(v)))
		problem.Message = clean(explain(c, *f))
		problem.Text = details(c, *f)
		tc.Stderr = paragraph(f.Stderr)
		tc.traced(f, problem)
	}
	switch v {
	case eval.Fail:
		tc.Failure = problem
	case eval.Error:
		tc.Error = problem
	default:
		tc.Skipped = problem
	}
	return tc
}

func newCase(suite string, c eval.CellStats, name string, ms float64) junitCase {
	tc := junitCase{
		Name:  clean(name),
		Class: clean(suite + "." + string(c.Kind)),
		Time:  seconds(ms),
		ms:    ms,
	}
	if c.Repeats > 1 {
		tc.say("trials", strconv.Itoa(c.Counts.Total()))
		tc.say("pass_rate", rate(c.Stats))
		tc.say("class", c.Class)
		tc.say("bound", c.Bound)
	}
	return tc
}

// say adds a property, if it has a value.
func (tc *junitCase) say(name, value string) {
	if value == "" {
		return
	}
	if tc.Properties == nil {
		tc.Properties = &junitProperties{}
	}
	tc.Properties.List = append(tc.Properties.List, junitProperty{name, clean(value)})
}

// traced says where people see the trace of the trial that explains a cell: to
// programs, and in the text that CI systems show.
func (tc *junitCase) traced(f *eval.Failure, in *junitProblem) {
	if f != nil && f.TraceURL != "" {
		tc.say("trace_url", f.TraceURL)
		in.Text += "trace " + clean(f.TraceURL) + "\n"
	}
}

// details is the text of a failure: what it says of itself, and what each check
// that did not pass expected and got.
func details(c eval.CellStats, f eval.Failure) string {
	var b strings.Builder
	if c.Repeats > 1 {
		fmt.Fprintf(&b, "repeat %d of %d\n", f.Repeat, c.Repeats)
	}
	// A case with one check says the same as its check.
	if many(c) || len(f.Scores) == 0 {
		fmt.Fprintln(&b, clean(cause(f.Reason, f.Message)))
	}
	for _, s := range f.Scores {
		if many(c) {
			fmt.Fprintf(&b, "%s: ", clean(s.Check))
		}
		b.WriteString(difference(s))
	}
	return b.String()
}

func difference(s eval.Score) string {
	var b strings.Builder
	fmt.Fprintln(&b, clean(cause(s.Reason, s.Message)))
	if len(s.Expected) > 0 {
		fmt.Fprintf(&b, "  expected %s\n", clean(string(s.Expected)))
	}
	if len(s.Actual) > 0 {
		fmt.Fprintf(&b, "  actual   %s\n", clean(string(s.Actual)))
	}
	return b.String()
}

// clean bounds an attribute or a line, and drops what XML cannot hold.
func clean(s string) string { return Line(s, 4000) }

// paragraph is text of several lines with the same bounds.
func paragraph(s string) string {
	lines, more := Lines(s, 4000, 200)
	if more > 0 {
		lines = append(lines, fmt.Sprintf("… %d more lines", more))
	}
	return strings.Join(lines, "\n")
}

func seconds(ms float64) string { return strconv.FormatFloat(ms/1000, 'f', 3, 64) }
