/*
 * The steps from prepared signals to labelled segments.
 *
 * After labelling, all observations are decoded once more with the labels' own means: a change
 * between two unknown means must pay for fitting a mean in every signal, one between known means
 * need not. A model of few recurring phases is a simpler one than its number of segments says, and
 * its criterion counts it so; else lines are preferred to weak recurring steps.
 */
#include "detect_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "detect_confidence.h"
#include "detect_decode.h"
#include "detect_math.h"

/* Phases shorter than this are outliers: the running median takes three observations away. */
#define LENGTH_DEFAULT 4
#define LENGTH_SHORT   3
#define COUNT_SHORT    60

#define REFINE_ROUNDS 2

/* The inflation of a random walk is taken for this. */
#define INFLATION_MAX 199

struct finding {
    struct rps_observed *observed;
    const struct rps_detect_options *options;
    struct rps_candidates candidates;
    struct rps_noise *none; /* owned; of no changes */
    size_t shortest;
};

void rps_model_free(struct rps_model *model)
{
    free(model->confidence);
    free(model->place);
    rps_labels_free(&model->labels);
    rps_segmentation_free(&model->segmentation);
    free(model->noise);
    memset(model, 0, sizeof(*model));
}

static int search(struct finding *f, struct rps_model *model, struct rps_error *err)
{
    if (model->choice.none)
        return rps_segmentation_at(f->observed, NULL, &model->segmentation, err);
    if (f->options->exact) {
        rps_candidates_free(&f->candidates);
        if (rps_candidates_make(f->observed, NULL, model->linear, &f->candidates, err) < 0)
            return RPS_FAILED;
    }
    if (rps_segmentation_search(&f->candidates, &model->choice.penalties, &model->segmentation,
                                err) < 0)
        return RPS_FAILED;
    if (!f->options->exact &&
        rps_segmentation_refine(f->observed, &model->choice.penalties, REFINE_ROUNDS, 0,
                                &model->segmentation, NULL, err) < 0)
        return RPS_FAILED;
    return 0;
}

static int measure(struct finding *f, struct rps_model *model, struct rps_error *err)
{
    if (rps_noise_measure(f->observed, &model->segmentation, model->noise, err) < 0)
        return RPS_FAILED;
    model->autocorrelation = rps_noise_autocorrelation(f->observed, model->noise);
    model->inflation =
        fmin((1 + model->autocorrelation) / (1 - model->autocorrelation), INFLATION_MAX);
    return 0;
}

/* Least squares plus penalties, without the squares of all values. */
static int find_objective(struct finding *f, struct rps_model *model, struct rps_error *err)
{
    const struct rps_penalties *penalties = &model->choice.penalties;
    struct rps_candidates candidates = {0};

    if (rps_segmentation_candidates(f->observed, &model->segmentation, model->linear, &candidates,
                                    err) < 0)
        return RPS_FAILED;
    model->objective = penalties->change * (double)model->segmentation.free +
                       penalties->slope * (double)model->segmentation.sloped_count;
    for (size_t k = 0; k < model->segmentation.count; k++) {
        struct rps_candidate_gain gain = rps_candidates_gain(&candidates, k, k + 1);

        model->objective -= model->segmentation.sloped[k] ? gain.line : gain.constant;
    }
    rps_candidates_free(&candidates);
    return 0;
}

/* The criterion, when the segments of a label are known to have one mean. What fitting more means
 * than that would gain by chance is taken back. */
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

/* Neighbours with one label are one segment. */
static void merge_alike(struct rps_model *model)
{
    struct rps_segmentation *segmentation = &model->segmentation;
    int *label = model->labels.label;
    size_t kept = 0;

    for (size_t k = 0; k < segmentation->count; k++) {
        if (kept > 0 && !segmentation->forced[k] && label[k] == label[kept - 1])
            continue;
        label[kept] = label[k];
        rps_segmentation_move(segmentation, k, kept++);
    }
    rps_segmentation_shorten(segmentation, kept);
}

/* Labels, and with them the segments once more. */
static int label(struct finding *f, struct rps_model *model, struct rps_error *err)
{
    int variance = f->options->variance;

    if (rps_labels_find(f->observed, &model->segmentation, model->confidence, variance,
                        model->inflation, &model->labels, err) < 0)
        return RPS_FAILED;
    if (!variance && rps_decode(f->observed, f->shortest, model->inflation, &model->segmentation,
                                &model->labels, &model->recurring, err) < 0)
        return RPS_FAILED;
    merge_alike(model);
    if (rps_labels_grade(f->observed, &model->segmentation, variance, model->inflation,
                         &model->labels, err) < 0 ||
        measure(f, model, err) < 0)
        return RPS_FAILED;
    if (model->recurring)
        model->criterion = fmin(model->criterion, recurring_criterion(f, model));
    return 0;
}

static int place(struct finding *f, struct rps_model *model, struct rps_error *err)
{
    free(model->place);
    model->place = calloc(model->segmentation.count, sizeof(*model->place));
    if (!model->place)
        return rps_error_memory(err);
    return rps_segmentation_refine(f->observed, &model->choice.penalties, 0,
                                   RPS_PLACE_SLACK * model->inflation, &model->segmentation,
                                   model->place, err);
}

static int find(struct finding *f, struct rps_model *model, struct rps_error *err)
{
    if (search(f, model, err) < 0 || measure(f, model, err) < 0 ||
        find_objective(f, model, err) < 0)
        return RPS_FAILED;
    if (f->options->variance &&
        rps_segmentation_split(f->observed, model->noise, rps_choose_penalty(f->observed, 1),
                               f->shortest, &model->segmentation, err) < 0)
        return RPS_FAILED;
    if (rps_confidence_find(f->observed, 1, model, err) < 0 || label(f, model, err) < 0 ||
        rps_confidence_find(f->observed, 0, model, err) < 0 || place(f, model, err) < 0)
        return RPS_FAILED;
    model->wanders =
        model->segmentation.free > 0 && !model->segmentation.spread &&
        rps_noise_wanders(f->observed, f->none, model->noise,
                          model->segmentation.count + model->segmentation.sloped_count);
    return 0;
}

/* The noise that is left without any changes. */
static int measure_none(struct finding *f, struct rps_error *err)
{
    struct rps_segmentation blocks;
    int result = rps_segmentation_at(f->observed, NULL, &blocks, err);

    if (result == 0) {
        result = rps_noise_measure(f->observed, &blocks, f->none, err);
        rps_segmentation_free(&blocks);
    }
    return result;
}

int rps_model_find(struct rps_observed *observed, const struct rps_detect_options *options,
                   const struct rps_candidates *constants, double beat, struct rps_model *ret,
                   struct rps_candidates *ret_few, struct rps_error *err)
{
    struct finding f = {.observed = observed, .options = options};
    struct rps_model model = {.linear = constants != NULL};
    struct rps_candidates few = {0};
    int result;

    for (size_t s = 0; s < observed->width; s++)
        observed->gain[s] = 1;
    f.shortest = options->min_length;
    if (f.shortest == 0)
        f.shortest = observed->count < COUNT_SHORT ? LENGTH_SHORT : LENGTH_DEFAULT;
    f.none = calloc(observed->width, sizeof(*f.none));
    model.noise = calloc(observed->width, sizeof(*model.noise));
    result = f.none && model.noise ? measure_none(&f, err) : rps_error_memory(err);
    if (result == 0)
        result = rps_candidates_screen(observed, constants, &f.candidates, err);
    if (result == 0)
        result = rps_choose(&f.candidates, f.none, f.shortest, &model.choice, &few, err);
    model.criterion = model.choice.criterion;
    if (result == 0 && (!constants || model.criterion < beat))
        result = find(&f, &model, err);
    free(f.none);
    rps_candidates_free(&f.candidates);
    if (result < 0 || !ret_few)
        rps_candidates_free(&few);
    else
        *ret_few = few;
    if (result < 0)
        rps_model_free(&model);
    else
        *ret = model;
    return result;
}
