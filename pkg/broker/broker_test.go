package broker_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/evalfarm/evalfarm/pkg/broker"
)

func open(t *testing.T, o broker.Options) *broker.Broker {
	t.Helper()
	b, err := broker.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// start runs a broker until the test ends.
func start(t *testing.T, b *broker.Broker) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: got %v, want nil", err)
		}
	})
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func TestEmbedded(t *testing.T) {
	b := open(t, broker.Options{})
	start(t, b)
	ctx := t.Context()
	if got := b.Describe(); got != "embedded redis" {
		t.Errorf("Describe: got %q", got)
	}
	// A pipeline that is larger than any buffer on the way, with answers as large.
	big := strings.Repeat("x", 10_000)
	cmds, err := b.Client().Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range 500 {
			p.Set(ctx, strconv.Itoa(i), big, 0)
			p.Get(ctx, strconv.Itoa(i))
		}
		return nil
	})
	if err != nil || len(cmds) != 1000 {
		t.Errorf("pipeline: got %d answers, %v, want 1000", len(cmds), err)
	}
	// Keys grow old.
	if err := b.Client().Set(ctx, "mortal", 1, time.Second).Err(); err != nil {
		t.Fatal(err)
	}
	until(t, "the key expires", func() bool {
		return errors.Is(b.Client().Get(ctx, "mortal").Err(), redis.Nil)
	})
	// A read that waits gives up when it should, and the connection works on.
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if err := b.Client().BLPop(short, time.Minute, "nothing").Err(); !errors.Is(err, context.DeadlineExceeded) && !os.IsTimeout(err) {
		t.Errorf("blocking read: got %v, want a timeout", err)
	}
	if err := b.Client().Ping(ctx).Err(); err != nil {
		t.Errorf("ping: %v", err)
	}
}

func TestEmbeddedOnesAreApart(t *testing.T) {
	one, two := open(t, broker.Options{}), open(t, broker.Options{Kind: broker.Embedded})
	if err := one.Client().Set(t.Context(), "k", 1, 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := two.Client().Get(t.Context(), "k").Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("key of the other: got %v, want none", err)
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	for _, o := range []broker.Options{{}, {Kind: broker.Spawn}} {
		t.Run(string(o.Kind), func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			b, err := broker.Open(context.Background(), o)
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Client().Ping(context.Background()).Err(); err != nil {
				t.Error(err)
			}
			if err := b.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			if err := b.Client().Ping(context.Background()).Err(); err == nil {
				t.Error("ping after Close: got an answer")
			}
		})
	}
}

// info reads a field of INFO.
func info(t *testing.T, b *broker.Broker, field string) string {
	t.Helper()
	text, err := b.Client().Info(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(text, "\n"+field+":")
	value, _, _ := strings.Cut(rest, "\r")
	return value
}

func pid(t *testing.T, b *broker.Broker) int {
	t.Helper()
	n, err := strconv.Atoi(info(t, b, "process_id"))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestSpawn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "redis")
	b := open(t, broker.Options{Kind: broker.Spawn, Dir: dir})
	start(t, b)
	ctx := t.Context()
	if got := b.Describe(); !strings.Contains(got, "spawned") || !strings.Contains(got, info(t, b, "redis_version")) {
		t.Errorf("Describe: got %q, want the version, and that it was spawned", got)
	}
	if fi, err := os.Stat(dir); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("folder: got %v, %v, want mode 0700", fi, err)
	}
	if got := info(t, b, "maxmemory_policy"); got != "noeviction" {
		t.Errorf("maxmemory-policy: got %s, want noeviction", got)
	}
	if got := info(t, b, "tcp_port"); got != "0" {
		t.Errorf("TCP port: got %s, want none", got)
	}
	if group, err := syscall.Getpgid(pid(t, b)); err != nil || group != pid(t, b) {
		t.Errorf("process group: got %d, %v, want its own", group, err)
	}
	// A second owner is told.
	if _, err := broker.Open(ctx, broker.Options{Kind: broker.Spawn, Dir: dir}); err == nil ||
		!strings.Contains(err.Error(), fmt.Sprintf("belongs to another evalfarm, process %d", os.Getpid())) {
		t.Errorf("second owner: got %v, want to be told of the first", err)
	}
	// It is started again when it dies, and remembers.
	if err := b.Client().Set(ctx, "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		first := pid(t, b)
		if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		until(t, "it is back", func() bool { return b.Client().Get(ctx, "k").Val() == "v" })
		if pid(t, b) == first {
			t.Error("the same process answers")
		}
	}
	last := pid(t, b)
	if err := b.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := syscall.Kill(last, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the server after Close: got %v, want it gone", err)
	}
}

// TestSpawnEvictsOrphan: a server that outlived its owner is ended, and what it
// knew is kept.
func TestSpawnEvictsOrphan(t *testing.T) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal("this test needs redis-server in PATH; `make test` installs it")
	}
	dir := t.TempDir()
	orphan := exec.Command(program, "--port", "0", "--unixsocket", filepath.Join(dir, "s.sock"),
		"--dir", dir, "--logfile", filepath.Join(dir, "redis.log"), "--appendonly", "yes", "--save", "")
	if err := orphan.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- orphan.Wait() }()
	t.Cleanup(func() { _ = orphan.Process.Kill() })
	c := redis.NewClient(&redis.Options{Network: "unix", Addr: filepath.Join(dir, "s.sock")})
	defer func() { _ = c.Close() }()
	until(t, "the orphan answers", func() bool { return c.Set(t.Context(), "k", "v", 0).Err() == nil })

	b := open(t, broker.Options{Kind: broker.Spawn, Dir: dir})
	<-ended
	if got := b.Client().Get(t.Context(), "k").Val(); got != "v" {
		t.Errorf("key of the orphan: got %q, want v", got)
	}
}

func TestSpawnInOddFolder(t *testing.T) {
	for _, name := range []string{strings.Repeat("deep/", 30), "a b#c?d%e"} {
		dir := filepath.Join(t.TempDir(), name)
		b := open(t, broker.Options{Kind: broker.Spawn, Dir: dir})
		if err := b.Client().Ping(t.Context()).Err(); err != nil {
			t.Errorf("%s: %v", dir, err)
		}
		if _, err := broker.Open(t.Context(), broker.Options{Kind: broker.Spawn, Dir: dir}); err == nil {
			t.Errorf("%s: second owner: got no error", dir)
		}
		socket := b.Describe()[strings.LastIndex(b.Describe(), " /")+1:]
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Dir(socket)); filepath.Dir(socket) != dir && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: folder of the socket after Close: got %v, want it gone", dir, err)
		}
	}
}

func TestSpawnWithoutServer(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := broker.Open(t.Context(), broker.Options{Kind: broker.Spawn})
	if err == nil || !strings.Contains(err.Error(), "neither valkey-server nor redis-server is in PATH") {
		t.Errorf("got %v, want to be told what to install", err)
	}
}

func TestSpawnOfServerThatEnds(t *testing.T) {
	bin := t.TempDir()
	const script = "#!/bin/sh\necho 'Fatal: no luck today' > \"$8/redis.log\"; exit 1\n" // $8 is what follows --dir
	if err := os.WriteFile(filepath.Join(bin, "redis-server"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	_, err := broker.Open(t.Context(), broker.Options{Kind: broker.Spawn})
	if err == nil || !strings.Contains(err.Error(), "no luck today") {
		t.Errorf("got %v, want its last words", err)
	}
}

// TestSpawnDiesWithOwner: the server of a killed process ends.
func TestSpawnDiesWithOwner(t *testing.T) {
	if os.Getenv("BROKER_TEST_OWNER") != "" {
		b, err := broker.Open(context.Background(), broker.Options{Kind: broker.Spawn, Dir: os.Getenv("BROKER_TEST_OWNER")})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("server %d\n", pid(t, b))
		select {}
	}
	me, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	owner := exec.Command(me, "-test.run=^TestSpawnDiesWithOwner$")
	owner.Env = append(os.Environ(), "BROKER_TEST_OWNER="+t.TempDir())
	out, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	var server int
	if _, err := fmt.Fscanf(out, "server %d\n", &server); err != nil {
		t.Fatal(err)
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait()
	until(t, "the server is gone", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", server))
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}

func TestURL(t *testing.T) {
	spawned := open(t, broker.Options{Kind: broker.Spawn})
	socket := spawned.Describe()[strings.LastIndex(spawned.Describe(), " ")+1:]
	b := open(t, broker.Options{URL: "unix://" + socket})
	start(t, b)
	if got := b.Describe(); !strings.HasSuffix(got, " at "+socket) || !strings.HasPrefix(got, "redis ") {
		t.Errorf("Describe: got %q, want version and address", got)
	}
	if err := b.Client().Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if got := spawned.Client().Get(t.Context(), "k").Val(); got != "v" {
		t.Errorf("key through the other: got %q, want v", got)
	}

	t.Run("refused login", func(t *testing.T) {
		set := spawned.Client().ConfigSet(t.Context(), "requirepass", "right-secret")
		if err := set.Err(); err != nil {
			t.Fatal(err)
		}
		_, err := broker.Open(t.Context(), broker.Options{URL: "unix://:wrong-secret@" + socket, Tries: 1})
		if err == nil || !strings.Contains(err.Error(), "refused the login") || strings.Contains(err.Error(), "secret") {
			t.Errorf("got %v, want a refused login without the password", err)
		}
		b := open(t, broker.Options{URL: "unix://:right-secret@" + socket})
		if strings.Contains(b.Describe(), "secret") {
			t.Errorf("Describe: got %q, with the password", b.Describe())
		}
		if err := b.Client().ConfigSet(t.Context(), "requirepass", "").Err(); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("evicting", func(t *testing.T) {
		c := spawned.Client()
		if err := c.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err(); err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		_ = open(t, broker.Options{URL: "unix://" + socket, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if !strings.Contains(log.String(), "allkeys-lru") {
			t.Errorf("without a memory limit: got %q, want a warning", log.String())
		}
		if err := c.ConfigSet(t.Context(), "maxmemory", "100mb").Err(); err != nil {
			t.Fatal(err)
		}
		_, err := broker.Open(t.Context(), broker.Options{URL: "unix://" + socket})
		if err == nil || !strings.Contains(err.Error(), "set maxmemory-policy to noeviction") {
			t.Errorf("with a memory limit: got %v, want a refusal", err)
		}
	})
}

func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close() // nobody listens there now
	for _, url := range []string{
		"redis://user:se%40cret@" + addr + "/0",
		"rediss://:se%40cret@" + addr,
		"redis://user:se%40cret@" + addr + "?master_name=main&password=se@cret",
		"redis://user:se%40cret@" + addr + "?addr=" + addr,
	} {
		_, err := broker.Open(t.Context(), broker.Options{URL: url, Tries: 2})
		if err == nil {
			t.Fatalf("open %s: got no error", url)
		}
		for _, want := range []string{"cannot reach redis at " + addr, "after 2 tries in ", "; nothing was enqueued"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("got %q, want %q in it", err, want)
			}
		}
		if strings.Contains(err.Error(), "cret") {
			t.Errorf("got %q, with the password in it", err)
		}
	}
	// Giving up early.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = broker.Open(ctx, broker.Options{URL: "redis://" + addr, Tries: 1000})
	if err == nil || !strings.Contains(err.Error(), "after 1 try") {
		t.Errorf("with a cancelled context: got %v, want one try", err)
	}
}

func TestSilentServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and never says a word
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = broker.Open(ctx, broker.Options{URL: "redis://" + l.Addr().String()})
	if err == nil || !strings.Contains(err.Error(), "cannot reach redis") {
		t.Errorf("got %v, want an unreachable redis", err)
	}
}

func TestBadOptions(t *testing.T) {
	for _, c := range []struct {
		name string
		o    broker.Options
		want string
	}{
		{"no URL", broker.Options{Kind: broker.URL}, "cannot be read"},
		{"no scheme", broker.Options{URL: "localhost"}, "cannot be read"},
		{"address only", broker.Options{URL: "localhost:6379"}, "unknown scheme"},
		{"http", broker.Options{URL: "http://u:secret@localhost"}, `unknown scheme "http"`},
		{"bad port", broker.Options{URL: "redis://u:sec#ret@localhost:6379"}, "percent-encoded"},
		{"password in place of the port", broker.Options{URL: "redis://u:secret/@h:1"}, "percent-encoded"},
		{"bad database", broker.Options{URL: "redis://:secret@localhost/x"}, "invalid database number"},
		{"unknown option", broker.Options{URL: "redis://:secret@localhost?colour=red"}, "colour"},
		{"empty path", broker.Options{URL: "unix://"}, "empty unix socket path"},
		{"unknown kind", broker.Options{Kind: "nats"}, `unknown kind of broker "nats"`},
	} {
		_, err := broker.Open(t.Context(), c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		} else if strings.Contains(err.Error(), "sec") {
			t.Errorf("%s: got %q, with the password in it", c.name, err)
		}
	}
}
