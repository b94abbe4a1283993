package eval_test

import (
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

func TestAddress(t *testing.T) {
	for _, tt := range []struct {
		name     string
		provider eval.Provider
		base     string
		want     string
	}{
		{"none", eval.ProviderOpenAI, "", ""},
		{"own of openai", eval.ProviderOpenAI, "https://api.openai.com/v1", ""},
		{"own of openai, in other letters", eval.ProviderOpenAI, "HTTPS://API.OpenAI.com:443/v1//", ""},
		{"openai without its version is elsewhere", eval.ProviderOpenAI, "https://api.openai.com", "https://api.openai.com"},
		{"own of anthropic", eval.ProviderAnthropic, "https://api.anthropic.com", ""},
		{"own of anthropic with the version", eval.ProviderAnthropic, "https://api.anthropic.com/v1/", ""},
		{"another one's own", eval.ProviderOpenAI, "https://api.anthropic.com/v1", "https://api.anthropic.com/v1"},
		{"bare host", eval.ProviderOpenAI, "http://h", "http://h"},
		{"slash", eval.ProviderOpenAI, "http://h/", "http://h"},
		{"slash behind the version", eval.ProviderOpenAI, "http://h/v1/", "http://h/v1"},
		{"version of anthropic", eval.ProviderAnthropic, "http://h/v1/", "http://h"},
		{"host in other letters", eval.ProviderOpenAI, "http://GPU-Box:8000/V1", "http://gpu-box:8000/V1"},
		{"usual port", eval.ProviderOpenAI, "http://h:80/v1", "http://h/v1"},
		{"port of the other scheme", eval.ProviderOpenAI, "http://h:443/v1", "http://h:443/v1"},
		{"port that ends alike", eval.ProviderOpenAI, "http://h:8080/v1", "http://h:8080/v1"},
		{"IPv6", eval.ProviderOpenAI, "http://[::1]:80/v1", "http://[::1]/v1"},
		{"secret", eval.ProviderOpenAI, "http://${{ secrets.HOST }}/v1/", "http://${{ secrets.HOST }}/v1"},
		{"no URL", eval.ProviderOpenAI, "Gateway/", "Gateway"},
	} {
		if got := eval.Address(tt.provider, tt.base); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
		if again := eval.Address(tt.provider, tt.want); again != tt.want {
			t.Errorf("%s: the address of an address: got %q, want %q", tt.name, again, tt.want)
		}
	}
}
