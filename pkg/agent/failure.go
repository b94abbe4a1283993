package agent

import (
	"fmt"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A failure is why a step did not pass.
type failure struct {
	reason  eval.Reason
	message string
	// expected and actual show the difference, where there is one to show.
	expected, actual eval.JSON
}

func failf(reason eval.Reason, format string, args ...any) *failure {
	return &failure{reason: reason, message: fmt.Sprintf(format, args...)}
}

// showing adds what was expected and what came instead.
func (f *failure) showing(expected, actual any) *failure {
	f.expected, f.actual = eval.Encode(expected), eval.Encode(actual)
	return f
}

// merge makes one failure of several: the first decides, the messages of all
// are told.
func merge(failures []*failure) *failure {
	if len(failures) == 0 {
		return nil
	}
	merged := *failures[0]
	messages := make([]string, len(failures))
	for i, f := range failures {
		messages[i] = f.message
	}
	merged.message = strings.Join(messages, "; ")
	return &merged
}
