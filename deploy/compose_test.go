package deploy_test

import (
	"net"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// compose loads docker-compose.yml as compose does, which validates it.
func compose(t *testing.T, env ...string) *types.Project {
	t.Helper()
	o, err := cli.NewProjectOptions([]string{"../docker-compose.yml"}, cli.WithEnv(env), cli.WithDefaultProfiles())
	if err != nil {
		t.Fatal(err)
	}
	p, err := o.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// observability turns the profile on, as docs/operations.md says.
const observability = "COMPOSE_PROFILES=observability"

func TestComposeServices(t *testing.T) {
	for env, want := range map[string][]string{
		"":            {"postgres", "redis", "scheduler", "worker"},
		observability: {"grafana", "jaeger", "otelcol", "postgres", "prometheus", "redis", "scheduler", "worker"},
	} {
		if got := compose(t, strings.Fields(env)...).ServiceNames(); !slices.Equal(got, want) {
			t.Errorf("%q has the services %q, want %q", env, got, want)
		}
	}
}

func TestComposeIsHardened(t *testing.T) {
	p := compose(t, observability)
	for name, s := range p.Services {
		// What can be lost, or is all in files.
		stateless := name == "otelcol" || name == "jaeger" || name == "grafana"
		// Nothing in their images could ask.
		mute := name == "otelcol" || name == "jaeger"
		for what, ok := range map[string]bool{
			"a read-only root":          s.ReadOnly,
			"no capability":             slices.Equal(s.CapDrop, []string{"ALL"}) && len(s.CapAdd) == 0 && !s.Privileged,
			"no new privileges":         slices.Contains(s.SecurityOpt, "no-new-privileges:true"),
			"a user that is not root":   s.User != "" && s.User != "root" && !strings.HasPrefix(s.User, "0"),
			"a place for scratch files": slices.ContainsFunc(s.Tmpfs, func(f string) bool { return strings.HasPrefix(f, "/tmp:") }),
			"restarts":                  s.Restart == "unless-stopped",
			"a bounded log":             s.Logging != nil && s.Logging.Options["max-size"] != "" && s.Logging.Options["max-file"] != "",
			"a health check":            mute || s.HealthCheck != nil && len(s.HealthCheck.Test) > 1,
			"no name of its own":        s.ContainerName == "",
			"a pinned image":            pinned.MatchString(s.Image) || s.Image == "evalfarm:local",
			"a volume":                  stateless || slices.ContainsFunc(s.Volumes, func(v types.ServiceVolumeConfig) bool { return v.Type == "volume" }),
		} {
			if !ok {
				t.Errorf("%s has not %s", name, what)
			}
		}
		for _, port := range s.Ports {
			if ip := net.ParseIP(port.HostIP); ip == nil || !ip.IsLoopback() {
				t.Errorf("%s publishes port %s at %q, want loopback alone", name, port.Published, port.HostIP)
			}
		}
		for network := range s.Networks {
			if store := name == "redis" || name == "postgres"; store && !p.Networks[network].Internal {
				t.Errorf("%s is on %s, which is not internal", name, network)
			}
		}
		for _, v := range s.Volumes {
			if v.Type == "bind" && !v.ReadOnly {
				t.Errorf("%s can write %s of the host", name, v.Source)
			}
		}
	}
	if w := p.Services["worker"]; len(w.Ports) > 0 || w.Init == nil || !*w.Init {
		t.Error("several workers cannot publish ports, and want an init that reaps")
	}
}

// Traces go to the collector of the profile, to one of the operator's own, or nowhere.
func TestComposeTraces(t *testing.T) {
	const variable = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	for name, row := range map[string]struct {
		env  []string
		want string
	}{
		"without the profile": {nil, ""},
		"with the profile":    {[]string{observability}, "http://otelcol:4318/v1/traces"},
		"elsewhere":           {[]string{variable + "=https://traces.example.com/v1/traces"}, "https://traces.example.com/v1/traces"},
	} {
		t.Run(name, func(t *testing.T) {
			p := compose(t, row.env...)
			for _, part := range []string{"scheduler", "worker"} {
				if got := p.Services[part].Environment[variable]; got == nil || *got != row.want {
					t.Errorf("the traces of the %s go to %v, want %q", part, got, row.want)
				}
			}
		})
	}
}

// Who shares a network with whom in the profile: telemetry reaches the farm's processes,
// and neither its Redis nor its PostgreSQL.
func TestComposeTelemetryIsApart(t *testing.T) {
	p := compose(t, observability)
	if !p.Networks["telemetry"].Internal {
		t.Error("the network telemetry is not internal")
	}
	for _, name := range []string{"otelcol", "jaeger", "prometheus", "grafana", "scheduler", "worker"} {
		if _, ok := p.Services[name].Networks["telemetry"]; !ok {
			t.Errorf("%s is not on the network telemetry", name)
		}
	}
	for _, name := range []string{"otelcol", "jaeger", "prometheus", "grafana"} {
		if _, ok := p.Services[name].Networks["farm"]; ok {
			t.Errorf("%s reaches Redis", name)
		}
		if len(p.Services[name].Secrets) > 0 {
			t.Errorf("%s has secrets of the farm", name)
		}
	}
	for _, name := range []string{"otelcol", "prometheus"} {
		if s := p.Services[name]; len(s.Networks) > 1 || len(s.Ports) > 0 {
			t.Errorf("%s is reached from outside", name)
		}
	}
}

func TestComposeCommands(t *testing.T) {
	p := compose(t)
	for _, name := range []string{"scheduler", "worker"} {
		s := p.Services[name]
		env := map[string]string{}
		for k, v := range s.Environment {
			if v != nil {
				env[k] = *v
			}
		}
		var files []string
		for _, secret := range s.Secrets {
			files = append(files, path.Join("/run/secrets", secret.Source))
		}
		// Servers are started in the folder of their suite.
		if !slices.ContainsFunc(s.Volumes, func(v types.ServiceVolumeConfig) bool { return v.Target == "/suites" }) {
			t.Errorf("%s has no suites", name)
		}
		known(t, s.Command, env)
		known(t, s.HealthCheck.Test[2:], nil)
		farmFile(t, "compose/farm.yaml", name, env, files)
		secretFiles(t, env, files)
		if s.StopGracePeriod == nil {
			t.Fatalf("%s has no stop_grace_period", name)
		}
		if got := time.Duration(*s.StopGracePeriod); name == "worker" && got < grace(t, s.Command)+ending {
			t.Errorf("the worker is killed after %s, and may need %s", got, grace(t, s.Command)+ending)
		}
	}
	// What doctor wants of a Redis.
	command := strings.Join(p.Services["redis"].Command, " ")
	for _, want := range []string{"--appendonly yes", "--maxmemory-policy noeviction"} {
		if !strings.Contains(command, want) {
			t.Errorf("redis is not started with %s", want)
		}
	}
}
