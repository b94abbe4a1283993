package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

func TestLogsNameTrialAndTrace(t *testing.T) {
	attempt := telemetry.Attempt{Run: "r-1", Ordinal: 7, N: 2}
	d := telemetry.Delivery{Attempt: attempt, Redact: func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") }}
	trace := attempt.TraceID().String()
	span := strings.Split(attempt.Traceparent(true), "-")[2]
	for _, tt := range []struct {
		name string
		ctx  func(context.Context) context.Context
		want map[string]any
	}{
		{"of nothing", func(ctx context.Context) context.Context { return ctx }, map[string]any{
			"error": "hunter2", "n": 3.0, "text": "hunter2", "g": map[string]any{"in": "a hunter2"}, "msg": "hunter2 failed",
		}},
		{"of an attempt", func(ctx context.Context) context.Context { return telemetry.Logged(ctx, d) }, map[string]any{
			"error": "***", "n": 3.0, "text": "***", "g": map[string]any{"in": "a ***"}, "msg": "*** failed", "trial": "r-1:7", "attempt": 2.0,
		}},
		{"of an attempt that is traced", func(ctx context.Context) context.Context {
			return telemetry.Logged(telemetry.Arrive(ctx, attempt.Traceparent(true)), d)
		}, map[string]any{
			"error": "***", "n": 3.0, "text": "***", "g": map[string]any{"in": "a ***"}, "msg": "*** failed", "trial": "r-1:7", "attempt": 2.0,
			"trace_id": trace, "span_id": span,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			log := slog.New(telemetry.Logs(slog.NewJSONHandler(&out, nil))).With("part", "worker")
			log.WarnContext(tt.ctx(t.Context()), "hunter2 failed",
				"error", errors.New("hunter2"), "n", 3, "text", "hunter2", slog.Group("g", "in", fmt.Sprint("a ", "hunter2")))
			var got map[string]any
			if err := json.Unmarshal(out.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			delete(got, "time")
			tt.want["level"], tt.want["part"] = "WARN", "worker"
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("got + and want -:\n%s", diff)
			}
		})
	}
}
