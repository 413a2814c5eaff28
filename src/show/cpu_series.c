/*
 * The CPUs' series of a run, and their sum.
 *
 * The store gives periods CPU by CPU, since that is the order of its key; the sum needs them number
 * by number. So they are added up in a window of period numbers, which holds seven hours of 100 ms
 * periods in 38 MB; a longer run is read again for each further window. A cursor for every CPU, all
 * walked at once, would need no window, but the store has only the one over all CPUs, and skipping
 * with it costs more than reading again.
 *
 * All CPUs of a recording switch sets together, so the same number means the same set at the same
 * time. A CPU that went away in the middle is simply missing from later sums.
 */
#include "cpu_series.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_SLOTS (UINT64_C(1) << 18)

/* --- finding --------------------------------------------------------------------------------- */

static int is_asked(const struct rps_cpus *cpus, int32_t cpu)
{
    for (int i = 0; i < cpus->count; i++) {
        if (cpus->cpu[i] == cpu)
            return 1;
    }
    return cpus->count == 0;
}

static int add_cpu(struct rps_cpu_series *series, int32_t cpu, struct rps_error *err)
{
    int32_t *grown = realloc(series->cpu, ((size_t)series->count + 1) * sizeof(*grown));

    if (!grown)
        return rps_error_memory(err);
    series->cpu = grown;
    grown[series->count++] = cpu;
    return 0;
}

static int find_tracks(struct rps_cpu_series *series, struct rps_cursor *cursor,
                       const struct rps_cpus *cpus, struct rps_error *err)
{
    struct rps_period period;
    int got;

    while ((got = rps_cursor_next(cursor, &period, err)) > 0) {
        int known = series->count > 0 && series->cpu[series->count - 1] == period.cpu;
        uint64_t last_rotation = period.rotation + rps_period_weight(&period) - 1;

        if (period.cpu == RPS_CPU_ALL)
            return add_cpu(series, period.cpu, err); /* the first: there are no others */
        series->by_cpu = 1;
        if (!is_asked(cpus, period.cpu))
            continue;
        if (!known && add_cpu(series, period.cpu, err) < 0)
            return RPS_FAILED;
        if (series->count == 1 && !known) {
            series->first = series->last = period.period;
            series->first_rotation = series->last_rotation = period.rotation;
        }
        series->first = period.period < series->first ? period.period : series->first;
        series->last = period.period > series->last ? period.period : series->last;
        if (period.rotation < series->first_rotation)
            series->first_rotation = period.rotation;
        if (last_rotation > series->last_rotation)
            series->last_rotation = last_rotation;
    }
    return got;
}

static int check_asked(const struct rps_cpu_series *series, const struct rps_cpus *cpus,
                       struct rps_error *err)
{
    const struct rps_cpus all = {.count = 0};
    char name[RPS_CPU_SERIES_TEXT_SIZE];
    struct rps_cpu_series whole;
    int result;

    if (cpus->count > 0 && series->count > 0 && !series->by_cpu)
        return rps_error_set(err, RPS_FAILED,
                             "run %" PRId64
                             " counted its workload as a whole, not by CPU: leave out "
                             "--cpu, or record with -a",
                             series->run_id);
    for (int i = 0; series->by_cpu && i < cpus->count; i++) {
        int found = 0;

        for (int k = 0; k < series->count; k++)
            found |= series->cpu[k] == cpus->cpu[i];
        if (found)
            continue;
        result = rps_cpu_series_open(&whole, series->reader, series->run_id, series->from_ns,
                                     series->to_ns, &all, err);
        if (result == 0)
            result = rps_error_set(err, RPS_FAILED,
                                   "run %" PRId64 " has nothing of CPU %d there; it holds %s",
                                   series->run_id, cpus->cpu[i], rps_cpu_series_name(name, &whole));
        rps_cpu_series_free(&whole);
        return result;
    }
    return 0;
}

int rps_cpu_series_open(struct rps_cpu_series *series, struct rps_reader *reader, int64_t run_id,
                        int64_t from_ns, int64_t to_ns, const struct rps_cpus *cpus,
                        struct rps_error *err)
{
    struct rps_cursor *cursor = NULL;
    int result;

    *series = (struct rps_cpu_series){
        .reader = reader, .run_id = run_id, .from_ns = from_ns, .to_ns = to_ns};
    result = rps_cursor_open(&cursor, reader, run_id, from_ns, to_ns, err);
    if (result == 0)
        result = find_tracks(series, cursor, cpus, err);
    rps_cursor_close(cursor);
    return result < 0 ? result : check_asked(series, cpus, err);
}

void rps_cpu_series_free(struct rps_cpu_series *series)
{
    free(series->cpu);
    memset(series, 0, sizeof(*series));
}

/* --- walking --------------------------------------------------------------------------------- */

/* Is the CPU one of the series? */
static int is_chosen(const struct rps_cpu_series *series, int32_t cpu)
{
    int low = 0, high = series->count;

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (series->cpu[middle] < cpu)
            low = middle + 1;
        else
            high = middle;
    }
    return low < series->count && series->cpu[low] == cpu;
}

int rps_cpu_series_walk(const struct rps_cpu_series *series, rps_cpu_series_each *each,
                        void *context, struct rps_error *err)
{
    struct rps_cursor *cursor = NULL;
    struct rps_period period;
    int got, answer = 0;

    if (rps_cursor_open(&cursor, series->reader, series->run_id, series->from_ns, series->to_ns,
                        err) < 0)
        return RPS_FAILED;
    while (answer == 0 && (got = rps_cursor_next(cursor, &period, err)) != 0) {
        if (got < 0)
            answer = got;
        else if (is_chosen(series, period.cpu))
            answer = each(context, &period, err);
    }
    rps_cursor_close(cursor);
    return answer < 0 ? answer : 0;
}

struct window {
    uint64_t base, room;    /* numbers of the periods that it holds */
    uint64_t next;          /* lowest number behind it that was seen */
    struct rps_period *sum; /* owned; `cpu` is RPS_CPU_ALL where anything was added */
    uint64_t cycle;         /* the last cycle timestamp that was handed out */
};

static void add_period(struct rps_period *sum, const struct rps_period *period)
{
    int64_t end_ns = period->start_ns + period->length_ns;

    if (sum->cpu != RPS_CPU_ALL) {
        *sum = *period;
        sum->cpu = RPS_CPU_ALL;
        return;
    }
    if (period->set_no != sum->set_no)
        return; /* no recorder writes that, and its counts would be another's */
    if (sum->start_ns + sum->length_ns > end_ns)
        end_ns = sum->start_ns + sum->length_ns;
    if (period->start_ns < sum->start_ns)
        sum->start_ns = period->start_ns;
    sum->length_ns = end_ns - sum->start_ns;
    sum->cycle += period->cycle;
    sum->cycles += period->cycles;
    sum->enabled_ns += period->enabled_ns;
    sum->running_ns += period->running_ns;
    if (period->switch_ns > sum->switch_ns)
        sum->switch_ns = period->switch_ns;
    if (period->missed > sum->missed)
        sum->missed = period->missed;
    for (int slot = 0; slot < RPS_SLOT_MAX; slot++)
        sum->count[slot] += period->counted & (1u << slot) ? period->count[slot] : 0;
    sum->counted |= period->counted;
}

static int window_add(void *context, const struct rps_period *period, struct rps_error *err)
{
    struct window *window = context;
    uint64_t place = period->period - window->base;

    (void)err;
    if (period->period < window->base)
        return 0;
    if (place < window->room)
        add_period(&window->sum[place], period);
    else if (period->period < window->next)
        window->next = period->period;
    return 0;
}

static int window_hand_out(struct window *window, rps_cpu_series_each *each, void *context,
                           struct rps_error *err)
{
    int answer = 0;

    for (uint64_t i = 0; i < window->room && answer == 0; i++) {
        struct rps_period *sum = &window->sum[i];

        if (sum->cpu != RPS_CPU_ALL)
            continue;
        /* A CPU that went away takes its timestamp with it; time does not run backwards. */
        if (sum->cycle < window->cycle + sum->cycles)
            sum->cycle = window->cycle + sum->cycles;
        window->cycle = sum->cycle;
        answer = each(context, sum, err);
    }
    return answer;
}

int rps_cpu_series_walk_sum(const struct rps_cpu_series *series, rps_cpu_series_each *each,
                            void *context, struct rps_error *err)
{
    uint64_t span = series->last - series->first;
    struct window window = {.next = series->first};
    int answer = 0;

    if (!series->by_cpu)
        return rps_cpu_series_walk(series, each, context, err);
    if (series->count == 0)
        return 0;
    window.room = span < WINDOW_SLOTS ? span + 1 : WINDOW_SLOTS;
    window.sum = malloc(window.room * sizeof(*window.sum));
    if (!window.sum)
        return rps_error_memory(err);
    while (answer == 0 && window.next != UINT64_MAX) {
        window.base = window.next;
        window.next = UINT64_MAX;
        memset(window.sum, 0, window.room * sizeof(*window.sum));
        answer = rps_cpu_series_walk(series, window_add, &window, err);
        if (answer == 0)
            answer = window_hand_out(&window, each, context, err);
    }
    free(window.sum);
    return answer < 0 ? answer : 0;
}

/* --- names ----------------------------------------------------------------------------------- */

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
