package app

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/limit"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/llm/anthropic"
	"github.com/evalfarm/evalfarm/pkg/llm/cassette"
	"github.com/evalfarm/evalfarm/pkg/llm/openai"
	"github.com/evalfarm/evalfarm/pkg/llm/scripted"
	"github.com/evalfarm/evalfarm/pkg/meter"
	"github.com/evalfarm/evalfarm/pkg/redact"
)

// callTimeout bounds a call of a model that says nothing of it.
const callTimeout = 10 * time.Minute

// models makes metered models of what suites declare, with their secrets resolved.
// All of them share one client, and with it connections, and the farm's limiter.
func models(limiter *limit.Limiter) func(m eval.Model, secrets *redact.Redactor, o meter.Options) (llm.Model, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 1000 // as many as are called at once
	transport.MaxIdleConns = 0
	shared := &http.Client{Transport: transport}
	return func(m eval.Model, secrets *redact.Redactor, o meter.Options) (llm.Model, error) {
		if m.Replayed() {
			// Played back is neither paid, limited nor measured, and what is missing is missing
			// each time.
			o.Price, o.Once, o.Metrics = &eval.Price{}, true, nil
			return meter.New(cassette.Replay(filepath.FromSlash(m.Cassette.Dir), secrets.String), o), nil
		}
		made, err := adapter(m, shared)
		if err != nil {
			return nil, err
		}
		if m.Provider == eval.ProviderScripted { // what a script fails, it fails each time
			o.Price, o.Once = cmp.Or(o.Price, &eval.Price{}), true
		} else {
			o.Limiter = limiter
		}
		made = meter.New(made, o)
		if m.Cassette != nil {
			made = cassette.Record(made, filepath.FromSlash(m.Cassette.Dir), secrets.String)
		}
		return made, nil
	}
}

func adapter(m eval.Model, shared *http.Client) (llm.Model, error) {
	timeout := m.CallTimeout
	if timeout <= 0 {
		timeout = callTimeout
	}
	switch m.Provider {
	case eval.ProviderAnthropic:
		return anthropic.New(anthropic.Options{
			Model: m.Model, APIKey: m.APIKey, BaseURL: m.BaseURL, Headers: m.Headers, Timeout: timeout, Identify: m.Identify, HTTPClient: shared,
		})
	case eval.ProviderOpenAI:
		return openai.New(openai.Options{
			Model: m.Model, APIKey: m.APIKey, BaseURL: m.BaseURL, Headers: m.Headers, Timeout: timeout, Identify: m.Identify, HTTPClient: shared,
		})
	case eval.ProviderScripted:
		if m.Policy == nil {
			return nil, errors.New("the scripted model has no policy")
		}
		return scripted.New(*m.Policy, scripted.Options{}), nil
	default:
		return nil, fmt.Errorf("unknown provider %q", m.Provider)
	}
}
