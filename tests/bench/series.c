/* Made-up series of measurement periods. */
#include "series.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "rpistat/random.h"

#define PERIOD_NS 1e8
#define PI        3.14159265358979323846

/* --- random numbers --------------------------------------------------------------------------- */

static double uniform(uint64_t *random, double from, double to)
{
    return from + (to - from) * rps_random_unit(random);
}

/* Return a random number from 0 to below - 1. */
static size_t one_of(uint64_t *random, size_t below)
{
    return (size_t)(rps_random_next(random) % below);
}

static double exponential(uint64_t *random, double mean)
{
    return -mean * log(1 - rps_random_unit(random));
}

static double normal(uint64_t *random)
{
    return sqrt(exponential(random, 2)) * cos(2 * PI * rps_random_unit(random));
}

static double lognormal(uint64_t *random, double sigma)
{
    return exp(sigma * normal(random));
}

static double poisson(uint64_t *random, double mean)
{
    double count = -1;

    for (double at = 0; at < mean; count++)
        at += exponential(random, 1);
    return count;
}

/* Return the noise of a grain, independent of other grains. The sum over a period has the relative
 * deviation of lognormal(of_period), for any number of grains. */
static double noise(const struct bench_draft *d, double of_period)
{
    return lognormal(d->random, sqrt(log1p((double)d->grains * expm1(of_period * of_period))));
}

/* --- kinds ------------------------------------------------------------------------------------ */

static void make_lognormal(struct bench_draft *d)
{
    for (size_t i = 0; i < d->count; i++)
        d->c[i] = 1e6 * lognormal(d->random, d->of_kind);
}

static void make_poisson(struct bench_draft *d)
{
    for (size_t i = 0; i < d->count; i++)
        d->c[i] = poisson(d->random, d->of_kind);
}

/* Make phases of exponential length that return to one of five levels. */
static void make_phased(struct bench_draft *d)
{
    double level[5], left = 0, now = 0;

    for (int k = 0; k < 5; k++)
        level[k] = 1e6 * lognormal(d->random, 1);
    for (size_t i = 0; i < d->count; i++, left--) {
        if (left < 1) {
            left = 3 + exponential(d->random, (double)d->count / 20);
            now = level[one_of(d->random, 5)];
        }
        d->c[i] = now * lognormal(d->random, .05);
    }
}

static void make_periodic(struct bench_draft *d)
{
    double length = uniform(d->random, 7, 200), from = rps_random_unit(d->random);

    for (size_t i = 0; i < d->count; i++)
        d->c[i] =
            1e6 * (1.2 + sin(2 * PI * ((double)i / length + from))) * lognormal(d->random, .05);
}

/* Make a linear trend from one level to another, up to four times as high or as low. */
static void make_trend(struct bench_draft *d)
{
    double from = uniform(d->random, 1, 4), to = uniform(d->random, 1, 4);

    for (size_t i = 0; i < d->count; i++)
        d->c[i] = 1e6 * (from + (to - from) * (double)i / (double)d->count) *
                  lognormal(d->random, d->of_kind);
}

static void make_decay(struct bench_draft *d)
{
    double length = (double)d->count * uniform(d->random, .05, .5);

    for (size_t i = 0; i < d->count; i++)
        d->c[i] = 1e6 * (exp(-(double)i / length) + .01) * lognormal(d->random, d->of_kind);
}

/* Make a series that is 2 to 50 times as high in its first one to three periods. */
static void make_start(struct bench_draft *d)
{
    double high = 2 * pow(25, rps_random_unit(d->random)),
           length = 1 + (double)one_of(d->random, 3);

    for (size_t i = 0; i < d->count; i++)
        d->c[i] = 1e6 * ((double)i < length ? high : 1) * lognormal(d->random, d->of_kind);
}

/* Make a series of constant rate. `number` is the noise of a period. */
static void make_steady(struct bench_draft *d)
{
    for (size_t i = 0; i < d->count; i++)
        d->c[i] = 1e6 * noise(d, d->of_kind);
}

/* Make a series that is `number` times as high in its last two periods (0: 2 to 200 times). */
static void make_end(struct bench_draft *d)
{
    double high = d->of_kind > 0 ? d->of_kind : 2 * pow(100, rps_random_unit(d->random));

    for (size_t i = 0; i < d->count; i++)
        d->c[i] = 1e6 * (i + 2 * d->grains >= d->count ? high : 1) * noise(d, .05);
}

/* Make a series that is 2 to 200 times as high in the beginning of its first period. If `number` is
 * 1, the high part is in the end of the last period. */
static void make_short_edge(struct bench_draft *d)
{
    double high = 2 * pow(100, rps_random_unit(d->random)), part = rps_random_unit(d->random);

    for (size_t i = 0; i < d->count; i++) {
        double distance = (double)(d->of_kind > 0 ? d->count - 1 - i : i);
        double share = fmin(1, fmax(0, part * (double)d->grains - distance));

        d->c[i] = 1e6 * (1 + (high - 1) * share) * noise(d, .05);
    }
}

/* Make a steep start, the mirror image of the end made by make_end. */
static void make_steep_start(struct bench_draft *d)
{
    make_end(d);
    for (size_t i = 0; i < d->count / 2; i++) {
        double c = d->c[i];

        d->c[i] = d->c[d->count - 1 - i];
        d->c[d->count - 1 - i] = c;
    }
}

/* Make a series that is thirty times as high in 5 of 100 periods. */
static void make_spikes(struct bench_draft *d)
{
    double height = 1;

    for (size_t i = 0; i < d->count; i++) {
        if (i % d->grains == 0)
            height = rps_random_unit(d->random) < .05 ? 30 : 1;
        d->c[i] = 1e6 * height * noise(d, .05);
    }
}

/* Make a series whose logarithm is a first-order autoregression. */
static void make_autoregressive(struct bench_draft *d)
{
    double phi = d->of_kind, x = normal(d->random);

    for (size_t i = 0; i < d->count; i++) {
        d->c[i] = 1e6 * exp(.5 * x);
        x = phi * x + sqrt(1 - phi * phi) * normal(d->random);
    }
}

static void make_pareto(struct bench_draft *d)
{
    for (size_t i = 0; i < d->count; i++)
        d->c[i] = 1e3 * pow(1 - rps_random_unit(d->random), -1 / d->of_kind);
}

/* Make a number of bursts in the run. A negative number is the maximum of a random number. */
static void make_bursts(struct bench_draft *d)
{
    size_t bursts = (size_t)fabs(d->of_kind);

    if (d->of_kind < 0)
        bursts = 1 + one_of(d->random, bursts);
    for (size_t i = 0; i < d->count; i++)
        d->c[i] = 0;
    while (bursts-- > 0)
        d->c[one_of(d->random, d->count)] += 1e4 * lognormal(d->random, .3);
}

/* Make a workload that wakes occasionally, for a part of a period. */
static void make_drowsy(struct bench_draft *d)
{
    for (size_t i = 0; i < d->count; i++) {
        d->awake[i] = rps_random_unit(d->random) < d->of_kind ? fmin(1, exponential(d->random, .05))
                                                              : uniform(d->random, 0, .0005);
        d->c[i] = 1e6 * d->awake[i] * lognormal(d->random, .5);
    }
}

/* Make a workload that is awake for about three periods and asleep for about forty. */
static void make_napping(struct bench_draft *d)
{
    double left = 0;
    int is_awake = 1;

    for (size_t i = 0; i < d->count; i++, left--) {
        if (left < 1) {
            is_awake = !is_awake;
            left = 1 + exponential(d->random, is_awake ? 3 : 40);
        }
        d->awake[i] = is_awake ? uniform(d->random, .1, 1) : 0;
        d->c[i] = 1e6 * d->awake[i] * lognormal(d->random, .3);
    }
}

/* Make a workload that mostly sleeps, for a tenth of the run and more at a time. */
static void make_asleep(struct bench_draft *d)
{
    double left = 0;
    int is_awake = 1;

    for (size_t i = 0; i < d->count; i++, left--) {
        if (left < 1) {
            is_awake = !is_awake;
            left = 1 + exponential(d->random, is_awake ? 10 : (double)d->count / 10);
        }
        d->awake[i] = is_awake;
        d->c[i] = 1e6 * is_awake * lognormal(d->random, .3);
    }
}

/* Make a series that repeats every `length` periods, with a little noise. */
static void make_loop(struct bench_draft *d, size_t length)
{
    double turn[256];

    for (size_t i = 0; i < length; i++)
        turn[i] = 1e6 * lognormal(d->random, .5);
    for (size_t i = 0; i < d->count; i++)
        d->c[i] = turn[i % length] * lognormal(d->random, .03);
}

static void make_any_loop(struct bench_draft *d)
{
    make_loop(d, 2 + one_of(d->random, 28));
}

static void make_beating_loop(struct bench_draft *d)
{
    make_loop(d, (size_t)d->sets * (1 + one_of(d->random, 8)));
}

const struct bench_kind bench_kinds[] = {
    {"stationary, 20 % noise", make_lognormal, .2, 0},
    {"stationary, Poisson 5", make_poisson, 5, 0},
    {"phased", make_phased, 0, 0},
    {"periodic, 7 to 200", make_periodic, 0, 0},
    {"decaying", make_decay, .1, 0},
    {"AR(1) .6", make_autoregressive, .6, 0},
    {"AR(1) .9", make_autoregressive, .9, 0},
    {"10 bursts in a run", make_bursts, 10, 0},
    {"30 bursts", make_bursts, 30, 0},
    {"200 bursts", make_bursts, 200, 0},
    {"3,000 bursts", make_bursts, 3000, 0},
    {"lognormal, sigma 1.5", make_lognormal, 1.5, 0},
    {"Pareto, alpha 3", make_pareto, 3, 0},
    {"Pareto, alpha 2", make_pareto, 2, 0},
    {"asleep, awake 1 in 10", make_drowsy, .1, 0},
    {"asleep 40, awake 3", make_napping, 0, 0},
    {"asleep n/10, awake 10", make_asleep, 0, 0},
    {NULL, NULL, 0, 0},
};

const struct bench_kind bench_drifts[] = {
    {"trend, 1 to 4 times", make_trend, 0, 0},
    {"... --order random", make_trend, 0, 1},
    {"trend, 5 % noise", make_trend, .05, 0},
    {"decay", make_decay, 0, 0},
    {"... --order random", make_decay, 0, 1},
    {"decay, 5 % noise", make_decay, .05, 0},
    {"start-up, 2 to 50 times", make_start, 0, 0},
    {"... --order random", make_start, 0, 1},
    {"start-up, 5 % noise", make_start, .05, 0},
    {"... --order random", make_start, .05, 1},
    {NULL, NULL, 0, 0},
};

const struct bench_kind bench_edges[] = {
    {"constant", make_steady, 0, 1},
    {"stationary, 20 % noise", make_steady, .2, 1},
    {"phases", make_phased, 0, 1},
    {"end, 3 times", make_end, 3, 1},
    {"end, 50 times", make_end, 50, 1},
    {"end, 2 to 200 times", make_end, 0, 1},
    {"start, 3 times", make_steep_start, 3, 1},
    {"start, 50 times", make_steep_start, 50, 1},
    {"start, 2 to 200 times", make_steep_start, 0, 1},
    {"end shorter than a period", make_short_edge, 1, 1},
    {"start shorter than a period", make_short_edge, 0, 1},
    {"30 times in 5 % of the periods", make_spikes, 0, 1},
    {"Pareto, alpha 1.3", make_pareto, 1.3, 1},
    {NULL, NULL, 0, 0},
};

const struct bench_kind bench_beyond[] = {
    {"Pareto, alpha 1.3", make_pareto, 1.3, 1},
    {"30 times as much in 5 % of them", make_spikes, 0, 1},
    {"Pareto, alpha 1.5: no variance", make_pareto, 1.5, 0},
    {"loop of 2 to 29 periods", make_any_loop, 0, 0},
    {"... --order random", make_any_loop, 0, 1},
    {"loop of 1 to 8 rotations", make_beating_loop, 0, 0},
    {"... --order random", make_beating_loop, 0, 1},
    {NULL, NULL, 0, 0},
};

const struct bench_kind bench_bursts[] = {
    {"1 burst in a run", make_bursts, 1, 0},
    {"1 to 20 bursts", make_bursts, -20, 0},
    {"200 bursts", make_bursts, 200, 0},
    {"3,000 bursts", make_bursts, 3000, 0},
    {"stationary, 20 % noise", make_lognormal, .2, 0},
    {NULL, NULL, 0, 0},
};

/* --- periods ---------------------------------------------------------------------------------- */

/* Append one grain to the period. The workload is awake for the share `awake` of the grain. */
static void add_grain(struct rps_period *period, double grain_ns, double awake)
{
    uint64_t awake_ns = (uint64_t)(grain_ns * awake);

    period->cycles += awake_ns;
    period->length_ns += (int64_t)grain_ns;
    period->enabled_ns += awake_ns;
    period->running_ns += awake_ns;
    period->clock_running_ns += awake_ns;
}

/* Return the number of grains in the periods of the next rotation, which begins after `passed`. */
static size_t length_of_next(size_t passed, size_t grains, enum bench_start start)
{
    size_t length = start == BENCH_START_FINE ? passed / 100 : passed > 0 ? grains : 0;

    if (start == BENCH_START_EQUAL || length > grains)
        return grains;
    return length > 1 ? length : 1;
}

size_t bench_make_grains(const struct bench_kind *kind, uint64_t *random, int sets, int slots,
                         struct rps_period *period, size_t count, size_t grains,
                         enum bench_start start)
{
    size_t all = count * grains, made = 0, length = 0;
    double *c = calloc(4 * all, sizeof(*c)), mean = 0, grain_ns = PERIOD_NS / (double)grains;
    struct bench_draft draft[2] = {
        {random, all, grains, sets, kind->number, c, c + all},
        {random, all, grains, sets, kind->number, c + 2 * all, c + 3 * all},
    };

    if (!c) {
        fprintf(stderr, "intervals: no memory\n");
        exit(1);
    }
    for (int s = 0; s < slots; s++) {
        for (size_t i = 0; i < all; i++)
            draft[s].awake[i] = 1;
        kind->make(&draft[s]);
    }
    for (size_t i = 0; i < all; i++)
        mean += draft[1].c[i] / (double)all;
    for (size_t i = 0; i < all; made++) {
        struct rps_period *one = &period[made];
        double sum[2] = {0, 0};

        *one = (struct rps_period){.cpu = RPS_CPU_ALL,
                                   .period = made,
                                   .start_ns = (int64_t)(grain_ns * (double)i),
                                   .counted = (UINT32_C(1) << slots) - 1};
        if (made % (size_t)sets == 0) /* All periods of a rotation have the same length. */
            length = length_of_next(i, grains, start);
        for (size_t end = i + length; i < end && i < all; i++) {
            add_grain(one, grain_ns, draft[0].awake[i]);
            sum[0] += draft[0].c[i] / (double)grains;
            sum[1] += draft[0].c[i] * draft[1].c[i] / mean / 3 / (double)grains;
        }
        for (int s = 0; s < slots; s++)
            one->count[s] = (uint64_t)llround(sum[s]);
    }
    free(c);
    return made;
}

void bench_make_series(const struct bench_kind *kind, uint64_t *random, int sets, int slots,
                       struct rps_period *period, size_t count)
{
    bench_make_grains(kind, random, sets, slots, period, count, 1, BENCH_START_EQUAL);
}
