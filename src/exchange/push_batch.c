/* Samples until they are sent, by series. */
#include "push_parts.h"

#include <stdlib.h>
#include <string.h>

#include "rpistat/array.h"

static struct rps_push_series *find_series(struct rps_push_batch *batch, size_t number)
{
    struct rps_push_series *grown;
    size_t more = number + 1 - batch->series_count;

    if (number < batch->series_count)
        return &batch->series[number];
    grown = rps_array_grow_by(batch->series, batch->series_count, more, sizeof(*grown));
    if (!grown)
        return NULL;
    memset(grown + batch->series_count, 0, more * sizeof(*grown));
    batch->series = grown;
    batch->series_count = number + 1;
    return &batch->series[number];
}

int rps_push_batch_put(void *context, const struct rps_time_series *series, int64_t time_ms,
                       double value, struct rps_error *err)
{
    struct rps_push_batch *batch = context;
    struct rps_push_series *of = find_series(batch, series->number);
    struct rps_remote_sample *grown =
        of ? rps_array_grow(of->sample, of->count, sizeof(*grown)) : NULL;

    if (!grown)
        return rps_error_memory(err);
    of->sample = grown;
    of->series = series;
    of->sample[of->count++] = (struct rps_remote_sample){time_ms, value};
    batch->count++;
    return 0;
}

int rps_push_batch_body(const struct rps_push_batch *batch, struct rps_protobuf *ret,
                        struct rps_error *err)
{
    struct rps_protobuf request = {0};
    int result;

    for (size_t i = 0; i < batch->series_count; i++) {
        const struct rps_push_series *of = &batch->series[i];

        if (of->count > 0)
            rps_remote_write_add(&request, of->series, of->sample, of->count);
    }
    result = rps_remote_write_body(&request, ret, err);
    rps_protobuf_free(&request);
    return result;
}

void rps_push_batch_clear(struct rps_push_batch *batch)
{
    for (size_t i = 0; i < batch->series_count; i++)
        batch->series[i].count = 0;
    batch->count = 0;
}

void rps_push_batch_free(struct rps_push_batch *batch)
{
    for (size_t i = 0; i < batch->series_count; i++)
        free(batch->series[i].sample);
    free(batch->series);
    *batch = (struct rps_push_batch){0};
}
