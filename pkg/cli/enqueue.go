package cli

import (
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
	var ask ordering
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "enqueue SUITE",
		Short: "Leave a run of a suite to the farm",
		Long: `Put a run of a suite into the store, where the farm's schedulers find it, print
its id and return. They are those of evalfarm scheduler --redis URL with the same
store, or, with --server-url, of the farm there, to which the suite is sent with
its files. evalfarm watch RUN follows the run.`,
		Example: `  evalfarm enqueue suites/nightly --tenant ci --priority 2
  evalfarm watch $(evalfarm enqueue suites/quickstart)`,
		Args: args(1, 1, "one suite"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if err := ask.check(); err != nil {
				return err
			}
			load.baseline = ask.baseline
			if c.serverURL != "" {
				return c.send(ctx, args[0], load, sel, ask, func(_ desk, run eval.Run) error { return c.printEnqueued(run, asJSON) })
			}
			request, err := c.prepare(ctx, args[0], load, sel)
			if err != nil {
				return err
			}
			if err := c.knownTenant(ask.tenant); err != nil {
				return err
			}
			ask.put(&request, sel.seed)
			return c.withStore(ctx, func(s store.Store) error {
				if err := scheduler.Quarantine(ctx, s, &request); err != nil {
					return err
				}
				if err := c.attach(ctx, s, &request, ask.baseline, true); err != nil {
					return err
				}
				tell.silent = asJSON
				planned, err := c.announce(ctx, s, tell, request)
				if err != nil {
					return err
				}
				run, err := scheduler.CreateOnce(ctx, s, planned[0])
				if err != nil {
					return explainEmpty(err, request.Suite)
				}
				return c.printEnqueued(run, asJSON)
			})
		},
	}
	load.add(cmd)
	load.addGate(cmd)
	sel.add(cmd)
	tell.add(cmd)
	ask.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the run as one JSON document")
	return cmd
}

// printEnqueued prints a run that was left to the farm.
func (c *command) printEnqueued(run eval.Run, asJSON bool) error {
	if asJSON {
		return c.encode(run)
	}
	c.print("%s\n", run.ID)
	return nil
}

// ordering holds the flags of a run that is left to the farm.
type ordering struct {
	baseline, tenant, key string
	priority              int
}

func (f *ordering) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.baseline, "baseline", "", "compare with this `BASELINE`: a name, last-green, the id of a run, or file:// and a path; its trajectories are expected where a suite lists no calls")
	flags.IntVar(&f.priority, "priority", 1, "weigh the run by `N` against others of its tenant")
	flags.StringVar(&f.tenant, "tenant", "", "the `NAME` on whose account the run is: tenants share the farm evenly, or as farm.yaml says")
	flags.StringVar(&f.key, "idempotency-key", "", "make one run of the tenant's requests with this `KEY`, however often they are made")
}

func (f *ordering) check() error {
	if f.priority < 1 {
		return usage("1 is usual, 2 has twice its share", "--priority wants a positive number")
	}
	return scheduler.CheckKey(f.key)
}

// put makes a request one for the farm. seed is the one that was asked for; 0 is any.
func (f *ordering) put(r *scheduler.Request, seed uint64) {
	r.Priority, r.Tenant, r.Carrier, r.Key = f.priority, f.tenant, eval.CarrierService, f.key
	r.Asked = ""
	if f.key != "" {
		r.Asked = scheduler.Asked(*r, seed, f.baseline)
	}
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
