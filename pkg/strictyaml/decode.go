package strictyaml

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Options change what [Decode] accepts.
type Options struct {
	// Free is a prefix of keys that are ignored in the outermost map, such as
	// "x-". Empty means none.
	Free string
	// Foreign makes unknown keys warnings, for files in a format of others.
	Foreign bool
}

// Decode fills the value that into points to from a node, and returns what did
// not fit. What fits is filled in, whatever else is wrong. A nil node changes
// nothing.
//
// Structs are filled by their yaml tags. A field without omitempty is required,
// which is also how a JSON Schema generator reads the tag. The fields of an
// embedded struct count as those of the struct around it; embed [At] to
// remember the node. A field of type *[Node] takes any value as it is. Types
// that implement [Unmarshaler] decode themselves. Null fits nothing but a
// *[Node].
func Decode(n *Node, into any, opts Options) []Problem {
	d := &Decoder{opts: opts, keys: map[reflect.Type][]key{}}
	if n != nil {
		d.Decode(n, into)
	}
	return d.problems
}

// An Unmarshaler decodes itself: a value that has several forms.
type Unmarshaler interface {
	UnmarshalNode(d *Decoder, n *Node)
}

// A Chooser is a string type with few values; any other is a problem.
type Chooser interface {
	Choices() []string
}

// A Decoder collects the problems of one decoding. It is what an [Unmarshaler]
// reports to.
type Decoder struct {
	opts     Options
	problems []Problem
	// around holds the structs around the value, outermost first.
	around []reflect.Type
	keys   map[reflect.Type][]key
}

// Decode fills the value that into points to, as the function does.
func (d *Decoder) Decode(n *Node, into any) {
	d.value(n, reflect.ValueOf(into).Elem())
}

// Report adds a problem at a place.
func (d *Decoder) Report(pos Pos, message, hint string) {
	d.problems = append(d.problems, pos.Problem(message, hint))
}

// Want reports that a value is not what it should be: "a whole number", say.
func (d *Decoder) Want(n *Node, what string) {
	hint := ""
	if strings.HasPrefix(what, "a string") && (n.Kind == Number || n.Kind == Bool) {
		hint = "quote it: " + strconv.Quote(n.Text)
	}
	d.Report(n.Pos, "want "+what+", got "+n.Describe(), hint)
}

// At is embedded in a struct that wants to know where it was written.
type At struct{ node *Node }

// Node is what the struct was decoded from; nil when it was not.
func (a *At) Node() *Node { return a.node }

func (a *At) setNode(n *Node) { a.node = n }

func (d *Decoder) value(n *Node, v reflect.Value) {
	if v.Type() == reflect.TypeFor[*Node]() {
		v.Set(reflect.ValueOf(n))
		return
	}
	if s, ok := reflect.TypeAssert[interface{ setNode(*Node) }](v.Addr()); ok {
		s.setNode(n)
	}
	if n.Bad {
		return
	}
	if u, ok := reflect.TypeAssert[Unmarshaler](v.Addr()); ok {
		u.UnmarshalNode(d, n)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		fresh := reflect.New(v.Type().Elem())
		d.value(n, fresh.Elem())
		v.Set(fresh)
	case reflect.Struct:
		d.fields(n, v)
	case reflect.Map:
		d.entries(n, v)
	case reflect.Slice:
		d.items(n, v)
	default:
		d.scalar(n, v)
	}
}

func (d *Decoder) scalar(n *Node, v reflect.Value) {
	number := n.Kind == Number || n.Loose && plainNumberRE.MatchString(n.Text)
	switch v.Kind() {
	case reflect.String:
		if n.Kind != String && (!n.Loose || n.Kind != Number && n.Kind != Bool) {
			d.Want(n, "a string")
			return
		}
		if c, ok := reflect.TypeAssert[Chooser](v); ok && !slices.Contains(c.Choices(), n.Text) {
			d.Report(n.Pos, fmt.Sprintf("want one of %s; got %s", strings.Join(c.Choices(), ", "), Quote(n.Text)), DidYouMean(n.Text, c.Choices()))
			return
		}
		v.SetString(n.Text)
	case reflect.Bool:
		if n.Kind != Bool && (!n.Loose || n.Text != "true" && n.Text != "false") {
			d.Want(n, "true or false")
			return
		}
		v.SetBool(n.Text == "true")
	case reflect.Int:
		i, err := strconv.Atoi(n.Text)
		if !number || err != nil {
			d.Want(n, "a whole number")
			return
		}
		v.SetInt(int64(i))
	case reflect.Float64:
		f, err := strconv.ParseFloat(n.Text, 64)
		if !number || err != nil {
			d.Want(n, "a number")
			return
		}
		v.SetFloat(f)
	default:
		panic("strictyaml: cannot decode into " + v.Type().String())
	}
}

func (d *Decoder) items(n *Node, v reflect.Value) {
	if n.Kind != List {
		d.Want(n, "a list")
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items))
	for i, item := range n.Items {
		d.value(item, out.Index(i))
	}
	v.Set(out)
}

func (d *Decoder) entries(n *Node, v reflect.Value) {
	if n.Kind != Map {
		d.Want(n, "a map")
		return
	}
	out := reflect.MakeMapWithSize(v.Type(), len(n.Fields))
	for _, f := range n.Fields {
		value := reflect.New(v.Type().Elem()).Elem()
		d.value(f.Value, value)
		out.SetMapIndex(reflect.ValueOf(f.Key.Text), value)
	}
	v.Set(out)
}

func (d *Decoder) fields(n *Node, v reflect.Value) {
	here := v.Type()
	if n.Kind != Map {
		d.Want(n, "a map")
		return
	}
	d.around = append(d.around, here)
	defer func() { d.around = d.around[:len(d.around)-1] }()
	for _, field := range n.Fields {
		name := field.Key.Text
		k, known := d.find(here, name)
		switch {
		case known:
			d.value(field.Value, v.FieldByIndex(k.index))
		case len(d.around) == 1 && d.opts.Free != "" && strings.HasPrefix(name, d.opts.Free):
			// Free for the user's own notes.
		default:
			p := field.Key.Problem("unknown key "+Quote(name), d.suggest(name))
			p.Warning = d.opts.Foreign
			d.problems = append(d.problems, p)
		}
	}
	for _, k := range d.keysOf(here) {
		if k.required && n.Field(k.name) == nil {
			d.Report(n.Pos, fmt.Sprintf("missing key %q", k.name), "")
		}
	}
}
