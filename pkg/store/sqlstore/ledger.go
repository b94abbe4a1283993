package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// Ledger returns what a run and its gradings have taken. That of a grading is its
// run's.
func (db *DB) Ledger(ctx context.Context, run string) (eval.Ledger, error) {
	var l eval.Ledger
	err := db.look(ctx, func(q querier) (err error) {
		l, err = ledger(ctx, q, run)
		return err
	})
	if err != nil {
		return eval.Ledger{}, fmt.Errorf("ledger of run %s: %w", run, err)
	}
	return l, nil
}

// ledger adds up the sums that the rows of a run and its gradings keep.
func ledger(ctx context.Context, q querier, run string) (eval.Ledger, error) {
	const (
		sums = `parent <> '', spent, spent_tokens, uncounted_microusd, uncounted_tokens,
			charged_microusd, charged_tokens, held_microusd, held_tokens`
		head = `(SELECT coalesce(nullif(parent, ''), id) FROM runs WHERE id = ?1)`
	)
	type row struct {
		grading bool
		entry
	}
	rows, err := readAll(ctx, q, func(s scanner) (r row, err error) {
		err = s.Scan(&r.grading, &r.spent.MicroUSD, &r.spent.Tokens, &r.uncounted.MicroUSD, &r.uncounted.Tokens,
			&r.charged.MicroUSD, &r.charged.Tokens, &r.held.MicroUSD, &r.held.Tokens)
		return r, err
	}, `SELECT `+sums+` FROM runs WHERE id = `+head+` UNION ALL SELECT `+sums+` FROM runs WHERE parent = `+head+` AND parent <> ''`, run)
	if err != nil {
		return eval.Ledger{}, err
	}
	if len(rows) == 0 {
		return eval.Ledger{}, store.ErrNotFound
	}
	var l eval.Ledger
	for _, r := range rows {
		l.Spent, l.Uncounted = l.Spent.Add(r.spent), l.Uncounted.Add(r.uncounted)
		l.Charged, l.Held = l.Charged.Add(r.charged), l.Held.Add(r.held)
		if r.grading {
			l.Judges = l.Judges.Add(r.spent)
		}
	}
	return l, nil
}

// Day returns what all runs have taken of the money of the current UTC day.
func (db *DB) Day(ctx context.Context) (eval.Day, error) {
	var d eval.Day
	err := db.look(ctx, func(q querier) (err error) {
		d, err = day(ctx, q, db.now())
		return err
	})
	if err != nil {
		return d, fmt.Errorf("what the day has taken: %w", err)
	}
	return d, nil
}

func day(ctx context.Context, q querier, now time.Time) (d eval.Day, err error) {
	err = q.queryRow(ctx, `
		SELECT CAST((SELECT coalesce(sum(microusd), 0) FROM days WHERE day = ?) AS BIGINT),
			CAST((SELECT coalesce(sum(held_microusd), 0) FROM runs WHERE held_microusd > 0) AS BIGINT)`, date(now)).Scan(&d.SpentMicroUSD, &d.HeldMicroUSD)
	return d, err
}

// SetBudget gives a run other caps. What it has taken already stays taken.
func (db *DB) SetBudget(ctx context.Context, run string, b eval.Budget) error {
	err := bearable(b)
	if err == nil {
		err = db.touch(ctx, `UPDATE runs SET budget_microusd = ?, budget_tokens = ?, budget_time = ? WHERE id = ? AND parent = ''`,
			b.MicroUSD, b.Tokens, b.Time, run)
	}
	if err != nil {
		return fmt.Errorf("set the budget of run %s: %w", run, err)
	}
	return nil
}

// SetDayCap gives a run another bound of what all runs of a day spend; 0 is none.
func (db *DB) SetDayCap(ctx context.Context, run string, microUSD int64) error {
	err := bearableDay(microUSD)
	if err == nil {
		err = db.touch(ctx, `UPDATE runs SET day_microusd = ? WHERE id = ? AND parent = ''`, microUSD, run)
	}
	if err != nil {
		return fmt.Errorf("set the day's cap of run %s: %w", run, err)
	}
	return nil
}

// bearableDay refuses a cap below nothing, as bearable does.
func bearableDay(microUSD int64) error {
	if microUSD < 0 {
		return errors.New("a day's cap cannot be negative")
	}
	return nil
}

// bearable refuses a budget below nothing, which would be taken for no bound.
func bearable(b eval.Budget) error {
	if b.MicroUSD < 0 || b.Tokens < 0 || b.Time < 0 {
		return errors.New("a budget cannot be negative")
	}
	return nil
}

// A bound is one cap with what counts against it.
type bound struct {
	name eval.Shortage
	max  int64
	gone int64 // spent and charged
	held int64
	of   func(eval.Amount) int64
}

func microUSD(a eval.Amount) int64 { return a.MicroUSD }
func tokens(a eval.Amount) int64   { return a.Tokens }

// bounds are the caps that a dispatch has to keep, and what counts against them
// until it ends.
type bounds []bound

// boundsOf reads the caps from the row of a run without a parent. It reads the
// ledgers only for caps that are set.
func boundsOf(ctx context.Context, tx *transaction, head string, now time.Time) (bounds, error) {
	var budget eval.Budget
	var reserve eval.Amount
	var most, ofSchedule int64
	var schedule string
	err := tx.queryRow(ctx, `SELECT budget_microusd, budget_tokens, reserve_microusd, reserve_tokens, day_microusd, schedule, schedule_microusd FROM runs WHERE id = ?`, head).
		Scan(&budget.MicroUSD, &budget.Tokens, &reserve.MicroUSD, &reserve.Tokens, &most, &schedule, &ofSchedule)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", head, missing(err))
	}
	var bs bounds
	if budget.Capped() {
		l, err := ledger(ctx, tx, head)
		if err != nil {
			return nil, err
		}
		gone := l.Spent.Add(l.Charged)
		if budget.MicroUSD > 0 {
			bs = append(bs, bound{eval.ShortOfMoney, budget.MicroUSD - reserve.MicroUSD, gone.MicroUSD, l.Held.MicroUSD, microUSD})
		}
		if budget.Tokens > 0 {
			bs = append(bs, bound{eval.ShortOfTokens, budget.Tokens - reserve.Tokens, gone.Tokens, l.Held.Tokens, tokens})
		}
	}
	if most > 0 {
		d, err := day(ctx, tx, now)
		if err != nil {
			return nil, err
		}
		bs = append(bs, bound{eval.ShortOfDayMoney, most, d.SpentMicroUSD, d.HeldMicroUSD, microUSD})
	}
	if ofSchedule > 0 {
		b := bound{name: eval.ShortOfScheduleMoney, max: ofSchedule, of: microUSD}
		if b.gone, b.held, err = takenBy(ctx, tx, schedule); err != nil {
			return nil, err
		}
		bs = append(bs, b)
	}
	return bs, nil
}

// short is the bound that a hold does not fit, and whether it is final. Of several
// it is one that is final, if there is such.
func (bs bounds) short(hold eval.Amount) (name eval.Shortage, final bool) {
	for _, b := range bs {
		need := b.of(hold)
		if need == 0 || need <= b.max-b.gone-b.held {
			continue
		}
		if need > b.max-b.gone {
			return b.name, true
		}
		if name == "" {
			name = b.name
		}
	}
	return name, false
}

func (bs bounds) take(hold eval.Amount) {
	for i := range bs {
		bs[i].held += bs[i].of(hold)
	}
}

// date names a day.
func date(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// An entry is what is added to the ledger of one run, or is in it.
type entry struct{ spent, uncounted, charged, held eval.Amount }

// books gather what one transaction adds to the ledgers, so that it writes each
// once.
type books struct {
	tx    *transaction
	today string
	runs  map[string]*entry
	days  map[string]int64
}

func newBooks(tx *transaction, now time.Time) *books {
	return &books{tx: tx, today: date(now), runs: map[string]*entry{}, days: map[string]int64{}}
}

func (bk *books) of(run string) *entry {
	e := bk.runs[run]
	if e == nil {
		e = &entry{}
		bk.runs[run] = e
	}
	return e
}

// A charge is what an attempt that ended unseen held, and the day on which that was
// counted; empty for none.
type charge struct {
	eval.Amount
	day string
}

// spend adds what an attempt took. If its record is the word of a worker, it
// replaces what the attempt was charged: on the day of the charge, so that the day
// of the record has no part of it but what goes beyond.
func (bk *books) spend(ctx context.Context, r eval.Record, word bool, was charge) error {
	e := bk.of(r.Run)
	e.spent = e.spent.Add(took(r))
	rest := r.CostMicroUSD
	if word && was.day != "" {
		err := bk.tx.later(ctx, `DELETE FROM charges WHERE run = ? AND ordinal = ? AND n = ?`, r.Run, r.Ordinal, r.N)
		if err != nil {
			return err
		}
		covered := min(rest, was.MicroUSD)
		e.charged = less(e.charged, was.Amount)
		bk.days[was.day] += covered - was.MicroUSD
		rest -= covered
	}
	bk.days[bk.today] += rest
	return nil
}

// charge turns what a trial holds into a charge, because its attempt ended unseen;
// but not if a worker said what it took, in another record than the one named.
func (bk *books) charge(ctx context.Context, t store.Trial, but string) error {
	e := bk.of(t.Run)
	e.held = less(e.held, t.Hold)
	var said bool
	err := bk.tx.queryRow(ctx, `
		SELECT EXISTS (SELECT 1 FROM attempts WHERE run = ? AND ordinal = ? AND n = ? AND outcome <> ? AND uid <> ?)`,
		t.Run, t.Ordinal, t.Attempt, eval.AttemptLost, but).Scan(&said)
	if err != nil || said {
		return err
	}
	var day string
	err = bk.tx.queryRow(ctx, `
		INSERT INTO charges (run, ordinal, n, microusd, tokens, day) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (run, ordinal, n) DO UPDATE SET microusd = charges.microusd + excluded.microusd, tokens = charges.tokens + excluded.tokens
		RETURNING day`, t.Run, t.Ordinal, t.Attempt, t.Hold.MicroUSD, t.Hold.Tokens, bk.today).Scan(&day)
	e.charged = e.charged.Add(t.Hold)
	bk.days[day] += t.Hold.MicroUSD
	return err
}

// write stores what was gathered.
func (bk *books) write(ctx context.Context) error {
	for run, e := range bk.runs {
		if *e == (entry{}) {
			continue
		}
		err := bk.tx.later(ctx, `
			UPDATE runs SET spent = spent + ?, spent_tokens = spent_tokens + ?,
				uncounted_microusd = uncounted_microusd + ?, uncounted_tokens = uncounted_tokens + ?,
				charged_microusd = charged_microusd + ?, charged_tokens = charged_tokens + ?,
				held_microusd = held_microusd + ?, held_tokens = held_tokens + ?
			WHERE id = ?`,
			e.spent.MicroUSD, e.spent.Tokens, e.uncounted.MicroUSD, e.uncounted.Tokens,
			e.charged.MicroUSD, e.charged.Tokens, e.held.MicroUSD, e.held.Tokens, run)
		if err != nil {
			return err
		}
	}
	for day, amount := range bk.days {
		statement := `INSERT INTO days (day, microusd) VALUES (?1, ?2) ON CONFLICT (day) DO UPDATE SET microusd = days.microusd + excluded.microusd`
		switch {
		case amount == 0:
			continue
		case amount < 0: // of a charge; its day may be collected
			statement = `UPDATE days SET microusd = microusd + ?2 WHERE day = ?1`
		}
		if err := bk.tx.later(ctx, statement, day, amount); err != nil {
			return err
		}
	}
	return nil
}

// giveUp charges trials that are out what they hold: nobody waits for them any
// more. which is a condition on trials.
func giveUp(ctx context.Context, tx *transaction, now time.Time, which string, args ...any) error {
	out := ` WHERE state <> 'done' AND state = 'dispatched' AND ` + which
	ts, err := readAll(ctx, tx, scanTrial, `SELECT `+trialColumns+` FROM `+openTrials+out, args...)
	if err != nil || len(ts) == 0 {
		return err
	}
	bk := newBooks(tx, now)
	for _, t := range ts {
		if err := bk.charge(ctx, t, ""); err != nil {
			return err
		}
	}
	free := `UPDATE ` + openTrials + ` SET hold = 0, hold_tokens = 0` + out
	if _, err := tx.ExecContext(ctx, free, args...); err != nil {
		return err
	}
	return bk.write(ctx)
}

// discount notes, before results are taken away, that the attempts which carry
// them will not count. runs is a condition on runs, which on trials.
func discount(ctx context.Context, tx *transaction, runs, which string, args ...any) error {
	query := `
		UPDATE runs SET (uncounted_microusd, uncounted_tokens) = (
			SELECT runs.uncounted_microusd + coalesce(sum(a.cost), 0), runs.uncounted_tokens + coalesce(sum(a.tokens), 0)
			FROM attempts a WHERE a.run = runs.id AND a.uid IN (SELECT result FROM trials WHERE run = runs.id AND ` + which + `))
		WHERE ` + runs
	_, err := tx.ExecContext(ctx, query, args...)
	return err
}

// took is what the attempt of a record took.
func took(r eval.Record) eval.Amount { return eval.Amount{MicroUSD: r.CostMicroUSD, Tokens: r.Tokens} }

// less is a without b.
func less(a, b eval.Amount) eval.Amount {
	return a.Add(eval.Amount{MicroUSD: -b.MicroUSD, Tokens: -b.Tokens})
}
