package strictyaml

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"path"
	"strings"
)

// ParseRows reads a data set: a .jsonl file with a JSON object in each line, a
// .json file with a list of objects, or a .csv file whose first row names the
// fields. Every row is a map; values of a CSV file are strings.
func ParseRows(name string, data []byte) ([]*Node, []Problem) {
	src, problem, ok := open(name, data)
	if !ok {
		return nil, []Problem{problem}
	}
	var rows []*Node
	var problems []Problem
	switch strings.ToLower(path.Ext(name)) {
	case ".csv":
		return parseCSV(src)
	case ".jsonl":
		rows, problems = parseJSONLines(src)
	case ".json":
		var n *Node
		n, problems = parseJSON(src)
		if n != nil && n.Kind != List {
			return nil, append(problems, n.Problem("want a list of rows, got "+n.Describe(), ""))
		}
		if n != nil {
			rows = n.Items
		}
	default:
		return nil, []Problem{{File: name, Message: "a data set is a .jsonl, .json or .csv file"}}
	}
	for _, row := range rows {
		if row.Kind != Map {
			problems = append(problems, row.Problem("want an object, got "+row.Describe(), "every row is an object"))
		}
	}
	return rows, problems
}

func parseJSONLines(src *Source) ([]*Node, []Problem) {
	r := newJSONReader(src)
	var rows []*Node
	for r.next().source != nil {
		row := r.value(1)
		if row == nil {
			break
		}
		rows = append(rows, row)
	}
	return rows, r.problems
}

func parseCSV(src *Source) ([]*Node, []Problem) {
	b := builder{src: src}
	data := bytes.TrimPrefix(src.data, []byte("\ufeff"))
	b.src = newSource(src.name, data)
	reader := csv.NewReader(bytes.NewReader(data))
	place := b.src.cursor()
	var names []*Node
	var rows []*Node
	for {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return rows, b.problems
		}
		if parse, bad := errors.AsType[*csv.ParseError](err); bad {
			b.report(Pos{b.src, parse.Line, max(1, parse.Column)}, "not valid CSV: "+parse.Err.Error(), "")
			return rows, b.problems
		}
		cells := make([]*Node, len(record))
		for i, text := range record {
			line, column := reader.FieldPos(i)
			pos := place.to(b.src.starts[line-1] + column - 1)
			cells[i] = &Node{Pos: pos, Kind: String, Text: text}
			if !b.grow(pos, 1, len(text)) {
				return rows, b.problems
			}
		}
		if names == nil {
			names = cells
			if b.row(names, names); len(b.problems) > 0 {
				return nil, b.problems
			}
			continue
		}
		rows = append(rows, b.row(names, cells))
	}
}

// row pairs the names of the first row with the cells of another one, which the
// CSV reader has checked to be as many.
func (b *builder) row(names, cells []*Node) *Node {
	n := &Node{Pos: cells[0].Pos, Kind: Map}
	seen := map[string]Pos{}
	for i, cell := range cells {
		b.add(n, seen, names[i], cell)
	}
	return n
}
