/* The body of requests of Prometheus' remote-write protocol. */
#include "push_parts.h"

#include <snappy-c.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/process.h"

#define LIBRARY "libsnappy.so.1"

/* The numbers of the fields, message by message. */
enum { REQUEST_SERIES = 1 };
enum { SERIES_LABEL = 1, SERIES_SAMPLE };
enum { LABEL_NAME = 1, LABEL_VALUE };
enum { SAMPLE_VALUE = 1, SAMPLE_TIME };

static void put_label(struct rps_protobuf *series, struct rps_protobuf *label, const char *name,
                      const char *value)
{
    rps_protobuf_text(label, LABEL_NAME, name, strlen(name));
    rps_protobuf_text(label, LABEL_VALUE, value, strlen(value));
    rps_protobuf_message(series, SERIES_LABEL, label);
}

void rps_remote_write_add(struct rps_protobuf *request, const struct rps_time_series *series,
                          const struct rps_remote_sample *sample, size_t count)
{
    struct rps_protobuf message = {0}, part = {0};

    put_label(&message, &part, "__name__", series->metric); /* Labels are sorted, and "_" comes
                                                               before all letters. */
    for (size_t i = 0; i < series->label_count; i++)
        put_label(&message, &part, series->label[i].name, series->label[i].value);
    for (size_t i = 0; i < count; i++) {
        rps_protobuf_double(&part, SAMPLE_VALUE, sample[i].value);
        rps_protobuf_number(&part, SAMPLE_TIME, (uint64_t)sample[i].time_ms);
        rps_protobuf_message(&message, SERIES_SAMPLE, &part);
    }
    rps_protobuf_message(request, REQUEST_SERIES, &message);
    rps_protobuf_free(&message);
    rps_protobuf_free(&part);
}

int rps_remote_write_body(struct rps_protobuf *request, struct rps_protobuf *ret,
                          struct rps_error *err)
{
    __typeof__(snappy_max_compressed_length) *max_length = NULL;
    __typeof__(snappy_compress) *compress = NULL;
    const struct rps_library_function functions[] = {
        {"snappy_max_compressed_length", &max_length},
        {"snappy_compress", &compress},
        {NULL, NULL},
    };
    struct rps_protobuf body = {0};

    if (!rps_library_open(LIBRARY, functions))
        return rps_error_set(err, RPS_FAILED,
                             "pushing needs snappy, and " LIBRARY
                             " was not found; install it (Debian: libsnappy1v5)");
    body.size = max_length(request->size);
    body.data = malloc(body.size);
    if (!body.data || request->failed ||
        compress((const char *)request->data, request->size, (char *)body.data, &body.size) !=
            SNAPPY_OK) {
        rps_protobuf_free(&body);
        return rps_error_memory(err);
    }
    request->size = 0;
    *ret = body;
    return 0;
}
