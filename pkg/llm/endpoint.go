package llm

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/evalfarm/evalfarm/pkg/redact"
)

// callTimeout bounds a call whose endpoint does not say otherwise.
const callTimeout = 10 * time.Minute

// defaultOutput bounds the answer to a request that does not say otherwise, in
// tokens. A bound is always sent: providers reserve it from the rate limit, and
// without one they reserve the most that the model can say.
const defaultOutput = 4096

// An Endpoint is where an adapter reaches a model over HTTP, and as whom.
type Endpoint struct {
	// Model is the provider's name of the model.
	Model string
	// APIKey is sent as a bearer token; empty sends none.
	APIKey string
	// BaseURL of a compatible server; empty means the provider's own.
	BaseURL string
	// Headers of every request. They win over those of the adapter.
	Headers map[string]string
	// Timeout of one call; zero means 10 min.
	Timeout time.Duration
	// Identify sends the headers of [Trial.Header] with every request.
	Identify bool
	// HTTPClient to call with; nil means one with the standard library's
	// transport. Redirects are never followed: they would take the key elsewhere.
	HTTPClient *http.Client
}

// Check says what is wrong with an endpoint, without saying its secrets.
func (e Endpoint) Check() error {
	if e.Model == "" {
		return errors.New("no name of a model")
	}
	if e.BaseURL != "" {
		u, err := url.Parse(e.BaseURL)
		switch {
		case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
			return errors.New("base_url is no http or https URL")
		case u.User != nil, u.RawQuery != "", u.Fragment != "":
			return errors.New("base_url holds credentials, a query or a fragment; credentials belong into api_key or headers")
		}
	}
	if !validValue(e.APIKey) {
		return errors.New("the API key holds characters that a header cannot, such as a line break")
	}
	for name, value := range e.Headers {
		if !validName(name) {
			return fmt.Errorf("%q is no name of a header", name)
		}
		if !validValue(value) {
			return fmt.Errorf("the header %s holds characters that it cannot, such as a line break", name)
		}
	}
	return nil
}

// CallTimeout is how long one call may take.
func (e Endpoint) CallTimeout() time.Duration {
	if e.Timeout <= 0 {
		return callTimeout
	}
	return e.Timeout
}

// Client is the HTTP client to call with.
func (e Endpoint) Client() *http.Client {
	var c http.Client
	if e.HTTPClient != nil {
		c = *e.HTTPClient
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

// secrets takes the endpoint's out of texts.
func (e Endpoint) secrets() *redact.Redactor {
	values := map[string]string{"api_key": e.APIKey}
	maps.Copy(values, e.Headers)
	return redact.New(values)
}

// validName says whether a text is a token (RFC 9110, 5.6.2).
func validName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// validValue says whether a text can be the value of a header (RFC 9110, 5.5).
func validValue(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// MaxOutput is the bound of the answer in tokens.
func (r Request) MaxOutput() int {
	if r.Sampling.MaxOutputTokens <= 0 {
		return defaultOutput
	}
	return r.Sampling.MaxOutputTokens
}
