/*
 * Screening and exact dynamic programming.
 *
 * Exact PELT over all places is linear only while changes keep coming; a quiet day makes it
 * quadratic. The screen leaves a few places, of which the optimum is exact again.
 */
#include "search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const size_t scales[] = {4, 8, 16, 32, 64, 128, 256, 512, 1024};

/* Places that the screen leaves at most: those of the highest statistics. */
#define PLACES_MAX 6000

/* A window of h is looked at in steps of h / STEP_SHARE. */
#define STEP_SHARE 16

/* --- screening ----------------------------------------------------------------------------------
 */

/* What cutting [i - h, i + h) at i would save. */
static double two_windows(const struct rps_prepared *p, size_t i, size_t h)
{
    size_t d = p->signal_count;
    const double *left = p->sum + (i - h) * d, *at = p->sum + i * d, *right = p->sum + (i + h) * d;
    double saved = 0;

    if (!p->weight) {
        for (size_t j = 0; j < d; j++) {
            double step = right[j] - 2 * at[j] + left[j];

            saved += step * step;
        }
        return saved / (2 * (double)h);
    }
    for (size_t j = 0; j < d; j++) {
        double before = p->weight_sum[i * d + j] - p->weight_sum[(i - h) * d + j];
        double after = p->weight_sum[(i + h) * d + j] - p->weight_sum[i * d + j], step;

        if (before < 0.5 || after < 0.5)
            continue;
        step = (right[j] - at[j]) / after - (at[j] - left[j]) / before;
        saved += step * step * before * after / (before + after);
    }
    return saved;
}

/* Keep in found[i] the best statistic of a local maximum at i over all scales. */
static void screen_scale(const struct rps_prepared *p, size_t h, double threshold, float *statistic,
                         float *found)
{
    size_t step = h / STEP_SHARE > 0 ? h / STEP_SHARE : 1, n = 0, reach;

    if (p->count < 2 * h)
        return;
    for (size_t i = h; i + h <= p->count; i += step)
        statistic[n++] = (float)two_windows(p, i, h);
    reach = h / (2 * step) > 0 ? h / (2 * step) : 1;
    for (size_t block = 0; block < n; block += reach) {
        size_t end = block + reach < n ? block + reach : n, top = block, from, to;
        int local = 1;

        for (size_t k = block + 1; k < end; k++)
            if (statistic[k] > statistic[top])
                top = k;
        if (statistic[top] < threshold)
            continue;
        from = top < reach ? 0 : top - reach;
        to = top + reach + 1 < n ? top + reach + 1 : n;
        for (size_t k = from; k < to && local; k++)
            local = statistic[k] <= statistic[top];
        if (local && statistic[top] > found[h + top * step])
            found[h + top * step] = statistic[top];
    }
}

static int compare_float_down(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x < y) - (x > y);
}

/* Raise the threshold until so few places are left that the optimisation stays cheap. */
static float limit_places(const float *found, size_t count, size_t places)
{
    float *sorted, limit = 0;
    size_t n = 0;

    if (places <= PLACES_MAX || !(sorted = malloc(places * sizeof(*sorted))))
        return 0;
    for (size_t i = 0; i < count; i++)
        if (found[i] > 0)
            sorted[n++] = found[i];
    qsort(sorted, n, sizeof(*sorted), compare_float_down);
    limit = sorted[PLACES_MAX];
    free(sorted);
    return limit;
}

static int is_broken(const struct rps_prepared *p, size_t i)
{
    return p->broken && p->broken[i];
}

static int screen(struct rps_search *search, double threshold)
{
    const struct rps_prepared *p = search->prepared;
    float *statistic = malloc((p->count + 1) * sizeof(*statistic));
    float *found = calloc(p->count + 1, sizeof(*found)), limit;
    size_t n = 0, places = 0;
    int rc = -1;

    if (!statistic || !found)
        goto out;
    for (size_t s = 0; s < sizeof(scales) / sizeof(scales[0]); s++)
        screen_scale(p, scales[s], threshold, statistic, found);
    for (size_t i = 1; i < p->count; i++)
        places += found[i] > 0;
    limit = limit_places(found, p->count, places);
    for (size_t i = 0; i < p->count; i++)
        n += i == 0 || is_broken(p, i) || found[i] > limit;
    search->place = malloc((n + 1) * sizeof(*search->place));
    if (!search->place)
        goto out;
    for (size_t i = 0; i < p->count; i++)
        if (i == 0 || is_broken(p, i) || found[i] > limit)
            search->place[search->place_count++] = i;
    search->place[search->place_count++] = p->count;
    rc = 0;
out:
    free(statistic);
    free(found);
    return rc;
}

static int allow_all(struct rps_search *search)
{
    size_t n = search->prepared->count;

    search->place = malloc((n + 1) * sizeof(*search->place));
    if (!search->place)
        return -1;
    for (size_t i = 0; i <= n; i++)
        search->place[i] = i;
    search->place_count = n + 1;
    return 0;
}

int rps_search_open(struct rps_search *search, const struct rps_prepared *prepared,
                    size_t min_length, int everywhere, double threshold, struct rps_error *err)
{
    *search = (struct rps_search){
        .prepared = prepared, .cost = rps_prepared_cost, .min_length = min_length};
    if ((everywhere ? allow_all(search) : screen(search, threshold)) < 0)
        goto fail;
    search->best = malloc(search->place_count * sizeof(*search->best));
    search->total = malloc(search->place_count * sizeof(*search->total));
    search->before = malloc(search->place_count * sizeof(*search->before));
    search->alive = malloc(search->place_count * sizeof(*search->alive));
    if (!search->best || !search->total || !search->before || !search->alive)
        goto fail;
    return 0;
fail:
    rps_search_close(search);
    return rps_error_memory(err);
}

void rps_search_close(struct rps_search *search)
{
    free(search->place);
    free(search->best);
    free(search->total);
    free(search->before);
    free(search->alive);
    *search = (struct rps_search){0};
}

/* --- optimisation
 * --------------------------------------------------------------------------------- */

/* Take the cuts from the links of the optimum. */
static int collect_cuts(const struct rps_search *search, struct rps_cuts *ret)
{
    size_t count = 0, k;

    for (k = search->place_count - 1; k > 0; k = search->before[k])
        count++;
    ret->start = malloc(count * sizeof(*ret->start));
    if (!ret->start)
        return -1;
    ret->count = count;
    for (k = search->place_count - 1; k > 0; k = search->before[k])
        ret->start[--count] = search->place[search->before[k]];
    return 0;
}

/* Segments are long enough, but for a piece between gaps or ends that is not. */
static int is_long_enough(const struct rps_search *search, size_t from, size_t to)
{
    const struct rps_prepared *p = search->prepared;

    return to - from >= search->min_length ||
           ((from == 0 || is_broken(p, from)) && (to == p->count || is_broken(p, to)));
}

int rps_search_run(struct rps_search *search, double penalty, struct rps_cuts *ret,
                   struct rps_error *err)
{
    const struct rps_prepared *p = search->prepared;
    size_t alive_count = 0;

    search->best[0] = 0;
    search->alive[alive_count++] = 0;
    for (size_t k = 1; k < search->place_count; k++) {
        size_t at = search->place[k], kept = 0;
        int gap = at < p->count && is_broken(p, at);
        double best = INFINITY;

        search->before[k] = search->alive[0];
        for (size_t a = 0; a < alive_count; a++) {
            size_t s = search->alive[a];
            double total = search->best[s] + search->cost(p, search->place[s], at);

            search->total[a] = total;
            if (total + penalty < best && is_long_enough(search, search->place[s], at)) {
                best = total + penalty;
                search->before[k] = s;
            }
        }
        search->best[k] = gap && best < INFINITY ? best - penalty : best;
        if (gap) { /* nothing reaches across */
            search->alive[0] = k;
            alive_count = 1;
            continue;
        }
        for (size_t a = 0; a < alive_count; a++) {
            size_t s = search->alive[a];

            if (search->place[s] + search->min_length > at || search->total[a] <= search->best[k])
                search->alive[kept++] = s;
        }
        search->alive[kept++] = k;
        alive_count = kept;
    }
    return collect_cuts(search, ret) < 0 ? rps_error_memory(err) : 0;
}

/* --- afterwards ---------------------------------------------------------------------------------
 */

size_t rps_cuts_end(const struct rps_cuts *cuts, size_t k, size_t count)
{
    return k + 1 < cuts->count ? cuts->start[k + 1] : count;
}

double rps_cuts_cost(const struct rps_search *search, const struct rps_cuts *cuts)
{
    double total = 0;

    for (size_t k = 0; k < cuts->count; k++)
        total += search->cost(search->prepared, cuts->start[k],
                              rps_cuts_end(cuts, k, search->prepared->count));
    return total;
}

void rps_search_refine(const struct rps_search *search, struct rps_cuts *cuts, size_t reach)
{
    const struct rps_prepared *p = search->prepared;

    for (int pass = 0; pass < 2; pass++) {
        for (size_t k = 1; k < cuts->count; k++) {
            size_t from = cuts->start[k - 1], to = rps_cuts_end(cuts, k, p->count),
                   best = cuts->start[k];
            size_t low = best > reach ? best - reach : 0, high = best + reach;
            double least = INFINITY;

            if (is_broken(p, best))
                continue;
            low = low < from + search->min_length ? from + search->min_length : low;
            high = high + search->min_length > to ? to - search->min_length : high;
            for (size_t i = low; i <= high && i < to; i++) {
                double cost = search->cost(p, from, i) + search->cost(p, i, to);

                if (cost < least) {
                    least = cost;
                    best = i;
                }
            }
            cuts->start[k] = best;
        }
    }
}

/* Squared innovations of observation i: it has the mean `mean`, the one before it had `before`. */
static double innovations(const struct rps_prepared *p, size_t i, const double *mean,
                          const double *before, const double *phi)
{
    size_t d = p->signal_count;
    const double *now = p->value + i * d, *last = now - d;
    double sum = 0;

    for (size_t j = 0; j < d; j++) {
        double innovation = now[j] - mean[j] - phi[j] * (last[j] - before[j]);

        sum += innovation * innovation / (1 - phi[j] * phi[j]);
    }
    return sum;
}

static void means_of(const struct rps_prepared *p, size_t from, size_t to, double *ret)
{
    size_t d = p->signal_count;

    for (size_t j = 0; j < d; j++)
        ret[j] = (p->sum[to * d + j] - p->sum[from * d + j]) / (double)(to - from);
}

void rps_cuts_refine_correlated(const struct rps_prepared *p, struct rps_cuts *cuts,
                                const double *phi, size_t min_length, size_t reach)
{
    double left[RPS_PREPARED_SIGNALS_MAX], right[RPS_PREPARED_SIGNALS_MAX];

    for (size_t turn = 2; turn < 2 * cuts->count; turn++) { /* twice, for means that have moved */
        size_t k = turn < cuts->count + 1 ? turn - 1 : turn - cuts->count;
        size_t from = cuts->start[k - 1], to = rps_cuts_end(cuts, k, p->count), at = cuts->start[k];
        size_t low = at > reach ? at - reach : 0, high = at + reach, best;
        double change = 0, least = 0;

        if (is_broken(p, at))
            continue;
        low = low < from + min_length ? from + min_length : low;
        high = high + min_length > to ? to - min_length : high;
        means_of(p, from, at, left);
        means_of(p, at, to, right);
        best = low;
        for (size_t i = low; i < high; i++) { /* from a boundary at i to one at i + 1 */
            change += innovations(p, i, left, left, phi) + innovations(p, i + 1, right, left, phi) -
                      innovations(p, i, right, left, phi) -
                      innovations(p, i + 1, right, right, phi);
            if (change < least) {
                least = change;
                best = i + 1;
            }
        }
        if (low <= high)
            cuts->start[k] = best;
    }
}

void rps_cuts_free(struct rps_cuts *cuts)
{
    free(cuts->start);
    *cuts = (struct rps_cuts){0};
}
