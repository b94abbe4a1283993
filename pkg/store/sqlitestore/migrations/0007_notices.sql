-- +goose Up

-- The outbox: what targets are told of runs that are done. Times are in
-- microseconds since 1970, 0 is none.
CREATE TABLE notices (
    run     TEXT NOT NULL,
    target  TEXT NOT NULL,
    state   TEXT NOT NULL,
    tries   INTEGER NOT NULL,
    due     INTEGER NOT NULL,
    message TEXT NOT NULL,
    created INTEGER NOT NULL,
    ended   INTEGER NOT NULL,
    PRIMARY KEY (run, target)
) STRICT, WITHOUT ROWID;

CREATE INDEX notices_due ON notices (due) WHERE state = 'waiting';

-- Names of the targets that are told of a run's end, with spaces between.
ALTER TABLE runs ADD COLUMN notify TEXT NOT NULL DEFAULT '';
