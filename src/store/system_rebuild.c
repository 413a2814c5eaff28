/* Totals of the finest rows of readings, for check and repair. The writer's code makes blocks and
 * totals from these rows. */
#include "system.h"

#include <inttypes.h>
#include <stdio.h>

#include "database.h"
#include "findings.h"
#include "reader.h"

struct source {
    struct rps_reader *reader;
    int64_t run_id;
    enum rps_system_source source;
    bool ended;               /* true if the run is complete, or was ended by a repair */
    sqlite3_stmt *block;      /* check: query for a row of reading_rollup; repair: the INSERT */
    uint64_t finest;          /* number of rows of blocks whose finer rows do not exist */
    uint64_t made, different; /* number of blocks made from finer rows, and of those that differ */
};

/* Sum the finest rows of a source. The sink receives the blocks. */
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
        source->finest += row.level > 0;
        code = rps_system_blocks_add(ret, &row, sink);
    }
    rps_system_cursor_close(cursor);
    if (got == 0 && code == SQLITE_OK)
        code = rps_system_blocks_end(ret, sink);
    return code == SQLITE_OK ? got : rps_reader_error(source->reader, code, err);
}

/* --- check ------------------------------------------------------------------------------------ */

/* Return true if a slot has equal values in two rows. */
static bool is_same_slot(const struct rps_system_row *a, const struct rps_system_row *b, int slot)
{
    if (a->readings[slot] != b->readings[slot])
        return false;
    return a->readings[slot] == 0 ||
           (a->sum[slot] == b->sum[slot] && (int64_t)a->lowest[slot] == (int64_t)b->lowest[slot] &&
            (int64_t)a->highest[slot] == (int64_t)b->highest[slot]);
}

static bool is_same(const struct rps_system_row *a, const struct rps_system_row *b)
{
    bool same = a->period == b->period && a->last_period == b->last_period &&
                a->end_ns == b->end_ns && a->length_us == b->length_us;

    for (int slot = 0; slot < RPS_SYSTEM_SLOT_MAX && same; slot++)
        same = is_same_slot(a, b, slot);
    return same;
}

static int compare_block(void *context, const struct rps_system_row *made)
{
    struct source *source = context;
    struct rps_system_row row = {.source = made->source, .level = made->level};
    int code;

    sqlite3_bind_int64(source->block, 3, made->level);
    sqlite3_bind_int64(source->block, 4, (int64_t)made->period);
    code = sqlite3_step(source->block);
    source->made += code == SQLITE_ROW;
    if (code == SQLITE_ROW)
        source->different += !rps_system_row_read(source->block, &row) || !is_same(&row, made);
    else
        source->different += source->ended; /* a run that has not ended may lack blocks */
    sqlite3_reset(source->block);
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

static void tell(const struct source *source, struct rps_findings *findings, const char *what,
                 uint64_t count)
{
    if (count > 0)
        rps_findings_add(findings, RPS_FINDING_WRONG, "run %" PRId64 ": source %s: %s: %" PRIu64,
                         source->run_id, rps_system_sources[source->source], what, count);
}

static int check_totals(const struct source *source, const struct rps_system_row *sum,
                        struct rps_findings *findings, struct rps_error *err)
{
    struct rps_system_state state;
    struct rps_system_row total;
    uint64_t different = 0;
    int got =
        rps_reader_system(source->reader, source->run_id, source->source, &state, &total, err);

    for (int slot = 0; slot < RPS_SYSTEM_SLOT_MAX && got > 0; slot++)
        different += !is_same_slot(&total, sum, slot);
    tell(source, findings, "totals that differ from the sums of the readings", different);
    return got < 0 ? got : 0;
}

static int check_source(struct source *source, struct rps_findings *findings, struct rps_error *err)
{
    const struct rps_system_block_sink sink = {source, compare_block};
    struct rps_system_blocks blocks;
    int64_t there = 0;
    int code,
        result = rps_reader_prepare(source->reader, rps_system_row_select(1, RPS_SYSTEM_SLOT_MAX),
                                    source->run_id, &source->block, err);

    if (result < 0)
        return result;
    sqlite3_bind_int64(source->block, 2, source->source);
    result = add_up(source, &sink, &blocks, err);
    if (result < 0)
        return result;
    code = rps_database_ask(source->reader->db, &there,
                            "SELECT count(*) FROM reading_rollup WHERE run_id = ?1 AND source = ?2",
                            "ii", source->run_id, (int64_t)source->source);
    if (code != SQLITE_OK)
        return rps_reader_error(source->reader, code, err);
    tell(source, findings, "blocks that differ from the sums of their readings", source->different);
    if (source->different == 0 && (uint64_t)there > source->finest + source->made)
        tell(source, findings, "blocks that sum no readings",
             (uint64_t)there - source->finest - source->made);
    return source->ended ? check_totals(source, &blocks.block[0].row, findings, err) : 0;
}

int rps_system_check(struct rps_reader *reader, int64_t run_id, struct rps_findings *findings,
                     struct rps_error *err)
{
    int64_t ended = 0;
    int result = 0;
    /* An interrupted run has totals only if a repair made them. */
    int code = rps_database_ask(reader->db, &ended,
                                "SELECT EXISTS (SELECT 1 FROM signal WHERE run_id = ?1"
                                " AND total IS NOT NULL) OR EXISTS (SELECT 1 FROM run"
                                " WHERE run_id = ?1 AND state = 'complete')",
                                "i", run_id);

    if (code != SQLITE_OK)
        return rps_reader_error(reader, code, err);
    for (int s = 0; s < RPS_SYSTEM_SOURCES && result == 0; s++) {
        struct source source = {reader, run_id, (enum rps_system_source)s, ended, NULL, 0, 0, 0};

        result = check_source(&source, findings, err);
        sqlite3_finalize(source.block);
    }
    return result;
}

/* --- repair ----------------------------------------------------------------------------------- */

/* SQL: delete rows that no recorder writes. ?2 is the highest period, ?3 the last source. */
static const char sql_drop[] =
    "DELETE FROM reading WHERE run_id = ?1 AND (source NOT BETWEEN 0 AND ?3"
    " OR period NOT BETWEEN 0 AND ?2 OR length_us < 0 OR end_ns < 0);"
    "DELETE FROM reading_rollup WHERE run_id = ?1 AND (source NOT BETWEEN 0 AND ?3"
    " OR level NOT BETWEEN 1 AND 4 OR period < 0 OR last_period NOT BETWEEN period AND ?2"
    " OR period >> 4 * level <> last_period >> 4 * level OR length_us < 0 OR end_ns < 0);"
    "DELETE FROM signal WHERE run_id = ?1 AND (source NOT BETWEEN 0 AND ?3"
    " OR slot NOT BETWEEN 0 AND 31 OR kind NOT IN ('counter', 'gauge')"
    " OR state NOT IN ('read', 'unsupported'))";

/* SQL: delete blocks with finer rows, which are rebuilt. */
static const char sql_drop_made[] =
    "DELETE FROM reading_rollup AS b WHERE run_id = ?1 AND (EXISTS (SELECT 1 FROM reading AS r"
    " WHERE r.run_id = ?1 AND r.source = b.source AND r.period BETWEEN b.period AND b.last_period)"
    " OR EXISTS (SELECT 1 FROM reading_rollup AS r WHERE r.run_id = ?1 AND r.source = b.source"
    "  AND r.level IN (b.level - 1, b.level - 2, b.level - 3) AND r.period BETWEEN b.period AND "
    "b.last_period))";

static int insert_block(void *context, const struct rps_system_row *row)
{
    struct source *source = context;

    return rps_system_row_insert(source->reader->db, &source->block, source->run_id, row);
}

/* Restore lost rows of table signal: the names and kinds of a source with readings. */
static int describe(struct source *source, const struct rps_system_row *total)
{
    struct rps_system_state state = {.source = source->source};
    int64_t rows = 0;
    int code = rps_database_ask(source->reader->db, &rows,
                                "SELECT count(*) FROM signal WHERE run_id = ?1 AND source = ?2",
                                "ii", source->run_id, (int64_t)source->source);

    if (code != SQLITE_OK || rows == rps_system_metric_count[source->source])
        return code;
    for (int slot = 0; slot < RPS_SYSTEM_SLOT_MAX; slot++) {
        if (total->readings[slot] > 0)
            state.supported |= UINT32_C(1) << slot;
        else
            snprintf(state.reason[slot], sizeof(state.reason[slot]), "its description was lost");
    }
    return rps_system_insert_readings(source->reader->db, source->run_id, &state);
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
    sqlite3_int64 before = sqlite3_total_changes64(db);
    int code = rps_database_do(db, sql_drop, "iii", run_id, (int64_t)last_period,
                               (int64_t)RPS_SYSTEM_SOURCES - 1);

    *ret_dropped += (uint64_t)(sqlite3_total_changes64(db) - before);
    if (code == SQLITE_OK)
        code = rps_database_do(db, sql_drop_made, "i", run_id);
    if (code == SQLITE_OK)
        code = rps_database_do(db,
                               "UPDATE signal SET total = NULL, readings = NULL, lowest = NULL,"
                               " highest = NULL WHERE run_id = ?1",
                               "i", run_id);
    for (int s = 0; s < RPS_SYSTEM_SOURCES && code == SQLITE_OK; s++) {
        struct source source = {reader, run_id, (enum rps_system_source)s, true, NULL, 0, 0, 0};

        code = rebuild_source(&source);
        sqlite3_finalize(source.block);
    }
    return code;
}
