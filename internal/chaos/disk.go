package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// A disk is a small file system of its own.
type disk struct{ dir string }

// mount makes a disk at a folder. It needs root; why it could not is in refused.
func mount(tb testing.TB, dir, size string) (d *disk, refused string) {
	tb.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "mode=700,size="+size, "tmpfs", dir).CombinedOutput(); err != nil {
		return nil, fmt.Sprintf("a disk that can be filled up needs the right to mount one: %v %s", err, out)
	}
	tb.Cleanup(func() {
		if out, err := exec.Command("umount", "--lazy", dir).CombinedOutput(); err != nil {
			tb.Errorf("umount %s: %v %s", dir, err, out)
		}
	})
	return &disk{dir}, ""
}

// fill takes all that is free on a disk, until it is told to free it.
func (d *disk) fill() (free func() error, err error) {
	path := filepath.Join(d.dir, "ballast")
	f, err := os.Create(path)
	if err != nil && !errors.Is(err, syscall.ENOSPC) {
		return nil, err
	}
	free = func() error { return os.Remove(path) }
	defer f.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		return free, fmt.Errorf("fill %s: %w", d.dir, err)
	}
	return free, nil
}

// WorkerDiskFull fills up the disk of a worker's spool.
func WorkerDiskFull() Fault {
	return Fault{
		Name: "the disk of a worker is full", Leases: 1, felt: []string{"the spool does not take a record"}, lacks: func(f *Farm) string { return f.noDisks },
		befall: func(ctx context.Context, f *Farm, s Step) error {
			return filled(ctx, f.spools[s.Victim%len(f.spools)], s)
		},
	}
}

// StoreDiskFull fills up the disk of the store.
func StoreDiskFull() Fault {
	return Fault{
		Name: "the disk of the store is full", Leases: 1, felt: []string{"No space left on device", "disk is full"}, lacks: func(f *Farm) string { return f.noDisks },
		befall: func(ctx context.Context, f *Farm, s Step) error {
			f.storeBusy.Lock()
			defer f.storeBusy.Unlock()
			return filled(ctx, f.storeDisk, s)
		},
	}
}

func filled(ctx context.Context, d *disk, s Step) error {
	free, err := d.fill()
	if free != nil {
		pass(ctx, s.For)
		err = errors.Join(err, free())
	}
	return err
}
