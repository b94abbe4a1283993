-- +goose Up

-- Flaky cases that are out of the gate until they expire. An empty variant means all.
CREATE TABLE quarantines (
    suite   TEXT COLLATE "C" NOT NULL,
    case_id TEXT COLLATE "C" NOT NULL,
    variant TEXT COLLATE "C" NOT NULL,
    reason  TEXT COLLATE "C" NOT NULL,
    made_by TEXT COLLATE "C" NOT NULL,
    made    BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    PRIMARY KEY (suite, case_id, variant)
);
