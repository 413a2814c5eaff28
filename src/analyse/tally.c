/* Tallies: sums over a time range of a run, and the scaled estimates computed from these sums.
 *
 * Estimates are never summed. A sum of estimates of short ranges would be noisier than the estimate
 * of the whole range. Such a sum would differ from the values that rpistat has printed since 2013.
 *
 * The whole-number estimate needs a product of 128 bits. 32-bit ARM lacks the type __int128, so
 * every processor uses 64-bit steps. All tests therefore test the same code. */
#include "rpistat/tally.h"

#include <math.h>
#include <string.h>

#include "rpistat/clock.h"
#include "rpistat/formula.h"
#include "rpistat/plan.h"

/* Minimum share of the range in which the workload must have run for a ratio of events. For a rate
 * per elapsed time, there is no minimum. */
#define TALLY_MIN_USE 0.01

/* Mark an event as scaled if an import's recorder scaled it. The counted time is then unknown. */
static void note_scaled(struct rps_arena *arena, struct rps_tally *tally, int slot,
                        const struct rps_interval *whole)
{
    int slots = tally->set_count * RPS_SLOT_MAX;

    if (whole->certainty != RPS_CERTAINTY_SCALED || !(whole->share > 0 && whole->share < 1))
        return;
    if (!tally->scaled) {
        tally->scaled = rps_arena_get(arena, (size_t)slots, sizeof(*tally->scaled));
        for (int i = 0; i < slots; i++)
            tally->scaled[i] = 1;
    }
    tally->scaled[slot] = whole->share;
}

struct rps_tally rps_tally_new(struct rps_arena *arena, const struct rps_plan *plan)
{
    struct rps_tally tally = {.plan = plan, .set_count = plan->set_count};

    tally.set = rps_arena_get(arena, (size_t)plan->set_count, sizeof(*tally.set));
    for (int n = 0; n < plan->set_count; n++)
        for (int s = 0; s < plan->set[n].event_count; s++)
            note_scaled(arena, &tally, n * RPS_SLOT_MAX + s, &plan->set[n].event[s].whole);
    return tally;
}

void rps_tally_reset(struct rps_tally *tally)
{
    *tally = (struct rps_tally){.scaled = tally->scaled,
                                .plan = tally->plan,
                                .set = tally->set,
                                .set_count = tally->set_count,
                                .is_plain = tally->is_plain};
    for (int n = 0; n < tally->set_count; n++)
        if (tally->set[n].periods > 0)
            memset(&tally->set[n], 0,
                   tally->is_plain ? offsetof(struct rps_set_tally, moments) : sizeof(*tally->set));
}

static void add_span(struct rps_tally *tally, int64_t start_ns, int64_t end_ns)
{
    if (tally->periods == 0 || start_ns < tally->start_ns)
        tally->start_ns = start_ns;
    if (tally->periods == 0 || end_ns > tally->end_ns)
        tally->end_ns = end_ns;
}

/* Set the first readings of the tally. If the run starts within a block, use the first readings
 * that are stored with each event, for all CPUs together. */
static void set_start(struct rps_tally *tally, const struct rps_period *period)
{
    const struct rps_event_set *set = &tally->plan->set[period->set_no];

    for (int slot = 0; slot < set->event_count; slot++) {
        const struct rps_event *event = &set->event[slot];
        struct rps_slot_moments *moments = &tally->set[period->set_no].moments.slot[slot];

        if (moments->readings > 1 && event->first_ns > 0 && event->second_ns > 0) {
            moments->first[0] =
                (struct rps_slot_reading){(double)event->first_count, (double)event->first_ns};
            moments->first[1] =
                (struct rps_slot_reading){(double)event->second_count, (double)event->second_ns};
            moments->before_ns = (double)event->before_ns;
        }
    }
}

static void add_set(struct rps_tally *tally, const struct rps_period *period)
{
    struct rps_set_tally *set = &tally->set[period->set_no];

    set->periods += rps_period_weight(period);
    set->clock += period->cycles;
    set->enabled_ns += period->enabled_ns;
    set->running_ns += period->running_ns;
    set->lost_ns += period->running_ns < period->enabled_ns / 10 ? period->enabled_ns : 0;
    for (int slot = 0; slot < RPS_SLOT_MAX; slot++) {
        if (period->counted & (1u << slot)) {
            const int first = tally->plan->set[period->set_no].event[slot].copy_of;
            struct rps_set_tally *to = first > 0 ? &tally->set[rps_operand_set(first)] : set;
            const int at = first > 0 ? rps_operand_slot(first) : slot;

            to->count[at] += period->count[slot];
            to->counted[at] += rps_period_weight(period);
            to->counted_ns[at] += rps_period_counted_ns(period, slot);
        }
    }
    if (tally->is_plain)
        return;
    rps_moments_add(&set->moments, period, tally->enabled_ns - period->enabled_ns,
                    tally->rotation_ns);
    if (tally->from_start && period->level > 0 && period->cpu == RPS_CPU_ALL &&
        set->periods == rps_period_weight(period))
        set_start(tally, period);
}

/* Store the position of the period in the run and its rotation number. */
static void add_place(struct rps_tally *tally, const struct rps_period *period)
{
    if (tally->periods == 0)
        tally->from_start = period->level > 0 ? period->rotation == 0 : period->period == 0;
    if (tally->periods == 0 || period->rotation != tally->rotation)
        tally->rotation_ns = tally->enabled_ns;
    tally->rotation = period->rotation;
    tally->has_blocks |= period->level > 0 && period->counted && !period->scatter;
    tally->is_drawn |=
        tally->set_count > 1 && period->set_no != period->period % (uint64_t)tally->set_count;
}

void rps_tally_add(struct rps_tally *tally, const struct rps_period *period)
{
    add_span(tally, period->start_ns, rps_period_end_ns(period));
    add_place(tally, period);
    tally->periods += rps_period_weight(period);
    tally->clock += period->cycles;
    tally->clock_running_ns += period->clock_running_ns;
    tally->enabled_ns += period->enabled_ns;
    tally->idle_ns = rps_period_add_known(tally->idle_ns, period->idle_ns);
    tally->length_ns += period->length_ns;
    tally->cpus_length_ns += period->cpu >= 0 ? period->length_ns : period->cpus_length_ns;
    tally->missed += period->missed;
    tally->switch_ns += period->switch_ns;
    if (tally->set_count > 0 && period->set_no < (uint32_t)tally->set_count)
        add_set(tally, period);
}

/* Add the tally `other` of a set. `before` is 1 if the readings of `other` are earlier than those
 * of `set`. before_ns is the enabled time of the earlier of both tallies. */
static void merge_set(struct rps_set_tally *set, const struct rps_set_tally *other, int before,
                      uint64_t before_ns)
{
    struct rps_moments moments;

    set->periods += other->periods;
    set->clock += other->clock;
    set->enabled_ns += other->enabled_ns;
    set->running_ns += other->running_ns;
    set->lost_ns += other->lost_ns;
    for (int slot = 0; slot < RPS_SLOT_MAX; slot++) {
        set->count[slot] += other->count[slot];
        set->counted[slot] += other->counted[slot];
        set->counted_ns[slot] += other->counted_ns[slot];
    }
    if (!before) {
        rps_moments_join(&set->moments, &other->moments, before_ns);
        return;
    }
    moments = other->moments;
    rps_moments_join(&moments, &set->moments, before_ns);
    set->moments = moments;
}

void rps_tally_merge(struct rps_tally *tally, const struct rps_tally *other)
{
    int before = tally->periods > 0 && other->start_ns < tally->start_ns;
    uint64_t before_ns = before ? other->enabled_ns : tally->enabled_ns;

    if (other->periods == 0)
        return;
    add_span(tally, other->start_ns, other->end_ns);
    tally->from_start |= other->from_start;
    tally->is_drawn |= other->is_drawn;
    tally->has_blocks |= other->has_blocks;
    tally->rotation = before ? tally->rotation : other->rotation;
    tally->rotation_ns = before_ns + (before ? tally->rotation_ns : other->rotation_ns);
    tally->periods += other->periods;
    tally->clock += other->clock;
    tally->clock_running_ns += other->clock_running_ns;
    tally->enabled_ns += other->enabled_ns;
    tally->idle_ns = rps_period_add_known(tally->idle_ns, other->idle_ns);
    tally->length_ns += other->length_ns;
    tally->cpus_length_ns += other->cpus_length_ns;
    tally->missed += other->missed;
    tally->switch_ns += other->switch_ns;
    for (int i = 0; i < tally->set_count && i < other->set_count; i++)
        merge_set(&tally->set[i], &other->set[i], before, before_ns);
}

/* Return the slot's set if the slot has an estimate. Otherwise return NULL. */
static const struct rps_set_tally *estimable(const struct rps_tally *tally, int set, int slot)
{
    const struct rps_set_tally *s;

    if (set < 0 || set >= tally->set_count || slot < 0 || slot >= RPS_SLOT_MAX)
        return NULL;
    s = &tally->set[set];
    if (s->counted[slot] == 0)
        return NULL;
    /* The workload ran only while other sets were active, so the count of the event is unknown. */
    if (s->counted_ns[slot] == 0 && tally->enabled_ns > 0)
        return NULL;
    return s;
}

/* Return the time for which the estimates are made: the enabled time, or the clock's running time
 * if the tally is incomplete. */
static uint64_t estimated_ns(const struct rps_tally *tally)
{
    return rps_tally_is_incomplete(tally) ? tally->clock_running_ns : tally->enabled_ns;
}

double rps_tally_estimate(const struct rps_tally *tally, int set, int slot)
{
    const struct rps_set_tally *s = estimable(tally, set, slot);

    if (!s)
        return NAN;
    if (s->counted_ns[slot] == 0)
        return 0;
    return (double)s->count[slot] * ((double)estimated_ns(tally) / (double)s->counted_ns[slot]);
}

static void multiply(uint64_t a, uint64_t b, uint64_t *high, uint64_t *low)
{
    uint64_t a1 = a >> 32, a0 = a & UINT32_MAX, b1 = b >> 32, b0 = b & UINT32_MAX;
    uint64_t cross1 = a1 * b0, cross2 = a0 * b1, bottom = a0 * b0;
    uint64_t middle = (bottom >> 32) + (cross1 & UINT32_MAX) + (cross2 & UINT32_MAX);

    *low = (middle << 32) | (bottom & UINT32_MAX);
    *high = a1 * b1 + (cross1 >> 32) + (cross2 >> 32) + (middle >> 32);
}

/* Return a * b / c rounded down, or UINT64_MAX if the result does not fit. Needs c > 0. */
static uint64_t multiply_divide(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t high, low, product;

    if (!__builtin_mul_overflow(a, b, &product))
        return product / c;
    multiply(a, b, &high, &low);
    if (high >= c)
        return UINT64_MAX;
    for (int bit = 0; bit < 64; bit++) { /* long division: `high` is the current remainder */
        int carry = (int)(high >> 63);

        high = (high << 1) | (low >> 63);
        low <<= 1;
        if (carry || high >= c) {
            high -= c;
            low |= 1;
        }
    }
    return low;
}

int rps_tally_estimate_u64(const struct rps_tally *tally, int set, int slot, uint64_t *ret)
{
    const struct rps_set_tally *s = estimable(tally, set, slot);

    if (!s)
        return 0;
    *ret = s->counted_ns[slot] == 0
               ? 0
               : multiply_divide(s->count[slot], estimated_ns(tally), s->counted_ns[slot]);
    return 1;
}

/* --- the clock event -------------------------------------------------------------------------- */

int rps_tally_clock_is_scaled(const struct rps_tally *tally)
{
    return (double)tally->clock_running_ns <
           (1 - RPS_PERIOD_CLOCK_LACK) * (double)tally->enabled_ns;
}

int rps_tally_is_incomplete(const struct rps_tally *tally)
{
    return tally->plan->is_incomplete && rps_tally_clock_is_scaled(tally);
}

double rps_tally_clock(const struct rps_tally *tally)
{
    if (!rps_tally_clock_is_scaled(tally))
        return (double)tally->clock;
    if (tally->clock_running_ns == 0)
        return NAN;
    return (double)tally->clock * ((double)estimated_ns(tally) / (double)tally->clock_running_ns);
}

int rps_tally_clock_u64(const struct rps_tally *tally, uint64_t *ret)
{
    int scaled = rps_tally_clock_is_scaled(tally);

    if (scaled && tally->clock_running_ns == 0)
        return 0;
    *ret = scaled ? multiply_divide(tally->clock, estimated_ns(tally), tally->clock_running_ns)
                  : tally->clock;
    return 1;
}

/* --- shares of the time ----------------------------------------------------------------------- */

static double share(uint64_t part, uint64_t whole)
{
    if (whole == 0)
        return NAN;
    return part >= whole ? 1 : (double)part / (double)whole;
}

double rps_tally_counted(const struct rps_tally *tally, int set)
{
    if (set < 0 || set >= tally->set_count)
        return NAN;
    return share(tally->set[set].running_ns, tally->enabled_ns);
}

double rps_tally_coverage(const struct rps_tally *tally, int set)
{
    if (set < 0 || set >= tally->set_count)
        return NAN;
    return share(tally->set[set].running_ns, tally->set[set].enabled_ns);
}

int rps_tally_hardly(const struct rps_tally *tally, int set)
{
    const struct rps_set_tally *s = &tally->set[set];

    return rps_period_is_hardly(s->running_ns, s->clock, tally->set_count, tally->enabled_ns,
                                tally->clock, tally->clock_running_ns);
}

int rps_tally_carries(const struct rps_tally *tally, const struct rps_formula *formula)
{
    int over_time = 0, is_incomplete = rps_tally_is_incomplete(tally);

    for (int i = 0; i < formula->step_count; i++) {
        int operand = formula->step[i].operand, set;

        if (formula->step[i].op != RPS_FORMULA_OPERAND)
            continue;
        over_time = over_time || operand == RPS_OPERAND_SECONDS;
        set = rps_operand_set(operand);
        if (set >= 0 && set < tally->set_count && rps_tally_hardly(tally, set))
            return 0;
        if (is_incomplete && (set >= 0 || operand == RPS_OPERAND_CLOCK))
            return 0;
    }
    return over_time || (double)tally->enabled_ns >= TALLY_MIN_USE * (double)tally->length_ns;
}

/* Return the CPU time, limited to the length of the periods. Without the limit, the CPU time could
 * be longer than the periods, because clocks are read one after another. */
static double cpu_seconds(const struct rps_tally *tally)
{
    double ns = (double)tally->enabled_ns - (double)tally->idle_ns;

    if (tally->cpus_length_ns > 0)
        ns = fmin(ns, (double)tally->cpus_length_ns);
    return tally->idle_ns < 0 ? NAN : ns / RPS_NS_PER_S;
}

void rps_tally_operands(const struct rps_tally *tally, const struct rps_plan *plan, double *operand)
{
    operand[RPS_OPERAND_CLOCK] = rps_tally_clock(tally);
    operand[RPS_OPERAND_SECONDS] = (double)tally->length_ns / RPS_NS_PER_S;
    operand[RPS_OPERAND_CPU_SECONDS] = rps_plan_knows_cpu_time(plan) ? cpu_seconds(tally) : NAN;
    for (int set = 0; set < plan->set_count; set++) {
        double *slot = &operand[RPS_OPERAND_EVENTS + set * RPS_SLOT_MAX];

        for (int s = 0; s < RPS_SLOT_MAX; s++) {
            slot[s] = s < plan->set[set].event_count ? rps_tally_estimate(tally, set, s) : NAN;
        }
    }
}
