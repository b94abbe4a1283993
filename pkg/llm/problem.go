package llm

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A problem is an error as a provider's body tells it.
type problem struct {
	// words are all codes that the body has, the most telling first.
	words []string
	// status that the body claims; 0 when it does not.
	status  int
	message string
	details []any // of google.rpc.Status
	// flat is true without an error object: any object looks like that.
	flat bool
}

// parseProblem reads the bodies of errors as they occur: the error object of
// OpenAI, Anthropic and Gemini (which may put it into a list), the flat one of
// vLLM and Bedrock, and a bare text. Of what is none of these nothing is known.
func parseProblem(body []byte) problem {
	var top any
	if json.Unmarshal(body, &top) != nil {
		return problem{}
	}
	if list, ok := top.([]any); ok && len(list) > 0 {
		top = list[0]
	}
	o, ok := top.(map[string]any)
	if !ok {
		return problem{}
	}
	inner, nested := o["error"].(map[string]any)
	if nested {
		o = inner
	} else if text, ok := o["error"].(string); ok {
		return problem{message: text}
	}
	p := problem{flat: !nested, message: firstText(o["message"], o["detail"])}
	p.details, _ = o["details"].([]any)
	details, _ := o["details"].(map[string]any)
	for _, v := range []any{details["error_code"], o["code"], o["status"], o["type"], o["__type"]} {
		word := firstText(v)
		if n, err := strconv.Atoi(word); err == nil {
			p.status = n
		} else if word != "" {
			p.words = append(p.words, word)
		}
	}
	return p
}

// firstText returns the first that is a text, or a number written as one.
func firstText(values ...any) string {
	for _, v := range values {
		switch v := v.(type) {
		case string:
			if v != "" {
				return v
			}
		case float64:
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
	}
	return ""
}

// code is the most telling word, or else the number.
func (p problem) code() string {
	switch {
	case len(p.words) > 0:
		return p.words[0]
	case p.status != 0:
		return strconv.Itoa(p.status)
	default:
		return ""
	}
}

// is says whether one of the codes is among some.
func (p problem) is(words ...string) bool {
	return slices.ContainsFunc(p.words, func(w string) bool { return slices.Contains(words, w) })
}

// says whether the message holds one of some phrases, which are in lower case.
func (p problem) says(phrases ...string) bool {
	message := strings.ToLower(p.message)
	return slices.ContainsFunc(phrases, func(s string) bool { return strings.Contains(message, s) })
}

// detail visits the google.rpc details of a type.
func (p problem) detail(name string, visit func(map[string]any)) {
	for _, d := range p.details {
		if o, ok := d.(map[string]any); ok && strings.HasSuffix(firstText(o["@type"]), "google.rpc."+name) {
			visit(o)
		}
	}
}

// retryDelay is the wait that a google.rpc.RetryInfo asks for, as 46s.
func (p problem) retryDelay() (wait time.Duration, ok bool) {
	p.detail("RetryInfo", func(o map[string]any) {
		if d, err := time.ParseDuration(firstText(o["retryDelay"])); err == nil && !ok {
			wait, ok = sane(d)
		}
	})
	return wait, ok
}

// hopeless says whether a google.rpc.QuotaFailure names a quota that no wait of
// minutes brings back: that of a day, or one of zero.
func (p problem) hopeless() (yes bool) {
	p.detail("QuotaFailure", func(o map[string]any) {
		violations, _ := o["violations"].([]any)
		for _, v := range violations {
			violation, _ := v.(map[string]any)
			if strings.Contains(firstText(violation["quotaId"]), "PerDay") || firstText(violation["quotaValue"]) == "0" {
				yes = true
			}
		}
	})
	return yes || noQuota.MatchString(p.message)
}
