package wire_test

import (
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/mcp/wire"
)

// TestCleanup: it runs once, between Ended and Done, and is told whose doing the
// end was.
func TestCleanup(t *testing.T) {
	tests := []struct {
		name, script string
		stop         bool
	}{
		{name: "ends by itself", script: "exit 3"},
		{name: "is stopped", script: "cat", stop: true},
		{name: "is killed", script: "trap '' TERM; sleep 600", stop: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			told, release := make(chan bool, 2), make(chan struct{})
			p := shell(t, tt.script, func(c *wire.Command) {
				c.Cleanup = func(byItself bool) {
					told <- byItself
					<-release
				}
			})
			stopped := make(chan struct{})
			go func() {
				defer close(stopped)
				if tt.stop {
					p.Stop(50 * time.Millisecond)
				}
			}()
			<-p.Ended()
			if got := <-told; got == tt.stop {
				t.Errorf("got that it ended by itself: %t, want %t", got, !tt.stop)
			}
			select {
			case <-p.Done():
				t.Error("it is done before it is cleaned up")
			default:
			}
			close(release)
			ended(t, p)
			<-stopped
			p.Stop(0) // again
			if len(told) > 0 {
				t.Error("it was cleaned up twice")
			}
		})
	}
}
