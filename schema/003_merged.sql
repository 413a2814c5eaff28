-- A row of `period` may stand for several periods of its set: a recorder that was told to keep its
-- store small (--keep, --max-size) merges old ones. Sums stay what they were.

PRAGMA user_version = 1002; -- format 1.2

ALTER TABLE period
    ADD COLUMN merged INTEGER /* periods merged into this row; NULL: it is as it was recorded */;

DROP VIEW run_summary;

-- A line per run.
CREATE VIEW run_summary AS
SELECT
    r.run_id,
    r.label,
    (SELECT group_concat(value, ' ') FROM json_each(r.command)) AS command,
    strftime('%Y-%m-%dT%H:%M:%fZ', r.start_realtime_ns / 1e9, 'unixepoch') AS start, -- UTC
    r.state,
    coalesce((SELECT sum(s.periods) FROM event_set AS s WHERE s.run_id = r.run_id),
             (SELECT count(*) + coalesce(sum(p.merged - 1), 0) FROM period AS p
              WHERE p.run_id = r.run_id)) AS periods, -- those that were merged count each
    coalesce(r.elapsed_ns,
             (SELECT max(p.start_ns + p.length_ns) FROM period AS p WHERE p.run_id = r.run_id))
        / 1e9 AS elapsed_s,
    (SELECT count(*) FROM gap AS g WHERE g.run_id = r.run_id) AS gaps,
    r.plan,
    r.set_count AS sets,
    r.pmu,
    r.host,
    r.cpu_model,
    r.exit_status,
    r.exit_signal
FROM run AS r;
