package farmfile

import (
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// A File is what a farm.yaml says. Nil is that of a farm without one.
type File struct {
	// Values of the settings that the file has, by name. Their texts are good.
	Values map[string]Value
	// Servers that suites may use by these names.
	Servers map[string]eval.Server
	// Commands that scorers and verify checks of suites may run that are sent over the
	// API, each with its arguments, in the order of their names.
	Commands [][]string
	// Tokens in the order of their names.
	Tokens []Token
	// Schedules in the order of their names. Their File is empty; the paths of those of
	// a file that was loaded from a folder are absolute.
	Schedules []eval.Schedule
	// Providers in the order of their names.
	Providers []Provider
	// Tenants in the order of their names.
	Tenants []Tenant
	// Targets are told of runs that are done, in the order of their names.
	Targets []eval.Target
	// Warnings do not keep the file from being used.
	Warnings []strictyaml.Problem
}

// A Value is what a file says of one setting.
type Value struct {
	// Text as [Setting.Parse] reads it. A path of a file that was loaded from a folder
	// is absolute; references to secrets are left.
	Text string
	// Written is the place of it: file:line:column.
	Written string
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

// A Token lets its bearer use the API. It is known by its hash.
type Token struct {
	Name string
	// SHA256 of the token in hex.
	SHA256 string
	// Scope is worker, read or run.
	Scope string
	// Tenant whose runs are all that the bearer sees and makes; empty for all runs.
	Tenant string
}

// A Tenant is on whose account runs are, and its part of the farm.
type Tenant struct {
	Name string
	// Trials bounds how many trials of the tenant may be out at once. Zero means no
	// bound.
	Trials int
	// Weight of the tenant against others; 1 unless the file says otherwise.
	Weight int
}
