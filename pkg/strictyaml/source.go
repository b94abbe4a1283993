package strictyaml

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Source is one file's text, kept to show its lines in problems.
type Source struct {
	name   string
	data   []byte
	starts []int // byte offset of each line
}

func newSource(name string, data []byte) *Source {
	s := &Source{name: name, data: data, starts: []int{0}}
	for i, c := range data {
		if c == '\n' {
			s.starts = append(s.starts, i+1)
		}
	}
	return s
}

// line is the text of a line, counted from 1, without its line break.
func (s *Source) line(n int) string {
	if n < 1 || n > len(s.starts) {
		return ""
	}
	text, _, _ := bytes.Cut(s.data[s.starts[n-1]:], []byte("\n"))
	return strings.TrimSuffix(string(text), "\r")
}

// at gives the place of a byte offset. It reads the line up to there; for many
// places in a row there is [cursor].
func (s *Source) at(offset int) Pos {
	i, exact := slices.BinarySearch(s.starts, offset)
	if !exact {
		i--
	}
	return Pos{s, i + 1, utf8.RuneCount(s.data[s.starts[i]:offset]) + 1}
}

// A cursor gives the places of rising offsets, reading every byte once: a file
// of one long line must not take quadratic time.
type cursor struct {
	offset int
	pos    Pos
}

func (s *Source) cursor() *cursor {
	return &cursor{pos: Pos{s, 1, 1}}
}

// to moves forward to an offset.
func (c *cursor) to(offset int) Pos {
	s := c.pos.source
	for c.pos.Line < len(s.starts) && s.starts[c.pos.Line] <= offset {
		c.offset = s.starts[c.pos.Line]
		c.pos.Line++
		c.pos.Column = 1
	}
	c.pos.Column += utf8.RuneCount(s.data[c.offset:offset])
	c.offset = offset
	return c.pos
}

// A Pos is a place in a file. Its zero value is no place.
type Pos struct {
	source *Source
	// Line and Column count from 1.
	Line   int
	Column int
}

// File is the name of the file.
func (p Pos) File() string {
	if p.source == nil {
		return ""
	}
	return p.source.name
}

// Problem reports something at this place.
func (p Pos) Problem(message, hint string) Problem {
	out := Problem{File: p.File(), Line: p.Line, Column: p.Column, Message: message, Hint: hint}
	if p.source != nil {
		out.Source = p.source.line(p.Line)
	}
	return out
}
