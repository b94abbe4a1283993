package suite

import (
	"strconv"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// What a suite says of models and agents.

// A language model.
type modelFile struct {
	strictyaml.At
	// Whose wire format the model speaks: anthropic, openai (and every server that speaks it), or scripted, which needs no network.
	Provider provider `yaml:"provider,omitempty"`
	// The provider's name of the model.
	Model string `yaml:"model,omitempty"`
	// Address of a compatible server. Default: the provider's own.
	BaseURL string `yaml:"base_url,omitempty"`
	// The key, as a reference to a secret. Default: ${{ secrets.ANTHROPIC_API_KEY }} or ${{ secrets.OPENAI_API_KEY }}.
	APIKey string `yaml:"api_key,omitempty"`
	// Several keys in its place, each with limits of its own at the provider. A trial keeps to one of them.
	APIKeys []string `yaml:"api_keys,omitempty"`
	// Headers of every request.
	Headers map[string]string `yaml:"headers,omitempty"`
	samplingFile
	// Bound of one call. Default 10m.
	CallTimeout duration `yaml:"call_timeout,omitempty"`
	// Tell the case, the repeat and the seed of a trial in headers, so that a stub or a gateway can tell trials apart.
	Identify bool `yaml:"identify,omitempty"`
	// Policy file that the scripted provider follows.
	Script string `yaml:"script,omitempty"`
	// How fast the model may be called with one key, by the whole farm. Default: what the provider allows is found out.
	Rate *RateFile `yaml:"rate,omitempty"`
	// What the model costs: free, 0, or a map. Default: what the price list says.
	Price *PriceFile `yaml:"price,omitempty"`
}

// How a model is asked to generate. What is not set is left to the provider.
type samplingFile struct {
	// Sampling temperature, 0 to 2.
	Temperature *temperature `yaml:"temperature,omitempty"`
	// Share of the probability to sample from, 0 to 1.
	TopP *share `yaml:"top_p,omitempty"`
	// Seed for repeatable sampling, where the provider knows it: a number, or trial for the seed of the trial.
	Seed *seedFile `yaml:"seed,omitempty"`
	// Bound of one answer. Default 4096.
	MaxOutputTokens positive `yaml:"max_output_tokens,omitempty"`
	// Reason before answering.
	Thinking *thinkingFile `yaml:"thinking,omitempty"`
}

func (f samplingFile) sampling() eval.Sampling {
	out := eval.Sampling{Temperature: (*float64)(f.Temperature), TopP: (*float64)(f.TopP), MaxOutputTokens: int(f.MaxOutputTokens)}
	if f.Seed != nil {
		out.Seed, out.TrialSeed = f.Seed.N, f.Seed.Trial
	}
	if t := f.Thinking; t != nil {
		out.Thinking = &eval.Thinking{Effort: string(t.Effort), BudgetTokens: int(t.BudgetTokens)}
	}
	return out
}

// Reason before answering: by effort, by a number of tokens, or both.
type thinkingFile struct {
	// none, minimal, low, medium, high, xhigh or max, as far as the provider knows it.
	Effort effort `yaml:"effort,omitempty"`
	// Most tokens to reason with.
	BudgetTokens positive `yaml:"budget_tokens,omitempty"`
}

func (t *thinkingFile) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	type plain thinkingFile
	d.Decode(n, (*plain)(t))
	if n.Kind == strictyaml.Map && n.Field("effort") == nil && n.Field("budget_tokens") == nil {
		d.Report(n.Pos, "thinking says neither effort nor budget_tokens", "")
	}
}

// seedFile is a number, or trial.
type seedFile struct {
	N     *int64
	Trial bool
}

// trialSeed is the word for the seed of the trial.
const trialSeed = "trial"

func (s *seedFile) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	if n.Kind == strictyaml.String && n.Text == trialSeed {
		s.Trial = true
		return
	}
	i, err := strconv.ParseInt(n.Text, 10, 64)
	if n.Kind != strictyaml.Number && !n.Loose || err != nil {
		d.Want(n, "a whole number, or trial for the seed of the trial")
		return
	}
	s.N = &i
}

// How the agent is set up, beside its model and its tools.
type agentFile struct {
	strictyaml.At
	// The system prompt, or file:// and the path of one.
	System string `yaml:"system,omitempty"`
	samplingFile
	// Most bytes of one tool result that the model is shown. Default 32768.
	ToolOutputBytes positive `yaml:"tool_output_bytes,omitempty"`
	// How often in a row the same call with the same answer ends a trial. Default 5.
	LoopAfter several `yaml:"loop_after,omitempty"`
	// Texts in the place of those that describe tools, by the tool's name.
	Descriptions map[string]string `yaml:"descriptions,omitempty"`
	// Give the agent a tool that reads the resources of servers.
	Resources bool `yaml:"resources,omitempty"`
}

// What the user says after the prompt: lines in turn, or a model that plays the user.
type userFile struct {
	strictyaml.At
	// Lines to say one after the other, each when the agent has answered without calling a tool.
	Turns []string `yaml:"turns,omitempty"`
	// Name of the model that plays the user.
	Model string `yaml:"model,omitempty"`
	// Who the user is.
	Persona string `yaml:"persona,omitempty"`
	// What the user wants.
	Goal string `yaml:"goal,omitempty"`
	// Word with which the user ends the conversation. Default ###STOP###.
	Stop string `yaml:"stop,omitempty"`
	// Most that the user says after the prompt. Default 10.
	MaxTurns positive `yaml:"max_turns,omitempty"`
}
