package telemetry

import (
	"cmp"
	"context"
	"net/url"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A Model is who is asked, as a trace shows it.
type Model struct {
	// Provider by the conventions' name. It tells the wire format: a server that
	// speaks OpenAI's is "openai", whoever runs it.
	Provider string
	// Name that is asked for.
	Name string
	// Address and Port of its server; empty where nobody is called.
	Address string
	Port    int
	// Replayed says that the answers are played back.
	Replayed bool
}

// ModelOf is how a model is shown that a suite declares, before secrets are put into
// it: an address that is made of one is not shown.
func ModelOf(m eval.Model) Model {
	out := Model{Provider: string(m.Provider), Name: cmp.Or(m.Model, string(m.Provider)), Replayed: m.Replayed()}
	base := map[eval.Provider]string{
		eval.ProviderAnthropic: cmp.Or(m.BaseURL, "https://api.anthropic.com"),
		eval.ProviderOpenAI:    cmp.Or(m.BaseURL, "https://api.openai.com"),
	}[m.Provider]
	u, err := url.Parse(base)
	if err != nil || out.Replayed || strings.Contains(base, "${{") {
		return out
	}
	out.Address, out.Port = u.Hostname(), map[string]int{"http": 80, "https": 443}[u.Scheme]
	if port, err := strconv.Atoi(u.Port()); err == nil {
		out.Port = port
	}
	return out
}

// A Call is one call of a model that is about to be made.
type Call struct {
	Model     Model
	Sampling  eval.Sampling
	MaxOutput int // tokens
	// Role of the model, as [llm.Trial] has it: empty for the agent, user, or judge
	// with the number of its vote.
	Role string
	// Turn of the conversation, from 1.
	Turn int
}

// Chat begins the span of one call of a model: `chat {model}`. One that is made again
// is linked to the one before. About is asked only when somebody sees it.
//
// By the conventions a span would hold all calls until one succeeds; here each has
// its own, because the waits between them have theirs.
func Chat(ctx context.Context, about func() Call, before Span) (context.Context, Span) {
	begin := func() (string, []attribute.KeyValue) {
		c := about()
		return "chat " + shows(ctx).name(c.Model.Name), c.attributes()
	}
	if before.span != nil {
		return below(ctx, trace.SpanKindClient, begin, trace.WithLinks(trace.Link{SpanContext: before.span.SpanContext()}))
	}
	return below(ctx, trace.SpanKindClient, begin)
}

func (c Call) attributes() []attribute.KeyValue {
	attrs := []attribute.KeyValue{
		Operation.String("chat"), ProviderName.String(c.Model.Provider), RequestModel.String(c.Model.Name),
		RequestMaxTokens.Int(c.MaxOutput), Turn.Int(c.Turn),
	}
	role, vote, _ := strings.Cut(cmp.Or(c.Role, "agent"), "/")
	attrs = append(attrs, Role.String(role))
	if vote != "" {
		attrs = append(attrs, Vote.String(vote))
	}
	if c.Model.Address != "" {
		attrs = append(attrs, ServerAddress.String(c.Model.Address), ServerPort.Int(c.Model.Port))
	}
	if c.Model.Replayed {
		attrs = append(attrs, Replayed.Bool(true))
	}
	s := c.Sampling
	if s.Temperature != nil {
		attrs = append(attrs, RequestTemperature.Float64(*s.Temperature))
	}
	if s.TopP != nil {
		attrs = append(attrs, RequestTopP.Float64(*s.TopP))
	}
	if s.Seed != nil && c.Model.Provider != string(eval.ProviderAnthropic) { // its API knows none
		attrs = append(attrs, RequestSeed.Int64(*s.Seed))
	}
	if s.Thinking != nil && s.Thinking.Effort != "" {
		attrs = append(attrs, RequestReasoning.String(s.Thinking.Effort))
	}
	return attrs
}

// An Answer is what a model's answer says beside its words.
type Answer struct {
	ID, Model string
	Finish    string // why it ended, in the conventions' words
	Usage     eval.Usage
}

// longest name or word of a stranger that a span shows, in bytes.
const longest = 200

// Answered tells of the answer to a call. Tokens that nobody counted are left out.
func (s Span) Answered(a Answer) {
	if s.span == nil {
		return
	}
	s.set(FinishReasons.StringSlice([]string{s.name(a.Finish)}))
	for _, text := range []struct {
		key   attribute.Key
		value string
	}{{ResponseID, a.ID}, {ResponseModel, a.Model}} {
		if text.value != "" {
			s.set(text.key.String(s.name(text.value)))
		}
	}
	s.set(usage(a.Usage)...)
}

// usage is how tokens are shown. Those that nobody counted are left out.
func usage(u eval.Usage) []attribute.KeyValue {
	var attrs []attribute.KeyValue
	for _, count := range []struct {
		key    attribute.Key
		tokens int
	}{
		{UsageInput, u.Input},
		{UsageOutput, u.Output},
		{UsageCacheRead, u.CacheRead},
		{UsageCacheWrite, u.CacheWrite},
		{UsageReasoning, u.Reasoning},
	} {
		if count.tokens > 0 {
			attrs = append(attrs, count.key.Int(count.tokens))
		}
	}
	return attrs
}

// Refused marks a call as failed: with the kind of error, the status of the HTTP
// answer and the provider's own code, where there were any, and what it said, which is
// content: providers quote what they were asked.
//
// The conventions leave it open whether error.type is the provider's code or a word
// of the one who asks. It is ours here: the codes are any text that a server sends,
// and the kind is what decides whether the call is made again.
func (s Span) Refused(kind string, status int, code, message string) {
	if s.span == nil {
		return
	}
	if status != 0 {
		s.set(HTTPStatus.Int(status))
	}
	if code != "" {
		s.set(ErrorCode.String(s.name(code)))
	}
	s.complain(kind, message)
}

// Cost tells what something cost, in micro-dollars.
func (s Span) Cost(microUSD int64) {
	if s.span != nil {
		s.set(CostUSD.Float64(float64(microUSD) / 1e6))
	}
}
