package wire

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// reap waits for a child's end, calls before, and only then reaps the child. As
// long as it is a zombie nobody else can get its number, so its process group
// can be killed without a race.
func reap(child *os.Process, before func()) (*os.ProcessState, error) {
	for errors.Is(unix.Waitid(unix.P_PID, child.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
	before()
	return child.Wait()
}

// Sweep kills the process groups of servers whose owner is dead. It finds them
// by the mark that Start leaves in their environment, which children inherit
// even when they leave the group. An owner narrows the sweep to marks with that
// name; empty means any. It returns how many processes it found. Processes of
// other users are out of reach and left out. On systems without /proc it does
// nothing.
func Sweep(owner string) (int, error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, fmt.Errorf("sweep servers of dead owners: %w", err)
	}
	var orphans []int
	for _, dir := range dirs {
		env, err := os.ReadFile(dir + "/environ") //nolint:gosec // a path under /proc
		if err != nil {
			continue // ended meanwhile, or not ours
		}
		name, pid, start, ok := parseMark(env)
		if !ok || owner != "" && name != owner || startTime(pid) == start {
			continue
		}
		if orphan, err := strconv.Atoi(filepath.Base(dir)); err == nil && orphan != os.Getpid() {
			orphans = append(orphans, orphan)
		}
	}
	for _, orphan := range orphans {
		if group, err := syscall.Getpgid(orphan); err == nil && group > 1 && group != syscall.Getpgrp() {
			_ = syscall.Kill(-group, syscall.SIGKILL)
		}
		_ = syscall.Kill(orphan, syscall.SIGKILL)
	}
	return len(orphans), nil
}

// parseMark finds the mark in the content of an environ file.
func parseMark(env []byte) (owner string, pid int, start string, ok bool) {
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		value, found := strings.CutPrefix(string(entry), OwnerVariable+"=")
		if !found {
			continue
		}
		at := strings.LastIndexByte(value, '@')
		if at < 0 {
			return "", 0, "", false
		}
		number, start, found := strings.Cut(value[at+1:], ".")
		pid, err := strconv.Atoi(number)
		return value[:at], pid, start, found && err == nil
	}
	return "", 0, "", false
}

// startTime is when a living process started, in clock ticks since boot. It is
// empty for a process that does not exist or is a zombie. With the pid it names a
// process for as long as the machine is up.
func startTime(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The command in parentheses may hold anything; the fields after it are
	// numbered from 3, the state. The start time is field 22 (proc_pid_stat(5)).
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return ""
	}
	fields := strings.Fields(string(stat[end+1:]))
	if len(fields) < 20 || fields[0] == "Z" {
		return ""
	}
	return fields[19]
}
