//go:build !linux

package wire

import "os"

// reap reaps a child and then calls before: waiting without reaping is not to be
// had here.
func reap(child *os.Process, before func()) (*os.ProcessState, error) {
	state, err := child.Wait()
	before()
	return state, err
}

// Sweep does nothing on systems without /proc.
func Sweep(string) (int, error) { return 0, nil }

// Orphaned is false on systems without /proc.
func Orphaned(string, string) bool { return false }

func killMarked(string) {}

func startTime(int) string { return "" }
