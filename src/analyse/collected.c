/* Add signals and tables from elsewhere to collected signals. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/arena.h"
#include "rpistat/collect.h"

/* The noise of an added signal is at least this share of its resolution. */
#define NOISE_OF_RESOLUTION .25

static void *enlarged(void *array, size_t count, size_t size)
{
    void *ret = realloc(array, (count + 1) * size);

    if (!ret)
        rps_arena_exhausted();
    return ret;
}

/* Make room for one more signal, and for weights: all 1 if there are none yet. */
static void make_room(struct rps_collected *collected)
{
    struct rps_signals *signals = &collected->signals;
    size_t had = signals->signal_count, room = had + 1, cells = room * signals->count;
    int is_weighted = signals->weight != NULL, has_floor = signals->noise_floor != NULL;

    collected->signal = enlarged(collected->signal, room, sizeof(*collected->signal));
    signals->value = enlarged(signals->value, cells, sizeof(*signals->value));
    signals->weight = enlarged(signals->weight, cells, sizeof(*signals->weight));
    signals->resolution = enlarged(signals->resolution, room, sizeof(*signals->resolution));
    signals->noise_floor = enlarged(signals->noise_floor, room, sizeof(*signals->noise_floor));
    for (size_t i = 0; i < had * signals->count && !is_weighted; i++)
        signals->weight[i] = 1;
    for (size_t s = 0; s < had && !has_floor; s++)
        signals->noise_floor[s] = 0;
}

void rps_collected_add_signal(struct rps_collected *collected, const char *name,
                              const double *value, const float *weight, double resolution)
{
    struct rps_signals *signals = &collected->signals;
    size_t s = signals->signal_count, at = s * signals->count;

    make_room(collected);
    memcpy(signals->value + at, value, signals->count * sizeof(*value));
    memcpy(signals->weight + at, weight, signals->count * sizeof(*weight));
    signals->resolution[s] = resolution;
    signals->noise_floor[s] = NOISE_OF_RESOLUTION * resolution;
    collected->signal[s] = (struct rps_collected_signal){.metric = -1, .cpu = RPS_CPU_ALL};
    snprintf(collected->signal[s].name, sizeof(collected->signal[s].name), "%s", name);
    signals->signal_count++;
}

void rps_collected_add_table(struct rps_collected *collected, const struct rps_count_table *table)
{
    struct rps_signals *signals = &collected->signals;

    signals->table = enlarged(signals->table, signals->table_count, sizeof(*table));
    signals->table[signals->table_count++] = *table;
}

void rps_collected_free(struct rps_collected *collected)
{
    rps_signals_free(&collected->signals);
    free(collected->signal);
    free(collected->row);
    free(collected->wild);
    *collected = (struct rps_collected){0};
}
