package price

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// An UnknownError says that the list has no price of a model.
type UnknownError struct {
	// Provider of the list; empty when none owns the URL, or none was named.
	Provider string
	// Host that no provider of the list owns; empty for the others.
	Host  string
	Model string
	// Listed says that the list has the model, but not all that a call of it costs.
	Listed bool
	// Nearest are up to three models that may be meant.
	Nearest []string
}

// Error says what to do about it, too.
func (e *UnknownError) Error() string {
	text := fmt.Sprintf("no price is known of the model %q", e.Model)
	switch {
	case e.Provider != "":
		text += " of " + e.Provider
	case e.Host != "":
		text += " at " + e.Host
	}
	if e.Listed {
		text += ": the price list does not say all that a call costs"
	}
	if len(e.Nearest) > 0 {
		text += "; nearest: " + strings.Join(e.Nearest, ", ")
	}
	return text + "; give one with price: in the suite or in farm.yaml"
}

// mostNear is how many models an error names.
const mostNear = 3

// unowned says that no provider owns a URL. The same model may be sold by others.
func (l *List) unowned(q Query) error {
	_, host := plain(q.BaseURL)
	e := &UnknownError{Model: q.Model, Host: host}
	if q.BaseURL == "" {
		e.Provider = string(q.Provider)
	}
	if p, err := l.Named(q.Model, q.At); err == nil {
		e.Nearest = []string{p.From}
	}
	return e
}

// nearest models of a provider to a name: the one that was mistyped, then those
// that hold the name or are held by it, the closest in length first.
func (p *provider) nearest(name string) []string {
	name = strings.ToLower(strings.TrimSpace(name))
	if name == "" {
		return nil
	}
	var ids, near []string
	for _, m := range p.models {
		ids = append(ids, m.id)
		if strings.Contains(strings.ToLower(m.id), name) || strings.Contains(name, strings.ToLower(m.id)) {
			near = append(near, m.id)
		}
	}
	distance := func(id string) int { return max(len(id)-len(name), len(name)-len(id)) }
	slices.SortStableFunc(near, func(a, b string) int { return cmp.Compare(distance(a), distance(b)) })
	if typo := strictyaml.Closest(name, ids); typo != "" {
		near = slices.Insert(slices.DeleteFunc(near, func(id string) bool { return id == typo }), 0, typo)
	}
	return near[:min(mostNear, len(near))]
}
