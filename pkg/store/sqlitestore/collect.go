package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/evalfarm/evalfarm/pkg/store"
)

// daysKept is how long the sums of days are kept. Only today's is asked for, and
// those of days that charges were made on.
const daysKept = 60 * 24 * time.Hour

// slice is how many trials, events or blobs Collect deletes in one
// transaction, so that other writers get their turn within milliseconds.
const slice = 1000

// Collect deletes done runs that finished before a time with all that belongs
// to them, and the blobs that no remaining run needs and that nobody brought
// since that time. With dryRun it only counts. Bytes are those of the blobs, as
// stored. The sums of days go when they are old.
//
// A run disappears from all lists at once and is then emptied step by step; a
// Collect that was interrupted is completed by the next one.
func (db *DB) Collect(ctx context.Context, before time.Time, dryRun bool) (store.Collected, error) {
	var c store.Collected
	var err error
	if dryRun {
		c, err = db.collectable(ctx, before)
	} else {
		c, err = db.collect(ctx, before)
	}
	if err != nil {
		return c, fmt.Errorf("collect what is older than %s: %w", before.UTC().Format(time.RFC3339), err)
	}
	return c, nil
}

const (
	// A grading goes with its run. A run stays while it is being judged, and while
	// it is a baseline.
	oldRun = `EXISTS (SELECT 1 FROM runs o WHERE o.id = coalesce(nullif(r.parent, ''), r.id) AND o.state = 'done' AND o.finished < ?1
		AND NOT EXISTS (SELECT 1 FROM runs g WHERE g.parent = o.id AND g.state <> 'done' AND g.created >= ?1)
		AND NOT EXISTS (SELECT 1 FROM baselines b WHERE b.run = o.id))`
	// A run that Collect has taken out of the list needs nothing any more.
	oldBlob = `b.put < ?1 AND NOT EXISTS (SELECT 1 FROM run_blobs n JOIN runs r ON r.id = n.run
		WHERE n.sha256 = b.sha256 AND NOT ` + oldRun + `)`
)

func (db *DB) collectable(ctx context.Context, before time.Time) (c store.Collected, err error) {
	err = db.read.QueryRowContext(ctx, `SELECT count(*) FROM runs r WHERE r.parent = '' AND `+oldRun, micros(before)).Scan(&c.Runs)
	if err != nil {
		return c, err
	}
	err = db.read.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(length(b.zstd)), 0) FROM blobs b WHERE `+oldBlob, micros(before)).
		Scan(&c.Blobs, &c.Bytes)
	return c, err
}

func (db *DB) collect(ctx context.Context, before time.Time) (c store.Collected, err error) {
	err = db.change(ctx, func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, `SELECT count(*) FROM runs r WHERE r.parent = '' AND `+oldRun, micros(before)).Scan(&c.Runs)
		if err != nil {
			return err
		}
		if _, err = tx.ExecContext(ctx, `INSERT INTO collected (run) SELECT id FROM runs r WHERE `+oldRun, micros(before)); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM runs WHERE id IN (SELECT run FROM collected)`)
		return err
	})
	if err != nil {
		return c, err
	}
	runs, err := readAll(ctx, db.read, func(row scanner) (run string, err error) {
		err = row.Scan(&run)
		return run, err
	}, `SELECT run FROM collected`)
	if err != nil {
		return c, err
	}
	for _, run := range runs {
		if err := db.empty(ctx, run); err != nil {
			return c, fmt.Errorf("run %s: %w", run, err)
		}
	}
	if err := db.collectBlobs(ctx, before, &c); err != nil {
		return c, err
	}
	if _, err := db.write.ExecContext(ctx, `DELETE FROM days WHERE day < ?`, date(db.now().Add(-daysKept))); err != nil {
		return c, err
	}
	return c, db.shrink(ctx)
}

// empty deletes all that belongs to a run that is out of the list.
func (db *DB) empty(ctx context.Context, run string) error {
	for bound := 0; bound < math.MaxInt; {
		err := db.change(ctx, func(tx *sql.Tx) error {
			err := tx.QueryRowContext(ctx, `SELECT ordinal FROM attempts WHERE run = ? ORDER BY ordinal LIMIT 1 OFFSET ?`, run, slice).Scan(&bound)
			if errors.Is(err, sql.ErrNoRows) {
				bound, err = math.MaxInt, nil
			}
			if err != nil {
				return err
			}
			for _, statement := range []string{
				`DELETE FROM scores WHERE run = ? AND ordinal <= ?`,
				`DELETE FROM results WHERE uid IN (SELECT uid FROM attempts WHERE run = ? AND ordinal <= ?)`,
				`DELETE FROM attempts WHERE run = ? AND ordinal <= ?`,
				`DELETE FROM trials WHERE run = ? AND ordinal <= ?`,
				`DELETE FROM charges WHERE run = ? AND ordinal <= ?`,
			} {
				if _, err := tx.ExecContext(ctx, statement, run, bound); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, statement := range []string{
		`DELETE FROM events WHERE seq IN (SELECT seq FROM events WHERE run = ? LIMIT ?)`,
		`DELETE FROM run_blobs WHERE (run, sha256) IN (SELECT run, sha256 FROM run_blobs WHERE run = ? LIMIT ?)`,
		`DELETE FROM cells WHERE (run, cell) IN (SELECT run, cell FROM cells WHERE run = ? LIMIT ?)`,
		`DELETE FROM gradings WHERE id IN (SELECT id FROM gradings WHERE run = ? LIMIT ?)`,
		`DELETE FROM notices WHERE (run, target) IN (SELECT run, target FROM notices WHERE run = ? LIMIT ?)`,
		`DELETE FROM live WHERE run IN (SELECT run FROM live WHERE run = ? LIMIT ?)`,
		`DELETE FROM counts WHERE (run, verdict) IN (SELECT run, verdict FROM counts WHERE run = ? LIMIT ?)`,
		`DELETE FROM collected WHERE run IN (SELECT run FROM collected WHERE run = ? LIMIT ?)`,
	} {
		for n := int64(slice); n == slice; {
			res, err := db.write.ExecContext(ctx, statement, run, slice)
			if err != nil {
				return err
			}
			if n, err = res.RowsAffected(); err != nil {
				return err
			}
		}
	}
	return nil
}

// collectBlobs deletes the blobs that no run needs. It looks for them without
// holding up writers, and looks again before it deletes.
func (db *DB) collectBlobs(ctx context.Context, before time.Time, c *store.Collected) error {
	type old struct{ row, bytes int64 }
	scan := func(row scanner) (o old, err error) {
		err = row.Scan(&o.row, &o.bytes)
		return o, err
	}
	for last := int64(0); ; {
		olds, err := readAll(ctx, db.read, scan, `SELECT b.rowid, length(b.zstd) FROM blobs b
			WHERE `+oldBlob+` AND b.rowid > ?2 ORDER BY b.rowid LIMIT ?3`, micros(before), last, slice)
		if err != nil || len(olds) == 0 {
			return err
		}
		last = olds[len(olds)-1].row
		err = db.change(ctx, func(tx *sql.Tx) error {
			for _, o := range olds {
				res, err := tx.ExecContext(ctx, `DELETE FROM blobs AS b WHERE `+oldBlob+` AND b.rowid = ?2`, micros(before), o.row)
				if err != nil {
					return err
				}
				n, err := res.RowsAffected()
				if err != nil {
					return err
				}
				c.Blobs += int(n)
				c.Bytes += n * o.bytes
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
}

// shrink hands the free pages back to the file system, step by step.
func (db *DB) shrink(ctx context.Context) error {
	for before := math.MaxInt; ; {
		var free int
		if err := db.write.QueryRowContext(ctx, `PRAGMA freelist_count`).Scan(&free); err != nil {
			return err
		}
		if free == 0 || free >= before { // others may need and free pages meanwhile
			return nil
		}
		before = free
		// A transaction of its own.
		if _, err := db.write.ExecContext(ctx, fmt.Sprintf(`PRAGMA incremental_vacuum(%d)`, slice)); err != nil {
			return err
		}
	}
}
