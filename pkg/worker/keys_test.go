package worker_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
	"github.com/evalfarm/evalfarm/pkg/limit"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/meter"
	"github.com/evalfarm/evalfarm/pkg/redact"
	"github.com/evalfarm/evalfarm/pkg/worker"
)

// A used key is with what a model was made: the secret itself, and what its calls
// are limited by.
type usedKey struct {
	secret string
	limit  limit.Key
	rate   eval.Rate
}

// used declares models, notes with what each is made, and lets none be asked
// twice.
func used(models map[string]eval.Model, notes chan<- usedKey) option {
	return func(o *worker.Options, s *eval.Snapshot, _ []eval.Case) {
		s.Models = models
		o.Models = func(m eval.Model, _ *redact.Redactor, mo meter.Options) (llm.Model, error) {
			notes <- usedKey{m.APIKey, mo.Key, mo.Rate}
			return meter.New((&bench{}).named("judge"), mo), nil
		}
	}
}

// A trial keeps to one of several keys, whatever attempt it is, and all of them are
// used. Each has limits of its own.
func TestPoolOfKeys(t *testing.T) {
	notes := make(chan usedKey, 100)
	c := conversation()
	b := setup(t, []eval.Case{c, c, c, c, c, c}, vault, used(map[string]eval.Model{"agent": {
		Provider: eval.ProviderOpenAI, Model: "m", APIKeys: []string{"${{ secrets.A }}", "${{ secrets.B }}", "${{ secrets.C }}"},
	}}, notes))
	bySecret, byLimit := map[string]limit.Key{}, map[limit.Key]string{}
	for ordinal := range 6 {
		for attempt := 1; attempt <= 2; attempt++ {
			b.place.jobs <- jobs.Job{Run: "r-1", Ordinal: ordinal, Attempt: attempt, Header: b.header}
			if err := b.handled(); err != nil {
				t.Fatal(err)
			}
			got, want := <-notes, planted(string("ABC"[ordinal%3]))
			if got.secret != want {
				t.Errorf("trial %d, attempt %d uses %s, want %s", ordinal, attempt, got.secret, want)
			}
			if known, ok := bySecret[got.secret]; ok && known != got.limit {
				t.Errorf("%s has the limits of %s and of %s", got.secret, known, got.limit)
			}
			bySecret[got.secret], byLimit[got.limit] = got.limit, got.secret
			if strings.Contains(string(got.limit), "s3cr3t") {
				t.Errorf("the limiter's key %s tells the secret", got.limit)
			}
		}
	}
	if len(bySecret) != 3 || len(byLimit) != 3 {
		t.Errorf("%d keys with %d limits, want three of each", len(bySecret), len(byLimit))
	}
}

// What counts together at the provider has one key at the limiter, and nothing else
// has.
func TestKeyOfTheLimiter(t *testing.T) {
	shared, own := eval.Rate{RequestsPerMinute: 60}, eval.Rate{RequestsPerMinute: 6, Concurrent: 2}
	apart := shared
	apart.Judge = &own
	pooled := eval.Rate{RequestsPerMinute: 60, Pool: "haiku"}
	base := eval.Model{Provider: eval.ProviderAnthropic, Model: "m", APIKey: "${{ secrets.A }}"}
	with := func(change func(*eval.Model)) eval.Model {
		m := base
		change(&m)
		return m
	}
	tests := []struct {
		name  string
		model eval.Model
		judge bool
		same  bool // as the agent of base
		ends  string
		rate  eval.Rate
	}{
		{"the same model", base, false, true, "/m", eval.Rate{}},
		{"a judge", base, true, true, "/m", eval.Rate{}},
		{"a rate", with(func(m *eval.Model) { m.Rate = &shared }), false, true, "/m", shared},
		{"a judge who shares the rate", with(func(m *eval.Model) { m.Rate = &shared }), true, true, "/m", shared},
		{"an agent beside judges with a rate of their own", with(func(m *eval.Model) { m.Rate = &apart }), false, true, "/m", apart},
		{"a judge with a rate of its own", with(func(m *eval.Model) { m.Rate = &apart }), true, false, "/m/judge", own},
		{"a pool", with(func(m *eval.Model) { m.Rate = &pooled }), false, false, "/haiku", pooled},
		{"another model", with(func(m *eval.Model) { m.Model = "n" }), false, false, "/n", eval.Rate{}},
		{"another key", with(func(m *eval.Model) { m.APIKey = "${{ secrets.B }}" }), false, false, "/m", eval.Rate{}},
		{"another address", with(func(m *eval.Model) { m.BaseURL = "http://127.0.0.1:1" }), false, false, "/m", eval.Rate{}},
		{"the own address, written out", with(func(m *eval.Model) { m.BaseURL = "https://API.anthropic.com/v1/" }), false, true, "/m", eval.Rate{}},
		{"another provider", with(func(m *eval.Model) { m.Provider = eval.ProviderOpenAI }), false, false, "/m", eval.Rate{}},
	}
	key := func(t *testing.T, m eval.Model, judge bool) usedKey {
		t.Helper()
		notes := make(chan usedKey, 10)
		opts := []option{vault, used(map[string]eval.Model{"agent": m, "judge": m}, notes)}
		if judge {
			b := setup(t, []eval.Case{conversation(judged("a"))}, append(opts, grading(eval.Grading{}))...)
			b.grade(b.subject(done()))
		} else {
			setup(t, []eval.Case{conversation()}, opts...).do(1)
		}
		return <-notes
	}
	of := key(t, base, false)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := key(t, tt.model, tt.judge)
			if (got.limit == of.limit) != tt.same || !strings.HasPrefix(string(got.limit), string(tt.model.Provider)+":") || !strings.HasSuffix(string(got.limit), tt.ends) {
				t.Errorf("got %s beside %s; want the same: %t, and an end of %s", got.limit, of.limit, tt.same, tt.ends)
			}
			if diff := cmp.Diff(tt.rate, got.rate); diff != "" {
				t.Errorf("rate (-want +got):\n%s", diff)
			}
		})
	}
}

// refused is a model that no key is good enough for.
type refused struct{}

func (refused) Generate(context.Context, llm.Request) (llm.Response, error) {
	return llm.Response{}, &llm.Error{Kind: llm.Auth, Status: 401, Message: "no such key"}
}

// Of several keys it is told which one was refused, by the name of its secret.
func TestRefusedKeyIsNamed(t *testing.T) {
	b := setup(t, []eval.Case{conversation(), conversation()}, vault, func(o *worker.Options, s *eval.Snapshot, _ []eval.Case) {
		s.Models = map[string]eval.Model{"agent": {Provider: eval.ProviderOpenAI, Model: "m", APIKeys: []string{"${{ secrets.A }}", "${{ secrets.B }}"}}}
		o.Models = func(eval.Model, *redact.Redactor, meter.Options) (llm.Model, error) { return refused{}, nil }
	})
	records := b.do(2)
	if len(records) != 2 {
		t.Fatalf("got %d records, want 2", len(records))
	}
	for _, r := range records {
		name := string("AB"[r.Ordinal])
		if got := r.Result.Message; !strings.Contains(got, "secrets."+name) || !strings.Contains(got, "no such key") || strings.Contains(got, "s3cr3t") {
			t.Errorf("trial %d: got %q, want the name of the secret %s and not its value", r.Ordinal, got, name)
		}
	}
}
