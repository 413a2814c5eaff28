/* What thinning holds: shared by thin.c, which says when, and thin_merge.c, which merges. */
#ifndef RPISTAT_STORE_THIN_STATE_H
#define RPISTAT_STORE_THIN_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "rpistat/period.h"
#include "thin.h"

#define RPS_THIN_LEVELS 6 /* the last makes rows of a million periods */
#define RPS_THIN_TEN    10

struct rps_thin_key {
    int64_t cycle, period;
};

/* A CPU's periods, or the whole workload's. */
struct rps_thin_track {
    int32_t cpu;
    /* by level: the last row that it is done with */
    struct rps_thin_key passed[RPS_THIN_LEVELS + 1];
    struct rps_thin_key at; /* the same in the open transaction */
    struct rps_period *row; /* owned: of the present block */
    size_t count, room;
    int too_many; /* the block has more rows than are held */
};

struct rps_thin_level {
    uint64_t next;   /* number behind the last block that it is done with */
    int64_t mark_ns; /* time of its mark; -1: none yet */
};

struct rps_thin {
    sqlite3 *db;
    struct rps_thin_options options;
    sqlite3_stmt *begin, *commit, *rollback, *next_cpu, *select, *cut, *insert;
    sqlite3_stmt *mark_new, *mark_move, *pages, *free_pages;
    size_t track_count;
    struct rps_thin_track *track; /* owned */
    struct rps_thin_level level[RPS_THIN_LEVELS + 1];
    struct rps_period *merged; /* owned; a rotation */
    int64_t whole_ns;          /* the age T; INT64_MAX: for ever */
    int64_t least_ns;          /* T is not made shorter */
    int64_t pages_soft;        /* in use: from here on T gets shorter; INT64_MAX: never */
    int64_t pages_hard;        /* and never so many */
    int64_t merged_end_ns;     /* of what the open transaction has merged; -1: nothing */
    uint64_t looked_periods;
    int64_t looked_ns;
    int in_vain;
};

struct rps_thin_span {
    uint64_t first, end; /* numbers, both on the level's grid; nothing when they are equal */
};

/* The age from which on a level merges. */
int64_t rps_thin_age(const struct rps_thin *thin, int level);

/* The whole blocks of a track that lie before limit_ns and that the level below is done with; an
 * SQLite code. */
int rps_thin_find_span(struct rps_thin *thin, const struct rps_thin_track *track, int level,
                       int64_t limit_ns, struct rps_thin_span *ret);

/* Merge the blocks of a span, in one transaction; an SQLite code. */
int rps_thin_merge_span(struct rps_thin *thin, int level, const struct rps_thin_span *span);

#endif
