package stub

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/llm"
)

// A conversation gathers what a request holds into messages that alternate.
type conversation struct{ messages []llm.Message }

// turn is the message to add to: the last one, if it is of the same side.
func (c *conversation) turn(role llm.Role) *llm.Message {
	if n := len(c.messages); n == 0 || c.messages[n-1].Role != role {
		c.messages = append(c.messages, llm.Message{Role: role})
	}
	return &c.messages[len(c.messages)-1]
}

func (c *conversation) say(role llm.Role, text string) {
	m := c.turn(role)
	m.Text = lines(m.Text, text)
}

func (c *conversation) think(text string) {
	m := c.turn(llm.Assistant)
	m.Reasoning = lines(m.Reasoning, text)
}

func (c *conversation) call(call llm.Call) {
	m := c.turn(llm.Assistant)
	m.Calls = append(m.Calls, call)
}

func (c *conversation) result(r llm.Result) {
	m := c.turn(llm.User)
	m.Results = append(m.Results, r)
}

// pair wants one result for each call, right after it, as the providers do. It
// puts results in the order of their calls and names their tools.
func (c *conversation) pair() error {
	if len(c.messages) == 0 {
		return errors.New("there are no messages")
	}
	var open []llm.Call
	for i := range c.messages {
		m := &c.messages[i]
		given := map[string]llm.Result{}
		for _, r := range m.Results {
			if _, twice := given[r.ID]; twice {
				return fmt.Errorf("two results for the call with the id %q", r.ID)
			}
			given[r.ID] = r
		}
		for j, call := range open {
			r, ok := given[call.ID]
			if !ok {
				return fmt.Errorf("no result for the call with the id %q", call.ID)
			}
			r.Tool = call.Tool
			m.Results[j] = r
			delete(given, call.ID)
		}
		for id := range given {
			return fmt.Errorf("a result for the id %q, which no call of the message before has", id)
		}
		open = m.Calls
	}
	if len(open) > 0 {
		return fmt.Errorf("no result for the call with the id %q", open[0].ID)
	}
	return nil
}

// lines joins what is not empty.
func lines(texts ...string) string {
	var kept []string
	for _, t := range texts {
		if t != "" {
			kept = append(kept, t)
		}
	}
	return strings.Join(kept, "\n")
}

// text is content that is a string or a list of parts. A part that is no text,
// such as an image, counts as its type in brackets.
type text string

func (t *text) UnmarshalJSON(raw []byte) error {
	var whole string
	if json.Unmarshal(raw, &whole) == nil { // null too
		*t = text(whole)
		return nil
	}
	var parts []struct{ Type, Text, Refusal string }
	if json.Unmarshal(raw, &parts) != nil {
		return errors.New("content: want a string or a list of parts")
	}
	for _, p := range parts {
		one := lines(p.Text, p.Refusal)
		if one == "" && p.Type != "" && !strings.HasSuffix(p.Type, "text") {
			one = "[" + p.Type + "]"
		}
		*t = text(lines(string(*t), one))
	}
	return nil
}

// choose applies what a request says of the choice of tools. Of "any tool" the
// first is made, so that the wish is met.
func choose(req *llm.Request, mode, name string) error {
	switch mode {
	case "", "auto":
		return nil
	case "none":
		req.Tools = nil
		return nil
	case "any", "required":
		if len(req.Tools) == 0 {
			return errors.New("tool_choice wants a call, but there are no tools")
		}
		req.MustCall = req.Tools[0].Name
		return nil
	case "tool", "function":
		for _, t := range req.Tools {
			if t.Name == name {
				req.MustCall = name
				return nil
			}
		}
		return fmt.Errorf("tool_choice names the tool %q, which is not among the tools", name)
	default:
		return fmt.Errorf("tool_choice %q is unknown", mode)
	}
}
