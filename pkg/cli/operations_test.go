package cli_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/internal/freeport"
)

// saved is a file of a page that says its name in its first line.
var saved = regexp.MustCompile(`^# ([a-z]+\.(?:yaml|py))\n`)

// The farm that docs/operations.md has a newcomer start by hand runs its nightly suite
// and posts its webhook, whose receiver finds it signed. The page is followed to the
// letter, but for its ports, which may be taken here.
func TestDocsFarmByHand(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("the receiver of docs/operations.md is written in Python, which is not installed")
	}
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## By hand\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, port := range []string{"6390", "8090", "9000"} {
		free, err := freeport.Hold(t.Cleanup)
		if err != nil {
			t.Fatal(err)
		}
		section = strings.ReplaceAll(section, port, free)
	}
	s := newShop(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(s.dir, "suites", "quickstart"), os.DirFS(filepath.Join(root, "suites", "quickstart"))); err != nil {
		t.Fatal(err)
	}
	script := "set -e\n"
	for _, m := range regexp.MustCompile("(?ms)^```(sh|yaml|python)\n(.*?)^```$").FindAllStringSubmatch(section, -1) {
		if name := saved.FindStringSubmatch(m[2]); name != nil {
			s.file(name[1], m[2])
		} else if m[1] == "sh" {
			script += m[2]
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Dir = s.dir
	cmd.Env = append(s.env, "PATH="+filepath.Dir(s.self)+":"+os.Getenv("PATH"))
	// A group of its own, so that nothing of it outlives a test that fails.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	kill := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Cancel, cmd.WaitDelay = kill, time.Second
	out, err := cmd.CombinedOutput()
	_ = kill() // nothing is left, as a rule
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, want := range map[string]string{
		"received.log": `(?ms)^signed notification\.test .*^signed run\.finished quickstart pass$`,
		"worker-1.log": "worker joined",
		"worker-2.log": "worker joined",
	} {
		got, err := os.ReadFile(filepath.Join(s.dir, name))
		if err != nil || !regexp.MustCompile(want).Match(got) || strings.Contains(string(got), "FORGED") {
			t.Errorf("%s: got %v\n%s\nwant %s", name, err, got, want)
		}
	}
	for _, want := range []string{"0 problems, 1 warning", "✓ PASS  quickstart", "started  r-", "sent     1 try"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("got\n%s\nwant %s", out, want)
		}
	}
	if left := s.left(); len(left) > 0 {
		t.Errorf("processes are left: %q", left)
	}
}
