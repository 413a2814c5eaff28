/* For each candidate, add up each signal's values before the candidate. From these sums, the cost
 * of a segment between two candidates is computed in one step per signal, regardless of the
 * segment's length.
 *
 * The squares of the values are the same for every segmentation. So the cost is only the amount by
 * which a constant or a line decreases the squares. If values are missing, the sums of time and of
 * squared time are exact integers modulo 2^64. If prefix sums were doubles, a short segment at the
 * end of a long run would have no correct digits. */
#include "detect_standardize.h"

#include <string.h>

static struct rps_candidates allocate(struct rps_arena *arena, struct rps_observed *observed,
                                      size_t count, int lines)
{
    size_t total = count * observed->width;

    return (struct rps_candidates){
        .observed = observed,
        .count = count,
        .at = rps_arena_get(arena, count, sizeof(size_t)),
        .forced = rps_arena_get(arena, count, 1),
        .sum = rps_arena_get(arena, total, sizeof(double)),
        .moment = lines ? rps_arena_get(arena, total, sizeof(double)) : NULL,
        .weight_sum = observed->weight ? rps_arena_get(arena, 3 * total, sizeof(uint64_t)) : NULL,
    };
}

static void add_moments(struct rps_candidates *candidates)
{
    const struct rps_observed *observed = candidates->observed;
    size_t width = observed->width;
    double middle = (double)observed->count / 2;

    for (size_t p = 1; p < candidates->count; p++) {
        double *moment = candidates->moment + p * width;

        memcpy(moment, moment - width, width * sizeof(*moment));
        for (size_t i = candidates->at[p - 1]; i < candidates->at[p]; i++) {
            const double *value = observed->value + i * width;
            double time = (double)i - middle;

            for (size_t s = 0; s < width; s++) {
                double part = rps_observed_part(observed, i * width + s);

                moment[s] += part * time * value[s] * observed->gain[s];
            }
        }
    }
}

static void add_weights(struct rps_candidates *candidates)
{
    const struct rps_observed *observed = candidates->observed;
    size_t width = observed->width;

    for (size_t p = 1; p < candidates->count; p++) {
        uint64_t *sums = candidates->weight_sum + 3 * p * width;

        memcpy(sums, sums - 3 * width, 3 * width * sizeof(*sums));
        for (size_t i = candidates->at[p - 1]; i < candidates->at[p]; i++) {
            for (size_t s = 0; s < width; s++) {
                uint64_t weight = observed->weight[i * width + s];

                sums[3 * s] += weight;
                sums[3 * s + 1] += weight * i;
                sums[3 * s + 2] += weight * i * i;
            }
        }
    }
}

void rps_candidates_add_up(struct rps_candidates *candidates)
{
    const struct rps_observed *observed = candidates->observed;
    size_t width = observed->width;

    for (size_t p = 0; p < candidates->count; p++) {
        for (size_t s = 0; s < width; s++)
            candidates->sum[p * width + s] =
                observed->sum[candidates->at[p] * width + s] * observed->gain[s];
    }
    if (candidates->moment) {
        memset(candidates->moment, 0, width * sizeof(*candidates->moment));
        add_moments(candidates);
    }
    if (candidates->weight_sum) {
        memset(candidates->weight_sum, 0, 3 * width * sizeof(*candidates->weight_sum));
        add_weights(candidates);
    }
}

struct rps_candidates rps_candidates_make(struct rps_arena *arena, struct rps_observed *observed,
                                          const uint8_t *keep, int lines)
{
    size_t count = 0, to = 0, block = 0;
    struct rps_candidates ret;

    for (size_t i = 0; i <= observed->count; i++) {
        int end = i == observed->block[block];

        block += (size_t)(end && i < observed->count);
        count += !keep || keep[i] || end;
    }
    ret = allocate(arena, observed, count, lines);
    block = 0;
    for (size_t i = 0; i <= observed->count; i++) {
        int end = i == observed->block[block];

        block += (size_t)(end && i < observed->count);
        if (keep && !keep[i] && !end)
            continue;
        ret.forced[to] = (uint8_t)end;
        ret.at[to++] = i;
    }
    rps_candidates_add_up(&ret);
    return ret;
}

/* `masked` is 0 if no values are missing. Because `masked` is a compile-time constant, the compiler
 * generates a faster function for this case. */
static inline struct rps_candidate_gain gain_of(const struct rps_candidates *candidates,
                                                size_t from, size_t to, int masked)
{
    size_t width = candidates->observed->width;
    const uint64_t *a = masked ? candidates->weight_sum + 3 * from * width : NULL,
                   *b = masked ? candidates->weight_sum + 3 * to * width : NULL;
    const double *low = candidates->sum + from * width, *high = candidates->sum + to * width;
    uint64_t start = candidates->at[from], length = candidates->at[to] - start;
    int lines = candidates->moment && length >= RPS_CANDIDATES_LINE_MIN &&
                length <= RPS_CANDIDATES_LINE_MAX;
    double n = (double)length, per_n = 1 / n, time = (n - 1) / 2, square = n * (n * n - 1) / 12;
    struct rps_candidate_gain gain = {0, 0};

    for (size_t s = 0; s < width; s++) {
        double sum = high[s] - low[s], moment;

        if (masked) {
            uint64_t weight = b[3 * s] - a[3 * s], times = b[3 * s + 1] - a[3 * s + 1];

            if (weight == 0)
                continue;
            n = (double)weight / RPS_OBSERVED_WHOLE;
            per_n = 1 / n;
            time = (double)(times - start * weight) / RPS_OBSERVED_WHOLE / n;
            square =
                (double)(b[3 * s + 2] - a[3 * s + 2] - 2 * start * times + start * start * weight) /
                    RPS_OBSERVED_WHOLE -
                n * time * time;
        }
        gain.constant += sum * sum * per_n;
        if (!lines || n < 3 || !(square > 0.5))
            continue;
        moment = candidates->moment[to * width + s] - candidates->moment[from * width + s] -
                 (time + (double)start - (double)candidates->observed->count / 2) * sum;
        gain.line += moment * moment / square;
    }
    gain.line += gain.constant;
    return gain;
}

struct rps_candidate_gain rps_candidates_gain(const struct rps_candidates *candidates, size_t from,
                                              size_t to)
{
    return candidates->weight_sum ? gain_of(candidates, from, to, 1)
                                  : gain_of(candidates, from, to, 0);
}

void rps_candidates_gains(const struct rps_candidates *candidates, const size_t *from, size_t count,
                          size_t to, struct rps_candidate_gain *ret)
{
    for (size_t k = 0; k < count; k++)
        ret[k] = rps_candidates_gain(candidates, from[k], to);
}
