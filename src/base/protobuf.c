/* Build messages in protobuf's wire format. */
#include "rpistat/protobuf.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/arena.h"

enum { WIRE_VARINT, WIRE_DOUBLE, WIRE_BYTES };

#define VARINT_MAX 10 /* maximum length of a varint in bytes */

/* Return space for `size` more bytes after the existing bytes; NULL if memory runs out. */
static uint8_t *make_room_for_bytes(struct rps_protobuf *to, size_t size)
{
    uint8_t *more = to->failed ? NULL : rps_array_grow_by(to->data, to->size, size, 1);

    to->failed = !more;
    if (more)
        to->data = more;
    return more ? more + to->size : NULL;
}

void rps_protobuf_bytes(struct rps_protobuf *to, const void *data, size_t size)
{
    uint8_t *at = size > 0 ? make_room_for_bytes(to, size) : NULL;

    if (!at)
        return;
    memcpy(at, data, size);
    to->size += size;
}

void rps_protobuf_varint(struct rps_protobuf *to, uint64_t value)
{
    uint8_t *at = make_room_for_bytes(to, VARINT_MAX);

    if (!at)
        return;
    for (; value > 0x7f; value >>= 7)
        *at++ = (uint8_t)(0x80 | (value & 0x7f));
    *at++ = (uint8_t)value;
    to->size = (size_t)(at - to->data);
}

void rps_protobuf_number(struct rps_protobuf *to, uint64_t field, uint64_t value)
{
    if (value == 0)
        return;
    rps_protobuf_varint(to, field << 3 | WIRE_VARINT);
    rps_protobuf_varint(to, value);
}

void rps_protobuf_double(struct rps_protobuf *to, uint64_t field, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    bits = htole64(bits);
    rps_protobuf_varint(to, field << 3 | WIRE_DOUBLE);
    rps_protobuf_bytes(to, &bits, sizeof(bits));
}

void rps_protobuf_text(struct rps_protobuf *to, uint64_t field, const void *text, size_t size)
{
    rps_protobuf_varint(to, field << 3 | WIRE_BYTES);
    rps_protobuf_varint(to, size);
    rps_protobuf_bytes(to, text, size);
}

void rps_protobuf_message(struct rps_protobuf *to, uint64_t field, struct rps_protobuf *from)
{
    rps_protobuf_text(to, field, from->data, from->size);
    to->failed |= from->failed;
    from->size = 0;
}

void rps_protobuf_free(struct rps_protobuf *message)
{
    free(message->data);
    *message = (struct rps_protobuf){0};
}
