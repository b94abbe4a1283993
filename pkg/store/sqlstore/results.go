package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// page is how many results EachResult reads at a time. Between pages it holds
// no snapshot, which would keep the write-ahead log from being folded in.
const page = 100

// Commit stores records, in one transaction.
//
// A record whose uid is known already is ignored, and so is one of a run that
// does not exist. Any other is stored as an attempt and what it took is counted.
// It bears on its trial only if its N is the current attempt and no result stands;
// otherwise it is superseded. A done record then stands; a failed or lost one
// stands if it uses up the run's Attempts or MaxLost, or else is reported, once
// for an attempt; a returned one is reported and counts against neither. Blobs are
// kept for results that stand.
//
// A record that no worker can have meant (a blob with other content, a verdict
// that does not exist) counts as a failed attempt, because refusing it would
// stop the stream that it came from for ever. One with a cost below zero does not
// say what its attempt took, which is charged like a loss.
func (db *DB) Commit(ctx context.Context, rs []eval.Record) ([]store.Stored, error) {
	if len(rs) == 0 {
		return nil, nil
	}
	// Checked and encoded before the transaction begins, to keep it short.
	recs := make([]vetted, len(rs))
	for i, r := range rs {
		recs[i] = vet(r)
	}
	out := make([]store.Stored, len(rs))
	err := db.change(ctx, func(tx *transaction) error {
		now := db.now()
		c := committer{tx: tx, books: newBooks(tx, now), now: now, limits: map[string]*limits{}}
		for i, r := range recs {
			stored, err := c.commit(ctx, r)
			if err != nil {
				return fmt.Errorf("attempt %s at trial %s:%d: %w", r.UID, r.Run, r.Ordinal, err)
			}
			out[i] = stored
		}
		return c.books.write(ctx)
	})
	if err != nil {
		return nil, fmt.Errorf("commit %d records: %w", len(rs), err)
	}
	return out, nil
}

// vetted is a record that can be stored.
type vetted struct {
	eval.Record
	body string // the result as JSON
	// word says that the record tells what its attempt took.
	word bool
}

func vet(r eval.Record) vetted {
	body, err := encode(r.Result)
	known := slices.Contains([]eval.AttemptOutcome{eval.AttemptDone, eval.AttemptFailed, eval.AttemptLost, eval.AttemptReturned}, r.Outcome)
	unfinished := r.Outcome == eval.AttemptReturned && r.Result.Verdict == eval.Unfinished
	word := r.Outcome != eval.AttemptLost && r.CostMicroUSD >= 0 && r.Tokens >= 0
	switch {
	case err != nil: // a number that JSON does not have
	case !known:
		err = fmt.Errorf("unknown outcome %q", r.Outcome)
	case !slices.Contains(eval.Verdicts(), r.Result.Verdict):
		err = fmt.Errorf("unknown verdict %q", r.Result.Verdict)
	case r.Outcome != eval.AttemptDone && r.Result.Verdict != eval.Error && !unfinished:
		err = fmt.Errorf("verdict %q of an attempt that is %s", r.Result.Verdict, r.Outcome)
	case r.CostMicroUSD < 0 || r.Tokens < 0:
		err = fmt.Errorf("negative cost %d, tokens %d", r.CostMicroUSD, r.Tokens)
	default:
		err = check(r.Blobs)
	}
	if err == nil {
		return vetted{Record: r, body: body, word: word}
	}
	if r.Outcome != eval.AttemptLost {
		r.Outcome = eval.AttemptFailed
	}
	r.Result = eval.Result{Verdict: eval.Error, Reason: eval.ReasonFarm, Message: "the record of the attempt is damaged: " + err.Error()}
	r.CostMicroUSD, r.Tokens = max(0, r.CostMicroUSD), max(0, r.Tokens)
	r.Blobs = nil
	body, _ = encode(r.Result)
	return vetted{Record: r, body: body, word: word}
}

// encode is JSON without HTML escapes, so that the raw values in a result stay
// what they were.
func encode(r eval.Result) (string, error) {
	var buf strings.Builder
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(r)
	return buf.String(), err
}

// A committer stores the records of one transaction.
type committer struct {
	tx     *transaction
	books  *books
	now    time.Time
	limits map[string]*limits // by run; nil for a run that does not exist
}

// limits of a run, and what it is to its gradings.
type limits struct {
	id                string
	attempts, maxLost int
	scored            int64  // its row in gradings; 0 until one is needed
	current           string // its current grading
	parent            string // the run that it scores, if it is a grading
	imported          bool   // it was carried out elsewhere
	shown             bool   // it is that run's current grading
	before            string // that run's current grading, if it is another one
}

// commit stores one record and says what became of it.
func (c *committer) commit(ctx context.Context, r vetted) (store.Stored, error) {
	stored := store.Stored{
		Run: r.Run, Ordinal: r.Ordinal, N: r.N, UID: r.UID, Worker: r.Worker, Outcome: r.Outcome, Result: r.Result,
		CostMicroUSD: r.CostMicroUSD, Started: r.Started, Ended: r.Ended, TraceID: r.TraceID,
	}
	lim, err := c.limitsOf(ctx, r.Run)
	if lim == nil || err != nil {
		return stored, err
	}
	if stored.Parent, stored.Shown = lim.parent, lim.shown; lim.parent != "" {
		if stored.Result, stored.Was, err = c.fold(ctx, &r.Record, lim); err != nil {
			return stored, err
		}
		if r.body, err = encode(r.Result); err != nil {
			return stored, err
		}
	}
	err = c.attempt(ctx, r, lim, &stored)
	return stored, err
}

// attempt stores a record as an attempt with the verdict of its trial, and notes
// whether its result now stands.
func (c *committer) attempt(ctx context.Context, r vetted, lim *limits, stored *store.Stored) error {
	before, err := c.before(ctx, r.Record)
	if err != nil || before.known {
		return err
	}
	stored.New = true
	err = c.tx.later(ctx, `
		INSERT INTO attempts (uid, run, ordinal, n, worker, outcome, verdict, reason, message, cost, tokens, trace_id, sent, started, ended)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.UID, r.Run, r.Ordinal, r.N, r.Worker, r.Outcome, stored.Result.Verdict, r.Result.Reason, Bytes(r.Result.Message),
		r.CostMicroUSD, r.Tokens, r.TraceID, before.sentOf(r.N), micros(r.Started), micros(r.Ended))
	if err != nil {
		return err
	}
	stored.Sent = moment(before.sentOf(r.N))
	if lim.imported {
		c.books.spendElsewhere(r.Record)
	} else if err := c.books.spend(ctx, r.Record, r.word, before.charge); err != nil {
		return err
	}
	if err := c.decide(ctx, r, before.trial, lim, stored); err != nil {
		return err
	}
	if !stored.Final {
		e := c.books.of(r.Run)
		e.uncounted = e.uncounted.Add(took(r.Record))
	}
	return nil
}

// A past is what the store has of a record's attempt and trial before it takes it.
type past struct {
	// known says that the record has been stored already.
	known bool
	// trial is empty if the store does not have it: it was put back to an older state.
	trial store.Trial
	// sent is when the trial's current attempt was dispatched, in microseconds.
	sent int64
	// charge of the attempt.
	charge charge
}

// sentOf is when an attempt was dispatched, if that is known; else 0.
func (p past) sentOf(n int) int64 {
	if n != p.trial.Attempt {
		return 0
	}
	return p.sent
}

// before reads all that a record needs, in one query.
func (c *committer) before(ctx context.Context, r eval.Record) (p past, err error) {
	t := &p.trial
	t.Run, t.Ordinal = r.Run, r.Ordinal
	err = c.tx.queryRow(ctx, `
		SELECT EXISTS (SELECT 1 FROM attempts WHERE uid = ?1),
			coalesce(t.attempt, 0), coalesce(t.state, ''), coalesce(t.hold, 0), coalesce(t.hold_tokens, 0),
			coalesce(t.failures, 0), coalesce(t.losses, 0), coalesce(t.reported, FALSE), coalesce(t.sent, 0),
			coalesce(c.microusd, 0), coalesce(c.tokens, 0), coalesce(c.day, '')
		FROM (SELECT 1 AS n) AS one
		LEFT JOIN trials t ON t.run = ?2 AND t.ordinal = ?3
		LEFT JOIN charges c ON c.run = ?2 AND c.ordinal = ?3 AND c.n = ?4`, r.UID, r.Run, r.Ordinal, r.N).
		Scan(&p.known, &t.Attempt, &t.State, &t.Hold.MicroUSD, &t.Hold.Tokens, &t.Failures, &t.Losses, &t.Reported, &p.sent,
			&p.charge.MicroUSD, &p.charge.Tokens, &p.charge.day)
	return p, err
}

// decide lets a new record bear on its trial, if it is one of the current attempt:
// nothing is held for that any more, and its result may stand.
func (c *committer) decide(ctx context.Context, r vetted, t store.Trial, lim *limits, stored *store.Stored) error {
	if t.State == "" || t.State == store.Done || t.Attempt != r.N {
		stored.Superseded = true
		return nil
	}
	switch {
	case t.Hold == eval.Amount{}:
	case r.word:
		e := c.books.of(r.Run)
		e.held = less(e.held, t.Hold)
	default:
		if err := c.books.charge(ctx, t, r.UID); err != nil {
			return err
		}
	}
	switch {
	case r.Outcome == eval.AttemptDone:
		stored.Final = true
	case t.Reported: // one attempt fails once, whoever says so
	case r.Outcome == eval.AttemptFailed:
		t.Failures++
		stored.Final = t.Failures >= lim.attempts
	case r.Outcome == eval.AttemptLost:
		t.Losses++
		stored.Final = t.Losses >= lim.maxLost
	}
	if !stored.Final {
		return c.tx.later(ctx, `UPDATE trials SET failures = ?, losses = ?, reported = TRUE, hold = 0, hold_tokens = 0 WHERE run = ? AND ordinal = ?`,
			t.Failures, t.Losses, r.Run, r.Ordinal)
	}
	return c.stand(ctx, r.Record, r.body, lim, stored)
}

// stand makes the record's result the one of its trial.
func (c *committer) stand(ctx context.Context, r eval.Record, body string, lim *limits, stored *store.Stored) error {
	tx, verdict := c.tx, stored.Result.Verdict
	if err := tx.later(ctx, `UPDATE trials SET state = 'done', result = ?, reported = FALSE, hold = 0, hold_tokens = 0 WHERE run = ? AND ordinal = ?`,
		r.UID, r.Run, r.Ordinal); err != nil {
		return err
	}
	if err := tx.later(ctx, `INSERT INTO results (uid, body) VALUES (?, ?)`, r.UID, body); err != nil {
		return err
	}
	if err := tx.later(ctx, `INSERT INTO counts (run, verdict, n) VALUES (?, ?, 1) ON CONFLICT (run, verdict) DO UPDATE SET n = counts.n + 1`,
		r.Run, verdict); err != nil {
		return err
	}
	err := c.grade(ctx, r, lim)
	if err != nil {
		return err
	}
	if stored.Judging, err = c.await(ctx, r, lim); err != nil {
		return err
	}
	if err := putBlobs(ctx, tx, r.Blobs); err != nil {
		return err
	}
	needed := []string{r.Result.Trajectory, r.Result.Frames}
	for _, bl := range r.Blobs {
		needed = append(needed, bl.SHA256)
	}
	if err := needBlobs(ctx, tx, r.Run, needed...); err != nil {
		return err
	}
	of := r.Run
	if lim.parent != "" {
		of = lim.parent
		if err := c.recount(ctx, lim, stored); err != nil {
			return err
		}
	}
	return addEvent(ctx, tx, eval.Event{Run: of, Kind: "result", At: c.now, Ordinal: r.Ordinal, Verdict: verdict})
}

// grade stores the scores that the worker's checks gave.
func (c *committer) grade(ctx context.Context, r eval.Record, lim *limits) error {
	for i, s := range r.Result.Scores {
		if lim.scored == 0 {
			err := c.tx.queryRow(ctx, `
				INSERT INTO gradings (run, name, created) VALUES (?, 'checks', ?)
				ON CONFLICT (run, name) DO UPDATE SET name = excluded.name RETURNING id`, r.Run, micros(c.now)).Scan(&lim.scored)
			if err != nil {
				return err
			}
		}
		err := c.tx.later(ctx, `
			INSERT INTO scores (grading, run, ordinal, n, position, check_name, value, pass, warning, reason)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			lim.scored, r.Run, r.Ordinal, r.N, i, s.Check, s.Value, s.Pass, s.Warning, s.Reason)
		if err != nil {
			return err
		}
	}
	return nil
}

// limitsOf reads the limits of a run once for a transaction.
func (c *committer) limitsOf(ctx context.Context, run string) (*limits, error) {
	if l, ok := c.limits[run]; ok {
		return l, nil
	}
	l := &limits{id: run}
	err := c.tx.queryRow(ctx, `
		SELECT r.attempts, r.max_lost, r.grading, r.parent, r.carrier = 'import', coalesce(p.grading = r.id, FALSE), coalesce(nullif(p.grading, r.id), '')
		FROM runs r LEFT JOIN runs p ON p.id = r.parent WHERE r.id = ?`, run).
		Scan(&l.attempts, &l.maxLost, &l.current, &l.parent, &l.imported, &l.shown, &l.before)
	if errors.Is(err, sql.ErrNoRows) {
		l, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	c.limits[run] = l
	return l, nil
}

// rowQuery reads standing results beside what the run's current grading says.
const rowQuery = `
	SELECT t.ordinal, a.uid, a.n, a.worker, a.cost, a.tokens, coalesce(nullif(a.trace_id, ''), g.trace_id, ''), a.started, a.ended, r.body, j.body
	FROM trials t JOIN attempts a ON a.uid = t.result JOIN results r ON r.uid = t.result
	LEFT JOIN trials s ON s.run = (SELECT grading FROM runs WHERE id = t.run) AND s.ordinal = t.ordinal
	LEFT JOIN results j ON j.uid = s.result LEFT JOIN attempts g ON g.uid = s.result `

func scanRow(row scanner) (store.Row, error) {
	var r store.Row
	var started, ended int64
	var body, judgement []byte
	if err := row.Scan(&r.Ordinal, &r.UID, &r.N, &r.Worker, &r.CostMicroUSD, &r.Tokens, &r.TraceID, &started, &ended, &body, &judgement); err != nil {
		return store.Row{}, err
	}
	r.Started, r.Ended = moment(started), moment(ended)
	if err := json.Unmarshal(body, &r.Result); err != nil {
		return store.Row{}, fmt.Errorf("result of attempt %s: %w", r.UID, err)
	}
	if judgement == nil {
		return r, nil
	}
	var said eval.Result
	if err := json.Unmarshal(judgement, &said); err != nil {
		return store.Row{}, fmt.Errorf("judgement of attempt %s: %w", r.UID, err)
	}
	r.Result = r.Result.Judged(said)
	return r, nil
}

// EachResult calls fn with every standing result of a run, by ordinal, in
// constant memory. It reads in pages: results that come to stand meanwhile may
// or may not be among them, and none comes twice. fn may use the store. An error
// of fn ends it and is returned as it is.
func (db *DB) EachResult(ctx context.Context, run string, fn func(store.Row) error) error {
	if err := db.look(ctx, func(q querier) error { return known(ctx, q, run) }); err != nil {
		return fmt.Errorf("results of run %s: %w", run, err)
	}
	for last := -1; ; {
		rows, err := db.rows(ctx, run, last, page)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if err := fn(r); err != nil {
				return err
			}
		}
		if len(rows) < page {
			return nil
		}
		last = rows[page-1].Ordinal
	}
}

// Results returns the standing results after an ordinal, at most limit, by ordinal.
func (db *DB) Results(ctx context.Context, run string, after, limit int) ([]store.Row, error) {
	if err := db.look(ctx, func(q querier) error { return known(ctx, q, run) }); err != nil {
		return nil, fmt.Errorf("results of run %s: %w", run, err)
	}
	return db.rows(ctx, run, after, limit)
}

func (db *DB) rows(ctx context.Context, run string, after, limit int) ([]store.Row, error) {
	var rows []store.Row
	err := db.look(ctx, func(q querier) (err error) {
		rows, err = readAll(ctx, q, scanRow, rowQuery+`WHERE t.run = ? AND t.ordinal > ? ORDER BY t.ordinal LIMIT ?`, run, after, limit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("results of run %s: %w", run, err)
	}
	return rows, nil
}

// Result returns the standing result of one trial, or ErrNotFound.
func (db *DB) Result(ctx context.Context, run string, ordinal int) (store.Row, error) {
	var r store.Row
	err := db.look(ctx, func(q querier) (err error) {
		r, err = scanRow(q.queryRow(ctx, rowQuery+`WHERE t.run = ? AND t.ordinal = ?`, run, ordinal))
		return err
	})
	if err != nil {
		return store.Row{}, fmt.Errorf("result of trial %s:%d: %w", run, ordinal, missing(err))
	}
	return r, nil
}

// Counts counts standing results by verdict.
func (db *DB) Counts(ctx context.Context, run string) (eval.VerdictCounts, error) {
	var counts eval.VerdictCounts
	type tally struct {
		verdict eval.Verdict
		n       int
	}
	var ts []tally
	err := db.look(ctx, func(q querier) (err error) {
		ts, err = readAll(ctx, q, func(row scanner) (t tally, err error) {
			err = row.Scan(&t.verdict, &t.n)
			return t, err
		}, `SELECT verdict, n FROM counts WHERE run = ?`, run)
		if err == nil && len(ts) == 0 {
			err = known(ctx, q, run)
		}
		return err
	})
	if err != nil {
		return counts, fmt.Errorf("count the results of run %s: %w", run, err)
	}
	for _, t := range ts {
		counts.Add(t.verdict, t.n)
	}
	return counts, nil
}

// Attempts returns every attempt at a trial, by number; those with the same
// number in the order in which they started.
func (db *DB) Attempts(ctx context.Context, run string, ordinal int) ([]store.Attempt, error) {
	var as []store.Attempt
	err := db.look(ctx, func(q querier) (err error) {
		as, err = readAll(ctx, q, scanAttempt, `
			SELECT a.uid, a.run, a.ordinal, a.n, a.worker, a.outcome, a.verdict, a.reason, a.message, a.cost, a.tokens, a.trace_id,
				a.sent, a.started, a.ended, coalesce(t.result = a.uid, FALSE)
			FROM attempts a LEFT JOIN trials t ON t.run = a.run AND t.ordinal = a.ordinal
			WHERE a.run = ? AND a.ordinal = ?`, run, ordinal)
		if err == nil && len(as) == 0 {
			err = known(ctx, q, run)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("attempts at trial %s:%d: %w", run, ordinal, err)
	}
	slices.SortFunc(as, func(a, b store.Attempt) int {
		return cmp.Or(cmp.Compare(a.N, b.N), a.Started.Compare(b.Started), cmp.Compare(a.UID, b.UID))
	})
	return as, nil
}

func scanAttempt(row scanner) (store.Attempt, error) {
	var a store.Attempt
	var sent, started, ended int64
	err := row.Scan(&a.UID, &a.Run, &a.Ordinal, &a.N, &a.Worker, &a.Outcome, &a.Verdict, &a.Reason, &a.Message,
		&a.CostMicroUSD, &a.Tokens, &a.TraceID, &sent, &started, &ended, &a.Counts)
	a.Sent, a.Started, a.Ended = moment(sent), moment(started), moment(ended)
	return a, err
}
