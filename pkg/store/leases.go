package store

import (
	"context"
	"time"
)

// A Lease says who does something that one process of a farm does for all.
type Lease struct {
	Name string `json:"name"`
	// Holder has it until a time by the store's clock, unless it renews or releases
	// it before.
	Holder string    `json:"holder"`
	Until  time.Time `json:"until"`
}

// Leases is the table of leases. Only the store's clock counts, so the clocks of
// holders may be wrong. A lease keeps work from being done twice for nothing; it
// cannot keep a holder that was frozen from waking up after its term, so whatever
// is done under a lease must be harmless when two do it.
type Leases interface {
	// AcquireLease gives a lease to a holder for a term from now, if nobody else holds it;
	// for its holder, that renews it. It returns the lease as it stands then.
	AcquireLease(ctx context.Context, name, holder string, term time.Duration) (Lease, error)
	// ReleaseLease ends a lease if it is the holder's.
	ReleaseLease(ctx context.Context, name, holder string) error
	// Lease returns a lease that somebody holds, or ErrNotFound.
	Lease(ctx context.Context, name string) (Lease, error)
}
