package suite

import (
	"fmt"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// checks of an agent case.
func (b *build) checks(list []checkFile) []eval.Check {
	var out []eval.Check
	for i := range list {
		f := &list[i]
		if !b.keysSound(f.Node()) {
			continue
		}
		if n := len(f.Node().Fields); n != 1 {
			b.report(f.Node().Pos, fmt.Sprintf("a check is exactly one of its keys, not %d", n), "one list item for each check")
			continue
		}
		c := eval.Check{NotCalled: pattern(f.NotCalled)}
		if p := pattern(f.Called); p != nil {
			c.Called = &eval.CallCheck{CallPattern: *p}
		}
		if f.Contains != nil {
			c.Text = &eval.TextCheck{Contains: f.Contains}
		}
		if t := f.Trajectory; t != nil {
			c.Trajectory = &eval.TrajectoryCheck{Match: eval.Match(t.Match)}
			if t.Threshold != nil {
				threshold := float64(*t.Threshold)
				c.Threshold = &threshold
			}
			for i := range t.Calls {
				c.Trajectory.Calls = append(c.Trajectory.Calls, *pattern(&t.Calls[i]))
			}
		}
		if j := f.Judge; j != nil {
			c.Judge = &eval.JudgeCheck{Rubric: j.Rubric, Model: j.Model, Votes: int(j.Votes)}
			at := j.Node()
			if _, ok := b.file.Models[j.Model]; j.Model != "" && !ok {
				b.unknownName(at.Get("model").Pos, "model", j.Model, sorted(b.file.Models))
			}
			if path, ok := strings.CutPrefix(j.Rubric, "file://"); ok {
				b.mustExist(at.Get("rubric"), path)
			}
		}
		out = append(out, c)
	}
	return out
}

func pattern(f *callPatternFile) *eval.CallPattern {
	if f == nil {
		return nil
	}
	return &eval.CallPattern{Tool: f.Tool, Arguments: raw(f.Arguments)}
}

// raw is a value as JSON; nil stays empty.
func raw(n *strictyaml.Node) eval.JSON {
	if n == nil {
		return nil
	}
	return n.JSON()
}
