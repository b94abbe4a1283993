package otlptest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/internal/freeport"
)

// A Build is a Collector that is being built.
type Build struct {
	program string
	done    chan struct{}
	output  []byte
	err     error
	// missing says why it cannot be built here, which is no fault of its sources.
	missing string
}

// within this long a Collector is built, or the test that needs it is skipped. It takes
// a minute of two idle processors the first time, and two seconds when the build cache
// has its packages.
const within = 5 * time.Minute

// BuildCollector begins to build the Collector of a folder, in the background: who calls
// it before t.Parallel lets other tests run meanwhile.
func BuildCollector(tb testing.TB, folder string) *Build {
	tb.Helper()
	b := &Build{program: filepath.Join(tb.TempDir(), "otelcol"), done: make(chan struct{})}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	tb.Cleanup(func() { cancel(); <-b.done })
	go func() {
		defer close(b.done)
		if b.output, b.err = inside(ctx, folder, "list", "-deps", "."); b.err != nil {
			b.missing = "what it is made of cannot be fetched"
		} else {
			b.output, b.err = inside(ctx, folder, "build", "-o", b.program, ".")
		}
		if b.err != nil && ctx.Err() != nil {
			b.missing = fmt.Sprintf("it takes longer than %s", within)
		}
	}()
	return b
}

func inside(ctx context.Context, folder string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = folder
	return cmd.CombinedOutput()
}

// A Collector is a process of the OpenTelemetry Collector.
type Collector struct {
	// GRPC and HTTP are its endpoints for OTLP.
	GRPC, HTTP string

	tb   testing.TB
	cmd  *exec.Cmd
	done chan struct{}
	err  error
	log  string
}

// Start starts a Collector that hands on to an endpoint for OTLP over HTTP, and returns
// when it listens. It ends with the test.
func (b *Build) Start(tb testing.TB, to string) *Collector {
	tb.Helper()
	<-b.done
	switch {
	case b.missing != "":
		tb.Skipf("the OpenTelemetry Collector cannot be built here: %s (%v)\n%s", b.missing, b.err, b.output)
	case b.err != nil:
		tb.Fatalf("build the OpenTelemetry Collector: %v\n%s", b.err, b.output)
	}
	c := &Collector{tb: tb, done: make(chan struct{}), log: filepath.Join(tb.TempDir(), "otelcol.log")}
	var ports [2]string
	for i := range ports {
		port, err := freeport.Hold(tb.Cleanup)
		if err != nil {
			tb.Fatal(err)
		}
		ports[i] = "127.0.0.1:" + port
	}
	c.GRPC, c.HTTP = "http://"+ports[0], "http://"+ports[1]
	config := filepath.Join(tb.TempDir(), "otelcol.yaml")
	content := fmt.Sprintf(`receivers:
  otlp: {protocols: {grpc: {endpoint: %s}, http: {endpoint: %s}}}
exporters:
  otlp_http: {endpoint: %s}
service:
  pipelines:
    traces: {receivers: [otlp], exporters: [otlp_http]}
    metrics: {receivers: [otlp], exporters: [otlp_http]}
`, ports[0], ports[1], to)
	if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
		tb.Fatal(err)
	}
	log, err := os.Create(c.log)
	if err != nil {
		tb.Fatal(err)
	}
	defer log.Close()
	c.cmd = exec.Command(b.program, "--config", config)
	c.cmd.Stdout, c.cmd.Stderr = log, log
	if err := c.cmd.Start(); err != nil {
		tb.Fatalf("start the Collector: %v", err)
	}
	go func() { c.err = c.cmd.Wait(); close(c.done) }()
	tb.Cleanup(c.Kill)
	for deadline := time.After(time.Minute); !listens(ports[0]) || !listens(ports[1]); {
		select {
		case <-c.done:
			tb.Fatalf("the Collector ended at its start: %v\n%s", c.err, c.Log())
		case <-deadline:
			tb.Fatalf("the Collector does not listen for a minute\n%s", c.Log())
		case <-time.After(20 * time.Millisecond):
		}
	}
	return c
}

func listens(address string) bool {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// Stop lets the Collector hand on what it has, and end.
func (c *Collector) Stop() {
	c.tb.Helper()
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		c.tb.Fatalf("stop the Collector: %v", err)
	}
	<-c.done
	if c.err != nil {
		c.tb.Errorf("the Collector ended with %v\n%s", c.err, c.Log())
	}
}

// Kill ends the Collector without warning.
func (c *Collector) Kill() {
	_ = c.cmd.Process.Kill()
	<-c.done
}

// Log is what the Collector has said.
func (c *Collector) Log() string {
	content, err := os.ReadFile(c.log)
	if err != nil {
		c.tb.Fatal(err)
	}
	return string(content)
}
