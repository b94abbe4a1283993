package suite

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// Bounds of what one suite may grow to, so that a slip in a data set or in each
// is an error and not an exhausted machine.
const (
	maxCases  = 100_000
	maxValues = 2_000_000
)

// rows makes the cases of a data set: one node per row, with the fields of the
// row filled into the template.
func (s *sources) rows(entry *includeFile) []*strictyaml.Node {
	at, data := entry.Node(), entry.Data
	path := at.Get("dataset")
	if path == nil || data.Case == nil || data.ID == "" {
		return nil // reported as missing
	}
	if f := data.Case.Field("id"); f != nil {
		s.report(f.Key.Pos, "the id of a row's case stands beside case", "it belongs one level up")
		return nil
	}
	o, ok := s.refer(path, data.Dataset)
	if !ok {
		return nil
	}
	text, ok := s.read(o, path.Pos)
	if !ok {
		return nil
	}
	rows, found := strictyaml.ParseRows(o.shown, text)
	s.all = append(s.all, found...)
	if len(rows) == 0 && len(found) == 0 {
		s.report(path.Pos, strictyaml.Quote(data.Dataset)+" has no rows", "")
	}
	size := 0
	data.Case.Walk(func(*strictyaml.Node) { size++ })
	if len(rows) > maxCases || len(rows)*size > maxValues {
		s.report(path.Pos, fmt.Sprintf("%d rows are too many for one suite", len(rows)), fmt.Sprintf("at most %d cases and %d values", maxCases, maxValues))
		return nil
	}
	var cases []*strictyaml.Node
	for _, row := range rows {
		if row.Kind != strictyaml.Map {
			continue // reported
		}
		id := at.Get("id")
		f := rowFill{s, row}
		name := f.copy(id, false)
		out := &strictyaml.Node{Pos: row.Pos, Kind: strictyaml.Map}
		out.Fields = append(out.Fields, strictyaml.Field{
			Key:   at.Field("id").Key,
			Value: &strictyaml.Node{Pos: row.Pos, Kind: strictyaml.String, Text: asText(name)},
		})
		for _, field := range data.Case.Fields {
			out.Fields = append(out.Fields, strictyaml.Field{Key: field.Key, Value: f.inCase(field.Value, field.Key.Text)})
		}
		cases = append(cases, out)
	}
	return cases
}

// rowFill fills {{row.FIELD}} with the values of one row.
type rowFill struct {
	*sources
	row *strictyaml.Node
}

// inCase fills what stands below a key of a case.
func (f rowFill) inCase(n *strictyaml.Node, key string) *strictyaml.Node {
	if key != "agent" && key != "user" || n.Kind != strictyaml.Map {
		return f.copy(n, templated(key))
	}
	out := *n
	out.Fields = nil
	for _, field := range n.Fields {
		out.Fields = append(out.Fields, strictyaml.Field{Key: field.Key, Value: f.copy(field.Value, templated(key+"."+field.Key.Text))})
	}
	return &out
}

// rowFieldRE matches a placeholder of a row, and {{{{, which begins none.
var rowFieldRE = regexp.MustCompile(`\{\{\{\{|\{\{ *row\.([^\s{}]+) *\}\}`)

// copy fills a template into a new one. A string that is one placeholder becomes the value
// with its type. In a template for the trial, what is filled in is escaped.
func (f rowFill) copy(n *strictyaml.Node, template bool) *strictyaml.Node {
	out := *n
	out.Items, out.Fields = nil, nil
	for _, item := range n.Items {
		out.Items = append(out.Items, f.copy(item, template))
	}
	for _, field := range n.Fields {
		out.Fields = append(out.Fields, strictyaml.Field{Key: field.Key, Value: f.copy(field.Value, template)})
	}
	if n.Kind != strictyaml.String || !strings.Contains(n.Text, "row.") {
		return &out
	}
	place := scope{template: template}
	if m := rowFieldRE.FindStringSubmatch(n.Text); m != nil && m[0] == n.Text && m[1] != "" {
		if value := f.value(n, m[1]); value != nil {
			return clone(value, func(s string) string { return written(s, place) })
		}
		return &out
	}
	out.Text = rowFieldRE.ReplaceAllStringFunc(n.Text, func(match string) string {
		m := rowFieldRE.FindStringSubmatch(match)
		if m[1] == "" {
			return match
		}
		value := f.value(n, m[1])
		if value == nil {
			return ""
		}
		return written(asText(value), place)
	})
	return &out
}

// value finds a field of the row, by a path with dots for fields of objects.
func (f rowFill) value(n *strictyaml.Node, name string) *strictyaml.Node {
	v := f.row.Get(name)
	if v == nil {
		v = f.row.Get(strings.Split(name, ".")...)
	}
	if v != nil && !f.fill(n.Pos, len(v.JSON())) {
		return nil
	}
	if slip := fmt.Sprint(placeOf(n.Pos), name); v == nil && !f.rowless[slip] {
		f.rowless[slip] = true
		f.report(n.Pos, fmt.Sprintf("the row in %s:%d has no field %s", f.row.File(), f.row.Line, strictyaml.Quote(name)),
			cmp.Or(strictyaml.DidYouMean(name, keys(f.row)), "its fields: "+strings.Join(keys(f.row), ", ")))
	}
	return v
}
