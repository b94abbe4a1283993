// Package commandtest makes a test binary the evalfarm command, so that tests start real
// processes of what they were built from.
package commandtest

import (
	"os"
	"path/filepath"
	"testing"
)

// Name is what a test binary is called as the command: its TestMain runs the command
// then.
const Name = "evalfarm"

// Link puts this test binary under the name of the command into a folder that ends with
// the test, and gives its path.
func Link(tb testing.TB) string {
	tb.Helper()
	test, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	self := filepath.Join(tb.TempDir(), Name)
	if os.Link(test, self) != nil { // another file system
		content, err := os.ReadFile(test)
		if err == nil {
			err = os.WriteFile(self, content, 0o700)
		}
		if err != nil {
			tb.Fatalf("make the command of the test binary: %v", err)
		}
	}
	return self
}
