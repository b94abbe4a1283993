// Command scheduler is `evalfarm scheduler` under its own name.
package main

import (
	"os"

	"github.com/evalfarm/evalfarm/pkg/cli"
)

func main() {
	os.Exit(cli.Main(cli.World("scheduler")))
}
