package gate

import (
	"fmt"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// because names the causes of a kind's trials with a verdict, the most frequent
// first; nothing where there is none.
func because(s eval.Summary, k eval.Kind, v eval.Verdict) string {
	var said []string
	for _, c := range s.Causes {
		if c.Kind == k && c.Verdict == v && c.Reason != "" {
			said = append(said, fmt.Sprintf("%s %d", c.Reason, c.N))
		}
	}
	if len(said) == 0 {
		return ""
	}
	return ": " + strings.Join(said, ", ")
}
