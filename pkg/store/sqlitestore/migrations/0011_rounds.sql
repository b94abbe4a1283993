-- +goose Up

-- The look after which a run of sequential repeats stopped; 0 is none.
ALTER TABLE runs ADD COLUMN rounds INTEGER NOT NULL DEFAULT 0;

-- The run whose suspects a run tries again, and what a run leaves of its caps to the
-- one that tries its own.
ALTER TABLE runs ADD COLUMN confirms         TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN reserve_microusd INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN reserve_tokens   INTEGER NOT NULL DEFAULT 0;
