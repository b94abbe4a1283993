package export_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
	"github.com/evalfarm/evalfarm/pkg/telemetry/export"
)

// told is what an environment opens, and what it logs.
func told(t *testing.T, o export.Options, env ...string) (*export.Telemetry, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	o.Environ = append(env, "OTEL_METRICS_EXPORTER=none")
	o.Service, o.Version, o.Logger = "evalfarm-worker", "v1", slog.New(slog.NewTextHandler(&log, nil))
	tel, err := export.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return tel, &log
}

// work makes the spans of some deliveries, each of an attempt that passed.
func work(t *testing.T, tracer *telemetry.Tracer, n int) {
	t.Helper()
	for i := range n {
		d := telemetry.Delivery{Attempt: telemetry.Attempt{Run: "r", Ordinal: i, N: 2}, Lane: telemetry.Trials, UID: "u"}
		_, span := tracer.Process(telemetry.Arrive(t.Context(), d.Traceparent(tracer.Sampled(d.TraceID()))), d)
		tracer.Processed(span, eval.Record{Outcome: eval.AttemptDone, Result: eval.Result{Verdict: eval.Pass}}, nil)
	}
}

func TestOTLP(t *testing.T) {
	for name, tt := range map[string]struct {
		grpc    bool
		env     []string
		service string
		header  string // name=value that the collector sees
	}{
		"http":                {service: "evalfarm-worker", header: ":path=/v1/traces"},
		"http, compressed":    {env: []string{"OTEL_EXPORTER_OTLP_COMPRESSION=gzip"}, service: "evalfarm-worker", header: "Content-Encoding=gzip"},
		"http, not":           {env: []string{"OTEL_EXPORTER_OTLP_COMPRESSION=gzip", "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION=none"}, service: "evalfarm-worker", header: "Content-Encoding="},
		"http with headers":   {env: []string{"OTEL_EXPORTER_OTLP_HEADERS=Authorization=Basic%20cGs6c2s=, x-team = a"}, service: "evalfarm-worker", header: "Authorization=Basic cGs6c2s="},
		"grpc":                {grpc: true, service: "evalfarm-worker", header: ":authority="},
		"grpc, compressed":    {grpc: true, env: []string{"OTEL_EXPORTER_OTLP_COMPRESSION=gzip"}, service: "evalfarm-worker", header: "grpc-accept-encoding=gzip"},
		"grpc with headers":   {grpc: true, env: []string{"OTEL_EXPORTER_OTLP_TRACES_HEADERS=x-team=a,x-other=%2C", "OTEL_EXPORTER_OTLP_HEADERS=x-team=b"}, service: "evalfarm-worker", header: "x-other=,"},
		"a service by name":   {env: []string{"OTEL_SERVICE_NAME=nightly", "OTEL_RESOURCE_ATTRIBUTES=service.name=other"}, service: "nightly"},
		"a service by others": {env: []string{"OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=ci,service.name=other"}, service: "other"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &receiver{}
			env := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + r.overHTTP(t)}
			if tt.grpc {
				env = []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + r.overGRPC(t), "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}
			}
			tel, log := told(t, export.Options{}, append(env, tt.env...)...)
			work(t, tel.Tracer(), 3)
			if err := tel.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			service, spans := r.spans()
			if len(spans) != 3 || service != tt.service {
				t.Errorf("got %d spans of %q, want 3 of %q", len(spans), service, tt.service)
			}
			if header, want, ok := strings.Cut(tt.header, "="); ok && header != ":authority" && r.headers[header] != want {
				t.Errorf("header %s is %q, want %q", header, r.headers[header], want)
			}
			if log.Len() > 0 {
				t.Errorf("logged %s", log)
			}
		})
	}
}

// A collector with a certificate of its own.
func TestOTLPOverTLS(t *testing.T) {
	t.Parallel()
	r := &receiver{}
	s := httptest.NewTLSServer(r)
	defer s.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(file, ca, 0o600); err != nil {
		t.Fatal(err)
	}
	tel, _ := told(t, export.Options{}, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+s.URL+"/otel/traces", "OTEL_EXPORTER_OTLP_CERTIFICATE="+file)
	work(t, tel.Tracer(), 1)
	if err := tel.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r.headers[":path"] != "/otel/traces" {
		t.Errorf("got %q, want the path as it was given", r.headers[":path"])
	}
	tel, _ = told(t, export.Options{}, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+s.URL+"/otel/traces")
	work(t, tel.Tracer(), 1)
	if err := tel.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "1 spans are lost") {
		t.Errorf("got %v, want that nobody knows the certificate", err)
	}
}

// What becomes of a batch that is too large for one message.
func TestPortions(t *testing.T) {
	t.Parallel()
	r := &receiver{}
	tel, _ := told(t, export.Options{}, "OTEL_EXPORTER_OTLP_ENDPOINT="+r.overGRPC(t), "OTEL_EXPORTER_OTLP_PROTOCOL=grpc")
	for i := range 60 {
		d := telemetry.Delivery{Attempt: telemetry.Attempt{Run: "r", Ordinal: i, N: 1}, Lane: telemetry.Trials, UID: "u"}
		_, span := tel.Tracer().Process(telemetry.Arrive(t.Context(), d.Traceparent(true)), d)
		tel.Tracer().Processed(span, eval.Record{Outcome: eval.AttemptFailed, Result: eval.Result{Verdict: eval.Error, Reason: "server_start", Message: strings.Repeat("x", 200_000)}}, nil)
	}
	if err := tel.Close(t.Context()); err != nil {
		t.Fatal(err) // the server takes 4 MiB
	}
	if _, spans := r.spans(); len(spans) != 60 || len(spans[0].Status.Message) > 70_000 {
		t.Errorf("got %d spans, want 60 whose long text is cut", len(spans))
	}
}

// A collector that does not do its work holds up nobody, and at the end it is said what
// was lost.
func TestBadCollectors(t *testing.T) {
	for name, tt := range map[string]struct {
		at   func(*testing.T) string
		grpc bool
		want string
	}{
		"refuses, http":     {refusing, false, "connection refused"},
		"refuses, grpc":     {refusing, true, "connection refused"},
		"is broken, http":   {func(t *testing.T) string { t.Helper(); return (&receiver{status: 500}).overHTTP(t) }, false, "500"},
		"is busy, http":     {func(t *testing.T) string { t.Helper(); return (&receiver{status: 503}).overHTTP(t) }, false, "503"},
		"wants a key, http": {func(t *testing.T) string { t.Helper(); return (&receiver{status: 401}).overHTTP(t) }, false, "401"},
		"is busy, grpc": {func(t *testing.T) string {
			t.Helper()
			return (&receiver{fail: status.Error(codes.Unavailable, "busy")}).overGRPC(t)
		}, true, "busy"},
		"wants a key, grpc": {func(t *testing.T) string {
			t.Helper()
			return (&receiver{fail: status.Error(codes.Unauthenticated, "who?")}).overGRPC(t)
		}, true, "who?"},
		"speaks another one": {func(t *testing.T) string { t.Helper(); return (&receiver{}).overHTTP(t) }, true, "rpc error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + tt.at(t), "OTEL_BSP_MAX_QUEUE_SIZE=50", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=10", "OTEL_BSP_SCHEDULE_DELAY=3600000"}
			if tt.grpc {
				env = append(env, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc")
			}
			tel, log := told(t, export.Options{}, env...)
			work(t, tel.Tracer(), 500)
			err := tel.Close(t.Context())
			if err == nil || !strings.Contains(err.Error(), "500 spans are lost") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want all 500 lost, by %q", err, tt.want)
			}
			if log.Len() > 0 {
				t.Errorf("logged %s", log)
			}
		})
	}
}

func TestVariables(t *testing.T) {
	const on = "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318"
	for name, tt := range map[string]struct {
		env  []string
		want string // a part of the error and its hint, "off", or "on"
	}{
		"nothing":                     {nil, "off"},
		"empty":                       {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT="}, "off"},
		"an endpoint":                 {[]string{on}, "on"},
		"the last one counts":         {[]string{on, "OTEL_EXPORTER_OTLP_ENDPOINT="}, "off"},
		"an endpoint for traces":      {[]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://x/y"}, "on"},
		"an endpoint for metrics":     {[]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=https://x/y"}, "off"},
		"asked for":                   {[]string{"OTEL_TRACES_EXPORTER=otlp"}, "on"},
		"not asked for":               {[]string{on, "OTEL_TRACES_EXPORTER=none"}, "off"},
		"disabled":                    {[]string{on, "OTEL_SDK_DISABLED=TRUE"}, "off"},
		"disabled, whatever else":     {[]string{"OTEL_TRACES_EXPORTER=console", "OTEL_METRICS_EXPORTER=console", "OTEL_SDK_DISABLED=true"}, "off"},
		"disabled in a way":           {[]string{on, "OTEL_SDK_DISABLED=1"}, `OTEL_SDK_DISABLED: want true or false, got "1"`},
		"console":                     {[]string{"OTEL_TRACES_EXPORTER=console"}, "standard output is for answers; evalfarm run SUITE --trace-file FILE"},
		"zipkin":                      {[]string{"OTEL_TRACES_EXPORTER=zipkin"}, `no exporter "zipkin" here; want otlp or none`},
		"json":                        {[]string{on, "OTEL_EXPORTER_OTLP_PROTOCOL=http/json"}, `"http/json" is not spoken here; want http/protobuf or grpc`},
		"grpc":                        {[]string{on, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, "on"},
		"grpc without a scheme":       {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=localhost:4317", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_INSECURE=true"}, "on"},
		"http without a scheme":       {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=localhost:4318"}, "want an address with http:// or https://; such as http://localhost:4318"},
		"no host":                     {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://:4318"}, "want an address with http://"},
		"no URL":                      {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://user:s3cret@[x"}, "this is no URL"},
		"a password":                  {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://user:s3cret@x"}, "without credentials; credentials are for OTEL_EXPORTER_OTLP_HEADERS"},
		"insecure in a way":           {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=x", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_INSECURE=yes"}, "OTEL_EXPORTER_OTLP_INSECURE: want true or false"},
		"no header":                   {[]string{on, "OTEL_EXPORTER_OTLP_HEADERS=a=b,s3cret"}, "OTEL_EXPORTER_OTLP_HEADERS: part 2 is not key=value"},
		"a header with a colon":       {[]string{on, "OTEL_EXPORTER_OTLP_HEADERS=Authorization: Basic s3cret=="}, "OTEL_EXPORTER_OTLP_HEADERS: a name is none of a header; Authorization=Bearer%20TOKEN"},
		"a header of two lines":       {[]string{on, "OTEL_EXPORTER_OTLP_HEADERS=a=s3cret%0ab"}, "OTEL_EXPORTER_OTLP_HEADERS: a value has what no header may have"},
		"another scheme":              {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=ftp://x/?token=s3cret"}, "want an address with http:// or https://"},
		"a service that is no text":   {[]string{on, "OTEL_SERVICE_NAME=a\xff"}, "OTEL_SERVICE_NAME: this is no text in UTF-8"},
		"attributes that are no text": {[]string{on, "OTEL_RESOURCE_ATTRIBUTES=team=%ff"}, "OTEL_RESOURCE_ATTRIBUTES: part 1 is no text in UTF-8"},
		"a timeout with a unit":       {[]string{on, "OTEL_EXPORTER_OTLP_TIMEOUT=10s"}, `want a number of at least 1, got "10s"; in milliseconds`},
		"a compression":               {[]string{on, "OTEL_EXPORTER_OTLP_COMPRESSION=zstd"}, `no compression "zstd" here; want gzip or none`},
		"no such certificate":         {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=https://x", "OTEL_EXPORTER_OTLP_CERTIFICATE=/nowhere"}, "OTEL_EXPORTER_OTLP_CERTIFICATE: open /nowhere"},
		"no certificate":              {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=https://x", "OTEL_EXPORTER_OTLP_CERTIFICATE=open_test.go"}, "has no certificate; want a file in the PEM format"},
		"a key alone":                 {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=https://x", "OTEL_EXPORTER_OTLP_CLIENT_KEY=k"}, "a key wants its certificate"},
		"a client's certificate only": {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=https://x", "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE=c"}, "a certificate wants its key"},
		"a sampler":                   {[]string{on, "OTEL_TRACES_SAMPLER=parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG=0.1"}, "on"},
		"a sampler that is none":      {[]string{on, "OTEL_TRACES_SAMPLER=sometimes"}, `no sampler "sometimes" here; want always_on`},
		"half a sampler":              {[]string{on, "OTEL_TRACES_SAMPLER=parentbased_"}, `no sampler "parentbased_" here`},
		"a share in percent":          {[]string{on, "OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG=10%"}, `got "10%"; 0.1 keeps one in ten`},
		"a share of too much":         {[]string{on, "OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG=10"}, "from 0 to 1"},
		"a share that is no number":   {[]string{on, "OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG=NaN"}, "from 0 to 1"},
		"attributes":                  {[]string{on, "OTEL_RESOURCE_ATTRIBUTES=team"}, "OTEL_RESOURCE_ATTRIBUTES: part 1 is not key=value"},
		"a queue":                     {[]string{on, "OTEL_BSP_MAX_QUEUE_SIZE=0"}, "OTEL_BSP_MAX_QUEUE_SIZE: want a number of at least 1"},
		"a batch":                     {[]string{on, "OTEL_BSP_MAX_QUEUE_SIZE=10", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=11"}, "a batch of 11 is more than the queue of 10"},
		"a delay":                     {[]string{on, "OTEL_BSP_SCHEDULE_DELAY=5s"}, "OTEL_BSP_SCHEDULE_DELAY: want a number"},
		"content":                     {[]string{on, "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=span"}, "want true or false"},
		"a bad one that nobody needs": {[]string{"OTEL_TRACES_SAMPLER=sometimes"}, "off"},
	} {
		t.Run(name, func(t *testing.T) {
			tel, err := export.Open(t.Context(), export.Options{Environ: append(tt.env, "OTEL_METRICS_EXPORTER=none"), Service: "evalfarm", Logger: slog.New(slog.DiscardHandler)})
			got := "off"
			if wrong, ok := errors.AsType[*export.VariableError](err); ok {
				got = wrong.Error() + "; " + wrong.Hint
			} else if err != nil {
				t.Fatal(err)
			}
			if tel != nil {
				got = "on"
				if err := tel.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}
			for part := range strings.SplitSeq(tt.want, "; ") {
				if !strings.Contains(got, part) {
					t.Errorf("got %s, want %s", got, tt.want)
				}
			}
			if strings.Contains(got, "s3cret") {
				t.Errorf("it quotes a secret: %s", got)
			}
		})
	}
}

func TestSampling(t *testing.T) {
	for name, tt := range map[string]struct {
		env  []string
		slow bool
		r    eval.Record
		n    int
		want func(kept int) bool
	}{
		"all":                  {nil, false, passed(), 1, all},
		"none":                 {[]string{"OTEL_TRACES_SAMPLER=always_off"}, false, passed(), 1, none},
		"some":                 {[]string{"OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG=0.5"}, false, passed(), 1, func(n int) bool { return n > 60 && n < 140 }},
		"none but the failed":  {[]string{"OTEL_TRACES_SAMPLER=always_off"}, false, eval.Record{Outcome: eval.AttemptDone, Result: eval.Result{Verdict: eval.Fail}}, 1, all},
		"none but the retried": {[]string{"OTEL_TRACES_SAMPLER=parentbased_always_off"}, false, retried(), 2, all},
		"none but the slow":    {[]string{"OTEL_TRACES_SAMPLER=always_off"}, true, passed(), 1, all},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &receiver{}
			o := export.Options{}
			if tt.slow {
				o.Slow = 1
			}
			tel, _ := told(t, o, append(tt.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+r.overHTTP(t))...)
			for i := range 200 {
				d := telemetry.Delivery{Attempt: telemetry.Attempt{Run: "r", Ordinal: i, N: tt.n}, Lane: telemetry.Trials}
				_, span := tel.Tracer().Process(telemetry.Arrive(t.Context(), d.Traceparent(tel.Tracer().Sampled(d.TraceID()))), d)
				tel.Tracer().Processed(span, tt.r, nil)
			}
			if err := tel.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, spans := r.spans(); !tt.want(len(spans)) {
				t.Errorf("%d of 200 are kept", len(spans))
			}
		})
	}
}

func all(n int) bool  { return n == 200 }
func none(n int) bool { return n == 0 }

func passed() eval.Record {
	return eval.Record{Outcome: eval.AttemptDone, Result: eval.Result{Verdict: eval.Pass}}
}

func retried() eval.Record {
	r := passed()
	r.N = 2
	return r
}

// Each line of a trace file is a request in OTLP/JSON, whose ids are in hex.
func TestTraceFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.jsonl")
	r := &receiver{}
	for _, env := range []string{"", "OTEL_EXPORTER_OTLP_ENDPOINT=" + r.overHTTP(t)} {
		tel, log := told(t, export.Options{TraceFile: file}, env)
		work(t, tel.Tracer(), 3)
		if err := tel.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if log.Len() > 0 {
			t.Errorf("logged %s", log)
		}
	}
	if _, spans := r.spans(); len(spans) != 3 {
		t.Errorf("the collector got %d spans, want 3", len(spans))
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		var line struct {
			ResourceSpans []struct {
				ScopeSpans []struct {
					Spans []struct {
						TraceID, SpanID, ParentSpanID, Name string
						Kind                                int
						StartTimeUnixNano                   string
						Links                               []struct{ TraceID, SpanID string }
					}
				}
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("%v: %s", err, lines.Bytes())
		}
		for _, of := range line.ResourceSpans {
			for _, s := range of.ScopeSpans[0].Spans {
				ids = append(ids, s.TraceID)
				if s.Name != "process trials" || s.Kind != 5 || len(s.Links) != 1 || s.Links[0].TraceID != s.TraceID || s.StartTimeUnixNano == "" {
					t.Errorf("got %+v", s)
				}
				for _, id := range []string{s.SpanID, s.ParentSpanID, s.Links[0].SpanID} {
					if raw, err := hex.DecodeString(id); err != nil || len(raw) != 8 {
						t.Errorf("%q is no id of a span in hex", id)
					}
				}
			}
		}
	}
	var want []string
	for range 2 {
		for i := range 3 {
			want = append(want, telemetry.TraceID("r", i).String())
		}
	}
	if !slices.Equal(ids, want) {
		t.Errorf("got the traces %q, want %q", ids, want)
	}
}

// Half a line, as a full disk leaves it, spoils no other.
func TestTraceFileBehindHalfALine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.jsonl")
	const half = "{}\n{\"resourceSp"
	if err := os.WriteFile(file, []byte(half), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		tel, _ := told(t, export.Options{TraceFile: file})
		work(t, tel.Tracer(), 1)
		if err := tel.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	rest, ok := strings.CutPrefix(string(text), half+"\n")
	if !ok || strings.Count(rest, "\n") != 2 {
		t.Fatalf("got %q, want two lines behind the half one", text)
	}
	for line := range strings.Lines(rest) {
		if !json.Valid([]byte(line)) {
			t.Errorf("got the line %q, want JSON", line)
		}
	}
}

func TestTraceFileThatCannotBeOpened(t *testing.T) {
	_, err := export.Open(t.Context(), export.Options{TraceFile: filepath.Join(t.TempDir(), "no", "t.jsonl")})
	if err == nil || !strings.Contains(err.Error(), "open the trace file") {
		t.Errorf("got %v", err)
	}
}

// /dev/full is a disk that is full.
func TestTraceFileOnAFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("this system has no /dev/full")
	}
	r := &receiver{}
	tel, log := told(t, export.Options{TraceFile: "/dev/full"}, "OTEL_EXPORTER_OTLP_ENDPOINT="+r.overHTTP(t))
	work(t, tel.Tracer(), 600)
	if err := tel.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if got := strings.Count(log.String(), "no space left"); got != 1 {
		t.Errorf("told %d times, want once: %s", got, log)
	}
	if _, spans := r.spans(); len(spans) != 600 {
		t.Errorf("the collector got %d spans, want all the same", len(spans))
	}
}

func TestAsk(t *testing.T) {
	good, busy := &receiver{}, &receiver{status: 503}
	for name, tt := range map[string]struct {
		env  []string
		want string
	}{
		"no collector": {nil, " <nil>"},
		"http":         {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + good.overHTTP(t)}, "/v1/traces <nil>"},
		"grpc":         {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + good.overGRPC(t), "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, "over gRPC <nil>"},
		"busy":         {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + busy.overHTTP(t)}, "503 Service Unavailable"},
		"refused":      {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + refusing(t)}, "connection refused"},
		"grpc refused": {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + refusing(t), "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, "connection refused"},
		"a mistake":    {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=x"}, "want an address"},
		"a sampler":    {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + good.overHTTP(t), "OTEL_TRACES_SAMPLER=sometimes"}, " OTEL_TRACES_SAMPLER: there is no sampler"},
		"a queue":      {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + good.overHTTP(t), "OTEL_BSP_MAX_QUEUE_SIZE=0"}, " OTEL_BSP_MAX_QUEUE_SIZE: want"},
		"content":      {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + good.overHTTP(t), "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=x"}, " OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: want"},
		"no metrics":   {[]string{"OTEL_METRICS_EXPORTER=sometimes"}, " OTEL_METRICS_EXPORTER: there is no exporter"},
		"an address":   {[]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=x"}, " OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: want an address"},
		"attributes":   {[]string{"OTEL_RESOURCE_ATTRIBUTES=team"}, " OTEL_RESOURCE_ATTRIBUTES: part 1"},
		"an interval":  {[]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://127.0.0.1:1/x", "OTEL_METRIC_EXPORT_INTERVAL=1s"}, " OTEL_METRIC_EXPORT_INTERVAL: want"},
		"disabled":     {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=x", "OTEL_SDK_DISABLED=true"}, " <nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			at, err := export.Ask(t.Context(), tt.env)
			if got := fmt.Sprintf("%s %v", at, err); !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	if _, spans := good.spans(); len(spans) != 0 {
		t.Errorf("asking hands over %d spans", len(spans))
	}
}
