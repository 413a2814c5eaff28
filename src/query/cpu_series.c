/* The series of a run's CPUs: which CPUs, how many periods they have, and the resolution at which
 * the periods are read. */
#include "rpistat/cpu_series.h"
#include "rpistat/arena.h"

#include <inttypes.h>
#include <stdio.h>

#include "rpistat/error.h"
#include "rpistat/period.h"
#include "rpistat/run.h"
#include "rpistat/store.h"
#include "rpistat/text.h"

/* Maximum number of values that a detection keeps in memory, at some 37 bytes each. */
#define VALUES_MAX UINT64_C(12000000)

/* Minimum number of blocks per bin of a chart. */
#define BIN_BLOCKS 8

/* --- finding ---------------------------------------------------------------------------------- */

static int is_asked(const struct rps_cpus *cpus, int32_t cpu)
{
    for (int i = 0; i < cpus->count; i++) {
        if (cpus->cpu[i] == cpu)
            return 1;
    }
    return cpus->count == 0;
}

static int find_cpus(struct rps_arena *arena, struct rps_cpu_series *series,
                     struct rps_cursor *cursor, const struct rps_cpus *cpus, struct rps_error *err)
{
    struct rps_period period;
    int got;

    while ((got = rps_cursor_next(cursor, &period, err)) > 0) {
        int known = series->count > 0 && series->cpu[series->count - 1] == period.cpu;
        uint64_t last = rps_period_last(&period);
        uint64_t last_rotation = period.rotation + rps_period_weight(&period) - 1;

        series->by_cpu |= period.cpu != RPS_CPU_ALL;
        if (series->by_cpu && !is_asked(cpus, period.cpu))
            continue;
        if (!known) {
            series->cpu =
                rps_arena_grow(arena, series->cpu, (size_t)series->count, sizeof(*series->cpu));
            series->cpu[series->count++] = period.cpu;
        }
        if (series->periods == 0) {
            series->first = series->last = period.period;
            series->first_rotation = series->last_rotation = period.rotation;
        }
        series->periods += rps_period_weight(&period);
        series->first = period.period < series->first ? period.period : series->first;
        series->last = last > series->last ? last : series->last;
        if (period.rotation < series->first_rotation)
            series->first_rotation = period.rotation;
        if (last_rotation > series->last_rotation)
            series->last_rotation = last_rotation;
        if ((int)period.set_no >= series->set_count)
            series->set_count = (int)period.set_no + 1;
    }
    return got;
}

static int check_asked(struct rps_arena *arena, const struct rps_cpu_series *series,
                       const struct rps_cpus *cpus, struct rps_error *err)
{
    const struct rps_cpus all = {.count = 0};
    char name[RPS_CPU_SERIES_TEXT_SIZE];
    struct rps_cpu_series whole;
    int result;

    if (cpus->if_there)
        return 0;
    if (cpus->count > 0 && series->count > 0 && !series->by_cpu)
        return rps_error_set(err, RPS_FAILED,
                             "run %" PRId64
                             " was not counted per CPU; leave out --cpu, or record with -a",
                             series->run_id);
    for (int i = 0; series->by_cpu && i < cpus->count; i++) {
        int found = 0;

        for (int k = 0; k < series->count; k++)
            found |= series->cpu[k] == cpus->cpu[i];
        if (found)
            continue;
        result = rps_cpu_series_open(arena, &whole, series->reader, series->run_id, series->from_ns,
                                     series->to_ns, &all, err);
        if (result == 0)
            result =
                rps_error_set(err, RPS_FAILED,
                              "run %" PRId64 " has no data of CPU %d in this range; choose from %s",
                              series->run_id, cpus->cpu[i], rps_cpu_series_name(name, &whole));
        return result;
    }
    return 0;
}

int rps_cpu_series_none(const struct rps_cpu_series *series, struct rps_error *err)
{
    char length[RPS_TEXT_NUMBER_SIZE];
    struct rps_run run;

    if (series->from_ns <= 0 && series->to_ns == INT64_MAX)
        return rps_error_set(err, RPS_FAILED, "run %" PRId64 " has no measurement periods",
                             series->run_id);
    if (rps_reader_run(series->arena, series->reader, series->run_id, &run, err) < 0)
        return RPS_FAILED;
    return rps_error_set(
        err, RPS_FAILED,
        "run %" PRId64
        " has no measurement periods in this range; choose a longer one within its %s",
        series->run_id,
        rps_text_duration(length, sizeof(length), run.elapsed_ns > 0 ? run.elapsed_ns : 0));
}

int rps_cpu_series_open(struct rps_arena *arena, struct rps_cpu_series *series,
                        struct rps_reader *reader, int64_t run_id, int64_t from_ns, int64_t to_ns,
                        const struct rps_cpus *cpus, struct rps_error *err)
{
    struct rps_cursor *cursor = NULL;
    int result;

    *series = (struct rps_cpu_series){
        .arena = arena, .reader = reader, .run_id = run_id, .from_ns = from_ns, .to_ns = to_ns};
    result = rps_cursor_open(&cursor, reader, run_id, from_ns, to_ns, RPS_LEVELS, err);
    if (result == 0)
        result = find_cpus(arena, series, cursor, cpus, err);
    if (result == 0)
        series->widened =
            rps_cursor_widened(cursor, &series->widened_from_ns, &series->widened_to_ns);
    rps_cursor_close(cursor);
    if (result == 0)
        result = check_asked(arena, series, cpus, err);
    /* a whole run may be empty, since its metadata are worth a report */
    if (result == 0 && series->count == 0 && (from_ns > 0 || to_ns < INT64_MAX))
        return rps_cpu_series_none(series, err);
    return result;
}

/* --- the resolution --------------------------------------------------------------------------- */

void rps_cpu_series_choose_bins(struct rps_cpu_series *series, size_t bins)
{
    uint64_t cpus = series->count > 0 ? (uint64_t)series->count : 1;
    uint64_t sets = series->set_count > 0 ? (uint64_t)series->set_count : 1;
    uint64_t blocks = series->periods / cpus / sets;

    series->resolution = 0;
    if (series->periods <= RPS_CPU_SERIES_FINE_PERIODS || series->within)
        return;
    while (series->resolution < RPS_LEVELS &&
           blocks >> (RPS_LEVEL_BITS * (series->resolution + 1)) >= BIN_BLOCKS * (uint64_t)bins)
        series->resolution++;
}

void rps_cpu_series_choose_signals(struct rps_cpu_series *series, int signals)
{
    uint64_t rows_max = VALUES_MAX / (uint64_t)signals;

    if (rows_max > RPS_CPU_SERIES_FINE_PERIODS)
        rows_max = RPS_CPU_SERIES_FINE_PERIODS;
    series->resolution = 0;
    while (series->resolution < RPS_LEVELS && !series->within &&
           series->periods >> (RPS_LEVEL_BITS * series->resolution) > rows_max)
        series->resolution++;
}

int rps_cpu_series_choose_downsampled(struct rps_cpu_series *series, struct rps_error *err)
{
    int result = 0;

    for (int i = 0; i < series->count && result == 0; i++) {
        int level = 0;

        result = rps_reader_downsampled_to(series->reader, series->run_id, series->cpu[i],
                                           series->first, &level, err);
        series->resolution = level > series->resolution ? level : series->resolution;
    }
    return result;
}

/* --- spans ------------------------------------------------------------------------------------ */

RPS_ARRAY_BEFORE(begins_by, struct rps_span, .start_ns, <=, int64_t)

int rps_spans_hold(const struct rps_spans *spans, int64_t start_ns, int64_t end_ns)
{
    size_t begun =
        rps_array_find(spans->span, spans->count, sizeof(*spans->span), begins_by, &start_ns);

    return begun > 0 && end_ns <= spans->span[begun - 1].end_ns;
}

/* --- names ------------------------------------------------------------------------------------ */

char *rps_cpu_series_level_text(char *ret, const struct rps_cpu_series *series)
{
    ret[0] = '\0';
    if (series->resolution > 0)
        snprintf(ret, RPS_CPU_SERIES_TEXT_SIZE, "in blocks of %d rotations",
                 1 << (RPS_LEVEL_BITS * series->resolution));
    return ret;
}

char *rps_cpu_series_name(char *ret, const struct rps_cpu_series *series)
{
    size_t used = 0;

    ret[0] = '\0';
    if (!series->by_cpu || series->count == 0)
        return ret;
    used = (size_t)snprintf(ret, RPS_CPU_SERIES_TEXT_SIZE, "CPU%s ", series->count > 1 ? "s" : "");
    for (int i = 0; i < series->count;) {
        int last = i;

        while (last + 1 < series->count && series->cpu[last + 1] == series->cpu[last] + 1)
            last++;
        if (used + 32 > RPS_CPU_SERIES_TEXT_SIZE) {
            snprintf(ret + used, RPS_CPU_SERIES_TEXT_SIZE - used, ",...");
            break;
        }
        used += (size_t)snprintf(ret + used, RPS_CPU_SERIES_TEXT_SIZE - used,
                                 last > i ? "%s%d-%d" : "%s%d", i > 0 ? "," : "",
                                 (int)series->cpu[i], (int)series->cpu[last]);
        i = last + 1;
    }
    return ret;
}
