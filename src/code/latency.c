/* Reads the weights of samples. CPU time and waiting time per period suffice for this, so the store
 * needs no column. The result is exact if the number of threads is constant within each period. */
#include "rpistat/latency.h"

#include <inttypes.h>
#include <math.h>

#include "rpistat/clock.h"
#include "rpistat/period.h"
#include "rpistat/run_code.h"
#include "rpistat/system_rows.h"
#include "rpistat/walk.h"

#define SAMPLES_MIN 5

struct reading {
    struct rps_arena *arena;
    struct rps_latency *latency;
    struct rps_system_cursor *cursor;
    struct rps_system_row row; /* The reading of system metrics that ends next. */
    int has_row;               /* 1; 0: no more readings; negative: an error. */
    struct rps_period sum; /* A period, or a sum over a downsampled block; at first no length. */
    double interval_ns;    /* Time between two samples of a thread that runs. */
    double gap_ns;         /* Time before `sum`, or within it, in which no periods were recorded. */
    double length_ns, cpu_ns, wait_ns, busy_ns; /* Times since the last weight began, */
    double sampled_ns; /* and the time of its samples: that of the periods and of the gaps. */
};

/* Return the time in ns that threads waited for a CPU in reading->sum. If a reading overlaps only
 * in part, use as much of its time. Readings and periods are in order of time. */
static double read_wait(struct reading *reading, struct rps_error *err)
{
    const int64_t end_ns = rps_period_end_ns(&reading->sum);
    const struct rps_system_row *row = &reading->row;
    double wait_ns = 0;

    while (reading->has_row > 0) {
        double length_ns = (double)row->length_us * 1e3;
        double start_ns = fmax((double)row->end_ns - length_ns, (double)reading->sum.start_ns);
        double both_ns = (double)(row->end_ns < end_ns ? row->end_ns : end_ns) - start_ns;

        if (row->readings[RPS_TREE_WAIT] > 0 && both_ns > 0 && length_ns > 0) {
            wait_ns += 1e3 * (double)row->sum[RPS_TREE_WAIT] * both_ns / length_ns;
            reading->latency->has_waits = 1;
        }
        if (row->end_ns > end_ns)
            break;
        reading->has_row = rps_system_cursor_next(reading->cursor, &reading->row, err);
    }
    return wait_ns;
}

/* Add the times of reading->sum. The time of threads that wait, which have no samples, is divided
 * among the samples of the same time. If threads mostly wait, one weight covers several
 * periods. Otherwise, the weights of rare samples would be very large, and a long wait would belong
 * to one period, because Linux counts it when it ends. The samples of a gap belong to the period
 * after the gap. Their times are unknown, so all samples of the period share its time. */
static void add_sum(struct reading *reading, struct rps_error *err)
{
    struct rps_latency *latency = reading->latency;
    double length_ns = (double)reading->sum.length_ns, cpu_ns = (double)reading->sum.enabled_ns;
    double wait_ns = read_wait(reading, err);

    if (reading->cpu_ns >= fmin(reading->wait_ns, SAMPLES_MIN * reading->interval_ns)) {
        latency->busy_s += reading->busy_ns / RPS_NS_PER_S;
        reading->length_ns = reading->cpu_ns = reading->wait_ns = reading->sampled_ns = 0;
        latency->from =
            rps_arena_grow(reading->arena, latency->from, latency->count, sizeof(*latency->from));
        latency->from[latency->count++].period = reading->sum.period;
    }
    latency->length_s += length_ns / RPS_NS_PER_S;
    latency->cpu_s += cpu_ns / RPS_NS_PER_S;
    latency->wait_s += wait_ns / RPS_NS_PER_S;
    reading->length_ns += length_ns;
    reading->sampled_ns += length_ns + reading->gap_ns;
    reading->cpu_ns += cpu_ns;
    reading->wait_ns += wait_ns;
    reading->busy_ns = fmin(reading->cpu_ns + reading->wait_ns, reading->length_ns);
    latency->from[latency->count - 1].us =
        reading->cpu_ns > 0 ? reading->interval_ns / 1e3 * reading->busy_ns / reading->cpu_ns *
                                  (reading->length_ns / fmax(1, reading->sampled_ns))
                            : 0;
}

/* `gap_ns` is the time between the period and the previous period of the run. */
static void add_period(struct reading *reading, const struct rps_period *period, double gap_ns,
                       struct rps_error *err)
{
    struct rps_period *sum = &reading->sum;

    reading->latency->gap_s += gap_ns / RPS_NS_PER_S;
    if (period->level > 0 && period->level == sum->level && period->rotation == sum->rotation) {
        sum->end_ns = period->end_ns;
        sum->length_ns += period->length_ns;
        sum->enabled_ns += period->enabled_ns;
        reading->gap_ns += gap_ns;
    } else {
        add_sum(reading, err);
        *sum = *period;
        reading->gap_ns = gap_ns;
    }
}

static int read_periods(struct reading *reading, const struct rps_cpu_series *series,
                        const struct rps_run_part *part, struct rps_error *err)
{
    struct rps_walk walk = {.series = series, .way = RPS_CPUS_EACH};
    size_t at = 0;
    double end_ns = INFINITY; /* End of the previous period. */
    int result = rps_system_cursor_open(&reading->cursor, series->reader, series->run_id,
                                        RPS_SYSTEM_TREE, 0, INT64_MAX, 0, err);

    if (result == 0)
        reading->has_row = rps_system_cursor_next(reading->cursor, &reading->row, err);
    result = reading->has_row < 0 ? RPS_FAILED : result;
    while (rps_walk_next(&walk, &result, err)) {
        while (at < part->count && part->stretch[at].last < walk.period->period)
            at++;
        if (at < part->count && part->stretch[at].first <= walk.period->period)
            add_period(reading, walk.period, fmax(0, (double)walk.period->start_ns - end_ns), err);
        end_ns = (double)rps_period_end_ns(walk.period);
        result = reading->has_row < 0 ? RPS_FAILED : 0;
    }
    if (result == 0)
        add_sum(reading, err);
    reading->latency->busy_s += reading->busy_ns / RPS_NS_PER_S;
    rps_system_cursor_close(reading->cursor);
    return reading->has_row < 0 ? RPS_FAILED : result;
}

RPS_ARRAY_BEFORE(ends_before, struct rps_run_stretch, .last, <, uint64_t)

/* The latency of all samples of a part. */
struct sum {
    const struct rps_run_part *part;
    double us;
};

static int add_count(void *context, const struct rps_code_count *count, struct rps_error *err)
{
    struct sum *sum = context;
    const struct rps_run_part *part = sum->part;
    size_t at = rps_array_find(part->stretch, part->count, sizeof(*part->stretch), ends_before,
                               &count->period);

    (void)err;
    if (at < part->count && part->stretch[at].first <= count->period)
        sum->us += rps_latency_us(part->latency, count->period, count->samples);
    return 0;
}

/* By chance, samples may have more time than passed. Then give each sample less time. */
static int limit_weights(struct rps_reader *reader, int64_t run_id, const struct rps_run_part *part,
                         struct rps_latency *latency, struct rps_error *err)
{
    struct sum sum = {.part = part};
    struct rps_code_count_query query = {
        .what = RPS_COUNT_TASKS, .cpu = RPS_CPU_ALL, .count = add_count, .context = &sum};

    if (part->count == 0)
        return 0;
    query.first = part->stretch[0].first;
    query.last = part->stretch[part->count - 1].last;
    if (rps_reader_code_counts(reader, run_id, &query, err) < 0)
        return RPS_FAILED;
    for (size_t i = 0; i < latency->count && sum.us > 1e6 * latency->busy_s; i++)
        latency->from[i].us *= 1e6 * latency->busy_s / sum.us;
    return 0;
}

int rps_latency_read(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                     const struct rps_code *code, struct rps_run_part *part, struct rps_error *err)
{
    struct reading reading = {.arena = arena};
    struct rps_cpu_series series;

    if (!part->is_latency || part->latency)
        return 0;
    if (code->sampling.frequency == 0)
        return rps_error_set(err, RPS_FAILED,
                             "run %" PRId64 " was sampled once per %" PRIu64
                             " events; for --latency, record without --sample EVENT:N",
                             run_id, code->sampling.threshold);
    if (rps_cpu_series_open(arena, &series, reader, run_id, 0, INT64_MAX, &(struct rps_cpus){0},
                            err) < 0)
        return RPS_FAILED;
    if (series.by_cpu || code->is_of_machine)
        return rps_error_set(err, RPS_FAILED,
                             "run %" PRId64 " recorded CPUs, on which unrelated programs run at "
                             "the same time; for --latency, record a command or processes (-p)",
                             run_id);
    part->latency = reading.latency = rps_arena_get(arena, 1, sizeof(*reading.latency));
    reading.interval_ns = RPS_NS_PER_S / (double)code->sampling.frequency;
    if (read_periods(&reading, &series, part, err) < 0)
        return RPS_FAILED;
    return limit_weights(reader, run_id, part, reading.latency, err);
}

RPS_ARRAY_BEFORE(starts_before, struct rps_latency_from, .period, <=, uint64_t)

double rps_latency_us(const struct rps_latency *latency, uint64_t period, uint64_t samples)
{
    size_t at = rps_array_find(latency->from, latency->count, sizeof(*latency->from), starts_before,
                               &period);

    return at > 0 ? fmin((double)samples * latency->from[at - 1].us, 1e18) : 0;
}
