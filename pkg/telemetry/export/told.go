package export

import (
	"slices"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// A told span is one that was settled: it counts as sampled, and the secrets are out
// of every text in it. They are taken out when somebody reads it, which is not who
// carried out the trial.
type told struct {
	sdktrace.ReadOnlySpan
	redact func(string) string
	more   []attribute.KeyValue
}

func (s told) SpanContext() trace.SpanContext {
	sc := s.ReadOnlySpan.SpanContext()
	return sc.WithTraceFlags(sc.TraceFlags().WithSampled(true))
}

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

func (s told) Links() []sdktrace.Link {
	links := slices.Clone(s.ReadOnlySpan.Links())
	for i := range links {
		links[i].Attributes = s.cleanAll(links[i].Attributes)
	}
	return links
}

func (s told) Status() sdktrace.Status {
	st := s.ReadOnlySpan.Status()
	st.Description = s.clean(st.Description)
	return st
}

// longest text in bytes that is handed on. The SDK could cut as well, but it would
// before secrets are taken out, and half a secret is not found.
const longest = 64 << 10

func (s told) clean(text string) string {
	if s.redact != nil {
		text = s.redact(text)
	}
	// One text that is none would keep all of its batch from being encoded.
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= longest {
		return text
	}
	end := longest
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
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
		case attribute.BYTESLICE, attribute.SLICE, attribute.MAP:
			// Nobody here makes them. What cannot be looked through is told as a text.
			out[i].Value = attribute.StringValue(s.clean(a.Value.String()))
		default: // no text
		}
	}
	return out
}
