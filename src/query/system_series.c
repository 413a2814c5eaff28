/* Provides system metrics as signals for phases. A reading belongs to the observation at whose end
 * it was made. If there is no reading at the end of an observation, the observation has no value.
 *
 *   rss, threads   log1p(value / scale): RPS_PHASES_LEVEL in rpistat/system_metrics.h
 *   read, written  log1p(MiB per CPU second / scale), RPS_PHASES_BY_CPU: independent of the CPU
 *                  time that other processes leave; unknown below 1 % use of one CPU
 *   sleep          counts of reasons: the share of threads in each reason; one observation per
 *                  reading. Idle threads are counted as waiting for locks, because becoming idle
 *                  a second later is no change */
#include "run_signals.h"

#include <math.h>

#include "rpistat/clock.h"
#include "rpistat/count_table.h"
#include "rpistat/system_rows.h"
#include "rpistat/system_reader.h"

#define USE_MIN       .01 /* Below this use of a CPU, bytes per CPU second are unknown. */
#define USE_FULL      .5  /* From this CPU use on, bytes per CPU second have full weight. */
#define REASON_MIN    .03 /* Sleep reasons with a smaller share of all threads are merged. */
#define REASON_MOVES  .15 /* Minimum change of a share for the mix of reasons to show phases. */
#define REASON_COUNTS 1.5 /* This number of counts is worth one independent count. */

/* Number of sleep reasons, plus one for threads that are not asleep. */
#define REASONS (RPS_TREE_IN_OTHER - RPS_TREE_IN_IO + 2)

/* Sums over the readings of an observation. */
struct seen {
    double readings, length_s, cpu_s;
    double sum[RPS_TREE_SLOTS]; /* Sums of gauges over the readings; NaN: unknown. */
    double reasons;             /* Number of readings with known sleep reasons. */
    double in[REASONS];         /* Share of the threads per reason, summed over these readings. */
};

struct run_series {
    size_t count;
    struct seen *seen;
    int has_reasons;
    double in[REASONS]; /* Shares of the threads over the whole run. */
};

/* --- reading ---------------------------------------------------------------------------------- */

/* Return the CPU time in the interval of a reading at the end of observation `at`. */
static double cpu_s_of(const struct rps_collected *collected, size_t at,
                       const struct rps_system_row *row)
{
    int64_t length_ns = row->length_us * RPS_NS_PER_US, begin_ns = row->end_ns - length_ns;
    double cpu_s = 0;

    do {
        cpu_s += collected->row[at].cpu_s;
    } while (at-- > 0 && (collected->row[at].start_ns + collected->row[at].end_ns) / 2 > begin_ns);
    return cpu_s;
}

static void add_reasons(struct run_series *run, struct seen *seen, const struct rps_system_row *row)
{
    double threads = (double)row->sum[RPS_TREE_THREADS], awake = 1;
    double readings = (double)row->readings[RPS_TREE_IN_IO];

    if (row->readings[RPS_TREE_THREADS] == 0 || readings <= 0 || threads <= 0)
        return;
    seen->reasons += readings;
    for (int k = 0; k < REASONS; k++) {
        double share = k < REASONS - 1 ? (double)row->sum[RPS_TREE_IN_IO + k] / threads : awake;

        if (RPS_TREE_IN_IO + k == RPS_TREE_IN_LOCK && row->readings[RPS_TREE_IDLE] > 0)
            share += (double)row->sum[RPS_TREE_IDLE] / threads;
        awake -= share;
        seen->in[k] += fmax(share, 0) * readings;
        run->in[k] += fmax(share, 0) * readings;
    }
    run->has_reasons = 1;
}

/* Return 1 if the run has readings. */
static int read_run(struct rps_arena *arena, const struct rps_run_member *member,
                    const struct rps_collected *collected, struct run_series *ret,
                    struct rps_error *err)
{
    struct rps_system_cursor *cursor;
    struct rps_system_row row;
    size_t at = 0;
    int has = 0, result = rps_system_cursor_open(&cursor, member->reader, member->run.run_id,
                                                 RPS_SYSTEM_TREE, INT64_MIN, INT64_MAX,
                                                 member->cpu_series.resolution, err);

    ret->count = collected->signals.count;
    ret->seen = rps_arena_get(arena, ret->count, sizeof(*ret->seen));
    if (result < 0)
        return result;
    while ((result = rps_system_cursor_next(cursor, &row, err)) > 0) {
        uint64_t middle = row.period + (row.last_period - row.period) / 2;

        while (at < ret->count && collected->row[at].last < middle)
            at++;
        if (at < ret->count && collected->row[at].first <= middle) {
            struct seen *seen = &ret->seen[at];

            seen->readings += (double)row.readings[RPS_TREE_THREADS];
            seen->length_s += (double)row.length_us / 1e6;
            seen->cpu_s += cpu_s_of(collected, at, &row);
            for (int s = 0; s < RPS_TREE_SLOTS; s++)
                seen->sum[s] += row.readings[s] > 0 ? (double)row.sum[s] : NAN;
            add_reasons(ret, seen, &row);
            has = 1;
        }
    }
    rps_system_cursor_close(cursor);
    return result < 0 ? result : has;
}

/* --- values ----------------------------------------------------------------------------------- */

/* Return the transformed value (NaN: not observed) and its weight. */
static double value_of(const struct seen *seen, int slot, float *ret_weight)
{
    const struct rps_system_metric *signal = &rps_system_metrics[RPS_SYSTEM_TREE][slot];
    double divisor = signal->column.divisor, scale = signal->phases.scale;
    double use = seen->cpu_s / seen->length_s;

    *ret_weight = 1;
    if (!(seen->readings > 0))
        return NAN;
    if (signal->phases.how == RPS_PHASES_LEVEL)
        return log1p(seen->sum[slot] / seen->readings / divisor / scale);
    if (!(use >= USE_MIN))
        return NAN;
    *ret_weight = (float)fmin(1, use / USE_FULL);
    return log1p(seen->sum[slot] / divisor / seen->cpu_s / scale);
}

/* Drop a reading that crosses a step of its values, because such a reading is a mix of both sides,
 * and not a separate level. Then the step is in the same place as in signals that have a value in
 * every observation. */
static void drop_mixes(double *value, size_t count, double resolution)
{
    double before = NAN, mix = NAN;
    size_t at = 0;

    for (size_t i = 0; i < count; i++) {
        if (isnan(value[i]))
            continue;
        if (mix - fmin(before, value[i]) > resolution && fmax(before, value[i]) - mix > resolution)
            value[at] = NAN;
        before = mix;
        mix = value[i];
        at = i;
    }
}

static void add_series(struct rps_arena *arena, struct rps_run_signals *signals,
                       const struct run_series *run, int slot)
{
    const struct rps_system_metric *signal = &rps_system_metrics[RPS_SYSTEM_TREE][slot];
    const double resolution = signal->phases.resolution;
    double low = INFINITY, high = -INFINITY;

    for (size_t r = 0; r < signals->count; r++) {
        for (size_t i = 0; i < run[r].count; i++) {
            float weight;
            double value = value_of(&run[r].seen[i], slot, &weight);

            low = fmin(low, value);
            high = fmax(high, value);
        }
    }
    for (size_t r = 0; r < signals->count && high - low > resolution; r++) {
        double *value = rps_arena_get(arena, run[r].count, sizeof(*value));
        float *weight = rps_arena_get(arena, run[r].count, sizeof(*weight));

        for (size_t i = 0; i < run[r].count; i++)
            value[i] = value_of(&run[r].seen[i], slot, &weight[i]);
        if (signal->phases.how == RPS_PHASES_BY_CPU)
            drop_mixes(value, run[r].count, resolution);
        rps_collected_add_signal(&signals->collected[r], signal->name, value, weight, resolution);
        if (signal->phases.is_memory)
            signals->collected[r].signals.memory_signal =
                signals->collected[r].signals.signal_count;
    }
}

/* --- reasons ---------------------------------------------------------------------------------- */

/* Choose a symbol for each sleep reason. Reasons that are rare in all runs share one symbol. Return
 * the number of symbols. */
static size_t choose_symbols(const struct rps_run_signals *signals, const struct run_series *run,
                             uint32_t symbol[REASONS])
{
    double in[REASONS] = {0}, all = 0;
    uint32_t width = 0;

    for (size_t r = 0; r < signals->count; r++) {
        for (int k = 0; k < REASONS; k++) {
            in[k] += run[r].in[k];
            all += run[r].in[k];
        }
    }
    for (int k = 0; k < REASONS; k++)
        symbol[k] = in[k] > REASON_MIN * all ? width++ : UINT32_MAX;
    for (int k = 0; k < REASONS; k++)
        symbol[k] = symbol[k] == UINT32_MAX ? width : symbol[k];
    return width + 1;
}

static void add_table(const struct run_series *run, const uint32_t symbol[REASONS], size_t width,
                      struct rps_collected *collected)
{
    struct rps_count *count = rps_arena_loose(run->count * REASONS, sizeof(*count));
    struct rps_count_table table;
    size_t used = 0;

    for (size_t i = 0; i < run->count; i++) {
        for (int k = 0; k < REASONS; k++) {
            if (run->seen[i].in[k] > 0)
                count[used++] = (struct rps_count){i, symbol[k], (float)run->seen[i].in[k]};
        }
    }
    table = rps_count_table_make(run->count, width, REASON_COUNTS, count, used);
    table.is_read = 1;
    rps_collected_add_table(collected, &table);
}

/* Return 1 if the mix of sleep reasons changes somewhere. A constant mix shows no phases, and
 * counts are not tested for this as values are. */
static int mix_varies(const struct rps_run_signals *signals, const struct run_series *run)
{
    for (int k = 0; k < REASONS; k++) {
        double low = INFINITY, high = -INFINITY;

        for (size_t r = 0; r < signals->count; r++) {
            for (size_t i = 0; i < run[r].count; i++) {
                double share = run[r].seen[i].in[k] / run[r].seen[i].reasons;

                low = fmin(low, share);
                high = fmax(high, share);
            }
        }
        if (high - low > REASON_MOVES)
            return 1;
    }
    return 0;
}

static void add_reasons_of_all(struct rps_run_signals *signals, const struct run_series *run)
{
    uint32_t symbol[REASONS];
    size_t width = choose_symbols(signals, run, symbol);

    for (size_t r = 0; r < signals->count; r++) {
        if (!run[r].has_reasons)
            return;
    }
    if (width < 3 || !mix_varies(signals, run))
        return; /* There is only one common reason, apart from rare reasons. */
    for (size_t r = 0; r < signals->count; r++)
        add_table(&run[r], symbol, width, &signals->collected[r]);
    signals->has_sleep = 1;
}

static int add_all(struct rps_arena *arena, struct rps_run_signals *signals, struct rps_error *err)
{
    struct run_series *run = rps_arena_get(arena, signals->count, sizeof(*run));
    int result = 1;

    for (size_t r = 0; r < signals->count && result > 0; r++)
        result = read_run(arena, &signals->member[r], &signals->collected[r], &run[r], err);
    if (result <= 0)
        return result;
    for (int memory = 1; memory >= 0; memory--) /* Memory must be the first signal. */
        for (int s = 0; s < RPS_TREE_SLOTS; s++)
            if (rps_system_metrics[RPS_SYSTEM_TREE][s].phases.how != RPS_PHASES_NONE &&
                rps_system_metrics[RPS_SYSTEM_TREE][s].phases.is_memory == memory)
                add_series(arena, signals, run, s);
    add_reasons_of_all(signals, run);
    return 0;
}

int rps_system_series_add(struct rps_run_signals *signals, struct rps_error *err)
{
    struct rps_arena *arena = rps_arena_new();
    int result = add_all(arena, signals, err);

    rps_arena_free(arena);
    return result;
}
