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
	var with *mcp.Meta
	telemetry.Propagate(ctx, func(name, value string) {
		if with == nil {
			with = &mcp.Meta{AdditionalFields: map[string]any{}}
			if meta != nil {
				with.ProgressToken = meta.ProgressToken
				maps.Copy(with.AdditionalFields, meta.AdditionalFields)
			}
		}
		with.AdditionalFields[name] = value
	})
	if with == nil {
		return meta
	}
	return with
}

// ExtractMeta is for servers, which this is none of.
func (metaPropagator) ExtractMeta(ctx context.Context, _ *mcp.Meta) context.Context { return ctx }

// Peer is what traces are told of the other end.
func (s *Session) Peer() telemetry.Peer {
	p := telemetry.Peer{Server: s.spec.Name, Name: s.info.Name, Version: s.info.Version, Protocol: s.info.Protocol}
	switch {
	case s.deaf: // a server in this process
	case s.proc != nil:
		p.Transport = "pipe"
	default:
		p.Transport, p.Session = "tcp", s.client.GetSessionId()
		// An address that is a secret is shown to nobody, nor is a part of it.
		if u, err := url.Parse(s.spec.Server.URL); err == nil && s.spec.Redact.String(s.spec.Server.URL) == s.spec.Server.URL {
			p.Host, p.Port = u.Hostname(), cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
		}
	}
	return p
}
