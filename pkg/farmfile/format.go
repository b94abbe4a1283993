package farmfile

import (
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// The structs of this file are the format of farm.yaml: [Parse] decodes into them,
// and the schema for editors is made of them and of their comments.

// An evalfarm farm file: how fast models may be called, with which keys, at which prices, what may be spent, and who is told.
type farmFile struct {
	strictyaml.At
	// Version of the format: 1.
	Version version `yaml:"version" jsonschema:"enum=1"`
	// How models are called, by a name of your own.
	Providers map[string]entryFile `yaml:"providers,omitempty"`
	// Bounds of what all runs spend.
	Budgets *budgetsFile `yaml:"budgets,omitempty"`
	// Cost in US dollars from which a run has to be confirmed before it starts.
	ConfirmUSD suite.Dollars `yaml:"confirm_usd,omitempty"`
	// Who is told of runs that are done, by a name of your own.
	Notifications map[string]targetFile `yaml:"notifications,omitempty"`
}

// How the models of one provider at one address are called.
type entryFile struct {
	strictyaml.At
	// Whose wire format the models speak: anthropic or openai. Default: the name of the entry, if it is one of them.
	Provider wire `yaml:"provider,omitempty"`
	// Address of a compatible server, as suites write it. Default: the provider's own.
	BaseURL string `yaml:"base_url,omitempty"`
	// Keys of models that have none in their suite, as references to secrets.
	APIKeys []string `yaml:"api_keys,omitempty"`
	// How fast each model may be called with one key, unless models says otherwise.
	Rate *suite.RateFile `yaml:"rate,omitempty"`
	// Models by name. A name with * is a family, whose models share one rate.
	Models map[string]entryModelFile `yaml:"models,omitempty"`
}

// How one model, or one family of models, is called.
type entryModelFile struct {
	strictyaml.At
	// How fast it may be called with one key, in the place of the provider's rate.
	Rate *suite.RateFile `yaml:"rate,omitempty"`
	// What it costs where a suite does not say so: free, 0, or a map. Default: what the price list says.
	Price *suite.PriceFile `yaml:"price,omitempty"`
}

// Bounds of what all runs spend.
type budgetsFile struct {
	// US dollars that all runs of a day may spend.
	DayUSD suite.Dollars `yaml:"day_usd,omitempty"`
}

// wire is a provider that is called over a network.
type wire string

func (wire) Choices() []string {
	return []string{string(eval.ProviderAnthropic), string(eval.ProviderOpenAI)}
}

// version is that of the format.
type version int

const formatVersion version = 1

func (v *version) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	d.Decode(n, (*int)(v))
	switch {
	case *v > formatVersion:
		d.Report(n.Pos, fmt.Sprintf("farm file format %d is newer than this evalfarm, which reads %d", *v, formatVersion), "use a newer evalfarm")
	case *v < formatVersion && n.Kind == strictyaml.Number:
		d.Report(n.Pos, "there is no farm file format "+n.Text, fmt.Sprintf("write version: %d", formatVersion))
	}
}
