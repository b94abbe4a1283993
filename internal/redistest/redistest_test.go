package redistest_test

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/internal/redistest"
)

func TestServer(t *testing.T) {
	s := redistest.Start(t)
	send := func(command string, patience time.Duration) string {
		t.Helper()
		c, err := net.Dial("unix", strings.TrimPrefix(s.URL(), "unix://"))
		if err != nil {
			return "down"
		}
		defer func() { _ = c.Close() }()
		_ = c.SetDeadline(time.Now().Add(patience))
		_, _ = fmt.Fprintf(c, "%s\r\n", command)
		line, err := bufio.NewReader(c).ReadString('\n')
		if err != nil {
			return "silent"
		}
		return strings.TrimSpace(line)
	}
	steps := []struct {
		name string
		do   func()
		send string
		wait time.Duration
		want string
	}{
		{"fresh", func() {}, "SETNX a b", 10 * time.Second, ":1"},
		{"killed", s.Kill9, "PING", 10 * time.Second, "down"},
		{"restarted with its memory", s.Restart, "SETNX a b", 10 * time.Second, ":0"},
		{"frozen", s.Freeze, "PING", 200 * time.Millisecond, "silent"},
		{"thawed", s.Thaw, "PING", 10 * time.Second, "+PONG"},
		{"wiped", s.FlushAll, "SETNX a b", 10 * time.Second, ":1"},
	}
	for _, step := range steps {
		step.do()
		if got := send(step.send, step.wait); got != step.want {
			t.Errorf("%s: %s: got %q, want %q", step.name, step.send, got, step.want)
		}
	}
}
