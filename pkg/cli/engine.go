package cli

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

func (f *carrying) addEngine(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.engine, "container-engine", "", "the `COMMAND` that runs servers with an image (default: $EVALFARM_CONTAINER_ENGINE, else docker or podman from PATH)")
}

// containerEngine is the flag's, else the environment's: the name of a command, or
// its path from the working directory.
func (f *carrying) containerEngine(env Env) string {
	named := f.engine
	if v, ok := env.Lookup("EVALFARM_CONTAINER_ENGINE"); named == "" && ok {
		named = v
	}
	if strings.ContainsRune(named, filepath.Separator) {
		return env.abs(named)
	}
	return named
}
