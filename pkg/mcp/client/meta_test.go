package client

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/evalfarm/evalfarm/pkg/telemetry"
	"github.com/evalfarm/evalfarm/pkg/telemetry/telemetrytest"
)

// What a request has in its _meta stays there, and is not written into.
func TestInjectMeta(t *testing.T) {
	given := &mcp.Meta{ProgressToken: "p", AdditionalFields: map[string]any{"a": 1}}
	if got := (metaPropagator{}).InjectMeta(t.Context(), given); got != given {
		t.Errorf("nobody traces, and got %+v", got)
	}
	if got := (metaPropagator{}).InjectMeta(t.Context(), nil); got != nil {
		t.Errorf("nobody traces, and got %+v", got)
	}
	tracer, rec := telemetrytest.New(t)
	var got, alone *mcp.Meta
	telemetrytest.Deliver(t.Context(), tracer, func(ctx context.Context) {
		ctx, span := telemetry.ToolCall(ctx, "x")
		defer span.End()
		got, alone = metaPropagator{}.InjectMeta(ctx, given), metaPropagator{}.InjectMeta(ctx, nil)
	})
	s := rec.One("execute_tool x")
	parent := "00-" + s.TraceID + "-" + s.SpanID + "-01"
	if diff := cmp.Diff(&mcp.Meta{ProgressToken: "p", AdditionalFields: map[string]any{"a": 1, "traceparent": parent}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&mcp.Meta{AdditionalFields: map[string]any{"traceparent": parent}}, alone); diff != "" {
		t.Errorf("where there was none (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"a": 1}, given.AdditionalFields); diff != "" {
		t.Errorf("the request's own was changed (-want +got):\n%s", diff)
	}
}
