//go:build race

package commandtest

import (
	"os"
	"runtime"
	"syscall"
)

// Exit ends a process that a test binary is in place of another program, be it the
// command or a server, with its exit code. After a race the detector has the last word,
// and its own exit code. With none it would still sleep for a second before a good end
// (atexit_sleep_ms of GORACE, which does not reach a server: nothing of our environment
// does), and our tests end thousands of processes well.
func Exit(code int) {
	if code == 0 && runtime.RaceErrors() == 0 {
		syscall.Exit(0)
	}
	os.Exit(code)
}
