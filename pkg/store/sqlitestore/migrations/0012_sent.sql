-- +goose Up

-- When the current attempt at a trial was dispatched, and when an attempt was; 0 is
-- unknown.
ALTER TABLE trials ADD COLUMN sent INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempts ADD COLUMN sent INTEGER NOT NULL DEFAULT 0;
