/* Axes of pictures: round steps, unit prefixes, and the values that set a scale. */
#include <math.h>

#include "rpistat/formula.h"
#include "rpistat/picture.h"
#include "rpistat/clock.h"
#include "rpistat/plan.h"
#include "rpistat/text.h"

#define PICTURE_PEAK  5   /* minimum ratio of a lone peak to the values next to it */
#define PICTURE_EMPTY 0.2 /* maximum empty share at the end of an axis in characters */

static double between(double value, double least, double most)
{
    return value < least ? least : value > most ? most : value;
}

/* Return the smallest of 1, 2, 5 times a power of ten that is not below step. */
static double round_step(double step)
{
    double power = pow(10, floor(log10(step)));

    if (step <= power * 1.01)
        return power;
    if (step <= 2 * power * 1.01)
        return 2 * power;
    return step <= 5 * power * 1.01 ? 5 * power : 10 * power;
}

/* Return a round step for a clock. Steps above a second divide minutes, hours and days evenly. */
static double round_clock_step(double step)
{
    static const double steps[] = {1,   2,   5,    10,   15,   30,    60,    120,   300,
                                   600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400};

    if (step < 0.5001)
        return round_step(step);
    for (size_t i = 0; i < RPS_COUNT(steps); i++) {
        if (step <= steps[i])
            return steps[i];
    }
    return 86400 * ceil(step / 86400);
}

static void choose_prefix(struct rps_picture_axis *axis, double size)
{
    static const struct {
        double from, scale;
        const char *suffix;
    } prefixes[] = {{1e12, 1e12, " T"}, {1e9, 1e9, " G"}, {1e6, 1e6, " M"},
                    {1e4, 1e3, " k"},   {1e-3, 1, ""},    {1e-6, 1e-3, " m"}};

    for (size_t i = 0; i < RPS_COUNT(prefixes); i++) {
        if (size >= prefixes[i].from) {
            axis->scale = prefixes[i].scale;
            axis->suffix = prefixes[i].suffix;
            return;
        }
    }
    axis->scale = 1;
    axis->suffix = "";
}

/* Return 1 if events of the metric were counted at different times. */
static int mixes_sets(const struct rps_plan *plan, const struct rps_metric *metric)
{
    int first = -1, whole = 0;

    for (int i = 0; i < metric->formula.step_count; i++) {
        const struct rps_formula_step *step = &metric->formula.step[i];
        int set = (step->operand - RPS_OPERAND_EVENTS) / RPS_SLOT_MAX;

        if (step->op != RPS_FORMULA_OPERAND)
            continue;
        if (step->operand < RPS_OPERAND_EVENTS) {
            whole = 1;
            continue;
        }
        if (first >= 0 && set != first)
            return 1;
        first = set;
    }
    return whole && first >= 0 && plan->set_count > 1;
}

/* Return 1 if value i is far above the known values before and after it. */
static int is_lone_peak(const struct rps_series *series, size_t i)
{
    double around = NAN;

    for (size_t k = i; k-- > 0 && isnan(around);)
        around = series->value[k];
    for (size_t k = i + 1; k < series->count; k++) {
        if (!isnan(series->value[k])) {
            around = fmax(around, series->value[k]);
            break;
        }
    }
    return series->value[i] > PICTURE_PEAK * around;
}

/* Return the highest value that sets the scale. In a rotation during which the workload changed, a
 * ratio relates a count from before the change to a count from after the change. The ratio can then
 * be many times any other value. Such a ratio stays in the picture, but does not set the scale. */
static double highest(const struct rps_series *series, int mixed)
{
    double value = 0, top = 0;

    for (size_t i = 0; mixed && i < series->count; i++) {
        if (!is_lone_peak(series, i))
            value = fmax(value, series->value[i]);
    }
    top = value; /* the axis includes all mean values, even if each value has a peak */
    for (size_t i = 0; i < series->count; i++) {
        if (value == 0 || series->max[i] <= PICTURE_PEAK * value)
            top = fmax(top, series->max[i]);
    }
    return top;
}

static void measure_series(struct rps_picture_axis *axis, const struct rps_series *series,
                           int mixed)
{
    axis->to = fmax(axis->to, highest(series, mixed));
    for (size_t i = 0; i < series->count; i++) {
        axis->from = fmin(axis->from, series->min[i]);
        axis->peak = fmax(axis->peak, series->max[i]);
    }
}

struct rps_picture_axis rps_picture_axis(double from, double to, int tics)
{
    struct rps_picture_axis axis = {from, to, 1, 1, "", 0};

    if (!(to > from) || !isfinite(to - from)) {
        axis = (struct rps_picture_axis){0, 1, 1, 1, "", 0};
        if (isfinite(from) && from == to && from != 0) {
            axis.from = fmin(0, from);
            axis.to = fmax(0, from);
            axis.step = fabs(from);
            choose_prefix(&axis, fabs(from));
        }
        return axis;
    }
    axis.step = round_step((to - from) / tics);
    /* An axis for 100.1 % does not need a tic at 150. */
    axis.from = fmin(from, axis.step * floor(from / axis.step + 0.02));
    axis.to = fmax(to, axis.step * ceil(to / axis.step - 0.02));
    choose_prefix(&axis, fmax(axis.to, -axis.from));
    return axis;
}

void rps_picture_axis_unit(struct rps_picture_axis *axis, const char *unit)
{
    if (!rps_text_has_prefix(unit))
        return;
    axis->scale = 1;
    axis->suffix = "";
}

struct rps_picture_axis rps_picture_panel_axis(const struct rps_picture *picture, int panel)
{
    struct rps_picture_axis axis = {0, 0, 1, 1, "", 0}, chosen;
    const char *unit = "";
    double room = picture->characters
                      ? (double)picture->height / picture->panel_count / 4
                      : (picture->height / picture->scale - RPS_PICTURE_HEAD - RPS_PICTURE_FOOT) /
                            picture->panel_count / 34;

    for (int m = 0; m < picture->plan->metric_count; m++) {
        unit = picture->panel[m] == panel ? picture->plan->metric[m].unit : unit;
        for (int line = 0; picture->panel[m] == panel && line < picture->line_count; line++)
            measure_series(&axis, rps_picture_series(picture, m, line),
                           mixes_sets(picture->plan, &picture->plan->metric[m]));
    }
    chosen = rps_picture_axis(axis.from, axis.to, (int)between(floor(room), 2, 6));
    if (picture->characters && axis.to > axis.from &&
        chosen.to - axis.to > PICTURE_EMPTY * (chosen.to - chosen.from))
        chosen.to = axis.to; /* in characters, space is more important than an axis that ends at
                                a round number */
    rps_picture_axis_unit(&chosen, unit);
    chosen.peak = axis.peak > chosen.to ? axis.peak : 0;
    return chosen;
}

/* Return the step of the horizontal axis, which shows time or cycles. */
static double x_step(const struct rps_picture *picture)
{
    double room = picture->characters
                      ? (picture->width - RPS_PICTURE_COLUMN_MARGIN) / 12.0
                      : (picture->width / picture->scale - picture->left - picture->right) / 105;
    double step = (picture->to - picture->from) / between(floor(room), 1, 1000);

    return picture->axis == RPS_AXIS_TIME ? round_clock_step(step) : round_step(step);
}

int rps_picture_x_power(const struct rps_picture *picture)
{
    if (picture->axis == RPS_AXIS_TIME || picture->to < 1e4)
        return 0;
    return 3 * (int)floor(log10(picture->to) / 3);
}

int64_t rps_picture_moment_ns(const struct rps_picture *picture, double place)
{
    return rps_clock_add_ns(picture->run.start_realtime_ns, llround(place * RPS_NS_PER_S));
}

static int clock_tic(const struct rps_picture *picture, double step, int64_t *next,
                     struct rps_picture_tic *ret)
{
    int64_t step_ns = step * RPS_NS_PER_S > 1 ? llround(step * RPS_NS_PER_S) : 1;
    int64_t from_ns = *next != 0 ? *next : rps_picture_moment_ns(picture, picture->from);
    int64_t at_ns = rps_wall_step_ns(from_ns, step_ns);

    if (at_ns > rps_picture_moment_ns(picture, picture->to))
        return 0;
    ret->at = (double)(at_ns - picture->run.start_realtime_ns) / RPS_NS_PER_S;
    rps_wall_short(ret->text, sizeof(ret->text), at_ns, step_ns);
    *next = at_ns + 1;
    return 1;
}

int rps_picture_x_tic(const struct rps_picture *picture, int64_t *next, struct rps_picture_tic *ret)
{
    double step = x_step(picture);
    int decimals = step < 1 ? (int)ceil(-log10(step) - 1e-9) : 0;

    if (picture->clock)
        return clock_tic(picture, step, next, ret);
    ret->at = step * (ceil(picture->from / step - 1e-9) + (double)*next);
    if (ret->at > picture->to + 1e-9 * step)
        return 0;
    if (picture->axis == RPS_AXIS_TIME)
        rps_text_clock(ret->text, sizeof(ret->text), llround(ret->at * RPS_NS_PER_S), decimals);
    else
        snprintf(ret->text, sizeof(ret->text), "%g",
                 ret->at / pow(10, rps_picture_x_power(picture)));
    ++*next;
    return 1;
}
