package cassette

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// nearest looks at the recordings of the same case, repeat and role for the one
// that has most in common with a request, and says where it begins to differ. It
// is empty when there is none.
func nearest(root *os.Root, want request) string {
	entries, err := fs.ReadDir(root.FS(), want.folder())
	if err != nil {
		return ""
	}
	best, most := "", likeness{equal: -1}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), want.prefix()) || path.Ext(e.Name()) != ".json" {
			continue
		}
		rec, err := read(root, path.Join(want.folder(), e.Name()))
		if got := rec.Request; err != nil || got.Case != want.Case || got.Repeat != want.Repeat || got.Role != want.Role {
			continue
		}
		if like, first := compare(want, rec.Request); like.more(most) {
			best, most = fmt.Sprintf("the nearest, %s, differs in %s", e.Name(), first), like
		}
	}
	return best
}

// likeness is how much two requests have in common: the parts that are equal,
// and how far the first other part is.
type likeness struct{ equal, prefix int }

func (l likeness) more(o likeness) bool {
	return l.equal > o.equal || l.equal == o.equal && l.prefix > o.prefix
}

// compare finds what a recorded request has in common with the one that is
// wanted, and describes the first part that it has not.
func compare(want, got request) (like likeness, first string) {
	recorded := map[string]string{}
	for _, p := range got.parts() {
		recorded[p.name] = p.text
	}
	for _, p := range want.parts() {
		text, ok := recorded[p.name]
		switch {
		case ok && text == p.text:
			like.equal++
		case first != "":
		case !ok:
			first = p.name + ", which it has not"
		default:
			a, b := []rune(text), []rune(p.text)
			like.prefix = common(a, b)
			first = fmt.Sprintf("%s: recorded %s, asked %s", p.name, excerpt(a, like.prefix), excerpt(b, like.prefix))
		}
	}
	if first == "" {
		first = "details" // such as the id of a call
	}
	return like, first
}

type part struct{ name, text string }

// parts takes a request apart for people.
func (r request) parts() []part {
	var names []string
	for _, t := range r.Tools {
		names = append(names, t.Name)
	}
	out := []part{{"the variant", r.Variant}, {"the system prompt", r.System}, {"the list of tools", strings.Join(names, ", ")}}
	for _, t := range r.Tools {
		out = append(out, part{fmt.Sprintf("tool %.60q", t.Name), t.Description + " " + canonical(t.Schema)})
	}
	out = append(out, part{"the tool to call", r.MustCall}, part{"the sampling", string(eval.Encode(r.Sampling))})
	for i, m := range r.Messages {
		out = append(out, part{fmt.Sprintf("message %d", i+1), m.String()})
	}
	return append(out, part{"the number of messages", fmt.Sprint(len(r.Messages))})
}

// canonical writes a value in the one way that its layout in a file, which is for
// people, makes no difference to.
func canonical(raw eval.JSON) string {
	tree, err := eval.Decode(raw)
	if err != nil {
		return string(raw)
	}
	return string(eval.Encode(tree))
}

func (m message) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s: %s%s", m.Role, m.Reasoning, m.Text)
	for _, c := range m.Calls {
		fmt.Fprintf(&out, " %s(%s)", c.Tool, c.Arguments)
	}
	for _, r := range m.Results {
		kind := "result"
		if r.Error {
			kind = "error"
		}
		fmt.Fprintf(&out, " %s of %s: %s", kind, r.Tool, r.Text)
	}
	return out.String()
}

// common is how many characters two texts begin with alike.
func common(a, b []rune) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// excerpt quotes a text around a place.
func excerpt(text []rune, at int) string {
	from, to := max(0, at-20), min(len(text), at+30)
	quoted := fmt.Sprintf("%q", string(text[from:to]))
	if from > 0 {
		quoted = "…" + quoted
	}
	if to < len(text) {
		quoted += "…"
	}
	return quoted
}
