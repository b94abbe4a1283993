package scripted

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

// heard lists what the model had heard last before each of its turns, the one
// that it is to take included.
func heard(messages []llm.Message) []llm.Message {
	var out []llm.Message
	var latest llm.Message
	for _, m := range messages {
		if m.Role == llm.Assistant {
			out = append(out, latest)
		} else {
			latest = m
		}
	}
	return append(out, latest)
}

// A walk goes through the moves of a case, one turn after the other. Where it
// had to decide in an earlier turn it decides by what was heard then, and so
// takes the same way again.
type walk struct {
	trial llm.Trial
	heard []llm.Message // for each turn; the last one is to be taken
	turn  int
	found eval.Move
}

// next is the move of the last turn; a zero one when the moves end before it.
func (w walk) next(key string, moves []eval.Move) eval.Move {
	w.moves(key, moves)
	return w.found
}

// moves goes through a list. False means that the last turn is reached.
func (w *walk) moves(path string, moves []eval.Move) bool {
	for i, m := range moves {
		here := fmt.Sprintf("%s:%d", path, i)
		for n := 0; m.Times < 0 || n < max(1, m.Times); n++ {
			before := w.turn
			if !w.move(here, m) {
				return false
			}
			if w.turn == before {
				break // a way without moves: it would be the same again
			}
		}
	}
	return true
}

func (w *walk) move(path string, m eval.Move) bool {
	switch {
	case len(m.Choose) > 0:
		i := w.choose(path, m.Choose)
		return w.moves(fmt.Sprintf("%s.%d", path, i), m.Choose[i].Moves)
	case m.If != nil && holds(*m.If, w.heard[w.turn]):
		return w.moves(path+".then", m.Then)
	case m.If != nil:
		return w.moves(path+".else", m.Else)
	case w.turn == len(w.heard)-1:
		w.found = m
		return false
	}
	w.turn++
	return true
}

// holds looks at a message. A text that is asked for beside an error has to be
// in the result that is the error.
func holds(c eval.Condition, m llm.Message) bool {
	if !c.Error && strings.Contains(m.Text, c.Contains) {
		return true
	}
	return slices.ContainsFunc(m.Results, func(r llm.Result) bool {
		return (r.Error || !c.Error) && strings.Contains(r.Text, c.Contains)
	})
}

// choose takes one of several ways by weight.
func (w *walk) choose(path string, choices []eval.Choice) int {
	total := 0.0
	for _, c := range choices {
		total += c.Weight
	}
	rest := w.draw(path) * total
	for i, c := range choices {
		if rest -= c.Weight; rest < 0 {
			return i
		}
	}
	return len(choices) - 1 // no weights, or the last bit of a sum of fractions
}

// draw is a number from 0 to less than 1 that depends on the seed of the trial,
// the place in the policy and the turn. The votes of a judge have one seed and
// differ by their role.
func (w *walk) draw(path string) float64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\n%q\n%d\n%s", w.trial.Seed, w.trial.Role, w.turn, path))
	return float64(binary.BigEndian.Uint64(sum[:])>>11) / (1 << 53)
}
