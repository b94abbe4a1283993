package spool_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/spool"
)

func open(tb testing.TB, dir, worker string, o spool.Options) *spool.Spool {
	tb.Helper()
	s, err := spool.Open(dir, worker, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

func record(uid string) eval.Record {
	return eval.Record{
		UID: uid, Run: "r-1", Ordinal: len(uid), N: 2, Worker: "w", Outcome: eval.AttemptDone, CostMicroUSD: 1234,
		Result: eval.Result{Verdict: eval.Fail, Message: "ü\x00\"|<b>"},
		Blobs:  []eval.Blob{{SHA256: "00", Zstd: []byte{0, 255, 10}}},
	}
}

func keep(tb testing.TB, s *spool.Spool, uids ...string) {
	tb.Helper()
	for _, uid := range uids {
		if err := s.Keep(record(uid)); err != nil {
			tb.Fatal(err)
		}
	}
}

// holds wants records, the oldest first, and each as it was kept.
func holds(tb testing.TB, s *spool.Spool, want ...string) {
	tb.Helper()
	var got []string
	for _, about := range s.Kept() {
		got = append(got, about.UID)
		r, err := s.Load(about.UID)
		if err != nil {
			tb.Error(err)
		}
		if d := cmp.Diff(record(about.UID), r); d != "" {
			tb.Errorf("record %s (-want +got):\n%s", about.UID, d)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		tb.Errorf("kept (-want +got):\n%s", d)
	}
}

// files lists what is on the disk, below a folder.
func files(tb testing.TB, dir string) []string {
	tb.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != "lock" {
			path, err = filepath.Rel(dir, path)
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return found
}

func TestKeepAndRemove(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, "w1", spool.Options{})
	keep(t, s, "b", "a", "b")
	holds(t, s, "a", "b")
	if d := cmp.Diff([]string{"w1/a.json", "w1/b.json"}, files(t, dir)); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
	info, err := os.Stat(filepath.Join(dir, "w1", "a.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v, %v; want 0600: it holds what servers said", info.Mode(), err)
	}
	for range 2 {
		if err := s.Remove("a"); err != nil {
			t.Error(err)
		}
	}
	holds(t, s, "b")
	if _, err := s.Load("a"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("load what was removed: got %v, want %v", err, os.ErrNotExist)
	}
	if err := s.Remove("b"); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("an empty spool leaves %v, %v; want nothing", left, err)
	}
}

// What a dead worker has left is taken over; what a living one has is not.
func TestNextWorkerTakesOver(t *testing.T) {
	dir := t.TempDir()
	dead, alive := open(t, dir, "dead", spool.Options{}), open(t, dir, "alive", spool.Options{})
	keep(t, dead, "a", "c")
	keep(t, alive, "b")
	// Killed while it wrote, and a file that the disk has damaged.
	for name, content := range map[string]string{".new-1": "{", "d.json": `{"uid":`, "e.json": `{"uid":"f"}`} {
		if err := os.WriteFile(filepath.Join(dir, "dead", name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	next := open(t, dir, "next", spool.Options{})
	holds(t, next, "a", "c")
	holds(t, alive, "b")
	want := []string{".damaged-d.json", ".damaged-e.json", "alive/b.json", "next/a.json", "next/c.json"}
	if d := cmp.Diff(want, files(t, dir)); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
	if err := next.Remove("a"); err != nil {
		t.Error(err)
	}
	holds(t, next, "c")
}

// Workers that start together share what a dead one has left.
func TestTakenOverOnce(t *testing.T) {
	dir := t.TempDir()
	dead := open(t, dir, "dead", spool.Options{})
	keep(t, dead, "a", "b", "c")
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	heirs := make([]*spool.Spool, 8)
	var starting sync.WaitGroup
	for i := range heirs {
		starting.Go(func() {
			s, err := spool.Open(dir, fmt.Sprint("heir", i), spool.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			heirs[i] = s
		})
	}
	starting.Wait()
	kept := map[string]int{}
	for _, s := range heirs {
		if s != nil {
			for _, r := range s.Kept() {
				kept[r.UID]++
			}
			_ = s.Close()
		}
	}
	if d := cmp.Diff(map[string]int{"a": 1, "b": 1, "c": 1}, kept); d != "" {
		t.Errorf("who has what (-want +got):\n%s", d)
	}
}

// A disk that takes nothing loses nothing: records wait in memory.
func TestDiskRefuses(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, "w", spool.Options{})
	keep(t, s, "a")
	s.Break(syscall.ENOSPC)
	for _, uid := range []string{"b", "c"} {
		if err := s.Keep(record(uid)); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("keep on a full disk: got %v, want %v", err, syscall.ENOSPC)
		}
	}
	if err := s.Flush(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("flush to a full disk: got %v, want %v", err, syscall.ENOSPC)
	}
	holds(t, s, "a", "b", "c")
	if n := s.Held(); n != 2 {
		t.Errorf("%d records in memory only, want 2", n)
	}
	if err := s.Remove("c"); err != nil { // it is stored
		t.Error(err)
	}
	s.Break(nil)
	if err := s.Flush(); err != nil {
		t.Error(err)
	}
	if n := s.Held(); n != 0 {
		t.Errorf("%d records in memory only after the flush, want none", n)
	}
	holds(t, s, "a", "b")
	if d := cmp.Diff([]string{"w/a.json", "w/b.json"}, files(t, dir)); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
}

// TestFullDisk fills a real file system.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("spool", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("this test mounts a small file system, which this user may not: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	s := open(t, dir, "w", spool.Options{})
	var uids []string
	var refused error
	for i := 0; refused == nil && i < 100; i++ {
		uids = append(uids, fmt.Sprintf("uid-%03d", i))
		refused = s.Keep(record(uids[i]))
	}
	if !errors.Is(refused, syscall.ENOSPC) || s.Held() != 1 {
		t.Fatalf("got %v and %d in memory, want a full disk and one", refused, s.Held())
	}
	holds(t, s, uids...)
	if err := s.Remove(uids[0]); err != nil {
		t.Error(err)
	}
	if err := s.Flush(); err != nil {
		t.Errorf("flush once there is room: %v", err)
	}
	holds(t, s, uids[1:]...)
	for _, uid := range uids[1:] {
		if err := s.Remove(uid); err != nil {
			t.Error(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestLimit(t *testing.T) {
	s := open(t, t.TempDir(), "w", spool.Options{Limit: 1500})
	keep(t, s, "a")
	var refused []string
	for _, uid := range []string{"b", "c", "d", "e", "f", "g", "h"} {
		if err := s.Keep(record(uid)); errors.Is(err, spool.ErrFull) {
			refused = append(refused, uid)
		} else if err != nil {
			t.Error(err)
		}
	}
	if len(refused) == 0 || len(refused) == 7 || s.Held() != len(refused) {
		t.Fatalf("refused %v, %d in memory; want some", refused, s.Held())
	}
	if err := s.Flush(); !errors.Is(err, spool.ErrFull) {
		t.Errorf("flush to a full spool: got %v, want %v", err, spool.ErrFull)
	}
	// Room comes back with what is removed, whoever was refused.
	for _, uid := range append(strings.Split("abcdefgh", ""), refused...) {
		if s.Flush() == nil {
			break
		}
		if err := s.Remove(uid); err != nil {
			t.Error(err)
		}
	}
	if s.Held() != 0 {
		t.Errorf("%d in memory once there was room, want none", s.Held())
	}
}

// Whatever is kept, removed, refused and taken over, in any order: what was kept
// and not removed is there.
func TestNothingIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "spool") //nolint:usetesting // one for each of the many checks of this test
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		worker, broken := 0, false
		s, err := spool.Open(dir, "w0", spool.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		want, memory := map[string]bool{}, map[string]bool{}
		draw := func(t *rapid.T) string { return rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "uid") }
		t.Repeat(map[string]func(*rapid.T){
			"keep": func(t *rapid.T) {
				uid := draw(t)
				if want[uid] {
					t.Skip("an attempt ends once")
				}
				if err := s.Keep(record(uid)); (err != nil) != broken {
					t.Fatalf("keep: got %v with a broken disk: %t", err, broken)
				}
				want[uid], memory[uid] = true, broken
			},
			"remove": func(t *rapid.T) {
				uid := draw(t)
				if err := s.Remove(uid); err != nil {
					t.Fatal(err)
				}
				delete(want, uid)
				delete(memory, uid)
			},
			"break": func(*rapid.T) { s.Break(syscall.ENOSPC); broken = true },
			"mend": func(t *rapid.T) {
				s.Break(nil)
				broken = false
				if err := s.Flush(); err != nil {
					t.Fatal(err)
				}
				clear(memory)
			},
			"die": func(t *rapid.T) {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				worker++
				if s, err = spool.Open(dir, fmt.Sprint("w", worker), spool.Options{}); err != nil {
					t.Fatal(err)
				}
				broken = false
				for uid, lost := range memory {
					if lost {
						delete(want, uid)
					}
				}
				clear(memory)
			},
			"": func(t *rapid.T) {
				got := map[string]bool{}
				for _, r := range s.Kept() {
					got[r.UID] = true
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Fatalf("kept (-want +got):\n%s", d)
				}
			},
		})
	})
}

func BenchmarkKeep(b *testing.B) {
	s := open(b, b.TempDir(), "w", spool.Options{})
	b.SetParallelism(8) // slots of a worker on each processor
	var mu sync.Mutex
	n := 0
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			mu.Lock()
			n++
			uid := fmt.Sprint(n)
			mu.Unlock()
			if err := s.Keep(record(uid)); err != nil {
				b.Error(err)
			}
			if err := s.Remove(uid); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
}
