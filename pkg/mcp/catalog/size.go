package catalog

import (
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// contextTokens estimates what the listing costs in a model's context:
// (bytes+3)/4 of what a client hands on of each tool, its name, description and
// input schema, as JSON without white space. It is no tokenizer's count.
func (l listing) contextTokens() int {
	size := 0
	for _, t := range l.tools {
		shown := t.value
		if t.fields != nil {
			seen := map[string]any{}
			for _, key := range []string{"name", "description", "inputSchema"} {
				if v, ok := t.fields[key]; ok {
					seen[key] = v
				}
			}
			shown = seen
		}
		size += len(eval.Encode(shown))
	}
	return (size + 3) / 4
}

func contextTokens(l listing, spec eval.Catalog) []offence {
	got := l.contextTokens()
	switch {
	case spec.MaxContextTokens <= 0:
		return []offence{{message: "the case has no max_context_tokens to compare with"}}
	case got <= spec.MaxContextTokens:
		return nil
	default:
		return []offence{{
			message:  fmt.Sprintf("the listing costs about %d tokens of context, more than %d", got, spec.MaxContextTokens),
			expected: map[string]any{"$lte": spec.MaxContextTokens}, actual: got,
		}}
	}
}
