package client

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/mcp/wire"
)

// do carries out one request and says what came of it. send must make its
// requests with the context that it gets.
func (s *Session) do(ctx context.Context, a *Attachment, timeout time.Duration, send func(context.Context) error) eval.Outcome {
	if out, dead := s.obituary(); dead {
		return out
	}
	f := &flight{att: a}
	held, decide := context.WithCancelCause(context.WithValue(ctx, flightKey{}, f))
	defer decide(nil)
	f.decide = decide
	timed, cancel := context.WithTimeoutCause(held, timeout, errCallTimeout)
	defer cancel()
	begun := time.Now()
	err := send(timed)
	if err != nil && s.proc != nil && timed.Err() == nil && s.unanswered(f) {
		// The pipe broke before the process was seen to end.
		select {
		case <-s.gone:
		case <-timed.Done():
		}
	}
	return s.outcome(ctx, timed, timeout, f, err, begun)
}

func (s *Session) unanswered(f *flight) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f.answered.IsZero() && f.fault == nil
}

// obituary is the outcome of every call after the session's death.
func (s *Session) obituary() (eval.Outcome, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.death == nil {
		return eval.Outcome{}, false
	}
	return eval.Outcome{Kind: eval.OutcomeFailed, Reason: s.death.reason, Detail: "not sent, because before: " + s.death.detail}, true
}

// outcome judges a flight: by its bytes, else by how the wait for them ended.
func (s *Session) outcome(ctx, timed context.Context, timeout time.Duration, f *flight, err error, begun time.Time) eval.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.sent.IsZero() {
		f.sent = begun
	}
	end := f.answered
	if end.IsZero() {
		end = time.Now()
	}
	out := eval.Outcome{LatencyMS: max(0, milliseconds(end.Sub(f.sent)))}
	fail := func(reason eval.Reason, detail string) eval.Outcome {
		out.Kind, out.Reason, out.Detail, out.Result = eval.OutcomeFailed, reason, excerpt(s.spec.Redact.String(detail)), nil
		return out
	}
	var panicked *panicError
	switch {
	case f.fault != nil:
		return fail(f.fault.reason, f.fault.detail)
	case f.rpcError != nil:
		out.ResponseBytes = len(f.rpcError)
		if out.Error = decodeError(f.rpcError); out.Error == nil {
			return fail(eval.ReasonProtocolViolation, "an error that is no JSON-RPC error object: "+string(f.rpcError))
		}
		out.Kind, out.Detail = eval.OutcomeProtocolError, excerpt(out.Error.Message)
		return out
	case f.result != nil && f.exchange.Status >= http.StatusBadRequest:
		return fail(eval.ReasonHTTPStatus, "a result came with "+describe(f.exchange))
	case f.result != nil:
		out.Result, out.ResponseBytes = f.result, len(f.result)
		kind, wrong := judgeResult(f.result, err)
		if wrong != "" {
			return fail(eval.ReasonProtocolViolation, wrong)
		}
		out.Kind = kind
		return out
	case ctx.Err() != nil:
		out.Kind, out.Detail = eval.OutcomeCancelled, context.Cause(ctx).Error()
		return out
	case err == nil && f.id == "":
		// Nothing but the transport's start was asked for.
		out.Kind = eval.OutcomeOK
		return out
	case err == nil:
		// mcp-go made an answer of what is none.
		return fail(eval.ReasonProtocolViolation, cmp.Or(f.suspicion, "an answer that is no JSON-RPC message"))
	case errors.As(err, &panicked):
		return fail(eval.ReasonServerCrashed, panicked.Error())
	case errors.Is(context.Cause(timed), errCallTimeout):
		if s.stdoutClosed() {
			return fail(s.epitaph())
		}
		if f.suspicion != "" {
			return fail(eval.ReasonProtocolViolation, "no answer, but "+f.suspicion)
		}
		return fail(eval.ReasonTimeout, s.silence(timeout))
	}
	if !errors.Is(context.Cause(timed), errGone) {
		if reason, detail, ok := s.judgeExchange(f, err); ok {
			return fail(reason, detail)
		}
	}
	if s.death != nil {
		return fail(s.death.reason, s.death.detail)
	}
	return fail(eval.ReasonFarm, err.Error())
}

// silence describes a wait without an answer.
func (s *Session) silence(timeout time.Duration) string {
	text := "no answer within " + timeout.String()
	if s.proc != nil {
		if line := lastLine(s.proc.Stderr()); line != "" {
			text += "; stderr ends with: " + line
		}
	}
	return text
}

// decodeError reads a JSON-RPC 2.0 error object (§5.1); nil if it is none.
func decodeError(raw eval.JSON) *eval.RPCError {
	var e struct {
		Code    *int      `json:"code"`
		Message *string   `json:"message"`
		Data    eval.JSON `json:"data"`
	}
	if eval.DecodeExact(raw, &e) != nil || e.Code == nil || e.Message == nil {
		return nil
	}
	return &eval.RPCError{Code: *e.Code, Message: *e.Message, Data: e.Data}
}

// judgeResult reads what a result says of itself. What its content means is for
// the matchers to decide, however odd it is.
func judgeResult(raw eval.JSON, err error) (kind eval.OutcomeKind, wrong string) {
	if raw = bytes.TrimSpace(raw); raw[0] != '{' {
		return "", "a result that is no object: " + excerpt(string(raw))
	}
	var said struct {
		IsError    eval.JSON `json:"isError"`
		ResultType eval.JSON `json:"resultType"`
	}
	if eval.DecodeExact(raw, &said) != nil {
		return "", "a result that cannot be read: " + excerpt(string(raw))
	}
	if string(said.ResultType) == `"input_required"` && err != nil {
		return "", "the server asks for input that this client does not give: " + err.Error()
	}
	switch string(said.IsError) {
	case "true":
		return eval.OutcomeToolError, ""
	case "", "false", "null":
		return eval.OutcomeOK, ""
	default:
		return "", "isError is no boolean: " + excerpt(string(said.IsError))
	}
}

// judgeExchange judges a request over HTTP that brought no message. The caller
// holds the mutex.
func (s *Session) judgeExchange(f *flight, err error) (eval.Reason, string, bool) {
	e := f.exchange
	if e.Status == 0 && e.Err == nil {
		e = s.stream // the start of a legacy SSE session
	}
	switch {
	case s.proc != nil || s.deaf || e.Status == 0 && e.Err == nil:
		return "", "", false
	case errors.Is(e.Err, wire.ErrOversize) || errors.Is(err, wire.ErrOversize):
		return eval.ReasonOversize, "the answer is over the frame limit", true
	case e.Status == 0 && !e.Sent.IsZero():
		return eval.ReasonStreamCut, "the connection broke before the response: " + e.Err.Error(), true
	case e.Status == 0:
		s.dieLocked(eval.ReasonUnreachable, e.Err.Error())
		return eval.ReasonUnreachable, e.Err.Error(), true
	case e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden:
		return eval.ReasonUnauthorized, describe(e), true
	case e.Status >= 300:
		s.refused = e.Status
		if e.Status == http.StatusNotFound && s.hadSession && s.client.GetSessionId() == "" {
			// The client has forgotten the session as the specification asks
			// (2025-11-25, basic/transports, session management).
			s.dieLocked(eval.ReasonHTTPStatus, "the server has forgotten the session: "+describe(e))
		}
		return eval.ReasonHTTPStatus, describe(e), true
	case e.Err != nil:
		return eval.ReasonStreamCut, "the response broke off: " + e.Err.Error(), true
	case strings.HasPrefix(e.Header.Get("Content-Type"), "text/event-stream"):
		if f.suspicion != "" {
			return eval.ReasonProtocolViolation, f.suspicion, true
		}
		return eval.ReasonStreamCut, "the event stream ended without the answer", true
	default:
		return eval.ReasonProtocolViolation, "no JSON-RPC answer in " + describe(e), true
	}
}

// describe puts a response into one line.
func describe(e wire.Exchange) string {
	parts := []string{fmt.Sprintf("HTTP %d %s", e.Status, http.StatusText(e.Status))}
	for _, name := range []string{"Retry-After", "WWW-Authenticate", "Location", "Content-Type"} {
		if v := e.Header.Get(name); v != "" {
			parts = append(parts, name+": "+v)
		}
	}
	text := strings.Join(parts, ", ")
	if body := strings.TrimSpace(string(e.Body)); body != "" {
		text += ": " + body
	}
	return excerpt(text)
}

// stdoutClosed says whether the process can answer no more.
func (s *Session) stdoutClosed() bool {
	if s.proc == nil {
		return false
	}
	select {
	case <-s.proc.Closed():
		return true
	default:
		return false
	}
}

// epitaph says how the process ended.
func (s *Session) epitaph() (eval.Reason, string) {
	if errors.Is(s.proc.Err(), wire.ErrOversize) {
		return eval.ReasonOversize, "the server sent a line over the frame limit and was killed"
	}
	select {
	case <-s.proc.Ended():
	default:
		return eval.ReasonStreamCut, "the server closed its stdout and lives on"
	}
	reason, detail := eval.ReasonServerCrashed, "the server ended"
	if exit := s.proc.Exit(); exit != "" {
		detail += " with " + exit
	}
	if why, text, ok := s.containerFate(); ok {
		reason, detail = why, text
	}
	if line := lastLine(s.proc.Stderr()); line != "" {
		detail += "; stderr ends with: " + line
	}
	return reason, detail
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return excerpt(strings.TrimSpace(lines[len(lines)-1]))
}
