-- How sure a detection of phases is, when its phases were, and which periods are like none around
-- them. The table is made anew and not altered, so that its columns keep their comments.

PRAGMA user_version = 1001; -- format 1.1

CREATE TABLE phase_1_1 (          -- one row per detected phase
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    detection INTEGER NOT NULL,   -- number of the detection, from 0
    phase INTEGER NOT NULL,       -- number of the phase in it, from 0, in order of time
    first_period INTEGER NOT NULL,
    last_period INTEGER NOT NULL, -- inclusive
    label TEXT NOT NULL,          -- A, B, ...: the same for a phase that comes back
    method TEXT NOT NULL,         -- of the detection
    parameters TEXT NOT NULL,     -- of the detection: JSON object
    start_ns INTEGER,             -- start of its first period, ns since the run's start
    end_ns INTEGER,               -- end of its last period, ns since the run's start
    earliest INTEGER,             -- it begins at one of the periods earliest ... latest;
    latest INTEGER,               -- both are first_period where that is certain
    confidence REAL,              -- that there is a boundary at first_period, 0 ... 1
    label_confidence REAL,        -- that it has this label and no other, 0 ... 1
    PRIMARY KEY (run_id, detection, phase)
) STRICT, WITHOUT ROWID;

INSERT INTO phase_1_1 (run_id, detection, phase, first_period, last_period, label, method, parameters)
SELECT run_id, detection, phase, first_period, last_period, label, method, parameters FROM phase;
DROP TABLE phase;
ALTER TABLE phase_1_1 RENAME TO phase;

CREATE TABLE outlier (          -- one row per period that is like none around it
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    detection INTEGER NOT NULL, -- phase.detection
    period INTEGER NOT NULL,    -- number of the period; it belongs to the phase that it lies in
    PRIMARY KEY (run_id, detection, period)
) STRICT, WITHOUT ROWID;
