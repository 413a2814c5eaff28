/* Rows of `period` and of `rollup`. The functions that write rows and the functions that read rows
 * use the same table of columns. */
#include "period.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "database.h"
#include "rpistat/moments.h"

struct column {
    const char *name;
    size_t offset, size;
    int64_t min, max;
    bool nullable; /* true if the value -1 is stored as NULL */
};

#define ROW(member, least, most, nullable)                                                         \
    {                                                                                              \
#member, offsetof(struct rps_period, member), sizeof(((struct rps_period *)0)->member),    \
            least, most, nullable                                                                  \
    }
#define COLUMN(member, least, most, nullable, how) ROW(member, least, most, nullable),

/* Columns in the order of RPS_PERIOD_ROLLUP_COLUMNS. Only `rollup` has the last four. */
static const struct column columns[] = {
    ROW(cpu, RPS_CPU_ALL, INT32_MAX, false),
    RPS_PERIOD_FIELDS(COLUMN) ROW(level, 1, RPS_LEVELS, false),
    ROW(merged, 1, 1 << (RPS_LEVEL_BITS * RPS_LEVELS), false),
    ROW(last_period, 0, INT64_MAX / 2, false),
    ROW(end_ns, 0, RPS_PERIOD_TIME_MAX_NS, false),
};

#define ROLLUP_COLUMNS ((int)RPS_COUNT(columns))
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

/* --- scatters --------------------------------------------------------------------------------- */

/* Ratios are kept in thousandths. */
#define THOUSAND 1000

/* Positions of a slot's scatter columns (SLOT_...), and of the row's scatter columns (ROW_...). The
 * row's columns come before the columns of the first slot. */
enum { SLOT_MIN, SLOT_MAX, SLOT_STEPS, SLOT_FREEDOM, SLOT_PERIODS, SLOT_READINGS, SLOT_COLUMNS };
enum {
    ROW_PARTS,
    ROW_USE_MIN,
    ROW_USE_MAX,
    ROW_USE_STEPS,
    ROW_TIME_STEPS,
    ROW_CORRELATION,
    ROW_COLUMNS
};

/* Numbers that were computed on two different processors are equal within this tolerance. */
#define SAME 1e-9

/* Steps are treated as zero if their share of the subtracted values is below this limit. */
#define STEPS_NONE 1e-12

/* A scatter in the form in which it is stored in columns. */
struct written {
    double time_steps;
    double steps[RPS_SLOT_MAX];
    int64_t freedom[RPS_SLOT_MAX], periods[RPS_SLOT_MAX]; /* in thousandths; -1 if unknown */
    int correlation[RPS_SLOT_MAX][1 + RPS_SLOT_MAX];      /* correlations of a slot's steps with the
                                                        time and with earlier slots */
};

static int64_t usual_parts(const struct rps_period *row)
{
    return (int64_t)((row->merged + RPS_LEVEL_ROTATIONS - 1) / RPS_LEVEL_ROTATIONS);
}

/* Return square / sum in thousandths, or -1 if the ratio is unknown. */
static int64_t thousandths(double square, double sum)
{
    double ratio = THOUSAND * square / sum;

    return sum > 0 && ratio < (double)(INT64_MAX / 2) ? llround(fmax(THOUSAND, ratio)) : -1;
}

/* Return a correlation in thousandths. product: sum of products; a, b: sums of squares. */
static int correlation(double product, double a, double b)
{
    double size = sqrt(a) * sqrt(b);

    return size > 0 ? (int)lround(fmax(-1, fmin(1, product / size)) * THOUSAND) : 0;
}

static double ratio_of(const struct rps_period *row, int slot)
{
    return row->running_ns > 0 ? (double)row->count[slot] / (double)row->running_ns : 0;
}

static struct written write_scatter(const struct rps_scatter *scatter, const struct rps_period *row)
{
    struct written ret = {0};

    for (int k = 0; row->counted >> k; k++) {
        double count = (double)row->count[k];
        double time = scatter->cr[k] - ratio_of(row, k) * scatter->rr[k];

        ret.time_steps = fmax(ret.time_steps, scatter->rr[k]);
        ret.steps[k] = scatter->own[k];
        ret.freedom[k] = thousandths(scatter->own[k] * scatter->own[k], scatter->fourth[k]);
        ret.periods[k] = thousandths(count * count, scatter->squares[k]);
        ret.correlation[k][0] = correlation(time, ret.steps[k], scatter->rr[k]);
        for (int j = 0; j < k; j++)
            ret.correlation[k][1 + j] =
                correlation(rps_scatter_steps(scatter, row, j, k), ret.steps[j], ret.steps[k]);
    }
    return ret;
}

/* Convert a stored scatter, except parts, readings and extremes, which are stored as they are. */
static void read_written(const struct written *from, const struct rps_period *row,
                         struct rps_scatter *ret)
{
    for (int k = 0; row->counted >> k; k++) {
        double p = ratio_of(row, k), steps = from->steps[k], count = (double)row->count[k];
        double time =
            (double)from->correlation[k][0] / THOUSAND * sqrt(steps) * sqrt(from->time_steps);

        if (ret->readings[k] == 0)
            continue;
        ret->rr[k] = from->time_steps;
        ret->cr[k] = time + p * from->time_steps;
        ret->own[k] = steps;
        ret->fourth[k] = from->freedom[k] > 0 ? steps * steps * THOUSAND / (double)from->freedom[k]
                         : steps > 0          ? NAN
                                              : 0;
        ret->squares[k] =
            from->periods[k] > 0 ? count * count * THOUSAND / (double)from->periods[k] : 0;
        for (int j = 0; j <= k; j++) {
            double q = ratio_of(row, j);
            double together = j == k ? steps
                                     : (double)from->correlation[k][1 + j] / THOUSAND *
                                           sqrt(from->steps[j]) * sqrt(steps);

            ret->cc[j][k] = together + q * ret->cr[k] + p * ret->cr[j] - p * q * from->time_steps;
        }
    }
}

void rps_period_round_scatter(struct rps_scatter *scatter, const struct rps_period *row)
{
    struct written written;

    for (int k = 0; k < RPS_SLOT_MAX; k++) {
        double p = ratio_of(row, k), steps = rps_scatter_steps(scatter, row, k, k);

        if (steps < STEPS_NONE * (scatter->cc[k][k] + p * p * scatter->rr[k]))
            steps = 0;
        if (scatter->own[k] > 0)
            scatter->fourth[k] *= (steps / scatter->own[k]) * (steps / scatter->own[k]);
        scatter->own[k] = steps;
    }
    written = write_scatter(scatter, row);
    read_written(&written, row, scatter);
}

/* Bind a number. NaN is bound as NULL. */
static void bind_known(sqlite3_stmt *stmt, int index, int64_t value, int64_t unknown)
{
    if (value == unknown)
        sqlite3_bind_null(stmt, index);
    else
        sqlite3_bind_int64(stmt, index, value);
}

/* List the correlations slot by slot. Each slot has its correlation with the time, then with each
 * earlier slot: 0 time, 1 time, 1 0, 2 time, ... */
static void list_correlations(const struct written *written, const struct rps_period *row,
                              char *text, size_t size)
{
    size_t length = 0;

    for (int k = 0; row->counted >> k; k++) {
        for (int j = 0; j <= k; j++)
            length += (size_t)snprintf(text + length, size - length, "%c%d",
                                       length == 0 ? '[' : ',', written->correlation[k][j]);
    }
    snprintf(text + length, size - length, "]");
}

static void bind_scatter(sqlite3_stmt *stmt, int first, const struct rps_period *row)
{
    const struct rps_scatter *scatter = row->scatter;
    char text[8 * RPS_SLOT_MAX * RPS_SLOT_MAX];
    struct written written;

    for (int i = 0; i < ROW_COLUMNS + RPS_SLOT_MAX * SLOT_COLUMNS; i++)
        sqlite3_bind_null(stmt, first + i);
    if (!scatter)
        return;
    written = write_scatter(scatter, row);
    bind_known(stmt, first + ROW_PARTS, (int64_t)scatter->parts, usual_parts(row));
    sqlite3_bind_double(stmt, first + ROW_USE_MIN, scatter->least_use);
    sqlite3_bind_double(stmt, first + ROW_USE_MAX, scatter->most_use);
    sqlite3_bind_double(stmt, first + ROW_USE_STEPS, scatter->use_steps);
    if (row->counted) {
        sqlite3_bind_double(stmt, first + ROW_TIME_STEPS, written.time_steps);
        list_correlations(&written, row, text, sizeof(text));
        sqlite3_bind_text(stmt, first + ROW_CORRELATION, text, -1, SQLITE_TRANSIENT);
    }
    for (int slot = 0; row->counted >> slot; slot++) {
        int at = first + ROW_COLUMNS + slot * SLOT_COLUMNS;

        if (scatter->readings[slot] == 0)
            continue;
        sqlite3_bind_double(stmt, at + SLOT_MIN, scatter->least[slot]);
        sqlite3_bind_double(stmt, at + SLOT_MAX, scatter->most[slot]);
        sqlite3_bind_double(stmt, at + SLOT_STEPS, written.steps[slot]);
        bind_known(stmt, at + SLOT_FREEDOM, written.freedom[slot], -1);
        bind_known(stmt, at + SLOT_PERIODS, written.periods[slot], -1);
        bind_known(stmt, at + SLOT_READINGS, (int64_t)scatter->readings[slot],
                   (int64_t)row->merged);
    }
}

/* Read a finite number of at least 0. Returns NaN if the column has no such number. */
static double read_real(sqlite3_stmt *stmt, int column)
{
    double value = sqlite3_column_double(stmt, column);

    return sqlite3_column_type(stmt, column) != SQLITE_NULL && value >= 0 && isfinite(value) ? value
                                                                                             : NAN;
}

/* Read a number from 1 to `most`. Returns `unknown` if the column has no such number. */
static int64_t read_number(sqlite3_stmt *stmt, int column, int64_t most, int64_t unknown)
{
    int64_t value = sqlite3_column_int64(stmt, column);

    return sqlite3_column_type(stmt, column) != SQLITE_NULL && value > 0 && value <= most ? value
                                                                                          : unknown;
}

static void read_correlations(const char *text, struct written *ret)
{
    for (int k = 0; k < RPS_SLOT_MAX; k++) {
        for (int j = 0; j <= k; j++) {
            char *end;
            long value;

            if (!text || (*text != '[' && *text != ','))
                return;
            value = strtol(text + 1, &end, 10);
            text = end;
            ret->correlation[k][j] = value >= -THOUSAND && value <= THOUSAND ? (int)value : 0;
        }
    }
}

/* Read the scatter of a row of `rollup`. Returns false if the row has none. */
static bool read_scatter(sqlite3_stmt *stmt, int first, const struct rps_period *row,
                         struct rps_scatter *ret)
{
    struct written written = {.time_steps = read_real(stmt, first + ROW_TIME_STEPS)};
    int64_t merged = (int64_t)row->merged;
    bool is_known = row->counted == 0;

    *ret = rps_scatter_none();
    ret->parts = (uint64_t)read_number(stmt, first + ROW_PARTS, merged, usual_parts(row));
    ret->least_use = read_real(stmt, first + ROW_USE_MIN);
    ret->most_use = read_real(stmt, first + ROW_USE_MAX);
    ret->use_steps = read_real(stmt, first + ROW_USE_STEPS);
    read_correlations((const char *)sqlite3_column_text(stmt, first + ROW_CORRELATION), &written);
    for (int slot = 0; row->counted >> slot && !isnan(written.time_steps); slot++) {
        int at = first + ROW_COLUMNS + slot * SLOT_COLUMNS;
        double steps = read_real(stmt, at + SLOT_STEPS);

        if (isnan(steps))
            continue;
        is_known = true;
        written.steps[slot] = steps;
        written.freedom[slot] = read_number(stmt, at + SLOT_FREEDOM, INT64_MAX, -1);
        written.periods[slot] = read_number(stmt, at + SLOT_PERIODS, INT64_MAX, -1);
        ret->least[slot] = read_real(stmt, at + SLOT_MIN);
        ret->most[slot] = read_real(stmt, at + SLOT_MAX);
        ret->readings[slot] = (uint64_t)read_number(stmt, at + SLOT_READINGS, merged, merged);
    }
    if (is_known && row->counted)
        read_written(&written, row, ret);
    return is_known;
}

static bool is_other(double a, double b)
{
    return isnan(a) != isnan(b) || fabs(a - b) > SAME * fmax(fabs(a), fabs(b));
}

/* Return the first column of a slot or of the row that differs, or NULL if none does. */
static const char *scatter_differs(const struct rps_scatter *a, const struct rps_scatter *b,
                                   int slot)
{
    if (a->parts != b->parts)
        return "parts";
    if (is_other(a->least_use, b->least_use) || is_other(a->most_use, b->most_use) ||
        is_other(a->use_steps, b->use_steps))
        return "CPU use";
    if (is_other(a->least[slot], b->least[slot]) || is_other(a->most[slot], b->most[slot]))
        return "extremes";
    return a->readings[slot] != b->readings[slot] || is_other(a->own[slot], b->own[slot]) ? "steps"
                                                                                          : NULL;
}

/* --- rows ------------------------------------------------------------------------------------- */

int rps_period_first(sqlite3_stmt *stmt, int level)
{
    return level > 0 ? 0 : sqlite3_column_count(stmt) - COLUMNS;
}

int rps_period_read(sqlite3_stmt *stmt, int level, int64_t set_count, struct rps_period *ret,
                    struct rps_scatter *scatter, struct rps_period_fault *ret_fault)
{
    int fixed = level > 0 ? ROLLUP_COLUMNS : COLUMNS;
    int first = rps_period_first(stmt, level), counts = level > 0 ? fixed : 0;
    int slots = level > 0 ? RPS_SLOT_MAX : first;
    struct rps_period period = {0};

    for (int i = 0; i < fixed; i++) {
        bool is_null = columns[i].nullable && sqlite3_column_type(stmt, first + i) == SQLITE_NULL;
        int64_t value = is_null ? -1 : sqlite3_column_int64(stmt, first + i);

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
    for (int slot = 0; slot < slots; slot++) {
        int64_t value = sqlite3_column_int64(stmt, counts + slot);

        if (value == 0 && sqlite3_column_type(stmt, counts + slot) == SQLITE_NULL)
            continue;
        if (value < 0)
            return fault(ret_fault, "the count", value);
        period.count[slot] = (uint64_t)value;
        period.counted |= UINT32_C(1) << slot;
    }
    if (level > 0 && read_scatter(stmt, fixed + RPS_SLOT_MAX, &period, scatter))
        period.scatter = scatter;
    *ret = period;
    return 0;
}

int rps_period_prepare(sqlite3 *db, int level, sqlite3_stmt **ret)
{
    static const char period[] = RPS_PERIOD_COLUMNS ", " RPS_PERIOD_COUNTS ", run_id";
    static const char rollup[] = RPS_PERIOD_ROLLUP ", run_id";

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
    if (period->level > 0)
        bind_scatter(stmt, fixed + RPS_SLOT_MAX + 1, period);
    sqlite3_bind_int64(stmt, sqlite3_bind_parameter_count(stmt), run_id);
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
    for (int slot = 0; a->scatter && b->scatter && a->counted >> slot; slot++) {
        const char *column = scatter_differs(a->scatter, b->scatter, slot);

        if (column)
            return column;
    }
    return NULL;
}
