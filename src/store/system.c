/* Rows of system metrics: readings and their blocks, and the functions for writing them. */
#include "system.h"

#include <math.h>
#include <string.h>

#include "database.h"

_Static_assert(RPS_SYSTEM_SLOT_MAX == 32, "RPS_SYSTEM_EACH and schema.sql list the slots");

#define US_PER_S 1e6

/* Maximum length of a row in us, so that times computed from it do not overflow. */
#define LENGTH_MAX_US (RPS_PERIOD_TIME_MAX_NS / 1000)

/* Positions of the columns that precede the slots' columns in the SELECTs. A slot has one column in
 * a reading, and four in a block. */
enum { PERIOD, LAST_PERIOD, END_NS, LENGTH_US, SLOTS };

/* --- rows ------------------------------------------------------------------------------------- */

static bool is_gauge(enum rps_system_source source, int slot)
{
    return slot < rps_system_metric_count[source] &&
           rps_system_metrics[source][slot].kind == RPS_SYSTEM_GAUGE;
}

/* Set a slot of a reading. A reading is a single value, so this value is also the slot's sum. */
static void set_reading(struct rps_system_row *row, int slot, int64_t value)
{
    double seconds = (double)(row->length_us > 0 ? row->length_us : 1) / US_PER_S;

    row->readings[slot] = 1;
    row->sum[slot] = value;
    row->lowest[slot] = row->highest[slot] =
        is_gauge(row->source, slot) ? (double)value : round((double)value / seconds);
}

const char *rps_system_row_select(int level, int64_t slots)
{
#define BLOCKS(sums)                                                                               \
    "SELECT period, last_period, end_ns, length_us," sums                                          \
    " FROM reading_rollup WHERE run_id = ?1 AND source = ?2 AND level = ?3"                        \
    " AND period >= ?4 ORDER BY period"
#define READINGS(values)                                                                           \
    "SELECT period, period, end_ns, length_us," values                                             \
    " FROM reading WHERE run_id = ?1 AND source = ?2 AND period >= ?4 ORDER BY period"
    if (level > 0)
        return slots <= 12   ? BLOCKS(RPS_SYSTEM_12(RPS_SYSTEM_SUM))
               : slots <= 20 ? BLOCKS(RPS_SYSTEM_20(RPS_SYSTEM_SUM))
                             : BLOCKS(RPS_SYSTEM_SUMS);
    return slots <= 12   ? READINGS(RPS_SYSTEM_12(RPS_SYSTEM_VALUE))
           : slots <= 20 ? READINGS(RPS_SYSTEM_20(RPS_SYSTEM_VALUE))
                         : READINGS(RPS_SYSTEM_VALUES);
#undef BLOCKS
#undef READINGS
}

static int64_t between(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

static void read_block_slot(sqlite3_stmt *stmt, int column, struct rps_system_row *row, int slot)
{
    row->sum[slot] = sqlite3_column_int64(stmt, column);
    row->readings[slot] = (uint64_t)between(sqlite3_column_int64(stmt, column + 1), 0, INT64_MAX);
    row->lowest[slot] = (double)sqlite3_column_int64(stmt, column + 2);
    row->highest[slot] = (double)sqlite3_column_int64(stmt, column + 3);
}

bool rps_system_row_read(sqlite3_stmt *stmt, struct rps_system_row *ret)
{
    int64_t period = sqlite3_column_int64(stmt, PERIOD);
    int64_t last = sqlite3_column_int64(stmt, LAST_PERIOD);
    int columns = ret->level > 0 ? 4 : 1, slots = (sqlite3_column_count(stmt) - SLOTS) / columns;

    ret->period = (uint64_t)period;
    ret->last_period = (uint64_t)last;
    ret->end_ns = between(sqlite3_column_int64(stmt, END_NS), 0, RPS_PERIOD_TIME_MAX_NS);
    ret->length_us = between(sqlite3_column_int64(stmt, LENGTH_US), 0, LENGTH_MAX_US);
    for (int slot = 0; slot < RPS_SYSTEM_SLOT_MAX; slot++) {
        int column = SLOTS + slot * columns;

        ret->readings[slot] = 0;
        if (slot >= slots || sqlite3_column_type(stmt, column) == SQLITE_NULL)
            continue;
        if (columns > 1)
            read_block_slot(stmt, column, ret, slot);
        else
            set_reading(ret, slot, sqlite3_column_int64(stmt, column));
    }
    return period >= 0 && last >= period && last < INT64_MAX;
}

static int bind_row(sqlite3_stmt *stmt, int64_t run_id, const struct rps_system_row *row)
{
    bool is_block = row->level > 0;
    const int64_t head[] = {run_id,         row->source, (int64_t)row->period,     row->end_ns,
                            row->length_us, row->level,  (int64_t)row->last_period};
    int at = 0, code = SQLITE_OK;

    for (int i = 0; i < (is_block ? 7 : 5) && code == SQLITE_OK; i++)
        code = sqlite3_bind_int64(stmt, ++at, head[i]);
    for (int slot = 0; slot < RPS_SYSTEM_SLOT_MAX; slot++) {
        const int64_t cell[] = {row->sum[slot], (int64_t)row->readings[slot],
                                (int64_t)row->lowest[slot], (int64_t)row->highest[slot]};

        for (int i = 0; i < (is_block ? 4 : 1) && code == SQLITE_OK; i++)
            code = row->readings[slot] > 0 ? sqlite3_bind_int64(stmt, ++at, cell[i])
                                           : sqlite3_bind_null(stmt, ++at);
    }
    return code;
}

int rps_system_row_insert(sqlite3 *db, sqlite3_stmt **stmt, int64_t run_id,
                          const struct rps_system_row *row)
{
    int code = SQLITE_OK;

    if (!*stmt && row->level > 0)
        code = rps_database_prepare_insert(
            db, "reading_rollup",
            "run_id, source, period, end_ns, length_us, level, last_period," RPS_SYSTEM_SUMS, stmt);
    else if (!*stmt)
        code = rps_database_prepare_insert(
            db, "reading", "run_id, source, period, end_ns, length_us," RPS_SYSTEM_VALUES, stmt);
    if (code == SQLITE_OK)
        code = bind_row(*stmt, run_id, row);
    return code == SQLITE_OK ? rps_database_run(*stmt) : code;
}

/* --- blocks ----------------------------------------------------------------------------------- */

#define SUM_MAX 9e18

uint64_t rps_system_row_readings(const struct rps_system_row *row)
{
    uint64_t count = 0;

    for (int slot = 0; slot < RPS_SYSTEM_SLOT_MAX; slot++)
        count = row->readings[slot] > count ? row->readings[slot] : count;
    return count;
}

static uint64_t cell_of(uint64_t period, int level)
{
    return period >> (RPS_LEVEL_BITS * level);
}

/* Add two numbers as unsigned, because the sum may overflow in a damaged store. */
static int64_t add_wrapped(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* Add a slot of a row to a block. reading_us is the length of one reading of the row. */
static void add_slot(struct rps_system_block *block, const struct rps_system_row *row, int slot,
                     double reading_us)
{
    struct rps_system_row *sum = &block->row;
    bool first = sum->readings[slot] == 0;

    if (row->readings[slot] == 0)
        return;
    if (is_gauge(row->source, slot)) {
        block->integral[slot] += (double)row->sum[slot] * reading_us;
        block->known_us[slot] += (double)row->readings[slot] * reading_us;
    }
    sum->sum[slot] = first ? row->sum[slot] : add_wrapped(sum->sum[slot], row->sum[slot]);
    sum->lowest[slot] = first ? row->lowest[slot] : fmin(sum->lowest[slot], row->lowest[slot]);
    sum->highest[slot] = first ? row->highest[slot] : fmax(sum->highest[slot], row->highest[slot]);
    sum->readings[slot] += row->readings[slot];
}

static void add_to_block(struct rps_system_block *block, int level,
                         const struct rps_system_row *row)
{
    struct rps_system_row *sum = &block->row;
    uint64_t readings = rps_system_row_readings(row);
    double reading_us = fmax((double)row->length_us, 1) / (double)(readings > 0 ? readings : 1);

    if (!block->used)
        *block = (struct rps_system_block){
            .used = true, .row = {.source = row->source, .level = level, .period = row->period}};
    sum->last_period = row->last_period;
    sum->end_ns = row->end_ns;
    sum->length_us = add_wrapped(sum->length_us, row->length_us);
    for (int slot = 0; slot < RPS_SYSTEM_SLOT_MAX; slot++)
        add_slot(block, row, slot, reading_us);
}

/* Compute the mean of gauges. In a damaged store the result may not be a number. */
static void finish_gauges(struct rps_system_block *block)
{
    for (int slot = 0; slot < RPS_SYSTEM_SLOT_MAX; slot++) {
        double sum =
            block->integral[slot] / block->known_us[slot] * (double)block->row.readings[slot];

        if (block->known_us[slot] > 0)
            block->row.sum[slot] = fabs(sum) < SUM_MAX ? llround(sum) : 0;
    }
}

/* Add a row to the block of the next level, or to the whole run at the highest level. The run's
 * totals are thus the same with and without finer rows. */
static void add_upwards(struct rps_system_blocks *blocks, const struct rps_system_row *row)
{
    int level = row->level < RPS_LEVELS ? row->level + 1 : 0;

    add_to_block(&blocks->block[level], level, row);
}

static int close_block(struct rps_system_blocks *blocks, int level,
                       const struct rps_system_block_sink *sink)
{
    struct rps_system_block *block = &blocks->block[level];
    int code;

    finish_gauges(block);
    code = sink->row(sink->context, &block->row);
    add_upwards(blocks, &block->row);
    block->used = false;
    return code;
}

int rps_system_blocks_add(struct rps_system_blocks *blocks, const struct rps_system_row *row,
                          const struct rps_system_block_sink *sink)
{
    int code = SQLITE_OK;

    for (int level = 1; level <= RPS_LEVELS && code == SQLITE_OK; level++) {
        const struct rps_system_block *block = &blocks->block[level];

        if (block->used && cell_of(block->row.period, level) != cell_of(row->period, level))
            code = close_block(blocks, level, sink);
    }
    add_upwards(blocks, row);
    return code;
}

int rps_system_blocks_end(struct rps_system_blocks *blocks,
                          const struct rps_system_block_sink *sink)
{
    int code = SQLITE_OK;

    for (int level = 1; level <= RPS_LEVELS && code == SQLITE_OK; level++)
        if (blocks->block[level].used)
            code = close_block(blocks, level, sink);
    finish_gauges(&blocks->block[0]);
    return code;
}

int rps_system_write_total(sqlite3 *db, int64_t run_id, const struct rps_system_row *total)
{
    sqlite3_stmt *stmt = NULL;
    int code = rps_database_prepare(db,
                                    "UPDATE signal SET total = ?4, readings = ?5, lowest = ?6,"
                                    " highest = ?7 WHERE run_id = ?1 AND source = ?2 AND slot = ?3",
                                    &stmt);

    for (int64_t slot = 0; slot < RPS_SYSTEM_SLOT_MAX && code == SQLITE_OK; slot++) {
        if (total->readings[slot] == 0)
            continue;
        code = rps_database_bind(stmt, "iiiiiii", run_id, (int64_t)total->source, slot,
                                 total->sum[slot], (int64_t)total->readings[slot],
                                 (int64_t)total->lowest[slot], (int64_t)total->highest[slot]);
        if (code == SQLITE_OK)
            code = rps_database_run(stmt);
    }
    sqlite3_finalize(stmt);
    return code;
}

int rps_system_insert_readings(sqlite3 *db, int64_t run_id, const struct rps_system_state *state)
{
    sqlite3_stmt *stmt = NULL;
    int code = rps_database_prepare(
        db,
        "INSERT OR REPLACE INTO signal (run_id, source, slot, name, label, unit, kind, origin,"
        " explain, state, reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        &stmt);

    for (int slot = 0; slot < rps_system_metric_count[state->source] && code == SQLITE_OK; slot++) {
        const struct rps_system_metric *signal = &rps_system_metrics[state->source][slot];
        bool is_read = state->supported & (UINT32_C(1) << slot);

        code = rps_database_bind(
            stmt, "iiitttttttt", run_id, (int64_t)state->source, (int64_t)slot, signal->name,
            signal->label, signal->unit, signal->kind == RPS_SYSTEM_GAUGE ? "gauge" : "counter",
            signal->origin, signal->explain, is_read ? "read" : "unsupported", state->reason[slot]);
        if (code == SQLITE_OK)
            code = rps_database_run(stmt);
    }
    sqlite3_finalize(stmt);
    return code;
}

/* --- the writer ------------------------------------------------------------------------------- */

struct target {
    struct rps_system_write *write;
    sqlite3 *db;
    int64_t run_id;
};

static int insert_block(void *context, const struct rps_system_row *row)
{
    const struct target *target = context;

    return rps_system_row_insert(target->db, &target->write->insert[1], target->run_id, row);
}

static void touch(struct rps_system_write *write)
{
    if (!write->touched)
        memcpy(write->before, write->now, sizeof(write->before));
    write->touched = true;
}

int rps_system_write_state(struct rps_system_write *write, sqlite3 *db, int64_t run_id,
                           const struct rps_system_state *state)
{
    write->state[state->source] = *state;
    write->has_state[state->source] = true;
    return rps_system_insert_readings(db, run_id, state);
}

int rps_system_write_states(struct rps_system_write *write, sqlite3 *db, int64_t run_id)
{
    int code = SQLITE_OK;

    for (int source = 0; source < RPS_SYSTEM_SOURCES && code == SQLITE_OK; source++)
        if (write->has_state[source])
            code = rps_system_insert_readings(db, run_id, &write->state[source]);
    return code;
}

int rps_system_write_reading(struct rps_system_write *write, sqlite3 *db, int64_t run_id,
                             const struct rps_system_reading *reading)
{
    struct target target = {write, db, run_id};
    const struct rps_system_block_sink sink = {&target, insert_block};
    const struct rps_system_block *newest = &write->now[reading->source].block[1];
    struct rps_system_row row = {
        .source = reading->source,
        .period = reading->period,
        .last_period = reading->period,
        .end_ns = reading->end_ns,
        .length_us = reading->length_us,
    };
    int code;

    if (newest->used && reading->period <= newest->row.last_period)
        return SQLITE_OK;
    for (int slot = 0; slot < RPS_SYSTEM_SLOT_MAX; slot++)
        if (reading->valid & (UINT32_C(1) << slot))
            set_reading(&row, slot, reading->value[slot]);
    touch(write);
    code = rps_system_row_insert(db, &write->insert[0], run_id, &row);
    return code == SQLITE_OK ? rps_system_blocks_add(&write->now[reading->source], &row, &sink)
                             : code;
}

int rps_system_write_end(struct rps_system_write *write, sqlite3 *db, int64_t run_id)
{
    struct target target = {write, db, run_id};
    const struct rps_system_block_sink sink = {&target, insert_block};
    int code = SQLITE_OK;

    touch(write);
    for (int source = 0; source < RPS_SYSTEM_SOURCES && code == SQLITE_OK; source++) {
        code = rps_system_blocks_end(&write->now[source], &sink);
        if (code == SQLITE_OK && write->now[source].block[0].used)
            code = rps_system_write_total(db, run_id, &write->now[source].block[0].row);
    }
    return code;
}

void rps_system_write_roll_back(struct rps_system_write *write)
{
    if (write->touched)
        memcpy(write->now, write->before, sizeof(write->now));
    write->touched = false;
}

void rps_system_write_finalize(struct rps_system_write *write)
{
    for (int i = 0; i < 2; i++) {
        sqlite3_finalize(write->insert[i]);
        write->insert[i] = NULL;
    }
}

void rps_system_write_forget(struct rps_system_write *write)
{
    memset(write->now, 0, sizeof(write->now));
    write->touched = false;
}
