package stub

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

func TestSay(t *testing.T) {
	call := llm.Message{Role: llm.Assistant, Calls: []llm.Call{{Tool: "verdict", Arguments: "{}"}}}
	prompt := llm.Message{Role: llm.User, Text: "12345"}
	for name, tt := range map[string]struct {
		say   Say
		req   llm.Request
		text  string
		calls int
		stop  llm.Stop
		usage eval.Usage
	}{
		"text":            {Say{Text: "Hello"}, llm.Request{Messages: []llm.Message{prompt}}, "Hello", 0, llm.StopEnd, eval.Usage{Input: 2, Output: 2}},
		"repeated":        {Say{Text: "ab", Tokens: 2}, llm.Request{}, "ab ab ab", 0, llm.StopEnd, eval.Usage{Output: 2}},
		"cut":             {Say{Text: "abcdefgh", Tokens: 1}, llm.Request{}, "abcd", 0, llm.StopEnd, eval.Usage{Output: 1}},
		"cut at a letter": {Say{Text: "abcß", Tokens: 1}, llm.Request{}, "abc", 0, llm.StopEnd, eval.Usage{Output: 1}},
		"at its limit":    {Say{Text: "abcdefgh"}, llm.Request{Sampling: eval.Sampling{MaxOutputTokens: 1}}, "abcd", 0, llm.StopOutput, eval.Usage{Output: 1}},
		"nothing":         {Say{Tokens: 5}, llm.Request{}, "", 0, llm.StopEnd, eval.Usage{}},
		"a call":          {Say{Text: "Hello"}, llm.Request{MustCall: "verdict", Messages: []llm.Message{prompt}}, "", 1, llm.StopCalls, eval.Usage{Input: 2, Output: 3}},
		"after the call": {
			Say{Text: "Hello"},
			llm.Request{MustCall: "verdict", Messages: []llm.Message{prompt, call, {Role: llm.User, Results: []llm.Result{{Text: "ok"}}}}},
			"Hello", 0, llm.StopEnd,
			eval.Usage{Input: 4, Output: 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := tt.say.Generate(t.Context(), tt.req)
			if err != nil {
				t.Fatal(err)
			}
			if res.Message.Text != tt.text || len(res.Message.Calls) != tt.calls || res.Stop != tt.stop || res.Usage != tt.usage {
				t.Errorf("got %+v, want %q, %d calls, %s, %+v", res, tt.text, tt.calls, tt.stop, tt.usage)
			}
		})
	}
}

func TestPieces(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want int
	}{
		"empty":   {"", 0},
		"short":   {"abc", 1},
		"exact":   {strings.Repeat("x", 32), 2},
		"wide":    {strings.Repeat("ß", 17), 3},
		"aside":   {"a" + strings.Repeat("ß", 15), 2},
		"garbage": {strings.Repeat("\xbf", 40), 3},
	} {
		t.Run(name, func(t *testing.T) {
			got := pieces(tt.text)
			if diff := cmp.Diff(tt.text, strings.Join(got, "")); diff != "" {
				t.Errorf("joined (-want +got):\n%s", diff)
			}
			if len(got) != tt.want {
				t.Errorf("got %d pieces, want %d: %q", len(got), tt.want, got)
			}
			for _, p := range got {
				if utf8.ValidString(tt.text) && !utf8.ValidString(p) {
					t.Errorf("%q cuts a letter", p)
				}
			}
		})
	}
}

// Without headers a conversation has a seed by what the user said first.
func TestTrialWithoutHeaders(t *testing.T) {
	one := trialOf(nil, []llm.Message{{Text: "a"}})
	same := trialOf(nil, []llm.Message{{Text: "a"}, {Text: "b"}})
	other := trialOf(nil, []llm.Message{{Text: "b"}})
	if one != same || one.Seed == other.Seed || one.Case != "" {
		t.Errorf("got %+v, %+v, %+v", one, same, other)
	}
}
