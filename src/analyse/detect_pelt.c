/* Search for the best segmentation: dynamic programming over candidates, with PELT's pruning
 * (Killick et al. 2012).
 *
 * A segment is a constant or a line, whichever costs less. A line also pays the penalty of a slope.
 * If lines are allowed, a start is dropped only if it is worse by this penalty. The reason is that
 * the two halves of a line pay for two slopes, and that each half must be long enough for a line.
 * If a better start is found, the old start is kept until a segment from the better start is long
 * enough to end. Otherwise a better path could be lost. */
#include "detect_pelt.h"
#include "detect_math.h"

#include <math.h>

struct search {
    const struct rps_candidates *candidates;
    struct rps_penalties penalties;
    double *best;                    /* least cost of a path to each point */
    double *start;                   /* least cost of a path to each point, plus the penalty of a
                                        boundary at this point */
    size_t *from;                    /* start of the last segment on the best path to each point */
    size_t *expiry;                  /* observation from which a start can be dropped */
    uint8_t *sloped;                 /* 1: the last segment on the best path is a line */
    size_t *active;                  /* starts that may still belong to the best path */
    double *cost;                    /* cost from each active start to the current point */
    struct rps_candidate_gain *gain; /* gain from each active start to the current point */
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

/* Return 1 if the segment between two candidates is long enough, or is a whole block. */
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

/* Drop the starts that cannot be on the best path. A start can be dropped if the current point, as
 * soon as it may be used, is always a better start. */
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

/* Choose among the segmentations on a path of penalties by a Bayesian information criterion.
 *
 * In a series with two visible changes, the penalty for white noise finds twenty changes. This
 * penalty uses noise estimates from differences, and the slow drift of autocorrelated noise looks
 * like changes. So the criterion uses the innovations of an autoregressive process: drift that a
 * correlation explains needs no changes. The criterion's penalty per change is higher than the gain
 * that a change in white noise has by chance. */

/* The first penalty is PATH_START times the penalty for white noise. Each step multiplies the
 * penalty by PATH_STEP. */
#define PATH_START 0.35
#define PATH_STEP  1.25

/* If a series has at most this many candidates, each penalty's search uses all candidates. */
#define CANDIDATES_SMALL 601

/* The path ends when the criterion has become worse in WORSE_MAX steps in a row. */
#define WORSE_MAX 4

/* The path also ends if a segmentation with at least SAME_FREE changes is the same for SAME_MAX
 * penalties (the last is 22 times the first). In this case nothing is pruned, so that the time of
 * each search grows with the square of the number of changes. */
#define SAME_FREE 5000
#define SAME_MAX  14

#define PENALTY_LEVEL 1.5

struct choosing {
    const struct rps_candidates *candidates;
    size_t min_length;
    const struct rps_noise *none; /* noise of a model without changes */
    struct rps_noise *present;
    struct rps_model_choice best;
};

double rps_choose_penalty(const struct rps_observed *observed, size_t number)
{
    return rps_noise_bound(observed->degrees_of_freedom,
                           log((double)observed->count / (double)number) + PENALTY_LEVEL);
}

static double first_penalty(const struct choosing *choosing)
{
    return PATH_START * rps_choose_penalty(choosing->candidates->observed, 1);
}

static struct rps_penalties penalties_of(const struct choosing *choosing, double penalty)
{
    double dof = choosing->candidates->observed->degrees_of_freedom;

    return (struct rps_penalties){
        .change = penalty, .slope = penalty * dof / (dof + 1), .min_length = choosing->min_length};
}

static double find_criterion(const struct choosing *choosing,
                             const struct rps_segmentation *segmentation)
{
    const struct rps_observed *observed = choosing->candidates->observed;
    struct rps_penalties penalties = penalties_of(choosing, rps_choose_penalty(observed, 1));
    double changes = 0;

    for (size_t k = 1; k <= segmentation->free; k++)
        changes += rps_choose_penalty(observed, k);
    return rps_noise_fit(observed, choosing->none, choosing->present) + changes +
           penalties.slope * (double)segmentation->sloped_count;
}

/* Compute the criterion of a segmentation. If it is the lowest so far, store the choice and return
 * 1. `none` is 1 if the segmentation has no changes. */
static int take_step(struct choosing *choosing, const struct rps_penalties *penalties, int none,
                     const struct rps_segmentation *segmentation)
{
    double criterion = find_criterion(choosing, segmentation);
    int better = criterion <= choosing->best.criterion + 1e-9;

    if (better)
        choosing->best = (struct rps_model_choice){*penalties, none, criterion};
    return better;
}

/* Try increasing penalties, from a fine to a coarse segmentation, until the criterion gets worse.
 * Also try the segmentation without changes. `candidates` may consist of the boundaries of the
 * finest segmentation. */
static void walk(struct choosing *choosing, const struct rps_candidates *candidates)
{
    size_t free_count = SIZE_MAX, sloped_count = SIZE_MAX, worse = 0, same = 0;
    int none = 0;

    for (double penalty = first_penalty(choosing); !none; penalty *= PATH_STEP) {
        struct rps_penalties penalties = penalties_of(choosing, penalty);
        struct rps_arena *scratch = rps_arena_new();
        struct rps_segmentation segmentation;

        if (worse < WORSE_MAX && same < SAME_MAX)
            segmentation = rps_segmentation_search(scratch, candidates, &penalties);
        else
            segmentation = rps_segmentation_at(scratch, candidates->observed, NULL);
        none = segmentation.free == 0 && segmentation.sloped_count == 0;
        same += segmentation.free >= SAME_FREE;
        if (segmentation.free != free_count || segmentation.sloped_count != sloped_count) {
            rps_noise_measure(candidates->observed, &segmentation, choosing->present);
            worse = take_step(choosing, &penalties, none, &segmentation) ? 0 : worse + 1;
            same = 0;
        }
        free_count = segmentation.free;
        sloped_count = segmentation.sloped_count;
        rps_arena_free(scratch);
    }
}

/* Return the boundaries of the finest segmentation as candidates. Store the residual noise of this
 * segmentation in choosing->present. */
static struct rps_candidates downsample(struct rps_arena *arena, struct choosing *choosing)
{
    const struct rps_candidates *candidates = choosing->candidates;
    struct rps_penalties penalties = penalties_of(choosing, first_penalty(choosing));
    struct rps_segmentation segmentation = rps_segmentation_search(arena, candidates, &penalties);
    int all = candidates->count <= CANDIDATES_SMALL && (double)candidates->count *
                                                               (double)candidates->count *
                                                               (double)candidates->observed->width <
                                                           RPS_CANDIDATES_WORK_MAX;

    rps_noise_measure(candidates->observed, &segmentation, choosing->present);
    rps_noise_set_gains(choosing->none, choosing->present, candidates->observed);
    return all ? *candidates
               : rps_segmentation_candidates(arena, candidates->observed, &segmentation,
                                             candidates->moment != NULL);
}

struct rps_model_choice rps_choose(struct rps_arena *arena, struct rps_candidates *candidates,
                                   const struct rps_noise *none, size_t min_length,
                                   struct rps_candidates *ret_few)
{
    struct choosing choosing = {
        .candidates = candidates,
        .min_length = min_length,
        .none = none,
        .present = rps_arena_get(arena, candidates->observed->width, sizeof(*choosing.present)),
        .best.criterion = INFINITY};

    *ret_few = downsample(arena, &choosing);
    rps_candidates_add_up(candidates);
    walk(&choosing, ret_few);
    return choosing.best;
}
