package price

import (
	"strings"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// Named returns what a model costs that is called as in [eval.Price.From],
// "anthropic/claude-haiku-4-5", or without its provider. That is then who makes
// the model, or the only one who sells a model of this id. [UnknownError] means
// that there is none, or more than one.
func (l *List) Named(name string, at time.Time) (eval.Price, error) {
	if id, model, ok := strings.Cut(name, "/"); ok {
		if p := l.named(id); p != nil {
			return l.price(p, model, at)
		}
	}
	lower := strings.ToLower(strings.TrimSpace(name))
	unknown := &UnknownError{Model: name}
	for _, p := range l.providers {
		if p.makes == nil || !p.makes.fits(lower) {
			continue
		}
		if p.own(lower) != nil {
			return l.price(p, name, at)
		}
		for _, id := range p.nearest(name) {
			unknown.Nearest = append(unknown.Nearest, p.id+"/"+id)
		}
	}
	sellers := l.sellers(lower)
	if len(sellers) == 1 {
		return l.price(sellers[0], name, at)
	}
	for _, p := range sellers {
		unknown.Nearest = append(unknown.Nearest, p.id+"/"+lower)
	}
	if len(unknown.Nearest) == 0 {
		unknown.Nearest = l.mistyped(lower)
	}
	unknown.Nearest = unknown.Nearest[:min(mostNear, len(unknown.Nearest))]
	return eval.Price{}, unknown
}

// mistyped is the model that a name which nobody has may mean, of those who make
// models.
func (l *List) mistyped(lower string) []string {
	var names []string
	full := map[string]string{}
	for _, p := range l.providers {
		if p.makes == nil {
			continue
		}
		for _, m := range p.models {
			id := p.id + "/" + m.id
			for _, name := range []string{m.id, id} {
				if full[name] == "" {
					full[name] = id
					names = append(names, name)
				}
			}
		}
	}
	if near := strictyaml.Closest(lower, names); near != "" {
		return []string{full[near]}
	}
	return nil
}

// sellers of a model of this id, in lower case.
func (l *List) sellers(id string) []*provider {
	var sellers []*provider
	for _, p := range l.providers {
		for _, m := range p.models {
			if strings.EqualFold(m.id, id) {
				sellers = append(sellers, p)
				break
			}
		}
	}
	return sellers
}
