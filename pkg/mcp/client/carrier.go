package client

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/evalfarm/evalfarm/pkg/mcp/wire"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

// A carrier is a transport under mcp-go's client that connects its requests with
// what the wire sees of them. It also mends what all or some transports get
// wrong: a request always obeys its context, a panic inside is survived, and
// handlers are there before the first message arrives.
type carrier struct {
	transport.Interface
	s *Session

	mu      sync.Mutex // guards all below
	notify  func(mcp.JSONRPCNotification)
	request transport.RequestHandler
	ready   chan struct{} // closed when request is set
}

// carry wraps a transport and exposes the optional interfaces that it has:
// without them sampling, roots and the version header silently stop working.
func carry(in transport.Interface, s *Session) transport.Interface {
	c := &carrier{Interface: in, s: s, ready: make(chan struct{})}
	b, asks := in.(transport.BidirectionalInterface)
	h, versioned := in.(transport.HTTPConnection)
	switch {
	case asks && versioned:
		return &httpCarrier{askedCarrier{c, b}, h}
	case asks:
		return &askedCarrier{c, b}
	case versioned:
		return &versionedCarrier{c, h}
	}
	return c
}

// askedCarrier is a carrier whose server may ask the client.
type askedCarrier struct {
	*carrier
	in transport.BidirectionalInterface
}

// versionedCarrier is a carrier that names the revision in a header.
type versionedCarrier struct {
	*carrier
	in transport.HTTPConnection
}

func (c *versionedCarrier) SetProtocolVersion(v string) { c.in.SetProtocolVersion(v) }

// httpCarrier is both.
type httpCarrier struct {
	askedCarrier
	http transport.HTTPConnection
}

func (c *httpCarrier) SetProtocolVersion(v string) { c.http.SetProtocolVersion(v) }

// RequiresLegacyProtocol is asked by mcp-go's client before it probes.
func (c *httpCarrier) RequiresLegacyProtocol() bool {
	t, ok := c.http.(interface{ RequiresLegacyProtocol() bool })
	return ok && t.RequiresLegacyProtocol()
}

// SendRequest implements [transport.Interface].
func (c *carrier) SendRequest(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	f := flightOf(ctx)
	if f == nil {
		return nil, fmt.Errorf("send %s: a request outside of a session's own calls", req.Method)
	}
	raw, err := json.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", req.Method, err)
	}
	m, _ := wire.Parse(raw)
	m.Sent = true
	c.s.depart(f, m.ID)
	if f.att != nil { // the handshake is a part of the start
		telemetry.Sent(ctx, m.ID)
	}
	defer c.s.land(f, m.ID)
	if c.s.deaf {
		c.s.hear(ctx, m)
	}
	resp, err := abandonable(ctx, func(ctx context.Context) (*transport.JSONRPCResponse, error) {
		resp, err := c.Interface.SendRequest(ctx, req)
		if err == nil && c.s.deaf {
			c.hearMarshalled(ctx, resp)
		}
		return resp, err
	})
	if ctx.Err() != nil {
		c.cancel(req) //nolint:contextcheck // ctx has ended
	}
	return resp, err
}

// cancel tells an HTTP server that nobody waits any more. mcp-go does so over
// other transports only, although to MCP a broken connection is no cancellation
// before 2026-07-28 (2025-11-25, basic/transports).
func (c *carrier) cancel(req transport.JSONRPCRequest) {
	_, overHTTP := c.Interface.(transport.HTTPConnection)
	if !overHTTP || req.Method == string(mcp.MethodInitialize) || modern(c.s.info.Protocol) {
		return
	}
	n := mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION}
	n.Method = string(mcp.MethodNotificationCancelled)
	n.Params.AdditionalFields = map[string]any{"requestId": req.ID, "reason": "nobody waits for the answer any more"}
	go func() {
		ctx, cancel := context.WithTimeout(c.s.ctx, c.s.closeTimeout())
		defer cancel()
		_ = c.Interface.SendNotification(ctx, n) // best effort
	}()
}

// SendNotification implements [transport.Interface].
func (c *carrier) SendNotification(ctx context.Context, n mcp.JSONRPCNotification) error {
	_, err := abandonable(ctx, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, c.Interface.SendNotification(ctx, n)
	})
	return err
}

// abandonable runs fn and leaves it to itself when ctx ends, whatever it is stuck
// in: a full pipe, a tool in this process. The context that fn gets ends then,
// but has no deadline, so that no transport races us to it.
func abandonable[T any](ctx context.Context, fn func(context.Context) (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	done := make(chan outcome, 1)
	go func() {
		defer func() {
			if v := recover(); v != nil {
				done <- outcome{err: &panicError{v}}
			}
		}()
		value, err := fn(inner)
		done <- outcome{value, err}
	}()
	select {
	case out := <-done:
		return out.value, out.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// A panicError is a panic of a server in this process.
type panicError struct{ value any }

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// Start implements [transport.Interface].
func (c *carrier) Start(ctx context.Context) error {
	c.Interface.SetNotificationHandler(func(n mcp.JSONRPCNotification) {
		if c.s.deaf {
			c.hearMarshalled(ctx, n)
		}
		c.mu.Lock()
		notify := c.notify
		c.mu.Unlock()
		if notify != nil {
			notify(n)
		}
	})
	if b, ok := c.Interface.(transport.BidirectionalInterface); ok {
		b.SetRequestHandler(c.handle)
	}
	return c.Interface.Start(ctx)
}

// SetNotificationHandler implements [transport.Interface].
func (c *carrier) SetNotificationHandler(h func(mcp.JSONRPCNotification)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notify = h
}

// SetRequestHandler implements [transport.BidirectionalInterface].
func (c *askedCarrier) SetRequestHandler(h transport.RequestHandler) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.request == nil {
		close(c.ready)
	}
	c.request = h
}

// handle answers a request of the server. One that comes before the client is
// ready waits for it, and one that nobody declared gets the error code that
// JSON-RPC has for it.
func (c *carrier) handle(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	select {
	case <-c.ready:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if !c.s.answers(req.Method) {
		return transport.NewJSONRPCErrorResponse(req.ID, mcp.METHOD_NOT_FOUND, "method not found: "+req.Method, nil), nil
	}
	c.mu.Lock()
	request := c.request
	c.mu.Unlock()
	return request(ctx, req)
}

// hearMarshalled tells the session of a message that never was bytes.
func (c *carrier) hearMarshalled(ctx context.Context, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		return
	}
	if m, ok := wire.Parse(raw); ok {
		c.s.hear(ctx, m)
	}
}
