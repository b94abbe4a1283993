package eval_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// Every trial of a plan has exactly one ordinal, rounds come one after another,
// and it does not matter in which order ordinals are asked for.
func TestOrderNumbersEveryTrialOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plan := eval.Plan{Seed: rapid.Uint64().Draw(t, "seed")}
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 4), 1, 12).Draw(t, "repeats") {
			plan.Cells = append(plan.Cells, eval.Cell{Repeats: n})
		}
		type trial struct{ cell, repeat int }
		seen := map[trial]bool{}
		order, last := eval.NewOrder(plan), 0
		for i := range plan.Trials() {
			cell, repeat, err := order.At(i)
			if err != nil {
				t.Fatal(err)
			}
			if seen[trial{cell, repeat}] {
				t.Fatalf("ordinal %d is cell %d repeat %d again", i, cell, repeat)
			}
			seen[trial{cell, repeat}] = true
			if repeat < last || repeat > plan.Cells[cell].Repeats {
				t.Fatalf("ordinal %d is repeat %d of %d after repeat %d", i, repeat, plan.Cells[cell].Repeats, last)
			}
			last = repeat
			again, againRepeat, _ := eval.NewOrder(plan).At(i)
			if again != cell || againRepeat != repeat {
				t.Fatalf("ordinal %d asked for alone: got %d/%d, want %d/%d", i, again, againRepeat, cell, repeat)
			}
		}
		if _, _, err := order.At(plan.Trials()); err == nil {
			t.Fatal("an ordinal behind the last one is no error")
		}
	})
}

func TestSeedIsSharedByVariants(t *testing.T) {
	plan := eval.Plan{Seed: 41}
	if plan.SeedOf("a", 1) == plan.SeedOf("a", 2) || plan.SeedOf("a", 1) == plan.SeedOf("b", 1) {
		t.Error("two trials share a seed")
	}
	// Pinned: a seed must not change between versions, or runs stop comparing.
	if got, want := plan.SeedOf("a", 1), uint64(536798455165586612); got != want {
		t.Errorf("seed of a/1: got %d, want %d", got, want)
	}
}
