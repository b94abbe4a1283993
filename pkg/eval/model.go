package eval

import "time"

// A Model is one language model as a suite declares it. Its strings may hold
// ${{ secrets.NAME }} references, which only the worker resolves.
type Model struct {
	// Provider names the wire format, or who answers without one.
	Provider Provider `json:"provider"`
	// Model is the provider's name of the model.
	Model string `json:"model,omitempty"`
	// BaseURL of a compatible server; empty means the provider's own.
	BaseURL string `json:"base_url,omitempty"`
	// APIKey is a reference to a secret. Empty means the provider's usual one:
	// ANTHROPIC_API_KEY or OPENAI_API_KEY.
	APIKey string `json:"api_key,omitempty"`
	// Headers are sent with every request.
	Headers map[string]string `json:"headers,omitempty"`
	Sampling
	// CallTimeout bounds one call. Zero means 10 min.
	CallTimeout time.Duration `json:"call_timeout_ns,omitempty"`
	// Identify sends the case, the repeat and the seed of a trial as headers, so
	// that a stub or a gateway can tell trials apart.
	Identify bool `json:"identify,omitempty"`
	// Script is the file of the policy that the scripted provider follows.
	Script string  `json:"script,omitempty"`
	Policy *Policy `json:"policy,omitempty"`
	// Cassette records the model's answers, or replays them.
	Cassette *Cassette `json:"cassette,omitempty"`
	Rate     *Rate     `json:"rate,omitempty"`
}

// Replayed says whether the model's answers are played back, so that nobody is
// asked.
func (m Model) Replayed() bool { return m.Cassette != nil && !m.Cassette.Record }

// A Provider is whose wire format a model speaks.
type Provider string

const (
	// ProviderAnthropic is Anthropic's Messages API.
	ProviderAnthropic Provider = "anthropic"
	// ProviderOpenAI is OpenAI's Chat Completions API, and every server that
	// speaks it.
	ProviderOpenAI Provider = "openai"
	// ProviderScripted follows a policy, with no network.
	ProviderScripted Provider = "scripted"
)

// Sampling is how a model is asked to generate. What is not set is left to the
// provider.
type Sampling struct {
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"top_p,omitempty"`
	// Seed asks for repeatable sampling where the provider knows it. TrialSeed
	// takes the seed of the trial instead, which is the same for all variants.
	Seed      *int64 `json:"seed,omitempty"`
	TrialSeed bool   `json:"trial_seed,omitempty"`
	// MaxOutputTokens bounds one answer. Zero means 4096: it is always sent.
	MaxOutputTokens int       `json:"max_output_tokens,omitempty"`
	Thinking        *Thinking `json:"thinking,omitempty"`
}

// Over returns s with what o sets on top.
func (s Sampling) Over(o Sampling) Sampling {
	if o.Temperature != nil {
		s.Temperature = o.Temperature
	}
	if o.TopP != nil {
		s.TopP = o.TopP
	}
	if o.Seed != nil || o.TrialSeed {
		s.Seed, s.TrialSeed = o.Seed, o.TrialSeed
	}
	if o.MaxOutputTokens > 0 {
		s.MaxOutputTokens = o.MaxOutputTokens
	}
	if o.Thinking != nil {
		s.Thinking = o.Thinking
	}
	return s
}

// Thinking asks a model to reason before it answers: by effort, by a number of
// tokens, or both, as far as the provider knows them.
type Thinking struct {
	// Effort such as low, medium or high.
	Effort       string `json:"effort,omitempty"`
	BudgetTokens int    `json:"budget_tokens,omitempty"`
}

// A Cassette is a folder of recorded model calls.
type Cassette struct {
	Dir string `json:"dir"`
	// Record asks the model and keeps its answers. Otherwise they are played
	// back, and a call that was not recorded is an error.
	Record bool `json:"record,omitempty"`
}

// A Rate bounds how fast a model may be called.
type Rate struct {
	RequestsPerMinute int `json:"requests_per_minute,omitempty"`
}

// Usage counts the tokens of model calls.
type Usage struct {
	// Input is all tokens that went in, those read from and written to a cache
	// included.
	Input      int `json:"input"`
	CacheRead  int `json:"cache_read,omitempty"`
	CacheWrite int `json:"cache_write,omitempty"`
	// Output is all tokens that came out, reasoning included.
	Output    int `json:"output"`
	Reasoning int `json:"reasoning,omitempty"`
}

// Add returns the sum.
func (u Usage) Add(o Usage) Usage {
	return Usage{
		Input: u.Input + o.Input, CacheRead: u.CacheRead + o.CacheRead, CacheWrite: u.CacheWrite + o.CacheWrite,
		Output: u.Output + o.Output, Reasoning: u.Reasoning + o.Reasoning,
	}
}

// Total is the tokens in and out.
func (u Usage) Total() int { return u.Input + u.Output }
