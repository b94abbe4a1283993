package container

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"github.com/evalfarm/evalfarm/pkg/mcp/wire"
)

// patience is how long the engine may take to answer. A daemon that hangs holds
// nobody for longer.
const patience = 10 * time.Second

// pullTime bounds the fetching of an image: of gigabytes, over a slow line.
const pullTime = 15 * time.Minute

func (e *Engine) askTime() time.Duration { return cmp.Or(e.o.Patience, patience) }

// removeTime is longer: docker alone waits up to 10 s for a process that does not
// die.
func (e *Engine) removeTime() time.Duration { return 2 * e.askTime() }

// maxAnswer bounds an answer in bytes; the labels of an image are its maker's.
const maxAnswer = 8 << 20

// ask runs one command of the engine and gives its standard output, which is
// there beside an error too. The error tells the last line of standard error; it
// is an *Error when there is no engine.
func (e *Engine) ask(ctx context.Context, limit time.Duration, args ...string) ([]byte, error) {
	path, err := e.find()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = "/"
	cmd.Env = e.environ(func(name string) bool { return engines(name) || proxy(name) }, nil)
	if e.mark != "" {
		cmd.Env = append(cmd.Env, wire.OwnerVariable+"="+e.mark)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, errs := &answer{}, wire.NewExcerpt(1<<10, 8<<10)
	cmd.Stdout, cmd.Stderr = out, errs
	err = cmd.Run()
	switch {
	case ctx.Err() != nil && context.Cause(ctx) == context.DeadlineExceeded: //nolint:errorlint // ours
		return nil, fmt.Errorf("%s %s: no answer within %s", path, args[0], limit)
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return out.Bytes(), errors.New(cmp.Or(lastLine(errs.String()), fmt.Sprintf("%s %s: %s", path, args[0], err)))
	}
	return out.Bytes(), nil
}

// answers says whether the engine answers at all.
func (e *Engine) answers(ctx context.Context) error {
	_, err := e.ask(ctx, e.askTime(), "ps", "-q", "--filter", "name=evalfarm-nobody")
	return err
}

// An answer keeps what is written to it, up to a bound.
type answer struct{ bytes.Buffer }

func (a *answer) Write(p []byte) (int, error) {
	if a.Len()+len(p) > maxAnswer {
		return 0, fmt.Errorf("more than %d bytes", maxAnswer)
	}
	return a.Buffer.Write(p)
}
