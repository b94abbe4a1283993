-- +goose Up

-- A grading is kept like a run: it has a parent, and a trial for each of the
-- parent's trials that it scores. grading is the id of a run's current one.
ALTER TABLE runs ADD COLUMN grading TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN parent  TEXT NOT NULL DEFAULT '';

CREATE INDEX runs_parent ON runs (parent) WHERE parent <> '';

-- The sha256 of the trajectory that a judge is to score: on a trial whose result
-- waits for one, and on its trial in a grading.
ALTER TABLE trials ADD COLUMN subject TEXT NOT NULL DEFAULT '';
