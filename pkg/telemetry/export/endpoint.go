package export

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding/gzip"

	"github.com/evalfarm/evalfarm/pkg/redact"
)

// An endpoint is a collector, and how it is spoken to
// (https://opentelemetry.io/docs/specs/otel/protocol/exporter/).
type endpoint struct {
	http bool
	// url is the whole one; of gRPC only its scheme and host count.
	url      *url.URL
	headers  map[string]string
	secrets  *redact.Redactor // the values of headers
	timeout  time.Duration
	compress bool
	tls      *tls.Config // nil for plain text
}

// endpoint reads OTEL_EXPORTER_OTLP_* and those of the signal.
func (e otlp) endpoint() (p endpoint, err error) {
	switch name, protocol := e.value("PROTOCOL"); protocol {
	case "", "http/protobuf":
		p.http = true
	case "grpc":
	default:
		return p, &VariableError{name, fmt.Sprintf("protocol %q is not spoken here", protocol), "want http/protobuf or grpc"}
	}
	if p.url, err = e.address(p.http); err != nil {
		return p, err
	}
	if p.headers, err = e.headers(); err != nil {
		return p, err
	}
	p.secrets = secretsOf(p.headers)
	name, value := e.value("TIMEOUT")
	if p.timeout, err = millis(name, value, 10*time.Second); err != nil {
		return p, err
	}
	switch name, value = e.value("COMPRESSION"); value {
	case "gzip":
		p.compress = true
	case "", "none":
	default:
		return p, &VariableError{name, fmt.Sprintf("there is no compression %q here", value), "want gzip or none"}
	}
	if p.url.Scheme == "https" {
		p.tls, err = e.tls()
	}
	return p, err
}

// address of the collector.
func (e otlp) address(overHTTP bool) (*url.URL, error) {
	name, text := e.value("ENDPOINT")
	if text == "" {
		name, text = "OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4317"
		if overHTTP {
			text = "http://localhost:4318"
		}
	}
	if !strings.Contains(text, "://") && !overHTTP {
		// Of gRPC an address may do without a scheme.
		insecure, value := e.value("INSECURE")
		plain, err := truth(insecure, value)
		if err != nil {
			return nil, err
		}
		scheme := "https://"
		if plain {
			scheme = "http://"
		}
		text = scheme + text
	}
	const example = "such as http://localhost:4318, or http://localhost:4317 with OTEL_EXPORTER_OTLP_PROTOCOL=grpc"
	at, err := url.Parse(text)
	switch {
	case err != nil:
		// What it quotes may hold a password.
		return nil, &VariableError{name, "this is no URL", example}
	case at.Scheme != "http" && at.Scheme != "https" || at.Hostname() == "":
		return nil, &VariableError{name, "want an address with http:// or https://", example}
	case at.User != nil || at.RawQuery != "" || at.Fragment != "":
		return nil, &VariableError{name, "want an address without credentials, query and fragment", "credentials are for OTEL_EXPORTER_OTLP_HEADERS, as Authorization=Basic%20…"}
	}
	if name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
		at.Path = strings.TrimSuffix(at.Path, "/") + "/v1/" + strings.ToLower(e.signal)
	}
	return at, nil
}

// tls reads the certificates of OTLP.
func (e otlp) tls() (*tls.Config, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if name, file := e.value("CERTIFICATE"); file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, &VariableError{name, err.Error(), ""}
		}
		if conf.RootCAs = x509.NewCertPool(); !conf.RootCAs.AppendCertsFromPEM(pem) {
			return nil, &VariableError{name, file + " has no certificate", "want a file in the PEM format"}
		}
	}
	certName, cert := e.value("CLIENT_CERTIFICATE")
	keyName, key := e.value("CLIENT_KEY")
	switch {
	case cert != "" && key != "":
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, &VariableError{certName, err.Error(), ""}
		}
		conf.Certificates = []tls.Certificate{pair}
	case cert != "":
		return nil, &VariableError{certName, "a certificate wants its key", "set OTEL_EXPORTER_OTLP_CLIENT_KEY as well"}
	case key != "":
		return nil, &VariableError{keyName, "a key wants its certificate", "set OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE as well"}
	}
	return conf, nil
}

// String is the address for people.
func (p endpoint) String() string {
	if p.http {
		return p.url.String()
	}
	return p.host() + " over gRPC"
}

// host is host and port for gRPC, which knows no ports of schemes.
func (p endpoint) host() string {
	if p.url.Port() != "" {
		return p.url.Host
	}
	return net.JoinHostPort(p.url.Hostname(), "4317")
}

// client makes a client that is not started. Tried is told of each time that the
// collector was asked, and what came of it.
func (p endpoint) client(tried func(error)) otlptrace.Client {
	return sender{p.asking(func(err error) { tried(p.heard(err)) }), p.heard}
}

func (p endpoint) asking(tried func(error)) otlptrace.Client {
	if p.http {
		o := []otlptracehttp.Option{
			otlptracehttp.WithEndpointURL(p.url.String()), otlptracehttp.WithHeaders(p.headers), otlptracehttp.WithTimeout(p.timeout),
			otlptracehttp.WithCompression(otlptracehttp.NoCompression),
			otlptracehttp.WithHTTPClient(p.caller(watched{p.transport(), tried})),
		}
		if p.compress {
			o = append(o, otlptracehttp.WithCompression(otlptracehttp.GzipCompression))
		}
		return otlptracehttp.NewClient(o...)
	}
	o := []otlptracegrpc.Option{
		otlptracegrpc.WithEndpoint(p.host()), otlptracegrpc.WithHeaders(p.headers), otlptracegrpc.WithTimeout(p.timeout),
		otlptracegrpc.WithDialOption(grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			err := call(ctx, method, req, reply, conn, opts...)
			tried(err)
			return err
		})),
	}
	if p.tls == nil {
		o = append(o, otlptracegrpc.WithInsecure())
	} else {
		o = append(o, otlptracegrpc.WithTLSCredentials(credentials.NewTLS(p.tls)))
	}
	if p.compress {
		o = append(o, otlptracegrpc.WithCompressor(gzip.Name))
	}
	return otlptracegrpc.NewClient(o...)
}

// transport of HTTP.
func (p endpoint) transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = p.tls
	return t
}

// watched tells of each answer.
type watched struct {
	*http.Transport
	tried func(error)
}

// RoundTrip implements [http.RoundTripper].
func (w watched) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := w.Transport.RoundTrip(r)
	if err == nil && answer.StatusCode >= http.StatusBadRequest {
		w.tried(errors.New(answer.Status))
	} else {
		w.tried(err)
	}
	return answer, err
}
