/*
 * What the writer inserts: a row a kind of record in the table below, those of a wing, and the
 * rollups, whose rows are added in the transaction of the period that completes them.
 */
#include "writer.h"

#include <inttypes.h>
#include <string.h>

#include "database.h"
#include "fields.h"
#include "period.h"
#include "tables.h"

static uint32_t measured(const struct rps_writer *writer, uint32_t set_no)
{
    return set_no < (uint32_t)writer->set_count ? writer->measured[set_no] : 0;
}

static int insert_period(struct rps_writer *writer, sqlite3_stmt *stmt, const void *payload)
{
    struct rps_period period = *(const struct rps_period *)payload;
    int code;

    period.counted &= measured(writer, period.set_no);
    code = rps_period_insert(stmt, writer->run_id, &period);
    return code == SQLITE_OK ? rps_rollup_add(writer->rollup, &period) : code;
}

static int insert_note(struct rps_writer *writer, sqlite3_stmt *stmt, const void *payload)
{
    const struct rps_write_note *note = payload;
    int is_gap = sqlite3_bind_parameter_count(stmt) > 4;
    int code = rps_database_bind(stmt, is_gap ? "iiitii" : "iiit", writer->run_id, note->start_ns,
                                 note->number, note->text, (int64_t)note->cpu, note->length_ns);

    return code == SQLITE_OK ? rps_database_run(stmt) : code;
}

static int insert_state(struct rps_writer *writer, sqlite3_stmt *stmt, const void *payload)
{
    (void)stmt;
    return rps_system_write_state(&writer->system, writer->db, writer->run_id, payload);
}

static int insert_reading(struct rps_writer *writer, sqlite3_stmt *stmt, const void *payload)
{
    (void)stmt;
    return rps_system_write_reading(&writer->system, writer->db, writer->run_id, payload);
}

static int insert_row(struct rps_writer *writer, sqlite3_stmt *stmt,
                      const struct rps_write_row *row)
{
    const char *text = (const char *)(row->number + row->number_count);
    int code = sqlite3_bind_int64(stmt, 1, writer->run_id);

    for (int i = 0; i < row->number_count && code == SQLITE_OK; i++)
        code = sqlite3_bind_int64(stmt, i + 2, row->number[i]);
    for (int i = row->number_count + 2;
         i <= sqlite3_bind_parameter_count(stmt) && code == SQLITE_OK; i++) {
        code = rps_database_bind_text(stmt, i, text);
        text += strlen(text) + 1;
    }
    return code == SQLITE_OK ? rps_database_run(stmt) : code;
}

/* How records of each kind of the store's own are inserted. A period's statement is made by
 * period.c, those of readings by system.c, with the first. */
static const struct {
    const char *sql;
    int (*insert)(struct rps_writer *writer, sqlite3_stmt *stmt, const void *payload);
} kinds[RPS_WRITE_RECORD_WING] = {
    [RPS_WRITE_RECORD_PERIOD] = {NULL, insert_period},
    [RPS_WRITE_RECORD_MARK] = {"INSERT INTO mark (run_id, time_ns, mark_no, text)"
                               " VALUES (?1, ?2, ?3, ?4)",
                               insert_note},
    [RPS_WRITE_RECORD_GAP] = {"INSERT INTO gap (run_id, start_ns, gap_no, cpu, length_ns, reason)"
                              " VALUES (?1, ?2, ?3, ?5, ?6, ?4)",
                              insert_note},
    [RPS_WRITE_RECORD_STATE] = {NULL, insert_state},
    [RPS_WRITE_RECORD_READING] = {NULL, insert_reading},
};

int rps_write_record_prepare(struct rps_writer *writer)
{
    struct rps_write_statements *s = &writer->statements;
    struct {
        sqlite3_stmt **stmt;
        const char *sql;
    } const statements[] = {
        {&s->begin, "BEGIN IMMEDIATE"},
        {&s->commit, "COMMIT"},
        {&s->rollback, "ROLLBACK"},
        {&s->run_state, "SELECT state FROM run WHERE run_id = ?1 AND uuid = ?2"},
        {&s->set_recording, "UPDATE run SET state = 'recording', end_reason = '',"
                            " elapsed_ns = NULL WHERE run_id = ?1"},
        {&s->heartbeat, "INSERT INTO heartbeat (run_id, realtime_ns, boot_id, interval_ns)"
                        " VALUES (?1, ?2, ?3, ?4)"
                        " ON CONFLICT DO UPDATE SET realtime_ns = excluded.realtime_ns,"
                        " boot_id = excluded.boot_id, interval_ns = excluded.interval_ns"},
    };
    int code = rps_period_prepare(writer->db, 0, &s->kind[RPS_WRITE_RECORD_PERIOD]);

    if (code == SQLITE_OK)
        code = rps_period_prepare(writer->db, 1, &s->rollup);
    if (code == SQLITE_OK && rps_store_wing)
        code = rps_store_wing->open(writer->db, writer->run_id, &s->wing);
    for (int k = 1; k < RPS_WRITE_RECORD_KINDS && code == SQLITE_OK; k++) {
        const char *sql = k < RPS_WRITE_RECORD_WING ? kinds[k].sql
                          : rps_store_wing ? rps_store_wing->insert[k - RPS_WRITE_RECORD_WING]
                                           : NULL;

        if (sql)
            code = rps_database_prepare(writer->db, sql, &s->kind[k]);
    }
    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]) && code == SQLITE_OK; i++)
        code = rps_database_prepare(writer->db, statements[i].sql, statements[i].stmt);
    return code;
}

void rps_write_record_finalize(struct rps_writer *writer)
{
    struct rps_write_statements *s = &writer->statements;
    sqlite3_stmt *const statements[] = {s->begin,         s->commit,    s->rollback, s->run_state,
                                        s->set_recording, s->heartbeat, s->rollup};

    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++)
        sqlite3_finalize(statements[i]);
    for (int k = 0; k < RPS_WRITE_RECORD_KINDS; k++)
        sqlite3_finalize(s->kind[k]);
    if (rps_store_wing)
        rps_store_wing->close(s->wing);
    rps_system_write_finalize(&writer->system);
    *s = (struct rps_write_statements){0};
}

int rps_write_record_insert(struct rps_writer *writer, const struct rps_ring_record *record)
{
    sqlite3_stmt *stmt = writer->statements.kind[record->kind];
    const struct rps_write_row *row = (const void *)(record + 1);
    int of_wing = (int)record->kind - RPS_WRITE_RECORD_WING;

    if (of_wing < 0)
        return kinds[record->kind].insert(writer, stmt, record + 1);
    if (stmt)
        return insert_row(writer, stmt, row);
    return rps_store_wing->gather(writer->statements.wing, of_wing, row->number);
}

void rps_write_record_sum(struct rps_writer *writer, const struct rps_ring_record *record)
{
    const struct rps_period *period = (const void *)(record + 1);

    if (record->kind != RPS_WRITE_RECORD_PERIOD)
        return;
    if (period->start_ns + period->length_ns > writer->end_ns)
        writer->end_ns = period->start_ns + period->length_ns;
    if (period->period >= writer->next_period)
        writer->next_period = period->period + 1;
    if (period->set_no < (uint32_t)writer->set_count)
        rps_set_sum_add(&writer->sum[period->set_no], period, measured(writer, period->set_no));
}
