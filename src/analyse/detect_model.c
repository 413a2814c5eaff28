/* Find labelled segments in prepared signals.
 *
 * After labelling, the segments are found once more with the means of the labels (decoding). A
 * change between two unknown means has a penalty for fitting a mean in every signal. A change
 * between known means does not have this penalty. A model of few recurring phases is simpler than
 * its number of segments suggests. So the model's criterion is reduced. Otherwise the model with
 * lines would be chosen instead of weak recurring steps. */
#include "detect_model.h"

#include <math.h>

#include "detect_math.h"
#include "levels_tree.h"

/* Default minimum length of a phase. It must be more than three, because the running median may
 * remove three observations. */
#define LENGTH_DEFAULT 4
#define LENGTH_SHORT   3
#define COUNT_SHORT    60
#define LENGTH_BLOCKS  1

#define REFINE_ROUNDS 2

/* Segments are decoded with one mean if their difference is below this share of the usual
 * difference between neighbours. The limit is low, because two means for one class do less harm
 * than one mean for two classes. */
#define ALIKE .1

/* Maximum variance inflation, reached by a random walk. */
#define INFLATION_MAX 199

struct finding {
    const struct rps_signals *signals;
    struct rps_observed *observed;
    const struct rps_detect_options *options;
    struct rps_arena *scratch;
    struct rps_candidates candidates;
    struct rps_noise *none; /* noise of a model without changes */
    size_t shortest;
};

static void search(struct finding *f, struct rps_model *model)
{
    if (model->choice.none) {
        model->segmentation = rps_segmentation_at(model->arena, f->observed, NULL);
        return;
    }
    if (f->options->exact)
        f->candidates = rps_candidates_make(f->scratch, f->observed, NULL, model->linear);
    model->segmentation =
        rps_segmentation_search(model->arena, &f->candidates, &model->choice.penalties);
    if (!f->options->exact)
        rps_segmentation_refine(f->observed, &model->choice.penalties, REFINE_ROUNDS, 0,
                                &model->segmentation, NULL);
}

static void measure(struct finding *f, struct rps_model *model)
{
    rps_noise_measure(f->observed, &model->segmentation, model->noise);
    model->autocorrelation = rps_noise_autocorrelation(f->observed, model->noise);
    model->inflation =
        fmin((1 + model->autocorrelation) / (1 - model->autocorrelation), INFLATION_MAX);
}

/* Compute the objective: least squares plus penalties. The objective does not include the sum of
 * the squares of all values. */
static void find_objective(struct finding *f, struct rps_model *model)
{
    const struct rps_penalties *penalties = &model->choice.penalties;
    struct rps_candidates candidates =
        rps_segmentation_candidates(f->scratch, f->observed, &model->segmentation, model->linear);

    model->objective = penalties->change * (double)model->segmentation.free +
                       penalties->slope * (double)model->segmentation.sloped_count;
    for (size_t k = 0; k < model->segmentation.count; k++) {
        struct rps_candidate_gain gain = rps_candidates_gain(&candidates, k, k + 1);

        model->objective -= model->segmentation.sloped[k] ? gain.line : gain.constant;
    }
}

/* Return the criterion for segments that have one known mean per label. The criterion does not
 * include the gain by chance from fitting several means per label. */
static double recurring_criterion(const struct finding *f, const struct rps_model *model)
{
    const struct rps_observed *observed = f->observed;
    double dof = observed->degrees_of_freedom, segments = (double)model->segmentation.count;
    double labels = (double)model->labels.count, penalty = 0;

    for (size_t k = 1; k <= model->segmentation.free; k++) {
        double place = 2 * log((double)observed->count / (double)k);

        penalty += place + 2 * log(labels);
        if ((double)k < labels)
            penalty += rps_choose_penalty(observed, k) - place;
    }
    return rps_noise_fit(observed, f->none, model->noise) + dof * (segments - labels) + penalty;
}

/* Return the neighbour that segment k is closest to: -1 or 1. Return 0 if more than a third of the
 * signals have values outside the range of both neighbours. In a mixture of both neighbours, only a
 * ratio of events from two sets may be outside this range. */
static int nearer_side(const struct rps_observed *observed, const size_t *first, size_t k)
{
    double reach = RPS_CLIP_DEVIATIONS * sqrt(observed->unit), before = 0, after = 0;
    size_t outside = 0;

    for (size_t s = 0; s < observed->width; s++) {
        double a = rps_observed_mean(observed, first[k - 1], first[k], s);
        double value = rps_observed_mean(observed, first[k], first[k + 1], s);
        double b = rps_observed_mean(observed, first[k + 1], first[k + 2], s);

        outside += value > fmax(a, b) + reach || value < fmin(a, b) - reach;
        before += (value - a) * (value - a);
        after += (value - b) * (value - b);
    }
    return 3 * outside > observed->width ? 0 : before < after ? -1 : 1;
}

/* If a segment of one block contains a change, it is a mixture of two phases, which may look like a
 * third phase. Give the segment the label of the nearer neighbour. Do so only if the two phases
 * follow each other directly more often than with this mixture between them. */
static void join_mixed(const struct rps_observed *observed, struct rps_model *model)
{
    const struct rps_segmentation *segmentation = &model->segmentation;
    int *label = model->labels.label;

    for (size_t k = 1; k + 1 < segmentation->count; k++) {
        int before = label[k - 1], after = label[k + 1], more = 0, side;

        if (segmentation->first[k + 1] - segmentation->first[k] > 1 || before == after ||
            segmentation->forced[k] || segmentation->forced[k + 1])
            continue;
        side = nearer_side(observed, segmentation->first, k);
        for (size_t j = 0; side != 0 && j + 1 < segmentation->count; j++) {
            int is_mixed =
                j + 2 < segmentation->count && label[j + 1] == label[k] && label[j + 2] == after;

            if (label[j] == before)
                more += (label[j + 1] == after) - is_mixed;
        }
        if (more > 0)
            label[k] = side < 0 ? before : after;
    }
}

/* Merge neighbouring segments that have the same label. */
static void merge_alike(struct rps_model *model)
{
    struct rps_segmentation *segmentation = &model->segmentation;
    int *label = model->labels.label;
    size_t kept = 0;

    for (size_t k = 0; k < segmentation->count; k++) {
        if (kept > 0 && !segmentation->forced[k] && label[k] == label[kept - 1])
            continue;
        label[kept] = label[k];
        if (model->labels.apart)
            model->labels.apart[kept] = model->labels.apart[k];
        rps_segmentation_move(segmentation, k, kept++);
    }
    rps_segmentation_shorten(segmentation, kept);
}

static void find_labels(struct finding *f, struct rps_model *model)
{
    const struct rps_segmentation *segmentation = &model->segmentation;
    size_t count = segmentation->count, *leaf = rps_arena_get(f->scratch, count + 1, sizeof(*leaf));
    struct rps_phases phases = {.count = count,
                                .phase = rps_arena_get(f->scratch, count, sizeof(*phases.phase)),
                                .outlier_count = f->observed->outlier_count,
                                .outlier = f->observed->outlier};
    double *sure = rps_arena_get(f->scratch, count, sizeof(*sure));
    struct rps_signals values = *f->signals;
    struct rps_level_tree tree;

    for (size_t k = 0; k < count; k++)
        phases.phase[k] = (struct rps_phase){.first = segmentation->first[k],
                                             .last = segmentation->first[k + 1] - 1,
                                             .confidence = 1};
    for (size_t k = 0; k <= count; k++)
        leaf[k] = k;
    values.table_count = 0;
    tree = rps_level_tree_make(f->scratch, &values, &phases);
    model->labels.label = rps_arena_get(model->arena, count, sizeof(*model->labels.label));
    model->labels.count =
        rps_level_tree_label(&tree, leaf, count, ALIKE, NULL, model->labels.label, sure);
}

/* Find labels, then find the segments again by decoding with the means of the labels. */
static void label(struct finding *f, struct rps_model *model)
{
    find_labels(f, model);
    model->recurring = rps_decode(model->arena, f->observed, f->shortest, model->inflation,
                                  &model->segmentation, &model->labels);
    if (f->signals->in_blocks)
        join_mixed(f->observed, model);
    merge_alike(model);
    measure(f, model);
    if (model->recurring)
        model->criterion = fmin(model->criterion, recurring_criterion(f, model));
}

static void find(struct finding *f, struct rps_model *model)
{
    search(f, model);
    measure(f, model);
    find_objective(f, model);
    rps_confidence_find(f->observed, 1, model);
    label(f, model);
    rps_confidence_find(f->observed, 0, model);
    model->place = rps_arena_get(model->arena, model->segmentation.count, sizeof(*model->place));
    rps_segmentation_refine(f->observed, &model->choice.penalties, 0,
                            RPS_PLACE_SLACK * model->inflation, &model->segmentation, model->place);
    model->is_drifting = model->segmentation.free > 0 &&
                         rps_noise_drifts(f->observed, f->none, model->noise, &model->segmentation);
}

struct rps_model rps_model_find(struct rps_arena *arena, struct rps_observed *observed,
                                const struct rps_signals *signals,
                                const struct rps_detect_options *options,
                                const struct rps_candidates *constants, double beat,
                                struct rps_candidates *ret_few)
{
    struct finding f = {.signals = signals,
                        .observed = observed,
                        .options = options,
                        .scratch = rps_arena_new(),
                        .shortest = options->min_length};
    struct rps_model model = {.arena = arena, .linear = constants != NULL};
    struct rps_segmentation blocks = rps_segmentation_at(f.scratch, observed, NULL);

    for (size_t s = 0; s < observed->width; s++)
        observed->gain[s] = 1;
    if (f.shortest == 0)
        f.shortest = signals->in_blocks              ? LENGTH_BLOCKS
                     : observed->count < COUNT_SHORT ? LENGTH_SHORT
                                                     : LENGTH_DEFAULT;
    f.none = rps_arena_get(f.scratch, observed->width, sizeof(*f.none));
    model.noise = rps_arena_get(arena, observed->width, sizeof(*model.noise));
    rps_noise_measure(observed, &blocks, f.none);
    f.candidates = rps_candidates_screen(arena, observed, constants);
    model.choice = rps_choose(arena, &f.candidates, f.none, f.shortest, ret_few);
    model.criterion = model.choice.criterion;
    if (!constants || model.criterion < beat)
        find(&f, &model);
    rps_arena_free(f.scratch);
    return model;
}

/* Compute the confidence in boundaries. */

/* Number of values of the usual noise that are added when the noise of a segment is estimated. A
 * segment with few values is too short for an estimate of its noise alone. */
#define PRIOR 20

/* Minimum squared distance between the means of neighbours, as a multiple of the largest difference
 * that does not matter. Neighbours with closer means are joined. */
#define APART_MIN 12

struct judging {
    struct rps_observed *observed;
    struct rps_model *model;
    struct rps_candidates candidates;
    double *squares, *weight; /* residuals of each segment: sum of squares, weight */
    double penalty;
};

static void find_squares(struct judging *j, size_t k, struct rps_fit *fit)
{
    const struct rps_observed *observed = j->observed;
    const struct rps_segmentation *segmentation = &j->model->segmentation;
    size_t width = observed->width;

    for (size_t s = 0; s < width; s++)
        fit[s] = rps_segmentation_fit(observed, segmentation, k, s);
    for (size_t i = segmentation->first[k]; i < segmentation->first[k + 1]; i++) {
        for (size_t s = 0; s < width; s++) {
            double part = rps_observed_part(observed, i * width + s);
            double left =
                (observed->value[i * width + s] - fit[s].level - fit[s].slope * (double)i) *
                observed->gain[s];

            j->squares[k] += part * left * left / observed->unit;
            j->weight[k] += part;
        }
    }
}

static void judging_begin(struct rps_arena *arena, struct judging *j)
{
    const struct rps_segmentation *segmentation = &j->model->segmentation;
    struct rps_fit *fit = rps_arena_get(arena, j->observed->width, sizeof(*fit));

    j->squares = rps_arena_get(arena, segmentation->count, sizeof(*j->squares));
    j->weight = rps_arena_get(arena, segmentation->count, sizeof(*j->weight));
    j->candidates = rps_segmentation_candidates(arena, j->observed, segmentation, j->model->linear);
    for (size_t k = 0; k < segmentation->count; k++)
        find_squares(j, k, fit);
}

/* Return by how much a boundary at candidate `at` decreases the segment's squares. */
static double gain_of(const struct judging *j, size_t from, size_t at, size_t to)
{
    struct rps_candidate_gain left = rps_candidates_gain(&j->candidates, from, at);
    struct rps_candidate_gain right = rps_candidates_gain(&j->candidates, at, to);
    struct rps_candidate_gain both = rps_candidates_gain(&j->candidates, from, to);

    return j->model->linear ? left.line + right.line - both.line
                            : left.constant + right.constant - both.constant;
}

/* Return the confidence in a boundary: gain minus penalty determines the odds. The noise is
 * estimated from the segments on both sides. If labels have known means, the gain from these means
 * is used if it gives more confidence. */
static double confidence_of(const struct judging *j, size_t from, size_t at, double gain)
{
    const struct rps_model *model = j->model;
    double local =
        (j->squares[from] + j->squares[at] + PRIOR) / (j->weight[from] + j->weight[at] + PRIOR);
    double over = gain / (model->inflation * fmax(1, local)) - j->penalty;

    if (model->recurring)
        over = fmax(over, (model->labels.apart[at] / model->inflation -
                           rps_decode_penalty(j->observed, &model->segmentation, &model->labels)));
    return 1 / (1 + exp(-over / 2));
}

/* Return the distance between the mean of segment k and the mean of the observations from segment
 * `from` up to k. Recurring phases are never exactly the same. However many observations there are,
 * the means of such phases differ by a share of the tolerance. */
static double means_apart(const struct judging *j, size_t from, size_t k)
{
    const struct rps_observed *observed = j->observed;
    const struct rps_segmentation *segmentation = &j->model->segmentation;
    size_t a = j->candidates.at[from], b = segmentation->first[k], c = segmentation->first[k + 1];
    double apart = 0;

    for (size_t s = 0; s < observed->width; s++) {
        double before = rps_observed_weight(observed, a, b, s);
        double behind = rps_observed_weight(observed, b, c, s);
        double step = rps_observed_mean(observed, b, c, s) - rps_observed_mean(observed, a, b, s);
        double gain = observed->gain[s] * observed->gain[s];

        if (before > 0 && behind > 0)
            apart += step * step * gain / (1 / before + 1 / behind + observed->tolerance[s] * gain);
    }
    return segmentation->sloped_count > 0 ? INFINITY : apart;
}

void rps_confidence_find(struct rps_observed *observed, int drop, struct rps_model *model)
{
    struct judging j = {.observed = observed, .model = model};
    struct rps_segmentation *segmentation = &model->segmentation;
    struct rps_arena *scratch = rps_arena_new();
    size_t kept = 0;

    judging_begin(scratch, &j);
    model->confidence =
        rps_arena_get(model->arena, segmentation->count, sizeof(*model->confidence));
    j.penalty = rps_choose_penalty(observed, segmentation->free > 0 ? segmentation->free : 1);
    for (size_t k = 0, from = 0; k < segmentation->count; k++) {
        double gain = k > 0 ? gain_of(&j, from, k, k + 1) : 0;
        double sure = k > 0 ? confidence_of(&j, from, k, gain) : 1;

        if (drop && !segmentation->forced[k] &&
            (sure < 0.5 || means_apart(&j, from, k) < APART_MIN)) {
            j.squares[from] += j.squares[k] + fmax(0, gain / observed->unit);
            j.weight[from] += j.weight[k];
            continue;
        }
        from = k;
        model->confidence[kept] = sure;
        rps_segmentation_move(segmentation, k, kept++);
    }
    rps_segmentation_shorten(segmentation, kept);
    rps_arena_free(scratch);
}
