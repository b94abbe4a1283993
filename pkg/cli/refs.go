package cli

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// resolveRun finds a run by its id, a unique prefix of it, "latest", or
// "latest~N" for the N-th before the latest.
func resolveRun(ctx context.Context, s reader, ref string) (eval.Run, error) {
	back, isLatest := strings.CutPrefix(ref, "latest")
	if isLatest {
		n := 0
		if back != "" {
			var err error
			if n, err = strconv.Atoi(strings.TrimPrefix(back, "~")); err != nil || n < 0 || !strings.HasPrefix(back, "~") {
				return eval.Run{}, usage("", "no run %q: want an id, a prefix of one, latest or latest~N", ref)
			}
		}
		runs, err := s.ListRuns(ctx, store.RunFilter{Limit: n + 1})
		if err != nil {
			return eval.Run{}, err
		}
		if len(runs) <= n {
			return eval.Run{}, usage("start one: evalfarm run SUITE", "no run %q: the store has %d", ref, len(runs))
		}
		return runs[n], nil
	}
	if strings.Contains(ref, ".g") { // a grading, by its full id
		g, err := s.Run(ctx, ref)
		if !errors.Is(err, store.ErrNotFound) {
			return g, err
		}
	}
	runs, err := s.ListRuns(ctx, store.RunFilter{Prefix: ref, Limit: 4})
	if err != nil {
		return eval.Run{}, err
	}
	switch len(runs) {
	case 1:
		return runs[0], nil
	case 0:
		return eval.Run{}, usage("list them: evalfarm runs", "no run %q in this store", ref)
	}
	var ids []string
	for _, r := range runs {
		if r.ID == ref {
			return r, nil
		}
		ids = append(ids, r.ID)
	}
	return eval.Run{}, usage("", "%q is the beginning of several runs: %s", ref, strings.Join(ids, ", "))
}

// withRun opens the store and finds a run; an empty ref means latest.
func (c *command) withRun(ctx context.Context, args []string, fn func(store.Store, eval.Run) error) error {
	ref := "latest"
	if len(args) > 0 {
		ref = args[0]
	}
	return c.withStore(ctx, func(s store.Store) error {
		run, err := resolveRun(ctx, s, ref)
		if err != nil {
			return err
		}
		return fn(s, run)
	})
}
