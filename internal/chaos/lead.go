package chaos

import (
	"context"
	"errors"
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// TwoLeaders takes the lease of the scheduler that leads without its knowing. Another
// one leads beside it then, until it wants to renew the lease.
func TwoLeaders() Fault {
	return Fault{Name: "two schedulers lead", Leases: 0.5, felt: []string{"another scheduler leads"}, lacks: func(f *Farm) string {
		if f.o.Schedulers < 2 {
			return "two leaders are two schedulers"
		}
		return ""
	}, befall: func(ctx context.Context, f *Farm, s Step) error {
		for ctx.Err() == nil {
			l, err := f.store.Lease(ctx, scheduler.LeaderLease)
			if err == nil {
				err = f.store.ReleaseLease(ctx, l.Name, l.Holder)
			}
			if err == nil {
				break
			}
			if !errors.Is(err, store.ErrNotFound) && ctx.Err() == nil {
				f.t.Log(fmt.Errorf("take the lead: %w", err)) // the store may be away
			}
			pass(ctx, s.For/10)
		}
		pass(ctx, s.For)
		return nil
	}}
}
