package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

const (
	// freshRepeats of a suspect show one that broke altogether among hundreds.
	freshRepeats = 8
	// mostAfresh is how many suspects a command names.
	mostAfresh = 10
)

// afresh are the commands that repeat the suspects of a comparison along an axis, in both
// of its arms, and compare what is fresh: nothing that made a cell suspect is in it.
// There are none without suspects, with too many to name, or where the suite of the run
// is nowhere.
func afresh(one eval.ArmComparison, suite string) []string {
	var cases []string
	for _, c := range one.Cells {
		if c.Kind == eval.KindAgent && c.Change == eval.ChangeWorse && !slices.Contains(cases, c.Case) {
			cases = append(cases, c.Case)
		}
	}
	if one.Axis == "" || suite == "" || len(cases) == 0 || len(cases) > mostAfresh {
		return nil
	}
	return []string{
		fmt.Sprintf("evalfarm run %s --case %s --axis %s=%s --axis %s=%s -n %d", suite, strings.Join(cases, " --case "),
			one.Axis, one.Base.Value, one.Axis, one.Head.Value, freshRepeats),
		fmt.Sprintf("evalfarm compare latest --axis %s=%s..%s", one.Axis, one.Base.Value, one.Head.Value),
	}
}
