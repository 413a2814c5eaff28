-- Of a row of period or rollup, in questions.sql. number: the first that no recorder writes, with its
-- name; NULL: there is none (rps_period_read refuses the same). excess_ns: so much longer it was on
-- the counters than the workload ran; counted: a bit for each slot with a count.

            WHEN cpu NOT BETWEEN -1 AND 2147483647 THEN 'cpu ' || cpu
            WHEN cycle < 0 THEN 'cycle ' || cycle
            WHEN period NOT BETWEEN 0 AND 1 << 62 THEN 'period ' || period
            WHEN rotation NOT BETWEEN 0 AND 1 << 62 THEN 'rotation ' || rotation
            WHEN set_no NOT BETWEEN 0 AND (SELECT sets - 1 FROM about_run) THEN 'set_no ' || set_no
            WHEN start_ns NOT BETWEEN 0 AND 1 << 61 THEN 'start_ns ' || start_ns
            WHEN length_ns NOT BETWEEN 0 AND 1 << 61 THEN 'length_ns ' || length_ns
            WHEN cycles < 0 THEN 'cycles ' || cycles
            WHEN clock_running_ns < 0 THEN 'clock_running_ns ' || clock_running_ns
            WHEN enabled_ns < 0 THEN 'enabled_ns ' || enabled_ns
            WHEN idle_ns NOT BETWEEN 0 AND enabled_ns THEN 'idle_ns ' || idle_ns
            WHEN running_ns < 0 THEN 'running_ns ' || running_ns
            WHEN switch_ns NOT BETWEEN 0 AND 1 << 61 THEN 'switch_ns ' || switch_ns
            WHEN missed NOT BETWEEN 0 AND 4294967295 THEN 'missed ' || missed
            WHEN c0 < 0 THEN 'the count ' || c0 WHEN c1 < 0 THEN 'the count ' || c1
            WHEN c2 < 0 THEN 'the count ' || c2 WHEN c3 < 0 THEN 'the count ' || c3
            WHEN c4 < 0 THEN 'the count ' || c4 WHEN c5 < 0 THEN 'the count ' || c5
            WHEN c6 < 0 THEN 'the count ' || c6 WHEN c7 < 0 THEN 'the count ' || c7 END AS number,
        max(running_ns, clock_running_ns) - enabled_ns AS excess_ns,
        (c0 IS NOT NULL) + 2 * (c1 IS NOT NULL) + 4 * (c2 IS NOT NULL) + 8 * (c3 IS NOT NULL)
        + 16 * (c4 IS NOT NULL) + 32 * (c5 IS NOT NULL) + 64 * (c6 IS NOT NULL)
        + 128 * (c7 IS NOT NULL) AS counted
