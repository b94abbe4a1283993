package cli

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/llm/scripted"
	"github.com/evalfarm/evalfarm/pkg/stub"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

func (c *command) stub() *cobra.Command {
	var f stubbing
	cmd := &cobra.Command{
		Use:   "stub",
		Short: "Serve a model that says what you want, to test with",
		Long: `Serve a model on loopback that speaks the wire formats of OpenAI (chat
completions and responses), Anthropic and Gemini, until it is stopped. It
follows the policy of --script, as a scripted model of a suite does, or says
--say. GET /stats says what was asked of it; POST /stats/reset starts anew.

Latency, limits and faults make it as slow, as narrow and as unreliable as a
real provider, in the same way each time. A latency is 2s, uniform(1s,3s),
exp(2s) with that mean, or lognormal(2s,0.5) with that median and that standard
deviation of the logarithm.

Limits are for each key and model. A 429 says when to come again in one of the
forms seconds, float, http-date, ms, reset-headers, retry-info, none, or mixed,
which is all of them in turn. --pause refuses single calls in that form, or in
one of their own, and counts who comes all the same.

Faults are 500, 502, 503, 529 (overloaded), hang, cut, malformed, slow,
stream-overloaded, quota, context_length and content_filter.`,
		Example: `  evalfarm stub --script scripts/desk.yaml --latency 'lognormal(2s,0.5)'
  evalfarm stub --rpm 60 --retry-after mixed --fault 529=0.05 --fault cut=0.01
  evalfarm stub --rpm 600 --burst 2s --no-limit-headers --pause 20=7s/http-date`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options, err := f.options(c)
			if err != nil {
				return err
			}
			addr, err := loopback(f.listen)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
			if err != nil {
				return fmt.Errorf("listen on %s: %w", addr, err)
			}
			if !f.quiet {
				c.printStub("http://" + l.Addr().String())
			}
			if err := stub.New(options).Serve(ctx, l); err != nil {
				return fmt.Errorf("serve the stub: %w", err)
			}
			return nil
		},
	}
	f.add(cmd)
	return cmd
}

// stubbing holds the flags of a stub.
type stubbing struct {
	listen, script, say, latency, retryAfter string
	keys, faults, pauses                     []string
	tokens                                   int
	tokensPerSecond                          float64
	limits                                   stub.Limits
	noHeaders                                bool
	seed                                     uint64
	quiet                                    bool
}

func (f *stubbing) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:8089", "serve on this loopback `ADDRESS`; port 0 takes any free one")
	flags.StringVar(&f.script, "script", "", "follow the policy in this `FILE`")
	flags.StringVar(&f.say, "say", "Hello from the stub.", "without a script: say this `TEXT`")
	flags.IntVar(&f.tokens, "output-tokens", 0, "without a script: repeat or cut the text to `N` tokens")
	flags.StringVar(&f.latency, "latency", "0s", "wait before an answer, by this `DISTRIBUTION`")
	flags.Float64Var(&f.tokensPerSecond, "tokens-per-second", 0, "then generate so many tokens a second (default: all at once)")
	flags.IntVar(&f.limits.Requests, "rpm", 0, "at most `N` requests a minute for a key and model")
	flags.IntVar(&f.limits.Tokens, "tpm", 0, "at most `N` tokens a minute, input and max_tokens counted up front")
	flags.IntVar(&f.limits.InputTokens, "itpm", 0, "at most `N` input tokens a minute, cache reads not counted")
	flags.IntVar(&f.limits.OutputTokens, "otpm", 0, "at most `N` output tokens a minute, max_tokens until the answer is there")
	flags.IntVar(&f.limits.InFlight, "in-flight", 0, "at most `N` calls at once")
	flags.DurationVar(&f.limits.Burst, "burst", time.Minute, "what comes in within this `DURATION` may be used at once")
	flags.BoolVar(&f.noHeaders, "no-limit-headers", false, "do not tell in headers how much of the limits is left")
	flags.StringVar(&f.retryAfter, "retry-after", string(stub.RetrySeconds), "the `FORM` in which a 429 says when to come again")
	flags.StringArrayVar(&f.pauses, "pause", nil, "refuse one call, by its number, and ask for a wait (`CALL=WAIT[/FORM]`, repeatable)")
	flags.StringArrayVar(&f.keys, "key", nil, "let in only this `KEY` (repeatable)")
	flags.StringArrayVar(&f.faults, "fault", nil, "let this share of the calls go wrong (`KIND=SHARE`, repeatable)")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of latencies and faults")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "do not print the addresses")
}

// options checks the flags.
func (f *stubbing) options(c *command) (stub.Options, error) {
	o := stub.Options{
		Model: stub.Say{Text: f.say, Tokens: f.tokens}, Keys: f.keys,
		TokensPerSecond: f.tokensPerSecond, Limits: f.limits, NoLimitHeaders: f.noHeaders, Seed: f.seed,
	}
	const most = 100_000 // tokens of an answer
	if l := f.limits; min(l.Requests, l.Tokens, l.InputTokens, l.OutputTokens, l.InFlight, f.tokens) < 0 || f.tokensPerSecond < 0 || f.tokens > most {
		return o, usage("evalfarm stub --help", "no number may be negative, and --output-tokens is at most %d", most)
	}
	if f.limits.Burst <= 0 {
		return o, usage("", "--burst: want a time above 0")
	}
	for _, k := range f.keys {
		if strings.TrimSpace(k) != k || k == "" {
			return o, usage("", "--key: an empty key, or one with spaces around it")
		}
	}
	var err error
	if o.Latency, err = stub.ParseLatency(f.latency); err != nil {
		return o, usage("", "--latency: %s", err)
	}
	if o.RetryAfter, err = stub.ParseRetryAfter(f.retryAfter); err != nil {
		return o, usage("", "--retry-after: %s", err)
	}
	if o.Pauses, err = stub.ParsePauses(f.pauses...); err != nil {
		return o, usage("", "--pause: %s", err)
	}
	if o.Faults, err = stub.ParseFaults(f.faults...); err != nil {
		return o, usage("", "--fault: %s", err)
	}
	if f.script != "" {
		policy, err := suite.LoadPolicy(c.env.abs(f.script), c.env.Dir)
		if err != nil {
			return o, err
		}
		o.Model = scripted.New(policy, scripted.Options{})
	}
	return o, nil
}

// loopback refuses to listen where others could reach it: the stub answers
// everybody. An address without a host means loopback.
func loopback(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", usage("", "--listen: want an address such as 127.0.0.1:8089, got %q", addr)
	}
	if host == "" || host == "localhost" {
		host = "127.0.0.1"
	}
	if ip, err := netip.ParseAddr(host); err != nil || !ip.IsLoopback() {
		return "", usage("for others, put a proxy before it that asks who they are", "--listen: the stub serves on loopback only, and %s is not", host)
	}
	return net.JoinHostPort(host, port), nil
}

func (c *command) printStub(base string) {
	c.print("OpenAI     base_url %s/v1\n", base)
	c.print("Anthropic  base_url %s\n", base)
	c.print("Gemini     base_url %s, or for OpenAI clients %s/v1beta/openai\n", base, base)
	c.print("stats      %s/stats\n", base)
}
