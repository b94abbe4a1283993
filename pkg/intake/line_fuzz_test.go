package intake

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// FuzzLine reads any line: it is refused, at a place within it, or its record is one
// that a store takes and gives back as it is.
func FuzzLine(f *testing.F) {
	for _, seed := range []string{
		`{"case": "a", "repeat": 1, "score": 1}`,
		`{"case": 7, "repeat": "3", "score": true, "axes": {"model": 1.5}, "tags": "x", "labels": {"a": "b"}}`,
		`{"case": "a", "verdict": "error", "reason": "farm", "message": "\ud800", "cost_usd": 0.1, "usage": {"input": 1}, "latency_ms": 3}`,
		`{"case": "a", "verdict": "fail", "scores": [{"check": "c", "value": 0.5, "parts": [{"value": 2}]}], "times": {"model_ms": 1e300}}`,
		`{"case": "a", "score": 0, "started": 1764500000.5, "tools": [{"tool": "t", "latency_ms": -1}], "counts": {"turns": 1}}`,
		`{"task": {"id": "a"}, "info": {"reward": 1}, "cost_microusd": 9223372036854775807}`,
		`{"case": null, "score": null}`, `[]`, `{`, `null`, `{"case": "a", "score": 1} 2`,
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, raw []byte, mapped bool) {
		m := Map{}
		if mapped {
			m = Map{"case": "task.id", "score": "info.reward", "axes.model": "case", "usage.output": "repeat", "tags": ""}
		}
		l, _, err := parse(raw, newMapping(m))
		if err != nil {
			placed, ok := errors.AsType[*ProblemError](problem("f", 1, raw, err))
			if !ok || placed.Problem.Message == "" || placed.Problem.Column < 1 || placed.Problem.Column > len(raw)+1 {
				t.Fatalf("got error %v of %q, want a problem at a place within the line", err, raw)
			}
			return
		}
		r := l.record()
		switch {
		case l.Case == "":
			t.Error("a line without a case was read")
		case !slices.Contains(eval.Verdicts(), r.Result.Verdict):
			t.Errorf("unknown verdict %q", r.Result.Verdict)
		case r.CostMicroUSD < 0 || r.Tokens < 0:
			t.Errorf("cost %d, tokens %d", r.CostMicroUSD, r.Tokens)
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var again eval.Record
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatal(err)
		}
		first, second := string(text), string(eval.Encode(again))
		if tree, err := eval.Decode(text); err == nil {
			first = string(eval.Encode(tree))
		}
		if tree, err := eval.Decode([]byte(second)); err == nil {
			second = string(eval.Encode(tree))
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("the record is another one when it is read again:\n%s", diff)
		}
	})
}

// TestFields wants a place for every field that is listed.
func TestFields(t *testing.T) {
	places := map[any]string{}
	l := new(line)
	for _, name := range names() {
		into := l.field(name)
		if into == nil {
			t.Errorf("%s is listed and has no place", name)
		}
		if other, twice := places[into]; twice {
			t.Errorf("%s and %s have one place", name, other)
		}
		places[into] = name
	}
}

// TestDocs wants every field in the table of docs/import.md.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/import.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for row := range strings.Lines(string(text)) {
		if cell, ok := strings.CutPrefix(row, "| `"); ok {
			cell, _, _ = strings.Cut(cell, " |")
			for _, name := range strings.FieldsFunc(cell, func(r rune) bool { return strings.ContainsRune("`, ", r) }) {
				documented[name] = true
			}
		}
	}
	for _, name := range names() {
		if !documented[name] {
			t.Errorf("the table has no %s", name)
		}
		delete(documented, name)
	}
	for name := range documented {
		t.Errorf("the table has %s, which is no field", name)
	}
}
