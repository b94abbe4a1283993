-- +goose Up

-- Who carries a run out: the process that made it, or a service; and on whose
-- account it is.
ALTER TABLE runs ADD COLUMN carrier TEXT NOT NULL DEFAULT 'process';
ALTER TABLE runs ADD COLUMN tenant  TEXT NOT NULL DEFAULT '';

CREATE INDEX runs_service ON runs (created, id) WHERE carrier = 'service' AND state <> 'done' AND parent = '';

-- Who does what one process of a farm does for all.
CREATE TABLE leases (
    name   TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    until  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
