package cli

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/httpapi"
	"github.com/evalfarm/evalfarm/pkg/report"
)

func (c *command) health() *cobra.Command {
	return &cobra.Command{
		Use:   "health URL",
		Short: "Ask a scheduler or a worker whether it is ready",
		Long: `Ask the scheduler at URL, or the worker that was started with --health, whether it
is ready, and print what it says. The exit code is 0 if it is, else 3. It is for
health checks in images that have no other program; URL may have the path /healthz,
to ask only whether the process lives.`,
		Example: `  evalfarm health http://127.0.0.1:8090
  evalfarm health http://127.0.0.1:8091/healthz`,
		Args: args(1, 1, "a URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			url := strings.TrimSuffix(args[0], "/")
			if !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") {
				return usage("evalfarm health http://127.0.0.1:8090", "health wants an http URL, got %q", args[0])
			}
			if !strings.HasSuffix(url, httpapi.HealthPath) && !strings.HasSuffix(url, httpapi.ReadyPath) {
				url += httpapi.ReadyPath
			}
			r, err := http.NewRequestWithContext(cmd.Context(), http.MethodGet, url, nil)
			if err != nil {
				return usage("", "health: %s", err)
			}
			// No proxy: it is meant for what is near.
			answer, err := (&http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
			if err != nil {
				return fmt.Errorf("ask for its health: %w", err)
			}
			defer answer.Body.Close()
			body, err := io.ReadAll(io.LimitReader(answer.Body, 4<<10))
			if err != nil {
				return fmt.Errorf("ask for its health: %w", err)
			}
			c.print("%s\n", report.Line(strings.TrimSpace(string(body)), 500))
			if answer.StatusCode != http.StatusOK {
				return &codeError{eval.ExitInfra}
			}
			return nil
		},
	}
}
