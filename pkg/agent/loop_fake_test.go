package agent_test

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/evalfarm/evalfarm/pkg/agent"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

// modelFunc is a model that is a function.
type modelFunc func(ctx context.Context, req llm.Request) (llm.Response, error)

func (f modelFunc) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	return f(ctx, req)
}

// heard is what a model was asked.
type heard struct {
	mu       sync.Mutex
	requests []llm.Request
}

func (h *heard) last() llm.Request { return h.requests[len(h.requests)-1] }

// told are the results that the model was told, in order.
func (h *heard) told() []string {
	lines := []string{}
	for _, m := range h.last().Messages {
		for _, r := range m.Results {
			line := r.Tool + ": " + r.Text
			if r.Error {
				line = "error of " + line
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// moving is a model that makes one move after the other, and its last for ever.
// What it does depends on the conversation alone.
func moving(h *heard, moves ...llm.Response) llm.Model {
	return modelFunc(func(_ context.Context, req llm.Request) (llm.Response, error) {
		h.mu.Lock()
		h.requests = append(h.requests, req)
		h.mu.Unlock()
		turn := 0
		for _, m := range req.Messages {
			if m.Role == llm.Assistant {
				turn++
			}
		}
		if req.Trial.Role == "user" {
			turn-- // the prompt is its own
		}
		return moves[min(turn, len(moves)-1)], nil
	})
}

// failing is a model whose call brings an error after so many moves.
func failing(err error, moves ...llm.Response) llm.Model {
	asked := moving(&heard{}, append(moves, llm.Response{})...)
	turns := 0
	return modelFunc(func(ctx context.Context, req llm.Request) (llm.Response, error) {
		if turns++; turns > len(moves) {
			return llm.Response{}, err
		}
		return asked.Generate(ctx, req)
	})
}

// say is a move that ends a turn.
func say(text string) llm.Response {
	return llm.Response{Message: llm.Message{Role: llm.Assistant, Text: text}, Stop: llm.StopEnd, Usage: eval.Usage{Input: 10, Output: 5}}
}

// use is a move of calls: tool, arguments, tool, arguments ...
func use(pairs ...string) llm.Response {
	r := llm.Response{Stop: llm.StopCalls, Usage: eval.Usage{Input: 10, Output: 5}}
	for i := 0; i < len(pairs); i += 2 {
		r.Message.Calls = append(r.Message.Calls, llm.Call{ID: fmt.Sprint("c", i/2), Tool: pairs[i], Arguments: pairs[i+1]})
	}
	return r
}

// stopping is a move that ends for another reason.
func stopping(r llm.Response, why llm.Stop) llm.Response {
	r.Stop = why
	return r
}

// fakeServer is a server whose parts are functions.
type fakeServer struct {
	pages   []string
	listing eval.Outcome // of the last page; empty is good
	call    func(ctx context.Context, tool string, arguments eval.JSON) eval.Outcome
	read    func(ctx context.Context, uri string) eval.Outcome
	dead    bool
}

func (s *fakeServer) Call(ctx context.Context, tool string, arguments eval.JSON) eval.Outcome {
	return s.call(ctx, tool, arguments)
}

func (s *fakeServer) Read(ctx context.Context, uri string) eval.Outcome { return s.read(ctx, uri) }

func (s *fakeServer) ListTools(context.Context) ([]eval.JSON, eval.Outcome) {
	var pages []eval.JSON
	for _, p := range s.pages {
		pages = append(pages, eval.JSON(p))
	}
	if s.listing.Kind == "" {
		s.listing.Kind = eval.OutcomeOK
	}
	return pages, s.listing
}

func (s *fakeServer) HasTool(context.Context, string) (bool, eval.Outcome) {
	panic("an agent's tools are listed once")
}

func (s *fakeServer) Dead() bool { return s.dead }

// tool is an entry of a listing.
func tool(name, description, schema string) string {
	return fmt.Sprintf(`{"name":%s,"description":%s,"inputSchema":%s}`, eval.Encode(name), eval.Encode(description), schema)
}

// page is a page of a listing.
func page(tools ...string) string { return `{"tools":[` + strings.Join(tools, ",") + `]}` }

const orderSchema = `{"type":"object","properties":{"order_id":{"type":"string","pattern":"^ORD-"}},"required":["order_id"]}`

// desk is a server with a few tools. What a tool does is in its name.
func desk() *fakeServer {
	return &fakeServer{
		pages: []string{
			page(tool("get_order", "Look an order up.", orderSchema), tool("issue_refund", "Pay money back.", `{"type":"object"}`)),
			page(tool("escalate", "Hand over to a person.", `{"type":"object"}`), tool("reject", "Say no.", `{"type":"object"}`)),
		},
		call: func(_ context.Context, name string, arguments eval.JSON) eval.Outcome {
			if name == "reject" {
				return toolError("no")
			}
			return texts(name + " " + string(arguments))
		},
		read: func(_ context.Context, uri string) eval.Outcome {
			return result(`{"contents":[{"uri":` + string(eval.Encode(uri)) + `,"text":"the report"}]}`)
		},
	}
}

// task is a trial with a server.
func task(server *fakeServer) agent.Task {
	return agent.Task{
		Case:    eval.Case{ID: "case", Kind: eval.KindAgent, Prompt: "Refund it."},
		Trial:   eval.Trial{Repeat: 2, Seed: 7},
		Servers: []agent.Server{{Name: "desk", Tools: server}},
	}
}

// transcript writes what happened, a line for everything.
func transcript(t eval.Trajectory) []string {
	lines := []string{}
	for _, turn := range t.Turns {
		if turn.User != "" {
			lines = append(lines, "user: "+turn.User)
		}
		if turn.Text != "" {
			lines = append(lines, "agent: "+turn.Text)
		}
		for _, c := range turn.Calls {
			line := fmt.Sprintf("%s %s%s%s %s%s", c.Method, c.Server+":", c.Tool, c.URI, c.Arguments, c.RawArguments)
			if c.Invalid != "" {
				line += " INVALID"
			} else {
				line += " " + string(c.Outcome.Kind)
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// codes are the codes of findings, with their counts.
func codes(t eval.Trajectory) []string {
	found := []string{}
	for _, f := range t.Findings {
		found = append(found, fmt.Sprintf("%s %d", f.Code, f.Count))
	}
	return found
}
