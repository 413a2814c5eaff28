/*
 * Following the tree of `period`.
 *
 * It is an index tree, since the table is WITHOUT ROWID: rows stand in inner pages as well, each
 * between the pages left and right of it. A row never leaves its page, for that needs a payload of
 * a quarter page. A store may come from anywhere: every offset is looked at, and no more pages are
 * read than the file has.
 *
 * The file is read through SQLite's own handle. One of our own would take the locks with it when it
 * is closed: POSIX locks are a process's, not a handle's.
 */
#include "period_walk.h"

#include <stdlib.h>
#include <string.h>

#include "varint.h"

#define HEAD_BYTES 100
#define PAGE_MAX   65536

/* A tree of pages with four rows each is not deeper for 2^32 pages. */
#define DEPTH_MAX 20

#define INTERIOR_INDEX 2
#define LEAF_INDEX     10

struct level {
    uint8_t *page; /* in the walk's pages */
    int leaf;
    uint32_t cells;
    uint32_t next; /* leaf: the next cell; else twice that, and 1 more behind the page left of it */
};

struct rps_walk {
    sqlite3_stmt *hold; /* its being stepped keeps the transaction open */
    sqlite3_file *file; /* borrowed */
    int64_t run_id;
    uint32_t page_size, usable, page_count, read_count;
    uint8_t *pages; /* owned; a page a level */
    int depth;      /* levels in use */
    struct level level[DEPTH_MAX];
};

void rps_walk_close(struct rps_walk *walk)
{
    if (!walk)
        return;
    free(walk->pages);
    sqlite3_finalize(walk->hold);
    free(walk);
}

/* --- is it possible? -------------------------------------------------------------------------- */

/* The root page of a table with just the columns that are expected; the statement stays open. */
static uint32_t find_root(struct rps_walk *walk, sqlite3 *db)
{
    static const char sql[] =
        "SELECT rootpage FROM sqlite_schema WHERE type = 'table' AND name = 'period'"
        " AND (SELECT group_concat(name || ':' || pk, ' ') FROM pragma_table_info('period')) IN ("
#define COLUMNS                                                                                    \
    "'run_id:1 cpu:2 cycle:3 period:4 set_no:0 start_ns:0 length_ns:0 cycles:0 enabled_ns:0"       \
    " running_ns:0 switch_ns:0 missed:0 c0:0 c1:0 c2:0 c3:0 c4:0 c5:0 c6:0 c7:0"
        COLUMNS "', " COLUMNS " merged:0')";
#undef COLUMNS

    if (sqlite3_prepare_v2(db, sql, -1, &walk->hold, NULL) != SQLITE_OK ||
        sqlite3_step(walk->hold) != SQLITE_ROW)
        return 0;
    return (uint32_t)sqlite3_column_int64(walk->hold, 0);
}

/* No page stands in a write-ahead log; with a rollback journal the file is the truth anyway. A log
 * that is empty while the transaction is open stays out of it: nobody may copy into the file now.
 */
static int is_whole(sqlite3 *db)
{
    sqlite3_file *log = NULL;
    sqlite3_int64 size = 0;

    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) != SQLITE_OK)
        return 0;
    if (!log || !log->pMethods)
        return 1;
    return log->pMethods->xFileSize(log, &size) == SQLITE_OK && size == 0;
}

static int read_head(struct rps_walk *walk)
{
    uint8_t head[HEAD_BYTES];
    sqlite3_int64 size;

    if (walk->file->pMethods->xRead(walk->file, head, HEAD_BYTES, 0) != SQLITE_OK ||
        walk->file->pMethods->xFileSize(walk->file, &size) != SQLITE_OK)
        return 0;
    walk->page_size = rps_big16(head + 16) == 1 ? PAGE_MAX : rps_big16(head + 16);
    if (walk->page_size < 512 || (walk->page_size & (walk->page_size - 1)) != 0 ||
        head[20] > walk->page_size / 4 || size / walk->page_size > UINT32_MAX)
        return 0;
    walk->usable = walk->page_size - head[20];
    walk->page_count = (uint32_t)(size / walk->page_size);
    walk->pages = malloc((size_t)DEPTH_MAX * walk->page_size + sizeof(uint64_t));
    for (int i = 0; walk->pages && i < DEPTH_MAX; i++)
        walk->level[i].page = walk->pages + (size_t)i * walk->page_size;
    return walk->pages != NULL;
}

/* --- pages ------------------------------------------------------------------------------------ */

/* Enter a page; 0 or -1. */
static int descend(struct rps_walk *walk, uint32_t number)
{
    struct level *level = &walk->level[walk->depth];

    if (walk->depth == DEPTH_MAX || number < 2 || number > walk->page_count ||
        walk->read_count++ == walk->page_count)
        return -1;
    if (walk->file->pMethods->xRead(walk->file, level->page, (int)walk->page_size,
                                    (sqlite3_int64)(number - 1) * walk->page_size) != SQLITE_OK)
        return -1;
    level->leaf = level->page[0] == LEAF_INDEX;
    level->cells = rps_big16(level->page + 3);
    level->next = 0;
    if ((!level->leaf && level->page[0] != INTERIOR_INDEX) ||
        (level->leaf ? 8 : 12) + 2 * level->cells > walk->usable)
        return -1;
    walk->depth++;
    return 0;
}

/* The cell, its bytes up to the end of the page in *ret_room; NULL when there are none. */
static const uint8_t *cell_of(const struct rps_walk *walk, const struct level *level,
                              uint32_t number, size_t *ret_room)
{
    uint32_t at = rps_big16(level->page + (level->leaf ? 8 : 12) + (size_t)2 * number);

    if (at < 8 || at + (level->leaf ? 0 : 4) >= walk->usable)
        return NULL;
    *ret_room = walk->usable - at;
    return level->page + at;
}

/* --- rows ------------------------------------------------------------------------------------- */

static const uint8_t integer_bytes[] = {0, 1, 2, 3, 4, 6, 8, 0, 0, 0};

/* Reads eight bytes, whatever the number takes: there is room for them behind the last page. */
static int64_t integer(const uint8_t *at, unsigned type)
{
    unsigned bytes = integer_bytes[type];

    return bytes == 0 ? type == 9 : (int64_t)rps_big64(at) >> (64 - 8 * bytes);
}

/* Where a column of the table, behind run_id, stands in a row: `merged` came after the counts. */
static int place_of(int column)
{
    if (column < RPS_ROW_MERGED)
        return column;
    return column < RPS_ROW_MERGED + RPS_SLOT_MAX ? column + 1 : RPS_ROW_MERGED;
}

/* Decode the row of a cell, which begins with its size; -1: it is none. */
static int decode(const struct rps_walk *walk, const uint8_t *cell, size_t room,
                  int64_t *ret_run_id, struct rps_row *ret)
{
    uint64_t size, head;
    size_t taken = rps_varint_read(cell, room, &size), at, body;
    int column = -1;

    if (taken == 0 || size > room - taken || size > (walk->usable - 12) * 64 / 255 - 23)
        return -1;
    cell += taken;
    at = rps_varint_read(cell, (size_t)size, &head);
    if (at == 0 || head > size)
        return -1;
    *ret = (struct rps_row){.present = 0};
    for (body = (size_t)head; at < head; at++, column++) {
        unsigned type = cell[at]; /* of integers; one byte */

        if (type > 9 || type == 7 || integer_bytes[type] > size - body || column == RPS_ROW_VALUES)
            return -1;
        if (column < 0) {
            *ret_run_id = integer(cell + body, type);
        } else if (type != 0) {
            ret->value[place_of(column)] = integer(cell + body, type);
            ret->present |= UINT32_C(1) << place_of(column);
        }
        body += integer_bytes[type];
    }
    return column >= RPS_ROW_MERGED ? 0 : -1;
}

/* --- the walk --------------------------------------------------------------------------------- */

int rps_walk_open(struct rps_walk **ret, sqlite3 *db, int64_t run_id)
{
    struct rps_walk *walk = calloc(1, sizeof(*walk));
    uint32_t root;

    if (!walk)
        return 0;
    walk->run_id = run_id;
    root = find_root(walk, db);
    if (root > 0 && is_whole(db) &&
        sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &walk->file) == SQLITE_OK &&
        walk->file && walk->file->pMethods && read_head(walk) && descend(walk, root) == 0) {
        *ret = walk;
        return 1;
    }
    rps_walk_close(walk);
    return 0;
}

/* The row of a cell of the run: 1; 0: of an earlier one; 2: of a later one; -1. */
static int visit(const struct rps_walk *walk, const uint8_t *cell, size_t room, struct rps_row *ret)
{
    int64_t run_id = 0;

    if (decode(walk, cell, room, &run_id, ret) < 0)
        return -1;
    return run_id < walk->run_id ? 0 : run_id > walk->run_id ? 2 : 1;
}

/* One step in an inner page: into the next page, or to the row behind it. What is left of a row of
 * an earlier run is of earlier runs as well. */
static int step_inner(struct rps_walk *walk, struct level *level, struct rps_row *ret)
{
    uint32_t number = level->next / 2;
    const uint8_t *cell;
    size_t room = 0;
    int found;

    if (number == level->cells) {
        level->next = 2 * level->cells + 1;
        return descend(walk, rps_big32(level->page + 8));
    }
    cell = cell_of(walk, level, number, &room);
    if (!cell)
        return -1;
    found = visit(walk, cell + 4, room - 4, ret);
    if (level->next % 2 == 0 && found > 0) {
        level->next++;
        return descend(walk, rps_big32(cell));
    }
    level->next = 2 * number + 2;
    return found;
}

int rps_walk_next(struct rps_walk *walk, struct rps_row *ret)
{
    int found = 0;

    while (found == 0 && walk->depth > 0) {
        struct level *level = &walk->level[walk->depth - 1];
        const uint8_t *cell;
        size_t room = 0;

        if (level->next >= (level->leaf ? level->cells : 2 * level->cells + 1)) {
            walk->depth--;
        } else if (level->leaf) {
            cell = cell_of(walk, level, level->next++, &room);
            found = cell ? visit(walk, cell, room, ret) : -1;
        } else {
            found = step_inner(walk, level, ret);
        }
    }
    if (found == 2)
        walk->depth = 0;
    return found == 2 ? 0 : found;
}
