package pgstore

import (
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// unanswered bounds how long what was sent may wait to be acknowledged.
func unanswered(network, _ string, c syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	var err error
	if wrong := c.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(vanished.Milliseconds()))
	}); wrong != nil {
		return wrong
	}
	return err
}
