package client_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/internal/enginetest"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/mcp/client"
)

// sum is the digest of the images of the tests.
const sum = "sha256:6891aea0b7d84a4dc68f294e0ea873955312927aefc7b76fb1ac399d88e00d42"

// engine makes a stand-in for docker, which has the hostile server as an image,
// and options of an opener that finds it.
func engine(t *testing.T) (enginetest.Daemon, client.Options) {
	t.Helper()
	d, err := enginetest.NewDaemon(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Kill)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "docker")); err != nil {
		t.Fatal(err)
	}
	add(t, d, "hostile", enginetest.Image{})
	o := options()
	o.Environ = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "DOCKER_CONFIG=" + d.Dir, "WORKER_KEY=wk-1", "HTTPS_PROXY=http://u:p@h"}
	return d, o
}

// add gives the daemon an image of the hostile server.
func add(t *testing.T, d enginetest.Daemon, ref string, i enginetest.Image) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	i.ID, i.Digests, i.Entrypoint = "sha256:0001", []string{"other@sha256:02", "lib/" + ref + "@" + sum}, []string{self, "hostile"}
	if err := d.Add(ref, i); err != nil {
		t.Fatal(err)
	}
}

// boxSpec is the hostile server in a container, in a mode.
func boxSpec(mode string) client.Spec {
	return client.Spec{
		Name: "box/1", Dir: "/", Run: "r1", Attempt: "a1",
		Server: eval.Server{
			Command: []string{mode}, Container: eval.Container{Image: "hostile"},
			CallTimeout: 20 * time.Second, CloseTimeout: 300 * time.Millisecond,
		},
	}
}

func openBox(t *testing.T, o client.Options, spec client.Spec) *client.Session {
	t.Helper()
	s, err := client.NewOpener(o).Open(t.Context(), spec)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// asked finds the one call of a command.
func asked(t *testing.T, d enginetest.Daemon, command string) string {
	t.Helper()
	var found []string
	for _, line := range d.Asked() {
		if strings.HasPrefix(line, command+" ") {
			found = append(found, line)
		}
	}
	if len(found) != 1 {
		t.Fatalf("got %d calls of %s, want one: %q", len(found), command, d.Asked())
	}
	return found[0]
}

func TestContainer(t *testing.T) {
	t.Parallel()
	d, o := engine(t)
	o.Owner = "farm/worker"
	spec := boxSpec("calls")
	spec.Server.Env = map[string]string{"TOKEN": "tk-secret\nin two lines", "TZ": "UTC"}
	spec.Server.Container.Mounts = []eval.Mount{{Source: "tmp", Target: "/in"}, {Source: "/dev/null", Target: "/out", Writable: true}}
	spec.Server.Container.Memory, spec.Server.Container.CPUs, spec.Server.Container.User = "64m", 0.5, "1000:1000"
	s := openBox(t, o, spec)
	environment := textOf(do(t.Context(), attach(t, s), "environment"))
	if !strings.Contains(environment, "TOKEN=tk-secret\nin two lines") || !strings.Contains(environment, "TZ=UTC") {
		t.Errorf("got the environment %q, want that of the suite in it", environment)
	}
	for _, withheld := range []string{"WORKER_KEY", "EVALFARM_OWNER", "PROXY"} {
		if strings.Contains(environment, withheld) {
			t.Errorf("got %s in the environment of the server", withheld)
		}
	}
	if got := s.Info(); got.Image != "hostile" || got.ImageDigest != sum {
		t.Errorf("got the image %s with %s, want hostile with %s", got.Image, got.ImageDigest, sum)
	}
	all := d.Containers()
	if len(all) != 1 || !strings.HasPrefix(all[0].Name, "evalfarm-a1-box-1-") {
		t.Fatalf("got containers %+v, want one with a name of ours", all)
	}
	run := asked(t, d, "run")
	for _, want := range []string{
		"--network=none", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--pids-limit=", "--log-driver=none", "--pull=never", "--stop-timeout=0",
		"--memory=64m", "--cpus=0.5", "--user=1000:1000", "--label=evalfarm.owner=farm/worker@", "--env=TOKEN --env=TZ sha256:0001 calls",
		"--mount=type=bind,source=/tmp,target=/in,readonly ", "--mount=type=bind,source=/dev/null,target=/out ",
	} {
		if !strings.Contains(run, want) {
			t.Errorf("got %q, want %s in it", run, want)
		}
	}
	if strings.Contains(strings.Join(d.Asked(), "\n"), "tk-secret") {
		t.Error("a secret is in an argument vector")
	}
	_ = s.Close()
	if left := d.Containers(); len(left) != 0 || alive(all[0].PID) {
		t.Errorf("got containers %+v after the end, want none", left)
	}
	if !strings.HasSuffix(asked(t, d, "rm"), all[0].Name) {
		t.Errorf("got %q, want the container removed by its name", d.Asked())
	}
}

// TestContainerIsRemoved: whatever ends a session, its container goes.
func TestContainerIsRemoved(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, mode string
		end        func(t *testing.T, s *client.Session, c enginetest.Container)
		reason     eval.Reason // of a call afterwards
	}{
		{name: "closed", mode: "calls", end: func(_ *testing.T, s *client.Session, _ enginetest.Container) { _ = s.Close() }, reason: eval.ReasonFarm},
		{name: "closed, and it ignores that", mode: "ignore-term", end: func(_ *testing.T, s *client.Session, _ enginetest.Container) { _ = s.Close() }, reason: eval.ReasonFarm},
		{name: "crashed", mode: "calls", end: func(t *testing.T, s *client.Session, _ enginetest.Container) { do(t.Context(), attach(t, s), "crash") }, reason: eval.ReasonServerCrashed},
		{name: "oversize", mode: "calls", end: func(t *testing.T, s *client.Session, _ enginetest.Container) {
			do(t.Context(), attach(t, s), "huge", "n", 20<<20)
		}, reason: eval.ReasonOversize},
		{name: "the engine's command is killed", mode: "ignore-eof", end: func(t *testing.T, s *client.Session, c enginetest.Container) {
			// What it says last is said: a pipe that nobody reads would kill it.
			eventually(t, func() bool { return strings.Contains(s.Stderr(), "notifications/initialized") })
			if err := syscall.Kill(c.Command, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}, reason: eval.ReasonFarm},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, o := engine(t)
			s := openBox(t, o, boxSpec(tt.mode))
			c := d.Containers()[0]
			tt.end(t, s, c)
			eventually(t, func() bool { return len(d.Containers()) == 0 && !alive(c.PID) })
			if out := do(t.Context(), attach(t, s), "echo"); out.Kind != eval.OutcomeFailed || out.Reason != tt.reason {
				t.Errorf("got %+v, want it to fail with %s", out, tt.reason)
			}
		})
	}
}

// TestContainerStartErrors is every way in which a container gives no session.
func TestContainerStartErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		mode   string
		edit   func(t *testing.T, d enginetest.Daemon, o *client.Options, s *client.Spec)
		reason eval.Reason
		detail string
		stderr string
	}{
		{name: "no engine", edit: func(_ *testing.T, _ enginetest.Daemon, o *client.Options, _ *client.Spec) {
			o.Environ = []string{"PATH=/nowhere"}
		}, reason: eval.ReasonStartFailed, detail: "needs docker or podman"},
		{name: "no such engine", edit: func(_ *testing.T, _ enginetest.Daemon, o *client.Options, _ *client.Spec) {
			o.ContainerEngine = "no-such-engine"
		}, reason: eval.ReasonStartFailed, detail: `"no-such-engine" was not found on PATH`},
		{name: "the daemon is down", edit: broken(enginetest.Down), reason: eval.ReasonUnreachable, detail: "Cannot connect to the Docker daemon"},
		{name: "no such image", edit: image("nobody", eval.PullMissing), reason: eval.ReasonStartFailed, detail: "pull image nobody: Error response from daemon: manifest for nobody not found"},
		{name: "no such image, and none is fetched", edit: image("nobody", eval.PullNever), reason: eval.ReasonStartFailed, detail: "the image nobody is not on this machine, and pull is never"},
		{name: "cannot be executed", edit: func(t *testing.T, d enginetest.Daemon, _ *client.Options, _ *client.Spec) {
			add(t, d, "hostile", enginetest.Image{Broken: true})
		}, reason: eval.ReasonStartFailed, detail: "the container was not started; stderr ends with: Error response from daemon: failed to create task"},
		{name: "exits at once", mode: "exit", reason: eval.ReasonStartExited, detail: "fatal: missing API key (exit status 3", stderr: "fatal: missing API key"},
		{name: "out of memory", mode: "exit", edit: func(t *testing.T, d enginetest.Daemon, _ *client.Options, s *client.Spec) {
			add(t, d, "hostile", enginetest.Image{OutOfMemory: true})
			s.Server.Container.Memory = "8m"
		}, reason: eval.ReasonStartExited, detail: "the container ran out of memory (limit: 8m)"},
		{name: "never answers", mode: "mute", edit: func(_ *testing.T, _ enginetest.Daemon, _ *client.Options, s *client.Spec) { quick(s) }, reason: eval.ReasonStartTimeout},
		{name: "a variable of the engine's", edit: func(_ *testing.T, _ enginetest.Daemon, _ *client.Options, s *client.Spec) {
			s.Server.Env = map[string]string{"DOCKER_HOST": "tcp://elsewhere"}
		}, reason: eval.ReasonStartFailed, detail: "DOCKER_HOST cannot be given"},
		{name: "a mount that is an option", edit: func(_ *testing.T, _ enginetest.Daemon, _ *client.Options, s *client.Spec) {
			s.Server.Container.Mounts = []eval.Mount{{Source: "/tmp,readonly=false", Target: "/x"}}
		}, reason: eval.ReasonStartFailed, detail: "no comma"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, o := engine(t)
			spec := boxSpec(tt.mode)
			if tt.edit != nil {
				tt.edit(t, d, &o, &spec)
			}
			s, err := client.NewOpener(o).Open(t.Context(), spec)
			if err == nil {
				_ = s.Close()
				t.Fatal("open succeeded, want an error")
			}
			got, ok := errors.AsType[*client.StartError](err)
			if !ok {
				t.Fatalf("got %T %v, want a *StartError", err, err)
			}
			if got.Reason != tt.reason {
				t.Errorf("got reason %q (%s), want %q", got.Reason, got.Detail, tt.reason)
			}
			if !strings.Contains(got.Detail, tt.detail) {
				t.Errorf("got detail %q, want it to contain %q", got.Detail, tt.detail)
			}
			if !strings.Contains(got.Stderr, tt.stderr) {
				t.Errorf("got stderr %q, want it to contain %q", got.Stderr, tt.stderr)
			}
			if left := d.Containers(); len(left) != 0 {
				t.Errorf("got containers %+v, want none", left)
			}
		})
	}
}

func broken(how string) func(*testing.T, enginetest.Daemon, *client.Options, *client.Spec) {
	return func(t *testing.T, d enginetest.Daemon, _ *client.Options, _ *client.Spec) {
		if err := d.Break(how); err != nil {
			t.Fatal(err)
		}
	}
}

func image(ref string, pull eval.Pull) func(*testing.T, enginetest.Daemon, *client.Options, *client.Spec) {
	return func(_ *testing.T, _ enginetest.Daemon, _ *client.Options, s *client.Spec) {
		s.Server.Container.Image, s.Server.Container.Pull = ref, pull
	}
}

// TestContainerDies tells apart what a server does and what befalls it.
func TestContainerDies(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		image  enginetest.Image
		do     string // of the server; empty means that it crashes
		cut    string
		reason eval.Reason
		detail string
	}{
		{name: "it crashes", reason: eval.ReasonServerCrashed, detail: "the server ended with exit status 7; stderr ends with: panic: boom"},
		{name: "it takes too much memory", image: enginetest.Image{OutOfMemory: true}, reason: eval.ReasonServerCrashed, detail: "ran out of memory"},
		{name: "somebody kills it", do: "killed", reason: eval.ReasonServerCrashed, detail: "was killed (SIGKILL), perhaps because it ran out of memory (limit: that of the machine)"},
		{name: "the engine goes away", cut: enginetest.Down, reason: eval.ReasonUnreachable, detail: "the engine does not answer"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, o := engine(t)
			add(t, d, "hostile", tt.image)
			s := openBox(t, o, boxSpec("calls"))
			if tt.cut != "" {
				if err := d.Break(tt.cut); err != nil {
					t.Fatal(err)
				}
			}
			out := do(t.Context(), attach(t, s), cmp.Or(tt.do, "crash"))
			if out.Reason != tt.reason || !strings.Contains(out.Detail, tt.detail) {
				t.Errorf("got %s (%s), want %s (%s)", out.Reason, out.Detail, tt.reason, tt.detail)
			}
		})
	}
}

// TestContainerPull: a run is given one image, fetched when its suite says so.
func TestContainerPull(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		pull eval.Pull
		have bool
		runs []string
		want int
	}{
		{name: "missing", pull: eval.PullMissing, runs: []string{"r1", "r1", "r2"}, want: 1},
		{name: "not missing", pull: eval.PullMissing, have: true, runs: []string{"r1", "r2"}, want: 0},
		{name: "always", pull: eval.PullAlways, have: true, runs: []string{"r1", "r1", "r2", "r2"}, want: 2},
		{name: "never", pull: eval.PullNever, have: true, runs: []string{"r1", "r2"}, want: 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, o := engine(t)
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			i := enginetest.Image{ID: "sha256:0002", Entrypoint: []string{self, "hostile"}}
			if err := d.Publish("remote", i); err != nil {
				t.Fatal(err)
			}
			if tt.have {
				add(t, d, "remote", enginetest.Image{})
			}
			opener := client.NewOpener(o)
			for _, run := range tt.runs {
				spec := boxSpec("calls")
				spec.Run, spec.Server.Container.Image, spec.Server.Container.Pull = run, "remote", tt.pull
				s, err := opener.Open(t.Context(), spec)
				if err != nil {
					t.Fatal(err)
				}
				_ = s.Close()
			}
			got := 0
			for _, line := range d.Asked() {
				if strings.HasPrefix(line, "pull ") {
					got++
				}
			}
			if got != tt.want {
				t.Errorf("got %d pulls, want %d", got, tt.want)
			}
		})
	}
}

// TestContainerEngineHangs: an engine that never answers does not hold a trial
// that is cancelled.
func TestContainerEngineHangs(t *testing.T) {
	t.Parallel()
	d, o := engine(t)
	if err := d.Break(enginetest.Hang); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	opened := make(chan error, 1)
	go func() {
		s, err := client.NewOpener(o).Open(ctx, boxSpec("calls"))
		if err == nil {
			_ = s.Close()
		}
		opened <- err
	}()
	eventually(t, func() bool { return len(d.Asked()) > 0 })
	cancel()
	if err := <-opened; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of the context", err)
	}
}

// startOwner starts a worker with a server and gives what kills it.
func startOwner(t *testing.T, environ []string, args ...string) (kill func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	owner := exec.Command(self, append([]string{"owner"}, args...)...)
	owner.Env = append(slices.Clip(environ), "GOCOVERDIR="+os.Getenv("GOCOVERDIR"))
	owner.Stderr = os.Stderr
	out, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		_ = owner.Process.Kill()
		_ = owner.Wait()
	})
	t.Cleanup(kill)
	for in := bufio.NewScanner(out); in.Scan(); {
		if in.Text() == "ready" {
			return kill
		}
	}
	t.Fatal("the owner opened no server")
	return nil
}

// TestContainerOwnerKilled: kill -9 of a worker leaves containers, which the next
// worker of the farm removes, and only those.
func TestContainerOwnerKilled(t *testing.T) {
	t.Parallel()
	d, o := engine(t)
	const farm = "farm-of-TestContainerOwnerKilled/"
	kill := startOwner(t, o.Environ, farm+"w1", "ignore-term", "hostile", "docker")
	all := d.Containers()
	if len(all) != 1 || !alive(all[0].PID) {
		t.Fatalf("got containers %+v, want one that lives", all)
	}
	sweep := func(orphans string) {
		o := o
		o.Owner, o.Orphans = "me/w2", orphans
		ctx, cancel := context.WithCancel(t.Context())
		p := client.NewPool(client.NewOpener(o), 0)
		ran := make(chan error)
		before := len(d.Asked())
		go func() { ran <- p.Run(ctx) }()
		spec := boxSpec("calls") // whose start waits until the sweep is done
		a, err := p.Fresh(ctx, spec)
		if err != nil {
			t.Fatal(err)
		}
		a.Detach()
		cancel()
		<-ran
		p.Close()
		if got := d.Asked()[before]; !strings.HasPrefix(got, "ps --all") {
			t.Errorf("got %q first, want a sweep before the first container", got)
		}
	}
	sweep(farm)
	if got := d.Containers(); len(got) != 1 || !alive(all[0].PID) {
		t.Fatalf("with a living owner got containers %+v, want it left alone", got)
	}
	kill()
	sweep("another farm/")
	if got := d.Containers(); len(got) != 1 {
		t.Fatalf("another farm's worker left containers %+v, want it left alone", got)
	}
	sweep(farm)
	if got := d.Containers(); len(got) != 0 || alive(all[0].PID) {
		t.Errorf("got containers %+v, want none", got)
	}
}
