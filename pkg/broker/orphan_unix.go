//go:build unix && !linux

package broker

import "syscall"

// family makes the server the head of its own process group, so that a Ctrl-C
// in the terminal does not take it from under us. If we are killed it lives on,
// and the next owner of the folder ends it.
func family() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
