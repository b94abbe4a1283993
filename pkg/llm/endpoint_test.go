package llm_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

func TestEndpointCheck(t *testing.T) {
	const key = "sk-secret-123"
	for _, row := range []struct {
		name     string
		endpoint llm.Endpoint
		want     string // part of the error; empty for none
	}{
		{"the provider's own", llm.Endpoint{Model: "m"}, ""},
		{"all of it", llm.Endpoint{Model: "m", APIKey: key, BaseURL: "https://h:1/x/v1/", Headers: map[string]string{"X-A_b": "a b\tc"}}, ""},
		{"no model", llm.Endpoint{}, "no name of a model"},
		{"no scheme", llm.Endpoint{Model: "m", BaseURL: "localhost:8000/v1"}, "no http or https URL"},
		{"no host", llm.Endpoint{Model: "m", BaseURL: "http:///v1"}, "no http or https URL"},
		{"another scheme", llm.Endpoint{Model: "m", BaseURL: "file:///v1"}, "no http or https URL"},
		{"credentials in the URL", llm.Endpoint{Model: "m", BaseURL: "https://me:" + key + "@h/v1"}, "holds credentials"},
		{"a query", llm.Endpoint{Model: "m", BaseURL: "https://h/v1?key=" + key}, "a query"},
		{"a key with a line break", llm.Endpoint{Model: "m", APIKey: key + "\n"}, "line break"},
		{"a header that is none", llm.Endpoint{Model: "m", Headers: map[string]string{"a b": "c"}}, `"a b" is no name`},
		{"a value that is none", llm.Endpoint{Model: "m", Headers: map[string]string{"X-Key": key + "\r\nX: y"}}, "X-Key holds"},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := row.endpoint.Check()
			if row.want == "" {
				if err != nil {
					t.Errorf("Check = %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Fatalf("Check = %v, want %q in it", err, row.want)
			}
			if strings.Contains(err.Error(), key) {
				t.Errorf("the error holds the secret: %v", err)
			}
		})
	}
}

func TestTrialHeader(t *testing.T) {
	for _, row := range []struct {
		name  string
		trial llm.Trial
		want  http.Header
	}{
		{
			"an agent",
			llm.Trial{Case: "orders/late[2]", Repeat: 3, Seed: 1<<64 - 1},
			header("X-Evalfarm-Case: orders/late[2]", "X-Evalfarm-Repeat: 3", "X-Evalfarm-Seed: 18446744073709551615"),
		},
		{
			"a judge, and what headers cannot carry",
			llm.Trial{Case: " ü%\r\nX: y", Role: "judge/2"},
			header("X-Evalfarm-Case: %20%C3%BC%25%0D%0AX:%20y", "X-Evalfarm-Repeat: 0", "X-Evalfarm-Seed: 0", "X-Evalfarm-Role: judge/2"),
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := row.trial.Header()
			if len(got) != len(row.want) {
				t.Errorf("Header = %v, want %v", got, row.want)
			}
			for name := range row.want {
				if got.Get(name) != row.want.Get(name) {
					t.Errorf("%s = %q, want %q", name, got.Get(name), row.want.Get(name))
				}
			}
		})
	}
}

func TestMaxOutput(t *testing.T) {
	if got := (llm.Request{}).MaxOutput(); got != 4096 {
		t.Errorf("MaxOutput = %d, want 4096", got)
	}
	if got := (llm.Request{Sampling: eval.Sampling{MaxOutputTokens: 7}}).MaxOutput(); got != 7 {
		t.Errorf("MaxOutput = %d, want 7", got)
	}
}

func TestTokens(t *testing.T) {
	for n, want := range map[int64]int{-1: 0, 0: 0, 421: 421, 1 << 62: 1 << 40} {
		if got := llm.Tokens(n); got != want {
			t.Errorf("Tokens(%d) = %d, want %d", n, got, want)
		}
	}
}
