/* Make a comparison: read the runs, match phases to rows, and compute each row's changes. */
#include "rpistat/comparison.h"
#include "rpistat/plan.h"
#include "rpistat/store.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "match.h"
#include "work.h"

/* --- what takes part -------------------------------------------------------------------------- */

static int read_run(struct rps_comparison_work *work, size_t r,
                    const struct rps_comparison_choice *choice, struct rps_error *err)
{
    struct rps_comparison_run *run = &work->comparison.run[r];

    run->reader = choice->reader;
    run->run_id = choice->run_id;
    run->side = choice->side;
    run->store = choice->store;
    if (rps_reader_run(work->comparison.arena, run->reader, run->run_id, &run->run, err) < 0)
        return RPS_FAILED;
    if (run->run.state == RPS_RUN_RECORDING)
        return rps_error_set(err, RPS_FAILED,
                             "run %" PRId64
                             " of %s is still being recorded; compare it after it has ended",
                             run->run_id, run->store);
    if (rps_reader_downsampled(run->reader, run->run_id, &work->run[r].thinned_ns, err) < 0 ||
        rps_reader_builds(work->comparison.arena, run->reader, run->run_id, &work->run[r].builds,
                          err) < 0)
        return RPS_FAILED;
    return rps_reader_plan(work->comparison.arena, run->reader, run->run_id, &work->run[r].plan,
                           err);
}

/* Refuse a run that is chosen twice. It may be in different copies of the store. */
static int check_twice(const struct rps_comparison *comparison, struct rps_error *err)
{
    for (size_t i = 0; i < comparison->run_count; i++) {
        for (size_t k = 0; k < i; k++) {
            const struct rps_comparison_run *run = &comparison->run[i],
                                            *other = &comparison->run[k];

            if ((run->reader == other->reader && run->run_id == other->run_id) ||
                (run->run.uuid[0] && strcmp(run->run.uuid, other->run.uuid) == 0))
                return rps_error_set(
                    err, RPS_USAGE,
                    run->side == other->side
                        ? "run %" PRId64 " is named twice on one side; leave out one of them"
                        : "run %" PRId64 " is on both sides; leave it out of one of them",
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

    comparison->run = rps_arena_get(comparison->arena, count, sizeof(*comparison->run));
    work->run = rps_arena_get(comparison->arena, count, sizeof(*work->run));
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
        result = rps_error_set(err, RPS_FAILED, "side %c has no run; name one to compare",
                               comparison->a_count == 0 ? 'A' : 'B');
    return result == 0 ? check_twice(comparison, err) : result;
}

/* --- rows ------------------------------------------------------------------------------------- */

static void add_rows(struct rps_comparison *comparison, size_t phases)
{
    comparison->row_count = 1 + phases;
    comparison->row =
        rps_arena_get(comparison->arena, comparison->row_count, sizeof(*comparison->row));
    for (size_t i = 0; i <= phases; i++) {
        struct rps_comparison_row *row = &comparison->row[i];

        row->label = (int)i - 1;
        row->a_start_ns = row->b_start_ns = -1;
        row->change =
            rps_arena_get(comparison->arena, comparison->figure_count, sizeof(*row->change));
    }
    comparison->row[0].a_times = comparison->row[0].b_times = 1;
    comparison->row[0].a_start_ns = comparison->row[0].b_start_ns = 0;
}

/* Replace the labels of the run's phases by row numbers. */
static void label_run(struct rps_comparison *comparison, size_t r, const struct rps_phases *phases,
                      const size_t *row_of)
{
    struct rps_comparison_run *run = &comparison->run[r];
    int stands = comparison->standing[run->side] == r;

    run->phases = *phases;
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

static int match(struct rps_comparison_work *work, struct rps_joint *joint, struct rps_error *err)
{
    struct rps_comparison *comparison = &work->comparison;
    const struct rps_match_labels labels = {joint->label_count, joint->distance};
    struct rps_matching matching = {0};
    int *side = rps_arena_get(comparison->arena, comparison->run_count, sizeof(*side));
    int result;

    for (size_t r = 0; r < comparison->run_count; r++)
        side[r] = (int)comparison->run[r].side;
    result = rps_match_runs(comparison->arena, joint->run, side, comparison->run_count, &labels,
                            &matching, err);
    if (result == 0) {
        add_rows(comparison, matching.row_count);
        memcpy(comparison->standing, matching.standing, sizeof(comparison->standing));
        for (size_t r = 0; r < comparison->run_count; r++)
            label_run(comparison, r, &joint->run[r], matching.row_of[r]);
    }
    return result;
}

static int find_rows(struct rps_comparison_work *work, struct rps_error *err)
{
    const struct rps_run_phases_options options = {.to_ns = INT64_MAX,
                                                   .cpus = {.way = RPS_CPUS_SUM},
                                                   .no_samples = work->options->no_samples,
                                                   .find.level = work->options->level};
    struct rps_comparison *comparison = &work->comparison;
    struct rps_run_at *run = rps_arena_get(comparison->arena, comparison->run_count, sizeof(*run));
    int result;

    if (work->options->no_phases) {
        add_rows(comparison, 0);
        return 0;
    }
    for (size_t r = 0; r < comparison->run_count; r++)
        run[r] = (struct rps_run_at){comparison->run[r].reader, comparison->run[r].run_id};
    result = rps_run_phases_detect(comparison->arena, run, comparison->run_count, &options,
                                   &work->phases, err);
    return result == 0 ? match(work, &work->phases.joint, err) : result;
}

/* --- changes ---------------------------------------------------------------------------------- */

/* If a run lacks a phase class that other runs of its side have, set its time in the class to 0, so
 * that the times of the classes add up to that of the run. */
static void set_lacking(const struct rps_comparison *comparison, struct rps_change_value *value)
{
    int has[2] = {0};

    for (size_t r = 0; r < comparison->run_count; r++)
        has[comparison->run[r].side] |= !isnan(value[r].value);
    for (size_t r = 0; r < comparison->run_count; r++) {
        if (isnan(value[r].value) && has[comparison->run[r].side])
            value[r].value = 0;
    }
}

static void find_changes(struct rps_comparison_work *work)
{
    struct rps_comparison *comparison = &work->comparison;
    size_t figures = comparison->figure_count, a_count = comparison->a_count;
    struct rps_change_value *value =
        rps_arena_get(comparison->arena, comparison->run_count, sizeof(*value));

    for (size_t i = 0; i < comparison->row_count * figures; i++) {
        for (size_t r = 0; r < comparison->run_count; r++)
            value[r] = work->run[r].value[i];
        if (i >= figures && comparison->figure[i % figures].kind == RPS_FIGURE_TIME)
            set_lacking(comparison, value);
        comparison->row[i / figures].change[i % figures] = rps_change_find(
            value, a_count, value + a_count, comparison->b_count, comparison->statistic);
    }
}

static int has_values(const struct rps_comparison *comparison, size_t figure)
{
    for (size_t row = 0; row < comparison->row_count; row++) {
        const struct rps_change *change = &comparison->row[row].change[figure];

        if (!isnan(change->a) || !isnan(change->b))
            return 1;
    }
    return 0;
}

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

static void correct(struct rps_comparison *comparison, size_t from, size_t to)
{
    size_t figures = comparison->figure_count, count = (to - from) * figures;
    struct rps_change **change = rps_arena_get(comparison->arena, count, sizeof(*change));

    for (size_t i = 0; i < count; i++)
        change[i] = &comparison->row[from + i / figures].change[i % figures];
    rps_change_correct(comparison->arena, change, count);
}

/* --- the comparison --------------------------------------------------------------------------- */

int rps_comparison_find(struct rps_arena *arena, const struct rps_comparison_choice *choice,
                        size_t count, const struct rps_comparison_options *options,
                        struct rps_comparison *ret, struct rps_error *err)
{
    struct rps_comparison_work work = {
        .comparison = {.arena = arena,
                       .statistic = options->statistic,
                       .is_latency = options->is_latency},
        .options = options,
    };
    int result = take_part(&work, choice, count, err);

    if (result == 0)
        result = rps_comparison_find_figures(&work, err);
    if (result == 0)
        result = find_rows(&work, err);
    for (size_t r = 0; r < work.comparison.run_count && result == 0; r++)
        result = rps_comparison_measure(&work, r, err);
    if (result == 0) {
        find_changes(&work);
        drop_empty(&work.comparison);
        rps_comparison_each_family(&work.comparison, correct);
    }
    if (result == 0 && !options->no_samples)
        result = rps_comparison_find_functions(&work.comparison, err);
    if (result == 0) {
        rps_comparison_name_sides(&work.comparison);
        rps_comparison_remark_all(&work);
    }
    *ret = work.comparison;
    return result;
}
