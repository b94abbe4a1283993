package cli

import (
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evalfarm/evalfarm/pkg/app"
	"github.com/evalfarm/evalfarm/pkg/httpapi"
)

// traveling are the commands that can use a farm over its API, and their flags that
// have a meaning there.
func traveling() map[string][]string {
	everywhere := []string{"server-url", "config", "color", "log-level", "log-format", "verbose", "help"}
	show := []string{"progress", "quiet", "json", "output"}
	suite := []string{
		"with", "gate", "set", "case", "tag", "axis", "repeats", "seed", "attempts", "budget-usd", "budget-tokens", "budget-time", "yes",
		"baseline", "tenant", "priority", "idempotency-key",
	}
	return map[string][]string{
		"run": slices.Concat(everywhere, show, suite), "enqueue": slices.Concat(everywhere, suite, []string{"json"}),
		"watch": slices.Concat(everywhere, show), "status": slices.Concat(everywhere, []string{"json", "exit-status"}),
		"cancel": everywhere, "pause": everywhere, "resume": slices.Concat(everywhere, show, []string{"watch"}),
		"retry":   slices.Concat(everywhere, show, []string{"watch", "only", "budget-usd", "budget-tokens", "budget-time"}),
		"runs":    slices.Concat(everywhere, []string{"suite", "unfinished", "limit", "json"}),
		"flaky":   slices.Concat(everywhere, []string{"last", "json", "suite", "variant", "until", "reason", "by"}),
		"report":  slices.Concat(everywhere, []string{"output", "json"}),
		"compare": slices.Concat(everywhere, []string{"axis", "show", "strict", "gate", "full", "margin", "tolerance", "alpha", "json"}),
		"gate":    slices.Concat(everywhere, []string{"gate", "baseline", "explain", "json"}),
		"show":    slices.Concat(everywhere, []string{"variant", "full", "frames", "raw", "json"}),
	}
}

// travels refuses a farm's address where a command, or one of its flags, has no use
// for it: it must never use the store of this machine unasked.
func (c *command) travels(cmd *cobra.Command) error {
	if c.serverURL == "" {
		return nil
	}
	if u, err := url.Parse(c.serverURL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return usage("http:// or https://, and the address at which the scheduler serves its API", "--server-url %s is no address of a farm", c.serverURL)
	}
	flags, ok := traveling()[top(cmd).Name()]
	if !ok {
		return usage("run it where the store is, without --server-url and EVALFARM_SERVER_URL",
			"evalfarm %s needs the farm's store and cannot use the farm at %s over its API", top(cmd).Name(), c.serverURL)
	}
	var stray error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if stray == nil && !slices.Contains(flags, f.Name) {
			stray = usage("leave it out, or run here without --server-url and EVALFARM_SERVER_URL",
				"--%s is for what is carried out here, and means nothing to the farm at %s", f.Name, c.serverURL)
		}
	})
	return stray
}

// client of the farm at the address that was given.
func (c *command) client() (*httpapi.Client, error) {
	token, err := c.bearer()
	if err != nil {
		return nil, err
	}
	return httpapi.NewClient(c.serverURL, token, &http.Client{Timeout: 5 * time.Minute}), nil
}

// bearer finds the token to show to a farm, and makes none.
func (c *command) bearer() (string, error) {
	if t, ok := c.env.Lookup("EVALFARM_TOKEN"); ok && t != "" {
		return t, nil
	}
	_, named, err := c.value("token_file")
	if err != nil {
		return "", err
	}
	path := filepath.Join(c.env.Home(), app.TokenFile)
	if named.Text != "" {
		path = c.env.abs(named.Text)
	}
	content, err := os.ReadFile(path)
	token := strings.TrimSpace(string(content))
	switch {
	case errors.Is(err, os.ErrNotExist) && named.Text == "":
		return "", usage("set EVALFARM_TOKEN, or token_file in farm.yaml", "the farm at %s wants a token, and there is none", c.serverURL)
	case err != nil:
		return "", usage("", "%s: %s", strings.TrimPrefix(named.Where, "$"), err)
	case token == "":
		return "", usage("", "%s, which should have the farm's token, is empty", path)
	}
	return token, nil
}
