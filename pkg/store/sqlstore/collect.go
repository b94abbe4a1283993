package sqlstore

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
// stored. The sums of days go when they are old, and so
// do firings.
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
	// A grading goes with its run, and what confirms a run, with its gradings, goes with
	// that. A run stays while it is being judged, while it is a
	// baseline, or what a run that is not done compares with, and while it is the last
	// green one, of its suite or of a branch that is not abandoned: 90 days are
	// 7776000000000 microseconds.
	oldRun = `EXISTS (SELECT 1 FROM runs o WHERE o.id = (SELECT coalesce(nullif(p.confirms, ''), p.id) FROM runs p WHERE p.id = coalesce(nullif(r.parent, ''), r.id)) AND o.state = 'done' AND o.finished < ?1
		AND NOT EXISTS (SELECT 1 FROM runs g WHERE g.parent = o.id AND g.state <> 'done' AND g.created >= ?1)
		AND NOT EXISTS (SELECT 1 FROM baselines b WHERE b.run = o.id)
		AND NOT EXISTS (SELECT 1 FROM runs u WHERE u.base = o.id AND u.state <> 'done')
		AND NOT (o.state = 'done' AND o.outcome = 'complete' AND o.verdict = 'pass' AND o.partial = 0
			AND NOT EXISTS (SELECT 1 FROM runs n WHERE n.suite = o.suite AND n.parent = '' AND n.confirms = ''
				AND n.state = 'done' AND n.outcome = 'complete' AND n.verdict = 'pass' AND n.partial = 0
				AND (n.created > o.created OR n.created = o.created AND n.id > o.id)
				AND (n.branch = o.branch
					OR NOT EXISTS (SELECT 1 FROM runs a WHERE a.suite = o.suite AND a.branch = o.branch AND a.created > ?1 - 7776000000000)))))`
	// A run that Collect has taken out of the list needs nothing any more.
	oldBlob = `b.put < ?1 AND NOT EXISTS (SELECT 1 FROM run_blobs n JOIN runs r ON r.id = n.run
		WHERE n.sha256 = b.sha256 AND NOT ` + oldRun + `)`
)

func (db *DB) collectable(ctx context.Context, before time.Time) (c store.Collected, err error) {
	err = db.look(ctx, func(q querier) error {
		err := q.queryRow(ctx, `SELECT count(*) FROM runs r WHERE r.parent = '' AND r.confirms = '' AND `+oldRun, micros(before)).Scan(&c.Runs)
		if err != nil {
			return err
		}
		return q.queryRow(ctx, `SELECT count(*), CAST(coalesce(sum(length(b.zstd)), 0) AS BIGINT) FROM blobs b WHERE `+oldBlob, micros(before)).
			Scan(&c.Blobs, &c.Bytes)
	})
	return c, err
}

func (db *DB) collect(ctx context.Context, before time.Time) (c store.Collected, err error) {
	err = db.change(ctx, func(tx *transaction) error {
		err := tx.queryRow(ctx, `SELECT count(*) FROM runs r WHERE r.parent = '' AND r.confirms = '' AND `+oldRun, micros(before)).Scan(&c.Runs)
		if err != nil {
			return err
		}
		if _, err = tx.ExecContext(ctx, `INSERT INTO collected (run) SELECT id FROM runs r WHERE `+oldRun, micros(before)); err != nil {
			return err
		}
		if err := keepTaken(ctx, tx); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM runs WHERE id IN (SELECT run FROM collected)`)
		return err
	})
	if err != nil {
		return c, err
	}
	var runs []string
	err = db.look(ctx, func(q querier) (err error) {
		runs, err = readAll(ctx, q, func(row scanner) (run string, err error) {
			err = row.Scan(&run)
			return run, err
		}, `SELECT run FROM collected`)
		return err
	})
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
	if _, err := db.exec(ctx, `DELETE FROM days WHERE day < ?`, date(db.now().Add(-daysKept))); err != nil {
		return c, err
	}
	if _, err := db.exec(ctx, `DELETE FROM firings WHERE at < ? AND outcome <> 'queued'`, micros(before)); err != nil {
		return c, err
	}
	if db.Dialect.Shrink == nil {
		return c, nil
	}
	return c, db.Dialect.Shrink(ctx)
}

// empty deletes all that belongs to a run that is out of the list.
func (db *DB) empty(ctx context.Context, run string) error {
	for bound := 0; bound < math.MaxInt; {
		err := db.change(ctx, func(tx *transaction) error {
			err := tx.queryRow(ctx, `SELECT ordinal FROM attempts WHERE run = ? ORDER BY ordinal LIMIT 1 OFFSET ?`, run, slice).Scan(&bound)
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
			var err error
			if n, err = db.exec(ctx, statement, run, slice); err != nil {
				return err
			}
		}
	}
	return nil
}

// collectBlobs deletes the blobs that no run needs. It looks for them without
// holding up writers, and looks again before it deletes.
func (db *DB) collectBlobs(ctx context.Context, before time.Time, c *store.Collected) error {
	type old struct {
		sha256 string
		bytes  int64
	}
	scan := func(row scanner) (o old, err error) {
		err = row.Scan(&o.sha256, &o.bytes)
		return o, err
	}
	for last := ""; ; {
		var olds []old
		err := db.look(ctx, func(q querier) (err error) {
			olds, err = readAll(ctx, q, scan, `SELECT b.sha256, length(b.zstd) FROM blobs b
				WHERE `+oldBlob+` AND b.sha256 > ?2 ORDER BY b.sha256 LIMIT ?3`, micros(before), last, slice)
			return err
		})
		if err != nil || len(olds) == 0 {
			return err
		}
		last = olds[len(olds)-1].sha256
		var gone store.Collected
		err = db.change(ctx, func(tx *transaction) error {
			gone = store.Collected{}
			for _, o := range olds {
				res, err := tx.ExecContext(ctx, `DELETE FROM blobs AS b WHERE `+oldBlob+` AND b.sha256 = ?2`, micros(before), o.sha256)
				if err != nil {
					return err
				}
				n, err := res.RowsAffected()
				if err != nil {
					return err
				}
				gone.Blobs += int(n)
				gone.Bytes += n * o.bytes
			}
			return nil
		})
		if err != nil {
			return err
		}
		c.Blobs += gone.Blobs
		c.Bytes += gone.Bytes
	}
}
