package cli

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/farmfile"
	"github.com/evalfarm/evalfarm/pkg/httpapi"
)

func (c *command) makeToken() *cobra.Command {
	var scope, tenant string
	cmd := &cobra.Command{
		Use:   "token NAME",
		Short: "Make a token for somebody who uses the farm over its API",
		Long: `Make a token, print it, and say on standard error what the scheduler's farm.yaml
must have so that it is taken. The token is kept nowhere; the farm file has its
hash. To take it back, remove the entry and start the schedulers anew.

Scopes: worker (join the farm), read (read runs), run (also start runs, and
cancel, pause, resume and retry them).`,
		Example: `  evalfarm token ci --scope run --tenant nightly > ci.token`,
		Args:    args(1, 1, "a name"),
		RunE: func(_ *cobra.Command, args []string) error {
			if !farmfile.TenantName(args[0]) {
				return usage("letters, digits, . _ and -, at most 64 of them", "%q is no name for a token", args[0])
			}
			if !slices.Contains(httpapi.Scopes(), httpapi.Scope(scope)) {
				return usage("", "--scope %s: want worker, read or run", scope)
			}
			entry := []string{"scope: " + scope}
			if tenant != "" {
				if !farmfile.TenantName(tenant) {
					return usage("letters, digits, . _ and -, at most 64 of them", "--tenant %q is no name", tenant)
				}
				if httpapi.Scope(scope) == httpapi.ScopeWorker {
					return usage("", "a worker works for all tenants: --tenant is for the scopes read and run")
				}
				entry = append(entry, "tenant: "+tenant)
			}
			token := rand.Text()
			entry = append(entry, "sha256: "+httpapi.HashToken(token))
			fmt.Fprintf(c.env.Stderr, "in the scheduler's farm.yaml:\n\ntokens:\n  %s: {%s}\n\n", args[0], strings.Join(entry, ", "))
			c.print("%s\n", token)
			return nil
		},
	}
	cmd.Flags().StringVar(&scope, "scope", string(httpapi.ScopeRun), "what it lets do: worker, read or run: a `SCOPE`")
	cmd.Flags().StringVar(&tenant, "tenant", "", "let it see and start only runs of the tenant with this `NAME`")
	return cmd
}
