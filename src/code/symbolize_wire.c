/* The messages that the naming processes send over a pipe. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "intern.h"
#include "symbolize_parts.h"
#include "rpistat/arena.h"
#include "rpistat/text.h"

/* Header of a message about a frame. The frame's locations follow, each followed by its texts. */
struct wire_frame {
    uint32_t index;
    uint32_t count;
};

struct wire_location {
    int32_t line;
    uint32_t how;
    uint32_t function_bytes; /* Both sizes include the terminating zero. */
    uint32_t file_bytes;
};

_Static_assert(sizeof(struct wire_frame) == 8 && sizeof(struct wire_location) == 16,
               "RPS_SYMBOLIZE_MESSAGE_MAX");

static void write_text(const char *text, size_t bytes, FILE *out)
{
    fwrite(text, 1, bytes - 1, out);
    fputc('\0', out);
}

void rps_symbolize_send(FILE *out, size_t index, const struct rps_location *location, size_t count)
{
    struct wire_frame frame = {(uint32_t)index, (uint32_t)count};

    fwrite(&frame, sizeof(frame), 1, out);
    for (size_t i = 0; i < count; i++) {
        struct wire_location wire = {
            .line = location[i].line,
            .how = (uint32_t)location[i].how,
            .function_bytes =
                (uint32_t)rps_text_cut(location[i].function, RPS_SYMBOLIZE_TEXT_MAX) + 1,
            .file_bytes = (uint32_t)rps_text_cut(location[i].file, RPS_SYMBOLIZE_TEXT_MAX) + 1,
        };

        fwrite(&wire, sizeof(wire), 1, out);
        write_text(location[i].function, wire.function_bytes, out);
        write_text(location[i].file, wire.file_bytes, out);
    }
}

/* Parse the message at `data`. Return the length of the message; 0: incomplete; -1: invalid. */
static ssize_t take_message(const char *data, size_t size, struct rps_symbolize_message *ret)
{
    const char *at = data, *end = data + size, *file;
    struct wire_frame frame;
    struct wire_location wire;

    if (size < sizeof(frame))
        return 0;
    memcpy(&frame, at, sizeof(frame));
    at += sizeof(frame);
    if (frame.count == 0 || frame.count > RPS_SYMBOLIZE_DEPTH_MAX)
        return -1;
    ret->index = frame.index;
    ret->count = frame.count;
    for (uint32_t i = 0; i < frame.count; i++) {
        if ((size_t)(end - at) < sizeof(wire))
            return 0;
        memcpy(&wire, at, sizeof(wire));
        at += sizeof(wire);
        if (wire.line < 0 || wire.how >= RPS_LOCATION_HOWS || wire.function_bytes < 2 ||
            wire.function_bytes > RPS_SYMBOLIZE_TEXT_MAX + 1 || wire.file_bytes < 1 ||
            wire.file_bytes > RPS_SYMBOLIZE_TEXT_MAX + 1)
            return -1;
        if ((size_t)(end - at) < (size_t)wire.function_bytes + wire.file_bytes)
            return 0;
        file = at + wire.function_bytes;
        if (file[-1] != '\0' || file[wire.file_bytes - 1] != '\0')
            return -1;
        ret->location[i] = (struct rps_location){
            .frame = frame.index,
            .depth = (int)i,
            .function = at,
            .file = file,
            .line = wire.line,
            .how = (enum rps_location_how)wire.how,
        };
        at = file + wire.file_bytes;
    }
    return at - data;
}

ssize_t rps_symbolize_receive(struct rps_symbolize_received *heard, int fd,
                              int (*take)(void *context, const struct rps_symbolize_message *told),
                              void *context)
{
    struct rps_symbolize_message told;
    ssize_t got, bytes;
    size_t used = 0;

    heard->message = heard->message ? heard->message : malloc(RPS_SYMBOLIZE_MESSAGE_MAX);
    if (!heard->message)
        return 0;
    do {
        got = read(fd, heard->message + heard->size, RPS_SYMBOLIZE_MESSAGE_MAX - heard->size);
    } while (got < 0 && errno == EINTR);
    if (got <= 0)
        return got < 0 && errno == EAGAIN ? -1 : 0;
    heard->size += (size_t)got;
    while ((bytes = take_message(heard->message + used, heard->size - used, &told)) > 0) {
        if (take(context, &told) < 0)
            return 0;
        used += (size_t)bytes;
    }
    heard->size -= used;
    memmove(heard->message, heard->message + used, heard->size);
    return bytes < 0 ? 0 : got;
}

void rps_symbolize_received_free(struct rps_symbolize_received *heard)
{
    free(heard->message);
    *heard = (struct rps_symbolize_received){0};
}

/* The locations that naming has found so far. */

RPS_ARRAY_BEFORE(is_below, uint64_t, , <, uint64_t)

size_t rps_symbolize_lower_bound(const uint64_t *ascending, size_t count, uint64_t address)
{
    return rps_array_find(ascending, count, sizeof(*ascending), is_below, &address);
}

/* Return the arena's copy of a text; recent texts are reused. Texts in files need not be UTF-8. */
static const char *put_text(struct rps_symbolizer *symbolizer, const char *text)
{
    char *repaired = rps_text_repaired(text);
    const char **recent;

    if (!repaired)
        rps_arena_exhausted();
    repaired[rps_text_cut(repaired, RPS_SYMBOLIZE_TEXT_MAX)] = '\0';
    recent = &symbolizer->recent[rps_intern_hash(0, repaired) % RPS_SYMBOLIZE_RECENT];
    if (!*recent || strcmp(*recent, repaired) != 0)
        *recent = rps_arena_text(symbolizer->arena, repaired);
    free(repaired);
    return *recent;
}

void rps_symbolize_put(struct rps_symbolizer *symbolizer, size_t frame,
                       const struct rps_location *location, size_t count)
{
    struct rps_location *own = rps_arena_get(symbolizer->arena, count, sizeof(*own));

    for (size_t i = 0; i < count; i++)
        own[i] = (struct rps_location){
            .frame = (int64_t)frame,
            .depth = (int)i,
            .function = put_text(symbolizer, location[i].function),
            .file = put_text(symbolizer, location[i].file),
            .line = location[i].line,
            .how = location[i].how,
        };
    symbolizer->frame[frame] = (struct rps_symbolize_frame){own, count};
}

void rps_symbolize_put_reason(struct rps_symbolizer *symbolizer,
                              const struct rps_symbolize_group *group, const char *reason)
{
    struct rps_location location = {.function = reason, .file = "", .how = RPS_LOCATION_NONE};

    for (size_t i = 0; i < group->count; i++) {
        if (symbolizer->frame[group->frame[i]].count == 0)
            rps_symbolize_put(symbolizer, group->frame[i], &location, 1);
    }
}
