package eval

import (
	"net/url"
	"strings"
)

// Address is where a model is called, in the one form in which two spellings of the
// same place are equal: scheme and host in lower case, without the usual port and
// without slashes at its end. It is empty for the provider's own address, be it
// written out or not. What is no URL, because a secret is still to be put in, stays
// as it is but for the slashes.
func Address(provider Provider, base string) string {
	base = strings.TrimRight(strings.TrimSpace(base), "/")
	if u, err := url.Parse(base); err == nil && u.Host != "" {
		u.Host = strings.ToLower(u.Host)
		if port := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]; port != "" {
			u.Host = strings.TrimSuffix(u.Host, port)
		}
		base = strings.TrimRight(u.String(), "/")
	}
	if provider == ProviderAnthropic { // its client puts the version behind it
		base = strings.TrimRight(strings.TrimSuffix(base, "/v1"), "/")
	}
	if base == own(provider) {
		return ""
	}
	return base
}

// own is the provider's own address.
func own(provider Provider) string {
	switch provider {
	case ProviderAnthropic:
		return "https://api.anthropic.com"
	case ProviderOpenAI:
		return "https://api.openai.com/v1"
	default:
		return ""
	}
}
