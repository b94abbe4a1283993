package meter

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/limit"
)

func TestStanding(t *testing.T) {
	none := limit.Level{Remaining: -1}
	nothing := limit.Standing{Requests: none, Tokens: none, Input: none, Output: none}
	tests := []struct {
		name   string
		header http.Header
		want   func(*limit.Standing)
	}{
		{"no header at all", nil, func(*limit.Standing) {}},
		{"nothing about limits", http.Header{"Date": {"today"}}, func(*limit.Standing) {}},
		{"OpenAI", http.Header{
			"X-Ratelimit-Limit-Requests": {"500"}, "X-Ratelimit-Remaining-Requests": {"499"}, "X-Ratelimit-Reset-Requests": {"120ms"},
			"X-Ratelimit-Limit-Tokens": {"30000"}, "X-Ratelimit-Remaining-Tokens": {"0"}, "X-Ratelimit-Reset-Tokens": {"1m0s"},
		}, func(s *limit.Standing) {
			s.Requests, s.Tokens = limit.Level{Limit: 500, Remaining: 499}, limit.Level{Limit: 30000}
		}},
		{"Anthropic", http.Header{
			"Anthropic-Ratelimit-Requests-Limit": {"50"}, "Anthropic-Ratelimit-Requests-Remaining": {"49"},
			"Anthropic-Ratelimit-Input-Tokens-Limit": {"20000"}, "Anthropic-Ratelimit-Input-Tokens-Remaining": {"19000"},
			"Anthropic-Ratelimit-Output-Tokens-Limit": {"8000"}, "Anthropic-Ratelimit-Output-Tokens-Remaining": {"8000"},
			"Anthropic-Ratelimit-Input-Tokens-Reset": {"2027-01-01T00:00:00Z"},
		}, func(s *limit.Standing) {
			s.Requests, s.Input, s.Output = limit.Level{Limit: 50, Remaining: 49}, limit.Level{Limit: 20000, Remaining: 19000}, limit.Level{Limit: 8000, Remaining: 8000}
		}},
		{"a limit without what remains", http.Header{"X-Ratelimit-Limit-Requests": {"500"}}, func(s *limit.Standing) { s.Requests = limit.Level{Limit: 500, Remaining: -1} }},
		{"minus one", http.Header{"X-Ratelimit-Limit-Requests": {"-1"}, "X-Ratelimit-Remaining-Requests": {"-1"}}, func(*limit.Standing) {}},
		{"no numbers", http.Header{"X-Ratelimit-Limit-Requests": {"many"}, "X-Ratelimit-Limit-Tokens": {""}}, func(*limit.Standing) {}},
		{"a limit of a day", http.Header{"X-Ratelimit-Limit-Requests": {"200"}, "X-Ratelimit-Remaining-Requests": {"10"}, "X-Ratelimit-Reset-Requests": {"7h12m0s"}}, func(*limit.Standing) {}},
		{"a limit of a day in bare seconds", http.Header{"X-Ratelimit-Limit-Requests": {"200"}, "X-Ratelimit-Remaining-Requests": {"10"}, "X-Ratelimit-Reset-Requests": {"25920.5"}}, func(*limit.Standing) {}},
		{"a limit of a minute in bare seconds", http.Header{"X-Ratelimit-Limit-Requests": {" 200 "}, "X-Ratelimit-Remaining-Requests": {"10"}, "X-Ratelimit-Reset-Requests": {"30"}}, func(s *limit.Standing) { s.Requests = limit.Level{Limit: 200, Remaining: 10} }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := nothing
			tt.want(&want)
			if diff := cmp.Diff(want, standing(tt.header)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
