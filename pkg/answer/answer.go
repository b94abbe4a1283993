package answer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// An Answer is a result, or a rejection.
type Answer struct {
	Outcome eval.Outcome
	// Value is structuredContent where there is one, else what the blocks hold:
	// one block's content, or an array with that of each.
	Value any
	// BlocksValue is the value of the blocks alone, and Structured says whether
	// Value is another one.
	BlocksValue any
	Structured  bool
	// Text of all blocks that have one, joined by line breaks.
	Text string
	// Blocks is the number of content blocks, or of a resource's contents.
	Blocks int
	// Unreadable is why the result is none that MCP knows.
	Unreadable error
}

// content is a block of a tool's result or an item of a resource's contents
// (MCP 2025-11-25, server/tools and server/resources).
type content struct {
	Type string  `json:"type"`
	Text *string `json:"text"`
	Blob *string `json:"blob"`
}

// Read takes the result of an outcome apart.
func Read(o eval.Outcome) Answer {
	a := Answer{Outcome: o}
	if len(o.Result) == 0 {
		return a
	}
	var result struct {
		Content           []eval.JSON `json:"content"`
		Contents          []eval.JSON `json:"contents"`
		StructuredContent eval.JSON   `json:"structuredContent"`
	}
	if err := eval.DecodeExact(o.Result, &result); err != nil {
		a.Unreadable = Plain(err, "result")
		return a
	}
	values, texts := []any{}, []string{}
	for _, raw := range append(result.Content, result.Contents...) {
		value, text, err := readBlock(raw)
		if err != nil {
			a.Unreadable = Plain(err, fmt.Sprintf("block %d", len(values)+1))
			return a
		}
		values = append(values, value)
		if text != nil {
			texts = append(texts, *text)
		}
	}
	a.Blocks = len(values)
	a.Text = strings.Join(texts, "\n")
	a.BlocksValue = values
	if len(values) == 1 {
		a.BlocksValue = values[0]
	}
	a.Value = a.BlocksValue
	if s := result.StructuredContent; len(s) > 0 && string(s) != "null" {
		a.Value, a.Unreadable = eval.Decode(s)
		a.Structured = true
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

// Plain says what is wrong with a result without the names of Go types.
func Plain(err error, where string) error {
	if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s: unexpected %s", strings.TrimSuffix(where+"."+mistyped.Field, "."), mistyped.Value)
	}
	return fmt.Errorf("%s: %w", where, err)
}

// Count is the number of items: of a structured array, of a JSON array that is
// the only block, else of blocks.
func (a Answer) Count() int {
	if items, ok := a.Value.([]any); ok && a.Structured {
		return len(items)
	}
	if items, ok := a.BlocksValue.([]any); ok {
		return len(items)
	}
	return a.Blocks
}

// Rejected says whether the server refused.
func (a Answer) Rejected() bool {
	return a.Outcome.Kind == eval.OutcomeToolError || a.Outcome.Kind == eval.OutcomeProtocolError
}

// Complaint is the text of a rejection.
func (a Answer) Complaint() string {
	if e := a.Outcome.Error; e != nil {
		if len(e.Data) > 0 {
			return e.Message + " " + string(e.Data)
		}
		return e.Message
	}
	if a.Text == "" && a.Value != nil {
		return string(eval.Encode(a.Value))
	}
	return a.Text
}
