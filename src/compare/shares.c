/*
 * The functions of a comparison: how long each row was in each of them, by the shares of all runs
 * that have samples. A function is one and the same in two runs when its name is, and its module's
 * without the folders: another build lies elsewhere. Where one module a side has a function of the
 * name, it is one whatever the modules are called: another version may be another program.
 */
#include "work.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "rpistat/text.h"

/* Functions of a row: those with so much of its samples on a side, and the most of them. */
#define SHARE_MIN     .01
#define FUNCTIONS_MAX 20

/* Samples of a function in a row of a run. */
struct cell {
    size_t row, run;
    const struct rps_share_name *name; /* borrowed */
    uint64_t samples;
};

struct joining {
    struct rps_comparison_work *work;
    size_t count, room;
    struct cell *cell;              /* owned */
    uint64_t *of;                   /* owned; of[run * row_count + row]: all samples */
    uint8_t *has;                   /* owned; of each run: samples by frequency */
    struct rps_change_value *value; /* owned; scratch of each run, for one function */
    uint64_t *samples;              /* owned; the same */
};

/* --- counting --------------------------------------------------------------------------------- */

int rps_comparison_part(const struct rps_phases *phases, size_t rows, struct rps_run_part *ret,
                        struct rps_error *err)
{
    uint64_t from = 0;

    *ret = (struct rps_run_part){0, calloc(2 * phases->count + 1, sizeof(*ret->stretch)), rows};
    if (!ret->stretch)
        return rps_error_memory(err);
    for (size_t i = 0; i < phases->count; i++) {
        const struct rps_phase *phase = &phases->phase[i];

        if (phase->first > from)
            ret->stretch[ret->count++] = (struct rps_run_stretch){from, phase->first - 1, 0};
        ret->stretch[ret->count++] =
            (struct rps_run_stretch){phase->first, phase->last, (size_t)(phase->label + 1)};
        from = phase->last + 1;
    }
    ret->stretch[ret->count++] = (struct rps_run_stretch){from, INT64_MAX, 0};
    return 0;
}

static int add_cell(struct joining *joining, struct cell cell, struct rps_error *err)
{
    if (joining->count == joining->room) {
        size_t room = joining->room ? 2 * joining->room : 256;
        struct cell *more = realloc(joining->cell, room * sizeof(*more));

        if (!more)
            return rps_error_memory(err);
        joining->cell = more;
        joining->room = room;
    }
    joining->cell[joining->count++] = cell;
    return 0;
}

/* The cells of a run; the whole has the samples of all groups. */
static int add_cells(struct joining *joining, size_t r, struct rps_error *err)
{
    const struct rps_part_shares *shares = &joining->work->comparison.shares[r];
    size_t rows = shares->group_count, names = shares->name_count;
    uint64_t *of = &joining->of[r * rows];

    for (size_t row = 0; row < rows; row++) {
        of[row] = row > 0 ? shares->group[row].samples : shares->sample_count;
        for (size_t n = 0; n < names; n++) {
            struct cell cell = {row, r, &shares->name[n], shares->samples[row * names + n]};

            for (size_t other = 1; other < rows && row == 0; other++)
                cell.samples += shares->samples[other * names + n];
            if (cell.samples > 0 && add_cell(joining, cell, err) < 0)
                return RPS_FAILED;
        }
    }
    return 0;
}

static int find_shares(struct joining *joining, size_t r, struct rps_error *err)
{
    static const struct rps_cpus all = {0};
    struct rps_comparison *comparison = &joining->work->comparison;
    const struct rps_comparison_run *run = &comparison->run[r];
    struct rps_run_part part = {0};
    int result = rps_comparison_part(&run->phases, comparison->row_count, &part, err);

    if (result == 0)
        result = rps_part_shares_find(run->reader, run->run_id, &part, &all, &comparison->shares[r],
                                      err);
    rps_run_part_free(&part);
    joining->has[r] =
        comparison->shares[r].sample_count > 0 && comparison->shares[r].sampling.frequency > 0;
    return result < 0 ? result : 0;
}

/* --- joining ---------------------------------------------------------------------------------- */

static int compare_modules(const struct cell *x, const struct cell *y)
{
    return strcmp(rps_text_file_name(x->name->module), rps_text_file_name(y->name->module));
}

/* By name, then row, module and run. */
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

/* Does one module a side at most have the functions in cells from ... to - 1, of one name? */
static int is_one(const struct joining *joining, size_t from, size_t to)
{
    const struct cell *of[2] = {NULL, NULL};

    for (size_t i = from; i < to; i++) {
        const struct cell *cell = &joining->cell[i];
        const struct cell **first = &of[joining->work->comparison.run[cell->run].side];

        if (*first && compare_modules(*first, cell) != 0)
            return 0;
        *first = cell;
    }
    return 1;
}

static double frequency_of(const struct joining *joining, size_t run)
{
    return (double)joining->work->comparison.shares[run].sampling.frequency;
}

/* The share of a side's samples in the row that are the function's. */
static double share_of(const struct joining *joining, size_t row, enum rps_comparison_side side,
                       const uint64_t *samples)
{
    const struct rps_comparison *comparison = &joining->work->comparison;
    double part = 0, all = 0;

    for (size_t r = 0; r < comparison->run_count; r++) {
        if (comparison->run[r].side != side)
            continue;
        part += (double)samples[r];
        all += (double)joining->of[r * comparison->row_count + row];
    }
    return all > 0 ? part / all : 0;
}

/* The change of a function's time. It is a total: one run against one does not tell how much it
 * varies from run to run, which is more than the samples do by chance. */
static struct rps_change change_of(struct joining *joining, size_t row, const uint64_t *samples)
{
    const struct rps_comparison *comparison = &joining->work->comparison;
    size_t a_count = comparison->a_count;

    for (size_t r = 0; r < comparison->run_count; r++) {
        double frequency = frequency_of(joining, r), n = (double)samples[r];
        int is_there = joining->has[r] && joining->of[r * comparison->row_count + row] > 0;

        joining->value[r] = (struct rps_change_value){.value = is_there ? n / frequency : NAN,
                                                      .floor = fmax(1, n) / frequency / frequency,
                                                      .variance = NAN};
    }
    return rps_change_find(joining->value, a_count, joining->value + a_count, comparison->b_count);
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

static int add_function(struct rps_comparison_row *row,
                        const struct rps_comparison_function *function, struct rps_error *err)
{
    struct rps_comparison_function *more =
        realloc(row->function, (row->function_count + 1) * sizeof(*more));

    if (!more)
        return rps_error_memory(err);
    row->function = more;
    more[row->function_count++] = *function;
    return 0;
}

/* One function of one row: cells from ... to - 1. It is called as the last run that has it says. */
static int join_function(struct joining *joining, size_t from, size_t to, struct rps_error *err)
{
    struct rps_comparison *comparison = &joining->work->comparison;
    const struct cell *last = &joining->cell[from];
    uint64_t *samples = joining->samples;
    struct rps_comparison_function function;

    memset(samples, 0, comparison->run_count * sizeof(*samples));
    for (size_t i = from; i < to; i++) {
        samples[joining->cell[i].run] += joining->cell[i].samples;
        if (joining->cell[i].run > last->run)
            last = &joining->cell[i];
    }
    function.a_share = share_of(joining, last->row, RPS_SIDE_A, samples);
    function.b_share = share_of(joining, last->row, RPS_SIDE_B, samples);
    if (function.a_share < SHARE_MIN && function.b_share < SHARE_MIN)
        return 0;
    function.name = *last->name;
    function.seconds = change_of(joining, last->row, samples);
    return add_function(&comparison->row[last->row], &function, err);
}

/* The functions in cells from ... to - 1, which have one name. */
static int join_name(struct joining *joining, size_t from, size_t to, struct rps_error *err)
{
    const struct cell *cell = joining->cell;
    int one = is_one(joining, from, to), result = 0;
    size_t next;

    for (; from < to && result == 0; from = next) {
        next = from + 1;
        while (next < to && cell[next].row == cell[from].row &&
               (one || compare_modules(&cell[next], &cell[from]) == 0))
            next++;
        result = join_function(joining, from, next, err);
    }
    return result;
}

static int join(struct joining *joining, struct rps_error *err)
{
    const struct cell *cell = joining->cell;
    int result = 0;
    size_t to;

    if (joining->count > 0)
        qsort(joining->cell, joining->count, sizeof(*cell), compare_cells);
    for (size_t from = 0; from < joining->count && result == 0; from = to) {
        to = from + 1;
        while (to < joining->count && strcmp(cell[to].name->name, cell[from].name->name) == 0)
            to++;
        result = join_name(joining, from, to, err);
    }
    return result;
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

/* Those that changed most first, and of these as many as are looked at. */
static void keep_most(struct rps_comparison *comparison)
{
    for (size_t i = 0; i < comparison->row_count; i++) {
        struct rps_comparison_row *row = &comparison->row[i];

        if (row->function_count > 0)
            qsort(row->function, row->function_count, sizeof(*row->function), by_difference);
        if (row->function_count > FUNCTIONS_MAX)
            row->function_count = FUNCTIONS_MAX;
    }
}

/* --- all of it -------------------------------------------------------------------------------- */

static int begin(struct joining *joining, struct rps_error *err)
{
    struct rps_comparison *comparison = &joining->work->comparison;
    size_t runs = comparison->run_count;

    comparison->shares = calloc(runs, sizeof(*comparison->shares));
    joining->of = calloc(runs, comparison->row_count * sizeof(*joining->of));
    joining->has = calloc(runs, sizeof(*joining->has));
    joining->value = calloc(runs, sizeof(*joining->value));
    joining->samples = calloc(runs, sizeof(*joining->samples));
    return comparison->shares && joining->of && joining->has && joining->value && joining->samples
               ? 0
               : rps_error_memory(err);
}

static void end(struct joining *joining)
{
    free(joining->cell);
    free(joining->of);
    free(joining->has);
    free(joining->value);
    free(joining->samples);
}

/* Does a run of each side have samples? */
static int both_have(const struct joining *joining)
{
    const struct rps_comparison *comparison = &joining->work->comparison;
    int has[2] = {0, 0};

    for (size_t r = 0; r < comparison->run_count; r++)
        has[comparison->run[r].side] |= joining->has[r];
    return has[RPS_SIDE_A] && has[RPS_SIDE_B];
}

int rps_comparison_find_functions(struct rps_comparison_work *work, struct rps_error *err)
{
    struct joining joining = {.work = work};
    size_t runs = work->comparison.run_count;
    int result = begin(&joining, err);

    for (size_t r = 0; r < runs && result == 0; r++)
        result = find_shares(&joining, r, err);
    if (result == 0 && both_have(&joining)) {
        for (size_t r = 0; r < runs && result == 0; r++) {
            if (joining.has[r])
                result = add_cells(&joining, r, err);
        }
        if (result == 0)
            result = join(&joining, err);
        if (result == 0)
            rps_comparison_each_family(&work->comparison, correct);
        keep_most(&work->comparison);
    }
    end(&joining);
    return result;
}
