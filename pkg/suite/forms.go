package suite

import (
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// The types of this file are values that can be written in several forms. Their
// schemas are in schema.go.

// includeFile is a glob of suite files, or a data set.
type includeFile struct {
	strictyaml.At
	Glob string
	Data *datasetFile
}

// A data set: one case per row.
type datasetFile struct {
	// A .jsonl, .json or .csv file.
	Dataset string `yaml:"dataset"`
	// Id of the row's case, with {{row.FIELD}}.
	ID string `yaml:"id"`
	// The case, with {{row.FIELD}} in its values. Its id comes from the row.
	Case *strictyaml.Node `yaml:"case"`
}

func (f *includeFile) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	switch n.Kind {
	case strictyaml.String:
		f.Glob = n.Text
	case strictyaml.Map:
		f.Data = &datasetFile{}
		d.Decode(n, f.Data)
		if c := f.Data.Case; c != nil && c.Kind != strictyaml.Map {
			d.Want(c, "a map")
		}
	default:
		d.Want(n, "a glob of suite files, or a map with dataset, id and case")
	}
}

// varsFile is a map of variables. Their names are words.
type varsFile map[string]*strictyaml.Node

func (v *varsFile) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	d.Decode(n, (*map[string]*strictyaml.Node)(v))
	for _, f := range n.Fields {
		if !variableNameRE.MatchString(f.Key.Text) {
			d.Report(f.Key.Pos, strictyaml.Quote(f.Key.Text)+" is no name for a variable", "letters, digits, _ and -, beginning with a letter or _")
		}
	}
}

// axisFile is a list of values, or a map from value to what it sets.
type axisFile struct {
	strictyaml.At
	Values []*strictyaml.Node   // scalars, in order
	Points map[string]pointFile // what a value sets, if anything
}

func (a *axisFile) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	switch n.Kind {
	case strictyaml.List:
		for _, item := range n.Items {
			if item.Kind == strictyaml.Map || item.Kind == strictyaml.List || item.Kind == strictyaml.Null {
				d.Want(item, "a value of the axis")
				continue
			}
			a.Values = append(a.Values, item)
		}
	case strictyaml.Map:
		d.Decode(n, &a.Points)
		for _, f := range n.Fields {
			a.Values = append(a.Values, f.Key)
		}
	default:
		d.Want(n, "a list of values, or a map from value to vars, env, headers and agent")
	}
}

// repeatsFile is a number, or a range with one way to choose.
type repeatsFile struct {
	strictyaml.At
	N     positive
	Range *rangeFile
}

// A range of repeats with exactly one way to choose: fit or stop.
type rangeFile struct {
	// Fewest repeats.
	Min positive `yaml:"min"`
	// Most repeats.
	Max positive `yaml:"max"`
	// budget: as many as the budget affords.
	Fit fit `yaml:"fit,omitempty"`
	// decided: until the answer is known.
	Stop stop `yaml:"stop,omitempty"`
}

func (r *repeatsFile) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	if n.Kind != strictyaml.Map {
		d.Decode(n, &r.N)
		return
	}
	r.Range = &rangeFile{}
	d.Decode(n, r.Range)
	if (r.Range.Fit == "") == (r.Range.Stop == "") && n.Get("min") != nil && n.Get("max") != nil {
		d.Report(n.Pos, "repeats between min and max need exactly one of fit and stop", `add "fit: budget" or "stop: decided"`)
	}
}

// expectErrorFile is true, a text, or an object.
type expectErrorFile struct {
	strictyaml.At
	eval.ExpectError
}

// A rejection that a call must get.
type rejectionFile struct {
	// any (the default), tool (a result with isError), protocol (a JSON-RPC error) or unknown_tool.
	Kind errorKind `yaml:"kind,omitempty"`
	// Text that the message must contain.
	Contains string `yaml:"contains,omitempty"`
	// JSON-RPC error code of a protocol rejection.
	Code *int `yaml:"code,omitempty"`
}

func (e *expectErrorFile) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	e.Kind = eval.ErrorAny
	switch {
	case n.Kind == strictyaml.Bool && n.Text == "true":
	case n.Kind == strictyaml.String:
		e.Contains = n.Text
	case n.Kind == strictyaml.Map:
		var r rejectionFile
		d.Decode(n, &r)
		if r.Kind != "" {
			e.Kind = eval.ErrorKind(r.Kind)
		}
		e.Contains, e.Code = r.Contains, r.Code
	default:
		d.Want(n, "true, a text that the message contains, or a map with kind, contains and code")
	}
}

// rulesFile is all, or a list of rule names.
type rulesFile struct {
	strictyaml.At
	Names []string
}

func (r *rulesFile) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	switch {
	case n.Kind == strictyaml.String && n.Text == "all":
	case n.Kind == strictyaml.List && len(n.Items) > 0:
		d.Decode(n, &r.Names)
	default:
		d.Want(n, "all, or a list of rule names")
	}
}

// passRateFile is a rule for agent cases, or rules by kind.
type passRateFile struct {
	strictyaml.At
	Plain   bool
	Basis   basis
	Script  rule
	Agent   rule
	Catalog rule
}

// Pass rates by kind of case.
type passRatesFile struct {
	// For script cases.
	Script rule `yaml:"script,omitempty"`
	// For catalog cases.
	Catalog rule `yaml:"catalog,omitempty"`
	// For agent cases.
	Agent rule `yaml:"agent,omitempty"`
	// What decides on agent cases: interval (the default), or observed, which takes the rate as it is.
	Basis basis `yaml:"basis,omitempty"`
}

func (p *passRateFile) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	if n.Kind != strictyaml.Map {
		p.Plain = true
		d.Decode(n, &p.Agent)
		return
	}
	var r passRatesFile
	d.Decode(n, &r)
	p.Script, p.Catalog, p.Agent, p.Basis = r.Script, r.Catalog, r.Agent, r.Basis
}
