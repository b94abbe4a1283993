-- +goose Up

-- The outbox: what targets are told of runs that are done. Times are in
-- microseconds since 1970, 0 is none.
CREATE TABLE notices (
    run     TEXT COLLATE "C" NOT NULL,
    target  TEXT COLLATE "C" NOT NULL,
    state   TEXT COLLATE "C" NOT NULL,
    tries   BIGINT NOT NULL,
    due     BIGINT NOT NULL,
    message TEXT COLLATE "C" NOT NULL,
    created BIGINT NOT NULL,
    ended   BIGINT NOT NULL,
    PRIMARY KEY (run, target)
);

CREATE INDEX notices_due ON notices (due) WHERE state = 'waiting';

-- Names of the targets that are told of a run's end, with spaces between.
ALTER TABLE runs ADD COLUMN notify TEXT COLLATE "C" NOT NULL DEFAULT '';
