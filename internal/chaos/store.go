package chaos

import "context"

// StoreAway stops PostgreSQL as a crash would, and starts it again.
func StoreAway() Fault {
	return Fault{
		Name: "the store is away", Leases: 0.5, felt: []string{"connection refused"}, lacks: func(f *Farm) string {
			if f.o.Postgres == nil {
				return "a store that can be away is PostgreSQL, and this one is a file"
			}
			return ""
		},
		befall: func(ctx context.Context, f *Farm, s Step) error {
			f.storeBusy.Lock()
			defer f.storeBusy.Unlock()
			f.o.Postgres.Stop(f.t)
			pass(ctx, s.For)
			f.o.Postgres.Restart(f.t)
			return nil
		},
	}
}
