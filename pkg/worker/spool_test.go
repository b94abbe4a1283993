package worker_test

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
	"github.com/evalfarm/evalfarm/pkg/spool"
	"github.com/evalfarm/evalfarm/pkg/worker"
)

// A flakyDisk is a spool whose disk refuses while it is broken.
type flakyDisk struct {
	*spool.Spool
	mu     sync.Mutex // guards what follows
	broken bool
	memory map[string]eval.Record
}

var errDiskFull = errors.New("no space left on device")

func (d *flakyDisk) setBroken(broken bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.broken = broken
}

func (d *flakyDisk) Keep(r eval.Record) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.broken {
		d.memory[r.UID] = r
		return errDiskFull
	}
	return d.Spool.Keep(r)
}

func (d *flakyDisk) Held() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.memory)
}

func (d *flakyDisk) Flush() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.broken {
		return errDiskFull
	}
	for uid, r := range d.memory {
		if err := d.Spool.Keep(r); err != nil {
			return err
		}
		delete(d.memory, uid)
	}
	return nil
}

// spooled gives a worker a spool, and a queue that says of each record what the
// test wants.
func spooled(t *testing.T, says func(uid string) jobs.Passage, more ...func(*flakyDisk)) (*flakyDisk, option) {
	t.Helper()
	s, err := spool.Open(t.TempDir(), "w", spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	d := &flakyDisk{Spool: s, memory: map[string]eval.Record{}}
	for _, prepare := range more {
		prepare(d)
	}
	return d, func(o *worker.Options, _ *eval.Snapshot, _ []eval.Case) {
		o.Spool = d
		o.Place.(*place).passage = func(c jobs.Claim) jobs.Passage { return says(c.UID) }
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
	}
}

func (m *memory) uids() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var uids []string
	for _, r := range m.records {
		uids = append(uids, r.UID)
	}
	return uids
}

// A record that the queue has forgotten is committed again, the same one, until it
// is stored.
func TestForgottenRecordIsOfferedAgain(t *testing.T) {
	var passage atomic.Value
	passage.Store(jobs.Underway)
	disk, spooling := spooled(t, func(string) jobs.Passage { return passage.Load().(jobs.Passage) })
	b := setup(t, []eval.Case{active("a")}, spooling)
	first := b.do(1)[0]
	if kept := disk.Kept(); len(kept) != 1 || kept[0].UID != first.UID {
		t.Fatalf("the spool has %v while the record is on its way, want it", kept)
	}
	passage.Store(jobs.Unheard)
	eventually(t, "it is committed again", func() bool { return len(b.memory.uids()) > 1 })
	passage.Store(jobs.Stored)
	eventually(t, "the spool is empty", func() bool { return len(disk.Kept()) == 0 })
	for _, uid := range b.memory.uids() {
		if uid != first.UID {
			t.Errorf("committed %s, want %s again", uid, first.UID)
		}
	}
}

// What a dead worker has left is handed on by the next.
func TestLeftRecordsAreHandedOn(t *testing.T) {
	left := eval.Record{UID: "left", Run: "r-0", Ordinal: 3, N: 2, Worker: "dead", Outcome: eval.AttemptDone, CostMicroUSD: 7}
	var b *bundle
	disk, spooling := spooled(t, func(string) jobs.Passage { return jobs.Unheard }, func(d *flakyDisk) {
		if err := d.Spool.Keep(left); err != nil {
			t.Fatal(err)
		}
	})
	b = setup(t, nil, spooling)
	eventually(t, "it is handed on", func() bool { return slices.Contains(b.memory.uids(), "left") })
	if len(disk.Kept()) != 1 {
		t.Error("the record was let go before it was stored")
	}
}

// While the disk refuses records, none is lost and no trial is taken.
func TestFullDiskTakesNoTrials(t *testing.T) {
	disk, spooling := spooled(t, func(string) jobs.Passage { return jobs.Underway }, func(d *flakyDisk) { d.broken = true })
	b := setup(t, []eval.Case{active("a"), active("b")}, spooling)
	b.place.jobs <- jobs.Job{Run: "r-1", Ordinal: 0, Attempt: 1, Header: b.header}
	if err := b.handled(); err != nil {
		t.Errorf("the trial that the disk refuses came to %v, want it dealt with", err)
	}
	if got := b.memory.uids(); len(got) != 1 {
		t.Errorf("committed %v, want the record that is in memory", got)
	}
	next := jobs.Job{Run: "r-1", Ordinal: 1, Attempt: 1, Header: b.header}
	b.place.jobs <- next
	if _, later := errors.AsType[*jobs.LaterError](b.handled()); !later {
		t.Error("a trial was taken while a record is in memory only")
	}
	disk.setBroken(false)
	eventually(t, "the disk has the record", func() bool { return disk.Held() == 0 && len(disk.Kept()) == 1 })
	b.place.jobs <- next
	if err := b.handled(); err != nil || len(b.memory.uids()) != 2 {
		t.Errorf("with room on the disk: %v, %d records, want the trial carried out", err, len(b.memory.uids()))
	}
}

// A worker that drains waits for its records to be stored, and then ends.
func TestDrainWaitsForTheStore(t *testing.T) {
	var passage atomic.Value
	passage.Store(jobs.Underway)
	disk, spooling := spooled(t, func(string) jobs.Passage { return passage.Load().(jobs.Passage) })
	b := setup(t, []eval.Case{active("a")}, spooling)
	b.do(1)
	b.stop()
	select {
	case err := <-b.done:
		t.Fatalf("the worker ended with %v before its record was stored", err)
	case <-time.After(100 * time.Millisecond):
	}
	passage.Store(jobs.Stored)
	if err := <-b.done; err != nil || len(disk.Kept()) != 0 {
		t.Errorf("ended with %v and %d records, want none", err, len(disk.Kept()))
	}
}
