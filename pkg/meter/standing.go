package meter

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/evalfarm/evalfarm/pkg/limit"
)

// standing reads what a provider's headers say of its limits: x-ratelimit-* of
// OpenAI and those who do alike, anthropic-ratelimit-*. They may be absent, or -1.
func standing(h http.Header) limit.Standing {
	return limit.Standing{
		Requests: level(h, "requests"),
		Tokens:   level(h, "tokens"),
		Input:    level(h, "input-tokens"),
		Output:   level(h, "output-tokens"),
	}
}

// longWindow tells limits of a minute from those of a day, which some accounts are
// told in the same headers: it takes a minute at most until a limit of a minute
// is full again.
const longWindow = 2 * time.Minute

// unknown is the standing of which nothing is said.
func unknown() limit.Standing { return standing(http.Header{}) }

func level(h http.Header, what string) limit.Level {
	nothing := limit.Level{Remaining: -1}
	for _, form := range []struct{ limit, remaining, reset string }{
		{"X-Ratelimit-Limit-" + what, "X-Ratelimit-Remaining-" + what, "X-Ratelimit-Reset-" + what},
		{"Anthropic-Ratelimit-" + what + "-Limit", "Anthropic-Ratelimit-" + what + "-Remaining", ""},
	} {
		most, err := strconv.Atoi(strings.TrimSpace(h.Get(form.limit)))
		if err != nil || most <= 0 {
			continue
		}
		if duration(h.Get(form.reset)) > longWindow {
			return nothing
		}
		left, err := strconv.Atoi(strings.TrimSpace(h.Get(form.remaining)))
		if err != nil || left < 0 {
			left = -1
		}
		return limit.Level{Limit: most, Remaining: left}
	}
	return nothing
}

// duration as providers write it, 6m0s or bare seconds; 0 for what is none.
func duration(v string) time.Duration {
	v = strings.TrimSpace(v)
	if d, err := time.ParseDuration(v); err == nil {
		return d
	}
	d, _ := time.ParseDuration(v + "s")
	return d
}
