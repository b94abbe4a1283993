package suite

import (
	"strconv"

	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// The structs of this file are the moves of a policy file.

// One thing that the scripted model does: exactly one of say, call, calls, choose, if and fail; say may stand beside call and calls.
type moveFile struct {
	strictyaml.At
	// What the model says.
	Say string `yaml:"say,omitempty"`
	// Name of the tool to call.
	Call string `yaml:"call,omitempty"`
	// Arguments of the call.
	Arguments *strictyaml.Node `yaml:"arguments,omitempty"`
	// Arguments of the call as text, to be malformed on purpose.
	Raw *string `yaml:"raw,omitempty"`
	// Several calls at once.
	Calls []moveCallFile `yaml:"calls,omitempty"`
	// How often the move is made, in turns that follow each other; -1 is for ever.
	Times moveTimes `yaml:"times,omitempty"`
	// Several ways to go on, one of which is taken.
	Choose []choiceFile `yaml:"choose,omitempty"`
	// A condition on the latest message that is not the model's own.
	If *conditionFile `yaml:"if,omitempty"`
	// Moves when the condition holds.
	Then movesFile `yaml:"then,omitempty"`
	// Moves when it does not.
	Else movesFile `yaml:"else,omitempty"`
	// The call to the model fails.
	Fail *moveFailFile `yaml:"fail,omitempty"`
	// Tokens to report. Default: one for every four bytes.
	Usage *moveUsageFile `yaml:"usage,omitempty"`
	// How long the answer takes.
	Latency duration `yaml:"latency,omitempty"`
}

// One of several calls at once.
type moveCallFile struct {
	// Name of the tool to call.
	Tool string `yaml:"tool"`
	// Arguments of the call.
	Arguments *strictyaml.Node `yaml:"arguments,omitempty"`
	// Arguments of the call as text, to be malformed on purpose.
	Raw *string `yaml:"raw,omitempty"`
}

// One of several ways to go on.
type choiceFile struct {
	// Weight relative to the other choices.
	Weight choiceWeight `yaml:"weight"`
	// Moves of the choice. None goes on with what follows.
	Moves movesFile `yaml:"moves,omitempty"`
}

// A condition on the latest message that is not the model's own. Of two keys both must hold.
type conditionFile struct {
	// Text that the message must contain.
	Contains string `yaml:"contains,omitempty"`
	// true: a tool result of the message must be an error.
	Error bool `yaml:"error,omitempty"`
}

// How a call to the model fails.
type moveFailFile struct {
	// rate_limit, overloaded, quota, auth, bad_request, context_length, content_filter or network.
	Kind failKind `yaml:"kind"`
	// The wait that the provider asks for.
	RetryAfter duration `yaml:"retry_after,omitempty"`
}

// Tokens to report.
type moveUsageFile struct {
	// All tokens that went in, those of a cache included.
	Input natural `yaml:"input,omitempty"`
	// Tokens of them that were read from a cache.
	CacheRead natural `yaml:"cache_read,omitempty"`
	// Tokens of them that were written to a cache.
	CacheWrite natural `yaml:"cache_write,omitempty"`
	// All tokens that came out, reasoning included.
	Output natural `yaml:"output,omitempty"`
	// Tokens of them that are reasoning.
	Reasoning natural `yaml:"reasoning,omitempty"`
}

type failKind string

func (failKind) Choices() []string {
	return []string{
		string(llm.RateLimit), string(llm.Overloaded), string(llm.Quota), string(llm.Auth),
		string(llm.BadRequest), string(llm.ContextLength), string(llm.ContentFilter), string(llm.Network),
	}
}

// moveTimes is a whole number from 1, or -1.
type moveTimes int

func (t *moveTimes) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	i, err := strconv.Atoi(n.Text)
	if n.Kind != strictyaml.Number || err != nil || i != -1 && i < 1 || i > most {
		d.Want(n, "a whole number from 1, or -1 for ever")
		return
	}
	*t = moveTimes(i)
}

// choiceWeight is a number from 0.
type choiceWeight float64

func (w *choiceWeight) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	f, err := strconv.ParseFloat(n.Text, 64)
	if n.Kind != strictyaml.Number || err != nil || !(f >= 0 && f <= most) {
		d.Want(n, "a number from 0")
		return
	}
	*w = choiceWeight(f)
}

func (c *conditionFile) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	type plain conditionFile
	d.Decode(n, (*plain)(c))
	if e := n.Get("error"); e != nil && e.Kind == strictyaml.Bool && !c.Error {
		d.Report(e.Pos, "want true, got false", `write {error: true} and exchange "then" and "else"`)
	}
	if n.Kind == strictyaml.Map && n.Field("error") == nil && c.Contains == "" && (n.Field("contains") == nil || n.Get("contains").Kind == strictyaml.String) {
		d.Report(n.Pos, "a condition that asks for nothing", "write {contains: TEXT} or {error: true}")
	}
}

func (c *moveCallFile) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	type plain moveCallFile
	d.Decode(n, (*plain)(c))
	checkArguments(d, n)
}
