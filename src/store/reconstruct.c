/*
 * Making a run whole: what was lost of its description gets names made of numbers, since a run that
 * no command can read would be lost altogether, and what was lost of its periods gets gap rows.
 */
#include "reconstruct.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "database.h"
#include "detection.h"
#include "period.h"
#include "questions.h"
#include "reader.h"
#include "repair_code.h"
#include "sums.h"
#include "rpistat/text.h"

struct reconstruct {
    struct rps_reader *reader;
    int64_t run_id, sets;
    struct rps_run_sums sums;
    uint64_t lost_stretches;
    int64_t lost_ns;
    int64_t expected; /* periods by the run's own totals; -1: it had none */
    uint64_t dropped;
    int64_t placeholders; /* rows of its description that were made up */
    int is_new;           /* its row in `run` was lost */
    int without_metrics;  /* its metrics could not be used any more */
    int64_t detections;   /* left out, since they were not whole any more */
    int delete_code;      /* SQLite's, of deleting one */
    sqlite3_stmt *insert_block;
};

/* Prepare the statement that sql begins with: ?1 is the run_id, and ?2 `number`. An SQLite code. */
static int prepare(const struct reconstruct *r, const char *sql, int64_t number, sqlite3_stmt **ret,
                   const char **ret_rest)
{
    int code = sqlite3_prepare_v2(r->reader->db, sql, -1, ret, ret_rest);

    if (code == SQLITE_OK && sqlite3_bind_parameter_count(*ret) > 0)
        sqlite3_bind_int64(*ret, 1, r->run_id);
    if (code == SQLITE_OK && sqlite3_bind_parameter_count(*ret) > 1)
        sqlite3_bind_int64(*ret, 2, number);
    return code;
}

/* Run statements of constant SQL; an SQLite code. */
static int run_sql(const struct reconstruct *r, const char *sql, int64_t number)
{
    int code = SQLITE_OK;

    while (*sql && code == SQLITE_OK) {
        sqlite3_stmt *stmt = NULL;

        code = prepare(r, sql, number, &stmt, &sql);
        if (code == SQLITE_OK)
            code = rps_database_run(stmt);
        sqlite3_finalize(stmt);
    }
    return code;
}

/* *ret is the first column of the first row, untouched when there is none. An SQLite code. */
static int ask(const struct reconstruct *r, const char *sql, int64_t number, int64_t *ret)
{
    sqlite3_stmt *stmt = NULL;
    int code = prepare(r, sql, number, &stmt, NULL);

    if (code == SQLITE_OK && (code = sqlite3_step(stmt)) == SQLITE_ROW)
        *ret = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

/* --- the description -------------------------------------------------------------------------- */

static const char sql_ensure_run[] =
    "INSERT OR IGNORE INTO run (run_id, uuid, label, tags, command, folder, host, boot_id,"
    " cpu_model, kernel, architecture, version, target, pmu, fitting, plan, plan_title,"
    " plan_explain, set_count, clock_label, clock_unit, governor, state, end_reason, exit_signal)"
    " VALUES (?1, " RPS_SQL_RANDOM_UUID ", '', '{}', '[]', '', '', '', '', '', '', '', '', '', '',"
    " '', '', '', 0, 'Clock', 'events', '', 'interrupted', 'its description was lost', 0)";

/* The number of event sets: the run's own, or what its rows show, of which ?2 is the most. */
static const char sql_set_count[] =
    "UPDATE run SET set_count = 1 + min(?2 - 1, max("
    "  coalesce((SELECT max(set_no) FROM event_set WHERE run_id = ?1), 0),"
    "  coalesce((SELECT max(set_no) FROM event WHERE run_id = ?1), 0),"
    "  coalesce((SELECT max(set_no) FROM period WHERE run_id = ?1 AND set_no < ?2), 0)))"
    " WHERE run_id = ?1 AND set_count NOT BETWEEN 1 AND ?2";

/* Rows of sets and events that make no sense; ?2 is the number of sets. */
static const char sql_drop_events[] =
    "DELETE FROM event_set WHERE run_id = ?1 AND set_no NOT BETWEEN 0 AND ?2 - 1;"
    "DELETE FROM event WHERE run_id = ?1 AND (set_no NOT BETWEEN -1 AND ?2 - 1"
    " OR slot NOT BETWEEN 0 AND 7);"
    "UPDATE event SET state = 'unsupported' WHERE run_id = ?1"
    " AND state NOT IN ('measured', 'unsupported', 'not permitted')";

/* A row for each set, and for each of its slots up to the last that is described or was counted in
 * any of its rows: `mask` has a bit for each of these. */
static const char sql_make_events[] =
    "WITH RECURSIVE s (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n + 1 < ?2)"
    " INSERT OR IGNORE INTO event_set (run_id, set_no, name, explain)"
    " SELECT ?1, n, printf('set_%d', n), 'Its description was lost.' FROM s;"
    "WITH RECURSIVE s (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n + 1 < ?2),"
    " k (slot) AS (VALUES (0), (1), (2), (3), (4), (5), (6), (7)),"
    " c AS MATERIALIZED (SELECT set_no, max(c0 IS NOT NULL) + 2 * max(c1 IS NOT NULL)"
    "  + 4 * max(c2 IS NOT NULL) + 8 * max(c3 IS NOT NULL) + 16 * max(c4 IS NOT NULL)"
    "  + 32 * max(c5 IS NOT NULL) + 64 * max(c6 IS NOT NULL) + 128 * max(c7 IS NOT NULL) AS mask"
    "  FROM (SELECT set_no, c0, c1, c2, c3, c4, c5, c6, c7 FROM period WHERE run_id = ?1 UNION ALL"
    "   SELECT set_no, c0, c1, c2, c3, c4, c5, c6, c7 FROM rollup WHERE run_id = ?1)"
    "  GROUP BY set_no)"
    " INSERT INTO event (run_id, set_no, slot, name, spec, label, role, unit, family, modifiers,"
    " explain, type, config, config1, config2, state, reason) SELECT ?1, n, slot,"
    " printf('event_%d_%d', n, slot), '', printf('Event %d of set %d', slot, n), '', 'events', '',"
    " '', 'Its description was lost.', 4, 0, 0, 0,"
    " CASE WHEN mask >> slot & 1 THEN 'measured' ELSE 'unsupported' END,"
    " CASE WHEN mask >> slot & 1 THEN '' ELSE 'its description was lost' END"
    " FROM s CROSS JOIN k LEFT JOIN c ON c.set_no = n WHERE slot = 0 OR mask >> slot > 0 OR slot <"
    " (SELECT max(e.slot) FROM event AS e WHERE e.run_id = ?1 AND e.set_no = n)"
    " ON CONFLICT DO UPDATE SET state = 'measured', reason = ''"
    " WHERE excluded.state = 'measured' AND event.state <> 'measured'";

static const char sql_count_events[] =
    "SELECT (SELECT count(*) FROM event_set WHERE run_id = ?1) + count(*) FROM event"
    " WHERE run_id = ?1";

static int rebuild_sets(struct reconstruct *r)
{
    int64_t before = 0, after = 0;
    int code = run_sql(r, sql_ensure_run, 0);

    r->is_new = code == SQLITE_OK && sqlite3_changes(r->reader->db) > 0;
    if (code == SQLITE_OK)
        code = run_sql(r, sql_set_count, RPS_READER_SETS_MAX);
    if (code == SQLITE_OK)
        code = ask(r, "SELECT set_count FROM run WHERE run_id = ?1", 0, &r->sets);
    if (code == SQLITE_OK)
        code = run_sql(r, sql_drop_events, r->sets);
    if (code == SQLITE_OK)
        code = ask(
            r,
            "SELECT CASE WHEN count(periods) = ?2 THEN CAST(total(periods) AS INTEGER) ELSE -1 END"
            " FROM event_set WHERE run_id = ?1",
            r->sets, &r->expected);
    if (code == SQLITE_OK)
        code = ask(r, sql_count_events, 0, &before);
    if (code == SQLITE_OK)
        code = run_sql(r, sql_make_events, r->sets);
    if (code == SQLITE_OK)
        code = ask(r, sql_count_events, 0, &after);
    r->placeholders = after - before;
    return code;
}

/* Have the run and its plan read as every command reads them; leave out what prevents it. */
static int rebuild_description(struct reconstruct *r)
{
    struct rps_plan *plan = NULL;
    struct rps_error err;
    struct rps_run run;
    int code = SQLITE_OK;

    if (rps_reader_run(r->reader, r->run_id, &run, &err) == 0)
        rps_run_free(&run);
    else if (rps_error_is_memory(&err))
        code = SQLITE_NOMEM;
    else
        code = run_sql(r, "UPDATE run SET tags = '{}', command = '[]' WHERE run_id = ?1", 0);
    if (code == SQLITE_OK && rps_reader_plan(r->reader, r->run_id, &plan, &err) < 0) {
        r->without_metrics = 1;
        code = rps_error_is_memory(&err) ? SQLITE_NOMEM : SQLITE_OK;
    }
    /* those that are whole are written again, with the steps of their formulas */
    if (code == SQLITE_OK)
        code = run_sql(r,
                       "DELETE FROM metric WHERE run_id = ?1;"
                       "DELETE FROM metric_step WHERE run_id = ?1",
                       0);
    if (code == SQLITE_OK && plan)
        code = rps_write_run_metrics(r->reader->db, r->run_id, plan);
    rps_plan_free(plan);
    return code;
}

/* --- its periods ------------------------------------------------------------------------------ */

/* When the run ended, by its row; -1 when that is not known, or too many periods say otherwise. */
static int believed_end(const struct reconstruct *r, int64_t *ret_ns)
{
    return ask(r,
               "SELECT CASE WHEN elapsed_ns >= 0 AND state = 'complete' AND"
               " (SELECT count(*) FROM period AS p WHERE p.run_id = ?1"
               "  AND start_ns > elapsed_ns) * 100"
               " <= (SELECT count(*) FROM period AS p WHERE p.run_id = ?1)"
               " THEN elapsed_ns ELSE -1 END FROM run WHERE run_id = ?1",
               0, ret_ns);
}

/* End and state of the run, once it is known which periods stay; ?2 is the end of the last. */
static const char sql_end[] =
    "UPDATE run SET elapsed_ns = ?2 WHERE run_id = ?1 AND ?2 >= 0"
    " AND (elapsed_ns IS NULL OR elapsed_ns < ?2);"
    "UPDATE run SET state = 'interrupted', end_reason = 'saved from a damaged store before it had"
    " ended' WHERE run_id = ?1 AND state NOT IN ('complete', 'interrupted')";

/* Those of which anything is left. */
static const char sql_count_detections[] =
    "SELECT count(*) FROM (SELECT detection FROM detection WHERE run_id = ?1 UNION"
    " SELECT detection FROM phase WHERE run_id = ?1 UNION"
    " SELECT detection FROM outlier WHERE run_id = ?1)";

/* Detections that go beyond the last period, ?2. */
static const char sql_detections[] =
    "DELETE FROM detection WHERE run_id = ?1 AND detection IN"
    " (SELECT detection FROM phase WHERE run_id = ?1 AND last_period > ?2);"
    "DELETE FROM outlier WHERE run_id = ?1 AND (period < 0 OR period > ?2)";

static void delete_detection(void *context, int64_t detection, const struct rps_error *why)
{
    struct reconstruct *r = context;

    (void)why;
    if (r->delete_code == SQLITE_OK)
        r->delete_code =
            run_sql(r, "DELETE FROM detection WHERE run_id = ?1 AND detection = ?2", detection);
}

/* Take out detections that are not whole any more; `rpistat phases` makes them again. */
static int rebuild_detections(struct reconstruct *r)
{
    const struct rps_detection_sink sink = {r, delete_detection};
    struct rps_error err;
    int64_t before = 0, after = 0;
    int code = ask(r, sql_count_detections, 0, &before);

    if (code == SQLITE_OK)
        code = run_sql(r, sql_detections, (int64_t)r->sums.last_period);
    if (code == SQLITE_OK && rps_detection_check(r->reader, r->run_id, &sink, &err) < 0)
        code = rps_error_is_memory(&err) ? SQLITE_NOMEM : SQLITE_ERROR;
    if (code == SQLITE_OK)
        code = r->delete_code;
    if (code == SQLITE_OK)
        code = rps_detection_delete_strays(r->reader->db, r->run_id);
    if (code == SQLITE_OK)
        code = ask(r, sql_count_detections, 0, &after);
    r->detections = before - after;
    return code;
}

static int rebuild_totals(struct reconstruct *r)
{
    int64_t ended = 0;
    int code = ask(r,
                   "SELECT state = 'complete' OR EXISTS (SELECT 1 FROM event_set"
                   " WHERE run_id = ?1 AND periods IS NOT NULL) FROM run WHERE run_id = ?1",
                   0, &ended);

    if (code != SQLITE_OK || !ended)
        return code;
    code = run_sql(r,
                   "UPDATE event SET count = NULL, estimate = NULL, low = NULL, high = NULL,"
                   " certainty = NULL, share = NULL WHERE run_id = ?1",
                   0);
    if (code == SQLITE_OK)
        code = run_sql(r,
                       "UPDATE metric SET value = NULL, low = NULL, high = NULL,"
                       " certainty = NULL, share = NULL WHERE run_id = ?1",
                       0);
    if (code == SQLITE_OK)
        code = rps_write_run_sums(r->reader->db, r->run_id, r->sums.set_count, r->sums.sum);
    return code;
}

/* --- blocks ----------------------------------------------------------------------------------- */

/* Blocks of which the finer rows, of level ?2, may have been thinned away: they lie where those of
 * the next finer level were. `x` is the first of a CPU of which there are finer rows. */
#define SQL_BLOCKS                                                                                 \
    "WITH b AS MATERIALIZED (SELECT cpu, min(period) AS first, max(last_period) + 1 AS next,"      \
    "  max(cycle) - CAST(total(cycles) AS INTEGER) AS from_cycle, max(cycle) AS to_cycle"          \
    "  FROM rollup WHERE run_id = ?1 AND level = ?2 + 1 GROUP BY cpu, rotation HAVING ?2 = 0"      \
    "  OR next <= (SELECT before_period FROM thinned AS t WHERE t.run_id = ?1"                     \
    "   AND t.cpu = rollup.cpu AND t.level = ?2 - 1)),"                                            \
    " x AS MATERIALIZED (SELECT cpu, min(first) AS first FROM b WHERE CASE ?2 WHEN 0 THEN EXISTS"  \
    "  (SELECT 1 FROM period AS p WHERE p.run_id = ?1 AND p.cpu = b.cpu AND p.cycle"               \
    "   BETWEEN b.from_cycle AND b.to_cycle AND p.period BETWEEN b.first AND b.next - 1)"          \
    "  ELSE EXISTS (SELECT 1 FROM rollup AS p WHERE p.run_id = ?1 AND p.level = ?2"                \
    "   AND p.cpu = b.cpu AND p.period BETWEEN b.first AND b.next - 1) END GROUP BY cpu) "

/*
 * Up to where rows were thinned, which need not be known any more, and must agree with what is
 * left: what `thinned` says where a block ends there, and all blocks before the first one of which
 * there are finer rows. So blocks stand for fine rows that were lost right behind the thinned ones,
 * or at the beginning of a run. They cannot elsewhere, where those of finer levels are read on both
 * sides: a gap stands there, and the block goes.
 */
static const char sql_thinned[] = SQL_BLOCKS
    "DELETE FROM thinned WHERE run_id = ?1 AND level = ?2"
    " AND before_period NOT IN (SELECT next FROM b WHERE b.cpu = thinned.cpu);" SQL_BLOCKS
    "INSERT OR REPLACE INTO thinned (run_id, cpu, level, before_period)"
    " SELECT ?1, b.cpu, ?2, max(b.next) FROM b LEFT JOIN x ON x.cpu = b.cpu"
    " LEFT JOIN thinned AS t ON t.run_id = ?1 AND t.cpu = b.cpu AND t.level = ?2"
    " WHERE x.first IS NULL OR b.first < x.first OR b.next <= t.before_period GROUP BY b.cpu";

/* What cannot stand for thinned rows: ?2 is the number of sets. */
static const char sql_drop_broken[] =
    "DELETE FROM thinned WHERE run_id = ?1 AND level NOT BETWEEN 0 AND 3;"
    "DELETE FROM rollup WHERE run_id = ?1 AND (level NOT BETWEEN 1 AND 4 OR"
    " (level, cpu, rotation) IN (SELECT level, cpu, rotation FROM rollup"
    "  WHERE run_id = ?1 GROUP BY level, cpu, rotation HAVING count(*) <> ?2 OR"
    "  max(last_period) - min(period) + 1 <> ?2 * min(merged)))";

/* What is left then of the blocks is the finest there is; the others are made again. */
static const char sql_drop_coarse[] =
    "DELETE FROM rollup WHERE run_id = ?1 AND (period >= coalesce((SELECT"
    "  before_period FROM thinned AS t WHERE t.run_id = ?1 AND t.cpu = rollup.cpu"
    "  AND t.level = rollup.level - 1), 0) OR period < coalesce((SELECT"
    "  before_period FROM thinned AS t WHERE t.run_id = ?1 AND t.cpu = rollup.cpu"
    "  AND t.level = rollup.level), 0));"
    "DELETE FROM gap WHERE run_id = ?1 AND (start_ns < 0 OR length_ns < 0);"
    "UPDATE run SET elapsed_ns = NULL WHERE run_id = ?1 AND ?2 < 0 AND state = 'complete'";

static int insert_block(void *context, const struct rps_period *row)
{
    const struct reconstruct *r = context;

    return rps_period_insert(r->insert_block, r->run_id, row);
}

/* Gap rows for what is missing, and the sums and blocks of what is there. */
static int rebuild_sums(struct reconstruct *r)
{
    const struct rps_rollup_sink sink = {r, insert_block};
    struct rps_error err;
    int code = rps_questions_write_gaps(r->reader->db, r->run_id, &r->lost_stretches, &r->lost_ns);

    if (code == SQLITE_OK)
        code = rps_period_prepare(r->reader->db, 1, &r->insert_block);
    if (code == SQLITE_OK && rps_run_sums(r->reader, r->run_id, &sink, &r->sums, &err) < 0)
        code = rps_error_is_memory(&err) ? SQLITE_NOMEM : SQLITE_ERROR;
    return code;
}

static int rebuild_periods(struct reconstruct *r)
{
    int64_t end_ns = -1;
    int code = believed_end(r, &end_ns);

    if (code == SQLITE_OK)
        code = run_sql(r, sql_drop_broken, r->sets);
    for (int level = 0; level < RPS_LEVELS && code == SQLITE_OK; level++)
        code = run_sql(r, sql_thinned, level);
    if (code == SQLITE_OK)
        code = rps_questions_drop(r->reader->db, r->run_id, end_ns, &r->dropped);
    if (code == SQLITE_OK)
        code = run_sql(r, sql_drop_coarse, end_ns);
    if (code == SQLITE_OK)
        code = rebuild_sums(r);
    if (code == SQLITE_OK)
        code = run_sql(r, sql_end, r->sums.end_ns);
    if (code == SQLITE_OK)
        code = rebuild_detections(r);
    return code == SQLITE_OK ? rebuild_totals(r) : code;
}

/* --- telling ---------------------------------------------------------------------------------- */

/* "1 row", "2 rows". */
static const char *counted(char ret[64], uint64_t count, const char *one, const char *many)
{
    snprintf(ret, 64, "%" PRIu64 " %s", count, count == 1 ? one : many);
    return ret;
}

static void tell_periods(const struct reconstruct *r, struct rps_findings *findings)
{
    const char *together = r->sums.periods > r->sums.most ? ", all CPUs together" : "";
    char saved[64], of[64] = "", lost[160] = ", no time is missing";
    char stretches[64], time[RPS_TEXT_NUMBER_SIZE];

    if (r->expected > (int64_t)r->sums.periods)
        snprintf(of, sizeof(of), " of %" PRId64, r->expected);
    if (r->lost_stretches > 0)
        snprintf(lost, sizeof(lost), "; %s missing, %s in all: gap rows say where",
                 counted(stretches, r->lost_stretches, "stretch is", "stretches are"),
                 rps_text_duration(time, sizeof(time), r->lost_ns));
    rps_findings_add(findings, RPS_FINDING_NOTE, "run %" PRId64 ": %s%s saved%s%s", r->run_id,
                     counted(saved, r->sums.periods, "period", "periods"), of, together, lost);
}

static void tell(const struct reconstruct *r, struct rps_findings *findings)
{
    char number[64];

    tell_periods(r, findings);
    if (r->dropped > 0)
        rps_findings_add(findings, RPS_FINDING_NOTE,
                         "run %" PRId64 ": %s could be read but not believed, and left out",
                         r->run_id, counted(number, r->dropped, "row", "rows"));
    if (r->is_new)
        rps_findings_add(findings, RPS_FINDING_NOTE,
                         "run %" PRId64 ": what was recorded, when and where is lost", r->run_id);
    if (r->placeholders > 0)
        rps_findings_add(findings, RPS_FINDING_NOTE,
                         "run %" PRId64 ": the description of %s is lost: numbers stand for names",
                         r->run_id,
                         counted(number, (uint64_t)r->placeholders, "event or event set",
                                 "events and event sets"));
    if (r->without_metrics)
        rps_findings_add(findings, RPS_FINDING_NOTE,
                         "run %" PRId64 ": the formulas of its derived figures are lost",
                         r->run_id);
    if (r->detections > 0)
        rps_findings_add(
            findings, RPS_FINDING_NOTE,
            "run %" PRId64 ": %s left out: `rpistat phases` finds its phases again", r->run_id,
            counted(number, (uint64_t)r->detections, "detection of phases is not whole and",
                    "detections of phases are not whole and"));
}

int rps_reconstruct_run(struct rps_reader *reader, int64_t run_id, struct rps_findings *findings,
                        struct rps_repair_result *result, struct rps_error *err)
{
    struct reconstruct r = {.reader = reader, .run_id = run_id, .expected = -1};
    int code = rps_database_exec(reader->db, "BEGIN IMMEDIATE"), failed = 0;

    if (code == SQLITE_OK)
        code = rebuild_sets(&r);
    if (code == SQLITE_OK)
        code = rebuild_periods(&r);
    if (code == SQLITE_OK)
        code = rps_repair_code(reader->db, run_id, r.sums.last_period, &r.dropped);
    if (code == SQLITE_OK)
        code = rebuild_description(&r);
    if (code == SQLITE_OK)
        code = rps_database_exec(reader->db, "COMMIT");
    if (code != SQLITE_OK) {
        failed = rps_reader_error(reader, code, err);
        rps_database_exec(reader->db, "ROLLBACK");
    } else {
        tell(&r, findings);
        result->periods += r.sums.most;
        result->lost_stretches += r.lost_stretches;
        result->dropped += r.dropped;
        result->runs++;
    }
    free(r.sums.sum);
    sqlite3_finalize(r.insert_block);
    return failed;
}
