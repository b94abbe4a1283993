-- +goose Up

-- Who carries a run out: the process that made it, or a service; and on whose
-- account it is.
ALTER TABLE runs ADD COLUMN carrier TEXT COLLATE "C" NOT NULL DEFAULT 'process';
ALTER TABLE runs ADD COLUMN tenant  TEXT COLLATE "C" NOT NULL DEFAULT '';

CREATE INDEX runs_service ON runs (created, id) WHERE carrier = 'service' AND state <> 'done' AND parent = '';

-- Who does what one process of a farm does for all.
CREATE TABLE leases (
    name   TEXT COLLATE "C" PRIMARY KEY,
    holder TEXT COLLATE "C" NOT NULL,
    until  BIGINT NOT NULL
);
