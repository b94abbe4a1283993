-- +goose Up

-- The look after which a run of sequential repeats stopped; 0 is none.
ALTER TABLE runs ADD COLUMN rounds INTEGER NOT NULL DEFAULT 0;
