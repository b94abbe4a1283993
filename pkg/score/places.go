package score

import (
	"cmp"
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/answer"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A piece is a text of a trajectory with its place.
type piece struct{ at, text string }

// noun names a piece of a place.
func noun(place eval.Place) string {
	switch place {
	case eval.PlaceSaid:
		return "a message of the agent"
	case eval.PlaceCalls:
		return "a call"
	case eval.PlaceResults:
		return "a result"
	case eval.PlaceAll:
		return "a text"
	default:
		return "an answer"
	}
}

// texts are the pieces of a place, in order. Calls that went back to the agent as
// invalid were not made; tried says that their pieces are wanted too.
func (x *exam) texts(place eval.Place, tried bool) []piece {
	if place == eval.PlaceAnswer {
		return []piece{{fmt.Sprintf("turn %d", len(x.Trajectory.Turns)), x.Trajectory.Answer}}
	}
	said := place == eval.PlaceSaid || place == eval.PlaceAll
	calls := place == eval.PlaceCalls || place == eval.PlaceAll
	results := place == eval.PlaceResults || place == eval.PlaceAll
	var pieces []piece
	for i, turn := range x.Trajectory.Turns {
		if said && turn.Text != "" {
			pieces = append(pieces, piece{fmt.Sprintf("turn %d", i+1), turn.Text})
		}
		for j, c := range turn.Calls {
			if c.Method == eval.MethodSearch || c.Invalid != "" && !tried {
				continue
			}
			at := fmt.Sprintf("turn %d, call %d", i+1, j+1)
			if calls {
				pieces = append(pieces, piece{at, x.known(c) + " " + cmp.Or(c.RawArguments, string(eval.Encode(decoded(c.Arguments))))})
			}
			if text := resultText(c.Outcome); results && text != "" {
				pieces = append(pieces, piece{at + ", result", text})
			}
		}
	}
	return pieces
}

// known is the name by which the agent knows the tool of a call. One that there
// is not has the name that the agent gave it, and no server.
func (x *exam) known(c eval.ToolCall) string {
	if c.Server != "" && (x.Case.Namespaced || len(x.Case.Servers) > 1) {
		return qualified(c.Server, c.Tool)
	}
	return c.Tool
}

// resultText is what a tool answered, with its structured content as JSON
// behind.
func resultText(o eval.Outcome) string {
	a := answer.Read(o)
	text := a.Text
	if a.Rejected() {
		text = a.Complaint()
	}
	if a.Value == nil || text != "" && !a.Structured {
		return text
	}
	if text != "" {
		text += "\n"
	}
	return text + string(eval.Encode(a.Value))
}
