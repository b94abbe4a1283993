package wire

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// RunGuard is the life of a guard process. It reads r until it ends and then
// kills the process groups that were put into its care: pgid, and what r makes of
// that, "+N" for one more group and "-N" for one that is gone, a line each. r is the read end of a pipe whose write end only the owner of the groups
// holds, so it ends when the owner does, kill -9 included.
func RunGuard(r io.Reader, pgid int) error {
	if pgid <= 1 {
		return fmt.Errorf("guard process group %d: not a server's", pgid)
	}
	groups := map[int]bool{pgid: true}
	in := bufio.NewScanner(r)
	for in.Scan() {
		more, isMore := strings.CutPrefix(in.Text(), "+")
		less, isLess := strings.CutPrefix(in.Text(), "-")
		switch {
		case isMore && isGroup(more):
			groups[number(more)] = true
		case isLess && isGroup(less):
			delete(groups, number(less))
		default:
			return fmt.Errorf("guard: %q names no process group", in.Text())
		}
	}
	failures := []error{in.Err()}
	for n := range groups {
		if err := syscall.Kill(-n, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			failures = append(failures, fmt.Errorf("kill process group %d: %w", n, err))
		}
	}
	return errors.Join(failures...)
}

func isGroup(text string) bool { return number(text) > 1 }

// number is 0 for a text that is none.
func number(text string) int {
	n, _ := strconv.ParseUint(text, 10, 31)
	return int(n)
}

// A Guard is a child process that kills the servers of its owner when the owner
// dies without having done so. It is started when the first server is, and
// again should it be gone. It is safe for concurrent use; nil guards nothing.
type Guard struct {
	command []string

	mu     sync.Mutex // guards all below
	cmd    *exec.Cmd
	w      *os.File
	ended  chan struct{} // closed when cmd has
	groups map[int]bool
}

// NewGuard prepares a guard. The command gets a process group as a further
// argument and must call RunGuard with its stdin and that number. An empty
// command makes no guard.
func NewGuard(command []string) *Guard {
	if len(command) == 0 {
		return nil
	}
	return &Guard{command: command, groups: map[int]bool{}}
}

// add puts a process group into the guard's care.
func (g *Guard) add(pgid int) error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.groups[pgid] = true
	if g.cmd != nil && g.living() {
		if _, err := fmt.Fprintf(g.w, "+%d\n", pgid); err == nil {
			return nil
		}
	}
	g.stopLocked() // somebody killed it
	if err := g.startLocked(pgid); err != nil {
		delete(g.groups, pgid)
		return err
	}
	return nil
}

// living says whether the guard has not ended. A write alone does not tell: a
// child between fork and exec holds every pipe open for a moment.
func (g *Guard) living() bool {
	select {
	case <-g.ended:
		return false
	default:
		return true
	}
}

// remove takes a process group out of the guard's care. It must be called while
// nobody else can have the number.
func (g *Guard) remove(pgid int) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.groups, pgid)
	if g.cmd != nil {
		_, _ = fmt.Fprintf(g.w, "-%d\n", pgid) // a dead guard is replaced by add
	}
}

// Stop ends the guard, which lets the groups in its care live. It is started
// again with the next server.
func (g *Guard) Stop() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopLocked()
}

func (g *Guard) stopLocked() {
	if g.cmd == nil {
		return
	}
	_ = g.cmd.Process.Kill() // before its pipe closes
	<-g.ended
	_ = g.w.Close()
	g.cmd, g.w = nil, nil
}

// startLocked starts the guard in a group of its own, so that no signal to the
// owner's or a server's group ends it.
func (g *Guard) startLocked(pgid int) error {
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start guard: %w", err)
	}
	defer func() { _ = r.Close() }()
	args := append(slices.Clip(g.command), strconv.Itoa(pgid))
	cmd := &exec.Cmd{
		Path: args[0], Args: args, Env: []string{}, Stdin: r,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	if err := cmd.Start(); err != nil {
		_ = w.Close()
		return fmt.Errorf("start guard %s: %w", args[0], err)
	}
	g.cmd, g.w, g.ended = cmd, w, make(chan struct{})
	go func(ended chan struct{}) {
		_ = cmd.Wait()
		close(ended)
	}(g.ended)
	for other := range g.groups {
		if _, err := fmt.Fprintf(w, "+%d\n", other); err != nil {
			g.stopLocked()
			return fmt.Errorf("tell guard %s of a process group: %w", args[0], err)
		}
	}
	return nil
}
