package score

import (
	"context"
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// group decides the parts of a group; its own score follows from theirs.
func (x *exam) group(ctx context.Context, c eval.Check) eval.Score {
	s := newScore(c)
	s.Group, s.Not, s.Threshold = eval.GroupAny, c.Not, c.Threshold
	parts := c.Any
	if len(c.All) > 0 {
		s.Group, parts = eval.GroupAll, c.All
	}
	for i, part := range parts {
		if part.ID == "" {
			part.ID = fmt.Sprintf("%s/%d", c.ID, i+1)
		}
		s.Parts = append(s.Parts, x.check(ctx, part))
	}
	return s.Regroup()
}
