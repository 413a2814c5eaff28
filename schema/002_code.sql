-- Step 002: the code that was seen in samples. As in step 001, what each column means is said here and
-- in schema/README.md, and times named _ns of a run count from its own start.
--
-- IF NOT EXISTS: for a while this step was part of step 001, and there are such stores.

PRAGMA user_version = 1001;

-- Samples of code. Numbers count from 0 in a run. Names are in location, when it was named.

CREATE TABLE IF NOT EXISTS sampling (           -- one row: how samples were taken, and what came of it
    run_id INTEGER PRIMARY KEY REFERENCES run ON DELETE CASCADE,
    event TEXT NOT NULL,          -- that is sampled: cpu-clock, cycles, ...
    frequency INTEGER NOT NULL,   -- samples a second and CPU; 0: by threshold
    threshold INTEGER NOT NULL,   -- a sample each so many events; 0: by frequency
    stacks TEXT NOT NULL,         -- how stacks were found: fp, dwarf, lbr; none: innermost frames
    samples INTEGER NOT NULL,     -- taken
    complete INTEGER NOT NULL,    -- of them: whose stack reaches to where the thread began
    lost INTEGER NOT NULL,        -- for which there was no room
    throttled INTEGER NOT NULL,   -- times the kernel stopped sampling for a moment
    unmapped INTEGER NOT NULL     -- addresses for which no mapping was known
) STRICT;

CREATE TABLE IF NOT EXISTS module (             -- one row per file, or other memory, that had code
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    module INTEGER NOT NULL,
    kind TEXT NOT NULL,           -- file, kernel, vdso, jit, memory, simulated
    path TEXT NOT NULL,           -- as the workload saw it
    build_id TEXT NOT NULL,       -- in hexadecimal; '' not known
    PRIMARY KEY (run_id, module)
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS frame (              -- one row per instruction that was seen in a stack
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    frame INTEGER NOT NULL,
    module INTEGER NOT NULL,      -- module.module
    address INTEGER NOT NULL,     -- offset in the file of kinds file and vdso, else in memory;
                                  -- unsigned, of 64 bits
    PRIMARY KEY (run_id, frame)
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS location (           -- the names of a frame: several where functions are inlined
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    frame INTEGER NOT NULL,       -- frame.frame
    depth INTEGER NOT NULL,       -- 0: the innermost; the last is the function that has the code
    function TEXT NOT NULL,       -- where how is none: why there is no name
    file TEXT NOT NULL,           -- of the source; '' not known
    line INTEGER NOT NULL,        -- in it; 0 not known
    how TEXT NOT NULL,            -- found by: debug, symbol, map; none
    PRIMARY KEY (run_id, frame, depth)
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS stack (              -- a frame and the stack that called it
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    stack INTEGER NOT NULL,
    parent INTEGER,               -- stack.stack of the caller, a lower number; NULL: none
    frame INTEGER NOT NULL,       -- frame.frame
    PRIMARY KEY (run_id, stack)
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS task (               -- one row per thread that was seen in samples, and name it had
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    task INTEGER NOT NULL,
    pid INTEGER NOT NULL,
    tid INTEGER NOT NULL,
    name TEXT NOT NULL,
    start_ns INTEGER NOT NULL,    -- first seen, ns since the run's start
    end_ns INTEGER,               -- NULL: not before the recording, or not known
    PRIMARY KEY (run_id, task)
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS code_count (         -- how often stacks and tasks were seen in a period: add up rows of the
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, -- same; views stack_count, task_count
    level INTEGER NOT NULL,       -- 0; where the run was thinned, that of the block
    cpu INTEGER NOT NULL,         -- as in table period
    period INTEGER NOT NULL,      -- its number; of a block the first one's
    part INTEGER NOT NULL,        -- tells rows of the same period apart
    stacks TEXT NOT NULL,         -- JSON object: samples -> array of the stack.stack seen so often
    tasks TEXT NOT NULL,          -- the same of task.task
    PRIMARY KEY (run_id, level, cpu, period, part)
) STRICT, WITHOUT ROWID;

-- How often each stack, and each task, was seen in a period, or in a block where it was thinned.
CREATE VIEW IF NOT EXISTS stack_count AS
SELECT c.run_id, c.level, c.cpu, c.period, i.value AS stack, CAST(s.key AS INTEGER) AS samples
FROM code_count AS c, json_each(c.stacks) AS s, json_each(s.value) AS i;

CREATE VIEW IF NOT EXISTS task_count AS
SELECT c.run_id, c.level, c.cpu, c.period, i.value AS task, CAST(s.key AS INTEGER) AS samples
FROM code_count AS c, json_each(c.tasks) AS s, json_each(s.value) AS i;

-- The innermost function of each sample: where the time went. What has no name is named by its
-- module and address.
CREATE VIEW IF NOT EXISTS function_count AS
SELECT c.run_id, c.level, c.cpu, c.period,
       CASE WHEN l.how <> 'none' THEN l.function
            ELSE printf('%s+0x%x', coalesce(m.path, '?'), f.address) END AS function,
       m.path AS module, c.samples
FROM stack_count AS c
LEFT JOIN stack AS s ON s.run_id = c.run_id AND s.stack = c.stack
LEFT JOIN frame AS f ON f.run_id = c.run_id AND f.frame = s.frame
LEFT JOIN module AS m ON m.run_id = c.run_id AND m.module = f.module
LEFT JOIN location AS l ON l.run_id = c.run_id AND l.frame = s.frame AND l.depth = 0;
