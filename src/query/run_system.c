/* System metrics of segments of a run. */
#include "rpistat/run_system.h"
#include "rpistat/period.h"

#include <math.h>

#define US_PER_S 1e6

#define SHORT_S .01 /* In less time, one reading does not show in which states threads were. */

/* CPU use may exceed a whole number of CPUs by this much, because the times are not exact. */
#define CPU_ROUNDING .05

/* The times in states are unknown if the readings saw less than this share of the CPU time, and
 * missed more CPU time than this share of the elapsed time. */
#define SEEN_MIN   .25
#define MISSED_MAX .01

#define ALL .9999 /* Readings that cover this share of the time are complete, within rounding. */

/* Average number of threads that counts as one thread. */
#define ONE_MIN .9
#define ONE_MAX 1.05

/* Two conditions for a workload to sleep for a reason: sleep is at least this share of the threads'
 * time and of the elapsed time, and the reason has at least this share of the sleep. */
#define SLEEPS_MIN .5

#define IO_MIN .02 /* Minimum share of the threads' time in block I/O that makes waits inexact. */

/* A workload is stuck if its threads are on a CPU for at most this share of the time. In addition,
 * at least STUCK_SLEEP_MIN of the threads' time must be in futex. Of many threads, one that is not
 * in futex for SLEEPS_MIN of the elapsed time suffices: it may wake the others. */
#define STUCK_RUNS_MAX  .02
#define STUCK_SLEEP_MIN .95

const char *const rps_sleep_words[RPS_SLEEPS] = {
    [RPS_SLEEP_IO] = "block I/O",
    [RPS_SLEEP_LOCK] = "lock or thread waits",
    [RPS_SLEEP_MESSAGE] = "pipes, sockets or polls",
    [RPS_SLEEP_TIMER] = "timers",
    [RPS_SLEEP_OTHER] = "other waits",
    [RPS_SLEEP_UNKNOWN] = "unknown waits",
};

const struct rps_package_figure_name rps_package_figures[RPS_PACKAGE_FIGURES] = {
    [RPS_PACKAGE_ENERGY_J] = {"energy_j", "Energy", "J", RPS_PACKAGE_ENERGY, 1e6},
    [RPS_PACKAGE_POWER_W] = {"power_w", "Power", "W", RPS_PACKAGE_ENERGY, 1e6},
    [RPS_PACKAGE_RAM_ENERGY_J] = {"ram_energy_j", "Memory energy", "J", RPS_PACKAGE_ENERGY_RAM,
                                  1e6},
    [RPS_PACKAGE_RAM_POWER_W] = {"ram_power_w", "Memory power", "W", RPS_PACKAGE_ENERGY_RAM, 1e6},
    [RPS_PACKAGE_READ_GB_S] = {"mem_read_gb_s", "Memory read", "GB/s", RPS_PACKAGE_READ,
                               1e9 / 1024},
    [RPS_PACKAGE_WRITTEN_GB_S] = {"mem_written_gb_s", "Memory written", "GB/s", RPS_PACKAGE_WRITTEN,
                                  1e9 / 1024},
    [RPS_PACKAGE_GHZ] = {"ghz", "Frequency", "GHz", RPS_PACKAGE_FREQUENCY, 1e3},
};

static const enum rps_tree_slot sleep_slot[RPS_SLEEP_UNKNOWN] = {
    [RPS_SLEEP_IO] = RPS_TREE_IN_IO,           [RPS_SLEEP_LOCK] = RPS_TREE_IN_LOCK,
    [RPS_SLEEP_MESSAGE] = RPS_TREE_IN_MESSAGE, [RPS_SLEEP_TIMER] = RPS_TREE_IN_TIMER,
    [RPS_SLEEP_OTHER] = RPS_TREE_IN_OTHER,
};

int rps_run_system_is_there(struct rps_reader *reader, int64_t run_id, struct rps_error *err)
{
    struct rps_system_cursor *cursor;
    struct rps_system_row row;
    int result = 0;

    for (int source = 0; source < RPS_SYSTEM_SOURCES && result == 0; source++) {
        result = rps_system_cursor_open(&cursor, reader, run_id, (enum rps_system_source)source,
                                        INT64_MIN, INT64_MAX, RPS_LEVELS, err);
        if (result == 0)
            result = rps_system_cursor_next(cursor, &row, err);
        rps_system_cursor_close(cursor);
    }
    return result;
}

/* --- sums ------------------------------------------------------------------------------------- */

static void add_slot(struct rps_system_sum *sum, double length_s, double value, double low,
                     double high)
{
    sum->low = sum->length_s > 0 ? fmin(sum->low, low) : low;
    sum->high = sum->length_s > 0 ? fmax(sum->high, high) : high;
    sum->length_s += length_s;
    sum->sum += value;
}

/* Return 1 if the reading was too early to show a state of the threads. Recorders up to 0.2 stored
 * such states. */
static int is_early(const struct rps_system_row *row, int slot)
{
    return row->source == RPS_SYSTEM_TREE && row->end_ns <= SHORT_S * 1e9 &&
           (double)row->length_us <= SHORT_S * US_PER_S &&
           (slot <= RPS_TREE_IN_OTHER || slot == RPS_TREE_IDLE);
}

/* A block has sums of gauges over its readings; each reading has an equal part of the time. */
void rps_run_system_add(struct rps_run_system *system, const struct rps_system_row *row)
{
    const double row_s = (double)row->length_us / US_PER_S;
    const double count = (double)rps_system_row_readings(row);

    system->length_s[row->source] += row_s;
    for (int s = 0; s < rps_system_metric_count[row->source]; s++) {
        double value = (double)row->sum[s], length_s = row_s * (double)row->readings[s] / count;

        if (row->readings[s] == 0 || row->length_us <= 0 || is_early(row, s))
            continue;
        if (rps_system_metrics[row->source][s].kind == RPS_SYSTEM_GAUGE)
            value *= length_s / (double)row->readings[s];
        add_slot(&system->slot[row->source][s], length_s, value, row->lowest[s], row->highest[s]);
    }
}

void rps_run_system_join(struct rps_run_system *to, const struct rps_run_system *from)
{
    for (int source = 0; source < RPS_SYSTEM_SOURCES; source++) {
        to->length_s[source] += from->length_s[source];
        for (int s = 0; s < rps_system_metric_count[source]; s++) {
            const struct rps_system_sum *slot = &from->slot[source][s];

            if (slot->length_s > 0)
                add_slot(&to->slot[source][s], slot->length_s, slot->sum, slot->low, slot->high);
        }
    }
}

struct rps_run_part rps_run_part_of_phases(struct rps_arena *arena, const struct rps_phases *phases,
                                           int by_label)
{
    struct rps_run_part part = {
        .count = phases->count,
        .stretch = rps_arena_get(arena, phases->count, sizeof(*part.stretch)),
        .group_count = by_label ? (size_t)phases->label_count : phases->count};

    for (size_t i = 0; i < phases->count; i++)
        part.stretch[i] = (struct rps_run_stretch){phases->phase[i].first, phases->phase[i].last,
                                                   by_label ? (size_t)phases->phase[i].label : i};
    return part;
}

/* Return the first segment that does not end before a period. */
static size_t pass_stretches(const struct rps_run_part *part, size_t at, uint64_t period)
{
    while (at < part->count && part->stretch[at].last < period)
        at++;
    return at;
}

/* Read the system metrics of a source. A block is read instead of its readings if the whole block
 * is in one segment, or between two segments. */
static int read_source(struct rps_reader *reader, int64_t run_id, enum rps_system_source source,
                       int64_t from_ns, int64_t to_ns, const struct rps_run_part *part,
                       struct rps_run_system *ret, struct rps_error *err)
{
    struct rps_system_cursor *cursor;
    struct rps_system_row row;
    uint64_t next = 0;
    size_t at = 0;
    int result =
        rps_system_cursor_open(&cursor, reader, run_id, source, from_ns, to_ns, RPS_LEVELS, err);

    if (result < 0)
        return result;
    for (;;) {
        at = pass_stretches(part, at, next);
        if (at == part->count)
            break;
        rps_system_cursor_limit(cursor, next < part->stretch[at].first ? part->stretch[at].first - 1
                                                                       : part->stretch[at].last);
        if ((result = rps_system_cursor_next(cursor, &row, err)) <= 0)
            break;
        next = row.last_period + 1;
        at = pass_stretches(part, at, row.last_period);
        if (at < part->count && part->stretch[at].first <= row.last_period)
            rps_run_system_add(&ret[part->stretch[at].group], &row);
    }
    rps_system_cursor_close(cursor);
    return result < 0 ? result : 0;
}

int rps_run_system_read(struct rps_arena *arena, struct rps_reader *reader, int64_t run_id,
                        int64_t from_ns, int64_t to_ns, const struct rps_run_part *part,
                        struct rps_run_system **ret, struct rps_error *err)
{
    struct rps_run_stretch all = {0, INT64_MAX, 0};
    const struct rps_run_part whole = {.count = 1, .stretch = &all, .group_count = 1};
    struct rps_run_system *system;
    int result = 0;

    if (!part)
        part = &whole;
    system = rps_arena_get(arena, part->group_count + 1, sizeof(*system));
    for (int source = 0; source < RPS_SYSTEM_SOURCES && result == 0; source++)
        result = read_source(reader, run_id, (enum rps_system_source)source, from_ns, to_ns, part,
                             system, err);
    for (size_t g = 0; g < part->group_count; g++)
        rps_run_system_join(&system[part->group_count], &system[g]);
    *ret = system;
    return result;
}

/* --- results ---------------------------------------------------------------------------------- */

static double sum_of(const struct rps_run_system *system, enum rps_tree_slot slot)
{
    const struct rps_system_sum *sum = &system->slot[RPS_SYSTEM_TREE][slot];

    return sum->length_s > 0 ? sum->sum : NAN;
}

double rps_run_system_mean(const struct rps_run_system *system, enum rps_system_source source,
                           int slot)
{
    const struct rps_system_sum *sum = &system->slot[source][slot];

    return sum->length_s > 0 ? sum->sum / sum->length_s : NAN;
}

/* Separate idle threads from threads that wait for locks. Readings of older stores count idle
 * threads as waiting for locks. If some readings do so, all readings are treated in this way. */
static void split_futex(const struct rps_run_system *system, struct rps_system_time *time)
{
    const struct rps_system_sum *slot = system->slot[RPS_SYSTEM_TREE];
    const struct rps_system_sum *idle = &slot[RPS_TREE_IDLE];

    time->idle_s = NAN;
    if (idle->length_s > ALL * slot[RPS_TREE_IN_LOCK].length_s)
        time->idle_s = idle->sum;
    else if (idle->length_s > 0)
        time->asleep_in_s[RPS_SLEEP_LOCK] += idle->sum;
}

/* Make the sleep reasons add up to the time asleep. Each reading is taken to represent all time
 * since the previous reading, so the reasons may add up to too much; then they are scaled down. A
 * deficit becomes unknown sleep. */
static void balance_sleeps(struct rps_system_time *time)
{
    double known_s = 0, factor;

    for (int i = 0; i < RPS_SLEEP_UNKNOWN; i++)
        known_s += fmax(0, time->asleep_in_s[i]); /* NaN counts as 0. */
    factor = known_s > time->asleep_s ? time->asleep_s / known_s : 1;
    for (int i = 0; i < RPS_SLEEP_UNKNOWN; i++)
        time->asleep_in_s[i] *= factor;
    time->asleep_in_s[RPS_SLEEP_UNKNOWN] = time->asleep_s - factor * known_s;
}

/* Compute the times in each state. All of a wait is added at the end of the wait, although the wait
 * may have begun earlier. Linux 6.12 and later also counts some sleep in state D as a wait. So if
 * readings saw all threads, the wait is cut to their time off the CPU that was not in state D. */
struct rps_system_time rps_run_system_time(const struct rps_run_system *system, double on_s)
{
    double wait_s = sum_of(system, RPS_TREE_WAIT) / US_PER_S;
    double unseen_s = fmax(0, sum_of(system, RPS_TREE_UNSEEN) / US_PER_S);
    double seen_on_s = sum_of(system, RPS_TREE_RUNNING) / US_PER_S;
    struct rps_system_time time = {.on_s = on_s, .unseen_s = unseen_s, .idle_s = NAN};
    const double length_s = system->length_s[RPS_SYSTEM_TREE];
    double lives_s, io_s;
    int is_known = length_s > SHORT_S && !(seen_on_s + unseen_s < SEEN_MIN * on_s &&
                                           on_s - seen_on_s > MISSED_MAX * length_s);

    for (int i = 0; i < RPS_SLEEPS; i++)
        time.asleep_in_s[i] =
            i < RPS_SLEEP_UNKNOWN && is_known ? sum_of(system, sleep_slot[i]) : NAN;
    if (!is_known)
        return time;
    split_futex(system, &time);
    time.child_s = fmax(0, sum_of(system, RPS_TREE_IN_CHILD));
    time.futex_s = sum_of(system, RPS_TREE_FUTEX);
    lives_s = sum_of(system, RPS_TREE_THREADS) + unseen_s;
    if (!isfinite(lives_s + wait_s + on_s))
        return time;
    time.elapsed_s = length_s;
    io_s = fmax(0, time.asleep_in_s[RPS_SLEEP_IO]);
    time.wait_s = unseen_s > 0 ? wait_s : fmin(wait_s, fmax(0, lives_s - on_s - io_s));
    time.unseen_s += fmax(0, on_s + time.wait_s - lives_s);
    time.threads_s = fmax(lives_s - fmax(0, time.idle_s) - time.child_s, on_s + time.wait_s);
    time.unseen_on_s = fmin(unseen_s, fmax(0, on_s - seen_on_s));
    time.unknown_s = fmin(unseen_s - time.unseen_on_s, time.threads_s - on_s - time.wait_s);
    time.asleep_s = fmax(0, time.threads_s - on_s - time.wait_s - time.unknown_s);
    balance_sleeps(&time);
    return time;
}

int rps_system_time_is_of_one(const struct rps_system_time *time)
{
    return time->elapsed_s > 0 && time->threads_s >= ONE_MIN * time->elapsed_s &&
           time->threads_s <= ONE_MAX * time->elapsed_s;
}

int rps_system_time_is_busy(const struct rps_system_time *time)
{
    return time->on_s + time->wait_s > SLEEPS_MIN * time->elapsed_s;
}

int rps_system_time_is_stuck(const struct rps_system_time *time)
{
    const double seen_s = time->threads_s + fmax(0, time->idle_s) - time->unseen_s;

    return time->elapsed_s > 0 && seen_s >= ONE_MIN * time->elapsed_s &&
           time->on_s <= STUCK_RUNS_MAX * time->elapsed_s &&
           seen_s - time->futex_s <=
               fmin((1 - STUCK_SLEEP_MIN) * seen_s, SLEEPS_MIN * time->elapsed_s);
}

int rps_system_time_waits_at_most(const struct rps_system_time *time)
{
    return time->asleep_in_s[RPS_SLEEP_IO] > IO_MIN * time->threads_s;
}

double rps_system_time_ready_s(const struct rps_system_time *time, double throttled_s)
{
    double cpus = fmax(1, ceil(time->on_s / time->elapsed_s - CPU_ROUNDING));
    double ready = (time->on_s + time->wait_s) / time->threads_s;

    if (!(time->elapsed_s > 0))
        return NAN;
    return time->threads_s > 0
               ? fmax(time->on_s,
                      ready * fmin(cpus * time->elapsed_s, time->threads_s) - fmax(0, throttled_s))
               : time->on_s;
}

double rps_system_time_waited(const struct rps_system_time *time)
{
    return time->elapsed_s > 0 ? time->wait_s / (time->on_s + time->wait_s) : NAN;
}

double rps_run_system_stolen(const struct rps_run_system *system, int cpu_count)
{
    return rps_run_system_mean(system, RPS_SYSTEM_MACHINE, RPS_MACHINE_STEAL) / US_PER_S /
           cpu_count;
}

double rps_run_system_throttled_s(const struct rps_run_system *system)
{
    const struct rps_system_sum *sum = &system->slot[RPS_SYSTEM_GROUP][RPS_GROUP_THROTTLED];

    return sum->length_s > 0 ? sum->sum / US_PER_S : NAN;
}

double rps_run_system_package(const struct rps_run_system *system, enum rps_package_figure figure)
{
    const struct rps_package_figure_name *of = &rps_package_figures[figure];
    const struct rps_system_sum *sum = &system->slot[RPS_SYSTEM_PACKAGE][of->slot];

    if (figure != RPS_PACKAGE_ENERGY_J && figure != RPS_PACKAGE_RAM_ENERGY_J)
        return rps_run_system_mean(system, RPS_SYSTEM_PACKAGE, of->slot) / of->divisor;
    return sum->length_s > ALL * system->length_s[RPS_SYSTEM_PACKAGE] ? sum->sum / of->divisor
                                                                      : NAN;
}

int rps_system_time_sleep(const struct rps_system_time *time)
{
    const int is_busy = rps_system_time_is_busy(time);
    int most = 0;

    if (!(time->elapsed_s > 0) ||
        time->asleep_s < SLEEPS_MIN * fmax(time->threads_s, time->elapsed_s))
        return -1;
    for (int i = 1; i < RPS_SLEEP_UNKNOWN; i++) {
        if (time->asleep_in_s[i] > time->asleep_in_s[most])
            most = i;
    }
    for (int i = 0; i < RPS_SLEEP_UNKNOWN && most == RPS_SLEEP_LOCK && !is_busy; i++) {
        if (i != RPS_SLEEP_LOCK && time->asleep_in_s[i] > SLEEPS_MIN * time->elapsed_s)
            return i; /* Threads of a pool wait for a thread that sleeps for this reason. */
    }
    if (most > RPS_SLEEP_LOCK && is_busy)
        return -1; /* Some threads are idle while other threads work. */
    return time->asleep_in_s[most] > SLEEPS_MIN * time->asleep_s ? most : -1;
}
