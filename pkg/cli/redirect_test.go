package cli

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// A redirect takes neither the token nor a request elsewhere.
func TestRedirectsAreNotFollowed(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	defer elsewhere.Close()
	farm := httptest.NewServer(http.RedirectHandler(elsewhere.URL+"/eval/runs", http.StatusMovedPermanently))
	defer farm.Close()
	c := &command{serverURL: farm.URL, env: Env{Environ: []string{"EVALFARM_TOKEN=token"}}}
	client, err := c.client()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Cancel(t.Context(), "r-1"); err == nil {
		t.Error("no error")
	}
	if _, err := client.Run(t.Context(), "r-1"); err == nil {
		t.Error("no error")
	}
}
