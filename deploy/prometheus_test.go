package deploy_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/evalfarm/evalfarm/internal/freeport"
	"github.com/evalfarm/evalfarm/internal/redistest"
)

// A Prometheus scrapes a scheduler and a worker, by the files of observability but for
// the addresses, while they carry out a run.
func TestPrometheusScrapesTheFarm(t *testing.T) {
	t.Parallel()
	prometheus := installed(t, "prometheus")
	f := newFarm(t)
	f.start("scheduler", program, "scheduler", "--health", f.metrics)
	f.start("worker", program, "worker", "-j", "2", "--health", f.worker)
	f.start("prometheus", prometheus, "--config.file="+f.config(), "--storage.tsdb.path="+filepath.Join(f.dir, "tsdb"),
		"--web.listen-address="+f.prometheus, "--enable-feature=exemplar-storage", "--log.level=warn")

	eventually(t, "both are up", func() bool {
		return f.number(`sum(up{job="scheduler"})`) == 1 && f.number(`sum(up{job="worker"})`) == 1 && f.number(`sum(evalfarm_leader)`) == 1
	})
	f.run("enqueue", abs(t, "../suites/quickstart"))
	f.run("watch", "latest", "--progress", "none")
	var summary struct{ Trials float64 }
	if err := json.Unmarshal([]byte(f.run("report", "latest", "--json")), &summary); err != nil || summary.Trials == 0 {
		t.Fatalf("the run has no trials: %v", err)
	}
	eventually(t, "the trials of the run are counted", func() bool { return f.number(`sum(evalfarm_trials_total)`) == summary.Trials })
	eventually(t, "what the worker measured is there", func() bool {
		return f.number(`sum(evalfarm_attempt_duration_seconds_count{job="worker"})`) == summary.Trials && f.number(`sum(evalfarm_mcp_starts_total{outcome="ok"})`) > 0
	})

	t.Run("series are those of the catalogue", func(t *testing.T) {
		var series []map[string]string
		f.ask(t, "series", url.Values{"match[]": {`{job=~"scheduler|worker", __name__=~"(evalfarm|gen_ai|mcp)_.*"}`}}, &series)
		known := catalogue()
		seen := map[string]bool{}
		for _, s := range series {
			name := s["__name__"]
			seen[name] = true
			for label := range s {
				if label != "__name__" && !slices.Contains(known[name], label) {
					t.Errorf("%s has the label %s, want %q", name, label, known[name])
				}
			}
		}
		for _, name := range []string{
			"evalfarm_trials_total", "evalfarm_attempts_total", "evalfarm_runs_total", "evalfarm_workers", "evalfarm_runs_live",
			"evalfarm_queue_depth", "evalfarm_queue_oldest_age_seconds", "evalfarm_trials_in_flight", "evalfarm_slots", "evalfarm_stream_backlog",
			"evalfarm_store_lag_seconds_bucket", "evalfarm_queue_wait_seconds_bucket", "evalfarm_commit_duration_seconds_bucket",
			"evalfarm_spool_records", "mcp_client_operation_duration_seconds_bucket",
		} {
			if !seen[name] {
				t.Errorf("nobody tells %s", name)
			}
		}
	})

	t.Run("rules are evaluated", func(t *testing.T) {
		var got struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError, State, LastEvaluation string }
			}
		}
		evaluated := func() bool {
			f.ask(t, "rules", nil, &got)
			for _, r := range got.Groups[0].Rules {
				if r.Health == "unknown" {
					return false
				}
			}
			return true
		}
		eventually(t, "all rules are evaluated", evaluated)
		if n, want := len(got.Groups[0].Rules), len(alerts(t)); n != want {
			t.Errorf("got %d rules, want %d", n, want)
		}
		for _, r := range got.Groups[0].Rules {
			if r.Health != "ok" || r.State == "firing" {
				t.Errorf("%s is %s (%s), %s", r.Name, r.Health, r.LastError, r.State)
			}
		}
	})

	// What Grafana makes a link of: datasources.yaml names the label.
	t.Run("exemplars name traces", func(t *testing.T) {
		var got []struct {
			Exemplars []struct{ Labels map[string]string }
		}
		for _, metric := range []string{"evalfarm_attempt_duration_seconds_bucket", "mcp_client_operation_duration_seconds_bucket"} {
			f.ask(t, "query_exemplars", url.Values{"query": {metric}, "start": {"0"}, "end": {"9999999999"}}, &got)
			if len(got) == 0 || len(got[0].Exemplars) == 0 || len(got[0].Exemplars[0].Labels["trace_id"]) != 32 {
				t.Errorf("%s has the exemplars %v", metric, got)
			}
		}
	})

	t.Run("the dashboard's queries", func(t *testing.T) {
		for _, q := range queries(t) {
			f.ask(t, "query", url.Values{"query": {q.expr}}, new(any))
		}
	})
}

// A farm of real processes, with a Prometheus.
type farm struct {
	t   *testing.T
	dir string
	env []string
	// Addresses where they listen.
	scheduler, metrics, worker, prometheus string
}

func newFarm(t *testing.T) *farm {
	t.Helper()
	f := &farm{t: t, dir: t.TempDir()}
	var nobody string
	for _, address := range []*string{&f.scheduler, &f.metrics, &f.worker, &f.prometheus, &nobody} {
		port, err := freeport.Hold(t.Cleanup)
		if err != nil {
			t.Fatal(err)
		}
		*address = "127.0.0.1:" + port
	}
	settings := fmt.Sprintf("version: 1\nredis: %s\nlisten: %s\nblobs: http://%s\nbudgets: {day_usd: 50}\n", redistest.Start(t).URL(), f.scheduler, f.scheduler)
	f.file("farm.yaml", settings)
	f.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + f.dir, "EVALFARM_HOME=" + f.dir, "EVALFARM_TOKEN=a-token-for-the-tests-of-deploy", "EVALFARM_CONFIG=" + filepath.Join(f.dir, "farm.yaml")}
	// It traces, though nobody takes the traces: exemplars are of what is traced.
	f.env = append(f.env, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://"+nobody+"/v1/traces")
	return f
}

func (f *farm) file(name, content string) string {
	f.t.Helper()
	path := filepath.Join(f.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		f.t.Fatal(err)
	}
	return path
}

// start starts a process that ends with the test, and says what it said if that fails.
func (f *farm) start(name, program string, args ...string) {
	f.t.Helper()
	log, err := os.Create(filepath.Join(f.dir, name+".log"))
	if err != nil {
		f.t.Fatal(err)
	}
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = f.dir, f.env, log, log
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		kill.Stop()
		log.Close()
		if said, _ := os.ReadFile(log.Name()); f.t.Failed() {
			f.t.Logf("%s:\n%s", name, said)
		}
	})
}

// run runs a command of evalfarm and wants it to end well.
func (f *farm) run(args ...string) string {
	f.t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = f.dir, f.env
	out, err := cmd.Output()
	if err != nil {
		f.t.Fatalf("evalfarm %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// config is the file of docker-compose.yml with the rules beside it. Where it looks a
// service up it gets the address that the service has here, and it hurries.
func (f *farm) config() string {
	f.t.Helper()
	rules, err := os.ReadFile("observability/rules.yml")
	if err != nil {
		f.t.Fatal(err)
	}
	f.file("rules.yml", regexp.MustCompile(`(?m)^  - name: evalfarm$`).ReplaceAllString(string(rules), "$0\n    interval: 1s"))
	content, err := os.ReadFile("observability/prometheus.yml")
	if err != nil {
		f.t.Fatal(err)
	}
	var config struct {
		Global  map[string]string `json:"global"`
		Rules   []string          `json:"rule_files"`
		Scrapes []map[string]any  `json:"scrape_configs"`
	}
	if err := yaml.UnmarshalStrict(content, &config); err != nil {
		f.t.Fatal(err)
	}
	config.Global = map[string]string{"scrape_interval": "1s", "evaluation_interval": "1s"}
	for _, s := range config.Scrapes {
		address := map[any]string{"scheduler": f.metrics, "worker": f.worker}[s["job_name"]]
		delete(s, "dns_sd_configs")
		s["static_configs"] = []any{map[string]any{"targets": []string{address}}}
	}
	text, err := yaml.Marshal(config)
	if err != nil {
		f.t.Fatal(err)
	}
	return f.file("prometheus.yml", string(text))
}

// ask asks Prometheus, and wants an answer.
func (f *farm) ask(t *testing.T, what string, q url.Values, into any) {
	t.Helper()
	r, err := http.Get("http://" + f.prometheus + "/api/v1/" + what + "?" + q.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	answer := struct {
		Status, Error string
		Data          any
	}{Data: into}
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil || answer.Status != "success" {
		t.Errorf("%s %s: %s %v", what, q, answer.Error, err)
	}
}

// number is what a query comes to; nothing, or a server that does not answer yet, is
// -1.
func (f *farm) number(query string) float64 {
	f.t.Helper()
	r, err := http.Get("http://" + f.prometheus + "/api/v1/query?" + url.Values{"query": {query}}.Encode())
	if err != nil {
		return -1
	}
	defer r.Body.Close()
	var answer struct {
		Data struct {
			Result []struct{ Value [2]any }
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil || len(answer.Data.Result) != 1 {
		return -1
	}
	var n float64
	if _, err := fmt.Sscan(fmt.Sprint(answer.Data.Result[0].Value[1]), &n); err != nil {
		f.t.Fatalf("%s: %v", query, err)
	}
	return n
}
