-- +goose Up

-- Times are integer microseconds UTC since 1970, 0 for none. Money is integer
-- micro-dollars. Blobs are named by the sha256 of their plain content in hex.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE runs (
    id         TEXT PRIMARY KEY,
    suite      TEXT NOT NULL,
    suite_hash TEXT NOT NULL,
    suite_path TEXT NOT NULL,
    state      TEXT NOT NULL,
    control    TEXT NOT NULL,
    header     TEXT NOT NULL,
    trials     INTEGER NOT NULL,
    cursor     INTEGER NOT NULL,
    attempts   INTEGER NOT NULL,
    max_lost   INTEGER NOT NULL,
    priority   INTEGER NOT NULL,
    outcome    TEXT NOT NULL,
    verdict    TEXT NOT NULL,
    exit_code  INTEGER NOT NULL,
    summary    TEXT NOT NULL,
    created    INTEGER NOT NULL,
    finished   INTEGER NOT NULL,
    spent      INTEGER NOT NULL DEFAULT 0  -- the sum over attempts.cost, kept with every insert
) STRICT, WITHOUT ROWID;

-- What the run's plan resolves to, for questions across runs.
CREATE TABLE cells (
    run     TEXT NOT NULL,
    cell    INTEGER NOT NULL,  -- index in the plan
    case_id TEXT NOT NULL,
    kind    TEXT NOT NULL,
    variant TEXT NOT NULL,
    repeats INTEGER NOT NULL,
    PRIMARY KEY (run, cell)
) STRICT, WITHOUT ROWID;

-- Standing results by verdict, kept with every change, because progress is
-- asked for all the time.
CREATE TABLE counts (
    run     TEXT NOT NULL,
    verdict TEXT NOT NULL,
    n       INTEGER NOT NULL,
    PRIMARY KEY (run, verdict)
) STRICT, WITHOUT ROWID;

-- Trials that were dispatched at least once.
CREATE TABLE trials (
    run        TEXT NOT NULL,
    ordinal    INTEGER NOT NULL,
    attempt    INTEGER NOT NULL,  -- the current one, from 1
    state      TEXT NOT NULL,
    not_before INTEGER NOT NULL DEFAULT 0,
    hold       INTEGER NOT NULL DEFAULT 0,
    failures   INTEGER NOT NULL DEFAULT 0,
    losses     INTEGER NOT NULL DEFAULT 0,
    reported   INTEGER NOT NULL DEFAULT 0,  -- the current attempt is among failures or losses
    result     TEXT,                        -- uid of the attempt whose result stands
    PRIMARY KEY (run, ordinal),
    CHECK ((state = 'done') = (result IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX trials_outstanding ON trials (run, ordinal) WHERE state <> 'done';

CREATE TABLE attempts (
    uid      TEXT PRIMARY KEY,
    run      TEXT NOT NULL,
    ordinal  INTEGER NOT NULL,
    n        INTEGER NOT NULL,
    worker   TEXT NOT NULL,
    outcome  TEXT NOT NULL,
    verdict  TEXT NOT NULL,
    reason   TEXT NOT NULL,
    message  TEXT NOT NULL,
    cost     INTEGER NOT NULL,
    trace_id TEXT NOT NULL,
    started  INTEGER NOT NULL,
    ended    INTEGER NOT NULL
) STRICT;

CREATE INDEX attempts_trial ON attempts (run, ordinal, n);

-- Results of attempts that were final. One stays here for good, also when a
-- retry lets another one stand.
CREATE TABLE results (
    uid  TEXT PRIMARY KEY REFERENCES attempts (uid),
    body TEXT NOT NULL  -- JSON of eval.Result
) STRICT;

-- A grading is one pass of scoring over a run. "checks" is the one that the
-- workers make; judging again adds another.
CREATE TABLE gradings (
    id      INTEGER PRIMARY KEY,
    run     TEXT NOT NULL,
    name    TEXT NOT NULL,
    created INTEGER NOT NULL,
    UNIQUE (run, name)
) STRICT;

CREATE TABLE scores (
    grading    INTEGER NOT NULL REFERENCES gradings (id),
    run        TEXT NOT NULL,
    ordinal    INTEGER NOT NULL,
    n          INTEGER NOT NULL,  -- the attempt that was scored
    position   INTEGER NOT NULL,  -- in the result's list of scores
    check_name TEXT NOT NULL,
    value      REAL NOT NULL,
    pass       INTEGER NOT NULL,
    warning    INTEGER NOT NULL,
    reason     TEXT NOT NULL,
    PRIMARY KEY (run, ordinal, n, grading, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE blobs (
    sha256 TEXT PRIMARY KEY,
    zstd   BLOB NOT NULL,
    put    INTEGER NOT NULL  -- last time that somebody brought it, to the hour
) STRICT;

-- Which runs need a blob.
CREATE TABLE run_blobs (
    run    TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    PRIMARY KEY (run, sha256)
) STRICT, WITHOUT ROWID;

CREATE INDEX run_blobs_sha256 ON run_blobs (sha256);

CREATE TABLE events (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    run     TEXT NOT NULL,
    kind    TEXT NOT NULL,
    at      INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    state   TEXT NOT NULL
) STRICT;

CREATE INDEX events_run ON events (run, seq);

-- Runs that Collect has taken out of the list and is still emptying.
CREATE TABLE collected (
    run TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
