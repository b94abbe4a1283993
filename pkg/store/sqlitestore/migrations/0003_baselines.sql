-- +goose Up

-- Names for runs to compare with, by suite.
CREATE TABLE baselines (
    suite TEXT NOT NULL,
    name  TEXT NOT NULL,
    run   TEXT NOT NULL,
    made  INTEGER NOT NULL,
    PRIMARY KEY (suite, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX baselines_run ON baselines (run);
