package enginetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// A Daemon is the folder that stands for one.
type Daemon struct{ Dir string }

// An Image is an argument vector that containers of it run, in front of what they
// are given.
type Image struct {
	ID         string   `json:"id"`
	Digests    []string `json:"digests,omitempty"`
	Entrypoint []string `json:"entrypoint"`
	// OutOfMemory makes the end of its containers one by the kernel's hand.
	OutOfMemory bool `json:"out_of_memory,omitempty"`
	// Broken images have a program that cannot be executed.
	Broken bool `json:"broken,omitempty"`
}

// What a daemon can be made to do: the name of a file that is there.
const (
	// Down makes it answer nobody.
	Down = "down"
	// HangRemove makes it never answer to rm.
	HangRemove = "hang-rm"
	// Hang makes it never answer at all.
	Hang = "hang"
)

// The folders of a daemon.
const (
	images     = "images"
	registry   = "registry"
	containers = "containers"
)

// NewDaemon makes a daemon in a folder.
func NewDaemon(dir string) (Daemon, error) {
	for _, name := range []string{images, registry, containers} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			return Daemon{}, fmt.Errorf("make a daemon: %w", err)
		}
	}
	return Daemon{dir}, nil
}

// Break makes the daemon do one of the things above, and Mend stops it.
func (d Daemon) Break(how string) error {
	return os.WriteFile(filepath.Join(d.Dir, how), nil, 0o600)
}

// Mend undoes Break.
func (d Daemon) Mend(how string) error { return os.Remove(filepath.Join(d.Dir, how)) }

func (d Daemon) broken(how string) bool {
	_, err := os.Stat(filepath.Join(d.Dir, how))
	return err == nil
}

// Add gives the daemon an image, and Publish puts it where pull finds it.
func (d Daemon) Add(ref string, i Image) error { return d.write(images, ref, i) }

// Publish is Add to the registry.
func (d Daemon) Publish(ref string, i Image) error { return d.write(registry, ref, i) }

// image finds an image by reference or ID.
func (d Daemon) image(in, ref string) (found Image, ok bool) {
	for _, name := range d.names(in) {
		var i Image
		if d.read(in, name, &i) == nil && (name == ref || i.ID == ref) {
			return i, true
		}
	}
	return Image{}, false
}

// A Container is one that the daemon has.
type Container struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels"`
	// PID of the process, and of the command that started it.
	PID     int `json:"pid"`
	Command int `json:"command"`
	// Status is created, running or exited.
	Status      string `json:"status"`
	ExitCode    int    `json:"exit_code"`
	OutOfMemory bool   `json:"out_of_memory"`
}

// Containers that are there, running or not.
func (d Daemon) Containers() []Container {
	var all []Container
	for _, name := range d.names(containers) {
		var c Container
		if d.read(containers, name, &c) == nil {
			all = append(all, c)
		}
	}
	return all
}

// alive says whether the process of a container lives.
func (c Container) alive() bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.PID))
	return c.Status == "running" && err == nil && !strings.Contains(string(stat), ") Z ")
}

// kill ends all processes of a container, which are one session and group.
func (c Container) kill() { _ = syscall.Kill(-c.PID, syscall.SIGKILL) }

// Asked lists the argument vectors of all commands so far, each as one line.
func (d Daemon) Asked() []string {
	content, err := os.ReadFile(filepath.Join(d.Dir, "asked"))
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(content)), "\n")
}

// Kill ends everything that a test has left.
func (d Daemon) Kill() {
	for _, c := range d.Containers() {
		if c.alive() {
			c.kill()
		}
	}
}

func (d Daemon) names(in string) []string {
	entries, err := os.ReadDir(filepath.Join(d.Dir, in))
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".new") {
			names = append(names, strings.ReplaceAll(e.Name(), "%", "/"))
		}
	}
	return names
}

func (d Daemon) path(in, name string) string {
	return filepath.Join(d.Dir, in, strings.ReplaceAll(name, "/", "%"))
}

func (d Daemon) read(in, name string, v any) error {
	content, err := os.ReadFile(d.path(in, name))
	if err != nil {
		return err
	}
	return json.Unmarshal(content, v)
}

// write replaces a file as a whole.
func (d Daemon) write(in, name string, v any) error {
	content, err := json.Marshal(v)
	if err != nil {
		return err
	}
	fresh := fmt.Sprintf("%s.%d.new", d.path(in, name), os.Getpid())
	return errors.Join(os.WriteFile(fresh, content, 0o600), os.Rename(fresh, d.path(in, name)))
}
