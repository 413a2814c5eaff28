/*
 * Clip outliers; see detect_clip.h.
 *
 * Outliers are moved towards the median. A value left out would be missing, and a real change may
 * begin with it. The levels of a step survive a running median, so changes are not blurred.
 */
#include "detect_clip.h"

#include <math.h>
#include <string.h>

#include "detect_math.h"

#define WINDOW (2 * RPS_CLIP_REACH + 1) /* of the running median */

/* Outliers are rare below this share. */
#define RARE_SHARE 0.02

static void order(double *a, double *b)
{
    double low = *b < *a ? *b : *a, high = *b < *a ? *a : *b;

    *a = low;
    *b = high;
}

/* Return the median of seven, by a network of comparisons without branches. */
static double median_of_seven(const double *value)
{
    double v[7];

    memcpy(v, value, sizeof(v));
    order(&v[0], &v[5]);
    order(&v[0], &v[3]);
    order(&v[1], &v[6]);
    order(&v[2], &v[4]);
    order(&v[0], &v[1]);
    order(&v[3], &v[5]);
    order(&v[2], &v[6]);
    order(&v[2], &v[3]);
    order(&v[3], &v[6]);
    order(&v[4], &v[5]);
    order(&v[1], &v[4]);
    order(&v[1], &v[3]);
    order(&v[3], &v[4]);
    return v[3];
}

double rps_clip_median(const double *value, size_t count, size_t at)
{
    size_t reach = at < count - 1 - at ? at : count - 1 - at;
    double few[2 * RPS_CLIP_REACH];

    if (reach >= RPS_CLIP_REACH)
        return median_of_seven(value + at - RPS_CLIP_REACH);
    memcpy(few, value + at - reach, (2 * reach + 1) * sizeof(*few));
    return rps_select_rank(few, 2 * reach + 1, reach);
}

/*
 * Return the value that an outlier is measured from: the running median of seven. Near an end it is
 * the median of the seven values there. A ramp continues to the end, so the nearer of this median
 * and the extrapolated steps is used. The first and last period of a run differ from the others
 * most often.
 */
static double reference(const double *value, size_t count, size_t at)
{
    size_t first = at < RPS_CLIP_REACH ? 0 : count - WINDOW;
    double step[WINDOW - 1], level, led;

    if (count < WINDOW || (at >= RPS_CLIP_REACH && at + RPS_CLIP_REACH < count))
        return rps_clip_median(value, count, at);
    for (size_t k = 0; k + 1 < WINDOW; k++)
        step[k] = value[first + k + 1] - value[first + k];
    level = median_of_seven(value + first);
    led = level + (rps_select_rank(step, WINDOW - 1, 2) + rps_select_rank(step, WINDOW - 1, 3)) /
                      2 * ((double)at - (double)(first + RPS_CLIP_REACH));
    return fabs(value[at] - led) < fabs(value[at] - level) ? led : level;
}

/* Return 1 if enough values around are near for a near median. This avoids most medians. */
static int has_company(const double *value, size_t count, size_t at, double limit)
{
    const double *v = value + at;

    if (at < RPS_CLIP_REACH || count - at <= RPS_CLIP_REACH)
        return 0;
    return (fabs(v[-1] - v[0]) <= limit) + (fabs(v[1] - v[0]) <= limit) +
               (fabs(v[-2] - v[0]) <= limit) + (fabs(v[2] - v[0]) <= limit) +
               (fabs(v[-3] - v[0]) <= limit) + (fabs(v[3] - v[0]) <= limit) >=
           RPS_CLIP_REACH;
}

void rps_clip(const double *value, size_t count, double limit, double wild, double *clean,
              uint8_t *is_wild)
{
    size_t far = 0;

    memset(is_wild, 0, count);
    memcpy(clean, value, count * sizeof(*clean));
    for (size_t i = 0; i < count && limit > 0; i++) {
        if (has_company(value, count, i, limit))
            continue;
        clean[i] = reference(value, count, i);
        is_wild[i] = fabs(value[i] - clean[i]) > wild;
        if (fabs(value[i] - clean[i]) > limit)
            far++;
        else
            clean[i] = value[i];
    }
    for (size_t i = 0; i < count && (double)far > RARE_SHARE * (double)count; i++) {
        if (clean[i] < value[i] || clean[i] > value[i])
            clean[i] += value[i] > clean[i] ? limit : -limit;
    }
}
