package container_test

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/evalfarm/evalfarm/internal/enginetest"
	"github.com/evalfarm/evalfarm/pkg/container"
)

func TestMain(m *testing.M) {
	if base := filepath.Base(os.Args[0]); base == "docker" || base == "podman" {
		enginetest.Main()
	}
	goleak.VerifyTestMain(m)
}

// engine makes a stand-in for an engine and options that find it.
func engine(t *testing.T, name string) (enginetest.Daemon, container.Options) {
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
	if err := os.Symlink(self, filepath.Join(bin, name)); err != nil {
		t.Fatal(err)
	}
	return d, container.Options{Environ: []string{"PATH=" + bin, "DOCKER_CONFIG=" + d.Dir}}
}
