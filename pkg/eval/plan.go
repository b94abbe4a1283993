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
	// Sequential cells get no more repeats than the run needs to decide: Repeats at
	// most.
	Sequential bool `json:"sequential,omitempty"`
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
//
// In a plan with looks, whatever is not sequential comes with the rounds up to the
// first look. What a run needs no more when it is decided is therefore the end of its
// plan, and no ordinal changes its meaning.
type Plan struct {
	Seed  uint64 `json:"seed"`
	Cells []Cell `json:"cells"`
	// Looks are the rounds after which the run may stop because it is decided, in
	// order, the last one of the sequential cells included. Empty: there is none.
	Looks []int `json:"looks,omitempty"`
}

// Until is the plan of a run that stops after a look; 0 is the whole plan.
func (p Plan) Until(rounds int) Plan {
	if rounds == 0 {
		return p
	}
	p.Cells = slices.Clone(p.Cells)
	for i := range p.Cells {
		if c := &p.Cells[i]; c.Sequential {
			c.Repeats = min(c.Repeats, rounds)
		}
	}
	return p
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
	rounds []round
	starts []int // first ordinal of each round, and the total
	// held has shuffled cells of rounds, by the place of the round modulo 2: a window of
	// trials in flight spans the end of one round and the start of the next.
	held [2]shuffled
}

// A round is one repeat, from 1, of the cells that have it: of all, or of those that
// are or are not sequential.
type round struct {
	repeat int
	of     whose
}

type whose int

const (
	ofAll whose = iota
	ofFixed
	ofSequential
)

// has says whether a cell has a trial in the round.
func (r round) has(c Cell) bool {
	return c.Repeats >= r.repeat && (r.of == ofAll || (r.of == ofSequential) == c.Sequential)
}

// shuffled is the order of cells in one round.
type shuffled struct {
	place int // of the round, from 1; 0 for none
	cells []int
}

// NewOrder prepares a plan for resolving ordinals.
func NewOrder(p Plan) *Order {
	o := &Order{plan: p, starts: []int{0}}
	add := func(r round) {
		n := 0
		for _, c := range p.Cells {
			if r.has(c) {
				n++
			}
		}
		if n > 0 {
			o.rounds = append(o.rounds, r)
			o.starts = append(o.starts, o.starts[len(o.starts)-1]+n)
		}
	}
	last, first := p.Rounds(), p.Rounds()
	if len(p.Looks) > 0 {
		first = min(p.Looks[0], last)
	}
	for r := 1; r <= first; r++ {
		add(round{r, ofAll})
	}
	for _, of := range []whose{ofFixed, ofSequential} {
		for r := first + 1; r <= last; r++ {
			add(round{r, of})
		}
	}
	return o
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
	held := &o.held[i%2]
	if held.place != i+1 {
		*held = shuffled{i + 1, o.shuffle(o.rounds[i])}
	}
	return held.cells[ordinal-o.starts[i]], o.rounds[i].repeat, nil
}

// shuffle orders the cells of a round by a hash, which every process computes
// alike, whatever its version of math/rand.
func (o *Order) shuffle(r round) []int {
	type keyed struct {
		cell int
		key  uint64
	}
	var ks []keyed
	for i, c := range o.plan.Cells {
		if r.has(c) {
			ks = append(ks, keyed{i, hash64(o.plan.Seed, "order", fmt.Sprint(r.repeat), fmt.Sprint(i))})
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
