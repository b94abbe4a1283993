package suite

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// sources reads the files that a suite is made of.
type sources struct {
	problems
	// origins tells by the name that problems show where a file is.
	origins map[string]origin
	// contents of these files, if they are to be known.
	contents map[string][]byte
	// reads and bytes count what was read, the same file again and again included.
	reads, bytes int
	// rowless holds what was reported of data sets, so that one slip in a
	// template is not reported for every row.
	rowless map[string]bool
}

// open parses a file that pos refers to; nil means that it reported why not.
func (s *sources) open(o origin, pos strictyaml.Pos) *strictyaml.Node {
	data, ok := s.read(o, pos)
	if !ok {
		return nil
	}
	n, found := strictyaml.Parse(o.shown, data)
	s.all = append(s.all, found...)
	return n
}

// Bounds of what one suite may make its loader read: a small one can name many files
// many times.
const (
	maxReads    = 100_000
	maxRead     = 256 << 20
	maxIncludes = 1000
)

// mayRead counts a file; false means that the bound is reached, which it reports once.
func (s *sources) mayRead(pos strictyaml.Pos, bytes int) bool {
	before := s.reads <= maxReads && s.bytes <= maxRead
	s.reads++
	s.bytes += bytes
	within := s.reads <= maxReads && s.bytes <= maxRead
	if before && !within {
		s.report(pos, fmt.Sprintf("the suite reads more than %d files or %d bytes", maxReads, maxRead), "name each file once")
	}
	return within
}

func (s *sources) read(o origin, pos strictyaml.Pos) ([]byte, bool) {
	if s.reads > maxReads || s.bytes > maxRead { // was reported
		return nil, false
	}
	data, err := o.project.read(o.name)
	if err == nil && !s.mayRead(pos, len(data)) {
		return nil, false
	}
	if err != nil {
		p := pos.Problem(fmt.Sprintf("cannot read %s: %s", strictyaml.Quote(filepath.ToSlash(o.shown)), plain(err)), "")
		if p.File == "" {
			p.File = o.shown
		}
		s.all = append(s.all, p)
		return nil, false
	}
	s.origins[o.shown] = o
	if s.contents != nil {
		s.contents[o.shown] = data
	}
	return data, true
}

// refer resolves a path written in a suite file.
func (s *sources) refer(n *strictyaml.Node, name string) (origin, bool) {
	from, ok := s.origins[n.File()]
	if !ok {
		return origin{}, false
	}
	o, inside := from.sibling(name)
	if !inside {
		s.report(n.Pos, fmt.Sprintf("%s leaves the project folder", strictyaml.Quote(name)), "the project is the nearest folder above with a .git or a go.mod")
	}
	return o, inside
}

// mustExist reports a path that leads to no file.
func (s *sources) mustExist(n *strictyaml.Node, name string) {
	o, ok := s.refer(n, name)
	if !ok {
		return
	}
	if _, err := o.project.root.Stat(filepath.FromSlash(o.name)); err != nil {
		s.report(n.Pos, fmt.Sprintf("cannot read %s: %s", strictyaml.Quote(name), plain(err)), "")
	}
}

// inherit puts a file on top of the one that it extends, and so on. The chain
// holds the names of the files below.
func (s *sources) inherit(o origin, n *strictyaml.Node, chain []string) *strictyaml.Node {
	from := n.Get("extends")
	if from == nil || from.Kind != strictyaml.String {
		return n
	}
	chain = append(chain, o.name)
	parent, ok := s.refer(from, from.Text)
	if !ok {
		return n
	}
	if slices.Contains(chain, parent.name) {
		s.report(from.Pos, "extends goes in a circle: "+strings.Join(append(chain, parent.name), " → "), "")
		return n
	}
	base := s.open(parent, from.Pos)
	if base == nil {
		return n
	}
	s.version(base)
	return merge(s.inherit(parent, base, chain), n)
}

// version checks the format of a file that is merged into another one. The
// format of the outermost file is checked when it is decoded.
func (s *sources) version(n *strictyaml.Node) {
	var v version
	if at := n.Get("version"); at != nil {
		s.all = append(s.all, strictyaml.Decode(at, &v, strictyaml.Options{})...)
		return
	}
	s.report(n.Pos, `missing key "version"`, fmt.Sprintf("write version: %d", formatVersion))
}

// merge puts a value on top of another: maps are merged to any depth, anything
// else replaces what is below.
func merge(below, above *strictyaml.Node) *strictyaml.Node {
	if below.Kind != strictyaml.Map || above.Kind != strictyaml.Map {
		return above
	}
	out := *above
	out.Fields = nil
	for _, f := range below.Fields {
		if over := above.Field(f.Key.Text); over != nil {
			f = strictyaml.Field{Key: over.Key, Value: merge(f.Value, over.Value)}
		}
		out.Fields = append(out.Fields, f)
	}
	for _, f := range above.Fields {
		if below.Field(f.Key.Text) == nil {
			out.Fields = append(out.Fields, f)
		}
	}
	return &out
}

// includedFile is what a file named by include may hold.
type includedFile struct {
	Version version            `yaml:"version"`
	Cases   []*strictyaml.Node `yaml:"cases,omitempty"`
}

// glob reads the cases of all files that a pattern matches, in the order of
// their names.
func (s *sources) glob(n *strictyaml.Node, pattern string) []*strictyaml.Node {
	o, ok := s.refer(n, pattern)
	if !ok {
		return nil
	}
	names, err := fs.Glob(o.project.root.FS(), o.name)
	if err != nil {
		s.report(n.Pos, "bad pattern "+strictyaml.Quote(pattern), "* and ? match inside one part of a path, […] one character of several")
		return nil
	}
	self := s.origins[n.File()]
	names = slices.DeleteFunc(names, func(name string) bool { return name == self.name })
	if len(names) == 0 {
		s.report(n.Pos, strictyaml.Quote(pattern)+" matches no file", "")
		return nil
	}
	var cases []*strictyaml.Node
	for _, name := range names {
		file := origin{o.project, name, filepath.Join(filepath.Dir(o.shown), filepath.FromSlash(relative(path.Dir(o.name), name)))}
		root := s.open(file, n.Pos)
		if root == nil {
			continue
		}
		var included includedFile
		s.all = append(s.all, strictyaml.Decode(root, &included, strictyaml.Options{Free: freePrefix})...)
		cases = append(cases, included.Cases...)
	}
	return cases
}

// relative is the path of name as seen from dir, both in the project.
func relative(dir, name string) string {
	rel, err := filepath.Rel(filepath.FromSlash(dir), filepath.FromSlash(name))
	if err != nil {
		return name
	}
	return filepath.ToSlash(rel)
}

// freePrefix begins the keys that are free for the user's own notes.
const freePrefix = "x-"
