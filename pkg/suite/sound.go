package suite

import "github.com/evalfarm/evalfarm/pkg/strictyaml"

// place is a position that can be compared.
type place struct {
	file         string
	line, column int
}

func placeOf(pos strictyaml.Pos) place { return place{pos.File(), pos.Line, pos.Column} }

// sound says whether nothing in a value is wrong in form, so that it can be
// checked for sense without reporting one mistake twice. No value is sound.
func (l *loader) sound(n *strictyaml.Node) bool {
	if n == nil {
		return true
	}
	if !l.keysSound(n) {
		return false
	}
	for _, item := range n.Items {
		if !l.sound(item) {
			return false
		}
	}
	for _, f := range n.Fields {
		if !l.sound(f.Value) {
			return false
		}
	}
	return true
}

// keysSound says whether a value is what it should be and has the keys that it
// should have, whatever their values.
func (l *loader) keysSound(n *strictyaml.Node) bool {
	if l.broken[placeOf(n.Pos)] {
		return false
	}
	for _, f := range n.Fields {
		if l.broken[placeOf(f.Key.Pos)] {
			return false
		}
	}
	return true
}
