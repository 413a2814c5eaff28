/* Find the cheapest way to cut a run at given places; see counts.h. */
#include <math.h>
#include <string.h>

#include "counts.h"

/* Maximum number of paths that get one more segment. If there are more paths, keep the cheapest. */
#define BEFORE_MAX 256

struct work {
    double *cost;  /* cost of the best path to each place */
    size_t *from;  /* start of the last segment on the best path to each place */
    size_t *alive; /* places at which a segment may begin */
    double *via;   /* via[k]: cost of the path through alive[k] */
};

/* Keep the alive places of cost <= `reached`. Other places cannot lead to the best path. */
static size_t drop_hopeless(struct work *work, size_t count, double reached)
{
    size_t *alive = work->alive, kept = 0;
    double *via = work->via;

    for (size_t a = 0; a < count; a++) {
        if (via[a] > reached)
            continue;
        alive[kept] = alive[a];
        via[kept++] = via[a];
    }
    while (kept > BEFORE_MAX) {
        size_t worst = 0;

        for (size_t a = 1; a < kept; a++)
            worst = via[a] > via[worst] ? a : worst;
        kept--;
        memmove(alive + worst, alive + worst + 1, (kept - worst) * sizeof(*alive));
        memmove(via + worst, via + worst + 1, (kept - worst) * sizeof(*via));
    }
    return kept;
}

static void find(const struct rps_count_path *path, struct work *work)
{
    size_t alive = 1;

    for (size_t p = 1; p < path->count; p++) {
        double least = INFINITY;
        int must = p + 1 == path->count || (path->broken && path->broken[path->at[p]]);

        for (size_t a = 0; a < alive; a++) {
            size_t from = work->alive[a];

            work->via[a] = work->cost[from] + path->cost(path->context, from, p);
            if (work->via[a] < least && (must || path->at[p] - path->at[from] >= path->shortest)) {
                least = work->via[a];
                work->from[p] = from;
            }
        }
        work->cost[p] = least + path->price;
        if (must)
            alive = 0;
        else if (isfinite(least))
            alive = drop_hopeless(work, alive, least + path->slack);
        else
            continue;
        work->alive[alive++] = p;
    }
}

size_t rps_counts_best_path(const struct rps_count_path *path, size_t *ret)
{
    struct rps_arena *scratch = rps_arena_new();
    struct work work = {
        .cost = rps_arena_get(scratch, path->count, sizeof(*work.cost)),
        .from = rps_arena_get(scratch, path->count, sizeof(*work.from)),
        .alive = rps_arena_get(scratch, path->count, sizeof(*work.alive)),
        .via = rps_arena_get(scratch, path->count, sizeof(*work.via)),
    };
    size_t count = 0, at = 0;

    find(path, &work);
    for (size_t p = path->count - 1; p > 0; p = work.from[p]) /* the path is traced backwards */
        work.alive[count++] = p;
    ret[at++] = 0;
    while (count > 0)
        ret[at++] = work.alive[--count];
    rps_arena_free(scratch);
    return at - 1;
}
