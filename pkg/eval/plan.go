package eval

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
)

// A Cell is case × variant: the trials that differ only in their repeat. It
// refers to the snapshot's cases and variants by index.
type Cell struct {
	Case    int `json:"case"`
	Variant int `json:"variant"`
	// Repeats is how many trials the cell gets.
	Repeats int `json:"repeats"`
	// Hold is what one attempt at a trial of the cell may take at most, as far as its
	// limits say so.
	Hold Amount `json:"hold,omitzero"`
	// Models that a trial of the cell asks, by their names in the snapshot, without
	// judges.
	Models []string `json:"models,omitempty"`
	// Requires is what a worker must have for trials of the cell; see
	// [JoinCapabilities].
	Requires string `json:"requires,omitempty"`
}

// A Plan is the frozen, ordered list of a run's trials, in the smallest form:
// its cells. Trials are numbered by ordinals from 0, repeat-major: repeat 1 of
// every cell, then repeat 2 of those that still repeat, so that whatever is
// finished when a run stops early is balanced. Within a round the cells are
// shuffled, so that no model or server gets its calls in one burst.
type Plan struct {
	Seed  uint64 `json:"seed"`
	Cells []Cell `json:"cells"`
}

// Trials is the number of trials in the plan.
func (p Plan) Trials() int {
	n := 0
	for _, c := range p.Cells {
		n += c.Repeats
	}
	return n
}

// Rounds is the largest number of repeats of any cell.
func (p Plan) Rounds() int {
	n := 0
	for _, c := range p.Cells {
		n = max(n, c.Repeats)
	}
	return n
}

// An Order resolves ordinals of one plan. It remembers the last two rounds that
// it shuffled, so ordinals asked for in roughly rising order cost O(1) each. It
// is not safe for concurrent use.
type Order struct {
	plan   Plan
	starts []int // first ordinal of each round, and the total
	// rounds holds shuffled cells, by round modulo 2: a window of trials in
	// flight spans the end of one round and the start of the next.
	rounds [2]shuffled
}

// shuffled is the order of cells in one round, from 1.
type shuffled struct {
	round int
	cells []int
}

// NewOrder prepares a plan for resolving ordinals.
func NewOrder(p Plan) *Order {
	starts := []int{0}
	for r := 1; r <= p.Rounds(); r++ {
		n := 0
		for _, c := range p.Cells {
			if c.Repeats >= r {
				n++
			}
		}
		starts = append(starts, starts[r-1]+n)
	}
	return &Order{plan: p, starts: starts}
}

// At gives the index of the cell and the repeat, from 1, of an ordinal.
func (o *Order) At(ordinal int) (cell, repeat int, err error) {
	total := o.starts[len(o.starts)-1]
	if ordinal < 0 || ordinal >= total {
		return 0, 0, fmt.Errorf("ordinal %d is outside the plan's %d trials", ordinal, total)
	}
	i, found := slices.BinarySearch(o.starts, ordinal)
	if !found {
		i--
	}
	repeat = i + 1
	held := &o.rounds[repeat%2]
	if held.round != repeat {
		*held = shuffled{repeat, o.shuffle(repeat)}
	}
	return held.cells[ordinal-o.starts[i]], repeat, nil
}

// shuffle orders the cells of a round by a hash, which every process computes
// alike, whatever its version of math/rand.
func (o *Order) shuffle(round int) []int {
	type keyed struct {
		cell int
		key  uint64
	}
	var ks []keyed
	for i, c := range o.plan.Cells {
		if c.Repeats >= round {
			ks = append(ks, keyed{i, hash64(o.plan.Seed, "order", fmt.Sprint(round), fmt.Sprint(i))})
		}
	}
	slices.SortFunc(ks, func(a, b keyed) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.cell, b.cell))
	})
	cells := make([]int, len(ks))
	for i, k := range ks {
		cells[i] = k.cell
	}
	return cells
}

// SeedOf is the seed of one trial. It is the same for all variants of (case, repeat), which
// makes comparisons between variants paired.
func (p Plan) SeedOf(caseID string, repeat int) uint64 {
	return hash64(p.Seed, "trial", caseID, fmt.Sprint(repeat))
}

func hash64(seed uint64, parts ...string) uint64 {
	h := sha256.New()
	var buf [8]byte
	binary.BigEndian.PutUint64(buf[:], seed)
	h.Write(buf[:])
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return binary.BigEndian.Uint64(h.Sum(nil))
}
