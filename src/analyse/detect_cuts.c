/*
 * The search: dynamic programming over points, with PELT's pruning.
 *
 * A segment is a constant or, at the price of a slope, a line, whichever costs less. Lines weaken
 * the pruning by that price: two halves of a line need two slopes, and must be long enough for
 * lines. A start that was beaten at some point stays until a segment from that point may end, or
 * the least length would forbid the better way.
 */
#include "detect_cuts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct search {
    const struct rps_points *points;
    struct rps_prices prices;
    double *best;                /* owned; least cost up to a point */
    double *start;               /* owned; least cost of what ends where a segment starts */
    size_t *from;                /* owned; where the last segment of that begins */
    size_t *expiry;              /* owned; observation from which a start is of no more use */
    uint8_t *sloped;             /* owned; is that segment a line? */
    size_t *active;              /* owned; starts that may still be the best */
    double *cost;                /* owned; of each active start to the present point */
    struct rps_point_gain *gain; /* owned; the same */
    size_t active_count;
};

void rps_cuts_free(struct rps_cuts *cuts)
{
    free(cuts->spread);
    free(cuts->forced);
    free(cuts->sloped);
    free(cuts->first);
    memset(cuts, 0, sizeof(*cuts));
}

static int cuts_allocate(struct rps_cuts *cuts, size_t count, struct rps_error *err)
{
    memset(cuts, 0, sizeof(*cuts));
    cuts->count = count;
    cuts->first = calloc(count + 1, sizeof(*cuts->first));
    cuts->sloped = calloc(count + 1, 1);
    cuts->forced = calloc(count + 1, 1);
    if (cuts->first && cuts->sloped && cuts->forced)
        return 0;
    rps_cuts_free(cuts);
    return rps_error_memory(err);
}

int rps_cuts_at(const struct rps_observed *observed, const uint8_t *keep, struct rps_cuts *ret,
                struct rps_error *err)
{
    size_t count = observed->block_count, block = 0, to = 0;

    for (size_t i = 0; keep && i < observed->count; i++)
        count += keep[i];
    if (cuts_allocate(ret, count, err) < 0)
        return RPS_FAILED;
    for (size_t i = 0; i < observed->count; i++) {
        int forced = i == observed->block[block];

        block += (size_t)forced;
        if (!forced && (!keep || !keep[i]))
            continue;
        ret->forced[to] = (uint8_t)forced;
        ret->free += !forced;
        ret->first[to++] = i;
    }
    ret->count = to;
    ret->first[to] = observed->count;
    return 0;
}

int rps_cuts_points(struct rps_observed *observed, const struct rps_cuts *cuts, int lines,
                    struct rps_points *ret, struct rps_error *err)
{
    uint8_t *keep = calloc(observed->count + 1, 1);
    int result;

    if (!keep)
        return rps_error_memory(err);
    for (size_t k = 0; k < cuts->count; k++)
        keep[cuts->first[k]] = 1;
    result = rps_points_make(observed, keep, lines, ret, err);
    free(keep);
    return result;
}

void rps_cuts_move(struct rps_cuts *cuts, size_t from, size_t to)
{
    cuts->first[to] = cuts->first[from];
    cuts->sloped[to] = cuts->sloped[from];
    cuts->forced[to] = cuts->forced[from];
    if (cuts->spread)
        cuts->spread[to] = cuts->spread[from];
}

void rps_cuts_shorten(struct rps_cuts *cuts, size_t count)
{
    cuts->first[count] = cuts->first[cuts->count];
    cuts->count = count;
    cuts->free = cuts->sloped_count = 0;
    for (size_t k = 0; k < count; k++) {
        cuts->free += !cuts->forced[k];
        cuts->sloped_count += cuts->sloped[k];
    }
}

static void search_free(struct search *search)
{
    free(search->gain);
    free(search->cost);
    free(search->active);
    free(search->sloped);
    free(search->expiry);
    free(search->from);
    free(search->start);
    free(search->best);
}

static int search_allocate(struct search *search, struct rps_error *err)
{
    size_t count = search->points->count;

    search->best = calloc(count, sizeof(*search->best));
    search->start = calloc(count, sizeof(*search->start));
    search->from = calloc(count, sizeof(*search->from));
    search->expiry = calloc(count, sizeof(*search->expiry));
    search->sloped = calloc(count, 1);
    search->active = calloc(count, sizeof(*search->active));
    search->cost = calloc(count, sizeof(*search->cost));
    search->gain = calloc(count, sizeof(*search->gain));
    if (search->best && search->start && search->from && search->expiry && search->sloped &&
        search->active && search->cost && search->gain)
        return 0;
    return rps_error_memory(err);
}

/* Is a segment between two points long enough, or a whole block? */
static int is_allowed(const struct search *search, size_t from, size_t to)
{
    const struct rps_points *points = search->points;

    return points->at[to] - points->at[from] >= search->prices.min_length ||
           (points->forced[from] && points->forced[to]);
}

/* The best way to a point from all active starts. */
static void reach(struct search *search, size_t to)
{
    search->best[to] = INFINITY;
    rps_points_gains(search->points, search->active, search->active_count, to, search->gain);
    for (size_t k = 0; k < search->active_count; k++) {
        size_t from = search->active[k];
        struct rps_point_gain gain = search->gain[k];
        int sloped = search->points->moment && gain.line - search->prices.slope > gain.constant;
        double cost =
            search->start[from] - (sloped ? gain.line - search->prices.slope : gain.constant);

        search->cost[k] = cost;
        if (cost < search->best[to] && is_allowed(search, from, to)) {
            search->best[to] = cost;
            search->from[to] = from;
            search->sloped[to] = (uint8_t)sloped;
        }
    }
}

/* Drop the starts that a start at this point, once it can be used, will always beat. */
static void prune(struct search *search, size_t to)
{
    const struct rps_points *points = search->points;
    double slack = points->moment ? search->prices.slope : 0;
    size_t kept = 0, least = points->moment ? RPS_POINTS_LINE_MIN : 0;
    size_t shortest = least > search->prices.min_length ? least : search->prices.min_length;

    for (size_t k = 0; k < search->active_count; k++) {
        size_t from = search->active[k];

        if (search->cost[k] - slack >= search->best[to] + search->prices.change &&
            points->at[to] - points->at[from] >= least && search->expiry[from] == SIZE_MAX)
            search->expiry[from] = points->at[to] + shortest;
        if (points->at[to] < search->expiry[from])
            search->active[kept++] = from;
    }
    search->active_count = kept;
}

static void run(struct search *search)
{
    const struct rps_points *points = search->points;

    search->best[0] = search->start[0] = 0;
    search->expiry[0] = SIZE_MAX;
    search->active[search->active_count++] = 0;
    for (size_t p = 1; p < points->count; p++) {
        reach(search, p);
        search->start[p] = search->best[p] + (points->forced[p] ? 0 : search->prices.change);
        search->expiry[p] = SIZE_MAX;
        if (points->forced[p])
            search->active_count = 0;
        else
            prune(search, p);
        if (search->best[p] < INFINITY)
            search->active[search->active_count++] = p;
    }
}

static int trace(const struct search *search, struct rps_cuts *ret, struct rps_error *err)
{
    const struct rps_points *points = search->points;
    size_t count = 0, last = points->count - 1;

    for (size_t p = last; p > 0; p = search->from[p])
        count++;
    if (cuts_allocate(ret, count, err) < 0)
        return RPS_FAILED;
    ret->first[count] = points->at[last];
    for (size_t p = last, to = count; p > 0; p = search->from[p]) {
        size_t from = search->from[p];

        to--;
        ret->first[to] = points->at[from];
        ret->forced[to] = points->forced[from];
        ret->sloped[to] = search->sloped[p];
        ret->free += points->forced[from] == 0;
        ret->sloped_count += search->sloped[p];
    }
    return 0;
}

int rps_cuts_search(const struct rps_points *points, const struct rps_prices *prices,
                    struct rps_cuts *ret, struct rps_error *err)
{
    struct search search = {.points = points, .prices = *prices};
    int result = search_allocate(&search, err);

    if (result == 0) {
        run(&search);
        result = trace(&search, ret, err);
    }
    search_free(&search);
    return result;
}
