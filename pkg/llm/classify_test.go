package llm_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/evalfarm/evalfarm/pkg/llm"
)

func TestClassify(t *testing.T) {
	anthropic := func(kind, rest string) string {
		return `{"type":"error","error":{"type":"` + kind + `","message":"m"` + rest + `},"request_id":"req_1"}`
	}
	openai := func(kind, code string) string {
		return `{"error":{"message":"m","type":"` + kind + `","param":null,"code":"` + code + `"}}`
	}
	gemini := func(code, status, rest string) string {
		return `[{"error":{"code":` + code + `,"message":"m","status":"` + status + `"` + rest + `}}]`
	}
	says := func(message string) string {
		return `{"error":{"message":"` + message + `","type":"invalid_request_error"}}`
	}
	for _, row := range []struct {
		name   string
		status int
		body   string
		kind   llm.Kind
		code   string
		sent   bool
	}{
		{"Anthropic, rate", 429, anthropic("rate_limit_error", ""), llm.RateLimit, "rate_limit_error", false},
		{"Anthropic, spend limit", 429, anthropic("rate_limit_error", `,"details":{"error_code":"enforced_spend_limit_reached"}`), llm.Quota, "enforced_spend_limit_reached", false},
		{"Anthropic, contract", 429, anthropic("rate_limit_error", `,"details":{"error_code":"contract_spend_limit_reached"}`), llm.Quota, "contract_spend_limit_reached", false},
		{"Anthropic, ramp", 429, anthropic("rate_limit_error", `,"details":{"error_code":"ramp_limit_exceeded"}`), llm.RateLimit, "ramp_limit_exceeded", false},
		{"Anthropic, billing", 402, anthropic("billing_error", ""), llm.Quota, "billing_error", false},
		{"Anthropic, own limit", 400, says("You have reached your specified API usage limits."), llm.Quota, "invalid_request_error", false},
		{"Anthropic, no credit", 400, says("Your credit balance is too low to access the API."), llm.Quota, "invalid_request_error", false},
		{"Anthropic, overloaded", 529, anthropic("overloaded_error", ""), llm.Overloaded, "overloaded_error", false},
		{"Anthropic, overloaded in the body", 200, anthropic("overloaded_error", ""), llm.Overloaded, "overloaded_error", true},
		{"Anthropic, key", 401, anthropic("authentication_error", ""), llm.Auth, "authentication_error", false},
		{"Anthropic, permission", 403, anthropic("permission_error", ""), llm.Auth, "permission_error", false},
		{"Anthropic, no such model", 404, anthropic("not_found_error", ""), llm.BadRequest, "not_found_error", false},
		{"Anthropic, too large", 413, anthropic("request_too_large", ""), llm.ContextLength, "request_too_large", false},
		{"Anthropic, too long", 400, says("prompt is too long: 210000 tokens > 200000 maximum"), llm.ContextLength, "invalid_request_error", false},
		{"Anthropic, output blocked", 400, says("Output blocked by content filtering policy"), llm.ContentFilter, "invalid_request_error", true},
		{"Anthropic, bad request", 400, anthropic("invalid_request_error", ""), llm.BadRequest, "invalid_request_error", false},
		{"Anthropic, internal", 500, anthropic("api_error", ""), llm.Network, "api_error", true},

		{"OpenAI, rate", 429, openai("requests", "rate_limit_exceeded"), llm.RateLimit, "rate_limit_exceeded", false},
		{"OpenAI, slow down", 429, openai("requests", "slow_down"), llm.RateLimit, "slow_down", false},
		{"OpenAI, slow down, 503", 503, openai("service_unavailable_error", "slow_down"), llm.Overloaded, "slow_down", false},
		{"OpenAI, quota", 429, openai("insufficient_quota", "insufficient_quota"), llm.Quota, "insufficient_quota", false},
		{"OpenAI, credit", 429, openai("insufficient_quota", "credit_balance_exhausted"), llm.Quota, "credit_balance_exhausted", false},
		{"OpenAI, organisation", 429, openai("x", "organization_spend_limit_exceeded"), llm.Quota, "organization_spend_limit_exceeded", false},
		{"OpenAI, key", 401, openai("invalid_request_error", "invalid_api_key"), llm.Auth, "invalid_api_key", false},
		{"OpenAI, context", 400, openai("invalid_request_error", "context_length_exceeded"), llm.ContextLength, "context_length_exceeded", false},
		{"OpenAI, filter", 400, openai("invalid_request_error", "content_policy_violation"), llm.ContentFilter, "content_policy_violation", true},
		{"Azure, filter", 400, `{"error":{"code":"content_filter","message":"m","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, llm.ContentFilter, "content_filter", true},

		{"Gemini, minute", 429, gemini("429", "RESOURCE_EXHAUSTED", `,"details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinutePerProject"}]}]`), llm.RateLimit, "RESOURCE_EXHAUSTED", false},
		{"Gemini, day", 429, gemini("429", "RESOURCE_EXHAUSTED", `,"details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProject"}]}]`), llm.Quota, "RESOURCE_EXHAUSTED", false},
		{"Gemini, quota of zero", 429, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"Quota exceeded, limit: 0, model: x"}}`, llm.Quota, "RESOURCE_EXHAUSTED", false},
		{"Gemini, quota of a half", 429, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"Quota exceeded, limit: 0.5"}}`, llm.RateLimit, "RESOURCE_EXHAUSTED", false},
		{"Gemini, exhausted, 503", 503, gemini("503", "RESOURCE_EXHAUSTED", ""), llm.RateLimit, "RESOURCE_EXHAUSTED", false},
		{"Gemini, unavailable", 503, gemini("503", "UNAVAILABLE", ""), llm.Overloaded, "UNAVAILABLE", false},
		{"Gemini, too long", 400, says("The input token count (1200000) exceeds the maximum number of tokens allowed"), llm.ContextLength, "invalid_request_error", false},

		{"OpenRouter, credits", 402, `{"error":{"code":402,"message":"m"}}`, llm.Quota, "402", false},
		{"OpenRouter, moderation", 403, `{"error":{"code":403,"message":"This model requires moderation and your input was flagged"}}`, llm.ContentFilter, "403", true},
		{"OpenRouter, 502 in a 200", 200, `{"error":{"code":502,"message":"Provider returned error"}}`, llm.Network, "502", true},
		{"OpenRouter, 429 in a 200", 200, `{"error":{"code":429,"message":"m"}}`, llm.RateLimit, "429", true},
		{"vLLM, flat", 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens","type":"BadRequestError","param":null,"code":400}`, llm.ContextLength, "BadRequestError", false},
		{"llama.cpp, context", 400, `{"error":{"code":400,"message":"m","type":"exceed_context_size_error"}}`, llm.ContextLength, "exceed_context_size_error", false},
		{"Ollama, busy", 503, `{"error":"server busy, please try again"}`, llm.Overloaded, "", false},
		{"Bedrock, throttled", 400, `{"__type":"ThrottlingException","message":"m"}`, llm.RateLimit, "ThrottlingException", false},
		{"FastAPI", 422, `{"detail":"no"}`, llm.BadRequest, "", false},

		{"gateway", 502, "<html>Bad Gateway</html>", llm.Network, "", true},
		{"gateway timeout", 504, "", llm.Network, "", true},
		{"request timeout", 408, "", llm.Network, "", true},
		{"conflict", 409, "", llm.Network, "", false},
		{"rate without a body", 429, "", llm.RateLimit, "", false},
		{"redirect", 307, "", llm.BadRequest, "", false},
		{"no error in a 200", 200, `{"type":"message","message":"x","code":"insufficient_quota"}`, llm.Network, "", true},
		{"an error that is no object", 400, `{"error":[1]}`, llm.BadRequest, "", false},
		{"a number", 500, `7`, llm.Network, "", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			e := llm.Classify(row.status, nil, []byte(row.body), noon())
			if e.Kind != row.kind || e.Code != row.code || e.Sent != row.sent || e.Status != row.status {
				t.Errorf("Classify = %s, code %q, sent %t, status %d; want %s, %q, %t, %d",
					e.Kind, e.Code, e.Sent, e.Status, row.kind, row.code, row.sent, row.status)
			}
		})
	}
}

func TestClassifyWaits(t *testing.T) {
	h := header("Retry-After: 7")
	for _, row := range []struct {
		name   string
		status int
		wait   time.Duration
	}{
		{"a rate limit", 429, 7 * time.Second},
		{"overload", 529, 7 * time.Second},
		{"a failure", 500, 7 * time.Second},
		{"no wait helps", 401, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			if e := llm.Classify(row.status, h, nil, noon()); e.Wait != row.wait {
				t.Errorf("Wait = %s, want %s", e.Wait, row.wait)
			}
		})
	}
}

func TestClassifyMessage(t *testing.T) {
	long := strings.Repeat("ä", 5000)
	for _, row := range []struct {
		name, body, want string
		status           int
	}{
		{"of an object", `{"error":{"message":"no such model"}}`, "no such model", 404},
		{"a text", `{"error":"no such model"}`, "no such model", 404},
		{"no JSON", " 404 page not found\n", "404 page not found", 404},
		{"redirect", "moved", "the server redirects elsewhere; base_url must name the final address", 308},
		{"success", "hello", "", 200},
	} {
		t.Run(row.name, func(t *testing.T) {
			if e := llm.Classify(row.status, nil, []byte(row.body), noon()); e.Message != row.want {
				t.Errorf("Message = %q, want %q", e.Message, row.want)
			}
		})
	}
	e := llm.Classify(400, nil, []byte(`{"error":{"message":"`+long+`","type":"`+long+`"}}`), noon())
	if len(e.Message) > 1010 || len(e.Code) > 110 || !utf8.ValidString(e.Message) || !utf8.ValidString(e.Code) {
		t.Errorf("a message of %d bytes and a code of %d are not bounded, or no text", len(e.Message), len(e.Code))
	}
}

func FuzzClassify(f *testing.F) {
	f.Add(429, `{"error":{"type":"rate_limit_error","details":{"error_code":7}}}`)
	f.Add(200, `[{"error":{"code":"429","status":[],"details":[{"@type":"google.rpc.QuotaFailure","violations":[3]}]}}]`)
	f.Add(0, `{"error":null,"message":{}}`)
	f.Fuzz(func(t *testing.T, status int, body string) {
		e := llm.Classify(status, nil, []byte(body), noon())
		if e.Kind == "" || e.Kind == llm.ReplayMiss || !utf8.ValidString(e.Error()) {
			t.Errorf("Classify = %q: %q", e.Kind, e.Error())
		}
	})
}
