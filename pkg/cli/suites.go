package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/report"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

func (c *command) suites() *cobra.Command {
	return &cobra.Command{
		Use:   "suites [DIR]",
		Short: "List the suites of a folder (default ./suites)",
		Args:  args(0, 1, "at most one folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			root := filepath.Join(c.env.Dir, "suites")
			if len(args) > 0 {
				root = c.env.abs(args[0])
			}
			found, err := suite.Find(root)
			if err != nil {
				return usage("", "%s", err)
			}
			if len(found) == 0 {
				return usage("a suite is a folder with a suite.yaml, or a suite file", "no suites in %s", root)
			}
			w := tabwriter.NewWriter(c.env.Stdout, 0, 0, 2, ' ', 0)
			for _, s := range found {
				path, err := filepath.Rel(c.env.Dir, s.Path)
				if err != nil {
					path = s.Path
				}
				about := plural(s.Cases, "case")
				if s.Err != nil {
					about = "broken: evalfarm validate " + path
				}
				var kinds []string
				for _, k := range s.Kinds {
					kinds = append(kinds, string(k))
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", report.Line(s.Name, 60), about, strings.Join(kinds, "+"), path)
			}
			return w.Flush()
		},
	}
}
