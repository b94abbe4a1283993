package client_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/mcp/client"
	"github.com/evalfarm/evalfarm/pkg/mcp/wire"
)

// children reads the process ids that a hostile server wrote to stderr.
func children(text string) []int {
	var pids []int
	for line := range strings.Lines(text) {
		if pid, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "child "))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// alive says whether a process runs; a zombie does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := bytes.Cut(stat, []byte(") "))
	return len(after) > 0 && after[0] != 'Z'
}

// TestTreeIsGone: whatever a server does, nothing of its process tree is left.
func TestTreeIsGone(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, mode, do string
		dead           bool // by itself, without Close
	}{
		{name: "a grandchild", mode: "grandchild"},
		{name: "ignores SIGTERM, with a grandchild", mode: "ignore-term"},
		{name: "starts a child in a call", mode: "calls", do: "child"},
		{name: "crashes and leaves a grandchild", mode: "grandchild", do: "crash", dead: true},
		{name: "oversize, with a grandchild", mode: "grandchild", do: "huge", dead: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			spec := hostileSpec(t, tt.mode)
			spec.Server.CloseTimeout = 100 * time.Millisecond
			s := open(t, spec)
			if tt.do != "" {
				do(t.Context(), attach(t, s), tt.do, "n", wire.DefaultFrameLimit)
			}
			eventually(t, func() bool { return len(children(s.Stderr())) == 1 })
			pid := children(s.Stderr())[0]
			if !tt.dead {
				if !alive(pid) {
					t.Fatal("the grandchild is dead before its time")
				}
				_ = s.Close()
			}
			eventually(t, func() bool { return !alive(pid) })
		})
	}
}

// TestOwnerKilled: kill -9 of the owner takes the server's tree down, by the
// guard at once or by a later sweep.
func TestOwnerKilled(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, guarded := range []bool{true, false} {
		t.Run(fmt.Sprintf("guarded %t", guarded), func(t *testing.T) {
			name := fmt.Sprintf("%s-%d-%t", t.Name(), os.Getpid(), guarded)
			args := []string{"owner", name, "ignore-term"}
			if guarded {
				args = append(args, "guarded")
			}
			owner := exec.Command(self, args...)
			out, err := owner.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			owner.Stderr = os.Stderr
			if err := owner.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = owner.Wait() }()
			defer func() { _ = owner.Process.Kill() }()
			var said strings.Builder
			for in := bufio.NewScanner(out); in.Scan() && in.Text() != "ready"; {
				fmt.Fprintln(&said, in.Text())
			}
			pids := children(said.String())
			if len(pids) != 1 || !alive(pids[0]) {
				t.Fatalf("got %q, want a living grandchild", said.String())
			}
			if n, err := wire.Sweep(name); n != 0 || err != nil {
				t.Errorf("with a living owner got %d swept, %v, want 0", n, err)
			}
			if err := owner.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = owner.Wait()
			if !guarded {
				if !alive(pids[0]) {
					t.Fatal("without a guard the grandchild is dead, want it to live")
				}
				// The server itself may have ended with its stdin.
				if n, err := wire.Sweep(name); n < 1 || err != nil {
					t.Errorf("got %d swept, %v, want at least the child", n, err)
				}
			}
			eventually(t, func() bool { return !alive(pids[0]) })
			// The server may be killed and not yet gone when its child is.
			eventually(t, func() bool {
				n, err := wire.Sweep(name)
				if err != nil {
					t.Fatal(err)
				}
				return n == 0
			})
		})
	}
}

// TestGuard: one guard watches over all servers of a pool; one that is gone is
// replaced, and it stands down when the pool is closed.
func TestGuard(t *testing.T) {
	spec := hostileSpec(t, "calls")
	o := options()
	o.GuardCommand = []string{spec.Server.Command[0], "guard"}
	p := client.NewPool(newOpener(o), 0)
	defer p.Close()
	first, second := shared(t, p, "r", "1", spec), shared(t, p, "r", "2", spec)
	var pids []int
	eventually(t, func() bool { pids = guards(t); return len(pids) == 1 })
	if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return !alive(pids[0]) })
	// The next server starts a new guard, or, if the threads of the old one still
	// hold its pipe, the one after it.
	all := []*client.Attachment{first, second}
	eventually(t, func() bool {
		all = append(all, shared(t, p, "r", strconv.Itoa(len(all)+1), spec))
		again := guards(t)
		return len(again) == 1 && again[0] != pids[0]
	})
	for _, a := range all {
		if out := do(t.Context(), a, "echo"); out.Kind != eval.OutcomeOK {
			t.Errorf("got %+v, want an answer", out)
		}
	}
	p.Close()
	if left := guards(t); len(left) != 0 {
		t.Errorf("got guards %v, want none", left)
	}
}

// guards lists this process's living guard children.
func guards(t *testing.T) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, e := range entries {
		stat, _ := os.ReadFile("/proc/" + e.Name() + "/stat")
		args, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		_, after, _ := bytes.Cut(stat, []byte(") "))
		fields := strings.Fields(string(after))
		if len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) && bytes.Contains(args, []byte("\x00guard\x00")) {
			pid, err := strconv.Atoi(e.Name())
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}
