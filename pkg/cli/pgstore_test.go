package cli_test

import (
	"strings"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/internal/pgtest"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

// undisturbed is the summary of ten repeats of many, in one process on SQLite.
func undisturbed(t *testing.T) eval.Summary {
	t.Helper()
	s := newShop(t)
	var summary eval.Summary
	s.json(&summary, 1, "run", s.file("suite.yaml", manySuite()), "--seed", "7", "-n", "10", "--json", "--progress", "none")
	return summary
}

// sameAs wants the summary of an undisturbed run, and one result for each trial.
func (s *shop) sameAs(got, want eval.Summary) {
	s.t.Helper()
	if got.Fingerprint != want.Fingerprint || got.Fingerprint == "" || got.Counts != want.Counts {
		s.t.Errorf("got %+v %s, want %+v %s", got.Counts, got.Fingerprint, want.Counts, want.Fingerprint)
	}
	s.once(want.Counts.Total())
}

// PostgreSQL is stopped while a run is going on in one process, and comes back after
// some seconds: nothing is lost, and nobody had to do anything. internal/chaos does it
// to farms.
func TestPostgresRestartsAmidARun(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	want := undisturbed(t)
	f := newShop(t)
	f.file("suite.yaml", manySuite())
	server.Create(t, "restarted")
	f.env = append(f.env, "EVALFARM_STORE="+server.URL("restarted"))
	p := f.start("run", "suite.yaml", "--seed", "7", "-n", "10", "--json", "--progress", "none")
	eventually(t, "a fifth of the results are stored", func() bool { return f.done() >= 100 || p.ended() })
	server.Stop(t)
	if p.ended() {
		t.Fatal("the run ended before its store did")
	}
	time.Sleep(3 * time.Second) // what is tested is that this is survived
	server.Restart(t)
	f.sameAs(conclude(f, p, nil, 1), want)
}

// What is wrong with a store's URL is said, and its password is not.
func TestStoreURL(t *testing.T) {
	s := newShop(t)
	server := pgtest.Start(t)
	good := server.URL("postgres")
	wrong := strings.Replace(good, "password", "hush", 1)
	for _, tt := range []struct {
		name string
		env  string
		args []string
		code int
		want string
	}{
		{"no PostgreSQL", "", []string{"--store", "mysql://u:hush@host/db"}, 2, "--store: a store is a SQLite file or a PostgreSQL database"},
		{"a variable", "mysql://u:hush@host/db", nil, 2, "EVALFARM_STORE: a store is a SQLite file or a PostgreSQL database"},
		{"malformed", "", []string{"--store", "postgres://u:hu/sh@host/db"}, 3, "cannot be read"},
		{"wrong password", "", []string{"--store", wrong, "-v"}, 3, `refuses user "evalfarm" or the password`},
		{"the flag goes before the variable", "mysql://u:hush@host/db", []string{"--store", good}, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s.t = t
			s.env = append(newShop(t).env, "EVALFARM_STORE="+tt.env)
			p := s.start(append([]string{"runs"}, tt.args...)...)
			if code := p.wait(); code != tt.code || !strings.Contains(p.errs.String(), tt.want) {
				t.Errorf("exit code %d, want %d and %q\n%s", code, tt.code, tt.want, p.errs.String())
			}
			if said := p.out.String() + p.errs.String(); strings.Contains(said, "hush") || strings.Contains(said, "hu/sh") {
				t.Errorf("the password is shown: %s", said)
			}
		})
	}
}
