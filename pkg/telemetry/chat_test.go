package telemetry_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
	"github.com/evalfarm/evalfarm/pkg/telemetry/telemetrytest"
)

// Where nobody traces, a call and a wait take no memory.
func TestOffCostsNothing(t *testing.T) {
	ctx := t.Context()
	half := 0.5
	system, messages := "Be brief.", []telemetry.Message{{Role: "user", Parts: []telemetry.Part{{Type: telemetry.PartText, Text: "Hi."}}}}
	n := testing.AllocsPerRun(100, func() {
		below, chat := telemetry.Chat(ctx, func() telemetry.Call {
			return telemetry.Call{Model: telemetry.Model{Name: system}, Sampling: eval.Sampling{Temperature: &half}, Turn: len(messages)}
		}, telemetry.Span{})
		chat.Told(system, messages)
		chat.Answered(telemetry.Answer{ID: "r", Finish: "stop"})
		chat.Said(messages[0])
		chat.Cost(7)
		chat.Refused("network", 500, "code", system)
		_, again := telemetry.Chat(below, func() telemetry.Call { return telemetry.Call{Role: system} }, chat)
		again.End()
		wait := telemetry.Wait(ctx, "pause", system)
		wait.Asked(time.Second, "retry-after")
		wait.GivenBack()
		wait.End()
		chat.End()
	})
	if n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func TestModelOf(t *testing.T) {
	for name, tt := range map[string]struct {
		m    eval.Model
		want telemetry.Model
	}{
		"Anthropic":        {eval.Model{Provider: "anthropic", Model: "m"}, telemetry.Model{Provider: "anthropic", Name: "m", Address: "api.anthropic.com", Port: 443}},
		"OpenAI":           {eval.Model{Provider: "openai", Model: "m"}, telemetry.Model{Provider: "openai", Name: "m", Address: "api.openai.com", Port: 443}},
		"a port":           {eval.Model{Provider: "openai", Model: "m", BaseURL: "http://gpu-box:8000/v1"}, telemetry.Model{Provider: "openai", Name: "m", Address: "gpu-box", Port: 8000}},
		"no port":          {eval.Model{Provider: "openai", Model: "m", BaseURL: "http://gpu-box/v1"}, telemetry.Model{Provider: "openai", Name: "m", Address: "gpu-box", Port: 80}},
		"IPv6":             {eval.Model{Provider: "openai", Model: "m", BaseURL: "http://[::1]:8000/v1"}, telemetry.Model{Provider: "openai", Name: "m", Address: "::1", Port: 8000}},
		"a secret address": {eval.Model{Provider: "openai", Model: "m", BaseURL: "https://${{ secrets.HOST }}/v1"}, telemetry.Model{Provider: "openai", Name: "m"}},
		"a secret alone":   {eval.Model{Provider: "openai", Model: "m", BaseURL: "${{ secrets.URL }}"}, telemetry.Model{Provider: "openai", Name: "m"}},
		"scripted":         {eval.Model{Provider: "scripted", Script: "s.yaml"}, telemetry.Model{Provider: "scripted", Name: "scripted"}},
		"played back":      {eval.Model{Provider: "openai", Model: "m", Cassette: &eval.Cassette{Dir: "c"}}, telemetry.Model{Provider: "openai", Name: "m", Replayed: true}},
		"recorded":         {eval.Model{Provider: "openai", Model: "m", Cassette: &eval.Cassette{Dir: "c", Record: true}}, telemetry.Model{Provider: "openai", Name: "m", Address: "api.openai.com", Port: 443}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := telemetry.ModelOf(tt.m); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// told is what a span shows of a conversation.
func told(tb testing.TB, system string, messages []telemetry.Message) (instructions, input string) {
	tb.Helper()
	tracer, rec := telemetrytest.New(tb, telemetrytest.Content())
	telemetrytest.Deliver(context.Background(), tracer, func(ctx context.Context) {
		_, span := telemetry.Chat(ctx, func() telemetry.Call { return telemetry.Call{Model: telemetry.Model{Name: "m"}} }, telemetry.Span{})
		span.Told(system, messages)
		span.End()
	})
	attrs := rec.One("chat m").Attrs
	instructions, _ = attrs["gen_ai.system_instructions"].(string)
	input, _ = attrs["gen_ai.input.messages"].(string)
	return instructions, input
}

func text(role, s string) telemetry.Message {
	return telemetry.Message{Role: role, Parts: []telemetry.Part{{Type: telemetry.PartText, Text: s}}}
}

func TestContent(t *testing.T) {
	long := strings.Repeat("a", 20_000)
	for _, tt := range []struct {
		name     string
		messages []telemetry.Message
		want     []string // that is in it
		not      string
	}{
		{"nothing", nil, []string{`[]`}, "{"},
		{"as it is", []telemetry.Message{text("user", "<Hi> & \"bye\"")}, []string{`[{"role":"user","parts":[{"type":"text","content":"<Hi> & \"bye\""}]}]`}, "left"},
		{
			"calls",
			[]telemetry.Message{{Role: "assistant", Parts: []telemetry.Part{
				{Type: telemetry.PartReasoning, Text: "Hm."},
				{Type: telemetry.PartCall, ID: "c1", Tool: "get", Text: `{"n": 1}`},
				{Type: telemetry.PartCall, ID: "c2", Tool: "get", Text: `{"n":`},
			}}},
			[]string{`[{"role":"assistant","parts":[{"type":"reasoning","content":"Hm."},{"type":"tool_call","id":"c1","name":"get","arguments":{"n":1}},{"type":"tool_call","id":"c2","name":"get","arguments":"{\"n\":"}]}]`},
			"left",
		},
		{"one long text", []telemetry.Message{text("user", long)}, []string{long}, "left"},
		{"long texts", []telemetry.Message{text("user", "first"+long), text("assistant", long+"last")}, []string{"first", "last", "bytes left out]…"}, `"left_out"`},
		{
			"many messages", append([]telemetry.Message{text("user", "first")}, append(many(2000), text("user", "last"))...),
			[]string{`[{"role":"user","parts":[{"type":"text","content":"first"}`, `"content":"last"}]}]`, `{"type":"left_out","parts":`},
			"message 1000",
		},
		{"many parts of one", []telemetry.Message{{Role: "tool", Parts: parts(2000)}}, []string{`[{"role":"tool","parts":[`, `{"type":"left_out","parts":`, "part 0", "part 1999"}, "part 1000"},
		{"no UTF-8", []telemetry.Message{text("user", "a\xffb"), {Role: "assistant", Parts: []telemetry.Part{{Type: telemetry.PartCall, ID: "\xff", Tool: "\xff", Text: "{\"a\":\"\xff\"}"}}}}, []string{"a\uFFFDb", `"arguments":{"a":"` + "\uFFFD"}, "\xff"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, got := told(t, "", tt.messages)
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("%q is not in %.300s", want, got)
				}
			}
			if tt.not != "" && strings.Contains(got, tt.not) {
				t.Errorf("%q is in %.300s", tt.not, got)
			}
		})
	}
}

func many(n int) []telemetry.Message {
	var out []telemetry.Message
	for i := range n {
		out = append(out, text("assistant", "message "+string(eval.Encode(i))))
	}
	return out
}

func parts(n int) []telemetry.Part {
	var out []telemetry.Part
	for i := range n {
		out = append(out, telemetry.Part{Type: telemetry.PartResult, ID: "c", Text: "part " + string(eval.Encode(i))})
	}
	return out
}

// Whatever is said, an attribute holds JSON by the conventions' schema, in UTF-8, of
// at most 32 KiB.
func TestContentIsBounded(t *testing.T) {
	const most = 32 << 10
	hostile := rapid.OneOf(
		rapid.String(),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 300), func(b []byte) string { return string(b) }),
		rapid.Custom(func(rt *rapid.T) string {
			piece := rapid.SampledFrom([]string{"a", "\x00", "\"", "é", "\xff", `{"a":1}`, "\u2028"}).Draw(rt, "piece")
			return strings.Repeat(piece, rapid.IntRange(0, 50_000).Draw(rt, "times"))
		}),
		rapid.Just(`{"city": "Paris"}`),
	)
	rapid.Check(t, func(rt *rapid.T) {
		part := rapid.Custom(func(rt *rapid.T) telemetry.Part {
			return telemetry.Part{
				Type: rapid.SampledFrom([]telemetry.PartType{telemetry.PartText, telemetry.PartReasoning, telemetry.PartCall, telemetry.PartResult}).Draw(rt, "type"),
				ID:   hostile.Draw(rt, "id"), Tool: hostile.Draw(rt, "tool"), Text: hostile.Draw(rt, "text"),
			}
		})
		messages := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) telemetry.Message {
			return telemetry.Message{Role: rapid.SampledFrom([]string{"user", "assistant", "tool"}).Draw(rt, "role"), Parts: rapid.SliceOfN(part, 1, 5).Draw(rt, "parts")}
		}), 0, 12).Draw(rt, "messages")
		system := hostile.Draw(rt, "system")
		instructions, input := told(t, system, messages)
		for _, got := range []string{instructions, input} {
			if len(got) > most || !utf8.ValidString(got) {
				rt.Fatalf("%d bytes, UTF-8 is %t", len(got), utf8.ValidString(got))
			}
		}
		type parts []struct {
			Type *string `json:"type"`
		}
		var said []struct {
			Role  *string `json:"role"`
			Parts parts   `json:"parts"`
		}
		var ordered parts
		if system != "" {
			if err := json.Unmarshal([]byte(instructions), &ordered); err != nil || len(ordered) != 1 {
				rt.Fatalf("%v: %.200s", err, instructions)
			}
		}
		if err := json.Unmarshal([]byte(input), &said); err != nil {
			rt.Fatalf("%v: %.200s", err, input)
		}
		if len(said) > len(messages) || len(messages) > 0 && len(said) == 0 {
			rt.Fatalf("%d messages of %d", len(said), len(messages))
		}
		for _, m := range said {
			if m.Role == nil || len(m.Parts) == 0 {
				rt.Fatalf("a message without a role or parts: %.200s", input)
			}
			for _, p := range m.Parts {
				if p.Type == nil {
					rt.Fatalf("a part without a type: %.200s", input)
				}
			}
		}
	})
}

// A secret is taken out before a text is cut: no piece of one stays.
func TestSecretsAcrossCuts(t *testing.T) {
	secret := strings.Repeat("s3cret", 100)
	tracer, rec := telemetrytest.New(t, telemetrytest.Content())
	d := telemetry.Delivery{
		Attempt: telemetry.Attempt{Run: "r", N: 1}, Lane: telemetry.Trials,
		Redact: func(s string) string { return strings.ReplaceAll(s, secret, "[secret]") },
	}
	ctx, delivery := tracer.Process(telemetry.Arrive(t.Context(), d.Traceparent(true)), d)
	for padding := range 40 { // wherever the cut is
		_, span := telemetry.Chat(ctx, func() telemetry.Call { return telemetry.Call{Model: telemetry.Model{Name: secret}} }, telemetry.Span{})
		long := strings.Repeat("a", 50*padding) + strings.Repeat(secret, 200)
		span.Told(long, []telemetry.Message{text("user", long), {Role: "assistant", Parts: []telemetry.Part{{Type: telemetry.PartCall, ID: secret, Tool: secret, Text: long}}}})
		span.Answered(telemetry.Answer{ID: secret, Model: secret, Finish: secret})
		span.Refused("network", 500, secret, long)
		span.Said(text("assistant", long))
		span.End()
	}
	tracer.Returned(delivery, "test", d.Redact)
	if got := rec.Text(); strings.Contains(got, "s3cret") || !strings.Contains(got, "[secret]") {
		t.Errorf("a piece of the secret stays: %.300s", got[max(0, strings.Index(got, "s3cret")-100):])
	}
}

// What a provider says of a failure is bounded, and is UTF-8.
func TestRefusedIsBounded(t *testing.T) {
	tracer, rec := telemetrytest.New(t, telemetrytest.Content())
	telemetrytest.Deliver(t.Context(), tracer, func(ctx context.Context) {
		_, span := telemetry.Chat(ctx, func() telemetry.Call { return telemetry.Call{Model: telemetry.Model{Name: "m"}} }, telemetry.Span{})
		span.Refused("network", 502, strings.Repeat("c", 5000), "\xff"+strings.Repeat("é", 5000))
		span.Answered(telemetry.Answer{ID: strings.Repeat("i", 5000), Model: "\xff", Finish: strings.Repeat("f", 5000)})
		span.End()
	})
	s := rec.One("chat m")
	if len(s.Message) < 900 || len(s.Message) > 1100 || !utf8.ValidString(s.Message) || s.Attrs["gen_ai.response.model"] != "\uFFFD" {
		t.Errorf("%d bytes of a message, model %q", len(s.Message), s.Attrs["gen_ai.response.model"])
	}
	for _, key := range []string{"evalfarm.error.code", "gen_ai.response.id"} {
		if v, _ := s.Attrs[key].(string); len(v) < 100 || len(v) > 300 {
			t.Errorf("%s has %d bytes", key, len(v))
		}
	}
}
