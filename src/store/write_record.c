/* The rows that the writer inserts: its own kinds of records, records of an extension, and rollups.
 * Rollup rows are added in the transaction of the period that completes them. */
#include "writer.h"

#include <string.h>

#include "period.h"
#include "database.h"

static uint32_t measured(const struct rps_writer *writer, uint32_t set_no)
{
    return set_no < (uint32_t)writer->set_count ? writer->measured[set_no] : 0;
}

static int insert_period(struct rps_writer *writer, const struct rps_period *payload)
{
    struct rps_period period = *payload;
    int code;

    period.counted &= measured(writer, period.set_no);
    code = rps_period_insert(writer->statements.period, writer->run_id, &period);
    return code == SQLITE_OK ? rps_rollup_add(writer->rollup, &period) : code;
}

/* Return the SQL that inserts rows of the kind. ?1 is run_id; the row's numbers and then its texts
 * follow. Returns NULL if the record is not a row, or if an extension collects it. */
static const char *sql_of(uint32_t kind)
{
    switch (kind) {
    case RPS_WRITE_RECORD_MARK:
        return "INSERT INTO mark (run_id, time_ns, mark_no, text) VALUES (?, ?, ?, ?)";
    case RPS_WRITE_RECORD_GAP:
        return "INSERT INTO gap (run_id, start_ns, gap_no, cpu, length_ns, reason)"
               " VALUES (?, ?, ?, ?, ?, ?)";
    default:
        return rps_store_hooks && kind >= RPS_WRITE_RECORD_EXTENSION
                   ? rps_store_hooks->insert[kind - RPS_WRITE_RECORD_EXTENSION]
                   : NULL;
    }
}

static int insert_row(struct rps_writer *writer, const char *sql, const struct rps_write_row *row)
{
    const char *text = (const char *)(row->number + row->number_count);
    sqlite3_stmt *stmt;
    int code = rps_statements_get(&writer->statements.kept, sql, &stmt);

    if (code == SQLITE_OK)
        code = sqlite3_bind_int64(stmt, 1, writer->run_id);
    for (int i = 0; i < row->number_count && code == SQLITE_OK; i++)
        code = sqlite3_bind_int64(stmt, i + 2, row->number[i]);
    for (int i = row->number_count + 2;
         code == SQLITE_OK && i <= sqlite3_bind_parameter_count(stmt); i++) {
        code = rps_database_bind_text(stmt, i, text);
        text += strlen(text) + 1;
    }
    return code == SQLITE_OK ? rps_database_run(stmt) : code;
}

int rps_write_record_prepare(struct rps_writer *writer)
{
    struct rps_write_statements *s = &writer->statements;
    sqlite3_stmt *unused;
    int code = rps_period_prepare(writer->db, 0, &s->period);

    s->kept.db = writer->db;
    if (code == SQLITE_OK)
        code = rps_period_prepare(writer->db, 1, &s->rollup);
    if (code == SQLITE_OK && rps_store_hooks)
        code = rps_store_hooks->open(writer->db, writer->run_id, &s->extension);
    /* Prepare all statements before the run begins, to detect tables changed by other programs. */
    for (uint32_t kind = 1; kind < RPS_WRITE_RECORD_KINDS && code == SQLITE_OK; kind++)
        if (sql_of(kind))
            code = rps_statements_get(&s->kept, sql_of(kind), &unused);
    return code;
}

void rps_write_record_finalize(struct rps_writer *writer)
{
    struct rps_write_statements *s = &writer->statements;

    sqlite3_finalize(s->period);
    sqlite3_finalize(s->rollup);
    rps_statements_finalize(&s->kept);
    if (rps_store_hooks)
        rps_store_hooks->close(s->extension);
    rps_system_write_finalize(&writer->system);
    *s = (struct rps_write_statements){0};
}

int rps_write_record_insert(struct rps_writer *writer, const struct rps_ring_record *record)
{
    const void *payload = record + 1;
    const struct rps_write_row *row = payload;
    const char *sql = sql_of(record->kind);

    switch (record->kind) {
    case RPS_WRITE_RECORD_PERIOD:
        return insert_period(writer, payload);
    case RPS_WRITE_RECORD_STATE:
        return rps_system_write_state(&writer->system, writer->db, writer->run_id, payload);
    case RPS_WRITE_RECORD_READING:
        return rps_system_write_reading(&writer->system, writer->db, writer->run_id, payload);
    default:
        return sql ? insert_row(writer, sql, row)
                   : rps_store_hooks->gather(writer->statements.extension,
                                             (int)record->kind - RPS_WRITE_RECORD_EXTENSION,
                                             row->number);
    }
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
