package app

import (
	"context"
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// own makes this process the owner of a run. Who has a grading has the run that
// it scores too: two gradings at once would count by chance, and trials that run
// meanwhile would have no judge.
func own(ctx context.Context, home string, s store.Store, r eval.Run) (unlock func(), err error) {
	if r.Parent == "" {
		return lock(home, r.ID)
	}
	free, err := lock(home, r.Parent)
	if err != nil {
		return nil, err
	}
	of, err := s.Run(ctx, r.Parent)
	if err == nil && of.State != eval.RunDone {
		err = fmt.Errorf("grading %s is a part of run %s, which is %s: go on with that", r.ID, of.ID, of.State)
	}
	if err != nil {
		free()
		return nil, err
	}
	also, err := lock(home, r.ID)
	if err != nil {
		free()
		return nil, err
	}
	return func() { also(); free() }, nil
}
