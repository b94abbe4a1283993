// Command evalfarm runs evaluations of MCP tools and of the agents that use
// them: on this machine, or on a farm.
package main

import (
	"os"

	"github.com/evalfarm/evalfarm/pkg/cli"
)

func main() {
	os.Exit(cli.Main(cli.World()))
}
