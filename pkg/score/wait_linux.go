package score

import (
	"errors"
	"os/exec"

	"golang.org/x/sys/unix"
)

// wait waits for a command's end, calls before, and only then reaps it. As long
// as it is a zombie nobody else can get its number, so its process group can be
// killed without a race.
func wait(cmd *exec.Cmd, before func()) error {
	for errors.Is(unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
	before()
	return cmd.Wait()
}
