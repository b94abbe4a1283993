package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/evalfarm/evalfarm/pkg/store"
)

// AcquireLease gives a lease to a holder for a term from now, if nobody else holds it.
// It returns the lease as it stands then.
func (db *DB) AcquireLease(ctx context.Context, name, holder string, term time.Duration) (store.Lease, error) {
	var l store.Lease
	err := db.change(ctx, func(tx *sql.Tx) error {
		now := db.now()
		_, err := tx.ExecContext(ctx, `
			INSERT INTO leases (name, holder, until) VALUES (?1, ?2, ?3)
			ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
			WHERE holder = excluded.holder OR until <= ?4`, name, holder, micros(now.Add(term)), micros(now))
		if err != nil {
			return err
		}
		l, err = scanLease(tx.QueryRowContext(ctx, `SELECT name, holder, until FROM leases WHERE name = ?`, name))
		return err
	})
	if err != nil {
		return store.Lease{}, fmt.Errorf("acquire the lease %s: %w", name, err)
	}
	return l, nil
}

// ReleaseLease ends a lease if it is the holder's.
func (db *DB) ReleaseLease(ctx context.Context, name, holder string) error {
	_, err := db.write.ExecContext(ctx, `DELETE FROM leases WHERE name = ? AND holder = ?`, name, holder)
	if err != nil {
		return fmt.Errorf("release the lease %s: %w", name, err)
	}
	return nil
}

// Lease returns a lease that somebody holds, or ErrNotFound.
func (db *DB) Lease(ctx context.Context, name string) (store.Lease, error) {
	l, err := scanLease(db.read.QueryRowContext(ctx, `SELECT name, holder, until FROM leases WHERE name = ? AND until > ?`, name, micros(db.now())))
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
