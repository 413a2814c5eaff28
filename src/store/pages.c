/*
 * The rows of an SQLite file, read page by page.
 *
 * No tree is followed from its root: every page says itself what it is, so that one that cannot be
 * read costs what is in it and nothing else. What this cannot tell is which table a row is of;
 * whoever asks tells by the row's shape. Only two things are taken from the first page: the size
 * of pages, for which there is a usual value, and the list of free pages, which is believed only
 * when it is whole, since pages that it names wrongly would be lost.
 *
 * Tried and dropped: reading through SQLite by ranges of keys around the damage. A damaged page
 * high up in a tree hides half of the table from it, a damaged first page all.
 */
#include "pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pages_log.h"
#include "varint.h"

#define PAGE_SIZE_USUAL 4096
#define HEAD_BYTES      100

/* The page with this byte is SQLite's for locks, and never written. */
#define LOCK_BYTE (UINT32_C(1) << 30)

/* A row that is longer is not one of a store. */
#define PAYLOAD_MAX (4 * 1024 * 1024)

enum page_type {
    INTERIOR_INDEX = 2,
    INTERIOR_TABLE = 5,
    LEAF_INDEX = 10,
    LEAF_TABLE = 13,
};

/* What is known of a page. */
enum page_state {
    PAGE_UNKNOWN,
    PAGE_FREE,
    PAGE_TREE,
    PAGE_OVERFLOW,
    PAGE_DAMAGED,
};

struct rps_pages {
    int fd;
    struct rps_log log;
    uint32_t page_size, usable; /* usable: without what is reserved at the end of each page */
    uint32_t page_count;
    uint8_t *state;    /* by page, from 1; enum page_state */
    uint8_t *page;     /* the present page */
    uint8_t *overflow; /* a page of a long row's rest */
    uint8_t *payload;  /* the present row */
    size_t payload_room;
    uint32_t number; /* of the present page; 0 before the first */
    int type;        /* of it; 0: no row is to be read from it */
    uint32_t cell, cell_count;
};

/* --- pages ------------------------------------------------------------------------------------ */

/* Fill buffer with the page's present content; false when it cannot be read. */
static bool read_page(struct rps_pages *pages, uint32_t number, uint8_t *buffer)
{
    int64_t in_log = rps_log_find(&pages->log, number);
    int fd = in_log >= 0 ? pages->log.fd : pages->fd;
    off_t at = in_log >= 0 ? in_log : (off_t)(number - 1) * pages->page_size;

    return pread(fd, buffer, pages->page_size, at) == (ssize_t)pages->page_size;
}

/* Mark the free pages. False when the list is not whole; the marks mean nothing then. */
static bool read_free_list(struct rps_pages *pages, const uint8_t head[HEAD_BYTES])
{
    uint32_t trunk = rps_big32(head + 32), expected = rps_big32(head + 36), found = 0;

    while (trunk != 0) {
        uint32_t leaves;

        if (trunk > pages->page_count || pages->state[trunk] == PAGE_FREE ||
            !read_page(pages, trunk, pages->overflow))
            return false;
        pages->state[trunk] = PAGE_FREE;
        found++;
        leaves = rps_big32(pages->overflow + 4);
        if (leaves > pages->usable / 4 - 2)
            return false;
        for (uint32_t i = 0; i < leaves; i++) {
            uint32_t leaf = rps_big32(pages->overflow + 8 + (size_t)4 * i);

            if (leaf < 2 || leaf > pages->page_count || pages->state[leaf] == PAGE_FREE)
                return false;
            pages->state[leaf] = PAGE_FREE;
            found++;
        }
        trunk = rps_big32(pages->overflow);
    }
    return found == expected;
}

/* Size of pages from the file's first bytes, or from the log's, or the usual one. */
static void choose_page_size(struct rps_pages *pages, const uint8_t head[HEAD_BYTES])
{
    uint32_t size = rps_big16(head + 16) == 1 ? 65536 : rps_big16(head + 16);
    bool valid = size >= 512 && (size & (size - 1)) == 0;

    if (pages->log.page_size != 0)
        size = pages->log.page_size;
    else if (!valid)
        size = PAGE_SIZE_USUAL;
    pages->page_size = size;
    pages->usable = valid && head[20] <= size - 480 ? size - head[20] : size;
}

/* With the file open and the log loaded. */
static int measure(struct rps_pages *pages, const char *path, struct rps_error *err)
{
    uint8_t head[HEAD_BYTES] = {0};
    struct stat status;
    int64_t count;
    uint32_t lock;

    if (fstat(pages->fd, &status) < 0 || !S_ISREG(status.st_mode))
        return rps_error_set(err, RPS_FAILED, "%s is not a regular file: name a store", path);
    if (pread(pages->fd, head, sizeof(head), 0) < 0)
        return rps_error_set(err, RPS_FAILED, "cannot read %s: %s; see to its disk", path,
                             strerror(errno));
    choose_page_size(pages, head);
    count = (status.st_size + pages->page_size - 1) / pages->page_size;
    if (count < pages->log.page_count)
        count = pages->log.page_count;
    if (count < 1 || count > UINT32_MAX - 1)
        return rps_error_set(err, RPS_FAILED, "%s is %s to be a store: there is nothing to save",
                             path, count < 1 ? "too short" : "too long");
    pages->page_count = (uint32_t)count;
    pages->state = calloc(pages->page_count + (size_t)1, 1);
    pages->page = malloc(pages->page_size);
    pages->overflow = malloc(pages->page_size);
    if (!pages->state || !pages->page || !pages->overflow)
        return rps_error_memory(err);
    /* the present first page may be in the log */
    if (!read_page(pages, 1, pages->page) || !read_free_list(pages, pages->page))
        memset(pages->state, PAGE_UNKNOWN, pages->page_count + (size_t)1);
    lock = LOCK_BYTE / pages->page_size + 1;
    if (lock <= pages->page_count)
        pages->state[lock] = PAGE_FREE;
    return 0;
}

int rps_pages_open(struct rps_pages **ret, const char *path, struct rps_error *err)
{
    struct rps_pages *pages = calloc(1, sizeof(*pages));
    int result;

    if (!pages)
        return rps_error_memory(err);
    pages->log.fd = -1;
    pages->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (pages->fd < 0)
        result = rps_error_set(err, RPS_FAILED, "cannot open %s: %s; name the store with -i", path,
                               strerror(errno));
    else if (rps_log_load(&pages->log, path) < 0)
        result = rps_error_memory(err);
    else
        result = measure(pages, path, err);
    if (result < 0) {
        rps_pages_close(pages);
        return result;
    }
    *ret = pages;
    return 0;
}

void rps_pages_close(struct rps_pages *pages)
{
    if (!pages)
        return;
    if (pages->fd >= 0)
        close(pages->fd);
    rps_log_free(&pages->log);
    free(pages->state);
    free(pages->page);
    free(pages->overflow);
    free(pages->payload);
    free(pages);
}

uint64_t rps_pages_damaged(const struct rps_pages *pages)
{
    uint64_t damaged = 0;

    for (uint32_t n = 1; n <= pages->page_count; n++)
        damaged += pages->state[n] == PAGE_DAMAGED || pages->state[n] == PAGE_UNKNOWN;
    return damaged;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* How much of a payload lies in the page itself. */
static size_t local_bytes(const struct rps_pages *pages, uint64_t payload)
{
    uint64_t u = pages->usable, least = (u - 12) * 32 / 255 - 23;
    uint64_t most = pages->type == LEAF_TABLE ? u - 35 : (u - 12) * 64 / 255 - 23;
    uint64_t local = least + (payload - least) % (u - 4);

    if (payload <= most)
        return (size_t)payload;
    return (size_t)(local <= most ? local : least);
}

/* Append the rest of a long payload, page by page from `next` on. */
static bool read_overflow(struct rps_pages *pages, uint32_t next, size_t have, size_t payload)
{
    while (have < payload) {
        size_t part = payload - have < pages->usable - 4 ? payload - have : pages->usable - 4;

        if (next < 2 || next > pages->page_count || pages->state[next] == PAGE_FREE ||
            !read_page(pages, next, pages->overflow))
            return false;
        pages->state[next] = PAGE_OVERFLOW;
        memcpy(pages->payload + have, pages->overflow + 4, part);
        have += part;
        next = rps_big32(pages->overflow);
    }
    return true;
}

/* The payload of the cell at `at`. 1 and its size, 0 when it makes no sense, -1 without memory. */
static int read_payload(struct rps_pages *pages, uint32_t at, int64_t *ret_rowid, size_t *ret_size)
{
    uint64_t size = 0, rowid = 0;
    size_t room, taken, local;

    at += pages->type == INTERIOR_INDEX ? 4 : 0;
    if (at >= pages->usable)
        return 0;
    room = pages->usable - at;
    taken = rps_varint_read(pages->page + at, room, &size);
    if (taken > 0 && pages->type == LEAF_TABLE) {
        size_t second = rps_varint_read(pages->page + at + taken, room - taken, &rowid);

        taken = second > 0 ? taken + second : 0;
    }
    if (taken == 0 || size < 2 || size > PAYLOAD_MAX)
        return 0;
    local = local_bytes(pages, size);
    if (local + (local < size ? 4 : 0) > room - taken)
        return 0;
    if (size > pages->payload_room) {
        uint8_t *more = realloc(pages->payload, (size_t)size);

        if (!more)
            return -1;
        pages->payload = more;
        pages->payload_room = (size_t)size;
    }
    memcpy(pages->payload, pages->page + at + taken, local);
    if (local < size &&
        !read_overflow(pages, rps_big32(pages->page + at + taken + local), local, (size_t)size))
        return 0;
    *ret_rowid = (int64_t)rowid;
    *ret_size = (size_t)size;
    return 1;
}

/* Bytes of a value of a serial type. */
static uint64_t value_bytes(uint64_t type)
{
    static const uint8_t bytes[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};

    return type < sizeof(bytes) ? bytes[type] : (type - 12) / 2;
}

static void read_value(const uint8_t *at, uint64_t type, struct rps_value *ret)
{
    uint64_t bits = 0, bytes = value_bytes(type);

    *ret = (struct rps_value){.kind = RPS_VALUE_INTEGER};
    if (type == 0) {
        ret->kind = RPS_VALUE_NULL;
    } else if (type == 8 || type == 9) {
        ret->integer = (int64_t)type - 8;
    } else if (type >= 12) {
        ret->kind = type % 2 == 0 ? RPS_VALUE_BLOB : RPS_VALUE_TEXT;
        ret->text = (const char *)at;
        ret->length = (size_t)bytes;
    } else {
        if (bytes > 0 && at[0] & 0x80 && type != 7)
            bits = UINT64_MAX;
        for (uint64_t i = 0; i < bytes; i++)
            bits = bits << 8 | at[i];
        ret->integer = (int64_t)bits;
        if (type == 7) {
            ret->kind = RPS_VALUE_REAL;
            memcpy(&ret->real, &bits, sizeof(ret->real));
        }
    }
}

/* Take the payload apart; false when it is no record, or one of more columns than there are. */
static bool read_record(const uint8_t *payload, size_t size, struct rps_record *ret)
{
    uint64_t head = 0, type = 0;
    size_t at = rps_varint_read(payload, size, &head), body;

    if (at == 0 || head > size)
        return false;
    body = (size_t)head;
    ret->count = 0;
    while (at < head) {
        size_t taken = rps_varint_read(payload + at, (size_t)head - at, &type);

        if (taken == 0 || type == 10 || type == 11 || value_bytes(type) > size - body ||
            ret->count == RPS_RECORD_MAX)
            return false;
        read_value(payload + body, type, &ret->value[ret->count++]);
        body += (size_t)value_bytes(type);
        at += taken;
    }
    return body == size;
}

/* --- one after the other ---------------------------------------------------------------------- */

/* Go to the next page that has rows; false at the end. */
static bool next_page(struct rps_pages *pages)
{
    while (pages->number < pages->page_count) {
        uint32_t number = ++pages->number, at = number == 1 ? HEAD_BYTES : 0;
        uint32_t room, head, count;

        if (pages->state[number] == PAGE_FREE)
            continue;
        if (!read_page(pages, number, pages->page)) {
            pages->state[number] = PAGE_DAMAGED;
            continue;
        }
        pages->type = pages->page[at];
        if (pages->type != INTERIOR_INDEX && pages->type != INTERIOR_TABLE &&
            pages->type != LEAF_INDEX && pages->type != LEAF_TABLE)
            continue; /* the rest of a long row, or damage */
        head = pages->type == INTERIOR_INDEX || pages->type == INTERIOR_TABLE ? 12 : 8;
        room = (pages->usable - at - head) / 2;
        count = rps_big16(pages->page + at + 3);
        pages->state[number] = count <= room ? PAGE_TREE : PAGE_DAMAGED;
        if (pages->type == INTERIOR_TABLE || count > room)
            continue;
        pages->cell = 0;
        pages->cell_count = count;
        return true;
    }
    pages->cell = pages->cell_count = 0;
    return false;
}

int rps_pages_next(struct rps_pages *pages, struct rps_record *ret, struct rps_error *err)
{
    for (;;) {
        uint32_t head, at;
        size_t size = 0;
        int result;

        while (pages->cell >= pages->cell_count)
            if (!next_page(pages))
                return 0;
        head = (pages->number == 1 ? HEAD_BYTES : 0) + (pages->type == INTERIOR_INDEX ? 12 : 8);
        at = rps_big16(pages->page + head + 2 * pages->cell++);
        result = read_payload(pages, at, &ret->rowid, &size);
        if (result < 0)
            return rps_error_memory(err);
        ret->is_index = pages->type != LEAF_TABLE;
        if (result > 0 && read_record(pages->payload, size, ret))
            return 1;
        pages->state[pages->number] = PAGE_DAMAGED;
    }
}
