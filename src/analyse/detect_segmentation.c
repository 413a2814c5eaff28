/*
 * The search: dynamic programming over candidates, with PELT's pruning.
 *
 * A segment is a constant or, at the penalty of a slope, a line, whichever costs less. Lines weaken
 * the pruning by that penalty: two halves of a line need two slopes, and must be long enough for
 * lines. A beaten start remains until a segment from the point that beat it may end. Otherwise the
 * minimum length would exclude the better path.
 */
#include "detect_segmentation.h"

#include <math.h>

struct search {
    const struct rps_candidates *candidates;
    struct rps_penalties penalties;
    double *best;                    /* least cost up to a point */
    double *start;                   /* least cost of the path that ends where a segment starts */
    size_t *from;                    /* where the last segment of that path begins */
    size_t *expiry;                  /* observation from which a start is no longer useful */
    uint8_t *sloped;                 /* 1: that segment is a line */
    size_t *active;                  /* starts that may still be the best */
    double *cost;                    /* of each active start to the present point */
    struct rps_candidate_gain *gain; /* the same */
    size_t active_count;
};

static struct rps_segmentation allocate(struct rps_arena *arena, size_t count)
{
    return (struct rps_segmentation){.count = count,
                                     .first = rps_arena_get(arena, count + 1, sizeof(size_t)),
                                     .sloped = rps_arena_get(arena, count + 1, 1),
                                     .forced = rps_arena_get(arena, count + 1, 1)};
}

struct rps_segmentation rps_segmentation_at(struct rps_arena *arena,
                                            const struct rps_observed *observed,
                                            const uint8_t *keep)
{
    size_t count = observed->block_count, block = 0, to = 0;
    struct rps_segmentation ret;

    for (size_t i = 0; keep && i < observed->count; i++)
        count += keep[i];
    ret = allocate(arena, count);
    for (size_t i = 0; i < observed->count; i++) {
        int forced = i == observed->block[block];

        block += (size_t)forced;
        if (!forced && (!keep || !keep[i]))
            continue;
        ret.forced[to] = (uint8_t)forced;
        ret.free += !forced;
        ret.first[to++] = i;
    }
    ret.count = to;
    ret.first[to] = observed->count;
    return ret;
}

struct rps_candidates rps_segmentation_candidates(struct rps_arena *arena,
                                                  struct rps_observed *observed,
                                                  const struct rps_segmentation *segmentation,
                                                  int lines)
{
    uint8_t *keep = rps_arena_get(arena, observed->count + 1, 1);

    for (size_t k = 0; k < segmentation->count; k++)
        keep[segmentation->first[k]] = 1;
    return rps_candidates_make(arena, observed, keep, lines);
}

void rps_segmentation_move(struct rps_segmentation *segmentation, size_t from, size_t to)
{
    segmentation->first[to] = segmentation->first[from];
    segmentation->sloped[to] = segmentation->sloped[from];
    segmentation->forced[to] = segmentation->forced[from];
}

void rps_segmentation_shorten(struct rps_segmentation *segmentation, size_t count)
{
    segmentation->first[count] = segmentation->first[segmentation->count];
    segmentation->count = count;
    segmentation->free = segmentation->sloped_count = 0;
    for (size_t k = 0; k < count; k++) {
        segmentation->free += !segmentation->forced[k];
        segmentation->sloped_count += segmentation->sloped[k];
    }
}

static void allocate_search(struct rps_arena *arena, struct search *search)
{
    size_t count = search->candidates->count;

    search->best = rps_arena_get(arena, count, sizeof(*search->best));
    search->start = rps_arena_get(arena, count, sizeof(*search->start));
    search->from = rps_arena_get(arena, count, sizeof(*search->from));
    search->expiry = rps_arena_get(arena, count, sizeof(*search->expiry));
    search->sloped = rps_arena_get(arena, count, 1);
    search->active = rps_arena_get(arena, count, sizeof(*search->active));
    search->cost = rps_arena_get(arena, count, sizeof(*search->cost));
    search->gain = rps_arena_get(arena, count, sizeof(*search->gain));
}

/* Return 1 if a segment between two candidates is long enough, or a whole block. */
static int is_allowed(const struct search *search, size_t from, size_t to)
{
    const struct rps_candidates *candidates = search->candidates;

    return candidates->at[to] - candidates->at[from] >= search->penalties.min_length ||
           (candidates->forced[from] && candidates->forced[to]);
}

/* Find the best path to a point from all active starts. */
static void reach(struct search *search, size_t to)
{
    search->best[to] = INFINITY;
    rps_candidates_gains(search->candidates, search->active, search->active_count, to,
                         search->gain);
    for (size_t k = 0; k < search->active_count; k++) {
        size_t from = search->active[k];
        struct rps_candidate_gain gain = search->gain[k];
        int sloped =
            search->candidates->moment && gain.line - search->penalties.slope > gain.constant;
        double cost =
            search->start[from] - (sloped ? gain.line - search->penalties.slope : gain.constant);

        search->cost[k] = cost;
        if (cost < search->best[to] && is_allowed(search, from, to)) {
            search->best[to] = cost;
            search->from[to] = from;
            search->sloped[to] = (uint8_t)sloped;
        }
    }
}

/* Drop the starts that a start at this point will always beat once it can be used. */
static void prune(struct search *search, size_t to)
{
    const struct rps_candidates *candidates = search->candidates;
    double slack = candidates->moment ? search->penalties.slope : 0;
    size_t kept = 0, least = candidates->moment ? RPS_CANDIDATES_LINE_MIN : 0;
    size_t shortest = least > search->penalties.min_length ? least : search->penalties.min_length;

    for (size_t k = 0; k < search->active_count; k++) {
        size_t from = search->active[k];

        if (search->cost[k] - slack >= search->best[to] + search->penalties.change &&
            candidates->at[to] - candidates->at[from] >= least && search->expiry[from] == SIZE_MAX)
            search->expiry[from] = candidates->at[to] + shortest;
        if (candidates->at[to] < search->expiry[from])
            search->active[kept++] = from;
    }
    search->active_count = kept;
}

static void run(struct search *search)
{
    const struct rps_candidates *candidates = search->candidates;

    search->best[0] = search->start[0] = 0;
    search->expiry[0] = SIZE_MAX;
    search->active[search->active_count++] = 0;
    for (size_t p = 1; p < candidates->count; p++) {
        reach(search, p);
        search->start[p] = search->best[p] + (candidates->forced[p] ? 0 : search->penalties.change);
        search->expiry[p] = SIZE_MAX;
        if (candidates->forced[p])
            search->active_count = 0;
        else
            prune(search, p);
        if (search->best[p] < INFINITY)
            search->active[search->active_count++] = p;
    }
}

static struct rps_segmentation trace(struct rps_arena *arena, const struct search *search)
{
    const struct rps_candidates *candidates = search->candidates;
    size_t count = 0, last = candidates->count - 1;
    struct rps_segmentation ret;

    for (size_t p = last; p > 0; p = search->from[p])
        count++;
    ret = allocate(arena, count);
    ret.first[count] = candidates->at[last];
    for (size_t p = last, to = count; p > 0; p = search->from[p]) {
        size_t from = search->from[p];

        to--;
        ret.first[to] = candidates->at[from];
        ret.forced[to] = candidates->forced[from];
        ret.sloped[to] = search->sloped[p];
        ret.free += candidates->forced[from] == 0;
        ret.sloped_count += search->sloped[p];
    }
    return ret;
}

struct rps_segmentation rps_segmentation_search(struct rps_arena *arena,
                                                const struct rps_candidates *candidates,
                                                const struct rps_penalties *penalties)
{
    struct search search = {.candidates = candidates, .penalties = *penalties};
    struct rps_arena *scratch = rps_arena_new();
    struct rps_segmentation ret;

    allocate_search(scratch, &search);
    run(&search);
    ret = trace(arena, &search);
    rps_arena_free(scratch);
    return ret;
}
