/*
 * Downsampling: older data are kept at coarser resolution. Rows of period older than an age T are
 * deleted if a block of level 1 covers them, rows of level 1 older than 16 T if one of level 2
 * does, and so on. The data kept thus grow with the logarithm of time. --keep sets T. With
 * --max-size, T stays while the store is small enough, and becomes a fifth shorter each time it is
 * not.
 *
 * New rows use the freed pages, so that the file does not grow. It never shrinks: that would mean
 * moving pages, as VACUUM does.
 *
 * A run with deleted fine rows is read in blocks, in full if one resolution is needed. Therefore
 * rows are deleted only when the run has enough blocks, or if --max-size leaves no space for that.
 */
#include "downsample.h"

#include <stdlib.h>

#include "database.h"
#include "tables.h"
#include "rpistat/array.h"
#include "rpistat/period.h"
#include "rpistat/system_signals.h"

/* Look for work after so many periods, or after this share of the age T. */
#define LOOK_PERIODS   256
#define LOOK_SHARE(ns) ((ns) / 16)

/* Approximate number of rows that one transaction deletes. */
#define TRANSACTION_ROWS 2000

/* For --max-size: T begins and continues at 4/5, down to this number of blocks of level 1. */
#define SHORTER(ns)  ((ns) / 5 * 4)
#define LEAST_BLOCKS 2

/* Pages of the log before it is copied into the file: a share of --max-size, within bounds. The
 * pages of the largest transaction come on top. */
#define LOG_PAGES_SHARE   32
#define LOG_PAGES_MIN     32
#define LOG_PAGES_MAX     1000
#define TRANSACTION_PAGES 192

/* Up to which period the rows of a CPU were deleted, by level. */
struct track {
    int64_t cpu;
    int64_t before[RPS_LEVELS]; /* number of a period */
    int64_t cycle;              /* no row of a period after before[0] has a lower cycle timestamp */
};

struct block {
    int64_t first, last; /* numbers of its periods */
    int64_t cycle, end_ns;
};

struct rps_downsample {
    sqlite3 *db;
    struct rps_downsample_options options;
    struct rps_statements statements;
    struct track *track; /* owned */
    size_t track_count;
    int64_t whole_ns;               /* T */
    int64_t least_ns;               /* lower bound of T for --max-size; 0: not known yet */
    int64_t bytes_soft, bytes_hard; /* limits of the store's content */
    uint64_t looked_periods;
    int64_t looked_ns;
    int in_vain;
    int is_forced; /* T was made shorter for --max-size */
};

/* Prepared before it is needed: there may be no memory then. */
static const char sql_rollback[] = "ROLLBACK";

/* --- life ------------------------------------------------------------------------------------- */

/* Compute how much --max-size leaves for the file after the log's share. */
static int set_bounds(struct rps_downsample *d)
{
    int64_t page_bytes = 4096, pages, log;
    int code = rps_database_ask(d->db, &page_bytes, "PRAGMA page_size", "");

    if (code != SQLITE_OK || d->options.max_bytes / (uint64_t)page_bytes > INT32_MAX)
        return code;
    pages = (int64_t)(d->options.max_bytes / (uint64_t)page_bytes);
    log = pages / LOG_PAGES_SHARE;
    log = log < LOG_PAGES_MIN ? LOG_PAGES_MIN : log > LOG_PAGES_MAX ? LOG_PAGES_MAX : log;
    pages -= log + TRANSACTION_PAGES;
    d->bytes_hard = page_bytes * pages;
    d->bytes_soft = page_bytes * (pages - pages / 16);
    return rps_database_bound_log(d->db, log);
}

/* Insert the track of a CPU at place t of the sorted list. */
static int add_track(struct rps_downsample *d, size_t t, int64_t cpu)
{
    struct track *more = rps_array_grow(d->track, d->track_count, sizeof(*more));

    if (!more)
        return SQLITE_NOMEM;
    d->track = more;
    for (size_t i = d->track_count++; i > t; i--)
        more[i] = more[i - 1];
    more[t] = (struct track){.cpu = cpu};
    return SQLITE_OK;
}

/* Load how far the store is downsampled, if a recording continues in a copy of its store. */
static int load_thinned(void *context, sqlite3_stmt *stmt)
{
    struct rps_downsample *d = context;
    int64_t cpu = sqlite3_column_int64(stmt, 0);
    int level = rps_database_index(stmt, 1, RPS_LEVELS), code = SQLITE_OK;

    if (d->track_count == 0 || d->track[d->track_count - 1].cpu != cpu)
        code = add_track(d, d->track_count, cpu);
    if (code == SQLITE_OK && level >= 0)
        d->track[d->track_count - 1].before[level] = sqlite3_column_int64(stmt, 2);
    return code;
}

int rps_downsample_open(sqlite3 *db, const struct rps_downsample_options *options,
                        struct rps_downsample **ret)
{
    struct rps_downsample *d = calloc(1, sizeof(*d));
    sqlite3_stmt *unused;
    int code;

    if (!d)
        return SQLITE_NOMEM;
    d->db = d->statements.db = db;
    d->options = *options;
    d->whole_ns = options->keep_ns > 0 ? options->keep_ns : INT64_MAX;
    d->bytes_soft = d->bytes_hard = INT64_MAX;
    code = rps_statements_get(&d->statements, sql_rollback, &unused);
    if (code == SQLITE_OK)
        code = rps_database_each(
            db,
            "SELECT cpu, level, before_period FROM thinned WHERE run_id = ?1 ORDER BY cpu, level",
            options->run_id, load_thinned, d);
    if (code == SQLITE_OK && options->max_bytes > 0)
        code = set_bounds(d);
    if (code != SQLITE_OK) {
        rps_downsample_close(d);
        return code;
    }
    *ret = d;
    return SQLITE_OK;
}

void rps_downsample_close(struct rps_downsample *d)
{
    if (!d)
        return;
    rps_statements_finalize(&d->statements);
    free(d->track);
    free(d);
}

/* --- one transaction -------------------------------------------------------------------------- */

/* Start reading the blocks of a level at a period: SQLITE_ROW or SQLITE_DONE. Reset *ret. */
static int find_blocks(struct rps_downsample *d, int level, int64_t cpu, int64_t from,
                       sqlite3_stmt **ret)
{
    int code = rps_statements_get(
        &d->statements,
        "SELECT rotation, period, last_period, cycle, end_ns, start_ns FROM rollup"
        " WHERE run_id = ?1 AND level = ?2 AND cpu = ?3 AND period >= ?4 ORDER BY period",
        ret);

    if (code == SQLITE_OK)
        code = rps_database_bind(*ret, "iiii", d->options.run_id, (int64_t)level, cpu, from);
    return code == SQLITE_OK ? sqlite3_step(*ret) : code;
}

/* The next block of the statement whose row is *at (SQLITE_ROW), or SQLITE_DONE. */
static int next_block(sqlite3_stmt *stmt, int *at, struct block *ret)
{
    int64_t rotation = sqlite3_column_int64(stmt, 0);

    *ret = (struct block){.first = sqlite3_column_int64(stmt, 1)};
    while (*at == SQLITE_ROW && sqlite3_column_int64(stmt, 0) == rotation) {
        int64_t last = sqlite3_column_int64(stmt, 2), cycle = sqlite3_column_int64(stmt, 3);
        int64_t end_ns = sqlite3_column_int64(stmt, 4);

        ret->last = last > ret->last ? last : ret->last;
        ret->cycle = cycle > ret->cycle ? cycle : ret->cycle;
        ret->end_ns = end_ns > ret->end_ns ? end_ns : ret->end_ns;
        *at = sqlite3_step(stmt);
    }
    return *at == SQLITE_ROW || *at == SQLITE_DONE ? SQLITE_OK : *at;
}

/* Delete the rows of a level that the block sums. */
static int cut(struct rps_downsample *d, const struct track *track, int level,
               const struct block *block)
{
    int64_t run_id = d->options.run_id;
    int code = level > 0
                   ? rps_statements_do(&d->statements,
                                       "DELETE FROM rollup WHERE run_id = ?1 AND level = ?2"
                                       " AND cpu = ?3 AND period BETWEEN ?4 AND ?5",
                                       "iiiii", run_id, (int64_t)level, track->cpu, block->first,
                                       block->last)
                   : rps_statements_do(&d->statements,
                                       "DELETE FROM period WHERE run_id = ?1 AND cpu = ?2"
                                       " AND cycle BETWEEN ?3 AND ?4 AND period BETWEEN ?5 AND ?6",
                                       "iiiiii", run_id, track->cpu, track->cycle, block->cycle,
                                       block->first, block->last);

    if (code == SQLITE_OK && d->options.wing)
        code = rps_store_wing->thin(d->options.wing, level, track->cpu, block->first, block->last);
    return code;
}

/* The readings before period ?4 that blocks of level ?3 include. */
#define SUMMED                                                                                     \
    " AND period < min(?4 >> 4 * ?3 << 4 * ?3, (SELECT last_period + 1 FROM reading_rollup"        \
    " WHERE run_id = ?1 AND source = ?2 AND level = ?3 ORDER BY period DESC LIMIT 1))"

/* Delete the readings of system metrics up to where the level's rows are deleted. */
static int cut_readings(struct rps_downsample *d, const struct track *track, int level)
{
    const char *sql = level > 0 ? "DELETE FROM reading_rollup WHERE run_id = ?1 AND source = ?2"
                                  " AND level = ?3 - 1" SUMMED
                                : "DELETE FROM reading WHERE run_id = ?1 AND source = ?2" SUMMED;
    int code = SQLITE_OK;

    for (int64_t source = 0; source < RPS_SYSTEM_SOURCES && code == SQLITE_OK; source++)
        code = rps_statements_do(&d->statements, sql, "iiii", d->options.run_id, source,
                                 (int64_t)level + 1, track->before[level]);
    return code;
}

static int note_thinned(struct rps_downsample *d, const struct track *track, int level)
{
    return rps_statements_do(&d->statements,
                             "INSERT OR REPLACE INTO thinned (run_id, cpu, level, before_period)"
                             " VALUES (?1, ?2, ?3, ?4)",
                             "iiii", d->options.run_id, track->cpu, (int64_t)level,
                             track->before[level]);
}

/* Delete rows of a CPU's level that end before limit_ns, at most some thousand. *ret_done: 1 if
 * there were any. Updates *track. */
static int cut_level(struct rps_downsample *d, struct track *track, int level, int64_t limit_ns,
                     int *ret_done)
{
    int64_t rows = sqlite3_total_changes64(d->db);
    sqlite3_stmt *blocks = NULL;
    struct block block;
    int code = SQLITE_OK, at = find_blocks(d, level + 1, track->cpu, track->before[level], &blocks);

    while (at == SQLITE_ROW && code == SQLITE_OK &&
           sqlite3_total_changes64(d->db) - rows < TRANSACTION_ROWS) {
        code = next_block(blocks, &at, &block);
        if (code != SQLITE_OK || block.end_ns > limit_ns)
            break;
        code = cut(d, track, level, &block);
        track->before[level] = block.last + 1;
        track->cycle = level == 0 ? block.cycle : track->cycle;
        *ret_done = 1;
    }
    if (at != SQLITE_ROW && at != SQLITE_DONE && code == SQLITE_OK)
        code = at;
    sqlite3_reset(blocks);
    if (code == SQLITE_OK && *ret_done)
        code = cut_readings(d, track, level);
    return code == SQLITE_OK && *ret_done ? note_thinned(d, track, level) : code;
}

/* T of a level: its rows that are older are deleted. */
static int64_t age_of(const struct rps_downsample *d, int level)
{
    int bits = RPS_LEVEL_BITS * level;

    return d->whole_ns > INT64_MAX >> bits ? INT64_MAX : d->whole_ns << bits;
}

/* *ret: the CPU has enough rotations by now for keep_blocks blocks of the level. */
static int has_enough(struct rps_downsample *d, const struct track *track, int level, int *ret)
{
    int64_t rotations = 0;
    int code = rps_statements_ask(&d->statements, &rotations,
                                  "SELECT rotation + merged FROM rollup WHERE run_id = ?1"
                                  " AND level = 1 AND cpu = ?2 ORDER BY period DESC LIMIT 1",
                                  "ii", d->options.run_id, track->cpu);

    *ret = d->is_forced || rotations >> (RPS_LEVEL_BITS * level) >= d->options.keep_blocks;
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

/* Run one transaction on the finest level that has work; *ret_done: 0 if none has. */
static int thin_once(struct rps_downsample *d, int64_t end_ns, int *ret_done)
{
    int code = rps_statements_do(&d->statements, "BEGIN IMMEDIATE", "");

    *ret_done = 0;
    for (size_t t = 0; t < d->track_count && code == SQLITE_OK && !*ret_done; t++) {
        struct track track = d->track[t];

        for (int level = 0; level < RPS_LEVELS && code == SQLITE_OK && !*ret_done; level++) {
            int64_t age_ns = age_of(d, level);
            int is_enough = 0;

            if (age_ns < end_ns)
                code = has_enough(d, &track, level + 1, &is_enough);
            if (is_enough && code == SQLITE_OK)
                code = cut_level(d, &track, level, end_ns - age_ns, ret_done);
        }
        if (code == SQLITE_OK && *ret_done)
            code = rps_statements_do(&d->statements, "COMMIT", "");
        if (code == SQLITE_OK && *ret_done)
            d->track[t] = track;
    }
    if (!sqlite3_get_autocommit(d->db))
        rps_statements_do(&d->statements, sql_rollback, "");
    return code;
}

/* --- when ------------------------------------------------------------------------------------- */

/* Find the CPUs for which the run has blocks, with one seek each. The highest number ends it. */
static int find_tracks(struct rps_downsample *d)
{
    int64_t cpu = INT64_MIN, next;

    for (size_t t = 0;; t++) {
        int code = rps_statements_ask(&d->statements, &next,
                                      "SELECT coalesce(min(cpu), ?2) FROM rollup"
                                      " WHERE run_id = ?1 AND level = 1 AND cpu > ?2",
                                      "ii", d->options.run_id, cpu);

        if (code != SQLITE_OK || next <= cpu)
            return code;
        cpu = next;
        while (t < d->track_count && d->track[t].cpu < cpu)
            t++;
        if ((t == d->track_count || d->track[t].cpu != cpu) && add_track(d, t, cpu) != SQLITE_OK)
            return SQLITE_NOMEM;
    }
}

/* Find the length of a block of level 1: T for --max-size is at least two of them. */
static void find_least(struct rps_downsample *d)
{
    sqlite3_stmt *blocks = NULL;
    struct block block = {0};
    int at;

    if (d->least_ns > 0 || d->track_count == 0)
        return;
    at = find_blocks(d, 1, d->track[0].cpu, 0, &blocks);
    if (at == SQLITE_ROW) {
        int64_t start_ns = sqlite3_column_int64(blocks, 5);

        if (next_block(blocks, &at, &block) == SQLITE_OK)
            d->least_ns = LEAST_BLOCKS * (block.end_ns - start_ns);
    }
    sqlite3_reset(blocks);
}

/* Does the size of the store require a shorter T? */
static int is_large(struct rps_downsample *d, int *ret)
{
    uint64_t bytes, unused;
    int64_t used;
    int code;

    *ret = 0;
    if (d->bytes_soft == INT64_MAX)
        return SQLITE_OK;
    code = rps_database_space(d->db, &bytes, &unused);
    used = (int64_t)(bytes - unused);
    *ret = used > d->bytes_soft;
    d->in_vain = used > d->bytes_hard && d->whole_ns <= d->least_ns;
    return code;
}

/* Make T shorter; 0: it is already as short as permitted. */
static int shorten(struct rps_downsample *d, int64_t end_ns)
{
    int64_t before_ns = d->whole_ns;

    d->is_forced = 1;
    if (before_ns > end_ns)
        d->whole_ns = end_ns;
    d->whole_ns = SHORTER(d->whole_ns);
    if (d->whole_ns < d->least_ns)
        d->whole_ns = before_ns < d->least_ns ? before_ns : d->least_ns;
    return d->whole_ns < before_ns;
}

int rps_downsample_is_due(const struct rps_downsample *d, uint64_t periods, int64_t end_ns)
{
    return periods - d->looked_periods >= LOOK_PERIODS ||
           end_ns - d->looked_ns >= LOOK_SHARE(d->whole_ns);
}

int rps_downsample_work(struct rps_downsample *d, uint64_t periods, int64_t end_ns,
                        int transactions, int *ret_left)
{
    int code = find_tracks(d), done = 1, large = 0;

    if (code == SQLITE_OK)
        find_least(d);
    d->looked_periods = periods;
    d->looked_ns = end_ns;
    for (int i = 0; i < transactions && done && code == SQLITE_OK; i++) {
        code = thin_once(d, end_ns, &done);
        if (!done && code == SQLITE_OK && (code = is_large(d, &large)) == SQLITE_OK && large)
            done = d->least_ns > 0 && shorten(d, end_ns);
    }
    if (ret_left)
        *ret_left = done && code == SQLITE_OK;
    return code;
}

int rps_downsample_is_in_vain(const struct rps_downsample *d)
{
    return d->in_vain;
}
