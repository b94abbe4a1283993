//go:build soak

package deploy_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A host runs what compose would: processes in namespaces of their own for mounts,
// processes and the network, in a root that is read-only, without privileges.
type host struct {
	t   *testing.T
	dir string
	// name begins the names of network namespaces.
	name string
	// addresses of services; the bridge that joins them is in the namespace name-hub.
	addresses map[string]string
	links     int
}

func newHost(t *testing.T) *host {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root may make namespaces")
	}
	for _, tool := range []string{"ip", "unshare", "nsenter", "setpriv", "mount", "chroot", "redis-server"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("this test wants %s", tool)
		}
	}
	h := &host{t: t, dir: t.TempDir(), name: fmt.Sprint("evalfarm", os.Getpid()), addresses: map[string]string{}}
	for _, dir := range []string{h.dir, filepath.Dir(h.dir)} { // what is in it is for several users
		if err := os.Chmod(dir, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("ip", "netns", "add", h.name+"-hub").CombinedOutput(); err != nil {
		t.Skipf("network namespaces are not permitted here: %s", bytes.TrimSpace(out))
	}
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", h.name+"-hub").Run() })
	h.ip("-n", h.name+"-hub", "link", "add", "bridge", "type", "bridge")
	h.ip("-n", h.name+"-hub", "link", "set", "bridge", "up")
	return h
}

func (h *host) ip(args ...string) {
	h.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		h.t.Fatalf("ip %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// join makes the network namespace of a container, on the bridge.
func (h *host) join(container string) {
	h.t.Helper()
	h.links++
	ns, hub, link := h.name+"-"+container, h.name+"-hub", fmt.Sprint("link", h.links)
	h.addresses[container] = fmt.Sprint("10.251.7.", h.links)
	h.ip("netns", "add", ns)
	h.t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", ns).Run() })
	h.ip("-n", hub, "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", ns)
	h.ip("-n", hub, "link", "set", link, "master", "bridge", "up")
	h.ip("-n", ns, "address", "add", h.addresses[container]+"/24", "dev", "eth0")
	h.ip("-n", ns, "link", "set", "eth0", "up")
	h.ip("-n", ns, "link", "set", "lo", "up")
}

// path of a program of this machine.
func (h *host) path(program string) string {
	h.t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		h.t.Fatal(err)
	}
	return path
}

// hosts is a file with the names of all containers.
func (h *host) hosts() string {
	var b strings.Builder
	for name, address := range h.addresses {
		fmt.Fprintln(&b, address, name)
	}
	return h.file("hosts", b.String())
}

// file makes a file that everybody can read.
func (h *host) file(name, content string) string {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		h.t.Fatal(err)
	}
	return path
}

// volume makes a folder that belongs to a user.
func (h *host) volume(name string, uid int) string {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	err := os.MkdirAll(path, 0o700)
	if err == nil {
		err = os.Chown(path, uid, uid)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return path
}

// A spec says how a container is run.
type spec struct {
	name string
	// root is the folder of its image, whose mount points are made.
	root string
	uid  int
	env  []string
	// binds are folders and files of the host by where they are in the container; what
	// ends with :ro cannot be written there.
	binds   map[string]string
	tmpfs   []string
	command []string
}

// start of a container: mounts, a root that is read-only, and then no more rights.
const start = `set -e
root=$1; shift
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
while [ "$1" != -- ]; do
	case $1 in
	tmpfs) mount -t tmpfs -o mode=1777,nosuid,nodev,noexec tmpfs "$root$3";;
	*) mount --bind "$2" "$root$3"; [ "$1" = rw ] || mount -o remount,bind,ro "$root$3";;
	esac
	shift 3
done
shift
mount -o remount,bind,ro "$root"
exec "$@"`

// A container is a running one.
type container struct {
	spec
	t    *testing.T
	cmd  *exec.Cmd
	said *buffer
	pid  int // of its first process, as the host sees it
	done chan struct{}
}

// buffer is written by a process and read by a test.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func (h *host) run(s spec) *container {
	h.t.Helper()
	s.binds["/etc/hosts"] = h.hosts() + ":ro"
	for _, device := range []string{"null", "zero", "urandom"} {
		s.binds["/dev/"+device] = "/dev/" + device
	}
	args := []string{"netns", "exec", h.name + "-" + s.name, "unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", start, "sh", s.root}
	point := func(path string, folder bool) {
		h.t.Helper()
		full := filepath.Join(s.root, path)
		if _, err := os.Lstat(full); err == nil {
			return
		}
		if !folder {
			if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
				h.t.Fatal(err)
			}
			if err := os.WriteFile(full, nil, 0o644); err != nil {
				h.t.Fatal(err)
			}
		} else if err := os.MkdirAll(full, 0o755); err != nil {
			h.t.Fatal(err)
		}
	}
	point("/proc", true)
	for path, source := range s.binds {
		source, readOnly := strings.CutSuffix(source, ":ro")
		info, err := os.Stat(source)
		if err != nil {
			h.t.Fatal(err)
		}
		point(path, info.IsDir())
		mode := "rw"
		if readOnly {
			mode = "ro"
		}
		args = append(args, mode, source, path)
	}
	for _, path := range s.tmpfs {
		point(path, true)
		args = append(args, "tmpfs", "-", path)
	}
	// The last two look for the next program by the environment of the container.
	args = append(append(args, "--", "env", "-i"), s.env...)
	uid := fmt.Sprint(s.uid)
	args = append(args, h.path("setpriv"), "--no-new-privs", "--inh-caps=-all", h.path("chroot"), "--userspec="+uid+":"+uid, "--groups="+uid, s.root)
	args = append(args, s.command...)
	c := &container{spec: s, t: h.t, cmd: exec.Command("ip", args...), said: &buffer{}, done: make(chan struct{})}
	c.cmd.Stdout, c.cmd.Stderr, c.cmd.WaitDelay = c.said, c.said, time.Second
	if err := c.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	go func() { _ = c.cmd.Wait(); close(c.done) }()
	h.t.Cleanup(func() {
		if c.pid > 0 {
			_ = syscall.Kill(c.pid, syscall.SIGKILL) // it takes all of its namespace along
		} else {
			_ = c.cmd.Process.Kill()
		}
		<-c.done
	})
	eventually(h.t, "container "+s.name+" has begun", func() bool {
		if c.ended() {
			h.t.Fatalf("%s ended\n%s", s.name, c.said)
		}
		children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", c.cmd.Process.Pid, c.cmd.Process.Pid))
		_, err := fmt.Sscan(string(children), &c.pid)
		root, _ := os.Readlink(fmt.Sprintf("/proc/%d/root", c.pid))
		return err == nil && root == s.root
	})
	return c
}

func (c *container) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// exec runs a command in a container, as its user, as `docker compose exec` does.
func (c *container) exec(args ...string) (string, error) {
	uid := fmt.Sprint(c.uid)
	enter := []string{"--target", fmt.Sprint(c.pid), "--net", "--mount", "--pid", "--root", "--wd=/", "--setuid", uid, "--setgid", uid, "--"}
	cmd := exec.Command("nsenter", append(enter, args...)...)
	cmd.Env = c.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// confined wants a process to be as compose says: not root, without capabilities, and
// with a root that it cannot write.
func (c *container) confined() {
	c.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.pid))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, want := range []string{fmt.Sprintf("Uid:\t%d\t", c.uid), "CapEff:\t0000000000000000\n", "CapPrm:\t0000000000000000\n", "NoNewPrivs:\t1\n"} {
		if !strings.Contains(string(status), want) {
			c.t.Errorf("%s has not %q\n%s", c.name, want, status)
		}
	}
	mounts, err := os.ReadFile(fmt.Sprintf("/proc/%d/mounts", c.pid))
	if err != nil {
		c.t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); f[1] == "/" && !strings.HasPrefix(f[3]+",", "ro,") {
			c.t.Errorf("%s can write its root: %s", c.name, line)
		}
	}
}

// stop sends SIGTERM and wants a good end.
func (c *container) stop() {
	c.t.Helper()
	if err := syscall.Kill(c.pid, syscall.SIGTERM); err != nil {
		c.t.Fatal(err)
	}
	select {
	case <-c.done:
	case <-time.After(time.Minute):
		c.t.Fatalf("%s does not end\n%s", c.name, c.said)
	}
	if code := c.cmd.ProcessState.ExitCode(); code != 0 {
		c.t.Errorf("%s ended with %d, want 0\n%s", c.name, code, c.said)
	}
}
