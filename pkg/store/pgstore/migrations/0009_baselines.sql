-- +goose Up

-- A baseline may be that of one branch; an empty branch is any. Its note is for
-- people.
ALTER TABLE baselines ADD COLUMN branch TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE baselines ADD COLUMN note   TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE baselines DROP CONSTRAINT baselines_pkey;
ALTER TABLE baselines ADD PRIMARY KEY (suite, name, branch);

-- The branch of git that the suite was on, whether the run is of a part of the suite
-- (1) or of all of it (0), and the run that its gate compares with. They are in its
-- snapshot too; here they are looked for.
ALTER TABLE runs ADD COLUMN branch  TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN partial BIGINT           NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN base    TEXT COLLATE "C" NOT NULL DEFAULT '';

CREATE INDEX runs_branch ON runs (suite, branch, created);
CREATE INDEX runs_base ON runs (base) WHERE base <> '';
