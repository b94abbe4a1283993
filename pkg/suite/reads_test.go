package suite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/suite"
)

// A small suite that includes the same files again and again keeps nobody busy.
func TestBoundsOfReading(t *testing.T) {
	for includes, want := range map[int]string{
		500:  "the suite reads more than 100000 files",
		1001: "more than 1000 entries in include",
	} {
		dir := t.TempDir()
		files := map[string]string{"suite.yaml": "version: 1\ninclude: [" + strings.Repeat("p*.yaml, ", includes) + "]\ncases: []\n"}
		if includes == 500 {
			for i := range 201 {
				files[fmt.Sprintf("p%d.yaml", i)] = "version: 1\n"
			}
		}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := suite.Load(filepath.Join(dir, "suite.yaml"), suite.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d includes: %.300v; want %q", includes, err, want)
		}
	}
}
