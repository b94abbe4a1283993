package sqlstore

import (
	"context"
	"fmt"
	"time"

	"github.com/evalfarm/evalfarm/pkg/store"
)

// AcquireLease gives a lease to a holder for a term from now, if nobody else holds it.
// It returns the lease as it stands then.
func (db *DB) AcquireLease(ctx context.Context, name, holder string, term time.Duration) (store.Lease, error) {
	var l store.Lease
	err := db.change(ctx, func(tx *transaction) error {
		now := db.now()
		_, err := tx.ExecContext(ctx, `
			INSERT INTO leases (name, holder, until) VALUES (?, ?, ?)
			ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
			WHERE leases.holder = excluded.holder OR leases.until <= ?`, name, holder, micros(now.Add(term)), micros(now))
		if err != nil {
			return err
		}
		l, err = scanLease(tx.queryRow(ctx, `SELECT name, holder, until FROM leases WHERE name = ?`, name))
		return err
	})
	if err != nil {
		return store.Lease{}, fmt.Errorf("acquire the lease %s: %w", name, err)
	}
	return l, nil
}

// ReleaseLease ends a lease if it is the holder's.
func (db *DB) ReleaseLease(ctx context.Context, name, holder string) error {
	_, err := db.exec(ctx, `DELETE FROM leases WHERE name = ? AND holder = ?`, name, holder)
	if err != nil {
		return fmt.Errorf("release the lease %s: %w", name, err)
	}
	return nil
}

// Lease returns a lease that somebody holds, or ErrNotFound.
func (db *DB) Lease(ctx context.Context, name string) (store.Lease, error) {
	var l store.Lease
	err := db.look(ctx, func(q querier) (err error) {
		l, err = scanLease(q.queryRow(ctx, `SELECT name, holder, until FROM leases WHERE name = ? AND until > ?`, name, micros(db.now())))
		return err
	})
	if err != nil {
		return store.Lease{}, fmt.Errorf("lease %s: %w", name, missing(err))
	}
	return l, nil
}

func scanLease(row scanner) (store.Lease, error) {
	var l store.Lease
	var until int64
	err := row.Scan(&l.Name, &l.Holder, &until)
	l.Until = moment(until)
	return l, err
}
