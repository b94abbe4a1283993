-- +goose Up

-- The key under which a run was asked for, which a tenant uses once, and the
-- sha256 of what was asked for.
ALTER TABLE runs ADD COLUMN idempotency_key TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN asked           TEXT COLLATE "C" NOT NULL DEFAULT '';

CREATE UNIQUE INDEX runs_key ON runs (tenant, idempotency_key) WHERE idempotency_key <> '';
