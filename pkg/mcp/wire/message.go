package wire

import (
	"bytes"
	"context"
	"strconv"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// DefaultFrameLimit bounds one message, in bytes. The largest answers that real
// servers give are a few MiB; a library that is handed more allocates a multiple
// of it.
const DefaultFrameLimit = 16 << 20

// noiseShown bounds how much of a line that is no message is kept in a frame.
const noiseShown = 4 << 10

// A Message is one frame with what its envelope says.
type Message struct {
	eval.Frame
	// ID is the id as JSON: 7, "7", null; empty when there is none. Numbers are
	// written the shortest way, so that 7 and 7.0 are the same id.
	ID string
	// Method of a request or a notification.
	Method string
	// Params of a request or a notification, verbatim.
	Params eval.JSON
	// Result of an answer, verbatim; null is the four bytes of it, absence is nil.
	Result eval.JSON
	// Error of an answer, verbatim; nil when it is absent or null.
	Error eval.JSON
	// Text is the whole line or event when Noise is set.
	Text []byte
}

// Request says whether the message is a request, which wants an answer.
func (m Message) Request() bool { return m.Method != "" && m.ID != "" }

// Notification says whether the message is a notification.
func (m Message) Notification() bool { return m.Method != "" && m.ID == "" }

// Answer says whether the message answers a request.
func (m Message) Answer() bool { return !m.Noise && m.Method == "" }

// A Tap hears a message as it passes, in order for each direction. It must not
// block. The context is that of the HTTP request which carries the message, and
// the background context for a process. What it returns matters for received
// messages only: false keeps the message from the reader.
type Tap func(ctx context.Context, m Message) (pass bool)

// Parse reads a JSON-RPC 2.0 message: an object with jsonrpc "2.0" and a method
// or an id. Anything else, batches included, is none.
func Parse(raw []byte) (Message, bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '{' {
		return Message{}, false
	}
	var env struct {
		JSONRPC string    `json:"jsonrpc"`
		ID      eval.JSON `json:"id"`
		Method  string    `json:"method"`
		Params  eval.JSON `json:"params"`
		Result  eval.JSON `json:"result"`
		Error   eval.JSON `json:"error"`
	}
	if eval.DecodeExact(raw, &env) != nil || env.JSONRPC != "2.0" || env.Method == "" && env.ID == nil {
		return Message{}, false
	}
	m := Message{
		Frame:  eval.Frame{At: time.Now(), Raw: bytes.Clone(raw)},
		ID:     canonicalID(env.ID),
		Method: env.Method,
		Params: env.Params,
		Result: env.Result,
		Error:  env.Error,
	}
	if string(m.Error) == "null" {
		m.Error = nil
	}
	return m, true
}

// noise makes a message of a text that is none.
func noise(text []byte) Message {
	shown := text
	if len(shown) > noiseShown {
		shown = shown[:noiseShown]
	}
	return Message{
		Frame: eval.Frame{At: time.Now(), Noise: true, Raw: eval.Encode(string(shown))},
		Text:  bytes.Clone(text),
	}
}

func canonicalID(raw []byte) string {
	if len(raw) == 0 || raw[0] == '"' {
		return string(raw)
	}
	if f, err := strconv.ParseFloat(string(raw), 64); err == nil && f == float64(int64(f)) {
		return strconv.FormatInt(int64(f), 10)
	}
	return string(raw)
}
