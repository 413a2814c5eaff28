/* Ramps; see adjust.h.
 *
 * The detector and the search in count tables cut a ramp into stairs (short phases). In the space
 * of all signals and all symbol shares, the stairs lie on the line from the first stair to the last
 * stair. Each observation is projected on this line. Then a level, a ramp and a second level are
 * fitted to the projections. Signals are on a logarithmic scale, so that the ramp may be curved.
 * The ramp replaces the stairs if the ramp's squared residuals, with its price, are smaller. */
#include "adjust.h"

#include <math.h>

#include "levels_tree.h"

/* Maximum number of phases that follow the first phase of a chain. */
#define CHAIN_MAX 16

/* Maximum squared distance of a phase from the chain's line, per squared length of the line. */
#define BESIDE_MAX .1

#define SHARE_VARIANCE_MIN .01

/* A ramp covers at least 1 / PART_MIN of all observations. A shorter ramp is a transition. */
#define PART_MIN 8

/* Minimum number of observations in a level beside a ramp. A shorter level joins the ramp. */
#define LEVEL_MIN 20

/* Minimum number of projections in a ramp. In fewer projections, a step looks like a ramp. */
#define SEEN_MIN 8

/* Price of a ramp with its two bends and its curvature, in units of ln(number of observations). */
#define PRICE 3

/* For each boundary that a ramp replaces, this is added to the ramp's gain, in units of ln(number
 * of observations). The gain decides between overlapping ramps. */
#define BOUNDARY 2

/* If a phase was found as a straight line, it is cut into this many pieces first. */
#define PIECES 4

/* Maximum number of projections of a chain. If there are more observations, the mean of each group
 * of observations is projected. A fit first tries every GRID-th projection. */
#define BINS_MAX 256
#define GRID     8

/* Number of steps in the table of a curve. */
#define WAY_STEPS 64

struct space {
    const struct rps_signals *signals;
    struct rps_level_tree tree;   /* tree whose leaves are the phases */
    double *scale;                /* by column of the tree: 1 / noise deviation of an observation */
    double *counted;              /* number of counts in each observation, for each table */
    double *base, *length;        /* per table: product of line and first phase; line's length^2 */
    struct rps_moments3 *moments; /* scratch for moments */
    double *mean;                 /* mean[phase * width + column], scaled; NaN: few values */
    int is_linear;                /* 1: the phases were found as lines, not as constants */
    double *line;                 /* line from the first phase of a chain to the last phase */
};

/* The observations from ... to - 1, projected on the line of a chain. */
struct projection {
    size_t from, to, each, count;
    double value[BINS_MAX], weight[BINS_MAX];
};

static size_t length_of(const struct rps_phase *phase)
{
    return (size_t)(phase->last - phase->first) + 1;
}

static double weight_of(const struct rps_signals *signals, size_t at)
{
    double weight = signals->weight ? (double)signals->weight[at] : 1;

    return isfinite(signals->value[at]) && weight > 0 ? fmin(weight, 1) : 0;
}

/* Set the scale of each column. The scale of values that are read, such as memory, is 0, because
 * such values may grow in any phase. */
static void set_scales(struct space *space)
{
    const struct rps_signals *signals = space->signals;
    const struct rps_level_tree *tree = &space->tree;
    size_t at = tree->signals;

    for (size_t s = 0; s < tree->signals; s++) {
        int is_read = signals->resolution && signals->noise_floor && signals->noise_floor[s] > 0;

        space->scale[s] = tree->worth[s] > 0 && !is_read ? 1 / sqrt(tree->floor[s]) : 0;
    }
    for (size_t t = 0; t < tree->mix_count; at += rps_level_table_width(&tree->mix[t++])) {
        const struct rps_mix *mix = &tree->mix[t];
        double *counted = &space->counted[t];

        for (size_t c = at; c < at + mix->width; c++)
            *counted += tree->before[tree->count * tree->width + c].weight / (double)signals->count;
        for (size_t c = 0; c < mix->width; c++) {
            double share = mix->prior[c] / mix->prior[mix->width];

            space->scale[at + c] =
                sqrt(*counted / mix->divisor / fmax(share * (1 - share), SHARE_VARIANCE_MIN));
        }
    }
}

/* Set the means of a phase. If too few values of a column were seen, its mean is NaN. */
static void set_means(struct space *space, size_t k)
{
    const struct rps_level_tree *tree = &space->tree;
    double *mean = space->mean + k * tree->width, length = (double)length_of(&tree->leaf[k]);
    size_t at = tree->signals;

    rps_level_tree_moments(tree, k, k + 1, space->moments);
    for (size_t s = 0; s < tree->signals; s++) {
        const struct rps_moments3 *own = &space->moments[s];

        mean[s] = 2 * own->weight >= length ? own->sum / own->weight * space->scale[s] : NAN;
    }
    for (size_t t = 0; t < tree->mix_count; at += rps_level_table_width(&tree->mix[t++])) {
        double all = 0;

        for (size_t c = at; c < at + tree->mix[t].width; c++)
            all += space->moments[c].weight;
        for (size_t c = at; c < at + tree->mix[t].width; c++)
            mean[c] = all > 0 ? space->moments[c].weight / all * space->scale[c] : NAN;
    }
}

/* Return the distance of phase `to` from phase `from` along the line, counting only columns from
 * `column` on. Set *ret_beside to the squared distance of phase `to` from the line. */
static double along_line(const struct space *space, size_t from, size_t to, size_t column,
                         double *ret_beside)
{
    const size_t width = space->tree.width;
    double along = 0, length = 0, squares = 0;

    for (size_t c = column; c < width; c++) {
        double off = space->mean[to * width + c] - space->mean[from * width + c];

        off = isfinite(off) ? off : 0;
        along += off * space->line[c];
        length += space->line[c] * space->line[c];
        squares += off * off;
    }
    *ret_beside = squares - (length > 0 ? along * along / length : 0);
    return along;
}

/* Compute the line from one phase to another. Return 1 if the phases between both lie on this line
 * in order. Set *ret_beside to the sum of their squared distances from the line, in the columns of
 * symbol shares. */
static int is_chain(struct space *space, size_t first, size_t last, double *ret_beside)
{
    const size_t width = space->tree.width, signals = space->tree.signals;
    double whole, beside, before = 0;

    for (size_t c = 0; c < width; c++) {
        double off = space->mean[last * width + c] - space->mean[first * width + c];

        space->line[c] = isfinite(off) ? off : 0;
    }
    whole = along_line(space, first, last, 0, &beside);
    *ret_beside = 0;
    for (size_t k = first + 1; k <= last; k++) {
        double along = along_line(space, first, k, 0, &beside);
        double length = (double)length_of(&space->tree.leaf[k]);

        if (space->tree.broken[k] || !(along > before) || along > whole ||
            beside > BESIDE_MAX * whole + 2 * (double)width / length)
            return 0;
        before = along;
        along_line(space, first, k, signals, &beside);
        *ret_beside += fmax(length * beside - (double)(width - signals), 0);
    }
    return 1;
}

/* Add the projections of observation i and their weights to the sums. */
static void add_observation(const struct space *space, size_t i, const double *from, double *sum,
                            double *weight)
{
    const struct rps_signals *signals = space->signals;
    size_t at = signals->signal_count;

    for (size_t s = 0; s < signals->signal_count; s++) {
        double part = weight_of(signals, s * signals->count + i) * space->line[s];
        double value = signals->value[s * signals->count + i] - space->tree.centre[s];

        *sum += part > 0 || part < 0 ? part * (value * space->scale[s] - from[s]) : 0;
        *weight += part * space->line[s];
    }
    for (size_t t = 0; t < signals->table_count;
         at += rps_level_table_width(&space->tree.mix[t++])) {
        const struct rps_count_table *table = &signals->table[t];

        for (size_t e = table->begin[i]; e < table->begin[i + 1]; e++) {
            size_t c = at + table->entry[e].symbol;
            double part = (double)table->entry[e].count / space->counted[t];

            *sum += part * (space->scale[c] * space->line[c] - space->base[t]);
            *weight += part * space->length[t];
        }
    }
}

/* Set `base` and `length` of each table for the line of a chain that begins at `from`. */
static void prepare_tables(struct space *space, const double *from)
{
    size_t c = space->tree.signals;

    for (size_t t = 0; t < space->tree.mix_count; t++) {
        size_t end = c + rps_level_table_width(&space->tree.mix[t]);

        space->base[t] = space->length[t] = 0;
        for (; c < end; c++) {
            space->base[t] += isfinite(from[c]) ? from[c] * space->line[c] : 0;
            space->length[t] += space->line[c] * space->line[c];
        }
    }
}

/* Project observations p->from ... p->to - 1 on the line of the chain from phase `first` on. */
static void project(struct space *space, size_t first, struct projection *p)
{
    const double *from = &space->mean[first * space->tree.width];

    prepare_tables(space, from);
    p->each = (p->to - p->from - 1) / BINS_MAX + 1;
    p->count = (p->to - p->from - 1) / p->each + 1;
    for (size_t k = 0, i = p->from; k < p->count; k++) {
        p->value[k] = p->weight[k] = 0;
        for (size_t j = 0; j < p->each && i < p->to; j++)
            add_observation(space, i++, from, &p->value[k], &p->weight[k]);
        p->value[k] /= p->weight[k] > 0 ? p->weight[k] : 1;
    }
}

/* Fit level + slope * shape[k] to the projections k ... end - 1, and return the squared residuals.
 * If `shape` is constant, only a level is fitted. */
static double squares_left(const struct projection *p, size_t k, size_t end, const double *shape)
{
    double weight = 0, mean = 0, centre = 0, squares = 0, product = 0, shapes = 0;

    for (; k < end; k++) {
        double w = p->weight[k], off = p->value[k] - mean, ahead = shape[k] - centre;

        if (!(w > 0))
            continue;
        weight += w;
        mean += w / weight * off;
        centre += w / weight * ahead;
        squares += w * off * (p->value[k] - mean);
        product += w * ahead * (p->value[k] - mean);
        shapes += w * ahead * (shape[k] - centre);
    }
    return shapes > 0 ? fmax(squares - product * product / shapes, 0) : squares;
}

/* A fit: a level, a ramp in bins low ... high - 1, and another level. */
struct fit {
    double squares; /* squared residuals of this fit */
    size_t low, high;
};

/* Try ramps whose start and end are near those of *best, in steps of `step` bins. way[i] is the
 * height of the ramp after i of WAY_STEPS steps. */
static void look_around(const struct projection *p, const double *way, size_t reach, size_t step,
                        struct fit *best)
{
    const size_t low = best->low > reach ? best->low - reach : 0, least = p->count / PART_MIN + 1;
    const size_t low_max = best->low + reach, high_max = best->high + reach;
    const size_t high = best->high > reach ? best->high - reach : 0;
    double shape[BINS_MAX], squares;

    for (size_t a = low; a <= low_max && a + least <= p->count; a += step) {
        for (size_t b = high > a + least ? high : a + least; b <= high_max && b <= p->count;
             b += step) {
            for (size_t k = 0; k < p->count; k++)
                shape[k] = k < a    ? 0
                           : k >= b ? 1
                                    : way[(2 * (k - a) + 1) * WAY_STEPS / (2 * (b - a))];
            squares = squares_left(p, 0, p->count, shape);
            if (squares < best->squares)
                *best = (struct fit){squares, a, b};
        }
    }
}

static struct fit find_ramp(const struct projection *p)
{
    static const double curve[] = {0, -1, 1, -2, 2, -4, 4};
    struct fit best = {.squares = INFINITY};
    double way[WAY_STEPS];

    for (size_t c = 0; c < sizeof(curve) / sizeof(curve[0]); c++) {
        struct fit own = {INFINITY, 0, p->count};

        for (size_t k = 0; k < WAY_STEPS; k++) {
            way[k] = ((double)k + .5) / WAY_STEPS;
            way[k] = c > 0 ? log1p(expm1(curve[c]) * way[k]) / curve[c] : way[k];
        }
        look_around(p, way, p->count, GRID, &own);
        look_around(p, way, GRID, 1, &own);
        best = own.squares < best.squares ? own : best;
    }
    return best;
}

/* Return the squared residuals of a chain whose phases are constants. If the phases were found as
 * straight lines, return the squared residuals of one line for the whole chain. */
static double squares_of_phases(const struct space *space, size_t first, size_t last,
                                const struct projection *p)
{
    static const double flat[BINS_MAX];
    const struct rps_phase *phase = space->tree.leaf;
    double squares = 0, line[BINS_MAX];

    for (size_t k = first, at = 0, end; k <= last; k++, at = end) {
        end = k == last ? p->count : (size_t)(phase[k + 1].first - p->from) / p->each;
        squares += squares_left(p, at, end, flat);
    }
    for (size_t k = 0; k < p->count; k++)
        line[k] = (double)k;
    return space->is_linear ? fmin(squares, squares_left(p, 0, p->count, line)) : squares;
}

/* Fit a ramp in place of a chain. The first half of the chain's first phase, and the second half of
 * its last phase, may belong to other ramps. Each half is used only if the ramp reaches it. */
static struct rps_ramp ramp_of(struct space *space, size_t first, size_t last)
{
    const struct rps_phase *begin = &space->tree.leaf[first], *end = &space->tree.leaf[last];
    struct projection p = {.from = begin->first + (first > 0 ? length_of(begin) / 2 : 0),
                           .to = end->last + 1 -
                                 (last + 1 < space->tree.count ? length_of(end) / 2 : 0)};
    size_t most = 0, seen = 0;
    struct fit fit;

    project(space, first, &p);
    fit = find_ramp(&p);
    p.from = fit.low == 0 ? begin->first : p.from;
    p.to = fit.high == p.count ? end->last + 1 : p.to;
    project(space, first, &p);
    fit = find_ramp(&p);
    for (size_t k = fit.low; k < fit.high; k++)
        seen += p.weight[k] > 0;
    for (size_t c = 1; c < space->tree.width; c++)
        most = fabs(space->line[c]) > fabs(space->line[most]) ? c : most;
    return (struct rps_ramp){.first = p.from + fit.low * p.each,
                             .end = fit.high == p.count ? p.to : p.from + fit.high * p.each,
                             .trend = space->line[most] > 0 ? 1 : -1,
                             .gain = seen < SEEN_MIN
                                         ? 0
                                         : squares_of_phases(space, first, last, &p) - fit.squares +
                                               (double)(last - first - 1) -
                                               PRICE * log((double)(p.to - p.from))};
}

/* Cut long phases that were found as straight lines into pieces. */
static void split(struct rps_arena *arena, struct rps_phases *phases)
{
    struct rps_phase *piece = rps_arena_get(arena, phases->count, PIECES * sizeof(*piece));
    size_t count = 0;

    for (size_t k = 0; k < phases->count; k++) {
        size_t length = length_of(&phases->phase[k]);
        size_t pieces = length < PIECES * LEVEL_MIN ? 1 : PIECES;

        for (size_t j = 0; j < pieces; j++) {
            piece[count] = phases->phase[k];
            piece[count].first += j * length / pieces;
            piece[count++].last = phases->phase[k].first + (j + 1) * length / pieces - 1;
        }
    }
    phases->phase = piece;
    phases->count = count;
}

static void space_make(struct rps_arena *arena, struct rps_phases *phases, struct space *space)
{
    if (space->is_linear)
        split(arena, phases);
    space->tree = rps_level_tree_make(arena, space->signals, phases);
    space->scale = rps_arena_get(arena, space->tree.width, sizeof(*space->scale));
    space->counted = rps_arena_get(arena, space->tree.mix_count, sizeof(*space->counted));
    space->base = rps_arena_get(arena, space->tree.mix_count, sizeof(*space->base));
    space->length = rps_arena_get(arena, space->tree.mix_count, sizeof(*space->length));
    space->moments = rps_arena_get(arena, space->tree.width, sizeof(*space->moments));
    space->line = rps_arena_get(arena, space->tree.width, sizeof(*space->line));
    space->mean = rps_arena_get(arena, space->tree.count, space->tree.width * sizeof(*space->mean));
    set_scales(space);
    for (size_t k = 0; k < space->tree.count; k++)
        set_means(space, k);
}

static int overlap(const struct rps_ramp *a, const struct rps_ramp *b)
{
    return a->first < b->end && b->first < a->end;
}

/* Add a ramp in place of the ramps it overlaps, unless one of those has at least the same gain. */
static void keep_best(struct rps_arena *arena, struct rps_ramps *ramps, struct rps_ramp ramp)
{
    size_t kept = 0;

    for (size_t r = 0; r < ramps->count; r++) {
        if (overlap(&ramps->ramp[r], &ramp) && ramps->ramp[r].gain >= ramp.gain)
            return;
    }
    for (size_t r = 0; r < ramps->count; r++) {
        if (!overlap(&ramps->ramp[r], &ramp))
            ramps->ramp[kept++] = ramps->ramp[r];
    }
    ramps->count = kept;
    ramps->ramp = rps_arena_grow(arena, ramps->ramp, ramps->count, sizeof(ramp));
    ramps->ramp[ramps->count++] = ramp;
}

/* Drop the ramps in which a phase begins. */
static void drop_cut(const struct rps_phases *phases, struct rps_ramps *ramps)
{
    size_t kept = 0;

    for (size_t r = 0; r < ramps->count; r++) {
        size_t k = 0;

        while (k < phases->count && phases->phase[k].first <= ramps->ramp[r].first)
            k++;
        if (k == phases->count || phases->phase[k].first >= ramps->ramp[r].end)
            ramps->ramp[kept++] = ramps->ramp[r];
    }
    ramps->count = kept;
}

void rps_ramps_find(struct rps_arena *arena, const struct rps_signals *signals,
                    const struct rps_phases *phases, int is_linear, struct rps_ramps *ramps)
{
    struct rps_arena *scratch = rps_arena_new();
    struct rps_phases own = *phases;
    struct space space = {.signals = signals, .is_linear = is_linear};
    const size_t part = signals->count / PART_MIN, least = part > LEVEL_MIN ? part : LEVEL_MIN;

    space_make(scratch, &own, &space);
    drop_cut(phases, ramps);
    for (size_t first = 0; first < space.tree.count; first++) {
        for (size_t k = first + 1; k <= first + CHAIN_MAX && k < space.tree.count; k++) {
            struct rps_ramp ramp;
            double beside;

            if (space.tree.leaf[k].last - space.tree.leaf[first].first < least ||
                !is_chain(&space, first, k, &beside))
                continue;
            ramp = ramp_of(&space, first, k);
            ramp.gain -= beside;
            if (!(ramp.gain > 0) || ramp.end - ramp.first < least)
                continue;
            ramp.gain += BOUNDARY * (double)(k - first - 1) * log((double)signals->count);
            keep_best(arena, ramps, ramp);
        }
    }
    rps_arena_free(scratch);
}

/* Append observations first ... end - 1 of a phase, if there are any. */
static void append(struct rps_phases *out, const struct rps_phase *of, size_t first, size_t end,
                   int trend)
{
    struct rps_phase *phase = &out->phase[out->count];

    if (first >= end)
        return;
    *phase = *of;
    phase->trend = trend;
    phase->last = end - 1;
    phase->label = (int)out->count++;
    if (first == of->first)
        return;
    phase->first = phase->earliest = phase->latest = first;
    phase->confidence = 1;
}

static void put(struct rps_arena *arena, struct rps_phases *phases, struct rps_ramp ramp)
{
    struct rps_phases out = {.phase = rps_arena_get(arena, phases->count + 2, sizeof(*out.phase))};

    for (size_t k = 0; k < phases->count; k++) {
        const struct rps_phase *own = &phases->phase[k];

        if (own->first < ramp.first && ramp.first <= own->last &&
            ramp.first - own->first < LEVEL_MIN)
            ramp.first = own->first;
        if (own->first < ramp.end && ramp.end <= own->last && own->last + 1 - ramp.end < LEVEL_MIN)
            ramp.end = own->last + 1;
    }
    for (size_t k = 0; k < phases->count; k++) {
        const struct rps_phase *own = &phases->phase[k];
        size_t first = own->first, end = own->last + 1;

        append(&out, own, first, end < ramp.first ? end : ramp.first, own->trend);
        if (first <= ramp.first && ramp.first < end)
            append(&out, own, ramp.first, ramp.end, ramp.trend);
        append(&out, own, first > ramp.end ? first : ramp.end, end, own->trend);
    }
    phases->phase = out.phase;
    phases->count = out.count;
    phases->label_count = (int)out.count;
}

void rps_ramps_put(struct rps_arena *arena, const struct rps_ramps *ramps,
                   struct rps_phases *phases)
{
    for (size_t r = 0; r < ramps->count; r++)
        put(arena, phases, ramps->ramp[r]);
}

/* Join neighbouring phases that are one rise. A rise is cut into several phases for two reasons:
 * values are on a curved scale, and the slope of a rise over hours varies. But the values in each
 * such phase begin where the values of the previous phase end.
 *
 * From the middle of one phase to the middle of the next, a signal's change has three parts. These
 * are the change along the first line up to the boundary, the jump between the lines at the
 * boundary, and the change along the second line. Each signal is weighted by the square of its
 * total change. */

/* Maximum squared jump at a boundary, as a share of the squared total change. */
#define APART_MAX .1

/* Maximum ratio of the slopes of two phases that are parts of one rise. */
#define STEEPER_MAX 4

/* Minimum number of values for a line. */
#define VALUES_MIN 4

/* Straight line through the values of a signal in a phase. */
struct line {
    double count, time, level; /* number of values, mean time, mean value */
    double slope;
    double squares; /* sum of the squared residuals */
};

static struct line line_of(const struct rps_signals *signals, size_t signal,
                           const struct rps_phase *phase)
{
    struct line line = {0};
    double time = 0, value = 0, moment = 0;
    size_t base = signal * signals->count;

    for (size_t i = phase->first; i <= phase->last; i++) {
        double weight = signals->weight ? (double)signals->weight[base + i] : 1, t, v;

        if (!isfinite(signals->value[base + i]) || !(weight > 0))
            continue;
        line.count += weight;
        t = (double)i - line.time;
        v = signals->value[base + i] - line.level;
        line.time += weight / line.count * t;
        line.level += weight / line.count * v;
        time += weight * t * ((double)i - line.time);
        moment += weight * t * (signals->value[base + i] - line.level);
        value += weight * v * (signals->value[base + i] - line.level);
    }
    line.slope = time > 0 ? moment / time : 0;
    line.squares = fmax(value - line.slope * moment, 0);
    return line;
}

static int is_rise(const struct rps_signals *signals, const struct rps_phase *a,
                   const struct rps_phase *b)
{
    double at = (double)b->first - .5, far = 0, apart = 0, before = 0, behind = 0;

    for (size_t s = 0; s < signals->signal_count; s++) {
        struct line x = line_of(signals, s, a), y = line_of(signals, s, b);
        double resolution = signals->resolution ? signals->resolution[s] : 0, noise, way, jump;

        if (x.count < VALUES_MIN || y.count < VALUES_MIN)
            continue;
        noise = (x.squares + y.squares) / (x.count + y.count) + resolution * resolution;
        if (!(noise > 0))
            return 0;
        way = y.level - x.level;
        jump = way - x.slope * (at - x.time) - y.slope * (y.time - at);
        far += way * way / noise;
        apart += jump * jump / noise;
        before += x.slope * way / noise;
        behind += y.slope * way / noise;
    }
    return far > 0 && apart <= APART_MAX * far && before > 0 && behind > 0 &&
           fmax(before, behind) <= STEEPER_MAX * fmin(before, behind);
}

size_t rps_rise_join(const struct rps_signals *signals, struct rps_phases *phases)
{
    struct rps_phase before = phases->count > 0 ? phases->phase[0] : (struct rps_phase){0};
    size_t kept = 1;

    for (size_t k = 1; k < phases->count; k++) {
        struct rps_phase now = phases->phase[k];
        int is_gap = signals->broken && signals->broken[now.first];

        if (!is_gap && is_rise(signals, &before, &now))
            phases->phase[kept - 1].last = now.last;
        else
            phases->phase[kept++] = now;
        before = now;
    }
    kept = phases->count - (phases->count > 0 ? kept : 0);
    phases->count -= kept;
    return kept;
}
