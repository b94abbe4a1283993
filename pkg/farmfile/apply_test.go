package farmfile_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/farmfile"
)

// parse reads a farm file that must be good.
func parse(t *testing.T, text string) *farmfile.File {
	t.Helper()
	f, err := farmfile.Parse("farm.yaml", []byte(text), farmfile.Options{})
	if err != nil {
		t.Fatalf("parse:\n%v", err)
	}
	return f
}

// applied is a model after a farm file was applied to it.
func applied(f *farmfile.File, m eval.Model) eval.Model {
	models := map[string]eval.Model{"m": m}
	f.Apply(models)
	return models["m"]
}

func TestWhichModelsAnEntryIsFor(t *testing.T) {
	f := parse(t, `
version: 1
providers:
  anthropic: {rate: {concurrent: 1}}
  openai: {rate: {concurrent: 2}}
  gpus: {provider: openai, base_url: "http://h/v1/", rate: {concurrent: 3}}
  gate: {provider: anthropic, base_url: "http://h", rate: {concurrent: 4}}
`)
	for name, test := range map[string]struct {
		model eval.Model
		want  int
	}{
		"the provider's own":              {eval.Model{Provider: eval.ProviderOpenAI}, 2},
		"another provider":                {eval.Model{Provider: eval.ProviderAnthropic}, 1},
		"a server":                        {eval.Model{Provider: eval.ProviderOpenAI, BaseURL: "http://h/v1"}, 3},
		"a server that nobody names":      {eval.Model{Provider: eval.ProviderOpenAI, BaseURL: "http://h/v2"}, 0},
		"the same host, another wire":     {eval.Model{Provider: eval.ProviderAnthropic, BaseURL: "http://h/"}, 4},
		"a version that is forgiven":      {eval.Model{Provider: eval.ProviderAnthropic, BaseURL: "http://h/v1/"}, 4},
		"a version that is no part of it": {eval.Model{Provider: eval.ProviderOpenAI, BaseURL: "http://h"}, 0},
		"a script":                        {eval.Model{Provider: eval.ProviderScripted}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := 0
			if r := applied(f, test.model).Rate; r != nil {
				got = r.Concurrent
			}
			if got != test.want {
				t.Errorf("got the rate %d, want %d", got, test.want)
			}
		})
	}
}

func TestWhichEntryOfModelsHolds(t *testing.T) {
	f := parse(t, `
version: 1
providers:
  openai:
    rate: {concurrent: 1}
    models:
      "*": {rate: {concurrent: 2}, price: {input: 2, output: 2}}
      "gpt-6-*": {rate: {concurrent: 3}}
      "gpt-6-sol*": {price: {input: 4, output: 4}}
      gpt-6-sol: {rate: {concurrent: 5}}
      "Qwen/*8B": {price: free}
`)
	for name, test := range map[string]struct {
		model       string
		rate        int
		pool        string
		inputDollar int64
	}{
		"an exact name, and a price of a family":  {"gpt-6-sol", 5, "", 4},
		"the longer glob":                         {"gpt-6-sol-mini", 3, "gpt-6-*", 4},
		"the shorter one says what others do not": {"gpt-6-luna", 3, "gpt-6-*", 2},
		"a glob over slashes":                     {"Qwen/Qwen3-8B", 2, "*", 0},
		"the rest":                                {"x", 2, "*", 2},
	} {
		t.Run(name, func(t *testing.T) {
			m := applied(f, eval.Model{Provider: eval.ProviderOpenAI, Model: test.model})
			if m.Rate.Concurrent != test.rate || m.Rate.Pool != test.pool || m.Price.Input != test.inputDollar*1_000_000 {
				t.Errorf("got rate %+v and price %+v, want %+v", m.Rate, m.Price, test)
			}
		})
	}
}

func TestTheTighterRateHolds(t *testing.T) {
	for name, test := range map[string]struct {
		operator  string
		own, want *eval.Rate
	}{
		"only the operator's": {"{concurrent: 3, judge: {concurrent: 1}}", nil, &eval.Rate{Concurrent: 3, Judge: &eval.Rate{Concurrent: 1}, Pool: "m*"}},
		"number by number": {
			"{requests_per_minute: 50, input_tokens_per_minute: 100, output_tokens_per_minute: 100}",
			&eval.Rate{RequestsPerMinute: 60, TokensPerMinute: 70, OutputTokensPerMinute: 80, Concurrent: 9},
			&eval.Rate{RequestsPerMinute: 50, TokensPerMinute: 70, InputTokensPerMinute: 100, OutputTokensPerMinute: 80, Concurrent: 9, Pool: "m*"},
		},
		"of judges, if both say so": {
			"{concurrent: 3, judge: {concurrent: 2}}", &eval.Rate{Concurrent: 9, Judge: &eval.Rate{Concurrent: 1}},
			&eval.Rate{Concurrent: 3, Judge: &eval.Rate{Concurrent: 1}, Pool: "m*"},
		},
		"a suite's judges come not on top":  {"{concurrent: 3}", &eval.Rate{Judge: &eval.Rate{Concurrent: 1}}, &eval.Rate{Concurrent: 3, Pool: "m*"}},
		"nor the operator's on top of less": {"{concurrent: 3, judge: {concurrent: 2}}", &eval.Rate{Concurrent: 1}, &eval.Rate{Concurrent: 1, Pool: "m*"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := parse(t, "version: 1\nproviders: {openai: {models: {'m*': {rate: "+test.operator+"}}}}\n")
			got := applied(f, eval.Model{Provider: eval.ProviderOpenAI, Model: "m", Rate: test.own}).Rate
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("rate differs (-want +got):\n%s", diff)
			}
		})
	}
	own := &eval.Rate{Concurrent: 3, Judge: &eval.Rate{Concurrent: 1}}
	if got := applied(parse(t, "version: 1\nproviders: {openai: {}}\n"), eval.Model{Provider: eval.ProviderOpenAI, Rate: own}).Rate; got != own {
		t.Errorf("got %+v, want the suite's where the operator says nothing", got)
	}
}

func TestWhatASuiteSaysStays(t *testing.T) {
	f := parse(t, `
version: 1
providers:
  openai: {api_keys: ["${{ secrets.A }}", "${{ secrets.B }}"], models: {m: {price: {input: 1, output: 1}}}}
`)
	base := eval.Model{Provider: eval.ProviderOpenAI, Model: "m"}
	for name, set := range map[string]func(*eval.Model){
		"a key":        func(m *eval.Model) { m.APIKey = "${{ secrets.C }}" },
		"keys":         func(m *eval.Model) { m.APIKeys = []string{"${{ secrets.C }}"} },
		"a price":      func(m *eval.Model) { m.Price = &eval.Price{From: "suite"} },
		"an override":  func(m *eval.Model) { m.PriceOverride = &eval.PriceOverride{Factor: 1} },
		"nothing else": func(*eval.Model) {},
	} {
		t.Run(name, func(t *testing.T) {
			m := base
			set(&m)
			want := m
			if m.APIKey == "" && m.APIKeys == nil {
				want.APIKeys = []string{"${{ secrets.A }}", "${{ secrets.B }}"}
			}
			if m.Price == nil && m.PriceOverride == nil {
				want.Price = f.Providers[0].Models[0].Price
			}
			if diff := cmp.Diff(want, applied(f, m)); diff != "" {
				t.Errorf("model differs (-want +got):\n%s", diff)
			}
		})
	}
	var none *farmfile.File
	if diff := cmp.Diff(base, applied(none, base)); diff != "" {
		t.Errorf("a farm without a file changes a model (-want +got):\n%s", diff)
	}
}
