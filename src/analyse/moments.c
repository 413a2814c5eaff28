/*
 * Moments of successive differences. The ratio R is known only when everything was added, so the
 * powers of Dd = Dc - R Dr are kept multiplied out.
 */
#include "rpistat/moments.h"

#include <math.h>

struct difference {
    double c, r;
    int any; /* 0: one of the two readings lacks */
};

static struct difference differ(const struct rps_slot_moments *slot, double c, double r)
{
    if (slot->readings == 0)
        return (struct difference){0, 0, 0};
    return (struct difference){c - slot->last_c, r - slot->last_r, 1};
}

static void add_difference(struct rps_slot_moments *slot, const struct difference *d)
{
    double cc = d->c * d->c, cr = d->c * d->r, rr = d->r * d->r;

    slot->cc += cc;
    slot->cr += cr;
    slot->rr += rr;
    slot->cccc += cc * cc;
    slot->cccr += cc * cr;
    slot->ccrr += cc * rr;
    slot->crrr += cr * rr;
    slot->rrrr += rr * rr;
}

/* Add the differences between the last readings and those that follow; `d` of each slot. */
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

void rps_moments_add(struct rps_moments *moments, const struct rps_period *period,
                     uint64_t before_ns, uint64_t turn_ns)
{
    struct difference difference[RPS_SLOT_MAX] = {{0}};

    while (period->counted >> moments->slots)
        moments->slots++;
    for (int s = 0; s < moments->slots; s++) {
        if (period->counted & (UINT32_C(1) << s))
            difference[s] = differ(&moments->slot[s], (double)period->count[s],
                                   (double)rps_period_counted_ns(period, s));
    }
    add_differences(moments, difference);
    for (int s = 0; s < moments->slots; s++) {
        struct rps_slot_moments *slot = &moments->slot[s];
        double c = (double)period->count[s], r = (double)rps_period_counted_ns(period, s);

        if (!(period->counted & (UINT32_C(1) << s)))
            continue;
        if (slot->readings++ == 0) {
            slot->first_c = c;
            slot->first_r = r;
            slot->before_ns = (double)before_ns;
        } else if (slot->readings == 2) {
            slot->second_c = c;
            slot->second_r = r;
        }
        slot->until_ns = (double)(before_ns + period->enabled_ns);
        slot->turn_ns = (double)turn_ns;
        slot->last_c = c;
        slot->last_r = r;
        slot->squares += c * c;
    }
}

static void join_slot(struct rps_slot_moments *slot, const struct rps_slot_moments *next,
                      double before_ns)
{
    if (next->readings == 0)
        return;
    if (slot->readings < 2) {
        slot->second_c = slot->readings == 1 ? next->first_c : next->second_c;
        slot->second_r = slot->readings == 1 ? next->first_r : next->second_r;
    }
    if (slot->readings == 0) {
        slot->first_c = next->first_c;
        slot->first_r = next->first_r;
        slot->before_ns = before_ns + next->before_ns;
    }
    slot->until_ns = before_ns + next->until_ns;
    slot->turn_ns = before_ns + next->turn_ns;
    slot->readings += next->readings;
    slot->last_c = next->last_c;
    slot->last_r = next->last_r;
    slot->squares += next->squares;
    slot->cc += next->cc;
    slot->cr += next->cr;
    slot->rr += next->rr;
    slot->cccc += next->cccc;
    slot->cccr += next->cccr;
    slot->ccrr += next->ccrr;
    slot->crrr += next->crrr;
    slot->rrrr += next->rrrr;
}

void rps_moments_join(struct rps_moments *moments, const struct rps_moments *next,
                      uint64_t before_ns)
{
    struct difference difference[RPS_SLOT_MAX] = {{0}};

    if (next->slots > moments->slots)
        moments->slots = next->slots;
    for (int s = 0; s < next->slots; s++) {
        if (next->slot[s].readings > 0)
            difference[s] = differ(&moments->slot[s], next->slot[s].first_c, next->slot[s].first_r);
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
    const struct rps_slot_moments *a = &moments->slot[j < k ? j : k];
    const struct rps_slot_moments *b = &moments->slot[j < k ? k : j];
    double p = ratio[j < k ? j : k], q = ratio[j < k ? k : j];
    double product = j == k ? a->cc : moments->cross[j < k ? j : k][j < k ? k : j];

    return product - q * a->cr - p * b->cr + p * q * a->rr;
}

double rps_moments_freedom(const struct rps_slot_moments *slot, double ratio)
{
    double p = ratio, pp = p * p;
    double squares = slot->cc - 2 * p * slot->cr + pp * slot->rr;
    double fourth = slot->cccc - 4 * p * slot->cccr + 6 * pp * slot->ccrr -
                    4 * p * pp * slot->crrr + pp * pp * slot->rrrr;
    double freedom = fourth > 0 ? squares * squares / fourth / 2 : 1;

    return freedom > 1 ? fmin(freedom, (double)slot->readings - 1) : 1;
}
