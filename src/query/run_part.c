/* Parts of a run: which periods they have, and how long the workload was on a CPU. */
#include "rpistat/run_part.h"
#include "rpistat/arena.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/clock.h"
#include "rpistat/cpu_series.h"
#include "rpistat/text.h"
#include "rpistat/plan.h"
#include "rpistat/run.h"
#include "rpistat/run_phases.h"
#include "rpistat/run_regions.h"
#include "rpistat/run_system.h"
#include "rpistat/walk.h"

#define OFF_CPU_SHOWN .0005 /* Shares of off-CPU time are printed with this precision. */

/* --- segments --------------------------------------------------------------------------------- */

static void add_stretch(struct rps_arena *arena, struct rps_run_part *part, uint64_t first,
                        uint64_t last, size_t group)
{
    part->stretch = rps_arena_grow(arena, part->stretch, part->count, sizeof(*part->stretch));
    part->stretch[part->count++] = (struct rps_run_stretch){first, last, group};
    if (part->group_count <= group)
        part->group_count = group + 1;
}

struct rps_run_part rps_run_part_both(struct rps_arena *arena, const struct rps_run_part *part,
                                      const struct rps_run_part *other)
{
    struct rps_run_part both = {.is_latency = other->is_latency, .latency = other->latency};

    for (size_t i = 0, j = 0; i < part->count && j < other->count;) {
        const struct rps_run_stretch *x = &part->stretch[i], *y = &other->stretch[j];
        uint64_t first = x->first > y->first ? x->first : y->first;
        uint64_t last = x->last < y->last ? x->last : y->last;

        if (first <= last)
            add_stretch(arena, &both, first, last, x->group);
        if (x->last <= y->last)
            i++;
        else
            j++;
    }
    both.group_count = part->group_count;
    return both;
}

/* --- phases ----------------------------------------------------------------------------------- */

/* Selected phases: all occurrences of a label, one occurrence (from 1), or a range of phases. */
struct meant {
    int label; /* Label of the phases; -1: selected by number. */
    uint64_t first, last;
};

static int parse_phase(const char *text, struct meant *ret, struct rps_error *err)
{
    const char *behind = text + strcspn(text, ".-");
    char name[RPS_PHASE_LABEL_SIZE];
    size_t length = (size_t)(behind - text);

    *ret = (struct meant){.last = UINT64_MAX};
    snprintf(name, sizeof(name), "%.*s", (int)(length < sizeof(name) ? length : 0), text);
    ret->label = rps_phase_label_parse(name);
    if (ret->label >= 0) {
        if (!*behind)
            return 0;
        if (*behind == '.' &&
            rps_parse_uint64("phase", behind + 1, 1, INT64_MAX, &ret->first, NULL) == 0) {
            ret->last = ret->first;
            return 0;
        }
    } else if (rps_parse_uint64("phase", name, 0, INT64_MAX, &ret->first, NULL) == 0) {
        ret->last = ret->first;
        if (!*behind || (*behind == '-' && rps_parse_uint64("phase", behind + 1, ret->first,
                                                            INT64_MAX, &ret->last, NULL) == 0))
            return 0;
    }
    return rps_error_set(err, RPS_USAGE,
                         "'%s' is not a phase; write B, B.2 for the second phase B, or 2-4 for the "
                         "phases with these numbers, from 0",
                         text);
}

int rps_run_part_check(const char *text, struct rps_error *err)
{
    struct meant meant;

    return parse_phase(text, &meant, err);
}

static int choose_phases(struct rps_arena *arena, const struct rps_phases *phases, int64_t run_id,
                         const char *text, struct rps_run_part *ret, struct rps_error *err)
{
    char last[RPS_PHASE_LABEL_SIZE];
    struct meant meant;
    uint64_t times = 0;
    int result = parse_phase(text, &meant, err);

    for (size_t i = 0; i < phases->count && result == 0; i++) {
        const struct rps_phase *phase = &phases->phase[i];
        uint64_t number = meant.label < 0 ? i : phase->label == meant.label ? ++times : UINT64_MAX;

        if (number != UINT64_MAX && number >= meant.first && number <= meant.last)
            add_stretch(arena, ret, phase->first, phase->last, 0);
    }
    if (result < 0 || ret->count > 0)
        return result;
    return rps_error_set(
        err, RPS_FAILED,
        "run %" PRId64 " has no phase '%s'; choose from %s%s (see `rpistat phases`)", run_id, text,
        phases->label_count > 1 ? "A to " : "",
        rps_phase_label(phases->label_count > 0 ? phases->label_count - 1 : 0, last));
}

static int keep_phases(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                       const struct rps_part_choice *choice, struct rps_run_part *part,
                       struct rps_error *err)
{
    struct rps_phase_levels levels = {0};
    struct rps_run_part chosen = {0};
    int result = choice->phases ? 1 : rps_run_phases_get(arena, reader, run_id, &levels, NULL, err);

    if (result == 0)
        result =
            rps_error_set(err, RPS_FAILED,
                          "the phases of run %" PRId64
                          " are not known; find them with `rpistat phases -r %" PRId64 "` first",
                          run_id, run_id);
    if (result > 0)
        result =
            choose_phases(arena, choice->phases ? choice->phases : rps_phase_levels_shown(&levels),
                          run_id, choice->phase, &chosen, err);
    *part = rps_run_part_both(arena, part, &chosen);
    return result;
}

/* --- regions ---------------------------------------------------------------------------------- */

RPS_ARRAY_ORDER(by_first, struct rps_run_stretch, .first)

/* Sort the periods, which are read CPU by CPU, and join overlapping ranges. */
static void put_in_order(struct rps_run_part *part)
{
    size_t kept = 0;

    if (part->count > 0)
        qsort(part->stretch, part->count, sizeof(*part->stretch), by_first);
    for (size_t i = 0; i < part->count; i++) {
        struct rps_run_stretch next = part->stretch[i];

        if (kept > 0 && next.first <= part->stretch[kept - 1].last) {
            if (next.last > part->stretch[kept - 1].last)
                part->stretch[kept - 1].last = next.last;
        } else {
            part->stretch[kept++] = next;
        }
    }
    part->count = kept;
}

static int keep_region(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                       const struct rps_part_choice *choice, struct rps_run_part *part,
                       struct rps_error *err)
{
    static const struct rps_cpus all = {0};
    struct rps_run_regions regions;
    struct rps_cpu_series series = {0};
    struct rps_walk walk = {.series = &series, .way = RPS_CPUS_EACH};
    struct rps_run_part chosen = {0};
    struct rps_notes marks = {0};
    int result = rps_cpu_series_open(arena, &series, reader, run_id, choice->from_ns, choice->to_ns,
                                     &all, err);

    if (result == 0)
        result = rps_reader_marks(arena, reader, run_id, &marks, err);
    regions = rps_run_regions_find(arena, &marks, choice->from_ns, choice->to_ns);
    if (result == 0)
        result = rps_run_regions_choose(&regions, run_id, choice->region, err);
    if (result == 0)
        result = rps_run_region_keep(&series, &regions.region[0], err);
    while (rps_walk_next(&walk, &result, err)) {
        struct rps_run_stretch *before =
            chosen.count > 0 ? &chosen.stretch[chosen.count - 1] : NULL;

        if (before && before->last + 1 == walk.period->period)
            before->last = rps_period_last(walk.period);
        else
            add_stretch(arena, &chosen, walk.period->period, rps_period_last(walk.period), 0);
    }
    put_in_order(&chosen);
    *part = rps_run_part_both(arena, part, &chosen);
    return result;
}

int rps_run_part_choose(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                        const struct rps_part_choice *choice, struct rps_run_part *ret,
                        struct rps_error *err)
{
    uint64_t first = 0, last = INT64_MAX;
    int result = 1;

    *ret = (struct rps_run_part){0};
    if (choice->from_ns > 0 || choice->to_ns < INT64_MAX)
        result =
            rps_reader_periods(reader, run_id, choice->from_ns, choice->to_ns, &first, &last, err);
    if (result > 0) {
        add_stretch(arena, ret, first, last, 0);
        result = 0;
    }
    if (result == 0 && choice->phase)
        result = keep_phases(arena, reader, run_id, choice, ret, err);
    if (result == 0 && choice->region)
        result = keep_region(arena, reader, run_id, choice, ret, err);
    ret->group_count = 1;
    ret->is_latency = choice->is_latency;
    return result;
}

/* --- time on and off the CPU ------------------------------------------------------------------ */

/* Times of a group in ns. Periods do not show which threads ran simultaneously. If two threads each
 * ran for half of a period, the CPU may have been unused for half of the period, or not at all. */
struct group_time {
    double length, cpu;
    double off, off_most; /* Minimum and maximum time in which no thread ran. */
};

static void add_group_time(struct group_time *to, const struct rps_period *period, double cpus)
{
    double length = (double)period->length_ns;
    double cpu = period->idle_ns < 0 ? NAN : (double)(period->enabled_ns - period->idle_ns);

    if (period->cpus_length_ns > 0) /* NaN stays NaN. */
        cpu = isnan(cpu) ? cpu : fmin(cpu, (double)period->cpus_length_ns);
    to->length += length;
    to->cpu += cpu;
    to->off += isnan(cpu) ? NAN : fmax(0, length - cpu);
    to->off_most += isnan(cpu) ? NAN : fmax(0, length - cpu / cpus);
}

static int read_group_times(struct rps_arena *arena, struct rps_cpu_series *series,
                            const struct rps_phases *groups, double cpus, struct group_time **ret,
                            struct rps_error *err)
{
    struct rps_walk walk = {.series = series, .way = RPS_CPUS_SUM};
    size_t at = 0;
    int result = 0;

    *ret = rps_arena_get(arena, (size_t)groups->label_count, sizeof(**ret));
    rps_cpu_series_choose_signals(series, 1);
    while (rps_walk_next(&walk, &result, err)) {
        size_t found = rps_phases_at(groups, walk.period->period, &at);

        if (found != SIZE_MAX)
            add_group_time(&(*ret)[groups->phase[found].label], walk.period, cpus);
    }
    return result;
}

static struct rps_part_time part_time(const struct group_time *of, const struct rps_run *run,
                                      const struct rps_run_system *system, int cpus)
{
    struct rps_system_time time = rps_run_system_time(system, of->cpu / RPS_NS_PER_S);
    struct rps_part_time ret = {of->off / of->length, of->cpu / RPS_NS_PER_S, 0};

    if ((rps_run_is_of_machine(run->target) && !rps_run_is_of_cgroup(run->target)) ||
        rps_system_time_is_of_one(&time))
        ret.off_cpu = fmax(0, 1 - of->cpu / of->length / cpus);
    else
        ret.is_least = of->off_most - of->off > OFF_CPU_SHOWN * of->length;
    return ret;
}

/* Find the time of each group of periods. Each label is a group. */
static int find_time(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                     const struct rps_part_choice *choice, const struct rps_run_part *part,
                     const struct rps_phases *groups, const struct rps_cpus *cpus,
                     struct rps_part_time *ret, struct rps_error *err)
{
    struct rps_cpus sum = {.way = RPS_CPUS_SUM, .cpu = cpus->cpu, .count = cpus->count};
    struct rps_cpu_series series = {0};
    struct rps_run_system *system = NULL;
    struct group_time *time = NULL;
    struct rps_plan *plan = NULL;
    struct rps_run run;
    int result = rps_cpu_series_open(arena, &series, reader, run_id, choice->from_ns, choice->to_ns,
                                     &sum, err);

    if (result == 0)
        result = rps_reader_run(arena, reader, run_id, &run, err);
    if (result == 0)
        result = rps_reader_plan(arena, reader, run_id, &plan, err);
    if (result == 0)
        result = read_group_times(arena, &series, groups, fmax(1, run.cpu_count), &time, err);
    if (result == 0)
        result = rps_run_system_read(arena, reader, run_id, choice->from_ns, choice->to_ns, part,
                                     &system, err);
    for (size_t g = 0; g < part->group_count && result == 0; g++) {
        if (time[g].length > 0 && rps_plan_knows_cpu_time(plan))
            ret[g] = part_time(&time[g], &run, &system[g], series.by_cpu ? series.count : 1);
    }
    return result;
}

int rps_run_part_time(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                      const struct rps_part_choice *choice, const struct rps_run_part *part,
                      const struct rps_cpus *cpus, struct rps_part_time **ret,
                      struct rps_error *err)
{
    const struct rps_phases phases = {
        .count = part->count,
        .label_count = (int)part->group_count,
        .phase = rps_arena_get(arena, part->count, sizeof(*phases.phase)),
    };

    *ret = rps_arena_get(arena, part->group_count, sizeof(**ret));
    for (size_t g = 0; g < part->group_count; g++)
        (*ret)[g] = (struct rps_part_time){NAN, NAN, 0};
    for (size_t i = 0; i < part->count; i++)
        phases.phase[i] = (struct rps_phase){.first = part->stretch[i].first,
                                             .last = part->stretch[i].last,
                                             .label = (int)part->stretch[i].group};
    return part->count > 0
               ? find_time(arena, reader, run_id, choice, part, &phases, cpus, *ret, err)
               : 0;
}
