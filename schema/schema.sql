-- The schema of an rpistat store. The comments explain each column; the sqlite3 shell prints them
-- (.schema period). schema/README.md explains the tables.
--
-- src/store/database.h defines application_id and user_version of a store. A new table, view or
-- column needs only a higher minor version. In older stores, readers see the new table as empty, and
-- the new column as NULL. Such a store gets both when it is opened for writing (src/store/schema.c).
-- Therefore, a new column is never NOT NULL.
--
-- Columns named _ns are nanoseconds. Times of a run count from its start, run.start_realtime_ns (UTC).
-- NULL means "not known" or "not counted", never 0.

CREATE TABLE run (                -- one row per recording
    run_id INTEGER PRIMARY KEY AUTOINCREMENT, -- number of the run in this store, never used again
    uuid TEXT NOT NULL UNIQUE,    -- identifies the run in all stores that have a copy
    label TEXT NOT NULL,          -- the user's name for the run, or ''
    tags TEXT NOT NULL,           -- JSON object: key -> text
    command TEXT NOT NULL,        -- JSON array: the workload's arguments
    folder TEXT NOT NULL,         -- working directory of the workload
    host TEXT NOT NULL,           -- host name
    boot_id TEXT NOT NULL,        -- boot ID of Linux
    cpu_model TEXT NOT NULL,      -- name of the processor
    cpu_count INTEGER,            -- CPUs online at the start
    kernel TEXT NOT NULL,         -- kernel release
    architecture TEXT NOT NULL,   -- architecture, as uname -m prints it
    version TEXT NOT NULL,        -- version of the recorder
    recorder_pid INTEGER,         -- process id of the recorder
    target TEXT NOT NULL,         -- recorded target: command, process 12, CPU 0-3, cgroup NAME
    pmu TEXT NOT NULL,            -- counter backend: hardware, software, sim
    counter_count INTEGER,        -- usable programmable counters, without the clock event's
    fitting TEXT NOT NULL,        -- event sets merged, split or left out, with the reason: lines
    plan TEXT NOT NULL,           -- name of the set file
    plan_title TEXT NOT NULL,     -- title of the set file
    plan_explain TEXT NOT NULL,   -- explanation in the set file
    set_count INTEGER NOT NULL CHECK (set_count > 0), -- event sets; a rotation counts each once
    order_seed INTEGER,           -- seed of the random order of sets; NULL: ordered by set_no
    clock_label TEXT NOT NULL,    -- name of the clock event: Cycles, Task clock, ...
    clock_unit TEXT NOT NULL,     -- unit of cycle and cycles: cycles, ns, ...
    paranoid INTEGER,             -- kernel.perf_event_paranoid
    nmi_watchdog INTEGER,         -- 1: the NMI watchdog is on and uses a counter; 0: off
    governor TEXT NOT NULL,       -- CPU frequency governor
    period_ns INTEGER,            -- nominal measurement period, ns
    start_realtime_ns INTEGER,    -- wall clock at the start, ns since 1970-01-01 UTC
    start_monotonic_ns INTEGER,   -- CLOCK_MONOTONIC at the start, ns
    elapsed_ns INTEGER,           -- end of the last period, ns since the start; NULL: the run is being recorded
    state TEXT NOT NULL CHECK (state IN ('recording', 'complete', 'interrupted')),
    end_reason TEXT NOT NULL,     -- why the run ended; '': the workload ended
    exit_status INTEGER,          -- of the workload; NULL: not known, or ended by a signal
    exit_signal INTEGER,          -- signal that ended the workload; 0: none
    user_ns INTEGER,              -- CPU time in user mode of the command and its ended children, ns;
                                  -- NULL: no command, or it has not ended
    system_ns INTEGER,            -- CPU time of the same processes in the kernel, ns; NULL: likewise
    memory_bytes INTEGER,         -- highest resident memory of one of these processes
    recorder_cpu_ns INTEGER,      -- CPU time of the recorder during the recording, ns
    recorder_after_ns INTEGER,    -- CPU time of the recorder after it (ns); NULL: the recorder was killed.
                                  -- SQLite cannot drop the last column if a comma is in this comment
    others_cpu_ns INTEGER         -- CPU time of other programs on the machine during the recording, ns;
                                  -- NULL: not known, as in formats up to 1.7, or CPUs were recorded
) STRICT;

CREATE TABLE event_set (     -- one row per event set of a run
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    set_no INTEGER NOT NULL, -- number of the set, from 0; run.order_seed decides the order
    name TEXT NOT NULL,
    explain TEXT NOT NULL,
    periods INTEGER,         -- periods of this set on all CPUs; NULL until the run has ended
    enabled_ns INTEGER,      -- period.enabled_ns of these periods, summed; NULL: as periods
    running_ns INTEGER,      -- period.running_ns of these periods, summed; NULL: as periods
    PRIMARY KEY (run_id, set_no)
) STRICT, WITHOUT ROWID;

CREATE TABLE event (         -- one row per event of a set; set -1 holds the clock event
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    set_no INTEGER NOT NULL, -- event_set.set_no, or -1: the clock event, counted with each set
    slot INTEGER NOT NULL CHECK (slot BETWEEN 0 AND 7), -- column of the counts: period.c0 ... c7
    name TEXT NOT NULL,      -- name in formulas and CSV files
    spec TEXT NOT NULL,      -- event as requested: L1-dcache-loads, r0b, msr/tsc/
    label TEXT NOT NULL,     -- human-readable name
    role TEXT NOT NULL,      -- meaning, equal on all processors: instructions, l1d_miss, ...; or ''
    unit TEXT NOT NULL,      -- events, cycles, ns
    family TEXT NOT NULL,    -- block of the report that shows the event, or ''
    modifiers TEXT NOT NULL, -- u: counted in user mode only; k: in the kernel only; or ''
    explain TEXT NOT NULL,
    type INTEGER NOT NULL,   -- perf_event_attr.type
    config INTEGER NOT NULL, -- perf_event_attr.config, its 64 bits as a signed number
    config1 INTEGER NOT NULL,
    config2 INTEGER NOT NULL,
    cost_ns INTEGER,         -- time that each count cost the workload, ns; NULL: not known
    state TEXT NOT NULL CHECK (state IN ('measured', 'unsupported', 'not permitted')),
    reason TEXT NOT NULL,    -- why the event was not measured, or ''
    count INTEGER,           -- sum of raw counts; NULL: never counted, or the run has not ended
    first_count INTEGER,     -- raw count in the first rotation on all CPUs. This and the next four are
                             -- NULL if not known, or until the second rotation has ended
    first_ns INTEGER,        -- time for which the event was counted in the first rotation, ns
    second_count INTEGER,    -- raw count in the second rotation
    second_ns INTEGER,       -- time for which the event was counted in the second rotation, ns
    before_ns INTEGER,       -- time that the workload ran before the event was first counted, ns
    estimate REAL,           -- estimated count for the whole run. This and the next four are NULL if
                             -- not known, or until the run has ended
    low REAL,                -- lower end of the 95 % interval; NULL: certainty has the reason
    high REAL,               -- upper end
    certainty TEXT,          -- counted (all the time), scaled (the clock event, when it
                             -- lacked its counter), interval, start not counted,
                             -- end not counted, rare bursts, none seen, too few periods,
                             -- incomplete, hardly counted
    share REAL,              -- share of enabled_ns for which the event was counted, 0 ... 1
    PRIMARY KEY (run_id, set_no, slot)
) STRICT, WITHOUT ROWID;

CREATE TABLE metric (        -- one row per metric, a formula over events
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    name TEXT NOT NULL,
    metric_no INTEGER NOT NULL, -- place in reports and plots, from 0
    label TEXT NOT NULL,
    unit TEXT NOT NULL,      -- %, PTI (events per thousand instructions), /s, or ''
    family TEXT NOT NULL,    -- block of the report that shows the metric, or ''
    panel TEXT NOT NULL,     -- panel of the plot that shows the metric
    formula TEXT NOT NULL,   -- formula over event names, clock, seconds and cpu_seconds
    explain TEXT NOT NULL,
    step_count INTEGER NOT NULL, -- number of the metric's rows in metric_step
    value REAL,              -- value for the whole run. This and the next four are NULL as in table event
    low REAL,
    high REAL,
    certainty TEXT,
    share REAL,
    PRIMARY KEY (run_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE metric_step (   -- formulas in postfix order, which view rate evaluates
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    metric TEXT NOT NULL,    -- metric.name
    step INTEGER NOT NULL,   -- from 0
    op TEXT NOT NULL CHECK (op IN ('number', 'operand', '+', '-', '*', '/')),
    number REAL,             -- the number, if op is number; NULL: a missing value
    operand TEXT,            -- if op is operand: clock, seconds, cpu_seconds or the name of an event
    set_no INTEGER,          -- event.set_no, if the operand is an event
    slot INTEGER,            -- event.slot, if the operand is an event
    PRIMARY KEY (run_id, metric, step)
) STRICT, WITHOUT ROWID;

CREATE TABLE period (            -- one row per measurement period (and per CPU in recordings by CPU)
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    cpu INTEGER NOT NULL,        -- CPU, or -1: the whole workload's counts
    cycle INTEGER NOT NULL,      -- cycle timestamp: the clock event's total at the period's end
    period INTEGER NOT NULL,     -- number of the period in the run, from 0
    rotation INTEGER NOT NULL,   -- number of the rotation that has the period, from 0
    set_no INTEGER NOT NULL,     -- event set that was counted
    start_ns INTEGER NOT NULL,   -- ns since the run's start
    length_ns INTEGER NOT NULL,  -- measured length, ns
    cycles INTEGER NOT NULL,     -- the clock event's count in this period, in run.clock_unit
    clock_running_ns INTEGER NOT NULL, -- part of enabled_ns for which the clock event was counted, ns
    idle_ns INTEGER,             -- part of enabled_ns in which the recorded CPUs were idle, ns; 0 in
                                 -- recordings of a workload; NULL: not known
    enabled_ns INTEGER NOT NULL, -- time for which the workload ran, summed over its threads, ns; in
                                 -- recordings of CPUs, the whole time
    running_ns INTEGER NOT NULL, -- part of enabled_ns for which the set was counted, ns
    switch_ns INTEGER NOT NULL,  -- duration of the switch to the next set, ns
    missed INTEGER NOT NULL,     -- timer expirations that the recorder missed because it woke up late
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

-- Blocks of periods at coarser levels, written during the recording. A block of level k has up to 16^k
-- whole rotations without a gap. It has one row per event set, with the sums over the set's periods.
CREATE TABLE rollup (
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    level INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    cpu INTEGER NOT NULL,         -- CPU, or -1: the whole workload's counts
    period INTEGER NOT NULL,      -- number of the first period in the block
    last_period INTEGER NOT NULL, -- number of the last period in the block (of the same set)
    rotation INTEGER NOT NULL,    -- rotation of the first period
    merged INTEGER NOT NULL,      -- number of rotations in the block, and of periods in each row
    set_no INTEGER NOT NULL,      -- event set that was counted
    start_ns INTEGER NOT NULL,    -- start of the first period, ns since the run's start
    end_ns INTEGER NOT NULL,      -- end of the last period, ns since the run's start
    length_ns INTEGER NOT NULL,   -- sum of the periods' lengths, ns
    cycle INTEGER NOT NULL,       -- cycle timestamp at the end of the last period
    cycles INTEGER NOT NULL,      -- this and the next columns to c7 are sums over the periods (table period)
    clock_running_ns INTEGER NOT NULL,
    idle_ns INTEGER,              -- NULL: not known for one of the periods
    enabled_ns INTEGER NOT NULL,
    running_ns INTEGER NOT NULL,
    switch_ns INTEGER NOT NULL,
    missed INTEGER NOT NULL,
    c0 INTEGER,                   -- NULL: counted in none of the periods
    c1 INTEGER,
    c2 INTEGER,
    c3 INTEGER,
    c4 INTEGER,
    c5 INTEGER,
    c6 INTEGER,
    c7 INTEGER,
    parts INTEGER,                -- number of blocks of level 1 in the block; NULL: merged / 16, rounded
                                  -- up. The next columns describe how the periods differ (NULL: not known)
    use_min REAL,                 -- set 0: lowest CPU time / elapsed time of a rotation
    use_max REAL,                 -- set 0: highest CPU time / elapsed time of a rotation
    use_steps REAL,               -- set 0: sum of squared differences of successive rotations
    time_steps REAL,              -- sum of squared steps within blocks of level 1; a step is the
                                  -- difference of running_ns of successive periods
    correlation TEXT,             -- correlations of a slot's steps with the steps of the time and of each
                                  -- slot before, in thousandths; JSON array of the pairs 0 time, 1 time,
                                  -- 1 0, 2 time, 2 0, 2 1, ...
    c0_min REAL,                  -- lowest events per second of elapsed time in a rotation
    c0_max REAL,                  -- highest events per second of elapsed time in a rotation
    c0_steps REAL,                -- sum of squared steps of d within blocks of level 1, where
                                  -- d = c0 - (c0 of the block / running_ns of the block) x running_ns
    c0_freedom INTEGER,           -- (sum of squared steps)^2 / sum of their squares, in thousandths
    c0_periods INTEGER,           -- c0^2 / sum of squared counts, in thousandths: effective number of
                                  -- periods with events
    c0_readings INTEGER,          -- number of periods in which the slot was counted; NULL: merged
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

CREATE TABLE thinned (                -- periods whose rows were deleted to keep the store small
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    cpu INTEGER NOT NULL,
    level INTEGER NOT NULL,           -- 0: rows of table period; 1 ... 3: rows of rollup
    before_period INTEGER NOT NULL,   -- rows before this period are deleted if a block of the next level has them
    PRIMARY KEY (run_id, cpu, level)
) STRICT, WITHOUT ROWID;

CREATE TABLE signal (         -- one row per system metric: values that the kernel reports
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    source INTEGER NOT NULL,  -- metrics that are read together: 0 the workload's processes, 1 the
                              -- machine, 2 the control group, 3 the processor packages
    slot INTEGER NOT NULL,    -- column s0 ... s31 of reading
    name TEXT NOT NULL,       -- running, wait, rss, ...
    label TEXT NOT NULL,
    unit TEXT NOT NULL,       -- us, KiB, threads
    kind TEXT NOT NULL CHECK (kind IN ('counter', 'gauge')), -- counter: increase since the previous
                              -- reading; gauge: value at the reading
    origin TEXT NOT NULL,     -- file that has the metric: schedstat, wchan, ...
    explain TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('read', 'unsupported')),
    reason TEXT NOT NULL,     -- why the metric is not read, or ''
    total INTEGER,            -- counter: sum; gauge: mean over time, times `readings`; NULL until the
                              -- run has ended
    readings INTEGER,         -- number of readings in which the metric was known
    lowest INTEGER,           -- lowest reading, rounded; counter: per second; NULL: not known
    highest INTEGER,          -- highest reading, likewise
    PRIMARY KEY (run_id, source, slot)
) STRICT, WITHOUT ROWID;

CREATE TABLE reading (           -- one row per reading of a source
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    source INTEGER NOT NULL,     -- signal.source
    period INTEGER NOT NULL,     -- number of the period at whose end the source was read
    end_ns INTEGER NOT NULL,     -- time of the reading, ns since the run's start
    length_us INTEGER NOT NULL,  -- time since the previous reading
    s0 INTEGER,                  -- value of signal.slot 0; NULL: could not be read
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
    s16 INTEGER, -- s16 ... s31: since format 1.7
    s17 INTEGER,
    s18 INTEGER,
    s19 INTEGER,
    s20 INTEGER,
    s21 INTEGER,
    s22 INTEGER,
    s23 INTEGER,
    s24 INTEGER,
    s25 INTEGER,
    s26 INTEGER,
    s27 INTEGER,
    s28 INTEGER,
    s29 INTEGER,
    s30 INTEGER,
    s31 INTEGER,
    PRIMARY KEY (run_id, source, period)
) STRICT, WITHOUT ROWID;

CREATE TABLE reading_rollup (     -- readings summed over 16, 256, 4,096 and 65,536 periods
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    source INTEGER NOT NULL,      -- signal.source
    level INTEGER NOT NULL CHECK (level BETWEEN 1 AND 4),
    period INTEGER NOT NULL,      -- period of the first reading
    last_period INTEGER NOT NULL, -- period of the last reading; period / 16^level is that of the first
    end_ns INTEGER NOT NULL,      -- time of the last reading, ns since the run's start
    length_us INTEGER NOT NULL,   -- sum of reading.length_us
    -- slot 0: s0 is the sum, n0 the number of readings that have the value, l0 and h0 the lowest and the
    -- highest value (counters: per second), rounded. A gauge's mean over time is s0 / n0. All four are
    -- NULL if no reading has the value
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
    s16 INTEGER, n16 INTEGER, l16 INTEGER, h16 INTEGER,
    s17 INTEGER, n17 INTEGER, l17 INTEGER, h17 INTEGER,
    s18 INTEGER, n18 INTEGER, l18 INTEGER, h18 INTEGER,
    s19 INTEGER, n19 INTEGER, l19 INTEGER, h19 INTEGER,
    s20 INTEGER, n20 INTEGER, l20 INTEGER, h20 INTEGER,
    s21 INTEGER, n21 INTEGER, l21 INTEGER, h21 INTEGER,
    s22 INTEGER, n22 INTEGER, l22 INTEGER, h22 INTEGER,
    s23 INTEGER, n23 INTEGER, l23 INTEGER, h23 INTEGER,
    s24 INTEGER, n24 INTEGER, l24 INTEGER, h24 INTEGER,
    s25 INTEGER, n25 INTEGER, l25 INTEGER, h25 INTEGER,
    s26 INTEGER, n26 INTEGER, l26 INTEGER, h26 INTEGER,
    s27 INTEGER, n27 INTEGER, l27 INTEGER, h27 INTEGER,
    s28 INTEGER, n28 INTEGER, l28 INTEGER, h28 INTEGER,
    s29 INTEGER, n29 INTEGER, l29 INTEGER, h29 INTEGER,
    s30 INTEGER, n30 INTEGER, l30 INTEGER, h30 INTEGER,
    s31 INTEGER, n31 INTEGER, l31 INTEGER, h31 INTEGER,
    PRIMARY KEY (run_id, source, level, period)
) STRICT, WITHOUT ROWID;

CREATE TABLE heartbeat (              -- one row per run that is being recorded
    run_id INTEGER PRIMARY KEY REFERENCES run ON DELETE CASCADE,
    realtime_ns INTEGER NOT NULL,     -- wall clock at the recorder's last write, ns since 1970 UTC
    boot_id TEXT NOT NULL,            -- boot ID of Linux on the recorder's machine
    interval_ns INTEGER NOT NULL      -- longest time between two writes of the recorder, ns
) STRICT;

CREATE TABLE detection (          -- one row per detection of phases
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    detection INTEGER NOT NULL,   -- number of the detection in the run, from 0; the newest has the
                                  -- highest number
    method TEXT NOT NULL,
    parameters TEXT NOT NULL,     -- JSON object: settings of the detection, and values that it estimated
    shown_level INTEGER NOT NULL, -- phase.level that commands show by default
    remark TEXT,                  -- remark on the whole run, such as its loop; or NULL
    PRIMARY KEY (run_id, detection)
) STRICT, WITHOUT ROWID;

CREATE TABLE phase (              -- one row per detected phase and level
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    detection INTEGER NOT NULL,   -- detection.detection
    level INTEGER NOT NULL,       -- 0: the coarsest. A level has all boundaries of the coarser levels
    phase INTEGER NOT NULL,       -- number of the phase in the level, from 0, in order of time
    first_period INTEGER NOT NULL,
    last_period INTEGER NOT NULL, -- number of the phase's last period
    label TEXT NOT NULL,          -- class of the phase in its level: A, B, ...
    start_ns INTEGER,             -- start of first_period, ns since the run's start
    end_ns INTEGER,               -- end of last_period, ns since the run's start
    earliest INTEGER,             -- first period at which the phase may begin
    latest INTEGER,               -- last period at which the phase may begin
    confidence REAL,              -- confidence that a boundary is at first_period, 0 ... 1
    label_confidence REAL,        -- confidence that the phase belongs to this class, 0 ... 1
    loop INTEGER,                 -- number of the loop that has the phase, from 1; NULL: none. A loop
                                  -- repeats classes in the same order
    turn INTEGER,                 -- number of the iteration, counted over all loops of the level, from 1
    part INTEGER,                 -- place of the phase in its iteration, from 1; NULL: the iteration is an
                                  -- outlier
    PRIMARY KEY (run_id, detection, level, phase)
) STRICT, WITHOUT ROWID;

CREATE TABLE outlier (          -- one row per period or block that differs from all near it
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    detection INTEGER NOT NULL, -- detection.detection
    period INTEGER NOT NULL,    -- number of the period, or of the first one of the block
    last_period INTEGER,        -- number of the last period of the block; NULL: a single period
    PRIMARY KEY (run_id, detection, period)
) STRICT, WITHOUT ROWID;

CREATE TABLE mark (           -- one row per annotation
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    time_ns INTEGER NOT NULL, -- ns since the run's start
    mark_no INTEGER NOT NULL, -- number that distinguishes marks with equal times
    text TEXT NOT NULL,
    PRIMARY KEY (run_id, time_ns, mark_no)
) STRICT, WITHOUT ROWID;

CREATE TABLE gap (              -- one row per time range that was not recorded
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    start_ns INTEGER NOT NULL,  -- ns since the run's start
    gap_no INTEGER NOT NULL,    -- number that distinguishes gaps with equal starts
    cpu INTEGER NOT NULL,       -- CPU, or -1: all
    length_ns INTEGER NOT NULL, -- ns
    reason TEXT NOT NULL,
    PRIMARY KEY (run_id, start_ns, gap_no)
) STRICT, WITHOUT ROWID;

-- Samples of code: the tables up to code_count. Numbers count from 0 in a run. The recorder writes names
-- to location once per minute and at the end.

CREATE TABLE sampling (           -- one row per run with samples: method and totals
    run_id INTEGER PRIMARY KEY REFERENCES run ON DELETE CASCADE,
    event TEXT NOT NULL,          -- sampled event: cpu-clock, cycles, ...
    frequency INTEGER NOT NULL,   -- samples per second and CPU; 0: threshold is used
    threshold INTEGER NOT NULL,   -- events per sample; 0: frequency is used
    stacks TEXT NOT NULL,         -- method for call stacks: auto, fp, dwarf, lbr; none: innermost frames only
    samples INTEGER NOT NULL,     -- number of samples
    complete INTEGER NOT NULL,    -- number of samples whose stack reaches the start of the thread
    lost INTEGER NOT NULL,        -- number of samples lost because buffers were full
    throttled INTEGER NOT NULL,   -- how often the kernel throttled sampling
    unmapped INTEGER NOT NULL,    -- number of addresses without a known mapping
    is_wide INTEGER,              -- 1: whole CPUs were sampled, and samples of other programs dropped;
                                  -- 0: each task was sampled, so that short tasks have few samples
    is_fixed INTEGER,             -- 1: the time between a thread's samples is constant; 0: it varies
    lookups INTEGER,              -- how often fork events were lost, so that processes were searched in /proc
    blocked_us INTEGER,           -- sum of code_count.blocked, off-CPU time by stack (record --wall);
                                  -- NULL: not recorded
    blocked_of INTEGER,           -- 1: stacks of all switches were recorded; n: with many switches, only
                                  -- those of one in n intervals of 0.1 s
    blocked_off_us INTEGER,       -- off-CPU time of threads in unknown waits; in older stores, time with
                                  -- too many switches
    switches_lost INTEGER,        -- number of switches lost because buffers were full
    no_wait TEXT                  -- why program.wait_ns is unknown for some programs; NULL: it is known,
                                  -- was not recorded, or the format is 1.5 or older
) STRICT;

CREATE TABLE module (             -- one row per file or memory range with sampled code, and since format
                                  -- 1.8 per executable file with a build-id that the workload mapped
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    module INTEGER NOT NULL,
    kind TEXT NOT NULL,           -- file, kernel, vdso, jit, memory, simulated
    path TEXT NOT NULL,           -- path in the workload's file system
    build_id TEXT NOT NULL,       -- hexadecimal; '': not known
    PRIMARY KEY (run_id, module)
) STRICT, WITHOUT ROWID;

CREATE TABLE frame (              -- one row per instruction address in stacks; if a run has many, one
                                  -- row per function, with the address of its first instruction
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    frame INTEGER NOT NULL,
    module INTEGER NOT NULL,      -- module.module
    address INTEGER NOT NULL,     -- for kinds file and vdso the offset in the file, otherwise the memory
                                  -- address; 64 bits, unsigned
    function INTEGER,             -- start of the function, in the form of `address`; NULL: not known
    PRIMARY KEY (run_id, frame)
) STRICT, WITHOUT ROWID;

CREATE TABLE location (           -- names of frames: a frame has several rows if functions are inlined.
                                  -- One unnamed frame per module has the reason
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    frame INTEGER NOT NULL,       -- frame.frame
    depth INTEGER NOT NULL,       -- 0: the innermost function; the highest: the function that has the code
    function TEXT NOT NULL,       -- name of the function; if `how` is none, why there is no name
    file TEXT NOT NULL,           -- source file; '': not known
    line INTEGER NOT NULL,        -- line in the source file; 0: not known
    how TEXT NOT NULL,            -- source of the name: debug, symbol, map; none
    alike INTEGER,                -- a frame whose row of depth 0 has this row's function and file, which
                                  -- are '' here; NULL: none. View frame_name resolves it
    PRIMARY KEY (run_id, frame, depth)
) STRICT, WITHOUT ROWID;

CREATE TABLE stack (              -- a frame with the stack that called it, and further stacks in `calls`;
                                  -- view stack_frame has one row per stack
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    stack INTEGER NOT NULL,
    parent INTEGER,               -- number of the caller's stack, lower than `stack`; it may be one of a
                                  -- row's `calls`; NULL: no caller
    frame INTEGER NOT NULL,       -- frame.frame
    calls TEXT,                   -- stacks with the next numbers, or NULL (always up to format 1.3).
                                  -- For each stack, in this order: if the previous stack is not its
                                  -- caller, '{' and the distance to the caller's number (0: no caller);
                                  -- then the difference d of its frame to the previous frame, as 2 d if
                                  -- d >= 0, otherwise as -2 d - 1. Digits are those of
                                  -- code_count.stacks
    PRIMARY KEY (run_id, stack)
) STRICT, WITHOUT ROWID;

CREATE TABLE task (               -- one row per sampled thread and name of the thread
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    task INTEGER NOT NULL,
    pid INTEGER NOT NULL,
    tid INTEGER NOT NULL,
    name TEXT NOT NULL,
    start_ns INTEGER NOT NULL,    -- when the thread was first seen, ns since the run's start
    end_ns INTEGER,               -- end of the thread; NULL: it outlived the recording, or not known
    process_ns INTEGER,           -- exact CPU time of all threads of the process, in one row per
                                  -- process, ns; NULL: not known, or in another row
    cgroup INTEGER,               -- cgroup.cgroup of the process when it was first seen; NULL: not read
                                  -- (only recordings of CPUs or a control group read it)
    file TEXT,                    -- source file on which the process works (a compiler): the last two
                                  -- components of its path; NULL: none, or not known
    PRIMARY KEY (run_id, task)
) STRICT, WITHOUT ROWID;

CREATE TABLE cgroup (             -- one row per control group with tasks
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    cgroup INTEGER NOT NULL,
    path TEXT NOT NULL,           -- from the root of its hierarchy: /system.slice/cron.service
    PRIMARY KEY (run_id, cgroup)
) STRICT, WITHOUT ROWID;

CREATE TABLE program (            -- CPU time of ended threads by program (the name of a process); in
                                  -- recordings of CPUs also the time that threads waited for a CPU
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    program INTEGER NOT NULL,
    name TEXT NOT NULL,
    cpu_ns INTEGER NOT NULL,      -- CPU time of the program's ended threads, ns
    samples INTEGER NOT NULL,     -- number of samples of these threads
    unsampled_ns INTEGER NOT NULL,        -- CPU time of the threads without samples, ns
    unsampled_processes INTEGER NOT NULL, -- first threads of processes without samples
    unsampled_threads INTEGER NOT NULL,   -- other threads without samples
    wait_ns INTEGER,              -- in recordings of CPUs: time that all threads of the program waited
                                  -- for a CPU, ns; NULL: not known
    PRIMARY KEY (run_id, program)
) STRICT, WITHOUT ROWID;

CREATE TABLE code_count (         -- number of samples per stack and task in a period. A period may have
                                  -- several rows, to be added; see views stack_count, task_count
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    level INTEGER NOT NULL,       -- 0: a period; otherwise the level of the block
    cpu INTEGER NOT NULL,         -- as in table period
    period INTEGER NOT NULL,      -- number of the period, or of the first one in the block
    part INTEGER NOT NULL,        -- number that distinguishes rows of one period
    stacks TEXT NOT NULL,         -- numbers in base 45. For each stack.stack, in ascending order: 2 d if
                                  -- it has one sample, otherwise 2 d + 1 and then its samples - 2; d is
                                  -- the difference to the previous stack (the first: to -1). The last
                                  -- digit of a number is a character from 'N' to 'z', the others are
                                  -- from '!' to 'M'. Up to format 1.3: JSON, samples -> array of
                                  -- stack.stack, {"1":[12,15],"3":[7]}
    tasks TEXT NOT NULL,          -- samples per task.task, in the form of `stacks`
    blocked TEXT,                 -- off-CPU time in us per stack.stack, in the form of `stacks`; NULL:
                                  -- none. See view blocked_time
    PRIMARY KEY (run_id, level, cpu, period, part)
) STRICT, WITHOUT ROWID;

-- The finest rows of a run: those of period, and those of rollup where periods were downsampled.
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

-- The long form: one row per period (or block, if downsampled) and event that was to be counted.
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

-- Each metric per rotation (or block). A stack machine evaluates metric_step; s0 is the top of the
-- stack. The count of an event is its scaled estimate for the rotation. A missing operand or a division
-- by zero gives NULL.
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

-- Readings of system metrics: one row per metric and reading. Blocks of downsampled readings are in
-- reading_rollup.
CREATE VIEW signal_value AS
SELECT run_id, period, name, unit, kind, length_us / 1e6 AS length_s,
       CASE slot
           WHEN 0 THEN s0 WHEN 1 THEN s1 WHEN 2 THEN s2 WHEN 3 THEN s3 WHEN 4 THEN s4 WHEN 5 THEN s5
           WHEN 6 THEN s6 WHEN 7 THEN s7 WHEN 8 THEN s8 WHEN 9 THEN s9 WHEN 10 THEN s10 WHEN 11 THEN s11
           WHEN 12 THEN s12 WHEN 13 THEN s13 WHEN 14 THEN s14 WHEN 15 THEN s15 WHEN 16 THEN s16 WHEN 17 THEN s17
           WHEN 18 THEN s18 WHEN 19 THEN s19 WHEN 20 THEN s20 WHEN 21 THEN s21 WHEN 22 THEN s22 WHEN 23 THEN s23
           WHEN 24 THEN s24 WHEN 25 THEN s25 WHEN 26 THEN s26 WHEN 27 THEN s27 WHEN 28 THEN s28 WHEN 29 THEN s29
           WHEN 30 THEN s30 WHEN 31 THEN s31
       END * iif(kind = 'gauge', 1.0, 1e6 / max(length_us, 1)) AS value -- of a counter per second
FROM reading JOIN signal USING (run_id, source)
WHERE value IS NOT NULL;

-- @READING_VIEWS

-- Values of runs that have ended, with their 95 % intervals: one row per event and metric.
CREATE VIEW estimate AS
SELECT run_id, 'event' AS kind, name, label, unit, estimate AS value, low, high, certainty, share
FROM event
WHERE certainty IS NOT NULL
UNION ALL
SELECT run_id, 'metric', name, label, unit, value, low, high, certainty, share
FROM metric
WHERE certainty IS NOT NULL;

-- One row per run.
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

-- The counts of code_count, one per row, from column 'stacks', 'tasks' or 'blocked'. The view packs
-- number and count into one integer, because numbers are below 2,000,000.
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

-- The number of samples of each stack and task per period, or per block if downsampled.
CREATE VIEW stack_count AS
SELECT run_id, level, cpu, period, number AS stack, value AS samples
FROM code_number WHERE counted = 'stacks';

CREATE VIEW task_count AS
SELECT run_id, level, cpu, period, number AS task, value AS samples
FROM code_number WHERE counted = 'tasks';

-- The off-CPU time per stack in us (record --wall).
CREATE VIEW blocked_time AS
SELECT run_id, level, cpu, period, number AS stack, value AS us
FROM code_number WHERE counted = 'blocked';

-- Each stack with its caller's stack and its frame. The view packs three numbers into one integer: the
-- stack's place in its row, the distance to its caller, and its frame. Each is below 2,097,152.
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

-- The samples per innermost function. A function without a name appears as module+0xstart.
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
