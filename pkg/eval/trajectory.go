package eval

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
	"time"
)

// A Trajectory is what one attempt did, in order: turns with their tool calls
// and results. Checks look at nothing else.
type Trajectory struct {
	// System prompt and prompt of an agent, with their placeholders filled.
	System string `json:"system,omitempty"`
	Prompt string `json:"prompt,omitempty"`
	Turns  []Turn `json:"turns"`
	// Answer is what the agent said last.
	Answer string `json:"answer,omitempty"`
	// Tools that the agent was given, by the names that it knows them by.
	Tools []OfferedTool `json:"tools,omitempty"`
	// Server is what the server said of itself at initialize.
	Server ServerInfo `json:"server,omitzero"`
	// Servers of an agent case that talks to several, by name.
	Servers map[string]ServerInfo `json:"servers,omitempty"`
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

// Hash is the sha256, in hex, of what the agent and the user said, what the
// server was asked and what it answered, byte for byte. Two attempts that did the same have the same hash: times are
// left out, and so are the tokens and ids of a provider and what we say
// ourselves of an attempt (details, findings, the server's stderr and its exit),
// whose words depend on timing.
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
	text(t.System, t.Prompt, t.Answer)
	for _, name := range slices.Sorted(maps.Keys(t.Servers)) {
		s := t.Servers[name]
		text(name, s.Name, s.Version, s.Protocol, s.Profile)
	}
	number(len(t.Turns))
	for _, turn := range t.Turns {
		text(turn.Step, turn.User, turn.Text)
		number(len(turn.Calls))
		for _, c := range turn.Calls {
			o := c.Outcome
			text(c.Method, c.Server, c.Tool, c.URI, string(c.Arguments), c.RawArguments, c.Invalid)
			text(string(o.Kind), string(o.Reason), string(o.Result))
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
// it polls or follows pages. For an agent it is one answer of the model and the
// calls that it asked for.
type Turn struct {
	// Step is the id of the scripted step.
	Step string `json:"step,omitempty"`
	// User is what the user said before the turn; the first turn has the prompt.
	User string `json:"user,omitempty"`
	// Text is what the model said, Reasoning what it thought aloud.
	Text      string     `json:"text,omitempty"`
	Reasoning string     `json:"reasoning,omitempty"`
	Calls     []ToolCall `json:"calls,omitempty"`
	// Generation tells how the model's answer came about.
	Generation *Generation `json:"generation,omitempty"`
}

// A Generation is one call to a model, in numbers.
type Generation struct {
	// Model as the provider named it in its answer.
	Model string `json:"model,omitempty"`
	ID    string `json:"id,omitempty"`
	// Stop is the provider's word for why the answer ended.
	Stop      string  `json:"stop,omitempty"`
	Usage     Usage   `json:"usage"`
	LatencyMS float64 `json:"latency_ms"`
	// WaitedMS was spent waiting out rate limits and overload, in Tries tries.
	WaitedMS float64 `json:"waited_ms,omitempty"`
	Tries    int     `json:"tries,omitempty"`
}

// An OfferedTool is a tool as an agent sees it.
type OfferedTool struct {
	// Name that the agent knows it by; Server and Tool say what it is.
	Name   string `json:"name"`
	Server string `json:"server"`
	Tool   string `json:"tool"`
	// Schema is the tool's raw inputSchema.
	Schema JSON `json:"schema,omitempty"`
}

// A ToolCall is one request to a server and its outcome.
type ToolCall struct {
	// Method is "tools/call" or "resources/read"; for an agent also MethodSearch.
	Method string `json:"method"`
	// ID is the model's own for the call.
	ID string `json:"id,omitempty"`
	// Server that was called, in an agent case.
	Server string `json:"server,omitempty"`
	// Tool is the tool's name; URI that of the resource.
	Tool      string  `json:"tool,omitempty"`
	URI       string  `json:"uri,omitempty"`
	Arguments JSON    `json:"arguments,omitempty"`
	Outcome   Outcome `json:"outcome"`
	// Poll is true for every call of a repeat_until but the first.
	Poll bool `json:"poll,omitempty"`
	// Invalid is why an agent's call was not made: it went back to the model as
	// an error, and no server saw it.
	Invalid string `json:"invalid,omitempty"`
	// RawArguments is what the model wrote when it was no JSON object.
	RawArguments string `json:"raw_arguments,omitempty"`
	// CutBytes is how many bytes of the result the model was not shown.
	CutBytes int `json:"cut_bytes,omitempty"`
}

// MethodSearch is the method of a call to the tool that searches for tools,
// which no server sees.
const MethodSearch = "tools/search"

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

// ServerInfo is what a server said at initialize, and the image that it was
// started from.
type ServerInfo struct {
	Name     string `json:"name,omitempty"`
	Version  string `json:"version,omitempty"`
	Protocol string `json:"protocol,omitempty"`
	Profile  string `json:"profile,omitempty"`
	// Image of a server in a container, as the suite names it.
	Image string `json:"image,omitempty"`
	// ImageDigest is the "sha256:…" of the image that was started: that of its
	// registry, else the engine's own id. It is no part of Trajectory.Hash, since
	// engines number an image that came from no registry each in its own way.
	ImageDigest string `json:"image_digest,omitempty"`
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
