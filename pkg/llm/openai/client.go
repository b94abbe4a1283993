// Package openai speaks OpenAI's Chat Completions API, through the official SDK,
// to OpenAI and to every server that speaks it. Nothing of the SDK is seen
// outside: it retries nothing and reads no variable of the environment.
package openai

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/evalfarm/evalfarm/pkg/llm"
)

// Options of a client. A BaseURL includes the version, such as
// http://127.0.0.1:8000/v1: /chat/completions is put behind it.
type Options = llm.Endpoint

// A Client is a model behind OpenAI's API, or a server that speaks it.
type Client struct {
	options Options
	// own is true where the API is OpenAI's own.
	own         bool
	completions sdk.ChatCompletionService
}

// New makes a client. It calls nobody.
func New(o Options) (*Client, error) {
	if err := o.Check(); err != nil {
		return nil, fmt.Errorf("openai: %w", err)
	}
	opts := []option.RequestOption{
		option.WithEnvironmentProduction(), // the address, whatever the environment says
		option.WithHTTPClient(o.Client()),
		option.WithMaxRetries(0),
		option.WithRequestTimeout(o.CallTimeout()),
	}
	if o.APIKey != "" {
		opts = append(opts, option.WithAPIKey(o.APIKey))
	}
	if o.BaseURL != "" {
		opts = append(opts, option.WithBaseURL(o.BaseURL))
	}
	// The SDK's NewClient reads the environment; the service alone does not.
	return &Client{options: o, own: isOwn(o.BaseURL), completions: sdk.NewChatCompletionService(opts...)}, nil
}

// isOwn says whether an address is OpenAI's, or Azure's house of the same models.
func isOwn(base string) bool {
	u, err := url.Parse(base)
	if err != nil || base == "" {
		return base == ""
	}
	host := "." + strings.ToLower(u.Hostname())
	return strings.HasSuffix(host, ".api.openai.com") || strings.HasSuffix(host, ".openai.azure.com")
}

// Generate implements [llm.Model]. The answer comes whole, not as a stream.
func (c *Client) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	x := llm.NewExchange(c.options, req.Trial)
	_, err := c.completions.New(ctx, c.params(req), option.WithMiddleware(x.Do), option.WithResponseBodyInto(new([]byte)))
	if err := x.Failure(ctx, err); err != nil {
		return llm.Response{}, err
	}
	res, err := answer(x.Body, len(req.Messages))
	if err != nil {
		return llm.Response{}, x.Refuse(err)
	}
	res.Header, res.Raw, res.Tries = x.Header, x.Body, 1
	return res, nil
}
