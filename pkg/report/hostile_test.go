package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// hostile puts a text wherever a stranger can put one.
func hostile(s string) *farm {
	quoted := eval.Encode(map[string]any{"key": s})
	f := newFarm(s)
	score := eval.Score{Check: s, Title: s, Reason: eval.Reason(s), Message: s, Expected: quoted, Actual: quoted, Target: s}
	res := &eval.Result{
		Verdict: eval.Fail, Reason: eval.Reason(s), Message: s, Stop: eval.StopReason(s),
		Scores:   []eval.Score{score, {Check: s, Warning: true, Message: s}},
		Counts:   eval.Counts{StepsFail: 1, ToolCalls: 1},
		Times:    eval.Times{ToolMS: 1},
		Tools:    []eval.ToolUse{{Tool: s, LatencyMS: 1}},
		Findings: []eval.Finding{{Code: s, Detail: s}},
		Server:   eval.ServerInfo{Name: s, Version: s, Protocol: s, Profile: s},
		Listing:  &eval.Listing{Fingerprint: s},
		Stderr:   s,
	}
	worse := *res
	worse.Verdict = eval.Error
	variant := eval.Variant{ID: s, Axes: map[string]string{s: s}}
	f.add(eval.CaseRef{ID: s, Title: s, Kind: eval.KindScript, Tags: []string{s}}, variant, res)
	f.add(eval.CaseRef{ID: s + "2", Title: s, Kind: eval.KindScript, Workflow: true}, variant, res)
	f.add(eval.CaseRef{ID: s + "3", Title: s, Kind: eval.KindCatalog}, variant, res)
	f.add(eval.CaseRef{ID: s + "4", Title: s, Kind: eval.KindScript}, variant, &worse)
	f.run.ID = s
	return f
}

func (f *farm) trial(s string) Trial {
	call := func(o eval.Outcome) eval.ToolCall {
		return eval.ToolCall{Method: "tools/call", Tool: s, Arguments: eval.Encode(s), Outcome: o}
	}
	text := eval.Encode(map[string]any{"content": []any{map[string]any{"type": "text", "text": s}}})
	return Trial{
		Trial:    eval.Trial{Run: f.run.ID, Case: f.snap.Cases[0], Variant: f.snap.Variants[0], Repeat: 1},
		Row:      &f.rows[0],
		Attempts: []store.Attempt{{N: 1, Worker: s, Reason: eval.Reason(s), Message: s, Outcome: eval.AttemptOutcome(s)}, {N: 2}},
		Trajectory: &eval.Trajectory{
			Turns: []eval.Turn{{Step: s, Calls: []eval.ToolCall{
				call(eval.Outcome{Kind: eval.OutcomeOK, Result: text}),
				call(eval.Outcome{Kind: eval.OutcomeOK, Result: eval.Encode(map[string]any{"other": s})}),
				call(eval.Outcome{Kind: eval.OutcomeToolError, Result: text}),
				call(eval.Outcome{Kind: eval.OutcomeProtocolError, Error: &eval.RPCError{Message: s, Data: eval.Encode(s)}}),
				call(eval.Outcome{Kind: eval.OutcomeFailed, Reason: eval.Reason(s), Detail: s}),
				{Method: "resources/read", URI: s},
			}}, {Step: s + " without a score"}},
			Stderr: s, Exit: s,
		},
	}
}

// agentTrial is the trial of an agent to which everybody talks like this.
func (f *farm) agentTrial(s string) Trial {
	t := f.trial(s)
	t.Case.Kind = eval.KindAgent
	row := *t.Row
	score := row.Result.Scores[0]
	score.At, score.Differences = s, []string{s, s}
	score.Votes = []eval.Vote{{Pass: new(true), Text: s}, {Reason: eval.Reason(s), Text: s}}
	row.Result.Scores = []eval.Score{score, {Check: s, Pending: true, Reason: eval.Reason(s), Message: s}, {Check: s, Parts: []eval.Score{score}}}
	t.Row = &row
	calls := append(t.Trajectory.Turns[0].Calls, eval.ToolCall{Tool: s, Server: s, RawArguments: s, Invalid: s, CutBytes: 3})
	t.Trajectory.System, t.Trajectory.Prompt, t.Trajectory.Answer = s, s, s+s
	t.Trajectory.Turns = []eval.Turn{{
		User: s, Text: s, Reasoning: s, Calls: calls, Generation: &eval.Generation{Model: s, ID: s, Stop: s, WaitedMS: 1},
	}}
	return t
}

var ourColours = regexp.MustCompile("\x1b\\[[0-9]+m")

// TestHostileTextInTerminal pushes the corpus through all that is printed.
func TestHostileTextInTerminal(t *testing.T) {
	const width = 80
	for i, s := range corpus(t) {
		f := hostile(s)
		doc := f.document(t)
		trial := f.trial(s)
		faces := map[string]func(io.Writer, Options) error{
			"run": func(w io.Writer, o Options) error { return Terminal(w, doc.Summary, o) },
			"case": func(w io.Writer, o Options) error {
				return ShowCase(w, []Trial{trial, {Trial: trial.Trial}}, o)
			},
			"trial": func(w io.Writer, o Options) error { return ShowTrial(w, trial, o) },
			"comparison": func(w io.Writer, o Options) error {
				return Comparison(w, hostileComparison(s), eval.Changes(), o)
			},
			"agent": func(w io.Writer, o Options) error { return ShowTrial(w, f.agentTrial(s), o) },
		}
		for name, face := range faces {
			for _, o := range []Options{{Width: width}, {Width: width, Color: true}, {Width: width, Full: true, Next: []string{"evalfarm show " + s}}} {
				t.Run(fmt.Sprintf("%s/%d/colour=%t,full=%t", name, i, o.Color, o.Full), func(t *testing.T) {
					var buf bytes.Buffer
					if err := face(&buf, o); err != nil {
						t.Fatal(err)
					}
					out := buf.String()
					if o.Color {
						out = ourColours.ReplaceAllString(out, "")
					}
					harmless(t, out)
					body, _, _ := strings.Cut(out, "\nnext  ")
					for n, line := range strings.Split(body, "\n") {
						if wide(line) > width {
							t.Errorf("line %d is %d columns wide, want at most %d: %q", n+1, wide(line), width, line)
						}
						if n > 0 && line != "" && !strings.HasPrefix(line, "  ") {
							t.Errorf("line %d starts like one of ours: %q", n+1, line)
						}
					}
				})
			}
		}
	}
}

// TestFiveMegabytesOnALine shows what a server wrote without an end.
func TestFiveMegabytesOnALine(t *testing.T) {
	long := strings.Repeat("long \x1b]0;", 5<<20/9)
	f := newFarm("endless")
	f.script("endless", &eval.Result{
		Verdict: eval.Fail, Message: long, Stderr: long,
		Scores: []eval.Score{{Check: "1", Message: long, Actual: eval.Encode(long)}},
	})
	trial := f.trial("endless")
	trial.Trajectory.Turns[0].Calls[0].Outcome.Result = eval.Encode(long)
	var buf bytes.Buffer
	if err := Terminal(&buf, f.document(t).Summary, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := ShowTrial(&buf, trial, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := JUnit(&buf, f.document(t).Summary); err != nil {
		t.Fatal(err)
	}
	harmless(t, buf.String())
	if got := buf.Len(); got > 100_000 {
		t.Errorf("got %d bytes of reports, want the text cut", got)
	}
}

// TestHostileTextInFiles pushes the corpus through every format that is a file.
func TestHostileTextInFiles(t *testing.T) {
	checks := map[string]func(t *testing.T, out []byte, s string){
		"json": func(t *testing.T, out []byte, s string) {
			t.Helper()
			var got eval.Summary
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatal(err)
			}
			if utf8.ValidString(s) && (got.Suite != s || got.Cells[0].Failure.Message != s) {
				t.Errorf("got suite %.80q and message %.80q, want %.80q", got.Suite, got.Cells[0].Failure.Message, s)
			}
		},
		"jsonl": func(t *testing.T, out []byte, s string) {
			t.Helper()
			lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
			if len(lines) != 4 {
				t.Errorf("got %d lines, want 4", len(lines))
			}
			for _, l := range lines {
				var got trialLine
				if err := json.Unmarshal([]byte(l), &got); err != nil {
					t.Fatal(err)
				}
				if utf8.ValidString(s) && got.Message != s {
					t.Errorf("got message %.80q, want %.80q", got.Message, s)
				}
			}
		},
		"junit": func(t *testing.T, out []byte, s string) {
			t.Helper()
			run := parseJUnit(t, out)
			if run.Tests != 4 || run.Failures != 3 || run.Errors != 1 {
				t.Errorf("got %d tests, %d failures, %d errors, want 4, 3, 1", run.Tests, run.Failures, run.Errors)
			}
			if len(out) > 1<<20 {
				t.Errorf("got %d bytes, want a bounded file", len(out))
			}
		},
	}
	texts := corpus(t)
	for name, format := range Formats() {
		check := checks[name]
		if check == nil {
			t.Fatalf("no check for format %q", name)
		}
		for i, s := range texts {
			t.Run(fmt.Sprintf("%s/%d", name, i), func(t *testing.T) {
				var buf bytes.Buffer
				if err := format(&buf, hostile(s).document(t)); err != nil {
					t.Fatal(err)
				}
				harmless(t, buf.String())
				check(t, buf.Bytes(), s)
			})
		}
	}
}

// parseJUnit reads a file strictly and checks that its counts add up.
func parseJUnit(t *testing.T, raw []byte) junitRun {
	t.Helper()
	dec := xml.NewDecoder(bytes.NewReader(raw))
	var run junitRun
	if err := dec.Decode(&run); err != nil {
		t.Fatal(err)
	}
	var got, want [4]int
	for _, s := range run.Suites {
		if len(s.Cases) != s.Tests {
			t.Errorf("suite %q: got %d test cases, want %d", s.Name, len(s.Cases), s.Tests)
		}
		for i, n := range []int{s.Tests, s.Failures, s.Errors, s.Skipped} {
			got[i] += n
		}
		for _, tc := range s.Cases {
			want[0]++
			for i, p := range []*junitProblem{tc.Failure, tc.Error, tc.Skipped} {
				if p != nil {
					want[i+1]++
				}
			}
		}
	}
	if all := [4]int{run.Tests, run.Failures, run.Errors, run.Skipped}; got != all || want != all {
		t.Errorf("tests, failures, errors, skipped: the run says %v, its suites %v, its cases %v", all, got, want)
	}
	return run
}
