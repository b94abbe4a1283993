package eval

import (
	"maps"
	"reflect"
)

// Agent is how the agent of a case is set up, beside its model and its tools.
// What is not set is left to the next wider place: the axis point over the
// case, the case over the suite.
type Agent struct {
	// System is the system prompt.
	System string `json:"system,omitempty"`
	// Sampling goes over that of the model.
	Sampling
	// ToolOutputBytes bounds how much of one tool result the model is shown; what
	// is cut is marked. Zero means 32 KiB.
	ToolOutputBytes int `json:"tool_output_bytes,omitempty"`
	// LoopAfter ends a trial in which the same call with the same answer was made
	// so many times in a row. Zero means 5.
	LoopAfter int `json:"loop_after,omitempty"`
	// Descriptions replace those of tools, by the tool's name.
	Descriptions map[string]string `json:"descriptions,omitempty"`
	// Resources gives the agent a tool that reads a server's resources.
	Resources bool `json:"resources,omitempty"`
}

// Over returns a with what o sets on top.
func (a Agent) Over(o Agent) Agent {
	if o.System != "" {
		a.System = o.System
	}
	a.Sampling = a.Sampling.Over(o.Sampling)
	if o.ToolOutputBytes > 0 {
		a.ToolOutputBytes = o.ToolOutputBytes
	}
	if o.LoopAfter > 0 {
		a.LoopAfter = o.LoopAfter
	}
	a.Resources = a.Resources || o.Resources
	if len(o.Descriptions) > 0 {
		merged := map[string]string{}
		maps.Copy(merged, a.Descriptions)
		maps.Copy(merged, o.Descriptions)
		a.Descriptions = merged
	}
	return a
}

// setup is the digest of all but the sampling; empty where nothing is set.
func (a Agent) setup() string {
	a.Sampling = Sampling{}
	if reflect.ValueOf(a).IsZero() {
		return ""
	}
	return Digest(a)
}

// Loading is how tool definitions reach the model.
type Loading string

const (
	// LoadingEager puts every definition into the context at the start. It is the
	// default.
	LoadingEager Loading = "eager"
	// LoadingSearch gives the agent one tool that searches, and loads the
	// definitions that it finds.
	LoadingSearch Loading = "search"
)

// A User is the user's side of a conversation after the prompt: lines to say in
// turn, or a model that plays the user.
type User struct {
	// Turns are said one after the other, each when the agent has answered
	// without calling a tool.
	Turns []string `json:"turns,omitempty"`
	// Model names the model that plays the user.
	Model string `json:"model,omitempty"`
	// Persona and Goal of the user that the model plays.
	Persona string `json:"persona,omitempty"`
	Goal    string `json:"goal,omitempty"`
	// Stop is the word with which the user ends the conversation. Empty means
	// "###STOP###".
	Stop string `json:"stop,omitempty"`
	// MaxTurns bounds what the user says after the prompt. Zero means 10.
	MaxTurns int `json:"max_turns,omitempty"`
}
