package cli

import (
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/term"
)

// Env is the outside world. World reads it from the process; tests make their
// own.
type Env struct {
	// Args are the arguments after the program's name.
	Args    []string
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Environ []string
	// Dir is the working directory.
	Dir string
	// Self is the path of the running executable.
	Self string
	// Terminal says that Stdout, or Stderr, is a terminal.
	StdoutTTY, StderrTTY bool
	// Width of the terminal in columns; 0 if there is none.
	Width func() int
	// Signals delivers interrupts.
	Signals <-chan os.Signal
}

// World reads the process. The words go before the arguments, which is how a
// command gets a name of its own.
func World(words ...string) Env {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	dir, err := os.Getwd()
	if err != nil {
		dir = "."
	}
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	return Env{
		Args: append(words, os.Args[1:]...), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Environ: os.Environ(), Dir: dir, Self: self,
		StdoutTTY: term.IsTerminal(int(os.Stdout.Fd())), StderrTTY: term.IsTerminal(int(os.Stderr.Fd())),
		Width: func() int {
			w, _, err := term.GetSize(int(os.Stderr.Fd()))
			if err != nil {
				return 0
			}
			return w
		},
		Signals: signals,
	}
}

// Lookup finds an environment variable. The last one of a name counts, as in a
// process.
func (e Env) Lookup(name string) (string, bool) {
	for _, entry := range slices.Backward(e.Environ) {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			return v, true
		}
	}
	return "", false
}

// Home is the folder of the state: $EVALFARM_HOME, else .evalfarm beside the
// nearest .git or go.mod, else the user's state folder.
func (e Env) Home() string {
	if h, ok := e.Lookup("EVALFARM_HOME"); ok && h != "" {
		return e.abs(h)
	}
	for dir := e.Dir; ; dir = filepath.Dir(dir) {
		for _, mark := range []string{".git", "go.mod"} {
			if _, err := os.Stat(filepath.Join(dir, mark)); err == nil {
				return filepath.Join(dir, ".evalfarm")
			}
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if h, ok := e.Lookup("XDG_STATE_HOME"); ok && filepath.IsAbs(h) {
		return filepath.Join(h, "evalfarm")
	}
	if h, ok := e.Lookup("HOME"); ok && h != "" {
		return filepath.Join(h, ".local", "state", "evalfarm")
	}
	return filepath.Join(e.Dir, ".evalfarm")
}

// abs makes a path absolute against the working directory.
func (e Env) abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(e.Dir, path)
}
