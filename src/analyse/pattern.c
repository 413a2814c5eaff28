/* Turns of labels; see pattern.h. */
#include "rpistat/pattern.h"

#include <math.h>
#include <string.h>

#define TURNS_MIN     3.9
#define SHARE_MIN     .6
#define VARIATION_MAX .25

/* The longest stretch of phases from..to - 1 in which each has the label of that p before it. */
static void find_longest(const struct rps_phases *phases, size_t p, size_t *ret_from,
                         size_t *ret_to)
{
    size_t from = 0;

    *ret_from = *ret_to = 0;
    for (size_t i = p; i <= phases->count; i++) {
        if (i < phases->count && phases->phase[i].label == phases->phase[i - p].label)
            continue;
        if (i - from > *ret_to - *ret_from) {
            *ret_from = from;
            *ret_to = i;
        }
        from = i - p + 1;
    }
}

/* Standard deviation of the whole turns' lengths, by their mean. The first and the last phase may
 * have been cut off by what lies around them, so turns are counted from the second. */
static double variation_of(const struct rps_phases *phases, size_t p, size_t from, size_t to,
                           double *ret_mean)
{
    double sum = 0, squares = 0, count = 0, mean;

    for (size_t i = from + 1; i + p < to; i += p) {
        double length = (double)(phases->phase[i + p].first - phases->phase[i].first);

        sum += length;
        squares += length * length;
        count++;
    }
    *ret_mean = mean = count > 0 ? sum / count : 0;
    return count > 1 ? sqrt(fmax(squares / count - mean * mean, 0)) / mean : INFINITY;
}

/* Different labels among p phases. */
static size_t kinds_of(const struct rps_phase *phase, size_t p)
{
    size_t count = 0;

    for (size_t k = 0; k < p; k++) {
        size_t first = 0;

        while (phase[first].label != phase[k].label)
            first++;
        count += first == k;
    }
    return count;
}

/* The labels of a turn, from the first of them on. */
static void name_turn(const struct rps_phase *phase, size_t p, struct rps_pattern *ret)
{
    size_t start = 0;

    for (size_t k = 1; k < p; k++)
        start = phase[k].label < phase[start].label ? k : start;
    ret->label_count = p;
    for (size_t k = 0; k < p; k++)
        ret->label[k] = phase[(start + k) % p].label;
}

void rps_pattern_find_turns(const struct rps_phases *phases, struct rps_pattern *ret)
{
    double whole = phases->count > 0 ? (double)phases->phase[phases->count - 1].last + 1 : 0;

    memset(ret, 0, sizeof(*ret));
    for (size_t p = 2;
         p <= RPS_PATTERN_LABELS_MAX && (double)p * TURNS_MIN <= (double)phases->count; p++) {
        size_t from, to;
        double length, mean;

        find_longest(phases, p, &from, &to);
        if ((double)(to - from) < TURNS_MIN * (double)p)
            continue;
        length = (double)(phases->phase[to - 1].last + 1 - phases->phase[from].first);
        if (length < SHARE_MIN * whole || (p > 2 && kinds_of(&phases->phase[from], p) < 3) ||
            variation_of(phases, p, from, to, &mean) > VARIATION_MAX)
            continue;
        *ret = (struct rps_pattern){.kind = RPS_PATTERN_TURNS,
                                    .stretches = phases->count,
                                    .turns = (double)(to - from) / (double)p,
                                    .length = mean};
        name_turn(&phases->phase[from], p, ret);
        return;
    }
}
