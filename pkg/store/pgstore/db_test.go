package pgstore

import (
	"context"
	"fmt"
	"net"
	neturl "net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/internal/pgtest"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/store/sqlitestore"
	"github.com/evalfarm/evalfarm/pkg/store/sqlstore"
	"github.com/evalfarm/evalfarm/pkg/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Exercise(t, func(t *testing.T, now func() time.Time) store.Store {
		return openURLAt(t, pgtest.URL(t), now)
	})
}

func BenchmarkStore(b *testing.B) {
	server := pgtest.Start(b, "fsync=on")
	storetest.Bench(b, func(tb testing.TB) store.Store {
		tb.Helper()
		name := "bench" + strings.ToLower(strings.NewReplacer("/", "_", "=", "_").Replace(tb.Name()))
		server.Create(tb, name)
		return openURL(tb, server.URL(name))
	})
}

func openURL(tb testing.TB, url string) *sqlstore.DB {
	tb.Helper()
	return openURLAt(tb, url, time.Now)
}

func openURLAt(tb testing.TB, url string, now func() time.Time) *sqlstore.DB {
	tb.Helper()
	db, err := openAt(context.Background(), url, now)
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
	url := pgtest.URL(t)
	db, err := Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	id := db.ID()
	run := storetest.Start(t, db, 1)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	again := openURL(t, url)
	if got := again.ID(); got != id || len(id) != 16 {
		t.Errorf("got id %q in the same database, want the %q of before", got, id)
	}
	if _, err := again.Run(t.Context(), run.ID); err != nil {
		t.Error(err)
	}
	if other := openURL(t, pgtest.URL(t)); other.ID() == id {
		t.Errorf("got id %q in another database too", id)
	}
}

// with changes a URL.
func with(t *testing.T, raw string, change func(u *neturl.URL)) string {
	t.Helper()
	u, err := neturl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	change(u)
	return u.String()
}

func TestOpenRefuses(t *testing.T) {
	const secret = "hush/hush:hush@"
	url := pgtest.URL(t)
	newer := pgtest.URL(t)
	db := openURL(t, newer)
	if _, err := db.Write.ExecContext(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, TRUE)`); err != nil {
		t.Fatal(err)
	}
	latin := pgtest.URL(t)
	if _, err := db.Write.ExecContext(t.Context(), `CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0`); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		url  string
		want []string
	}{
		"wrong password": {
			with(t, url, func(u *neturl.URL) { u.User = neturl.UserPassword(u.User.Username(), secret) }),
			[]string{"open store postgres://evalfarm@127.0.0.1:", `refuses user "evalfarm" or the password`},
		},
		"no such user": {
			with(t, url, func(u *neturl.URL) { u.User = neturl.UserPassword("stranger", secret) }),
			[]string{`refuses user "stranger" or the password`},
		},
		"no such database": {
			with(t, url, func(u *neturl.URL) { u.Path = "/none" }),
			[]string{`there is no database "none"; make one: createdb none`},
		},
		"nobody listens": {
			"postgres://u:hush%2Fhush%3Ahush%40@" + nobody + "/db",
			[]string{"open store postgres://u@" + nobody + "/db", "nobody answers", "refused"},
		},
		"no such host": {
			"postgres://u:hush%2Fhush%3Ahush%40@nowhere.invalid/db",
			[]string{`there is no host "nowhere.invalid"`},
		},
		"newer schema":     {newer, []string{"written by a newer evalfarm"}},
		"another encoding": {with(t, latin, func(u *neturl.URL) { u.Path = "/latin" }), []string{"encoding is LATIN1"}},
		"another scheme":   {"mysql://u:" + secret + "@host/db", []string{"want postgres://USER"}},
		"raw password":     {"postgres://u:" + secret + "@host/db", []string{"want postgres://USER", "%XX"}},
		"a wrong setting":  {"postgres://u:hush%2Fhush%3Ahush%40@host/db?sslmode=perhaps", []string{"the URL of the store", "sslmode"}},
	} {
		t.Run(name, func(t *testing.T) {
			db, err := Open(t.Context(), tc.url)
			if err == nil {
				db.Close()
				t.Fatal("got a store, want an error")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got error %q, want one with %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), "for/tests") || strings.Contains(err.Error(), "for%2Ftests") {
				t.Errorf("got error %q, want none that shows the password", err)
			}
		})
	}
}

func TestOpenAtOnce(t *testing.T) {
	url := pgtest.URL(t)
	ids := make([]string, 6)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			db, err := Open(t.Context(), url)
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
		t.Errorf("got ids %q of one new database, want one", ids)
	}
}

func TestReadersCannotWrite(t *testing.T) {
	db := openURL(t, pgtest.URL(t))
	if _, err := db.Read.ExecContext(t.Context(), `DELETE FROM runs`); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("got %v from a write through a connection for readers, want a refusal", err)
	}
}

// Two processes keep one cap between them.
func TestTwoHandlesOneCap(t *testing.T) {
	url := pgtest.URL(t)
	storetest.ShareCap(t, openURL(t, url), openURL(t, url))
}

// Who wants to write waits for the one whose turn it is, and then sees what that has
// done.
func TestWritersTakeTurns(t *testing.T) {
	url := pgtest.URL(t)
	db, other := openURL(t, url), openURL(t, url)
	run := storetest.Start(t, db, 1)
	if err := db.SetBudget(t.Context(), run.ID, eval.Budget{MicroUSD: 10}); err != nil {
		t.Fatal(err)
	}
	ours, err := db.Write.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ours.Rollback() }()
	for _, statement := range []string{turn, `UPDATE runs SET held_microusd = 8`} {
		if _, err := ours.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	var marked store.Marked
	var wg sync.WaitGroup
	wg.Go(func() {
		var err error
		marked, err = other.Dispatch(t.Context(), run.ID, []store.Mark{{Attempt: 1, Hold: eval.Amount{MicroUSD: 5}}})
		if err != nil {
			t.Error(err)
		}
	})
	waiting := false
	for deadline := time.Now().Add(time.Minute); !waiting && time.Now().Before(deadline); {
		err := other.Read.QueryRowContext(t.Context(), `SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`).Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
	if !waiting {
		t.Error("nobody waits for the turn")
	}
	if err := ours.Commit(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if d := cmp.Diff(store.Marked{Short: eval.ShortOfMoney}, marked); d != "" {
		t.Errorf("5 where 8 of 10 are held (-want +got):\n%s", d)
	}
}

// Several stores in the schemas of one database know nothing of each other.
func TestSchemas(t *testing.T) {
	url := pgtest.URL(t)
	first := openURL(t, url)
	if _, err := first.Write.ExecContext(t.Context(), `CREATE SCHEMA other`); err != nil {
		t.Fatal(err)
	}
	other := openURL(t, with(t, url, func(u *neturl.URL) { u.RawQuery = "search_path=other" }))
	storetest.Start(t, first, 1)
	if _, err := other.Run(t.Context(), storetest.Load); err == nil || first.ID() == other.ID() {
		t.Errorf("got run %s of one schema in the other (%v), ids %s and %s", storetest.Load, err, first.ID(), other.ID())
	}
}

// The tables and columns of both databases are the same.
func TestSameSchema(t *testing.T) {
	lite, err := sqlitestore.Open(t.Context(), t.TempDir()+"/store.db")
	if err != nil {
		t.Fatal(err)
	}
	defer lite.Close()
	const (
		ofLite = `SELECT m.name || '.' || c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c
			WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.name NOT LIKE 'goose_%'`
		ofPostgres = `SELECT table_name || '.' || column_name FROM information_schema.columns
			WHERE table_schema = current_schema() AND table_name NOT LIKE 'goose_%'`
		version = `SELECT max(version_id) || '' FROM goose_db_version`
	)
	pg := openURL(t, pgtest.URL(t))
	for _, q := range [][2]string{{ofLite, ofPostgres}, {version, version}} {
		if diff := cmp.Diff(lines(t, lite, q[0]), lines(t, pg, q[1])); diff != "" {
			t.Errorf("schema: SQLite - and PostgreSQL +:\n%s", diff)
		}
	}
}

// lines are the sorted answers to a query of one column.
func lines(t *testing.T, db *sqlstore.DB, query string) (all []string) {
	t.Helper()
	rows, err := db.Read.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		all = append(all, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

// A server that is stopped and comes back, again and again, costs no record and
// counts none twice, whoever is in the middle of what.
func TestServerRestarts(t *testing.T) {
	const trials, batch, restarts = 400, 5, 3
	server := pgtest.Start(t)
	db := openURL(t, server.URL("postgres"))
	storetest.Start(t, db, trials)
	storetest.Mark(t, db, 0, trials)
	half := make(chan struct{}, restarts)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(half)
		for from := 0; from < trials; from += batch {
			if from > 0 && from%(trials/(restarts+1)) == 0 {
				half <- struct{}{}
			}
			if _, err := db.Commit(t.Context(), storetest.Records(from, from+batch)); err != nil {
				t.Errorf("commit: %v", err)
				return
			}
			if _, err := db.Outstanding(t.Context(), storetest.Load); err != nil {
				t.Errorf("outstanding: %v", err)
				return
			}
		}
	})
	for range half {
		server.Stop(t)
		server.Restart(t)
	}
	wg.Wait()
	counts, err := db.Counts(t.Context(), storetest.Load)
	if err != nil {
		t.Fatal(err)
	}
	l, err := db.Ledger(t.Context(), storetest.Load)
	if err != nil {
		t.Fatal(err)
	}
	if counts.Pass != trials || l.Spent.MicroUSD != 10*trials {
		t.Errorf("got %d results and %d micro-dollars, want %d and %d", counts.Pass, l.Spent.MicroUSD, trials, 10*trials)
	}
}

// A commit whose answer is lost is carried out again: the connection ends once the
// database has it and before we are told.
func TestUnknownOutcome(t *testing.T) {
	server := pgtest.Start(t)
	proxy := newProxy(t, server.URL("postgres"))
	db := openURL(t, proxy.url)
	storetest.Start(t, db, 1)
	storetest.Mark(t, db, 0, 1)
	proxy.cutAfter("COMMIT")
	stored, err := db.Commit(t.Context(), storetest.Records(0, 1))
	if err != nil {
		t.Fatal(err)
	}
	if !proxy.wasCut() {
		t.Fatal("the connection was not cut")
	}
	if len(stored) != 1 || stored[0].Final {
		t.Errorf("got %+v, want a record that was stored before", stored)
	}
	counts, err := db.Counts(t.Context(), storetest.Load)
	if err != nil {
		t.Fatal(err)
	}
	l, err := db.Ledger(t.Context(), storetest.Load)
	if err != nil {
		t.Fatal(err)
	}
	if counts.Pass != 1 || l.Spent.MicroUSD != 10 {
		t.Errorf("got %d results and %d micro-dollars spent, want 1 and 10", counts.Pass, l.Spent.MicroUSD)
	}
}

// Who was stopped in the middle of a transaction does not keep others from writing
// for ever, and goes on when it is thawed.
func TestFrozenWriter(t *testing.T) {
	url := pgtest.URL(t)
	db, other := openURL(t, url), openURL(t, url)
	storetest.Start(t, db, 2)
	storetest.Mark(t, db, 0, 2)
	ours, err := db.Write.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ours.Rollback() }()
	// As if we had been frozen for ten seconds.
	if _, err := ours.ExecContext(t.Context(), `SET idle_in_transaction_session_timeout = 50`); err != nil {
		t.Fatal(err)
	}
	if _, err := ours.ExecContext(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Commit(t.Context(), storetest.Records(0, 1)); err != nil {
		t.Errorf("while another one is frozen: %v", err)
	}
	if _, err := ours.ExecContext(t.Context(), `SELECT 1`); err == nil || !passes(err) {
		t.Errorf("got %v for a transaction that the server has ended, want an error that passes", err)
	}
	_ = ours.Rollback()
	if _, err := db.Commit(t.Context(), storetest.Records(1, 2)); err != nil {
		t.Errorf("after it: %v", err)
	}
	var setting string
	if err := other.Write.QueryRowContext(t.Context(), `SHOW idle_in_transaction_session_timeout`).Scan(&setting); err != nil || setting != "10s" {
		t.Errorf("got a bound of %q, %v, want 10s", setting, err)
	}
}

// EachResult holds one page, whatever the number of results: that is all that its
// query asks for.
func TestEachResultInPages(t *testing.T) {
	const trials = 350
	db := openURL(t, pgtest.URL(t))
	storetest.Start(t, db, trials)
	storetest.Mark(t, db, 0, trials)
	if _, err := db.Commit(t.Context(), storetest.Records(0, trials)); err != nil {
		t.Fatal(err)
	}
	seen := 0
	err := db.EachResult(t.Context(), storetest.Load, func(store.Row) error {
		if seen++; seen != 1 {
			return nil
		}
		// While a row is handed over no query is open: what is read next comes later.
		_, err := db.Write.ExecContext(t.Context(), fmt.Sprintf(`DELETE FROM trials WHERE ordinal >= %d`, trials-50))
		return err
	})
	if err != nil || seen != trials-50 {
		t.Errorf("got %d results, %v, want %d: those of pages not yet read that were deleted meanwhile are gone", seen, err, trials-50)
	}
}
