package telemetry

import (
	"strconv"

	"go.opentelemetry.io/otel/attribute"
)

// A Peer is who is at the other end of a session. What nobody knows is empty.
type Peer struct {
	// Server in the suite; Name and Version are what it says of itself.
	Server, Name, Version string
	// Transport is pipe or tcp.
	Transport string
	// Host and Port of a server with a URL.
	Host, Port string
	// Protocol is the revision of MCP that was agreed on, Session the id that the
	// server gave the session.
	Protocol, Session string
}

// To tells whom the work of the span is done with, as far as it is known.
func (s Span) To(p Peer) {
	if s.span == nil {
		return
	}
	attrs := []attribute.KeyValue{Server.String(p.Server)}
	for _, a := range []attribute.KeyValue{
		NetworkTransport.String(p.Transport), ServerAddress.String(p.Host), MCPProtocol.String(p.Protocol), MCPSession.String(s.name(p.Session)),
		ServerName.String(s.name(p.Name)), ServerVersion.String(s.name(p.Version)),
	} {
		if a.Value.AsString() != "" {
			attrs = append(attrs, a)
		}
	}
	if port, err := strconv.Atoi(p.Port); err == nil {
		attrs = append(attrs, ServerPort.Int(port))
	}
	s.set(attrs...)
}
