package suite

import (
	"fmt"
	"path"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// LoadPolicy reads a policy file of the scripted provider: a .yaml, .yml or
// .json file. Problems show its path relative to base, if it is below it. The
// error is a [*ProblemsError] when the file is wrong or cannot be read.
func LoadPolicy(file, base string) (eval.Policy, error) {
	project, name, err := openProject(file)
	if err != nil {
		return eval.Policy{}, fmt.Errorf("load policy: %w", err)
	}
	defer project.root.Close()
	s := sources{origins: map[string]origin{}}
	p := s.openPolicy(origin{project, name, Short(base, file)}, strictyaml.Pos{})
	if p == nil {
		strictyaml.Sort(s.all)
		return eval.Policy{}, &ProblemsError{Path: file, Problems: s.all}
	}
	return *p, nil
}

// policy reads the policy file that a node names, which is what stands at
// "script" of a model. Its path counts from the file that the node is written in
// and stays inside the project. Nil means that it reported why there is none, or
// that the node itself was reported.
func (s *sources) policy(at *strictyaml.Node) *eval.Policy {
	if at == nil || at.Kind != strictyaml.String {
		return nil
	}
	o, ok := s.refer(at, at.Text)
	if !ok {
		return nil
	}
	return s.openPolicy(o, at.Pos)
}

// openPolicy reads a policy file that pos refers to; nil means that it reported
// why not.
func (s *sources) openPolicy(o origin, pos strictyaml.Pos) *eval.Policy {
	before := len(s.all)
	n := s.open(o, pos)
	var file policyFile
	s.all = append(s.all, strictyaml.Decode(n, &file, strictyaml.Options{Free: freePrefix})...)
	fresh := problems{all: s.all[before:]}
	if n == nil || fresh.failed() {
		return nil
	}
	s.idle(file.Default)
	for _, key := range sorted(file.Cases) {
		s.idle(file.Cases[key])
	}
	return file.policy()
}

// A policy of the scripted provider: what the model does in each case.
type policyFile struct {
	// Version of the policy format: 1.
	Version policyVersion `yaml:"version"`
	// Moves by case id, or by a glob of ids.
	Cases map[string]movesFile `yaml:"cases,omitempty"`
	// Moves in all other cases.
	Default movesFile `yaml:"default,omitempty"`
}

func (p *policyFile) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	type plain policyFile
	d.Decode(n, (*plain)(p))
	cases := n.Get("cases")
	if n.Kind == strictyaml.Map && n.Field("default") == nil && (cases == nil || cases.Kind == strictyaml.Map && len(cases.Fields) == 0) {
		d.Report(n.Pos, "a policy without moves", `add "cases" or "default"`)
	}
	if cases != nil {
		for _, f := range cases.Fields {
			if _, err := path.Match(f.Key.Text, ""); err != nil || f.Key.Text == "" {
				d.Report(f.Key.Pos, strictyaml.Quote(f.Key.Text)+" is no case id and no glob of them", "* and ? match inside one part of an id, […] one character of several")
			}
			noMoves(d, f.Value)
		}
	}
	noMoves(d, n.Get("default"))
}

// noMoves reports an empty list where a model would have nothing to do.
func noMoves(d *strictyaml.Decoder, n *strictyaml.Node) {
	if n != nil && n.Kind == strictyaml.List && len(n.Items) == 0 {
		d.Report(n.Pos, "no moves", `a model that keeps silent is {say: ""}`)
	}
}

func (p *policyFile) policy() *eval.Policy {
	out := &eval.Policy{Default: p.Default.moves()}
	for key, moves := range p.Cases {
		if out.Cases == nil {
			out.Cases = map[string][]eval.Move{}
		}
		out.Cases[key] = moves.moves()
	}
	return out
}

// policyVersion is the version of the policy format.
type policyVersion int

const policyFormat = 1

func (v *policyVersion) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	d.Decode(n, (*int)(v))
	if *v != policyFormat && n.Kind == strictyaml.Number {
		d.Report(n.Pos, fmt.Sprintf("this evalfarm reads policy format %d, got %s", policyFormat, n.Text), "")
	}
}

type movesFile []moveFile

func (f movesFile) moves() []eval.Move {
	var out []eval.Move
	for _, m := range f {
		out = append(out, m.move())
	}
	return out
}

// move is the noun of a move that has no problems.
func (m *moveFile) move() eval.Move {
	out := eval.Move{
		Say: m.Say, Times: int(m.Times), Then: m.Then.moves(), Else: m.Else.moves(),
		LatencyMS: milliseconds(m.Latency),
	}
	if m.Call != "" {
		out.Calls = []eval.ScriptedCall{scriptedCall(m.Call, m.Arguments, m.Raw)}
	}
	for _, c := range m.Calls {
		out.Calls = append(out.Calls, scriptedCall(c.Tool, c.Arguments, c.Raw))
	}
	for _, c := range m.Choose {
		out.Choose = append(out.Choose, eval.Choice{Weight: float64(c.Weight), Moves: c.Moves.moves()})
	}
	if m.If != nil {
		out.If = &eval.Condition{Contains: m.If.Contains, Error: m.If.Error}
	}
	if m.Fail != nil {
		out.Fail = &eval.ScriptedFailure{Kind: string(m.Fail.Kind), RetryAfterMS: milliseconds(m.Fail.RetryAfter)}
	}
	if u := m.Usage; u != nil {
		out.Usage = &eval.Usage{
			Input: int(u.Input), CacheRead: int(u.CacheRead), CacheWrite: int(u.CacheWrite),
			Output: int(u.Output), Reasoning: int(u.Reasoning),
		}
	}
	return out
}

func scriptedCall(tool string, arguments *strictyaml.Node, raw *string) eval.ScriptedCall {
	out := eval.ScriptedCall{Tool: tool, Raw: raw}
	if arguments != nil {
		out.Arguments = arguments.JSON()
	}
	return out
}

func milliseconds(d duration) int { return int(time.Duration(d).Milliseconds()) }
