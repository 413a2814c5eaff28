/*
 * The write-ahead log of an SQLite file. A frame counts when its salts are the log's and the
 * checksums, each of which goes on from the one before, are right, and a transaction when its last
 * frame counts; what lies behind is left over from before.
 */
#include "pages_log.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAD_BYTES  32
#define FRAME_BYTES 24
#define MAGIC       UINT32_C(0x377f0682) /* its last bit: checksums are of big-endian words */

struct checksum {
    bool big_endian;
    uint32_t a, b;
};

static uint32_t big(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static uint32_t little(const uint8_t *at)
{
    return (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

/* size is a multiple of 8 */
static void add(struct checksum *sum, const uint8_t *at, size_t size)
{
    for (size_t i = 0; i < size; i += 8) {
        sum->a += (sum->big_endian ? big(at + i) : little(at + i)) + sum->b;
        sum->b += (sum->big_endian ? big(at + i + 4) : little(at + i + 4)) + sum->a;
    }
}

static bool is_page_size(uint32_t size)
{
    return size >= 512 && size <= 65536 && (size & (size - 1)) == 0;
}

static int append(struct rps_log *log, size_t *room, uint32_t page, int64_t offset)
{
    if (log->count == *room) {
        size_t more = 2 * *room + 64;
        struct rps_log_frame *frame = realloc(log->frame, more * sizeof(*frame));

        if (!frame)
            return -1;
        log->frame = frame;
        *room = more;
    }
    log->frame[log->count++] = (struct rps_log_frame){page, offset};
    return 0;
}

/* By page, the newest first. */
static int compare(const void *a, const void *b)
{
    const struct rps_log_frame *x = a, *y = b;

    if (x->page != y->page)
        return x->page < y->page ? -1 : 1;
    return (x->offset < y->offset) - (x->offset > y->offset);
}

/* Leave the newest frame of each page. */
static void sort(struct rps_log *log)
{
    size_t kept = 0;

    if (log->count > 0)
        qsort(log->frame, log->count, sizeof(*log->frame), compare);
    for (size_t i = 0; i < log->count; i++)
        if (i == 0 || log->frame[i].page != log->frame[i - 1].page)
            log->frame[kept++] = log->frame[i];
    log->count = kept;
}

/* The head is valid: read the frames. */
static int read_frames(struct rps_log *log, const uint8_t head[HEAD_BYTES], struct checksum *sum)
{
    size_t frame_bytes = FRAME_BYTES + log->page_size, room = 0, complete = 0;
    uint8_t *frame = malloc(frame_bytes);
    int64_t offset = HEAD_BYTES;
    int result = frame ? 0 : -1;

    while (result == 0 && pread(log->fd, frame, frame_bytes, offset) == (ssize_t)frame_bytes) {
        add(sum, frame, 8);
        add(sum, frame + FRAME_BYTES, log->page_size);
        if (memcmp(frame + 8, head + 16, 8) != 0 || big(frame + 16) != sum->a ||
            big(frame + 20) != sum->b)
            break;
        result = append(log, &room, big(frame), offset + FRAME_BYTES);
        if (result == 0 && big(frame + 4) != 0) {
            complete = log->count;
            log->page_count = big(frame + 4);
        }
        offset += (int64_t)frame_bytes;
    }
    free(frame);
    log->count = complete;
    return result;
}

int rps_log_load(struct rps_log *ret, const char *path)
{
    struct rps_log log = {.fd = -1};
    struct checksum sum = {.big_endian = false};
    uint8_t head[HEAD_BYTES];
    char *name = NULL;
    int result = 0;

    if (asprintf(&name, "%s-wal", path) < 0)
        return -1;
    log.fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    free(name);
    if (log.fd >= 0 && pread(log.fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
        (big(head) & ~UINT32_C(1)) == MAGIC && is_page_size(big(head + 8))) {
        sum.big_endian = big(head) & 1;
        add(&sum, head, 24);
        if (big(head + 24) == sum.a && big(head + 28) == sum.b) {
            log.page_size = big(head + 8);
            result = read_frames(&log, head, &sum);
        }
    }
    if (result < 0) {
        rps_log_free(&log);
        return result;
    }
    sort(&log);
    *ret = log;
    return 0;
}

void rps_log_free(struct rps_log *log)
{
    if (log->fd >= 0)
        close(log->fd);
    free(log->frame);
    *log = (struct rps_log){.fd = -1};
}

int64_t rps_log_find(const struct rps_log *log, uint32_t page)
{
    size_t low = 0, high = log->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (log->frame[middle].page < page)
            low = middle + 1;
        else
            high = middle;
    }
    return low < log->count && log->frame[low].page == page ? log->frame[low].offset : -1;
}
