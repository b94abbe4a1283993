package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// An answer is a result, or a rejection, in the form in which steps look at it.
type answer struct {
	outcome eval.Outcome
	// value is structuredContent where there is one, else what the blocks hold:
	// one block's content, or an array with that of each.
	value any
	// blocksValue is the value of the blocks alone, and structured says whether
	// value is another one.
	blocksValue any
	structured  bool
	// text of all blocks that have one, joined by line breaks.
	text string
	// blocks is the number of content blocks, or of a resource's contents.
	blocks int
	// unreadable is why the result is none that MCP knows.
	unreadable error
}

// content is a block of a tool's result or an item of a resource's contents
// (MCP 2025-11-25, server/tools and server/resources).
type content struct {
	Type string  `json:"type"`
	Text *string `json:"text"`
	Blob *string `json:"blob"`
}

// read takes the result of an outcome apart.
func read(o eval.Outcome) answer {
	a := answer{outcome: o}
	if len(o.Result) == 0 {
		return a
	}
	var result struct {
		Content           []eval.JSON `json:"content"`
		Contents          []eval.JSON `json:"contents"`
		StructuredContent eval.JSON   `json:"structuredContent"`
	}
	if err := eval.DecodeExact(o.Result, &result); err != nil {
		a.unreadable = plain(err, "result")
		return a
	}
	values, texts := []any{}, []string{}
	for _, raw := range append(result.Content, result.Contents...) {
		value, text, err := readBlock(raw)
		if err != nil {
			a.unreadable = plain(err, fmt.Sprintf("block %d", len(values)+1))
			return a
		}
		values = append(values, value)
		if text != nil {
			texts = append(texts, *text)
		}
	}
	a.blocks = len(values)
	a.text = strings.Join(texts, "\n")
	a.blocksValue = values
	if len(values) == 1 {
		a.blocksValue = values[0]
	}
	a.value = a.blocksValue
	if s := result.StructuredContent; len(s) > 0 && string(s) != "null" {
		a.value, a.unreadable = eval.Decode(s)
		a.structured = true
	}
	return a
}

// readBlock returns what a block holds: its text as JSON if the text is one JSON
// value and nothing else, its text, its base64 data, or the block as it is.
func readBlock(raw eval.JSON) (any, *string, error) {
	var c content
	if err := eval.DecodeExact(raw, &c); err != nil {
		return nil, nil, err
	}
	isText := c.Text != nil && (c.Type == "" || c.Type == "text")
	switch {
	case isText:
		if value, err := eval.Decode([]byte(*c.Text)); err == nil {
			return value, c.Text, nil
		}
		return *c.Text, c.Text, nil
	case c.Type == "" && c.Blob != nil:
		return *c.Blob, c.Blob, nil
	default:
		value, err := eval.Decode(raw)
		return value, nil, err
	}
}

// plain says what is wrong with a result without the names of Go types.
func plain(err error, where string) error {
	if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s: unexpected %s", strings.TrimSuffix(where+"."+mistyped.Field, "."), mistyped.Value)
	}
	return fmt.Errorf("%s: %w", where, err)
}

// count is the number of items: of a structured array, of a JSON array that is
// the only block, else of blocks.
func (a answer) count() int {
	if items, ok := a.value.([]any); ok && a.structured {
		return len(items)
	}
	if items, ok := a.blocksValue.([]any); ok {
		return len(items)
	}
	return a.blocks
}

// rejected says whether the server refused.
func (a answer) rejected() bool {
	return a.outcome.Kind == eval.OutcomeToolError || a.outcome.Kind == eval.OutcomeProtocolError
}

// complaint is the text of a rejection.
func (a answer) complaint() string {
	if e := a.outcome.Error; e != nil {
		if len(e.Data) > 0 {
			return e.Message + " " + string(e.Data)
		}
		return e.Message
	}
	if a.text == "" && a.value != nil {
		return string(eval.Encode(a.value))
	}
	return a.text
}
