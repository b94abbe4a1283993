package similar

import (
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// maxWork bounds what one comparison takes, in steps: a step is a pair of
// values, or a few words. Two lists of MaxCalls different calls of one tool, with
// seven arguments each, need less; the most that there is takes seconds.
const maxWork = 100_000_000

// comparer compares arguments.
type comparer struct {
	rules     map[string]*rule
	overrides map[string]*override
	literal   bool
	// words of the texts met so far.
	words map[string][]string
	// work is how many steps are left; below zero nothing is alike any more.
	work int
}

func newComparer(o Options) (*comparer, error) {
	c := &comparer{
		rules:     map[string]*rule{},
		overrides: map[string]*override{},
		literal:   o.Literal,
		words:     map[string][]string{},
		work:      maxWork,
	}
	for tool, schema := range o.Schemas {
		if v, err := eval.Decode(schema); err == nil {
			c.rules[tool] = ruleOf(v)
		}
	}
	for name, comparison := range o.Overrides {
		over, err := newOverride(comparison)
		if err != nil {
			return nil, fmt.Errorf("compare %s: %w", name, err)
		}
		c.overrides[name] = over
	}
	return c, nil
}

// spend takes steps and says whether there are any left.
func (c *comparer) spend(steps int) bool {
	c.work -= steps
	return c.work >= 0
}

// override returns that of an argument, or nil.
func (c *comparer) override(tool, argument string) *override {
	if len(c.overrides) == 0 {
		return nil
	}
	if over := c.overrides[tool+"."+argument]; over != nil {
		return over
	}
	return c.overrides[argument]
}
