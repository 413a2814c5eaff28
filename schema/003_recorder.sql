-- Step 003: what the recorder itself took when the recording was over. A table and not a column of
-- run: stores of older formats are read as if they had it, without rows.

PRAGMA user_version = 1002;

CREATE TABLE recorder_after (     -- one row per run whose recorder lived to write its report
    run_id INTEGER PRIMARY KEY REFERENCES run ON DELETE CASCADE,
    cpu_ns INTEGER NOT NULL       -- CPU time behind run.recorder_cpu_ns, ns: names, the report
) STRICT;
