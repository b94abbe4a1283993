package enginetest

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/evalfarm/evalfarm/internal/commandtest"
)

// Exit codes of docker and podman that are not the container's.
const (
	exitEngine     = 125
	exitCannotRun  = 126
	exitNotFound   = 1
	exitOutOfReach = 1
)

// Main is the command: it carries out os.Args and exits.
func Main() {
	d, err := NewDaemon(os.Getenv("DOCKER_CONFIG"))
	if err != nil {
		fail(exitEngine, "%s", err)
	}
	args := os.Args[1:]
	d.note(args)
	if d.broken(Hang) {
		select {}
	}
	if d.broken(Down) {
		code := exitOutOfReach
		if args[0] == "run" {
			code = exitEngine
		}
		fail(code, "Cannot connect to the Docker daemon at unix:///nowhere. Is the docker daemon running?")
	}
	switch args[0] {
	case "run":
		commandtest.Exit(d.run(args[1:]))
	case "pull":
		d.pull(args[len(args)-1])
	case "ps":
		d.ps(args[1:])
	case "rm":
		d.remove(args[1:])
	case "image":
		d.inspectImage(args[2])
	case "container":
		d.inspect(args[2:])
	default:
		fail(exitEngine, "unknown command: %s", args[0])
	}
	commandtest.Exit(0)
}

func fail(code int, format string, args ...any) {
	fmt.Fprintf(os.Stderr, "Error response from daemon: "+format+"\n", args...)
	os.Exit(code)
}

// locked runs fn while no other command does.
func (d Daemon) locked(fn func()) {
	f, err := os.OpenFile(filepath.Join(d.Dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		fail(exitEngine, "%s", err)
	}
	defer f.Close()
	fn()
}

// note writes down what was asked.
func (d Daemon) note(args []string) {
	f, err := os.OpenFile(filepath.Join(d.Dir, "asked"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		fail(exitEngine, "%s", err)
	}
	fmt.Fprintln(f, strings.Join(args, " "))
	_ = f.Close()
}

func (d Daemon) pull(ref string) {
	i, ok := d.image(registry, ref)
	if !ok {
		fail(exitNotFound, "manifest for %s not found: manifest unknown", ref)
	}
	if err := d.Add(ref, i); err != nil {
		fail(exitEngine, "%s", err)
	}
	fmt.Println(ref)
}

func (d Daemon) inspectImage(ref string) {
	i, ok := d.image(images, ref)
	if !ok {
		fmt.Println("[]")
		fail(exitNotFound, "No such image: %s", ref)
	}
	answer([]map[string]any{{"Id": i.ID, "RepoDigests": i.Digests}})
}

func (d Daemon) ps(args []string) {
	label := ""
	for _, a := range args {
		label = strings.TrimPrefix(a, "label=")
		if label == a {
			label = ""
		}
	}
	for _, c := range d.Containers() {
		name, value, _ := strings.Cut(label, "=")
		if label != "" && c.Labels[name] == value {
			fmt.Println("id-" + c.Name)
		}
	}
}

// inspect shows containers by name or id, and fails when one is missing.
func (d Daemon) inspect(names []string) {
	found, missing := []map[string]any{}, ""
	for _, name := range names {
		var c Container
		if d.read(containers, strings.TrimPrefix(name, "id-"), &c) != nil {
			missing = name
			continue
		}
		status, running := c.Status, c.alive()
		if status == "running" && !running {
			status = "exited"
		}
		found = append(found, map[string]any{
			"Id": "id-" + c.Name, "Name": "/" + c.Name, "Config": map[string]any{"Labels": c.Labels},
			"State": map[string]any{"Status": status, "Running": running, "OOMKilled": c.OutOfMemory, "ExitCode": c.ExitCode},
		})
	}
	answer(found)
	if missing != "" {
		fail(exitNotFound, "No such container: %s", missing)
	}
}

func answer(v any) {
	if err := json.NewEncoder(os.Stdout).Encode(v); err != nil {
		fail(exitEngine, "%s", err)
	}
}

func (d Daemon) remove(args []string) {
	if d.broken(HangRemove) {
		select {}
	}
	missing := ""
	for _, name := range args {
		if strings.HasPrefix(name, "--") {
			continue
		}
		name = strings.TrimPrefix(name, "id-")
		var c Container
		if d.read(containers, name, &c) != nil {
			missing = name
			continue
		}
		for c.alive() {
			c.kill()
			time.Sleep(time.Millisecond)
		}
		d.locked(func() { _ = os.Remove(d.path(containers, name)) })
	}
	if missing != "" {
		fail(exitNotFound, "No such container: %s", missing)
	}
}

// run starts a container and is the line to it until it ends.
func (d Daemon) run(args []string) int {
	c := Container{Labels: map[string]string{}, Status: "created", Command: os.Getpid()}
	env := []string{"PATH=" + os.Getenv("PATH")}
	for len(args) > 0 && strings.HasPrefix(args[0], "--") {
		option, value, _ := strings.Cut(strings.TrimPrefix(args[0], "--"), "=")
		switch option {
		case "name":
			c.Name = value
		case "label":
			k, v, _ := strings.Cut(value, "=")
			c.Labels[k] = v
		case "env":
			env = append(env, value+"="+os.Getenv(value))
		}
		args = args[1:]
	}
	i, ok := d.image(images, args[0])
	if !ok {
		fail(exitEngine, "No such image: %s", args[0])
	}
	if err := d.write(containers, c.Name, c); err != nil {
		fail(exitEngine, "%s", err)
	}
	if i.Broken {
		fail(exitCannotRun, "failed to create task for container: exec: \"srv\": permission denied")
	}
	words := append(slices.Clone(i.Entrypoint), args[1:]...)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = env
	// In a session of its own, and with pipes of its own: it outlives this command.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	errs, err3 := cmd.StderrPipe()
	if err := cmd.Start(); err != nil || err1 != nil || err2 != nil || err3 != nil {
		fail(exitCannotRun, "exec: %s", words[0])
	}
	c.PID, c.Status = cmd.Process.Pid, "running"
	if err := d.write(containers, c.Name, c); err != nil {
		fail(exitEngine, "%s", err)
	}
	terms := make(chan os.Signal, 1)
	signal.Notify(terms, syscall.SIGTERM)
	go func() {
		for s := range terms {
			_ = cmd.Process.Signal(s)
		}
	}()
	go func() {
		_, _ = io.Copy(in, os.Stdin)
		_ = in.Close()
	}()
	var said sync.WaitGroup
	said.Go(func() { _, _ = io.Copy(os.Stdout, out) })
	said.Go(func() { _, _ = io.Copy(os.Stderr, errs) })
	said.Wait()
	_ = cmd.Wait()
	c.Status, c.ExitCode = "exited", cmd.ProcessState.ExitCode()
	if c.ExitCode < 0 || i.OutOfMemory {
		c.ExitCode, c.OutOfMemory = 137, i.OutOfMemory
	}
	d.locked(func() {
		if slices.Contains(d.names(containers), c.Name) { // else it was removed meanwhile
			_ = d.write(containers, c.Name, c)
		}
	})
	return c.ExitCode
}
