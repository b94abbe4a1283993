package doctor

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/redact"
)

// A Provider is an address where models are called, with the keys for it.
type Provider struct {
	Name     string
	Provider eval.Provider
	// BaseURL of a compatible server; empty means the provider's own.
	BaseURL string
	// Keys are the names of secrets. None means the provider's usual one, or no key
	// for a server of one's own.
	Keys []string
}

// keys looks for the keys of each provider. No key is shown, and nobody is asked
// unless Online.
func (o Options) keys(ctx context.Context) []Finding {
	var all []Finding
	for _, p := range o.Providers {
		all = append(all, o.key(ctx, p)...)
	}
	return all
}

func (o Options) key(ctx context.Context, p Provider) []Finding {
	check := "keys " + p.Name
	names := p.Keys
	if len(names) == 0 && p.BaseURL == "" {
		names = []string{usualKey(p.Provider)}
	}
	if len(names) == 0 {
		if o.Online {
			return []Finding{o.ask(ctx, check, p, "", "")}
		}
		return []Finding{ok(check, "no key is sent")}
	}
	var all []Finding
	for _, name := range names {
		key, err := o.Secret(name)
		switch {
		case err != nil:
			all = append(all, problem(check, err.Error(), "workers that ask its models need it"))
		case o.Online:
			all = append(all, o.ask(ctx, check, p, name, key))
		default:
			all = append(all, ok(check, name+" is there; not tried"))
		}
	}
	return all
}

// usualKey names the secret that holds a provider's key when nobody names one.
func usualKey(p eval.Provider) string {
	if p == eval.ProviderAnthropic {
		return "ANTHROPIC_API_KEY"
	}
	return "OPENAI_API_KEY"
}

// anthropicVersion of the API, which its provider wants to be told.
const anthropicVersion = "2023-06-01"

// ask asks for the list of models, which costs nothing, with a key. Both providers
// have it at /v1/models.
func (o Options) ask(ctx context.Context, check string, p Provider, name, key string) Finding {
	hide := redact.New(map[string]string{name: key})
	with := cmp.Or(name, "a call without a key")
	address := strings.TrimRight(cmp.Or(p.BaseURL, "https://api.openai.com/v1"), "/") + "/models"
	if p.Provider == eval.ProviderAnthropic {
		base := strings.TrimRight(cmp.Or(p.BaseURL, "https://api.anthropic.com"), "/")
		address = strings.TrimRight(strings.TrimSuffix(base, "/v1"), "/") + "/v1/models"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return problem(check, hide.String(err.Error()), "")
	}
	if p.Provider == eval.ProviderAnthropic {
		req.Header.Set("Anthropic-Version", anthropicVersion)
		if key != "" {
			req.Header.Set("X-Api-Key", key)
		}
	} else if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := o.HTTP.Do(req)
	if err != nil {
		return problem(check, hide.String(fmt.Sprintf("ask with %s: %s", with, err)), "see that this machine reaches the address")
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
		return ok(check, with+" is accepted")
	case http.StatusUnauthorized, http.StatusForbidden:
		return problem(check, fmt.Sprintf("%s is refused: %s", with, resp.Status), "put a valid key into the secret")
	}
	return warning(check, fmt.Sprintf("the list of models is answered with %s; this says nothing of %s", resp.Status, with), "")
}
