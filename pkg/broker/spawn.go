//go:build unix

package broker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A spawned is a server of ours: the folder that we locked, and the process that
// currently serves it.
type spawned struct {
	program string
	dir     string
	temp    bool // the folder goes with us
	lock    *os.File
	address address
	socket  string
	log     *slog.Logger

	mu     sync.Mutex // guards what follows
	proc   *os.Process
	exited chan struct{} // closed when proc has
	closed bool
}

func openSpawned(ctx context.Context, o Options) (_ *Broker, err error) {
	s := &spawned{log: o.Logger}
	if s.program, err = lookProgram(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = s.close()
		}
	}()
	if err := s.enter(o.Dir); err != nil {
		return nil, err
	}
	s.evict(ctx)
	if err := s.start(); err != nil {
		return nil, err
	}
	in, err := s.ready(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := in.check(); err != nil {
		return nil, fmt.Errorf("%s cannot be used: %w", s.program, err)
	}
	return &Broker{
		client:   s.address.open(false),
		describe: fmt.Sprintf("%s, spawned, on %s", in, s.socket),
		run:      s.run,
		close:    s.close,
	}, nil
}

func lookProgram() (string, error) {
	for _, name := range []string{"valkey-server", "redis-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("neither valkey-server nor redis-server is in PATH: install one, or use the embedded redis")
}

// enter makes the server's folder and locks it. One process owns a folder.
func (s *spawned) enter(dir string) (err error) {
	if dir == "" {
		s.temp = true
		s.dir, err = os.MkdirTemp("", "evalfarm-redis-")
	} else {
		s.dir, err = filepath.Abs(dir)
		if err == nil {
			err = os.MkdirAll(s.dir, 0o700)
		}
	}
	if err != nil {
		return fmt.Errorf("make a folder for redis: %w", err)
	}
	s.lock, err = os.OpenFile(filepath.Join(s.dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("lock the redis folder: %w", err)
	}
	if err := unix.Flock(int(s.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		owner, _ := os.ReadFile(s.lock.Name())
		return fmt.Errorf("the redis in %s belongs to another evalfarm, process %s", s.dir, strings.TrimSpace(string(owner)))
	}
	_ = s.lock.Truncate(0)
	_, _ = s.lock.WriteAt(fmt.Appendln(nil, os.Getpid()), 0)
	if s.socket, err = socketPath(s.dir); err != nil {
		return err
	}
	u := url.URL{Scheme: "unix", Path: s.socket} // a folder may have any name
	s.address, err = parse(u.String())
	return err
}

// socketPath is where the server of a folder listens: in the folder, or, where
// the kernel would cut the path, under a short name that the same folder always
// gets.
func socketPath(dir string) (string, error) {
	const most = 103 // sun_path has 104 bytes on the BSDs, 108 on Linux, with the final zero
	if p := filepath.Join(dir, "s.sock"); len(p) <= most {
		return p, nil
	}
	sum := sha256.Sum256([]byte(dir))
	short := filepath.Join(os.TempDir(), "evalfarm-"+hex.EncodeToString(sum[:8]))
	if err := os.Mkdir(short, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("make a folder for the redis socket: %w", err)
	}
	// It may have been there before, in a folder where all may write.
	fi, err := os.Lstat(short)
	if err != nil {
		return "", fmt.Errorf("make a folder for the redis socket: %w", err)
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); !fi.IsDir() || fi.Mode().Perm() != 0o700 || !ok || int(st.Uid) != os.Getuid() {
		return "", fmt.Errorf("%s is not a private folder of ours; remove it, or use a state folder with a shorter path than %s", short, dir)
	}
	p := filepath.Join(short, "s.sock")
	if len(p) > most {
		return "", fmt.Errorf("the socket path %s is longer than %d bytes: use a shorter temporary folder", p, most)
	}
	return p, nil
}

// evict ends a server that a killed owner of this folder left behind. We hold
// the lock, so nobody uses it.
func (s *spawned) evict(ctx context.Context) {
	c := s.address.open(true)
	defer func() { _ = c.Close() }()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if c.Ping(ctx).Err() == nil {
		s.log.InfoContext(ctx, "ending an orphaned redis", "socket", s.socket)
		_ = c.ShutdownNoSave(ctx).Err() // its log file is complete without a snapshot
		for c.Ping(ctx).Err() == nil {
			select {
			case <-ctx.Done():
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
	_ = os.Remove(s.socket)
}

// start starts the process. A goroutine stays with it until it exits.
func (s *spawned) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errors.New("start redis: the broker is closed")
	}
	cmd := exec.Command(s.program, //nolint:noctx // it ends with the broker, not with a call
		"--port", "0", "--unixsocket", s.socket, "--unixsocketperm", "700",
		"--dir", s.dir, "--logfile", filepath.Join(s.dir, "redis.log"),
		"--appendonly", "yes", "--appendfsync", "everysec", "--save", "",
		"--maxmemory-policy", "noeviction", "--daemonize", "no")
	cmd.Dir = s.dir
	cmd.Env = []string{} // it has no business with our secrets
	cmd.SysProcAttr = family()
	started, exited := make(chan error), make(chan struct{})
	go func() {
		// The kernel sends the death signal when the thread that started the
		// process ends, so this one has to stay.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(exited)
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start %s: %w", s.program, err)
	}
	s.proc, s.exited = cmd.Process, exited
	return nil
}

// ready waits until the server answers. With a long log to replay that may take
// a while.
func (s *spawned) ready(ctx context.Context) (info, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	c := s.address.open(true)
	defer func() { _ = c.Close() }()
	s.mu.Lock()
	exited := s.exited
	s.mu.Unlock()
	for {
		text, err := c.Info(ctx).Result()
		if err == nil && c.Ping(ctx).Err() == nil { // INFO answers while the log is replayed
			return parseInfo(text), nil
		}
		select {
		case <-exited:
			return info{}, fmt.Errorf("%s ended at its start: %s", s.program, s.lastWords())
		case <-ctx.Done():
			return info{}, fmt.Errorf("%s does not answer on %s: %w", s.program, s.socket, errors.Join(ctx.Err(), err))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// lastWords is the end of the server's log.
func (s *spawned) lastWords() string {
	b, err := os.ReadFile(filepath.Join(s.dir, "redis.log"))
	if err != nil || len(b) == 0 {
		return "it left no log"
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], " / ")
}

// run starts the server again whenever it exits, at once the first time and with
// growing pauses when it keeps dying.
func (s *spawned) run(ctx context.Context) error {
	const least, most = 100 * time.Millisecond, 5 * time.Second
	pause := least
	for {
		s.mu.Lock()
		exited := s.exited
		s.mu.Unlock()
		up := time.Now()
		select {
		case <-ctx.Done():
			return nil
		case <-exited:
		}
		if time.Since(up) > 10*most {
			pause = least
		}
		s.log.WarnContext(ctx, "redis exited, starting it again", "pause", pause, "log", s.lastWords())
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		pause = min(2*pause, most)
		_ = os.Remove(s.socket)
		if err := s.start(); err != nil {
			return fmt.Errorf("restart redis: %w", err)
		}
	}
}

// kill ends the process group. The caller holds mu.
func (s *spawned) kill() {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		select {
		case <-s.exited:
			return // its number may be another's by now
		default:
		}
		_ = syscall.Kill(-s.proc.Pid, sig)
		select {
		case <-s.exited:
			return
		case <-time.After(5 * time.Second):
		}
	}
}

// close ends the server and gives the folder up.
func (s *spawned) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.proc != nil {
		s.kill()
		_ = os.Remove(s.socket)
		if short := filepath.Dir(s.socket); short != s.dir {
			_ = os.Remove(short)
		}
	}
	var err error
	if s.lock != nil {
		err = s.lock.Close() // and with it the lock
	}
	if s.temp && s.dir != "" {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	return err
}
