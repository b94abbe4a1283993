// Package anthropic speaks Anthropic's Messages API, through the official SDK.
// Nothing of the SDK is seen outside: it retries nothing, traces nothing, and
// reads no variable of the environment.
package anthropic

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/evalfarm/evalfarm/pkg/llm"
)

// Options of a client. A BaseURL is the address up to and without /v1, such as
// https://gateway.example/anthropic; a /v1 at its end is forgiven.
type Options = llm.Endpoint

// A Client is a model behind Anthropic's API, or a server that speaks it.
type Client struct {
	options  Options
	messages sdk.MessageService
}

// New makes a client. It calls nobody.
func New(o Options) (*Client, error) {
	if err := o.Check(); err != nil {
		return nil, fmt.Errorf("anthropic: %w", err)
	}
	opts := []option.RequestOption{
		option.WithEnvironmentProduction(), // the address, whatever the environment says
		option.WithHTTPClient(o.Client()),
		option.WithMaxRetries(0),
		option.WithoutOpenTelemetry(),
		// With a timeout set, the SDK lets long answers come without a stream.
		option.WithRequestTimeout(o.CallTimeout()),
	}
	if o.APIKey != "" {
		opts = append(opts, option.WithAPIKey(o.APIKey))
	}
	if o.BaseURL != "" {
		opts = append(opts, option.WithBaseURL(strings.TrimSuffix(strings.TrimRight(o.BaseURL, "/"), "/v1")))
	}
	// The SDK's NewClient reads the environment; the service alone does not.
	return &Client{options: o, messages: sdk.NewMessageService(opts...)}, nil
}

// Generate implements [llm.Model]. The answer comes whole, not as a stream.
func (c *Client) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	x := llm.NewExchange(c.options, req.Trial)
	params, opts := c.request(req)
	opts = append(opts, option.WithMiddleware(x.Do), option.WithResponseBodyInto(new([]byte)))
	_, err := c.messages.New(ctx, params, opts...)
	if err := x.Failure(ctx, err); err != nil {
		return llm.Response{}, err
	}
	res, err := answer(x.Body)
	if err != nil {
		return llm.Response{}, x.Refuse(err)
	}
	res.Header, res.Raw, res.Tries = x.Header, x.Body, 1
	return res, nil
}
