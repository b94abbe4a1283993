package freeport_test

import (
	"net"
	"testing"

	"github.com/evalfarm/evalfarm/internal/freeport"
)

// A port is free to listen on, and nobody else's until it is let go.
func TestHold(t *testing.T) {
	given := map[string]bool{}
	var release []func()
	for range 500 {
		port, err := freeport.Hold(func(f func()) { release = append(release, f) })
		if err != nil {
			t.Fatal(err)
		}
		if given[port] {
			t.Fatalf("port %s was given twice", port)
		}
		given[port] = true
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
	}
	for _, f := range release {
		f()
	}
	for port := range given {
		held, err := net.ListenPacket("udp", "127.0.0.1:"+port)
		if err != nil {
			t.Fatalf("port %s is held after its release: %v", port, err)
		}
		_ = held.Close()
	}
}
