/* Totals of a run's finest rows. The rows are read with the same functions as in every command. The
 * same code as in a recorder then makes blocks from the rows. */
#include "findings.h"

#include "database.h"
#include "writer.h"
#include "rpistat/arena.h"

/* Bits of the slots whose event is measured, per event set. */
struct measured {
    uint32_t *bits;
    int set_count;
};

static int add_measured(void *context, sqlite3_stmt *stmt, struct rps_error *err)
{
    const struct measured *measured = context;
    int set = rps_database_index(stmt, 0, measured->set_count);
    int slot = rps_database_index(stmt, 1, RPS_SLOT_MAX);

    (void)err;
    if (set >= 0 && slot >= 0)
        measured->bits[set] |= 1u << slot;
    return 0;
}

struct sums {
    struct rps_rollup *rollup;
    struct rps_period *block; /* rows of one block, in the order of the sets */
    int rows;                 /* number of rows in `block` */
    uint32_t *measured;       /* bits of measured slots, per event set */
    int32_t cpu;
    uint64_t periods; /* number of periods of this CPU */
};

static int add_row(struct sums *sums, struct rps_run_sums *total, const struct rps_period *row)
{
    rps_set_sum_add(&total->sum[row->set_no], row, sums->measured[row->set_no]);
    sums->periods = row->cpu == sums->cpu ? sums->periods : 0;
    sums->periods += rps_period_weight(row);
    sums->cpu = row->cpu;
    total->periods += rps_period_weight(row);
    if (sums->periods > total->most)
        total->most = sums->periods;
    if (rps_period_end_ns(row) > total->end_ns)
        total->end_ns = rps_period_end_ns(row);
    if (rps_period_last(row) > total->last_period)
        total->last_period = rps_period_last(row);
    if (row->level == 0)
        return rps_rollup_add(sums->rollup, row);
    sums->block[row->set_no] = *row;
    if (++sums->rows < total->set_count)
        return SQLITE_OK;
    sums->rows = 0;
    return rps_rollup_add_block(sums->rollup, sums->block);
}

static int sum_rows(struct rps_reader *reader, int64_t run_id, struct sums *sums,
                    struct rps_run_sums *total, struct rps_error *err)
{
    struct rps_cursor *cursor = NULL;
    struct rps_period row;
    int code = SQLITE_OK;
    int result = rps_cursor_open(&cursor, reader, run_id, 0, INT64_MAX, 0, err);

    while (result == 0 && code == SQLITE_OK && (result = rps_cursor_next(cursor, &row, err)) > 0) {
        code = add_row(sums, total, &row);
        result = 0;
    }
    rps_cursor_close(cursor);
    if (result == 0 && code == SQLITE_OK)
        code = rps_rollup_end(sums->rollup);
    return result == 0 && code != SQLITE_OK ? rps_reader_error(reader, code, err) : result;
}

int rps_run_sums(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                 const struct rps_rollup_sink *sink, struct rps_run_sums *ret,
                 struct rps_error *err)
{
    struct sums sums = {0};
    int64_t count = 0;
    size_t sets;
    int result, code = rps_database_ask(reader->db, &count,
                                        "SELECT min(count(*), 1024) FROM event_set"
                                        " WHERE run_id = ?",
                                        "i", run_id);

    *ret = (struct rps_run_sums){.end_ns = -1, .set_count = (int)count};
    if (code != SQLITE_OK)
        return rps_reader_error(reader, code, err);
    sets = (size_t)count + 1;
    ret->sum = rps_arena_get(arena, sets, sizeof(*ret->sum));
    sums.measured = rps_arena_get(arena, sets, sizeof(*sums.measured));
    sums.block = rps_arena_get(arena, sets, sizeof(*sums.block));
    sums.rollup = rps_rollup_new(ret->set_count, sink);
    if (!sums.rollup)
        return rps_error_memory(err);
    result = rps_reader_each(reader,
                             "SELECT set_no, slot FROM event WHERE run_id = ?1"
                             " AND state = 'measured'",
                             run_id, 0, add_measured,
                             &(struct measured){sums.measured, ret->set_count}, err);
    if (result == 0)
        result = sum_rows(reader, run_id, &sums, ret, err);
    rps_rollup_free(sums.rollup);
    return result;
}
