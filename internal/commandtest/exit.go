//go:build !race

package commandtest

import "os"

// Exit ends a process that a test binary is in place of another program, be it the
// command or a server, with its exit code.
func Exit(code int) { os.Exit(code) }
