package stub

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

// responses is OpenAI's Responses API. Nothing is kept, so a request has to
// bring the whole conversation.
type responses struct{ openai }

type responsesRequest struct {
	Model        string
	Instructions string
	Input        eval.JSON // a string or a list of items
	Tools        []struct {
		Type string
		openaiFunction
	}
	ToolChoice      openaiChoice `json:"tool_choice"`
	Temperature     *float64
	TopP            *float64 `json:"top_p"`
	MaxOutputTokens int      `json:"max_output_tokens"`
	Reasoning       struct{ Effort string }
	Previous        string `json:"previous_response_id"`
	Stream          bool
}

// responsesItem is an item of the input: a message (whose type may be left
// out), a function_call, a function_call_output or reasoning.
type responsesItem struct {
	Type, Role      string
	Content         text
	CallID          string `json:"call_id"`
	Name, Arguments string
	Output          text
	Summary         text
}

func (responses) decode(_ *http.Request, body []byte) (call, error) {
	var q responsesRequest
	if err := json.Unmarshal(body, &q); err != nil {
		return call{}, fmt.Errorf("decode the request: %w", err)
	}
	if q.Previous != "" {
		return call{}, errors.New("previous_response_id: this stub keeps nothing; send the whole conversation")
	}
	c := call{model: q.Model, stream: q.Stream}
	c.System = q.Instructions
	c.Sampling = eval.Sampling{Temperature: q.Temperature, TopP: q.TopP, MaxOutputTokens: q.MaxOutputTokens}
	if q.Reasoning.Effort != "" {
		c.Sampling.Thinking = &eval.Thinking{Effort: q.Reasoning.Effort}
	}
	for _, t := range q.Tools {
		if t.Type == "function" {
			c.Tools = append(c.Tools, t.tool())
		}
	}
	var conv conversation
	var prompt string
	var items []responsesItem
	if json.Unmarshal(q.Input, &prompt) == nil {
		conv.say(llm.User, prompt)
	} else if err := json.Unmarshal(q.Input, &items); err != nil {
		return call{}, fmt.Errorf("input: want a string or a list of items: %w", err)
	}
	for _, item := range items {
		if err := item.add(&c, &conv); err != nil {
			return call{}, err
		}
	}
	c.Messages = conv.messages
	return c, choose(&c.Request, q.ToolChoice.mode, q.ToolChoice.name)
}

// add adds the item to the conversation.
func (i responsesItem) add(c *call, conv *conversation) error {
	switch i.Type {
	case "function_call":
		conv.call(llm.Call{ID: i.CallID, Tool: i.Name, Arguments: i.Arguments})
	case "function_call_output":
		conv.result(openaiResult(i.CallID, i.Output))
	case "reasoning":
		conv.think(string(i.Summary))
	case "", "message":
		switch i.Role {
		case "system", "developer":
			c.System = lines(c.System, string(i.Content))
		case "user", "assistant":
			conv.say(llm.Role(i.Role), string(i.Content))
		default:
			return fmt.Errorf("input: the role %q is unknown", i.Role)
		}
	default:
		return fmt.Errorf("input: this stub knows no item of the type %q", i.Type)
	}
	return nil
}

func (responses) answer(c call, res llm.Response) any {
	items := responsesItems(c, res)
	output := make([]object, 0, len(items))
	for _, item := range items {
		output = append(output, item.whole)
	}
	return responsesEnvelope(c, res, output)
}

// responsesEnvelope is the response around its output; nil output is one that
// has just begun.
func responsesEnvelope(c call, res llm.Response, output []object) object {
	status, incomplete := "completed", any(nil)
	switch {
	case output == nil:
		status, output = "in_progress", []object{}
	case res.Stop == llm.StopOutput:
		status, incomplete = "incomplete", object{"reason": "max_output_tokens"}
	case res.Stop == llm.StopRefused:
		status, incomplete = "incomplete", object{"reason": "content_filter"}
	}
	r := object{
		"id": c.id("resp_"), "object": "response", "created_at": c.at.Unix(), "model": c.model, "status": status,
		"incomplete_details": incomplete, "error": nil, "instructions": nil, "metadata": object{}, "output": output,
		"parallel_tool_calls": true, "tool_choice": "auto", "tools": []object{},
	}
	if status != "in_progress" {
		u := res.Usage
		r["usage"] = object{
			"input_tokens": u.Input, "output_tokens": u.Output, "total_tokens": u.Total(),
			"input_tokens_details":  object{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite},
			"output_tokens_details": object{"reasoning_tokens": u.Reasoning},
		}
	}
	return r
}

// responsesOutput is an item of the output, whole and as it begins.
type responsesOutput struct {
	whole, begun object
	// part is what a stream adds its text to; text is what it adds.
	part, text string
}

func responsesItems(c call, res llm.Response) []responsesOutput {
	var items []responsesOutput
	m := res.Message
	if m.Reasoning != "" {
		part := object{"type": "summary_text", "text": m.Reasoning}
		item := func(summary []object) object {
			return object{"id": c.id("rs_"), "type": "reasoning", "summary": summary}
		}
		items = append(items, responsesOutput{whole: item([]object{part}), begun: item([]object{}), part: "reasoning_summary_text", text: m.Reasoning})
	}
	if m.Text != "" || len(m.Calls) == 0 {
		item := func(status string, content []object) object {
			return object{"id": c.id("msg_"), "type": "message", "role": "assistant", "status": status, "content": content}
		}
		whole := item("completed", []object{responsesText(m.Text)})
		items = append(items, responsesOutput{whole: whole, begun: item("in_progress", []object{}), part: "output_text", text: m.Text})
	}
	for i, t := range m.Calls {
		item := func(status, arguments string) object {
			return object{"id": c.id(fmt.Sprintf("fc_%d_", i)), "type": "function_call", "call_id": t.ID, "name": t.Tool, "arguments": arguments, "status": status}
		}
		items = append(items, responsesOutput{whole: item("completed", t.Arguments), begun: item("in_progress", ""), part: "function_call_arguments", text: t.Arguments})
	}
	return items
}

func responsesText(s string) object {
	return object{"type": "output_text", "text": s, "annotations": []object{}, "logprobs": []object{}}
}

func (responses) events(c call, res llm.Response) []event {
	var out []event
	emit := func(kind string, o object) {
		o["type"], o["sequence_number"] = kind, len(out)
		out = append(out, newEvent(kind, o))
	}
	emit("response.created", object{"response": responsesEnvelope(c, res, nil)})
	emit("response.in_progress", object{"response": responsesEnvelope(c, res, nil)})
	var output []object
	for i, item := range responsesItems(c, res) {
		at := func(more object) object {
			more["output_index"], more["item_id"] = i, item.whole["id"]
			return more
		}
		text := func(more object) object {
			switch item.part {
			case "output_text":
				more["content_index"], more["logprobs"] = 0, []object{}
			case "reasoning_summary_text":
				more["summary_index"] = 0
			}
			return at(more)
		}
		emit("response.output_item.added", object{"output_index": i, "item": item.begun})
		if item.part == "output_text" {
			emit("response.content_part.added", at(object{"content_index": 0, "part": responsesText("")}))
		}
		for _, p := range pieces(item.text) {
			emit("response."+item.part+".delta", text(object{"delta": p}))
		}
		if item.part == "function_call_arguments" {
			emit("response."+item.part+".done", text(object{"arguments": item.text, "name": item.whole["name"]}))
		} else {
			emit("response."+item.part+".done", text(object{"text": item.text}))
		}
		if item.part == "output_text" {
			emit("response.content_part.done", at(object{"content_index": 0, "part": responsesText(item.text)}))
		}
		emit("response.output_item.done", object{"output_index": i, "item": item.whole})
		output = append(output, item.whole)
	}
	end := responsesEnvelope(c, res, output)
	emit("response."+end["status"].(string), object{"response": end}) //nolint:forcetypeassert // set above
	return out
}

func (w responses) broken(f failure) event {
	e := w.error(f)
	return newEvent("error", object{"type": "error", "code": e["code"], "message": e["message"], "param": nil, "sequence_number": 0})
}
