//go:build unix

package doctor

import "golang.org/x/sys/unix"

// free is what users other than root may still write.
func free(folder string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return 0, err
	}
	return s.Bavail * uint64(s.Bsize), nil //nolint:gosec // the size of a block is positive
}

// files is the soft limit: the Go runtime has raised it to the hard one.
func files() (uint64, error) {
	var r unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r)
	return r.Cur, err
}
