/*
 * A run that drifts or wanders: how far. Its tenths are profiled as if they were phases.
 */
#include "rpistat/phase_output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TENTHS 10

/* Figures that are named, and by how much the largest of ten must exceed the smallest. */
#define FIGURES_MAX 2
#define APART_MIN   1.3

/* Standard errors between the largest and the smallest of ten means of noise, at most. */
#define ERRORS 6

int rps_phase_tenths(const struct rps_phases *phases, struct rps_phases *ret, struct rps_error *err)
{
    const struct rps_phase *first = &phases->phase[0], *last = &phases->phase[phases->count - 1];
    uint64_t count = last->last - first->first + 1;
    int64_t length_ns = last->end_ns - first->start_ns;

    *ret = (struct rps_phases){.count = TENTHS, .label_count = TENTHS};
    ret->phase = calloc(TENTHS, sizeof(*ret->phase));
    if (!ret->phase)
        return rps_error_memory(err);
    for (int k = 0; k < TENTHS; k++)
        ret->phase[k] = (struct rps_phase){
            .first = first->first + count * (uint64_t)k / TENTHS,
            .last = first->first + count * (uint64_t)(k + 1) / TENTHS - 1,
            .start_ns = first->start_ns + length_ns * k / TENTHS,
            .end_ns = first->start_ns + length_ns * (k + 1) / TENTHS,
            .label = k,
        };
    return 0;
}

/* The largest of a figure's tenths by the smallest; 1 where they differ no more than the means of
 * so many observations do. Columns of a table may have any sign: one more than their difference by
 * the spread inside the tenths. */
static double apart(const struct rps_profile *tenths, size_t f, double *ret_low, double *ret_high)
{
    double low = INFINITY, high = -INFINITY, error;

    for (size_t k = 0; k < TENTHS; k++) {
        double value = tenths->mean[k * tenths->figure_count + f];

        if (!isfinite(value))
            return 1;
        low = fmin(low, value);
        high = fmax(high, value);
    }
    *ret_low = low;
    *ret_high = high;
    error = tenths->figure[f].inside / sqrt(fmax((double)tenths->periods / TENTHS, 1));
    if (!(high - low > ERRORS * error))
        return 1;
    if (tenths->length_ns > 0)
        return low > 0 ? high / low : 1;
    return tenths->figure[f].inside > 0 ? 1 + (high - low) / tenths->figure[f].inside : 1;
}

/* "CPI from 1.21 to 3.42"; "CPI between 1.21 and 3.42" where the ends are not the extremes. */
static int add_figure(const struct rps_profile *tenths, size_t f, char *ret, size_t size)
{
    const struct rps_figure *figure = &tenths->figure[f];
    double from = tenths->mean[f], low = 0, high = 0;
    double to = tenths->mean[(TENTHS - 1) * tenths->figure_count + f];
    double margin;
    int drifts;

    apart(tenths, f, &low, &high);
    margin = (high - low) / 4;
    drifts = fabs(to - from) >= high - low - margin;
    snprintf(ret, size, "%.40s %s %.3g %s %.3g%s%.16s",
             figure->label[0] ? figure->label : figure->name, drifts ? "from" : "between",
             drifts ? from : low, drifts ? "to" : "and", drifts ? to : high,
             figure->unit[0] ? " " : "", figure->unit);
    return drifts;
}

void rps_phase_output_drift(const struct rps_profile *tenths, char ret[RPS_PHASE_REMARK_SIZE])
{
    size_t said[FIGURES_MAX] = {0};
    char text[FIGURES_MAX][96];
    int drifts = 1, count = 0;

    for (; count < FIGURES_MAX; count++) {
        double most = APART_MIN, low, high;
        size_t best = tenths->figure_count;

        for (size_t f = 0; f < tenths->figure_count; f++) {
            double by = apart(tenths, f, &low, &high);

            if (by > most && !(count > 0 && said[0] == f)) {
                most = by;
                best = f;
            }
        }
        if (best == tenths->figure_count)
            break;
        said[count] = best;
        drifts &= add_figure(tenths, best, text[count], sizeof(text[count]));
    }
    snprintf(ret, RPS_PHASE_REMARK_SIZE, "it %s, and no phases stand out%s%s%s%s",
             drifts ? "drifts" : "wanders", count > 0 ? ": " : "", count > 0 ? text[0] : "",
             count > 1 ? ", " : "", count > 1 ? text[1] : "");
}
