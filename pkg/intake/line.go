package intake

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// A line is one trial of a file. Its fields are those of `evalfarm report -o jsonl`,
// and a few in which other programs say the same.
type line struct {
	Case    word
	Repeat  *whole
	Score   *score
	Verdict eval.Verdict
	Kind    eval.Kind
	Reason  eval.Reason
	Message string
	Tags    tags
	Labels  map[string]string
	Axes    map[string]word

	CostUSD           *float64
	CostMicroUSD      *int64
	JudgeCostMicroUSD *int64
	Usage             eval.Usage
	UserUsage         eval.Usage
	JudgeUsage        eval.Usage
	LatencyMS         *float64
	Times             eval.Times
	Counts            eval.Counts
	Tools             []eval.ToolUse
	Started           moment
	Ended             moment

	Stop           eval.StopReason
	Scores         []eval.Score
	Listing        *eval.Listing
	Findings       []eval.Finding
	Server         eval.ServerInfo
	Worker         string
	TraceID        string
	TrajectoryHash string
}

// names lists the fields in the order in which they are documented.
func names() []string {
	return []string{
		"case", "repeat", "score", "verdict", "kind", "reason", "message", "tags", "labels", "axes",
		"cost_usd", "cost_microusd", "judge_cost_microusd", "usage", "user_usage", "judge_usage",
		"latency_ms", "times", "counts", "tools", "started", "ended",
		"stop", "scores", "listing", "findings", "server", "worker", "trace_id", "trajectory_hash",
	}
}

// field is where a field is kept; nil if there is none of the name.
func (l *line) field(name string) any {
	switch name {
	case "case":
		return &l.Case
	case "repeat":
		return &l.Repeat
	case "score":
		return &l.Score
	case "verdict":
		return &l.Verdict
	case "kind":
		return &l.Kind
	case "reason":
		return &l.Reason
	case "message":
		return &l.Message
	case "tags":
		return &l.Tags
	case "labels":
		return &l.Labels
	case "axes":
		return &l.Axes
	case "cost_usd":
		return &l.CostUSD
	case "cost_microusd":
		return &l.CostMicroUSD
	case "judge_cost_microusd":
		return &l.JudgeCostMicroUSD
	case "usage":
		return &l.Usage
	case "user_usage":
		return &l.UserUsage
	case "judge_usage":
		return &l.JudgeUsage
	case "latency_ms":
		return &l.LatencyMS
	case "times":
		return &l.Times
	case "counts":
		return &l.Counts
	case "tools":
		return &l.Tools
	case "started":
		return &l.Started
	case "ended":
		return &l.Ended
	case "stop":
		return &l.Stop
	case "scores":
		return &l.Scores
	case "listing":
		return &l.Listing
	case "findings":
		return &l.Findings
	case "server":
		return &l.Server
	case "worker":
		return &l.Worker
	case "trace_id":
		return &l.TraceID
	case "trajectory_hash":
		return &l.TrajectoryHash
	}
	return nil
}

// members are the names of what is in a field that is an object.
func members(into any) []string {
	t := reflect.TypeOf(into).Elem()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	var out []string
	for f := range t.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// A mistake is what is wrong with a line.
type mistake struct {
	// field of the file at which to point; empty for the line as a whole.
	field string
	// offset into the line, if there is no field; -1 for the whole line.
	offset        int
	message, hint string
}

func (m *mistake) Error() string { return m.message }

func wrong(field, hint, format string, args ...any) error {
	return &mistake{field: field, offset: -1, message: fmt.Sprintf(format, args...), hint: hint}
}

// parse reads one line. The fields are returned as well, for those who look what was
// not read.
func parse(raw []byte, m *mapping) (*line, map[string]eval.JSON, error) {
	fields, err := object(raw)
	if err != nil {
		return nil, nil, err
	}
	l := &line{}
	for _, name := range m.names {
		if value, ok := fields[name]; ok && !m.taken[name] && !null(value) {
			if err := set(l.field(name), value, name, name); err != nil {
				return nil, nil, err
			}
		}
	}
	for i := range m.pairs {
		p := &m.pairs[i]
		value, ok := find(fields, p.theirs)
		if !ok || p.theirs == "" {
			continue
		}
		p.found = true
		ours := p.top
		if p.rest != "" {
			ours += "." + p.rest
			value = eval.Encode(map[string]eval.JSON{p.rest: value})
		}
		if err := set(l.field(p.top), value, ours, p.theirs); err != nil {
			return nil, nil, err
		}
	}
	return l, fields, l.check(fields, m)
}

// object reads the members of a JSON object.
func object(raw []byte) (map[string]eval.JSON, error) {
	var fields map[string]eval.JSON
	err := json.Unmarshal(raw, &fields)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return nil, &mistake{offset: int(max(syntax.Offset, 1) - 1), message: "no JSON: " + syntax.Error()}
	}
	if err != nil || fields == nil {
		return nil, wrong("", `a line is one trial: {"case": "refund", "score": 1}`, "the line is no JSON object")
	}
	return fields, nil
}

// set reads a value into a field of ours.
func set(into any, value eval.JSON, ours, theirs string) error {
	err := json.Unmarshal(value, into)
	if err == nil {
		return nil
	}
	hint := fmt.Sprintf("--map %s=FIELD reads it from another field, --map %s= from none", ours, ours)
	if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		at := ours
		if mistyped.Field != "" && !strings.Contains(ours, ".") {
			at += "." + mistyped.Field
		}
		return wrong(theirs, hint, "%s cannot be a JSON %s", at, mistyped.Value)
	}
	return wrong(theirs, hint, "%s: %s", ours, err)
}

const (
	// longest is how many characters names may have: of cases, axes' values and tags.
	longest = 200
	// most bounds the numbers of one trial, so that the sums over a run fit.
	most = 1e12
)

var (
	// axisName is that of suites.
	axisName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)
	// reasonName is what reasons look like: programs group by them.
	reasonName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
)

// check says what is wrong with what was read.
func (l *line) check(fields map[string]eval.JSON, m *mapping) error {
	if l.Case == "" {
		return missing("case", fields, m)
	}
	if l.Score == nil && l.Verdict == "" {
		return missing("score", fields, m)
	}
	for _, named := range l.named() {
		if problem := unfit(named.text); problem != "" {
			return wrong(m.name(named.of), "", "%s %s", named.of, problem)
		}
	}
	for axis := range l.Axes {
		if !axisName.MatchString(axis) {
			return wrong("axes", "letters, digits, dashes and underscores, beginning with a letter", "%s is no name of an axis", strictyaml.Quote(axis))
		}
	}
	verdicts := eval.Verdicts()
	kinds := []eval.Kind{eval.KindAgent, eval.KindScript, eval.KindCatalog}
	switch {
	case l.Verdict != "" && !slices.Contains(verdicts, l.Verdict):
		return wrong(m.name("verdict"), "a verdict is one of "+list(verdicts), "unknown verdict %s", strictyaml.Quote(string(l.Verdict)))
	case l.Kind != "" && !slices.Contains(kinds, l.Kind):
		return wrong(m.name("kind"), "a kind is one of "+list(kinds)+"; --map kind= reads none", "unknown kind %s", strictyaml.Quote(string(l.Kind)))
	case l.Reason != "" && !reasonName.MatchString(string(l.Reason)):
		return wrong(m.name("reason"), "a reason is a word such as wrong_answer; to read the text as a message: --map message="+m.name("reason"), "%s is no reason", strictyaml.Quote(string(l.Reason)))
	case l.CostUSD != nil && l.CostMicroUSD != nil:
		return wrong(m.name("cost_usd"), "", "the line has both cost_usd and cost_microusd")
	case l.LatencyMS != nil && l.Times != eval.Times{}:
		return wrong(m.name("latency_ms"), "", "the line has both latency_ms and times")
	case l.CostUSD != nil && !(*l.CostUSD >= 0 && *l.CostUSD <= most/1e6):
		return wrong(m.name("cost_usd"), "", "a cost of %g dollars is out of range", *l.CostUSD)
	}
	return l.bounded()
}

// missing says that a line lacks a field, and which ones it has.
func missing(ours string, fields map[string]eval.JSON, m *mapping) error {
	name := m.name(ours)
	if name == "" { // the score is not to be read
		ours, name = "verdict", m.name("verdict")
	}
	has := slices.Sorted(maps.Keys(fields))
	what := fmt.Sprintf("the line has no field %s", strictyaml.Quote(name))
	if ours == "score" && name == ours {
		what = `the line has no "score" and no "verdict"`
	}
	if near := strictyaml.Closest(name, has); near != "" && near != name {
		return wrong("", fmt.Sprintf("did you mean --map %s=%s?", ours, near), "%s", what)
	}
	for i, name := range has {
		has[i] = strictyaml.Quote(name)
	}
	if len(has) > 20 {
		has = append(has[:20], "…")
	}
	return wrong("", fmt.Sprintf("--map %s=FIELD; the line has %s", ours, strings.Join(has, ", ")), "%s", what)
}

type named struct{ of, text string }

// named lists the texts that name something.
func (l *line) named() []named {
	out := []named{{"case", string(l.Case)}}
	for _, tag := range l.Tags {
		out = append(out, named{"tags", tag})
	}
	for _, value := range l.Axes {
		out = append(out, named{"axes", string(value)})
	}
	for label, value := range l.Labels {
		out = append(out, named{"labels", label}, named{"labels", value})
	}
	return out
}

// unfit says why a text is no name; empty if it is one.
func unfit(s string) string {
	switch {
	case s == "":
		return "has an empty name"
	case utf8.RuneCountInString(s) > longest:
		return fmt.Sprintf("has more than %d characters", longest)
	case strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }):
		return fmt.Sprintf("%s has characters that cannot be printed", strictyaml.Quote(s))
	}
	return ""
}

func list[T ~string](words []T) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = string(w)
	}
	return strings.Join(out, ", ")
}

// bounded says which number is below nothing, or so large that sums would not hold
// it.
func (l *line) bounded() error {
	for _, group := range []struct {
		name string
		of   any
	}{
		{"usage", l.Usage}, {"user_usage", l.UserUsage}, {"judge_usage", l.JudgeUsage}, {"times", l.Times}, {"counts", l.Counts},
	} {
		v := reflect.ValueOf(group.of)
		for i := range v.NumField() {
			var x float64
			if f := v.Field(i); f.CanInt() {
				x = float64(f.Int())
			} else {
				x = f.Float()
			}
			if !(x >= 0 && x <= most) {
				name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
				return wrong(group.name, "", "%s.%s: %g is out of range", group.name, name, x)
			}
		}
	}
	for _, number := range []struct {
		name string
		of   *int64
	}{{"cost_microusd", l.CostMicroUSD}, {"judge_cost_microusd", l.JudgeCostMicroUSD}} {
		if n := number.of; n != nil && (*n < 0 || *n > most) {
			return wrong(number.name, "", "%s: %d is out of range", number.name, *n)
		}
	}
	if ms := l.LatencyMS; ms != nil && !(*ms >= 0 && *ms <= most) {
		return wrong("latency_ms", "", "latency_ms: %g is out of range", *ms)
	}
	for _, use := range l.Tools {
		if !(use.LatencyMS >= 0 && use.LatencyMS <= most) {
			return wrong("tools", "", "tools: a latency of %g ms is out of range", use.LatencyMS)
		}
	}
	for _, f := range l.Findings {
		if f.Count < 0 || f.Count > most {
			return wrong("findings", "", "findings: a count of %d is out of range", f.Count)
		}
	}
	return fair(l.Scores)
}

// fair says which score is none.
func fair(scores []eval.Score) error {
	for _, s := range scores {
		if !(s.Value >= 0 && s.Value <= 1) {
			return wrong("scores", "", "scores: %g of check %s is outside [0, 1]", s.Value, strictyaml.Quote(s.Check))
		}
		if err := fair(s.Parts); err != nil {
			return err
		}
	}
	return nil
}

// result is what the trial came to.
func (l *line) result() eval.Result {
	res := eval.Result{
		Verdict: l.Verdict, Reason: l.Reason, Message: l.Message, Stop: l.Stop, Scores: l.Scores, Counts: l.Counts,
		Usage: l.Usage, UserUsage: l.UserUsage, JudgeUsage: l.JudgeUsage, CostMicroUSD: l.CostMicroUSD, JudgeCostMicroUSD: l.JudgeCostMicroUSD,
		Times: l.Times, Tools: l.Tools, Listing: l.Listing, Findings: l.Findings, Server: l.Server, TrajectoryHash: l.TrajectoryHash,
	}
	if l.Score != nil {
		passed := *l.Score == 1
		if res.Verdict == "" {
			res.Verdict = eval.Fail
			if passed {
				res.Verdict = eval.Pass
			}
		}
		if decided := res.Verdict == eval.Pass || res.Verdict == eval.Fail; decided && len(res.Scores) == 0 {
			s := eval.Score{Check: "score", Value: float64(*l.Score), Pass: res.Verdict == eval.Pass}
			if !s.Pass {
				s.Message = fmt.Sprintf("score %g", s.Value)
				if res.Message == "" {
					res.Message = s.Message
				}
			}
			res.Scores = []eval.Score{s}
		}
	}
	if l.CostUSD != nil {
		res.CostMicroUSD = new(int64(math.Round(*l.CostUSD * 1e6)))
	}
	if l.LatencyMS != nil { // what of it was the model's and what the tools' nobody says
		res.Times.ModelMS, res.Times.TotalMS = *l.LatencyMS, *l.LatencyMS
	}
	return res
}

// record is the trial as the one attempt that was made at it.
func (l *line) record() eval.Record {
	r := eval.Record{Worker: l.Worker, Result: l.result(), TraceID: l.TraceID, Started: time.Time(l.Started), Ended: time.Time(l.Ended)}
	for _, cost := range []*int64{r.Result.CostMicroUSD, r.Result.JudgeCostMicroUSD} {
		if cost != nil {
			r.CostMicroUSD += *cost
		}
	}
	r.Tokens = int64(l.Usage.Total() + l.UserUsage.Total() + l.JudgeUsage.Total())
	if r.Ended.IsZero() && !r.Started.IsZero() {
		r.Ended = r.Started.Add(time.Duration(r.Result.Times.TotalMS * float64(time.Millisecond)))
	}
	return r
}

// A word is a name, which a file may have as a number.
type word string

func (w *word) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9') {
		*w = word(raw)
		return nil
	}
	return json.Unmarshal(raw, (*string)(w))
}

// A whole number, which a file may have as 3.0 or "3".
type whole int64

func (n *whole) UnmarshalJSON(raw []byte) error {
	text := string(raw)
	if len(raw) > 0 && raw[0] == '"' {
		if err := json.Unmarshal(raw, &text); err != nil {
			return err
		}
	}
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		*n = whole(i)
		return nil
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || x != math.Trunc(x) || math.Abs(x) >= 1<<53 {
		return fmt.Errorf("%s is no whole number", strictyaml.Quote(text))
	}
	*n = whole(x)
	return nil
}

// A score from 0 to 1, which a file may have as true or false.
type score float64

func (s *score) UnmarshalJSON(raw []byte) error {
	switch string(raw) {
	case "true":
		*s = 1
		return nil
	case "false":
		*s = 0
		return nil
	}
	if err := json.Unmarshal(raw, (*float64)(s)); err != nil {
		return err
	}
	if !(*s >= 0 && *s <= 1) {
		return fmt.Errorf("%s is outside [0, 1]", raw)
	}
	return nil
}

// Tags are a list, or one.
type tags []string

func (t *tags) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		*t = tags{""}
		return json.Unmarshal(raw, &(*t)[0])
	}
	return json.Unmarshal(raw, (*[]string)(t))
}

// A moment is a time as RFC 3339 writes it, or as seconds since 1970.
type moment time.Time

func (m *moment) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return err
		}
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return fmt.Errorf("%s is no time of RFC 3339, such as 2026-11-30T12:00:00Z", strictyaml.Quote(text))
		}
		*m = moment(t.UTC())
		return nil
	}
	var seconds float64
	if err := json.Unmarshal(raw, &seconds); err != nil {
		return err
	}
	if !(seconds >= 0 && seconds < 1e11) {
		return fmt.Errorf("%g is no time in seconds since 1970", seconds)
	}
	*m = moment(time.UnixMicro(int64(math.Round(seconds * 1e6))).UTC())
	return nil
}
