// Package s3test runs a real S3 server for a test: versitygw over a folder.
package s3test

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/internal/freeport"
)

// Keys and the bucket of every server.
const (
	ID     = "test-key-id"
	Secret = "test-key-secret"
	Bucket = "farm"
)

// A Server is a server of one test.
type Server struct {
	// Endpoint is its base URL.
	Endpoint string
	dir      string
}

// Start starts a server with one bucket, that ends with the test. A missing server
// fails the test: what was only tested on an imitation is not tested.
func Start(tb testing.TB) *Server {
	tb.Helper()
	s := &Server{dir: tb.TempDir()}
	// Attributes go into files, because not every file system has its own.
	for _, folder := range []string{filepath.Join(s.dir, "root", Bucket), s.sidecar()} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			tb.Fatal(err)
		}
	}
	port, err := freeport.Hold(tb.Cleanup)
	if err != nil {
		tb.Fatal(err)
	}
	address := net.JoinHostPort("127.0.0.1", port)
	s.Endpoint = "http://" + address
	var said bytes.Buffer
	cmd := exec.CommandContext(context.Background(), program(tb), "--port", address, "--access", ID, "--secret", Secret, "--quiet",
		"posix", "--sidecar", s.sidecar(), filepath.Join(s.dir, "root"))
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		tb.Fatalf("start versitygw: %v", err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // killed, as a rule
		close(exited)
	}()
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-exited
	})
	for deadline := time.Now().Add(time.Minute); ; {
		resp, err := http.Get(s.Endpoint) //nolint:noctx // it is on this machine and answers
		if err == nil {
			resp.Body.Close()
			return s
		}
		select {
		case <-exited:
			tb.Fatalf("versitygw ended at its start:\n%s", said.String())
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			tb.Fatalf("versitygw does not answer for a minute: %v", err)
		}
	}
}

func (s *Server) sidecar() string { return filepath.Join(s.dir, "attributes") }

// Path is where the server keeps an object of the bucket.
func (s *Server) Path(object string) string { return filepath.Join(s.dir, "root", Bucket, object) }

// program finds the server in PATH, or where go install puts it.
func program(tb testing.TB) string {
	tb.Helper()
	if path, err := exec.LookPath("versitygw"); err == nil {
		return path
	}
	out, err := exec.CommandContext(context.Background(), "go", "env", "GOPATH").Output()
	path := filepath.Join(strings.TrimSpace(string(out)), "bin", "versitygw")
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		tb.Fatal("this test needs versitygw; `make test` installs it")
	}
	return path
}
