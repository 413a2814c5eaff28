/* Confidence in boundaries; see detect_confidence.h. */
#include "detect_confidence.h"

#include <math.h>

#include "detect_decode.h"

/* Few values do not show how noisy a segment is. They are combined with this many values of the
 * usual noise. */
#define PRIOR 20

/* Neighbours are joined if their means are closer than this, in squares of a difference that does
 * not matter. */
#define APART_LEAST 12

struct judging {
    struct rps_observed *observed;
    struct rps_model *model;
    struct rps_candidates candidates;
    double *squares, *weight; /* of each segment's residuals */
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

/* Return the decrease of the squares by a boundary between the candidates from < at < to. */
static double gain_of(const struct judging *j, size_t from, size_t at, size_t to)
{
    struct rps_candidate_gain left = rps_candidates_gain(&j->candidates, from, at);
    struct rps_candidate_gain right = rps_candidates_gain(&j->candidates, at, to);
    struct rps_candidate_gain both = rps_candidates_gain(&j->candidates, from, to);

    return j->model->linear ? left.line + right.line - both.line
                            : left.constant + right.constant - both.constant;
}

/* The odds compare the gain with the penalty of a change. The noise is that of both sides, or the
 * gain is between known means if the segments have some. */
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

/* Return how far the mean of segment k is from that of the observations before it, from segment
 * `from` on. Recurring phases are never exactly the same: the means differ by a part of what does
 * not matter, regardless of the number of observations. */
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
        double gain = segmentation->forced[k] ? 0 : gain_of(&j, from, k, k + 1);
        double sure = segmentation->forced[k] ? 1 : confidence_of(&j, from, k, gain);

        if (drop &&
            (sure < 0.5 || (!segmentation->forced[k] && means_apart(&j, from, k) < APART_LEAST))) {
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
