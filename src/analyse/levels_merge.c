/* Merge neighbouring segments, starting with the pair whose merge raises the cost least. */
#include "levels_tree.h"

/* The cost of merging an idle segment with a busy one counts IDLE_TIMES times. Samples do not show
 * that a program is idle, so a pause of four seconds in 44 seconds of different functions would
 * cost less than the price of a class. In 190 recordings with known phases, values from 1 to 8
 * change the mean F1 and ARI only at 6 % of a CPU (58 recordings), by .001. */
#define IDLE_TIMES 4

/* A segment and the next segment, which may merge. If one of both segments has merged after the
 * pair was made, the pair is out of date. */
struct pair {
    double increase;
    size_t left, right; /* first leaves of both segments */
    size_t end;         /* end of the right segment when the pair was made */
};

struct merging {
    struct rps_level_tree *tree;
    size_t *end;              /* end of the segment that begins at a leaf; 0: none does */
    size_t *begin;            /* start of the segment that ends before each leaf */
    double *cost;             /* cost of the segment that begins at each leaf */
    uint8_t *is_idle;         /* 1 if the workload was idle in this segment */
    struct rps_moments3 *sum; /* scratch for moments */
    struct pair *heap;        /* pairs of segments, smallest increase of the cost first */
    size_t heap_count;
    size_t left; /* number of segments that remain */
};

static int is_less(const struct pair *a, const struct pair *b)
{
    return a->increase < b->increase || (a->increase <= b->increase && a->left < b->left);
}

static void push(struct merging *m, struct pair pair)
{
    size_t at = m->heap_count++;

    while (at > 0 && is_less(&pair, &m->heap[(at - 1) / 2])) {
        m->heap[at] = m->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    m->heap[at] = pair;
}

static struct pair pop(struct merging *m)
{
    struct pair top = m->heap[0], last = m->heap[--m->heap_count];
    size_t at = 0;

    for (size_t child = 1; child < m->heap_count; child = 2 * at + 1) {
        if (child + 1 < m->heap_count && is_less(&m->heap[child + 1], &m->heap[child]))
            child++;
        if (!is_less(&m->heap[child], &last))
            break;
        m->heap[at] = m->heap[child];
        at = child;
    }
    m->heap[at] = last;
    return top;
}

static double cost_of(struct merging *m, size_t from, size_t to)
{
    rps_level_tree_moments(m->tree, from, to, m->sum);
    return rps_level_tree_cost(m->tree, m->sum);
}

/* Store the cost of the segment, and whether the workload was idle in it. */
static void describe(struct merging *m, size_t from, size_t to)
{
    m->cost[from] = cost_of(m, from, to);
    m->is_idle[from] = (uint8_t)rps_level_tree_is_idle(m->tree, m->sum);
}

static void push_pair(struct merging *m, size_t left, size_t right)
{
    const size_t end = m->end[right];
    const double increase = cost_of(m, left, end) - m->cost[left] - m->cost[right];
    const int is_change = m->is_idle[left] != m->is_idle[right];

    push(m,
         (struct pair){increase * (is_change && increase > 0 ? IDLE_TIMES : 1), left, right, end});
}

static void merge_pairs(struct merging *m)
{
    size_t count = m->tree->count;

    while (m->heap_count > 0) {
        struct pair pair = pop(m);

        if (m->end[pair.left] != pair.right || m->end[pair.right] != pair.end)
            continue;
        m->tree->rank[pair.right] = m->left--;
        m->tree->increase[m->left] = pair.increase;
        m->end[pair.left] = pair.end;
        m->end[pair.right] = 0;
        m->begin[pair.end] = pair.left;
        describe(m, pair.left, pair.end);
        if (!rps_level_tree_begins_run(m->tree, pair.left))
            push_pair(m, m->begin[pair.left], pair.left);
        if (pair.end < count && !rps_level_tree_begins_run(m->tree, pair.end))
            push_pair(m, pair.left, pair.end);
    }
}

static void merge_all(struct merging *m)
{
    size_t count = m->tree->count;
    double once = 0, all = 0;

    m->left = count;
    for (size_t k = 0; k < count; k++) {
        m->tree->rank[k] = 1; /* this rank changes, except for the first leaf of a run */
        m->end[k] = k + 1;
        m->begin[k + 1] = k;
        describe(m, k, k + 1);
        once -= m->cost[k];
    }
    for (size_t k = 1; k < count; k++) {
        if (!rps_level_tree_begins_run(m->tree, k))
            push_pair(m, k - 1, k);
    }
    merge_pairs(m);
    for (size_t k = 0; k < count; k++) {
        once += rps_level_tree_begins_run(m->tree, k) ? m->cost[k] : 0;
        all += m->tree->increase[k];
    }
    m->tree->once = all > 0 ? once / all : 1;
}

void rps_level_tree_merge(struct rps_level_tree *tree)
{
    struct rps_arena *scratch = rps_arena_new();
    size_t count = tree->count;
    struct merging m = {
        .tree = tree,
        .end = rps_arena_get(scratch, count + 1, sizeof(*m.end)),
        .begin = rps_arena_get(scratch, count + 1, sizeof(*m.begin)),
        .cost = rps_arena_get(scratch, count + 1, sizeof(*m.cost)),
        .is_idle = rps_arena_get(scratch, count + 1, 1),
        .sum = rps_arena_get(scratch, tree->width, sizeof(*m.sum)),
        /* room for two new pairs per merge */
        .heap = rps_arena_get(scratch, 4 * count + 4, sizeof(*m.heap)),
    };

    merge_all(&m);
    rps_arena_free(scratch);
}
