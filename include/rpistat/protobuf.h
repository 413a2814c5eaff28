/* Messages in protobuf's wire format (https://protobuf.dev/programming-guides/encoding/), made in
 * memory. */
#ifndef RPISTAT_PROTOBUF_H
#define RPISTAT_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

/* {0}: an empty message. */
struct rps_protobuf {
    uint8_t *data; /* owned */
    size_t size;
    int failed; /* memory ran out; later additions are missing */
};

void rps_protobuf_bytes(struct rps_protobuf *to, const void *data, size_t size);
void rps_protobuf_varint(struct rps_protobuf *to, uint64_t value);

/* Add a number; 0 is left out, as the format requires. */
void rps_protobuf_number(struct rps_protobuf *to, uint64_t field, uint64_t value);

/* Add a double, also 0. */
void rps_protobuf_double(struct rps_protobuf *to, uint64_t field, double value);

void rps_protobuf_text(struct rps_protobuf *to, uint64_t field, const void *text, size_t size);

/* Put a message into another one, and empty it. */
void rps_protobuf_message(struct rps_protobuf *to, uint64_t field, struct rps_protobuf *from);

void rps_protobuf_free(struct rps_protobuf *message);

#endif
