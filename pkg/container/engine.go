package container

import (
	"cmp"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/evalfarm/evalfarm/pkg/mcp/wire"
)

// Options of an Engine.
type Options struct {
	// Command is the path of the engine's command, or a name on the PATH of
	// Environ. Empty means docker, else podman.
	Command string
	// Environ is the worker's environment. The engine's command gets what it needs
	// to find its daemon, its settings and its credentials; a server gets nothing.
	Environ []string
	// Owner marks containers as those of a worker; see wire.NewMark. Empty means
	// no mark, and then nobody sweeps them.
	Owner string
	// Patience is how long the engine may take to answer, and twice that to remove a
	// container; fetching an image is another matter. Zero means 10 s.
	Patience time.Duration
	// Logger hears what could not be removed. Nil means nobody does.
	Logger *slog.Logger
}

// An Engine is docker or podman. It is safe for concurrent use.
type Engine struct {
	o    Options
	log  *slog.Logger
	mark string
	host string
	find func() (string, error)

	mu    sync.Mutex // guards all below
	known map[string]*lookup
	left  []string // names of containers that could not be removed
}

// New makes an engine, which is looked for when it is needed first.
func New(o Options) *Engine {
	e := &Engine{
		o: o, log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), host: host(),
		known: map[string]*lookup{},
	}
	if o.Owner != "" {
		e.mark = wire.NewMark(o.Owner)
	}
	e.find = sync.OnceValues(e.locate)
	return e
}

// An Error says what the engine did not do.
type Error struct {
	// Detail is one line for people.
	Detail string
	// Passing is true when another try may end better: the engine's daemon or a
	// registry does not answer.
	Passing bool
}

func (e *Error) Error() string { return e.Detail }

// locate finds the engine's command.
func (e *Engine) locate() (string, error) {
	if e.o.Command != "" {
		path, err := wire.LookPath(e.o.Command, e.o.Environ, "/")
		if err != nil {
			return "", &Error{Detail: "the container engine cannot be started: " + err.Error()}
		}
		return path, nil
	}
	for _, name := range []string{"docker", "podman"} {
		if path, err := wire.LookPath(name, e.o.Environ, "/"); err == nil {
			return path, nil
		}
	}
	return "", &Error{Detail: "a server with an image needs docker or podman, and neither is on PATH; install one, or name it with --container-engine"}
}

// found says whether there is an engine.
func (e *Engine) found() bool {
	_, err := e.find()
	return err == nil
}

// engineError makes what an engine's command says on stderr a part of an error.
func engineError(doing string, err error, passing bool) error {
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	return &Error{Detail: doing + ": " + err.Error(), Passing: passing}
}

// lastLine is the last line with something in it.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
