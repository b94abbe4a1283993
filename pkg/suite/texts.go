package suite

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// fileScheme begins the path of a file whose text stands for the string.
const fileScheme = "file://"

// text is what a string of the suite says: itself, or the text of the file that
// it names, since workers have no files. The node has the text in the place of
// the name. Nil means that there is none, or that it was reported.
func (b *build) text(n *strictyaml.Node) *strictyaml.Node {
	if n == nil || n.Bad || n.Kind != strictyaml.String && !n.Loose {
		return nil
	}
	name, isFile := strings.CutPrefix(n.Text, fileScheme)
	if !isFile || b.data[n.File()] {
		return n
	}
	o, ok := b.refer(n, name)
	if !ok {
		return nil
	}
	text, known := b.texts[o.shown]
	if !known {
		data, ok := b.read(o, n.Pos)
		if !ok {
			return nil
		}
		text = strings.TrimRight(strings.TrimPrefix(string(data), "\ufeff"), "\r\n")
		switch {
		case len(data) > strictyaml.MaxBytes:
			b.report(n.Pos, fmt.Sprintf("%s has more than %d bytes", strictyaml.Quote(name), strictyaml.MaxBytes), "")
			return nil
		case !utf8.ValidString(text):
			b.report(n.Pos, strictyaml.Quote(name)+" is no text in UTF-8", "")
			return nil
		case strings.TrimSpace(text) == "":
			b.report(n.Pos, strictyaml.Quote(name)+" is empty", "")
			return nil
		}
		if b.texts == nil {
			b.texts = map[string]string{}
		}
		b.texts[o.shown] = text
	}
	out := *n
	out.Text = text
	return &out
}

// textOf is the text of a node, if there is one.
func textOf(n *strictyaml.Node) string {
	if n == nil {
		return ""
	}
	return n.Text
}

// filledText wants a text that says something.
func (b *build) filledText(n *strictyaml.Node, key string) {
	if n != nil && b.sound(n) && n.Kind == strictyaml.String && strings.TrimSpace(n.Text) == "" {
		b.report(n.Pos, key+" is empty", "")
	}
}
