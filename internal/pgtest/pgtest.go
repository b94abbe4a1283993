// Package pgtest runs a real PostgreSQL server for tests, in a folder of its own:
// one that all tests of a process share, with a database for each, or one for a test
// that stops and restarts it.
package pgtest

import (
	"bytes"
	"fmt"
	"io"
	"net"
	neturl "net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/internal/freeport"
)

const (
	owner    = "evalfarm"
	password = "a password: for/tests?"
)

// A Server is a PostgreSQL server on a loopback port.
type Server struct {
	bin, dir string
	port     string
	settings []string
	// guard is a shell that ends the server when our end of its input is closed, so
	// however this process ends. If it was not told to keep the server's folder, it
	// removes that.
	guard *exec.Cmd
	input io.WriteCloser
}

// shared is the server of this process.
var shared struct {
	sync.Mutex
	server    *Server
	databases int
}

// URL makes an empty database for a test, on a server that the tests of this process
// share, and returns its URL. Without PostgreSQL on this machine the test is skipped.
func URL(tb testing.TB) string {
	tb.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil {
		s := create(tb, nil)
		s.start(tb)
		shared.server = s
	}
	shared.databases++
	name := fmt.Sprint("test", shared.databases)
	s := shared.server
	s.Create(tb, name)
	tb.Cleanup(func() { s.psql(tb, "DROP DATABASE "+name+" WITH (FORCE)") })
	return s.URL(name)
}

// Start starts a server that ends with the test. The settings are NAME=VALUE, as in
// postgresql.conf; by default the server does not wait for the disk.
func Start(tb testing.TB, settings ...string) *Server {
	tb.Helper()
	s := create(tb, settings)
	tb.Cleanup(func() {
		s.Stop(tb)
		_ = os.RemoveAll(s.dir)
	})
	s.start(tb)
	return s
}

// URL names a database of the server; "postgres" exists.
func (s *Server) URL(database string) string {
	u := neturl.URL{
		Scheme: "postgres", User: neturl.UserPassword(owner, password),
		Host: net.JoinHostPort("127.0.0.1", s.port), Path: "/" + database,
	}
	return u.String()
}

// Create makes an empty database.
func (s *Server) Create(tb testing.TB, database string) {
	tb.Helper()
	s.psql(tb, "CREATE DATABASE "+database)
}

// CreateIn makes an empty database whose tables are in a folder, which may be on a disk
// of its own. It goes with the test.
func (s *Server) CreateIn(tb testing.TB, database, dir string) {
	tb.Helper()
	at := filepath.Join(dir, database)
	as, err := servant()
	if err == nil {
		err = os.MkdirAll(at, 0o700)
	}
	// The server comes to the folder from above.
	for up := dir; err == nil && as != nil && len(up) > len(os.TempDir()); up = filepath.Dir(up) {
		err = os.Chmod(up, 0o711)
	}
	if err == nil && as != nil {
		err = os.Chown(at, int(as.Uid), int(as.Gid))
	}
	if err != nil {
		tb.Fatal(err)
	}
	s.psql(tb, "CREATE TABLESPACE "+database+" LOCATION '"+at+"'")
	s.psql(tb, "CREATE DATABASE "+database+" TABLESPACE "+database)
	tb.Cleanup(func() {
		s.psql(tb, "DROP DATABASE "+database+" WITH (FORCE)")
		s.psql(tb, "DROP TABLESPACE "+database)
	})
}

// Restart starts the server again after Stop, on the same port.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	s.start(tb)
}

// Stop ends the server at once, as a crash would: nobody is waited for, and what was
// not committed is lost.
func (s *Server) Stop(tb testing.TB) {
	tb.Helper()
	if s.guard == nil {
		return
	}
	if _, err := io.WriteString(s.input, "keep\n"); err != nil {
		tb.Errorf("stop PostgreSQL: %v", err)
	}
	if err := s.guard.Wait(); err != nil {
		tb.Errorf("stop PostgreSQL: %v", err)
	}
	s.guard = nil
}

// create makes the folder of a server.
func create(tb testing.TB, settings []string) *Server {
	tb.Helper()
	bin := programs()
	if bin == "" {
		tb.Skip("PostgreSQL is not installed: nothing in PATH or /usr/lib/postgresql has initdb (scripts/setup.sh test installs it on Debian)")
	}
	dir, err := os.MkdirTemp("", "pgtest") //nolint:usetesting // shared by tests, and read by another user
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{bin: bin, dir: dir, settings: settings}
	word := filepath.Join(dir, "password")
	if err := os.WriteFile(word, []byte(password+"\n"), 0o644); err != nil {
		tb.Fatal(err)
	}
	as, err := servant()
	if err == nil && as != nil {
		err = os.Chown(dir, int(as.Uid), int(as.Gid))
	}
	if err != nil {
		tb.Fatal(err)
	}
	initdb := exec.Command(filepath.Join(bin, "initdb"), "--pgdata", filepath.Join(dir, "data"), "--username", owner, "--pwfile", word,
		"--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C", "--no-sync", "--no-instructions")
	initdb.Dir, initdb.SysProcAttr = dir, &syscall.SysProcAttr{Credential: as}
	if out, err := initdb.CombinedOutput(); err != nil {
		tb.Fatalf("initdb: %v\n%s", err, out)
	}
	if s.port, err = freeport.Hold(tb.Cleanup); err != nil {
		tb.Fatal(err)
	}
	return s
}

// script of the guard: the folder, the program, and its arguments.
const script = `dir=$1; shift
"$@" </dev/null >>"$dir/log" 2>&1 &
server=$!
word=; read word
kill -QUIT $server 2>/dev/null; wait $server
[ "$word" = keep ] || rm -rf "$dir"
exit 0`

func (s *Server) start(tb testing.TB) {
	tb.Helper()
	args := []string{
		"-c", script, "sh", s.dir, filepath.Join(s.bin, "postgres"), "-D", filepath.Join(s.dir, "data"), "-p", s.port, "-k", s.dir,
	}
	for _, setting := range slices.Concat([]string{"listen_addresses=127.0.0.1", "fsync=off", "max_connections=200"}, s.settings) {
		args = append(args, "-c", setting)
	}
	as, err := servant()
	if err != nil {
		tb.Fatal(err)
	}
	s.guard = exec.Command("sh", args...)
	s.guard.Dir, s.guard.SysProcAttr = s.dir, &syscall.SysProcAttr{Credential: as}
	if s.input, err = s.guard.StdinPipe(); err == nil {
		err = s.guard.Start()
	}
	if err != nil {
		tb.Fatalf("start PostgreSQL: %v", err)
	}
	for deadline := time.After(time.Minute); ; {
		ready := exec.Command(filepath.Join(s.bin, "pg_isready"), "-q", "-h", "127.0.0.1", "-p", s.port, "-t", "1")
		if err = ready.Run(); err == nil {
			return
		}
		select {
		case <-deadline:
			log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			tb.Fatalf("PostgreSQL does not answer for a minute: %v\n%s", err, log)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// psql carries out one statement, as the owner of everything.
func (s *Server) psql(tb testing.TB, statement string) {
	tb.Helper()
	cmd := exec.Command(filepath.Join(s.bin, "psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", statement, s.URL("postgres"))
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%s: %v\n%s", statement, err, bytes.TrimSpace(out))
	}
}

// programs finds the folder of initdb: that of the newest version, where Debian has
// several.
func programs() string {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil { // the others may have no link
			return filepath.Dir(path)
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is sound
	if len(found) == 0 {
		return ""
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(strings.Split(path, "/")[4])
		return n
	}
	return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) }))
}

// servant is the user that runs the server when we are root, which PostgreSQL
// refuses to be; nil if we are not.
func servant() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil //nolint:nilnil // nobody else
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}
