package cli

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

func (f *carrying) addEngine(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.engine, "container-engine", "", "the `COMMAND` that runs servers with an image (default: docker or podman from PATH)")
}

// engine is the name of a command, or its path from the working directory.
func (e Env) engine(named string) string {
	if strings.ContainsRune(named, filepath.Separator) {
		return e.abs(named)
	}
	return named
}
