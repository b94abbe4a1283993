package export

import (
	"errors"
	"strings"
	"testing"
)

// Whatever stands in a variable, it is read or refused in a sentence, and the values of
// headers are quoted in none.
func FuzzEnviron(f *testing.F) {
	f.Add("http://localhost:4318", "authorization=Basic%20eA==,x=y", "a=b", "0.5")
	f.Add("localhost:4317", "=", "%zz", "NaN")
	f.Add("https://user:pass@[::1]:4317/p?q#f", "x=%", "=,=", "-1")
	f.Fuzz(func(t *testing.T, endpoint, headers, attributes, share string) {
		for _, protocol := range []string{"grpc", "http/protobuf"} {
			e := environ{
				"OTEL_EXPORTER_OTLP_ENDPOINT=" + endpoint, "OTEL_EXPORTER_OTLP_HEADERS=" + headers, "OTEL_EXPORTER_OTLP_PROTOCOL=" + protocol,
				"OTEL_RESOURCE_ATTRIBUTES=" + attributes, "OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG=" + share,
			}
			at, err := e.traces().endpoint()
			refusal(t, err)
			if err == nil && (at.url.Hostname() == "" || at.url.User != nil || at.String() == "") {
				t.Errorf("%q is taken for the address %q", endpoint, at)
			}
			_, err = pairs("OTEL_EXPORTER_OTLP_HEADERS", headers)
			refusal(t, err)
			if _, value, ok := strings.Cut(headers, "="); ok && err != nil && len(value) > 20 && strings.Contains(err.Error(), value) {
				t.Errorf("it quotes a header: %v", err)
			}
			_, err = e.sampler()
			refusal(t, err)
			_, err = Options{Environ: e}.resource(t.Context())
			refusal(t, err)
		}
	})
}

// refusal wants an error to be about a variable.
func refusal(t *testing.T, err error) {
	t.Helper()
	if wrong, ok := errors.AsType[*VariableError](err); err != nil && (!ok || wrong.Variable == "" || wrong.Problem == "") {
		t.Errorf("got %v, want which variable is wrong", err)
	}
}
