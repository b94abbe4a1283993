package agent

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/answer"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

// defaultOutputBytes is tool_output_bytes where nobody sets it.
const defaultOutputBytes = 32 << 10

// A shown result is what the model is told of a call.
type shown struct {
	text    string
	isError bool
	// cut is how many bytes of the result are left out.
	cut int
	// injected are words in it that try to instruct.
	injected string
	// unreadable is why the result is none that MCP knows.
	unreadable error
}

// present writes an outcome for the model, at most limit bytes and a note of what
// is cut: texts as they are, but with nothing unseen in them, and a note in place
// of whatever is no text, so that its bytes never come into the context.
func present(o eval.Outcome, limit int) shown {
	s := shown{isError: o.Kind != eval.OutcomeOK}
	var parts []part
	switch o.Kind {
	case eval.OutcomeOK, eval.OutcomeToolError:
		var err error
		if parts, err = partsOf(o.Result); err != nil {
			return shown{text: "The answer could not be read.", isError: true, unreadable: err}
		}
		if len(parts) == 0 && s.isError {
			parts = []part{note("The tool failed and did not say why.")}
		}
	case eval.OutcomeProtocolError:
		parts = []part{note(fmt.Sprintf("Error %d:", o.Error.Code)), {text: answer.Read(o).Complaint()}}
	default:
		parts = []part{note(noAnswer(o.Reason))}
	}
	if len(parts) == 0 {
		parts = []part{note("[result: empty]")}
	}
	s.text, s.cut = write(parts, cmp.Or(limit, defaultOutputBytes))
	for _, p := range parts {
		if s.injected == "" && !p.ours {
			s.injected = injected(p.text)
		}
	}
	return s
}

// noAnswer is what the model is told of a call that brought none. It does not
// say more than the same failure would say again: details are for people.
func noAnswer(reason eval.Reason) string {
	switch reason {
	case eval.ReasonTimeout:
		return "The tool did not answer in time. It may or may not have done what was asked."
	case eval.ReasonProtocolViolation:
		return "The answer could not be read."
	default:
		return "The tool could not be called."
	}
}

// A part is a piece of what is shown: text of the server, or a note of ours.
type part struct {
	text string
	ours bool
}

func note(text string) part { return part{text, true} }

// write joins parts with line breaks, as far as there is room, and returns how
// many bytes it left out.
func write(parts []part, limit int) (string, int) {
	var out strings.Builder
	total, written := 0, 0
	full := false
	for i, p := range parts {
		if i > 0 {
			p.text = "\n" + p.text
		}
		total += len(p.text)
		switch {
		case full:
		case p.ours && out.Len()+len(p.text) > limit:
			full = true
		case p.ours:
			out.WriteString(p.text)
			written += len(p.text)
		default:
			n := writeVisible(&out, p.text, limit)
			written += n
			full = n < len(p.text)
		}
	}
	if full {
		fmt.Fprintf(&out, "\n[cut: %d of %d bytes shown]", written, total)
	}
	return out.String(), total - written
}

// block is a content block of a result, or an item of a resource's contents
// (MCP 2025-11-25, server/tools and server/resources).
type block struct {
	Type     string    `json:"type"`
	Text     *string   `json:"text"`
	Data     string    `json:"data"`
	Blob     *string   `json:"blob"`
	MIMEType string    `json:"mimeType"`
	URI      string    `json:"uri"`
	Name     string    `json:"name"`
	Resource eval.JSON `json:"resource"`
}

// partsOf takes a result apart. Structured content is shown when no block has a
// text: a server that has both says the same twice.
func partsOf(raw eval.JSON) ([]part, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var result struct {
		Content    []eval.JSON `json:"content"`
		Contents   []eval.JSON `json:"contents"`
		Structured eval.JSON   `json:"structuredContent"`
	}
	if err := eval.DecodeExact(raw, &result); err != nil {
		return nil, answer.Plain(err, "result")
	}
	var parts []part
	hasText := false
	for i, raw := range append(result.Content, result.Contents...) {
		var b block
		if err := eval.DecodeExact(raw, &b); err != nil {
			return nil, answer.Plain(err, fmt.Sprintf("block %d", i+1))
		}
		shown, err := b.parts(len(raw), len(result.Contents) == 1)
		if err != nil {
			return nil, answer.Plain(err, fmt.Sprintf("block %d", i+1))
		}
		parts = append(parts, shown...)
		for _, p := range shown {
			hasText = hasText || !p.ours && strings.TrimSpace(p.text) != ""
		}
	}
	if s := result.Structured; !hasText && len(s) > 0 && string(s) != "null" {
		var compact bytes.Buffer
		if err := json.Compact(&compact, s); err != nil {
			return nil, answer.Plain(err, "structuredContent")
		}
		parts = append(parts, part{text: compact.String()})
	}
	return parts, nil
}

// parts of a block that takes size bytes. The only item of a resource's contents
// needs no heading.
func (b block) parts(size int, alone bool) ([]part, error) {
	switch {
	case b.Text != nil && b.Type == "text", b.Text != nil && b.Type == "" && alone:
		return []part{{text: *b.Text}}, nil
	case b.Type == "image", b.Type == "audio":
		return []part{note(fmt.Sprintf("[%s: %s, %d bytes]", b.Type, mime(b.MIMEType), decodedLen(b.Data)))}, nil
	case b.Type == "resource_link":
		return []part{note(fmt.Sprintf("[link: %s %s, %s]", quoted(b.URI), mime(b.MIMEType), quoted(b.Name)))}, nil
	case b.Type == "resource":
		var inner block
		if err := eval.DecodeExact(b.Resource, &inner); err != nil {
			return nil, err
		}
		inner.Type = ""
		return inner.parts(size, false)
	case b.Type == "" && b.Text != nil:
		heading := note(fmt.Sprintf("[resource: %s %s, %d bytes]", quoted(b.URI), mime(b.MIMEType), len(*b.Text)))
		return []part{heading, {text: *b.Text}}, nil
	case b.Type == "" && b.Blob != nil:
		return []part{note(fmt.Sprintf("[resource: %s %s, %d bytes]", quoted(b.URI), mime(b.MIMEType), decodedLen(*b.Blob)))}, nil
	default:
		return []part{note(fmt.Sprintf("[block: %s, %d bytes]", quoted(b.Type), size))}, nil
	}
}

// quoted puts a server's word into a note of ours, where it cannot end the note.
func quoted(word string) string {
	const most = 2048 // a URI that is cut is useless, but it must end somewhere
	if len(word) > most {
		word = word[:answer.RuneStart(word, most)] + "…"
	}
	return visible(string(eval.Encode(word)))
}

// mime keeps of a media type what belongs into one (RFC 2045, section 5.1).
func mime(kind string) string {
	const most = 100
	kind = strings.Map(func(r rune) rune {
		if r > ' ' && r < 0x7f && !strings.ContainsRune(`[]()<>@,:\"?`, r) {
			return r
		}
		return -1
	}, kind)
	return cmp.Or(kind[:min(len(kind), most)], "unknown type")
}

// decodedLen is how many bytes a base64 text stands for.
func decodedLen(data string) int {
	return base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(data, "=")))
}
