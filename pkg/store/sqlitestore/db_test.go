package sqlitestore

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/store/storetest"
)

// TestMain lets the test binary be the other process: with a file in
// SQLITESTORE_WRITER it commits results until it is killed.
func TestMain(m *testing.M) {
	if path := os.Getenv("SQLITESTORE_WRITER"); path != "" {
		if err := writeForever(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func TestStore(t *testing.T) {
	storetest.Exercise(t, func(t *testing.T, now func() time.Time) store.Store {
		db := openFile(t, filepath.Join(t.TempDir(), "store.db"))
		db.now = now
		return db
	})
}

func openFile(tb testing.TB, path string) *DB {
	tb.Helper()
	db, err := Open(context.Background(), path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	return db
}

func TestOpenAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a store?mode=memory&x#%41 ü.db")
	db, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	id := db.ID()
	if len(id) != 16 || strings.ToLower(id) != id {
		t.Errorf("got id %q, want 16 lower-case letters and digits", id)
	}
	run := startRun(t, db, 1)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	names, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	if len(names) != 1 || names[0].Name() != filepath.Base(path) {
		t.Errorf("got files %v after Close, want the store alone", names)
	}

	again := openFile(t, path)
	if got := again.ID(); got != id {
		t.Errorf("got id %q in the same file, want %q", got, id)
	}
	if _, err := again.Run(t.Context(), run.ID); err != nil {
		t.Error(err)
	}
	if other := openFile(t, filepath.Join(t.TempDir(), "store.db")); other.ID() == id {
		t.Errorf("got id %q in another file too", id)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("These are notes and no database. ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	newer := filepath.Join(dir, "newer.db")
	db := openFile(t, newer)
	if _, err := db.write.ExecContext(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)`); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ path, want string }{
		"no database":  {text, "not a database"},
		"no folder":    {filepath.Join(dir, "none", "store.db"), "unable to open"},
		"a folder":     {dir, "unable to open"},
		"newer schema": {newer, "written by a newer evalfarm"},
	} {
		t.Run(name, func(t *testing.T) {
			db, err := Open(t.Context(), tc.path)
			if err == nil {
				db.Close()
				t.Fatal("got a store, want an error")
			}
			if !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), tc.path) {
				t.Errorf("got error %q, want one with %q and the path", err, tc.want)
			}
		})
	}
}

func TestOpenAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	ids := make([]string, 6)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			db, err := Open(t.Context(), path)
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = db.ID()
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if ids = slices.Compact(ids); len(ids) != 1 {
		t.Errorf("got ids %q of one new file, want one", ids)
	}
}

func TestSettings(t *testing.T) {
	db := openFile(t, filepath.Join(t.TempDir(), "store.db"))
	for pragma, want := range map[string]string{
		"journal_mode": "wal",
		"synchronous":  "2", // full
		"foreign_keys": "1",
		"auto_vacuum":  "2", // incremental
		"busy_timeout": "30000",
	} {
		var got string
		if err := db.write.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", pragma, got, want)
		}
	}
	if _, err := db.read.ExecContext(t.Context(), `DELETE FROM runs`); err == nil {
		t.Error("got a write through a connection for readers")
	}
}

// Two handles on one file, as of a run and of a cancel in another terminal.
func TestTwoHandles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	run, other := openFile(t, path), openFile(t, path)
	const trials = 200
	startRun(t, run, trials)
	dispatchTrials(t, run, 0, trials)
	var wg sync.WaitGroup
	for _, db := range []*DB{run, other} {
		wg.Go(func() {
			for i := range trials {
				if _, err := db.Commit(t.Context(), records(i, i+1)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	if err := other.SetControl(t.Context(), "r", eval.ControlCancel); err != nil {
		t.Error(err)
	}
	wg.Wait()
	r, err := run.Run(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	if r.Control != eval.ControlCancel {
		t.Errorf("got control %s, want the other handle's %s", r.Control, eval.ControlCancel)
	}
	expectWhole(t, run, trials)
}

// Two processes keep one cap between them.
func TestTwoHandlesOneCap(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	storetest.ShareCap(t, openFile(t, path), openFile(t, path))
}

// What a store held before there were ledgers is in them, and stays where it was.
func TestMigrateLedger(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	old, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		t.Fatal(err)
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, old, files, goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.UpTo(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for _, statement := range []string{
		`INSERT INTO runs (id, suite, suite_hash, suite_path, state, control, header, trials, cursor, attempts, max_lost, priority,
			outcome, verdict, exit_code, summary, created, finished, spent)
		VALUES ('r', 's', '', '', 'running', 'run', '', 3, 3, 3, 10, 1, '', '', 0, '', 1, 0, 70)`,
		`INSERT INTO attempts (uid, run, ordinal, n, worker, outcome, verdict, reason, message, cost, trace_id, started, ended)
		VALUES ('a', 'r', 0, 1, 'w', 'failed', 'error', '', '', 30, '', ?1, ?1), ('b', 'r', 0, 2, 'w', 'done', 'pass', '', '', 40, '', ?1, ?1)`,
		`INSERT INTO results (uid, body) VALUES ('b', '{"verdict":"pass"}')`,
		`INSERT INTO trials (run, ordinal, attempt, state, hold, result) VALUES ('r', 0, 2, 'done', 0, 'b'), ('r', 1, 1, 'dispatched', 5, NULL)`,
	} {
		if _, err := old.ExecContext(t.Context(), statement, now.UnixMicro()); err != nil {
			t.Fatal(err)
		}
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}

	db := openFile(t, path)
	db.now = func() time.Time { return now }
	l, err := db.Ledger(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	if want := (eval.Ledger{Spent: eval.Amount{MicroUSD: 70}, Uncounted: eval.Amount{MicroUSD: 30}, Held: eval.Amount{MicroUSD: 5}}); l != want {
		t.Errorf("got ledger %+v, want %+v", l, want)
	}
	r, err := db.Run(t.Context(), "r")
	if err != nil || r.Budget != (eval.Budget{}) || r.Cursor != 3 {
		t.Errorf("got run %+v, %v, want the old one without a budget", r, err)
	}
	if row, err := db.Result(t.Context(), "r", 0); err != nil || row.CostMicroUSD != 40 {
		t.Errorf("got result %+v, %v, want the old one", row, err)
	}
	header := blob.Pack([]byte(`{}`))
	capped := eval.Run{ID: "capped", Header: header.SHA256, Trials: 1, DayMicroUSD: 80}
	if err := db.CreateRun(t.Context(), capped, []eval.Blob{header}); err != nil {
		t.Fatal(err)
	}
	d, err := db.Dispatch(t.Context(), "capped", []store.Mark{{Attempt: 1, Hold: eval.Amount{MicroUSD: 6}}})
	if err != nil || !reflect.DeepEqual(d, store.Marked{Short: eval.ShortOfDayMoney}) {
		t.Errorf("got %+v, %v for more than the old run left of the day, want it short", d, err)
	}
}

// expectWhole checks that the first n trials of run r have one result each.
func expectWhole(t *testing.T, db *DB, n int) {
	t.Helper()
	counts, err := db.Counts(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	next := 0
	err = db.EachResult(t.Context(), "r", func(row store.Row) error {
		if row.Ordinal != next {
			t.Errorf("got a result of trial %d, want %d", row.Ordinal, next)
		}
		next = row.Ordinal + 1
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := db.Ledger(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	if next != n || counts.Pass != n || l.Spent.MicroUSD != int64(10*n) {
		t.Errorf("got %d results, %d counted and %d micro-dollars spent, want %d, %d and %d", next, counts.Pass, l.Spent.MicroUSD, n, n, 10*n)
	}
	var integrity string
	if err := db.read.QueryRowContext(t.Context(), `PRAGMA integrity_check`).Scan(&integrity); err != nil || integrity != "ok" {
		t.Errorf("got integrity %q, %v, want ok", integrity, err)
	}
}

const killBatch = 5

// writeForever commits batches of run r and prints how many results it has been
// told are stored.
func writeForever(path string) error {
	ctx := context.Background()
	db, err := Open(ctx, path)
	if err != nil {
		return err
	}
	for next := 0; ; next += killBatch {
		if _, err := db.Commit(ctx, records(next, next+killBatch)); err != nil {
			return err
		}
		fmt.Println(next + killBatch)
	}
}

// A writer in another process is killed, again and again, while this process
// reads and writes: what it was told is stored is there, nothing is there half,
// and nothing twice.
func TestKilledWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	db := openFile(t, path)
	const trials = 1_000_000 // more than it gets to
	startRun(t, db, trials)
	dispatchTrials(t, db, 0, 20_000)
	for kill := range 3 {
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), "SQLITESTORE_WRITER="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		told, lines := 0, 0
		for in := bufio.NewScanner(out); in.Scan(); {
			if _, err := fmt.Sscan(in.Text(), &told); err != nil {
				t.Fatal(err)
			}
			if err := db.SetControl(t.Context(), "r", eval.ControlPause); err != nil {
				t.Fatal(err)
			}
			if lines++; lines == 20*(kill+1) {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait() // killed
		if told < killBatch {
			t.Fatal("the writer stored nothing")
		}
		counts, err := db.Counts(t.Context(), "r")
		if err != nil {
			t.Fatal(err)
		}
		if counts.Pass < told || counts.Pass%killBatch != 0 {
			t.Errorf("got %d results, want at least the %d that were told stored, in whole batches of %d", counts.Pass, told, killBatch)
		}
		expectWhole(t, db, counts.Pass)
	}
}

// A Collect that was killed after it took a run out of the list is completed by
// the next one, and gives the disk space back.
func TestCollectCompletes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	db := openFile(t, path)
	const trials = 2*slice + 100
	run := startRun(t, db, trials)
	dispatchTrials(t, db, 0, trials)
	if _, err := db.Commit(t.Context(), records(0, trials)); err != nil {
		t.Fatal(err)
	}
	if err := db.Finish(t.Context(), run, blob.Pack(nil)); err != nil {
		t.Fatal(err)
	}
	full := pages(t, db)
	if _, err := db.write.ExecContext(t.Context(), `DELETE FROM runs; INSERT INTO collected VALUES ('r')`); err != nil {
		t.Fatal(err)
	}
	if err := db.CreateRun(t.Context(), run, nil); err == nil || !strings.Contains(err.Error(), "still being deleted") {
		t.Errorf("got error %v for a new run with an id that is being deleted, want one that says so", err)
	}
	c, err := db.Collect(t.Context(), time.Now().Add(time.Hour), false)
	if err != nil {
		t.Fatal(err)
	}
	if want := trials + 2; c.Runs != 0 || c.Blobs != want { // trajectories, header and summary
		t.Errorf("got %d runs and %d blobs collected, want 0 and %d", c.Runs, c.Blobs, want)
	}
	for _, table := range []string{"collected", "cells", "counts", "trials", "attempts", "results", "gradings", "scores", "blobs", "run_blobs", "events", "charges", "live"} {
		var n int
		if err := db.read.QueryRowContext(t.Context(), `SELECT count(*) FROM `+table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n != 0 {
			t.Errorf("got %d rows left in %s, want none", n, table)
		}
	}
	if got := pages(t, db); got > full/10 {
		t.Errorf("got %d pages after everything was deleted, of %d before", got, full)
	}
	var free int
	if err := db.read.QueryRowContext(t.Context(), `PRAGMA freelist_count`).Scan(&free); err != nil || free != 0 {
		t.Errorf("got %d free pages kept, %v, want 0", free, err)
	}
}

func pages(t *testing.T, db *DB) (n int) {
	t.Helper()
	if err := db.read.QueryRowContext(t.Context(), `PRAGMA page_count`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// What the plan resolves to is there for questions across runs.
func TestCells(t *testing.T) {
	db := openFile(t, filepath.Join(t.TempDir(), "store.db"))
	a, b := blob.Pack([]byte(`{"id":"a"}`)), blob.Pack([]byte(`{"id":"b"}`))
	plain, err := json.Marshal(eval.Snapshot{
		Variants: []eval.Variant{{ID: "model=fast"}, {ID: "model=slow"}},
		Cases:    []eval.CaseRef{{ID: "a", Kind: eval.KindScript, Blob: a.SHA256}, {ID: "b", Kind: eval.KindCatalog, Blob: b.SHA256}},
		Plan:     eval.Plan{Cells: []eval.Cell{{Case: 1, Variant: 0, Repeats: 2}, {Case: 0, Variant: 1, Repeats: 3}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	header := blob.Pack(plain)
	if err := db.CreateRun(t.Context(), eval.Run{ID: "r", Header: header.SHA256, Trials: 5}, []eval.Blob{header, a, b}); err != nil {
		t.Fatal(err)
	}
	got, err := readAll(t.Context(), db.read, func(row scanner) (line string, err error) {
		var cell, repeats int
		var id, kind, variant string
		err = row.Scan(&cell, &id, &kind, &variant, &repeats)
		return fmt.Sprint(cell, " ", id, " ", kind, " ", variant, " ", repeats), err
	}, `SELECT cell, case_id, kind, variant, repeats FROM cells WHERE run = 'r' ORDER BY cell`)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"0 b catalog model=fast 2", "1 a script model=slow 3"}; !slices.Equal(got, want) {
		t.Errorf("got cells %q, want %q", got, want)
	}
}

func TestGrading(t *testing.T) {
	db := openFile(t, filepath.Join(t.TempDir(), "store.db"))
	startRun(t, db, 2)
	dispatchTrials(t, db, 0, 2)
	for i := range 2 {
		if _, err := db.Commit(t.Context(), records(i, i+1)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := readAll(t.Context(), db.read, func(row scanner) (line string, err error) {
		var ordinal, n, position, value int
		var grading, check string
		err = row.Scan(&grading, &ordinal, &n, &position, &check, &value)
		return fmt.Sprint(grading, ordinal, n, position, check, value), err
	}, `SELECT g.name, s.ordinal, s.n, s.position, s.check_name, s.value FROM scores s JOIN gradings g ON g.id = s.grading WHERE g.run = 'r' ORDER BY 2, 4`)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 2 {
		want = append(want, fmt.Sprint("checks", i, 1, 0, "step 1", 1), fmt.Sprint("checks", i, 1, 1, "step 2", 1))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got scores %q, want %q", got, want)
	}
}
