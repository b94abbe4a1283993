package price

import (
	"net/url"
	"strings"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A Query asks what a model costs. The zero value of BaseURL is the provider's own.
type Query struct {
	// Provider is whose wire format the model speaks.
	Provider eval.Provider
	// BaseURL that is called; empty means the provider's own.
	BaseURL string
	// Model is the provider's name of it.
	Model string
	// At is when it is called. A price may change while a run lasts.
	At time.Time
}

// Find returns what a model costs where it is called. [UnknownError] means that the
// list does not say.
func (l *List) Find(q Query) (eval.Price, error) {
	p := l.at(q)
	if p == nil {
		return eval.Price{}, l.unowned(q)
	}
	return l.price(p, q.Model, q.At)
}

// at finds the provider whose URL is called; nil when the list has none.
func (l *List) at(q Query) *provider {
	if q.BaseURL == "" {
		return l.named(string(q.Provider))
	}
	text, host := plain(q.BaseURL)
	for _, p := range l.providers {
		if begin := p.url.FindString(text); begin != "" && ends(begin, host) {
			return p
		}
	}
	return nil
}

// plain writes a URL as the list's expressions expect it: without its port, and in
// lower case up to the path. The dots of the path are hidden, because
// https://(.*\.)?googleapis\.com would find a host in it. host is all before it.
func plain(base string) (text, host string) {
	u, err := url.Parse(strings.TrimSpace(base))
	if err != nil || u.Host == "" {
		return "", ""
	}
	host = strings.ToLower(u.Scheme + "://" + u.Hostname())
	return host + strings.ReplaceAll(u.EscapedPath(), ".", "_"), host
}

// ends says whether what an expression found holds the whole host, so that
// https://api\.openai\.com does not own api.openai.com.example.org. One that ends
// in a dot leaves the rest open.
func ends(begin, host string) bool {
	return len(begin) >= len(host) || strings.HasSuffix(begin, ".")
}

// named finds a provider by its id; nil when there is none.
func (l *List) named(id string) *provider {
	for _, p := range l.providers {
		if p.id == id {
			return p
		}
	}
	return nil
}

// price of a model at a provider.
func (l *List) price(p *provider, name string, at time.Time) (eval.Price, error) {
	from, m := p.find(name)
	if m == nil {
		return eval.Price{}, &UnknownError{Provider: p.id, Model: name, Nearest: p.nearest(name)}
	}
	price, whole := m.at(at)
	if !whole {
		return eval.Price{}, &UnknownError{Provider: p.id, Model: name, Listed: true}
	}
	price.From = from.id + "/" + m.id
	return price, nil
}

// find a model of a provider by its name, and whose it is: the provider's, or
// that of another whose prices it takes.
func (p *provider) find(name string) (*provider, *model) {
	name = strings.ToLower(strings.TrimSpace(name))
	for _, spelling := range []string{name, dashedDates(name)} {
		for _, q := range append([]*provider{p}, p.others...) {
			if m := q.own(spelling); m != nil {
				return q, m
			}
		}
	}
	return nil, nil
}

// own finds a model among those of a provider. An id counts too that its rule does
// not mean, as the last resort: it is what errors and suites call the model.
func (p *provider) own(name string) *model {
	for i := range p.models {
		if p.models[i].names.fits(name) {
			return &p.models[i]
		}
	}
	for i := range p.models {
		if strings.EqualFold(p.models[i].id, name) {
			return &p.models[i]
		}
	}
	return nil
}
