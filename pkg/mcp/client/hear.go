package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/mcp/wire"
)

// hear is the session's ear on the wire: it hands raw answers to their flights,
// decides what the bytes alone decide, and records frames. It implements
// wire.Tap.
func (s *Session) hear(ctx context.Context, m wire.Message) (pass bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := flightOf(ctx)
	m = s.redact(m)
	if !utf8.Valid(m.Raw) {
		s.findLocked("invalid_utf8", "a message holds bytes that are no UTF-8")
		m.Raw = validUTF8(m.Raw)
		m.Result, m.Error = validUTF8(m.Result), validUTF8(m.Error)
	}
	s.recordLocked(f, m)
	switch {
	case m.Sent:
		if g := s.flights[m.ID]; g != nil && m.Method != "" {
			g.sent = m.At
		}
		return true
	case m.Noise:
		s.hearNoise(f, m)
		return true
	case m.Method != "":
		return s.hearMethod(m)
	default:
		return s.hearAnswer(f, m)
	}
}

// redact takes secrets out of a message. Ids stay: a server that hides a secret
// in an id only confuses itself.
func (s *Session) redact(m wire.Message) wire.Message {
	r := s.spec.Redact
	if r == nil {
		return m
	}
	for _, part := range []*eval.JSON{&m.Raw, &m.Params, &m.Result, &m.Error} {
		if *part != nil {
			*part = r.JSON(*part)
		}
	}
	if m.Text != nil {
		m.Text = r.Bytes(m.Text)
	}
	return m
}

// recordLocked keeps a frame where it belongs: with the trial whose request it
// is part of, or with the only one there is, or with the session.
func (s *Session) recordLocked(f *flight, m wire.Message) {
	var a *Attachment
	switch {
	case f != nil:
		a = f.att
	case m.Answer() || m.Sent && m.Request():
		a = s.owners[m.ID]
	case m.Sent && m.Method == "notifications/cancelled":
		a = s.owners[cancelledID(m)]
	}
	if a == nil && len(s.attached) == 1 {
		for only := range s.attached {
			a = only
		}
	}
	into := &s.frames
	if a != nil {
		into = &a.frames
	}
	into.add(m.Frame, m.Notification() || m.Noise)
}

func cancelledID(m wire.Message) string {
	var params struct {
		RequestID eval.JSON `json:"requestId"`
	}
	_ = json.Unmarshal(m.Params, &params)
	return string(params.RequestID)
}

// hearMethod handles a notification or a request of the server.
func (s *Session) hearMethod(m wire.Message) bool {
	switch {
	case m.Request() && s.legacySSE:
		// mcp-go would take it for an answer if the id fits.
		s.findLocked("request_unanswered", fmt.Sprintf("the server asked %s, which cannot be answered over legacy SSE", m.Method))
		return false
	case m.Method == "notifications/tools/list_changed":
		s.changes++
		s.tools = nil
	case m.Method == "notifications/progress" && len(s.waiting()) == 0:
		s.findLocked("late_progress", "a progress notification came while no request was waiting: "+string(m.Params))
	}
	return true
}

// hearAnswer hands an answer to its flight.
func (s *Session) hearAnswer(f *flight, m wire.Message) bool {
	target := s.flights[m.ID]
	if f != nil && m.ID != f.id { // an answer over HTTP belongs to its own request
		if f.exchange.Status >= http.StatusBadRequest {
			return true // the status decides
		}
		f.condemn(fmt.Sprintf("request %s was answered with id %s", f.id, excerpt(m.ID)))
		return false
	}
	if target == nil {
		s.hearStray(m)
		return false
	}
	if !target.answered.IsZero() {
		s.findLocked("duplicate_answer", "a request was answered twice: "+string(m.Raw))
		return false
	}
	switch {
	case m.Result == nil && m.Error == nil:
		target.condemn("an answer with neither result nor error: " + excerpt(string(m.Raw)))
		return false
	case m.Result != nil && m.Error != nil && string(m.Result) != "null":
		target.condemn("an answer with both result and error: " + excerpt(string(m.Raw)))
		return false
	}
	target.answered = time.Now()
	target.result, target.rpcError = m.Result, m.Error
	if m.Error != nil {
		target.result = nil
	}
	return true
}

// hearStray handles an answer that no flight waits for.
func (s *Session) hearStray(m wire.Message) {
	if text, err := strconv.Unquote(m.ID); err == nil {
		if f := s.flights[text]; f != nil {
			f.condemn(fmt.Sprintf("request %s was answered with the string id %q", text, text))
			return
		}
	}
	switch n, err := strconv.Atoi(m.ID); {
	case s.abandoned[m.ID]:
		delete(s.abandoned, m.ID)
		s.findLocked("late_answer", "an answer came after we had stopped waiting for it: "+string(m.Raw))
	case err == nil && n > 0 && n <= s.lastID():
		s.findLocked("duplicate_answer", "a request was answered twice: "+string(m.Raw))
	default:
		s.suspect(fmt.Sprintf("an answer with id %s, which was never asked", excerpt(m.ID)), m.Raw)
	}
}

// suspect handles what was meant as an answer, but cannot be told to which
// request. If only one waits, it was that one's; otherwise those that wait know
// it when their time is up.
func (s *Session) suspect(what string, raw []byte) {
	detail := what + ": " + excerpt(string(raw))
	waiting := s.waiting()
	switch len(waiting) {
	case 0:
		s.findLocked("stray_answer", detail)
	case 1:
		waiting[0].condemn(detail)
	default:
		for _, f := range waiting {
			f.suspicion = detail
		}
	}
}

// waiting lists the flights without an answer.
func (s *Session) waiting() []*flight {
	var list []*flight
	for _, f := range s.flights {
		if f.answered.IsZero() && f.fault == nil {
			list = append(list, f)
		}
	}
	return list
}

func (s *Session) lastID() int {
	n, _ := strconv.Atoi(s.last)
	return n
}

// report hears of HTTP exchanges; it is wire.HTTP's Report.
func (s *Session) report(ctx context.Context, e wire.Exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.Body = s.spec.Redact.Bytes(e.Body)
	if f := flightOf(ctx); f != nil {
		f.exchange = e
		if !e.Sent.IsZero() {
			f.sent = e.Sent
		}
		return
	}
	if e.Method != http.MethodGet {
		return
	}
	if s.listening != nil {
		select {
		case <-s.listening:
		default:
			close(s.listening)
		}
	}
	s.stream = e
	if s.legacySSE && e.Status == http.StatusOK && (e.Ended || e.Err != nil) {
		reason, detail := eval.ReasonStreamCut, "the event stream ended"
		if errors.Is(e.Err, wire.ErrOversize) {
			reason, detail = eval.ReasonOversize, "an event is over the frame limit"
		}
		s.dieLocked(reason, detail)
	}
}

// excerpt is the start of a hostile text, on one line.
func excerpt(text string) string {
	const most = 300
	cut := ""
	if len(text) > most {
		text, cut = text[:most], "…"
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text) + cut
}

func validUTF8(raw eval.JSON) eval.JSON {
	if raw == nil {
		return nil
	}
	return eval.JSON(strings.ToValidUTF8(string(raw), "\uFFFD"))
}
