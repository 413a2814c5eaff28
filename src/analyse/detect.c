/*
 * The detector: from signals to phases.
 *
 * Prepare the signals; find the phases as constants, then with lines, and take what the criterion
 * likes better; make phases of the segments.
 */
#include "rpistat/detect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "detect_observed.h"
#include "detect_model.h"

#define LINES_MARGIN 0.25

#define NOISE_FLOOR 0.1

void rps_signals_free(struct rps_signals *signals)
{
    for (size_t t = 0; t < signals->table_count; t++)
        rps_count_table_free(&signals->table[t]);
    free(signals->table);
    free(signals->broken);
    free(signals->noise_floor);
    free(signals->resolution);
    free(signals->weight);
    free(signals->value);
    memset(signals, 0, sizeof(*signals));
}

/* Of the values that are finite. */
static double standard_deviation(const double *value, size_t count)
{
    double largest = 0, seen = 0, sum = 0, squares = 0;

    for (size_t i = 0; i < count; i++)
        largest = isfinite(value[i]) ? fmax(largest, fabs(value[i])) : largest;
    for (size_t i = 0; i < count; i++) {
        if (isfinite(value[i]) && largest > 0) {
            seen++;
            sum += value[i] / largest;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (isfinite(value[i]) && largest > 0)
            squares += (value[i] / largest - sum / seen) * (value[i] / largest - sum / seen);
    }
    return seen > 0 ? largest * sqrt(squares / seen) : 0;
}

int rps_signals_floor_noise(struct rps_signals *signals, struct rps_error *err)
{
    double *floor = calloc(signals->signal_count + 1, sizeof(*floor));

    if (!floor)
        return rps_error_memory(err);
    for (size_t s = 0; s < signals->signal_count; s++)
        floor[s] =
            NOISE_FLOOR * standard_deviation(signals->value + s * signals->count, signals->count);
    free(signals->noise_floor);
    signals->noise_floor = floor;
    return 0;
}

/* Values that are shown are rounded, so that the last digits of exp() do not matter. */
static double rounded(double value)
{
    return floor(value * 1e4 + 0.5) / 1e4;
}

static int fill_phases(const struct rps_model *model, struct rps_phases *out, struct rps_error *err)
{
    const struct rps_segmentation *segmentation = &model->segmentation;

    out->phase = calloc(segmentation->count, sizeof(*out->phase));
    if (!out->phase)
        return rps_error_memory(err);
    out->count = segmentation->count;
    for (size_t k = 0; k < segmentation->count; k++)
        out->phase[k] = (struct rps_phase){
            .first = segmentation->first[k],
            .last = segmentation->first[k + 1] - 1,
            .earliest = model->place[k].earliest,
            .latest = model->place[k].latest,
            .label = model->labels.label[k],
            .confidence = rounded(model->confidence[k]),
            .label_confidence = rounded(model->labels.confidence[k]),
        };
    out->label_count = model->labels.count;
    return 0;
}

/* A phase a block: there is nothing that varies. */
static int fill_blocks(const struct rps_observed *observed, struct rps_phases *out,
                       struct rps_error *err)
{
    out->phase = calloc(observed->block_count, sizeof(*out->phase));
    if (!out->phase)
        return rps_error_memory(err);
    for (size_t b = 0; b < observed->block_count; b++) {
        size_t first = observed->block[b];

        out->phase[b] = (struct rps_phase){.first = first,
                                           .last = observed->block[b + 1] - 1,
                                           .earliest = first,
                                           .latest = first,
                                           .confidence = 1,
                                           .label_confidence = 1};
    }
    out->count = observed->block_count;
    out->label_count = 1;
    return 0;
}

static int detect(struct rps_observed *observed, const struct rps_detect_options *options,
                  struct rps_model *ret, struct rps_error *err)
{
    struct rps_candidates few = {0};
    struct rps_model constants = {0}, lines = {0};
    double margin = LINES_MARGIN * rps_choose_penalty(observed, 1);
    int result = rps_model_find(observed, options, NULL, INFINITY, &constants, &few, err);

    if (result == 0)
        result = rps_model_find(observed, options, &few, constants.criterion - margin, &lines, NULL,
                                err);
    if (result == 0) {
        int linear = lines.segmentation.count > 0;

        *ret = linear ? lines : constants;
        rps_model_free(linear ? &constants : &lines);
    } else {
        rps_model_free(&constants);
    }
    rps_candidates_free(&few);
    return result;
}

int rps_detect(const struct rps_signals *signals, const struct rps_detect_options *options,
               struct rps_phases *ret, struct rps_detect_details *details, struct rps_error *err)
{
    struct rps_observed observed = {0};
    struct rps_phases out = {0};
    struct rps_model model = {0};
    int result = rps_observed_make(signals, &observed, err);

    if (result == 0 && observed.width > 0) {
        result = detect(&observed, options, &model, err);
        if (result == 0)
            result = fill_phases(&model, &out, err);
    } else if (result == 0) {
        result = fill_blocks(&observed, &out, err);
    }
    if (result == 0) {
        out.outlier_count = observed.outlier_count;
        out.outlier = observed.outlier;
        observed.outlier = NULL;
        *ret = out;
        if (details)
            *details = (struct rps_detect_details){.used_signal_count = observed.width,
                                                   .penalty = model.choice.penalties.change,
                                                   .autocorrelation = model.autocorrelation,
                                                   .objective = model.objective,
                                                   .linear = model.linear,
                                                   .wanders = model.wanders};
    }
    rps_model_free(&model);
    rps_observed_free(&observed);
    return result;
}
