/* Rows of `period` and of `rollup`: one table of columns for writing and reading both. */
#include "period.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "database.h"

struct column {
    const char *name;
    size_t offset, size;
    int64_t min, max;
    bool nullable; /* -1 where it is NULL */
};

#define ROW(member, least, most, nullable)                                                         \
    {                                                                                              \
#member, offsetof(struct rps_period, member), sizeof(((struct rps_period *)0)->member),    \
            least, most, nullable                                                                  \
    }
#define COLUMN(member, least, most, nullable, how) ROW(member, least, most, nullable),

/* In the order of RPS_PERIOD_ROLLUP_COLUMNS; the last four are of `rollup` alone. */
static const struct column columns[] = {
    ROW(cpu, RPS_CPU_ALL, INT32_MAX, false),
    RPS_PERIOD_FIELDS(COLUMN) ROW(level, 1, RPS_LEVELS, false),
    ROW(merged, 1, 1 << (RPS_LEVEL_BITS * RPS_LEVELS), false),
    ROW(last_period, 0, INT64_MAX / 2, false),
    ROW(end_ns, 0, RPS_PERIOD_TIME_MAX_NS, false),
};

#define ROLLUP_COLUMNS ((int)(sizeof(columns) / sizeof(columns[0])))
#define COLUMNS        (ROLLUP_COLUMNS - 4)

static int64_t get(const struct rps_period *period, const struct column *column)
{
    const char *member = (const char *)period + column->offset;
    int64_t wide;
    int32_t narrow;

    if (column->size == sizeof(wide)) {
        memcpy(&wide, member, sizeof(wide));
        return wide;
    }
    memcpy(&narrow, member, sizeof(narrow));
    return column->max == UINT32_MAX ? (int64_t)(uint32_t)narrow : narrow;
}

static void put(struct rps_period *period, const struct column *column, int64_t value)
{
    char *member = (char *)period + column->offset;
    int32_t narrow = (int32_t)value;

    if (column->size == sizeof(value))
        memcpy(member, &value, sizeof(value));
    else
        memcpy(member, &narrow, sizeof(narrow));
}

static int fault(struct rps_period_fault *ret, const char *name, int64_t value)
{
    *ret = (struct rps_period_fault){name, value};
    return -1;
}

int rps_period_read(sqlite3_stmt *stmt, int level, int64_t set_count, struct rps_period *ret,
                    struct rps_period_fault *ret_fault)
{
    int fixed = level > 0 ? ROLLUP_COLUMNS : COLUMNS;
    int slots = sqlite3_column_count(stmt) - fixed;
    struct rps_period period = {0};

    for (int i = 0; i < fixed; i++) {
        bool is_null = columns[i].nullable && sqlite3_column_type(stmt, i) == SQLITE_NULL;
        int64_t value = is_null ? -1 : sqlite3_column_int64(stmt, i);

        if (!is_null && (value < columns[i].min || value > columns[i].max))
            return fault(ret_fault, columns[i].name, value);
        put(&period, &columns[i], value);
    }
    if ((int64_t)period.set_no >= set_count)
        return fault(ret_fault, columns[RPS_PERIOD_AT_set_no].name, (int64_t)period.set_no);
    if (level > 0 && period.last_period < period.period)
        return fault(ret_fault, "last_period", (int64_t)period.last_period);
    if (period.idle_ns > (int64_t)period.enabled_ns)
        return fault(ret_fault, "idle_ns", period.idle_ns);
    for (int slot = 0; slot < slots && slot < RPS_SLOT_MAX; slot++) {
        int64_t value;

        if (sqlite3_column_type(stmt, fixed + slot) == SQLITE_NULL)
            continue;
        value = sqlite3_column_int64(stmt, fixed + slot);
        if (value < 0)
            return fault(ret_fault, "the count", value);
        period.count[slot] = (uint64_t)value;
        period.counted |= UINT32_C(1) << slot;
    }
    *ret = period;
    return 0;
}

int rps_period_prepare(sqlite3 *db, int level, sqlite3_stmt **ret)
{
    static const char period[] = RPS_PERIOD_COLUMNS ", " RPS_PERIOD_COUNTS ", run_id";
    static const char rollup[] = RPS_PERIOD_ROLLUP_COLUMNS ", " RPS_PERIOD_COUNTS ", run_id";

    return level > 0 ? rps_database_prepare_insert(db, "rollup", rollup, ret)
                     : rps_database_prepare_insert(db, "period", period, ret);
}

int rps_period_insert(sqlite3_stmt *stmt, int64_t run_id, const struct rps_period *period)
{
    int fixed = period->level > 0 ? ROLLUP_COLUMNS : COLUMNS;

    for (int i = 0; i < fixed; i++) {
        int64_t value = get(period, &columns[i]);

        if (columns[i].nullable && value < 0)
            sqlite3_bind_null(stmt, i + 1);
        else
            sqlite3_bind_int64(stmt, i + 1, value);
    }
    for (int slot = 0; slot < RPS_SLOT_MAX; slot++) {
        if (period->counted & (UINT32_C(1) << slot))
            sqlite3_bind_int64(stmt, fixed + slot + 1, (sqlite3_int64)period->count[slot]);
        else
            sqlite3_bind_null(stmt, fixed + slot + 1);
    }
    sqlite3_bind_int64(stmt, fixed + RPS_SLOT_MAX + 1, run_id);
    return rps_database_run(stmt);
}

const char *rps_period_differs(const struct rps_period *a, const struct rps_period *b)
{
    static const char *const slots[RPS_SLOT_MAX] = {"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"};

    for (int i = 0; i < ROLLUP_COLUMNS; i++)
        if (get(a, &columns[i]) != get(b, &columns[i]))
            return columns[i].name;
    for (int slot = 0; slot < RPS_SLOT_MAX; slot++) {
        uint32_t bit = UINT32_C(1) << slot;

        if ((a->counted ^ b->counted) & bit ||
            (a->counted & bit && a->count[slot] != b->count[slot]))
            return slots[slot];
    }
    return NULL;
}
