package stub

import (
	"hash/fnv"
	"net/http"
	"net/url"
	"strconv"

	"github.com/evalfarm/evalfarm/pkg/llm"
)

// trialOf reads whose conversation it is from the headers that a model with
// identify sends. Without them the case is empty and the seed is a hash of what
// the user said first, so that a repeated conversation goes the same way.
func trialOf(h http.Header, messages []llm.Message) llm.Trial {
	t := llm.Trial{Case: unescape(h.Get("X-Evalfarm-Case")), Role: unescape(h.Get("X-Evalfarm-Role"))}
	t.Repeat, _ = strconv.Atoi(h.Get("X-Evalfarm-Repeat")) // 0 without
	seed, err := strconv.ParseUint(h.Get("X-Evalfarm-Seed"), 10, 64)
	if err != nil && len(messages) > 0 {
		hash := fnv.New64a()
		_, _ = hash.Write([]byte(messages[0].Text))
		seed = hash.Sum64()
	}
	t.Seed = seed
	return t
}

// unescape undoes percent encoding; what is none stays as it is.
func unescape(s string) string {
	if plain, err := url.PathUnescape(s); err == nil {
		return plain
	}
	return s
}
