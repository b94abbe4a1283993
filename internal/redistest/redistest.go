// Package redistest runs a real redis-server for a test, and does to it what
// happens to servers: it is killed, frozen, wiped and started again.
package redistest

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A Server is a redis-server of one test, on a private unix socket. It keeps an
// append-only file, so a restart brings back what it knew.
type Server struct {
	t   testing.TB
	dir string
	cmd *exec.Cmd
	// args go behind ours.
	args []string
	// exited is closed when cmd has.
	exited chan struct{}
}

// Start starts a server that ends with the test. A missing redis-server fails
// the test: a queue that was only tested on an imitation is not tested.
func Start(tb testing.TB) *Server {
	tb.Helper()
	return StartWith(tb)
}

// StartWith starts a server as Start does, with further arguments, such as
// --maxmemory-policy allkeys-lru, which win over ours.
func StartWith(tb testing.TB, args ...string) *Server {
	tb.Helper()
	dir, err := os.MkdirTemp("", "redistest") //nolint:usetesting // the path of TempDir may be too long for a socket
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{t: tb, dir: dir, args: args}
	tb.Cleanup(func() {
		s.Kill9()
		_ = os.RemoveAll(dir)
	})
	s.Restart()
	return s
}

// URL is where to reach the server.
func (s *Server) URL() string { return "unix://" + s.socket() }

func (s *Server) socket() string { return filepath.Join(s.dir, "s.sock") }

// Restart starts the server, after killing the one that may run, and returns
// when it answers.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill9()
	_ = os.Remove(s.socket())
	program, err := exec.LookPath("redis-server")
	if err != nil {
		s.t.Fatal("this test needs redis-server in PATH; `make test` installs it")
	}
	args := []string{
		"--port", "0", "--unixsocket", s.socket(), "--unixsocketperm", "700",
		"--dir", s.dir, "--logfile", filepath.Join(s.dir, "log"), "--save", "",
		"--appendonly", "yes", "--appendfsync", "everysec", "--maxmemory-policy", "noeviction",
	}
	cmd := exec.Command(program, append(args, s.args...)...)
	if err := cmd.Start(); err != nil {
		s.t.Fatalf("start redis-server: %v", err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // killed, as a rule
		close(exited)
	}()
	s.cmd, s.exited = cmd, exited
	deadline := time.After(time.Minute)
	for {
		if answer, err := s.ask("PING"); err == nil && answer == "+PONG" {
			return
		}
		select {
		case <-exited:
			log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			s.t.Fatalf("redis-server ended at its start:\n%s", log)
		case <-deadline:
			s.t.Fatal("redis-server does not answer for a minute")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Kill9 kills the server without warning. It stays down until Restart.
func (s *Server) Kill9() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	<-s.exited
	s.cmd = nil
}

// FlushAll makes the server forget everything.
func (s *Server) FlushAll() {
	s.t.Helper()
	if answer, err := s.ask("FLUSHALL"); err != nil || answer != "+OK" {
		s.t.Fatalf("FLUSHALL: got %q, %v, want +OK", answer, err)
	}
}

// Freeze stops the server without closing its connections, as a swapping or
// suspended machine does.
func (s *Server) Freeze() { s.signal(syscall.SIGSTOP) }

// Thaw lets a frozen server go on.
func (s *Server) Thaw() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatalf("signal redis-server: %v", err)
	}
}

// ask sends one command without arguments and returns the first line of the
// answer.
func (s *Server) ask(command string) (string, error) {
	c, err := net.DialTimeout("unix", s.socket(), 5*time.Second)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := fmt.Fprintf(c, "%s\r\n", command); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	return strings.TrimSpace(line), err
}
