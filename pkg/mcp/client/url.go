package client

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/mcp/wire"
)

// keptConnections is how many idle connections to one server a session keeps:
// as many as trials may share it, so that calls do not wait for a handshake.
const keptConnections = 100

// dialURL prepares the connection to a URL server.
func dialURL(s *Session, o *Opener, p profile) (transport.Interface, error) {
	u, err := url.Parse(s.spec.Server.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is no http or https URL", s.spec.Server.URL)
	}
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.MaxIdleConnsPerHost = keptConnections
	s.idle = base.CloseIdleConnections
	hc := &http.Client{
		Transport: leaver{
			next:  &wire.HTTP{Base: base, FrameLimit: o.o.FrameLimit, Tap: s.hear, Report: s.report},
			limit: s.closeTimeout(),
		},
		CheckRedirect: sameHost,
	}
	switch s.spec.Server.Transport {
	case "", eval.TransportHTTP:
		opts := []transport.StreamableHTTPCOption{
			transport.WithHTTPBasicClient(hc),
			transport.WithHTTPHeaders(s.spec.Server.Headers),
			transport.WithHTTPLogger(silent()),
		}
		// Requests of the server arrive on the GET stream, which a client that
		// answers none does without.
		if p.answers() && !modern(s.spec.Protocol) {
			//lint:ignore SA1019 the revisions before 2026-07-28 need it
			opts = append(opts, transport.WithContinuousListening()) //nolint:staticcheck // the revisions before 2026-07-28 need it
			s.listening = make(chan struct{})
		}
		return transport.NewStreamableHTTP(u.String(), opts...)
	case eval.TransportSSE:
		s.legacySSE = true
		return transport.NewSSE(
			u.String(),
			transport.WithHTTPClient(hc),
			transport.WithHeaders(s.spec.Server.Headers),
			transport.WithSSELogger(silent()),
			// Our own timeouts come first.
			transport.WithEndpointTimeout(never),
			transport.WithResponseTimeout(never),
		)
	default:
		return nil, fmt.Errorf("%q is no transport; there are %s and %s", s.spec.Server.Transport, eval.TransportHTTP, eval.TransportSSE)
	}
}

// never is a timeout that is always longer than ours.
const never = 365 * 24 * time.Hour

// sameHost follows redirects on one host only: headers carry credentials.
func sameHost(req *http.Request, via []*http.Request) error {
	if len(via) >= 10 || req.URL.Host != via[0].URL.Host || req.URL.Scheme != via[0].URL.Scheme {
		return http.ErrUseLastResponse
	}
	return nil
}

// A leaver bounds the goodbye of a session, the DELETE request.
type leaver struct {
	next  http.RoundTripper
	limit time.Duration
}

func (l leaver) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodDelete {
		return l.next.RoundTrip(req)
	}
	ctx, cancel := context.WithTimeout(req.Context(), l.limit)
	defer cancel() // the response has been read: it is no event stream
	return l.next.RoundTrip(req.WithContext(ctx))
}

func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }
