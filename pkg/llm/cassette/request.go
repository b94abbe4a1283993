package cassette

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

// request is a request in a file, without secrets.
type request struct {
	Case     string        `json:"case"`
	Variant  string        `json:"variant,omitempty"`
	Repeat   int           `json:"repeat"`
	Role     string        `json:"role"`
	System   string        `json:"system,omitempty"`
	Messages []message     `json:"messages"`
	Tools    []tool        `json:"tools,omitempty"`
	MustCall string        `json:"must_call,omitempty"`
	Sampling eval.Sampling `json:"sampling"`
}

type message struct {
	Role      llm.Role `json:"role"`
	Text      string   `json:"text,omitempty"`
	Reasoning string   `json:"reasoning,omitempty"`
	Calls     []call   `json:"calls,omitempty"`
	Results   []result `json:"results,omitempty"`
}

type call struct {
	ID        string `json:"id,omitempty"`
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"`
}

type result struct {
	ID    string `json:"id,omitempty"`
	Tool  string `json:"tool"`
	Text  string `json:"text"`
	Error bool   `json:"error,omitempty"`
}

type tool struct {
	Name        string    `json:"name"`
	Description string    `json:"description,omitempty"`
	Schema      eval.JSON `json:"schema,omitempty"`
}

// agent is what the role of the agent, which has no name, is called in files.
const agent = "agent"

func newRequest(r llm.Request, redact func(string) string) request {
	out := request{
		Case: redact(r.Trial.Case), Variant: redact(r.Trial.Variant), Repeat: r.Trial.Repeat, Role: redact(r.Trial.Role),
		System: redact(r.System), Messages: []message{}, MustCall: redact(r.MustCall), Sampling: r.Sampling,
	}
	if out.Role == "" {
		out.Role = agent
	}
	for _, m := range r.Messages {
		out.Messages = append(out.Messages, newMessage(m, redact))
	}
	for _, t := range r.Tools {
		out.Tools = append(out.Tools, tool{redact(t.Name), redact(t.Description), redactJSON(t.Schema, redact)})
	}
	return out
}

func newMessage(m llm.Message, redact func(string) string) message {
	out := message{Role: m.Role, Text: redact(m.Text), Reasoning: redact(m.Reasoning)}
	for _, c := range m.Calls {
		out.Calls = append(out.Calls, call{redact(c.ID), redact(c.Tool), redact(c.Arguments)})
	}
	for _, r := range m.Results {
		out.Results = append(out.Results, result{redact(r.ID), redact(r.Tool), redact(r.Text), r.Error})
	}
	return out
}

// redactJSON takes secrets out of a value, which stays JSON.
func redactJSON(raw eval.JSON, redact func(string) string) eval.JSON {
	if len(raw) == 0 {
		return nil
	}
	text := redact(string(raw))
	if json.Valid([]byte(text)) {
		return eval.JSON(text)
	}
	return eval.Encode(text)
}

// key identifies a request: the sha256, in hex, of its canonical JSON. The order
// of keys in the schemas of tools does not count.
func (r request) key() string {
	tree, err := eval.Decode(eval.Encode(r))
	if err != nil {
		panic("hash request: " + err.Error()) // Encode has just written it
	}
	sum := sha256.Sum256(eval.Encode(tree))
	return hex.EncodeToString(sum[:])
}
