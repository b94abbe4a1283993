package client

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

// An Attachment is one trial's view of a session: its requests and the frames
// that belong to them. It implements agent.Tools. Detach it when the trial ends.
type Attachment struct {
	s       *Session
	once    sync.Once
	release func() // what Detach does last; may be nil
	startMS float64

	// Guarded by the session's mutex.
	frames   frames
	ids      []string
	shared   bool
	findings []eval.Finding
}

// Attach gives a trial its view of the session.
func (s *Session) Attach() *Attachment { return s.attach(nil) }

func (s *Session) attach(release func()) *Attachment {
	a := &Attachment{s: s, release: release}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.served == 0 {
		a.startMS = s.startMS
	}
	for other := range s.attached {
		other.shared, a.shared = true, true
	}
	s.served++
	s.attached[a] = true
	return a
}

// Session is what the attachment is attached to.
func (a *Attachment) Session() *Session { return a.s }

// Detach ends the trial's view. What belongs to the trial alone ends with it:
// the session of a pool's Fresh is closed.
func (a *Attachment) Detach() {
	a.once.Do(func() {
		a.s.mu.Lock()
		delete(a.s.attached, a)
		for _, id := range a.ids {
			delete(a.s.owners, id)
		}
		a.s.mu.Unlock()
		if a.release != nil {
			a.release()
		}
	})
}

// Dead says whether the session can be asked nothing more.
func (a *Attachment) Dead() bool { return a.s.Dead() }

// StartMS is how long the start of the session took, in milliseconds, for the
// first that is attached to it; the others did not wait for it.
func (a *Attachment) StartMS() float64 { return a.startMS }

// Shared says whether the session has served other attachments at the same time.
// Then what befell this one may be their doing: nobody can tell whose request
// killed a server, and many servers answer one call after the other.
func (a *Attachment) Shared() bool {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	return a.shared
}

// Findings lists the oddities that are the attachment's own, and those of the
// session that nobody has reported before; one entry for each code.
func (a *Attachment) Findings() []eval.Finding {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	a.findings = append(a.findings, a.s.loose...)
	a.s.loose = nil
	return slices.Clone(a.findings)
}

// Frames gives the raw messages of the attachment's own requests, what the server
// sent unasked while nobody else was attached, and for a pool's Fresh the
// handshake. They are bounded; a last frame says when some were not kept.
func (a *Attachment) Frames() []eval.Frame {
	a.s.mu.Lock()
	defer a.s.mu.Unlock()
	return a.frames.all()
}

// Call calls a tool with a JSON object of arguments, nil for none. When ctx ends
// the server is told so and the outcome is OutcomeCancelled.
func (a *Attachment) Call(ctx context.Context, tool string, arguments eval.JSON) eval.Outcome {
	if arguments != nil && !json.Valid(arguments) {
		return eval.Outcome{Kind: eval.OutcomeFailed, Reason: eval.ReasonFarm, Detail: "the arguments are no JSON: " + excerpt(string(arguments))}
	}
	ctx, span := telemetry.ToolCall(ctx, tool)
	defer span.End()
	span.With(arguments)
	out := a.ask(ctx, span, func(ctx context.Context) error {
		var req mcp.CallToolRequest
		req.Params.Name = tool
		if arguments != nil {
			req.Params.Arguments = arguments
		}
		_, err := a.s.client.CallTool(ctx, req)
		return err
	})
	span.Gave(out.Result)
	span.Brought(out)
	a.measure(ctx, "tools/call", tool, out)
	return out
}

// Read reads a resource by its exact URI.
func (a *Attachment) Read(ctx context.Context, uri string) eval.Outcome {
	ctx, span := telemetry.ResourceRead(ctx, uri)
	defer span.End()
	out := a.ask(ctx, span, func(ctx context.Context) error {
		var req mcp.ReadResourceRequest
		req.Params.URI = uri
		_, err := a.s.client.ReadResource(ctx, req)
		return err
	})
	span.Gave(out.Result)
	span.Brought(out)
	a.measure(ctx, "resources/read", "", out)
	return out
}

// ask makes one request, of which a span tells whom it goes to.
func (a *Attachment) ask(ctx context.Context, span telemetry.Span, send func(context.Context) error) eval.Outcome {
	if span.On() {
		span.To(a.s.peer())
	}
	return a.s.do(ctx, a, a.s.callTimeout(), send)
}
