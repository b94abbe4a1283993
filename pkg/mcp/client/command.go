package client

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/client/transport"

	"github.com/evalfarm/evalfarm/pkg/mcp/wire"
)

// selfName as the first word of a command means this very executable.
const selfName = "evalfarm"

// startCommand starts the process of a command server.
func startCommand(s *Session, o *Opener, _ profile) (transport.Interface, error) {
	if len(s.spec.Server.Command) == 0 {
		return nil, errNoCommand
	}
	env := environ(o.o.Environ, s.spec.Server.Env)
	args := slices.Clone(s.spec.Server.Command)
	if args[0] == selfName && o.o.Self != "" {
		args[0] = o.o.Self
	}
	dir := s.workDir()
	if info, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("working directory: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("working directory %s is no directory", dir)
	}
	path, err := lookPath(args[0], env, s.spec.Dir)
	if err != nil {
		return nil, err
	}
	args[0] = path
	s.proc, err = wire.Start(wire.Command{
		Args: args, Env: env, Dir: dir,
		FrameLimit: o.o.FrameLimit, Owner: o.o.Owner, Guard: o.guard,
		Tap: s.hear, Redact: s.spec.Redact.Bytes,
	})
	if err != nil {
		return nil, err
	}
	go s.watch()
	t := transport.NewIO(s.proc.Stdout(), s.proc.Stdin(), nil)
	transport.WithCommandLogger(silent())(t)
	return t, nil
}

// workDir is the absolute working directory of the server.
func (s *Session) workDir() string {
	if dir := s.spec.Server.Dir; filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(s.spec.Dir, s.spec.Server.Dir)
}

// environ is the bare environment of a server: what any program needs to run,
// and what the suite gives it. Everything else of the worker's environment is
// withheld, because it holds keys.
func environ(worker []string, given map[string]string) []string {
	env := map[string]string{}
	for _, entry := range worker {
		if name, value, ok := strings.Cut(entry, "="); ok && inherited(name) {
			env[name] = value
		}
	}
	maps.Copy(env, given)
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}

func inherited(name string) bool {
	switch name {
	case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "LANG", "LANGUAGE", "TMPDIR", "TMP", "TEMP":
		return true
	}
	return strings.HasPrefix(name, "LC_")
}

// lookPath finds an executable the way a shell in dir with that environment
// would.
func lookPath(name string, env []string, dir string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, executable(name)
	}
	var path string
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			path = value
		}
	}
	for _, folder := range filepath.SplitList(path) {
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(dir, folder)
		}
		if file := filepath.Join(folder, name); executable(file) == nil {
			return file, nil
		}
	}
	return "", fmt.Errorf("command %q was not found on PATH", name)
}

func executable(file string) error {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("command %s does not exist", file)
	case err != nil:
		return fmt.Errorf("command: %w", err)
	case info.IsDir() || info.Mode()&0o111 == 0:
		return fmt.Errorf("command %s is not executable", file)
	}
	return nil
}
