/*
 * The choice: of the segmentations along a path of penalties, the one that a Bayesian information
 * criterion prefers.
 *
 * A penalty for white noise, with the noise estimated from differences, finds twenty changes in
 * series where users see two. It mistakes the slow drift of autocorrelated noise for changes. So
 * the criterion counts the innovations of an autoregressive process: drift that a correlation
 * explains needs no changes. The penalty per change in the criterion is one that white noise never
 * reaches by chance.
 */
#include "detect_choose.h"

#include <math.h>

#include "detect_math.h"

/* The path starts at this share of the penalty for white noise, and rises by this factor. */
#define PATH_START 0.35
#define PATH_STEP  1.25

/* Series with at most so many candidates are searched at all of them for each penalty. */
#define CANDIDATES_SMALL 601

/* The path ends when the criterion has become worse this many times in a row. */
#define WORSE_MAX 4

/* The path also ends if a segmentation of SAME_FREE changes or more stays for SAME_MAX steps, a
 * factor of 22. Searching further takes the square of that number, because nothing is pruned. */
#define SAME_FREE 5000
#define SAME_MAX  14

#define PENALTY_LEVEL 1.5

struct choosing {
    const struct rps_candidates *candidates;
    size_t min_length;
    const struct rps_noise *none; /* of no changes */
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
    return rps_noise_fit(observed, choosing->none, choosing->present,
                         segmentation->count + segmentation->sloped_count) +
           changes + penalties.slope * (double)segmentation->sloped_count;
}

/* Choose a segmentation and return 1 if it is the best so far. none: it has no changes. */
static int take_step(struct choosing *choosing, const struct rps_penalties *penalties, int none,
                     const struct rps_segmentation *segmentation)
{
    double criterion = find_criterion(choosing, segmentation);
    int better = criterion <= choosing->best.criterion + 1e-9;

    if (better)
        choosing->best = (struct rps_model_choice){*penalties, none, criterion};
    return better;
}

/* Walk from fine to coarse until the criterion gets worse, and try no changes. candidates may be
 * only those of the finest segmentation. */
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

/* Return the candidates of the finest segmentation; put the noise that it leaves into
 * choosing->present. */
static struct rps_candidates thin(struct rps_arena *arena, struct choosing *choosing)
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

    *ret_few = thin(arena, &choosing);
    rps_candidates_add_up(candidates);
    walk(&choosing, ret_few);
    return choosing.best;
}
