package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// CreateGrading stores a further grading of a run, with a trial for each of the
// run's trials that nobody has decided, or that only a judge could: waiting, or
// done already with what the run's current grading says. With all, every trial
// that came to something waits.
func (db *DB) CreateGrading(ctx context.Context, g eval.Run, blobs []eval.Blob, all bool) (int, error) {
	err := check(blobs)
	var waiting int
	if err == nil {
		err = db.change(ctx, func(tx *transaction) error {
			parent, err := scanRun(tx.queryRow(ctx, `SELECT `+runColumns+` FROM runs WHERE id = ? AND parent = ''`, g.Parent))
			if err != nil {
				return fmt.Errorf("run %s: %w", g.Parent, missing(err))
			}
			if err := createRun(ctx, tx, g, blobs); err != nil {
				return err
			}
			waiting, err = fillGrading(ctx, tx, g, parent, all)
			return err
		})
	}
	if err != nil {
		return 0, fmt.Errorf("create grading %s: %w", g.ID, err)
	}
	return waiting, nil
}

// fillGrading adds the trials of a grading, and counts those that wait. Doing it
// again adds nothing.
func fillGrading(ctx context.Context, tx *transaction, g, parent eval.Run, all bool) (int, error) {
	var err error
	if all {
		err = fillAnew(ctx, tx, g.ID, parent.ID)
	} else {
		for _, statement := range []struct{ query, of string }{
			{`INSERT INTO trials (run, ordinal, attempt, state, subject, result)
				SELECT CAST(? AS TEXT), j.ordinal, j.attempt, 'done', j.subject, j.result
				FROM trials j JOIN attempts a ON a.uid = j.result
				WHERE j.run = ? AND a.verdict IN ('pass', 'fail')
				ON CONFLICT DO NOTHING`, parent.Grading},
			{`INSERT INTO trials (run, ordinal, attempt, state, subject)
				SELECT CAST(? AS TEXT), t.ordinal, 1, 'waiting', t.subject FROM trials t WHERE t.run = ? AND t.state = 'done' AND t.subject <> ''
				ON CONFLICT DO NOTHING`, parent.ID},
		} {
			if _, err = tx.ExecContext(ctx, statement.query, g.ID, statement.of); err != nil {
				break
			}
		}
	}
	if err != nil {
		return 0, err
	}
	var n int
	err = tx.queryRow(ctx, `SELECT count(*) FROM `+openTrials+` WHERE run = ? AND state <> 'done'`, g.ID).Scan(&n)
	return n, err
}

// fillAnew lets every trial of a run that came to something wait in a grading. The
// trajectory is taken from the result here, since the databases do not agree on what
// of JSON they can read.
func fillAnew(ctx context.Context, tx *transaction, grading, run string) error {
	for last := -1; ; {
		rows, err := readAll(ctx, tx, scanRow, rowQuery+`
			WHERE t.run = ? AND t.ordinal > ? AND a.verdict IN ('pass', 'fail', 'unjudged') ORDER BY t.ordinal LIMIT ?`, run, last, page)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if r.Result.Trajectory == "" {
				continue
			}
			err := tx.later(ctx, `INSERT INTO trials (run, ordinal, attempt, state, subject) VALUES (?, ?, 1, 'waiting', ?) ON CONFLICT DO NOTHING`,
				grading, r.Ordinal, r.Result.Trajectory)
			if err != nil {
				return err
			}
		}
		if len(rows) < page {
			return nil
		}
		last = rows[page-1].Ordinal
	}
}

// Gradings returns the gradings of a run, oldest first.
func (db *DB) Gradings(ctx context.Context, run string) ([]eval.Run, error) {
	var gs []eval.Run
	err := db.look(ctx, func(q querier) (err error) {
		gs, err = readAll(ctx, q, scanRun, `SELECT `+runColumns+` FROM runs WHERE parent = ? AND parent <> '' ORDER BY created, id`, run)
		if err == nil && len(gs) == 0 {
			err = known(ctx, q, run)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("gradings of run %s: %w", run, err)
	}
	return gs, nil
}

// await notes what of a standing result is for others to decide. If that is a
// judge, its trial in the run's grading waits from now on, with a number that no
// queue has seen, which is returned.
func (c *committer) await(ctx context.Context, r eval.Record, lim *limits) (attempt int, err error) {
	if lim.parent != "" || r.Result.Trajectory == "" || !r.Result.Open() {
		return 0, nil
	}
	err = c.tx.later(ctx, `UPDATE trials SET subject = ? WHERE run = ? AND ordinal = ?`, r.Result.Trajectory, r.Run, r.Ordinal)
	if err != nil || lim.current == "" || !r.Result.AwaitsJudge() {
		return 0, err
	}
	err = c.tx.queryRow(ctx, `
		INSERT INTO trials (run, ordinal, attempt, state, subject)
		SELECT CAST(?1 AS TEXT), CAST(?2 AS BIGINT), 1 + coalesce(max(n), 0), 'waiting', CAST(?3 AS TEXT) FROM (
			SELECT n FROM attempts WHERE run = ?1 AND ordinal = ?2
			UNION ALL SELECT n FROM charges WHERE run = ?1 AND ordinal = ?2) AS numbers
		RETURNING attempt`,
		lim.current, r.Ordinal, r.Result.Trajectory).Scan(&attempt)
	return attempt, err
}

// fold is the result of the trial that a grading's record scores, as the record
// leaves it, and the verdict that the trial had before. What the run's current grading says of checks on which the record is
// silent goes into the record: a judge takes nothing back that a person said.
func (c *committer) fold(ctx context.Context, r *eval.Record, lim *limits) (eval.Result, eval.Verdict, error) {
	of, there, err := c.standing(ctx, lim.parent, r.Ordinal)
	if err != nil || !there { // its trial is being run again
		return r.Result, "", err
	}
	was := of.Verdict
	before, there, err := c.standing(ctx, lim.before, r.Ordinal)
	if err != nil {
		return eval.Result{}, "", err
	}
	if there {
		was = of.Judged(before).Verdict
		r.Result.Scores = of.CarryOver(before.Scores, r.Result.Scores)
	}
	return of.Judged(r.Result), was, nil
}

// standing reads the result that stands for a trial, if one does.
func (c *committer) standing(ctx context.Context, run string, ordinal int) (r eval.Result, there bool, err error) {
	var body []byte
	err = c.tx.queryRow(ctx, `SELECT r.body FROM trials t JOIN results r ON r.uid = t.result WHERE t.run = ? AND t.ordinal = ?`,
		run, ordinal).Scan(&body)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return r, false, nil
	case err != nil:
		return r, false, err
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return r, false, fmt.Errorf("result of trial %s:%d: %w", run, ordinal, err)
	}
	return r, true, nil
}

// recount moves a trial of the parent from the verdict of its own checks, which
// may have been enough to decide, to the one that its current grading came to.
func (c *committer) recount(ctx context.Context, lim *limits, stored *store.Stored) error {
	if !lim.shown || stored.Was == "" { // another one is shown, or the trial is being run again
		return nil
	}
	err := c.tx.later(ctx, `UPDATE counts SET n = n - 1 WHERE run = ? AND verdict = ?`, lim.parent, stored.Was)
	if err != nil {
		return err
	}
	return c.tx.later(ctx, `INSERT INTO counts (run, verdict, n) VALUES (?, ?, 1) ON CONFLICT (run, verdict) DO UPDATE SET n = counts.n + 1`,
		lim.parent, stored.Result.Verdict)
}

// verdicts selects the ordinal and the verdict of each standing result of run
// ?1, with what its current grading says. The attempt at a grading's trial has the
// folded verdict.
const verdicts = `
	SELECT t.ordinal, coalesce(j.verdict, a.verdict) AS verdict
	FROM trials t JOIN attempts a ON a.uid = t.result
	LEFT JOIN trials s ON s.run = (SELECT grading FROM runs WHERE id = ?1) AND s.ordinal = t.ordinal
	LEFT JOIN attempts j ON j.uid = s.result
	WHERE t.run = ?1`

// supersede makes a complete grading its run's current one, and counts the run's
// verdicts anew. Trials that ran again since the grading began are none of its
// own: of those counts what the one before says.
func supersede(ctx context.Context, tx *transaction, g, parent string) error {
	var before string
	err := tx.queryRow(ctx, `SELECT grading FROM runs WHERE id = ?`, parent).Scan(&before)
	if err != nil || before == g {
		return err
	}
	for _, statement := range []string{
		`INSERT INTO trials (run, ordinal, attempt, state, subject, result)
			SELECT CAST(?2 AS TEXT), ordinal, attempt, state, subject, result FROM trials WHERE run = (SELECT grading FROM runs WHERE id = ?1) AND state = 'done'
			ON CONFLICT DO NOTHING`,
		`UPDATE runs SET grading = ?2 WHERE id = ?1`,
	} {
		if _, err := tx.ExecContext(ctx, statement, parent, g); err != nil {
			return err
		}
	}
	for _, statement := range []string{
		`DELETE FROM counts WHERE run = ?1`,
		`INSERT INTO counts (run, verdict, n) SELECT CAST(?1 AS TEXT), verdict, count(*) FROM (` + verdicts + `) AS v GROUP BY verdict`,
	} {
		if _, err := tx.ExecContext(ctx, statement, parent); err != nil {
			return err
		}
	}
	return nil
}
