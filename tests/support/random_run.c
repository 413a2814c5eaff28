#include "support/random_run.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "rpistat/random.h"
#include "rpistat/plan.h"
#include "rpistat/store.h"

#define CPUS_MAX 4

uint64_t random_below(uint64_t *state, uint64_t range)
{
    return rps_random_next(state) % range;
}

/* Return true in `of_thousand` of a thousand cases, at random. */
static bool happens(uint64_t *state, unsigned int of_thousand)
{
    return random_below(state, 1000) < of_thousand;
}

/* --- the shape -------------------------------------------------------------------------------- */

static struct random_options random_options_of(uint64_t *state)
{
    static const unsigned int often[] = {0, 0, 3, 30, 200};
    struct random_options ret = {.sets = 1 + (int)random_below(state, 7)};

    ret.cpus = random_below(state, 2) ? 0 : 1 + (int)random_below(state, CPUS_MAX);
    ret.shuffled = random_below(state, 2);
    ret.whole = random_below(state, 5) == 0;
    ret.sleeps = random_below(state, 2);
    ret.clock_lacks = random_below(state, 3) == 0;
    ret.idle_unknown = random_below(state, 3) == 0;
    ret.cpus_go = random_below(state, 2);
    ret.thinned = random_below(state, 3) == 0;
    ret.killed = !ret.thinned && random_below(state, 4) == 0;
    ret.gaps = often[random_below(state, 5)] / 3;
    ret.pauses = often[random_below(state, 4)] / 3;
    ret.failures = often[random_below(state, 5)];
    ret.starved = often[random_below(state, 5)];
    ret.rotations = 1 + random_below(state, (ret.thinned ? 500 : 120) / (uint64_t)ret.sets);
    if (ret.whole) {
        ret.sets = 1;
        ret.clock_lacks = ret.idle_unknown = false;
        ret.failures = ret.starved = 0;
    }
    return ret;
}

static void name_event(struct rps_event *event, int set, int slot)
{
    snprintf(event->name, sizeof(event->name), "e%d_%d", set, slot);
    snprintf(event->spec, sizeof(event->spec), "r%d%d", set, slot);
    snprintf(event->label, sizeof(event->label), "Event %d.%d", set, slot);
    snprintf(event->family, sizeof(event->family), "F%d", slot % 3);
    strcpy(event->unit, "events");
    event->type = RPS_EVENT_RAW;
}

/* Make a random plan. Each metric that ends in "+ 0 * seconds" is a sum and has a value in every
 * segment. */
static struct rps_plan *make_plan(uint64_t *state, int sets)
{
    static const char *const metric[] = {"length=seconds", "use=cpu_seconds + 0 * seconds",
                                         "ticks=clock + 0 * seconds", "first=e0_0 + 0 * seconds",
                                         "cpi=clock / e0_0"};
    struct rps_plan *plan = rps_plan_new();
    struct rps_error err;

    assert_non_null(plan);
    strcpy(plan->name, "random");
    strcpy(plan->clock.name, "cycles");
    strcpy(plan->clock.label, "Cycles");
    strcpy(plan->clock.unit, "cycles");
    for (int n = 0; n < sets; n++) {
        struct rps_event_set *set = rps_plan_add_set(plan);

        assert_non_null(set);
        snprintf(set->name, sizeof(set->name), "set%d", n);
        set->event_count = 1 + (int)random_below(state, RPS_SLOT_MAX);
        for (int s = 0; s < set->event_count; s++)
            name_event(&set->event[s], n, s);
    }
    for (size_t m = 0; m < sizeof(metric) / sizeof(metric[0]); m++) {
        if (rps_plan_add_formula(plan, metric[m], &err) < 0)
            fail_msg("%s", err.message);
    }
    if (sets > 1 && rps_plan_add_formula(plan, "across=e0_0 / (e1_0 + e0_0)", &err) < 0)
        fail_msg("%s", err.message);
    return plan;
}

/* --- periods ---------------------------------------------------------------------------------- */

struct track {
    uint64_t cycle;
    int64_t end_ns;
    uint64_t asleep;             /* number of periods that the workload still sleeps */
    uint64_t away_from, away_to; /* rotations during which the CPU is away */
};

static uint64_t part_of(uint64_t *state, uint64_t whole, bool all)
{
    return all ? whole : whole - random_below(state, whole / 3 + 1);
}

static void count_slots(const struct random_run *run, uint64_t *state, struct rps_period *period)
{
    const struct rps_event_set *set = &run->fixture.plan->set[period->set_no];

    for (int s = 0; s < set->event_count; s++) {
        if (happens(state, run->options.failures))
            period->counted &= ~(UINT32_C(1) << s);
        else if (period->running_ns > 0 && random_below(state, 5) > 0)
            period->count[s] =
                random_below(state, s % 2 ? 40 : UINT64_C(1) << random_below(state, 34));
    }
}

/* Set the counts and times that the multiplexer would report for a period of this length. */
static void measure(const struct random_run *run, uint64_t *state, struct track *track,
                    struct rps_period *period)
{
    const struct random_options *options = &run->options;
    uint64_t length_ns = (uint64_t)period->length_ns;

    period->counted = (UINT32_C(1) << run->fixture.plan->set[period->set_no].event_count) - 1;
    period->switch_ns = (int64_t)random_below(state, 5000);
    period->missed = (uint32_t)(random_below(state, 20) == 0);
    if (options->sleeps && track->asleep == 0 && random_below(state, 60) == 0)
        track->asleep = 1 + random_below(state, 50);
    if (track->asleep > 0 && options->cpus == 0) {
        track->asleep--;
        count_slots(run, state, period);
        return;
    }
    period->enabled_ns = length_ns;
    if (options->cpus == 0)
        period->enabled_ns = 1 + random_below(state, 3 * length_ns);
    else if (!options->idle_unknown || random_below(state, 40))
        period->idle_ns = (int64_t)random_below(state, length_ns + 1);
    else
        period->idle_ns = -1;
    period->running_ns = part_of(state, period->enabled_ns, options->whole);
    period->clock_running_ns = period->enabled_ns;
    if (options->clock_lacks && random_below(state, 3) == 0)
        period->clock_running_ns = random_below(state, 3) * period->enabled_ns / 3;
    if (period->clock_running_ns > 0)
        period->cycles = random_below(state, 1 << 20);
    if (happens(state, options->starved)) {
        period->running_ns = 0;
        period->counted = 0;
    } else {
        count_slots(run, state, period);
    }
}

static void order_sets(const struct random_options *options, uint64_t *state, uint32_t *ret)
{
    for (int i = 0; i < options->sets; i++)
        ret[i] = (uint32_t)i;
    for (int i = options->sets - 1; i > 0 && options->shuffled; i--) {
        int other = (int)random_below(state, (uint64_t)i + 1);
        uint32_t swap = ret[i];

        ret[i] = ret[other];
        ret[other] = swap;
    }
}

/* One period of a CPU, from about one tick of the timer to the next. */
static void add_period(struct random_run *run, uint64_t *state, struct track *track,
                       struct rps_period period, int64_t tick_ns, int64_t next_ns)
{
    bool lost = happens(state, run->options.gaps);

    period.start_ns = tick_ns + (int64_t)random_below(state, 900);
    if (period.start_ns < track->end_ns)
        period.start_ns = track->end_ns;
    period.length_ns = next_ns + (int64_t)random_below(state, 900) - period.start_ns;
    measure(run, state, track, &period);
    track->end_ns = period.start_ns + period.length_ns;
    period.cycle = track->cycle += period.cycles;
    if (lost) {
        rps_writer_gap(run->fixture.writer, period.cpu, period.start_ns, period.length_ns, "lost");
        return;
    }
    run->period[run->count++] = period;
    rps_writer_period(run->fixture.writer, &period);
    run->end_ns = track->end_ns > run->end_ns ? track->end_ns : run->end_ns;
}

static void add_periods(struct random_run *run, uint64_t *state)
{
    const struct random_options *options = &run->options;
    int cpus = options->cpus > 0 ? options->cpus : 1;
    struct track track[CPUS_MAX] = {{0}};
    int64_t tick_ns = 0;
    uint32_t order[8];

    for (int c = 1; c < cpus && options->cpus_go; c++) {
        track[c].away_from = random_below(state, options->rotations + 1);
        track[c].away_to = track[c].away_from + random_below(state, options->rotations + 1);
    }
    for (uint64_t n = 0; n < options->rotations * (uint64_t)options->sets; n++) {
        uint64_t rotation = n / (uint64_t)options->sets;
        int64_t length_ns = FIXTURE_PERIOD_NS - (int64_t)random_below(state, FIXTURE_PERIOD_NS / 2);

        if (n % (uint64_t)options->sets == 0)
            order_sets(options, state, order);
        if (happens(state, options->pauses)) {
            rps_writer_gap(run->fixture.writer, RPS_CPU_ALL, tick_ns, 7 * FIXTURE_PERIOD_NS,
                           "paused");
            tick_ns += 7 * FIXTURE_PERIOD_NS;
        }
        for (int c = 0; c < cpus; c++) {
            struct rps_period period = {.cpu = options->cpus > 0 ? 2 * c : RPS_CPU_ALL,
                                        .set_no = order[n % (uint64_t)options->sets],
                                        .period = n,
                                        .rotation = rotation};

            if (rotation < track[c].away_from || rotation >= track[c].away_to)
                add_period(run, state, &track[c], period, tick_ns, tick_ns + length_ns);
        }
        tick_ns += length_ns;
    }
}

/* --- the store -------------------------------------------------------------------------------- */

/* Leave the run without an end, with all periods committed. */
static void kill_run(struct random_run *run)
{
    struct rps_writer_status status;

    do {
        rps_writer_status(run->fixture.writer, &status);
        sched_yield();
    } while (status.queued > 0 || status.committed < run->count);
    rps_writer_close(run->fixture.writer);
    run->fixture.writer = NULL;
}

void random_run_make(struct random_run *ret, uint64_t seed)
{
    uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    struct rps_writer_options options = {.commit_ns = FIXTURE_PERIOD_NS};
    struct fixture *fixture = &ret->fixture;
    struct rps_error err;

    *ret = (struct random_run){.options = random_options_of(&state)};
    fixture_begin(fixture, "software");
    rps_plan_free(fixture->plan);
    fixture->plan = make_plan(&state, ret->options.sets);
    ret->period = calloc(ret->options.rotations * (uint64_t)ret->options.sets * CPUS_MAX,
                         sizeof(*ret->period));
    assert_non_null(ret->period);
    if (ret->options.thinned)
        options.keep_ns = (int64_t)(ret->options.rotations * (uint64_t)ret->options.sets) *
                          FIXTURE_PERIOD_NS / 40;
    fixture_write_with(fixture, &options);
    add_periods(ret, &state);
    if (ret->options.killed) {
        kill_run(ret);
        if (rps_reader_open(&fixture->reader, fixture->path, &err) < 0)
            fail_msg("%s", err.message);
        return;
    }
    fixture->next.start_ns = ret->end_ns;
    fixture_read(fixture);
}

void random_run_free(struct random_run *run)
{
    fixture_end(&run->fixture);
    free(run->period);
}
