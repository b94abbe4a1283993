-- +goose Up

-- The schedule that started a run, and the cap of all its runs; 0 is no cap.
ALTER TABLE runs ADD COLUMN schedule          TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN schedule_microusd BIGINT NOT NULL DEFAULT 0;

CREATE INDEX runs_schedule ON runs (schedule) WHERE schedule <> '';

CREATE TABLE schedules (
    name     TEXT COLLATE "C" PRIMARY KEY,
    cron     TEXT COLLATE "C" NOT NULL,
    timezone TEXT COLLATE "C" NOT NULL,
    body     TEXT COLLATE "C" NOT NULL, -- JSON of eval.Schedule
    paused   BIGINT NOT NULL,           -- by hand
    due      BIGINT NOT NULL            -- the next firing; whoever moves it has the firing
);

CREATE TABLE firings (
    schedule TEXT COLLATE "C" NOT NULL,
    due      BIGINT NOT NULL,
    at       BIGINT NOT NULL,
    outcome  TEXT COLLATE "C" NOT NULL,
    run      TEXT COLLATE "C" NOT NULL,
    message  TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (schedule, due)
);

-- What the runs of a schedule had taken that are collected.
CREATE TABLE schedule_money (
    schedule TEXT COLLATE "C" PRIMARY KEY,
    microusd BIGINT NOT NULL
);
