// Package spool keeps the records of a worker on its disk until the aggregator
// has stored them. The queue may forget what was committed to it; what was
// measured, and with models paid, is then offered again from here.
//
// A spool is a folder with a file for each record, named after its uid, and a
// lock (flock(2)) that the operating system frees when the worker dies, however
// it dies. The next worker that opens its spool beside it takes the records over.
// The folder has to be on a local disk: the lock does not hold on every network
// file system.
package spool

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// ErrFull is returned when a record would take the spool over its limit.
var ErrFull = errors.New("the spool is full")

const (
	lockFile = "lock"
	suffix   = ".json"
	// hidden are the names of what is being made; nobody takes them over.
	hidden = ".new-"
)

// Options of a spool. The zero value is useful.
type Options struct {
	// Limit is how many bytes the records may take; zero means 1 GiB. A record
	// takes a few kilobytes, and is there for seconds if nothing is wrong.
	Limit int64
	// Logger; nil discards.
	Logger *slog.Logger
}

// A Spool keeps records. It is safe for concurrent use.
type Spool struct {
	dir   string
	limit int64
	log   *slog.Logger
	lock  *os.File
	// write puts content into a file that is open.
	write func(f *os.File, content []byte) error

	mu      sync.Mutex // guards the following fields
	size    int64
	entries map[string]entry // by uid
}

// An entry is one record that is kept.
type entry struct {
	about eval.Record // who it is, without what it says
	size  int64       // of its file; 0 when there is none
	// content is in memory until the disk has it.
	content []byte
	// refused says that the disk did not take it.
	refused bool
}

// Open makes the spool of a worker in the folder dir, which all workers of one
// farm on one machine may share, and takes over what dead workers left there.
func Open(dir, worker string, o Options) (*Spool, error) {
	s := &Spool{limit: o.Limit, log: o.Logger, write: writeFile, entries: map[string]entry{}}
	if s.limit <= 0 {
		s.limit = 1 << 30
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if err := s.open(dir, worker); err != nil {
		return nil, fmt.Errorf("open the spool in %s: %w", dir, err)
	}
	return s, nil
}

func (s *Spool) open(dir, worker string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	// It is locked before it has its name, so that nobody takes it over.
	made, err := os.MkdirTemp(dir, hidden)
	if err != nil {
		return err
	}
	if s.lock, err = lock(made); err == nil {
		s.dir = filepath.Join(dir, filepath.Base(worker))
		err = os.Rename(made, s.dir)
	}
	if err != nil {
		_ = os.RemoveAll(made)
		return err
	}
	siblings, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, d := range siblings {
		if path := filepath.Join(dir, d.Name()); d.IsDir() && path != s.dir && !strings.HasPrefix(d.Name(), hidden) {
			if err := s.takeOver(path); err != nil {
				return fmt.Errorf("take over %s: %w", path, err)
			}
		}
	}
	return nil
}

// lock takes the lock of a spool's folder, or fails with EWOULDBLOCK.
func lock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// takeOver moves the records of a dead worker into this spool.
func (s *Spool) takeOver(dir string) error {
	l, err := lock(dir)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, os.ErrNotExist) {
		return nil // its worker lives, or another one was quicker
	}
	if err != nil {
		return err
	}
	defer l.Close()
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	taken := 0
	for _, f := range files {
		path := filepath.Join(dir, f.Name())
		if !strings.HasSuffix(f.Name(), suffix) {
			continue // the lock, or half a record of a worker that was killed while it wrote
		}
		r, size, err := read(path)
		if err != nil {
			s.log.Error("setting aside a record of a dead worker that cannot be read", "path", path, "error", err)
			_ = os.Rename(path, filepath.Join(filepath.Dir(s.dir), ".damaged-"+f.Name()))
			continue
		}
		if err := os.Rename(path, s.path(r.UID)); err != nil {
			return err
		}
		s.entries[r.UID] = entry{about: about(r), size: size}
		s.size += size
		taken++
	}
	if taken > 0 {
		s.log.Info("took over the records of a dead worker", "spool", dir, "records", taken)
	}
	return os.RemoveAll(dir)
}

// about is what names a record.
func about(r eval.Record) eval.Record {
	return eval.Record{UID: r.UID, Run: r.Run, Ordinal: r.Ordinal, N: r.N, Worker: r.Worker}
}

func (s *Spool) path(uid string) string { return filepath.Join(s.dir, filepath.Base(uid)+suffix) }

func read(path string) (r eval.Record, size int64, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return r, 0, err
	}
	if err := json.Unmarshal(content, &r); err != nil {
		return r, 0, err
	}
	if r.UID+suffix != filepath.Base(path) {
		return r, 0, fmt.Errorf("it is the record of attempt %.64q", r.UID)
	}
	return r, int64(len(content)), nil
}

// Keep keeps a record. When it returns nil, the record outlives this process and
// the machine's power. Else the disk did not take it: the record is kept in memory
// until Flush can write it.
func (s *Spool) Keep(r eval.Record) error {
	content, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("keep the record of attempt %s: %w", r.UID, err)
	}
	s.mu.Lock()
	s.entries[r.UID] = entry{about: about(r), content: content}
	s.mu.Unlock()
	err = s.save(r.UID, content)
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if e, ok := s.entries[r.UID]; ok {
			e.refused = true
			s.entries[r.UID] = e
		}
	}
	return err
}

// save writes the content of an entry to the disk.
func (s *Spool) save(uid string, content []byte) error {
	size := int64(len(content))
	s.mu.Lock()
	if s.size+size > s.limit {
		s.mu.Unlock()
		return fmt.Errorf("keep the record of attempt %s in %s: %w: it may take %d bytes", uid, s.dir, ErrFull, s.limit)
	}
	s.size += size
	s.mu.Unlock()
	// Without the lock: records that end together are written together.
	err := s.put(s.path(uid), content)
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.entries[uid]
	switch {
	case err != nil:
		s.size -= size
		return fmt.Errorf("keep the record of attempt %s: %w", uid, err)
	case !ok: // removed meanwhile
		s.size -= size
		return remove(s.path(uid))
	}
	s.entries[uid] = entry{about: e.about, size: size}
	return nil
}

// put makes a file of content, wholly or not at all.
func (s *Spool) put(path string, content []byte) error {
	f, err := os.CreateTemp(s.dir, hidden)
	if err != nil {
		return err
	}
	err = errors.Join(s.write(f, content), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return err
	}
	d, err := os.Open(s.dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func writeFile(f *os.File, content []byte) error {
	if _, err := f.Write(content); err != nil {
		return err
	}
	return f.Sync()
}

func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Flush writes to the disk what the disk has refused so far. It is called from one
// goroutine.
func (s *Spool) Flush() error {
	s.mu.Lock()
	waiting := map[string][]byte{}
	for uid, e := range s.entries {
		if e.refused {
			waiting[uid] = e.content
		}
	}
	s.mu.Unlock()
	for _, uid := range slices.Sorted(maps.Keys(waiting)) {
		if err := s.save(uid, waiting[uid]); err != nil {
			return err
		}
	}
	return nil
}

// Held is how many records the disk has refused: they are in memory only.
func (s *Spool) Held() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, e := range s.entries {
		if e.refused {
			n++
		}
	}
	return n
}

// Kept lists the records that are kept, the oldest first, without what they say.
func (s *Spool) Kept() []eval.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rs []eval.Record
	for _, uid := range slices.Sorted(maps.Keys(s.entries)) {
		rs = append(rs, s.entries[uid].about)
	}
	return rs
}

// Load returns a record that is kept. One that is not, any more, is
// [os.ErrNotExist].
func (s *Spool) Load(uid string) (eval.Record, error) {
	s.mu.Lock()
	e, ok := s.entries[uid]
	s.mu.Unlock()
	var r eval.Record
	var err error
	switch {
	case !ok:
		err = os.ErrNotExist
	case e.content != nil:
		err = json.Unmarshal(e.content, &r)
	default:
		r, _, err = read(s.path(uid))
	}
	if err != nil {
		return eval.Record{}, fmt.Errorf("load the record of attempt %s from the spool: %w", uid, err)
	}
	return r, nil
}

// Remove lets go of a record. One that is not kept is no error.
func (s *Spool) Remove(uid string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.entries[uid]
	if !ok {
		return nil
	}
	delete(s.entries, uid)
	s.size -= e.size
	if err := remove(s.path(uid)); err != nil {
		return fmt.Errorf("remove the record of attempt %s from the spool: %w", uid, err)
	}
	return nil
}

// Close leaves what is still kept to the next worker.
func (s *Spool) Close() error {
	if len(s.Kept()) == 0 {
		_ = os.RemoveAll(s.dir) // locked until now, so nobody has taken it over
	}
	if err := s.lock.Close(); err != nil {
		return fmt.Errorf("close the spool: %w", err)
	}
	return nil
}
