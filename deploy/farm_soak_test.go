//go:build soak

package deploy_test

import (
	"os"
	"os/exec"
	"os/user"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"
)

// image makes the root of the image by what the Dockerfile runs, and gives the
// environment that it sets.
func (h *host) image() (root string, env []string) {
	h.t.Helper()
	root, state := filepath.Join(h.dir, "image"), filepath.Join(h.dir, "state")
	for _, line := range dockerfile(h.t) {
		words := strings.Fields(line)
		switch {
		case words[0] == "ENV":
			env = append(env, words[1:]...)
		case words[0] == "RUN" && !strings.Contains(line, "go mod download"):
			script := regexp.MustCompile(`--mount=\S+`).ReplaceAllString(strings.TrimPrefix(line, "RUN "), "")
			// A version of a checkout that may be no clone.
			script = strings.ReplaceAll(script, "-buildvcs=true", "-buildvcs=auto")
			script = strings.NewReplacer("/out/", root+"/", "/state/", state+"/").Replace(script)
			cmd := exec.Command("sh", "-ec", script)
			cmd.Dir = ".."
			if out, err := cmd.CombinedOutput(); err != nil {
				h.t.Fatalf("%s: %v\n%s", script, err, out)
			}
		}
	}
	// What COPY --chown makes of it is a volume here.
	if err := os.MkdirAll(filepath.Join(root, "var/lib/evalfarm"), 0o755); err != nil {
		h.t.Fatal(err)
	}
	return root, env
}

// debian makes the root of an image out of programs of this machine.
func (h *host) debian(name string) (root string, binds map[string]string) {
	h.t.Helper()
	root = filepath.Join(h.dir, name)
	if err := os.MkdirAll(root, 0o755); err != nil {
		h.t.Fatal(err)
	}
	for _, link := range []string{"bin", "lib", "lib64", "sbin"} {
		if _, err := os.Stat("/usr/" + link); err != nil {
			continue
		}
		if err := os.Symlink("usr/"+link, filepath.Join(root, link)); err != nil {
			h.t.Fatal(err)
		}
	}
	passwd, err := os.ReadFile("/etc/passwd")
	if err != nil {
		h.t.Fatal(err)
	}
	return root, map[string]string{"/usr": "/usr:ro", "/etc/passwd": h.file(name+"-passwd", string(passwd)) + ":ro"}
}

// environment of a service.
func environment(s types.ServiceConfig) []string {
	var env []string
	for name, value := range s.Environment {
		if value != nil {
			env = append(env, name+"="+*value)
		}
	}
	return env
}

// healthy waits until the health check of a service is content.
func (c *container) healthy(s types.ServiceConfig) {
	c.t.Helper()
	test := s.HealthCheck.Test[1:]
	if s.HealthCheck.Test[0] == "CMD-SHELL" {
		test = []string{"sh", "-c", test[0]}
	}
	eventually(c.t, c.name+" is healthy", func() bool {
		if c.ended() {
			c.t.Fatalf("%s ended\n%s", c.name, c.said)
		}
		_, err := c.exec(test...)
		return err == nil
	})
}

// The processes of docker-compose.yml, with its command lines, variables, files, secrets
// and health checks, each in namespaces of its own, without privileges and with a
// read-only root: they carry out the nightly run.
func TestSoakFarmInNamespaces(t *testing.T) {
	h := newHost(t)
	bin := postgresPrograms(t)
	account, err := user.Lookup("postgres")
	if err != nil {
		t.Skip("this machine has no user postgres")
	}
	postgres, err := strconv.Atoi(account.Uid)
	if err != nil {
		t.Fatal(err)
	}
	p := compose(t, "SUITES="+abs(t, "../suites"), "SLOTS=3")
	for _, name := range []string{"redis", "postgres", "scheduler", "worker", "worker2"} {
		h.join(name)
	}
	secrets := map[string]string{}
	for name := range p.Secrets {
		secrets[name] = h.file("secret-"+name, "a-"+name+"-for-tests\n")
	}
	// service starts a container of a service; volumes are by their names.
	service := func(container, name, root string, uid int, env []string, binds map[string]string, command []string) *container {
		t.Helper()
		s := p.Services[name]
		for _, secret := range s.Secrets {
			binds[path.Join("/run/secrets", secret.Source)] = secrets[secret.Source] + ":ro"
		}
		for _, v := range s.Volumes {
			switch {
			case v.Type == "volume":
				binds[v.Target] = h.volume("volume-"+v.Source, uid)
			case v.ReadOnly:
				binds[v.Target] = v.Source + ":ro"
			}
		}
		var tmpfs []string
		for _, mount := range s.Tmpfs {
			target, _, _ := strings.Cut(mount, ":")
			tmpfs = append(tmpfs, target)
		}
		c := h.run(spec{name: container, root: root, uid: uid, env: append(env, environment(s)...), binds: binds, tmpfs: tmpfs, command: command})
		c.healthy(s)
		c.confined()
		return c
	}

	root, binds := h.debian("redis")
	service("redis", "redis", root, 65534, []string{"PATH=/usr/bin:/bin"}, binds, p.Services["redis"].Command)

	// What the entrypoint of the image does.
	data := h.volume("volume-postgres", postgres)
	as := []string{"setpriv", "--reuid", account.Uid, "--regid", account.Gid, "--clear-groups"}
	s := p.Services["postgres"]
	initdb := []string{filepath.Join(bin, "initdb"), "--pgdata", data, "--username", *s.Environment["POSTGRES_USER"], "--pwfile", secrets["postgres_password"], "--auth", "scram-sha-256", "--locale", "C", "--no-sync"}
	initdb = append(initdb, strings.Fields(*s.Environment["POSTGRES_INITDB_ARGS"])...)
	prepare := exec.Command(as[0], append(as[1:], initdb...)...)
	prepare.Dir = "/"
	if out, err := prepare.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	create := exec.Command(as[0], append(as[1:], filepath.Join(bin, "postgres"), "--single", "-D", data, "postgres")...)
	create.Dir, create.Stdin = "/", strings.NewReader("CREATE DATABASE "+*s.Environment["POSTGRES_DB"]+"\n")
	if out, err := create.CombinedOutput(); err != nil {
		t.Fatalf("create the database: %v\n%s", err, out)
	}
	hba, err := os.OpenFile(filepath.Join(data, "pg_hba.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = hba.WriteString("host all all all scram-sha-256\n")
		hba.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	root, binds = h.debian("postgres")
	binds["/dev/shm"] = h.volume("shm", postgres)
	service("postgres", "postgres", root, postgres, []string{"PATH=" + bin + ":/usr/bin:/bin", "PGDATA=/var/lib/postgresql/data"}, binds,
		append([]string(s.Command), "-c", "listen_addresses=*", "-c", "unix_socket_directories=/var/run/postgresql", "-c", "fsync=off"))

	image, env := h.image()
	ours := func(container, name string) *container {
		return service(container, name, image, 65532, env, map[string]string{}, append([]string{"evalfarm"}, p.Services[name].Command...))
	}
	scheduler := ours("scheduler", "scheduler")
	workers := []*container{ours("worker", "worker"), ours("worker2", "worker")}

	run, err := scheduler.exec("evalfarm", "schedule", "run", "nightly")
	if err != nil {
		t.Fatalf("schedule run: %v\n%s\n%s", err, run, scheduler.said)
	}
	out, err := scheduler.exec("evalfarm", "watch", "latest", "--progress", "none")
	if err != nil || !strings.Contains(out, "PASS  quickstart") {
		t.Errorf("watch: %v\n%s", err, out)
	}
	for _, c := range append(workers, scheduler) {
		c.stop()
		if !strings.Contains(c.said.String(), "{") {
			t.Errorf("%s has logged no JSON", c.name)
		}
	}
}

// postgresPrograms is the folder of PostgreSQL's programs, which is below /usr.
func postgresPrograms(t *testing.T) string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		t.Skip("PostgreSQL is not installed")
	}
	return filepath.Dir(found[len(found)-1])
}
