package export

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// A told span is one that was settled: it counts as sampled, and the secrets are out
// of every text in it.
type told struct {
	sdktrace.ReadOnlySpan
	sc     trace.SpanContext
	redact func(string) string
	more   []attribute.KeyValue
}

func (s told) SpanContext() trace.SpanContext { return s.sc }

func (s told) Name() string { return s.clean(s.ReadOnlySpan.Name()) }

func (s told) Attributes() []attribute.KeyValue {
	return append(s.cleanAll(s.ReadOnlySpan.Attributes()), s.more...)
}

func (s told) Events() []sdktrace.Event {
	events := slices.Clone(s.ReadOnlySpan.Events())
	for i := range events {
		events[i].Name = s.clean(events[i].Name)
		events[i].Attributes = s.cleanAll(events[i].Attributes)
	}
	return events
}

func (s told) Status() sdktrace.Status {
	st := s.ReadOnlySpan.Status()
	st.Description = s.clean(st.Description)
	return st
}

func (s told) clean(text string) string {
	if s.redact == nil {
		return text
	}
	return s.redact(text)
}

func (s told) cleanAll(attrs []attribute.KeyValue) []attribute.KeyValue {
	out := slices.Clone(attrs)
	for i, a := range out {
		switch a.Value.Type() {
		case attribute.STRING:
			out[i].Value = attribute.StringValue(s.clean(a.Value.AsString()))
		case attribute.STRINGSLICE:
			texts := slices.Clone(a.Value.AsStringSlice())
			for j := range texts {
				texts[j] = s.clean(texts[j])
			}
			out[i].Value = attribute.StringSliceValue(texts)
		}
	}
	return out
}
