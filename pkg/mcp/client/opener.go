package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/evalfarm/evalfarm/pkg/container"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/mcp/wire"
	"github.com/evalfarm/evalfarm/pkg/redact"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

// DefaultProtocol is the revision that is asked for when nobody says otherwise:
// the newest with an initialize handshake, and the one that agents use today.
// Probing for a newer one can lose servers that exit on an unknown first message.
const DefaultProtocol = mcp.LATEST_LEGACY_PROTOCOL_VERSION

// Timeouts of a server that names none.
const (
	DefaultStartTimeout = 60 * time.Second
	DefaultCallTimeout  = 30 * time.Second
	DefaultCloseTimeout = 2 * time.Second
)

// A Spec says which server to open and as whom.
type Spec struct {
	// Name of the server in the suite, for messages.
	Name string
	// Server with every reference resolved.
	Server eval.Server
	// Dir is the absolute folder that a relative command and the working
	// directory start from.
	Dir string
	// Protocol is the MCP revision. Empty means what the profile was seen to
	// speak, DefaultProtocol for most.
	Protocol string
	// Run that it is opened for: all its containers on this worker are of the same
	// image. Attempt is the one that it is opened for alone, if it is. Both name the
	// container for people.
	Run     string `json:"-"`
	Attempt string `json:"-"`
	// Profile names the client that we declare to be. Empty means ProfileBare.
	Profile string
	// Redact takes the secrets of Server out of everything that is heard, before
	// any of it is cut, compared or kept. Nil takes out nothing.
	Redact *redact.Redactor `json:"-"`
}

// Options of an Opener. The zero value opens URL servers and commands with an
// empty environment.
type Options struct {
	// Environ is the worker's environment. Only PATH, HOME, the locale and the
	// like of it reach a server.
	Environ []string
	// Self is the executable that a command "evalfarm" means. Empty means the
	// one on PATH.
	Self string
	// GuardCommand starts the guard of all servers; see wire.NewGuard. Empty
	// means no guard.
	GuardCommand []string
	// Starts bounds how many servers start at the same time. Zero means the
	// number of CPUs: servers that compete for them at start run into their
	// timeouts together.
	Starts int
	// FrameLimit bounds one message, in bytes. Zero means
	// wire.DefaultFrameLimit.
	FrameLimit int
	// Owner marks process trees and containers, for wire.Sweep and Orphans. Empty
	// means no mark.
	Owner string
	// Orphans is the beginning of the owners whose containers are removed when the
	// owner is dead, before the first container is started and when a Pool begins to
	// run. Empty means that nobody's are.
	Orphans string
	// ContainerEngine is the path or the name of the command that runs servers
	// with an image. Empty means docker, else podman, on the PATH of Environ.
	ContainerEngine string
	// Version is what we call our own version at initialize. Empty means "dev".
	Version string
	// Metrics measure starts, ends and requests. Nil measures nothing.
	Metrics *telemetry.Metrics
	// Logger hears of starts and ends. Nil means nobody does.
	Logger *slog.Logger
}

// An Opener opens sessions. It is safe for concurrent use.
type Opener struct {
	o     Options
	log   *slog.Logger
	slots chan struct{}
	guard *wire.Guard

	engine *container.Engine
	reaped sync.Once
}

// NewOpener prepares to open sessions.
func NewOpener(o Options) *Opener {
	return &Opener{
		o:      o,
		log:    cmp.Or(o.Logger, slog.New(slog.DiscardHandler)),
		slots:  make(chan struct{}, cmp.Or(o.Starts, runtime.NumCPU())),
		guard:  wire.NewGuard(o.GuardCommand),
		engine: container.New(container.Options{Command: o.ContainerEngine, Environ: o.Environ, Owner: o.Owner, Logger: o.Logger}),
	}
}

// A StartError says why no session came of a server. It is an error of the farm
// or of a dependency, never a failure of the server under test.
type StartError struct {
	Server string
	Reason eval.Reason
	// Detail is one line for people.
	Detail string
	// Stderr is the head and tail of what the process wrote there. When a
	// process does not start, it is the answer.
	Stderr string
	// Exit says how the process ended, when it did by itself.
	Exit     string
	Findings []eval.Finding
}

func (e *StartError) Error() string {
	return fmt.Sprintf("open server %s: %s: %s", e.Server, e.Reason, e.Detail)
}

// Open starts a server, or connects to its URL, and initializes a session. The
// error is a *StartError, or that of ctx. The session does not end with ctx.
func (o *Opener) Open(ctx context.Context, spec Spec) (*Session, error) {
	s, err := o.start(ctx, spec)
	o.measure(ctx, spec, err)
	return s, err
}

func (o *Opener) start(ctx context.Context, spec Spec) (*Session, error) {
	if spec.Server.URL != "" {
		return o.open(ctx, spec, dialURL)
	}
	dial := dialer(startCommand)
	if spec.Server.Container.Image != "" {
		image, err := o.image(ctx, spec)
		if err != nil {
			return nil, err
		}
		dial = containerOf(image) //nolint:contextcheck // a session does not end with ctx
	}
	select { // only processes compete for CPU
	case o.slots <- struct{}{}:
		defer func() { <-o.slots }()
	case <-ctx.Done():
		return nil, fmt.Errorf("open server %s: %w", spec.Name, context.Cause(ctx))
	}
	return o.open(ctx, spec, dial)
}

// OpenInProcess initializes a session with a server in this process. Requests
// obey their context and survive a panicking tool, which the in-process
// transport of mcp-go alone does not.
func OpenInProcess(ctx context.Context, srv *server.MCPServer, spec Spec) (*Session, error) {
	return NewOpener(Options{}).open(ctx, spec, func(s *Session, o *Opener, p profile) (transport.Interface, error) {
		var opts []transport.InProcessOption
		if p.sampling {
			opts = append(opts, transport.WithSamplingHandler(samplingAnswer{}))
		}
		if p.elicitation {
			opts = append(opts, transport.WithElicitationHandler(elicitationAnswer{}))
		}
		if p.roots {
			opts = append(opts, transport.WithRootsHandler(rootsAnswer{s.workDir()}))
		}
		s.deaf = true
		return transport.NewInProcessTransportWithOptions(srv, opts...), nil
	})
}

// A dialer makes the transport of a session, without starting it.
type dialer func(s *Session, o *Opener, p profile) (transport.Interface, error)

func (o *Opener) open(ctx context.Context, spec Spec, dial dialer) (*Session, error) {
	p, ok := profiles()[cmp.Or(spec.Profile, ProfileBare)]
	if !ok {
		return nil, &StartError{Server: spec.Name, Reason: eval.ReasonStartFailed, Detail: fmt.Sprintf("no client profile is called %q; there are %s", spec.Profile, strings.Join(Profiles(), ", "))}
	}
	spec.Protocol = cmp.Or(spec.Protocol, p.protocol)
	if !mcp.IsValidProtocolVersion(spec.Protocol) {
		return nil, &StartError{Server: spec.Name, Reason: eval.ReasonStartFailed, Detail: fmt.Sprintf("%q is no MCP revision that is spoken here; there are %s", spec.Protocol, strings.Join(mcp.ValidProtocolVersions, ", "))}
	}
	s := newSession(ctx, spec, p)
	s.metrics = o.o.Metrics
	begun := time.Now()
	inner, err := dial(s, o, p)
	if err != nil {
		_ = s.Close()
		return nil, s.startError(eval.ReasonStartFailed, err.Error())
	}
	s.client = client.NewClient(carry(inner, s), p.options(spec.Protocol, s.workDir())...)
	if reason, detail := s.initialize(ctx, o, p); reason != "" || ctx.Err() != nil {
		_ = s.Close()
		if ctx.Err() != nil {
			return nil, fmt.Errorf("open server %s: %w", spec.Name, context.Cause(ctx))
		}
		return nil, s.startError(reason, detail)
	}
	s.startMS = milliseconds(time.Since(begun))
	s.begin()
	o.log.DebugContext(ctx, "server started", "server", spec.Name, "start_ms", s.startMS)
	return s, nil
}

// initialize runs the handshake. An empty reason means that it went well.
func (s *Session) initialize(ctx context.Context, o *Opener, p profile) (eval.Reason, string) {
	var failed error
	limit := cmp.Or(s.spec.Server.StartTimeout, DefaultStartTimeout)
	out := s.do(ctx, nil, limit, func(ctx context.Context) error {
		if failed = s.start(ctx); failed != nil {
			return failed
		}
		var req mcp.InitializeRequest
		req.Params.ClientInfo = mcp.Implementation{Name: "evalfarm", Version: cmp.Or(o.o.Version, "dev")}
		req.Params.Capabilities = p.capabilities
		var res *mcp.InitializeResult
		if res, failed = s.client.Initialize(ctx, req); failed != nil {
			return failed
		}
		s.info = eval.ServerInfo{
			Name: s.spec.Redact.String(res.ServerInfo.Name), Version: s.spec.Redact.String(res.ServerInfo.Version),
			Protocol: s.client.ProtocolVersion(), Profile: cmp.Or(s.spec.Profile, ProfileBare),
			Image: s.spec.Server.Container.Image, ImageDigest: s.image.Digest,
		}
		s.hadSession = s.client.GetSessionId() != ""
		s.awaitListening(ctx)
		return nil
	})
	switch {
	case out.Kind == eval.OutcomeProtocolError:
		return eval.ReasonStartRefused, fmt.Sprintf("initialize was answered with error %d: %s", out.Error.Code, out.Error.Message)
	case out.Kind == eval.OutcomeFailed:
		return s.startReason(out)
	case failed != nil:
		return eval.ReasonStartRefused, failed.Error()
	case mcp.IsModernProtocol(s.spec.Protocol) && s.info.Protocol != s.spec.Protocol:
		return eval.ReasonStartRefused, fmt.Sprintf("the server does not speak %s; it offers %s", s.spec.Protocol, s.info.Protocol)
	case s.info.Protocol != s.spec.Protocol:
		s.find("protocol_negotiated", fmt.Sprintf("asked for %s, the server chose %s", s.spec.Protocol, s.info.Protocol))
	}
	return "", ""
}

// start starts the transport under the session's own life, because a transport
// ends with the context that it was started with.
func (s *Session) start(ctx context.Context) error {
	started := make(chan error, 1)
	go func() { started <- s.client.Start(s.ctx) }()
	select {
	case err := <-started:
		return err
	case <-s.gone:
		return errGone
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// startReason says what an outcome means when it is that of initialize.
func (s *Session) startReason(out eval.Outcome) (eval.Reason, string) {
	switch out.Reason {
	case eval.ReasonTimeout:
		return eval.ReasonStartTimeout, out.Detail
	case eval.ReasonServerCrashed:
		// Why it ended is on stderr: that is the answer.
		detail := cmp.Or(s.Exit(), "ended") + " before initialize was answered"
		if _, why, ok := s.containerFate(); ok {
			detail += ": " + why
		}
		if line := lastLine(s.Stderr()); line != "" {
			return eval.ReasonStartExited, line + " (" + detail + ")"
		}
		return eval.ReasonStartExited, detail + ", with nothing on stderr"
	case eval.ReasonUnreachable, eval.ReasonUnauthorized, eval.ReasonStartFailed, eval.ReasonFarm:
		return out.Reason, out.Detail
	case eval.ReasonHTTPStatus:
		if busy := s.refused == http.StatusTooManyRequests || s.refused >= http.StatusInternalServerError; busy {
			return eval.ReasonUnreachable, out.Detail // for now: worth another attempt
		}
		return eval.ReasonStartRefused, out.Detail
	case eval.ReasonStreamCut:
		if s.proc == nil {
			return eval.ReasonUnreachable, out.Detail
		}
		return eval.ReasonStartRefused, out.Detail
	default:
		return eval.ReasonStartRefused, out.Detail
	}
}

func (s *Session) startError(reason eval.Reason, detail string) *StartError {
	return &StartError{
		Server: s.spec.Name, Reason: reason, Detail: detail,
		Stderr: s.Stderr(), Exit: s.Exit(), Findings: s.Findings(),
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// errNoCommand is a server with neither a command nor a URL.
var errNoCommand = errors.New("the server has neither a command nor a url")
