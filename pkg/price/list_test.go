package price_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/price"
)

func TestVersion(t *testing.T) {
	if got := load(t).Version(); !strings.HasPrefix(got, "genai-prices 0.") {
		t.Errorf("version %q", got)
	}
}

// one is a list of one provider, "p" at https://p.example, which has one model.
func one(id, match, prices string) string {
	return fmt.Sprintf(`{"version": "v", "providers": [{"id": "p", "api_pattern": "https://p\\.example", "models": [
		{"id": %q, "match": %s, "prices": %s}]}]}`, id, match, prices)
}

func TestRules(t *testing.T) {
	for _, row := range []struct {
		name, rule string
		fit        string
		unfit      string
	}{
		{"equals", `{"equals": "Big-1"}`, "big-1", "big-10"},
		{"starts_with", `{"starts_with": "Big"}`, "BIG-1", "a-big"},
		{"ends_with", `{"ends_with": "Big"}`, "a-big", "big-1"},
		{"contains", `{"contains": "Big"}`, "a-big-1", "bi-g"},
		{"regex", `{"regex": "^big-\\d$"}`, "Big-1", "big-10"},
		{"or", `{"or": [{"equals": "a"}, {"equals": "b"}]}`, "b", "c"},
		{"and", `{"and": [{"starts_with": "a"}, {"ends_with": "z"}]}`, "abz", "ab"},
		{"not", `{"not": {"equals": "a"}}`, "b", "a"},
		{"nested", `{"or": [{"and": [{"contains": "x"}, {"not": {"contains": "y"}}]}, {"equals": "y"}]}`, "x", "xy"},
		{"spaces around a name", `{"equals": "a"}`, " a ", "a b"},
	} {
		t.Run(row.name, func(t *testing.T) {
			l, err := price.Parse([]byte(one("the-model", row.rule, `{"input_mtok": 1, "output_mtok": 1}`)))
			if err != nil {
				t.Fatal(err)
			}
			find := func(name string) error {
				_, err := l.Find(price.Query{BaseURL: "https://p.example", Model: name})
				return err
			}
			if err := find(row.fit); err != nil {
				t.Errorf("%q does not fit: %v", row.fit, err)
			}
			if find(row.unfit) == nil {
				t.Errorf("%q fits", row.unfit)
			}
			if err := find("The-Model"); err != nil {
				t.Errorf("its own id: %v", err)
			}
		})
	}
}

// TestDates finds a model whose rule wants dashes in dates.
func TestDates(t *testing.T) {
	l, err := price.Parse([]byte(one("the-model", `{"regex": "^m-\\d{4}-\\d\\d-\\d\\d"}`, `{"input_mtok": 1, "output_mtok": 1}`)))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name string
		fits bool
	}{
		{"m-2026-09-01", true},
		{"m-20260901", true},
		{"m-20260901-fast", true},
		{"m-20260901:batch", true},
		{"m-202609012", false},
		{"m-20260901x", false},
		{"m-20261301", false},
		{"m-20260230", false},
		{"m20260901", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := l.Named("p/"+row.name, today()); (err == nil) != row.fits {
				t.Errorf("err = %v, want fits %v", err, row.fits)
			}
		})
	}
}

// TestNotWhole: a price that leaves out what a call costs is none.
func TestNotWhole(t *testing.T) {
	const whole = `{"input_mtok": 1, "output_mtok": 1}`
	for _, row := range []struct{ name, prices string }{
		{"nothing", `{}`},
		{"no input", `{"output_mtok": 1}`},
		{"no output", `{"input_mtok": 1}`},
		{"something else", `{"input_mtok": 1, "output_mtok": 1, "output_citation_mtok": 0}`},
		{"at some hours", `[{"prices": ` + whole + `}, {"constraint": {"type": "time_of_date"}, "prices": {}}]`},
		{"at the other hours", `[{"prices": {}}, {"constraint": {"type": "time_of_date"}, "prices": ` + whole + `}]`},
	} {
		t.Run(row.name, func(t *testing.T) {
			l, err := price.Parse([]byte(one("m", `{"equals": "m"}`, row.prices)))
			if err != nil {
				t.Fatal(err)
			}
			_, err = l.Named("p/m", today())
			if unknown := new(price.UnknownError); !errors.As(err, &unknown) || !unknown.Listed {
				t.Errorf("err = %v", err)
			}
		})
	}
}

// TestPrices reads prices, at noon of 2026-11-30.
func TestPrices(t *testing.T) {
	for _, row := range []struct {
		name, prices string
		want         eval.Price
	}{
		{
			"what is left out", `{"input_mtok": 0.075, "output_mtok": 0.3}`,
			eval.Price{TokenPrice: eval.TokenPrice{Input: 75_000, CacheRead: 75_000, CacheWrite: 75_000, CacheWrite1H: 75_000, Output: 300_000, Reasoning: 300_000}},
		},
		{
			"everything", `{"input_mtok": 1, "cache_read_mtok": 2, "cache_write_mtok": 3, "cache_write_1h_mtok": 4, "output_mtok": 5,
				"output_reasoning_mtok": 6, "requests_kcount": 7}`,
			eval.Price{
				TokenPrice: eval.TokenPrice{Input: 1e6, CacheRead: 2e6, CacheWrite: 3e6, CacheWrite1H: 4e6, Output: 5e6, Reasoning: 6e6},
				Call:       7e9,
			},
		},
		{
			"tiers that begin at different sizes, in any order", `{
				"input_mtok": {"base": 1, "tiers": [{"start": 200, "price": 3}, {"start": 100, "price": 2}]},
				"cache_read_mtok": 0.5,
				"output_mtok": {"base": 10, "tiers": [{"start": 150, "price": 20}]}}`,
			eval.Price{
				TokenPrice: eval.TokenPrice{Input: 1e6, CacheRead: 5e5, CacheWrite: 1e6, CacheWrite1H: 1e6, Output: 1e7, Reasoning: 1e7},
				Tiers: []eval.PriceTier{
					{Over: 100, TokenPrice: eval.TokenPrice{Input: 2e6, CacheRead: 5e5, CacheWrite: 2e6, CacheWrite1H: 2e6, Output: 1e7, Reasoning: 1e7}},
					{Over: 150, TokenPrice: eval.TokenPrice{Input: 2e6, CacheRead: 5e5, CacheWrite: 2e6, CacheWrite1H: 2e6, Output: 2e7, Reasoning: 2e7}},
					{Over: 200, TokenPrice: eval.TokenPrice{Input: 3e6, CacheRead: 5e5, CacheWrite: 3e6, CacheWrite1H: 3e6, Output: 2e7, Reasoning: 2e7}},
				},
			},
		},
		{
			"hours with a tier", `[
				{"prices": {"input_mtok": 3, "output_mtok": {"base": 1, "tiers": [{"start": 100, "price": 9}]}}},
				{"constraint": {"type": "time_of_date", "start_time": "01:00:00Z", "end_time": "04:00:00Z"},
				 "prices": {"input_mtok": {"base": 1, "tiers": [{"start": 50, "price": 4}]}, "output_mtok": 2}}]`,
			eval.Price{
				TokenPrice: eval.TokenPrice{Input: 3e6, CacheRead: 3e6, CacheWrite: 3e6, CacheWrite1H: 3e6, Output: 2e6, Reasoning: 2e6},
				Tiers: []eval.PriceTier{
					{Over: 50, TokenPrice: eval.TokenPrice{Input: 4e6, CacheRead: 4e6, CacheWrite: 4e6, CacheWrite1H: 4e6, Output: 2e6, Reasoning: 2e6}},
					{Over: 100, TokenPrice: eval.TokenPrice{Input: 4e6, CacheRead: 4e6, CacheWrite: 4e6, CacheWrite1H: 4e6, Output: 9e6, Reasoning: 9e6}},
				},
			},
		},
		{
			"days", `[{"prices": {"input_mtok": 1, "output_mtok": 1}},
				{"constraint": {"type": "start_date", "start_date": "2026-11-30"}, "prices": {"input_mtok": 2, "output_mtok": 2}},
				{"constraint": {"type": "start_date", "start_date": "2026-12-01"}, "prices": {"input_mtok": 3, "output_mtok": 3}}]`,
			eval.Price{TokenPrice: eval.TokenPrice{Input: 2e6, CacheRead: 2e6, CacheWrite: 2e6, CacheWrite1H: 2e6, Output: 2e6, Reasoning: 2e6}},
		},
		{
			"hours before a day", `[{"prices": {"input_mtok": 9, "output_mtok": 9}},
				{"constraint": {"type": "time_of_date"}, "prices": {"input_mtok": 8, "output_mtok": 8}},
				{"constraint": {"type": "start_date", "start_date": "2026-11-30"}, "prices": {"input_mtok": 2, "output_mtok": 2}}]`,
			eval.Price{TokenPrice: eval.TokenPrice{Input: 2e6, CacheRead: 2e6, CacheWrite: 2e6, CacheWrite1H: 2e6, Output: 2e6, Reasoning: 2e6}},
		},
		{
			"days that are all to come", `[
				{"constraint": {"type": "start_date", "start_date": "2027-01-01"}, "prices": {"input_mtok": 2, "output_mtok": 2}},
				{"constraint": {"type": "start_date", "start_date": "2027-02-01"}, "prices": {"input_mtok": 3, "output_mtok": 3}}]`,
			eval.Price{TokenPrice: eval.TokenPrice{Input: 2e6, CacheRead: 2e6, CacheWrite: 2e6, CacheWrite1H: 2e6, Output: 2e6, Reasoning: 2e6}},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			l, err := price.Parse([]byte(one("m", `{"equals": "m"}`, row.prices)))
			if err != nil {
				t.Fatal(err)
			}
			got, err := l.Named("p/m", today())
			if err != nil {
				t.Fatal(err)
			}
			row.want.From = "p/m"
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("price (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBadLists(t *testing.T) {
	const good = `{"input_mtok": 1, "output_mtok": 1}`
	for _, row := range []struct{ name, list, want string }{
		{"no JSON", `{`, "unexpected end"},
		{"no version", `{}`, "no version"},
		{"no id", `{"version": "v", "providers": [{"api_pattern": "x"}]}`, `providers[0] "": an id of its own is missing`},
		{"an id twice", `{"version": "v", "providers": [{"id": "p", "api_pattern": "x"}, {"id": "p", "api_pattern": "x"}]}`, `providers[1] "p": an id`},
		{"no pattern", `{"version": "v", "providers": [{"id": "p"}]}`, `providers[0] "p": no api_pattern`},
		{"a bad pattern", `{"version": "v", "providers": [{"id": "p", "api_pattern": "("}]}`, `providers[0] "p": api_pattern: error parsing regexp`},
		{"a bad rule of a maker", `{"version": "v", "providers": [{"id": "p", "api_pattern": "x", "model_match": {}}]}`, `providers[0] "p": model_match: want one key, got 0`},
		{"an unknown provider", `{"version": "v", "providers": [{"id": "p", "api_pattern": "x", "fallback_model_providers": ["q"]}]}`, `fallback_model_providers: there is no "q"`},
		{"an expression that looks ahead", one("m", `{"or": [{"equals": "a"}, {"regex": "(?!x)"}]}`, good), `providers[0] "p": models[0] "m": match: or: [1]: regex: error parsing regexp`},
		{"an unknown rule", one("m", `{"not": {"like": "a"}}`, good), `match: not: like: there is no such rule`},
		{"two rules", one("m", `{"equals": "a", "contains": "a"}`, good), "match: want one key, got 2"},
		{"a rule of no text", one("m", `{"equals": 1}`, good), "match: equals: json"},
		{"no rules in one", one("m", `{"or": []}`, good), "match: or: there are none"},
		{"no rule", one("m", `null`, good), "match: want one key, got 0"},
		{"a text for a price", one("m", `{"equals": "m"}`, `{"input_mtok": "1"}`), `models[0] "m": prices: `},
		{"a negative price", one("m", `{"equals": "m"}`, `{"input_mtok": -1}`), `prices: "-1" is no decimal`},
		{"a price without end", one("m", `{"equals": "m"}`, `{"input_mtok": 1e999999999}`), `prices: "1e999999999" is no decimal`},
		{"a bad tier", one("m", `{"equals": "m"}`, `{"input_mtok": {"base": 1, "tiers": [{"start": 1, "price": -1}]}}`), "prices: tiers[0]: price: "},
		{"a tier below nothing", one("m", `{"equals": "m"}`, `{"input_mtok": {"base": 1, "tiers": [{"start": -1, "price": 1}]}}`), "prices: tiers[0]: start is negative"},
		{"no base", one("m", `{"equals": "m"}`, `{"input_mtok": {"tiers": []}}`), `prices: base: "" is no decimal`},
		{"a fee without end", one("m", `{"equals": "m"}`, `{"requests_kcount": 9e12}`), "requests_kcount"},
		{"no prices", one("m", `{"equals": "m"}`, `[]`), "prices: there are none"},
		{"an unknown condition", one("m", `{"equals": "m"}`, `[{"prices": `+good+`, "constraint": {"type": "moon"}}]`), `prices: [0]: constraint: there is no type "moon"`},
		{"no such day", one("m", `{"equals": "m"}`, `[{"prices": `+good+`, "constraint": {"type": "start_date", "start_date": "2026-02-30"}}]`), "prices: [0]: constraint: parsing time"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := price.Parse([]byte(row.list)); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("err = %v, want %q", err, row.want)
			}
		})
	}
}

// FuzzParse: whatever a list says, it is an error or can be searched.
func FuzzParse(f *testing.F) {
	for _, prices := range []string{
		`{"input_mtok": {"base": 1, "tiers": [{"start": 200, "price": 3}]}, "output_mtok": 1e-7}`,
		`[{"prices": {}}, {"constraint": {"type": "time_of_date"}, "prices": {"output_mtok": 2}}]`,
		`null`,
	} {
		f.Add(one("m", `{"or": [{"not": {"equals": "m"}}, {"regex": "^m"}]}`, prices), "https://p.example", "m")
	}
	f.Fuzz(func(t *testing.T, list, url, name string) {
		l, err := price.Parse([]byte(list))
		if err != nil {
			return
		}
		for _, find := range []func() (eval.Price, error){
			func() (eval.Price, error) {
				return l.Find(price.Query{Provider: "p", BaseURL: url, Model: name, At: today()})
			},
			func() (eval.Price, error) { return l.Find(price.Query{Provider: "p", Model: name, At: time.Time{}}) },
			func() (eval.Price, error) { return l.Named(name, today()) },
		} {
			p, err := find()
			if err != nil {
				continue
			}
			if p.From == "" || p.Cost(eval.Usage{Input: 300, Output: 5}) < 0 {
				t.Errorf("price %+v", p)
			}
			for i, tier := range p.Tiers {
				if i > 0 && tier.Over <= p.Tiers[i-1].Over {
					t.Errorf("tiers do not rise: %+v", p.Tiers)
				}
			}
		}
	})
}

// TestData: what Go cannot read was rewritten when the list was made.
func TestData(t *testing.T) {
	if !json.Valid(price.Embedded()) {
		t.Error("the list is no JSON")
	}
	if n := len(price.Embedded()); n > 400_000 {
		t.Errorf("the list has %d bytes, more than the binary should carry", n)
	}
}
