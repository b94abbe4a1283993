package cli_test

import (
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/internal/freeport"
	"github.com/evalfarm/evalfarm/internal/redistest"
	"github.com/evalfarm/evalfarm/pkg/doctor"
)

// diagnosis is what doctor --json prints.
type diagnosis struct {
	Findings           []doctor.Finding
	Problems, Warnings int
}

// levels are those of the findings of a check.
func (d diagnosis) levels(check string) string {
	var out []string
	for _, f := range d.Findings {
		if f.Check == check {
			out = append(out, string(f.Level))
		}
	}
	return strings.Join(out, " ")
}

func TestDoctorOfAFarm(t *testing.T) {
	farm := func(t *testing.T, redis *redistest.Server) *shop {
		t.Helper()
		s := newShop(t)
		port, err := freeport.Hold(t.Cleanup)
		if err != nil {
			t.Fatal(err)
		}
		s.file("farm.yaml", "version: 1\nredis: "+redis.URL()+"\nlisten: 127.0.0.1:"+port+"\nslots: 2\n"+
			"servers: {desk: {command: [evalfarm, demo, desk]}}\n"+
			"providers: {anthropic: {api_keys: [\"${{ secrets.KEY_OF_ALL }}\"]}}\n")
		s.env = append(s.env, "KEY_OF_ALL=never-shown")
		return s
	}
	t.Run("all is well", func(t *testing.T) {
		s := farm(t, redistest.Start(t))
		var got diagnosis
		s.json(&got, 0, "doctor", "--json")
		for check, want := range map[string]string{
			"redis": "ok ok", "clock": "ok", "store": "ok", "state": "ok", "token": "ok", "listen": "ok", "spawn": "ok", "server desk": "ok", "keys anthropic": "ok",
		} {
			if levels := got.levels(check); levels != want {
				t.Errorf("%s: got %q, want %q in %+v", check, levels, want, got)
			}
		}
		eventually(t, "no process of the server is left", func() bool { return len(s.left()) == 0 })
	})
	t.Run("redis is not as it should be", func(t *testing.T) {
		s := farm(t, redistest.StartWith(t, "--maxmemory-policy", "allkeys-lru", "--maxmemory", "100mb", "--appendonly", "no"))
		var got diagnosis
		s.json(&got, 3, "doctor", "scheduler", "--json")
		if levels := got.levels("redis"); levels != "problem warning" || got.Problems != 1 {
			t.Errorf("got %q, want a problem and a warning in %+v", levels, got)
		}
		if got.levels("server desk")+got.levels("keys anthropic") != "" {
			t.Errorf("got %+v, want nothing of what workers need", got)
		}
		out, code := s.run("doctor", "worker", "--no-servers")
		for _, want := range []string{"allkeys-lru", "→ CONFIG SET maxmemory-policy noeviction", "evalfarm, not started", "KEY_OF_ALL is there; not tried", "2 problems"} { // blobs is not set either
			if !strings.Contains(out, want) {
				t.Errorf("got\n%s\nwant %s", out, want)
			}
		}
		if code != 3 || strings.Contains(out, "never-shown") {
			t.Errorf("got exit code %d and\n%s\nwant 3 and no secret", code, out)
		}
	})
}
