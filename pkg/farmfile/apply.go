package farmfile

import (
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// Apply adds what the file says to the models of a suite. What a suite says of a
// price or of keys stays. Of two rates the tighter one holds, number by number: a
// suite can ask for less than its operator allows, and never for more.
func (f *File) Apply(models map[string]eval.Model) {
	if f == nil {
		return
	}
	for name, m := range models {
		for i := range f.Providers {
			if p := &f.Providers[i]; p.covers(m) {
				p.apply(&m)
				models[name] = m
			}
		}
	}
}

// Covers says whether the file has the provider of a model, at its address.
func (f *File) Covers(m eval.Model) bool {
	return f != nil && slices.ContainsFunc(f.Providers, func(p Provider) bool { return p.covers(m) })
}

// covers says whether a model is called at the provider's address.
func (p *Provider) covers(m eval.Model) bool {
	return p.Provider == m.Provider && eval.Address(p.Provider, p.BaseURL) == eval.Address(m.Provider, m.BaseURL)
}

func (p *Provider) apply(m *eval.Model) {
	if m.APIKey == "" && len(m.APIKeys) == 0 {
		m.APIKeys = slices.Clone(p.APIKeys)
	}
	rate := p.Rate
	// The first entries that say something of it hold.
	for _, entry := range slices.Backward(p.Models) {
		if entry.Rate != nil && matches(entry.Name, m.Model) {
			rate = entry.Rate
		}
	}
	m.Rate = tighter(rate, m.Rate)
	for _, entry := range p.Models {
		if m.Price != nil || m.PriceOverride != nil {
			return
		}
		if matches(entry.Name, m.Model) {
			m.Price, m.PriceOverride = entry.Price, entry.PriceOverride
		}
	}
}

// tighter is the smaller of each two bounds. The operator's says what counts
// together. Judges are bounded apart only if both say so: where one of the two
// lets judges share with all others, more would get through than it allows.
func tighter(operator, own *eval.Rate) *eval.Rate {
	if operator == nil {
		return own
	}
	out := *operator
	if own == nil {
		return &out
	}
	out.RequestsPerMinute = least(operator.RequestsPerMinute, own.RequestsPerMinute)
	out.TokensPerMinute = least(operator.TokensPerMinute, own.TokensPerMinute)
	out.InputTokensPerMinute = least(operator.InputTokensPerMinute, own.InputTokensPerMinute)
	out.OutputTokensPerMinute = least(operator.OutputTokensPerMinute, own.OutputTokensPerMinute)
	out.Concurrent = least(operator.Concurrent, own.Concurrent)
	out.Judge = nil
	if operator.Judge != nil && own.Judge != nil {
		out.Judge = tighter(operator.Judge, own.Judge)
	}
	return &out
}

// least of two bounds, of which 0 is none.
func least(a, b int) int {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
