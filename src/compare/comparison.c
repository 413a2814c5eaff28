/* A comparison: what takes part, its rows, and their changes. */
#include "rpistat/comparison.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "match.h"
#include "work.h"

#define ALPHA .05

int rps_comparison_remark(struct rps_comparison *comparison, struct rps_error *err,
                          const char *format, ...)
{
    char **more =
        realloc(comparison->remark, (comparison->remark_count + 1) * sizeof(*comparison->remark));
    va_list args;
    int length;

    if (!more)
        return rps_error_memory(err);
    comparison->remark = more;
    va_start(args, format);
    length = vasprintf(&more[comparison->remark_count], format, args);
    va_end(args);
    if (length < 0)
        return rps_error_memory(err);
    comparison->remark_count++;
    return 0;
}

/* --- what takes part -------------------------------------------------------------------------- */

static int read_run(struct rps_comparison_work *work, size_t r,
                    const struct rps_comparison_choice *choice, struct rps_error *err)
{
    struct rps_comparison_run *run = &work->comparison.run[r];

    run->reader = choice->reader;
    run->run_id = choice->run_id;
    run->side = choice->side;
    run->store = choice->store;
    rps_run_init(&run->run);
    if (rps_reader_run(run->reader, run->run_id, &run->run, err) < 0)
        return RPS_FAILED;
    if (run->run.state == RPS_RUN_RECORDING)
        return rps_error_set(err, RPS_FAILED,
                             "run %" PRId64 " of %s is still being recorded: compare it when it "
                             "has ended",
                             run->run_id, run->store);
    if (rps_reader_thinned(run->reader, run->run_id, &work->run[r].thinned_ns, err) < 0)
        return RPS_FAILED;
    return rps_reader_plan(run->reader, run->run_id, &work->run[r].plan, err);
}

/* A run has one identity, wherever a copy of its store lies. */
static int is_same(const struct rps_comparison_run *a, const struct rps_comparison_run *b)
{
    return (a->reader == b->reader && a->run_id == b->run_id) ||
           (a->run.uuid[0] && strcmp(a->run.uuid, b->run.uuid) == 0);
}

static int check_twice(const struct rps_comparison *comparison, struct rps_error *err)
{
    for (size_t i = 0; i < comparison->run_count; i++) {
        for (size_t k = 0; k < i; k++) {
            const struct rps_comparison_run *run = &comparison->run[i],
                                            *other = &comparison->run[k];

            if (is_same(run, other))
                return rps_error_set(err, RPS_USAGE,
                                     run->side == other->side
                                         ? "run %" PRId64 " is named twice on one side"
                                         : "run %" PRId64
                                           " is on both sides: it cannot be compared "
                                           "with itself",
                                     run->run_id);
        }
    }
    return 0;
}

static int take_part(struct rps_comparison_work *work, const struct rps_comparison_choice *choice,
                     size_t count, struct rps_error *err)
{
    struct rps_comparison *comparison = &work->comparison;
    int result = 0;

    comparison->run = calloc(count + 1, sizeof(*comparison->run));
    work->run = calloc(count + 1, sizeof(*work->run));
    if (!comparison->run || !work->run)
        return rps_error_memory(err);
    for (int side = RPS_SIDE_A; side <= RPS_SIDE_B; side++) {
        for (size_t i = 0; i < count && result == 0; i++) {
            if ((int)choice[i].side == side)
                result = read_run(work, comparison->run_count++, &choice[i], err);
        }
        if (side == RPS_SIDE_A)
            comparison->a_count = comparison->run_count;
    }
    comparison->b_count = comparison->run_count - comparison->a_count;
    comparison->standing[RPS_SIDE_B] = comparison->a_count;
    if (result == 0 && (comparison->a_count == 0 || comparison->b_count == 0))
        result = rps_error_set(err, RPS_FAILED, "side %c has no run to compare",
                               comparison->a_count == 0 ? 'A' : 'B');
    return result == 0 ? check_twice(comparison, err) : result;
}

/* --- rows ------------------------------------------------------------------------------------- */

static int add_rows(struct rps_comparison *comparison, size_t phases, struct rps_error *err)
{
    comparison->row_count = 1 + phases;
    comparison->row = calloc(comparison->row_count, sizeof(*comparison->row));
    if (!comparison->row)
        return rps_error_memory(err);
    for (size_t i = 0; i <= phases; i++) {
        struct rps_comparison_row *row = &comparison->row[i];

        row->label = (int)i - 1;
        row->a_start_ns = row->b_start_ns = -1;
        row->change = calloc(comparison->figure_count, sizeof(*row->change));
        if (!row->change)
            return rps_error_memory(err);
    }
    comparison->row[0].a_times = comparison->row[0].b_times = 1;
    comparison->row[0].a_start_ns = comparison->row[0].b_start_ns = 0;
    return 0;
}

/* The run's phases get their rows for labels. */
static void label_run(struct rps_comparison *comparison, size_t r, struct rps_phases *phases,
                      const size_t *row_of)
{
    struct rps_comparison_run *run = &comparison->run[r];
    int stands = comparison->standing[run->side] == r;

    run->phases = *phases;
    *phases = (struct rps_phases){0};
    run->phases.label_count = (int)comparison->row_count - 1;
    for (size_t i = 0; i < run->phases.count; i++) {
        struct rps_phase *phase = &run->phases.phase[i];
        struct rps_comparison_row *row;

        phase->label = row_of[i] == RPS_MATCH_NONE ? -1 : (int)row_of[i];
        if (phase->label < 0 || !stands)
            continue;
        row = &comparison->row[1 + phase->label];
        if (run->side == RPS_SIDE_A && row->a_times++ == 0)
            row->a_start_ns = phase->start_ns;
        if (run->side == RPS_SIDE_B && row->b_times++ == 0)
            row->b_start_ns = phase->start_ns;
    }
}

static int match(struct rps_comparison_work *work, struct rps_joint_phases *joint,
                 struct rps_error *err)
{
    struct rps_comparison *comparison = &work->comparison;
    const struct rps_match_labels labels = {joint->label_count, joint->distance};
    struct rps_matching matching = {0};
    int *side = calloc(comparison->run_count, sizeof(*side));
    int result = side ? 0 : rps_error_memory(err);

    for (size_t r = 0; r < comparison->run_count && side; r++)
        side[r] = (int)comparison->run[r].side;
    if (result == 0)
        result = rps_match_runs(joint->run, side, comparison->run_count, &labels, &matching, err);
    if (result == 0)
        result = add_rows(comparison, matching.row_count, err);
    if (result == 0) {
        memcpy(comparison->standing, matching.standing, sizeof(comparison->standing));
        for (size_t r = 0; r < comparison->run_count; r++)
            label_run(comparison, r, &joint->run[r], matching.row_of[r]);
    }
    rps_matching_free(&matching);
    free(side);
    return result;
}

static int find_rows(struct rps_comparison_work *work, struct rps_error *err)
{
    const struct rps_joint_options options = {work->options->level, work->options->no_samples};
    struct rps_comparison *comparison = &work->comparison;
    struct rps_joint_run *run;
    int result;

    if (work->options->no_phases)
        return add_rows(comparison, 0, err);
    run = calloc(comparison->run_count, sizeof(*run));
    if (!run)
        return rps_error_memory(err);
    for (size_t r = 0; r < comparison->run_count; r++)
        run[r] = (struct rps_joint_run){comparison->run[r].reader, comparison->run[r].run_id};
    result = rps_joint_phases_find(run, comparison->run_count, &options, &work->joint, err);
    if (result == 0)
        result = match(work, &work->joint, err);
    free(run);
    return result;
}

/* --- changes ---------------------------------------------------------------------------------- */

static int find_changes(struct rps_comparison_work *work, struct rps_error *err)
{
    struct rps_comparison *comparison = &work->comparison;
    size_t figures = comparison->figure_count, a_count = comparison->a_count;
    struct rps_change_value *value = calloc(comparison->run_count, sizeof(*value));

    if (!value)
        return rps_error_memory(err);
    for (size_t i = 0; i < comparison->row_count * figures; i++) {
        for (size_t r = 0; r < comparison->run_count; r++)
            value[r] = work->run[r].value[i];
        comparison->row[i / figures].change[i % figures] =
            rps_change_find(value, a_count, value + a_count, comparison->b_count);
    }
    free(value);
    return 0;
}

/* 1 when the figure has a value anywhere. */
static int has_values(const struct rps_comparison *comparison, size_t figure)
{
    for (size_t row = 0; row < comparison->row_count; row++) {
        const struct rps_change *change = &comparison->row[row].change[figure];

        if (!isnan(change->a) || !isnan(change->b))
            return 1;
    }
    return 0;
}

/* Without the figures that no run has a value of. */
static void drop_empty(struct rps_comparison *comparison)
{
    size_t kept = 0;

    for (size_t f = 0; f < comparison->figure_count; f++) {
        if (!has_values(comparison, f))
            continue;
        comparison->figure[kept] = comparison->figure[f];
        for (size_t row = 0; row < comparison->row_count; row++)
            comparison->row[row].change[kept] = comparison->row[row].change[f];
        kept++;
    }
    comparison->figure_count = kept;
}

int rps_comparison_correct(struct rps_change *const *change, size_t count, struct rps_error *err)
{
    double *p = calloc(count + 1, sizeof(*p)), *adjusted = calloc(count + 1, sizeof(*adjusted));
    int result = p && adjusted ? 0 : rps_error_memory(err);

    for (size_t i = 0; i < count && result == 0; i++)
        p[i] = rps_comparison_is_tested(change[i]) ? change[i]->p : NAN;
    if (result == 0 && rps_change_correct(p, count, adjusted) < 0)
        result = rps_error_memory(err);
    for (size_t i = 0; i < count && result == 0; i++) {
        if (!isnan(adjusted[i]))
            change[i]->adjusted = adjusted[i];
    }
    free(adjusted);
    free(p);
    return result;
}

size_t rps_comparison_family_end(const struct rps_comparison *comparison)
{
    const struct rps_comparison_row *row = comparison->row;
    int is_whole = comparison->row_count == 2 && row[1].a_times == 1 && row[1].b_times == 1;

    return is_whole ? 1 : comparison->row_count;
}

int rps_comparison_each_family(struct rps_comparison *comparison, rps_comparison_family *family,
                               struct rps_error *err)
{
    size_t rows = comparison->row_count, end = rps_comparison_family_end(comparison);
    int result = family(comparison, 0, end, err);

    return result == 0 && end < rows ? family(comparison, end, rows, err) : result;
}

static int correct(struct rps_comparison *comparison, size_t from, size_t to, struct rps_error *err)
{
    size_t figures = comparison->figure_count, count = (to - from) * figures;
    struct rps_change **change = calloc(count + 1, sizeof(*change));
    int result;

    if (!change)
        return rps_error_memory(err);
    for (size_t i = 0; i < count; i++)
        change[i] = &comparison->row[from + i / figures].change[i % figures];
    result = rps_comparison_correct(change, count, err);
    free(change);
    return result;
}

/* --- the comparison --------------------------------------------------------------------------- */

static void work_free(struct rps_comparison_work *work)
{
    for (size_t r = 0; work->run && r < work->comparison.run_count; r++) {
        rps_plan_free(work->run[r].plan);
        free(work->run[r].offered);
        free(work->run[r].figure);
        free(work->run[r].value);
    }
    free(work->run);
    rps_joint_phases_free(&work->joint);
    rps_comparison_free(&work->comparison);
}

int rps_comparison_find(const struct rps_comparison_choice *choice, size_t count,
                        const struct rps_comparison_options *options, struct rps_comparison *ret,
                        struct rps_error *err)
{
    struct rps_comparison_work work = {.options = options};
    int result = take_part(&work, choice, count, err);

    if (result == 0)
        result = rps_comparison_find_figures(&work, err);
    if (result == 0)
        result = find_rows(&work, err);
    for (size_t r = 0; r < work.comparison.run_count && result == 0; r++)
        result = rps_comparison_measure(&work, r, err);
    if (result == 0)
        result = find_changes(&work, err);
    if (result == 0) {
        drop_empty(&work.comparison);
        result = rps_comparison_each_family(&work.comparison, correct, err);
    }
    if (result == 0 && !options->no_samples)
        result = rps_comparison_find_functions(&work, err);
    if (result == 0)
        result = rps_comparison_remark_all(&work, err);
    if (result == 0) {
        *ret = work.comparison;
        work.comparison = (struct rps_comparison){.run_count = ret->run_count};
    }
    work_free(&work);
    return result;
}

void rps_comparison_free(struct rps_comparison *comparison)
{
    for (size_t r = 0; r < comparison->run_count; r++) {
        if (comparison->run) {
            rps_run_free(&comparison->run[r].run);
            rps_phases_free(&comparison->run[r].phases);
        }
        if (comparison->code)
            rps_code_free(&comparison->code[r]);
        if (comparison->function)
            free(comparison->function[r]);
    }
    for (size_t row = 0; comparison->row && row < comparison->row_count; row++) {
        free(comparison->row[row].change);
        free(comparison->row[row].function);
    }
    for (size_t i = 0; i < comparison->remark_count; i++)
        free(comparison->remark[i]);
    free(comparison->run);
    free(comparison->figure);
    free(comparison->row);
    free(comparison->remark);
    free(comparison->code);
    free(comparison->function);
    *comparison = (struct rps_comparison){0};
}

int rps_comparison_figure(const struct rps_comparison *comparison, const char *name)
{
    for (size_t f = 0; f < comparison->figure_count; f++) {
        if (strcmp(comparison->figure[f].name, name) == 0)
            return (int)f;
    }
    return -1;
}

enum rps_comparison_verdict rps_comparison_verdict(const struct rps_change *change)
{
    if (isnan(change->adjusted) || isnan(change->a) || isnan(change->b))
        return RPS_VERDICT_NONE;
    if (change->adjusted >= ALPHA)
        return RPS_VERDICT_SAME;
    return change->b < change->a ? RPS_VERDICT_LESS : RPS_VERDICT_MORE;
}
