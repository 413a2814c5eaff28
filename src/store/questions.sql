-- What stands before each question to the periods of a run (questions.c), as common table
-- expressions: what a question does not name costs nothing. ?1 is the run.
--
-- Times that other tools have rounded may differ by 1000 ns. Beyond 1 << 61 ns nothing was
-- measured, and sums of two times would overflow. Levels: -1 the end of a CPU, 0 periods, 1 to 4
-- blocks.

WITH RECURSIVE

-- One row: of the run. ends_ns: up to where there must be periods, -1: that is not known.
about_run AS MATERIALIZED (
    SELECT (SELECT count(*) FROM event_set WHERE run_id = ?1) AS sets, pmu = 'import' AS imported,
        CASE WHEN state = 'complete' THEN coalesce(elapsed_ns, -1) ELSE -1 END AS ends_ns
    FROM run WHERE run_id = ?1),

-- --- rows ----------------------------------------------------------------------------------------

-- An event set, with a bit for each slot that was measured.
measured_set (of_set, mask) AS MATERIALIZED (
    SELECT set_no, sum(1 << slot) FROM event
    WHERE run_id = ?1 AND state = 'measured' AND slot BETWEEN 0 AND 7 GROUP BY set_no),

-- A row of table period, with what questions_row.sql says of it.
checked_period AS NOT MATERIALIZED (
    SELECT *, CASE %s, start_ns + length_ns AS end_ns FROM period WHERE run_id = ?1),

-- A row of table rollup, the same of it.
checked_rollup AS NOT MATERIALIZED (
    SELECT *, CASE WHEN merged NOT BETWEEN 1 AND 65536 THEN 'merged ' || merged
            WHEN last_period NOT BETWEEN period AND 1 << 62 THEN 'last_period ' || last_period
            WHEN end_ns NOT BETWEEN start_ns AND 1 << 61 THEN 'end_ns ' || end_ns %s
    FROM rollup WHERE run_id = ?1),

-- A stretch of periods of a CPU of which the rows of a level of rollup are the finest there is.
thinned_range AS (
    SELECT t.cpu AS of_cpu, t.level + 1 AS of_level, t.before_period AS to_period,
        coalesce(c.before_period, 0) AS from_period
    FROM thinned AS t LEFT JOIN thinned AS c
        ON c.run_id = t.run_id AND c.cpu = t.cpu AND c.level = t.level + 1 AND c.level < 4
    WHERE t.run_id = ?1),

-- A row of rollup of such a stretch.
finest_rollup AS NOT MATERIALIZED (
    SELECT r.* FROM thinned_range CROSS JOIN checked_rollup AS r
        ON level = of_level AND cpu = of_cpu AND period >= from_period AND period < to_period),

-- A period, or a row of rollup that stands for thinned ones. first: the number of its first period;
-- measured: a bit for each slot that was measured.
finest_row AS (
    SELECT *, period AS first, coalesce(mask, 0) AS measured FROM
        (SELECT 0 AS level, cpu, cycle, period, start_ns, end_ns, set_no, enabled_ns, running_ns,
            excess_ns, counted, number FROM checked_period
        UNION ALL SELECT level, cpu, cycle, period, start_ns, end_ns, set_no, enabled_ns,
            running_ns, excess_ns, counted, number FROM finest_rollup)
    LEFT JOIN measured_set ON of_set = set_no),

-- --- pieces --------------------------------------------------------------------------------------

-- A block of table rollup: the rows of a level and a CPU with one rotation. whole: there is a row
-- for each set, all of as many rotations of one cell of the grid (rpistat/period.h).
rollup_block AS (
    SELECT count(*) = (SELECT sets FROM about_run) AND count(DISTINCT set_no) = count(*)
        AND min(merged) = max(merged) AND max(last_period) - min(period) + 1 = total(merged)
        AND max(period) - min(period) < count(*) AND max(last_period) - min(last_period) < count(*)
        AND rotation >> 4 * level = (rotation + max(merged) - 1) >> 4 * level
        AND count(number) = 0 AS whole
    FROM checked_rollup GROUP BY level, cpu, rotation),

-- A block of rows of finest_rollup, the same of it. sum() refuses one that 64 bits do not hold,
-- total() does not.
finest_block AS (
    SELECT cpu, level, min(period) AS first, max(last_period) AS last, rotation,
        rotation + max(merged) - 1 AS last_rotation, -1 AS set_no, max(cycle) AS cycle,
        CAST(total(cycles) AS INTEGER) AS cycles, min(start_ns) AS start_ns,
        max(end_ns) AS end_ns, CAST(total(switch_ns) AS INTEGER) AS switch_ns,
        count(*) = (SELECT sets FROM about_run) AND count(DISTINCT set_no) = count(*)
        AND min(merged) = max(merged) AND max(last_period) - min(period) + 1 = total(merged)
        AND max(period) - min(period) < count(*) AND max(last_period) - min(last_period) < count(*)
        AND rotation >> 4 * level = (rotation + max(merged) - 1) >> 4 * level
        AND count(number) = 0 AS whole
    FROM finest_rollup GROUP BY cpu, level, rotation),

-- A block that stands for thinned periods, as a piece.
block AS MATERIALIZED (SELECT *, 1 AS asked FROM finest_block WHERE whole),

-- A CPU with periods; NULL behind the last one.
period_cpu (cpu) AS (
    SELECT min(cpu) FROM period WHERE run_id = ?1
    UNION SELECT (SELECT min(cpu) FROM period WHERE run_id = ?1 AND cpu > period_cpu.cpu)
    FROM period_cpu),

-- The end of a CPU, as a piece behind all others; of a run without any: of all CPUs.
cpu_end AS (
    SELECT cpu, -1 AS level, (1 << 62) AS first, -1 AS last, -1 AS rotation, -1 AS last_rotation,
        -1 AS set_no, 9223372036854775807 AS cycle, 0 AS cycles,
        (SELECT ends_ns FROM about_run) AS start_ns, 0 AS end_ns, 0 AS switch_ns, 1 AS asked
    FROM (SELECT cpu FROM period_cpu WHERE cpu IS NOT NULL UNION SELECT cpu FROM block
        UNION SELECT -1 WHERE NOT EXISTS (SELECT 1 FROM period WHERE run_id = ?1)
            AND NOT EXISTS (SELECT 1 FROM block))),

-- The key of a good period that does not follow on another. A window over a day's periods costs
-- three times as much as looking up of each the one that it follows on, by its key.
unlinked_period AS MATERIALIZED (
    SELECT cpu, cycle, period AS first FROM checked_period AS a
    WHERE CASE WHEN EXISTS (
            SELECT 1 FROM period AS b WHERE b.run_id = ?1 AND b.cpu = a.cpu
                AND b.cycle = a.cycle - a.cycles AND b.period = a.period - 1
                AND b.start_ns + b.length_ns BETWEEN a.start_ns - 1000 AND a.start_ns + 1000
                AND (b.rotation = a.rotation - 1
                    OR (b.rotation = a.rotation AND b.set_no <> a.set_no))
                AND b.switch_ns <= a.start_ns + a.length_ns - b.start_ns)
        THEN 0 ELSE number IS NULL END),

-- The key of an unlinked period (asked 1), or of the last good one before it, before a block or
-- before the end of its CPU (asked 0; NULL: there is none).
chosen_period AS (
    SELECT cpu, cycle, first, 1 AS asked FROM unlinked_period
    UNION ALL SELECT cpu,
        (SELECT cycle FROM checked_period AS b WHERE b.cpu = k.cpu
            AND (cycle, period) < (k.cycle, k.first) AND number IS NULL
            ORDER BY cycle DESC, period DESC LIMIT 1),
        (SELECT period FROM checked_period AS b WHERE b.cpu = k.cpu
            AND (cycle, period) < (k.cycle, k.first) AND number IS NULL
            ORDER BY cycle DESC, period DESC LIMIT 1), 0
    FROM (SELECT cpu, cycle, first FROM unlinked_period UNION ALL
        SELECT cpu, cycle, first FROM block UNION ALL SELECT cpu, cycle, first FROM cpu_end) AS k),

-- A chosen period, a block, or the end of a CPU.
piece AS (
    SELECT p.cpu, 0 AS level, p.period AS first, p.period AS last, p.rotation,
        p.rotation AS last_rotation, p.set_no, p.cycle, p.cycles, p.start_ns,
        p.start_ns + p.length_ns AS end_ns, p.switch_ns, c.asked
    FROM (SELECT cpu, cycle, first, max(asked) AS asked FROM chosen_period
        GROUP BY cpu, cycle, first) AS c
    CROSS JOIN period AS p
        ON p.run_id = ?1 AND p.cpu = c.cpu AND p.cycle = c.cycle AND p.period = c.first
    UNION ALL SELECT cpu, level, first, last, rotation, last_rotation, set_no, cycle, cycles,
        start_ns, end_ns, switch_ns, asked FROM block
    UNION ALL SELECT * FROM cpu_end),

-- A piece beside the one before, b_...; expected: the number that it should begin with.
piece_beside AS (
    SELECT *, coalesce(lag(last) OVER w, -1) + 1 AS expected,
        coalesce(lag(end_ns) OVER w, 0) AS b_end_ns, coalesce(lag(cycle) OVER w, 0) AS b_cycle,
        lag(last_rotation) OVER w AS b_rotation, lag(set_no) OVER w AS b_set_no,
        lag(level) OVER w AS b_level, lag(start_ns) OVER w AS b_start_ns,
        lag(switch_ns) OVER w AS b_switch_ns, lag(first) OVER w AS b_first,
        lag(cycle) OVER w AS b_key, lag(rotation) OVER w AS b_first_rotation,
        lag(asked) OVER w AS b_asked
    FROM piece WINDOW w AS (PARTITION BY cpu ORDER BY cycle, first)),

-- --- what is missing -----------------------------------------------------------------------------

-- A stretch without a period, before the piece (cpu, cycle, first).
hole AS MATERIALIZED (
    SELECT cpu, cycle, first, expected, b_end_ns AS from_ns, start_ns AS to_ns FROM piece_beside
    WHERE asked AND first >= expected AND start_ns > b_end_ns + 1000),

-- A gap row, of each CPU with holes that it is of.
hole_gap AS (
    SELECT h.cpu, start_ns AS from_ns, start_ns + length_ns AS to_ns
    FROM (SELECT DISTINCT cpu FROM hole) AS h CROSS JOIN gap AS g
        ON run_id = ?1 AND g.cpu IN (h.cpu, -1) AND start_ns BETWEEN 0 AND 1 << 61
        AND length_ns BETWEEN 0 AND 1 << 61),

-- Gap rows of a CPU that overlap or touch, taken together.
joined_gap AS (
    SELECT cpu, min(from_ns) AS from_ns, max(to_ns) AS to_ns
    FROM (SELECT *, sum(begins) OVER (PARTITION BY cpu ORDER BY from_ns, to_ns) AS n
        FROM (SELECT *, from_ns > 1000 + coalesce(max(to_ns) OVER (PARTITION BY cpu
                ORDER BY from_ns, to_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), -1e9)
                AS begins FROM hole_gap))
    GROUP BY cpu, n),

-- A hole that is not covered: of the joined gaps that begin before it none ends behind it.
missing AS MATERIALIZED (
    SELECT * FROM (
        SELECT *, max(covers_ns) OVER (PARTITION BY cpu
            ORDER BY from_ns + (cycle IS NOT NULL) * 1000, cycle IS NOT NULL
            ROWS UNBOUNDED PRECEDING) AS covered_ns
        FROM (SELECT *, NULL AS covers_ns FROM hole
            UNION ALL SELECT cpu, NULL, NULL, NULL, from_ns, to_ns, to_ns FROM joined_gap))
    WHERE cycle IS NOT NULL AND coalesce(covered_ns, -1) + 1000 < to_ns),

-- A piece that is asked about, beside the one before (LIMIT: as it stands here, or preparing a statement
-- would write its columns out wherever they are named). hole_ns: what is missing between; excess_ns:
-- so much longer the switch after the one before took than there was time.
asked_piece AS (
    SELECT *, (SELECT to_ns - from_ns FROM missing AS m
            WHERE m.cpu = p.cpu AND m.cycle = p.cycle AND m.first = p.first) AS hole_ns,
        b_switch_ns - (CASE level WHEN -1 THEN b_end_ns + 1000000000
            ELSE max(end_ns, b_end_ns) END - b_start_ns) AS excess_ns
    FROM piece_beside AS p WHERE asked LIMIT -1)
