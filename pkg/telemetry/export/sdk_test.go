package export_test

import (
	"net/http"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/llm/anthropic"
	"github.com/evalfarm/evalfarm/pkg/llm/llmtest"
	"github.com/evalfarm/evalfarm/pkg/llm/openai"
)

// The providers' SDKs trace by themselves, or may some day, with whatever provider
// and propagator are the process's own. Here they are not let: a call is shown once,
// by us, and the provider is told nothing of it.
func TestSDKsDoNotTrace(t *testing.T) {
	t.Setenv("ANTHROPIC_OPEN_TELEMETRY", "true")
	t.Setenv("ANTHROPIC_OPEN_TELEMETRY_PROPAGATION", "true")
	provider, propagator := otel.GetTracerProvider(), otel.GetTextMapPropagator()
	t.Cleanup(func() {
		otel.SetTracerProvider(provider)
		otel.SetTextMapPropagator(propagator)
	})
	got := tracetest.NewInMemoryExporter()
	process := sdktrace.NewTracerProvider(sdktrace.WithSyncer(got))
	otel.SetTracerProvider(process)
	otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}))

	for name, open := range map[string]func(llm.Endpoint) (llm.Model, error){
		"anthropic": func(e llm.Endpoint) (llm.Model, error) { return anthropic.New(e) },
		"openai":    func(e llm.Endpoint) (llm.Model, error) { return openai.New(e) },
	} {
		t.Run(name, func(t *testing.T) {
			got.Reset()
			s := llmtest.Serve(t, http.StatusTeapot, "{}")
			m, err := open(llm.Endpoint{Model: "m", APIKey: "k", BaseURL: s.URL, HTTPClient: s.Client()})
			if err != nil {
				t.Fatal(err)
			}
			ctx, span := process.Tracer("test").Start(t.Context(), "above")
			_, _ = m.Generate(ctx, llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "Hi."}}})
			span.End()
			for _, field := range otel.GetTextMapPropagator().Fields() {
				if v := s.LastHeader().Get(field); v != "" {
					t.Errorf("the provider was sent %s: %s", field, v)
				}
			}
			if spans := got.GetSpans(); len(spans) != 1 {
				t.Errorf("%d spans, want ours alone: %v", len(spans), spans)
			}
		})
	}
}
