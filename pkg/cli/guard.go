package cli

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/mcp/wire"
)

// guardName is the hidden command under which this executable watches over the
// process group of a server.
const guardName = "guard-process-group"

func (c *command) guard() *cobra.Command {
	return &cobra.Command{
		Use:    guardName + " PGID",
		Short:  "Kill a process group when standard input ends",
		Hidden: true,
		Args:   args(1, 1, "a process group"),
		RunE: func(_ *cobra.Command, args []string) error {
			pgid, err := strconv.Atoi(args[0])
			if err != nil || pgid <= 1 {
				return usage("", "%q is no process group", args[0])
			}
			return wire.RunGuard(c.env.Stdin, pgid)
		},
	}
}
