package cassette

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

// response is an answer in a file. What is kept byte for byte stands there as
// text.
type response struct {
	message
	Opaque string      `json:"opaque,omitempty"`
	Stop   llm.Stop    `json:"stop"`
	Word   string      `json:"word,omitempty"`
	Usage  eval.Usage  `json:"usage"`
	Model  string      `json:"model,omitempty"`
	ID     string      `json:"id,omitempty"`
	Header http.Header `json:"header,omitempty"`
	Raw    string      `json:"raw,omitempty"`
}

// failure is an error in a file.
type failure struct {
	Kind     llm.Kind      `json:"kind"`
	Status   int           `json:"status,omitempty"`
	Code     string        `json:"code,omitempty"`
	Message  string        `json:"message,omitempty"`
	Wait     time.Duration `json:"wait_ns,omitempty"`
	WaitFrom string        `json:"wait_from,omitempty"`
	Sent     bool          `json:"sent,omitempty"`
}

func newResponse(r llm.Response, redact func(string) string) *response {
	return &response{
		message: newMessage(r.Message, redact), Opaque: string(redactJSON(r.Message.Opaque, redact)),
		Stop: r.Stop, Word: redact(r.Word), Usage: r.Usage, Model: redact(r.Model), ID: redact(r.ID),
		Header: kept(r.Header, redact), Raw: string(redactJSON(r.Raw, redact)),
	}
}

func newFailure(e *llm.Error, redact func(string) string) *failure {
	text := e.Message
	if e.Err != nil {
		text = strings.TrimPrefix(text+": "+e.Err.Error(), ": ")
	}
	return &failure{
		Kind: e.Kind, Status: e.Status, Code: redact(e.Code), Message: redact(text),
		Wait: e.Wait, WaitFrom: redact(e.WaitFrom), Sent: e.Sent,
	}
}

// kept are the headers that tell a request apart or how much room a rate limit
// leaves. Everything else, with cookies and keys, is dropped.
func kept(h http.Header, redact func(string) string) http.Header {
	var out http.Header
	for name, values := range h {
		low := strings.ToLower(name)
		if !strings.Contains(low, "request-id") && !strings.Contains(low, "ratelimit") && !strings.Contains(low, "rate-limit") && low != "retry-after" {
			continue
		}
		if out == nil {
			out = http.Header{}
		}
		for _, v := range values {
			out[name] = append(out[name], redact(v))
		}
	}
	return out
}

func (r *response) response() llm.Response {
	m := llm.Message{Role: r.Role, Text: r.Text, Reasoning: r.Reasoning, Opaque: exact(r.Opaque)}
	for _, c := range r.Calls {
		m.Calls = append(m.Calls, llm.Call{ID: c.ID, Tool: c.Tool, Arguments: c.Arguments})
	}
	return llm.Response{
		Message: m, Stop: r.Stop, Word: r.Word, Usage: r.Usage, Model: r.Model, ID: r.ID,
		Header: r.Header, Raw: exact(r.Raw), Tries: 1,
	}
}

// exact is JSON that a file holds as text. Who edits a file may have broken it.
func exact(text string) eval.JSON {
	switch {
	case text == "":
		return nil
	case json.Valid([]byte(text)):
		return eval.JSON(text)
	default:
		return eval.Encode(text)
	}
}

func (f *failure) error() *llm.Error {
	return &llm.Error{Kind: f.Kind, Status: f.Status, Code: f.Code, Message: f.Message, Wait: f.Wait, WaitFrom: f.WaitFrom, Sent: f.Sent}
}
