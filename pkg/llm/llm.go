// Package llm is what is asked of a language model: one answer to one
// conversation. Adapters for providers are packages of their own below it.
package llm

import (
	"context"
	"net/http"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A Model generates the next message of a conversation. It is safe for
// concurrent use. What a model says, however wrong, is a Response; an error is
// always an [*Error], or that of the context.
type Model interface {
	Generate(ctx context.Context, req Request) (Response, error)
}

// A Request is a conversation to go on with.
type Request struct {
	System string
	// Messages alternate between the user's side and the model's. The first is
	// the user's. A message with results answers the calls of the one before it.
	Messages []Message
	Tools    []Tool
	// MustCall names a tool that the model has to call. Empty leaves the choice
	// to the model.
	MustCall string
	// Sampling; a Seed that the trial gives is set already.
	Sampling eval.Sampling
	// Trial that the request belongs to.
	Trial Trial
	// OnWait is told when the request begins to wait before a call, and when that
	// is over: the waits are not the asker's time. Nil does not want to know.
	OnWait func(waiting bool)
	// OnRepeat is told how long a call took that failed and is made again, which is not
	// the asker's time either. Nil does not want to know.
	OnRepeat func(failed time.Duration)
}

// Waits tells OnWait.
func (r Request) Waits(waiting bool) {
	if r.OnWait != nil {
		r.OnWait(waiting)
	}
}

// Repeats tells OnRepeat.
func (r Request) Repeats(failed time.Duration) {
	if r.OnRepeat != nil {
		r.OnRepeat(failed)
	}
}

// A Trial identifies whose conversation it is, for models that are scripted or
// played back and for servers that are told.
type Trial struct {
	Case string
	// Variant is the id of the variant. Two variants may ask the same.
	Variant string
	Repeat  int
	Seed    uint64
	// Role is who speaks: the agent (empty), "user", or "judge" with the number of
	// the vote, such as "judge/2".
	Role string
}

// A Role says who a message is from.
type Role string

const (
	// User is the user's side: its text, or the results of tools.
	User Role = "user"
	// Assistant is the model.
	Assistant Role = "assistant"
)

// A Message is one message of a conversation.
type Message struct {
	Role Role
	Text string
	// Calls that the assistant asks for.
	Calls []Call
	// Results answer the calls of the message before, in its order.
	Results []Result
	// Reasoning is what the model thought aloud.
	Reasoning string
	// Opaque is the provider's own form of an assistant message, for sending it
	// back unchanged (signed reasoning). Only the adapter that made it reads it.
	Opaque eval.JSON
}

// A Call is a tool call as the model asks for it.
type Call struct {
	ID   string
	Tool string
	// Arguments as the model wrote them: they may be no JSON at all.
	Arguments string
}

// A Result is what the model is told of a call.
type Result struct {
	ID    string // of the call
	Tool  string
	Text  string
	Error bool
}

// A Tool is a tool definition. Schema is a JSON Schema of an object.
type Tool struct {
	Name        string
	Description string
	Schema      eval.JSON
}

// A Stop says why an answer ended.
type Stop string

const (
	// StopEnd: the model has said what it wants to say.
	StopEnd Stop = "end"
	// StopCalls: the model waits for the results of its calls.
	StopCalls Stop = "calls"
	// StopOutput: the answer was cut at its limit.
	StopOutput Stop = "output_limit"
	// StopRefused: the model or its content filter refused.
	StopRefused Stop = "refused"
	// StopOther: none of these; Word has the provider's own.
	StopOther Stop = "other"
)

// A Response is a model's answer.
type Response struct {
	Message Message
	Stop    Stop
	// Word is the provider's own for the stop.
	Word  string
	Usage eval.Usage
	// Model and ID as the provider names them.
	Model string
	ID    string
	// Header of the HTTP answer; nil where there was none.
	Header http.Header
	// Raw answer, byte for byte; nil where there was none.
	Raw eval.JSON
	// WaitedMS was spent before the call that succeeded, waiting out what the
	// provider asked for and overload, failed calls included; LimiterMS waiting for
	// a place of our own limiter. Tries is how many calls it took, at least 1.
	WaitedMS  float64
	LimiterMS float64
	Tries     int
}
