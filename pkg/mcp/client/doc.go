// Package client opens sessions with MCP servers and observes what they do.
//
// mcp-go speaks the protocol: the handshake, Streamable HTTP, legacy SSE, the
// stateless revision 2026-07-28. This package owns what is below it (the process
// tree and the raw bytes, in pkg/mcp/wire) and what is above it: every request
// ends in an [eval.Outcome], never in a Go error, because whatever a server does
// is an observation of it. Results and errors come from the wire byte for byte;
// mcp-go's typed values are never looked at.
//
// An [Opener] starts servers; a [Session] is one initialized connection; an
// [Attachment] is one trial's view of a session; a [Pool] shares sessions
// between trials and restarts them when they die.
//
// Not supported: requests from the server over legacy SSE, which mcp-go cannot
// answer; they are reported as a finding.
package client
