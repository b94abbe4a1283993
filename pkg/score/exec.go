package score

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

const (
	defaultTimeout = 30 * time.Second
	// maxOutput bounds what is kept of each stream, in bytes.
	maxOutput = 1 << 20
	// drainTime is how long the streams may take to end when the process group is
	// dead. It passes only if a child that left the group keeps them open.
	drainTime = 500 * time.Millisecond
)

// A command is run directly, never by a shell.
type command struct {
	words   []string
	env     map[string]string
	timeout time.Duration // zero means defaultTimeout
	stdin   []byte
}

// An output is what a command that ended by itself wrote.
type output struct {
	stdout, stderr string
	exit           int
	// cut says that stdout was longer.
	cut bool
}

// run runs a command in the folder of the suite and kills whatever is left of its
// process group. The error says that it could not be started, did not end in
// time or did not end by itself.
func (x *exam) run(ctx context.Context, c command) (output, error) {
	words, env := c.words, bareEnv(x.options.Environ)
	for name, value := range c.env {
		env = append(env, name+"="+value)
	}
	path, err := lookPath(words, env, x.options.Dir)
	if err != nil {
		return output{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, cmp.Or(c.timeout, defaultTimeout), errTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path)
	cmd.Args, cmd.Env, cmd.Dir, cmd.WaitDelay = words, env, x.options.Dir, drainTime
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, stderr := &head{}, &head{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(c.stdin), stdout, stderr
	if err := cmd.Start(); err != nil {
		return output{}, fmt.Errorf("start %s: %w", path, err)
	}
	err = wait(cmd, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	state := cmd.ProcessState
	switch {
	case state == nil:
		return output{}, fmt.Errorf("%s: %w", words[0], err)
	case ctx.Err() != nil && !state.Exited():
		return output{}, fmt.Errorf("%s: %w", words[0], context.Cause(ctx))
	case !state.Exited():
		return output{}, fmt.Errorf("%s: %s", words[0], state)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay) && state.Success():
		return output{}, fmt.Errorf("%s: %w", words[0], err)
	}
	return output{stdout: stdout.text(), stderr: stderr.text(), exit: state.ExitCode(), cut: stdout.cut}, nil
}

var errTimeout = errors.New("it did not end in time")

// reasonOf says what it means that a command did not run to its end.
func reasonOf(ctx context.Context) eval.Reason {
	if ctx.Err() != nil {
		return eval.ReasonCancelled
	}
	return eval.ReasonScorerFailed
}

// head keeps the beginning of a stream.
type head struct {
	kept []byte
	cut  bool
}

func (h *head) Write(p []byte) (int, error) {
	room := maxOutput - len(h.kept)
	h.kept = append(h.kept, p[:min(room, len(p))]...)
	h.cut = h.cut || len(p) > room
	return len(p), nil
}

func (h *head) text() string { return strings.ToValidUTF8(string(h.kept), "\uFFFD") }

// bareEnv is what any program needs of an environment. The rest is withheld,
// because it holds keys.
func bareEnv(environ []string) []string {
	env := []string{} // nil would inherit ours
	for _, entry := range environ {
		switch name, _, _ := strings.Cut(entry, "="); {
		case slices.Contains([]string{"PATH", "HOME", "TZ", "LANG", "TMPDIR"}, name), strings.HasPrefix(name, "LC_"):
			env = append(env, entry)
		}
	}
	return env
}

// lookPath finds the executable of a command the way a shell in dir with that
// environment would.
func lookPath(words, env []string, dir string) (string, error) {
	if len(words) == 0 || words[0] == "" {
		return "", errors.New("the command is empty")
	}
	name := words[0]
	if strings.ContainsRune(name, filepath.Separator) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		if !executable(name) {
			return "", fmt.Errorf("%s: %w or cannot be executed", name, fs.ErrNotExist)
		}
		return name, nil
	}
	var path string
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			path = value
		}
	}
	for _, folder := range filepath.SplitList(path) {
		if file := filepath.Join(folder, name); filepath.IsAbs(folder) && executable(file) {
			return file, nil
		}
	}
	return "", fmt.Errorf("command %q was not found on PATH", name)
}

func executable(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
