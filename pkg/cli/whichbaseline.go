package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/report"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// whichBaseline holds the flags that tell baselines of one name apart.
type whichBaseline struct{ suite, branch string }

func (f *whichBaseline) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.suite, "suite", "", "the one of this `SUITE`, if several have the name")
	cmd.Flags().StringVar(&f.branch, "branch", "", "the one of this `BRANCH` of git (default: the one of any)")
}

// find finds the only baseline of a name, which is also taken as references have it.
func (f *whichBaseline) find(ctx context.Context, s store.Store, name string) (store.Baseline, error) {
	suite := f.suite
	if before, after, ok := strings.Cut(name, "@baseline:"); ok {
		suite, name = before, after
	}
	name = strings.TrimPrefix(name, "baseline:")
	all, err := s.Baselines(ctx)
	if err != nil {
		return store.Baseline{}, err
	}
	var found []store.Baseline
	var suites []string
	for _, b := range all {
		if b.Name == name && b.Branch == f.branch && (suite == "" || b.Suite == suite) {
			found = append(found, b)
			suites = append(suites, b.Suite)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		on := ""
		if f.branch != "" {
			on = " on branch " + report.Line(f.branch, 80)
		}
		return store.Baseline{}, usage("list them: evalfarm baseline list", "there is no baseline %q%s", name, on)
	}
	return store.Baseline{}, usage(fmt.Sprintf("--suite %q", suites[0]), "%q is a baseline of several suites: %s", name, report.Line(strings.Join(suites, ", "), 300))
}
