/* Messages in protobuf's wire format (https://protobuf.dev/programming-guides/encoding/), made in
 * memory. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A protobuf message. {0} is an empty message. */
struct rps_protobuf {
    uint8_t *data; /* bytes of the message (owned) */
    size_t size;
    int failed; /* 1 if memory ran out, and later additions are missing */
};

void rps_protobuf_bytes(struct rps_protobuf *to, const void *data, size_t size);
void rps_protobuf_varint(struct rps_protobuf *to, uint64_t value);

/* Add a number. The number 0 is left out, as the format requires. */
void rps_protobuf_number(struct rps_protobuf *to, uint64_t field, uint64_t value);

/* Add a double, even if it is 0. */
void rps_protobuf_double(struct rps_protobuf *to, uint64_t field, double value);

void rps_protobuf_text(struct rps_protobuf *to, uint64_t field, const void *text, size_t size);

/* Add the message `from` as a field of another message, and empty `from`. */
void rps_protobuf_message(struct rps_protobuf *to, uint64_t field, struct rps_protobuf *from);

void rps_protobuf_free(struct rps_protobuf *message);
