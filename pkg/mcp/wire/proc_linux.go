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
// even when they leave the group. Only owners whose name begins with the prefix
// are looked at, so that farms on one machine keep out of each other's way. It
// returns how many processes it found. Processes of other users are out of reach
// and left out. On systems without /proc it does nothing.
func Sweep(prefix string) (int, error) {
	n, err := killWhere(func(mark string) bool { return Orphaned(mark, prefix) })
	if err != nil {
		return n, fmt.Errorf("sweep servers of dead owners: %w", err)
	}
	return n, nil
}

// Orphaned says whether a mark of NewMark names an owner that is dead and whose
// name begins with the prefix. It knows the owners of this machine and process
// namespace only, and on systems without /proc nobody is known to be dead.
func Orphaned(mark, prefix string) bool {
	name, pid, start, ok := parseMark(mark)
	return ok && strings.HasPrefix(name, prefix) && startTime(pid) != start
}

// killMarked kills whatever is left of one process tree, as far as it can be
// found.
func killMarked(mark string) {
	_, _ = killWhere(func(m string) bool { return m == mark })
}

// killWhere kills the groups of all processes whose mark fits, and says how many
// processes that were.
func killWhere(fits func(mark string) bool) (int, error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	var found []int
	for _, dir := range dirs {
		env, err := os.ReadFile(dir + "/environ")
		if err != nil {
			continue // ended meanwhile, or not ours
		}
		pid, err := strconv.Atoi(filepath.Base(dir))
		if mark, ok := markOf(env); ok && err == nil && pid != os.Getpid() && fits(mark) {
			found = append(found, pid)
		}
	}
	for _, pid := range found {
		if group, err := syscall.Getpgid(pid); err == nil && group > 1 && group != syscall.Getpgrp() {
			_ = syscall.Kill(-group, syscall.SIGKILL)
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	return len(found), nil
}

// markOf finds the mark in the content of an environ file.
func markOf(env []byte) (string, bool) {
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if mark, ok := bytes.CutPrefix(entry, []byte(OwnerVariable+"=")); ok {
			return string(mark), true
		}
	}
	return "", false
}

// parseMark reads what NewMark wrote.
func parseMark(mark string) (owner string, pid int, start string, ok bool) {
	at := strings.LastIndexByte(mark, '@')
	if at < 0 {
		return "", 0, "", false
	}
	parts := strings.Split(mark[at+1:], ".")
	if len(parts) != 3 {
		return "", 0, "", false
	}
	pid, err := strconv.Atoi(parts[0])
	return mark[:at], pid, parts[1], err == nil
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
