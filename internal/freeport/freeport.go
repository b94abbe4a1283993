// Package freeport finds ports for servers that tests start, and may start again.
package freeport

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
)

// The kernel gives ports from 32768 to connections, and to listeners that do not care.
// Below, nobody takes a port before whoever it is for listens there, or while that one
// is down.
const first, end = 10_000, 32_000

// Hold gives a port where nothing listens for TCP, on no address of this machine, and
// which is given to nobody else, also not in another process, until the function runs
// that it hands to after, such as a test's Cleanup.
func Hold(after func(func())) (string, error) {
	for range end - first {
		port := strconv.Itoa(first + rand.N(end-first))
		held, err := net.ListenPacket("udp", "127.0.0.1:"+port) // which nobody else uses: that is the mark
		if err != nil {
			continue
		}
		l, err := net.Listen("tcp", ":"+port)
		if err == nil {
			err = l.Close()
		}
		if err != nil {
			_ = held.Close()
			continue
		}
		after(func() { _ = held.Close() })
		return port, nil
	}
	return "", errors.New("no port is free")
}
