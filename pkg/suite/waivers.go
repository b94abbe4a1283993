package suite

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
	"github.com/evalfarm/evalfarm/pkg/waiver"
)

// branchName is a branch of git, in characters that nothing else reads into it.
type branchName string

const branchPattern = `^[A-Za-z0-9_]([A-Za-z0-9_-]|[./][A-Za-z0-9_-])*$`

var branchRE = regexp.MustCompile(branchPattern)

func (s *branchName) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	*s = branchName(textLike(d, n, branchRE, "the name of a branch, such as main"))
}

// waivers reads the files that a gate names. Whether somebody has approved what is in
// them is asked when a run is made: time and git have a say in it.
func (b *build) waivers(g *gateFile) {
	at := g.Node()
	b.suite.Gate.ProtectedBranch = string(g.ProtectedBranch)
	for _, key := range []string{"allowed_signers", "protected_branch"} {
		if g.Waivers == "" && at.Field(key) != nil {
			b.report(at.Place(key), key+" is about waivers, and the gate names none", "gate: {waivers: FILE}")
		}
	}
	if g.Waivers == "" {
		return
	}
	n := at.Get("waivers")
	o, data, ok := b.beside(n, g.Waivers)
	if !ok {
		return
	}
	file, problems := waiver.Parse(o.shown, data)
	b.all = append(b.all, problems...)
	if file != nil && file.Suite != b.suite.Name {
		b.report(n.Pos, fmt.Sprintf("the waivers are for suite %s, and this is %s", strictyaml.Quote(file.Suite), strictyaml.Quote(b.suite.Name)), "a waiver is good in one suite")
	}
	b.idleWaivers(file)
	b.loaded.Waivers, b.loaded.WaiverPath = file, filepath.Join(o.project.dir, filepath.FromSlash(o.name))
	if g.AllowedSigners == "" {
		return
	}
	o, data, ok = b.beside(at.Get("allowed_signers"), g.AllowedSigners)
	if !ok {
		return
	}
	b.loaded.Signers, problems = waiver.ParseSigners(o.shown, data)
	b.all = append(b.all, problems...)
}

// idleWaivers warns of waivers that no case is covered by: of a typo, or of a case
// that is gone.
func (b *build) idleWaivers(file *waiver.File) {
	if file == nil || len(b.suite.Cases) == 0 || b.failed() {
		return
	}
	for _, w := range file.Waivers {
		if w.Case != "" && !slices.ContainsFunc(b.suite.Cases, func(c eval.Case) bool { return w.Covers(c.ID) }) {
			p := w.Problem("the suite has no case "+strictyaml.Quote(w.Case), "the waiver does nothing")
			p.Warning = true
			b.all = append(b.all, p)
		}
	}
}

// beside reads a file that the suite names.
func (b *build) beside(n *strictyaml.Node, name string) (origin, []byte, bool) {
	o, ok := b.refer(n, name)
	if !ok {
		return o, nil, false
	}
	data, ok := b.read(o, n.Pos)
	return o, data, ok
}
