-- The schema of an rpistat store. What each column means is said here, where the sqlite3 shell shows it
-- (.schema period), and in schema/README.md.
--
-- The marks of a store, application_id and user_version, stand in src/store/database.h. A table, view or
-- column that is new makes the minor version higher, and nothing else is to be done:
-- stores that lack it are read as if it were there without rows, or NULL in all of them, and get it
-- when they are opened for writing (src/store/schema.c). So a new column is not NOT NULL.
--
-- Times named _ns are nanoseconds. Times of a run count from the run's own start, which lies at
-- run.start_realtime_ns (UTC). NULL means "not known" or "not counted", never 0.

CREATE TABLE run (                -- one row per recording
    run_id INTEGER PRIMARY KEY AUTOINCREMENT, -- number of the run in this store, never used again
    uuid TEXT NOT NULL UNIQUE,    -- names the run in every store it is copied to
    label TEXT NOT NULL,          -- the user's name for it, or ''
    tags TEXT NOT NULL,           -- JSON object: key -> text
    command TEXT NOT NULL,        -- JSON array: the workload's arguments
    folder TEXT NOT NULL,         -- working folder of the workload
    host TEXT NOT NULL,           -- host name
    boot_id TEXT NOT NULL,        -- Linux's id of the boot
    cpu_model TEXT NOT NULL,      -- processor's name
    cpu_count INTEGER,            -- CPUs online at the start
    kernel TEXT NOT NULL,         -- kernel release
    architecture TEXT NOT NULL,   -- machine name, as from uname -m
    version TEXT NOT NULL,        -- of the recorder
    recorder_pid INTEGER,         -- process id of the recorder
    target TEXT NOT NULL,         -- what was counted: command, process 12, CPU 0-3, cgroup NAME
    pmu TEXT NOT NULL,            -- counter backend: hardware, software, sim
    counter_count INTEGER,        -- usable programmable counters beside the clock event
    fitting TEXT NOT NULL,        -- what was merged, split or left out, and why: lines
    plan TEXT NOT NULL,           -- name of the event sets' document
    plan_title TEXT NOT NULL,     -- its title
    plan_explain TEXT NOT NULL,   -- what a reader needs to know about it
    set_count INTEGER NOT NULL CHECK (set_count > 0), -- event sets; one rotation is one of each
    order_seed INTEGER,           -- that each rotation's order was drawn from; NULL: by set_no
    clock_label TEXT NOT NULL,    -- what the clock event is called: Cycles, Task clock, ...
    clock_unit TEXT NOT NULL,     -- unit of cycle and cycles: cycles, ns, ...
    paranoid INTEGER,             -- kernel.perf_event_paranoid
    nmi_watchdog INTEGER,         -- 1 on: it takes a counter away; 0 off
    governor TEXT NOT NULL,       -- CPU frequency governor
    period_ns INTEGER,            -- nominal measurement period, ns
    start_realtime_ns INTEGER,    -- wall clock at the start, ns since 1970-01-01 UTC
    start_monotonic_ns INTEGER,   -- CLOCK_MONOTONIC at the start, ns
    elapsed_ns INTEGER,           -- end of the last period, ns since the start; NULL: recording
    state TEXT NOT NULL CHECK (state IN ('recording', 'complete', 'interrupted')),
    end_reason TEXT NOT NULL,     -- why it ended, when not by the workload's end
    exit_status INTEGER,          -- of the workload; NULL: not known, or ended by a signal
    exit_signal INTEGER,          -- signal that ended the workload; 0: none
    user_ns INTEGER,              -- CPU time of the command and of its children that were waited for,
    system_ns INTEGER,            -- in their code and in the kernel (ns); NULL: no command that ended
    memory_bytes INTEGER,         -- most that one of them had resident at a time
    recorder_cpu_ns INTEGER,      -- the recorder's own CPU time while recording (ns)
    recorder_after_ns INTEGER     -- and afterwards, for names and the report, ns; NULL: it did not live
                                  -- to write its report
) STRICT;

CREATE TABLE event_set (     -- one row per event set of a run
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    set_no INTEGER NOT NULL, -- from 0, in the order of the rotation; but see run.order_seed
    name TEXT NOT NULL,
    explain TEXT NOT NULL,
    periods INTEGER,         -- periods of this set, of all CPUs; NULL until the run has ended
    enabled_ns INTEGER,      -- sum over those periods, ns; NULL until the run has ended
    running_ns INTEGER,      -- sum over those periods, ns; NULL until the run has ended
    PRIMARY KEY (run_id, set_no)
) STRICT, WITHOUT ROWID;

CREATE TABLE event (         -- one row per event of a set; set -1 holds the clock event
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    set_no INTEGER NOT NULL, -- event_set.set_no, or -1: the clock event, counted beside every set
    slot INTEGER NOT NULL CHECK (slot BETWEEN 0 AND 7), -- its counts are in period.c0 ... c7
    name TEXT NOT NULL,      -- as formulas and CSV files use it
    spec TEXT NOT NULL,      -- what was asked for: L1-dcache-loads, r0b, msr/tsc/
    label TEXT NOT NULL,     -- for people
    role TEXT NOT NULL,      -- the same on every processor: instructions, l1d_miss, ...; or ''
    unit TEXT NOT NULL,      -- events, cycles, ns
    family TEXT NOT NULL,    -- block of the report it belongs to, or ''
    modifiers TEXT NOT NULL, -- u: counted without the kernel; k: only the kernel; or ''
    explain TEXT NOT NULL,
    type INTEGER NOT NULL,   -- perf_event_attr.type
    config INTEGER NOT NULL, -- perf_event_attr.config, its 64 bits as a signed number
    config1 INTEGER NOT NULL,
    config2 INTEGER NOT NULL,
    cost_ns INTEGER,         -- what counting it took of the workload each time, ns; NULL: not known
    state TEXT NOT NULL CHECK (state IN ('measured', 'unsupported', 'not permitted')),
    reason TEXT NOT NULL,    -- why it was not measured, or ''
    count INTEGER,           -- sum of its raw counts; NULL: never counted, or the run goes on
    first_count INTEGER,     -- raw count in the first rotation, of all CPUs; NULL, as the next four:
                             -- not known, or the second rotation has not ended
    first_ns INTEGER,        -- time in it that it was counted, ns
    second_count INTEGER,    -- the same of the second rotation
    second_ns INTEGER,
    before_ns INTEGER,       -- time that the workload had run before it was first counted, ns
    estimate REAL,           -- of the whole run: what counting it all the time would have seen;
                             -- NULL, as the next four: not known, or the run goes on
    low REAL,                -- 95 % interval of the estimate; NULL: there is none, see certainty
    high REAL,
    certainty TEXT,          -- counted (all the time), scaled (the clock event, when it
                             -- lacked its counter), interval, start not counted,
                             -- end not counted, rare bursts, none seen, too few periods,
                             -- incomplete, hardly counted
    share REAL,              -- part of enabled_ns in which it was counted, 0 ... 1
    PRIMARY KEY (run_id, set_no, slot)
) STRICT, WITHOUT ROWID;

CREATE TABLE metric (        -- one row per derived figure
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    name TEXT NOT NULL,
    metric_no INTEGER NOT NULL, -- order in reports and plots, from 0
    label TEXT NOT NULL,
    unit TEXT NOT NULL,      -- %, PTI (events per thousand instructions), /s, or ''
    family TEXT NOT NULL,    -- block of the report it belongs to, or ''
    panel TEXT NOT NULL,     -- panel of the plot
    formula TEXT NOT NULL,   -- over event names, clock, seconds and cpu_seconds
    explain TEXT NOT NULL,
    step_count INTEGER NOT NULL, -- its rows in metric_step
    value REAL,              -- over the whole run; NULL, as the next four: as in event
    low REAL,
    high REAL,
    certainty TEXT,
    share REAL,
    PRIMARY KEY (run_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE metric_step (   -- the formula in postfix order, which view rate evaluates
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    metric TEXT NOT NULL,    -- metric.name
    step INTEGER NOT NULL,   -- from 0
    op TEXT NOT NULL CHECK (op IN ('number', 'operand', '+', '-', '*', '/')),
    number REAL,             -- of op number; NULL: a missing value
    operand TEXT,            -- of op operand: clock, seconds, cpu_seconds or an event's name
    set_no INTEGER,          -- the event, where the operand is one: event.set_no
    slot INTEGER,            -- and event.slot
    PRIMARY KEY (run_id, metric, step)
) STRICT, WITHOUT ROWID;

CREATE TABLE period (            -- one row per measurement period (and CPU, where recorded per CPU)
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    cpu INTEGER NOT NULL,        -- CPU, or -1: the whole workload's counts
    cycle INTEGER NOT NULL,      -- cycle timestamp: the clock event's total at the period's end
    period INTEGER NOT NULL,     -- number of the period in the run, from 0
    rotation INTEGER NOT NULL,   -- number of the rotation it belongs to, from 0
    set_no INTEGER NOT NULL,     -- event set that was counted
    start_ns INTEGER NOT NULL,   -- ns since the run's start
    length_ns INTEGER NOT NULL,  -- true length, ns
    cycles INTEGER NOT NULL,     -- the clock event's count in this period, in run.clock_unit
    clock_running_ns INTEGER NOT NULL, -- part of enabled_ns during which the clock event was on one, ns
    idle_ns INTEGER,             -- of whole CPUs: part of enabled_ns during which they were idle,
                                 -- ns; 0 for a workload's counts; NULL: not known
    enabled_ns INTEGER NOT NULL, -- time the workload ran, ns, summed over its threads; all the time
                                 -- where a whole CPU was counted
    running_ns INTEGER NOT NULL, -- part of enabled_ns during which the set was on counters, ns
    switch_ns INTEGER NOT NULL,  -- time taken to change to the next set, ns
    missed INTEGER NOT NULL,     -- timer expiries that passed before the recorder woke up
    c0 INTEGER,                  -- raw count of the set's slot 0; NULL: not counted
    c1 INTEGER,                  -- slot 1
    c2 INTEGER,                  -- slot 2
    c3 INTEGER,                  -- slot 3
    c4 INTEGER,                  -- slot 4
    c5 INTEGER,                  -- slot 5
    c6 INTEGER,                  -- slot 6
    c7 INTEGER,                  -- slot 7
    PRIMARY KEY (run_id, cpu, cycle, period)
) STRICT, WITHOUT ROWID;

-- The past at coarser levels, made while it is recorded. A block of level k is a stretch of up to 16^k
-- whole rotations without a gap; it is a row for each event set, with the sums over its periods.
CREATE TABLE rollup (
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    level INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    cpu INTEGER NOT NULL,         -- CPU, or -1: the whole workload's counts
    period INTEGER NOT NULL,      -- number of the first period summed
    last_period INTEGER NOT NULL, -- and of the last one, of the same set
    rotation INTEGER NOT NULL,    -- rotation of the first
    merged INTEGER NOT NULL,      -- rotations in the block: so many periods are summed
    set_no INTEGER NOT NULL,      -- event set that was counted
    start_ns INTEGER NOT NULL,    -- start of the first period, ns since the run's start
    end_ns INTEGER NOT NULL,      -- end of the last one, ns since the run's start
    length_ns INTEGER NOT NULL,   -- sum of their lengths, ns
    cycle INTEGER NOT NULL,       -- cycle timestamp at the end of the last one
    cycles INTEGER NOT NULL,      -- sums, as in table period, from here on
    clock_running_ns INTEGER NOT NULL,
    idle_ns INTEGER,              -- NULL: not known of one of them
    enabled_ns INTEGER NOT NULL,
    running_ns INTEGER NOT NULL,
    switch_ns INTEGER NOT NULL,
    missed INTEGER NOT NULL,
    c0 INTEGER,                   -- NULL: not counted in any of them
    c1 INTEGER,
    c2 INTEGER,
    c3 INTEGER,
    c4 INTEGER,
    c5 INTEGER,
    c6 INTEGER,
    c7 INTEGER,
    parts INTEGER,                -- how its periods differ, from here on; NULL: not known. Blocks of level
                                  -- 1 in it; NULL: merged / 16, rounded up
    use_min REAL,                 -- of set 0: CPU time / elapsed time of its rotation with the least,
    use_max REAL,                 -- the most,
    use_steps REAL,               -- and sum of squared differences of successive rotations
    time_steps REAL,              -- sum of squared steps, running_ns - running_ns before, within blocks of
                                  -- level 1
    correlation TEXT,             -- of a slot's steps with those of the time and of each slot before it,
                                  -- in thousandths: JSON array, of 0 time, 1 time, 1 0, 2 time, 2 0, 2 1, ...
    c0_min REAL,                  -- events per second of elapsed time in the rotation with the least,
    c0_max REAL,                  -- and the most
    c0_steps REAL,                -- sum of squares of steps (d - d before) within blocks of level 1, where
                                  -- d = c0 - (c0 of the block / its running_ns) x running_ns
    c0_freedom INTEGER,           -- (sum of squares of steps)^2 / sum of their squares, in thousandths
    c0_periods INTEGER,           -- c0^2 / sum of squares of its counts, in thousandths: periods it came in
    c0_readings INTEGER,          -- periods in which it was counted; NULL: merged
    c1_min REAL,
    c1_max REAL,
    c1_steps REAL,
    c1_freedom INTEGER,
    c1_periods INTEGER,
    c1_readings INTEGER,
    c2_min REAL,
    c2_max REAL,
    c2_steps REAL,
    c2_freedom INTEGER,
    c2_periods INTEGER,
    c2_readings INTEGER,
    c3_min REAL,
    c3_max REAL,
    c3_steps REAL,
    c3_freedom INTEGER,
    c3_periods INTEGER,
    c3_readings INTEGER,
    c4_min REAL,
    c4_max REAL,
    c4_steps REAL,
    c4_freedom INTEGER,
    c4_periods INTEGER,
    c4_readings INTEGER,
    c5_min REAL,
    c5_max REAL,
    c5_steps REAL,
    c5_freedom INTEGER,
    c5_periods INTEGER,
    c5_readings INTEGER,
    c6_min REAL,
    c6_max REAL,
    c6_steps REAL,
    c6_freedom INTEGER,
    c6_periods INTEGER,
    c6_readings INTEGER,
    c7_min REAL,
    c7_max REAL,
    c7_steps REAL,
    c7_freedom INTEGER,
    c7_periods INTEGER,
    c7_readings INTEGER,
    PRIMARY KEY (run_id, level, cpu, period)
) STRICT, WITHOUT ROWID;

CREATE TABLE thinned (                -- up to where rows were taken away to keep the store small
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    cpu INTEGER NOT NULL,
    level INTEGER NOT NULL,           -- 0: rows of table period; 1 ... 3: of rollup
    before_period INTEGER NOT NULL,   -- those before it that a block of the next level sums
    PRIMARY KEY (run_id, cpu, level)
) STRICT, WITHOUT ROWID;

CREATE TABLE signal (         -- what the kernel told beside the counters, one row a signal
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    source INTEGER NOT NULL,  -- what is read together: 0 the workload's tree, 1 the machine, 2 its
                              -- control group, 3 the processor packages
    slot INTEGER NOT NULL,    -- column s0 ... s15 of reading
    name TEXT NOT NULL,       -- running, wait, rss, ...
    label TEXT NOT NULL,
    unit TEXT NOT NULL,       -- us, KiB, threads
    kind TEXT NOT NULL CHECK (kind IN ('counter', 'gauge')), -- counter: what came since the reading
                              -- before; gauge: as it stood
    origin TEXT NOT NULL,     -- where it is read: schedstat, wchan, ...
    explain TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('read', 'unsupported')),
    reason TEXT NOT NULL,     -- why it is not read, or ''
    total INTEGER,            -- of a run that has ended: sum of a counter, of a gauge its mean over
                              -- time times readings
    readings INTEGER,         -- in which it was known
    lowest INTEGER,           -- of a reading, of a counter per second, rounded; NULL: not known
    highest INTEGER,
    PRIMARY KEY (run_id, source, slot)
) STRICT, WITHOUT ROWID;

CREATE TABLE reading (           -- one row each time that a source was read
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    source INTEGER NOT NULL,     -- signal.source
    period INTEGER NOT NULL,     -- number of the period at whose end it was read
    end_ns INTEGER NOT NULL,     -- when, ns since the run's start
    length_us INTEGER NOT NULL,  -- since the reading before
    s0 INTEGER,                  -- signal.slot 0; NULL: could not be read
    s1 INTEGER,
    s2 INTEGER,
    s3 INTEGER,
    s4 INTEGER,
    s5 INTEGER,
    s6 INTEGER,
    s7 INTEGER,
    s8 INTEGER,
    s9 INTEGER,
    s10 INTEGER,
    s11 INTEGER,
    s12 INTEGER,
    s13 INTEGER,
    s14 INTEGER,
    s15 INTEGER,
    PRIMARY KEY (run_id, source, period)
) STRICT, WITHOUT ROWID;

CREATE TABLE reading_rollup (     -- readings at coarser levels: those of 16, 256, 4,096, 65,536 periods
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    source INTEGER NOT NULL,      -- signal.source
    level INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    period INTEGER NOT NULL,      -- of the first reading
    last_period INTEGER NOT NULL, -- and of the last; both have the same period / 16^level
    end_ns INTEGER NOT NULL,      -- of the last
    length_us INTEGER NOT NULL,   -- sum
    -- of slot 0: its sum, and in how many readings it was known: a gauge's mean over time is s0 / n0; the
    -- lowest and the highest, of a counter per second, rounded. NULL, all four: in none
    s0 INTEGER, n0 INTEGER, l0 INTEGER, h0 INTEGER,
    s1 INTEGER, n1 INTEGER, l1 INTEGER, h1 INTEGER,
    s2 INTEGER, n2 INTEGER, l2 INTEGER, h2 INTEGER,
    s3 INTEGER, n3 INTEGER, l3 INTEGER, h3 INTEGER,
    s4 INTEGER, n4 INTEGER, l4 INTEGER, h4 INTEGER,
    s5 INTEGER, n5 INTEGER, l5 INTEGER, h5 INTEGER,
    s6 INTEGER, n6 INTEGER, l6 INTEGER, h6 INTEGER,
    s7 INTEGER, n7 INTEGER, l7 INTEGER, h7 INTEGER,
    s8 INTEGER, n8 INTEGER, l8 INTEGER, h8 INTEGER,
    s9 INTEGER, n9 INTEGER, l9 INTEGER, h9 INTEGER,
    s10 INTEGER, n10 INTEGER, l10 INTEGER, h10 INTEGER,
    s11 INTEGER, n11 INTEGER, l11 INTEGER, h11 INTEGER,
    s12 INTEGER, n12 INTEGER, l12 INTEGER, h12 INTEGER,
    s13 INTEGER, n13 INTEGER, l13 INTEGER, h13 INTEGER,
    s14 INTEGER, n14 INTEGER, l14 INTEGER, h14 INTEGER,
    s15 INTEGER, n15 INTEGER, l15 INTEGER, h15 INTEGER,
    PRIMARY KEY (run_id, source, level, period)
) STRICT, WITHOUT ROWID;

CREATE TABLE heartbeat (              -- a run that is being recorded
    run_id INTEGER PRIMARY KEY REFERENCES run ON DELETE CASCADE,
    realtime_ns INTEGER NOT NULL,     -- wall clock when its recorder last wrote, ns since 1970 UTC
    boot_id TEXT NOT NULL,            -- Linux's id of the boot, on the recorder's machine
    interval_ns INTEGER NOT NULL      -- it writes at least so often, ns
) STRICT;

CREATE TABLE detection (          -- one row per detection of phases
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    detection INTEGER NOT NULL,   -- number of the detection in the run, from 0; the highest is the
                                  -- newest
    method TEXT NOT NULL,
    parameters TEXT NOT NULL,     -- JSON object: its settings, and what it found out on the way
    shown_level INTEGER NOT NULL, -- phase.level to show when nothing else is asked for
    remark TEXT,                  -- on the whole run: it repeats: A B, 5 turns, 9 s each; or NULL
    PRIMARY KEY (run_id, detection)
) STRICT, WITHOUT ROWID;

CREATE TABLE phase (              -- one row per detected phase and level
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    detection INTEGER NOT NULL,   -- detection.detection
    level INTEGER NOT NULL,       -- 0: the coarsest; each boundary of one is a boundary of the next
    phase INTEGER NOT NULL,       -- number of the phase in the level, from 0, in order of time
    first_period INTEGER NOT NULL,
    last_period INTEGER NOT NULL, -- inclusive
    label TEXT NOT NULL,          -- A, B, ...: the same for a phase that comes back, in its level
    start_ns INTEGER,             -- start of its first period, ns since the run's start
    end_ns INTEGER,               -- end of its last period, ns since the run's start
    earliest INTEGER,             -- it begins at one of the periods earliest ... latest;
    latest INTEGER,               -- both are first_period where that is certain
    confidence REAL,              -- that there is a boundary at first_period, 0 ... 1
    label_confidence REAL,        -- that it has this label and no other, 0 ... 1
    loop INTEGER,                 -- it belongs to: phases that come again in the same order; from 1;
                                  -- NULL: to none
    turn INTEGER,                 -- of all turns of the level's loops, from 1
    part INTEGER,                 -- which phase of the turn, from 1; NULL: the turn is an odd one
    PRIMARY KEY (run_id, detection, level, phase)
) STRICT, WITHOUT ROWID;

CREATE TABLE outlier (          -- one row per period or block that is like none around it
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    detection INTEGER NOT NULL, -- detection.detection
    period INTEGER NOT NULL,    -- number of the period; it belongs to the phase that it lies in
    last_period INTEGER,        -- of a block, number of its last period; NULL: it is one period
    PRIMARY KEY (run_id, detection, period)
) STRICT, WITHOUT ROWID;

CREATE TABLE mark (           -- one row per annotation
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    time_ns INTEGER NOT NULL, -- ns since the run's start
    mark_no INTEGER NOT NULL, -- tells marks of the same time apart
    text TEXT NOT NULL,
    PRIMARY KEY (run_id, time_ns, mark_no)
) STRICT, WITHOUT ROWID;

CREATE TABLE gap (              -- one row per stretch that was not recorded
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    start_ns INTEGER NOT NULL,  -- ns since the run's start
    gap_no INTEGER NOT NULL,    -- tells gaps of the same start apart
    cpu INTEGER NOT NULL,       -- CPU, or -1: all
    length_ns INTEGER NOT NULL, -- ns
    reason TEXT NOT NULL,
    PRIMARY KEY (run_id, start_ns, gap_no)
) STRICT, WITHOUT ROWID;

-- Samples of code: the tables up to code_count. Numbers count from 0 in a run. Names come into
-- location while it is recorded, each minute, and at its end.

CREATE TABLE sampling (           -- one row: how samples were taken, and what came of it
    run_id INTEGER PRIMARY KEY REFERENCES run ON DELETE CASCADE,
    event TEXT NOT NULL,          -- that is sampled: cpu-clock, cycles, ...
    frequency INTEGER NOT NULL,   -- samples a second and CPU; 0: by threshold
    threshold INTEGER NOT NULL,   -- a sample each so many events; 0: by frequency
    stacks TEXT NOT NULL,         -- how stacks were found: auto, fp, dwarf, lbr; none: innermost frames
    samples INTEGER NOT NULL,     -- taken
    complete INTEGER NOT NULL,    -- of them: whose stack reaches to where the thread began
    lost INTEGER NOT NULL,        -- for which there was no room
    throttled INTEGER NOT NULL,   -- times the kernel stopped sampling for a moment
    unmapped INTEGER NOT NULL,    -- addresses for which no mapping was known
    is_wide INTEGER,              -- 1: whole CPUs were sampled, and what is not the target's was
                                  -- dropped; 0: tasks one by one, short ones hardly
    is_fixed INTEGER,             -- 1: each thread keeps its interval, by time; 0: it varies
    lookups INTEGER,              -- times that forks were lost, and processes were looked up
    blocked_us INTEGER,           -- time off the CPU by stack (record --wall), all of code_count.blocked;
                                  -- NULL: that was not asked for
    blocked_of INTEGER,           -- stacks were taken in one of so many stretches of .1 s, where there
                                  -- were most switches; 1: in all
    blocked_off_us INTEGER,       -- time that threads were off the CPU in waits that are not known; in
                                  -- stores of older versions time of the run with too many switches
    switches_lost INTEGER,        -- of it: switches for which there was no room
    no_wait TEXT                  -- why program.wait_ns is unknown, or not of all programs; NULL: it
                                  -- is known, or was not asked for, as in formats up to 1.5
) STRICT;

CREATE TABLE module (             -- one row per file, or other memory, that had code
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    module INTEGER NOT NULL,
    kind TEXT NOT NULL,           -- file, kernel, vdso, jit, memory, simulated
    path TEXT NOT NULL,           -- as the workload saw it
    build_id TEXT NOT NULL,       -- in hexadecimal; '' not known
    PRIMARY KEY (run_id, module)
) STRICT, WITHOUT ROWID;

CREATE TABLE frame (              -- one row per instruction that was seen in a stack; where there are
                                  -- many, per function, whose first instruction stands for it
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    frame INTEGER NOT NULL,
    module INTEGER NOT NULL,      -- module.module
    address INTEGER NOT NULL,     -- offset in the file of kinds file and vdso, else in memory;
                                  -- unsigned, of 64 bits
    function INTEGER,             -- where its function begins, likewise; NULL: not known
    PRIMARY KEY (run_id, frame)
) STRICT, WITHOUT ROWID;

CREATE TABLE location (           -- the names of a frame: several where functions are inlined. Of
                                  -- a module's frames without names one says why
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    frame INTEGER NOT NULL,       -- frame.frame
    depth INTEGER NOT NULL,       -- 0: the innermost; the last is the function that has the code
    function TEXT NOT NULL,       -- where how is none: why there is no name
    file TEXT NOT NULL,           -- of the source; '' not known
    line INTEGER NOT NULL,        -- in it; 0 not known
    how TEXT NOT NULL,            -- found by: debug, symbol, map; none
    alike INTEGER,                -- where many are named: a frame whose row of depth 0 has function and
                                  -- file of this one, which has '' here; view frame_name has them
    PRIMARY KEY (run_id, frame, depth)
) STRICT, WITHOUT ROWID;

CREATE TABLE stack (              -- a frame and the stack that called it, and others that were new with
                                  -- it; view stack_frame has a row for each
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    stack INTEGER NOT NULL,
    parent INTEGER,               -- number of the caller's stack, a lower one, which may be any stack
                                  -- of a row; NULL: none
    frame INTEGER NOT NULL,       -- frame.frame
    calls TEXT,                   -- stacks with the numbers that follow. Of each, unless it is called by
                                  -- the one before, '{' and how much lower the number of its caller
                                  -- is (0: none); then how much its frame is higher than the one
                                  -- before times two, or how much it is lower times two, less one;
                                  -- in digits as code_count.stacks has them. NULL: there are none, as
                                  -- in formats up to 1.3
    PRIMARY KEY (run_id, stack)
) STRICT, WITHOUT ROWID;

CREATE TABLE task (               -- one row per thread that was seen in samples, and name it had
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    task INTEGER NOT NULL,
    pid INTEGER NOT NULL,
    tid INTEGER NOT NULL,
    name TEXT NOT NULL,
    start_ns INTEGER NOT NULL,    -- first seen, ns since the run's start
    end_ns INTEGER,               -- NULL: not before the recording, or not known
    process_ns INTEGER,           -- in one row of a process: the exact CPU time of all its threads,
                                  -- ns; NULL: not known, or in another row
    cgroup INTEGER,               -- cgroup.cgroup that its process was in when it was first seen;
                                  -- NULL: not read, as in runs that are not of CPUs or a cgroup
    file TEXT,                    -- source file that its process, such as a compiler, works on: the last
                                  -- two components of its path; NULL: none, or not known
    PRIMARY KEY (run_id, task)
) STRICT, WITHOUT ROWID;

CREATE TABLE cgroup (             -- one row per control group that tasks were in
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    cgroup INTEGER NOT NULL,
    path TEXT NOT NULL,           -- from the root of its hierarchy: /system.slice/cron.service
    PRIMARY KEY (run_id, cgroup)
) STRICT, WITHOUT ROWID;

CREATE TABLE program (            -- threads that ended, and had exact CPU times, by program (the
                                  -- name of a process); of a machine what all threads waited for CPUs
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    program INTEGER NOT NULL,
    name TEXT NOT NULL,
    cpu_ns INTEGER NOT NULL,      -- their CPU time, ns
    samples INTEGER NOT NULL,     -- that were taken of them
    unsampled_ns INTEGER NOT NULL,        -- CPU time of those that had none, ns
    unsampled_processes INTEGER NOT NULL, -- how many of these were a process's first thread
    unsampled_threads INTEGER NOT NULL,   -- and how many another one
    wait_ns INTEGER,              -- of a recording of CPUs: what all its threads on the machine waited
                                  -- for CPUs, ns; NULL: not known
    PRIMARY KEY (run_id, program)
) STRICT, WITHOUT ROWID;

CREATE TABLE code_count (         -- how often stacks and tasks were seen in a period: add up rows of
                                  -- the same; views stack_count, task_count
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    level INTEGER NOT NULL,       -- 0; where the run was thinned, that of the block
    cpu INTEGER NOT NULL,         -- as in table period
    period INTEGER NOT NULL,      -- its number; of a block the first one's
    part INTEGER NOT NULL,        -- tells rows of the same period apart
    stacks TEXT NOT NULL,         -- of each stack.stack, in their order: how much higher it is than the
                                  -- one before (the first: than -1) times two; one more where it was
                                  -- seen more than once, and then how often, less two. In digits of
                                  -- base 45: the last of a number is a character from 'N' to 'z', the
                                  -- others are from '!' to 'M'. Up to format 1.3 JSON, samples ->
                                  -- array of stack.stack: {"1":[12,15],"3":[7]}
    tasks TEXT NOT NULL,          -- the same of task.task
    blocked TEXT,                 -- the same of stack.stack, with us that threads were off the CPU in
                                  -- it for how often; NULL: none. View blocked_time
    PRIMARY KEY (run_id, level, cpu, period, part)
) STRICT, WITHOUT ROWID;

-- The finest rows that are left of a run: those of period, and of rollup where it was thinned.
CREATE VIEW finest AS
SELECT
    run_id, cpu, 0 AS level, period, period AS last_period, rotation, 1 AS merged, set_no, start_ns,
    start_ns + length_ns AS end_ns, length_ns, cycle, cycles, clock_running_ns, idle_ns, enabled_ns,
    running_ns, switch_ns, missed, c0, c1, c2, c3, c4, c5, c6, c7
FROM period
UNION ALL
SELECT
    run_id, cpu, level, period, last_period, rotation, merged, set_no, start_ns,
    end_ns, length_ns, cycle, cycles, clock_running_ns, idle_ns, enabled_ns,
    running_ns, switch_ns, missed, c0, c1, c2, c3, c4, c5, c6, c7
FROM rollup AS r
WHERE EXISTS (SELECT 1 FROM thinned AS t WHERE t.run_id = r.run_id AND t.cpu = r.cpu
                                           AND t.level = r.level - 1 AND t.before_period > r.period)
  AND NOT EXISTS (SELECT 1 FROM thinned AS t WHERE t.run_id = r.run_id AND t.cpu = r.cpu
                                               AND t.level = r.level AND t.before_period > r.period);

-- The long form: one row per period (or block, where it was thinned) and event that was to be
-- counted in it.
CREATE VIEW sample AS
SELECT
    run_id,
    cpu,
    period,
    time_s,      -- start of the period, s since the run's start
    cycle,       -- cycle timestamp at the period's end
    event,       -- its name
    count,       -- raw count in the period; NULL: not counted
    CASE WHEN running_ns > 0 THEN count * (1.0 * enabled_ns / running_ns)
         WHEN enabled_ns = 0 THEN 1.0 * count
    END AS scaled, -- scaled estimate within the period; NULL: not known
    CASE WHEN enabled_ns > 0 THEN min(1.0, 1.0 * running_ns / enabled_ns)
    END AS duty,   -- share of the workload's time it was counted; NULL: the workload slept
    (SELECT strftime('%Y-%m-%dT%H:%M:%fZ', (u.start_realtime_ns + s.start_ns) / 1000000 / 1000.0,
                     'unixepoch') FROM run AS u WHERE u.run_id = s.run_id) AS time -- time_s, in UTC
FROM (
    SELECT p.run_id, p.cpu, p.period, p.start_ns, p.start_ns / 1e9 AS time_s, p.cycle, e.name AS event,
           CASE e.slot WHEN 0 THEN p.c0 WHEN 1 THEN p.c1 WHEN 2 THEN p.c2 WHEN 3 THEN p.c3
                       WHEN 4 THEN p.c4 WHEN 5 THEN p.c5 WHEN 6 THEN p.c6 WHEN 7 THEN p.c7
           END AS count,
           p.enabled_ns, p.running_ns
    FROM finest AS p
    JOIN event AS e ON e.run_id = p.run_id AND e.set_no = p.set_no
    WHERE e.state = 'measured'
) AS s;

-- Every metric over every rotation (or block), evaluated from metric_step by a stack machine: s0 is
-- the top of the stack. An event's count is its scaled estimate over the rotation, as everywhere in
-- rpistat. A missing operand or a division by zero gives NULL.
CREATE VIEW rate AS
WITH turn AS (
    SELECT run_id, cpu, level, rotation,
           min(cycle) AS first_cycle, max(cycle) AS last_cycle,
           min(period) AS first_period, max(period) AS last_period,
           min(start_ns) AS start_ns, total(length_ns) AS length_ns,
           total(cycles) AS cycles, total(enabled_ns) AS enabled_ns,
           total(clock_running_ns) AS clock_running_ns,
           CASE WHEN count(idle_ns) = count(*) THEN total(idle_ns) END AS idle_ns
    FROM finest
    GROUP BY run_id, cpu, level, rotation
)
SELECT
    o.run_id,
    o.cpu,
    o.rotation,                  -- number of the rotation, or of the first one of the block
    o.start_ns / 1e9 AS time_s,  -- its start, s since the run's start
    o.length_ns / 1e9 AS length_s,
    m.name AS metric,
    (
        WITH RECURSIVE stack (step, s0, s1, s2, s3, s4, s5, s6, s7) AS (
            SELECT -1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
            UNION ALL
            SELECT
                f.step,
                CASE f.op
                WHEN '+' THEN k.s1 + k.s0
                WHEN '-' THEN k.s1 - k.s0
                WHEN '*' THEN k.s1 * k.s0
                WHEN '/' THEN k.s1 / k.s0
                WHEN 'number' THEN f.number
                ELSE CASE
                    WHEN f.set_no IS NOT NULL THEN (
                        SELECT CASE WHEN count(v.c) = 0 THEN NULL
                                    WHEN total(iif(v.c IS NULL, 0, v.running_ns)) > 0
                                    THEN total(v.c) * (o.enabled_ns
                                         / total(iif(v.c IS NULL, 0, v.running_ns)))
                                    WHEN o.enabled_ns = 0 THEN 0.0
                               END
                        FROM (
                            SELECT p.running_ns,
                                   CASE f.slot WHEN 0 THEN p.c0 WHEN 1 THEN p.c1
                                               WHEN 2 THEN p.c2 WHEN 3 THEN p.c3
                                               WHEN 4 THEN p.c4 WHEN 5 THEN p.c5
                                               WHEN 6 THEN p.c6 WHEN 7 THEN p.c7 END AS c
                            FROM period AS p
                            WHERE o.level = 0 AND p.run_id = o.run_id AND p.cpu = o.cpu
                              AND (p.cycle, p.period) >= (o.first_cycle, o.first_period)
                              AND (p.cycle, p.period) <= (o.last_cycle, o.last_period)
                              AND p.set_no = f.set_no
                            UNION ALL
                            SELECT p.running_ns,
                                   CASE f.slot WHEN 0 THEN p.c0 WHEN 1 THEN p.c1
                                               WHEN 2 THEN p.c2 WHEN 3 THEN p.c3
                                               WHEN 4 THEN p.c4 WHEN 5 THEN p.c5
                                               WHEN 6 THEN p.c6 WHEN 7 THEN p.c7 END AS c
                            FROM rollup AS p
                            WHERE p.run_id = o.run_id AND p.level = o.level AND p.cpu = o.cpu
                              AND p.period BETWEEN o.first_period AND o.last_period
                              AND p.set_no = f.set_no
                        ) AS v)
                    WHEN f.operand = 'clock' THEN CASE -- scaled where it lacked its counter
                        WHEN o.clock_running_ns >= 0.999 * o.enabled_ns THEN o.cycles
                        WHEN o.clock_running_ns > 0
                        THEN o.cycles * (o.enabled_ns / o.clock_running_ns)
                    END
                    WHEN f.operand = 'seconds' THEN o.length_ns / 1e9
                    WHEN f.operand = 'cpu_seconds' THEN (o.enabled_ns - o.idle_ns) / 1e9
                    END
                END,
                CASE WHEN f.op IN ('number', 'operand') THEN k.s0 ELSE k.s2 END,
                CASE WHEN f.op IN ('number', 'operand') THEN k.s1 ELSE k.s3 END,
                CASE WHEN f.op IN ('number', 'operand') THEN k.s2 ELSE k.s4 END,
                CASE WHEN f.op IN ('number', 'operand') THEN k.s3 ELSE k.s5 END,
                CASE WHEN f.op IN ('number', 'operand') THEN k.s4 ELSE k.s6 END,
                CASE WHEN f.op IN ('number', 'operand') THEN k.s5 ELSE k.s7 END,
                CASE WHEN f.op IN ('number', 'operand') THEN k.s6 END
            FROM stack AS k
            JOIN metric_step AS f
              ON f.run_id = m.run_id AND f.metric = m.name AND f.step = k.step + 1
        )
        SELECT s0 FROM stack WHERE step = m.step_count - 1
    ) AS value,                  -- in the metric's unit; NULL: missing
    (SELECT strftime('%Y-%m-%dT%H:%M:%fZ', (u.start_realtime_ns + o.start_ns) / 1000000 / 1000.0,
                     'unixepoch') FROM run AS u WHERE u.run_id = o.run_id) AS time -- time_s, in UTC
FROM turn AS o
JOIN metric AS m ON m.run_id = o.run_id;

-- The phases of each run: those of its newest detection, at the level to show.
CREATE VIEW shown_phase AS
SELECT p.run_id, p.phase, p.start_ns / 1e9 AS time_s,        -- its start, s since the run's start
       (p.end_ns - p.start_ns) / 1e9 AS length_s, p.label, p.first_period, p.last_period,
       p.confidence, p.label_confidence, p.loop, p.turn, p.part, p.level, d.detection, d.method,
       (SELECT strftime('%Y-%m-%dT%H:%M:%fZ', (u.start_realtime_ns + p.start_ns) / 1000000 / 1000.0,
                        'unixepoch') FROM run AS u WHERE u.run_id = p.run_id) AS time -- in UTC
FROM detection AS d
JOIN phase AS p ON p.run_id = d.run_id AND p.detection = d.detection AND p.level = d.shown_level
WHERE d.detection = (SELECT max(n.detection) FROM detection AS n WHERE n.run_id = d.run_id);

-- What was read of system signals: a row a signal and reading. Where a run was thinned its blocks
-- stand in reading_rollup.
CREATE VIEW signal_value AS
SELECT run_id, period, name, unit, kind, length_us / 1e6 AS length_s,
       CASE slot
           WHEN 0 THEN s0 WHEN 1 THEN s1 WHEN 2 THEN s2 WHEN 3 THEN s3 WHEN 4 THEN s4 WHEN 5 THEN s5
           WHEN 6 THEN s6 WHEN 7 THEN s7 WHEN 8 THEN s8 WHEN 9 THEN s9 WHEN 10 THEN s10 WHEN 11 THEN s11
           WHEN 12 THEN s12 WHEN 13 THEN s13 WHEN 14 THEN s14 WHEN 15 THEN s15
       END * iif(kind = 'gauge', 1.0, 1e6 / max(length_us, 1)) AS value -- of a counter per second
FROM reading JOIN signal USING (run_id, source)
WHERE value IS NOT NULL;

-- What each run that has ended came to, and how sure that is: a line per event and metric.
CREATE VIEW estimate AS
SELECT run_id, 'event' AS kind, name, label, unit, estimate AS value, low, high, certainty, share
FROM event
WHERE certainty IS NOT NULL
UNION ALL
SELECT run_id, 'metric', name, label, unit, value, low, high, certainty, share
FROM metric
WHERE certainty IS NOT NULL;

-- A line per run.
CREATE VIEW run_summary AS
SELECT
    r.run_id,
    r.label,
    (SELECT group_concat(value, ' ') FROM json_each(r.command)) AS command,
    strftime('%Y-%m-%dT%H:%M:%fZ', r.start_realtime_ns / 1e9, 'unixepoch') AS start, -- UTC
    r.state,
    coalesce(CASE WHEN NOT EXISTS (SELECT 1 FROM period AS p WHERE p.run_id = r.run_id
                                                               AND p.cpu >= 0)
                  THEN (SELECT sum(s.periods) FROM event_set AS s WHERE s.run_id = r.run_id) END,
             (SELECT max(n) FROM (SELECT sum(f.merged) AS n FROM finest AS f
                                  WHERE f.run_id = r.run_id GROUP BY f.cpu)),
             0) AS periods, -- measurement periods: where each CPU has its own, those of the one
                            -- that has most of them
    coalesce(r.elapsed_ns,
             (SELECT max(f.end_ns) FROM finest AS f WHERE f.run_id = r.run_id))
        / 1e9 AS elapsed_s,
    (SELECT count(*) FROM gap AS g WHERE g.run_id = r.run_id) AS gaps,
    r.plan,
    r.set_count AS sets,
    r.pmu,
    r.host,
    r.cpu_model,
    r.exit_status,
    r.exit_signal,
    -- "cpi 2.14 (2.1 to 2.18); ...": the figures of a run that has ended, with their 95 % interval
    -- or the reason why there is none; view estimate has them as numbers
    (SELECT group_concat(
                printf('%s %.6g', e.name, e.value)
                || CASE e.certainty WHEN 'counted' THEN ''
                                    WHEN 'interval' THEN printf(' (%.6g to %.6g)', e.low, e.high)
                                    ELSE ' (' || e.certainty || ')' END, '; ')
     FROM estimate AS e WHERE e.run_id = r.run_id AND e.kind = 'metric') AS figures
FROM run AS r;

-- The counts of code_count, one a row: of column 'stacks', 'tasks' or 'blocked'. Numbers are below
-- 2,000,000: within, one number has both.
CREATE VIEW code_number AS
SELECT c.run_id, c.level, c.cpu, c.period, c.counted, n.value % 2097152 AS number,
       n.value / 2097152 AS value
FROM (SELECT run_id, level, cpu, period, 'stacks' AS counted, stacks AS text FROM code_count
      UNION ALL
      SELECT run_id, level, cpu, period, 'tasks', tasks FROM code_count
      UNION ALL
      SELECT run_id, level, cpu, period, 'blocked', blocked FROM code_count
      WHERE blocked IS NOT NULL) AS c, json_each('[' || CASE WHEN c.text LIKE '{%' THEN
    (SELECT group_concat(i.value + 2097152 * CAST(s.key AS INTEGER))
     FROM json_each(c.text) AS s, json_each(s.value) AS i)
ELSE
    (WITH RECURSIVE walk (rest, digit, high, id, has_more) AS (
         SELECT substr(c.text, 2), unicode(c.text) - 33, 0, -1, 0
         UNION ALL
         SELECT substr(rest, 2), unicode(rest) - 33, iif(digit < 45, 45 * high + digit, 0),
                iif(digit < 45 OR has_more, id, id + (45 * high + digit - 45) / 2),
                iif(digit < 45, has_more, NOT has_more AND (45 * high + digit - 45) % 2)
         FROM walk WHERE digit IS NOT NULL)
     SELECT group_concat(iif(has_more, id + 2097152 * (45 * high + digit - 45 + 2),
                             id + (45 * high + digit - 45) / 2 + 2097152))
     FROM walk WHERE digit >= 45 AND (has_more OR (45 * high + digit - 45) % 2 = 0))
END || ']') AS n;

-- How often each stack, and each task, was seen in a period, or in a block where it was thinned.
CREATE VIEW stack_count AS
SELECT run_id, level, cpu, period, number AS stack, value AS samples
FROM code_number WHERE counted = 'stacks';

CREATE VIEW task_count AS
SELECT run_id, level, cpu, period, number AS task, value AS samples
FROM code_number WHERE counted = 'tasks';

-- Off the CPU, us by stack (record --wall).
CREATE VIEW blocked_time AS
SELECT run_id, level, cpu, period, number AS stack, value AS us
FROM code_number WHERE counted = 'blocked';

-- Each stack: the stack that called it, and the frame that was called. Numbers are below 2,097,152:
-- within, one number has the stack's place in its row, how far its caller is away, and its frame.
CREATE VIEW stack_frame AS
SELECT s.run_id, s.stack + n.value / 4398046511104 AS stack,
       CASE WHEN n.value < 4398046511104 THEN s.parent
            WHEN n.value / 2097152 % 2097152 > 0
            THEN s.stack + n.value / 4398046511104 - n.value / 2097152 % 2097152 END AS parent,
       n.value % 2097152 - 1 AS frame
FROM stack AS s, json_each('[' ||
    (WITH RECURSIVE walk (rest, digit, high, id, away, is_away, is_end) AS (
         SELECT substr(s.calls, 2), unicode(s.calls) - 33, 0, s.frame + 1, 0, 0, 1
         UNION ALL
         SELECT substr(rest, 2), unicode(rest) - 33, iif(digit < 45, min(45 * high + digit, 99999), 0),
                iif(digit < 45 OR digit = 90 OR is_away, id,
                    id + 4398046511104 + iif((45 * high + digit - 45) % 2,
                                             -(45 * high + digit - 44) / 2,
                                             (45 * high + digit - 45) / 2)),
                CASE WHEN is_away AND digit BETWEEN 45 AND 89
                     THEN min(45 * high + digit - 45, 2097151)
                     WHEN is_end THEN 1 ELSE away END,
                digit = 90 OR (is_away AND digit < 45),
                digit BETWEEN 45 AND 89 AND NOT is_away
         FROM walk WHERE digit BETWEEN 0 AND 90)
     SELECT group_concat(id + 2097152 * away) FROM walk WHERE is_end)
|| ']') AS n;

-- The names of each frame.
CREATE VIEW frame_name AS
SELECT l.run_id, l.frame, l.depth, coalesce(o.function, l.function) AS function,
       coalesce(o.file, l.file) AS file, l.line, l.how
FROM location AS l
LEFT JOIN location AS o ON o.run_id = l.run_id AND o.frame = l.alike AND o.depth = 0;

-- The innermost function of each sample: where the time went. What has no name is named by its
-- module and where it begins.
CREATE VIEW function_count AS
SELECT c.run_id, c.level, c.cpu, c.period,
       CASE WHEN l.how <> 'none' THEN l.function
            ELSE printf('%s+0x%x', coalesce(m.path, '?'), coalesce(f.function, f.address)) END
           AS function,
       m.path AS module, c.samples
FROM stack_count AS c
LEFT JOIN stack_frame AS s ON s.run_id = c.run_id AND s.stack = c.stack
LEFT JOIN frame AS f ON f.run_id = c.run_id AND f.frame = s.frame
LEFT JOIN module AS m ON m.run_id = c.run_id AND m.module = f.module
LEFT JOIN frame_name AS l ON l.run_id = c.run_id AND l.frame = s.frame AND l.depth = 0;
