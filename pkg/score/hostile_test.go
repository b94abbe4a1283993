package score_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/score"
)

// hostile is what a model or a server may say; see the corpus of every face.
const hostile = "<img onerror=x></script>{{x}}\x1b[2J\x1b]52;c;AA\x07\u202e\u200b\x00]]>=HYPERLINK(1)\xff"

// each is one check of every kind that looks at the trajectory.
func each() []eval.Check {
	wanted := []eval.CallPattern{{Tool: "get_order", Arguments: eval.JSON(`{"order_id":{"$regex":"^ORD"},"n":1}`)}, {Tool: hostile}}
	checks := []eval.Check{
		equals("x"), contains("x\x1b"),
		{Text: &eval.TextCheck{Regex: "x+y"}},
		{JSON: &eval.JSONCheck{Path: "a.b", Match: eval.JSON(`{"c":1}`)}},
		{JSON: &eval.JSONCheck{Tool: "get_order", Schema: eval.JSON(`{"type":"object","required":["q"]}`)}},
		{JSON: &eval.JSONCheck{Tool: "get_order", Count: new(3)}},
		{Called: &eval.CallCheck{CallPattern: wanted[0]}},
		{Called: &eval.CallCheck{CallPattern: wanted[1], Times: new(2)}},
		{NotCalled: &wanted[0]},
		{NotCalled: &eval.CallPattern{Tool: "get_order"}},
		{Rejected: &eval.RejectedCheck{}},
		{Rejected: &eval.RejectedCheck{Tool: "get_order", ExpectError: eval.ExpectError{Contains: hostile}}},
		{Rejected: &eval.RejectedCheck{ExpectError: eval.ExpectError{Kind: eval.ErrorUnknownTool}}},
		{NoRepeats: &eval.RepeatsCheck{}},
		{AtMost: &eval.AtMostCheck{Turns: new(0)}},
		{NoSecrets: &eval.SensitiveCheck{}},
	}
	for _, place := range []eval.Place{eval.PlaceSaid, eval.PlaceCalls, eval.PlaceResults, eval.PlaceAll} {
		checks = append(checks, in(place, contains("x")))
	}
	for _, how := range []eval.Match{"", eval.MatchPositional, eval.MatchExact, eval.MatchInOrder, eval.MatchAnyOrder, eval.MatchSubset, eval.MatchSuperset} {
		checks = append(checks, eval.Check{Trajectory: &eval.TrajectoryCheck{Match: how, Calls: wanted}})
	}
	for _, c := range checks {
		checks = append(checks, not(c))
	}
	return append(checks, eval.Check{Any: checks}, eval.Check{All: checks, Threshold: new(0.5)})
}

// sound fails if a score is not fit to be shown and kept.
func sound(t *testing.T, s eval.Score) {
	t.Helper()
	if s.Value < 0 || s.Value > 1 || s.Value != s.Value {
		t.Errorf("got the value %v, want one from 0 to 1", s.Value)
	}
	if s.Pass != (s.Reason == "") || s.Pass && s.Message != "" {
		t.Errorf("got pass %v with the reason %q and the message %q", s.Pass, s.Reason, s.Message)
	}
	for _, text := range append([]string{s.Message, s.At}, s.Differences...) {
		if i := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 || len(text) > 8<<10 {
			t.Errorf("got %d bytes %.300q, want few and nothing unseen", len(text), text)
		}
	}
	for _, raw := range []eval.JSON{s.Expected, s.Actual} {
		if len(raw) > 4<<10 || len(raw) > 0 && !json.Valid(raw) {
			t.Errorf("got %d bytes %.100q, want JSON of at most 4 KiB", len(raw), raw)
		}
	}
	if s.Pending && s.Pass || s.Reason == eval.ReasonScorerFailed {
		t.Errorf("got %s %q from a check that can be decided", s.Reason, s.Message)
	}
	for _, part := range s.Parts {
		sound(t, part)
	}
}

func TestHostileText(t *testing.T) {
	long := strings.Repeat(hostile, 400)
	s := trial([]string{hostile, "get_order"},
		turn(hostile, made("get_order", `{"order_id":`, ok(hostile)), made(hostile, string(eval.Encode(map[string]any{hostile: hostile})), rejected(hostile))),
		turn(long, made("get_order", string(eval.Encode(map[string]any{"order_id": long})), ok(long)), invalid(hostile, `[]`, long), eval.ToolCall{Tool: hostile, RawArguments: long, Invalid: hostile}),
		turn(long, made("get_order", "", eval.Outcome{Kind: eval.OutcomeProtocolError}), made("get_order", `null`, eval.Outcome{Kind: eval.OutcomeOK, Result: eval.JSON(`{"content":[`)})),
	)
	for _, got := range score.Checks(t.Context(), each(), s, score.Options{}) {
		sound(t, got)
	}
}

func FuzzTrajectories(f *testing.F) {
	f.Add([]byte(eval.Encode(usual().Trajectory)))
	f.Add([]byte(`{"answer":"` + "```" + `\n1\n","turns":[{"text":"\u202e","calls":[{"method":"tools/call","tool":"get_order","arguments":[1],"outcome":{"kind":"tool_error","result":{"content":[{"type":"text","text":"x"}],"structuredContent":1}}}]}]}`))
	f.Add([]byte(`{"turns":[{"calls":[{"tool":"get_order","arguments":{"order_id":"ORD"},"outcome":{"kind":"protocol_error","error":{"code":1,"message":"x","data":[]}}},{"method":"tools/search","tool":"s"}]}],"tools":[{"name":"a","server":"b","tool":"get_order","schema":{"type":3}}]}`))
	checks := each()
	f.Fuzz(func(t *testing.T, raw []byte) {
		var tr eval.Trajectory
		if json.Unmarshal(raw, &tr) != nil {
			return
		}
		for _, got := range score.Checks(t.Context(), checks, score.Subject{Trajectory: tr}, score.Options{}) {
			sound(t, got)
		}
	})
}
