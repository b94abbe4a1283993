package cli

import (
	"io"
	"testing"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/farmfile"
)

// Every flag of the table is there, on the commands that take it from the
// environment and the farm file, and where the table names a default the flags have
// it.
func TestFlagsAreThoseOfTheTable(t *testing.T) {
	c := &command{env: Env{Stdout: io.Discard, Stderr: io.Discard}}
	root := c.root()
	for _, s := range farmfile.Settings() {
		if s.Flag == "" {
			continue
		}
		have := 0
		var walk func(*cobra.Command)
		walk = func(cmd *cobra.Command) {
			for _, sub := range cmd.Commands() {
				walk(sub)
			}
			_ = cmd.InheritedFlags() // which puts those of the root among its own
			flag := cmd.Flags().Lookup(s.Flag)
			if flag == nil || aloof(cmd) || s.Services && !service(cmd) {
				return
			}
			have++
			if _, err := s.Parse(s.Default); err != nil || s.Flag == "config" || s.Flag == "token-file" || s.Flag == "store" || s.Flag == "spool" || s.Flag == "container-engine" {
				return // said in words
			}
			if got := flag.DefValue; got != s.Default && got != "0s" {
				t.Errorf("%s --%s: got the default %s, want %s", cmd.CommandPath(), s.Flag, got, s.Default)
			}
		}
		walk(root)
		if have == 0 {
			t.Errorf("no command has --%s, which is that of %s", s.Flag, s.Name)
		}
	}
}
