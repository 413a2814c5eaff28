/* The multiplexer computes from readings and makes none itself, so tests are exact. It processes
 * perf's 64-bit counts and the 32-bit registers of the simulated ARM1176. */
#include "mux.h"

#include <stdlib.h>
#include <string.h>

#include "rpistat/plan.h"
#include "rpistat/random.h"

/* If less than 1 / 1000 of the time is missing, the clock event is treated as always counted. */
#define CLOCK_LACK 1000

/* Return the difference of two readings of a counter that wraps at 2^width. */
static uint64_t counter_delta(uint64_t now, uint64_t before, unsigned width)
{
    uint64_t delta = now - before;

    return width >= 64 ? delta : delta & ((UINT64_C(1) << width) - 1);
}

static void open_period(struct rps_mux *mux, uint64_t number)
{
    mux->current = rps_order_set(&mux->order, mux->set_count, number);
    memset(&mux->open, 0, sizeof(mux->open));
    mux->open.cpu = mux->cpu;
    mux->open.set_no = (uint32_t)mux->current;
    mux->open.period = number;
    mux->open.rotation = number / (uint64_t)mux->set_count;
    mux->open.start_ns = mux->boundary_ns;
    mux->open.counted = mux->set[mux->current].measured;
}

int rps_mux_init(struct rps_mux *mux, const struct rps_plan *plan, const struct rps_order *order,
                 const struct rps_pmu *pmu, void *self, int32_t cpu, struct rps_error *err)
{
    memset(mux, 0, sizeof(*mux));
    mux->set = calloc((size_t)plan->set_count, sizeof(*mux->set));
    if (!mux->set)
        return rps_error_memory(err);
    mux->set_count = plan->set_count;
    mux->order = *order;
    mux->cpu = cpu;
    mux->clock_width = pmu->width(self, 0, -1);
    mux->read_within_ns = pmu->read_within_ns(self);
    for (int n = 0; n < plan->set_count; n++) {
        const struct rps_event_set *set = &plan->set[n];

        for (int s = 0; s < set->event_count; s++) {
            mux->set[n].width[s] = pmu->width(self, n, s);
            if (set->event[s].state == RPS_EVENT_MEASURED)
                mux->set[n].measured |= UINT32_C(1) << s;
            if (set->event[s].by_clock)
                mux->set[n].by_clock |= UINT32_C(1) << s;
        }
    }
    open_period(mux, 0);
    return 0;
}

void rps_mux_free(struct rps_mux *mux)
{
    free(mux->set);
    memset(mux, 0, sizeof(*mux));
}

void rps_mux_resume(struct rps_mux *mux, int64_t time_ns)
{
    mux->boundary_ns = time_ns;
    mux->open.start_ns = time_ns;
}

static void fold_slots(struct rps_mux *mux, const struct rps_reading *reading, uint64_t ticks)
{
    struct rps_mux_set *set = &mux->set[mux->current];
    struct rps_period *open = &mux->open;

    for (int s = 0; s < RPS_SLOT_MAX; s++) {
        uint32_t bit = UINT32_C(1) << s;
        uint64_t delta = ticks;

        if (!(set->measured & bit))
            continue;
        if (!(set->by_clock & bit)) {
            if (!(reading->valid & bit) || set->stale & bit) {
                open->counted &= ~bit; /* the difference also includes time before the previous
                                          reading */
                continue;
            }
            delta = counter_delta(reading->value[s], set->last[s], set->width[s]);
        }
        open->count[s] += delta;
        set->total[s] += delta;
    }
}

/* Keep this reading for the next differences. A slot that could not be read becomes stale. If the
 * clock event could not be read either, the next differences cover the whole time instead. */
static void remember(struct rps_mux *mux, const struct rps_reading *reading)
{
    struct rps_mux_set *set = &mux->set[mux->current];
    uint32_t failed = set->measured & ~set->by_clock & ~reading->valid;
    int is_clock_read =
        reading->enabled_ns != mux->last_enabled_ns || reading->clock != mux->last_clock;

    for (int s = 0; s < RPS_SLOT_MAX; s++)
        if (reading->valid & UINT32_C(1) << s)
            set->last[s] = reading->value[s];
    set->stale = is_clock_read ? failed : set->stale & failed;
    set->last_running_ns = reading->running_ns;
    mux->last_clock = reading->clock;
    mux->last_enabled_ns = reading->enabled_ns;
    mux->last_clock_running_ns = reading->clock_running_ns;
    mux->last_idle_ns = reading->idle_ns;
}

void rps_mux_fold(struct rps_mux *mux, const struct rps_reading *reading)
{
    struct rps_period *open = &mux->open;
    uint64_t ticks = counter_delta(reading->clock, mux->last_clock, mux->clock_width);

    fold_slots(mux, reading, ticks);
    open->cycles += ticks;
    mux->cycle += ticks;
    open->enabled_ns += reading->enabled_ns - mux->last_enabled_ns;
    open->clock_running_ns += reading->clock_running_ns - mux->last_clock_running_ns;
    open->running_ns += reading->running_ns - mux->set[mux->current].last_running_ns;
    if (reading->idle_ns < 0 || mux->last_idle_ns < 0)
        open->idle_ns = -1; /* idle time is unknown here and in the next period */
    else
        open->idle_ns = rps_period_add_known(open->idle_ns, reading->idle_ns - mux->last_idle_ns);
    remember(mux, reading);
}

/* Add idle time to the period up to its enabled time, and keep the rest for later periods. */
static void settle_idle(struct rps_mux *mux)
{
    struct rps_period *open = &mux->open;
    int64_t room_ns = (int64_t)open->enabled_ns;

    if (open->idle_ns < 0)
        return;
    open->idle_ns += mux->idle_left_ns;
    mux->idle_left_ns = open->idle_ns > room_ns ? open->idle_ns - room_ns : 0;
    open->idle_ns -= mux->idle_left_ns;
}

/* End the period with the readings that were added to it. */
static void close_period(struct rps_mux *mux, int64_t end_ns, struct rps_period *ret)
{
    uint64_t number = mux->open.period;

    settle_idle(mux);
    mux->open.cycle = mux->cycle;
    mux->open.length_ns = end_ns - mux->open.start_ns;
    if (mux->open.enabled_ns > 0 && mux->open.running_ns == 0)
        mux->open.counted = 0;
    if (mux->open.clock_running_ns < mux->open.enabled_ns - mux->open.enabled_ns / CLOCK_LACK)
        mux->open.counted &= ~mux->set[mux->current].by_clock;
    for (int s = 0; s < RPS_SLOT_MAX; s++)
        if (!(mux->open.counted & (UINT32_C(1) << s)))
            mux->open.count[s] = 0;
    *ret = mux->open;
    mux->boundary_ns = end_ns;
    open_period(mux, number + 1);
}

void rps_mux_end_period(struct rps_mux *mux, const struct rps_reading *reading, int64_t end_ns,
                        struct rps_period *ret)
{
    rps_mux_fold(mux, reading);
    close_period(mux, end_ns, ret);
}

int rps_mux_is_lost(const struct rps_mux *mux, const struct rps_reading *reading)
{
    return reading->enabled_ns - mux->last_enabled_ns >= (uint64_t)mux->read_within_ns;
}

int rps_mux_skip(struct rps_mux *mux, const struct rps_reading *reading, int64_t last_ns,
                 int64_t time_ns, struct rps_period *ret)
{
    int has_part = last_ns > mux->open.start_ns;

    remember(mux, reading);
    if (has_part)
        close_period(mux, last_ns, ret);
    rps_mux_resume(mux, time_ns);
    return has_part;
}

/* --- the order of the event sets -------------------------------------------------------------- */

/* When the event sets of a rotation are shuffled, place n is swapped with a random place from 0 to
 * n. Return this place. The shuffle (Fisher and Yates) goes from the last place down. */
static int partner(const struct rps_order *order, int set_count, uint64_t rotation, int n)
{
    uint64_t number = rotation * (uint64_t)set_count + (uint64_t)n;

    return (int)(rps_random_at(order->seed, number) % ((uint64_t)n + 1));
}

/* Return the event set that is at `place` after the shuffle. The function goes back through all
 * swaps to the state before the shuffle, in which each place n has set n. */
static int drawn(const struct rps_order *order, int set_count, uint64_t rotation, int place)
{
    int set = partner(order, set_count, rotation, place);

    for (int n = place + 1; n < set_count; n++)
        if (partner(order, set_count, rotation, n) == set)
            set = n;
    return set;
}

/* Return the event set of a period. Swaps the first two places if the first set is the same as the
 * last set of the previous rotation. With three or more places, the last place is not affected, and
 * all orders remain equally likely. */
int rps_order_set(const struct rps_order *order, int set_count, uint64_t period)
{
    uint64_t rotation = period / (uint64_t)set_count;
    int place = (int)(period % (uint64_t)set_count);

    if (!order->is_random)
        return place;
    if (place < 2 && rotation > 0 && set_count > 2 &&
        drawn(order, set_count, rotation, 0) ==
            drawn(order, set_count, rotation - 1, set_count - 1))
        place = 1 - place;
    return drawn(order, set_count, rotation, place);
}
