package telemetry

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A Message of a conversation, as the conventions show it.
type Message struct {
	Role  string // user, assistant or tool
	Parts []Part
}

// A Part of a message.
type Part struct {
	Type PartType
	// ID of the call, and Tool that is called.
	ID, Tool string
	// Text that was said, the arguments of a call, or its result.
	Text string
}

// A PartType is what a part is, by the conventions' names.
type PartType string

const (
	PartText      PartType = "text"
	PartReasoning PartType = "reasoning"
	PartCall      PartType = "tool_call"
	PartResult    PartType = "tool_call_response"
)

// Told shows what a model is told, if content may be shown.
func (s Span) Told(system string, messages []Message) {
	if !s.Content() {
		return
	}
	if system != "" {
		part := fit(Part{Type: PartText, Text: s.clean(system)}, mostContent-len("[]"))
		s.set(SystemInstructions.String("[" + string(part) + "]"))
	}
	s.set(InputMessages.String(s.conversation(messages)))
}

// Said shows what a model answers, if content may be shown.
func (s Span) Said(m Message) {
	if s.Content() {
		s.set(OutputMessages.String(s.conversation([]Message{m})))
	}
}

const (
	// mostContent of one attribute in bytes, and of one part where all are too many.
	mostContent = 32 << 10
	mostPart    = mostContent / 8
	// around a part, if it is alone in its message, and for the mark of what is left out.
	around = len(`{"role":"assistant","parts":[]},`) + 1
)

// A piece is a part on its way into JSON.
type piece struct {
	message int // of which it is a part
	part    Part
	json    []byte
}

// conversation writes messages as JSON of at most 32 KiB. When they are more, long
// texts are cut in the middle; then so many parts in the middle are left out that the
// rest fits. Both leave a mark. The secrets are taken out before.
func (s showing) conversation(messages []Message) string {
	var all []piece
	size := 0
	for i, m := range messages {
		for _, p := range m.Parts {
			p.ID, p.Tool, p.Text = s.clean(p.ID), s.clean(p.Tool), s.clean(p.Text)
			all = append(all, piece{message: i, part: p})
			size += len(p.Text)
		}
	}
	if size <= mostContent {
		for i := range all {
			all[i].json = fit(all[i].part, math.MaxInt)
		}
		if whole := join(messages, all); len(whole) <= mostContent {
			return whole
		}
	}
	return join(messages, ends(all))
}

// ends are as many of the first and of the last pieces as fit, with a mark between
// them for those that do not.
func ends(all []piece) []piece {
	used := len("[]") + around + len(`{"type":"left_out","parts":12345678},`)
	take := func(i, budget int) bool {
		all[i].json = fit(all[i].part, mostPart)
		n := len(all[i].json) + around
		if used+n > budget {
			return false
		}
		used += n
		return true
	}
	head, tail := 0, len(all)
	for head < tail && take(head, mostContent/2) {
		head++
	}
	for tail > head && take(tail-1, mostContent) {
		tail--
	}
	kept := slices.Clone(all[:head])
	if tail > head {
		kept = append(kept, piece{message: all[max(0, head-1)].message, json: fmt.Appendf(nil, `{"type":"left_out","parts":%d}`, tail-head)})
	}
	return append(kept, all[tail:]...)
}

// join puts the pieces of a message together.
func join(messages []Message, pieces []piece) string {
	var out strings.Builder
	out.WriteByte('[')
	for i, p := range pieces {
		if i > 0 && pieces[i-1].message == p.message {
			out.WriteByte(',')
		} else {
			if i > 0 {
				out.WriteString("]},")
			}
			fmt.Fprintf(&out, `{"role":%s,"parts":[`, eval.Encode(messages[p.message].Role))
		}
		out.Write(p.json)
	}
	if len(pieces) > 0 {
		out.WriteString("]}")
	}
	out.WriteByte(']')
	return out.String()
}

// fit writes a part as JSON of at most so many bytes, with its text cut in the middle
// if it has to be.
func fit(p Part, most int) []byte {
	p.ID, p.Tool = middle(p.ID, longest), middle(p.Tool, longest)
	text := p.Text
	for limit := most; ; limit /= 2 {
		p.Text = middle(text, limit)
		if raw := p.json(); len(raw) <= most || limit == 0 {
			return raw
		}
	}
}

func (p Part) json() []byte {
	switch p.Type {
	case PartCall:
		arguments := any(p.Text)
		if json.Valid([]byte(p.Text)) {
			arguments = json.RawMessage(p.Text)
		}
		return eval.Encode(struct {
			Type      PartType `json:"type"`
			ID        string   `json:"id"`
			Name      string   `json:"name"`
			Arguments any      `json:"arguments"`
		}{p.Type, p.ID, p.Tool, arguments})
	case PartResult:
		return eval.Encode(struct {
			Type     PartType `json:"type"`
			ID       string   `json:"id"`
			Response string   `json:"response"`
		}{p.Type, p.ID, p.Text})
	default:
		return eval.Encode(struct {
			Type    PartType `json:"type"`
			Content string   `json:"content"`
		}{p.Type, p.Text})
	}
}

// middle cuts the middle out of a text that has more than so many bytes, and says how
// much it was. What is no UTF-8 is replaced: nobody could be sent it.
func middle(s string, most int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= most {
		return s
	}
	head, tail := s[:most/2], s[len(s)-most/2:]
	return strings.ToValidUTF8(head, "") + fmt.Sprintf("…[%d bytes left out]…", len(s)-len(head)-len(tail)) + strings.ToValidUTF8(tail, "")
}
