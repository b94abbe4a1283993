package meter_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/limit"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/meter"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
	"github.com/evalfarm/evalfarm/pkg/telemetry/telemetrytest"
)

// What a call waits for at the limiter is shown, in turn, and only if it waits.
func TestWaitSpans(t *testing.T) {
	// answers of the gate, in turn; it grants what comes after them.
	gated := func(answers ...limit.Answer) func() (limit.Answer, error) {
		return func() (limit.Answer, error) {
			if len(answers) == 0 {
				return limit.Answer{Granted: true}, nil
			}
			a := answers[0]
			answers = answers[1:]
			return a, nil
		}
	}
	wait := func(why limit.Why, d time.Duration) limit.Answer { return limit.Answer{Why: why, Wait: d} }
	for _, tt := range []struct {
		name  string
		try   func() (limit.Answer, error)
		begun bool // something is paid
		calls []reply
		want  []string
	}{
		{"a place at once", nil, false, nil, []string{"chat"}},
		{
			"requests, then tokens", gated(wait(limit.WhyRequests, 2*time.Second), wait(limit.WhyTokens, 4*time.Second)), false, nil,
			[]string{"wait requests", "wait tokens", "chat"},
		},
		{
			"the same twice", gated(wait(limit.WhyInFlight, 0), wait(limit.WhyInFlight, 0)), false, nil,
			[]string{"wait in_flight", "chat"},
		},
		{"a pause that is sat out", gated(wait(limit.WhyPause, 20*time.Second)), false, nil, []string{"wait pause", "chat"}},
		{
			"given back", gated(wait(limit.WhyPause, time.Minute)), false, nil,
			[]string{"wait pause for 1m0s given_back"},
		},
		{
			"too long for one that has begun", gated(wait(limit.WhyPause, time.Hour)), true, nil,
			[]string{"wait pause for 1h0m0s Error rate_limit"},
		},
		{
			"refused, with the pause that is for everybody", nil, false,
			[]reply{fails(after(5 * time.Second)), ok()},
			[]string{"chat Error rate_limit", "wait rate_limit for 5s", "wait pause", "chat"},
		},
		{
			"the gate is away", func() (limit.Answer, error) { return limit.Answer{}, errors.New("no route") }, false, nil,
			[]string{"wait gate Error farm"},
		},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			if tt.calls == nil {
				tt.calls = []reply{ok()}
			}
			r := limited(tt.calls...)
			r.gate.try = tt.try
			r.purse = meter.NewPurse(eval.Amount{})
			if tt.begun {
				if _, err := meter.New(&moody{replies: []reply{ok()}}, meter.Options{Purse: r.purse}).Generate(t.Context(), hello()); err != nil {
					t.Fatal(err)
				}
			}
			tracer, rec := telemetrytest.New(t)
			telemetrytest.Deliver(t.Context(), tracer, func(ctx context.Context) {
				_, _ = r.ask(ctx, hello())
			})
			var got []string
			for _, s := range rec.Spans() {
				if s.Kind == "consumer" {
					continue
				}
				if isWait := strings.HasPrefix(s.Name, "wait"); isWait && (s.Attrs["evalfarm.wait.for"] != string(key) || s.Kind != "internal") {
					t.Errorf("%s is %s, for %v", s.Name, s.Kind, s.Attrs["evalfarm.wait.for"])
				}
				line := strings.TrimSpace(s.Name)
				if asked, ok := s.Attrs["evalfarm.wait.asked"].(float64); ok {
					line += fmt.Sprint(" for ", time.Duration(asked*float64(time.Second)).Round(time.Second))
				}
				if s.Attrs["evalfarm.outcome"] != nil {
					line += fmt.Sprint(" ", s.Attrs["evalfarm.outcome"])
				}
				if s.Status != "Unset" {
					line += fmt.Sprint(" ", s.Status, " ", s.Attrs["error.type"])
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("spans (-want +got):\n%s", diff)
			}
		})
	}
}

// The ways in which a call ends that no provider is the cause of.
func TestChatEnds(t *testing.T) {
	for _, tt := range []struct {
		name  string
		reply reply
		want  string
	}{
		{"called off", reply{res: says(1, 1), takes: time.Hour}, "cancelled: the trial's time is over"},
		{"an error of nobody's", fails(errors.New("odd")), "_OTHER: odd"},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			r := alone(tt.reply)
			tracer, rec := telemetrytest.New(t, telemetrytest.Content())
			telemetrytest.Deliver(t.Context(), tracer, func(ctx context.Context) {
				ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("the trial's time is over"))
				defer cancel()
				_, _ = r.ask(ctx, hello())
			})
			s := rec.One("chat ")
			if got := fmt.Sprint(s.Attrs["error.type"], ": ", s.Message); got != tt.want || s.Status != "Error" {
				t.Errorf("got %s, status %s; want %s", got, s.Status, tt.want)
			}
		})
	}
}

// A model that panics leaves no span open.
func TestChatPanics(t *testing.T) {
	tracer, rec := telemetrytest.New(t)
	telemetrytest.Deliver(t.Context(), tracer, func(ctx context.Context) {
		defer func() { _ = recover() }()
		m := modelFunc(func(context.Context, llm.Request) (llm.Response, error) { panic("oh") })
		_, _ = meter.New(m, meter.Options{Purse: meter.NewPurse(eval.Amount{}), Model: telemetry.Model{Name: "m"}}).Generate(ctx, hello())
	})
	if s := rec.One("chat m"); s.Status != "Error" || s.Attrs["error.type"] != "_OTHER" {
		t.Errorf("got %+v", s)
	}
}

// steady is a model that answers at once.
func steady() llm.Model {
	res := says(100, 10)
	return modelFunc(func(context.Context, llm.Request) (llm.Response, error) { return res, nil })
}

// BenchmarkChat is what a call through a meter takes: without a trace, with one that
// shows no content, and with content.
func BenchmarkChat(b *testing.B) {
	for _, bb := range []struct {
		name    string
		traced  bool
		options []telemetrytest.Option
	}{
		{"off", false, nil},
		{"on", true, nil},
		{"content", true, []telemetrytest.Option{telemetrytest.Content()}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			m := meter.New(steady(), meter.Options{Purse: meter.NewPurse(eval.Amount{}), Model: telemetry.Model{Provider: "openai", Name: "m"}})
			ask := func(ctx context.Context) {
				for range 50 {
					if _, err := m.Generate(ctx, hello()); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportAllocs()
			for b.Loop() { // a delivery of 50 calls
				if !bb.traced {
					ask(b.Context())
					continue
				}
				tracer, _ := telemetrytest.New(b, bb.options...)
				telemetrytest.Deliver(b.Context(), tracer, ask)
			}
		})
	}
}
