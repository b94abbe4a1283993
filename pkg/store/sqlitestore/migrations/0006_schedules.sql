-- +goose Up

-- The schedule that started a run, and the cap of all its runs; 0 is no cap.
ALTER TABLE runs ADD COLUMN schedule          TEXT    NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN schedule_microusd INTEGER NOT NULL DEFAULT 0;

CREATE INDEX runs_schedule ON runs (schedule) WHERE schedule <> '';

CREATE TABLE schedules (
    name     TEXT PRIMARY KEY,
    cron     TEXT NOT NULL,
    timezone TEXT NOT NULL,
    body     TEXT NOT NULL,    -- JSON of eval.Schedule
    paused   INTEGER NOT NULL, -- by hand
    due      INTEGER NOT NULL  -- the next firing; whoever moves it has the firing
) STRICT, WITHOUT ROWID;

CREATE TABLE firings (
    schedule TEXT NOT NULL,
    due      INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    outcome  TEXT NOT NULL,
    run      TEXT NOT NULL,
    message  TEXT NOT NULL,
    PRIMARY KEY (schedule, due)
) STRICT, WITHOUT ROWID;

-- What the runs of a schedule had taken that are collected.
CREATE TABLE schedule_money (
    schedule TEXT PRIMARY KEY,
    microusd INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
