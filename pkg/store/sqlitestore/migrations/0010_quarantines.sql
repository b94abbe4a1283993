-- +goose Up

-- Flaky cases that are out of the gate until they expire. An empty variant means all.
CREATE TABLE quarantines (
    suite   TEXT NOT NULL,
    case_id TEXT NOT NULL,
    variant TEXT NOT NULL,
    reason  TEXT NOT NULL,
    made_by TEXT NOT NULL,
    made    INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    PRIMARY KEY (suite, case_id, variant)
) STRICT, WITHOUT ROWID;
