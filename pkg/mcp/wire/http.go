package wire

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// bodyKept bounds what is kept of a body for people to read: an error page, a
// refusal.
const bodyKept = 64 << 10

// An Exchange is one HTTP request with what came back.
type Exchange struct {
	Method string
	// Status is 0 when no response came; Err then says why.
	Status int
	Header http.Header
	// Body is the start of the response, unless it was an event stream.
	Body []byte
	// Sent is when the last byte of the request was out.
	Sent time.Time
	// Err is what broke the exchange: a failed connection, a body that broke
	// off, ErrOversize.
	Err error
	// Ended is true when the response is over.
	Ended bool
}

// HTTP is a round tripper that sees what a client library makes unreadable:
// status, headers and raw bodies. It reads every response but event streams
// completely, so that a body cannot be cut short by a decoder, and drops from
// event streams what its Tap does not let pass.
type HTTP struct {
	// Base makes the requests. Required.
	Base http.RoundTripper
	// FrameLimit bounds one body or event, in bytes. Zero means
	// DefaultFrameLimit.
	FrameLimit int
	// Tap hears every message. Required.
	Tap Tap
	// Report hears of every exchange when its head or its failure is known, and
	// again when an event stream has ended. Required.
	Report func(ctx context.Context, e Exchange)
}

// RoundTrip implements [http.RoundTripper].
func (h *HTTP) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	h.hearRequest(req)
	var sent atomic.Int64
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				sent.Store(time.Now().UnixNano())
			}
		},
	})
	resp, err := h.Base.RoundTrip(req.WithContext(traced))
	e := Exchange{Method: req.Method, Err: err}
	if ns := sent.Load(); ns != 0 {
		e.Sent = time.Unix(0, ns)
	}
	if err != nil {
		h.Report(ctx, e)
		return nil, err
	}
	e.Status, e.Header = resp.StatusCode, resp.Header
	limit := cmp.Or(h.FrameLimit, DefaultFrameLimit)
	if media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); media == "text/event-stream" && e.Status < http.StatusBadRequest {
		h.Report(ctx, e)
		resp.Body = newEvents(ctx, resp.Body, limit, h.Tap, func(err error) {
			e.Err, e.Ended = err, true
			h.Report(ctx, e)
		})
		return resp, nil
	}
	body, err := readBody(resp.Body, limit)
	e.Body, e.Err, e.Ended = body[:min(len(body), bodyKept)], err, err == nil
	h.Report(ctx, e)
	if err != nil {
		return nil, err
	}
	if m, ok := Parse(body); ok {
		h.Tap(ctx, m)
	} else if len(bytes.TrimSpace(body)) > 0 {
		h.Tap(ctx, noise(body))
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// hearRequest tells the tap of the message in a request.
func (h *HTTP) hearRequest(req *http.Request) {
	if req.GetBody == nil {
		return
	}
	body, err := req.GetBody()
	if err != nil {
		return // the request itself will fail
	}
	raw, _ := io.ReadAll(body)
	if m, ok := Parse(raw); ok {
		m.Sent = true
		h.Tap(req.Context(), m)
	}
}

// readBody reads a body to its end and closes it.
func readBody(body io.ReadCloser, limit int) ([]byte, error) {
	defer func() { _ = body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(body, int64(limit)+1))
	switch {
	case err != nil:
		return nil, err
	case len(raw) > limit:
		return nil, ErrOversize
	}
	return raw, nil
}
