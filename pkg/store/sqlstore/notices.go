package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/evalfarm/evalfarm/pkg/store"
)

const noticeColumns = `run, target, state, tries, due, message, created, ended`

func scanNotice(row scanner) (store.Notice, error) {
	var n store.Notice
	var due, created, ended int64
	err := row.Scan(&n.Run, &n.Target, &n.State, &n.Tries, &due, &n.Message, &created, &ended)
	n.Due, n.Created, n.Ended = moment(due), moment(created), moment(ended)
	return n, err
}

// addNotices makes notices of a run wait, but for those that are there already.
func addNotices(ctx context.Context, tx *transaction, run string, notices []store.Notice) error {
	for _, n := range notices {
		_, err := tx.ExecContext(ctx, `
			INSERT INTO notices (`+noticeColumns+`) VALUES (?, ?, ?, 0, ?, '', ?, 0)
			ON CONFLICT (run, target) DO NOTHING`,
			run, n.Target, store.NoticeWaiting, micros(n.Due), micros(n.Created))
		if err != nil {
			return err
		}
	}
	return nil
}

// PutNotice makes a notice wait anew, in the place of the one that its run and
// target may have.
func (db *DB) PutNotice(ctx context.Context, n store.Notice) error {
	err := db.change(ctx, func(tx *transaction) error {
		if err := known(ctx, tx, n.Run); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM notices WHERE run = ? AND target = ?`, n.Run, n.Target); err != nil {
			return err
		}
		return addNotices(ctx, tx, n.Run, []store.Notice{n})
	})
	if err != nil {
		return fmt.Errorf("put the notice of run %s for %s into the outbox: %w", n.Run, n.Target, err)
	}
	return nil
}

// ClaimNotices counts a try of waiting notices and returns them.
func (db *DB) ClaimNotices(ctx context.Context, run string, targets []string, now, until time.Time, limit int) ([]store.Notice, error) {
	if len(targets) == 0 || limit <= 0 {
		return nil, nil
	}
	due := `state = ? AND due <= ? AND (? = '' OR run = ?) AND target IN (?` + strings.Repeat(", ?", len(targets)-1) + `)
		AND EXISTS (SELECT 1 FROM runs r WHERE r.id = notices.run AND r.state = 'done')`
	which := []any{store.NoticeWaiting, micros(now), run, run}
	for _, t := range targets {
		which = append(which, t)
	}
	// Said twice, so that one whom another claimant was faster than finds nothing,
	// in databases in which both could look at once.
	args := slices.Concat([]any{micros(until)}, which, which, []any{limit})
	var ns []store.Notice
	err := db.change(ctx, func(tx *transaction) (err error) {
		ns, err = readAll(ctx, tx, scanNotice, `
			UPDATE notices SET tries = tries + 1, due = ?
			WHERE `+due+` AND (run, target) IN (SELECT run, target FROM notices WHERE `+due+` ORDER BY due LIMIT ?)
			RETURNING `+noticeColumns, args...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("claim notices: %w", err)
	}
	slices.SortFunc(ns, func(a, b store.Notice) int {
		return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Target, b.Target))
	})
	return ns, nil
}

// SettleNotice stores what came of a try, unless somebody has claimed the notice
// again meanwhile.
func (db *DB) SettleNotice(ctx context.Context, n store.Notice) error {
	_, err := db.exec(ctx, `
		UPDATE notices SET state = ?, due = ?, message = ?, ended = ?
		WHERE run = ? AND target = ? AND state = ? AND tries = ?`,
		n.State, micros(n.Due), n.Message, micros(n.Ended), n.Run, n.Target, store.NoticeWaiting, n.Tries)
	if err != nil {
		return fmt.Errorf("store what came of the notice of run %s for %s: %w", n.Run, n.Target, err)
	}
	return nil
}

// Notices returns those of a run by target, or those of all runs, the newest
// first.
func (db *DB) Notices(ctx context.Context, run string, n int) ([]store.Notice, error) {
	query := `SELECT ` + noticeColumns + ` FROM notices WHERE run = ? ORDER BY target LIMIT ?`
	args := []any{run, limit(n)}
	if run == "" {
		query = `SELECT ` + noticeColumns + ` FROM notices ORDER BY created DESC, run DESC, target LIMIT ?`
		args = args[1:]
	}
	var ns []store.Notice
	err := db.look(ctx, func(q querier) (err error) {
		ns, err = readAll(ctx, q, scanNotice, query, args...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list notices: %w", err)
	}
	return ns, nil
}
