package scripted

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/match"
	"github.com/evalfarm/evalfarm/pkg/vars"
)

// fill makes the message of a move, with its placeholders replaced.
func fill(messages []llm.Message, move eval.Move) (llm.Message, error) {
	find := func(name string) (eval.JSON, bool) { return lookup(messages, name), true }
	text, err := vars.FillString(move.Say, find)
	if err != nil {
		return llm.Message{}, fmt.Errorf("what is said: %w", err)
	}
	out := llm.Message{Role: llm.Assistant, Text: text}
	made := 0
	for _, m := range messages {
		made += len(m.Calls)
	}
	for i, c := range move.Calls {
		call := llm.Call{ID: fmt.Sprintf("call_%d", made+i+1), Tool: c.Tool, Arguments: "{}"}
		switch {
		case c.Raw != nil:
			call.Arguments = *c.Raw
		case len(c.Arguments) > 0:
			filled, err := vars.Fill(c.Arguments, find)
			if err != nil {
				return llm.Message{}, fmt.Errorf("arguments of %s: %w", c.Tool, err)
			}
			call.Arguments = string(filled)
		}
		out.Calls = append(out.Calls, call)
	}
	return out, nil
}

// lookup finds the value of a placeholder in a conversation. One that has none,
// because a tool answered otherwise than the author of the policy expected,
// stays as it is written: the model says something silly, for all to see, and
// the trial is judged by it.
func lookup(messages []llm.Message, name string) eval.JSON {
	path, below := strings.CutPrefix(name, "last.")
	last, called := latestResult(messages)
	switch {
	case name == "prompt" && len(messages) > 0:
		return eval.Encode(messages[0].Text)
	case name == "last" && called:
		return eval.Encode(last)
	case below && called:
		if v, ok := get(last, path); ok {
			return eval.Encode(v)
		}
	}
	return eval.Encode("{{" + name + "}}")
}

func latestResult(messages []llm.Message) (string, bool) {
	for _, m := range slices.Backward(messages) {
		if n := len(m.Results); n > 0 {
			return m.Results[n-1].Text, true
		}
	}
	return "", false
}

// get finds a value in a text of JSON. The name of a placeholder has no
// brackets, so an index may stand there as a name: items.0.id.
func get(text, path string) (any, bool) {
	root, err := eval.Decode([]byte(text))
	if err != nil {
		return nil, false
	}
	for _, p := range []string{path, indexed(path)} {
		if v, ok, err := match.Get(root, p); ok && err == nil {
			return v, true
		}
	}
	return nil, false
}

// indexed writes the names of a path that are numbers as indexes.
func indexed(path string) string {
	var out strings.Builder
	for i, name := range strings.Split(path, ".") {
		switch {
		case name != "" && strings.Trim(name, "0123456789") == "":
			out.WriteString("[" + name + "]")
		case i > 0:
			out.WriteString("." + name)
		default:
			out.WriteString(name)
		}
	}
	return out.String()
}
