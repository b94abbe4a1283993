package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/evalfarm/evalfarm/internal/enginetest"
)

// engine is the stand-in for docker of a script. "engine image NAME WORD…" puts it
// on PATH and gives it an image that runs the words, "engine down" stops its
// daemon and "engine up" starts it, "engine has N" waits for that many containers,
// and "! engine asked TEXT" wants that no command had the text in its arguments.
func engine(ts *testscript.TestScript, neg bool, args []string) {
	d, err := enginetest.NewDaemon(ts.MkAbs("engine"))
	ts.Check(err)
	if len(args) == 0 || neg != (args[0] == "asked") {
		ts.Fatalf("usage: engine image|down|up|has, or ! engine asked")
	}
	switch rest := args[1:]; {
	case args[0] == "image" && len(rest) > 1:
		self, err := os.Executable()
		ts.Check(err)
		if bin := ts.MkAbs("bin"); os.Mkdir(bin, 0o700) == nil {
			ts.Check(os.Symlink(self, filepath.Join(bin, "docker")))
			ts.Setenv("PATH", bin+":"+ts.Getenv("PATH"))
			ts.Setenv("DOCKER_CONFIG", d.Dir)
			ts.Defer(d.Kill)
		}
		ts.Check(d.Add(rest[0], enginetest.Image{ID: "sha256:1d", Digests: []string{rest[0] + "@sha256:d16e57"}, Entrypoint: rest[1:]}))
	case args[0] == "down" && len(rest) == 0:
		ts.Check(d.Break(enginetest.Down))
	case args[0] == "up" && len(rest) == 0:
		ts.Check(d.Mend(enginetest.Down))
	case args[0] == "has" && len(rest) == 1:
		want := map[string]int{"none": 0, "one": 1}[rest[0]]
		running := func() (n int) {
			for _, c := range d.Containers() {
				if c.PID > 0 {
					n++
				}
			}
			return n
		}
		for deadline := time.Now().Add(time.Minute); running() != want; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				ts.Fatalf("got containers %+v, want %s", d.Containers(), rest[0])
			}
		}
	case args[0] == "asked" && len(rest) == 1:
		for _, line := range d.Asked() {
			if strings.Contains(line, rest[0]) {
				ts.Fatalf("the engine was asked: %s", line)
			}
		}
	default:
		ts.Fatalf("unknown: engine %v", args)
	}
}
