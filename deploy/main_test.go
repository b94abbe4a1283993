// Package deploy_test holds the files to deploy a farm with to what reads them: the
// compose file to compose-go, the manifests to kustomize and the types of Kubernetes,
// the units to systemd, and every command line and setting in them to evalfarm itself.
package deploy_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// program is evalfarm, built for the tests of this process.
var program string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "deploy")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		program = filepath.Join(dir, "evalfarm")
		build := exec.Command("go", "build", "-o", program, "./cmd/evalfarm")
		build.Dir = ".."
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build evalfarm: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// evalfarm runs the program in an empty folder, with a state folder of its own, and
// wants it to end well and to complain about nothing.
func evalfarm(t *testing.T, env []string, args ...string) {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = slices.Concat([]string{"PATH=" + os.Getenv("PATH"), "EVALFARM_HOME=" + dir}, env)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Run(); err != nil || errs.Len() > 0 {
		t.Errorf("evalfarm %s: %v\n%s", strings.Join(args, " "), err, errs.String())
	}
}

// known wants evalfarm to know a command line, and the variables of an environment.
func known(t *testing.T, args []string, env map[string]string) {
	t.Helper()
	// Flags before --help are parsed, and refused if they are none.
	evalfarm(t, nil, append(slices.Clone(args), "--help")...)
	var ours []string
	for name, value := range env {
		if strings.HasPrefix(name, "EVALFARM_") && name != "EVALFARM_CONFIG" && name != "EVALFARM_HOME" {
			ours = append(ours, name+"="+value)
		}
	}
	evalfarm(t, ours, "config", "explain")
}

// grace is what a worker's command line says that running trials may take.
func grace(t *testing.T, args []string) time.Duration {
	t.Helper()
	i := slices.Index(args, "--grace")
	if i < 0 || i+1 == len(args) {
		t.Fatalf("%q has no --grace, so nobody knows how long it takes to stop", args)
	}
	d, err := time.ParseDuration(args[i+1])
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// ending is how long a worker may take to end after its grace: servers are closed, and
// its last records are stored.
const ending = 15 * time.Second

// pinned is an image with a version.
var pinned = regexp.MustCompile(`^[a-z0-9./-]+:v?\d+\.\d+(\.\d+)?(-[a-z]+)?$`)

// secretFiles wants each variable NAME_FILE to name a file that is there, by the
// folders of secrets that are mounted.
func secretFiles(t *testing.T, env map[string]string, files []string) {
	t.Helper()
	for name, path := range env {
		if strings.HasSuffix(name, "_FILE") && !slices.Contains(files, path) {
			t.Errorf("%s is %s, and there are %q", name, path, files)
		}
	}
}

// wants are the secrets that a farm file refers to in redis and store, and the token's
// file.
var (
	secretRE = regexp.MustCompile(`(?m)^(redis|store):.*\$\{\{ secrets\.([A-Z_]+) \}\}`)
	tokenRE  = regexp.MustCompile(`(?m)^token_file: (\S+)$`)
)

// farmFile wants a farm file to be a good one, and a process to be given the secrets of
// the settings that it reads.
func farmFile(t *testing.T, path, part string, env map[string]string, files []string) {
	t.Helper()
	evalfarm(t, nil, "config", "check", abs(t, path))
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range secretRE.FindAllStringSubmatch(string(content), -1) {
		has := env[m[2]+"_FILE"] != ""
		if needs := m[1] == "redis" || part == "scheduler"; has != needs {
			t.Errorf("%s of %s: the %s has the secret %s: %t, want %t", m[1], path, part, m[2], has, needs)
		}
	}
	if m := tokenRE.FindStringSubmatch(string(content)); m != nil && !slices.Contains(files, m[1]) {
		t.Errorf("token_file of %s is %s, and the %s has %q", path, m[1], part, files)
	}
}

func abs(t *testing.T, path string) string {
	t.Helper()
	p, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !cond(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
	}
}
