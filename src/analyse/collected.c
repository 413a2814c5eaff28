/* What was collected: what is added to it from elsewhere. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/array.h"
#include "rpistat/collect.h"

/* Of a signal that is added: its noise is so much of its resolution at least. */
#define NOISE_OF_RESOLUTION .25

/* Room for one more signal; weights, which are all 1 where there are none. */
static int make_room(struct rps_collected *collected, struct rps_error *err)
{
    struct rps_signals *signals = &collected->signals;
    size_t room = signals->signal_count + 1, cells = room * signals->count + 1;
    int is_weighted = signals->weight != NULL;
    void *signal = realloc(collected->signal, room * sizeof(*collected->signal));
    void *value = realloc(signals->value, cells * sizeof(*signals->value));
    void *weight = realloc(signals->weight, cells * sizeof(*signals->weight));
    void *resolution = realloc(signals->resolution, room * sizeof(*signals->resolution));
    double *noise_floor = calloc(room, sizeof(*noise_floor));

    collected->signal = signal ? signal : collected->signal;
    signals->value = value ? value : signals->value;
    signals->weight = weight ? weight : signals->weight;
    signals->resolution = resolution ? resolution : signals->resolution;
    if (!signal || !value || !weight || !resolution || !noise_floor) {
        free(noise_floor);
        return rps_error_memory(err);
    }
    for (size_t i = 0; i < signals->signal_count * signals->count && !is_weighted; i++)
        signals->weight[i] = 1;
    if (signals->noise_floor)
        memcpy(noise_floor, signals->noise_floor, (room - 1) * sizeof(*noise_floor));
    free(signals->noise_floor);
    signals->noise_floor = noise_floor;
    return 0;
}

int rps_collected_add_signal(struct rps_collected *collected, const char *name, const double *value,
                             const float *weight, double resolution, struct rps_error *err)
{
    struct rps_signals *signals = &collected->signals;
    size_t s = signals->signal_count, at = s * signals->count;

    if (make_room(collected, err) < 0)
        return RPS_FAILED;
    memcpy(signals->value + at, value, signals->count * sizeof(*value));
    memcpy(signals->weight + at, weight, signals->count * sizeof(*weight));
    signals->resolution[s] = resolution;
    signals->noise_floor[s] = NOISE_OF_RESOLUTION * resolution;
    collected->signal[s] = (struct rps_collected_signal){.metric = -1, .cpu = RPS_CPU_ALL};
    snprintf(collected->signal[s].name, sizeof(collected->signal[s].name), "%s", name);
    signals->signal_count++;
    return 0;
}

int rps_collected_add_table(struct rps_collected *collected, struct rps_count_table *table,
                            struct rps_error *err)
{
    struct rps_signals *signals = &collected->signals;
    struct rps_count_table *grown =
        rps_array_grow(signals->table, signals->table_count, sizeof(*grown));

    if (!grown) {
        rps_count_table_free(table);
        return rps_error_memory(err);
    }
    signals->table = grown;
    signals->table[signals->table_count++] = *table;
    return 0;
}

void rps_collected_free(struct rps_collected *collected)
{
    rps_signals_free(&collected->signals);
    free(collected->signal);
    free(collected->first);
    free(collected->last);
    free(collected->start_ns);
    free(collected->end_ns);
    free(collected->cycle);
    free(collected->cpu_s);
    free(collected->wild);
    *collected = (struct rps_collected){0};
}
