package eval

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"time"
)

// A Trajectory is what one attempt did, in order: turns with their tool calls
// and results. Checks look at nothing else.
type Trajectory struct {
	Turns []Turn `json:"turns"`
	// Server is what the server said of itself at initialize.
	Server ServerInfo `json:"server,omitzero"`
	// Listing of a catalog case.
	Listing *Listing `json:"listing,omitempty"`
	// Findings are oddities that decided nothing, such as noise on stdout.
	Findings []Finding `json:"findings,omitempty"`
	// Stderr is the head and tail of what the server wrote to stderr, when it
	// helps to explain the verdict.
	Stderr string `json:"stderr,omitempty"`
	// Exit says how the server's process ended, when it ended by itself.
	Exit string `json:"exit,omitempty"`
}

// Hash is the sha256, in hex, of what the server was asked and what it answered,
// byte for byte. Two attempts that did the same have the same hash: times are
// left out, and so is what we say ourselves of an attempt (details, findings,
// the server's stderr and its exit), whose words depend on timing.
func (t Trajectory) Hash() string {
	h := sha256.New()
	var size [8]byte
	number := func(n int) {
		binary.BigEndian.PutUint64(size[:], uint64(n)) //nolint:gosec // a negative error code has bytes of its own too
		h.Write(size[:])
	}
	// Lengths go first, so that no two trajectories write the same bytes.
	text := func(parts ...string) {
		for _, p := range parts {
			number(len(p))
			h.Write([]byte(p))
		}
	}
	text(t.Server.Name, t.Server.Version, t.Server.Protocol, t.Server.Profile)
	listing := ""
	if t.Listing != nil {
		listing = t.Listing.Fingerprint
	}
	text(listing)
	number(len(t.Turns))
	for _, turn := range t.Turns {
		text(turn.Step)
		number(len(turn.Calls))
		for _, c := range turn.Calls {
			o := c.Outcome
			text(c.Method, c.Tool, c.URI, string(c.Arguments), string(o.Kind), string(o.Reason), string(o.Result))
			if o.Error == nil {
				number(0)
				continue
			}
			number(1)
			number(o.Error.Code)
			text(o.Error.Message, string(o.Error.Data))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// A Turn is one step of a script with the calls that it took: one, or more when
// it polls or follows pages.
type Turn struct {
	// Step is the id of the scripted step.
	Step  string     `json:"step,omitempty"`
	Calls []ToolCall `json:"calls,omitempty"`
}

// A ToolCall is one request to a server and its outcome.
type ToolCall struct {
	// Method is "tools/call" or "resources/read".
	Method string `json:"method"`
	// Tool is the tool's name; URI that of the resource.
	Tool      string  `json:"tool,omitempty"`
	URI       string  `json:"uri,omitempty"`
	Arguments JSON    `json:"arguments,omitempty"`
	Outcome   Outcome `json:"outcome"`
	// Poll is true for every call of a repeat_until but the first.
	Poll bool `json:"poll,omitempty"`
}

// An Outcome is what came back from one request.
type Outcome struct {
	Kind OutcomeKind `json:"kind"`
	// Reason of an outcome of kind OutcomeFailed.
	Reason Reason `json:"reason,omitempty"`
	// Detail is one line for people: the transport's error, the bad bytes.
	Detail string `json:"detail,omitempty"`
	// Result is the raw result object of an answer, byte for byte.
	Result JSON `json:"result,omitempty"`
	// Error is the JSON-RPC error of an answer of kind OutcomeProtocolError.
	Error *RPCError `json:"error,omitempty"`
	// LatencyMS from the request's last byte out to its answer in.
	LatencyMS float64 `json:"latency_ms"`
	// ResponseBytes of the raw result or error.
	ResponseBytes int `json:"response_bytes"`
}

// An OutcomeKind separates answers from the absence of one.
type OutcomeKind string

const (
	// OutcomeOK: a result without isError.
	OutcomeOK OutcomeKind = "ok"
	// OutcomeToolError: a result with isError, a rejection by the tool.
	OutcomeToolError OutcomeKind = "tool_error"
	// OutcomeProtocolError: a JSON-RPC error, a rejection by the protocol.
	OutcomeProtocolError OutcomeKind = "protocol_error"
	// OutcomeFailed: no answer, or none that is one; Reason says why.
	OutcomeFailed OutcomeKind = "failed"
	// OutcomeCancelled: we stopped waiting because the trial was cancelled.
	OutcomeCancelled OutcomeKind = "cancelled"
)

// RPCError is a JSON-RPC 2.0 error object, with its code and data kept.
type RPCError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    JSON   `json:"data,omitempty"`
}

// ServerInfo is what a server said at initialize.
type ServerInfo struct {
	Name     string `json:"name,omitempty"`
	Version  string `json:"version,omitempty"`
	Protocol string `json:"protocol,omitempty"`
	Profile  string `json:"profile,omitempty"`
}

// A Listing summarizes the tools of a server.
type Listing struct {
	Tools int `json:"tools"`
	// ContextTokens is the estimate (bytes+3)/4 of the listing's definitions.
	ContextTokens int `json:"context_tokens"`
	// Fingerprint is "sha256:" and the hash of the canonical tools, sorted by
	// name.
	Fingerprint string `json:"fingerprint"`
}

// A Finding is an oddity worth a look.
type Finding struct {
	// Code such as "stdout_noise".
	Code   string `json:"code"`
	Detail string `json:"detail"`
	Count  int    `json:"count,omitempty"`
	// Session marks a finding that was made on a session while nobody, or more
	// than one trial, used it: it says nothing of the trial that reports it.
	Session bool `json:"session,omitempty"`
}

// A Frame is one raw message between us and a server.
type Frame struct {
	At time.Time `json:"at"`
	// Sent is true for our own messages.
	Sent bool `json:"sent,omitempty"`
	// Raw is the message; when it is no JSON, it is the text as a JSON string.
	Raw JSON `json:"raw"`
	// Noise marks stdout lines that are no message.
	Noise bool `json:"noise,omitempty"`
}
