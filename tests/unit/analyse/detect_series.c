#include "detect_series.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

double series_normal(uint64_t *state)
{
    double sum = -6;

    for (int k = 0; k < 12; k++) {
        *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        sum += (double)(*state >> 11) * 0x1p-53;
    }
    return sum;
}

struct rps_signals series_make(size_t count, size_t signal_count)
{
    struct rps_signals signals = {.count = count, .signal_count = signal_count};

    signals.value = calloc(count * signal_count + 1, sizeof(*signals.value));
    assert_non_null(signals.value);
    return signals;
}

struct rps_signals series_levels(const double *levels, size_t level_count, size_t length,
                                 size_t signal_count, double scale, uint64_t seed)
{
    struct rps_signals signals = series_make(level_count * length, signal_count);

    for (size_t s = 0; s < signal_count; s++) {
        for (size_t i = 0; i < signals.count; i++)
            signals.value[s * signals.count + i] =
                levels[i / length] + scale * series_normal(&seed);
    }
    return signals;
}

struct rps_signals series_drifting(size_t count, size_t signal_count, uint64_t *state)
{
    struct rps_signals signals = series_make(count, signal_count);

    for (size_t s = 0; s < signal_count; s++) {
        double quick = 0, slow = 0, slower = 0;

        for (size_t i = 0; i < count; i++) {
            quick = 0.5 * quick + 0.87 * series_normal(state);
            slow = 0.9 * slow + 0.44 * series_normal(state);
            slower = 0.99 * slower + 0.14 * series_normal(state);
            signals.value[s * count + i] = quick + slow + slower;
        }
    }
    return signals;
}
