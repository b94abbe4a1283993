package stub

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

// gemini is Google's Gemini API, generateContent. Its OpenAI-compatible face is
// [chat] under another path, and its limits have no headers of their own, so
// OpenAI's stand in.
type gemini struct{ openai }

type geminiRequest struct {
	SystemInstruction geminiContent
	Contents          []geminiContent
	Tools             []struct {
		FunctionDeclarations []struct {
			Name, Description    string
			Parameters           eval.JSON
			ParametersJSONSchema eval.JSON `json:"parametersJsonSchema"`
		}
	}
	ToolConfig struct {
		FunctionCallingConfig struct {
			Mode                 string
			AllowedFunctionNames []string
		}
	}
	GenerationConfig struct {
		Temperature, TopP *float64
		Seed              *int64
		MaxOutputTokens   int
		ThinkingConfig    struct {
			ThinkingBudget int
			ThinkingLevel  string
		}
	}
}

type geminiContent struct {
	Role  string
	Parts []geminiPart
}

type geminiPart struct {
	Text                 string
	Thought              bool
	InlineData, FileData *struct{}
	FunctionCall         *struct {
		ID, Name string
		Args     eval.JSON
	}
	FunctionResponse *struct {
		ID, Name string
		Response eval.JSON
	}
}

func (gemini) decode(r *http.Request, body []byte) (call, error) {
	model, method, _ := strings.Cut(r.PathValue("call"), ":")
	c := call{model: model, stream: method == "streamGenerateContent"}
	if method != "generateContent" && !c.stream {
		return call{}, fmt.Errorf("this stub has no method %q", method)
	}
	if c.stream && r.URL.Query().Get("alt") != "sse" {
		return call{}, errors.New("this stub streams with alt=sse")
	}
	var q geminiRequest
	if err := json.Unmarshal(body, &q); err != nil {
		return call{}, fmt.Errorf("decode the request: %w", err)
	}
	for _, p := range q.SystemInstruction.Parts {
		c.System = lines(c.System, p.Text)
	}
	g := q.GenerationConfig
	c.Sampling = eval.Sampling{Temperature: g.Temperature, TopP: g.TopP, Seed: g.Seed, MaxOutputTokens: g.MaxOutputTokens}
	if t := (eval.Thinking{Effort: strings.ToLower(g.ThinkingConfig.ThinkingLevel), BudgetTokens: g.ThinkingConfig.ThinkingBudget}); t != (eval.Thinking{}) {
		c.Sampling.Thinking = &t
	}
	for _, t := range q.Tools {
		for _, f := range t.FunctionDeclarations {
			schema := f.ParametersJSONSchema
			if schema == nil {
				schema = f.Parameters
			}
			c.Tools = append(c.Tools, llm.Tool{Name: f.Name, Description: f.Description, Schema: schema})
		}
	}
	conv, err := geminiConversation(q.Contents)
	if err != nil {
		return call{}, err
	}
	c.Messages = conv.messages
	mode := strings.ToLower(q.ToolConfig.FunctionCallingConfig.Mode)
	names := q.ToolConfig.FunctionCallingConfig.AllowedFunctionNames
	if mode == "any" && len(names) > 0 {
		return c, choose(&c.Request, "tool", names[0])
	}
	return c, choose(&c.Request, mode, "")
}

// geminiConversation reads the contents. Calls and responses may come without
// ids; then a response belongs to the first open call of its function.
func geminiConversation(contents []geminiContent) (conversation, error) {
	var conv conversation
	var open []llm.Call
	for i, content := range contents {
		role := llm.User
		switch content.Role {
		case "", "user", "function":
		case "model":
			role, open = llm.Assistant, nil
		default:
			return conv, fmt.Errorf("contents: the role %q is unknown", content.Role)
		}
		for j, p := range content.Parts {
			switch {
			case p.FunctionCall != nil:
				call := llm.Call{ID: p.FunctionCall.ID, Tool: p.FunctionCall.Name, Arguments: string(p.FunctionCall.Args)}
				if call.ID == "" {
					call.ID = fmt.Sprintf("call_%d_%d", i, j)
				}
				open = append(open, call)
				conv.call(call)
			case p.FunctionResponse != nil:
				r := llm.Result{ID: p.FunctionResponse.ID}
				k := slices.IndexFunc(open, func(c llm.Call) bool {
					return c.ID == r.ID || r.ID == "" && c.Tool == p.FunctionResponse.Name
				})
				if k < 0 {
					return conv, fmt.Errorf("contents: a response of %q, which was not called", p.FunctionResponse.Name)
				}
				r.ID = open[k].ID
				open = slices.Delete(open, k, k+1)
				r.Text, r.Error = geminiResult(p.FunctionResponse.Response)
				conv.result(r)
			case p.InlineData != nil || p.FileData != nil:
				conv.say(role, "[data]")
			case p.Thought:
				conv.think(p.Text)
			default:
				conv.say(role, p.Text)
			}
		}
	}
	return conv, nil
}

// geminiResult reads a response: by convention an object with the one member
// output, result or error; any other is the output itself.
func geminiResult(raw eval.JSON) (text string, failed bool) {
	var o map[string]any
	if json.Unmarshal(raw, &o) == nil && len(o) == 1 {
		for name, v := range o {
			if s, ok := v.(string); ok && (name == "output" || name == "result" || name == "error") {
				return s, name == "error"
			}
		}
	}
	return string(raw), false
}

func (gemini) answer(c call, res llm.Response) any {
	parts, finish := geminiCalls(res)
	if t := res.Message.Text; t != "" || len(parts) == 0 {
		parts = append([]object{{"text": t}}, parts...)
	}
	if r := res.Message.Reasoning; r != "" {
		parts = append([]object{{"text": r, "thought": true}}, parts...)
	}
	return geminiResponse(c, parts, finish, res.Usage)
}

func (gemini) events(c call, res llm.Response) []event {
	var out []event
	for _, p := range pieces(res.Message.Reasoning) {
		out = append(out, newEvent("", geminiResponse(c, []object{{"text": p, "thought": true}}, "", eval.Usage{})))
	}
	for _, p := range pieces(res.Message.Text) {
		out = append(out, newEvent("", geminiResponse(c, []object{{"text": p}}, "", eval.Usage{})))
	}
	calls, finish := geminiCalls(res)
	return append(out, newEvent("", geminiResponse(c, append(calls, object{"text": ""}), finish, res.Usage)))
}

// geminiCalls gives the parts with calls, and how the answer ended. Gemini sends
// no arguments that are no object: it says that the call was malformed.
func geminiCalls(res llm.Response) (parts []object, finish string) {
	for _, t := range res.Message.Calls {
		if !isObject(t.Arguments) {
			return nil, "MALFORMED_FUNCTION_CALL"
		}
		parts = append(parts, object{"functionCall": object{"id": t.ID, "name": t.Tool, "args": eval.JSON(t.Arguments)}})
	}
	switch res.Stop {
	case llm.StopOutput:
		return parts, "MAX_TOKENS"
	case llm.StopRefused:
		return parts, "SAFETY"
	case llm.StopOther:
		return parts, res.Word
	default:
		return parts, "STOP"
	}
}

// geminiResponse is an answer, or with an empty finish a piece of one.
func geminiResponse(c call, parts []object, finish string, u eval.Usage) object {
	candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}}
	r := object{"candidates": []object{candidate}, "modelVersion": c.model, "responseId": c.id("gemini-")}
	if finish != "" {
		candidate["finishReason"] = finish
		r["usageMetadata"] = object{
			"promptTokenCount": u.Input, "cachedContentTokenCount": u.CacheRead, "candidatesTokenCount": u.Output - u.Reasoning,
			"thoughtsTokenCount": u.Reasoning, "totalTokenCount": u.Total(),
		}
	}
	return r
}

func (gemini) failure(f failure) any {
	var status string
	switch f.kind {
	case llm.RateLimit, llm.Quota:
		status = "RESOURCE_EXHAUSTED"
	case llm.Auth:
		status = "UNAUTHENTICATED"
	case llm.BadRequest, llm.ContextLength, llm.ContentFilter:
		status = "INVALID_ARGUMENT"
	case llm.Overloaded:
		status = "UNAVAILABLE"
	default:
		status = "INTERNAL"
	}
	e := object{"code": f.status, "message": f.message, "status": status}
	var details []object
	if f.kind == llm.Quota {
		details = append(details, object{
			"@type":      "type.googleapis.com/google.rpc.QuotaFailure",
			"violations": []object{{"quotaId": "GenerateRequestsPerDayPerProjectPerModel"}},
		})
	}
	if f.delay > 0 {
		details = append(details, retryInfo(f.delay))
	}
	if details != nil {
		e["details"] = details
	}
	return object{"error": e}
}

func (w gemini) broken(f failure) event { return newEvent("", w.failure(f)) }
