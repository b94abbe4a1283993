package price_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/price"
)

// today is a day of the embedded list.
func today() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

func load(tb testing.TB) *price.List {
	tb.Helper()
	l, err := price.Load()
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

func read(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

// TestCalls holds Find and Cost to what the original makes of the same calls;
// tools/prices has asked it.
func TestCalls(t *testing.T) {
	var calls []struct {
		Name     string        `json:"name"`
		Provider eval.Provider `json:"provider"`
		BaseURL  string        `json:"base_url"`
		Model    string        `json:"model"`
		At       time.Time     `json:"at"`
		Usage    eval.Usage    `json:"usage"`
		From     string        `json:"from"`
		MicroUSD int64         `json:"microusd"`
	}
	read(t, "calls.json", &calls)
	l := load(t)
	for _, c := range calls {
		t.Run(c.Name, func(t *testing.T) {
			p, err := l.Find(price.Query{Provider: c.Provider, BaseURL: c.BaseURL, Model: c.Model, At: c.At})
			if err != nil {
				t.Fatal(err)
			}
			if p.From != c.From {
				t.Errorf("from %q, want %q", p.From, c.From)
			}
			if got := p.Cost(c.Usage); got != c.MicroUSD {
				t.Errorf("cost %d µ$, want %d", got, c.MicroUSD)
			}
		})
	}
}

// TestModels asks for every model of the list by its own name.
func TestModels(t *testing.T) {
	var want struct {
		At     time.Time    `json:"at"`
		Usages []eval.Usage `json:"usages"`
		Models []struct {
			From     string  `json:"from"`
			MicroUSD []int64 `json:"microusd"`
		} `json:"models"`
	}
	read(t, "models.json", &want)
	l := load(t)
	for _, m := range want.Models {
		p, err := l.Named(m.From, want.At)
		if m.MicroUSD == nil {
			if unknown := new(price.UnknownError); !errors.As(err, &unknown) || !unknown.Listed {
				t.Errorf("%s is not priced by tokens: got %+v, %v", m.From, p, err)
			}
			continue
		}
		if err != nil || p.From != m.From {
			t.Errorf("%s: got %q, %v", m.From, p.From, err)
			continue
		}
		for i, u := range want.Usages {
			// A price with more than six places is rounded up before it is multiplied.
			got := p.Cost(u)
			if d := got - m.MicroUSD[i]; d < 0 || d > 1 {
				t.Errorf("%s: cost of %+v is %d µ$, want %d", m.From, u, got, m.MicroUSD[i])
			}
			if bound := p.Bound(u.Input, u.Output); bound < got {
				t.Errorf("%s: bound %d µ$ of %+v, which costs %d", m.From, bound, u, got)
			}
		}
	}
}

// TestHours: a bound has to hold all day.
func TestHours(t *testing.T) {
	l := load(t)
	for _, row := range []struct {
		name string
		at   time.Time
		want eval.TokenPrice
	}{
		{
			"before the first day, at a cheap hour",
			time.Date(2026, 8, 16, 12, 0, 0, 0, time.UTC),
			eval.TokenPrice{Input: 1_320_000, CacheRead: 44_000, CacheWrite: 1_320_000, CacheWrite1H: 1_320_000, Output: 3_960_000, Reasoning: 3_960_000},
		},
		{
			"today, at a cheap hour",
			today(),
			eval.TokenPrice{Input: 1_320_000, CacheRead: 44_000, CacheWrite: 1_320_000, CacheWrite1H: 1_320_000, Output: 3_960_000, Reasoning: 3_960_000},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			p, err := l.Named("deepseek/deepseek-v4-pro", row.at)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, p.TokenPrice); diff != "" {
				t.Errorf("price (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWhere finds a provider by what is called, and none where it is not plainly
// the provider that is called.
func TestWhere(t *testing.T) {
	l := load(t)
	for _, row := range []struct {
		name, url, model string
		want             string // empty for unknown
	}{
		{"capital letters", "HTTPS://API.OpenAI.com/v1", "gpt-4o", "openai/gpt-4o"},
		{"a port", "https://api.openai.com:443/v1", "gpt-4o", "openai/gpt-4o"},
		{"a port before the end of the expression", "https://api.arcee.ai:443", "trinity-large-thinking", "arcee/trinity-large-thinking"},
		{"an open end", "https://api.moonshot.ai/v1", "kimi-k3", "moonshotai/kimi-k3"},
		{"the older name of Azure", "https://farm.cognitiveservices.azure.com/openai/v1", "gpt-4o", "openai/gpt-4o"},
		{"this machine", "http://localhost:8080/v1", "gpt-4o", ""},
		{"an address", "http://10.0.0.7/v1", "gpt-4o", ""},
		{"no TLS", "http://api.openai.com/v1", "gpt-4o", ""},
		{"a longer host", "https://api.openai.com.example.org/v1", "gpt-4o", ""},
		{"another domain", "https://notapi.openai.com/v1", "gpt-4o", ""},
		{"a host in the path", "https://localhost/proxy.googleapis.com/v1", "gemini-2.5-pro", ""},
		{"another host in the path", "http://localhost/api.openai.azure.com/v1", "gpt-4o", ""},
		{"a secret", "${{ secrets.URL }}", "gpt-4o", ""},
		{"no host", "https:///v1", "gpt-4o", ""},
		{"no URL", "\x7f://", "gpt-4o", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			p, err := l.Find(price.Query{Provider: eval.ProviderOpenAI, BaseURL: row.url, Model: row.model, At: today()})
			if p.From != row.want {
				t.Errorf("got %q, %v; want %q", p.From, err, row.want)
			}
			if unknown := new(price.UnknownError); row.want == "" && (!errors.As(err, &unknown) || unknown.Provider != "") {
				t.Errorf("err = %v", err)
			}
		})
	}
}

func TestUnknown(t *testing.T) {
	l := load(t)
	openai := func(url, model string) price.Query {
		return price.Query{Provider: eval.ProviderOpenAI, BaseURL: url, Model: model, At: today()}
	}
	const hint = "; give one with price: in the suite or in farm.yaml"
	for _, row := range []struct {
		name  string
		query price.Query
		want  string
	}{
		{
			"mistyped",
			price.Query{Provider: eval.ProviderAnthropic, Model: "claude-haku-4-5", At: today()},
			`no price is known of the model "claude-haku-4-5" of anthropic; nearest: claude-haiku-4-5`,
		},
		{
			"incomplete",
			price.Query{Provider: eval.ProviderAnthropic, Model: "claude-haiku", At: today()},
			`no price is known of the model "claude-haiku" of anthropic; nearest: claude-3-haiku, claude-haiku-4-5`,
		},
		{
			"mistyped and too long",
			price.Query{Provider: eval.ProviderAnthropic, Model: "Claude-Opus-51", At: today()},
			`no price is known of the model "Claude-Opus-51" of anthropic; nearest: claude-opus-5`,
		},
		{"like nothing", openai("", "zebra"), `no price is known of the model "zebra" of openai`},
		{"no name", openai("", ""), `no price is known of the model "" of openai`},
		{
			"sold elsewhere", openai("http://user:hidden@localhost:8080/v1", "gpt-4o"),
			`no price is known of the model "gpt-4o" at http://localhost; nearest: openai/gpt-4o`,
		},
		{"sold nowhere", openai("http://localhost:8080/v1", "zebra"), `no price is known of the model "zebra" at http://localhost`},
		{
			"not by tokens alone", openai("https://api.perplexity.ai", "sonar-deep-research"),
			`no price is known of the model "sonar-deep-research" of perplexity: the price list does not say all that a call costs`,
		},
		{
			"not by tokens", openai("", "whisper-1"),
			`no price is known of the model "whisper-1" of openai: the price list does not say all that a call costs`,
		},
		{"no provider", price.Query{Provider: eval.ProviderScripted, At: today()}, `no price is known of the model "" of scripted`},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := l.Find(row.query)
			if err == nil || err.Error() != row.want+hint {
				t.Errorf("err = %v, want %s", err, row.want+hint)
			}
		})
	}
}

func TestNamed(t *testing.T) {
	l := load(t)
	for _, row := range []struct {
		name, want string
		err        string // what it holds; empty for none
	}{
		{"anthropic/claude-haiku-4-5", "anthropic/claude-haiku-4-5", ""},
		{"claude-haiku-4-5", "anthropic/claude-haiku-4-5", ""},
		{"claude-haiku-4-5-20251001", "anthropic/claude-haiku-4-5", ""},
		{"gpt-4o", "openai/gpt-4o", ""}, // several sell it, OpenAI makes it
		{"gemini-2.5-pro", "google/gemini-2.5-pro", ""},
		{"openrouter/openai/gpt-4o", "openrouter/openai/gpt-4o", ""},
		{"sonar", "perplexity/sonar", ""}, // who makes it does not say so, but nobody else sells it
		{"azure/gpt-6-sol", "openai/gpt-6-sol", ""},
		{"claude-haiku-4-6", "", "nearest: anthropic/claude-haiku-4-5"},
		{"zai-org/GLM-5", "", "nearest: "}, // several sell it at prices of their own
		{"anthropic/", "", `"" of anthropic`},
		{"", "", `of the model ""`},
	} {
		t.Run(row.name, func(t *testing.T) {
			p, err := l.Named(row.name, today())
			if p.From != row.want {
				t.Errorf("got %q, %v; want %q", p.From, err, row.want)
			}
			if (err == nil) != (row.err == "") || err != nil && !strings.Contains(err.Error(), row.err) {
				t.Errorf("err = %v, want %q", err, row.err)
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		load(b)
	}
}

func BenchmarkFind(b *testing.B) {
	l := load(b)
	for _, row := range []struct{ name, url, model string }{
		{"own", "", "gpt-6-sol"},
		{"longest list", "https://openrouter.ai/api/v1", "z-ai/glm-5"},
		{"unknown", "http://localhost:8080/v1", "zebra"},
	} {
		b.Run(row.name, func(b *testing.B) {
			q := price.Query{Provider: eval.ProviderOpenAI, BaseURL: row.url, Model: row.model, At: today()}
			for b.Loop() {
				l.Find(q)
			}
		})
	}
}
