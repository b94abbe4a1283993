package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/farmfile"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

func (c *command) enqueue() *cobra.Command {
	var load loading
	var sel selecting
	var tell announcing
	var baseline, tenant string
	var priority int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "enqueue SUITE",
		Short: "Leave a run of a suite to the farm",
		Long: `Put a run of a suite into the store, where the farm's schedulers find it, print
its id and return. They are those of evalfarm scheduler --redis URL with the same
store. evalfarm watch RUN follows the run.`,
		Example: `  evalfarm enqueue suites/nightly --tenant ci --priority 2
  evalfarm watch $(evalfarm enqueue suites/quickstart)`,
		Args: args(1, 1, "one suite"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if priority < 1 {
				return usage("1 is usual, 2 has twice its share", "--priority wants a positive number")
			}
			request, err := c.prepare(ctx, args[0], load, sel)
			if err != nil {
				return err
			}
			if err := c.knownTenant(tenant); err != nil {
				return err
			}
			request.Priority, request.Tenant, request.Carrier = priority, tenant, eval.CarrierService
			return c.withStore(ctx, func(s store.Store) error {
				if err := c.attach(ctx, s, &request.Suite.Suite, baseline); err != nil {
					return err
				}
				tell.silent = asJSON
				planned, err := c.announce(ctx, s, tell, request)
				if err != nil {
					return err
				}
				run, err := scheduler.Create(ctx, s, planned[0])
				if err != nil {
					return explainEmpty(err, request.Suite)
				}
				if asJSON {
					enc := json.NewEncoder(c.env.Stdout)
					enc.SetIndent("", "  ")
					return enc.Encode(run)
				}
				c.print("%s\n", run.ID)
				return nil
			})
		},
	}
	load.add(cmd)
	sel.add(cmd)
	tell.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&baseline, "baseline", "", "the `NAME` of the baseline whose trajectories are expected where a suite lists no calls")
	flags.IntVar(&priority, "priority", 1, "weigh the run by `N` against others of its tenant")
	flags.StringVar(&tenant, "tenant", "", "the `NAME` on whose account the run is: tenants share the farm evenly, or as farm.yaml says")
	flags.BoolVar(&asJSON, "json", false, "print the run as one JSON document")
	return cmd
}

// knownTenant refuses a name that is none, and one that the farm file does not know if
// that names tenants.
func (c *command) knownTenant(name string) error {
	if name == "" {
		return nil
	}
	if !farmfile.TenantName(name) {
		return usage("letters, digits, . _ and -, at most 64 of them", "--tenant %q is no name", name)
	}
	farm, err := c.farm()
	if err != nil || farm == nil || len(farm.Tenants) == 0 {
		return err
	}
	var names []string
	for _, t := range farm.Tenants {
		if t.Name == name {
			return nil
		}
		names = append(names, t.Name)
	}
	hint := fmt.Sprintf("tenants of the farm file: %s", strings.Join(names, ", "))
	if near := strictyaml.Closest(name, names); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return usage(hint, "the farm file has no tenant %q", name)
}
