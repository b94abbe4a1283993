package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// addCapabilities is the flag of those who carry out trials.
func addCapabilities(cmd *cobra.Command, into *[]string) {
	cmd.Flags().StringSliceVar(into, "capability", nil, "claim to have what suites require: a `NAME` such as gpu (repeatable)")
}

// checkCapabilities finds mistakes in the flags.
func checkCapabilities(names []string) error {
	for _, name := range names {
		if !eval.IsCapability(name) {
			return usage("", "--capability %s: want up to 32 lower-case letters, digits and dashes", name)
		}
	}
	return nil
}

// capable refuses a plan with trials that this process cannot carry out: alone, it
// would wait for ever.
func capable(has []string, snap eval.Snapshot) error {
	for _, cell := range snap.Plan.Cells {
		if lacks := eval.Lacks(has, cell.Requires); len(lacks) > 0 {
			return usage("if this machine has it: --capability "+strings.Join(lacks, " --capability ")+"; else on a farm with a worker that does, or without the case: --case",
				"case %s requires %s, which this process does not claim", snap.Cases[cell.Case].ID, strings.Join(lacks, " and "))
		}
	}
	return nil
}
