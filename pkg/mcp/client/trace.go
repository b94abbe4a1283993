package client

import (
	"cmp"
	"context"
	"maps"
	"net/url"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

// metaPropagator puts the trace context of a request into its _meta, under the names
// of the W3C and without a prefix (SEP-414). It implements tracing.MetaPropagator of
// mcp-go, which asks it for tools/call, prompts/get and resources/read. Where nobody
// traces, a request leaves as it is.
type metaPropagator struct{}

// InjectMeta keeps what the request has in its _meta.
func (metaPropagator) InjectMeta(ctx context.Context, meta *mcp.Meta) *mcp.Meta {
	fields := telemetry.Propagated(ctx)
	if len(fields) == 0 {
		return meta
	}
	with := &mcp.Meta{AdditionalFields: map[string]any{}}
	if meta != nil {
		with.ProgressToken = meta.ProgressToken
		maps.Copy(with.AdditionalFields, meta.AdditionalFields)
	}
	for name, value := range fields {
		with.AdditionalFields[name] = value
	}
	return with
}

// ExtractMeta is for servers, which this is none of.
func (metaPropagator) ExtractMeta(ctx context.Context, _ *mcp.Meta) context.Context { return ctx }

// Peer is what traces are told of a server before there is a session with it.
func (s Spec) Peer() telemetry.Peer {
	p := telemetry.Peer{Server: s.Name, Transport: "pipe"}
	if s.Server.URL == "" {
		return p
	}
	p.Transport = "tcp"
	// An address that is a secret is shown to nobody, nor is a part of it.
	if u, err := url.Parse(s.Server.URL); err == nil && s.Redact.String(s.Server.URL) == s.Server.URL {
		p.Host, p.Port = u.Hostname(), cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	}
	return p
}

// Peer is what traces are told of the other end.
func (s *Session) Peer() telemetry.Peer {
	p := s.peer()
	p.Name, p.Version = s.info.Name, s.info.Version
	return p
}

// peer is what they are told of it with each request.
func (s *Session) peer() telemetry.Peer {
	p := s.spec.Peer()
	p.Protocol, p.Session = s.info.Protocol, s.client.GetSessionId()
	if s.deaf { // a server in this process
		p.Transport = ""
	}
	return p
}
