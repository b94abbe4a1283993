package suite

import (
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// RateFile is a rate as suites and farm files write it.
type RateFile = rateFile

// How fast a model may be called with one key, by the whole farm.
type rateFile struct {
	strictyaml.At
	boundsFile
	// Bounds of the calls of judges, which are then counted apart. Default: judges share.
	Judge *judgeRateFile `yaml:"judge,omitempty"`
}

// How fast judges may call a model with one key, by the whole farm.
type judgeRateFile struct {
	boundsFile
}

// Bounds of the calls with one key.
type boundsFile struct {
	// Requests in a minute.
	RequestsPerMinute positive `yaml:"requests_per_minute,omitempty"`
	// Tokens in a minute, those in and out together.
	TokensPerMinute positive `yaml:"tokens_per_minute,omitempty"`
	// Tokens in a minute that go in, where the provider counts them apart.
	InputTokensPerMinute positive `yaml:"input_tokens_per_minute,omitempty"`
	// Tokens in a minute that come out, where the provider counts them apart.
	OutputTokensPerMinute positive `yaml:"output_tokens_per_minute,omitempty"`
	// Calls in flight.
	Concurrent positive `yaml:"concurrent,omitempty"`
}

// UnmarshalNode decodes a rate that bounds something.
func (f *rateFile) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	type plain rateFile
	d.Decode(n, (*plain)(f))
	checkBounds(d, n)
}

func (f *judgeRateFile) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	type plain judgeRateFile
	d.Decode(n, (*plain)(f))
	checkBounds(d, n)
}

// checkBounds wants a bound, and tokens that are counted in one way.
func checkBounds(d *strictyaml.Decoder, n *strictyaml.Node) {
	if n.Kind != strictyaml.Map {
		return
	}
	if len(n.Fields) == 0 {
		d.Report(n.Pos, "the rate bounds nothing", "leave it out: what a provider allows is then found out")
	}
	for _, key := range []string{"input_tokens_per_minute", "output_tokens_per_minute"} {
		if n.Field("tokens_per_minute") != nil && n.Field(key) != nil {
			d.Report(n.Place(key), key+" and tokens_per_minute do not go together", "a provider counts tokens in and out together, or apart")
		}
	}
}

// Rate is the noun of the form; nil stays nil.
func (f *rateFile) Rate() *eval.Rate {
	if f == nil {
		return nil
	}
	out := f.bounds()
	if f.Judge != nil {
		judge := f.Judge.bounds()
		out.Judge = &judge
	}
	return &out
}

func (f boundsFile) bounds() eval.Rate {
	return eval.Rate{
		RequestsPerMinute: int(f.RequestsPerMinute), TokensPerMinute: int(f.TokensPerMinute),
		InputTokensPerMinute: int(f.InputTokensPerMinute), OutputTokensPerMinute: int(f.OutputTokensPerMinute),
		Concurrent: int(f.Concurrent),
	}
}
