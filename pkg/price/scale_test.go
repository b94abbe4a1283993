package price_test

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/price"
)

func TestMillionths(t *testing.T) {
	for _, row := range []struct {
		decimal string
		want    int64 // -1 for an error
	}{
		{"0", 0},
		{"1", 1_000_000},
		{"0.075", 75_000},
		{"2.50", 2_500_000},
		{"0.18000000000000002", 180_001},
		{"0.0000001", 1},
		{"1e-7", 1},
		{"2.5E+1", 25_000_000},
		{"9223372036854.775807", math.MaxInt64},
		{"9223372036854.775808", -1},
		{"1e99", -1},
		{"1e100", -1},
		{"-1", -1},
		{"-0", -1},
		{"", -1},
		{".5", -1},
		{"5.", -1},
		{"NaN", -1},
		{"1_000", -1},
		{"0x10", -1},
		{"1/3", -1},
		{" 1", -1},
		{strings.Repeat("1", 1000), -1},
	} {
		t.Run(row.decimal[:min(20, len(row.decimal))], func(t *testing.T) {
			got, err := price.Millionths(row.decimal)
			if (err != nil) != (row.want < 0) || err == nil && got != row.want {
				t.Errorf("got %d, %v; want %d", got, err, row.want)
			}
		})
	}
}

func TestScale(t *testing.T) {
	p := eval.Price{
		TokenPrice: eval.TokenPrice{Input: 5, CacheRead: 4, CacheWrite: 3, CacheWrite1H: 2, Output: 1, Reasoning: 0},
		Call:       7,
		Tiers:      []eval.PriceTier{{Over: 100, TokenPrice: eval.TokenPrice{Input: 11}}},
		From:       "anthropic/claude-haiku-4-5",
	}
	want := eval.Price{
		TokenPrice: eval.TokenPrice{Input: 3, CacheRead: 2, CacheWrite: 2, CacheWrite1H: 1, Output: 1, Reasoning: 0},
		Call:       4,
		Tiers:      []eval.PriceTier{{Over: 100, TokenPrice: eval.TokenPrice{Input: 6}}},
		From:       "anthropic/claude-haiku-4-5",
	}
	if diff := cmp.Diff(want, price.Scale(p, 500_000)); diff != "" {
		t.Errorf("half (-want +got):\n%s", diff)
	}
	if p.Tiers[0].Input != 11 {
		t.Errorf("the price that was scaled has changed: %+v", p)
	}
	if diff := cmp.Diff(p, price.Scale(p, 1_000_000)); diff != "" {
		t.Errorf("once (-want +got):\n%s", diff)
	}
}

// TestScaleExact compares with numbers of any size.
func TestScaleExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, factor := rapid.Int64().Draw(t, "n"), rapid.Int64().Draw(t, "factor")
		want := new(big.Int).Mul(big.NewInt(max(0, n)), big.NewInt(max(0, factor)))
		want.Add(want, big.NewInt(999_999)).Div(want, big.NewInt(1_000_000))
		if most := big.NewInt(math.MaxInt64); want.Cmp(most) > 0 {
			want = most
		}
		if got := price.Scale(eval.Price{Call: n}, factor).Call; got != want.Int64() {
			t.Fatalf("%d × %d millionths is %d, want %d", n, factor, got, want)
		}
	})
}
