package wire

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
)

// RunGuard reads r until it ends, then kills a process group. It is the life of
// a guard: r is the read end of a pipe whose write end only the owner of the
// group holds, so it ends when the owner does, kill -9 included. An owner that
// has seen its server out kills the guard instead.
func RunGuard(r io.Reader, pgid int) error {
	if pgid <= 1 {
		return fmt.Errorf("guard process group %d: not a server's", pgid)
	}
	if _, err := io.Copy(io.Discard, r); err != nil {
		return fmt.Errorf("guard process group %d: %w", pgid, err)
	}
	if err := syscall.Kill(-pgid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("kill process group %d: %w", pgid, err)
	}
	return nil
}

// A guard is the child that watches over one process group.
type guard struct {
	cmd *exec.Cmd
	w   *os.File
}

// startGuard starts the guard in a group of its own, so that no signal to the
// owner's or the server's group ends it.
func startGuard(command []string, pgid int) (*guard, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start guard: %w", err)
	}
	defer func() { _ = r.Close() }()
	args := append(slices.Clip(command), strconv.Itoa(pgid))
	cmd := &exec.Cmd{
		Path: args[0], Args: args, Env: []string{}, Stdin: r,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	if err := cmd.Start(); err != nil {
		_ = w.Close()
		return nil, fmt.Errorf("start guard %s: %w", args[0], err)
	}
	return &guard{cmd: cmd, w: w}, nil
}

// stop ends the guard without a kill of the group. It is safe on nil.
func (g *guard) stop() {
	if g == nil {
		return
	}
	_ = g.cmd.Process.Kill()
	_ = g.cmd.Wait()
	_ = g.w.Close()
}
