package strictyaml_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

type menu struct {
	strictyaml.At
	Name   string            `yaml:"name"`
	Open   bool              `yaml:"open,omitempty"`
	Seats  int               `yaml:"seats,omitempty"`
	Stars  *float64          `yaml:"stars,omitempty"`
	Notes  map[string]string `yaml:"notes,omitempty"`
	Dishes []dish            `yaml:"dishes,omitempty"`
	Limits *limits           `yaml:"limits,omitempty"`
}

type dish struct {
	strictyaml.At
	shared
	Title string           `yaml:"title"`
	Kind  kind             `yaml:"kind,omitempty"`
	Any   *strictyaml.Node `yaml:"any,omitempty"`
}

type shared struct {
	Price price `yaml:"price,omitempty"`
}

type limits struct {
	Time  string `yaml:"time,omitempty"`
	Guest int    `yaml:"guests,omitempty"`
}

type kind string

func (kind) Choices() []string { return []string{"soup", "salad"} }

// price is a number or free.
type price struct{ Cents int }

func (p *price) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	switch {
	case n.Kind == strictyaml.String && n.Text == "free":
	case n.Kind == strictyaml.Number:
		d.Decode(n, &p.Cents)
	default:
		d.Want(n, "cents, or free")
	}
}

func decode(t *testing.T, text string, opts strictyaml.Options) []strictyaml.Problem {
	t.Helper()
	n, problems := strictyaml.Parse("menu.yaml", []byte(text))
	if len(problems) > 0 {
		t.Fatal(render(problems))
	}
	var m menu
	return strictyaml.Decode(n, &m, opts)
}

func TestDecode(t *testing.T) {
	n, _ := strictyaml.Parse("menu.yaml", []byte(`
name: Chez Nous
open: true
seats: 40
stars: 4.5
notes: {a: b}
dishes:
  - {title: Soup of the day, price: 450, kind: soup, any: [1, {x: null}]}
  - {title: Bread, price: free}
limits: {guests: 8}
x-owner: [anything]
`))
	var got menu
	if problems := strictyaml.Decode(n, &got, strictyaml.Options{Free: "x-"}); len(problems) > 0 {
		t.Fatal(render(problems))
	}
	if got.Name != "Chez Nous" || !got.Open || got.Seats != 40 || *got.Stars != 4.5 || got.Notes["a"] != "b" || got.Limits.Guest != 8 {
		t.Errorf("got %+v, want the menu", got)
	}
	soup, bread := got.Dishes[0], got.Dishes[1]
	if soup.Title != "Soup of the day" || soup.Price.Cents != 450 || soup.Kind != "soup" || string(soup.Any.JSON()) != `[1,{"x":null}]` {
		t.Errorf("got %+v, want the soup", soup)
	}
	if bread.Price.Cents != 0 || bread.Any != nil {
		t.Errorf("got %+v, want the bread", bread)
	}
	if pos := bread.Node().Place("price"); pos.Line != 9 || pos.Column != 20 || pos.File() != "menu.yaml" {
		t.Errorf("got price of bread at %s:%d:%d, want menu.yaml:9:20", pos.File(), pos.Line, pos.Column)
	}
}

func TestDecodeProblems(t *testing.T) {
	tests := []struct{ name, yaml, want string }{
		{"unknown key, near a known one", "name: x\nopne: true\n", `
error: unknown key "opne"
  --> menu.yaml:2:1
   2 | opne: true
     | ^ did you mean "open"?
`},
		{"unknown key, near nothing", "name: x\ndishes: [{title: x, colour: red}]\n", `
error: unknown key "colour"
  --> menu.yaml:2:21
   2 | dishes: [{title: x, colour: red}]
     |                     ^ known keys here: any, kind, price, title
`},
		{"a key of one level up", "name: x\ndishes: [{title: x, seats: 4}]\n", `
error: unknown key "seats"
  --> menu.yaml:2:21
   2 | dishes: [{title: x, seats: 4}]
     |                     ^ "seats" belongs one level up
`},
		{"a key of one level down", "name: x\nguests: 4\n", `
error: unknown key "guests"
  --> menu.yaml:2:1
   2 | guests: 4
     | ^ "guests" belongs under "limits"
`},
		{"free keys are free at the top only", "name: x\nx-a: 1\nlimits: {x-a: 1}\n", `
error: unknown key "x-a"
  --> menu.yaml:3:10
   3 | limits: {x-a: 1}
     |          ^ known keys here: guests, time
`},
		{"missing keys", "dishes:\n  - kind: soup\n", `
error: missing key "name"
  --> menu.yaml:1:1
   1 | dishes:
     | ^
error: missing key "title"
  --> menu.yaml:2:5
   2 |   - kind: soup
     |     ^
`},
		{"wrong types, all of them", "name: 1.4\nopen: \"true\"\nseats: 4.5\nstars: many\nnotes: [a]\ndishes: {}\nlimits: \n", `
error: want a string, got the number 1.4
  --> menu.yaml:1:7
   1 | name: 1.4
     |       ^ quote it: "1.4"
error: want true or false, got "true"
  --> menu.yaml:2:7
   2 | open: "true"
     |       ^
error: want a whole number, got the number 4.5
  --> menu.yaml:3:8
   3 | seats: 4.5
     |        ^
error: want a number, got "many"
  --> menu.yaml:4:8
   4 | stars: many
     |        ^
error: want a map, got a list of 1
  --> menu.yaml:5:8
   5 | notes: [a]
     |        ^
error: want a list, got a map
  --> menu.yaml:6:9
   6 | dishes: {}
     |         ^
error: want a map, got nothing
  --> menu.yaml:7:8
   7 | limits: 
     |        ^
`},
		{"forms and choices", "name: x\ndishes: [{title: x, price: cheap, kind: soop}]\n", `
error: want cents, or free, got "cheap"
  --> menu.yaml:2:28
   2 | dishes: [{title: x, price: cheap, kind: soop}]
     |                            ^
error: want one of soup, salad; got "soop"
  --> menu.yaml:2:41
   2 | dishes: [{title: x, price: cheap, kind: soop}]
     |                                         ^ did you mean "soup"?
`},
		{"a whole number that does not fit", "name: x\nseats: 99999999999999999999\n", `
error: want a whole number, got the number 99999999999999999999
  --> menu.yaml:2:8
   2 | seats: 99999999999999999999
     |        ^
`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			problems := decode(t, test.yaml, strictyaml.Options{Free: "x-"})
			if diff := cmp.Diff(strings.TrimPrefix(test.want, "\n"), render(problems)); diff != "" {
				t.Errorf("problems differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestForeignFilesOnlyWarnOfUnknownKeys(t *testing.T) {
	problems := decode(t, "name: x\nopne: true\nseats: many\n", strictyaml.Options{Foreign: true})
	if len(problems) != 2 || !problems[0].Warning || problems[1].Warning {
		t.Errorf("got %s, want a warning and an error", render(problems))
	}
}

// Nothing that was reported when parsing is reported again when decoding.
func TestBadValuesFitEverywhere(t *testing.T) {
	n, problems := strictyaml.Parse("menu.yaml", []byte("name: {{x}}\nopen: 0123\nlimits: !x y\n"))
	if len(problems) != 3 {
		t.Fatalf("got %s, want 3 problems", render(problems))
	}
	var m menu
	if problems := strictyaml.Decode(n, &m, strictyaml.Options{}); len(problems) > 0 {
		t.Errorf("got %s, want none", render(problems))
	}
}

// What comes from outside the file is text, and stands for what is wanted.
func TestLooseText(t *testing.T) {
	loose := func(s string) *strictyaml.Node {
		return &strictyaml.Node{Kind: strictyaml.String, Text: s, Loose: true}
	}
	var n int
	var b bool
	var s, digits string
	number := loose("12")
	number.Kind = strictyaml.Number
	for _, problems := range [][]strictyaml.Problem{
		strictyaml.Decode(loose("12"), &n, strictyaml.Options{}),
		strictyaml.Decode(loose("true"), &b, strictyaml.Options{}),
		strictyaml.Decode(loose("no"), &s, strictyaml.Options{}),
		strictyaml.Decode(number, &digits, strictyaml.Options{}),
	} {
		if len(problems) > 0 {
			t.Error(render(problems))
		}
	}
	if n != 12 || !b || s != "no" || digits != "12" {
		t.Errorf("got %d, %t, %q, %q, want 12, true, no, 12", n, b, s, digits)
	}
	if problems := strictyaml.Decode(loose("012"), &n, strictyaml.Options{}); len(problems) != 1 {
		t.Errorf("got %s, want one problem with 012 as a number", render(problems))
	}
}

// A struct remembers where it was written also when it could not be read.
func TestBadValuesHaveAPlace(t *testing.T) {
	n, _ := strictyaml.Parse("menu.yaml", []byte("name: x\ndishes:\n  - {{x}}\n"))
	var m menu
	strictyaml.Decode(n, &m, strictyaml.Options{})
	if len(m.Dishes) != 1 || m.Dishes[0].Node() == nil || !m.Dishes[0].Node().Bad || m.Dishes[0].Node().Line != 3 {
		t.Errorf("got %+v, want one bad dish in line 3", m.Dishes)
	}
}
