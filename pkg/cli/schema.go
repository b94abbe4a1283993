package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/suite"
)

func (c *command) schema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema suite",
		Short: "Print the JSON Schema of suite files, for editors",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] != "suite" {
				return usage("evalfarm schema suite", "schema wants the name of a schema: suite")
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error {
			schema, err := suite.Schema()
			if err != nil {
				return fmt.Errorf("make the schema: %w", err)
			}
			c.print("%s", schema)
			return nil
		},
	}
}
