package client

import (
	"context"
	"errors"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/mcp/wire"
)

// Why a wait ends before its answer, as the cause of its context.
var (
	errCallTimeout = errors.New("call timeout")
	errDecided     = errors.New("the bytes have decided")
	errGone        = errors.New("the session has ended")
)

// A flight is one request on its way, with what the wire has seen of it. Its
// fields are guarded by the session's mutex.
type flight struct {
	att    *Attachment // nil for the handshake
	id     string
	decide context.CancelCauseFunc

	sent     time.Time
	answered time.Time
	result   eval.JSON
	rpcError eval.JSON
	// fault is a verdict from the bytes that no later answer changes.
	fault *fault
	// suspicion is what the server sent that may have been meant as the answer.
	suspicion string
	exchange  wire.Exchange
}

// A fault is a reason with one line for people.
type fault struct {
	reason eval.Reason
	detail string
}

type flightKey struct{}

func flightOf(ctx context.Context) *flight {
	f, _ := ctx.Value(flightKey{}).(*flight)
	return f
}

// depart notes that a flight's request is about to leave under an id. A flight
// leaves again when the server wants input first.
func (s *Session) depart(f *flight, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.id = id
	f.result, f.rpcError, f.exchange = nil, nil, wire.Exchange{}
	f.sent, f.answered = time.Now(), time.Time{}
	s.flights[id] = f
	s.last = id
	if f.att != nil {
		s.owners[id] = f.att
		f.att.ids = append(f.att.ids, id)
	}
}

// land notes that nobody waits for the id any more.
func (s *Session) land(f *flight, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.flights, id)
	if f.answered.IsZero() && (s.proc != nil || s.legacySSE) {
		s.abandoned[id] = true // its answer may still come
	}
}

// condemn decides from the bytes, at once, that the protocol is violated. The
// caller holds the mutex.
func (f *flight) condemn(detail string) {
	if f.fault == nil {
		f.fault = &fault{eval.ReasonProtocolViolation, detail}
		f.decide(errDecided)
	}
}
