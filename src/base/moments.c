/* Moments of successive differences. The ratio R is known only after all readings were added.
 * Therefore, for powers of Dd = Dc - R Dr, sums of products of Dc and Dr are stored. */
#include "rpistat/moments.h"

#include <math.h>
#include <stddef.h>

struct difference {
    double c, r;
    int any; /* 0 if one of the two readings is missing */
};

static struct difference differ(const struct rps_slot_moments *slot, double c, double r,
                                uint64_t merged)
{
    if (slot->readings == 0 || slot->last_merged > 1 || merged > 1)
        return (struct difference){0, 0, 0};
    return (struct difference){c - slot->last[0].c, r - slot->last[0].r, 1};
}

static void add_difference(struct rps_slot_moments *slot, const struct difference *d)
{
    double cc = d->c * d->c, cr = d->c * d->r, rr = d->r * d->r;

    slot->steps++;
    slot->cc += cc;
    slot->cr += cr;
    slot->rr += rr;
    slot->cccc += cc * cc;
    slot->cccr += cc * cr;
    slot->ccrr += cc * rr;
    slot->crrr += cr * rr;
    slot->rrrr += rr * rr;
}

/* Add the differences between the last and the next readings. `d` has each slot's differences. */
static void add_differences(struct rps_moments *moments,
                            const struct difference difference[RPS_SLOT_MAX])
{
    for (int j = 0; j < moments->slots; j++) {
        if (!difference[j].any)
            continue;
        add_difference(&moments->slot[j], &difference[j]);
        for (int k = j + 1; k < moments->slots; k++)
            moments->cross[j][k] += difference[j].c * difference[k].c;
    }
}

/* Return the number of differences of which a block's scatter is the sum. */
static uint64_t steps_of(const struct rps_scatter *scatter, int slot)
{
    return scatter->readings[slot] > scatter->parts ? scatter->readings[slot] - scatter->parts : 0;
}

/* Add the differences inside a block, from its scatter. */
static void add_scatter(struct rps_moments *moments, const struct rps_scatter *scatter, int j)
{
    struct rps_slot_moments *slot = &moments->slot[j];
    double own = scatter->own[j], steps = (double)steps_of(scatter, j);

    slot->steps += steps_of(scatter, j);
    slot->cc += scatter->cc[j][j];
    slot->cr += scatter->cr[j];
    slot->rr += scatter->rr[j];
    slot->block_cc += scatter->cc[j][j];
    slot->block_cr += scatter->cr[j];
    slot->block_rr += scatter->rr[j];
    slot->block_own += own;
    if (!isnan(scatter->fourth[j]))
        slot->block_fourth += scatter->fourth[j];
    else if (steps > 0) /* the fourth moment that normally distributed differences would have */
        slot->block_fourth += 3 * own * own / steps;
    for (int k = j + 1; k < moments->slots; k++)
        moments->cross[j][k] += scatter->cc[j][k];
}

/* Store a reading among the last readings, and if there are few readings also among the first. For
 * a block, `reading` is the mean of its readings. */
static void add_end(struct rps_slot_moments *slot, struct rps_slot_reading reading, uint64_t count)
{
    for (uint64_t i = slot->readings; i < slot->readings + count && i < RPS_MOMENTS_FIRST; i++)
        slot->first[i] = reading;
    for (uint64_t i = 0; i < count && i < RPS_MOMENTS_LAST; i++) {
        slot->last[2] = slot->last[1];
        slot->last[1] = slot->last[0];
        slot->last[0] = reading;
    }
}

void rps_moments_add(struct rps_moments *moments, const struct rps_period *period,
                     uint64_t before_ns, uint64_t rotation_ns)
{
    const struct rps_scatter *scatter = period->level > 0 ? period->scatter : NULL;
    uint64_t merged = scatter ? rps_period_weight(period) : 1;
    struct difference difference[RPS_SLOT_MAX] = {{0}};

    while (period->counted >> moments->slots)
        moments->slots++;
    for (int s = 0; s < moments->slots; s++) {
        if (period->counted & (UINT32_C(1) << s))
            difference[s] = differ(&moments->slot[s], (double)period->count[s],
                                   (double)rps_period_counted_ns(period, s), merged);
    }
    add_differences(moments, difference);
    for (int s = 0; s < moments->slots; s++) {
        struct rps_slot_moments *slot = &moments->slot[s];
        uint64_t readings = scatter ? scatter->readings[s] : 1;
        double c = (double)period->count[s] / (double)readings;
        double r = (double)rps_period_counted_ns(period, s) / (double)readings;

        if (!(period->counted & (UINT32_C(1) << s)) || readings == 0)
            continue;
        if (slot->readings == 0) {
            slot->first_merged = merged;
            slot->before_ns = (double)(rotation_ns + (before_ns - rotation_ns) / merged);
        }
        add_end(slot, (struct rps_slot_reading){c, r}, readings);
        slot->readings += readings;
        slot->until_ns = (double)(before_ns + period->enabled_ns);
        slot->rotation_ns = (double)rotation_ns;
        slot->last_merged = merged;
        slot->squares += scatter ? scatter->squares[s] : c * c;
        if (scatter)
            add_scatter(moments, scatter, s);
    }
}

static void join_slot(struct rps_slot_moments *slot, const struct rps_slot_moments *next,
                      double before_ns)
{
    if (next->readings == 0)
        return;
    for (uint64_t i = slot->readings; i < RPS_MOMENTS_FIRST; i++)
        slot->first[i] = next->first[i - slot->readings];
    for (uint64_t i = RPS_MOMENTS_LAST; i-- > 0;)
        slot->last[i] = i < next->readings ? next->last[i] : slot->last[i - next->readings];
    if (slot->readings == 0) {
        slot->first_merged = next->first_merged;
        slot->before_ns = before_ns + next->before_ns;
    }
    slot->until_ns = before_ns + next->until_ns;
    slot->rotation_ns = before_ns + next->rotation_ns;
    slot->readings += next->readings;
    slot->steps += next->steps;
    slot->last_merged = next->last_merged;
    slot->squares += next->squares;
    slot->cc += next->cc;
    slot->cr += next->cr;
    slot->rr += next->rr;
    slot->cccc += next->cccc;
    slot->cccr += next->cccr;
    slot->ccrr += next->ccrr;
    slot->crrr += next->crrr;
    slot->rrrr += next->rrrr;
    slot->block_cc += next->block_cc;
    slot->block_cr += next->block_cr;
    slot->block_rr += next->block_rr;
    slot->block_own += next->block_own;
    slot->block_fourth += next->block_fourth;
}

void rps_moments_join(struct rps_moments *moments, const struct rps_moments *next,
                      uint64_t before_ns)
{
    struct difference difference[RPS_SLOT_MAX] = {{0}};

    if (next->slots > moments->slots)
        moments->slots = next->slots;
    for (int s = 0; s < next->slots; s++) {
        const struct rps_slot_moments *slot = &next->slot[s];

        if (slot->readings > 0)
            difference[s] =
                differ(&moments->slot[s], slot->first[0].c, slot->first[0].r, slot->first_merged);
    }
    add_differences(moments, difference);
    for (int j = 0; j < next->slots; j++) {
        join_slot(&moments->slot[j], &next->slot[j], (double)before_ns);
        for (int k = j + 1; k < next->slots; k++)
            moments->cross[j][k] += next->cross[j][k];
    }
}

double rps_moments_squares(const struct rps_moments *moments, int j, int k, const double *ratio)
{
    int low = j < k ? j : k, high = j < k ? k : j;
    const struct rps_slot_moments *a = &moments->slot[low], *b = &moments->slot[high];
    double p = ratio[low], q = ratio[high];
    double product = j == k ? a->cc : moments->cross[low][high];

    return product - q * a->cr - p * b->cr + p * q * a->rr;
}

/* Return the sum of (Dd)^4. The blocks' part scales with the square of the sum of squares. */
static double fourth_of(const struct rps_slot_moments *slot, double p)
{
    double pp = p * p, fourth = slot->cccc - 4 * p * slot->cccr + 6 * pp * slot->ccrr -
                                4 * p * pp * slot->crrr + pp * pp * slot->rrrr;
    double squares = slot->block_cc - 2 * p * slot->block_cr + pp * slot->block_rr;

    if (slot->block_own > 0)
        fourth += slot->block_fourth * (squares / slot->block_own) * (squares / slot->block_own);
    return fourth;
}

double rps_moments_freedom(const struct rps_moments *moments, int slot, double ratio)
{
    double ratios[RPS_SLOT_MAX] = {0}, squares, fourth, freedom;

    ratios[slot] = ratio;
    squares = rps_moments_squares(moments, slot, slot, ratios);
    fourth = fourth_of(&moments->slot[slot], ratio);
    freedom = fourth > 0 ? squares * squares / fourth / 2 : 1;
    return freedom > 1 ? fmin(freedom, (double)moments->slot[slot].steps) : 1;
}

/* --- scatters --------------------------------------------------------------------------------- */

struct rps_scatter rps_scatter_none(void)
{
    struct rps_scatter none = {.least_use = NAN, .most_use = NAN, .use_steps = NAN};

    for (int s = 0; s < RPS_SLOT_MAX; s++)
        none.least[s] = none.most[s] = NAN;
    return none;
}

void rps_scatter_widen(double *least, double *most, double value)
{
    *least = fmin(*least, value); /* fmin and fmax return the number if the other argument is NaN */
    *most = fmax(*most, value);
}

static double ratio_of(const struct rps_period *row, int slot)
{
    uint64_t counted_ns = rps_period_counted_ns(row, slot);

    return counted_ns > 0 ? (double)row->count[slot] / (double)counted_ns : 0;
}

double rps_scatter_steps(const struct rps_scatter *scatter, const struct rps_period *row, int j,
                         int k)
{
    double p = ratio_of(row, j), q = ratio_of(row, k);

    return scatter->cc[j][k] - q * scatter->cr[j] - p * scatter->cr[k] + p * q * scatter->rr[j];
}

void rps_scatter_of(const struct rps_moments *moments, const struct rps_period *sum,
                    struct rps_scatter *ret)
{
    ret->parts = 1;
    for (int j = 0; j < moments->slots; j++) {
        const struct rps_slot_moments *slot = &moments->slot[j];

        ret->readings[j] = slot->readings;
        ret->squares[j] = slot->squares;
        ret->cr[j] = slot->cr;
        ret->rr[j] = slot->rr;
        ret->cc[j][j] = slot->cc;
        for (int k = j + 1; k < moments->slots; k++)
            ret->cc[j][k] = moments->cross[j][k];
        ret->fourth[j] = fmax(0, fourth_of(slot, ratio_of(sum, j)));
    }
    for (int j = 0; j < moments->slots; j++)
        ret->own[j] = fmax(0, rps_scatter_steps(ret, sum, j, j));
}

static void add_steps(struct rps_scatter *sum, const struct rps_scatter *more, int j)
{
    sum->cr[j] += more->cr[j];
    sum->rr[j] += more->rr[j];
    sum->own[j] += more->own[j];
    sum->fourth[j] += more->fourth[j];
    for (int k = j; k < RPS_SLOT_MAX; k++)
        sum->cc[j][k] += more->cc[j][k];
}

void rps_scatter_add(struct rps_scatter *sum, const struct rps_scatter *next)
{
    if (sum->parts == 0) {
        *sum = *next;
        return;
    }
    sum->parts += next->parts;
    rps_scatter_widen(&sum->least_use, &sum->most_use, next->least_use);
    rps_scatter_widen(&sum->least_use, &sum->most_use, next->most_use);
    sum->use_steps += next->use_steps;
    for (int j = 0; j < RPS_SLOT_MAX; j++) {
        sum->readings[j] += next->readings[j];
        sum->squares[j] += next->squares[j];
        rps_scatter_widen(&sum->least[j], &sum->most[j], next->least[j]);
        rps_scatter_widen(&sum->least[j], &sum->most[j], next->most[j]);
        add_steps(sum, next, j);
    }
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void rps_scatter_add_beside(struct rps_scatter *sum, const struct rps_scatter *other)
{
    sum->parts = larger(sum->parts, other->parts);
    sum->least_use = sum->most_use = sum->use_steps = NAN;
    for (int j = 0; j < RPS_SLOT_MAX; j++) {
        double a = sqrt(sum->squares[j]), b = sqrt(other->squares[j]);

        sum->readings[j] = larger(sum->readings[j], other->readings[j]);
        sum->squares[j] = (a + b) * (a + b); /* as if both counts were proportional */
        sum->least[j] = sum->most[j] = NAN;
        add_steps(sum, other, j);
    }
}
