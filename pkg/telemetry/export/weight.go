package export

import (
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// weight is about how many bytes a span takes, in memory and on the wire: its texts,
// and something for all the rest. One that was settled weighs what it is made of, so
// that nobody looks for secrets twice.
func weight(s sdktrace.ReadOnlySpan) int {
	if settled, ok := s.(told); ok {
		s = settled.ReadOnlySpan
	}
	const span, item = 300, 50
	n := span + len(s.Name()) + len(s.Status().Description)
	all := func(attrs []attribute.KeyValue) {
		for _, a := range attrs {
			n += item + len(a.Key)
			switch a.Value.Type() {
			case attribute.STRING:
				n += len(a.Value.AsString())
			case attribute.STRINGSLICE:
				for _, text := range a.Value.AsStringSlice() {
					n += len(text)
				}
			default: // no text
			}
		}
	}
	all(s.Attributes())
	for _, e := range s.Events() {
		n += item + len(e.Name)
		all(e.Attributes)
	}
	for _, l := range s.Links() {
		n += item
		all(l.Attributes)
	}
	return n
}
