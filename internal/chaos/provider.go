package chaos

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm/scripted"
	"github.com/evalfarm/evalfarm/pkg/stub"
)

// A provider is a stub that follows a policy and counts what it wants to be paid.
type provider struct {
	*stub.Server
	url string
}

// provide starts a provider on an address of this machine.
func provide(tb testing.TB, host string) *provider {
	tb.Helper()
	latency, err := stub.ParseLatency("uniform(20ms,120ms)")
	if err != nil {
		tb.Fatal(err)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		tb.Fatal(err)
	}
	p := &provider{Server: stub.New(stub.Options{Model: scripted.New(policy(), scripted.Options{}), Latency: latency}), url: "http://" + l.Addr().String()}
	web := &http.Server{Handler: p}
	go func() { _ = web.Serve(l) }()
	tb.Cleanup(func() { _ = web.Close() })
	return p
}

// What a token costs, in micro-dollars.
const (
	inputPrice  = 1
	outputPrice = 100
)

// bill is what the provider wants, in micro-dollars, answers included that nobody was
// there to hear.
func (p *provider) bill() int64 {
	load := p.Stats().Load
	u := load.Tokens.Add(load.Unheard)
	return inputPrice*int64(u.Input) + outputPrice*int64(u.Output)
}

// policy looks up a customer. Then it says, by the seed of the trial, how they are, or
// something wrong, or it looks once more.
func policy() eval.Policy {
	usage := &eval.Usage{Input: 500, Output: 45}
	look := eval.Move{Calls: []eval.ScriptedCall{{Tool: "getCustomerStatus", Arguments: eval.JSON(`{"customerId": "CUST-4091"}`)}}, Usage: usage}
	say := func(text string) eval.Move { return eval.Move{Say: text, Usage: usage} }
	return eval.Policy{Default: []eval.Move{look, {Choose: []eval.Choice{
		{Weight: 70, Moves: []eval.Move{say("The customer is ACTIVE.")}},
		{Weight: 20, Moves: []eval.Move{say("I do not know.")}},
		{Weight: 10, Moves: []eval.Move{look, say("Once more: ACTIVE.")}},
	}}}}
}

// cells of the suite.
const cells = 20

// suite has agents that ask a provider.
func (p *provider) suite() string {
	var b strings.Builder
	fmt.Fprintf(&b, `version: 1
name: chaos
servers: {shop: {command: [evalfarm, demo, acme], isolation: shared}}
models:
  m: {provider: openai, model: stub, base_url: "%s/v1", identify: true, max_output_tokens: 50, price: {input: %d, output: %d}}
defaults: {server: shop, model: m}
limits: {cost_usd: 0.03}
cases:
`, p.url, inputPrice, outputPrice)
	for i := range cells {
		fmt.Fprintf(&b, "  - {id: case-%02d, prompt: \"How are they?\", checks: [{contains: ACTIVE}]}\n", i)
	}
	return b.String()
}
