package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// yamlReader turns the parser's nodes into ours.
type yamlReader struct {
	builder
	open map[*yaml.Node]bool // aliases being expanded, to find circles
}

func parseYAML(src *Source) (*Node, []Problem) {
	r := &yamlReader{builder: builder{src: src}, open: map[*yaml.Node]bool{}}
	dec := yaml.NewDecoder(bytes.NewReader(src.data))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, []Problem{{File: src.name, Message: "the file is empty"}}
		}
		return nil, []Problem{r.syntax(err)}
	}
	switch err := dec.Decode(&more); {
	case err == nil:
		r.report(r.pos(&more), "the file holds several YAML documents", "one file, one document; remove the --- line")
	case !errors.Is(err, io.EOF):
		return nil, []Problem{r.syntax(err)}
	}
	if len(doc.Content) != 1 {
		return nil, append(r.problems, Problem{File: src.name, Message: "the file is empty"})
	}
	return r.node(doc.Content[0], 1), r.problems
}

var (
	syntaxLineRE = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)
	// zeroBasedRE matches the errors whose line the parser counts from 0.
	zeroBasedRE = regexp.MustCompile(`^did not find expected (key|node|'|<)`)
	// bracesRE matches an unquoted {{ where a value starts.
	bracesRE = regexp.MustCompile(`(?:^|[:\-\[,{?])\s*(\$?\{\{)`)
	// questionRE matches a question mark right before what ends a value inside
	// braces or brackets, where the parser takes it for a sign of its own.
	questionRE = regexp.MustCompile(`[^\s"'](\?)\s*[,}\]]`)
)

// syntax reports an error of the parser, which gives a line, or none for the
// first one, and no column.
func (r *yamlReader) syntax(err error) Problem {
	m := syntaxLineRE.FindStringSubmatch(err.Error())
	if m == nil {
		return Problem{File: r.src.name, Message: "not valid YAML: " + visible(err.Error())}
	}
	text := strings.TrimPrefix(err.Error(), m[0])
	line, _ := strconv.Atoi(m[1]) // 0 without a number
	if line == 0 || zeroBasedRE.MatchString(text) {
		line++
	}
	line = min(line, len(r.src.starts))
	message := "not valid YAML: " + visible(text)
	for _, n := range []int{line, line - 1} {
		if at := bracesRE.FindStringSubmatchIndex(r.src.line(n)); at != nil {
			return r.src.at(r.src.starts[n-1]+at[2]).Problem(message, bracesHint)
		}
		if at := questionRE.FindStringSubmatchIndex(r.src.line(n)); at != nil {
			return r.src.at(r.src.starts[n-1]+at[2]).Problem(message, questionHint)
		}
	}
	source := r.src.line(line)
	column := len(source) - len(strings.TrimLeft(source, " \t")) + 1
	return Pos{r.src, line, column}.Problem(message, "")
}

const questionHint = `inside { } and [ ] a ? must not end an unquoted text; quote the text`

const bracesHint = `YAML reads an unquoted {{ as a map; quote the whole value: "{{name}}"`

func (r *yamlReader) pos(y *yaml.Node) Pos {
	return Pos{r.src, y.Line, y.Column}
}

// bad stands for a value that was reported.
func bad(pos Pos) *Node { return &Node{Pos: pos, Kind: Null, Text: "null", Bad: true} }

// node converts one value.
func (r *yamlReader) node(y *yaml.Node, depth int) *Node {
	pos := r.pos(y)
	if !r.grow(pos, depth, len(y.Value)) {
		return bad(pos)
	}
	switch y.Kind {
	case yaml.AliasNode:
		if r.open[y.Alias] {
			r.report(pos, "alias "+Quote(y.Value)+" stands for a value that contains itself", "")
			return bad(pos)
		}
		return r.node(y.Alias, depth)
	case yaml.SequenceNode:
		return r.list(y, depth)
	case yaml.MappingNode:
		return r.mapping(y, depth)
	default:
		return r.scalar(y)
	}
}

func (r *yamlReader) list(y *yaml.Node, depth int) *Node {
	if tag := y.ShortTag(); tag != "!!seq" {
		r.badTag(y, tag)
		return bad(r.pos(y))
	}
	r.open[y] = true
	defer delete(r.open, y)
	n := &Node{Pos: r.pos(y), Kind: List}
	for _, item := range y.Content {
		n.Items = append(n.Items, r.node(item, depth+1))
	}
	return n
}

func (r *yamlReader) mapping(y *yaml.Node, depth int) *Node {
	if inner, ok := doubleBrace(y); ok {
		r.report(r.pos(y), "unquoted {{"+inner+"}}", bracesHint)
		return bad(r.pos(y))
	}
	if tag := y.ShortTag(); tag != "!!map" {
		r.badTag(y, tag)
		return bad(r.pos(y))
	}
	r.open[y] = true
	defer delete(r.open, y)
	n := &Node{Pos: r.pos(y), Kind: Map}
	seen := map[string]Pos{}
	var merged []*Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		k, v := y.Content[i], y.Content[i+1]
		if k.Kind == yaml.ScalarNode && k.ShortTag() == "!!merge" {
			merged = append(merged, r.merge(v, depth+1)...)
			continue
		}
		key := r.key(k)
		value := r.node(v, depth+1)
		if key != nil {
			r.add(n, seen, key, value)
		}
	}
	// Own keys win over merged ones, earlier merged ones over later.
	for _, m := range merged {
		for _, f := range m.Fields {
			if _, have := seen[f.Key.Text]; !have {
				r.add(n, seen, f.Key, f.Value)
			}
		}
	}
	return n
}

// merge reads the value of a << key: a map or a list of maps.
func (r *yamlReader) merge(y *yaml.Node, depth int) []*Node {
	v := r.node(y, depth)
	if v.Bad {
		return nil
	}
	maps := []*Node{v}
	if v.Kind == List {
		maps = v.Items
	}
	for _, m := range maps {
		if m.Kind != Map {
			r.report(r.pos(y), "<< merges maps, got "+m.Describe(), "")
			return nil
		}
	}
	return maps
}

func (r *yamlReader) key(y *yaml.Node) *Node {
	if y.Kind == yaml.AliasNode {
		y = y.Alias
	}
	pos := r.pos(y)
	if !r.grow(pos, 1, len(y.Value)) {
		return nil
	}
	if y.Kind != yaml.ScalarNode || y.ShortTag() == "!!null" {
		r.report(pos, "a key must be text", "")
		return nil
	}
	return &Node{Pos: pos, Kind: String, Text: y.Value}
}

// doubleBrace recognises the map that YAML makes of {{name}}.
func doubleBrace(y *yaml.Node) (string, bool) {
	if y.Style&yaml.FlowStyle == 0 || len(y.Content) < 2 {
		return "", false
	}
	k := y.Content[0]
	if k.Kind != yaml.MappingNode || k.Style&yaml.FlowStyle == 0 || k.Line != y.Line || k.Column != y.Column+1 {
		return "", false
	}
	if len(k.Content) > 0 && k.Content[0].Kind == yaml.ScalarNode {
		return strings.Trim(Quote(k.Content[0].Value), `"`), true
	}
	return "", true
}

func (r *yamlReader) badTag(y *yaml.Node, tag string) {
	r.report(r.pos(y), "tag "+Quote(tag)+" is not supported", "write plain strings, numbers, lists and maps")
}

var (
	// yaml11BoolRE matches what YAML 1.1 reads as true or false and 1.2 as text.
	yaml11BoolRE = regexp.MustCompile(`^(?i:yes|no|on|off)$`)
	// yaml11Base60RE matches what YAML 1.1 reads as a number to the base of 60.
	yaml11Base60RE = regexp.MustCompile(`^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$`)
	// oldNumberRE matches numbers that YAML 1.1 and 1.2 read differently.
	oldNumberRE = regexp.MustCompile(`^[-+]?(0[0-9]+$|[0-9.][0-9a-fA-FxXob.eE]*_)`)
)

func (r *yamlReader) scalar(y *yaml.Node) *Node {
	n := &Node{Pos: r.pos(y), Kind: String, Text: y.Value}
	plain := y.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) == 0
	if plain && oldNumberRE.MatchString(y.Value) {
		r.report(n.Pos, cut(y.Value)+" is read differently by different versions of YAML",
			fmt.Sprintf("quote it (%q) or write the number without a leading 0 or _", cut(y.Value)))
		return bad(n.Pos)
	}
	switch tag := y.ShortTag(); tag {
	case "!!str", "!!timestamp":
		switch {
		case plain && plainNumberRE.MatchString(y.Value):
			n.Kind = Number // one that is too large for the parser
		case plain && yaml11BoolRE.MatchString(y.Value):
			r.warn(n.Pos, fmt.Sprintf("unquoted %s is text here, but true or false in YAML 1.1", y.Value),
				fmt.Sprintf("quote it (%q), or write true or false", y.Value))
		case plain && yaml11Base60RE.MatchString(y.Value):
			r.warn(n.Pos, fmt.Sprintf("unquoted %s is text here, but a number to the base of 60 in YAML 1.1", cut(y.Value)),
				fmt.Sprintf("quote it (%q)", cut(y.Value)))
		}
	case "!!null":
		n.Kind, n.Text = Null, "null"
	case "!!bool":
		n.Kind, n.Text = Bool, strings.ToLower(y.Value)
		if n.Text != "true" && n.Text != "false" {
			r.report(n.Pos, "want true or false, got "+Quote(y.Value), "")
			return bad(n.Pos)
		}
	case "!!int", "!!float":
		text, ok := jsonNumber(y.Value)
		if !ok {
			r.report(n.Pos, Quote(y.Value)+" is no number that JSON has", "quote it to make it text")
			return bad(n.Pos)
		}
		n.Kind, n.Text = Number, text
	default:
		r.badTag(y, tag)
		return bad(n.Pos)
	}
	return n
}
