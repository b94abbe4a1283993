package farmfile_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/farmfile"
	"github.com/evalfarm/evalfarm/pkg/price"
)

// list is a price list in which input costs as much as the model's name is long.
type list struct{}

func (list) Find(q price.Query) (eval.Price, error) {
	if q.BaseURL != "" {
		return eval.Price{}, &price.UnknownError{Model: q.Model, Host: q.BaseURL}
	}
	return list{}.Named(string(q.Provider)+"/"+q.Model, q.At)
}

func (list) Named(name string, at time.Time) (eval.Price, error) {
	if name == "nobody" {
		return eval.Price{}, &price.UnknownError{Model: name}
	}
	return eval.Price{TokenPrice: eval.TokenPrice{Input: int64(len(name))}, From: name + at.Format(" 2006")}, nil
}

func TestPriceOfEveryModel(t *testing.T) {
	const host = "http://h/v1"
	suites := eval.Price{TokenPrice: eval.TokenPrice{Input: 7}, From: "suite"}
	for name, test := range map[string]struct {
		model   eval.Model
		want    *eval.Price
		unknown bool
	}{
		"of the list":          {eval.Model{Provider: eval.ProviderOpenAI, Model: "m"}, &eval.Price{TokenPrice: eval.TokenPrice{Input: 8}, From: "openai/m 2026"}, false},
		"in numbers":           {eval.Model{Provider: eval.ProviderOpenAI, Model: "m", BaseURL: host, Price: &suites}, &suites, false},
		"of nobody":            {eval.Model{Provider: eval.ProviderOpenAI, Model: "m", BaseURL: host}, nil, true},
		"like another's":       {eval.Model{Provider: eval.ProviderOpenAI, Model: "m", BaseURL: host, PriceOverride: &eval.PriceOverride{Like: "abc"}}, &eval.Price{TokenPrice: eval.TokenPrice{Input: 3}, From: "abc 2026"}, false},
		"like half of one":     {eval.Model{PriceOverride: &eval.PriceOverride{Like: "abc", Factor: 500_000}}, &eval.Price{TokenPrice: eval.TokenPrice{Input: 2}, From: "abc 2026"}, false},
		"half of its own":      {eval.Model{Provider: eval.ProviderOpenAI, Model: "m", PriceOverride: &eval.PriceOverride{Factor: 500_000}}, &eval.Price{TokenPrice: eval.TokenPrice{Input: 4}, From: "openai/m 2026"}, false},
		"like nobody's":        {eval.Model{Provider: eval.ProviderOpenAI, Model: "m", PriceOverride: &eval.PriceOverride{Like: "nobody"}}, nil, true},
		"scripted":             {eval.Model{Provider: eval.ProviderScripted}, nil, false},
		"scripted with one":    {eval.Model{Provider: eval.ProviderScripted, Price: &suites}, &suites, false},
		"scripted like others": {eval.Model{Provider: eval.ProviderScripted, PriceOverride: &eval.PriceOverride{Like: "abc"}}, &eval.Price{TokenPrice: eval.TokenPrice{Input: 3}, From: "abc 2026"}, false},
		"played back":          {eval.Model{Provider: eval.ProviderOpenAI, Model: "m", Price: &suites, Cassette: &eval.Cassette{Dir: "d"}}, nil, false},
		"recorded":             {eval.Model{Provider: eval.ProviderOpenAI, Model: "m", Price: &suites, Cassette: &eval.Cassette{Dir: "d", Record: true}}, &suites, false},
	} {
		t.Run(name, func(t *testing.T) {
			models := map[string]eval.Model{"m": test.model}
			unknown := farmfile.Resolve(models, list{}, time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC))
			var why *price.UnknownError
			if got := errors.As(unknown["m"], &why); got != test.unknown || len(unknown) > 1 {
				t.Errorf("got %v, want unknown %v", unknown, test.unknown)
			}
			if diff := cmp.Diff(test.want, models["m"].Price); diff != "" {
				t.Errorf("price differs (-want +got):\n%s", diff)
			}
			if models["m"].PriceOverride != nil {
				t.Error("the override stays, and would be applied twice")
			}
		})
	}
}

// The list that the binary carries is one.
func TestPricesOfTheList(t *testing.T) {
	prices, err := price.Load()
	if err != nil {
		t.Fatal(err)
	}
	models := map[string]eval.Model{
		"own":  {Provider: eval.ProviderAnthropic, Model: "claude-haiku-4-5"},
		"half": {Provider: eval.ProviderAnthropic, Model: "claude-haiku-4-5", PriceOverride: &eval.PriceOverride{Factor: 500_000}},
		"like": {Provider: eval.ProviderOpenAI, Model: "x", BaseURL: "http://h/v1", PriceOverride: &eval.PriceOverride{Like: "anthropic/claude-haiku-4-5"}},
		"none": {Provider: eval.ProviderOpenAI, Model: "x", BaseURL: "http://h/v1"},
	}
	unknown := farmfile.Resolve(models, prices, time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC))
	if len(unknown) != 1 || unknown["none"] == nil {
		t.Fatalf("got %v, want one model without a price", unknown)
	}
	own, half, like := models["own"].Price, models["half"].Price, models["like"].Price
	if own.Input != 1_000_000 || half.Input != 500_000 || like.Input != own.Input || own.From != "anthropic/claude-haiku-4-5" {
		t.Errorf("got %+v, %+v and %+v, want the list's", own, half, like)
	}
}
