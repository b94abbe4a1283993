package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/farmfile"
	"github.com/evalfarm/evalfarm/pkg/httpapi"
	"github.com/evalfarm/evalfarm/pkg/mcp/catalog"
	"github.com/evalfarm/evalfarm/pkg/mcp/client"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// sent makes the runs of suites that are sent to the farm of a store, as enqueue makes
// those of local ones, with so many attempts where nothing else is asked for. Such a
// suite may use what the farm file registers, and nothing else.
func (c *command) sent(s store.Store, attempts int) func(ctx context.Context, d httpapi.Delivery) (eval.Run, error) {
	return func(ctx context.Context, d httpapi.Delivery) (eval.Run, error) {
		run, err := c.accept(ctx, s, d, attempts)
		if u, ok := errors.AsType[*usageError](err); ok {
			err = &httpapi.Problem{Status: http.StatusUnprocessableEntity, Detail: u.message, Hint: u.hint}
		}
		return run, err
	}
}

func (c *command) accept(ctx context.Context, s store.Store, d httpapi.Delivery, attempts int) (eval.Run, error) {
	loaded, err := c.unpacked(d)
	if err != nil {
		return eval.Run{}, err
	}
	ask := ordering{baseline: d.Baseline, tenant: d.Tenant, key: d.Key, priority: d.Priority}
	if ask.priority == 0 {
		ask.priority = 1
	}
	if err := ask.check(); err != nil {
		return eval.Run{}, err
	}
	if err := c.knownTenant(d.Tenant); err != nil {
		return eval.Run{}, err
	}
	if d.Budget.MicroUSD < 0 || d.Budget.Tokens < 0 || d.Budget.Time < 0 || d.Attempts < 0 {
		return eval.Run{}, usage("", "a budget and attempts are something positive")
	}
	sel := selecting{cases: d.Cases, tags: d.Tags, repeats: d.Repeats, seed: d.Seed, attempts: attempts}
	if d.Attempts > 0 {
		sel.attempts = d.Attempts
	}
	for name, values := range d.Axes {
		for _, value := range values {
			sel.axes = append(sel.axes, name+"="+value)
		}
	}
	request, err := c.request(loaded, sel)
	if err != nil {
		return eval.Run{}, err
	}
	if err := c.doubts(loaded, request.Selection); err != nil {
		return eval.Run{}, err
	}
	request.Budget, request.Git, request.Traceparent = d.Budget, d.Git, d.Traceparent
	if request.Waivers, err = c.approved(loaded, authorityThere(loaded)); err != nil {
		return eval.Run{}, err
	}
	ask.put(&request, d.Seed)
	if err := scheduler.Quarantine(ctx, s, &request); err != nil {
		return eval.Run{}, err
	}
	if err := c.attach(ctx, baselinesFor(s, d.Bound), &request, d.Baseline, false); err != nil {
		return eval.Run{}, err
	}
	// Nobody is there who could be asked.
	planned, err := c.announce(ctx, s, announcing{silent: true, yes: true}, request)
	if err != nil {
		return eval.Run{}, err
	}
	run, err := scheduler.CreateOnce(ctx, s, planned[0])
	return run, explainEmpty(err, request.Suite)
}

// baselinesOf a tenant are its runs alone.
type baselinesOf struct {
	scheduler.BaselineSource
	tenant string
}

// baselinesFor whoever is bound to a tenant: suites of two tenants may have one name,
// and what the agents of the other have called is none of their business.
func baselinesFor(s scheduler.BaselineSource, bound string) scheduler.BaselineSource {
	if bound == "" {
		return s
	}
	return baselinesOf{s, bound}
}

func (b baselinesOf) Baseline(ctx context.Context, of, name, branch string) (store.Baseline, error) {
	found, err := b.BaselineSource.Baseline(ctx, of, name, branch)
	if err != nil {
		return found, err
	}
	if _, err := b.Run(ctx, found.Run); err != nil {
		return store.Baseline{}, fmt.Errorf("baseline %s of suite %s: %w", name, of, err)
	}
	return found, nil
}

func (b baselinesOf) Run(ctx context.Context, id string) (eval.Run, error) {
	run, err := b.BaselineSource.Run(ctx, id)
	if err == nil && run.Tenant != b.tenant {
		return eval.Run{}, fmt.Errorf("run %s: %w", id, store.ErrNotFound)
	}
	return run, err
}

func (b baselinesOf) ListRuns(ctx context.Context, f store.RunFilter) ([]eval.Run, error) {
	f.Tenant = b.tenant
	return b.BaselineSource.ListRuns(ctx, f)
}

// unpacked loads a suite that was sent. It sees its own files, what was sent of the
// sender's environment, and what the farm file registers.
func (c *command) unpacked(d httpapi.Delivery) (*suite.Loaded, error) {
	farm, err := c.farm()
	if err != nil {
		return nil, err
	}
	o := suite.Options{
		With: d.WithPath, Gate: d.GatePath, Baseline: d.Baseline, Base: d.Dir, Projects: d.Projects(), Set: d.Set, Rules: catalog.Rules(), Profiles: client.Profiles(),
		LookupEnv: func(name string) (string, bool) { value, ok := d.Env[name]; return value, ok },
		Grant:     &suite.Grant{Model: farm.Covers},
	}
	if farm != nil {
		o.Registered, o.Grant.Commands = farm.Servers, farm.Commands
	}
	loaded, err := suite.Load(d.SuitePath, o)
	if err == nil {
		err = c.executable(loaded)
	}
	if problems, ok := errors.AsType[*suite.ProblemsError](err); ok {
		for i := range problems.Problems {
			problems.Problems[i].File = filepath.ToSlash(problems.Problems[i].File)
		}
		return nil, problems
	}
	if err != nil {
		return nil, usage("", "%s", strings.ReplaceAll(err.Error(), d.Dir+string(filepath.Separator), ""))
	}
	// It has no folder that a worker could know.
	loaded.Path, loaded.Dir = d.Name, string(filepath.Separator)
	return loaded, nil
}

// api says what the scheduler serves, and to whom.
func (c *command) api(farm *farmfile.File, token string) (httpapi.Options, error) {
	o := httpapi.Options{Token: token, Traces: c.traces}
	if farm != nil {
		for _, t := range farm.Tokens {
			o.Tokens = append(o.Tokens, httpapi.Token{Name: t.Name, SHA256: t.SHA256, Scope: httpapi.Scope(t.Scope), Tenant: t.Tenant})
		}
	}
	var err error
	if o.DayMicroUSD, err = c.microUSD("budgets.day_usd"); err != nil {
		return o, fmt.Errorf("serve the API: %w", err)
	}
	return o, nil
}
