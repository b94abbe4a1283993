package export

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"pgregory.net/rapid"

	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

const planted = "s3cret-v4lue"

func hide(s string) string { return strings.ReplaceAll(s, planted, "[hidden]") }

// watch makes a tail below a real provider, and what gets its spans.
func watch(sampler sdktrace.Sampler) (*tail, trace.Tracer, *tracetest.InMemoryExporter) {
	got := tracetest.NewInMemoryExporter()
	t := newTail(sdktrace.NewSimpleSpanProcessor(got))
	p := sdktrace.NewTracerProvider(sdktrace.WithIDGenerator(ids{}), sdktrace.WithSampler(watching{sampler}), sdktrace.WithSpanProcessor(t))
	return t, p.Tracer("test"), got
}

func deliver(tr trace.Tracer, name string) (context.Context, trace.Span) {
	return tr.Start(context.Background(), name, trace.WithSpanKind(trace.SpanKindConsumer))
}

func names(spans tracetest.SpanStubs) []string {
	var out []string
	for _, s := range spans {
		out = append(out, s.Name)
	}
	slices.Sort(out)
	return out
}

func TestTail(t *testing.T) {
	keep := telemetry.Settlement{Keep: true, Redact: hide}
	for name, tt := range map[string]struct {
		sampler sdktrace.Sampler
		work    func(*tail, trace.Tracer)
		want    []string
	}{
		"settled and sampled": {sdktrace.AlwaysSample(), func(t *tail, tr trace.Tracer) {
			ctx, root := deliver(tr, "root")
			_, child := tr.Start(ctx, "child")
			child.End()
			t.settle(root.SpanContext(), telemetry.Settlement{})
			root.End()
		}, []string{"child", "root"}},
		"not sampled, and nothing to see": {sdktrace.NeverSample(), func(t *tail, tr trace.Tracer) {
			_, root := deliver(tr, "root")
			t.settle(root.SpanContext(), telemetry.Settlement{})
			root.End()
		}, nil},
		"not sampled, and worth seeing": {sdktrace.NeverSample(), func(t *tail, tr trace.Tracer) {
			ctx, root := deliver(tr, "root")
			ctx, child := tr.Start(ctx, "child")
			_, grandchild := tr.Start(ctx, "grandchild")
			grandchild.End()
			child.End()
			t.settle(root.SpanContext(), keep)
			root.End()
		}, []string{"child", "grandchild", "root"}},
		"never settled, as when its worker panics": {sdktrace.AlwaysSample(), func(_ *tail, tr trace.Tracer) {
			ctx, root := deliver(tr, "root")
			_, child := tr.Start(ctx, "child")
			child.End()
			root.End()
		}, nil},
		"a span that ends after its delivery": {sdktrace.AlwaysSample(), func(t *tail, tr trace.Tracer) {
			ctx, root := deliver(tr, "root")
			ctx, late := tr.Start(ctx, "late")
			t.settle(root.SpanContext(), keep)
			root.End()
			_, later := tr.Start(ctx, "begun later")
			later.End()
			late.End()
		}, []string{"root"}},
		"ends twice": {sdktrace.AlwaysSample(), func(t *tail, tr trace.Tracer) {
			ctx, root := deliver(tr, "root")
			_, child := tr.Start(ctx, "child")
			child.End()
			child.End()
			t.settle(root.SpanContext(), keep)
			root.End()
			root.End()
		}, []string{"child", "root"}},
		"settled by the span of a child": {sdktrace.AlwaysSample(), func(t *tail, tr trace.Tracer) {
			ctx, root := deliver(tr, "root")
			_, child := tr.Start(ctx, "child")
			t.settle(child.SpanContext(), keep)
			child.End()
			root.End()
		}, nil},
		"what is past has no delivery": {sdktrace.AlwaysSample(), func(_ *tail, tr trace.Tracer) {
			_, trial := tr.Start(context.Background(), "trial")
			parent := trace.ContextWithRemoteSpanContext(context.Background(), trial.SpanContext())
			_, send := tr.Start(parent, "send", trace.WithSpanKind(trace.SpanKindProducer))
			send.End()
			trial.End()
		}, []string{"send", "trial"}},
		"two deliveries, one below the other's span": {sdktrace.AlwaysSample(), func(t *tail, tr trace.Tracer) {
			ctx, a := deliver(tr, "a")
			_, b := tr.Start(ctx, "b", trace.WithSpanKind(trace.SpanKindConsumer))
			t.settle(b.SpanContext(), keep)
			b.End()
			a.End()
		}, []string{"b"}},
	} {
		t.Run(name, func(t *testing.T) {
			tail, tr, got := watch(tt.sampler)
			tt.work(tail, tr)
			if have := names(got.GetSpans()); !slices.Equal(have, tt.want) {
				t.Errorf("got %q, want %q", have, tt.want)
			}
			if len(tail.open) != 0 || tail.bytes != 0 {
				t.Errorf("it keeps %d spans, %d bytes", len(tail.open), tail.bytes)
			}
		})
	}
}

func TestTailIsBounded(t *testing.T) {
	for name, tt := range map[string]struct {
		bounds bounds
		others int
		want   int // children of ten that are kept
	}{
		"in number":                 {bounds{spans: 4, bytes: 1 << 30, total: 1 << 30}, 0, 4},
		"in bytes":                  {bounds{spans: 100, bytes: 5000, total: 1 << 30}, 0, 3},
		"in bytes of all":           {bounds{spans: 100, bytes: 1 << 30, total: 5000}, 0, 3},
		"in bytes that others have": {bounds{spans: 100, bytes: 1 << 30, total: 5000}, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			tail, tr, got := watch(sdktrace.AlwaysSample())
			tail.bounds = tt.bounds
			other, otherRoot := deliver(tr, "other")
			for range tt.others {
				_, s := tr.Start(other, "child", trace.WithAttributes(attribute.String("text", strings.Repeat("x", 1000))))
				s.End()
			}
			ctx, root := deliver(tr, "root")
			for range 10 {
				_, s := tr.Start(ctx, "child", trace.WithAttributes(attribute.String("text", strings.Repeat("x", 1000))))
				s.End()
			}
			tail.settle(root.SpanContext(), telemetry.Settlement{})
			root.End()
			otherRoot.End()
			spans := got.GetSpans()
			if len(spans) != tt.want+1 {
				t.Fatalf("got %q, want %d children and the root", names(spans), tt.want)
			}
			dropped := attribute.NewSet(spans[len(spans)-1].Attributes...)
			if v, _ := dropped.Value(telemetry.SpansDropped); v.AsInt64() != int64(10-tt.want) {
				t.Errorf("the root says that %d were dropped, want %d", v.AsInt64(), 10-tt.want)
			}
			if len(tail.open) != 0 || tail.bytes != 0 {
				t.Errorf("it keeps %d spans, %d bytes", len(tail.open), tail.bytes)
			}
		})
	}
}

// A secret is planted wherever a span has a text.
func TestToldHasNoSecrets(t *testing.T) {
	tail, tr, got := watch(sdktrace.AlwaysSample())
	with := trace.WithAttributes(
		attribute.String("one", "a "+planted), attribute.StringSlice("many", []string{planted, "b"}),
		attribute.ByteSlice("bytes", []byte(planted)), attribute.Slice("mixed", attribute.StringValue(planted)),
		attribute.Map("map", attribute.String("k", planted)), attribute.Int("n", 1),
	)
	ctx, root := deliver(tr, "root "+planted)
	_, child := tr.Start(ctx, "child "+planted, with, trace.WithLinks(trace.Link{SpanContext: root.SpanContext(), Attributes: []attribute.KeyValue{attribute.String("why", planted)}}))
	child.AddEvent("event "+planted, with)
	child.SetStatus(codes.Error, "because "+planted)
	child.End()
	tail.settle(root.SpanContext(), telemetry.Settlement{Redact: hide})
	root.End()
	spans := got.GetSpans()
	if len(spans) != 2 || len(spans[0].Events) != 1 || len(spans[0].Links) != 1 || len(spans[0].Attributes) != 6 {
		t.Fatalf("got %+v", spans)
	}
	if text := fmt.Sprintf("%+v", spans); strings.Contains(text, planted) || strings.Count(text, "[hidden]") < 12 {
		t.Errorf("a secret got out, or its text did not: %s", text)
	}
}

func TestToldCutsAfterSecretsAreOut(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"short":                    {"abc", "abc"},
		"a secret across the edge": {strings.Repeat("x", longest-5) + planted, strings.Repeat("x", longest-5) + "[hidd…"},
		"a character across it":    {strings.Repeat("x", longest-1) + "é!", strings.Repeat("x", longest-1) + "…"},
		"no text":                  {"a\x80\xffb", "a\uFFFDb"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (told{redact: hide}).clean(tt.text); got != tt.want {
				t.Errorf("got %d bytes that end in %q, want %d that end in %q", len(got), got[max(0, len(got)-20):], len(tt.want), tt.want[max(0, len(tt.want)-20):])
			}
		})
	}
}

// Whatever begins and ends in whatever order: nothing with a secret is handed on, only
// what was settled is, once and at its delivery's end, and nothing is kept for ever.
func TestTailWhateverHappens(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		tail, tr, got := watch(sdktrace.TraceIDRatioBased(0.5))
		tail.bounds.spans = rapid.IntRange(1, 20).Draw(r, "most")
		type open struct {
			ctx        context.Context
			span       trace.Span
			root       *open
			kept, done bool
		}
		var all []*open
		want := map[string]bool{}
		for i := range rapid.IntRange(1, 60).Draw(r, "steps") {
			name := fmt.Sprintf("%d %s", i, planted)
			pick := func() *open { return all[rapid.IntRange(0, len(all)-1).Draw(r, "which")] }
			switch what := rapid.SampledFrom([]string{"deliver", "begin", "begin", "end", "end", "settle"}).Draw(r, "what"); {
			case what == "deliver" || len(all) == 0:
				ctx, span := deliver(tr, name)
				s := &open{ctx: ctx, span: span}
				s.root = s
				all = append(all, s)
			case what == "begin":
				parent := pick()
				ctx, span := tr.Start(parent.ctx, name)
				all = append(all, &open{ctx: ctx, span: span, root: parent.root})
			case what == "settle":
				s := pick().root
				s.kept = s.kept || !s.done
				tail.settle(s.span.SpanContext(), telemetry.Settlement{Keep: true, Redact: hide})
			default:
				s := pick()
				if s.root == s && !s.done && s.kept {
					want[s.span.SpanContext().SpanID().String()] = true
				}
				s.done = true
				s.span.End()
			}
		}
		for _, s := range all {
			s.span.End()
		}
		roots := map[string]bool{}
		seen := map[trace.SpanID]bool{}
		for _, s := range got.GetSpans() {
			if strings.Contains(fmt.Sprintf("%+v", s), planted) {
				r.Fatalf("a secret got out: %+v", s)
			}
			if seen[s.SpanContext.SpanID()] {
				r.Fatalf("%s was handed on twice", s.Name)
			}
			seen[s.SpanContext.SpanID()] = true
			if s.SpanKind == trace.SpanKindConsumer {
				roots[s.SpanContext.SpanID().String()] = true
			}
		}
		for id := range want {
			if !roots[id] {
				r.Fatalf("a delivery that was settled is missing")
			}
		}
		for _, s := range all {
			settled := s.root.kept
			if seen[s.span.SpanContext().SpanID()] && !settled {
				r.Fatalf("what nobody settled was handed on")
			}
		}
		if len(tail.open) != 0 || tail.bytes != 0 {
			r.Fatalf("it keeps %d spans, %d bytes", len(tail.open), tail.bytes)
		}
	})
}

// Spans of one delivery end in several goroutines, some while it ends; the race
// detector watches.
func TestTailConcurrently(t *testing.T) {
	tail, tr, got := watch(sdktrace.AlwaysSample())
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			ctx, root := deliver(tr, "root")
			var inner sync.WaitGroup
			for range 10 {
				inner.Go(func() {
					ctx, s := tr.Start(ctx, "child "+planted)
					_, below := tr.Start(ctx, "below")
					below.End()
					s.End()
				})
			}
			tail.settle(root.SpanContext(), telemetry.Settlement{Redact: hide})
			root.End()
			inner.Wait()
		})
	}
	wg.Wait()
	for _, s := range got.GetSpans() {
		if strings.Contains(s.Name, planted) {
			t.Fatal("a secret got out")
		}
	}
	if len(tail.open) != 0 || tail.bytes != 0 {
		t.Errorf("it keeps %d spans, %d bytes", len(tail.open), tail.bytes)
	}
}

// Scheduler and worker decide the same of a trace, whichever of them is asked, and what
// comes with a job goes before what a worker would say itself.
func TestHeadDecisionsAgree(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		share := rapid.Float64Range(0, 1).Draw(r, "share")
		sampler := rapid.SampledFrom([]sdktrace.Sampler{
			sdktrace.TraceIDRatioBased(share), sdktrace.ParentBased(sdktrace.TraceIDRatioBased(share)),
		}).Draw(r, "sampler")
		a := telemetry.Attempt{Run: rapid.StringN(1, 8, -1).Draw(r, "run"), Ordinal: rapid.IntRange(0, 1000).Draw(r, "ordinal"), N: 1}
		scheduler, _ := NewTracing(newTail(nil), TracingOptions{Sampler: sampler})
		got := tracetest.NewInMemoryExporter()
		worker, _ := NewTracing(sdktrace.NewSimpleSpanProcessor(got), TracingOptions{Sampler: sampler})
		sampled := scheduler.Sampled(a.TraceID())
		if sampled != worker.Sampled(a.TraceID()) {
			r.Fatal("they disagree")
		}
		_, span := worker.Process(telemetry.Arrive(context.Background(), a.Traceparent(sampled)), telemetry.Delivery{Attempt: a})
		worker.Returned(span, "limits", nil)
		if kept := len(got.GetSpans()) == 1; kept != sampled {
			r.Fatalf("the scheduler says %v, and the worker keeps %v", sampled, kept)
		}
	})
}

func TestWhatComesWithAJobHolds(t *testing.T) {
	for name, tt := range map[string]struct {
		sampler sdktrace.Sampler
		sampled bool
		want    int
	}{
		"sampled, though the worker keeps none itself": {sdktrace.ParentBased(sdktrace.NeverSample()), true, 1},
		"not sampled, though the worker keeps all":     {sdktrace.ParentBased(sdktrace.AlwaysSample()), false, 0},
		"a worker that does not look at it":            {sdktrace.AlwaysSample(), false, 1},
		"a worker that keeps none":                     {sdktrace.NeverSample(), true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := tracetest.NewInMemoryExporter()
			worker, _ := NewTracing(sdktrace.NewSimpleSpanProcessor(got), TracingOptions{Sampler: tt.sampler})
			a := telemetry.Attempt{Run: "r", Ordinal: 1, N: 1}
			_, span := worker.Process(telemetry.Arrive(t.Context(), a.Traceparent(tt.sampled)), telemetry.Delivery{Attempt: a})
			worker.Returned(span, "limits", nil)
			if len(got.GetSpans()) != tt.want {
				t.Errorf("got %d spans, want %d", len(got.GetSpans()), tt.want)
			}
		})
	}
}
