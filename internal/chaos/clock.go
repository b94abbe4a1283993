package chaos

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// skewed is put into Go's package time, where Now asks it. A jump is one of the clock
// on the wall alone, as it is when somebody sets it: timers and durations go by another
// one.
const skewed = `package time

import (
	"syscall"
	"unsafe"
)

var skew = skewOf("` + clockVariable + `")

func skewOf(variable string) *int64 {
	path, ok := syscall.Getenv(variable)
	if !ok {
		return nil
	}
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		panic(err)
	}
	seconds, err := syscall.Mmap(fd, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	return (*int64)(unsafe.Pointer(&seconds[0]))
}

func skewedNow() (sec int64, nsec int32, mono int64) {
	sec, nsec, mono = runtimeNow()
	if skew != nil {
		sec += *skew
	}
	return sec, nsec, mono
}
`

// clockVariable names the file that has the skew of a process, in seconds.
const clockVariable = "CHAOS_CLOCK"

// BuildSkewed builds a command of this module with a Go distribution in which
// time.Now asks for a skew, and gives its path. What asks the clock of a worker is
// mostly asynq, which cannot be given another one. It takes a minute.
func BuildSkewed(tb testing.TB, pkg string) string {
	tb.Helper()
	dir := tb.TempDir()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		tb.Fatalf("find the sources of Go: %v", err)
	}
	root := filepath.Join(strings.TrimSpace(string(out)), "src", "time")
	source, err := os.ReadFile(filepath.Join(root, "time.go"))
	if err != nil {
		tb.Fatal(err)
	}
	const asks = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()"
	if strings.Count(string(source), asks) != 1 {
		tb.Skip("a clock that can be moved needs a time.Now that this test knows, and Go has another one now")
	}
	overlay := map[string]string{}
	for name, content := range map[string]string{
		"time.go": strings.Replace(string(source), asks, strings.Replace(asks, "runtimeNow", "skewedNow", 1), 1),
		"skew.go": skewed,
	} {
		overlay[filepath.Join(root, name)] = filepath.Join(dir, name)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	content, err := json.Marshal(map[string]any{"Replace": overlay})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "overlay.json"), content, 0o600)
	}
	if err != nil {
		tb.Fatal(err)
	}
	program := filepath.Join(dir, "evalfarm")
	if out, err := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program, pkg).CombinedOutput(); err != nil {
		tb.Fatalf("build %s with a clock that can be moved: %v\n%s", pkg, err, out)
	}
	return program
}

// A clock is the skew of a process.
type clock struct{ path string }

func (c clock) set(skew time.Duration) error {
	f, err := os.OpenFile(c.path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(int64(skew.Seconds()))), 0)
	return err
}

// jump is how far a clock jumps. asynq's leases are 30 s, and what it waits for after a
// failure is minutes.
const jump = time.Hour

// WorkerClockJumps sets the clock of a worker forward or back, and right again after
// more than a lease.
func WorkerClockJumps() Fault {
	return Fault{
		Name: "the clock of a worker jumps", Leases: 1.5, lacks: func(f *Farm) string {
			if !f.o.Skewable {
				return "a clock that can be moved needs a command that was built for it"
			}
			return ""
		},
		befall: func(ctx context.Context, f *Farm, s Step) error {
			p := f.worker(s)
			p.busy.Lock()
			defer p.busy.Unlock()
			skew := jump
			if s.Victim/len(f.workers)%2 == 1 {
				skew = -jump
			}
			c := f.clocks[s.Victim%len(f.clocks)]
			if err := c.set(skew); err != nil {
				return fmt.Errorf("set a clock: %w", err)
			}
			f.jumped.Store(true)
			pass(ctx, s.For)
			return c.set(0)
		},
	}
}
