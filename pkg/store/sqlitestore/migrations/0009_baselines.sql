-- +goose Up

-- A baseline may be that of one branch; an empty branch is any. Its note is for
-- people.
CREATE TABLE named (
    suite  TEXT NOT NULL,
    name   TEXT NOT NULL,
    branch TEXT NOT NULL,
    run    TEXT NOT NULL,
    made   INTEGER NOT NULL,
    note   TEXT NOT NULL,
    PRIMARY KEY (suite, name, branch)
) STRICT, WITHOUT ROWID;

INSERT INTO named (suite, name, branch, run, made, note) SELECT suite, name, '', run, made, '' FROM baselines;
DROP TABLE baselines;
ALTER TABLE named RENAME TO baselines;

CREATE INDEX baselines_run ON baselines (run);

-- The branch of git that the suite was on, whether the run is of a part of the suite
-- (1) or of all of it (0), and the run that its gate compares with. They are in its
-- snapshot too; here they are looked for.
ALTER TABLE runs ADD COLUMN branch  TEXT    NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN partial INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN base    TEXT    NOT NULL DEFAULT '';

CREATE INDEX runs_branch ON runs (suite, branch, created);
CREATE INDEX runs_base ON runs (base) WHERE base <> '';
