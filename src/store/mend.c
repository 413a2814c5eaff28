/*
 * Making a run whole: what was lost of its description gets names made of numbers, since a run that
 * no command can read would be lost altogether, and what was lost of its periods gets gap rows.
 */
#include "mend.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "database.h"
#include "examine.h"
#include "misfits.h"
#include "reader.h"
#include "rpistat/text.h"

struct mend {
    struct rps_reader *reader;
    int64_t run_id;
    struct rps_run_shape shape;
    struct rps_examined examined;
    struct rps_hole *hole; /* owned */
    size_t hole_count, hole_room;
    int no_memory;
    int64_t lost_ns;
    int64_t expected; /* periods by the run's own totals; -1: it had none */
    uint64_t dropped;
    int placeholders;    /* rows of its description that were made up */
    int is_new;          /* its row in `run` was lost */
    int without_metrics; /* its metrics could not be used any more */
};

/* Run constant SQL with ?1 run_id, ?2 and ?3; an SQLite code. */
static int run_sql(const struct mend *mend, const char *sql, int64_t second, int64_t third)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(mend->reader->db, sql, -1, &stmt, NULL);
    int count = sqlite3_bind_parameter_count(stmt);

    if (code != SQLITE_OK)
        return code;
    sqlite3_bind_int64(stmt, 1, mend->run_id);
    if (count > 1)
        sqlite3_bind_int64(stmt, 2, second);
    if (count > 2)
        sqlite3_bind_int64(stmt, 3, third);
    code = rps_database_run(stmt);
    sqlite3_finalize(stmt);
    return code;
}

/* As run_sql; *ret is the first column of the first row. */
static int ask(const struct mend *mend, const char *sql, int64_t second, int64_t *ret)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(mend->reader->db, sql, -1, &stmt, NULL);

    if (code != SQLITE_OK)
        return code;
    sqlite3_bind_int64(stmt, 1, mend->run_id);
    if (sqlite3_bind_parameter_count(stmt) > 1)
        sqlite3_bind_int64(stmt, 2, second);
    code = sqlite3_step(stmt);
    if (code == SQLITE_ROW)
        *ret = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

/* --- the description -------------------------------------------------------------------------- */

static int ensure_run(struct mend *mend)
{
    int64_t found = 0;
    int code = ask(mend, "SELECT count(*) FROM run WHERE run_id = ?1", 0, &found);

    mend->is_new = found == 0;
    if (code != SQLITE_OK || found != 0)
        return code;
    return run_sql(
        mend,
        "INSERT INTO run (run_id, uuid, label, tags, command, folder, host, boot_id, cpu_model,"
        " kernel, architecture, version, target, pmu, fitting, plan, plan_title, plan_explain,"
        " set_count, clock_label, clock_unit, governor, state, end_reason, exit_signal)"
        " VALUES (?1, lower(hex(randomblob(4))) || '-' || lower(hex(randomblob(2))) || '-4' ||"
        " substr(lower(hex(randomblob(2))), 2) || '-a' || substr(lower(hex(randomblob(2))), 2) ||"
        " '-' || lower(hex(randomblob(6))), '', '{}', '[]', '', '', '', '', '', '', '', '', '', '',"
        " '', '', '', 1, 'Clock', 'events', '', 'interrupted', 'its description was lost', 0)",
        0, 0);
}

/* The number of event sets: the run's own, or what its rows show. */
static int mend_set_count(const struct mend *mend, int64_t *ret)
{
    int64_t sets = 0;
    int code;

    if (!mend->is_new) {
        code = ask(mend, "SELECT set_count FROM run WHERE run_id = ?1", 0, &sets);
        if (code != SQLITE_OK)
            return code;
    }
    if (sets < 1 || sets > RPS_SHAPE_SETS_MAX) {
        code = ask(mend,
                   "SELECT max(coalesce((SELECT max(set_no) FROM event_set WHERE run_id = ?1), 0),"
                   " coalesce((SELECT max(set_no) FROM event WHERE run_id = ?1), 0),"
                   " coalesce((SELECT max(set_no) FROM period WHERE run_id = ?1"
                   "           AND set_no < ?2), 0)) + 1",
                   RPS_SHAPE_SETS_MAX, &sets);
        if (code != SQLITE_OK)
            return code;
        sets = sets > RPS_SHAPE_SETS_MAX ? RPS_SHAPE_SETS_MAX : sets;
    }
    *ret = sets;
    return run_sql(mend, "UPDATE run SET set_count = ?2 WHERE run_id = ?1 AND set_count <> ?2",
                   sets, 0);
}

/* By set: the slots with a count in any of its periods. */
static int find_counted(const struct mend *mend, int64_t sets, uint8_t *ret)
{
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(
        mend->reader->db,
        "SELECT set_no, max(c0 IS NOT NULL) + 2 * max(c1 IS NOT NULL) + 4 * max(c2 IS NOT NULL)"
        " + 8 * max(c3 IS NOT NULL) + 16 * max(c4 IS NOT NULL) + 32 * max(c5 IS NOT NULL)"
        " + 64 * max(c6 IS NOT NULL) + 128 * max(c7 IS NOT NULL) FROM period WHERE run_id = ?1"
        " AND set_no >= 0 AND set_no < ?2 GROUP BY set_no",
        -1, &stmt, NULL);

    if (code != SQLITE_OK)
        return code;
    sqlite3_bind_int64(stmt, 1, mend->run_id);
    sqlite3_bind_int64(stmt, 2, sets);
    while ((code = sqlite3_step(stmt)) == SQLITE_ROW) {
        int set = rps_database_index(stmt, 0, sets);

        if (set >= 0)
            ret[set] = (uint8_t)sqlite3_column_int(stmt, 1);
    }
    sqlite3_finalize(stmt);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

/* The events of a set: a row for each slot up to the last that is described or was counted. */
static int mend_events(struct mend *mend, int64_t set, uint8_t counted)
{
    int64_t slots = 0;
    int code = ask(mend,
                   "SELECT coalesce(max(slot), 0) + 1 FROM event WHERE run_id = ?1"
                   " AND set_no = ?2",
                   set, &slots);

    while (slots < RPS_SLOT_MAX && counted >> slots)
        slots++;
    for (int64_t slot = 0; slot < slots && code == SQLITE_OK; slot++) {
        code = run_sql(mend,
                       "INSERT OR IGNORE INTO event (run_id, set_no, slot, name, spec, label, role,"
                       " unit, family, modifiers, explain, type, config, config1, config2, state,"
                       " reason) VALUES (?1, ?2, ?3, printf('event_%d_%d', ?2, ?3), '',"
                       " printf('Event %d of set %d', ?3, ?2), '', 'events', '', '',"
                       " 'Its description was lost.', 4, 0, 0, 0, 'unsupported',"
                       " 'its description was lost')",
                       set, slot);
        mend->placeholders += code == SQLITE_OK ? sqlite3_changes(mend->reader->db) : 0;
        if (code == SQLITE_OK && counted >> slot & 1)
            code = run_sql(mend,
                           "UPDATE event SET state = 'measured', reason = '' WHERE run_id = ?1"
                           " AND set_no = ?2 AND slot = ?3 AND state <> 'measured'",
                           set, slot);
    }
    return code;
}

static int mend_sets(struct mend *mend)
{
    uint8_t counted[RPS_SHAPE_SETS_MAX] = {0};
    int64_t sets = 1;
    int code = mend_set_count(mend, &sets);

    if (code == SQLITE_OK)
        code = run_sql(mend,
                       "DELETE FROM event_set WHERE run_id = ?1"
                       " AND set_no NOT BETWEEN 0 AND ?2 - 1",
                       sets, 0);
    if (code == SQLITE_OK)
        code = run_sql(mend,
                       "DELETE FROM event WHERE run_id = ?1"
                       " AND set_no NOT BETWEEN -1 AND ?2 - 1",
                       sets, 0);
    if (code == SQLITE_OK)
        code = find_counted(mend, sets, counted);
    if (code == SQLITE_OK)
        code = ask(mend,
                   "SELECT CASE WHEN count(periods) = ?2 THEN sum(periods) ELSE -1 END"
                   " FROM event_set WHERE run_id = ?1",
                   sets, &mend->expected);
    for (int64_t set = 0; set < sets && code == SQLITE_OK; set++) {
        code = run_sql(mend,
                       "INSERT OR IGNORE INTO event_set (run_id, set_no, name, explain)"
                       " VALUES (?1, ?2, printf('set_%d', ?2), 'Its description was lost.')",
                       set, 0);
        mend->placeholders += code == SQLITE_OK ? sqlite3_changes(mend->reader->db) : 0;
        if (code == SQLITE_OK)
            code = mend_events(mend, set, counted[set]);
    }
    return code;
}

/* Have the run and its plan read as every command reads them; leave out what prevents it. */
static int mend_description(struct mend *mend)
{
    struct rps_plan *plan = NULL;
    struct rps_error err;
    struct rps_run run;
    int code = SQLITE_OK;

    if (rps_reader_run(mend->reader, mend->run_id, &run, &err) == 0)
        rps_run_free(&run);
    else if (rps_error_is_memory(&err))
        code = SQLITE_NOMEM;
    else
        code = run_sql(mend, "UPDATE run SET tags = '{}', command = '[]' WHERE run_id = ?1", 0, 0);
    if (code == SQLITE_OK && rps_reader_plan(mend->reader, mend->run_id, &plan, &err) < 0) {
        mend->without_metrics = 1;
        code = rps_error_is_memory(&err) ? SQLITE_NOMEM : SQLITE_OK;
        if (code == SQLITE_OK)
            code = run_sql(mend, "DELETE FROM metric WHERE run_id = ?1", 0, 0);
        if (code == SQLITE_OK)
            code = run_sql(mend, "DELETE FROM metric_step WHERE run_id = ?1", 0, 0);
    }
    rps_plan_free(plan);
    return code;
}

/* --- its periods ------------------------------------------------------------------------------ */

/* When the run ended, by its row; -1 when that is not known, or too many periods say otherwise. */
static int believed_end(const struct mend *mend, int64_t *ret_ns)
{
    return ask(mend,
               "SELECT CASE WHEN elapsed_ns >= 0 AND state = 'complete' AND"
               " (SELECT count(*) FROM period AS p WHERE p.run_id = ?1"
               "  AND start_ns > elapsed_ns) * 100"
               " <= (SELECT count(*) FROM period AS p WHERE p.run_id = ?1)"
               " THEN elapsed_ns ELSE -1 END FROM run WHERE run_id = ?1",
               0, ret_ns);
}

static void keep_hole(void *context, const struct rps_hole *hole)
{
    struct mend *mend = context;

    if (mend->hole_count == mend->hole_room) {
        size_t room = 2 * mend->hole_room + 64;
        struct rps_hole *more = realloc(mend->hole, room * sizeof(*more));

        if (!more) {
            mend->no_memory = 1;
            return;
        }
        mend->hole = more;
        mend->hole_room = room;
    }
    mend->hole[mend->hole_count++] = *hole;
    mend->lost_ns += hole->end_ns - hole->start_ns;
}

static void ignore_faults(void *context, int32_t cpu,
                          const struct rps_fault_sum fault[RPS_FAULT_COUNT])
{
    (void)context;
    (void)cpu;
    (void)fault;
}

static int write_gaps(struct mend *mend)
{
    sqlite3_stmt *stmt = NULL;
    int code = rps_database_prepare(
        mend->reader->db,
        "INSERT INTO gap (run_id, start_ns, gap_no, cpu, length_ns, reason) VALUES (?1, ?2,"
        " (SELECT coalesce(max(gap_no), -1) + 1 FROM gap WHERE run_id = ?1 AND start_ns = ?2),"
        " ?3, ?4, CASE WHEN ?5 = 0 THEN 'lost when the store was damaged'"
        " ELSE printf('lost when the store was damaged: %d period%s', ?5,"
        " CASE ?5 WHEN 1 THEN '' ELSE 's' END) END)",
        &stmt);

    for (size_t i = 0; i < mend->hole_count && code == SQLITE_OK; i++) {
        const struct rps_hole *hole = &mend->hole[i];

        sqlite3_bind_int64(stmt, 1, mend->run_id);
        sqlite3_bind_int64(stmt, 2, hole->start_ns);
        sqlite3_bind_int64(stmt, 3, hole->cpu);
        sqlite3_bind_int64(stmt, 4, hole->end_ns - hole->start_ns);
        sqlite3_bind_int64(stmt, 5, (int64_t)hole->periods);
        code = rps_database_run(stmt);
    }
    sqlite3_finalize(stmt);
    return code;
}

/* State and end of the run, once it is known which periods stay. */
static int mend_end(const struct mend *mend, int64_t end_ns)
{
    int code = run_sql(mend,
                       "UPDATE run SET elapsed_ns = (SELECT max(start_ns + length_ns) FROM period"
                       " WHERE run_id = ?1) WHERE run_id = ?1 AND (state = 'complete' AND ?2 < 0"
                       " OR elapsed_ns IS NULL OR elapsed_ns <"
                       " (SELECT max(start_ns + length_ns) FROM period WHERE run_id = ?1))",
                       end_ns, 0);

    if (code == SQLITE_OK)
        code = run_sql(mend,
                       "UPDATE run SET state = 'interrupted', end_reason = 'saved from a damaged"
                       " store before it had ended' WHERE run_id = ?1 AND state = 'recording'",
                       0, 0);
    return code;
}

static int mend_totals(struct mend *mend)
{
    int64_t ended = 0;
    int code = ask(mend,
                   "SELECT state = 'complete' OR EXISTS (SELECT 1 FROM event_set"
                   " WHERE run_id = ?1 AND periods IS NOT NULL) FROM run WHERE run_id = ?1",
                   0, &ended);

    if (code != SQLITE_OK || !ended)
        return code;
    code = run_sql(mend, "UPDATE event SET count = NULL WHERE run_id = ?1", 0, 0);
    if (code == SQLITE_OK)
        code = rps_write_run_sums(mend->reader->db, mend->run_id, mend->shape.set_count,
                                  mend->examined.sum);
    return code;
}

static int mend_periods(struct mend *mend)
{
    const struct rps_examiner examiner = {mend, keep_hole, ignore_faults};
    int64_t end_ns = -1, sets = 1;
    int code = believed_end(mend, &end_ns);

    if (code == SQLITE_OK)
        code = ask(mend, "SELECT set_count FROM run WHERE run_id = ?1", 0, &sets);
    if (code == SQLITE_OK)
        code =
            rps_misfits_delete(mend->reader->db, mend->run_id, (int)sets, end_ns, &mend->dropped);
    if (code == SQLITE_OK)
        code = run_sql(
            mend, "DELETE FROM gap WHERE run_id = ?1 AND (start_ns < 0 OR length_ns < 0)", 0, 0);
    if (code == SQLITE_OK)
        code = mend_end(mend, end_ns);
    if (code == SQLITE_OK)
        code = rps_run_shape_load(mend->reader->db, mend->run_id, &mend->shape);
    if (code == SQLITE_OK)
        code = rps_examine_run(mend->reader->db, &mend->shape, &examiner, &mend->examined);
    if (code == SQLITE_OK && mend->no_memory)
        code = SQLITE_NOMEM;
    if (code == SQLITE_OK)
        code = write_gaps(mend);
    return code == SQLITE_OK ? mend_totals(mend) : code;
}

/* Detections that are not whole any more; `rpistat phases` makes them again. */
static int mend_phases(const struct mend *mend)
{
    int64_t last = (int64_t)mend->examined.last_period;
    int code =
        run_sql(mend,
                "DELETE FROM phase WHERE run_id = ?1 AND detection IN"
                " (SELECT detection FROM (SELECT detection, first_period, last_period, phase,"
                "  lag(last_period) OVER (PARTITION BY detection ORDER BY phase) AS before,"
                "  row_number() OVER (PARTITION BY detection ORDER BY phase) - 1 AS place"
                "  FROM phase WHERE run_id = ?1)"
                "  WHERE first_period < 0 OR first_period > last_period OR last_period > ?2"
                "  OR first_period <= before OR phase <> place)",
                last, 0);

    if (code == SQLITE_OK)
        code = run_sql(mend,
                       "DELETE FROM outlier WHERE run_id = ?1 AND (period < 0 OR period > ?2 OR"
                       " detection NOT IN (SELECT detection FROM phase WHERE run_id = ?1))",
                       last, 0);
    return code;
}

/* --- telling ---------------------------------------------------------------------------------- */

/* "1 row", "2 rows". */
static const char *counted(char ret[64], uint64_t count, const char *one, const char *many)
{
    snprintf(ret, 64, "%" PRIu64 " %s", count, count == 1 ? one : many);
    return ret;
}

static void tell_periods(const struct mend *mend, struct rps_findings *findings)
{
    char saved[64], of[64] = "", lost[160] = ", no time is missing";
    char stretches[64], time[RPS_TEXT_NUMBER_SIZE];

    if (mend->expected > (int64_t)mend->examined.periods)
        snprintf(of, sizeof(of), " of %" PRId64, mend->expected);
    if (mend->hole_count > 0)
        snprintf(lost, sizeof(lost), "; %s missing, %s in all: gap rows say where",
                 counted(stretches, mend->hole_count, "stretch is", "stretches are"),
                 rps_text_duration(time, sizeof(time), mend->lost_ns));
    rps_findings_add(findings, RPS_FINDING_NOTE, "run %" PRId64 ": %s%s saved%s", mend->run_id,
                     counted(saved, mend->examined.periods, "period", "periods"), of, lost);
}

static void tell(const struct mend *mend, struct rps_findings *findings)
{
    char number[64];

    tell_periods(mend, findings);
    if (mend->dropped > 0)
        rps_findings_add(findings, RPS_FINDING_NOTE,
                         "run %" PRId64 ": %s could be read but not believed, and left out",
                         mend->run_id, counted(number, mend->dropped, "row", "rows"));
    if (mend->is_new)
        rps_findings_add(findings, RPS_FINDING_NOTE,
                         "run %" PRId64 ": what was recorded, when and where is lost",
                         mend->run_id);
    if (mend->placeholders > 0)
        rps_findings_add(findings, RPS_FINDING_NOTE,
                         "run %" PRId64 ": the description of %s is lost: numbers stand for names",
                         mend->run_id,
                         counted(number, (uint64_t)mend->placeholders, "event or event set",
                                 "events and event sets"));
    if (mend->without_metrics)
        rps_findings_add(findings, RPS_FINDING_NOTE,
                         "run %" PRId64 ": the formulas of its derived figures are lost",
                         mend->run_id);
}

int rps_mend_run(struct rps_reader *reader, int64_t run_id, struct rps_findings *findings,
                 struct rps_repair_result *result, struct rps_error *err)
{
    struct mend mend = {.reader = reader, .run_id = run_id, .expected = -1};
    int code = rps_database_exec(reader->db, "BEGIN IMMEDIATE"), failed = 0;

    if (code == SQLITE_OK)
        code = ensure_run(&mend);
    if (code == SQLITE_OK)
        code = mend_sets(&mend);
    if (code == SQLITE_OK)
        code = mend_periods(&mend);
    if (code == SQLITE_OK)
        code = mend_phases(&mend);
    if (code == SQLITE_OK)
        code = mend_description(&mend);
    if (code == SQLITE_OK)
        code = rps_database_exec(reader->db, "COMMIT");
    if (code != SQLITE_OK) {
        failed = rps_reader_error(reader, code, err);
        rps_database_exec(reader->db, "ROLLBACK");
    } else {
        tell(&mend, findings);
        result->periods += mend.examined.periods;
        result->lost_stretches += mend.hole_count;
        result->dropped += mend.dropped;
        result->runs++;
    }
    rps_run_shape_free(&mend.shape);
    free(mend.examined.sum);
    free(mend.hole);
    return failed;
}
