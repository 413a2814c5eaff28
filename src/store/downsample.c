/* Downsampling: older data are kept at coarser resolution.
 *
 * Rows of period older than an age T are deleted if a block of level 1 covers them. Rows of level 1
 * older than 16 T are deleted if a block of level 2 covers them, and so on. Hence the kept data
 * grow with the logarithm of time. --keep sets T. With --max-size, T does not change while the
 * store is small enough. T becomes a fifth shorter each time the store is too large.
 *
 * New rows use the freed pages, so that the file does not grow. The file never shrinks, because
 * that would require moving pages, as VACUUM does.
 *
 * If fine rows were deleted, readers read that part of the run in blocks. A reader that needs a
 * single resolution reads the whole run in blocks. Therefore rows are deleted only when the run has
 * enough blocks, or if --max-size leaves no space for enough blocks. */
#include "writer.h"

#include <stdlib.h>

#include "database.h"
#include "rpistat/arena.h"
#include "rpistat/period.h"
#include "rpistat/system_reader.h"

/* Intervals between searches for rows to delete: a number of periods, or a share of the age T. */
#define LOOK_PERIODS   256
#define LOOK_SHARE(ns) ((ns) / 16)

/* Approximate number of rows that one transaction deletes. */
#define TRANSACTION_ROWS 2000

/* With --max-size, the first value of T is 4/5 of the time recorded up to then. Each time the store
 * is too large, T becomes 4/5 of its value. The minimum of T is the length of MIN_BLOCKS blocks of
 * level 1. */
#define SHORTER(ns) ((ns) / 5 * 4)
#define MIN_BLOCKS  2

/* Size of the log, in pages, at which SQLite copies the log into the file. The size is a share of
 * --max-size between LOG_PAGES_MIN and LOG_PAGES_MAX, plus the pages of the largest transaction. */
#define LOG_PAGES_SHARE   32
#define LOG_PAGES_MIN     32
#define LOG_PAGES_MAX     1000
#define TRANSACTION_PAGES 192

/* Progress of the deletion of rows for one CPU, by level. */
struct track {
    int64_t cpu;
    int64_t before[RPS_LEVELS]; /* rows before this period number have been deleted */
    int64_t cycle;              /* lower bound of the remaining rows' cycle timestamps */
};

struct block {
    int64_t first, last; /* numbers of the first and last period */
    int64_t cycle, end_ns;
};

struct rps_downsample {
    sqlite3 *db;
    struct rps_downsample_options options;
    struct rps_statements statements;
    struct track *track; /* owned */
    size_t track_count;
    int64_t whole_ns;               /* current age limit T */
    int64_t least_ns;               /* lower bound of T for --max-size; 0 if not known yet */
    int64_t bytes_soft, bytes_hard; /* soft and hard limit of the store's content */
    uint64_t looked_periods;
    int64_t looked_ns;
    int in_vain;
    int is_forced; /* 1 if T was made shorter for --max-size */
};

/* Prepare this statement early, because memory may be short when the statement is needed. */
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

/* Insert the track of a CPU at index t of the sorted list. */
static int add_track(struct rps_downsample *d, size_t t, int64_t cpu)
{
    struct track *track = rps_array_insert(&d->track, d->track_count, t, sizeof(*track));

    if (!track)
        return SQLITE_NOMEM;
    track->cpu = cpu;
    d->track_count++;
    return SQLITE_OK;
}

/* Load the progress of downsampling if a recording continues in a copy of its store. */
static int load_downsampled(void *context, sqlite3_stmt *stmt)
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
            options->run_id, load_downsampled, d);
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

/* Start reading the blocks of a level from a period on. Returns SQLITE_ROW or SQLITE_DONE. The
 * caller resets *ret. */
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

/* Read the next block from the statement's rows. *at is SQLite's code for the most recent step:
 * SQLITE_ROW if the statement has a row. Returns SQLITE_OK or an error code. */
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

/* Delete the rows of a level that the block replaces. */
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

    if (code == SQLITE_OK && d->options.extension)
        code = rps_store_hooks->downsample(d->options.extension, level, track->cpu, block->first,
                                           block->last);
    return code;
}

/* SQL: selects the readings before period ?4 that blocks of level ?3 include. */
#define SUMMED                                                                                     \
    " AND period < min(?4 >> 4 * ?3 << 4 * ?3, (SELECT last_period + 1 FROM reading_rollup"        \
    " WHERE run_id = ?1 AND source = ?2 AND level = ?3 ORDER BY period DESC LIMIT 1))"

/* Delete readings of system metrics, up to the end of the deleted rows of the level. */
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

static int note_downsampled(struct rps_downsample *d, const struct track *track, int level)
{
    return rps_statements_do(&d->statements,
                             "INSERT OR REPLACE INTO thinned (run_id, cpu, level, before_period)"
                             " VALUES (?1, ?2, ?3, ?4)",
                             "iiii", d->options.run_id, track->cpu, (int64_t)level,
                             track->before[level]);
}

/* Delete a CPU's rows of a level that end before limit_ns, but at most some thousand rows.
 * *ret_done is set to 1 if rows were deleted. Updates *track. */
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
    return code == SQLITE_OK && *ret_done ? note_downsampled(d, track, level) : code;
}

/* Return the age limit of a level. Older rows of this level are deleted. */
static int64_t age_of(const struct rps_downsample *d, int level)
{
    int bits = RPS_LEVEL_BITS * level;

    return d->whole_ns > INT64_MAX >> bits ? INT64_MAX : d->whole_ns << bits;
}

/* Set *ret to 1 if the CPU already has enough rotations for keep_blocks blocks of the level. */
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

/* Run one transaction on the finest level with rows to delete. *ret_done is set to 0 if no level
 * has such rows. */
static int downsample_once(struct rps_downsample *d, int64_t end_ns, int *ret_done)
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

/* Find the CPUs for which the run has blocks (one seek per CPU), up to the highest CPU number. */
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

/* Find the length of a block of level 1. With --max-size, T is at least two such lengths. */
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
            d->least_ns = MIN_BLOCKS * (block.end_ns - start_ns);
    }
    sqlite3_reset(blocks);
}

/* Set *ret to 1 if the size of the store requires a shorter T. */
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

/* Make T shorter. Returns 0 if T is already at its minimum. */
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
        code = downsample_once(d, end_ns, &done);
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
