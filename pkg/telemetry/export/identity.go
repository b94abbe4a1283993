package export

import (
	"context"
	"encoding/binary"
	"math/rand/v2"

	"go.opentelemetry.io/otel/trace"

	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

// ids gives spans their ids: those that are computed, and chance for all others.
type ids struct{}

// NewIDs implements [sdktrace.IDGenerator].
func (ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if id, ok := telemetry.IdentityOf(ctx); ok {
		return id.Trace, id.Span
	}
	var t trace.TraceID
	binary.LittleEndian.PutUint64(t[:8], rand.Uint64())
	binary.LittleEndian.PutUint64(t[8:], rand.Uint64()|1) // never all zeros
	return t, drawn()
}

// NewSpanID implements [sdktrace.IDGenerator].
func (ids) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	if id, ok := telemetry.IdentityOf(ctx); ok {
		return id.Span
	}
	return drawn()
}

func drawn() (s trace.SpanID) {
	binary.LittleEndian.PutUint64(s[:], rand.Uint64()|1)
	return s
}
