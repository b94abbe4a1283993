package eval_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

const traceID = "4bf92f3577b34da6a3ce929d0e0e4736"

func TestTraceURL(t *testing.T) {
	for name, test := range map[string]struct{ template, id, want string }{
		"in the path":              {"https://jaeger.example/trace/{trace_id}", traceID, "https://jaeger.example/trace/" + traceID},
		"in the query, twice":      {"http://h:3000/explore?l=%7B{trace_id}%7D&r={trace_id}", traceID, "http://h:3000/explore?l=%7B" + traceID + "%7D&r=" + traceID},
		"in the fragment":          {"https://h/#/t/{trace_id}", traceID, "https://h/#/t/" + traceID},
		"not traced":               {"https://h/{trace_id}", "", ""},
		"an id of another kind":    {"https://h/{trace_id}", "cl-123", ""},
		"an id with a way out":     {"https://h/{trace_id}", "../../admin?x=" + traceID, ""},
		"an id with a line below":  {"https://h/{trace_id}", traceID + "\n", ""},
		"an id in capital letters": {"https://h/{trace_id}", strings.ToUpper(traceID), ""},
	} {
		t.Run(name, func(t *testing.T) {
			u, err := eval.ParseTraceURL(test.template)
			if err != nil {
				t.Fatal(err)
			}
			if got := u.Of(test.id); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if got := eval.TraceURL("").Of(traceID); got != "" {
		t.Errorf("without a template: got %q, want none", got)
	}
}

func TestWhatIsNoTraceURL(t *testing.T) {
	for name, test := range map[string]struct{ template, want string }{
		"nothing":               {"", "the same for every trial"},
		"no placeholder":        {"https://jaeger.example/trace/", "the same for every trial"},
		"another placeholder":   {"https://h/{trace_id}?s={span_id}", `"{span_id}" is no placeholder`},
		"a typo":                {"https://h/{traceid}", `"{traceid}" is no placeholder`},
		"JSON as it is":         {`https://h/?panes={"a":"{trace_id}"}`, `"{\"a\":\"" is no placeholder`},
		"one that is not ended": {"https://h/{trace_id", `"{trace_id" is no placeholder`},
		"a brace that ends":     {"https://h/{trace_id}}", `"}" is no placeholder`},
		"no scheme":             {"jaeger.example/trace/{trace_id}", "no http:// or https:// address"},
		"another scheme":        {"javascript:alert('{trace_id}')", "no http:// or https:// address"},
		"no host":               {"https:///trace/{trace_id}", "no http:// or https:// address"},
		"a space":               {"https://h/a b/{trace_id}", "no http:// or https:// address"},
		"a new line":            {"https://h/{trace_id}\n", "no http:// or https:// address"},
		"a password":            {"https://me:secret@h/{trace_id}", "credentials"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := eval.ParseTraceURL(test.template)
			if err == nil {
				t.Fatalf("got %q, want an error", got)
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %q, want %q in it", err, test.want)
			}
		})
	}
}

// Whatever is taken for a template makes an address on the host that it names, from
// any text that is taken for an id.
func FuzzTraceURL(f *testing.F) {
	f.Add("https://jaeger.example/trace/{trace_id}", traceID)
	f.Add("http://{trace_id}.example/?a={trace_id}#{trace_id}", traceID)
	f.Add("https://h/{trace_id}", "../{trace_id}")
	f.Fuzz(func(t *testing.T, template, id string) {
		parsed, err := eval.ParseTraceURL(template)
		if err != nil {
			return
		}
		got := parsed.Of(id)
		if got == "" {
			return
		}
		u, err := url.Parse(got)
		if err != nil {
			t.Fatalf("%q and %q make %q: %v", template, id, got, err)
		}
		if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
			t.Errorf("%q and %q make %q", template, id, got)
		}
		if strings.ContainsAny(got, "{} \n\t") || strings.Count(got, id) < strings.Count(template, eval.TracePlaceholder) {
			t.Errorf("%q and %q make %q", template, id, got)
		}
	})
}
