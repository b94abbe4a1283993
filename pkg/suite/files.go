package suite

import (
	"cmp"
	"slices"
)

// A File is one that a suite was read from.
type File struct {
	// Project is the folder that the paths of the suite stay inside, absolute; Name is
	// the path of the file in it, with slashes.
	Project string
	Name    string
	// Data is what was read.
	Data []byte
}

// files that were read, whoever named them.
func (s *sources) files() []File {
	var out []File
	for shown, o := range s.origins {
		out = append(out, File{Project: o.project.dir, Name: o.name, Data: s.contents[shown]})
	}
	slices.SortFunc(out, func(a, b File) int {
		return cmp.Or(cmp.Compare(a.Project, b.Project), cmp.Compare(a.Name, b.Name))
	})
	return slices.CompactFunc(out, func(a, b File) bool { return a.Project == b.Project && a.Name == b.Name })
}
