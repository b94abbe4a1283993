package worker

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/limit"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/meter"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

// usualKey names the secret that holds a provider's key when a model names none.
func usualKey(p eval.Provider) string {
	switch p {
	case eval.ProviderAnthropic:
		return "ANTHROPIC_API_KEY"
	case eval.ProviderOpenAI:
		return "OPENAI_API_KEY"
	default:
		return ""
	}
}

// model makes a model of the suite ready to be asked. A server of one's own may
// want no key, so the usual one is for the provider's own address alone. A judge's
// calls may have a rate of their own.
func (at *place) model(name string, judge bool) (llm.Model, eval.Model, *refusal) {
	m, ok := at.p.snap.Models[name]
	if !ok {
		return nil, m, &refusal{eval.ReasonFarm, fmt.Sprintf("the snapshot has no model %q", name)}
	}
	shown := telemetry.ModelOf(m)
	s := secrets{lookup: at.w.opts.Secret, found: map[string]string{}}
	if key := usualKey(m.Provider); m.APIKey == "" && m.BaseURL == "" && key != "" && !m.Replayed() {
		m.APIKey = "${{ secrets." + key + " }}"
	}
	var key string
	if n := len(m.APIKeys); n > 0 {
		m.APIKey = m.APIKeys[at.t.Ordinal%n] // and so for all its attempts
		key = m.APIKey
	}
	if !m.Replayed() {
		m.APIKey = s.resolve(m.APIKey)
		m.BaseURL = s.resolve(m.BaseURL)
		m.Headers = maps.Clone(m.Headers)
		for k, v := range m.Headers {
			m.Headers[k] = s.resolve(v)
		}
	}
	if s.err != nil {
		return nil, m, &refusal{eval.ReasonSecretMissing, fmt.Sprintf("model %s: %v", name, s.err)}
	}
	maps.Copy(at.found, s.found)
	if m.Cassette != nil {
		// A folder for each model: two may be asked the same.
		m.Cassette = &eval.Cassette{Dir: path.Join(m.Cassette.Dir, name), Record: m.Cassette.Record}
	}
	o := meter.Options{Purse: at.purse, Price: m.Price, Key: limitKey(m), Doing: at.doing, Model: shown, Metrics: at.w.opts.Metrics}
	if m.Replayed() || m.Provider == eval.ProviderScripted { // nobody counts those
		o.Key = limit.Key(name)
	}
	if m.Rate != nil {
		o.Rate = *m.Rate
		if judge && m.Rate.Judge != nil {
			o.Rate, o.Key = *m.Rate.Judge, o.Key+"/judge"
		}
	}
	made, err := at.w.opts.Models(m, at.redactor(), o)
	if err != nil {
		return nil, m, &refusal{eval.ReasonModelRefused, at.redactor().String(fmt.Sprintf("model %s: %v", name, err))}
	}
	if key != "" {
		made = keyed{made, key}
	}
	return made, m, nil
}

// A keyed model has one key of several. When that is refused, it says which one: by
// the reference to its secret, never by its value.
type keyed struct {
	llm.Model
	key string
}

// Generate implements [llm.Model].
func (k keyed) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	res, err := k.Model.Generate(ctx, req)
	if e, ok := errors.AsType[*llm.Error](err); ok && e.Kind == llm.Auth {
		told := *e
		told.Message = strings.TrimSpace("with the key " + k.key + ": " + e.Message)
		return res, &told
	}
	return res, err
}

// limitKey names what the provider counts together: the account, of which the key
// is known by a hash, and the model or the pool that it is in.
func limitKey(m eval.Model) limit.Key {
	account := sha256.Sum256([]byte(eval.Address(m.Provider, m.BaseURL) + "\x00" + m.APIKey))
	pool := m.Model
	if m.Rate != nil {
		pool = cmp.Or(m.Rate.Pool, pool)
	}
	return limit.Key(fmt.Sprintf("%s:%s/%s", m.Provider, hex.EncodeToString(account[:4]), pool))
}

// agentModel names the model of the agent.
func (at *place) agentModel() string { return cmp.Or(at.c.Model, at.t.Variant.Axes[eval.AxisModel]) }

// agent is what traces are told of the model at work.
func (at *place) agent() telemetry.Agent {
	name := at.agentModel()
	of := telemetry.ModelOf(at.p.snap.Models[name])
	return telemetry.Agent{Name: name, Provider: of.Provider, Model: of.Name}
}

// settings of the agent: the axis points over the case.
func (at *place) settings() eval.Agent {
	set := at.c.Agent
	for _, p := range at.points {
		set = set.Over(p.Agent)
	}
	return set
}

// seeded puts the trial's seed where it is asked for. JSON numbers above 2^53 are
// not safe everywhere.
func (at *place) seeded(s eval.Sampling) eval.Sampling {
	if s.TrialSeed {
		seed := int64(at.t.Seed & (1<<53 - 1))
		s.Seed = &seed
	}
	return s
}

// identity of the trial, for models.
func (at *place) identity() llm.Trial {
	return llm.Trial{Case: at.t.Case.ID, Variant: at.t.Variant.ID, Repeat: at.t.Repeat, Seed: at.t.Seed}
}
