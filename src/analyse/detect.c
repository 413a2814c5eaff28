/* The detector finds phases in signals.
 *
 * First the signals are prepared. Then segments are found twice. In the first result all segments
 * are constants. In the second result segments are constants or lines. The result with the lower
 * criterion is chosen. The segments of this result become the phases. Common labels for similar
 * phases are found later, together with the levels. */
#include "rpistat/detect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "detect_math.h"
#include "detect_model.h"
#include "detect_standardize.h"

#define LINES_MARGIN 0.25

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

void rps_signals_floor_noise(struct rps_arena *arena, struct rps_signals *signals)
{
    signals->noise_floor =
        rps_arena_get(arena, signals->signal_count, sizeof(*signals->noise_floor));
    for (size_t s = 0; s < signals->signal_count; s++)
        signals->noise_floor[s] =
            rps_noise_floor(signals->value + s * signals->count, signals->count);
}

/* Round a value for display, to hide differences between implementations of exp(). */
static double rounded(double value)
{
    return floor(value * 1e4 + 0.5) / 1e4;
}

/* Return the phases that begin at first[0 ... count - 1]. `model` is NULL if no signal varies. */
static struct rps_phases phases_of(struct rps_arena *arena, const size_t *first, size_t count,
                                   const struct rps_model *model)
{
    struct rps_phases ret = {.count = count,
                             .phase = rps_arena_get(arena, count, sizeof(*ret.phase)),
                             .label_count = (int)count};

    for (size_t k = 0; k < count; k++)
        ret.phase[k] = (struct rps_phase){
            .first = first[k],
            .last = first[k + 1] - 1,
            .earliest = model ? model->place[k].earliest : first[k],
            .latest = model ? model->place[k].latest : first[k],
            .label = (int)k,
            .confidence = model ? rounded(model->confidence[k]) : k == 0,
            .label_confidence = 1,
        };
    return ret;
}

static struct rps_model detect(struct rps_arena *arena, struct rps_observed *observed,
                               const struct rps_signals *signals,
                               const struct rps_detect_options *options)
{
    struct rps_candidates few, ignored;
    double margin = LINES_MARGIN * rps_choose_penalty(observed, 1);
    struct rps_model constants =
        rps_model_find(arena, observed, signals, options, NULL, INFINITY, &few);
    struct rps_model lines = rps_model_find(arena, observed, signals, options, &few,
                                            constants.criterion - margin, &ignored);

    return lines.segmentation.count > 0 ? lines : constants;
}

/* Keep the outliers, except in short phases in which more than a third of the observations are
 * outliers. If a signal is seen once per rotation, a short phase has few values of it. The running
 * median then treats these values as outliers, although they are the phase. */
static void keep_outliers(struct rps_arena *arena, const struct rps_observed *observed,
                          size_t in_rotation, struct rps_phases *ret)
{
    const uint64_t *outlier = observed->outlier;
    size_t at = 0, end;

    ret->outlier = rps_arena_get(arena, observed->outlier_count, sizeof(*outlier));
    for (size_t k = 0; k < ret->count; k++, at = end) {
        const size_t length = ret->phase[k].last - ret->phase[k].first + 1;

        for (end = at; end < observed->outlier_count && outlier[end] <= ret->phase[k].last;)
            end++;
        if (3 * (end - at) > length && length < (RPS_CLIP_REACH + 1) * in_rotation)
            continue;
        for (size_t i = at; i < end; i++)
            ret->outlier[ret->outlier_count++] = outlier[i];
    }
}

int rps_detect(struct rps_arena *arena, const struct rps_signals *signals,
               const struct rps_detect_options *options, struct rps_phases *ret,
               struct rps_detect_details *details, struct rps_error *err)
{
    struct rps_arena *scratch;
    struct rps_observed observed;
    struct rps_model model = {0};

    if (signals->count == 0 || signals->signal_count + signals->table_count == 0)
        return rps_error_set(err, RPS_FAILED, "cannot find phases: there are no %s",
                             signals->count == 0 ? "observations" : "metrics");
    scratch = rps_arena_new();
    observed = rps_observed_make(scratch, signals);
    if (observed.width > 0) {
        model = detect(scratch, &observed, signals, options);
        *ret = phases_of(arena, model.segmentation.first, model.segmentation.count, &model);
    } else {
        *ret = phases_of(arena, observed.block, observed.block_count, NULL);
    }
    keep_outliers(arena, &observed, signals->in_rotation, ret);
    if (details)
        *details = (struct rps_detect_details){.used_signal_count = observed.width,
                                               .penalty = model.choice.penalties.change,
                                               .autocorrelation = model.autocorrelation,
                                               .objective = model.objective,
                                               .linear = model.linear,
                                               .is_drifting = model.is_drifting};
    rps_arena_free(scratch);
    return 0;
}
