/* Compare functions. The time that each row spent in each function is computed from the shares of
 * all runs with samples. Functions of two runs are the same if they have the same name and the same
 * module name. The directory of a module is ignored, because each build may have a different
 * directory. If only one module per side has a function of that name, the module name is ignored
 * too. The reason is that the name of a program may change with its version. */
#include "work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "rpistat/text.h"

/* Limits for the listed functions of a row: SHARE_MIN is the minimum share of a side's samples,
 * FUNCTIONS_MAX the maximum number of functions. */
#define SHARE_MIN     .01
#define FUNCTIONS_MAX 20
#define SAMPLES_MIN   5 /* minimum samples of a function, in all runs together */

/* Samples of a function in one row of one run. */
struct cell {
    size_t row, run;
    const struct rps_share_name *name; /* name of the function (borrowed) */
    uint64_t samples;
};

/* Work data of the comparison of functions, in the comparison's arena. */
struct joining {
    struct rps_comparison *comparison;
    size_t count;
    struct cell *cell;
    uint64_t *of;                   /* of[run * row_count + row]: number of all samples */
    uint8_t *has;                   /* has[run]: 1 if the run has samples by frequency */
    struct rps_change_value *value; /* scratch: value of one function in each run */
    uint64_t *samples;              /* scratch: samples of one function in each run */
};

/* --- counting --------------------------------------------------------------------------------- */

struct rps_run_part rps_comparison_part(struct rps_arena *arena, const struct rps_phases *phases,
                                        size_t rows)
{
    struct rps_run_part known = rps_run_part_of_phases(arena, phases, 1);
    struct rps_phases all;

    for (size_t i = 0; i < known.count; i++)
        known.stretch[i].group++;
    all = rps_part_words_phases(arena, &known, 0, INT64_MAX, 0);
    all.label_count = (int)rows;
    return rps_run_part_of_phases(arena, &all, 1);
}

/* Return the name of a function for all builds, or the module's name if the function has none. */
static const struct rps_share_name *name_of_all(struct rps_arena *arena,
                                                const struct rps_share_name *name)
{
    const char *file = rps_text_file_name(name->module);
    struct rps_share_name *ret;

    if (!name->is_unnamed || name->name[0] == '[')
        return name;
    ret = rps_arena_get(arena, 1, sizeof(*ret));
    *ret = *name;
    ret->name = file[0] == '[' ? file : rps_arena_print(arena, "[%s]", file);
    return ret;
}

/* Add the cells of a run. The row of the whole run has the samples of all groups. */
static void add_cells(struct joining *joining, size_t r)
{
    const struct rps_part_shares *shares = &joining->comparison->shares[r];
    size_t rows = shares->group_count, names = shares->name_count;
    uint64_t *of = &joining->of[r * rows];
    /* The minimum numbers and the intervals need weights as numbers of samples. */
    double per = joining->comparison->is_latency ? (double)shares->sampling.frequency / 1e6 : 1;

    for (size_t row = 0; row < rows; row++) {
        of[row] =
            (uint64_t)llround(per * (double)(row > 0 ? shares->group[row].weight : shares->weight));
        for (size_t n = 0; n < names; n++) {
            struct cell cell = {row, r, &shares->name[n], shares->samples[row * names + n]};

            for (size_t other = 1; other < rows && row == 0; other++)
                cell.samples += shares->samples[other * names + n];
            cell.samples = (uint64_t)llround(per * (double)cell.samples);
            if (cell.samples == 0)
                continue;
            cell.name = name_of_all(joining->comparison->arena, cell.name);
            joining->cell = rps_arena_grow(joining->comparison->arena, joining->cell,
                                           joining->count, sizeof(cell));
            joining->cell[joining->count++] = cell;
        }
    }
}

static int find_shares(struct joining *joining, size_t r, struct rps_error *err)
{
    static const struct rps_cpus all = {0};
    struct rps_comparison *comparison = joining->comparison;
    const struct rps_comparison_run *run = &comparison->run[r];
    struct rps_run_part part =
        rps_comparison_part(comparison->arena, &run->phases, comparison->row_count);
    int result;

    part.is_latency = comparison->is_latency;
    result = rps_part_shares_find(comparison->arena, run->reader, run->run_id, &part, 1, &all,
                                  &comparison->shares[r], err);
    joining->has[r] =
        comparison->shares[r].sample_count > 0 && comparison->shares[r].sampling.frequency > 0;
    return result < 0 ? result : 0;
}

/* --- joining ---------------------------------------------------------------------------------- */

static int compare_modules(const struct cell *x, const struct cell *y)
{
    return strcmp(rps_text_file_name(x->name->module), rps_text_file_name(y->name->module));
}

static int compare_cells(const void *a, const void *b)
{
    const struct cell *x = a, *y = b;
    int order = strcmp(x->name->name, y->name->name);

    if (order == 0)
        order = (x->row > y->row) - (x->row < y->row);
    if (order == 0)
        order = compare_modules(x, y);
    return order ? order : (x->run > y->run) - (x->run < y->run);
}

/* Return 1 if at most one module on each side has the function of the cells from ... to - 1. */
static int is_one(const struct joining *joining, size_t from, size_t to)
{
    const struct cell *of[2] = {NULL, NULL};

    for (size_t i = from; i < to; i++) {
        const struct cell *cell = &joining->cell[i];
        const struct cell **first = &of[joining->comparison->run[cell->run].side];

        if (*first && compare_modules(*first, cell) != 0)
            return 0;
        *first = cell;
    }
    return 1;
}

/* Return the function's share of a side's samples in the row, or NaN for too few samples. */
static double share_of(const struct joining *joining, size_t row, enum rps_comparison_side side,
                       const uint64_t *samples)
{
    const struct rps_comparison *comparison = joining->comparison;
    uint64_t part = 0, all = 0;

    for (size_t r = 0; r < comparison->run_count; r++) {
        if (comparison->run[r].side != side)
            continue;
        part += samples[r];
        all += joining->of[r * comparison->row_count + row];
    }
    return rps_shares_part(part, all);
}

/* Return the change of a function's time. The change is computed as for a total. With one run per
 * side, the variation between runs is unknown. The variation between runs is larger than the
 * variation of samples by chance. */
static struct rps_change change_of(struct joining *joining, size_t row, const uint64_t *samples)
{
    const struct rps_comparison *comparison = joining->comparison;
    size_t a_count = comparison->a_count;

    for (size_t r = 0; r < comparison->run_count; r++) {
        double frequency = (double)joining->comparison->shares[r].sampling.frequency,
               n = (double)samples[r];
        int is_there = joining->has[r] && joining->of[r * comparison->row_count + row] > 0;

        joining->value[r] = (struct rps_change_value){.value = is_there ? n / frequency : NAN,
                                                      .floor = RPS_CHANCE_CLUSTER * fmax(1, n) /
                                                               frequency / frequency};
    }
    return rps_change_find(joining->value, a_count, joining->value + a_count, comparison->b_count,
                           comparison->statistic);
}

static double difference_of(const struct rps_comparison_function *function)
{
    double a = isnan(function->seconds.a) ? 0 : function->seconds.a;
    double b = isnan(function->seconds.b) ? 0 : function->seconds.b;

    return fabs(b - a);
}

static int by_difference(const void *a, const void *b)
{
    double x = difference_of(a), y = difference_of(b);

    return (x < y) - (x > y);
}

/* Join the cells from ... to - 1 into one function of one row. The name of the function is taken
 * from the last run that has the function. */
static void join_function(struct joining *joining, size_t from, size_t to)
{
    struct rps_comparison *comparison = joining->comparison;
    const struct cell *last = &joining->cell[from];
    struct rps_comparison_row *row = &comparison->row[last->row];
    uint64_t *samples = joining->samples;
    struct rps_comparison_function function;
    uint64_t all = 0;

    memset(samples, 0, comparison->run_count * sizeof(*samples));
    for (size_t i = from; i < to; i++) {
        samples[joining->cell[i].run] += joining->cell[i].samples;
        all += joining->cell[i].samples;
        if (joining->cell[i].run > last->run)
            last = &joining->cell[i];
    }
    function.a_share = share_of(joining, last->row, RPS_SIDE_A, samples);
    function.b_share = share_of(joining, last->row, RPS_SIDE_B, samples);
    if (all < SAMPLES_MIN || (!(function.a_share >= SHARE_MIN) && !(function.b_share >= SHARE_MIN)))
        return;
    function.name = *last->name;
    function.seconds = change_of(joining, last->row, samples);
    row->function =
        rps_arena_grow(comparison->arena, row->function, row->function_count, sizeof(function));
    row->function[row->function_count++] = function;
}

/* Join the functions in cells from ... to - 1, which all have the same name. */
static void join_name(struct joining *joining, size_t from, size_t to)
{
    const struct cell *cell = joining->cell;
    int one = is_one(joining, from, to);
    size_t next;

    for (; from < to; from = next) {
        next = from + 1;
        while (next < to && cell[next].row == cell[from].row &&
               (one || compare_modules(&cell[next], &cell[from]) == 0))
            next++;
        join_function(joining, from, next);
    }
}

static void join(struct joining *joining)
{
    const struct cell *cell = joining->cell;
    size_t to;

    if (joining->count > 0)
        qsort(joining->cell, joining->count, sizeof(*cell), compare_cells);
    for (size_t from = 0; from < joining->count; from = to) {
        to = from + 1;
        while (to < joining->count && strcmp(cell[to].name->name, cell[from].name->name) == 0)
            to++;
        join_name(joining, from, to);
    }
}

static void correct(struct rps_comparison *comparison, size_t from, size_t to)
{
    struct rps_change **change;
    size_t most = 0, count = 0;

    for (size_t row = from; row < to; row++)
        most += comparison->row[row].function_count;
    change = rps_arena_get(comparison->arena, most, sizeof(*change));
    for (size_t row = from; row < to; row++) {
        for (size_t f = 0; f < comparison->row[row].function_count; f++)
            change[count++] = &comparison->row[row].function[f].seconds;
    }
    rps_change_correct(comparison->arena, change, count);
}

/* --- all of it -------------------------------------------------------------------------------- */

/* Return 1 if at least one run of each side has samples. */
static int both_have(const struct joining *joining)
{
    const struct rps_comparison *comparison = joining->comparison;
    int has[2] = {0, 0};

    for (size_t r = 0; r < comparison->run_count; r++)
        has[comparison->run[r].side] |= joining->has[r];
    return has[RPS_SIDE_A] && has[RPS_SIDE_B];
}

int rps_comparison_find_functions(struct rps_comparison *comparison, struct rps_error *err)
{
    struct rps_arena *arena = comparison->arena;
    size_t runs = comparison->run_count;
    struct joining joining = {
        .comparison = comparison,
        .of = rps_arena_get(arena, runs * comparison->row_count, sizeof(*joining.of)),
        .has = rps_arena_get(arena, runs, sizeof(*joining.has)),
        .value = rps_arena_get(arena, runs, sizeof(*joining.value)),
        .samples = rps_arena_get(arena, runs, sizeof(*joining.samples)),
    };
    int result = 0;

    comparison->shares = rps_arena_get(arena, runs, sizeof(*comparison->shares));
    for (size_t r = 0; r < runs && result == 0; r++)
        result = find_shares(&joining, r, err);
    if (result < 0 || !both_have(&joining))
        return result;
    for (size_t r = 0; r < runs; r++) {
        if (joining.has[r])
            add_cells(&joining, r);
    }
    join(&joining);
    rps_comparison_each_family(comparison, correct);
    /* Sort the functions by change, largest first. Drop the functions beyond the maximum number. */
    for (size_t i = 0; i < comparison->row_count; i++) {
        struct rps_comparison_row *row = &comparison->row[i];

        if (row->function_count > 0)
            qsort(row->function, row->function_count, sizeof(*row->function), by_difference);
        if (row->function_count > FUNCTIONS_MAX)
            row->function_count = FUNCTIONS_MAX;
    }
    return 0;
}
