/* What processes of naming tell: messages over a pipe. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "naming_parts.h"
#include "rpistat/text.h"

/* A message: a frame of the group, and its locations, each followed by its texts without an end. */
struct wire_frame {
    uint32_t index;
    uint32_t count;
};

struct wire_location {
    int32_t line;
    uint32_t how;
    uint32_t function_bytes;
    uint32_t file_bytes;
};

_Static_assert(sizeof(struct wire_frame) == 8 && sizeof(struct wire_location) == 16,
               "RPS_NAMING_MESSAGE_MAX");

void rps_naming_tell(FILE *out, size_t index, const struct rps_location *location, size_t count)
{
    struct wire_frame frame = {(uint32_t)index, (uint32_t)count};

    fwrite(&frame, sizeof(frame), 1, out);
    for (size_t i = 0; i < count; i++) {
        struct wire_location wire = {
            .line = location[i].line,
            .how = (uint32_t)location[i].how,
            .function_bytes = (uint32_t)rps_text_cut(location[i].function, RPS_NAMING_TEXT_MAX),
            .file_bytes = (uint32_t)rps_text_cut(location[i].file, RPS_NAMING_TEXT_MAX),
        };

        fwrite(&wire, sizeof(wire), 1, out);
        fwrite(location[i].function, 1, wire.function_bytes, out);
        fwrite(location[i].file, 1, wire.file_bytes, out);
    }
}

/* Take one text of `bytes` out of the message as a string of its own at *to. */
static const char *take_text(const char **at, size_t bytes, char **to)
{
    char *text = *to;

    memcpy(text, *at, bytes);
    text[bytes] = '\0';
    *at += bytes;
    *to += bytes + 1;
    return text;
}

/* Take the message at data. Returns its length; 0 when it is not whole yet; -1 when it is none. */
static ssize_t take_message(const char *data, size_t size, char *texts, struct rps_naming_told *ret)
{
    const char *at = data, *end = data + size;
    struct wire_frame frame;
    struct wire_location wire;

    if (size < sizeof(frame))
        return 0;
    memcpy(&frame, at, sizeof(frame));
    at += sizeof(frame);
    if (frame.count == 0 || frame.count > RPS_NAMING_DEPTH_MAX)
        return -1;
    ret->index = frame.index;
    ret->count = frame.count;
    for (uint32_t i = 0; i < frame.count; i++) {
        if ((size_t)(end - at) < sizeof(wire))
            return 0;
        memcpy(&wire, at, sizeof(wire));
        at += sizeof(wire);
        if (wire.line < 0 || wire.how >= RPS_LOCATION_HOWS || wire.function_bytes == 0 ||
            wire.function_bytes > RPS_NAMING_TEXT_MAX || wire.file_bytes > RPS_NAMING_TEXT_MAX)
            return -1;
        if ((size_t)(end - at) < (size_t)wire.function_bytes + wire.file_bytes)
            return 0;
        ret->location[i] = (struct rps_location){
            .frame = frame.index,
            .depth = (int)i,
            .function = take_text(&at, wire.function_bytes, &texts),
            .file = take_text(&at, wire.file_bytes, &texts),
            .line = wire.line,
            .how = (enum rps_location_how)wire.how,
        };
    }
    return at - data;
}

ssize_t rps_naming_hear(struct rps_naming_heard *heard, int fd,
                        int (*take)(void *context, const struct rps_naming_told *told),
                        void *context)
{
    struct rps_naming_told told;
    ssize_t got, bytes;
    size_t used = 0;

    heard->message = heard->message ? heard->message : malloc(RPS_NAMING_MESSAGE_MAX);
    heard->texts = heard->texts ? heard->texts : malloc(RPS_NAMING_MESSAGE_MAX);
    if (!heard->message || !heard->texts)
        return 0;
    do {
        got = read(fd, heard->message + heard->size, RPS_NAMING_MESSAGE_MAX - heard->size);
    } while (got < 0 && errno == EINTR);
    if (got <= 0)
        return got < 0 && errno == EAGAIN ? -1 : 0;
    heard->size += (size_t)got;
    while ((bytes = take_message(heard->message + used, heard->size - used, heard->texts, &told)) >
           0) {
        if (take(context, &told) < 0)
            return 0;
        used += (size_t)bytes;
    }
    heard->size -= used;
    memmove(heard->message, heard->message + used, heard->size);
    return bytes < 0 ? 0 : got;
}

void rps_naming_unhear(struct rps_naming_heard *heard)
{
    free(heard->message);
    free(heard->texts);
    *heard = (struct rps_naming_heard){0};
}
