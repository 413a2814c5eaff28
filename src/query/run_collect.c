/* From the periods of a run to signals, and from observations back to periods. */
#include "run_collect.h"

#include <inttypes.h>

/* Period numbers of a recording by CPU may have holes, but not more than periods. */
#define HOLES_MAX 1000

/* CPUs cannot be put side by side when their numbers are nonsense. */
static int check_numbers(struct rps_reader *reader, const struct rps_cpu_series *cpu_series,
                         struct rps_error *err)
{
    struct rps_run_summary summary;

    if (rps_reader_summary(reader, cpu_series->run_id, &summary, err) < 0)
        return RPS_FAILED;
    if (cpu_series->last - cpu_series->first <= 2 * summary.periods + HOLES_MAX)
        return 0;
    return rps_error_set(err, RPS_FAILED,
                         "the periods of run %" PRId64 " are numbered too far apart to be put side "
                         "by side: look at one CPU, with --cpu",
                         cpu_series->run_id);
}

int rps_run_collect_walk(struct rps_reader *reader, const struct rps_cpu_series *cpu_series,
                         const struct rps_cpus *cpus, struct rps_collect_options *options,
                         struct rps_collect **ret, struct rps_error *err)
{
    struct rps_walk walk = {.series = cpu_series, .way = RPS_CPUS_SUM};
    struct rps_collect *collect = NULL;
    int result = 0;

    if (cpu_series->by_cpu && cpu_series->count > 1 && cpus->way == RPS_CPUS_EACH) {
        walk.way = RPS_CPUS_EACH;
        options->cpu = cpu_series->cpu;
        options->cpu_count = cpu_series->count;
        options->first = options->by_rotation ? cpu_series->first_rotation : cpu_series->first;
        options->last = options->by_rotation ? cpu_series->last_rotation : cpu_series->last;
        options->first >>= RPS_LEVEL_BITS * options->level;
        options->last >>= RPS_LEVEL_BITS * options->level;
        result = check_numbers(reader, cpu_series, err);
    }
    if (result == 0)
        result = rps_collect_new(&collect, options, err);
    while (rps_walk_next(&walk, &result, err))
        result = rps_collect_add(collect, walk.track, walk.period, err);
    if (result == 0)
        *ret = collect;
    else
        rps_collect_free(collect);
    return result;
}

/* From observations to period numbers and times. */
void rps_run_collect_place(struct rps_phases *phases, const struct rps_collected *collected)
{
    for (size_t i = 0; i < phases->count; i++) {
        struct rps_phase *phase = &phases->phase[i];

        phase->start_ns = collected->start_ns[phase->first];
        phase->end_ns = collected->end_ns[phase->last];
        phase->earliest = collected->first[phase->earliest];
        phase->latest = collected->first[phase->latest];
        phase->first = collected->first[phase->first];
        phase->last = collected->last[phase->last];
    }
    for (size_t i = 0; i < phases->outlier_count; i++)
        phases->outlier[i] = collected->first[phases->outlier[i]];
}

size_t rps_run_collect_shortest(const struct rps_run *run, const struct rps_collected *collected)
{
    return collected->set_count > 1 && collected->level == 0
               ? (size_t)rps_run_periods_with(run, collected->set_count, 2) + 1
               : 0;
}
