package container

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// maxProcesses bounds what a server can start, threads included. A browser takes
// some hundreds.
const maxProcesses = 2048

// A Spec says what to start in a container.
type Spec struct {
	// Server is its name in the suite, and For whom it is started: an attempt or a
	// run. Both are for people who list containers.
	Server, For string
	// Container says how the image is run.
	Container eval.Container
	// Image is what Engine.Image found.
	Image Image
	// Command is given to the image. Empty means what the image says.
	Command []string
	// Env of the server.
	Env map[string]string
	// Dir is what relative sources of mounts start from.
	Dir string
}

// A Container is one start of a server, which is one call of the engine's
// command. It does not start that itself.
type Container struct {
	engine *Engine
	spec   Spec
	name   string
	path   string
	told   chan struct{} // closed when fate is known
	fate   Fate
}

// Container names a container. The error is an *Error: there is no engine, or the
// spec cannot be told to it.
func (e *Engine) Container(s Spec) (*Container, error) {
	path, err := e.find()
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if Reserved(name) {
			return nil, &Error{Detail: fmt.Sprintf("the variable %s cannot be given to a server in a container, since the engine's command reads it", name)}
		}
	}
	for _, m := range s.Container.Mounts {
		if source := s.source(m); strings.ContainsAny(source+m.Target, ",\"\n\r") {
			return nil, &Error{Detail: fmt.Sprintf("the mount of %q: docker and podman take no comma, quote or line break in a path", source)}
		}
	}
	return &Container{engine: e, spec: s, name: newName(s.For, s.Server), path: path, told: make(chan struct{})}, nil
}

// Name of the container.
func (c *Container) Name() string { return c.name }

// Args is the argument vector of the engine's command. It holds no value of the
// server's environment: any user of the machine can read it.
func (c *Container) Args() []string {
	s, box := c.spec, c.spec.Container
	args := []string{
		c.path, "run", "--name=" + c.name, "--interactive", "--pull=never",
		"--stop-timeout=0", // rm kills at once; who was asked nicely was asked by Process.Stop
		"--network=" + cmp.Or(box.Network, eval.NetworkNone),
		"--cap-drop=ALL", "--security-opt=no-new-privileges", "--pids-limit=" + strconv.Itoa(maxProcesses),
		"--log-driver=none", // what it says goes to us; a copy on disk would have no bound
		"--label=" + forLabel + "=" + s.For,
	}
	if e := c.engine; e.mark != "" && e.host != "" {
		args = append(args, "--label="+ownerLabel+"="+e.mark, "--label="+hostLabel+"="+e.host)
	}
	if box.Memory != "" {
		args = append(args, "--memory="+box.Memory)
	}
	if box.CPUs > 0 {
		args = append(args, "--cpus="+strconv.FormatFloat(box.CPUs, 'f', -1, 64))
	}
	if box.User != "" {
		args = append(args, "--user="+box.User)
	}
	for _, m := range box.Mounts {
		mount := "--mount=type=bind,source=" + s.source(m) + ",target=" + m.Target
		if !m.Writable {
			mount += ",readonly"
		}
		args = append(args, mount)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		args = append(args, "--env="+name) // the value is that of the command's environment
	}
	return append(append(args, s.Image.ID), s.Command...)
}

// source is the absolute path of a mount on this machine.
func (s Spec) source(m eval.Mount) string {
	if filepath.IsAbs(m.Source) {
		return filepath.Clean(m.Source)
	}
	return filepath.Join(s.Dir, filepath.FromSlash(m.Source))
}

// Environ is the environment of the engine's command, with that of the server.
func (c *Container) Environ() []string { return c.engine.environ(engines, c.spec.Env) }

// Fate is what became of a container.
type Fate string

const (
	// FateUnknown: nobody has asked yet.
	FateUnknown Fate = ""
	// FateEnded: the server ended.
	FateEnded Fate = "ended"
	// FateMemory: the kernel killed it, because it wanted more memory than it may
	// have.
	FateMemory Fate = "memory"
	// FateKilled: it was killed from outside, and not by us. That may be for its
	// memory too: not every engine is told why.
	FateKilled Fate = "killed"
	// FateNotStarted: the engine refused to start it, or could not.
	FateNotStarted Fate = "not started"
	// FateRuns: the server lives, and only the line to it is cut.
	FateRuns Fate = "runs"
	// FateNoEngine: the engine does not answer.
	FateNoEngine Fate = "no engine"
)

// End sees the container out when the engine's command has ended: it asks what
// became of it, unless the end was ours, and removes it. It returns in bounded
// time, whatever the engine does.
func (c *Container) End(byItself bool) {
	ctx := context.Background() // the end is not the trial's alone: it comes after it, too
	if byItself {
		c.fate = c.ask(ctx)
	} else {
		c.fate = FateEnded
	}
	close(c.told)
	if c.fate == FateNotStarted {
		c.engine.Forget(c.spec.Container.Image) // it may have been removed
	}
	c.engine.remove(ctx, c.name)
}

// Told is closed when End knows the fate.
func (c *Container) Told() <-chan struct{} { return c.told }

// Fate is what became of the container; FateUnknown before Told.
func (c *Container) Fate() Fate {
	select {
	case <-c.told:
		return c.fate
	default:
		return FateUnknown
	}
}

// killedCode is the exit code of a process that SIGKILL ended.
const killedCode = 128 + 9

// ask asks the engine what became of the container.
func (c *Container) ask(ctx context.Context) Fate {
	said, err := c.engine.ask(ctx, c.engine.askTime(), "container", "inspect", c.name)
	var found []struct {
		State struct {
			Status    string
			Running   bool
			OOMKilled bool
			ExitCode  int
		}
	}
	switch {
	case err != nil && c.engine.answers(ctx) != nil:
		return FateNoEngine
	case err != nil:
		return FateNotStarted // it answers, and knows of no such container
	case json.Unmarshal(said, &found) != nil || len(found) == 0:
		return FateNoEngine
	}
	switch state := found[0].State; {
	case state.OOMKilled:
		return FateMemory
	case state.Running:
		return FateRuns
	case state.Status == "created" || state.Status == "initialized" || state.Status == "configured":
		return FateNotStarted
	case state.ExitCode == killedCode:
		return FateKilled
	}
	return FateEnded
}
