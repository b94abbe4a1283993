package scheduler

import (
	"context"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// onAccount lists the runs of one tenant alone. What is named, is found whoever's it is.
type onAccount struct {
	BaselineSource
	tenant string
}

// OnAccount is where last-green of a run on a tenant's account is looked for: suites of
// two tenants may have one name. An empty tenant is none, for whom all runs count.
func OnAccount(s BaselineSource, tenant string) BaselineSource {
	if tenant == "" {
		return s
	}
	return onAccount{s, tenant}
}

func (o onAccount) ListRuns(ctx context.Context, f store.RunFilter) ([]eval.Run, error) {
	f.Tenant = o.tenant
	return o.BaselineSource.ListRuns(ctx, f)
}
