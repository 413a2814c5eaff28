/*
 * The steps from prepared signals to labelled segments.
 *
 * After labelling, all observations are decoded once more with the labels' own means. A change
 * between two unknown means must pay for fitting a mean in every signal; a change between known
 * means need not. A model of few recurring phases is simpler than its number of segments suggests,
 * and its criterion allows for that. Otherwise lines would be preferred to weak recurring steps.
 */
#include "detect_model.h"

#include <math.h>

#include "detect_confidence.h"
#include "detect_decode.h"
#include "detect_math.h"
#include "levels_tree.h"

/* Shorter phases are outliers: the running median removes three observations. */
#define LENGTH_DEFAULT 4
#define LENGTH_SHORT   3
#define COUNT_SHORT    60
#define LENGTH_BLOCKS  1

#define REFINE_ROUNDS 2

/* Segments that are decoded with one mean differ by less than this share of the difference of
 * neighbours. Two means for one phase class are less harmful than one mean for two classes. */
#define ALIKE .1

/* The inflation of a random walk is limited to this. */
#define INFLATION_MAX 199

struct finding {
    const struct rps_signals *signals;
    struct rps_observed *observed;
    const struct rps_detect_options *options;
    struct rps_arena *scratch;
    struct rps_candidates candidates;
    struct rps_noise *none; /* without changes */
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

/* Compute least squares plus penalties, without the squares of all values. */
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

/* Return the criterion if the segments of a label have one known mean. The chance gain from fitting
 * more than one is taken back. */
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
    return rps_noise_fit(observed, f->none, model->noise, model->segmentation.count) +
           dof * (segments - labels) + penalty;
}

/* Merge neighbours with the same label. */
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

/* Find the segments that are alike. */
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

/* Find labels, and with them the segments once more. */
static void label(struct finding *f, struct rps_model *model)
{
    find_labels(f, model);
    model->recurring = rps_decode(model->arena, f->observed, f->shortest, model->inflation,
                                  &model->segmentation, &model->labels);
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
    model->wanders = model->segmentation.free > 0 &&
                     rps_noise_wanders(f->observed, f->none, model->noise, &model->segmentation);
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
