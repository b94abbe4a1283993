package broker

import "syscall"

// family makes the server the head of its own process group, so that a Ctrl-C
// in the terminal does not take it from under us, and has the kernel end it when
// we die.
func family() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
