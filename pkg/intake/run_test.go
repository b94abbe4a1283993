package intake_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/intake"
	"github.com/evalfarm/evalfarm/pkg/stats"
)

// A trial is what a file says of one trial: where it belongs, and its record.
type trial struct {
	Case, Variant string
	Repeat        int
	eval.Record
}

// read reads a file to its end. The trials are by ordinal.
func read(tb testing.TB, text string, pairs ...string) (*intake.Run, []trial) {
	tb.Helper()
	m, err := intake.ParseMap(pairs)
	if err != nil {
		tb.Fatal(err)
	}
	run, err := intake.Read(tb.Context(), strings.NewReader(text), intake.Options{File: "results.jsonl", Suite: "results", Map: m})
	if err != nil {
		tb.Fatal(err)
	}
	return run, trials(tb, run)
}

func trials(tb testing.TB, run *intake.Run) []trial {
	tb.Helper()
	snap := run.Snapshot
	out := make([]trial, snap.Plan.Trials())
	order := eval.NewOrder(snap.Plan)
	err := run.Each(tb.Context(), func(r eval.Record) error {
		i, repeat, err := order.At(r.Ordinal)
		if err != nil {
			return err
		}
		if out[r.Ordinal].Case != "" {
			tb.Errorf("ordinal %d came twice", r.Ordinal)
		}
		c := snap.Plan.Cells[i]
		out[r.Ordinal] = trial{snap.Cases[c.Case].ID, snap.Variants[c.Variant].ID, repeat, r}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// TestTauBench reproduces pass^k of gpt-4o on the airline tasks of tau-bench, as its
// authors published it, from their rewards.
func TestTauBench(t *testing.T) {
	text, err := os.ReadFile("testdata/tau-airline-gpt-4o.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	_, all := read(t, string(text), "case=task_id", "repeat=trial", "score=reward")
	passed, n := map[string]int{}, map[string]int{}
	for _, tr := range all {
		n[tr.Case]++
		if tr.Result.Verdict == eval.Pass {
			passed[tr.Case]++
		}
	}
	if len(n) != 50 {
		t.Errorf("got %d cases, want 50", len(n))
	}
	var got []string
	for k := 1; k <= 4; k++ {
		sum := 0.0
		for _, id := range slices.Sorted(maps.Keys(n)) {
			sum += stats.PassHatK(passed[id], n[id], k)
		}
		got = append(got, fmt.Sprintf("%.3f", sum/float64(len(n))))
	}
	if diff := cmp.Diff([]string{"0.420", "0.273", "0.220", "0.200"}, got); diff != "" {
		t.Errorf("pass^1..4 (-published +got):\n%s", diff)
	}
}

func TestLayout(t *testing.T) {
	run, all := read(t, `
{"id": 10, "n": 7, "ok": true, "model": "b", "tags": ["x", "y"]}
{"id": 10, "n": "3", "ok": false, "model": "b", "tags": "z"}

{"id": 2, "n": 1.0, "ok": true, "model": "a", "traj": []}
{"id": 10, "n": 0, "ok": true, "model": "a"}
`, "case=id", "repeat=n", "score=ok", "axes.model=model")
	var got []string
	for _, c := range run.Snapshot.Plan.Cells {
		got = append(got, fmt.Sprintf("%s [%s] ×%d", run.Snapshot.Cases[c.Case].ID, run.Snapshot.Variants[c.Variant].ID, c.Repeats))
	}
	if diff := cmp.Diff([]string{"2 [model=a] ×1", "10 [model=a] ×1", "10 [model=b] ×2"}, got); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
	got = nil
	for _, tr := range all {
		if tr.Variant == "model=b" {
			got = append(got, fmt.Sprint(tr.Repeat, " ", tr.Result.Verdict))
		}
	}
	if diff := cmp.Diff([]string{"1 fail", "2 pass"}, got); diff != "" {
		t.Errorf("repeats in the order of their numbers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"x", "y", "z"}, run.Snapshot.Cases[1].Tags); diff != "" {
		t.Errorf("tags of all lines (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]eval.Axis{{Name: "model", Points: []eval.Point{{Value: "a"}, {Value: "b"}}}}, run.Snapshot.Axes); diff != "" {
		t.Errorf("axes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"traj"}, run.Unread); diff != "" {
		t.Errorf("fields that were not read (-want +got):\n%s", diff)
	}
	want := &eval.Origin{Format: "jsonl", File: "results.jsonl", SHA256: run.Snapshot.Origin.SHA256, Map: map[string]string{"case": "id", "repeat": "n", "score": "ok", "axes.model": "model"}}
	if diff := cmp.Diff(want, run.Snapshot.Origin); diff != "" || len(want.SHA256) != 64 {
		t.Errorf("origin (-want +got):\n%s", diff)
	}
}

func TestResult(t *testing.T) {
	for name, test := range map[string]struct {
		line  string
		pairs []string
		want  eval.Record
	}{
		"a part of the score": {
			line: `{"case": "a", "score": 0.5}`,
			want: eval.Record{Result: eval.Result{Verdict: eval.Fail, Message: "score 0.5", Scores: []eval.Score{{Check: "score", Value: 0.5, Message: "score 0.5"}}}},
		},
		"a verdict beside a score": {
			line: `{"case": "a", "score": 0.5, "verdict": "pass"}`,
			want: eval.Record{Result: eval.Result{Verdict: eval.Pass, Scores: []eval.Score{{Check: "score", Value: 0.5, Pass: true}}}},
		},
		"an error": {
			line: `{"case": "a", "score": 0, "verdict": "error", "reason": "model_unavailable", "message": "429"}`,
			want: eval.Record{Result: eval.Result{Verdict: eval.Error, Reason: eval.ReasonModelUnavailable, Message: "429"}},
		},
		"what it took": {
			line: `{"case": "a", "verdict": "unjudged", "cost": 0.0312345, "tok": {"in": 900, "out": 100}, "ms": 1500, "tool_calls": 3, "at": "2026-11-30T12:00:00+01:00"}`,
			pairs: []string{
				"cost_usd=cost", "usage.input=tok.in", "usage.output=tok.out", "latency_ms=ms", "counts.tool_calls=tool_calls", "started=at",
			},
			want: eval.Record{
				CostMicroUSD: 31235, Tokens: 1000, Started: time.Date(2026, 11, 30, 11, 0, 0, 0, time.UTC), Ended: time.Date(2026, 11, 30, 11, 0, 1, 5e8, time.UTC),
				Result: eval.Result{
					Verdict: eval.Unjudged, CostMicroUSD: new(int64(31235)), Usage: eval.Usage{Input: 900, Output: 100},
					Times: eval.Times{ModelMS: 1500, TotalMS: 1500}, Counts: eval.Counts{ToolCalls: 3},
				},
			},
		},
		"a mark of the byte order": {
			line: "\ufeff" + `{"case": "a", "verdict": "pass"}`,
			want: eval.Record{Result: eval.Result{Verdict: eval.Pass}},
		},
		"a time in seconds": {
			line: `{"case": "a", "verdict": "pass", "started": 1764500000.25}`,
			want: eval.Record{
				Started: time.Unix(1764500000, 25e7).UTC(), Ended: time.Unix(1764500000, 25e7).UTC(), Result: eval.Result{Verdict: eval.Pass},
			},
		},
		"a field that is read for another is not read for its own": {
			line:  `{"case": "a", "verdict": "fail", "reason": "It gave up.", "tools": 3}`,
			pairs: []string{"message=reason", "counts.tool_calls=tools"},
			want:  eval.Record{Result: eval.Result{Verdict: eval.Fail, Message: "It gave up.", Counts: eval.Counts{ToolCalls: 3}}},
		},
		"a field that is not to be read": {
			line:  `{"case": "a", "score": 1, "usage": "much", "message": null, "": {"input": 3}}`,
			pairs: []string{"usage="},
			want:  eval.Record{Result: eval.Result{Verdict: eval.Pass, Scores: []eval.Score{{Check: "score", Value: 1, Pass: true}}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, all := read(t, test.line, test.pairs...)
			if diff := cmp.Diff(test.want, all[0].Record); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProblems(t *testing.T) {
	const fine = `{"case": "a", "repeat": 1, "score": 1}` + "\n"
	for name, test := range map[string]struct {
		text       string
		pairs      []string
		want, hint string
	}{
		"no trials":           {text: "\n \n", want: "results.jsonl: there are no trials", hint: "a line is one trial"},
		"no object":           {text: fine + "[1]", want: "results.jsonl:2:1: the line is no JSON object", hint: "a line is one trial"},
		"null":                {text: "null", want: "results.jsonl:1:1: the line is no JSON object"},
		"no JSON":             {text: fine + "\n" + `{"case": "a" "score": 1}`, want: "results.jsonl:3:14: no JSON: invalid character"},
		"two objects":         {text: `{"case": "a", "score": 1} {}`, want: "results.jsonl:1:27: no JSON: invalid character"},
		"no case":             {text: `{"cas": "a", "score": 1}`, want: `results.jsonl:1:1: the line has no field "case"`, hint: "did you mean --map case=cas?"},
		"no case at all":      {text: `{"problem": "a", "score": 1}`, want: `the line has no field "case"`, hint: `--map case=FIELD; the line has "problem", "score"`},
		"a hostile name":      {text: `{"cas\u001b": "a", "score": 1}`, want: `the line has no field "case"`, hint: "did you mean --map case=cas\ufffd?"},
		"no mapped case":      {text: fine, pairs: []string{"case=task_id"}, want: `the line has no field "task_id"`, hint: `the line has "case", "repeat", "score"`},
		"no score":            {text: `{"case": "a", "reward": 1}`, want: `the line has no "score" and no "verdict"`, hint: `"case", "reward"`},
		"a score that is not": {text: fine, pairs: []string{"score="}, want: `the line has no field "verdict"`},
		"score above 1":       {text: `{"case": "a", "score": 1.5}`, want: "results.jsonl:1:15: score: 1.5 is outside [0, 1]", hint: "--map score=FIELD"},
		"score below 0":       {text: `{"case": "a", "r": -1}`, pairs: []string{"score=r"}, want: "results.jsonl:1:15: score: -1 is outside [0, 1]"},
		"score in words":      {text: `{"case": "a", "score": "good"}`, want: "results.jsonl:1:15: score cannot be a JSON string"},
		"unknown verdict":     {text: `{"case": "a", "verdict": "passed"}`, want: `results.jsonl:1:15: unknown verdict "passed"`, hint: "pass, fail, error, unjudged, unfinished, skipped"},
		"unknown kind":        {text: `{"case": "a", "score": 1, "kind": "math"}`, want: `unknown kind "math"`, hint: "--map kind= reads none"},
		"a reason in prose":   {text: `{"case": "a", "score": 0, "reason": "It gave up."}`, want: `"It gave up." is no reason`, hint: "--map message=reason"},
		"repeat twice":        {text: fine + `{"case": "b", "repeat": 1, "score": 1}` + "\n" + fine, want: `results.jsonl:3:15: case "a" [default] has repeat 1 already, in line 1`, hint: "--map axes.model=FIELD"},
		"repeat in part":      {text: fine + `{"case": "a", "score": 1}`, want: `results.jsonl:2:1: some lines of case "a" have a repeat, and others have none`},
		"half a repeat":       {text: `{"case": "a", "repeat": 1.5, "score": 1}`, want: `results.jsonl:1:15: repeat: "1.5" is no whole number`},
		"a list as a case":    {text: `{"case": ["a"], "score": 1}`, want: "results.jsonl:1:2: case cannot be a JSON array"},
		"an unseen case":      {text: `{"case": "a\u202eb", "score": 1}`, want: "has characters that cannot be printed"},
		"an endless case":     {text: `{"case": "` + strings.Repeat("a", 201) + `", "score": 1}`, want: "case has more than 200 characters"},
		"two kinds":           {text: fine + `{"case": "a", "repeat": 2, "score": 1, "kind": "script"}`, want: `results.jsonl:2:40: case "a" is of kind script, and of kind agent in an earlier line`},
		"a negative cost":     {text: `{"case": "a", "score": 1, "cost_usd": -0.5}`, want: "a cost of -0.5 dollars is out of range"},
		"two costs":           {text: `{"case": "a", "score": 1, "cost_usd": 1, "cost_microusd": 1}`, want: "both cost_usd and cost_microusd"},
		"negative tokens":     {text: `{"case": "a", "score": 1, "usage": {"input": -1}}`, want: "usage.input: -1 is out of range"},
		"a negative latency":  {text: `{"case": "a", "score": 1, "latency_ms": -1}`, want: "latency_ms: -1 is out of range"},
		"a foreign usage":     {text: `{"case": "a", "score": 1, "usage": {"input": "many"}}`, want: "usage.input cannot be a JSON string", hint: "--map usage= from none"},
		"a time of no zone":   {text: `{"case": "a", "score": 1, "started": "2026-11-30 12:00"}`, want: "is no time of RFC 3339"},
		"an axis of no name":  {text: `{"case": "a", "score": 1, "axes": {"the model": "m"}}`, want: `"the model" is no name of an axis`},
		"an endless line":     {text: fine + `{"case": "` + strings.Repeat("a", 17<<20), want: "results.jsonl:2:1: the line has more than 16 MiB"},
		"a map that fits no line": {
			text: fine, pairs: []string{"cost_usd=price"}, want: `results.jsonl: no line has the field "price"`,
		},
		"a map that nearly fits": {
			text: `{"case": "a", "score": 1, "total": 1}`, pairs: []string{"cost_usd=totl"}, want: `no line has the field "totl"`, hint: `did you mean "total"?`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := intake.ParseMap(test.pairs)
			if err != nil {
				t.Fatal(err)
			}
			_, err = intake.Read(t.Context(), strings.NewReader(test.text), intake.Options{File: "results.jsonl", Suite: "results", Map: m})
			problem, ok := errors.AsType[*intake.ProblemError](err)
			if !ok {
				t.Fatalf("got error %v, want a problem", err)
			}
			if !strings.Contains(err.Error(), test.want) || !strings.Contains(problem.Problem.Hint, test.hint) {
				t.Errorf("got %q (hint %q), want %q (hint %q)", err, problem.Problem.Hint, test.want, test.hint)
			}
		})
	}
}

func TestMapProblems(t *testing.T) {
	for name, test := range map[string]struct {
		pair, want, hint string
	}{
		"no pair":            {"case", `"case" is no pair of names`, "case=task_id"},
		"a typo":             {"scor=reward", `there is no field "scor"`, `did you mean "score"?`},
		"nothing near":       {"temperature=t", `there is no field "temperature"`, "fields are case, repeat, score"},
		"nothing in it":      {"usage.inputs=t", `there is no field "usage.inputs"`, ""},
		"nothing below":      {"case.id=t", `there is no field "case.id"`, ""},
		"no name of an axis": {"axes.the model=t", `there is no field "axes.the model"`, ""},
		"no case":            {"case=", "a case is always read", ""},
		"twice":              {"score=b", "score is given twice", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := intake.ParseMap([]string{"score=a", test.pair})
			bad, ok := errors.AsType[*intake.MapError](err)
			if !ok || !strings.Contains(bad.Message, test.want) || !strings.Contains(bad.Hint, test.hint) {
				t.Errorf("got %#v, want %q (hint %q)", err, test.want, test.hint)
			}
		})
	}
}

// TestOpen reads the same from wherever it comes.
func TestOpen(t *testing.T) {
	const text = `{"case": "a", "score": 1}` + "\r\n" + `{"case": "a", "score": 0}`
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	files := t.TempDir()
	for name, content := range map[string]string{"plain.jsonl": text, "packed.jsonl.gz": packed.String(), "wrong.jsonl.gz": text} {
		if err := os.WriteFile(filepath.Join(files, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, _ := read(t, text)
	for _, path := range []string{"-", filepath.Join(files, "plain.jsonl"), filepath.Join(files, "packed.jsonl.gz")} {
		spool := t.TempDir()
		f, err := intake.Open(path, spool, strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		run, err := intake.Read(t.Context(), f, intake.Options{File: "results.jsonl", Suite: "results", Map: intake.Map{}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Snapshot, run.Snapshot); diff != "" {
			t.Errorf("%s: snapshot (-want +got):\n%s", path, diff)
		}
		if all := trials(t, run); all[0].Result.Verdict != eval.Pass || all[1].Result.Verdict != eval.Fail {
			t.Errorf("%s: got %+v, want a pass and a fail", path, all)
		}
		if left, err := os.ReadDir(spool); err != nil || len(left) > 0 {
			t.Errorf("%s: got %v (error %v) in the folder, want nothing", path, left, err)
		}
	}
	for path, want := range map[string]string{"wrong.jsonl.gz": "unpack", "none.jsonl": "no such file", ".": "is a folder"} {
		if _, err := intake.Open(filepath.Join(files, path), t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", path, err, want)
		}
	}
}

// TestChanged lets a file change between the two looks at it.
func TestChanged(t *testing.T) {
	const first = `{"case": "a", "repeat": 1, "score": 1}` + "\n"
	for name, second := range map[string]string{
		"another verdict": strings.Replace(first, "1}", "0}", 1),
		"another case":    strings.Replace(first, `"a"`, `"b"`, 1),
		"another repeat":  strings.Replace(first, "1,", "2,", 1),
		"fewer lines":     "\n",
	} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir() + "/results.jsonl"
			if err := os.WriteFile(path, []byte(first), 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			run, err := intake.Read(t.Context(), f, intake.Options{File: "results.jsonl"})
			if err == nil {
				err = os.WriteFile(path, []byte(second), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			err = run.Each(t.Context(), func(eval.Record) error { return nil })
			if err == nil || !strings.Contains(err.Error(), "results.jsonl was changed while it was read") {
				t.Errorf("got error %v, want that the file was changed", err)
			}
		})
	}
}

// TestOrderOfLines wants the same run of the same lines in any order.
func TestOrderOfLines(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type row struct {
			Case   int               `json:"case"`
			Repeat int64             `json:"repeat"`
			Score  float64           `json:"score"`
			Axes   map[string]string `json:"axes"`
		}
		rows := rapid.SliceOfNDistinct(rapid.Custom(func(rt *rapid.T) row {
			return row{
				rapid.IntRange(0, 3).Draw(rt, "case"), rapid.Int64Range(-5, 5).Draw(rt, "repeat"), rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(rt, "score"),
				map[string]string{"model": rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "model")},
			}
		}), 1, 30, func(r row) string { return fmt.Sprint(r.Case, r.Repeat, r.Axes["model"]) }).Draw(rt, "rows")
		text := func() string {
			var b strings.Builder
			for _, r := range rows {
				raw, err := json.Marshal(r)
				if err != nil {
					t.Fatal(err)
				}
				b.Write(append(raw, '\n'))
			}
			return b.String()
		}
		run, want := read(t, text())
		rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0)).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		again, got := read(t, text())
		again.Snapshot.Origin.SHA256 = run.Snapshot.Origin.SHA256
		if diff := cmp.Diff(run.Snapshot, again.Snapshot); diff != "" {
			rt.Fatalf("snapshot (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("trials (-want +got):\n%s", diff)
		}
		if n := run.Snapshot.Plan.Trials(); n != len(rows) {
			rt.Fatalf("got %d trials of %d lines", n, len(rows))
		}
	})
}
