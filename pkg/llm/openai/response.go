package openai

import (
	"encoding/json"
	"errors"
	"fmt"

	sdk "github.com/openai/openai-go/v3"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

// answer reads the body of an answer. turn is a number that no other answer of
// the conversation has.
func answer(body []byte, turn int) (llm.Response, error) {
	var c sdk.ChatCompletion
	if err := json.Unmarshal(body, &c); err != nil {
		return llm.Response{}, fmt.Errorf("read the completion: %w", err)
	}
	if len(c.Choices) == 0 || !c.Choices[0].JSON.Message.Valid() {
		return llm.Response{}, errors.New("no choice in the answer")
	}
	choice := c.Choices[0]
	if choice.FinishReason == "error" { // OpenRouter's, when the provider behind it failed
		return llm.Response{}, fmt.Errorf("the provider failed half-way: %.200s", choice.JSON.ExtraFields["error"].Raw())
	}
	message, err := messageOf(choice.Message, turn)
	if err != nil {
		return llm.Response{}, err
	}
	return llm.Response{
		Message: message,
		Stop:    stopOf(choice, message),
		Word:    choice.FinishReason,
		Usage:   usageOf(c.Usage),
		Model:   c.Model,
		ID:      c.ID,
	}, nil
}

// stopOf reads why the answer ended. That it ended with calls is not always
// said: not for a call that was ordered, nor by every server.
func stopOf(c sdk.ChatCompletionChoice, m llm.Message) llm.Stop {
	switch {
	case c.FinishReason == "length":
		return llm.StopOutput
	case c.FinishReason == "content_filter", c.Message.Refusal != "":
		return llm.StopRefused
	case len(m.Calls) > 0:
		return llm.StopCalls
	case c.FinishReason == "stop":
		return llm.StopEnd
	default:
		return llm.StopOther
	}
}

// usageOf counts the tokens: the API's sums hold the cached ones and the
// reasoning. A server that counts none leaves zeros.
func usageOf(u sdk.CompletionUsage) eval.Usage {
	return eval.Usage{
		Input:      llm.Tokens(u.PromptTokens),
		CacheRead:  llm.Tokens(u.PromptTokensDetails.CachedTokens),
		CacheWrite: llm.Tokens(u.PromptTokensDetails.CacheWriteTokens),
		Output:     llm.Tokens(u.CompletionTokens),
		Reasoning:  llm.Tokens(u.CompletionTokensDetails.ReasoningTokens),
	}
}
