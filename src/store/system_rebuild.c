/* What the finest rows of readings come to, for repair: blocks and totals are made of them by the
 * writer's code. */
#include "system.h"

#include <stdio.h>

#include "database.h"
#include "reader.h"

struct source {
    struct rps_reader *reader;
    int64_t run_id;
    enum rps_system_source source;
    sqlite3_stmt *insert; /* of a row of reading_rollup */
};

/* Add up the finest rows of a source; the blocks that they make go to the sink. */
static int add_up(struct source *source, const struct rps_system_block_sink *sink,
                  struct rps_system_blocks *ret, struct rps_error *err)
{
    struct rps_system_cursor *cursor;
    struct rps_system_row row;
    int got, code = SQLITE_OK;

    *ret = (struct rps_system_blocks){0};
    got = rps_system_cursor_open(&cursor, source->reader, source->run_id, source->source, INT64_MIN,
                                 INT64_MAX, 0, err);
    while (got >= 0 && code == SQLITE_OK && (got = rps_system_cursor_next(cursor, &row, err)) > 0) {
        code = rps_system_blocks_add(ret, &row, sink);
    }
    rps_system_cursor_close(cursor);
    if (got == 0 && code == SQLITE_OK)
        code = rps_system_blocks_end(ret, sink);
    return code == SQLITE_OK ? got : rps_reader_error(source->reader, code, err);
}

/* Rows that no recorder writes; ?2 is the highest period, ?3 the last source. */
static const char *const sql_drop[] = {
    "DELETE FROM reading WHERE run_id = ?1 AND (source NOT BETWEEN 0 AND ?3"
    " OR period NOT BETWEEN 0 AND ?2 OR length_us < 0 OR end_ns < 0)",
    "DELETE FROM reading_rollup WHERE run_id = ?1 AND (source NOT BETWEEN 0 AND ?3"
    " OR level NOT BETWEEN 1 AND 4 OR period < 0 OR last_period NOT BETWEEN period AND ?2"
    " OR period >> 4 * level <> last_period >> 4 * level OR length_us < 0 OR end_ns < 0)",
    "DELETE FROM signal WHERE run_id = ?1 AND (source NOT BETWEEN 0 AND ?3"
    " OR slot NOT BETWEEN 0 AND 15 OR kind NOT IN ('counter', 'gauge')"
    " OR state NOT IN ('read', 'unsupported'))",
};

/* Blocks of which finer rows are there are made again. */
static const char sql_drop_made[] =
    "DELETE FROM reading_rollup AS b WHERE run_id = ?1 AND (EXISTS (SELECT 1 FROM reading AS r"
    " WHERE r.run_id = ?1 AND r.source = b.source AND r.period BETWEEN b.period AND b.last_period)"
    " OR EXISTS (SELECT 1 FROM reading_rollup AS r WHERE r.run_id = ?1 AND r.source = b.source"
    "  AND r.level IN (b.level - 1, b.level - 2, b.level - 3) AND r.period BETWEEN b.period AND "
    "b.last_period))";

static int insert_block(void *context, const struct rps_system_row *row)
{
    struct source *source = context;

    return rps_system_row_insert(source->reader->db, &source->insert, source->run_id, row);
}

/* Names and kinds of a source that has readings, where rows of signal were lost. */
static int describe(struct source *source, const struct rps_system_row *total)
{
    struct rps_system_state state = {.source = source->source};
    int64_t rows = 0;
    int code = rps_database_ask(source->reader->db, &rows,
                                "SELECT count(*) FROM signal WHERE run_id = ?1 AND source = ?2",
                                "ii", source->run_id, (int64_t)source->source);

    if (code != SQLITE_OK || rows == rps_system_signal_count[source->source])
        return code;
    for (int slot = 0; slot < RPS_SYSTEM_SLOT_MAX; slot++) {
        if (total->readings[slot] > 0)
            state.supported |= UINT32_C(1) << slot;
        else
            snprintf(state.reason[slot], sizeof(state.reason[slot]), "its description was lost");
    }
    return rps_system_insert_signals(source->reader->db, source->run_id, &state);
}

static int rebuild_source(struct source *source)
{
    const struct rps_system_block_sink sink = {source, insert_block};
    struct rps_system_blocks blocks;
    struct rps_error err;
    int code;

    if (add_up(source, &sink, &blocks, &err) < 0)
        return rps_error_is_memory(&err) ? SQLITE_NOMEM : SQLITE_ERROR;
    if (!blocks.block[0].used)
        return SQLITE_OK;
    code = describe(source, &blocks.block[0].row);
    return code == SQLITE_OK
               ? rps_system_write_total(source->reader->db, source->run_id, &blocks.block[0].row)
               : code;
}

int rps_system_rebuild(struct rps_reader *reader, int64_t run_id, uint64_t last_period,
                       uint64_t *ret_dropped)
{
    sqlite3 *db = reader->db;
    int code = SQLITE_OK;

    for (size_t i = 0; i < sizeof(sql_drop) / sizeof(sql_drop[0]) && code == SQLITE_OK; i++) {
        code = rps_database_do(db, sql_drop[i], "iii", run_id, (int64_t)last_period,
                               (int64_t)RPS_SYSTEM_SOURCES - 1);
        *ret_dropped += (uint64_t)sqlite3_changes(db);
    }
    if (code == SQLITE_OK)
        code = rps_database_do(db, sql_drop_made, "i", run_id);
    if (code == SQLITE_OK)
        code = rps_database_do(db,
                               "UPDATE signal SET total = NULL, readings = NULL, lowest = NULL,"
                               " highest = NULL WHERE run_id = ?1",
                               "i", run_id);
    for (int s = 0; s < RPS_SYSTEM_SOURCES && code == SQLITE_OK; s++) {
        struct source source = {reader, run_id, (enum rps_system_source)s, NULL};

        code = rebuild_source(&source);
        sqlite3_finalize(source.insert);
    }
    return code;
}
