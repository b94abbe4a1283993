package client

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/mcp/wire"
)

// FuzzHear lets a server write anything while one call waits. Whatever it is, the
// call is either answered, or condemned for a violation, or still waiting, and
// what is recorded is JSON.
func FuzzHear(f *testing.F) {
	for _, seed := range []string{
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
		"{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}",
		"{\n \"jsonrpc\": \"2.0\",\n \"id\": 1,\n \"result\": {}\n}",
		"[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}]",
		"DEBUG {\"a\":{ {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{}}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":7}",
		"[\n]\n{\n\xff\n}\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stdout []byte) {
		s := newSession(t.Context(), Spec{}, profile{})
		defer s.cancel()
		s.proc = &wire.Process{} // messages come from a process; it is never asked
		_, decide := context.WithCancelCause(t.Context())
		fl := &flight{decide: decide}
		s.depart(fl, "1")
		for line := range bytes.SplitSeq(stdout, []byte("\n")) {
			if len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			m, ok := wire.Parse(line)
			if !ok {
				m = wire.Message{Frame: eval.Frame{Noise: true, Raw: eval.Encode(string(line))}, Text: line}
			}
			s.hear(t.Context(), m)
		}
		answered := fl.result != nil || fl.rpcError != nil
		if answered == fl.answered.IsZero() {
			t.Errorf("got answer %s, error %s, answered %v, want both or neither", fl.result, fl.rpcError, fl.answered)
		}
		if fl.fault != nil && (fl.fault.reason != eval.ReasonProtocolViolation || fl.fault.detail == "") {
			t.Errorf("got fault %+v, want an explained violation", fl.fault)
		}
		for _, frame := range s.frames.all() {
			if !json.Valid(frame.Raw) {
				t.Errorf("got frame %q, want JSON", frame.Raw)
			}
		}
	})
}
