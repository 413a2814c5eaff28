/*
 * Shares of samples as signals.
 *
 * The variance of the arc sine of a share's square root is 1 / (4 n) of n samples, whatever the
 * share (Anscombe 1948). That of the square root alone becomes less towards a share of one, so that
 * from none to all was too small a step beside the noise. A period has some ten samples a CPU;
 * where it has fewer, periods are added up to a bin, and the signal is seen once a bin, in its
 * middle: with few samples what is seen depends on how many they are, and that is the CPU use.
 * Larger bins were tried and dropped: signals that are seen in one period of ten hide the short
 * phases that the counters show. What chance does is told to the detector by the noise floor,
 * without which single periods give phases that nobody can see in the program.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/collect.h"

/* A bin that a gap, a pause or the end breaks off must have so many. */
#define BIN_LEAST (RPS_COLLECT_BIN_SAMPLES / 2)

/* Fewer bins say nothing of what chance does to the shares: the signals are as if never seen. */
#define BINS_MIN 8

/* Observations without a sample that are a pause, if the bin is no longer. */
#define PAUSE_LEAST 4

/* Shares of a program differ by as much from time to time, however many samples there are. */
#define RESOLUTION 0.05

struct bin {
    size_t first, last; /* observations: the first and the last in which samples were */
    uint64_t samples;
    uint64_t fewest; /* samples of a whole bin before it; UINT64_MAX: there was none */
    size_t whole;    /* bins before it */
};

/* Room for the signals behind those that there are; nothing is seen of them yet. */
static int grow(struct rps_collected *collected, size_t more, struct rps_error *err)
{
    struct rps_signals *signals = &collected->signals;
    size_t width = signals->signal_count + more, from = signals->signal_count * signals->count;
    int is_weighted = signals->weight != NULL;
    struct rps_collected_signal *signal = realloc(collected->signal, (width + 1) * sizeof(*signal));
    double *resolution = realloc(signals->resolution, (width + 1) * sizeof(*resolution));
    double *noise_floor = realloc(signals->noise_floor, (width + 1) * sizeof(*noise_floor));
    double *value = realloc(signals->value, (width * signals->count + 1) * sizeof(*value));
    float *weight = realloc(signals->weight, (width * signals->count + 1) * sizeof(*weight));

    collected->signal = signal ? signal : collected->signal;
    signals->resolution = resolution ? resolution : signals->resolution;
    signals->value = value ? value : signals->value;
    signals->weight = weight ? weight : signals->weight;
    signals->noise_floor = noise_floor ? noise_floor : signals->noise_floor;
    if (!signal || !resolution || !noise_floor || !value || !weight)
        return rps_error_memory(err);
    for (size_t i = 0; i < from && !is_weighted; i++)
        weight[i] = 1;
    for (size_t i = from; i < width * signals->count; i++) {
        value[i] = NAN;
        weight[i] = 0;
    }
    memset(noise_floor, 0, width * sizeof(*noise_floor));
    for (size_t s = signals->signal_count; s < width; s++) {
        resolution[s] = RESOLUTION;
        memset(&signal[s], 0, sizeof(signal[s]));
        signal[s].metric = -1;
        signal[s].cpu = RPS_CPU_ALL;
    }
    signals->signal_count = width;
    signals->share_count += more;
    return 0;
}

/* The observation in which half of the samples have come. */
static size_t middle_of(const struct rps_collect_samples *samples, const struct bin *bin)
{
    uint64_t before = samples->all[bin->first];
    size_t i = bin->first;

    while (2 * before < bin->samples)
        before += samples->all[++i];
    return i;
}

/* End a bin: the signals, from number `signal` on, are seen in it. 0 when there are too few
 * samples, which it keeps. */
static int end_bin(const struct rps_collect_samples *samples, struct bin *bin, size_t signal,
                   struct rps_signals *signals)
{
    size_t count = signals->count, middle;

    if (bin->samples < BIN_LEAST)
        return 0;
    middle = middle_of(samples, bin);
    for (size_t f = 0; f < samples->function_count; f++) {
        size_t at = (signal + f) * count + middle;
        uint64_t own = 0;

        for (size_t i = bin->first; i <= bin->last; i++)
            own += samples->of[f * count + i];
        signals->value[at] = asin(sqrt((double)own / (double)bin->samples));
        signals->weight[at] = fminf((float)bin->samples / (float)RPS_COLLECT_BIN_SAMPLES, 1);
    }
    if (bin->samples >= RPS_COLLECT_BIN_SAMPLES) {
        bin->whole++;
        bin->fewest = bin->samples < bin->fewest ? bin->samples : bin->fewest;
    }
    bin->samples = 0;
    return 1;
}

/* Is there a pause before observation i, as long as what the bin has seen? */
static int is_pause(const struct bin *bin, size_t i)
{
    size_t length = bin->last - bin->first + 1;

    return i - bin->last > (length > PAUSE_LEAST ? length : PAUSE_LEAST);
}

static void fill(const struct rps_collect_samples *samples, size_t signal,
                 struct rps_signals *signals)
{
    struct bin bin = {.fewest = UINT64_MAX};

    for (size_t i = 0; i < signals->count; i++) {
        if (signals->broken && signals->broken[i] && !end_bin(samples, &bin, signal, signals))
            bin.samples = 0;
        if (samples->all[i] == 0)
            continue;
        if (bin.samples > 0 && is_pause(&bin, i))
            end_bin(samples, &bin, signal, signals);
        if (bin.samples == 0)
            bin.first = i;
        bin.last = i;
        bin.samples += samples->all[i];
        if (bin.samples >= RPS_COLLECT_BIN_SAMPLES)
            end_bin(samples, &bin, signal, signals);
    }
    end_bin(samples, &bin, signal, signals);
    for (size_t i = signal * signals->count;
         i < signals->signal_count * signals->count && bin.whole < BINS_MIN; i++) {
        signals->value[i] = NAN;
        signals->weight[i] = 0;
    }
    for (size_t s = signal; s < signals->signal_count; s++)
        signals->noise_floor[s] = 1 / (2 * sqrt((double)bin.fewest));
}

int rps_collected_add_samples(struct rps_collected *collected,
                              const struct rps_collect_samples *samples, struct rps_error *err)
{
    size_t before = collected->signals.signal_count;

    if (grow(collected, samples->function_count, err) < 0)
        return RPS_FAILED;
    for (size_t f = 0; f < samples->function_count; f++)
        snprintf(collected->signal[before + f].name, sizeof(collected->signal[0].name), "%s",
                 samples->name[f]);
    fill(samples, before, &collected->signals);
    return 0;
}
