package strictyaml

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// key is one key of a struct.
type key struct {
	name     string
	index    []int // of its field, for reflect.Value.FieldByIndex
	required bool
}

// keysOf lists the keys of a struct and of what it embeds.
func (d *Decoder) keysOf(t reflect.Type) []key {
	if keys, ok := d.keys[t]; ok {
		return keys
	}
	var keys []key
	for _, f := range reflect.VisibleFields(t) {
		tag, ok := f.Tag.Lookup("yaml")
		if !ok || tag == "-" {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		keys = append(keys, key{name, f.Index, options != "omitempty"})
	}
	d.keys[t] = keys
	return keys
}

func (d *Decoder) find(t reflect.Type, name string) (key, bool) {
	for _, k := range d.keysOf(t) {
		if k.name == name {
			return k, true
		}
	}
	return key{}, false
}

// suggest says what to do about a key that the innermost struct does not know:
// where it belongs, what it may have been meant to be, or which keys there are.
func (d *Decoder) suggest(name string) string {
	here := d.around[len(d.around)-1]
	if len(d.around) > 1 {
		if _, up := d.find(d.around[len(d.around)-2], name); up {
			return fmt.Sprintf("%q belongs one level up", name)
		}
	}
	var names []string
	for _, k := range d.keysOf(here) {
		names = append(names, k.name)
		below := here.FieldByIndex(k.index).Type
		if below.Kind() == reflect.Pointer {
			below = below.Elem()
		}
		if below.Kind() == reflect.Struct && below != reflect.TypeFor[Node]() {
			if _, down := d.find(below, name); down {
				return fmt.Sprintf("%q belongs under %q", name, k.name)
			}
		}
	}
	if hint := DidYouMean(name, names); hint != "" {
		return hint
	}
	slices.Sort(names)
	return "known keys here: " + strings.Join(names, ", ")
}
