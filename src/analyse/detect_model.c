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

#include "detect_decode.h"
#include "detect_math.h"

/* Phases shorter than this are outliers: the running median takes three observations away. */
#define LENGTH_DEFAULT 4
#define LENGTH_SHORT   3
#define COUNT_SHORT    60

#define REFINE_ROUNDS 2

/* Autocorrelation from which boundaries are placed by innovations. */
#define ECHO_REFINE 0.1

/* A boundary is where its likelihood is at least a twentieth of the largest: 2 log 20. */
#define PLACE_SLACK 6.0

#define LOCAL_PRIOR 20
struct finding {
    struct rps_observed *observed;
    const struct rps_detect_options *options;
    struct rps_points points;
    struct rps_noise none; /* of no changes */
    size_t shortest;
};

void rps_model_free(struct rps_model *model)
{
    free(model->confidence);
    free(model->place);
    rps_labels_free(&model->labels);
    rps_cuts_free(&model->cuts);
    rps_noise_free(&model->noise);
    memset(model, 0, sizeof(*model));
}

static size_t least_length(const struct rps_observed *observed,
                           const struct rps_detect_options *options)
{
    if (options->min_length > 0)
        return options->min_length;
    return observed->count < COUNT_SHORT ? LENGTH_SHORT : LENGTH_DEFAULT;
}

static int search(struct finding *f, struct rps_model *model, struct rps_error *err)
{
    if (f->options->exact) {
        rps_points_free(&f->points);
        if (rps_points_make(f->observed, NULL, model->linear, &f->points, err) < 0)
            return RPS_FAILED;
    }
    if (rps_cuts_search(&f->points, &model->choice.prices, &model->cuts, err) < 0)
        return RPS_FAILED;
    if (!f->options->exact && rps_cuts_refine(f->observed, &model->choice.prices, REFINE_ROUNDS, 0,
                                              &model->cuts, NULL, err) < 0)
        return RPS_FAILED;
    return 0;
}

static int measure(struct finding *f, struct rps_model *model, struct rps_error *err)
{
    if (rps_noise_measure(f->observed, &model->cuts, &model->noise, err) < 0)
        return RPS_FAILED;
    model->echo = rps_noise_echo(f->observed, &model->noise);
    model->excess = fmin((1 + model->echo) / (1 - model->echo), 199);
    return 0;
}

/* Points at the boundaries. */
static int make_points(const struct finding *f, const struct rps_model *model,
                       struct rps_points *ret, struct rps_error *err)
{
    uint8_t *keep = calloc(f->observed->count + 1, 1);
    int result;

    if (!keep)
        return rps_error_memory(err);
    for (size_t k = 0; k < model->cuts.count; k++)
        keep[model->cuts.first[k]] = 1;
    result = rps_points_make(f->observed, keep, model->linear, ret, err);
    free(keep);
    return result;
}

/* How noisy the segments are. */
struct local_noise {
    double *squares; /* owned; a segment each: of residuals */
    double *weight;  /* owned; of as many values */
};

static void local_noise_free(struct local_noise *noise)
{
    free(noise->weight);
    free(noise->squares);
}

static int find_local_noise(const struct finding *f, const struct rps_model *model,
                            struct local_noise *ret, struct rps_error *err)
{
    const struct rps_observed *observed = f->observed;
    const struct rps_cuts *cuts = &model->cuts;

    ret->squares = calloc(cuts->count, sizeof(*ret->squares));
    ret->weight = calloc(cuts->count, sizeof(*ret->weight));
    if (!ret->squares || !ret->weight)
        return rps_error_memory(err);
    for (size_t k = 0; k < cuts->count; k++) {
        for (size_t s = 0; s < observed->width; s++) {
            struct rps_fit fit = rps_cuts_fit(observed, cuts, k, s);

            for (size_t i = cuts->first[k]; i < cuts->first[k + 1]; i++) {
                size_t at = i * observed->width + s;
                double part =
                    observed->share ? observed->share[at] * (1.0 / RPS_OBSERVED_WHOLE) : 1;
                double left =
                    (observed->value[at] - fit.level - fit.slope * (double)i) * observed->gain[s];

                ret->squares[k] += part * left * left;
                ret->weight[k] += part;
            }
        }
    }
    return 0;
}

/* That there is a boundary between two segments: the odds are those of its gain to the price of a
 * change, with the noise as it is there. */
static double confidence_of(const struct finding *f, const struct rps_model *model,
                            const struct rps_points *points, size_t from, size_t at, size_t to,
                            double squares, double weight, double *ret_gain)
{
    struct rps_point_gain left = rps_points_gain(points, from, at);
    struct rps_point_gain right = rps_points_gain(points, at, to);
    struct rps_point_gain both = rps_points_gain(points, from, to);
    double gain = model->linear ? left.line + right.line - both.line
                                : left.constant + right.constant - both.constant;

    *ret_gain = gain;
    gain /= model->excess *
            fmax(1, (squares / f->observed->unit + LOCAL_PRIOR) / (weight + LOCAL_PRIOR));
    if (model->cuts.spread)
        gain = fmax(gain, model->cuts.spread[at].gain);
    return 1 /
           (1 + exp((rps_choose_price(f->observed, model->cuts.free > 0 ? model->cuts.free : 1) -
                     gain) /
                    2));
}

static int judge(struct finding *f, struct rps_model *model, int drop, struct rps_error *err)
{
    struct rps_points points = {0};
    struct local_noise noise = {0};
    struct rps_cuts *cuts = &model->cuts;
    size_t to = 0, free_count = 0, sloped = 0;
    int result = make_points(f, model, &points, err);

    free(model->confidence);
    model->confidence = calloc(model->cuts.count, sizeof(*model->confidence));
    if (result == 0 && !model->confidence)
        result = rps_error_memory(err);
    if (result == 0)
        result = find_local_noise(f, model, &noise, err);
    for (size_t k = 0, from = 0; result == 0 && k < model->cuts.count; k++) {
        double gain = 0, sure = 1;
        if (k > 0 && !cuts->forced[k])
            sure = confidence_of(f, model, &points, from, k, k + 1,
                                 noise.squares[from] + noise.squares[k],
                                 noise.weight[from] + noise.weight[k], &gain);
        if (drop && sure < 0.5) {
            noise.squares[from] += noise.squares[k] + fmax(0, gain);
            noise.weight[from] += noise.weight[k];
            continue;
        }
        from = k;
        model->confidence[to] = sure;
        cuts->first[to] = cuts->first[k];
        cuts->forced[to] = cuts->forced[k];
        cuts->sloped[to] = cuts->sloped[k];
        if (cuts->spread)
            cuts->spread[to] = cuts->spread[k];
        free_count += !cuts->forced[k];
        sloped += cuts->sloped[k];
        to++;
    }
    if (result == 0) {
        cuts->first[to] = cuts->first[cuts->count];
        cuts->count = to;
        cuts->free = free_count;
        cuts->sloped_count = sloped;
    }
    local_noise_free(&noise);
    rps_points_free(&points);
    return result;
}

/* Least squares plus prices, without the squares of all values. */
static int find_objective(struct finding *f, struct rps_model *model, struct rps_error *err)
{
    const struct rps_prices *prices = &model->choice.prices;
    struct rps_points points = {0};

    if (make_points(f, model, &points, err) < 0)
        return RPS_FAILED;
    model->objective = prices->change * (double)model->cuts.free +
                       prices->slope * (double)model->cuts.sloped_count;
    for (size_t k = 0; k < model->cuts.count; k++) {
        struct rps_point_gain gain = rps_points_gain(&points, k, k + 1);

        model->objective -= model->cuts.sloped[k] ? gain.line : gain.constant;
    }
    rps_points_free(&points);
    return 0;
}

/* The criterion, when the segments of a label are known to have one mean. What fitting more means
 * than that would gain by chance is taken back. */
static double recurring_criterion(const struct finding *f, const struct rps_model *model)
{
    const struct rps_observed *observed = f->observed;
    double freedom = observed->freedom, segments = (double)model->cuts.count;
    double labels = (double)model->labels.count, price = 0;

    for (size_t k = 1; k <= model->cuts.free; k++) {
        double place = 2 * log((double)observed->count / (double)k);

        price += place + 2 * log(labels);
        if ((double)k < labels)
            price += rps_choose_price(observed, k) - place;
    }
    return rps_noise_fit(observed, &f->none, &model->noise, model->cuts.count) +
           freedom * (segments - labels) + price;
}

/* Labels, and with them the segments once more. */
static int label(struct finding *f, struct rps_model *model, struct rps_error *err)
{
    int most = f->options->label_max > 0 ? f->options->label_max : RPS_DETECT_LABELS_DEFAULT;
    int variance = f->options->variance, changed = 0, result;

    result = rps_labels_find(f->observed, &model->cuts, most, variance, model->excess,
                             &model->labels, err);
    if (result == 0 && !variance && f->options->sensitivity <= 0)
        result = rps_decode(f->observed, f->shortest, model->excess, &model->cuts, &model->labels,
                            &changed, err);
    if (result == 0 && model->echo > ECHO_REFINE)
        result =
            rps_cuts_refine_echoed(f->observed, model->noise.echo, f->shortest, &model->cuts, err);
    if (result == 0)
        result = rps_labels_grade(f->observed, &model->cuts, most, variance, model->excess,
                                  &model->labels, err);
    if (result == 0)
        result = measure(f, model, err);
    if (result == 0 && changed)
        model->criterion = fmin(model->criterion, recurring_criterion(f, model));
    return result;
}

static int place(struct finding *f, struct rps_model *model, struct rps_error *err)
{
    model->place = calloc(model->cuts.count, sizeof(*model->place));
    if (!model->place)
        return rps_error_memory(err);
    return rps_cuts_refine(f->observed, &model->choice.prices, 0, PLACE_SLACK * model->excess,
                           &model->cuts, model->place, err);
}

static int find(struct finding *f, struct rps_model *model, struct rps_error *err)
{
    if (search(f, model, err) < 0 || measure(f, model, err) < 0 ||
        find_objective(f, model, err) < 0)
        return RPS_FAILED;
    if (f->options->variance &&
        rps_cuts_split(f->observed, model->noise.echo, rps_choose_price(f->observed, 1),
                       f->shortest, &model->cuts, err) < 0)
        return RPS_FAILED;
    if (judge(f, model, f->options->sensitivity <= 0, err) < 0 || label(f, model, err) < 0 ||
        judge(f, model, 0, err) < 0)
        return RPS_FAILED;
    return place(f, model, err);
}

int rps_model_find(struct rps_observed *observed, const struct rps_detect_options *options,
                   const struct rps_points *constants, double beat, struct rps_model *ret,
                   struct rps_points *ret_few, struct rps_error *err)
{
    struct finding f = {.observed = observed, .options = options};
    struct rps_model model = {.linear = constants != NULL};
    struct rps_points few = {0};
    int result = rps_noise_make(observed, &model.noise, err);

    f.shortest = least_length(observed, options);
    for (size_t s = 0; s < observed->width; s++)
        observed->gain[s] = 1;
    if (result == 0)
        result = rps_noise_none(observed, &f.none, err);
    if (result == 0)
        result = rps_points_screen(observed, rps_choose_ease(options->sensitivity), constants,
                                   &f.points, err);
    if (result == 0)
        result = rps_choose(&f.points, &f.none, f.shortest, options->sensitivity, &model.choice,
                            &few, err);
    model.criterion = model.choice.criterion;
    if (result == 0 && (!constants || model.criterion < beat))
        result = find(&f, &model, err);
    if (result == 0 && model.cuts.free > 0 && !model.cuts.spread && f.options->sensitivity <= 0) {
        model.wanders = rps_noise_wander(observed, &f.none) <
                        rps_noise_fit(observed, &f.none, &model.noise,
                                      model.cuts.count + model.cuts.sloped_count);
    }
    rps_noise_free(&f.none);
    rps_points_free(&f.points);
    if (result < 0 || !ret_few)
        rps_points_free(&few);
    else
        *ret_few = few;
    if (result < 0)
        rps_model_free(&model);
    else
        *ret = model;
    return result;
}
