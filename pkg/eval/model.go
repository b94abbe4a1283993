package eval

import (
	"math"
	"time"
)

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
	// APIKeys are several instead. Each has limits of its own, and a trial keeps to
	// one of them.
	APIKeys []string `json:"api_keys,omitempty"`
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
	// Rate bounds the calls with one key. Nil leaves it to the limiter to find out.
	Rate *Rate `json:"rate,omitempty"`
	// Price of the model's tokens. Nil: nobody knows it; PriceHint says why, and what
	// would help.
	Price     *Price `json:"price,omitempty"`
	PriceHint string `json:"price_hint,omitempty"`
	// PriceOverride says how to find the price in the price list. Nil: by the names of
	// provider and model. A Price needs none.
	PriceOverride *PriceOverride `json:"price_override,omitempty"`
}

// Replayed says whether the model's answers are played back, so that nobody is
// asked.
func (m Model) Replayed() bool { return m.Cassette != nil && !m.Cassette.Record }

// Free says whether asking the model costs nothing: it is played back, scripted and
// given no price, or its price is nothing.
func (m Model) Free() bool {
	if m.Price == nil || m.Replayed() {
		return m.Replayed() || m.Provider == ProviderScripted
	}
	return m.Price.Bound(math.MaxInt32, math.MaxInt32) == 0
}

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

// A Rate bounds how fast a model may be called with one key, by the whole farm.
// Zero means no bound.
type Rate struct {
	RequestsPerMinute int `json:"requests_per_minute,omitempty"`
	// TokensPerMinute are those in and out together; the others are for providers
	// that count them apart.
	TokensPerMinute       int `json:"tokens_per_minute,omitempty"`
	InputTokensPerMinute  int `json:"input_tokens_per_minute,omitempty"`
	OutputTokensPerMinute int `json:"output_tokens_per_minute,omitempty"`
	// Concurrent is how many calls may be in flight.
	Concurrent int `json:"concurrent,omitempty"`
	// Pool names what counts together at the provider, such as a family of models.
	// Empty: the model alone.
	Pool string `json:"pool,omitempty"`
	// Judge bounds the calls of judges apart from all others. Nil: judges share.
	Judge *Rate `json:"judge,omitempty"`
}

// Bounded says whether the rate bounds how many calls are made in a time, so that
// nothing needs to be found out.
func (r Rate) Bounded() bool { return r.RequestsPerMinute > 0 || r.Concurrent > 0 }

// Usage counts the tokens of model calls.
type Usage struct {
	// Input is all tokens that went in, those read from and written to a cache
	// included.
	Input      int `json:"input"`
	CacheRead  int `json:"cache_read,omitempty"`
	CacheWrite int `json:"cache_write,omitempty"`
	// CacheWrite1H are those of CacheWrite that are kept for an hour instead of five
	// minutes, which costs more.
	CacheWrite1H int `json:"cache_write_1h,omitempty"`
	// Output is all tokens that came out, reasoning included.
	Output    int `json:"output"`
	Reasoning int `json:"reasoning,omitempty"`
}

// Add returns the sum.
func (u Usage) Add(o Usage) Usage {
	return Usage{
		Input: u.Input + o.Input, CacheRead: u.CacheRead + o.CacheRead, CacheWrite: u.CacheWrite + o.CacheWrite,
		CacheWrite1H: u.CacheWrite1H + o.CacheWrite1H,
		Output:       u.Output + o.Output, Reasoning: u.Reasoning + o.Reasoning,
	}
}

// Total is the tokens in and out.
func (u Usage) Total() int { return u.Input + u.Output }
