package meter

import (
	"fmt"
	"hash/fnv"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

// A tokenizer that makes tokens of one to four bytes. Where they end depends on the
// text alone, and those of two texts are apart.
type tokenizer struct {
	longest                 int
	request, tool, perThing int // what is put around them
}

func (k tokenizer) text(s string) int {
	n := 0
	for s != "" {
		h := fnv.New32a()
		_, _ = h.Write([]byte(s[:min(8, len(s))]))
		s = s[min(len(s), 1+int(h.Sum32())%k.longest):]
		n++
	}
	return n
}

func (k tokenizer) count(req llm.Request) int {
	n := k.request + k.text(req.System) + k.text(req.MustCall)
	for i, t := range req.Tools {
		if i == 0 {
			n += k.tool // the provider's own words on tools
		}
		n += k.perThing + k.text(t.Name) + k.text(t.Description) + k.text(string(t.Schema))
	}
	for _, m := range req.Messages {
		n += k.perThing
		if m.Opaque != nil {
			n += k.text(string(m.Opaque))
		} else {
			n += k.text(m.Text)
			for _, c := range m.Calls {
				n += k.perThing + k.text(c.ID) + k.text(c.Tool) + k.text(c.Arguments)
			}
		}
		for _, r := range m.Results {
			n += k.perThing + k.text(r.ID) + k.text(r.Text)
		}
	}
	return n
}

func anyTool(t *rapid.T) llm.Tool {
	return llm.Tool{Name: rapid.String().Draw(t, "name"), Description: rapid.String().Draw(t, "description"), Schema: eval.JSON(rapid.String().Draw(t, "schema"))}
}

func anyMessage(t *rapid.T) llm.Message {
	text := rapid.String()
	m := llm.Message{Role: llm.User, Text: text.Draw(t, "text")}
	for i := range rapid.IntRange(0, 3).Draw(t, "calls") {
		m.Calls = append(m.Calls, llm.Call{ID: fmt.Sprint(i), Tool: text.Draw(t, "tool"), Arguments: text.Draw(t, "arguments")})
		m.Results = append(m.Results, llm.Result{ID: fmt.Sprint(i), Text: text.Draw(t, "result")})
	}
	if rapid.Bool().Draw(t, "opaque") {
		m.Opaque = eval.JSON(text.Draw(t, "blocks"))
	}
	return m
}

// However a conversation goes on, and also when it does not, what the provider
// counts is no more than what was reckoned with.
func TestMeasureIsNeverTooLow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := tokenizer{
			longest: rapid.IntRange(1, 4).Draw(t, "longest"), request: rapid.IntRange(0, perRequest/2).Draw(t, "around the request"),
			tool: rapid.IntRange(0, perRequest/2).Draw(t, "around tools"), perThing: rapid.IntRange(0, perItem).Draw(t, "around others"),
		}
		var m measure
		req := llm.Request{System: "s", Messages: []llm.Message{anyMessage(t)}}
		for range rapid.IntRange(1, 8).Draw(t, "calls") {
			most, about := m.most(req)
			got := k.count(req)
			if got > most || about > most {
				t.Fatalf("%d tokens, reckoned with %d, about %d", got, most, about)
			}
			if rapid.Bool().Draw(t, "answered") {
				m.counted(req, got)
			}
			// As the loop does it: what was sent is not written to again.
			req.Messages, req.Tools = slices.Clone(req.Messages), slices.Clone(req.Tools)
			switch rapid.SampledFrom([]string{"on", "on", "tool", "system", "edit", "back", "force", "think"}).Draw(t, "how") {
			case "on":
				req.Messages = append(req.Messages, anyMessage(t))
			case "tool":
				req.Tools = append(req.Tools, anyTool(t))
			case "system":
				req.System = rapid.String().Draw(t, "system")
			case "edit":
				req.Messages[0] = anyMessage(t)
			case "back":
				req.Messages = req.Messages[:1]
			case "force":
				req.MustCall = rapid.String().Draw(t, "must call")
			case "think":
				req.Sampling.Thinking = &eval.Thinking{Effort: "high"}
			}
		}
	})
}

// What the provider has counted makes the next bound far closer, as long as the
// conversation only goes on.
func TestMeasureGoesOnFromTheLastCount(t *testing.T) {
	said := llm.Message{Role: llm.Assistant, Text: "1234567890"}
	tool := llm.Tool{Name: "t"}
	base := llm.Request{System: "sys", Messages: []llm.Message{{Role: llm.User, Text: "hello"}}, Tools: []llm.Tool{tool}}
	with := func(change func(*llm.Request)) llm.Request {
		r := base
		r.Messages, r.Tools = slices.Clone(r.Messages), slices.Clone(r.Tools)
		change(&r)
		return r
	}
	tests := []struct {
		name string
		next llm.Request
		goes bool
		grow int
	}{
		{"the same again", base, true, 0},
		{"a message more", with(func(r *llm.Request) { r.Messages = append(r.Messages, said) }), true, perItem + 10},
		{"a tool more", with(func(r *llm.Request) { r.Tools = append(r.Tools, tool) }), true, perItem + 1},
		{"another trial's name", with(func(r *llm.Request) { r.Trial.Role = "judge/2" }), true, 0},
		{"another system prompt", with(func(r *llm.Request) { r.System = "xyz" }), false, 0},
		{"another first message", with(func(r *llm.Request) { r.Messages[0].Text = "other" }), false, 0},
		{"a message less", with(func(r *llm.Request) { r.Messages = nil }), false, 0},
		{"another tool", with(func(r *llm.Request) { r.Tools[0].Name = "u" }), false, 0},
		{"no tools", with(func(r *llm.Request) { r.Tools = nil }), false, 0},
		{"a tool that must be called", with(func(r *llm.Request) { r.MustCall = "t" }), false, 0},
		{"another way to think", with(func(r *llm.Request) { r.Sampling.Thinking = &eval.Thinking{Effort: "low"} }), false, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var m measure
			m.counted(base, 7)
			want := size(tt.next)
			if tt.goes {
				want = 7 + tt.grow
			}
			if most, _ := m.most(tt.next); most != want {
				t.Errorf("got %d, want %d", most, want)
			}
		})
	}
	t.Run("a count that nobody can mean", func(t *testing.T) {
		var m measure
		m.counted(base, 1<<62)
		if most, about := m.most(base); most != 1<<40 || about != 1<<40 {
			t.Errorf("got %d, about %d; want %d", most, about, 1<<40)
		}
		m.counted(base, -5)
		if most, _ := m.most(base); most != 1<<40 {
			t.Errorf("got %d after a count below zero, which says nothing", most)
		}
	})
}

func TestBytesAsTheyAreSent(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "abc": 3, "é": 2, "\uFFFD": 3,
		"\xff": 3, "a\xffb": 5, "\xff\xff": 6, "\xef\xbf": 6, "\uFFFD\xef": 6,
	} {
		if got := bytes(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
