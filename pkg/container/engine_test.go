package container_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/evalfarm/evalfarm/internal/enginetest"
	"github.com/evalfarm/evalfarm/pkg/container"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

func TestEngineIsFound(t *testing.T) {
	for _, name := range []string{"docker", "podman"} {
		t.Run(name, func(t *testing.T) {
			_, o := engine(t, name)
			c, err := container.New(o).Container(container.Spec{})
			if err != nil {
				t.Fatal(err)
			}
			if got := filepath.Base(c.Args()[0]); got != name {
				t.Errorf("got the engine %s, want %s", got, name)
			}
		})
	}
	t.Run("named", func(t *testing.T) {
		_, o := engine(t, "podman")
		o.Command = "docker"
		_, err := container.New(o).Container(container.Spec{})
		if e, ok := errors.AsType[*container.Error](err); !ok || e.Passing || !strings.Contains(e.Detail, `"docker" was not found on PATH`) {
			t.Errorf("got %v, want that the engine with that name is not there", err)
		}
	})
}

func TestDigest(t *testing.T) {
	tests := []struct {
		name, ref string
		digests   []string
		want      string
	}{
		{name: "pinned", ref: "a@sha256:1", digests: []string{"a@sha256:2"}, want: "sha256:1"},
		{name: "its own registry", ref: "host:5000/a:1", digests: []string{"b/a@sha256:1", "host:5000/a@sha256:2"}, want: "sha256:2"},
		{name: "a short name", ref: "a", digests: []string{"x/b@sha256:1", "docker.io/library/a@sha256:2"}, want: "sha256:2"},
		{name: "another's", ref: "a:1", digests: []string{"ba@sha256:1"}, want: "sha256:1"},
		{name: "from no registry", ref: "a", want: "sha256:00ff"},
		{name: "nonsense", ref: "a", digests: []string{"", "a", "@"}, want: "sha256:00ff"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, o := engine(t, "docker")
			if err := d.Add(tt.ref, enginetest.Image{ID: "00ff", Digests: tt.digests}); err != nil {
				t.Fatal(err)
			}
			got, err := container.New(o).Image(t.Context(), "run", tt.ref, eval.PullNever)
			if err != nil {
				t.Fatal(err)
			}
			if want := (container.Image{ID: "00ff", Digest: tt.want}); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// TestForget: a run keeps its image until it is forgotten.
func TestForget(t *testing.T) {
	d, o := engine(t, "docker")
	e := container.New(o)
	look := func(run string) string {
		t.Helper()
		i, err := e.Image(t.Context(), run, "a", eval.PullNever)
		if err != nil {
			t.Fatal(err)
		}
		return i.ID
	}
	add := func(id string) {
		t.Helper()
		if err := d.Add("a", enginetest.Image{ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	add("1")
	got := []string{look("r1")}
	add("2")
	got = append(got, look("r1"), look("r2"))
	add("3")
	e.Forget("a")
	got = append(got, look("r2"))
	if want := []string{"1", "1", "2", "3"}; !slices.Equal(got, want) {
		t.Errorf("got images %v, want %v", got, want)
	}
}

var nameRE = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,127}$`)

// TestArgs: whatever a suite says, the name is one that engines take, no value of
// the environment is in the argument vector, and what is not the server's own is an
// option with its value in one word.
func TestArgs(t *testing.T) {
	_, o := engine(t, "docker")
	e := container.New(o)
	names := map[string]bool{}
	rapid.Check(t, func(rt *rapid.T) {
		secret := "s3cr3t-" + rapid.String().Draw(rt, "secret")
		spec := container.Spec{
			Server: rapid.String().Draw(rt, "server"), For: rapid.String().Draw(rt, "for"),
			Image: container.Image{ID: "image-id"}, Env: map[string]string{"KEY": secret},
			Command: rapid.SliceOf(rapid.String()).Draw(rt, "command"), Dir: "/suite",
			Container: eval.Container{
				Network: rapid.String().Draw(rt, "network"), User: rapid.String().Draw(rt, "user"), Memory: rapid.String().Draw(rt, "memory"),
				Mounts: []eval.Mount{{Source: rapid.String().Draw(rt, "source"), Target: "/t"}},
			},
		}
		c, err := e.Container(spec)
		if err != nil {
			if !strings.ContainsAny(spec.Container.Mounts[0].Source, ",\"\n\r") {
				rt.Fatalf("got %v, want a container", err)
			}
			return
		}
		if !nameRE.MatchString(c.Name()) || names[c.Name()] {
			rt.Errorf("got the name %q, want a new one that engines take", c.Name())
		}
		names[c.Name()] = true
		args := c.Args()
		at := slices.Index(args, "image-id")
		if at < 0 || !slices.Equal(args[at+1:], spec.Command) {
			rt.Fatalf("got %q, want the image and then %q", args, spec.Command)
		}
		for _, word := range args[2:at] {
			if !strings.HasPrefix(word, "--") || strings.Contains(word, secret) {
				rt.Errorf("got the word %q before the image, want options, and none with a secret", word)
			}
		}
		if !slices.Contains(c.Environ(), "KEY="+secret) {
			rt.Errorf("got the environment %q, want the secret in it", c.Environ())
		}
	})
}

func TestReserved(t *testing.T) {
	for _, name := range []string{"PATH", "HOME", "DOCKER_HOST", "CONTAINERS_CONF", "CONTAINER_HOST", "XDG_RUNTIME_DIR", "https_proxy", "LD_PRELOAD", "EVALFARM_OWNER", "TMPDIR"} {
		if !container.Reserved(name) {
			t.Errorf("%s can be given to a server", name)
		}
	}
	for _, name := range []string{"TOKEN", "TZ", "LANG", "LC_ALL", "USER", "API_KEY", "PATHS", "CONTAINER"} {
		if container.Reserved(name) {
			t.Errorf("%s cannot be given to a server", name)
		}
	}
}

// started starts a container that nothing but rm ends, and kills the engine's
// command.
func started(t *testing.T, d enginetest.Daemon, o container.Options) (*container.Engine, *container.Container) {
	t.Helper()
	e := container.New(o)
	if err := d.Add("a", enginetest.Image{ID: "1", Entrypoint: []string{"/bin/sleep", "600"}}); err != nil {
		t.Fatal(err)
	}
	c, err := e.Container(container.Spec{Server: "s", For: "f", Image: container.Image{ID: "1"}})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), c.Args()[0], c.Args()[1:]...)
	cmd.Env = c.Environ()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); len(d.Containers()) == 0 || d.Containers()[0].Status != "running"; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the container does not start")
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	return e, c
}

// TestFate: the engine's command was killed, and the server lives.
func TestFate(t *testing.T) {
	d, o := engine(t, "docker")
	_, c := started(t, d, o)
	if got := c.Fate(); got != container.FateUnknown {
		t.Errorf("got the fate %q before the end, want that nobody knows", got)
	}
	c.End(true)
	if got := c.Fate(); got != container.FateRuns {
		t.Errorf("got the fate %q, want that the server lived on", got)
	}
	if left := d.Containers(); len(left) != 0 {
		t.Errorf("got containers %+v, want none", left)
	}
}

// TestRemoveHangs: an engine that does not remove a container holds nobody for
// long; the container is tried once more at the end.
func TestRemoveHangs(t *testing.T) {
	for _, mended := range []bool{true, false} {
		name := map[bool]string{true: "for a while", false: "for ever"}[mended]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			d, o := engine(t, "docker")
			o.Patience, o.Logger = 3*time.Second, slog.New(slog.NewTextHandler(&log, nil))
			e, c := started(t, d, o)
			if err := d.Break(enginetest.HangRemove); err != nil {
				t.Fatal(err)
			}
			c.End(false)
			if !strings.Contains(log.String(), c.Name()) || !strings.Contains(log.String(), "no answer within 6s") {
				t.Errorf("got the log %q, want what could not be removed and why", log.String())
			}
			if mended {
				if err := d.Mend(enginetest.HangRemove); err != nil {
					t.Fatal(err)
				}
			}
			e.Close()
			if left := len(d.Containers()); left == 0 != mended {
				t.Errorf("got %d containers left, with the engine mended: %t", left, mended)
			}
			if told := strings.Contains(log.String(), "left behind"); told == mended {
				t.Errorf("got the log %q, with the engine mended: %t", log.String(), mended)
			}
		})
	}
}

// TestEngineHangs: an engine that answers nothing at all is as one that is away.
func TestEngineHangs(t *testing.T) {
	d, o := engine(t, "docker")
	o.Patience = 300 * time.Millisecond
	if err := d.Break(enginetest.Hang); err != nil {
		t.Fatal(err)
	}
	e := container.New(o)
	_, err := e.Image(t.Context(), "run", "a", eval.PullMissing)
	if known, ok := errors.AsType[*container.Error](err); !ok || !known.Passing {
		t.Errorf("got %v, want an error that another try may not have", err)
	}
	if _, err := e.Sweep(t.Context(), "farm/"); err == nil {
		t.Error("got no error of a sweep that found nothing out")
	}
}

// TestSweepWithoutEngine: a machine without an engine has nothing to sweep.
func TestSweepWithoutEngine(t *testing.T) {
	n, err := container.New(container.Options{Environ: []string{"PATH=/nowhere"}}).Sweep(context.Background(), "farm/")
	if n != 0 || err != nil {
		t.Errorf("got %d, %v, want nothing", n, err)
	}
}
