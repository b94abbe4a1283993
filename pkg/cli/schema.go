package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/farmfile"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

func (c *command) schema() *cobra.Command {
	schemas := map[string]func() ([]byte, error){"suite": suite.Schema, "farm": farmfile.Schema}
	names := slices.Sorted(maps.Keys(schemas))
	return &cobra.Command{
		Use:   "schema " + strings.Join(names, "|"),
		Short: "Print the JSON Schema of suite files, or of farm.yaml, for editors",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || schemas[args[0]] == nil {
				return usage("evalfarm schema suite", "schema wants the name of a schema: %s", strings.Join(names, " or "))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			schema, err := schemas[args[0]]()
			if err != nil {
				return fmt.Errorf("make the schema: %w", err)
			}
			c.print("%s", schema)
			return nil
		},
	}
}
