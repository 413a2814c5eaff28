/* Rows of `period`. A store is input from elsewhere: every number is looked at before it is used.
 */
#include "period_row.h"

#include "database.h"

/* Beyond it nothing was measured, and sums of two times would overflow. */
#define TIME_MAX_NS (INT64_MAX / 4)

/* Numbers that no recorder writes; name[i] is column i. */
static int check_row(const int64_t value[RPS_ROW_COUNT_FIRST], int64_t set_count,
                     struct rps_row_fault *ret)
{
    static const char *const name[] = {"cpu",        "cycle",     "number", "set_no",
                                       "start_ns",   "length_ns", "cycles", "enabled_ns",
                                       "running_ns", "switch_ns", "missed", "merged"};
    int wrong = -1;

    for (int i = RPS_ROW_COUNT_FIRST - 1; i > RPS_ROW_CPU; i--) {
        if (value[i] < 0)
            wrong = i;
    }
    if (value[RPS_ROW_CPU] < RPS_CPU_ALL || value[RPS_ROW_CPU] > INT32_MAX)
        wrong = RPS_ROW_CPU;
    else if (wrong < 0 && value[RPS_ROW_SET_NO] >= set_count)
        wrong = RPS_ROW_SET_NO;
    else if (wrong < 0 && value[RPS_ROW_START_NS] > TIME_MAX_NS)
        wrong = RPS_ROW_START_NS;
    else if (wrong < 0 && value[RPS_ROW_LENGTH_NS] > TIME_MAX_NS)
        wrong = RPS_ROW_LENGTH_NS;
    else if (wrong < 0 && value[RPS_ROW_MISSED] > UINT32_MAX)
        wrong = RPS_ROW_MISSED;
    else if (wrong < 0 && value[RPS_ROW_MERGED] > UINT32_MAX)
        wrong = RPS_ROW_MERGED;
    if (wrong < 0)
        return 0;
    *ret = (struct rps_row_fault){name[wrong], value[wrong]};
    return -1;
}

int rps_row_has_merged(sqlite3 *db)
{
    sqlite3_int64 found = 0;

    return rps_database_number(
               db, "SELECT count(*) FROM pragma_table_info('period') WHERE name = 'merged'",
               &found) == SQLITE_OK &&
           found > 0;
}

int rps_row_period(const struct rps_row *row, int64_t set_count, struct rps_period *ret,
                   struct rps_row_fault *ret_fault)
{
    const int64_t *value = row->value;

    if (check_row(value, set_count, ret_fault) < 0)
        return -1;
    for (int i = RPS_ROW_COUNT_FIRST; i < RPS_ROW_VALUES; i++) {
        if (value[i] < 0) {
            *ret_fault = (struct rps_row_fault){"the count", value[i]};
            return -1;
        }
    }
    *ret = (struct rps_period){
        .cpu = (int32_t)value[RPS_ROW_CPU],
        .set_no = (uint32_t)value[RPS_ROW_SET_NO],
        .period = (uint64_t)value[RPS_ROW_PERIOD],
        .cycle = (uint64_t)value[RPS_ROW_CYCLE],
        .cycles = (uint64_t)value[RPS_ROW_CYCLES],
        .start_ns = value[RPS_ROW_START_NS],
        .length_ns = value[RPS_ROW_LENGTH_NS],
        .enabled_ns = (uint64_t)value[RPS_ROW_ENABLED_NS],
        .running_ns = (uint64_t)value[RPS_ROW_RUNNING_NS],
        .switch_ns = value[RPS_ROW_SWITCH_NS],
        .missed = (uint32_t)value[RPS_ROW_MISSED],
        .rotation = (uint64_t)(value[RPS_ROW_PERIOD] / set_count),
        .level = value[RPS_ROW_MERGED] > 0,
        .merged = (uint64_t)value[RPS_ROW_MERGED],
        .last_period = (uint64_t)(value[RPS_ROW_PERIOD] + (value[RPS_ROW_MERGED] - 1) * set_count),
        .end_ns = value[RPS_ROW_START_NS] + value[RPS_ROW_LENGTH_NS],
        .counted = row->present >> RPS_ROW_COUNT_FIRST,
    };
    for (int slot = 0; slot < RPS_SLOT_MAX; slot++)
        ret->count[slot] = (uint64_t)value[RPS_ROW_COUNT_FIRST + slot];
    return 0;
}

int rps_row_next_cpu(sqlite3_stmt *stmt, int64_t after, int64_t *ret)
{
    int64_t cpu = after;
    int code;

    sqlite3_bind_int64(stmt, 2, after);
    code = sqlite3_step(stmt);
    if (code == SQLITE_ROW && sqlite3_column_type(stmt, 0) == SQLITE_INTEGER)
        cpu = sqlite3_column_int64(stmt, 0);
    sqlite3_reset(stmt);
    if (code != SQLITE_ROW || cpu <= after)
        return code == SQLITE_ROW ? SQLITE_DONE : code;
    *ret = cpu;
    return SQLITE_ROW;
}

void rps_row_take(sqlite3_stmt *stmt, struct rps_row *ret)
{
    int columns = sqlite3_column_count(stmt);

    *ret = (struct rps_row){.present = 0};
    for (int i = 0; i < columns && i < RPS_ROW_VALUES; i++) {
        if (i >= RPS_ROW_COUNT_FIRST && sqlite3_column_type(stmt, i) == SQLITE_NULL)
            continue;
        ret->value[i] = sqlite3_column_int64(stmt, i);
        ret->present |= UINT32_C(1) << i;
    }
}

int rps_row_read(sqlite3_stmt *stmt, int64_t set_count, struct rps_period *ret,
                 struct rps_row_fault *ret_fault)
{
    struct rps_row row;

    rps_row_take(stmt, &row);
    return rps_row_period(&row, set_count, ret, ret_fault);
}
