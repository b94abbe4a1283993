package doctor_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/internal/commandtest"
	"github.com/evalfarm/evalfarm/internal/demo"
	"github.com/evalfarm/evalfarm/internal/redistest"
	"github.com/evalfarm/evalfarm/pkg/doctor"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/mcp/client"
	"github.com/evalfarm/evalfarm/pkg/store/sqlitestore"
)

// serveDemo makes the test binary a server that is well, complain one that tells a
// secret and ends.
const (
	serveDemo = "serve-demo"
	complain  = "complain"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case serveDemo:
			if demo.Serve(context.Background(), demo.Options{Name: "desk", In: os.Stdin, Out: os.Stdout, Err: os.Stderr}) != nil {
				os.Exit(1)
			}
			commandtest.Exit(0)
		case complain:
			_, _ = os.Stderr.WriteString("cannot log in with " + os.Getenv("KEY") + "\n")
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// A want is what a finding must say.
type want struct {
	check string
	level doctor.Level
	text  string
}

// examine looks by options that are sound but for what the test says.
func examine(t *testing.T, o doctor.Options, wants ...want) {
	t.Helper()
	secrets := map[string]string{"DESK_KEY": "never-shown", "GOOD": "never-shown-good", "BAD": "never-shown-bad"}
	o.Secret = func(name string) (string, error) {
		if v, ok := secrets[name]; ok {
			return v, nil
		}
		return "", errors.New("there is no secret " + name)
	}
	o.LookPath = exec.LookPath
	o.HTTP = &http.Client{Timeout: 10 * time.Second}
	got := doctor.Examine(t.Context(), o)
	for _, f := range got {
		if strings.Contains(f.Message+f.Advice, "never-shown") {
			t.Errorf("%s shows a secret: %s", f.Check, f.Message)
		}
		if f.Level == doctor.Problem && f.Advice == "" {
			t.Errorf("%s has a problem and no advice: %s", f.Check, f.Message)
		}
	}
	for _, w := range wants {
		if !slices.ContainsFunc(got, func(f doctor.Finding) bool {
			return f.Check == w.check && f.Level == w.level && strings.Contains(f.Message+" → "+f.Advice, w.text)
		}) {
			t.Errorf("got %+v\nwant %+v", got, w)
		}
	}
}

func TestRedis(t *testing.T) {
	t.Run("as it should be", func(t *testing.T) {
		s := redistest.Start(t)
		examine(t, doctor.Options{Redis: s.URL()},
			want{"redis", doctor.OK, "maxmemory-policy noeviction"}, want{"redis", doctor.OK, "append-only file"}, want{"clock", doctor.OK, "as that of redis"})
	})
	t.Run("it evicts and forgets", func(t *testing.T) {
		s := redistest.StartWith(t, "--maxmemory-policy", "allkeys-lru", "--maxmemory", "100mb", "--appendonly", "no")
		examine(t, doctor.Options{Redis: s.URL()},
			want{"redis", doctor.Problem, "it throws keys away when its 104857600 bytes are full (maxmemory-policy allkeys-lru)"},
			want{"redis", doctor.Problem, "→ CONFIG SET maxmemory-policy noeviction"},
			want{"redis", doctor.Warning, "CONFIG SET appendonly yes"})
	})
	t.Run("it would evict if it had a limit", func(t *testing.T) {
		s := redistest.StartWith(t, "--maxmemory-policy", "allkeys-lru")
		examine(t, doctor.Options{Redis: s.URL()}, want{"redis", doctor.Warning, "harmless while maxmemory is unset"})
	})
	t.Run("it is a replica", func(t *testing.T) {
		s := redistest.StartWith(t, "--replicaof", "127.0.0.1 1")
		examine(t, doctor.Options{Redis: s.URL()}, want{"redis", doctor.Problem, "it is a replica"})
	})
	t.Run("it is down", func(t *testing.T) {
		examine(t, doctor.Options{Redis: "redis://:never-shown@127.0.0.1:1"}, want{"redis", doctor.Problem, "cannot reach redis at 127.0.0.1:1"})
	})
	t.Run("there is none", func(t *testing.T) {
		examine(t, doctor.Options{}, want{"redis", doctor.OK, "none is set"})
		examine(t, doctor.Options{Part: doctor.PartWorker}, want{"redis", doctor.Problem, "the worker needs one"}, want{"blobs", doctor.Problem, "none is set"})
	})
}

func TestClock(t *testing.T) {
	s := redistest.Start(t)
	for name, test := range map[string]struct {
		off  time.Duration
		want want
	}{
		"an old clock":         {-3 * time.Hour, want{"clock", doctor.Problem, "behind redis"}},
		"a clock of the day":   {20 * time.Hour, want{"clock", doctor.Problem, "ahead of redis"}},
		"a clock that is slow": {-4 * time.Second, want{"clock", doctor.Warning, "NTP"}},
	} {
		t.Run(name, func(t *testing.T) {
			examine(t, doctor.Options{Redis: s.URL(), Now: func() time.Time { return time.Now().Add(test.off) }}, test.want)
		})
	}
}

func TestStore(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "evalfarm.db")
	room := func(bytes uint64) func(string) (uint64, error) {
		return func(string) (uint64, error) { return bytes, nil }
	}
	examine(t, doctor.Options{Store: file, Free: room(1 << 40)}, want{"store", doctor.OK, "not there yet"}, want{"disk", doctor.OK, "1024.0 GiB"})
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("got %v, %v in the folder, want that looking leaves nothing", entries, err)
	}
	db, err := sqlitestore.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	examine(t, doctor.Options{Store: file, Free: room(1 << 30)}, want{"store", doctor.OK, "can be written"}, want{"disk", doctor.Warning, "1.0 GiB"})
	examine(t, doctor.Options{Store: file, Free: room(10 << 20)}, want{"disk", doctor.Problem, "evalfarm gc"})

	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database\n", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	examine(t, doctor.Options{Store: text}, want{"store", doctor.Problem, "not a database"})
	examine(t, doctor.Options{Store: filepath.Join(text, "below.db")}, want{"store", doctor.Problem, "notes.txt"})
}

func TestState(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	examine(t, doctor.Options{Home: dir}, want{"state", doctor.Warning, "chmod 700"})
	examine(t, doctor.Options{Home: filepath.Join(dir, "a", "b")}, want{"state", doctor.OK, "not there yet"})
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	examine(t, doctor.Options{Home: file}, want{"state", doctor.Problem, "is no folder"})
	few := func() (uint64, error) { return 256, nil }
	examine(t, doctor.Options{Slots: 16, Files: few}, want{"files", doctor.Warning, "16 slots may need 384 → ulimit -n 384"})
	examine(t, doctor.Options{Slots: 4, Files: few}, want{"files", doctor.OK, "enough for 4 slots"})
}

func TestToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("never-shown-at-all"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		token doctor.Token
		want  want
	}{
		"none":               {doctor.Token{Look: true}, want{"token", doctor.OK, "none yet"}},
		"of the environment": {doctor.Token{Look: true, Value: "never-shown-at-all"}, want{"token", doctor.OK, "from the environment"}},
		"short":              {doctor.Token{Look: true, Value: "secret"}, want{"token", doctor.Warning, "6 characters"}},
		"open to all":        {doctor.Token{Look: true, Value: "never-shown-at-all", File: file}, want{"token", doctor.Warning, "chmod 600"}},
		"not to be had":      {doctor.Token{Look: true, Err: errors.New("no such file")}, want{"token", doctor.Problem, "no such file"}},
	} {
		t.Run(name, func(t *testing.T) { examine(t, doctor.Options{Token: test.token}, test.want) })
	}
}

func TestAddresses(t *testing.T) {
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer a token for tests" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`{"id":"farm","version":"1.2","lease_ns":45000000000}`))
	}))
	defer api.Close()
	token := doctor.Token{Value: "a token for tests"}
	at := func(s *httptest.Server) string { return s.Listener.Addr().String() }

	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	examine(t, doctor.Options{Listen: address}, want{"listen", doctor.OK, "is free"})
	examine(t, doctor.Options{Listen: at(api), Token: token}, want{"listen", doctor.OK, "a scheduler of evalfarm 1.2 serves"})
	examine(t, doctor.Options{Listen: at(other), Token: token}, want{"listen", doctor.Problem, "in use"})
	examine(t, doctor.Options{Listen: "192.0.2.1:8090"}, want{"listen", doctor.Problem, "cannot listen"})

	examine(t, doctor.Options{Blobs: api.URL, Token: token, Version: "1.2"}, want{"blobs", doctor.OK, "answers"})
	examine(t, doctor.Options{Blobs: api.URL, Token: token, Version: "1.3"}, want{"blobs", doctor.Problem, "same version"})
	examine(t, doctor.Options{Blobs: api.URL, Version: "1.2"}, want{"blobs", doctor.Problem, "same token"})
	examine(t, doctor.Options{Blobs: "http://" + address}, want{"blobs", doctor.Warning, "no scheduler answers"})
}

func TestServers(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	key := map[string]string{"KEY": "${{ secrets.DESK_KEY }}"}
	o := doctor.Options{Home: t.TempDir(), Servers: map[string]eval.Server{
		"well":    {Command: []string{self, serveDemo}, Env: key},
		"ends":    {Command: []string{self, complain}, Env: key},
		"nowhere": {Command: []string{"no-such-program"}},
		"node":    {Command: []string{"/nowhere/npx", "-y", "desk"}},
		"keyless": {URL: "http://127.0.0.1:1/mcp", Headers: map[string]string{"A": "${{ secrets.MISSING }}"}},
		"away":    {URL: "http://127.0.0.1:1/mcp"},
	}}
	examine(t, o,
		want{"server well", doctor.OK, "not started"}, want{"server nowhere", doctor.Problem, `no program "no-such-program"`},
		want{"server node", doctor.Problem, "install Node.js"}, want{"server keyless", doctor.Problem, "there is no secret MISSING"})
	o.Opener = client.NewOpener(client.Options{Environ: os.Environ()})
	examine(t, o,
		want{"server well", doctor.OK, "tools: "}, want{"server ends", doctor.Problem, "cannot log in with [secret DESK_KEY]"},
		want{"server away", doctor.Problem, "unreachable"})
}

func TestKeys(t *testing.T) {
	asked := 0
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		switch key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") + r.Header.Get("X-Api-Key"); {
		case r.URL.Path != "/v1/models":
			w.WriteHeader(http.StatusNotFound)
		case key == "never-shown-good" || key == "":
			_, _ = w.Write([]byte(`{"data":[]}`))
		default:
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer api.Close()
	o := doctor.Options{Providers: []doctor.Provider{
		{Name: "usual", Provider: eval.ProviderAnthropic},
		{Name: "gateway", Provider: eval.ProviderOpenAI, BaseURL: api.URL + "/v1/", Keys: []string{"GOOD", "BAD", "MISSING"}},
		{Name: "proxy", Provider: eval.ProviderAnthropic, BaseURL: api.URL, Keys: []string{"GOOD"}},
		{Name: "open", Provider: eval.ProviderOpenAI, BaseURL: api.URL + "/v1"},
		{Name: "wrong", Provider: eval.ProviderOpenAI, BaseURL: api.URL + "/v2"},
	}}
	examine(t, o,
		want{"keys usual", doctor.Problem, "there is no secret ANTHROPIC_API_KEY"}, want{"keys gateway", doctor.OK, "GOOD is there; not tried"},
		want{"keys gateway", doctor.Problem, "there is no secret MISSING"}, want{"keys open", doctor.OK, "no key is sent"})
	if asked > 0 {
		t.Errorf("got %d requests, want none without --online", asked)
	}
	o.Online = true
	examine(t, o,
		want{"keys gateway", doctor.OK, "GOOD is accepted"}, want{"keys gateway", doctor.Problem, "BAD is refused"},
		want{"keys proxy", doctor.OK, "GOOD is accepted"}, want{"keys open", doctor.OK, "a call without a key is accepted"}, want{"keys wrong", doctor.Warning, "404"})
}

// A check that was found out about elsewhere is left out.
func TestSkip(t *testing.T) {
	got := doctor.Examine(t.Context(), doctor.Options{Skip: []string{"redis", "files"}})
	if len(got) > 0 {
		t.Errorf("got %+v, want nothing", got)
	}
}
