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
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/redact"
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

// An output is what a command that ended by itself wrote, without the secrets
// that it was given.
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
	secrets := resolver{lookup: x.options.Secret, found: map[string]string{}}
	words := make([]string, len(c.words))
	for i, word := range c.words {
		words[i] = secrets.resolve(word)
	}
	env := bareEnv(x.options.Environ)
	for name, value := range c.env {
		env = append(env, name+"="+secrets.resolve(value))
	}
	if secrets.err != nil {
		return output{}, secrets.err
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
	r := redact.New(secrets.found)
	return output{stdout: r.String(stdout.text()), stderr: r.String(stderr.text()), exit: state.ExitCode(), cut: stdout.cut}, nil
}

var errTimeout = errors.New("it did not end in time")

// reasonOf says what an error of run means.
func reasonOf(ctx context.Context, err error) eval.Reason {
	switch {
	case ctx.Err() != nil:
		return eval.ReasonCancelled
	case errors.Is(err, errSecret):
		return eval.ReasonSecretMissing
	default:
		return eval.ReasonScorerFailed
	}
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

// secretRef is a reference to a secret as the loader leaves it.
var secretRef = regexp.MustCompile(`\$\{\{\s*secrets\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}`)

var errSecret = errors.New("a secret is missing")

// A resolver puts secrets into texts and remembers them.
type resolver struct {
	lookup func(name string) (string, error)
	found  map[string]string
	err    error
}

func (r *resolver) resolve(text string) string {
	return secretRef.ReplaceAllStringFunc(text, func(ref string) string {
		name := secretRef.FindStringSubmatch(ref)[1]
		if r.lookup == nil {
			r.err = fmt.Errorf("%w: %s", errSecret, name)
			return ref
		}
		value, err := r.lookup(name)
		if err != nil {
			r.err = fmt.Errorf("%w: %w", errSecret, err)
			return ref
		}
		r.found[name] = value
		return value
	})
}
