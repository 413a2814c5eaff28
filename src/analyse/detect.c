/*
 * The detector: the steps from signals to phases.
 *
 * Prepare the signals; screen for places; choose the number of changes, twice, the second time with
 * the noise that the first left over; search among the places, or all of them; move the boundaries
 * to their best places; label the segments. Constant segments and lines are tried, and what the
 * criterion likes better is taken.
 */
#include "rpistat/detect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "detect_choose.h"
#include "detect_cuts.h"
#include "detect_data.h"
#include "detect_decode.h"
#include "detect_labels.h"
#include "detect_math.h"
#include "detect_points.h"

/* Phases shorter than this are outliers: the running median takes three observations away. */
#define LENGTH_DEFAULT 4
#define LENGTH_SHORT   3
#define COUNT_SHORT    60

#define LINES_MARGIN 0.25

#define REFINE_ROUNDS 2

/* Autocorrelation from which boundaries are placed by innovations. */
#define ECHO_REFINE 0.1

/* A boundary is where its likelihood is at least a twentieth of the largest: 2 log 20. */
#define PLACE_SLACK 6.0

/* Confidence from which two neighbours must not have one label. */
#define CONFIDENCE_STRONG 0.95

struct detection {
    const struct rps_detect_options *options;
    struct rps_observed observed;
    struct rps_points points;
    struct rps_noise noise;
    struct rps_choice choice;
    struct rps_cuts cuts;
    struct rps_cut_place *place; /* owned; a segment each */
    double *confidence;          /* owned */
    double echo, excess;         /* of the noise: at lag one; of long means, times white noise */
    double objective;
    int linear;
};

static void detection_free(struct detection *d)
{
    free(d->confidence);
    free(d->place);
    rps_cuts_free(&d->cuts);
    rps_noise_free(&d->noise);
    rps_points_free(&d->points);
    rps_observed_free(&d->observed);
}

static size_t least_length(const struct detection *d)
{
    if (d->options->min_length > 0)
        return d->options->min_length;
    return d->observed.count < COUNT_SHORT ? LENGTH_SHORT : LENGTH_DEFAULT;
}

/* Are lines better? Then they are what is searched for. */
static int try_lines(struct detection *d, const struct rps_points *few, struct rps_error *err)
{
    struct rps_points points = {0}, unused = {0};
    struct rps_choice choice;
    double *gain = calloc(d->observed.width, sizeof(*gain));
    int result = gain ? 0 : rps_error_memory(err);

    if (result < 0)
        return result;
    memcpy(gain, d->observed.gain, d->observed.width * sizeof(*gain));
    result = rps_points_screen(&d->observed, few, &points, err);
    if (result == 0)
        result =
            rps_choose(&points, least_length(d), d->options->sensitivity, &choice, &unused, err);
    if (result == 0 &&
        choice.criterion < d->choice.criterion - LINES_MARGIN * rps_choose_price(&d->observed)) {
        rps_points_free(&d->points);
        d->points = points;
        d->choice = choice;
        d->linear = 1;
    } else {
        rps_points_free(&points);
        memcpy(d->observed.gain, gain, d->observed.width * sizeof(*gain));
    }
    rps_points_free(&unused);
    free(gain);
    return result;
}

static int choose(struct detection *d, struct rps_error *err)
{
    struct rps_points few = {0};
    int result = rps_points_screen(&d->observed, NULL, &d->points, err);

    if (result == 0)
        result =
            rps_choose(&d->points, least_length(d), d->options->sensitivity, &d->choice, &few, err);
    if (result == 0)
        result = try_lines(d, &few, err);
    rps_points_free(&few);
    return result;
}

static int search(struct detection *d, struct rps_error *err)
{
    if (d->options->exact) {
        rps_points_free(&d->points);
        if (rps_points_make(&d->observed, NULL, d->linear, &d->points, err) < 0)
            return RPS_FAILED;
    }
    if (rps_cuts_search(&d->points, &d->choice.prices, &d->cuts, &d->objective, err) < 0)
        return RPS_FAILED;
    if (!d->options->exact &&
        rps_cuts_refine(&d->observed, &d->choice.prices, REFINE_ROUNDS, 0, &d->cuts, NULL, err) < 0)
        return RPS_FAILED;
    return rps_noise_measure(&d->observed, &d->cuts, &d->noise, err);
}

/* What is certain about each boundary: its place, and that it is there. */
static int judge(struct detection *d, struct rps_error *err)
{
    free(d->place);
    free(d->confidence);
    double price = rps_choose_price(&d->observed);
    struct rps_points points = {0};
    uint8_t *keep = calloc(d->observed.count + 1, 1);
    int result;

    d->echo = rps_noise_echo(&d->observed, &d->noise);
    d->excess = (1 + d->echo) / (1 - d->echo);
    d->place = calloc(d->cuts.count, sizeof(*d->place));
    d->confidence = calloc(d->cuts.count, sizeof(*d->confidence));
    if (!keep || !d->place || !d->confidence) {
        free(keep);
        return rps_error_memory(err);
    }
    for (size_t k = 0; k < d->cuts.count; k++)
        keep[d->cuts.first[k]] = 1;
    result = rps_points_make(&d->observed, keep, d->linear, &points, err);
    for (size_t k = 0; result == 0 && k < d->cuts.count; k++) {
        struct rps_point_gain apart[2], together;
        double gain;

        d->confidence[k] = 1;
        if (d->cuts.forced[k])
            continue;
        apart[0] = rps_points_gain(&points, k - 1, k);
        apart[1] = rps_points_gain(&points, k, k + 1);
        together = rps_points_gain(&points, k - 1, k + 1);
        gain = d->linear ? apart[0].line + apart[1].line - together.line
                         : apart[0].constant + apart[1].constant - together.constant;
        d->confidence[k] = 1 / (1 + exp((price - gain / d->excess) / 2));
    }
    if (result == 0)
        result = rps_cuts_refine(&d->observed, &d->choice.prices, 0, PLACE_SLACK * d->excess,
                                 &d->cuts, d->place, err);
    rps_points_free(&points);
    free(keep);
    return result;
}

/* Values that are shown are rounded, so that the last digits of exp() do not matter. */
static double rounded(double value)
{
    return floor(value * 1e4 + 0.5) / 1e4;
}

static int fill_phases(struct detection *d, const struct rps_labels *labels, struct rps_phases *out,
                       struct rps_error *err)
{
    out->phase = calloc(d->cuts.count, sizeof(*out->phase));
    if (!out->phase)
        return rps_error_memory(err);
    for (size_t k = 0; k < d->cuts.count; k++) {
        struct rps_phase *last = out->count > 0 ? &out->phase[out->count - 1] : NULL;
        double sure = rounded(labels->confidence[k]);

        if (last && !d->cuts.forced[k] && last->label == labels->label[k]) {
            last->last = d->cuts.first[k + 1] - 1;
            last->label_confidence = fmin(last->label_confidence, sure);
            continue;
        }
        out->phase[out->count++] = (struct rps_phase){
            .first = d->cuts.first[k],
            .last = d->cuts.first[k + 1] - 1,
            .earliest = d->place[k].earliest,
            .latest = d->place[k].latest,
            .label = labels->label[k],
            .confidence = rounded(d->confidence[k]),
            .label_confidence = sure,
        };
    }
    out->label_count = labels->count;
    out->outlier_count = d->observed.outlier_count;
    out->outlier = d->observed.outlier;
    d->observed.outlier = NULL;
    return 0;
}

/* Labels, and with them the segments once more. */
static int label(struct detection *d, struct rps_labels *ret, struct rps_error *err)
{
    uint8_t *strong = calloc(d->cuts.count, 1);
    int most = d->options->label_max > 0 ? d->options->label_max : RPS_DETECT_LABELS_DEFAULT;
    int variance = d->options->variance, changed = 0, result;

    if (!strong)
        return rps_error_memory(err);
    for (size_t k = 0; k < d->cuts.count; k++)
        strong[k] = !d->cuts.forced[k] && d->confidence[k] > CONFIDENCE_STRONG;
    result = rps_labels_find(&d->observed, &d->cuts, strong, most, variance, d->excess, ret, err);
    if (result == 0 && !variance)
        result = rps_decode(&d->observed, least_length(d), d->excess, &d->cuts, ret, &changed, err);
    if (result == 0 && d->echo > ECHO_REFINE)
        result =
            rps_cuts_refine_echoed(&d->observed, d->noise.echo, least_length(d), &d->cuts, err);
    if (result == 0)
        result = rps_labels_grade(&d->observed, &d->cuts, most, variance, d->excess, ret, err);
    if (result == 0)
        result = judge(d, err);
    free(strong);
    return result;
}

static int detect(struct detection *d, struct rps_phases *out, struct rps_error *err)
{
    struct rps_labels labels = {0};
    int result = rps_noise_make(&d->observed, &d->noise, err);

    if (result == 0 && d->observed.width == 0)
        result = rps_cuts_at(&d->observed, NULL, &d->cuts, err);
    if (result == 0 && d->observed.width > 0)
        result = choose(d, err);
    if (result == 0 && d->observed.width > 0)
        result = search(d, err);
    if (result == 0)
        result = judge(d, err);
    if (result == 0)
        result = label(d, &labels, err);
    if (result == 0)
        result = fill_phases(d, &labels, out, err);
    rps_labels_free(&labels);
    return result;
}

int rps_detect(const struct rps_signals *signals, const struct rps_detect_options *options,
               struct rps_phases *ret, struct rps_detect_details *details, struct rps_error *err)
{
    struct detection d = {.options = options};
    struct rps_phases out = {0};
    int result = rps_observed_make(signals, &d.observed, err);

    if (result < 0)
        return result;
    result = detect(&d, &out, err);
    if (result == 0 && details)
        *details = (struct rps_detect_details){
            .used_signal_count = d.observed.width,
            .penalty = d.choice.prices.change,
            .autocorrelation = d.echo,
            .objective = d.objective,
            .linear = d.linear,
        };
    detection_free(&d);
    if (result < 0)
        rps_phases_free(&out);
    else
        *ret = out;
    return result;
}

void rps_signals_free(struct rps_signals *signals)
{
    free(signals->broken);
    free(signals->resolution);
    free(signals->weight);
    free(signals->value);
    memset(signals, 0, sizeof(*signals));
}
