/* The measurement loop, written against two tables of functions: the PMU backend and the event
 * loop. With the real event loop, the measurement loop records a workload. With the simulated event
 * loop, it simulates an hour in a moment.
 *
 * The loop does not use a timer with an interval (timerfd). Instead it sets a one-shot absolute
 * timer for each period, which costs one more cheap system call per period. In this way all code
 * for the grid, lateness and stretching is in this file. */
#include "rpistat/loop.h"

#include <stdio.h>
#include <stdlib.h>

#include "affinity.h"
#include "mux.h"
#include "rpistat/plan.h"
#include "rpistat/run.h"
#include "rpistat/system_reader.h"
#include "rpistat/text.h"

/* Number of periods whose switch costs are evaluated together before the period is stretched. Fewer
 * periods suffice if each switch took a large part of its period. */
#define STRETCH_PERIODS           16
#define STRETCH_PERIODS_THRESHOLD 3
#define STRETCH_LARGE(ns)         ((ns) / 20)

/* A reading is repeated, at most READ_AGAIN times, if it takes longer than READ_LONG and longer
 * than READ_FACTOR times the previous reading. */
#define READ_LONG(ns) ((ns) / 64)
#define READ_FACTOR   4
#define READ_AGAIN    1

/* Maximum time of a switch of event sets, in percent of the period. During a switch no event is
 * counted. READING_PERCENT is the limit if there is a single event set, which is only read, and
 * continues counting during the reading. */
#define SWITCH_PERCENT  1
#define READING_PERCENT 25

/* In a fine start or short rotation, a period's length is the run's length so far / FINE_PARTS. */
#define FINE_PARTS 100

/* Maximum number of rows (series of STRETCH_PERIODS switches) before the period shrinks. */
#define SHRINK_ROWS_MAX 1024

/* A sleep of the machine is noticed if it lasts longer than SLEPT_NS. The wall clock was set if its
 * difference from the time since boot changes by more than CLOCK_SET_NS. A wall clock that is only
 * adjusted runs up to 0.05 % faster or slower. */
#define SLEPT_NS           (100 * RPS_NS_PER_MS)
#define CLOCK_SET_NS       RPS_NS_PER_S
#define CLOCK_SLEWED_SHARE 1000

struct track {
    struct rps_mux mux;
    int gone;        /* 1 if the track's CPU went offline */
    int64_t gone_ns; /* event loop's time: end of the track's last period */
};

struct loop {
    const struct rps_loop_options *o;
    int track_count;
    struct track *track;         /* owned */
    struct rps_reading *reading; /* owned; one reading per track */
    int set_count;
    uint64_t period; /* number of the current period */
    int current;     /* current event set */
    int counting;
    int64_t boundary_ns; /* event loop's time: end of the last period, or of the run */
    int64_t read_ns;     /* event loop's time: last reading of the counters */
    int64_t reading_ns;  /* duration of the last reading */
    int64_t pause_ns;    /* event loop's time: begin of the pause */
    const char *pause_reason;
    int64_t period_ns; /* length of a period, after stretching */
    int64_t length_ns; /* length of this rotation's periods: period_ns, or less at the start */
    int64_t begun_ns;  /* event loop's time: begin of counting */
    int64_t grid_ns;   /* event loop's time: last point of the grid that was passed */
    int64_t end_ns;    /* event loop's time: end of --duration; INT64_MAX: never */
    int64_t resume_ns; /* event loop's time: end of a delay; INT64_MAX: no delay */
    int64_t switch_ns[STRETCH_PERIODS]; /* costs of the last switches, sorted */
    int switch_count;
    int cheap_rows;  /* number of rows (series) of switches that would permit a shorter period */
    int shrink_rows; /* required cheap_rows; doubled after each premature shrinking */
    int shrunk;
    struct rps_affinity_policy policy;
    struct rps_clocks clocks;          /* latest times of the clocks */
    const struct rps_sampler *sampler; /* NULL without samples, or after sampling has ended */
    int64_t drained_ns;                /* event loop's time: last drain of samples */
    uint64_t system_period;            /* `period` at the last reading of system metrics */
};

static int64_t now(const struct loop *loop)
{
    return loop->o->event_loop->now_ns(loop->o->event_loop->self);
}

static int set_of(const struct loop *loop, uint64_t period)
{
    return rps_order_set(&loop->o->order, loop->set_count, period);
}

/* Return 1 if periods have their full length from now on. */
static int is_started(const struct loop *loop)
{
    int is_short = loop->o->order.is_random && loop->period < (uint64_t)loop->set_count;

    return loop->set_count < 2 || !(loop->o->fine_start || is_short);
}

/* Return the length of the next rotation's periods. At a fine start the length grows with the time
 * since counting began. So each set is soon counted, and misses only a small part of the run. */
static int64_t length_of(const struct loop *loop, int64_t time_ns, int64_t switch_ns)
{
    int64_t length_ns = (time_ns - loop->begun_ns) / FINE_PARTS;

    if (is_started(loop))
        return loop->period_ns;
    if (length_ns < RPS_FINE_START_NS)
        length_ns = RPS_FINE_START_NS;
    if (length_ns < switch_ns * 100 / SWITCH_PERCENT)
        length_ns = switch_ns * 100 / SWITCH_PERCENT;
    return length_ns < loop->period_ns ? length_ns : loop->period_ns;
}

static void gap(struct loop *loop, int32_t cpu, int64_t from_ns, int64_t to_ns, const char *reason)
{
    if (to_ns > from_ns && loop->o->sink->gap)
        loop->o->sink->gap(loop->o->sink->context, cpu, from_ns - loop->o->start_ns,
                           to_ns - from_ns, reason);
}

static void note(struct loop *loop, int64_t time_ns, const char *text)
{
    if (loop->o->sink->mark)
        loop->o->sink->mark(loop->o->sink->context, time_ns - loop->o->start_ns, text);
}

/* --- samples and system metrics --------------------------------------------------------------- */

/* End sampling after an error of the sampler. The recording continues. */
static void check_sampler(struct loop *loop, int rc, const struct rps_error *err)
{
    char text[sizeof(err->message) + 40];

    if (rc >= 0)
        return;
    snprintf(text, sizeof(text), "%s any more: %s",
             loop->o->sample_sink ? "no samples are taken" : "no thread events are received",
             err->message);
    note(loop, now(loop), text);
    loop->sampler = NULL;
    if (loop->o->system)
        loop->o->system->hear(loop->o->system->self, NULL);
}

/* Pass on a sample. The reader of system metrics also gets execs, starts and ends of threads. */
static void take_sample(void *context, const struct rps_sample *sample)
{
    const struct loop *loop = context;
    const struct rps_loop_options *o = loop->o;

    if (o->system && (sample->kind == RPS_SAMPLE_FORK || sample->kind == RPS_SAMPLE_EXIT ||
                      (sample->kind == RPS_SAMPLE_NAME && sample->is_exec)))
        o->system->hear(o->system->self, sample);
    if (o->sample_sink)
        o->sample_sink->sample(o->sample_sink->context, sample);
}

/* Pass on samples older than the previous drain, up to which all CPUs have written records. */
static void drain(struct loop *loop, int64_t until_ns, int64_t time_ns)
{
    const struct rps_sample_sink sink = {loop, take_sample};
    struct rps_error err = {""};

    if (!loop->sampler)
        return;
    check_sampler(loop, loop->sampler->drain(loop->sampler->self, until_ns, &sink, &err), &err);
    loop->drained_ns = time_ns;
}

static void start_samples(struct loop *loop)
{
    struct rps_error err = {""};

    if (loop->sampler)
        check_sampler(loop, loop->sampler->start(loop->sampler->self, &err), &err);
}

/* Read system metrics. Call this function after passing on the most recent period and its samples.
 * Metrics are read at most once per period. Nothing is read without a new period: after a lost
 * period, or if the run ends during a pause. */
static void read_system(struct loop *loop, int force)
{
    const struct rps_system_reader *system = loop->o->system;
    char text[160] = "";

    if (!system || loop->system_period == loop->period)
        return;
    loop->system_period = loop->period;
    system->read(system->self, loop->period - 1, loop->boundary_ns, loop->o->start_ns, force,
                 loop->o->system_sink, text, sizeof(text));
    if (text[0])
        note(loop, loop->boundary_ns, text);
}

static void resume_system(struct loop *loop, int64_t time_ns)
{
    if (loop->o->system)
        loop->o->system->resume(loop->o->system->self, time_ns);
}

/* Return the time at which the next drain is due (event loop's time). */
static int64_t drain_deadline(const struct loop *loop)
{
    if (!loop->sampler || !loop->sampler->drain_within_ns)
        return INT64_MAX;
    return loop->drained_ns + loop->sampler->drain_within_ns(loop->sampler->self);
}

/* --- periods ---------------------------------------------------------------------------------- */

/* Remove a track whose CPU went offline. The CPU's missing time becomes a gap at the end. */
static void lose_track(struct loop *loop, int t)
{
    int32_t cpu = loop->track[t].mux.cpu;
    char text[80];

    loop->track[t].gone = 1;
    loop->track[t].gone_ns = loop->boundary_ns;
    snprintf(text, sizeof(text), "CPU %ld went offline and is no longer counted", (long)cpu);
    note(loop, loop->boundary_ns, text);
}

/* Read a track, or remove it if its CPU is offline. Returns 1 with *ret if the track was read. */
static int read_track(struct loop *loop, int t, struct rps_reading *ret, struct rps_error *err)
{
    int rc;

    if (loop->track[t].gone)
        return 0;
    rc = loop->o->pmu->read(loop->o->pmu_self, t, loop->current, ret, err);
    if (rc > 0)
        lose_track(loop, t);
    return rc < 0 ? rc : rc == 0;
}

/* Pass on the periods of all tracks. The periods ended at end_ns with the given readings. */
static void finish_periods(struct loop *loop, int64_t end_ns, int64_t switch_ns, uint64_t missed)
{
    /* If the clock goes back, the period becomes short but not negative. */
    if (end_ns < loop->boundary_ns)
        end_ns = loop->boundary_ns;
    for (int t = 0; t < loop->track_count; t++) {
        struct rps_period period;

        if (loop->track[t].gone)
            continue;
        rps_mux_end_period(&loop->track[t].mux, &loop->reading[t], end_ns - loop->o->start_ns,
                           &period);
        period.switch_ns = switch_ns;
        period.missed = missed > UINT32_MAX ? UINT32_MAX : (uint32_t)missed;
        loop->o->sink->period(loop->o->sink->context, &period);
    }
    loop->boundary_ns = loop->read_ns = end_ns;
    loop->current = set_of(loop, ++loop->period);
}

/* Return 1 if a counter may have wrapped more than once before this reading. */
static int is_lost(const struct loop *loop)
{
    for (int t = 0; t < loop->track_count; t++)
        if (!loop->track[t].gone && rps_mux_is_lost(&loop->track[t].mux, &loop->reading[t]))
            return 1;
    return 0;
}

/* Write a gap from the last reading to this reading at time_ns, because its counts are unknown. The
 * part of the open period before the gap becomes a period, and the next event set begins. */
static void lose(struct loop *loop, int64_t time_ns)
{
    char text[120], length[RPS_TEXT_NUMBER_SIZE];
    int ended = 0;

    for (int t = 0; t < loop->track_count; t++) {
        struct rps_period period;

        if (loop->track[t].gone ||
            !rps_mux_skip(&loop->track[t].mux, &loop->reading[t], loop->read_ns - loop->o->start_ns,
                          time_ns - loop->o->start_ns, &period))
            continue;
        loop->o->sink->period(loop->o->sink->context, &period);
        ended = 1;
    }
    snprintf(text, sizeof(text),
             "the counters may have wrapped more than once: %s between two "
             "readings",
             rps_text_duration(length, sizeof(length), time_ns - loop->read_ns));
    gap(loop, RPS_CPU_ALL, loop->read_ns, time_ns, text);
    loop->boundary_ns = loop->read_ns = time_ns;
    loop->period += (uint64_t)ended;
    loop->current = set_of(loop, loop->period);
}

static int read_all(struct loop *loop, struct rps_reading *reading, struct rps_error *err)
{
    for (int t = 0; t < loop->track_count; t++) {
        int rc = read_track(loop, t, &reading[t], err);

        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Read all tracks at one moment, *ret_ns. *ret_ns is after the reading if the set continues
 * counting, otherwise before the reading. If a busy machine delays the loop between two CPUs, or
 * between the CPUs and the clock, the loop reads again. Without the second reading, events of 100
 * ms might be attributed to a period of 40 ms, and their rate would be wrong. */
static int read_at_once(struct loop *loop, int64_t *ret_ns, struct rps_error *err)
{
    int64_t long_ns = loop->reading_ns * READ_FACTOR;

    if (long_ns < READ_LONG(loop->period_ns))
        long_ns = READ_LONG(loop->period_ns);
    for (int again = 0; again <= READ_AGAIN; again++) {
        int64_t before_ns = now(loop), after_ns;
        int rc = read_all(loop, loop->reading, err);

        if (rc < 0)
            return rc;
        after_ns = now(loop);
        *ret_ns = loop->set_count == 1 ? after_ns : before_ns;
        loop->reading_ns = after_ns - before_ns;
        if (loop->reading_ns <= long_ns)
            break;
    }
    return 0;
}

/* Return the factor by which the period must be stretched for a switch of this length. */
static int64_t stretch_factor(const struct loop *loop, int64_t switch_ns)
{
    int64_t percent = loop->set_count == 1 ? READING_PERCENT : SWITCH_PERCENT;
    int64_t nominal_ns = loop->o->period_ns, factor;

    if (switch_ns <= RPS_LOOP_SWITCH_FREE_NS)
        return 1;
    factor = (switch_ns * 100 + nominal_ns * percent - 1) / (nominal_ns * percent);
    if (factor > RPS_PERIOD_MAX_NS / nominal_ns)
        factor = RPS_PERIOD_MAX_NS / nominal_ns;
    return factor < 1 ? 1 : factor;
}

/* Return 1 if the length of the period must not change. In this case the period is long enough, and
 * is not much too long, or has been much too long only for a short time. Without this rule the
 * length of the period would change forever if the costs rise and fall. */
static int keeps_period(struct loop *loop, int64_t factor, int64_t present)
{
    int smaller = factor * 2 <= present;

    loop->cheap_rows = smaller ? loop->cheap_rows + 1 : 0;
    if (smaller)
        return loop->cheap_rows < loop->shrink_rows;
    return factor <= present;
}

static void set_period(struct loop *loop, int64_t factor, int64_t median_ns, int64_t time_ns)
{
    char text[160], cost[RPS_TEXT_NUMBER_SIZE], length[RPS_TEXT_NUMBER_SIZE];
    int64_t before_ns = loop->period_ns;

    loop->period_ns = factor * loop->o->period_ns;
    if (loop->period_ns > before_ns && loop->shrunk && loop->shrink_rows < SHRINK_ROWS_MAX)
        loop->shrink_rows *= 2;
    loop->shrunk = loop->period_ns < before_ns;
    snprintf(text, sizeof(text), "measurement period %s to %s: %s takes %s (median)",
             loop->period_ns > before_ns ? "stretched" : "shortened",
             rps_text_duration(length, sizeof(length), loop->period_ns),
             loop->set_count == 1 ? "reading the counters" : "switching event sets",
             rps_text_duration(cost, sizeof(cost), median_ns));
    note(loop, time_ns, text);
}

/* Stretch or shrink the period by the median cost of a switch. The mean is not used, because one
 * slow switch among cheap ones must not stretch the period. */
static void consider_stretching(struct loop *loop, int64_t switch_ns, int64_t time_ns)
{
    int64_t median_ns, factor;
    int count = loop->switch_count, at = count;

    for (; at > 0 && loop->switch_ns[at - 1] > switch_ns; at--)
        loop->switch_ns[at] = loop->switch_ns[at - 1];
    loop->switch_ns[at] = switch_ns;
    loop->switch_count = ++count;
    if (rps_affinity_policy_switch(&loop->policy, switch_ns) ||
        (count == RPS_AFFINITY_POLICY_FIRST &&
         rps_affinity_policy_first(&loop->policy, loop->switch_ns[count / 2]))) {
        loop->switch_count = 0; /* earlier costs are not valid after a move */
        return;
    }
    if (count < STRETCH_PERIODS &&
        (count < STRETCH_PERIODS_THRESHOLD || loop->switch_ns[0] < STRETCH_LARGE(loop->period_ns)))
        return;
    loop->switch_count = 0;
    median_ns = loop->switch_ns[count / 2];
    if (rps_affinity_policy_row(&loop->policy, median_ns)) /* 1: slow switches moved the loop */
        return;
    factor = stretch_factor(loop, median_ns);
    if (!keeps_period(loop, factor, loop->period_ns / loop->o->period_ns))
        set_period(loop, factor, median_ns, time_ns);
}

/* Count the timer expirations that a period ending at time_ns has missed. */
static uint64_t missed_until(const struct loop *loop, int64_t time_ns)
{
    int64_t passed = (time_ns - loop->grid_ns) / loop->length_ns;

    return passed > 1 ? (uint64_t)(passed - 1) : 0;
}

/* At the deadline: read the counters, switch the event set, and pass on the periods. */
static int switch_set(struct loop *loop, struct rps_error *err)
{
    const struct rps_pmu *pmu = loop->o->pmu;
    int alone = loop->set_count == 1;
    int next = set_of(loop, loop->period + 1);
    int64_t before_ns = now(loop), read_ns, after_ns;
    uint64_t missed = missed_until(loop, before_ns);
    int rc, lost;

    rps_affinity_policy_woke(&loop->policy, before_ns - loop->grid_ns - loop->length_ns);
    if (!alone && (rc = pmu->disable(loop->o->pmu_self, loop->current, err)) < 0)
        return rc;
    if ((rc = read_at_once(loop, &read_ns, err)) < 0)
        return rc;
    if ((lost = is_lost(loop))) {
        lose(loop, read_ns);
        next = loop->current;
    }
    if (!alone && (rc = pmu->enable(loop->o->pmu_self, next, err)) < 0)
        return rc;
    after_ns = now(loop);
    if (before_ns > loop->grid_ns)
        loop->grid_ns += (before_ns - loop->grid_ns) / loop->length_ns * loop->length_ns;
    if (lost)
        return 0;
    finish_periods(loop, read_ns, after_ns - before_ns, missed);
    consider_stretching(loop, after_ns - before_ns, read_ns);
    if (is_started(loop) || loop->period % (uint64_t)loop->set_count == 0)
        loop->length_ns = length_of(loop, read_ns, after_ns - before_ns);
    drain(loop, loop->drained_ns, loop->boundary_ns);
    read_system(loop, 0);
    return 0;
}

/* Finish the last, shorter period. Afterwards no event set is enabled. */
static int finish(struct loop *loop, struct rps_error *err)
{
    struct rps_error failure = {""};
    int64_t end_ns;
    int rc;

    if (loop->sampler)
        check_sampler(loop, loop->sampler->stop(loop->sampler->self, &failure), &failure);
    end_ns = now(loop);
    if ((rc = loop->o->pmu->stop(loop->o->pmu_self, loop->current, err)) < 0 ||
        (rc = read_all(loop, loop->reading, err)) < 0)
        return rc;
    if (is_lost(loop))
        lose(loop, end_ns);
    else
        finish_periods(loop, end_ns, now(loop) - end_ns, missed_until(loop, end_ns));
    return 0;
}

/* --- pauses ----------------------------------------------------------------------------------- */

static int pause_counting(struct loop *loop, struct rps_error *err)
{
    int rc;

    if (!loop->counting)
        return 0;
    if ((rc = finish(loop, err)) < 0)
        return rc;
    drain(loop, loop->drained_ns, loop->boundary_ns);
    read_system(loop, 1);
    loop->counting = 0;
    loop->pause_ns = loop->boundary_ns;
    loop->pause_reason = "paused";
    return 0;
}

static int resume_counting(struct loop *loop, struct rps_error *err)
{
    int64_t time_ns;
    int rc;

    loop->resume_ns = INT64_MAX;
    if (loop->counting)
        return 0;
    if ((rc = loop->o->pmu->start(loop->o->pmu_self, loop->current, err)) < 0)
        return rc;
    time_ns = now(loop);
    for (int t = 0; t < loop->track_count; t++)
        rps_mux_resume(&loop->track[t].mux, time_ns - loop->o->start_ns);
    gap(loop, RPS_CPU_ALL, loop->pause_ns, time_ns, loop->pause_reason);
    loop->grid_ns = loop->read_ns = time_ns;
    if (loop->period == 0) {
        loop->begun_ns = time_ns;
        loop->length_ns = length_of(loop, time_ns, 0);
    }
    loop->counting = 1;
    start_samples(loop);
    resume_system(loop, time_ns);
    return 0;
}

/* --- waiting ---------------------------------------------------------------------------------- */

/* Add ns to a time. INT64_MAX means never and is returned unchanged. */
static int64_t later(int64_t time_ns, int64_t ns)
{
    return ns < INT64_MAX - time_ns ? time_ns + ns : INT64_MAX;
}

/* Read in the middle of a period, so that no wrap of a counter is missed. Returns 1 if a wrap may
 * have been missed. */
static int read_between(struct loop *loop, struct rps_error *err)
{
    int64_t time_ns = now(loop);
    int rc = read_all(loop, loop->reading, err);

    if (rc < 0)
        return rc;
    if (is_lost(loop))
        return 1;
    for (int t = 0; t < loop->track_count; t++)
        if (!loop->track[t].gone)
            rps_mux_fold(&loop->track[t].mux, &loop->reading[t]);
    loop->read_ns = time_ns;
    return 0;
}

/* Wait for the end of the period. If a counter could wrap unnoticed, also read the counters during
 * the period. To allow for delays, this reading takes place after three quarters of the time in
 * which a counter can wrap. Drain samples before the rings are full. */
static int wait_period(struct loop *loop, enum rps_wake *wake, struct rps_error *err)
{
    const struct rps_event_loop *event_loop = loop->o->event_loop;
    int64_t within_ns = loop->o->pmu->read_within_ns(loop->o->pmu_self) / 4 * 3;
    int64_t next_ns = loop->counting ? loop->grid_ns + loop->length_ns : loop->resume_ns;
    int64_t deadline_ns = next_ns < loop->end_ns ? next_ns : loop->end_ns;
    int64_t read_ns = loop->counting ? later(now(loop), within_ns) : INT64_MAX;

    for (;;) {
        int64_t drain_ns = drain_deadline(loop), until_ns = deadline_ns;
        int rc;

        if (read_ns < until_ns)
            until_ns = read_ns;
        if (drain_ns < until_ns)
            until_ns = drain_ns;
        if ((rc = event_loop->wait(event_loop->self, until_ns, wake, err)) < 0)
            return rc;
        if (*wake != RPS_WAKE_DEADLINE || until_ns == deadline_ns)
            return 0;
        if (until_ns == drain_ns) {
            drain(loop, loop->drained_ns, now(loop));
            continue;
        }
        if ((rc = read_between(loop, err)) != 0)
            return rc < 0 ? rc : 0; /* after a lost reading, switch the set */
        read_ns = later(now(loop), within_ns);
    }
}

/* --- sleep, and clocks that are set ----------------------------------------------------------- */

/* Check the clocks at each wake-up: did the machine sleep, or was the wall clock set? */
static void watch_clocks(struct loop *loop)
{
    const struct rps_event_loop *event_loop = loop->o->event_loop;
    const struct rps_clocks before = loop->clocks;
    char text[160], length[RPS_TEXT_NUMBER_SIZE];
    int64_t slept_ns, set_ns, passed_ns;
    struct rps_clocks *clocks = &loop->clocks;

    if (!event_loop->clocks)
        return;
    event_loop->clocks(event_loop->self, clocks);
    passed_ns = clocks->boot_ns - before.boot_ns;
    slept_ns = passed_ns - (clocks->monotonic_ns - before.monotonic_ns);
    set_ns = rps_clock_subtract_ns(rps_clock_subtract_ns(clocks->realtime_ns, before.realtime_ns),
                                   passed_ns);
    if (slept_ns > SLEPT_NS) {
        snprintf(text, sizeof(text), "the machine was suspended for %s (not in the elapsed time)",
                 rps_text_duration(length, sizeof(length), slept_ns));
        note(loop, clocks->monotonic_ns, text);
    }
    if (llabs(set_ns) > CLOCK_SET_NS + passed_ns / CLOCK_SLEWED_SHARE) {
        snprintf(text, sizeof(text), "the clock was set %s by %s", set_ns > 0 ? "forward" : "back",
                 rps_text_duration(length, sizeof(length), llabs(set_ns)));
        note(loop, clocks->monotonic_ns, text);
    }
}

/* --- the run ---------------------------------------------------------------------------------- */

static int init_tracks(struct loop *loop, struct rps_error *err)
{
    const struct rps_loop_options *o = loop->o;
    int count = o->pmu->track_count(o->pmu_self), rc = 0;

    loop->track = calloc((size_t)count, sizeof(*loop->track));
    loop->reading = calloc((size_t)count, sizeof(*loop->reading));
    if (!loop->track || !loop->reading)
        return rps_error_memory(err);
    for (int t = 0; rc == 0 && t < count; t++) {
        rc = rps_mux_init(&loop->track[t].mux, o->plan, &o->order, o->pmu, o->pmu_self,
                          o->pmu->track_cpu(o->pmu_self, t), err);
        loop->track_count += rc == 0;
    }
    return rc;
}

/* Handle the wake-up. Returns 1 if the recording is over, with the reason in *ret_end. */
static int act(struct loop *loop, enum rps_wake wake, enum rps_loop_end *ret_end,
               struct rps_error *err)
{
    int over = wake == RPS_WAKE_DEADLINE && now(loop) >= loop->end_ns;
    int rc;

    if (wake == RPS_WAKE_PAUSE)
        return pause_counting(loop, err);
    if (wake == RPS_WAKE_RESUME || (!over && wake == RPS_WAKE_DEADLINE && !loop->counting))
        return resume_counting(loop, err);
    if (wake == RPS_WAKE_DEADLINE && !over)
        return switch_set(loop, err);
    *ret_end = wake == RPS_WAKE_ENDED  ? RPS_LOOP_WORKLOAD
               : wake == RPS_WAKE_STOP ? RPS_LOOP_STOPPED
                                       : RPS_LOOP_DURATION;
    if (loop->counting && (rc = finish(loop, err)) < 0)
        return rc;
    if (!loop->counting) {
        loop->boundary_ns = now(loop);
        gap(loop, RPS_CPU_ALL, loop->pause_ns, loop->boundary_ns, loop->pause_reason);
    }
    return 1;
}

static void set_times(struct loop *loop)
{
    const struct rps_loop_options *o = loop->o;

    rps_affinity_policy_init(&loop->policy, loop->set_count > 1 ? o->event_loop : NULL);
    loop->shrink_rows = 1;
    loop->period_ns = o->period_ns;
    loop->grid_ns = loop->pause_ns = loop->boundary_ns = loop->read_ns = o->start_ns;
    loop->begun_ns = o->start_ns;
    loop->length_ns = length_of(loop, o->start_ns, 0);
    loop->end_ns = o->duration_ns > 0 ? o->start_ns + o->duration_ns : INT64_MAX;
    loop->resume_ns = o->delay_ns > 0 ? o->start_ns + o->delay_ns : INT64_MAX;
    loop->pause_reason = o->delay_ns > 0 ? "before the delay was over" : "not yet enabled";
    loop->counting = o->counting;
    loop->sampler = o->sampler;
    loop->drained_ns = o->start_ns;
}

int rps_loop_run(const struct rps_loop_options *options, enum rps_loop_end *ret_end,
                 int64_t *ret_elapsed_ns, struct rps_error *err)
{
    struct loop loop = {.o = options, .set_count = options->plan->set_count};
    enum rps_wake wake = RPS_WAKE_DEADLINE;
    int rc = init_tracks(&loop, err);

    loop.current = set_of(&loop, 0);
    set_times(&loop);
    if (options->event_loop->clocks)
        options->event_loop->clocks(options->event_loop->self, &loop.clocks);
    if (rc == 0 && loop.counting) {
        start_samples(&loop);
        resume_system(&loop, options->start_ns);
    }
    if (rc == 0 && !loop.counting && options->delay_ns <= 0 && !options->paused)
        rc = resume_counting(&loop, err);
    while (rc == 0) {
        rc = wait_period(&loop, &wake, err);
        watch_clocks(&loop);
        if (rc == 0)
            rc = act(&loop, wake, ret_end, err);
    }
    if (rc > 0) {
        *ret_elapsed_ns = loop.boundary_ns - options->start_ns;
        /* Record the lost tracks in the store. */
        for (int t = 0; t < loop.track_count; t++)
            if (loop.track[t].gone)
                gap(&loop, loop.track[t].mux.cpu, loop.track[t].gone_ns, loop.boundary_ns,
                    "the CPU was offline");
        drain(&loop, INT64_MAX, loop.boundary_ns);
        read_system(&loop, 1);
    }
    for (int t = 0; t < loop.track_count; t++)
        rps_mux_free(&loop.track[t].mux);
    free(loop.track);
    free(loop.reading);
    return rc < 0 ? rc : 0;
}
