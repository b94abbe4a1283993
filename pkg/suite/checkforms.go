package suite

import (
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// The types of this file are parts of checks that can be written in several
// forms. Their schemas are in schema.go.

// notFile is true, or a check that is turned around.
type notFile struct {
	Turned bool
	Check  *checkFile
}

func (f *notFile) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	if n.Kind != strictyaml.Map {
		if n.Kind != strictyaml.Bool && !n.Loose {
			d.Want(n, "true, or a check")
			return
		}
		d.Decode(n, &f.Turned)
		return
	}
	f.Check = &checkFile{}
	d.Decode(n, f.Check)
}

// textFile is a text, or a map that says where it is looked for.
type textFile struct {
	strictyaml.At
	placedTextFile
}

// A text and where it is looked for.
type placedTextFile struct {
	// The text.
	Text string `yaml:"text"`
	// Where to look: answer (the default), said, calls, results or all.
	In textPlace `yaml:"in,omitempty"`
	// Compare without regard to case.
	IgnoreCase bool `yaml:"ignore_case,omitempty"`
}

func (f *textFile) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	if n.Kind == strictyaml.Map {
		d.Decode(n, &f.placedTextFile)
		return
	}
	if n.Kind == strictyaml.List || n.Kind == strictyaml.Null {
		d.Want(n, "a text, or a map with text, in and ignore_case")
		return
	}
	d.Decode(n, &f.Text)
}

// regexFile is an expression, or a map that says where it is looked for.
type regexFile struct {
	strictyaml.At
	placedRegexFile
}

// A regular expression and where it is looked for.
type placedRegexFile struct {
	// The expression, in the syntax of RE2.
	Pattern string `yaml:"pattern"`
	// Where to look: answer (the default), said, calls, results or all.
	In textPlace `yaml:"in,omitempty"`
}

func (f *regexFile) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	if n.Kind == strictyaml.Map {
		d.Decode(n, &f.placedRegexFile)
		return
	}
	if n.Kind == strictyaml.List || n.Kind == strictyaml.Null {
		d.Want(n, "a regular expression, or a map with pattern and in")
		return
	}
	d.Decode(n, &f.Pattern)
}

// callPatternFile is the name of a tool, or a map that says more.
type callPatternFile struct {
	strictyaml.At
	callFile
}

// Selects calls by tool and, partially, by arguments.
type callFile struct {
	// Name of the tool.
	Tool string `yaml:"tool"`
	// What the arguments must match, partially.
	Arguments *strictyaml.Node `yaml:"arguments,omitempty"`
}

func (f *callPatternFile) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	toolOr(d, n, &f.Tool, &f.callFile)
}

// calledFile is the name of a tool, or a map that says more.
type calledFile struct {
	strictyaml.At
	countedCallFile
}

// Selects calls, and says how many there must be.
type countedCallFile struct {
	callFile
	// How many calls there must be. Default: at least one.
	Times *natural `yaml:"times,omitempty"`
	// Fewest calls.
	Min *natural `yaml:"min,omitempty"`
	// Most calls.
	Max *natural `yaml:"max,omitempty"`
}

func (f *calledFile) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	toolOr(d, n, &f.Tool, &f.countedCallFile)
}

// toolOr decodes the name of a tool, or a map into a struct.
func toolOr(d *strictyaml.Decoder, n *strictyaml.Node, tool *string, into any) {
	switch n.Kind {
	case strictyaml.Map:
		d.Decode(n, into)
	case strictyaml.List, strictyaml.Null:
		d.Want(n, "the name of a tool, or a map with tool and arguments")
	default:
		d.Decode(n, tool)
	}
}

// noRepeatsFile is true, or a map that says more.
type noRepeatsFile struct {
	strictyaml.At
	repeatsBoundFile
}

// How often the same call may be made.
type repeatsBoundFile struct {
	// Name of the tool. Default: any.
	Tool string `yaml:"tool,omitempty"`
	// Most calls that are the same. Default 1.
	Max positive `yaml:"max,omitempty"`
}

func (f *noRepeatsFile) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	trueOr(d, n, &f.repeatsBoundFile, "true, or a map with tool and max")
}

// noSensitiveFile is true, or a map that says more.
type noSensitiveFile struct {
	strictyaml.At
	sensitiveFile
}

// Which secrets and personal data may not be there.
type sensitiveFile struct {
	// Kinds to look for. Default: all.
	Kinds []string `yaml:"kinds,omitempty"`
	// Where to look: answer, said, calls, results or all (the default).
	In textPlace `yaml:"in,omitempty"`
	// Exact values that are no finding.
	Allow []string `yaml:"allow,omitempty"`
}

func (f *noSensitiveFile) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	trueOr(d, n, &f.sensitiveFile, "true, or a map with kinds, in and allow")
}

// trueOr accepts true, or decodes a map into a struct.
func trueOr(d *strictyaml.Decoder, n *strictyaml.Node, into any, want string) {
	switch {
	case n.Kind == strictyaml.Map:
		d.Decode(n, into)
	case (n.Kind == strictyaml.Bool || n.Loose) && n.Text == "true":
	case n.Kind == strictyaml.Bool:
		d.Report(n.Pos, "want "+want+", got false", "leave the check out, or turn it around with not: true")
	default:
		d.Want(n, want)
	}
}

// compareFile is a word, or a map with an expression or a tolerance.
type compareFile struct {
	strictyaml.At
	How how
	comparisonFile
}

// How the values of one argument are compared: exactly one of the keys.
type comparisonFile struct {
	// Regular expression (RE2) that the actual value must match, as text.
	Regex string `yaml:"regex,omitempty"`
	// How far two numbers may lie apart.
	Number *toleranceFile `yaml:"number,omitempty"`
}

func (f *compareFile) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	if n.Kind != strictyaml.Map {
		d.Decode(n, &f.How)
		return
	}
	d.Decode(n, &f.comparisonFile)
	if (n.Field("regex") == nil) == (n.Field("number") == nil) {
		d.Report(n.Pos, "a comparison is one of regex and number", "or one of the words exact, ignore_case, ignore and set")
	}
}

func (f *toleranceFile) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	type plain toleranceFile
	d.Decode(n, (*plain)(f))
	if n.Kind == strictyaml.Map && (n.Field("relative") == nil) == (n.Field("absolute") == nil) {
		d.Report(n.Pos, "a tolerance is one of relative and absolute", "")
	}
}
