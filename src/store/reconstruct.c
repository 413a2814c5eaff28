/* Reconstruct a damaged run. Lost parts of the run's description are replaced by generated names
 * with numbers, because a run that no command can read would be lost completely. Lost periods get
 * gap rows. */
#include "reconstruct.h"

#include <inttypes.h>
#include <stdio.h>

#include "database.h"
#include "period.h"
#include "system.h"
#include "writer.h"
#include "rpistat/arena.h"
#include "rpistat/text.h"
#include "rpistat/plan.h"

struct reconstruct {
    struct rps_arena *arena;
    struct rps_reader *reader;
    int64_t run_id;
    int code; /* SQLite code of the first failure, after which nothing is done */
    struct rps_run_sums sums;
    uint64_t lost_stretches;
    int64_t lost_ns;
    int64_t expected;       /* number of periods according to the run's totals; 0: no totals */
    uint64_t dropped, made; /* numbers of dropped rows, and of rows generated for the description */
    int is_new;             /* 1 if the run's row in `run` was lost */
    int without_metrics;    /* 1 if the run's metrics were unusable and dropped */
    int without_detections; /* 1 if incomplete detections were dropped */
    sqlite3_stmt *insert_block;
};

/* Run constant SQL with run_id as ?1 and `number` as ?2. Returns the number of changed rows. */
static uint64_t change_rows(struct reconstruct *r, const char *sql, int64_t number)
{
    sqlite3 *db = r->reader->db;
    const sqlite3_int64 before = sqlite3_total_changes64(db);

    if (r->code == SQLITE_OK)
        r->code = rps_database_do(db, sql, "ii", r->run_id, number);
    return (uint64_t)(sqlite3_total_changes64(db) - before);
}

/* Return the first column of the query's first row, or `otherwise` if there is no row. */
static int64_t number_of(struct reconstruct *r, const char *sql, int64_t otherwise)
{
    int64_t answer = otherwise;
    int code;

    if (r->code != SQLITE_OK)
        return otherwise;
    code = rps_database_ask(r->reader->db, &answer, sql, "i", r->run_id);
    r->code = code == SQLITE_DONE ? SQLITE_OK : code;
    return answer;
}

static int code_of(int result, const struct rps_error *err)
{
    if (result >= 0)
        return SQLITE_OK;
    return rps_error_is_memory(err) ? SQLITE_NOMEM : SQLITE_ERROR;
}

/* --- the description -------------------------------------------------------------------------- */

static const char sql_ensure_run[] =
    "INSERT OR IGNORE INTO run (run_id, uuid, label, tags, command, folder, host, boot_id,"
    " cpu_model, kernel, architecture, version, target, pmu, fitting, plan, plan_title,"
    " plan_explain, set_count, clock_label, clock_unit, governor, state, end_reason, exit_signal)"
    " VALUES (?1, " RPS_SQL_RANDOM_UUID ", '', '{}', '[]', '', '', '', '', '', '', '', '', '', '',"
    " '', '', '', 0, 'Clock', 'events', '', 'interrupted', 'its description was lost', 0)";

/* SQL: replace an invalid number of event sets. The new number comes from the highest set number in
 * the run's rows, and is at most ?2. */
static const char sql_set_count[] =
    "UPDATE run SET set_count = 1 + min(?2 - 1, max("
    "  coalesce((SELECT max(set_no) FROM event_set WHERE run_id = ?1), 0),"
    "  coalesce((SELECT max(set_no) FROM event WHERE run_id = ?1), 0),"
    "  coalesce((SELECT max(set_no) FROM period WHERE run_id = ?1 AND set_no < ?2), 0)))"
    " WHERE run_id = ?1 AND set_count NOT BETWEEN 1 AND ?2";

/* SQL: delete invalid rows of event sets and events. ?2 is the number of sets. */
static const char sql_drop_events[] =
    "DELETE FROM event_set WHERE run_id = ?1 AND set_no NOT BETWEEN 0 AND ?2 - 1;"
    "DELETE FROM event WHERE run_id = ?1 AND (set_no NOT BETWEEN -1 AND ?2 - 1"
    " OR slot NOT BETWEEN 0 AND 7);"
    "UPDATE event SET state = 'unsupported' WHERE run_id = ?1"
    " AND state NOT IN ('measured', 'unsupported', 'not permitted')";

/* SQL: insert missing rows: one per event set, and one per slot, up to the last slot that has a
 * description or a count. `mask` has one bit per counted slot. */
static const char sql_make_events[] =
    "WITH RECURSIVE s (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n + 1 < ?2)"
    " INSERT OR IGNORE INTO event_set (run_id, set_no, name, explain)"
    " SELECT ?1, n, printf('set_%d', n), 'Its description was lost.' FROM s;"
    "WITH k (slot) AS (VALUES (0), (1), (2), (3), (4), (5), (6), (7)),"
    " c AS MATERIALIZED (SELECT set_no, max(c0 IS NOT NULL) + 2 * max(c1 IS NOT NULL)"
    "  + 4 * max(c2 IS NOT NULL) + 8 * max(c3 IS NOT NULL) + 16 * max(c4 IS NOT NULL)"
    "  + 32 * max(c5 IS NOT NULL) + 64 * max(c6 IS NOT NULL) + 128 * max(c7 IS NOT NULL) AS mask"
    "  FROM (SELECT set_no, c0, c1, c2, c3, c4, c5, c6, c7 FROM period WHERE run_id = ?1 UNION ALL"
    "   SELECT set_no, c0, c1, c2, c3, c4, c5, c6, c7 FROM rollup WHERE run_id = ?1)"
    "  GROUP BY set_no)"
    " INSERT INTO event (run_id, set_no, slot, name, spec, label, role, unit, family, modifiers,"
    " explain, type, config, config1, config2, state, reason) SELECT ?1, s.set_no, slot,"
    " printf('event_%d_%d', s.set_no, slot), '', printf('Event %d of set %d', slot, s.set_no), '',"
    " 'events', '',"
    " '', 'Its description was lost.', 4, 0, 0, 0,"
    " CASE WHEN mask >> slot & 1 THEN 'measured' ELSE 'unsupported' END,"
    " CASE WHEN mask >> slot & 1 THEN '' ELSE 'its description was lost' END"
    " FROM event_set AS s CROSS JOIN k LEFT JOIN c ON c.set_no = s.set_no WHERE s.run_id = ?1"
    " AND (slot = 0 OR mask >> slot > 0 OR slot < (SELECT max(e.slot) FROM event AS e"
    "  WHERE e.run_id = ?1 AND e.set_no = s.set_no))"
    " ON CONFLICT DO UPDATE SET state = 'measured', reason = ''"
    " WHERE excluded.state = 'measured' AND event.state <> 'measured'";

/* SQL: clear unreadable JSON, which would make the run unreadable. */
static const char sql_json[] =
    "UPDATE run SET tags = iif(json_valid(tags), tags, '{}'),"
    " command = iif(json_valid(command), command, '[]') WHERE run_id = ?1";

/* Rebuild the event sets and events. Returns the number of event sets. */
static int64_t rebuild_sets(struct reconstruct *r)
{
    int64_t sets;

    r->is_new = change_rows(r, sql_ensure_run, 0) > 0;
    change_rows(r, sql_set_count, RPS_READER_SETS_MAX);
    sets = number_of(r, "SELECT set_count FROM run WHERE run_id = ?1", 0);
    change_rows(r, sql_drop_events, sets);
    r->made = change_rows(r, sql_make_events, sets);
    r->expected = number_of(r,
                            "SELECT CASE WHEN count(periods) = count(*) THEN"
                            " CAST(total(periods) AS INTEGER) END FROM event_set WHERE run_id = ?1",
                            0);
    change_rows(r, sql_json, 0);
    return sets;
}

/* Rewrite complete metrics with the steps of their formulas, but without their old values. */
static void rebuild_metrics(struct reconstruct *r)
{
    struct rps_plan *plan = NULL;
    struct rps_error err;

    if (r->code != SQLITE_OK)
        return;
    r->without_metrics = rps_reader_plan(r->arena, r->reader, r->run_id, &plan, &err) < 0;
    if (r->without_metrics && rps_error_is_memory(&err))
        r->code = SQLITE_NOMEM;
    change_rows(r,
                "DELETE FROM metric WHERE run_id = ?1;"
                "DELETE FROM metric_step WHERE run_id = ?1",
                0);
    if (r->code == SQLITE_OK && plan)
        r->code = rps_write_run_metrics(r->reader->db, r->run_id, plan);
}

/* --- its periods ------------------------------------------------------------------------------ */

/* SQL: the run's end according to its row; -1 if unknown or if too many periods contradict it. */
static const char sql_believed_end[] =
    "SELECT CASE WHEN elapsed_ns >= 0 AND state = 'complete' AND"
    " (SELECT count(*) FROM period AS p WHERE p.run_id = ?1 AND start_ns > elapsed_ns) * 100"
    " <= (SELECT count(*) FROM period AS p WHERE p.run_id = ?1)"
    " THEN elapsed_ns ELSE -1 END FROM run WHERE run_id = ?1";

/* SQL: set the end and state of the run from the remaining periods. ?2: end of the last period. */
static const char sql_end[] =
    "UPDATE run SET elapsed_ns = ?2 WHERE run_id = ?1 AND ?2 >= 0"
    " AND (elapsed_ns IS NULL OR elapsed_ns < ?2);"
    "UPDATE run SET state = 'interrupted', end_reason = 'saved from a damaged store before it had"
    " ended' WHERE run_id = ?1 AND state NOT IN ('complete', 'interrupted')";

/* SQL: delete detections that extend beyond the last period, ?2. */
static const char sql_detections[] =
    "DELETE FROM detection WHERE run_id = ?1 AND detection IN"
    " (SELECT detection FROM phase WHERE run_id = ?1 AND last_period > ?2);"
    "DELETE FROM outlier WHERE run_id = ?1 AND (period < 0 OR period > ?2)";

static void delete_detection(void *context, int64_t detection, const struct rps_error *why)
{
    (void)why;
    change_rows(context, "DELETE FROM detection WHERE run_id = ?1 AND detection = ?2", detection);
}

/* Delete incomplete detections. `rpistat phases` can find the phases again. */
static void rebuild_detections(struct reconstruct *r)
{
    const struct rps_detection_sink sink = {r, delete_detection};
    const sqlite3_int64 before = sqlite3_total_changes64(r->reader->db);
    struct rps_error err;

    change_rows(r, sql_detections, (int64_t)r->sums.last_period);
    if (r->code == SQLITE_OK)
        r->code = code_of(rps_detection_check(r->reader, r->run_id, &sink, &err), &err);
    if (r->code == SQLITE_OK)
        r->code = rps_detection_delete_strays(r->reader->db, r->run_id);
    r->without_detections = sqlite3_total_changes64(r->reader->db) > before;
}

/* --- blocks ----------------------------------------------------------------------------------- */

/* SQL: find the end of the downsampled range of level ?2 from the remaining rows. The blocks `b` of
 * the next level show where finer blocks were. The range ends where the first block begins for
 * which finer rows (`x`) exist. Blocks thus also replace fine rows that were lost directly after
 * the downsampled range, or at the beginning of a run. At other places blocks cannot replace lost
 * rows, because the finer rows on both sides are read directly. A lost range between finer rows is
 * recorded as a gap, and its block is deleted. */
static const char sql_downsampled[] =
    "WITH b AS MATERIALIZED (SELECT cpu, min(period) AS first, max(last_period) + 1 AS next,"
    "  max(cycle) - CAST(total(cycles) AS INTEGER) AS from_cycle, max(cycle) AS to_cycle"
    "  FROM rollup WHERE run_id = ?1 AND level = ?2 + 1 GROUP BY cpu, rotation HAVING ?2 = 0"
    "  OR next <= (SELECT before_period FROM thinned AS t WHERE t.run_id = ?1"
    "   AND t.cpu = rollup.cpu AND t.level = ?2 - 1)),"
    " x AS MATERIALIZED (SELECT cpu, min(first) AS first FROM b WHERE CASE ?2 WHEN 0 THEN EXISTS"
    "  (SELECT 1 FROM period AS p WHERE p.run_id = ?1 AND p.cpu = b.cpu AND p.cycle"
    "   BETWEEN b.from_cycle AND b.to_cycle AND p.period BETWEEN b.first AND b.next - 1)"
    "  ELSE EXISTS (SELECT 1 FROM rollup AS p WHERE p.run_id = ?1 AND p.level = ?2"
    "   AND p.cpu = b.cpu AND p.period BETWEEN b.first AND b.next - 1) END GROUP BY cpu)"
    " INSERT INTO thinned (run_id, cpu, level, before_period)"
    " SELECT ?1, b.cpu, ?2, max(b.next) FROM b LEFT JOIN x ON x.cpu = b.cpu"
    " WHERE x.first IS NULL OR b.first < x.first GROUP BY b.cpu";

/* SQL: delete blocks that cannot replace downsampled rows. ?2 is the number of event sets. */
static const char sql_drop_broken[] =
    "DELETE FROM thinned WHERE run_id = ?1;"
    "DELETE FROM rollup WHERE run_id = ?1 AND (level NOT BETWEEN 1 AND 4 OR"
    " (level, cpu, rotation) IN (SELECT level, cpu, rotation FROM rollup"
    "  WHERE run_id = ?1 GROUP BY level, cpu, rotation HAVING count(*) <> ?2 OR"
    "  max(last_period) - min(period) + 1 <> ?2 * min(merged)))";

/* SQL: delete blocks that have finer rows; they are then built again from the finest rows. */
static const char sql_drop_coarse[] =
    "DELETE FROM rollup WHERE run_id = ?1 AND (period >= coalesce((SELECT"
    "  before_period FROM thinned AS t WHERE t.run_id = ?1 AND t.cpu = rollup.cpu"
    "  AND t.level = rollup.level - 1), 0) OR period < coalesce((SELECT"
    "  before_period FROM thinned AS t WHERE t.run_id = ?1 AND t.cpu = rollup.cpu"
    "  AND t.level = rollup.level), 0));"
    "DELETE FROM gap WHERE run_id = ?1 AND (start_ns < 0 OR length_ns < 0);"
    "UPDATE run SET elapsed_ns = NULL WHERE run_id = ?1 AND ?2 < 0 AND state = 'complete'";

/* SQL: delete blocks that include periods before the end of the downsampled range. Periods that
 * still exist are read directly. A block that includes such periods would count them twice. */
static const char sql_drop_double[] =
    "DELETE FROM rollup WHERE run_id = ?1 AND level = 1 AND period < coalesce((SELECT before_period"
    "  FROM thinned AS t WHERE t.run_id = ?1 AND t.cpu = rollup.cpu AND t.level = 0), 0)"
    " AND EXISTS (SELECT 1 FROM period AS p WHERE p.run_id = ?1 AND p.cpu = rollup.cpu"
    "  AND p.cycle <= rollup.cycle AND p.period BETWEEN rollup.period AND rollup.last_period)";

static int insert_block(void *context, const struct rps_period *row)
{
    const struct reconstruct *r = context;

    return rps_period_insert(r->insert_block, r->run_id, row);
}

/* Write gap rows for missing periods. Rebuild the sums and blocks of the existing periods. */
static void rebuild_sums(struct reconstruct *r)
{
    const struct rps_rollup_sink sink = {r, insert_block};
    sqlite3 *db = r->reader->db;
    struct rps_error err;

    if (r->code == SQLITE_OK)
        r->code = rps_questions_write_gaps(db, r->run_id, &r->lost_stretches, &r->lost_ns);
    if (r->code == SQLITE_OK)
        r->code = rps_period_prepare(db, 1, &r->insert_block);
    if (r->code == SQLITE_OK)
        r->code =
            code_of(rps_run_sums(r->arena, r->reader, r->run_id, &sink, &r->sums, &err), &err);
    change_rows(r, sql_drop_double, 0);
    change_rows(r,
                "UPDATE event SET count = NULL, estimate = NULL, low = NULL, high = NULL,"
                " certainty = NULL, share = NULL WHERE run_id = ?1",
                0);
    if (r->code == SQLITE_OK)
        r->code = rps_write_run_sums(db, r->run_id, r->sums.set_count, r->sums.sum);
}

static void rebuild_periods(struct reconstruct *r, int64_t sets)
{
    const int64_t end_ns = number_of(r, sql_believed_end, -1);

    change_rows(r, sql_drop_broken, sets);
    for (int level = 0; level < RPS_LEVELS; level++)
        change_rows(r, sql_downsampled, level);
    if (r->code == SQLITE_OK)
        r->code = rps_questions_drop(r->reader->db, r->run_id, end_ns, &r->dropped);
    change_rows(r, sql_drop_coarse, end_ns);
    rebuild_sums(r);
    change_rows(r, sql_end, r->sums.end_ns);
}

/* --- reporting -------------------------------------------------------------------------------- */

static void report_periods(struct reconstruct *r, struct rps_findings *findings)
{
    const char *together = r->sums.periods > r->sums.most ? ", all CPUs together" : "";
    int64_t fine = number_of(r, "SELECT count(*) FROM period WHERE run_id = ?1", 0);
    char of[64] = "", sums[64] = "", lost[160] = ", no time is missing", time[RPS_TEXT_NUMBER_SIZE];

    if (r->expected > (int64_t)r->sums.periods)
        snprintf(of, sizeof(of), " of %" PRId64, r->expected);
    if (fine < (int64_t)r->sums.periods)
        snprintf(sums, sizeof(sums), ", %" PRId64 " of them as sums of blocks",
                 (int64_t)r->sums.periods - fine);
    if (r->lost_stretches > 0)
        snprintf(lost, sizeof(lost), "; %s is missing (%" PRIu64 " time range%s; see table gap)",
                 rps_text_duration(time, sizeof(time), r->lost_ns), r->lost_stretches,
                 r->lost_stretches == 1 ? "" : "s");
    rps_findings_add(findings, RPS_FINDING_NOTE,
                     "run %" PRId64 ": %" PRIu64 " period%s%s saved%s%s%s", r->run_id,
                     r->sums.periods, r->sums.periods == 1 ? "" : "s", of, together, sums, lost);
}

static void report_count(const struct reconstruct *r, const char *what, uint64_t count,
                         struct rps_findings *findings)
{
    if (count > 0)
        rps_findings_add(findings, RPS_FINDING_NOTE, "run %" PRId64 ": %s: %" PRIu64, r->run_id,
                         what, count);
}

static void report_what_was_done(struct reconstruct *r, struct rps_findings *findings)
{
    report_periods(r, findings);
    report_count(r, "readable rows with impossible values, which were left out", r->dropped,
                 findings);
    if (r->is_new)
        rps_findings_add(findings, RPS_FINDING_NOTE,
                         "run %" PRId64 ": its command, start time and host are lost", r->run_id);
    report_count(
        r, "events and event sets whose description was lost; they have numbers instead of names",
        r->made, findings);
    if (r->without_metrics)
        rps_findings_add(findings, RPS_FINDING_NOTE,
                         "run %" PRId64 ": the formulas of its metrics are lost", r->run_id);
    if (r->without_detections)
        rps_findings_add(
            findings, RPS_FINDING_NOTE,
            "run %" PRId64
            ": incomplete detections of phases are left out; find the phases with `rpistat phases`",
            r->run_id);
}

int rps_reconstruct_run(struct rps_reader *reader, int64_t run_id, struct rps_findings *findings,
                        struct rps_repair_result *result, struct rps_error *err)
{
    struct reconstruct r = {.arena = rps_arena_new(), .reader = reader, .run_id = run_id};
    const int is_own = sqlite3_get_autocommit(reader->db);
    int failed = 0;

    if (is_own)
        r.code = rps_database_exec(reader->db, "BEGIN IMMEDIATE");
    rebuild_periods(&r, rebuild_sets(&r));
    rebuild_detections(&r);
    if (r.code == SQLITE_OK)
        r.code = rps_system_rebuild(reader, run_id, r.sums.last_period, &r.dropped);
    if (r.code == SQLITE_OK && rps_store_hooks)
        r.code = rps_store_hooks->repair(reader->db, run_id, r.sums.last_period, &r.dropped);
    rebuild_metrics(&r);
    if (r.code == SQLITE_OK && is_own)
        r.code = rps_database_exec(reader->db, "COMMIT");
    if (r.code != SQLITE_OK) {
        failed = rps_reader_error(reader, r.code, err);
        if (is_own)
            rps_database_exec(reader->db, "ROLLBACK");
    } else {
        report_what_was_done(&r, findings);
        result->periods += r.sums.most;
        result->lost_stretches += r.lost_stretches;
        result->dropped += r.dropped;
        result->runs++;
    }
    rps_arena_free(r.arena);
    sqlite3_finalize(r.insert_block);
    return failed;
}
