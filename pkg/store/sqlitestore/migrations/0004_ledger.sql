-- +goose Up

-- Caps of a run and its gradings, and what was short when it ended. 0 is no cap.
-- budget_time is in nanoseconds.
ALTER TABLE runs ADD COLUMN budget_microusd INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN budget_tokens   INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN budget_time     INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN day_microusd    INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN short           TEXT NOT NULL DEFAULT '';

-- Sums, kept with every change: of attempts beside runs.spent, of those among them
-- whose result does not stand, of trials.hold and of charges.
ALTER TABLE runs ADD COLUMN spent_tokens       INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN uncounted_microusd INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN uncounted_tokens   INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN charged_microusd   INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN charged_tokens     INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN held_microusd      INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN held_tokens        INTEGER NOT NULL DEFAULT 0;

ALTER TABLE trials   ADD COLUMN hold_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempts ADD COLUMN tokens      INTEGER NOT NULL DEFAULT 0;

UPDATE trials SET hold = 0 WHERE hold <> 0 AND state <> 'dispatched';
UPDATE runs SET
    held_microusd = (SELECT coalesce(sum(hold), 0) FROM trials t WHERE t.run = runs.id),
    uncounted_microusd = spent - (
        SELECT coalesce(sum(a.cost), 0) FROM trials t JOIN attempts a ON a.uid = t.result
        WHERE t.run = runs.id AND a.run = runs.id);

-- A day's cap counts what all runs hold; few hold anything.
CREATE INDEX runs_held ON runs (held_microusd) WHERE held_microusd > 0;

-- Attempts that ended unseen, with what they held. One that held nothing is here
-- too: its number is taken.
CREATE TABLE charges (
    run      TEXT NOT NULL,
    ordinal  INTEGER NOT NULL,
    n        INTEGER NOT NULL,
    microusd INTEGER NOT NULL,
    tokens   INTEGER NOT NULL,
    day      TEXT NOT NULL,
    PRIMARY KEY (run, ordinal, n)
) STRICT, WITHOUT ROWID;

-- What was spent and charged on a day, in UTC.
CREATE TABLE days (
    day      TEXT PRIMARY KEY,  -- 2006-01-02
    microusd INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO days (day, microusd)
SELECT strftime('%Y-%m-%d', ended / 1000000, 'unixepoch'), sum(cost) FROM attempts WHERE cost > 0 GROUP BY 1;

-- What runs that are not done are doing right now.
CREATE TABLE live (
    run  TEXT PRIMARY KEY,
    body TEXT NOT NULL  -- JSON of eval.Live
) STRICT, WITHOUT ROWID;
