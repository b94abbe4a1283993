package client

import (
	"context"
	"math"
	"net/url"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// sampledText is what every sampling request is answered with: a server that
// wants a model gets none, but it gets on.
const sampledText = "This is a fixed answer; no model was asked."

type samplingAnswer struct{}

func (samplingAnswer) CreateMessage(context.Context, mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	return &mcp.CreateMessageResult{
		SamplingMessage: mcp.SamplingMessage{Role: mcp.RoleAssistant, Content: mcp.NewTextContent(sampledText)},
		Model:           "evalfarm-fixed",
		StopReason:      "endTurn",
	}, nil
}

// rootsAnswer offers the server's own working directory.
type rootsAnswer struct{ dir string }

func (a rootsAnswer) ListRoots(context.Context, mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	u := url.URL{Scheme: "file", Path: a.dir}
	return &mcp.ListRootsResult{Roots: []mcp.Root{{URI: u.String(), Name: "cwd"}}}, nil
}

// elicitationAnswer accepts, with values that the requested schema allows.
type elicitationAnswer struct{}

func (elicitationAnswer) Elicit(_ context.Context, req mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	res := &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{Action: mcp.ElicitationResponseActionAccept}}
	if req.Params.Mode != mcp.ElicitationModeURL {
		schema, _ := req.Params.RequestedSchema.(map[string]any)
		res.Content = fillForm(schema)
	}
	return res, nil
}

// fillForm gives every property of an elicitation schema a value: its default,
// else its first choice, else the least that its type allows. Such schemas are
// flat objects of primitive properties (MCP 2025-11-25, client/elicitation).
func fillForm(schema map[string]any) map[string]any {
	form := map[string]any{}
	properties, _ := schema["properties"].(map[string]any)
	for name, property := range properties {
		p, _ := property.(map[string]any)
		form[name] = fillField(p)
	}
	return form
}

func fillField(p map[string]any) any {
	if value, ok := p["default"]; ok {
		return value
	}
	if value, ok := firstChoice(p); ok {
		return value
	}
	switch p["type"] {
	case "boolean":
		return false
	case "integer":
		return int64(math.Ceil(least(p)))
	case "number":
		return least(p)
	case "array":
		items, _ := p["items"].(map[string]any)
		choice, ok := firstChoice(items)
		if n, _ := p["minItems"].(float64); !ok || n < 1 {
			return []any{}
		}
		return []any{choice}
	default:
		return fillText(p)
	}
}

// firstChoice of an enum, in its old and its titled form.
func firstChoice(p map[string]any) (any, bool) {
	if enum, ok := p["enum"].([]any); ok && len(enum) > 0 {
		return enum[0], true
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		if list, ok := p[key].([]any); ok && len(list) > 0 {
			if titled, ok := list[0].(map[string]any); ok {
				if value, ok := titled["const"]; ok {
					return value, true
				}
			}
		}
	}
	return nil, false
}

// least is the smallest allowed number that is not below zero without need.
func least(p map[string]any) float64 {
	low, hasLow := p["minimum"].(float64)
	high, hasHigh := p["maximum"].(float64)
	switch {
	case hasLow && low > 0:
		return low
	case hasHigh && high < 0:
		return high
	}
	return 0
}

func fillText(p map[string]any) string {
	text := "text"
	switch p["format"] {
	case "email":
		text = "user@example.com"
	case "uri":
		text = "https://example.com/"
	case "date":
		text = "2025-01-01"
	case "date-time":
		text = "2025-01-01T00:00:00Z"
	}
	if n, ok := p["minLength"].(float64); ok && int(n) > len(text) && n < 1<<16 {
		text += strings.Repeat("x", int(n)-len(text))
	}
	if n, ok := p["maxLength"].(float64); ok && n >= 0 && int(n) < len(text) {
		text = text[:int(n)]
	}
	return text
}
