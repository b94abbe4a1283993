package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/llm/scripted"
)

// moves reads moves as they are stored.
func moves(tb testing.TB, text string) []eval.Move {
	tb.Helper()
	var out []eval.Move
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		tb.Fatal(err)
	}
	return out
}

func only(tb testing.TB, text string) *scripted.Model {
	tb.Helper()
	return scripted.New(eval.Policy{Default: moves(tb, text)}, scripted.Options{})
}

// play talks to a model until it has nothing to call, or for so many turns, and
// writes down what it does: what it says, and its calls as TOOL(ARGUMENTS). The
// calls are answered by answers in turn; those that begin with ! are errors.
func play(tb testing.TB, m *scripted.Model, trial llm.Trial, turns int, answers ...string) (string, []llm.Message) {
	tb.Helper()
	messages := []llm.Message{{Role: llm.User, Text: "the prompt"}}
	var did []string
	for range turns {
		got, err := m.Generate(tb.Context(), llm.Request{Messages: messages, Trial: trial})
		if err != nil {
			tb.Fatal(err)
		}
		message, reply := got.Message, llm.Message{Role: llm.User}
		messages = append(messages, message)
		if message.Text != "" {
			did = append(did, message.Text)
		}
		for _, c := range message.Calls {
			did = append(did, c.Tool+"("+c.Arguments+")")
			text := "ok"
			if len(answers) > 0 {
				text, answers = answers[0], answers[1:]
			}
			result := llm.Result{ID: c.ID, Tool: c.Tool, Text: strings.TrimPrefix(text, "!"), Error: strings.HasPrefix(text, "!")}
			reply.Results = append(reply.Results, result)
		}
		if len(message.Calls) == 0 {
			return strings.Join(append(did, "end"), " | "), messages
		}
		messages = append(messages, reply)
	}
	return strings.Join(did, " | "), messages
}

func TestMoves(t *testing.T) {
	tests := []struct {
		name, moves string
		turns       int
		answers     []string
		want        string
	}{
		{"a call, then words", `[{"calls":[{"tool":"a","arguments":{"n":9007199254740993}}]},{"say":"done"}]`, 9, nil, `a({"n":9007199254740993}) | done | end`},
		{"words beside parallel calls", `[{"say":"both","calls":[{"tool":"a"},{"tool":"b","raw":"{not json"}]}]`, 9, nil, `both | a({}) | b({not json) | end`},
		{"times", `[{"calls":[{"tool":"a"}],"times":3},{"say":"done"}]`, 9, nil, `a({}) | a({}) | a({}) | done | end`},
		{"for ever", `[{"calls":[{"tool":"a"}],"times":-1},{"say":"never"}]`, 4, nil, `a({}) | a({}) | a({}) | a({})`},
		{"then and on", `[{"calls":[{"tool":"a"}]},{"if":{"contains":"gone"},"then":[{"calls":[{"tool":"b"}]}]},{"say":"done"}]`, 9, []string{"all gone"}, `a({}) | b({}) | done | end`},
		{"else", `[{"calls":[{"tool":"a"}]},{"if":{"contains":"gone"},"then":[{"say":"x"}],"else":[{"say":"y"}]}]`, 9, []string{"here"}, `a({}) | y | end`},
		{"no else", `[{"if":{"error":true},"then":[{"say":"x"}]},{"say":"on"}]`, 9, nil, `on | end`},
		{"of the user's words", `[{"if":{"contains":"prompt"},"then":[{"say":"x"}]}]`, 9, nil, `x | end`},
		{"an error", `[{"calls":[{"tool":"a"}]},{"if":{"error":true},"then":[{"say":"sorry"}]}]`, 9, []string{"!no"}, `a({}) | sorry | end`},
		{"an error with the text of another result", `[{"calls":[{"tool":"a"},{"tool":"b"}]},{"if":{"error":true,"contains":"gone"},"then":[{"say":"x"}],"else":[{"say":"y"}]}]`, 9, []string{"gone", "!no"}, `a({}) | b({}) | y | end`},
		// In its second turn the model hears what does not hold any more.
		{"a condition is decided once", `[{"calls":[{"tool":"a"}]},{"if":{"contains":"more"},"then":[{"calls":[{"tool":"b"}]},{"say":"then"}],"else":[{"say":"else"}]}]`, 9, []string{"more", "enough"}, `a({}) | b({}) | then | end`},
		{"until", `[{"calls":[{"tool":"a"}]},{"if":{"contains":"wait"},"then":[{"calls":[{"tool":"a"}]}],"times":-1},{"say":"{{last}}"}]`, 9, []string{"wait", "wait", "ready"}, `a({}) | a({}) | a({}) | ready | end`},
		{"for ever nothing", `[{"if":{"error":true},"then":[{"say":"x"}],"times":-1},{"choose":[{"weight":1}],"times":-1},{"say":"on"}]`, 9, nil, `on | end`},
		{"a real wait", `[{"say":"x","latency_ms":1}]`, 9, nil, `x | end`},
		{"silence", `[{"say":""}]`, 9, nil, `end`},
		{"the end of the moves", `[{"calls":[{"tool":"a"}]}]`, 9, nil, `a({}) | end`},
		{"no choice", `[{"choose":[]},{"say":"x"}]`, 9, nil, `end`},

		{"prompt", `[{"say":"you said {{prompt}}"}]`, 9, nil, `you said the prompt | end`},
		{
			"last keeps its type in arguments", `[{"calls":[{"tool":"a"}]},{"calls":[{"tool":"b","arguments":{"n":"{{last.items.1.n}}","t":"n={{last.items.1.n}}","all":"{{last}}"}}]}]`, 9,
			[]string{`{"items":[{},{"n":9007199254740993}]}`},
			`a({}) | b({"all":"{\"items\":[{},{\"n\":9007199254740993}]}","n":9007199254740993,"t":"n=9007199254740993"}) | end`,
		},
		{"last of a list", `[{"calls":[{"tool":"a"}]},{"say":"{{last.0}}"}]`, 9, []string{`["x"]`}, `a({}) | x | end`},
		{"last is the last of several", `[{"calls":[{"tool":"a"},{"tool":"b"}]},{"say":"{{last}}"}]`, 9, []string{"1", "2"}, `a({}) | b({}) | 2 | end`},
		{"what is not there stays", `[{"say":"{{last}} {{last.x}} {{other}}"}]`, 9, nil, `{{last}} {{last.x}} {{other}} | end`},
		{"no JSON, no path", `[{"calls":[{"tool":"a"}]},{"say":"it is {{last.x}}"}]`, 9, []string{"not found"}, `a({}) | it is {{last.x}} | end`},
		{"a result is no policy", `[{"calls":[{"tool":"a"}]},{"say":"{{last}}"}]`, 9, []string{"{{prompt}}"}, `a({}) | {{prompt}} | end`},
		{"a literal", `[{"say":"{{{{last}}"}]`, 9, nil, `{{last}} | end`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, messages := play(t, only(t, test.moves), llm.Trial{Case: "c"}, test.turns, test.answers...)
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			checkIDs(t, messages)
		})
	}
}

// checkIDs wants the calls of a conversation to be numbered from call_1.
func checkIDs(t *testing.T, messages []llm.Message) {
	t.Helper()
	n := 0
	for _, m := range messages {
		for _, c := range m.Calls {
			if n++; c.ID != fmt.Sprintf("call_%d", n) {
				t.Errorf("got id %q for call %d", c.ID, n)
			}
		}
	}
}

func TestCases(t *testing.T) {
	say := func(text string) []eval.Move { return []eval.Move{{Say: text}} }
	m := scripted.New(eval.Policy{
		Cases: map[string][]eval.Move{
			"order/*": say("glob"), "order/get*": say("longer glob"), "order/get/1": say("exact"), "refund": say("part"),
			"a?": say("first of equals"), "aa*": say("longest"), "*b": say("by the alphabet"), "?b": say("not"),
		},
		Default: say("default"),
	}, scripted.Options{})
	tests := []struct{ id, want string }{
		{"order/get/1", "exact"},
		{"order/get/2", "longer glob"},
		{"order/put", "glob"},
		{"order/put/1/2", "glob"},
		{"order", "default"},
		{"refund/eu/1", "part"},
		{"aab", "longest"},
		{"bb", "by the alphabet"},
		{"other", "default"},
		{"", "default"},
	}
	for _, test := range tests {
		t.Run(test.id, func(t *testing.T) {
			if got, _ := play(t, m, llm.Trial{Case: test.id}, 1); got != test.want+" | end" {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	tests := []struct {
		name   string
		policy eval.Policy
		want   llm.Error
		text   string
	}{
		{
			"no moves for the case",
			eval.Policy{Cases: map[string][]eval.Move{"b": moves(t, `[{"say":"x"}]`)}},
			llm.Error{Kind: llm.BadRequest},
			`bad_request: the policy has no moves for case "c"`,
		},
		{
			"failure with a wait",
			eval.Policy{Default: moves(t, `[{"fail":{"kind":"rate_limit","retry_after_ms":1500}}]`)},
			llm.Error{Kind: llm.RateLimit, Wait: 1500 * time.Millisecond, WaitFrom: "retry_after"},
			`rate_limit: the policy says so (come again in 2s)`,
		},
		{
			"failure without a wait",
			eval.Policy{Default: moves(t, `[{"fail":{"kind":"context_length"}}]`)},
			llm.Error{Kind: llm.ContextLength},
			`context_length: the policy says so`,
		},
		{
			"a placeholder that was never checked",
			eval.Policy{Default: moves(t, `[{"calls":[{"tool":"a","arguments":{"b":"{{"}}]}]`)},
			llm.Error{Kind: llm.BadRequest},
			`bad_request: the policy is wrong: arguments of a: /b: placeholder at byte 0: {{ is never closed by }}; write {{{{ for a literal {{`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := scripted.New(test.policy, scripted.Options{})
			for try := range 2 { // a call that is made again fails again
				_, err := m.Generate(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.User}}, Trial: llm.Trial{Case: "c"}})
				got, ok := errors.AsType[*llm.Error](err)
				if !ok {
					t.Fatalf("try %d: got error %v, want an llm.Error", try, err)
				}
				if got.Kind != test.want.Kind || got.Wait != test.want.Wait || got.WaitFrom != test.want.WaitFrom || got.Error() != test.text {
					t.Errorf("try %d: got %+v %q, want %+v %q", try, *got, got, test.want, test.text)
				}
			}
		})
	}
}

// A choice is taken as often as its weight says: the statistic of Pearson's
// chi-square test stays below the value that one set of seeds in a thousand
// exceeds (13.82 with 2 degrees of freedom). The seeds are fixed.
func TestWeights(t *testing.T) {
	const n = 3000
	weights := map[string]float64{"a": 0.7, "b": 0.2, "c": 0.1}
	choose := `{"choose":[{"weight":70,"moves":[{"calls":[{"tool":"a"}]}]},{"weight":20,"moves":[{"calls":[{"tool":"b"}]}]},{"weight":10,"moves":[{"calls":[{"tool":"c"}]}]},{"weight":0,"moves":[{"calls":[{"tool":"d"}]}]}]}`
	m := only(t, `[`+choose+`,`+choose+`]`)
	first, second, same := map[string]int{}, map[string]int{}, 0
	for seed := range uint64(n) {
		_, messages := play(t, m, llm.Trial{Seed: seed}, 2)
		a, b := messages[1].Calls[0].Tool, messages[3].Calls[0].Tool
		first[a]++
		second[b]++
		if a == b {
			same++
		}
	}
	for i, got := range []map[string]int{first, second} {
		chi := 0.0
		for tool, w := range weights {
			chi += math.Pow(float64(got[tool])-n*w, 2) / (n * w)
		}
		if chi > 13.82 || got["d"] > 0 {
			t.Errorf("choice %d: got %v of %d, chi-square %.2f, want 70, 20 and 10 of 100", i+1, got, n, chi)
		}
	}
	// 0.7² + 0.2² + 0.1² = 0.54 of the pairs are equal when the second choice
	// does not follow the first; the standard deviation is 27.
	if math.Abs(float64(same)-0.54*n) > 100 {
		t.Errorf("got %d equal pairs of %d, want about %d: the choices depend on each other", same, n, 54*n/100)
	}
}

// A choice that is the first thing inside another one, in the same turn, does
// not follow it. With 3 degrees of freedom the bound is 16.27.
func TestNestedWeights(t *testing.T) {
	const n = 1000
	half := func(a, b string) string {
		return `[{"choose":[{"weight":1,"moves":` + a + `},{"weight":1,"moves":` + b + `}]}]`
	}
	m := only(t, half(half(`[{"say":"a"}]`, `[{"say":"b"}]`), half(`[{"say":"c"}]`, `[{"say":"d"}]`)))
	said := map[string]int{}
	for seed := range uint64(n) {
		got, _ := play(t, m, llm.Trial{Seed: seed}, 1)
		said[got]++
	}
	chi := 0.0
	for _, leaf := range []string{"a", "b", "c", "d"} {
		chi += math.Pow(float64(said[leaf+" | end"])-n/4, 2) / (n / 4)
	}
	if chi > 16.27 {
		t.Errorf("got %v of %d, chi-square %.2f, want a quarter each", said, n, chi)
	}
}

func TestChoices(t *testing.T) {
	m := only(t, `[{"choose":[{"weight":1,"moves":[{"calls":[{"tool":"a"}]}]},{"weight":1,"moves":[{"calls":[{"tool":"b"}]}]}],"times":20}]`)
	tools := func(trial llm.Trial) string {
		got, _ := play(t, m, trial, 20)
		return got
	}
	once := tools(llm.Trial{Case: "c", Seed: 7})
	if again := tools(llm.Trial{Case: "c", Seed: 7, Repeat: 3}); again != once {
		t.Errorf("got %s, then %s with the same seed", once, again)
	}
	if !strings.Contains(once, "a(") || !strings.Contains(once, "b(") {
		t.Errorf("got %s, want another choice in another turn", once)
	}
	if other := tools(llm.Trial{Case: "c", Seed: 8}); other == once {
		t.Errorf("got %s with two seeds", once)
	}
	if vote := tools(llm.Trial{Case: "c", Seed: 7, Role: "judge/2"}); vote == once {
		t.Errorf("got %s with two roles", once)
	}
}

// Half a conversation is answered as it was when it was half.
func TestAnyTurnCanBeTakenAgain(t *testing.T) {
	m := only(t, `[
		{"calls":[{"tool":"a"}],"times":2},
		{"choose":[{"weight":1,"moves":[{"calls":[{"tool":"b"}]},{"if":{"contains":"3"},"then":[{"calls":[{"tool":"c"}],"times":2}]}]},{"weight":1,"moves":[{"calls":[{"tool":"d"}]}]}],"times":2},
		{"say":"{{last}}"}]`)
	for seed := range uint64(50) {
		trial := llm.Trial{Seed: seed}
		_, messages := play(t, m, trial, 20, "1", "2", "3", "4", "5", "6", "7", "8", "9")
		for i, message := range messages {
			if message.Role != llm.Assistant {
				continue
			}
			again, err := m.Generate(t.Context(), llm.Request{Messages: messages[:i], Trial: trial})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(message, again.Message); diff != "" {
				t.Fatalf("seed %d, message %d differs (-want +got):\n%s", seed, i, diff)
			}
		}
	}
}

func TestResponse(t *testing.T) {
	m := only(t, `[{"say":"12345","calls":[{"tool":"ab","raw":"cd"}]},{"say":"x","usage":{"input":9,"output":8,"cache_read":7}}]`)
	req := llm.Request{
		System:   "0123456789",
		Messages: []llm.Message{{Role: llm.User, Text: "ab"}},
		Tools:    []llm.Tool{{Name: "t", Description: "d", Schema: eval.JSON(`{}`)}},
		MustCall: "t", // which it does not heed
	}
	got, err := m.Generate(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	want := llm.Response{
		Message: llm.Message{Role: llm.Assistant, Text: "12345", Calls: []llm.Call{{ID: "call_1", Tool: "ab", Arguments: "cd"}}},
		Stop:    llm.StopCalls, Word: "calls", Model: "scripted", Tries: 1,
		Usage: eval.Usage{Input: 4, Output: 3}, // 16 and 9 bytes
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answer differs (-want +got):\n%s", diff)
	}
	req.Messages = append(req.Messages, got.Message, llm.Message{Role: llm.User})
	if got, err = m.Generate(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if got.Stop != llm.StopEnd || got.Usage != (eval.Usage{Input: 9, Output: 8, CacheRead: 7}) {
		t.Errorf("got %+v, want the usage of the policy and the end", got)
	}
}

func TestLatency(t *testing.T) {
	var slept []time.Duration
	gone := errors.New("gone")
	m := scripted.New(eval.Policy{Default: moves(t, `[{"say":"x","latency_ms":1500},{"fail":{"kind":"network"},"latency_ms":20}]`)}, scripted.Options{
		Sleep: func(_ context.Context, d time.Duration) error {
			slept = append(slept, d)
			return gone
		},
	})
	for _, messages := range [][]llm.Message{{{Role: llm.User}}, {{Role: llm.User}, {Role: llm.Assistant}, {Role: llm.User}}} {
		if _, err := m.Generate(t.Context(), llm.Request{Messages: messages}); !errors.Is(err, gone) {
			t.Errorf("got error %v, want that of the sleep", err)
		}
	}
	if diff := cmp.Diff([]time.Duration{1500 * time.Millisecond, 20 * time.Millisecond}, slept); diff != "" {
		t.Errorf("waits differ (-want +got):\n%s", diff)
	}
}

func TestCancelled(t *testing.T) {
	m := only(t, `[{"say":"x","latency_ms":3600000}]`)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	for range 2 { // in the middle of the wait, and before it
		if _, err := m.Generate(ctx, llm.Request{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got error %v, want that of the context", err)
		}
	}
}
