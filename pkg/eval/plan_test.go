package eval_test

import (
	"slices"
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

// A run that is decided needs the beginning of its plan and no more: whatever look it
// stops at, the ordinals of the shorter plan are those of the whole one, every trial of
// the rounds up to the look comes before any other of a sequential cell, and cells that
// are not sequential have all of theirs.
func TestOrderOfSequentialRepeats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(2, 6).Draw(t, "max")
		repeats := eval.Repeats{Min: rapid.IntRange(2, most).Draw(t, "min"), Max: most, Stop: eval.StopDecided}
		plan := eval.Plan{Seed: rapid.Uint64().Draw(t, "seed"), Looks: repeats.Looks(), Cells: []eval.Cell{{Repeats: most, Sequential: true}}}
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 8), 0, 8).Draw(t, "cells") {
			cell := eval.Cell{Repeats: n}
			if n == 0 {
				cell = eval.Cell{Repeats: most, Sequential: true}
			}
			plan.Cells = append(plan.Cells, cell)
		}
		look := rapid.SampledFrom(plan.Looks).Draw(t, "look")
		short := plan.Until(look)
		whole, order := eval.NewOrder(plan), eval.NewOrder(short)
		got := make([]int, len(plan.Cells))
		for i := range short.Trials() {
			cell, repeat, err := order.At(i)
			again, againRepeat, wholeErr := whole.At(i)
			if err != nil || wholeErr != nil || cell != again || repeat != againRepeat {
				t.Fatalf("ordinal %d is cell %d repeat %d (%v) of the shorter plan and cell %d repeat %d (%v) of the whole one", i, cell, repeat, err, again, againRepeat, wholeErr)
			}
			got[cell]++
		}
		for i, cell := range plan.Cells {
			want := cell.Repeats
			if cell.Sequential {
				want = look
			}
			if got[i] != want {
				t.Errorf("cell %d of %+v has %d trials up to look %d, want %d", i, cell, got[i], look, want)
			}
		}
		if _, _, err := order.At(short.Trials()); err == nil {
			t.Error("an ordinal behind the shorter plan is no error")
		}
	})
}

func TestLooks(t *testing.T) {
	tests := []struct {
		name    string
		repeats eval.Repeats
		want    []int
	}{
		{"every round", eval.Repeats{Min: 2, Max: 5, Stop: eval.StopDecided}, []int{2, 3, 4, 5}},
		{"one look", eval.Repeats{Min: 4, Max: 4, Stop: eval.StopDecided}, []int{4}},
		{"ten at most", eval.Repeats{Min: 2, Max: 11, Stop: eval.StopDecided}, []int{2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
		{"at distances", eval.Repeats{Min: 2, Max: 12, Stop: eval.StopDecided}, []int{2, 4, 6, 8, 10, 12}},
		{"the last whatever the distance", eval.Repeats{Min: 5, Max: 30, Stop: eval.StopDecided}, []int{5, 8, 11, 14, 17, 20, 23, 26, 29, 30}},
		{"not asked for", eval.Repeats{Min: 2, Max: 5, Fit: "budget"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.repeats.Looks(); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
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
