package price

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
)

//go:embed genai-prices.json
var embedded []byte

// A List of prices is ready for searching, by several goroutines too.
type List struct {
	version   string
	providers []*provider
}

// A provider sells models at a URL.
type provider struct {
	id string
	// url is what the URL begins with that it is called at.
	url *regexp.Regexp
	// makes are the names of the models that it makes itself; nil when it only
	// serves those of others, or does not say.
	makes  *rule
	models []model
	// others are the providers whose prices it takes for what is not among models.
	others []*provider
}

// A model, and what it costs at a provider. The first one counts whose rule a name
// fits.
type model struct {
	id     string
	names  rule
	prices []dated
}

// Load reads the list that the binary carries.
func Load() (*List, error) {
	l, err := parse(embedded)
	if err != nil {
		return nil, fmt.Errorf("read the price list: %w", err)
	}
	return l, nil
}

// Version of the list, such as "genai-prices 0.1.8".
func (l *List) Version() string { return l.version }

// parse reads a list.
func parse(data []byte) (*List, error) {
	var form struct {
		Version   string         `json:"version"`
		Providers []providerForm `json:"providers"`
	}
	if err := json.Unmarshal(data, &form); err != nil {
		return nil, err
	}
	if form.Version == "" {
		return nil, errors.New("no version")
	}
	l := &List{version: form.Version}
	byID := map[string]*provider{}
	for i, pf := range form.Providers {
		p, err := pf.provider()
		if err != nil {
			return nil, fmt.Errorf("providers[%d] %q: %w", i, pf.ID, err)
		}
		if pf.ID == "" || byID[pf.ID] != nil {
			return nil, fmt.Errorf("providers[%d] %q: an id of its own is missing", i, pf.ID)
		}
		l.providers = append(l.providers, p)
		byID[p.id] = p
	}
	for i, pf := range form.Providers {
		for _, id := range pf.Others {
			other := byID[id]
			if other == nil {
				return nil, fmt.Errorf("providers[%d] %q: fallback_model_providers: there is no %q", i, pf.ID, id)
			}
			l.providers[i].others = append(l.providers[i].others, other)
		}
	}
	return l, nil
}

type providerForm struct {
	ID     string          `json:"id"`
	URL    string          `json:"api_pattern"`
	Makes  json.RawMessage `json:"model_match"`
	Others []string        `json:"fallback_model_providers"`
	Models []struct {
		ID     string          `json:"id"`
		Match  json.RawMessage `json:"match"`
		Prices json.RawMessage `json:"prices"`
	} `json:"models"`
}

func (f providerForm) provider() (*provider, error) {
	p := &provider{id: f.ID}
	if f.URL == "" {
		return nil, errors.New("no api_pattern")
	}
	var err error
	if p.url, err = regexp.Compile("^(?:" + f.URL + ")"); err != nil {
		return nil, fmt.Errorf("api_pattern: %w", err)
	}
	if len(f.Makes) > 0 {
		makes, err := parseRule(f.Makes)
		if err != nil {
			return nil, fmt.Errorf("model_match: %w", err)
		}
		p.makes = &makes
	}
	for i, mf := range f.Models {
		m := model{id: mf.ID}
		if m.names, err = parseRule(mf.Match); err != nil {
			return nil, fmt.Errorf("models[%d] %q: match: %w", i, mf.ID, err)
		}
		if m.prices, err = parsePrices(mf.Prices); err != nil {
			return nil, fmt.Errorf("models[%d] %q: prices: %w", i, mf.ID, err)
		}
		p.models = append(p.models, m)
	}
	return p, nil
}
