//go:build !linux

package score

import "os/exec"

// wait reaps a command and then calls before: waiting without reaping is not to
// be had here.
func wait(cmd *exec.Cmd, before func()) error {
	err := cmd.Wait()
	before()
	return err
}
