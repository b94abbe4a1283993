package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

// answer reads the body of an answer.
func answer(body []byte) (llm.Response, error) {
	var m sdk.Message
	if err := json.Unmarshal(body, &m); err != nil {
		return llm.Response{}, fmt.Errorf("read the message: %w", err)
	}
	if m.Type != "message" || !m.JSON.Content.Valid() {
		return llm.Response{}, errors.New("no message in the answer")
	}
	message := messageOf(m)
	return llm.Response{
		Message: message,
		Stop:    stopOf(m.StopReason, message),
		Word:    string(m.StopReason),
		Usage:   usageOf(m.Usage),
		Model:   m.Model,
		ID:      m.ID,
	}, nil
}

// messageOf reads the content. Blocks that a message has no place for, such as
// signed thinking, are kept in Opaque, and the others then with them: their
// order counts.
func messageOf(m sdk.Message) llm.Message {
	out := llm.Message{Role: llm.Assistant}
	own := false
	for _, b := range m.Content {
		switch b.Type {
		case "text":
			out.Text += b.Text
		case "tool_use":
			out.Calls = append(out.Calls, llm.Call{ID: b.ID, Tool: b.Name, Arguments: string(b.Input)})
		case "thinking":
			out.Reasoning += b.Thinking
			own = true
		default:
			own = true
		}
	}
	if own {
		out.Opaque = eval.JSON(m.JSON.Content.Raw())
	}
	return out
}

// stopOf reads why the answer ended. Servers that speak the API do not all say
// so when it ended with calls.
func stopOf(reason sdk.StopReason, m llm.Message) llm.Stop {
	switch reason {
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		return llm.StopOutput
	case sdk.StopReasonRefusal:
		return llm.StopRefused
	default:
	}
	switch {
	case len(m.Calls) > 0:
		return llm.StopCalls
	case reason == sdk.StopReasonEndTurn || reason == sdk.StopReasonStopSequence:
		return llm.StopEnd
	default:
		return llm.StopOther
	}
}

// usageOf counts the tokens. The API's input leaves out what the cache read or
// wrote; its output holds the thinking. What was written is told as a sum, by
// lifetime, or both.
func usageOf(u sdk.Usage) eval.Usage {
	read, hour := llm.Tokens(u.CacheReadInputTokens), llm.Tokens(u.CacheCreation.Ephemeral1hInputTokens)
	written := max(llm.Tokens(u.CacheCreationInputTokens), hour+llm.Tokens(u.CacheCreation.Ephemeral5mInputTokens))
	return eval.Usage{
		Input:        llm.Tokens(u.InputTokens) + read + written,
		CacheRead:    read,
		CacheWrite:   written,
		CacheWrite1H: hour,
		Output:       llm.Tokens(u.OutputTokens),
		Reasoning:    llm.Tokens(u.OutputTokensDetails.ThinkingTokens),
	}
}
