package export

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/evalfarm/evalfarm/pkg/redact"
)

// mostHeard of an error is handed on, in bytes. An answer may have megabytes.
const mostHeard = 500

// heard is an error as others may see it: the SDK's has all of what the collector
// answered, and a proxy that refuses a request often quotes it, with our credentials.
func (p endpoint) heard(err error) error {
	if err == nil {
		return nil
	}
	text := p.secrets.String(err.Error())
	if len(text) > mostHeard {
		text = text[:mostHeard] + "…"
	}
	return errors.New(strings.ToValidUTF8(text, "\uFFFD"))
}

// secretsOf headers are what their values may hold that nobody is to see: all of
// each, and of `Bearer TOKEN` and `Basic BASE64` what is behind the scheme.
func secretsOf(headers map[string]string) *redact.Redactor {
	all := map[string]string{}
	for name, value := range headers {
		all[name] = value
		scheme, token, ok := strings.Cut(value, " ")
		if !ok {
			continue
		}
		all[name+" token"] = strings.TrimSpace(token)
		if plain, err := base64.StdEncoding.DecodeString(strings.TrimSpace(token)); err == nil && strings.EqualFold(scheme, "basic") {
			_, password, _ := strings.Cut(string(plain), ":")
			all[name+" password"] = password
		}
	}
	return redact.New(all)
}

// caller makes a client of HTTP. It follows no redirect: the headers and all that is
// told would go to whoever is named there.
func (p endpoint) caller(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Transport: transport, Timeout: p.timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// A sender is a client for spans whose errors may be seen.
type sender struct {
	otlptrace.Client
	heard func(error) error
}

// Start implements [otlptrace.Client].
func (s sender) Start(ctx context.Context) error { return s.heard(s.Client.Start(ctx)) }

// UploadTraces implements [otlptrace.Client].
func (s sender) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	return s.heard(s.Client.UploadTraces(ctx, spans))
}

// A pusher is an exporter of metrics whose errors may be seen.
type pusher struct {
	sdkmetric.Exporter
	heard func(error) error
}

// Export implements [sdkmetric.Exporter].
func (p pusher) Export(ctx context.Context, m *metricdata.ResourceMetrics) error {
	return p.heard(p.Exporter.Export(ctx, m))
}
