/* Chooses the columns of a table for which the detector reads the logarithm of the values.
 *
 * The steps from row to row are sorted by level, and the highest third is compared with the lowest
 * third. The median sizes of both thirds show how the noise grows with the level. Symmetric noise
 * of any kind has equal sizes at all levels. Only few steps cross a phase boundary. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/arena.h"
#include "rpistat/csv_signals.h"

/* Maximum number of examined steps. Fewer than STEPS_MIN steps show nothing. */
#define STEPS_MAX 8192
#define STEPS_MIN 60

/* Noise grows with the level if high values have more than this many times the noise of low values.
 * Chance does not reach this factor. */
#define GROWTH_MIN 2

struct step {
    double level, size;
};

RPS_ARRAY_ORDER(by_level, struct step, .level)

RPS_ARRAY_ORDER(by_size, struct step, .size)

/* Sort `count` steps, and return their median size. */
static double median_size(struct step *step, size_t count)
{
    qsort(step, count, sizeof(*step), by_size);
    return step[count / 2].size;
}

/* Collect the steps of a column, or of its logarithm. Return their number. */
static size_t take_steps(const double *value, size_t count, int logs, struct step *step)
{
    size_t stride = count / STEPS_MAX + 1, taken = 0;

    for (size_t i = 1; i < count; i += stride) {
        double a = logs ? log(value[i - 1]) : value[i - 1], b = logs ? log(value[i]) : value[i];

        if (isfinite(a) && isfinite(b))
            step[taken++] = (struct step){a / 2 + b / 2, fabs(b - a)};
    }
    return taken;
}

/* Return the logarithm of the ratio between the noise of high values and the noise of low values;
 * NaN: unknown. */
static double growth(const double *value, size_t count, int logs, struct step *step)
{
    size_t steps = take_steps(value, count, logs, step), third = steps / 3;
    double low, high;

    if (steps < STEPS_MIN)
        return NAN;
    qsort(step, steps, sizeof(*step), by_level);
    low = median_size(step, third);
    high = median_size(step + steps - third, third);
    return low > 0 && high > 0 ? log(high / low) : NAN;
}

static int all_positive(const double *value, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (value[i] <= 0)
            return 0;
    }
    return 1;
}

/* Return 1 if the logarithm's noise differs less between levels than the noise of the values. */
static int asks_for_log(const double *value, size_t count, struct step *step)
{
    double plain;

    if (!all_positive(value, count))
        return 0;
    plain = growth(value, count, 0, step);
    return plain > log(GROWTH_MIN) && fabs(growth(value, count, 1, step)) < plain;
}

struct rps_signals rps_csv_signals_even(struct rps_arena *arena, const struct rps_signals *plain)
{
    size_t count = plain->count, cells = count * plain->signal_count;
    struct rps_signals out = {
        .count = count, .signal_count = plain->signal_count, .broken = plain->broken};
    struct step *step = rps_arena_get(arena, STEPS_MAX, sizeof(*step));

    out.value = rps_arena_get(arena, cells, sizeof(*out.value));
    memcpy(out.value, plain->value, cells * sizeof(*out.value));
    for (size_t s = 0; s < plain->signal_count; s++) {
        double *value = out.value + s * count;
        int is_log = asks_for_log(value, count, step);

        for (size_t i = 0; i < count && is_log; i++)
            value[i] = log(value[i]);
    }
    rps_signals_floor_noise(arena, &out);
    return out;
}
