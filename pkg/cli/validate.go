package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

func (c *command) validate() *cobra.Command {
	var load loading
	var expand bool
	var repeats int
	cmd := &cobra.Command{
		Use:   "validate SUITE...",
		Short: "Check suites; nothing is started",
		Long: `Check suites and show every error at once, with its position. Nothing is
started. An agent that does nothing is put through the checks of agent cases:
those that it passes are told, because such checks bite nobody. A rule of the
gate that can never pass with so many repeats is an error. With --expand,
also print the cells: each case with the variants and repeats that it runs in.`,
		Args: args(1, -1, "one suite or more"),
		RunE: func(cmd *cobra.Command, args []string) error {
			bad := 0
			for _, arg := range args {
				loaded, err := c.load(arg, load)
				if problems, ok := errors.AsType[*suite.ProblemsError](err); ok {
					fmt.Fprint(c.env.Stderr, problems.Error())
					bad++
					continue
				}
				if err != nil {
					return err
				}
				matrix, err := suite.Expand(&loaded.Suite, suite.Selection{Repeats: repeats})
				if err != nil {
					return usage("", "%s: %s", arg, err)
				}
				if len(matrix.Cells) == 0 {
					return fmt.Errorf("suite %s: %w: exclude removes all %d cells", loaded.Suite.Name, scheduler.ErrEmpty, matrix.Excluded)
				}
				err = c.doubts(loaded, suite.Selection{Repeats: repeats})
				if problems, ok := errors.AsType[*suite.ProblemsError](err); ok {
					fmt.Fprint(c.env.Stderr, problems.Error())
					bad++
					continue
				}
				// No mistake: only this build cannot carry it out, and run says so.
				for _, p := range loaded.Unsupported {
					p.Warning = true
					c.problems([]strictyaml.Problem{p})
				}
				c.problems(idle(cmd.Context(), loaded))
				c.print("ok  %s  %s, %s, %s  %s\n", loaded.Suite.Name, plural(len(loaded.Suite.Cases), "case"),
					plural(len(matrix.Variants), "variant"), plural(matrix.Trials(), "trial"), loaded.Hash)
				if expand {
					c.printMatrix(loaded.Suite, matrix)
				}
			}
			if bad > 0 {
				return &codeError{eval.ExitUsage}
			}
			return nil
		},
	}
	load.add(cmd)
	load.addGate(cmd)
	cmd.Flags().IntVarP(&repeats, "repeats", "n", 0, "check the rules of the gate against `N` repeats of every case")
	cmd.Flags().BoolVar(&expand, "expand", false, "print every cell")
	return cmd
}

func (c *command) printMatrix(s eval.Suite, m suite.Matrix) {
	for _, cell := range m.Cells {
		kase := s.Cases[cell.Case]
		line := []string{"   ", string(kase.Kind), kase.ID, "[" + m.Variants[cell.Variant].ID + "]"}
		if cell.Repeats > 1 {
			line = append(line, fmt.Sprintf("×%d", cell.Repeats))
		}
		c.print("%s\n", strings.Join(line, " "))
	}
}
