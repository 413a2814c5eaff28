/* Calls over time: the samples of each period, and the times of these periods. */
#include "timeline.h"

#include <math.h>
#include <stdlib.h>

#include "rpistat/arena.h"
#include "rpistat/clock.h"
#include "rpistat/code_store.h"
#include "rpistat/latency.h"
#include "rpistat/run_code.h"
#include "rpistat/walk.h"

/* If at most this number of samples is missing in a row, chance may be the reason. So the missing
 * samples are not shown as off-CPU time. */
#define CHANCE 2

struct walking {
    const struct rps_timeline *timeline;
    struct rps_cpu_series series;
    struct rps_walk walk;
    int is_over;     /* 1 if there are no more periods. */
    uint64_t newest; /* Period of the previous count. */
    int64_t end_ns;  /* End of the previous row. */
    struct rps_timeline_row row;
    size_t *place; /* Index of each node in `seen`, + 1; 0: none. */
    void (*put)(void *context, const struct rps_timeline_row *row);
    void *context;
};

int rps_timeline_cpus(const struct rps_export_job *job, const struct rps_export_code *of,
                      int32_t **ret, size_t *ret_count, struct rps_error *err)
{
    struct rps_cpu_series series;
    int result = rps_cpu_series_open(job->arena, &series, job->reader, job->run->run_id,
                                     of->choice->from_ns, of->choice->to_ns, of->cpus, err);

    *ret_count = result < 0 ? 0 : (size_t)series.count;
    *ret = rps_arena_get(job->arena, *ret_count, sizeof(**ret));
    for (size_t i = 0; i < *ret_count; i++)
        (*ret)[i] = series.cpu[i];
    return result;
}

/* --- one CPU ---------------------------------------------------------------------------------- */

static struct rps_cpus one_cpu(const int *cpu)
{
    return (struct rps_cpus){.cpu = cpu, .count = *cpu != RPS_CPU_ALL};
}

/* Order the nodes depth first, so that the callees of a caller are together. */
static size_t *find_order(struct rps_arena *arena, const struct rps_calls *calls)
{
    /* size: for each node, the number of nodes in its subtree. */
    size_t *size = rps_arena_get(arena, calls->count, sizeof(*size));
    size_t *order = rps_arena_get(arena, calls->count, sizeof(*order));
    /* next: for each node, the position of the child to place next. */
    size_t *next = rps_arena_get(arena, calls->count, sizeof(*next));

    for (size_t i = calls->count; i-- > 0;) {
        size[i]++;
        if (i > 0)
            size[calls->call[i].parent] += size[i];
    }
    next[0] = 1;
    for (size_t i = 1; i < calls->count; i++) {
        size_t parent = calls->call[i].parent;

        order[i] = next[parent];
        next[parent] += size[i];
        next[i] = order[i] + 1;
    }
    return order;
}

int rps_timeline_open(struct rps_timeline *ret, struct rps_arena *arena,
                      const struct rps_export_job *job, const struct rps_export_code *of,
                      int32_t cpu, enum rps_code_counted what, struct rps_error *err)
{
    const struct rps_cpus cpus = one_cpu(&cpu);
    struct rps_code_counts counts = {0};
    int result = rps_code_counts_read(arena, &counts, job->reader, job->run->run_id, of->part,
                                      &cpus, of->code, what, err);

    *ret = (struct rps_timeline){.reader = job->reader,
                                 .run_id = job->run->run_id,
                                 .of = of,
                                 .cpu = cpu,
                                 .what = what,
                                 .id_count = counts.ids};
    if (what == RPS_COUNT_STACKS && result == 0) {
        ret->calls = rps_shares_calls(arena, of->code, counts.id);
        ret->order = find_order(arena, &ret->calls);
        return 0;
    }
    ret->calls.count = counts.ids;
    ret->calls.node = ret->order = rps_arena_get(arena, counts.ids, sizeof(*ret->order));
    for (size_t i = 0; i < counts.ids; i++)
        ret->order[i] = i;
    return result;
}

/* --- rows ------------------------------------------------------------------------------------- */

RPS_ARRAY_ORDER(compare_order, struct rps_timeline_seen, .order)

/* Place a row's nodes one after another, in the part of the row's time that samples cover. */
static void place_seen(const struct walking *walking)
{
    const struct rps_timeline_row *row = &walking->row;
    double frequency = (double)walking->timeline->of->code->sampling.frequency;
    double length_ns = (double)(row->end_ns - row->start_ns), all = (double)row->samples, sum = 0;
    double expected = frequency * length_ns / RPS_NS_PER_S;
    double busy_ns = all + CHANCE >= expected ? length_ns : length_ns * all / expected;

    for (size_t i = 0; i < row->count; i++) {
        struct rps_timeline_seen *seen = &row->seen[i];

        seen->start_ns = row->start_ns + (int64_t)(busy_ns * fmin(sum / all, 1));
        sum += (double)seen->samples;
        seen->end_ns = row->start_ns + (int64_t)(busy_ns * fmin(sum / all, 1));
    }
}

static void end_row(struct walking *walking)
{
    struct rps_timeline_row *row = &walking->row;

    if (row->samples > 0) {
        qsort(row->seen, row->count, sizeof(*row->seen), compare_order);
        if (row->start_ns < walking->end_ns) /* Counts of downsampled periods may be late, so
                                                rows may overlap. */
            row->start_ns = walking->end_ns;
        if (row->end_ns < row->start_ns)
            row->end_ns = row->start_ns;
        walking->end_ns = row->end_ns;
        place_seen(walking);
        walking->put(walking->context, row);
    }
    for (size_t i = 0; i < row->count; i++)
        walking->place[row->seen[i].node] = 0;
    row->count = 0;
    row->samples = 0;
}

static void end_walk(struct walking *walking)
{
    int leaves = 1;

    if (walking->walk.state)
        rps_walk_next(&walking->walk, &leaves, NULL);
    walking->walk = (struct rps_walk){.series = &walking->series, .way = RPS_CPUS_EACH};
    walking->is_over = 0;
}

/* Move to the period with the given number, or to the block that contains this period. */
static int find_period(struct walking *walking, uint64_t period, struct rps_error *err)
{
    const struct rps_period **at = &walking->walk.period;
    int result = 0;

    if (period < walking->newest) /* A finer level begins: start from the first period again. */
        end_walk(walking);
    walking->newest = period;
    while (!walking->is_over && (!walking->walk.state || rps_period_last(*at) < period))
        walking->is_over = !rps_walk_next(&walking->walk, &result, err);
    if (result == 0 && !walking->is_over) {
        walking->row.period = period;
        walking->row.start_ns = (*at)->start_ns;
        walking->row.end_ns =
            /* The period is missing. */
            (*at)->period > period ? (*at)->start_ns : rps_period_end_ns(*at);
    }
    return result;
}

static int take_count(void *context, const struct rps_code_count *count, struct rps_error *err)
{
    struct walking *walking = context;
    const struct rps_timeline *timeline = walking->timeline;
    struct rps_timeline_row *row = &walking->row;
    size_t node =
        (uint64_t)count->id < timeline->id_count ? timeline->calls.node[count->id] : SIZE_MAX;

    if (!walking->walk.state || count->period != walking->newest) {
        end_row(walking);
        if (find_period(walking, count->period, err) < 0)
            return RPS_FAILED;
    }
    if (node == SIZE_MAX)
        return 0;
    if (walking->place[node] == 0) {
        row->seen[row->count] =
            (struct rps_timeline_seen){.node = node, .order = timeline->order[node]};
        walking->place[node] = ++row->count;
    }
    if (count->samples <= UINT64_MAX - row->samples) { /* a store may contain any number */
        row->seen[walking->place[node] - 1].samples += count->samples;
        row->samples += count->samples;
    }
    return 0;
}

int rps_timeline_walk(const struct rps_timeline *timeline,
                      void (*put)(void *context, const struct rps_timeline_row *row), void *context,
                      struct rps_error *err)
{
    const struct rps_part_choice *choice = timeline->of->choice;
    const struct rps_run_part *part = timeline->of->part;
    const struct rps_cpus cpus = one_cpu(&timeline->cpu);
    struct rps_arena *scratch = rps_arena_new();
    struct walking walking = {.timeline = timeline, .put = put, .context = context};
    struct rps_code_count_query query = {
        .what = timeline->what, .cpu = timeline->cpu, .count = take_count, .context = &walking};
    int result = rps_cpu_series_open(scratch, &walking.series, timeline->reader, timeline->run_id,
                                     choice->from_ns, choice->to_ns, &cpus, err);

    walking.place = rps_arena_get(scratch, timeline->calls.count, sizeof(*walking.place));
    walking.row.seen = rps_arena_get(scratch, timeline->calls.count, sizeof(*walking.row.seen));
    end_walk(&walking);
    for (size_t i = 0; i < part->count && result == 0; i++) {
        query.first = part->stretch[i].first;
        query.last = part->stretch[i].last;
        result = rps_reader_code_counts(timeline->reader, timeline->run_id, &query, err);
    }
    if (result == 0)
        end_row(&walking);
    end_walk(&walking);
    rps_arena_free(scratch);
    return result;
}

/* --- the code of a part ----------------------------------------------------------------------- */

int rps_export_code(struct rps_export_job *job, const struct rps_part_choice *choice,
                    const struct rps_cpus *cpus,
                    int (*write)(struct rps_export_job *job, const struct rps_export_code *of,
                                 struct rps_error *err),
                    struct rps_error *err)
{
    int64_t run_id = job->run->run_id;
    struct rps_run_part part = {0};
    struct rps_code code;
    int result = rps_reader_code(job->arena, job->reader, run_id, &code, err);

    if (result == 0 || (result > 0 && code.stack_count == 0))
        result = rps_run_code_none(run_id, err);
    if (result > 0)
        result = rps_run_part_choose(job->arena, job->reader, run_id, choice, &part, err);
    if (result == 0 && part.count == 0)
        result = rps_run_code_no_period(run_id, err);
    if (result == 0)
        result = rps_latency_read(job->arena, job->reader, run_id, &code, &part, err);
    if (result == 0)
        result = write(job, &(struct rps_export_code){&code, choice, &part, cpus}, err);
    return result;
}
