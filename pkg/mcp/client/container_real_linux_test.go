package client_test

import (
	"archive/tar"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/mcp/client"
)

// A realEngine is docker or podman, with an image of the boxed server that came
// from no registry.
type realEngine struct {
	t       *testing.T
	path    string
	environ []string
	image   string
}

// findEngine finds an engine that can run a container here; without one the test
// is skipped with what each of them said.
func findEngine(t *testing.T) *realEngine {
	t.Helper()
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "boxed"), "./testdata/boxed")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the server: %v\n%s", err, out)
	}
	archive := filepath.Join(dir, "image.tar")
	pack(t, filepath.Join(dir, "boxed"), archive)
	var said []string
	for _, name := range []string{"docker", "podman"} {
		path, err := exec.LookPath(name)
		if err != nil {
			said = append(said, name+": not on PATH")
			continue
		}
		for _, extra := range settings(t, name) {
			e := &realEngine{t: t, path: path, environ: append(os.Environ(), extra...), image: fmt.Sprintf("localhost/evalfarm-test:%08x", rand.Uint32())}
			if out, err := e.run("import", archive, e.image); err != nil {
				said = append(said, name+": "+out)
				continue
			}
			t.Cleanup(func() { _, _ = e.run("rmi", "--force", e.image) })
			out, err := e.run("run", "--rm", "--memory=64m", "--cpus=1", "--network=none", e.image, "/boxed", "probe")
			if err == nil {
				return e
			}
			said = append(said, name+": "+out)
		}
	}
	t.Skipf("no container engine can run a container here: %s", strings.Join(said, "; "))
	return nil
}

// settings are what an engine may need where containers are allowed less than
// usual: the defaults; then, for podman, no higher limits than we have ourselves,
// with either runtime.
func settings(t *testing.T, name string) [][]string {
	t.Helper()
	all := [][]string{nil}
	var files unix.Rlimit
	if name != "podman" || unix.Getrlimit(unix.RLIMIT_NOFILE, &files) != nil {
		return all
	}
	for _, runtime := range []string{"crun", "runc"} {
		conf := filepath.Join(t.TempDir(), "containers.conf")
		text := fmt.Sprintf("[containers]\ndefault_ulimits = [\"nofile=%d:%d\", \"nproc=4096:4096\"]\n[engine]\nruntime = %q\n", files.Max, files.Max, runtime)
		if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		all = append(all, []string{"CONTAINERS_CONF=" + conf})
	}
	return all
}

// pack makes an archive with one file, which is all of an image.
func pack(t *testing.T, program, archive string) {
	t.Helper()
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := tar.NewWriter(f)
	if err := w.WriteHeader(&tar.Header{Name: "boxed", Mode: 0o755, Size: int64(len(content))}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// run runs a command of the engine to its end and gives what it said.
func (e *realEngine) run(args ...string) (string, error) {
	cmd := exec.Command(e.path, args...)
	cmd.Env = e.environ
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (e *realEngine) options() client.Options {
	return client.Options{Environ: e.environ, ContainerEngine: e.path, Owner: "real/w1", Starts: 4}
}

// spec is the boxed server in a container.
func (e *realEngine) spec(box eval.Container) client.Spec {
	box.Image = e.image
	return client.Spec{
		Name: "boxed", Dir: "/", Run: "r", Attempt: fmt.Sprintf("real-%08x", rand.Uint32()),
		Server: eval.Server{Command: []string{"/boxed", "--flag"}, Container: box, CloseTimeout: 300 * time.Millisecond},
	}
}

func (e *realEngine) open(spec client.Spec) *client.Session {
	e.t.Helper()
	s, err := client.NewOpener(e.options()).Open(e.t.Context(), spec)
	if err != nil {
		e.t.Fatalf("open: %v", err)
	}
	e.t.Cleanup(func() { _ = s.Close() })
	return s
}

// has counts the containers of a spec.
func (e *realEngine) has(spec client.Spec) int {
	e.t.Helper()
	out, err := e.run("ps", "--all", "--quiet", "--filter", "name="+spec.Attempt)
	if err != nil {
		e.t.Fatalf("list containers: %v: %s", err, out)
	}
	return len(strings.Fields(out))
}

// commandOf finds the engine's command that is the line to a container.
func commandOf(spec client.Spec) int {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range lines {
		line, _ := os.ReadFile(file)
		if strings.Contains(string(line), "\x00run\x00--name=evalfarm-"+spec.Attempt) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			return pid
		}
	}
	return 0
}

// TestRealContainer holds a real engine to what the stand-in is tested for.
func TestRealContainer(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: no real container engine")
	}
	e := findEngine(t)
	t.Run("is shut in", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "file"), []byte("given"), 0o644); err != nil {
			t.Fatal(err)
		}
		spec := e.spec(eval.Container{Mounts: []eval.Mount{{Source: dir, Target: "/in"}}, Memory: "64m", CPUs: 0.5, User: "1000:1000"})
		spec.Server.Env = map[string]string{"TOKEN": "tk-1\nand more"}
		s := e.open(spec)
		if got := s.Info(); got.Version != "--flag" || got.Image != e.image || !strings.HasPrefix(got.ImageDigest, "sha256:") {
			t.Errorf("got %+v, want the command, the image and its digest in it", got)
		}
		a := attach(t, s)
		say := func(tool string) string { return textOf(a.Call(t.Context(), tool, eval.JSON(`{}`))) }
		if got := say("environment"); !strings.Contains(got, "TOKEN=tk-1\nand more") || strings.Contains(got, "EVALFARM") || strings.Contains(got, "GOPATH") {
			t.Errorf("got the environment %q, want the suite's alone", got)
		}
		if got := say("interfaces"); got != "[lo] <nil>" {
			t.Errorf("got interfaces %s, want no network", got)
		}
		if got := say("user"); got != "1000" {
			t.Errorf("got user %s, want 1000", got)
		}
		if got := say("capabilities"); strings.Trim(got, "0") != "" {
			t.Errorf("got capabilities %s, want none", got)
		}
		if got := say("read"); got != "given<nil>" && got != "given <nil>" {
			t.Errorf("got %s of the mount, want what is there", got)
		}
		if got := say("write"); !strings.Contains(got, "read-only file system") {
			t.Errorf("got %s, want the mount to be read-only", got)
		}
		if got := e.has(spec); got != 1 {
			t.Errorf("got %d containers of that name, want 1", got)
		}
		_ = s.Close()
		if got := e.has(spec); got != 0 {
			t.Errorf("got %d containers after the end, want none", got)
		}
	})
	t.Run("is removed when the engine's command is killed", func(t *testing.T) {
		spec := e.spec(eval.Container{})
		s := e.open(spec)
		pid := commandOf(spec)
		if pid == 0 {
			t.Fatal("the engine's command is not there")
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() bool { return e.has(spec) == 0 })
		if out := attach(t, s).Call(t.Context(), "user", eval.JSON(`{}`)); !out.Reason.Infra() {
			t.Errorf("got %+v, want it to be no doing of the server", out)
		}
	})
	t.Run("is removed after its worker was killed", func(t *testing.T) {
		farm := fmt.Sprintf("real-%08x/", rand.Uint32())
		kill := startOwner(t, e.environ, farm+"w1", "/boxed", e.image, e.path)
		left := client.Spec{Attempt: strings.ReplaceAll(farm+"w1", "/", "-")}
		kill()
		if got := e.has(left); got != 1 {
			t.Fatalf("got %d containers of the dead worker, want 1", got)
		}
		o := e.options()
		o.Owner, o.Orphans = farm+"w2", farm
		s, err := client.NewOpener(o).Open(t.Context(), e.spec(eval.Container{}))
		if err != nil {
			t.Fatal(err)
		}
		_ = s.Close()
		if got := e.has(left); got != 0 {
			t.Errorf("got %d containers of the dead worker, want none", got)
		}
	})
	t.Run("runs out of memory", func(t *testing.T) {
		spec := e.spec(eval.Container{Memory: "24m"})
		s := e.open(spec)
		out := attach(t, s).Call(t.Context(), "eat", eval.JSON(`{}`))
		if out.Reason != eval.ReasonServerCrashed || !strings.Contains(out.Detail, "ran out of memory (limit: 24m)") {
			t.Errorf("got %s (%s), want a crash for want of memory", out.Reason, out.Detail)
		}
		_ = s.Close()
		if got := e.has(spec); got != 0 {
			t.Errorf("got %d containers after the end, want none", got)
		}
	})
	t.Run("cannot be started", func(t *testing.T) {
		spec := e.spec(eval.Container{})
		spec.Server.Command = []string{"/no-such-program"}
		_, err := client.NewOpener(e.options()).Open(t.Context(), spec)
		if err == nil || !strings.Contains(err.Error(), string(eval.ReasonStartFailed)) || !strings.Contains(err.Error(), "no-such-program") {
			t.Errorf("got %v, want that the program is not there", err)
		}
		if got := e.has(spec); got != 0 {
			t.Errorf("got %d containers, want none", got)
		}
	})
	t.Run("has no image", func(t *testing.T) {
		spec := e.spec(eval.Container{Pull: eval.PullNever})
		spec.Server.Container.Image = "localhost/evalfarm-nobody:1"
		_, err := client.NewOpener(e.options()).Open(t.Context(), spec)
		if err == nil || !strings.Contains(err.Error(), "is not on this machine, and pull is never") {
			t.Errorf("got %v, want that the image is missing", err)
		}
	})
}
