package report

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// Wherever a trial that was traced is shown, the address of its trace is: uncut in a
// narrow terminal, and nowhere if there is none.
func TestLinksToTraces(t *testing.T) {
	const address = "https://jaeger.example/a/rather/long/path/to/the/service/that/has/the/traces/trace/4bf92f3577b34da6a3ce929d0e0e4736"
	narrow := Options{Width: 40}
	trial := func(url string) Trial {
		tr := workflowTrial()
		tr.Row.TraceID, tr.Row.TraceURL = "4bf92f3577b34da6a3ce929d0e0e4736", url
		return tr
	}
	doc := func(url string) Document {
		d := troubled().document(t)
		for _, c := range d.Summary.Cells {
			if c.Failure != nil {
				c.Failure.TraceURL = url
			}
		}
		each := d.Each
		d.Each = func(fn func(store.Row) error) error {
			return each(func(r store.Row) error {
				r.TraceURL = url
				return fn(r)
			})
		}
		return d
	}
	comparison := func(url string) eval.ArmComparison {
		c := regressed()
		c.Cells[0].Step = &eval.StepDifference{Turn: 1, Base: "b", Head: "h", BaseTraceURL: url, HeadTraceURL: url}
		return c
	}
	for name, test := range map[string]struct {
		show func(w io.Writer, url string) error
		// want is how often the address is shown.
		want int
	}{
		"terminal":      {func(w io.Writer, url string) error { return Terminal(w, doc(url).Summary, narrow) }, 6},
		"case":          {func(w io.Writer, url string) error { return ShowCase(w, []Trial{trial(url)}, narrow) }, 1},
		"trial":         {func(w io.Writer, url string) error { return ShowTrial(w, trial(url), narrow) }, 1},
		"trial as JSON": {func(w io.Writer, url string) error { return TrialJSON(w, trial(url)) }, 1},
		"unblind":       {func(w io.Writer, url string) error { return Unblind(w, trial(url), narrow) }, 1},
		"comparison":    {func(w io.Writer, url string) error { return Comparison(w, comparison(url), nil, narrow) }, 2},
		"json":          {func(w io.Writer, url string) error { return JSON(w, doc(url).Summary) }, 6},
		"jsonl":         {func(w io.Writer, url string) error { return JSONL(w, doc(url)) }, 8},
		"junit":         {func(w io.Writer, url string) error { return JUnit(w, doc(url).Summary) }, 14},
	} {
		t.Run(name, func(t *testing.T) {
			shown := func(url string) string {
				var out bytes.Buffer
				if err := test.show(&out, url); err != nil {
					t.Fatal(err)
				}
				return out.String()
			}
			if got := shown(address); strings.Count(got, address) != test.want {
				t.Errorf("got the address %d times, want %d:\n%s", strings.Count(got, address), test.want, got)
			}
			if got := shown(""); strings.Contains(got, "trace_url") || strings.Contains(got, "trace  ") {
				t.Errorf("without one, got\n%s", got)
			}
			if name == "junit" || strings.Contains(name, "json") || strings.Contains(name, "JSON") {
				return
			}
			harmless(t, shown("https://h/\x1b[31m\u202e"))
		})
	}
	// Who scores is not to be swayed: the trace shows the variant.
	var blind bytes.Buffer
	if err := Blind(&blind, trial(address), "", narrow); err != nil || strings.Contains(blind.String(), "jaeger") {
		t.Errorf("a blind review shows the trace (%v):\n%s", err, blind.String())
	}
}
