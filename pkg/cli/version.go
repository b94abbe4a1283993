package cli

import "github.com/spf13/cobra"

func (c *command) version() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			c.print("evalfarm %s\n", version())
			return nil
		},
	}
}
