package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// A LockedError says that another process carries a run out, or with Run
// "scheduler" that it is the scheduler.
type LockedError struct {
	Run   string
	Owner Owner
}

// An Owner is the process that holds a lock.
type Owner struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
}

func (e *LockedError) Error() string {
	what := "run " + e.Run + " is being carried out by"
	if e.Run == "scheduler" {
		what = "this state folder has a scheduler:"
	}
	return fmt.Sprintf("%s process %d on %s since %s", what, e.Owner.PID, e.Owner.Host, e.Owner.Since.Format(time.RFC3339))
}

// lookers is how often a lock is tried again: Locked holds it for a moment.
const lookers = 10

// lock makes this process the owner of an embedded run. The operating system
// frees the lock when the process ends, however it ends.
func lock(home, run string) (unlock func(), err error) {
	dir := filepath.Join(home, "locks")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("lock run %s: %w", run, err)
	}
	path := filepath.Join(dir, run+".lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock run %s: %w", run, err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	for try := 0; errors.Is(err, syscall.EWOULDBLOCK) && try < lookers; try++ {
		time.Sleep(10 * time.Millisecond) //nolint:forbidigo // a tenth of a second at most, before anything runs
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
		defer f.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock run %s: %w", run, err)
		}
		held := &LockedError{Run: run}
		if content, err := io.ReadAll(f); err == nil {
			_ = json.Unmarshal(content, &held.Owner)
		}
		return nil, held
	}
	if !current(f, path) {
		// The owner before us removed the file between our open and our lock.
		f.Close()
		return lock(home, run)
	}
	host, _ := os.Hostname()
	content, err := json.Marshal(Owner{PID: os.Getpid(), Host: host, Since: time.Now()})
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(content, 0)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock run %s: %w", run, err)
	}
	return func() {
		// Removed while held: who opened it before notices that it is gone.
		_ = os.Remove(f.Name())
		f.Close()
	}, nil
}

// current says whether the path still leads to the open file.
func current(f *os.File, path string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(open, there)
}

// Locked says whether a process carries the run out right now.
func Locked(home, run string) (Owner, bool) {
	f, err := os.Open(filepath.Join(home, "locks", run+".lock"))
	if err != nil {
		return Owner{}, false
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); err == nil {
		return Owner{}, false
	}
	var o Owner
	content, err := io.ReadAll(f)
	if err == nil {
		_ = json.Unmarshal(content, &o)
	}
	return o, true
}
