package client

import (
	"fmt"
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
	path, err := wire.LookPath(args[0], env, s.spec.Dir)
	if err != nil {
		return nil, err
	}
	args[0] = path
	return s.launch(o, wire.Command{Args: args, Env: env, Dir: dir})
}

// launch starts a process as the server, and talks to it through its pipes.
func (s *Session) launch(o *Opener, c wire.Command) (transport.Interface, error) {
	c.FrameLimit, c.Owner, c.Guard = o.o.FrameLimit, o.o.Owner, o.guard
	c.Tap, c.Redact = s.hear, s.spec.Redact.Bytes
	var err error
	if s.proc, err = wire.Start(c); err != nil {
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
