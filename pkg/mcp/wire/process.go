package wire

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"
)

// What is kept of stdout lines that are no message.
const (
	noiseLines = 50
	noiseBytes = 1 << 10 // of each
)

// drainTime is how long the pipes may take to end when all of the process group
// is dead. It passes only if a child that left the group keeps them open.
const drainTime = 500 * time.Millisecond

// A Command says how to start a stdio server.
type Command struct {
	// Args is the argument vector. Args[0] is the path of the executable; it is
	// not searched for.
	Args []string
	// Env is the whole environment of the process: nothing is inherited.
	Env []string
	// Dir is the working directory.
	Dir string
	// FrameLimit bounds one line of stdout, in bytes. Zero means
	// DefaultFrameLimit. A longer line kills the process.
	FrameLimit int
	// Owner marks the process tree in its environment, for Sweep. Empty means
	// no mark.
	Owner string
	// Guard kills the process tree when we are killed. Nil means nobody does.
	Guard *Guard
	// Tap hears every message. Nil means nobody does.
	Tap Tap
	// Redact takes out of stderr what must not be kept. Nil keeps all.
	Redact func([]byte) []byte
	// Cleanup runs when the process has been reaped and its group killed, before
	// Done; byItself says that it was not we who ended it. It must return. Nil
	// means that nothing is left to do.
	Cleanup func(byItself bool)
}

// A Process is a stdio server with all that it started. Its process group is
// killed as a whole when the server itself has ended, whatever ended it.
type Process struct {
	cmd    *exec.Cmd
	tap    Tap
	stdin  *input
	stdout *io.PipeReader
	stderr *Excerpt
	guard  *Guard
	mark   string // in the environment of the process tree; empty for none

	cleanup func(byItself bool)

	closed  chan struct{} // stdout has ended
	ended   chan struct{} // reaped, drained
	done    chan struct{} // cleaned up
	stopped sync.Once

	mu       sync.Mutex // guards all below
	noise    []string
	noisy    int
	err      error // why stdout ended, when it was no plain end
	exit     string
	stopping bool
}

// Start starts a command. The caller must read Stdout and must call Stop.
func Start(c Command) (*Process, error) {
	p := &Process{
		tap:     c.Tap,
		stderr:  NewExcerpt(stderrHead, stderrTail),
		cleanup: c.Cleanup,
		closed:  make(chan struct{}),
		ended:   make(chan struct{}),
		done:    make(chan struct{}),
	}
	if p.tap == nil {
		p.tap = func(context.Context, Message) bool { return true }
	}
	env := c.Env
	if c.Owner != "" {
		p.mark = NewMark(c.Owner)
		env = append(slices.Clip(env), OwnerVariable+"="+p.mark)
	}
	p.cmd = &exec.Cmd{
		Path: c.Args[0], Args: c.Args, Env: env, Dir: c.Dir,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	if len(env) == 0 {
		p.cmd.Env = []string{} // nil would inherit ours
	}
	pipes, err := newPipes()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Args[0], err)
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = pipes.in.r, pipes.out.w, pipes.err.w
	if err := p.cmd.Start(); err != nil {
		pipes.close()
		return nil, fmt.Errorf("start %s: %w", c.Args[0], err)
	}
	pipes.closeTheirs()
	if err := c.Guard.add(p.cmd.Process.Pid); err != nil {
		p.killGroup()
		_ = p.cmd.Wait()
		pipes.close()
		if c.Cleanup != nil {
			c.Cleanup(false)
		}
		return nil, fmt.Errorf("start %s: %w", c.Args[0], err)
	}
	p.guard = c.Guard
	p.stdin = &input{p: p, w: pipes.in.w}
	stdout, w := io.Pipe()
	p.stdout = stdout
	drained := make(chan struct{})
	go p.listen(pipes.out.r, w, cmp.Or(c.FrameLimit, DefaultFrameLimit))
	go func() {
		defer close(drained)
		keep(p.stderr, pipes.err.r, c.Redact)
	}()
	go p.supervise(pipes, drained)
	return p, nil
}

// Stdin takes messages, one whole line a Write.
func (p *Process) Stdin() io.WriteCloser { return p.stdin }

// Stdout gives the messages, a line each, without noise.
func (p *Process) Stdout() io.Reader { return p.stdout }

// Closed is closed when stdout has ended; the process may still live.
func (p *Process) Closed() <-chan struct{} { return p.closed }

// Ended is closed when the process has been reaped, its group killed and its
// output read.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Done is closed after Ended, when the cleanup has returned too.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err says why stdout ended when it did not simply end: ErrOversize or a read
// error. It is nil before Closed.
func (p *Process) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Exit says how the process ended by itself, as in "exit status 3". It is empty
// while the process lives and when we ended it.
func (p *Process) Exit() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exit
}

// Stderr is the head and the tail of stderr so far.
func (p *Process) Stderr() string { return p.stderr.String() }

// Noise gives the first stdout lines that were no message, and how many there
// were in all.
func (p *Process) Noise() (lines []string, count int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.noise), p.noisy
}

// Stop ends the process tree and returns when it is gone: stdin is closed, after
// the grace time the group gets SIGTERM, after another one SIGKILL. Children that
// outlive a server which ends by itself are killed at once. It may be called
// again and after the end.
func (p *Process) Stop(grace time.Duration) {
	p.stopped.Do(func() {
		p.mu.Lock()
		p.stopping = true
		p.mu.Unlock()
		_ = p.stdin.Close()
		_ = p.stdout.Close() // nobody reads any more; listen goes on draining
	})
	defer func() { <-p.done }()
	if within(grace, p.ended) {
		return
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM)
	if within(grace, p.ended) {
		return
	}
	p.killGroup()
}

func (p *Process) killGroup() { _ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }

// supervise sees the process out.
func (p *Process) supervise(pipes *pipes, drained <-chan struct{}) {
	var byItself bool
	state, err := reap(p.cmd.Process, func() {
		p.mu.Lock()
		byItself = !p.stopping && p.err == nil
		p.mu.Unlock()
		// Children that would hold the pipes open die with their server. What it
		// wrote last is in the pipes still.
		p.killGroup()
		if p.mark != "" {
			killMarked(p.mark) // browsers, for one, are started in groups of their own
		}
		p.guard.remove(p.cmd.Process.Pid)
	})
	if !within(drainTime, p.closed) {
		_ = pipes.out.r.Close()
		<-p.closed
	}
	if !within(drainTime, drained) {
		_ = pipes.err.r.Close()
		<-drained
	}
	pipes.close()
	p.mu.Lock()
	if byItself {
		if err != nil {
			p.exit = err.Error()
		} else {
			p.exit = state.String()
		}
	}
	p.mu.Unlock()
	close(p.ended)
	if p.cleanup != nil {
		p.cleanup(byItself)
	}
	close(p.done)
}

func within(limit time.Duration, ch <-chan struct{}) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-ch:
		return true
	case <-timer.C:
		return false
	}
}

// listen reads stdout to its end.
func (p *Process) listen(r io.Reader, w *io.PipeWriter, limit int) {
	err := readLines(r, limit, func(line []byte, whole bool) {
		text := bytes.TrimRight(line, " \t\r")
		if len(text) == 0 {
			return
		}
		m, ok := Parse(text)
		if !ok || !whole {
			p.addNoise(text)
			p.tap(context.Background(), noise(text))
			return
		}
		if p.tap(context.Background(), m) {
			_, _ = w.Write(append(slices.Clip(text), '\n'))
		}
	})
	if errors.Is(err, os.ErrClosed) {
		err = nil // we closed it
	}
	p.mu.Lock()
	p.err = err
	p.mu.Unlock()
	close(p.closed)
	_ = w.Close()
	if err != nil {
		p.killGroup()
	}
}

func (p *Process) addNoise(text []byte) {
	if len(text) > noiseBytes {
		text = text[:noiseBytes]
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.noisy++
	if len(p.noise) < noiseLines {
		p.noise = append(p.noise, string(bytes.ToValidUTF8(text, []byte("\uFFFD"))))
	}
}

// input is stdin with a tap.
type input struct {
	p *Process
	w *os.File
}

func (in *input) Write(line []byte) (int, error) {
	if m, ok := Parse(line); ok {
		m.Sent = true
		in.p.tap(context.Background(), m)
	}
	return in.w.Write(line)
}

func (in *input) Close() error { return in.w.Close() }

// pipes are the three of a process.
type pipes struct{ in, out, err pipe }

type pipe struct{ r, w *os.File }

func newPipes() (*pipes, error) {
	ps := new(pipes)
	for _, p := range []*pipe{&ps.in, &ps.out, &ps.err} {
		var err error
		if p.r, p.w, err = os.Pipe(); err != nil {
			ps.close()
			return nil, err
		}
	}
	return ps, nil
}

// closeTheirs closes the ends that the process holds.
func (ps *pipes) closeTheirs() {
	_ = ps.in.r.Close()
	_ = ps.out.w.Close()
	_ = ps.err.w.Close()
}

func (ps *pipes) close() {
	for _, f := range []*os.File{ps.in.r, ps.in.w, ps.out.r, ps.out.w, ps.err.r, ps.err.w} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// OwnerVariable is the environment variable that marks a server's process tree
// with its owner.
const OwnerVariable = "EVALFARM_OWNER"

// NewMark names what is an owner's, such as a process tree: by its owner, by the process id and start time of
// the calling process, which tell whether the owner still lives, and by a number
// that no other tree has.
func NewMark(owner string) string {
	pid := os.Getpid()
	return fmt.Sprintf("%s@%d.%s.%x", owner, pid, startTime(pid), rand.Uint64())
}
