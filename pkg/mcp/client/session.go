package client

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/client"

	"github.com/evalfarm/evalfarm/pkg/container"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/mcp/wire"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

// A Session is one initialized connection to one server. Trials use it through
// attachments, any number at once. It is safe for concurrent use.
type Session struct {
	spec    Spec
	profile profile
	client  *client.Client
	proc    *wire.Process        // nil for URL and in-process servers
	box     *container.Container // nil for servers in none
	image   container.Image
	idle    func() // drops idle HTTP connections
	info    eval.ServerInfo
	startMS float64
	metrics *telemetry.Metrics

	legacySSE  bool
	hadSession bool          // the server gave the session an id
	deaf       bool          // nothing hears the wire, since there is none
	listening  chan struct{} // closed when the GET stream is open or refused

	ctx     context.Context // the session's life
	cancel  context.CancelFunc
	closing sync.Once
	gone    chan struct{} // closed when dead
	// lister is held while the tools are listed for HasTool, so that trials
	// which start together list once.
	lister chan struct{}

	mu        sync.Mutex         // guards all below
	flights   map[string]*flight // by id
	owners    map[string]*Attachment
	abandoned map[string]bool // ids whose answer nobody waits for
	last      string          // id
	attached  map[*Attachment]bool
	served    int    // attachments ever
	frames    frames // that belong to no attachment
	death     *fault
	begun     bool // it was initialized
	closed    bool
	findings  []eval.Finding
	loose     []eval.Finding // that belong to no attachment, not yet reported
	stream    wire.Exchange  // the last exchange that was no flight's
	refused   int            // the HTTP status of the last refusal
	block     []byte         // lines of stdout that may make up one message
	changes   int            // of the tool list
	tools     map[string]bool
}

func newSession(ctx context.Context, spec Spec, p profile) *Session {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	return &Session{
		spec: spec, profile: p,
		ctx: life, cancel: cancel,
		gone:      make(chan struct{}),
		lister:    make(chan struct{}, 1),
		flights:   map[string]*flight{},
		owners:    map[string]*Attachment{},
		abandoned: map[string]bool{},
		attached:  map[*Attachment]bool{},
	}
}

// Info is what the server said of itself at initialize.
func (s *Session) Info() eval.ServerInfo { return s.info }

// Stderr is the head and tail of what the process wrote to stderr; empty without
// a process.
func (s *Session) Stderr() string {
	if s.proc == nil {
		return ""
	}
	return s.proc.Stderr()
}

// Exit says how the process ended, if it did by itself.
func (s *Session) Exit() string {
	if s.proc == nil {
		return ""
	}
	return s.proc.Exit()
}

// Dead says whether the session can answer no more.
func (s *Session) Dead() bool {
	select {
	case <-s.gone:
		return true
	default:
		return s.stdoutClosed() // what became of the process is known a little later
	}
}

// Frames gives the raw messages that belong to no attachment: the handshake, and
// what the server sent unasked while none or several were attached.
func (s *Session) Frames() []eval.Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.frames.all()
}

// Findings lists the oddities of the session so far, one entry for each code.
func (s *Session) Findings() []eval.Finding {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.findings)
}

// find adds a finding; the detail of the first of a code is kept.
func (s *Session) find(code, detail string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.findLocked(code, detail)
}

func (s *Session) findLocked(code, detail string) {
	s.findings = addFinding(s.findings, eval.Finding{Code: code, Detail: detail})
	if a := s.culprit(); a != nil {
		a.findings = addFinding(a.findings, eval.Finding{Code: code, Detail: detail})
	} else {
		s.loose = addFinding(s.loose, eval.Finding{Code: code, Detail: detail, Session: true})
	}
}

// culprit is the attachment that a finding belongs to: the only one there is, or
// the only one that waits for an answer. It is nil when that cannot be told.
func (s *Session) culprit() *Attachment {
	var found *Attachment
	if len(s.attached) == 1 {
		for a := range s.attached {
			found = a
		}
		return found
	}
	for _, f := range s.waiting() {
		if found != nil && found != f.att {
			return nil
		}
		found = f.att
	}
	return found
}

// addFinding counts a finding; the detail of the first of a code is kept.
func addFinding(list []eval.Finding, f eval.Finding) []eval.Finding {
	for i := range list {
		if list[i].Code == f.Code && list[i].Session == f.Session {
			list[i].Count++
			return list
		}
	}
	f.Detail, f.Count = excerpt(f.Detail), 1
	return append(list, f)
}

// Close ends the session and the server's whole process tree. How the server
// took it is no error: it is in Exit and Stderr. Calls in flight end.
func (s *Session) Close() error {
	s.closing.Do(func() {
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		s.die(eval.ReasonFarm, "the session was closed")
		if s.client != nil {
			_ = s.client.Close() // stdin, or the DELETE request
		}
		if s.proc != nil {
			s.proc.Stop(s.closeTimeout())
		}
		s.cancel()
		if s.idle != nil {
			s.idle()
		}
	})
	return nil
}

// begin notes that the session is initialized: that it ends is no failed start any
// more.
func (s *Session) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = true
	if s.death != nil && !s.closed {
		s.metrics.Crash(s.ctx, s.spec.Name)
	}
}

// die ends the session for good; the first reason counts.
func (s *Session) die(reason eval.Reason, detail string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dieLocked(reason, detail)
}

func (s *Session) dieLocked(reason eval.Reason, detail string) {
	if s.death != nil {
		return
	}
	s.death = &fault{reason, detail}
	if s.begun && !s.closed {
		s.metrics.Crash(s.ctx, s.spec.Name)
	}
	for _, f := range s.flights {
		f.decide(errGone)
	}
	close(s.gone)
}

// watch waits for the end of the process and says what it was.
func (s *Session) watch() {
	<-s.proc.Closed()
	timer := time.NewTimer(s.closeTimeout())
	defer timer.Stop()
	select {
	case <-s.proc.Ended():
		if s.box != nil {
			<-s.box.Told() // whose doing it was
		}
	case <-timer.C:
	}
	reason, detail := s.epitaph()
	s.die(reason, detail)
}

// listenTime is how long a start waits for the GET stream: some servers send its
// head only with the first event.
const listenTime = 3 * time.Second

// awaitListening waits until the server can ask us something: over Streamable
// HTTP its requests need the GET stream, and one sent before it is open is lost.
func (s *Session) awaitListening(ctx context.Context) {
	if s.listening == nil {
		return
	}
	timer := time.NewTimer(listenTime)
	defer timer.Stop()
	select {
	case <-s.listening:
	case <-s.gone:
	case <-ctx.Done():
	case <-timer.C:
	}
}

// answers says whether this client declared that it can answer a request.
func (s *Session) answers(method string) bool {
	switch method {
	case "ping":
		return true
	case "roots/list":
		return s.profile.roots
	case "sampling/createMessage":
		return s.profile.sampling
	case "elicitation/create":
		return s.profile.elicitation
	}
	return false
}

func (s *Session) callTimeout() time.Duration {
	return cmp.Or(s.spec.Server.CallTimeout, DefaultCallTimeout)
}

func (s *Session) closeTimeout() time.Duration {
	return cmp.Or(s.spec.Server.CloseTimeout, DefaultCloseTimeout)
}
