-- +goose Up

-- The tables that SQLite has after its migration of the same number; those that
-- follow have the same numbers in both. Only types differ: a flag is a BOOLEAN, what
-- a server said is BYTEA, since TEXT cannot hold every byte, and names are compared
-- byte by byte, whatever the database's language.

-- Times are integer microseconds UTC since 1970, 0 for none. Money is integer
-- micro-dollars. Blobs are named by the sha256 of their plain content in hex.

CREATE TABLE meta (
    key   TEXT COLLATE "C" PRIMARY KEY,
    value TEXT COLLATE "C" NOT NULL
);

-- A grading is kept like a run: it has a parent, and a trial for each of the
-- parent's trials that it scores. grading is the id of a run's current one.
CREATE TABLE runs (
    id         TEXT COLLATE "C" PRIMARY KEY,
    suite      TEXT COLLATE "C" NOT NULL,
    suite_hash TEXT COLLATE "C" NOT NULL,
    suite_path TEXT COLLATE "C" NOT NULL,
    state      TEXT COLLATE "C" NOT NULL,
    control    TEXT COLLATE "C" NOT NULL,
    header     TEXT COLLATE "C" NOT NULL,
    trials     BIGINT NOT NULL,
    cursor     BIGINT NOT NULL,
    attempts   BIGINT NOT NULL,
    max_lost   BIGINT NOT NULL,
    priority   BIGINT NOT NULL,
    outcome    TEXT COLLATE "C" NOT NULL,
    verdict    TEXT COLLATE "C" NOT NULL,
    exit_code  BIGINT NOT NULL,
    summary    TEXT COLLATE "C" NOT NULL,
    created    BIGINT NOT NULL,
    finished   BIGINT NOT NULL,
    grading    TEXT COLLATE "C" NOT NULL DEFAULT '',
    parent     TEXT COLLATE "C" NOT NULL DEFAULT '',
    -- Caps of a run and its gradings, and what was short when it ended. 0 is no cap.
    -- budget_time is in nanoseconds.
    budget_microusd BIGINT NOT NULL DEFAULT 0,
    budget_tokens   BIGINT NOT NULL DEFAULT 0,
    budget_time     BIGINT NOT NULL DEFAULT 0,
    day_microusd    BIGINT NOT NULL DEFAULT 0,
    short           TEXT COLLATE "C" NOT NULL DEFAULT '',
    -- Sums, kept with every change: of attempts, of those among them whose result does
    -- not stand, of charges and of trials.hold.
    spent              BIGINT NOT NULL DEFAULT 0,
    spent_tokens       BIGINT NOT NULL DEFAULT 0,
    uncounted_microusd BIGINT NOT NULL DEFAULT 0,
    uncounted_tokens   BIGINT NOT NULL DEFAULT 0,
    charged_microusd   BIGINT NOT NULL DEFAULT 0,
    charged_tokens     BIGINT NOT NULL DEFAULT 0,
    held_microusd      BIGINT NOT NULL DEFAULT 0,
    held_tokens        BIGINT NOT NULL DEFAULT 0
);

CREATE INDEX runs_parent ON runs (parent) WHERE parent <> '';

-- A day's cap counts what all runs hold; few hold anything.
CREATE INDEX runs_held ON runs (held_microusd) WHERE held_microusd > 0;

-- What the run's plan resolves to, for questions across runs.
CREATE TABLE cells (
    run     TEXT COLLATE "C" NOT NULL,
    cell    BIGINT NOT NULL,  -- index in the plan
    case_id TEXT COLLATE "C" NOT NULL,
    kind    TEXT COLLATE "C" NOT NULL,
    variant TEXT COLLATE "C" NOT NULL,
    repeats BIGINT NOT NULL,
    PRIMARY KEY (run, cell)
);

-- Standing results by verdict, kept with every change, because progress is
-- asked for all the time.
CREATE TABLE counts (
    run     TEXT COLLATE "C" NOT NULL,
    verdict TEXT COLLATE "C" NOT NULL,
    n       BIGINT NOT NULL,
    PRIMARY KEY (run, verdict)
);

-- Trials that were dispatched at least once, or wait for a judge.
CREATE TABLE trials (
    run         TEXT COLLATE "C" NOT NULL,
    ordinal     BIGINT NOT NULL,
    attempt     BIGINT NOT NULL,  -- the current one, from 1
    state       TEXT COLLATE "C" NOT NULL,
    not_before  BIGINT NOT NULL DEFAULT 0,
    hold        BIGINT NOT NULL DEFAULT 0,
    hold_tokens BIGINT NOT NULL DEFAULT 0,
    failures    BIGINT NOT NULL DEFAULT 0,
    losses      BIGINT NOT NULL DEFAULT 0,
    reported    BOOLEAN NOT NULL DEFAULT FALSE,  -- the current attempt has a record
    result      TEXT COLLATE "C",                -- uid of the attempt whose result stands
    -- The sha256 of the trajectory that a judge is to score: on a trial whose result
    -- waits for one, and on its trial in a grading.
    subject     TEXT COLLATE "C" NOT NULL DEFAULT '',
    PRIMARY KEY (run, ordinal),
    CHECK ((state = 'done') = (result IS NOT NULL))
);

-- A trial that is done leaves its entry here until the table is vacuumed, and this
-- index is asked all the time: by itself a large table would wait for a fifth of it.
CREATE INDEX trials_outstanding ON trials (run, ordinal) WHERE state <> 'done';
ALTER TABLE trials SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

CREATE TABLE attempts (
    uid      TEXT COLLATE "C" PRIMARY KEY,
    run      TEXT COLLATE "C" NOT NULL,
    ordinal  BIGINT NOT NULL,
    n        BIGINT NOT NULL,
    worker   TEXT COLLATE "C" NOT NULL,
    outcome  TEXT COLLATE "C" NOT NULL,
    verdict  TEXT COLLATE "C" NOT NULL,
    reason   TEXT COLLATE "C" NOT NULL,
    message  BYTEA NOT NULL,
    cost     BIGINT NOT NULL,
    tokens   BIGINT NOT NULL DEFAULT 0,
    trace_id TEXT COLLATE "C" NOT NULL,
    started  BIGINT NOT NULL,
    ended    BIGINT NOT NULL
);

CREATE INDEX attempts_trial ON attempts (run, ordinal, n);

-- Results of attempts that were final. One stays here for good, also when a
-- retry lets another one stand.
CREATE TABLE results (
    uid  TEXT COLLATE "C" PRIMARY KEY REFERENCES attempts (uid),
    body TEXT NOT NULL  -- JSON of eval.Result; not of the type JSON, which refuses \u0000
);

-- A grading is one pass of scoring over a run. "checks" is the one that the
-- workers make.
CREATE TABLE gradings (
    id      BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    run     TEXT COLLATE "C" NOT NULL,
    name    TEXT COLLATE "C" NOT NULL,
    created BIGINT NOT NULL,
    UNIQUE (run, name)
);

-- grading is the id of one, without a foreign key, for which every deletion of a
-- grading would have to look through all scores.
CREATE TABLE scores (
    grading    BIGINT NOT NULL,
    run        TEXT COLLATE "C" NOT NULL,
    ordinal    BIGINT NOT NULL,
    n          BIGINT NOT NULL,  -- the attempt that was scored
    position   BIGINT NOT NULL,  -- in the result's list of scores
    check_name TEXT COLLATE "C" NOT NULL,
    value      DOUBLE PRECISION NOT NULL,
    pass       BOOLEAN NOT NULL,
    warning    BOOLEAN NOT NULL,
    reason     TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (run, ordinal, n, grading, position)
);

CREATE TABLE blobs (
    sha256 TEXT COLLATE "C" PRIMARY KEY,
    zstd   BYTEA NOT NULL,
    put    BIGINT NOT NULL  -- last time that somebody brought it, to the hour
);

-- They come compressed: PostgreSQL need not try.
ALTER TABLE blobs ALTER COLUMN zstd SET STORAGE EXTERNAL;

-- Which runs need a blob.
CREATE TABLE run_blobs (
    run    TEXT COLLATE "C" NOT NULL,
    sha256 TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (run, sha256)
);

CREATE INDEX run_blobs_sha256 ON run_blobs (sha256);

CREATE TABLE events (
    seq     BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run     TEXT COLLATE "C" NOT NULL,
    kind    TEXT COLLATE "C" NOT NULL,
    at      BIGINT NOT NULL,
    ordinal BIGINT NOT NULL,
    verdict TEXT COLLATE "C" NOT NULL,
    state   TEXT COLLATE "C" NOT NULL
);

CREATE INDEX events_run ON events (run, seq);

-- Runs that Collect has taken out of the list and is still emptying.
CREATE TABLE collected (
    run TEXT COLLATE "C" PRIMARY KEY
);

-- Names for runs to compare with, by suite.
CREATE TABLE baselines (
    suite TEXT COLLATE "C" NOT NULL,
    name  TEXT COLLATE "C" NOT NULL,
    run   TEXT COLLATE "C" NOT NULL,
    made  BIGINT NOT NULL,
    PRIMARY KEY (suite, name)
);

CREATE INDEX baselines_run ON baselines (run);

-- Attempts that ended unseen, with what they held. One that held nothing is here
-- too: its number is taken.
CREATE TABLE charges (
    run      TEXT COLLATE "C" NOT NULL,
    ordinal  BIGINT NOT NULL,
    n        BIGINT NOT NULL,
    microusd BIGINT NOT NULL,
    tokens   BIGINT NOT NULL,
    day      TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (run, ordinal, n)
);

-- What was spent and charged on a day, in UTC.
CREATE TABLE days (
    day      TEXT COLLATE "C" PRIMARY KEY,  -- 2006-01-02
    microusd BIGINT NOT NULL
);

-- What runs that are not done are doing right now.
CREATE TABLE live (
    run  TEXT COLLATE "C" PRIMARY KEY,
    body TEXT NOT NULL  -- JSON of eval.Live
);
