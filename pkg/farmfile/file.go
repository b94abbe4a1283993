package farmfile

import (
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// A File is what a farm.yaml says. Nil is that of a farm without one.
type File struct {
	// Providers in the order of their names.
	Providers []Provider
	// DayMicroUSD bounds what all runs of a day spend. Zero means no bound.
	DayMicroUSD int64
	// ConfirmMicroUSD is the cost from which a run is confirmed before it starts.
	// Zero means that the file does not say.
	ConfirmMicroUSD int64
	// Targets are told of runs that are done, in the order of their names.
	Targets []eval.Target
	// Warnings do not keep the file from being used.
	Warnings []strictyaml.Problem
}

// A Provider is how the models of one provider at one address are called.
type Provider struct {
	// Name of the entry, for people.
	Name     string
	Provider eval.Provider
	// BaseURL of a compatible server; empty means the provider's own.
	BaseURL string
	// APIKeys are references to secrets.
	APIKeys []string
	// Rate of each model that has none in Models.
	Rate *eval.Rate
	// Models in the order in which they are looked at: exact names, then globs, the
	// longer before the shorter.
	Models []Model
}

// A Model is one entry for a model, or for those that a glob matches.
type Model struct {
	// Name of the model, or a glob: * stands for any text.
	Name string
	// Rate of the model. Models of a glob share it.
	Rate *eval.Rate
	// Price, or how to find it in the price list; at most one of them.
	Price         *eval.Price
	PriceOverride *eval.PriceOverride
}
