package deploy_test

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// The Collector itself reads its file. The one of tools/otelcol is built by other tests
// too, so it is mostly in the build cache.
func TestCollectorReadsItsFile(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	otelcol := filepath.Join(t.TempDir(), "otelcol")
	build := exec.CommandContext(ctx, "go", "build", "-o", otelcol, ".")
	build.Dir = "../tools/otelcol"
	if out, err := build.CombinedOutput(); err != nil {
		t.Skipf("the OpenTelemetry Collector cannot be built here: %v\n%s", err, out)
	}
	if out, err := exec.Command(otelcol, "validate", "--config", "observability/otelcol.yaml").CombinedOutput(); err != nil {
		t.Errorf("otelcol validate: %v\n%s", err, out)
	}
}

// What the services of the profile are to reach, and whom scheduler and worker send to,
// is there under that name and listens on that port.
func TestComposeTelemetryIsWired(t *testing.T) {
	var collector struct {
		Receivers map[string]struct {
			Protocols map[string]struct{ Endpoint string }
		}
		Exporters map[string]struct{ Endpoint string }
	}
	var jaeger struct {
		Extensions map[string]struct{ HTTP struct{ Endpoint string } }
		Receivers  map[string]struct {
			Protocols map[string]struct{ Endpoint string }
		}
	}
	var sources struct{ Datasources []struct{ URL string } }
	for file, into := range map[string]any{
		"otelcol.yaml": &collector, "jaeger.yaml": &jaeger, "grafana/provisioning/datasources/datasources.yaml": &sources,
	} {
		content, err := os.ReadFile(filepath.Join("observability", file))
		if err == nil {
			err = yaml.Unmarshal(content, into)
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	listens := map[string]bool{"prometheus:9090": true} // its default
	listen := func(service, endpoint string) {
		_, port, err := net.SplitHostPort(endpoint)
		if err != nil {
			t.Errorf("%s listens at %q: %v", service, endpoint, err)
		}
		listens[net.JoinHostPort(service, port)] = true
	}
	listen("otelcol", collector.Receivers["otlp"].Protocols["http"].Endpoint)
	listen("jaeger", jaeger.Receivers["otlp"].Protocols["http"].Endpoint)
	listen("jaeger", jaeger.Extensions["jaeger_query"].HTTP.Endpoint)

	var asked []string
	for _, e := range collector.Exporters {
		asked = append(asked, e.Endpoint)
	}
	for _, s := range sources.Datasources {
		asked = append(asked, s.URL)
	}
	p := compose(t, observability)
	asked = append(asked, *p.Services["worker"].Environment["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"])
	if len(asked) != 5 {
		t.Errorf("got %q, want what collector, Grafana and worker ask", asked)
	}
	for _, a := range asked {
		if u, err := url.Parse(a); err != nil || !listens[u.Host] {
			t.Errorf("nobody listens at %s, but %v", a, listens)
		}
	}
	for _, port := range p.Services["jaeger"].Ports {
		if got := fmt.Sprint("jaeger:", port.Target); !listens[got] {
			t.Errorf("nobody listens at %s", got)
		}
	}
}
