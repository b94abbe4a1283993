package farmfile

import (
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/price"
)

// Prices is a list of prices, such as a [price.List].
type Prices interface {
	Find(q price.Query) (eval.Price, error)
	Named(name string, at time.Time) (eval.Price, error)
}

// Resolve gives every model its price: what the suite or the farm says in
// numbers, else what the list says at a time. Nobody pays for a model that is
// played back or scripted, so that one has none, unless its suite gives it one to
// try prices with. The result says why a model has no price, by its name; it is
// empty when all have.
func Resolve(models map[string]eval.Model, list Prices, at time.Time) map[string]error {
	unknown := map[string]error{}
	for name, m := range models {
		p, err := find(m, list, at)
		if err != nil {
			unknown[name] = err
		}
		m.Price, m.PriceOverride = p, nil
		models[name] = m
	}
	return unknown
}

// find is the price of one model; nil is nothing to pay.
func find(m eval.Model, list Prices, at time.Time) (*eval.Price, error) {
	how := m.PriceOverride
	switch {
	case m.Replayed():
		return nil, nil
	case m.Price != nil || m.Provider == eval.ProviderScripted && how == nil:
		return m.Price, nil
	case how == nil:
		how = &eval.PriceOverride{}
	}
	var p eval.Price
	var err error
	if how.Like != "" {
		p, err = list.Named(how.Like, at)
	} else {
		p, err = list.Find(price.Query{Provider: m.Provider, BaseURL: m.BaseURL, Model: m.Model, At: at})
	}
	if err != nil {
		return nil, err
	}
	if how.Factor > 0 {
		p = price.Scale(p, how.Factor)
	}
	return &p, nil
}
