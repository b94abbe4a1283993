//go:build unix

package suite_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/suite"
)

func TestIrregularFilesAreNotOpened(t *testing.T) {
	dir := write(t, map[string]string{"suite.yaml": head + "extends: folder\ninclude: [pipe.yaml]\ncases: [{id: a, call: t}]\n", "folder/x": ""})
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.yaml"), 0o600); err != nil {
		t.Skip(err)
	}
	_, err := suite.Load(dir, options())
	if err == nil || strings.Count(err.Error(), "it is no regular file") != 2 {
		t.Errorf("got %v, want two refusals", err)
	}
}
