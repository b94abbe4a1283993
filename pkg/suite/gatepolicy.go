package suite

import (
	"fmt"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// governed is a suite with the gate of a policy file in the place of its own. A policy
// has no references: it says the same whoever reads it.
func (l *loader) governed(tree *strictyaml.Node, o origin) *strictyaml.Node {
	policy := l.open(o, strictyaml.Pos{})
	if policy == nil || policy.Bad {
		return tree
	}
	out := *tree
	out.Fields = slices.DeleteFunc(slices.Clone(tree.Fields), func(f strictyaml.Field) bool { return f.Key.Text == "gate" })
	key := &strictyaml.Node{Pos: policy.Pos, Kind: strictyaml.String, Text: "gate"}
	out.Fields = append(out.Fields, strictyaml.Field{Key: key, Value: policy})
	return &out
}

// A Policy is a gate that was read from a file of its own.
type Policy struct {
	Gate eval.Gate
	// Rules tells where each rule is written.
	Rules    []strictyaml.Pos
	Warnings []strictyaml.Problem
}

// LoadGate reads a policy file for a run whose suite is not at hand: it knows the axes,
// the cases with their tags and the models that the run has frozen. Of the options Base
// and Projects count. The error is a [*ProblemsError] when the file is wrong.
func LoadGate(file string, of eval.Suite, opts Options) (*Policy, error) {
	project, name, err := openProject(file, opts.Projects...)
	if err != nil {
		return nil, fmt.Errorf("load gate: %w", err)
	}
	defer project.root.Close()
	l := &loader{
		sources: sources{origins: map[string]origin{}, contents: map[string][]byte{}, rowless: map[string]bool{}},
		opts:    opts, file: file, shown: Short(opts.Base, file), broken: map[place]bool{},
	}
	policy := l.open(origin{project, name, l.shown}, strictyaml.Pos{})
	loaded := &Loaded{Suite: of}
	if policy != nil && !policy.Bad {
		var form suiteFile
		form.Gate = &gateFile{}
		l.all = append(l.all, strictyaml.Decode(policy, form.Gate, strictyaml.Options{Free: freePrefix})...)
		l.breaks()
		b := &build{loader: l, file: &form, loaded: loaded, suite: &loaded.Suite}
		b.suite.Gate = eval.Gate{}
		b.gate(form.Gate)
	}
	strictyaml.Sort(l.all)
	Hide(l.all)
	problems := append(l.all, l.unsupported.all...)
	if l.failed() || len(l.unsupported.all) > 0 {
		return nil, &ProblemsError{Path: file, Problems: problems}
	}
	return &Policy{Gate: loaded.Suite.Gate, Rules: loaded.Rules, Warnings: l.all}, nil
}
