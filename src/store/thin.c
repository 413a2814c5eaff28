/*
 * Thinning.
 *
 * The older, the coarser: periods older than an age T are merged ten to a row, those older than
 * 10 T a hundred to a row, and so on. What is kept grows with the logarithm of time, a period is
 * rewritten once and a ninth, and the resolution is everywhere better than a tenth of the age. T is
 * what --keep says. For --max-size it is as long as the store is small enough, and a fifth shorter
 * each time it is not. (Merging two to a row instead of ten was thought of; a period would be
 * rewritten twice as often, for a resolution that nobody sees in a picture of the whole.)
 *
 * A block is the stretch whose numbers make one row of each set: 10 rotations of what the level
 * below leaves. Blocks lie on a grid of period numbers, the same for all tracks, so that tracks
 * stay comparable number by number; a block that has different holes in different tracks is left as
 * it is. Holes themselves stay: what lies on both sides of one is merged by itself.
 *
 * Pages that become free are used again by the rows that come, so that the file does not grow. It
 * never shrinks: that would mean moving pages about, VACUUM's work.
 */
#include "thin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "database.h"
#include "period_row.h"
#include "rpistat/clock.h"
#include "rpistat/text.h"
#include "thin_rows.h"

#define LEVELS 6 /* the last makes rows of a million periods */
#define TEN    10

/* Rows that one transaction looks at, in all tracks; the next block is always done. */
#define TRANSACTION_ROWS 2048

/* A block with more rows of one track, in so many rotations, has holes everywhere: left as it is.
 */
#define BLOCK_ROTATIONS_MAX 64

/* Work is looked for after so many periods, or after this share of the age T. */
#define LOOK_PERIODS   256
#define LOOK_SHARE(ns) ((ns) / 16)

/* For --max-size: T begins and goes on at four fifths, down to so many rotations. */
#define SHORTER(ns)       ((ns) / 5 * 4)
#define LEAST_ROTATIONS   (2 * TEN)
#define PERIOD_NS_DEFAULT (100 * RPS_NS_PER_MS)

/* Pages of the log before it is copied into the file: a share of --max-size, within bounds. Beside
 * them lie those of the largest transaction. */
#define LOG_PAGES_SHARE   32
#define LOG_PAGES_MIN     32
#define LOG_PAGES_MAX     1000
#define TRANSACTION_PAGES 192

struct key {
    int64_t cycle, period;
};

/* A CPU's periods, or the whole workload's. */
struct track {
    int32_t cpu;
    struct key passed[LEVELS + 1]; /* by level: the last row that it is done with */
    struct key at;                 /* the same in the open transaction */
    struct rps_period *row;        /* owned: of the present block */
    size_t count, room;
    int too_many; /* the block has more rows than are held */
};

struct level {
    uint64_t next;   /* number behind the last block that it is done with */
    int64_t mark_ns; /* time of its mark; -1: none yet */
};

struct rps_thin {
    sqlite3 *db;
    struct rps_thin_options options;
    sqlite3_stmt *begin, *commit, *rollback, *next_cpu, *select, *cut, *insert;
    sqlite3_stmt *mark_new, *mark_move, *pages, *free_pages;
    size_t track_count;
    struct track *track; /* owned */
    struct level level[LEVELS + 1];
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

/* --- life ----------------------------------------------------------------------------------- */

static int prepare(struct rps_thin *thin)
{
    struct {
        sqlite3_stmt **stmt;
        const char *sql;
    } const statements[] = {
        {&thin->begin, "BEGIN IMMEDIATE"},
        {&thin->commit, "COMMIT"},
        {&thin->rollback, "ROLLBACK"},
        {&thin->next_cpu, "SELECT min(cpu) FROM period WHERE run_id = ?1 AND cpu > ?2"},
        {&thin->select,
         "SELECT " RPS_ROW_COLUMNS ", " RPS_ROW_COUNTS " FROM period WHERE run_id = ?1 AND cpu = ?2"
         " AND (cycle, period) > (?3, ?4) ORDER BY cycle, period"},
        {&thin->cut, "DELETE FROM period WHERE run_id = ?1 AND cpu = ?2"
                     " AND (cycle, period) >= (?3, ?4) AND (cycle, period) <= (?5, ?6)"},
        {&thin->insert, "INSERT INTO period (run_id, " RPS_ROW_COLUMNS ", " RPS_ROW_COUNTS
                        ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,"
                        " ?15, ?16, ?17, ?18, ?19, ?20, ?21)"},
        {&thin->mark_new,
         "INSERT INTO mark (run_id, time_ns, mark_no, text) VALUES (?1, ?2, ?3, ?4)"},
        {&thin->mark_move, "UPDATE mark SET time_ns = ?2, text = ?4 WHERE run_id = ?1"
                           " AND time_ns = ?5 AND mark_no = ?3"},
        {&thin->pages, "PRAGMA page_count"},
        {&thin->free_pages, "PRAGMA freelist_count"},
    };
    int code = SQLITE_OK;

    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]) && code == SQLITE_OK; i++)
        code = rps_database_prepare(thin->db, statements[i].sql, statements[i].stmt);
    return code;
}

/* What --max-size leaves for the file when the log has its share. */
static int set_bounds(struct rps_thin *thin)
{
    sqlite3_int64 page_bytes = 4096, pages, log;
    char sql[128];
    int code = rps_database_number(thin->db, "PRAGMA page_size", &page_bytes);

    if (code != SQLITE_OK)
        return code;
    if (thin->options.max_bytes / (uint64_t)page_bytes > INT32_MAX) {
        thin->pages_soft = thin->pages_hard = INT64_MAX;
        return SQLITE_OK;
    }
    pages = (sqlite3_int64)(thin->options.max_bytes / (uint64_t)page_bytes);
    log = pages / LOG_PAGES_SHARE;
    log = log < LOG_PAGES_MIN ? LOG_PAGES_MIN : log > LOG_PAGES_MAX ? LOG_PAGES_MAX : log;
    thin->pages_hard = pages - log - TRANSACTION_PAGES;
    thin->pages_soft = thin->pages_hard - thin->pages_hard / 16;
    /* pragmas take no parameters */
    snprintf(sql, sizeof(sql), "PRAGMA wal_autocheckpoint = %d; PRAGMA journal_size_limit = %lld",
             (int)log, (long long)(log * page_bytes));
    return rps_database_exec(thin->db, sql);
}

int rps_thin_open(sqlite3 *db, const struct rps_thin_options *options, struct rps_thin **ret)
{
    struct rps_thin *thin = calloc(1, sizeof(*thin));
    int64_t period_ns = options->period_ns > 0 ? options->period_ns : PERIOD_NS_DEFAULT;
    int code = SQLITE_NOMEM;

    if (!thin)
        return SQLITE_NOMEM;
    thin->db = db;
    thin->options = *options;
    thin->whole_ns = options->keep_ns > 0 ? options->keep_ns : INT64_MAX;
    thin->least_ns = LEAST_ROTATIONS * period_ns * options->set_count;
    thin->pages_soft = thin->pages_hard = INT64_MAX;
    for (int l = 0; l <= LEVELS; l++)
        thin->level[l].mark_ns = -1;
    thin->merged = calloc((size_t)options->set_count, sizeof(*thin->merged));
    if (thin->merged)
        code = prepare(thin);
    if (code == SQLITE_OK && options->max_bytes > 0)
        code = set_bounds(thin);
    if (code != SQLITE_OK) {
        rps_thin_close(thin);
        return code;
    }
    *ret = thin;
    return SQLITE_OK;
}

void rps_thin_close(struct rps_thin *thin)
{
    if (!thin)
        return;
    sqlite3_stmt *const statements[] = {
        thin->begin,  thin->commit,   thin->rollback,  thin->next_cpu, thin->select,    thin->cut,
        thin->insert, thin->mark_new, thin->mark_move, thin->pages,    thin->free_pages};

    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++)
        sqlite3_finalize(statements[i]);
    for (size_t t = 0; t < thin->track_count; t++)
        free(thin->track[t].row);
    free(thin->track);
    free(thin->merged);
    free(thin);
}

/* --- tracks ---------------------------------------------------------------------------------- */

static int add_track(struct rps_thin *thin, int32_t cpu)
{
    struct track *more = realloc(thin->track, (thin->track_count + 1) * sizeof(*more));

    if (!more)
        return SQLITE_NOMEM;
    thin->track = more;
    more[thin->track_count] = (struct track){.cpu = cpu};
    for (int l = 0; l <= LEVELS; l++)
        more[thin->track_count].passed[l] = (struct key){-1, -1};
    thin->track_count++;
    return SQLITE_OK;
}

static int is_known(const struct rps_thin *thin, int64_t cpu)
{
    for (size_t t = 0; t < thin->track_count; t++) {
        if (thin->track[t].cpu == cpu)
            return 1;
    }
    return 0;
}

/* The CPUs that the run has periods of by now: a seek each. On damaged pages stands what is no
 * number, and is more than any: what does not rise ends the search. */
static int find_tracks(struct rps_thin *thin)
{
    int64_t cpu = INT64_MIN;
    int code = SQLITE_OK, more = 1;

    while (code == SQLITE_OK && more) {
        int64_t before = cpu;

        sqlite3_bind_int64(thin->next_cpu, 1, thin->options.run_id);
        sqlite3_bind_int64(thin->next_cpu, 2, before);
        code = sqlite3_step(thin->next_cpu);
        if (code == SQLITE_ROW)
            cpu = sqlite3_column_int64(thin->next_cpu, 0);
        more = code == SQLITE_ROW && sqlite3_column_type(thin->next_cpu, 0) == SQLITE_INTEGER &&
               cpu > before && cpu <= INT32_MAX;
        sqlite3_reset(thin->next_cpu);
        code = code == SQLITE_ROW ? SQLITE_OK : code;
        if (code == SQLITE_OK && more && !is_known(thin, cpu))
            code = add_track(thin, (int32_t)cpu);
    }
    return code;
}

/* Begin to step through a track's rows behind a key. */
static void select_behind(struct rps_thin *thin, const struct track *track, const struct key *key)
{
    sqlite3_bind_int64(thin->select, 1, thin->options.run_id);
    sqlite3_bind_int64(thin->select, 2, track->cpu);
    sqlite3_bind_int64(thin->select, 3, key->cycle);
    sqlite3_bind_int64(thin->select, 4, key->period);
}

/* --- what can be merged ----------------------------------------------------------------------- */

/* Numbers of a level's block. */
static uint64_t block_size(const struct rps_thin *thin, int level)
{
    uint64_t size = (uint64_t)thin->options.set_count;

    for (int l = 0; l < level; l++)
        size *= TEN;
    return size;
}

/* The age from which on a level merges. */
static int64_t age_of(const struct rps_thin *thin, int level)
{
    int64_t age_ns = thin->whole_ns;

    for (int l = 1; l < level; l++)
        age_ns = age_ns > INT64_MAX / TEN ? INT64_MAX : age_ns * TEN;
    return age_ns;
}

struct span {
    uint64_t first, end; /* numbers, both on the level's grid; nothing when they are equal */
};

/* The whole blocks of a track that lie before limit_ns and that the level below is done with. */
static int find_span(struct rps_thin *thin, const struct track *track, int level, int64_t limit_ns,
                     struct span *ret)
{
    uint64_t size = block_size(thin, level);
    uint64_t below = level > 1 ? thin->level[level - 1].next : UINT64_MAX;
    uint64_t number = 0, most = 0, first = 0;
    int code, seen = 0;

    select_behind(thin, track, &track->passed[level]);
    while ((code = sqlite3_step(thin->select)) == SQLITE_ROW) {
        number = (uint64_t)sqlite3_column_int64(thin->select, RPS_ROW_PERIOD);
        if (!seen) {
            uint64_t rows =
                TRANSACTION_ROWS / (TEN * thin->track_count * (uint64_t)thin->options.set_count);

            first = number / size * size;
            most = first + (rows > 0 ? rows : 1) * size;
            seen = 1;
        }
        if (number >= below || number >= most ||
            sqlite3_column_int64(thin->select, RPS_ROW_START_NS) +
                    sqlite3_column_int64(thin->select, RPS_ROW_LENGTH_NS) >
                limit_ns)
            break;
    }
    sqlite3_reset(thin->select);
    *ret = (struct span){first, number / size * size};
    if (ret->end > most)
        ret->end = most;
    if (ret->end > below)
        ret->end = below / size * size;
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

/* Keep a row of the block. */
static int keep_row(struct rps_thin *thin, struct track *track)
{
    size_t most = BLOCK_ROTATIONS_MAX * (size_t)thin->options.set_count;
    struct rps_row_fault fault;

    if (track->count == most || track->too_many) {
        track->too_many = 1;
        return SQLITE_OK;
    }
    if (track->count == track->room) {
        size_t room = track->room > 0 ? 2 * track->room : TEN * (size_t)thin->options.set_count;
        struct rps_period *more = realloc(track->row, room * sizeof(*more));

        if (!more)
            return SQLITE_NOMEM;
        track->row = more;
        track->room = room;
    }
    if (rps_row_read(thin->select, thin->options.set_count, &track->row[track->count], &fault) < 0)
        track->too_many = 1; /* not what this recorder wrote */
    else
        track->count++;
    return SQLITE_OK;
}

/* The rows of a track up to the number `end`, and how far it has come. */
static int load_block(struct rps_thin *thin, struct track *track, uint64_t end)
{
    int code;

    track->count = 0;
    track->too_many = 0;
    select_behind(thin, track, &track->at);
    while ((code = sqlite3_step(thin->select)) == SQLITE_ROW) {
        struct key key = {sqlite3_column_int64(thin->select, RPS_ROW_CYCLE),
                          sqlite3_column_int64(thin->select, RPS_ROW_PERIOD)};

        if ((uint64_t)key.period >= end)
            break;
        if ((code = keep_row(thin, track)) != SQLITE_OK)
            break;
        track->at = key;
    }
    sqlite3_reset(thin->select);
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

/* Do two tracks have the same rows from here on to be merged? */
static int is_alike(const struct rps_thin *thin, const struct track *a, const struct track *b)
{
    const size_t sets = (size_t)thin->options.set_count;
    struct rps_thin_run run_a = {0}, run_b = {0};
    int more;

    do {
        more = rps_thin_run_find(a->row, a->count, sets, run_a.first + run_a.count, &run_a);
        if (rps_thin_run_find(b->row, b->count, sets, run_b.first + run_b.count, &run_b) != more)
            return 0;
        if (more && (run_a.count != run_b.count ||
                     a->row[run_a.first].period != b->row[run_b.first].period))
            return 0;
    } while (more);
    return 1;
}

/* Can the block be merged in the same way in all tracks that have something of it? */
static int is_mergeable(const struct rps_thin *thin)
{
    const struct track *one = NULL;

    for (size_t t = 0; t < thin->track_count; t++) {
        const struct track *track = &thin->track[t];

        if (track->too_many || (one && track->count > 0 && !is_alike(thin, one, track)))
            return 0;
        if (!one && track->count > 0)
            one = track;
    }
    return one != NULL;
}

/* --- merging --------------------------------------------------------------------------------- */

static int insert_row(struct rps_thin *thin, const struct rps_period *row)
{
    const int64_t value[] = {
        thin->options.run_id,
        row->cpu,
        (int64_t)row->cycle,
        (int64_t)row->period,
        row->set_no,
        row->start_ns,
        row->length_ns,
        (int64_t)row->cycles,
        (int64_t)row->enabled_ns,
        (int64_t)row->running_ns,
        row->switch_ns,
        row->missed,
        row->merged,
    };
    const int fixed = sizeof(value) / sizeof(value[0]);

    sqlite3_clear_bindings(thin->insert);
    for (int i = 0; i < fixed; i++)
        sqlite3_bind_int64(thin->insert, i + 1, value[i]);
    for (int slot = 0; slot < RPS_SLOT_MAX; slot++) {
        if (row->counted & (UINT32_C(1) << slot))
            sqlite3_bind_int64(thin->insert, fixed + 1 + slot, (int64_t)row->count[slot]);
    }
    return rps_database_run(thin->insert);
}

static int merge_run(struct rps_thin *thin, const struct track *track,
                     const struct rps_thin_run *run)
{
    const struct rps_period *first = &track->row[run->first], *last = first + run->count - 1;
    int64_t end_ns = last->start_ns + last->length_ns;
    int code;

    sqlite3_bind_int64(thin->cut, 1, thin->options.run_id);
    sqlite3_bind_int64(thin->cut, 2, track->cpu);
    sqlite3_bind_int64(thin->cut, 3, (int64_t)first->cycle);
    sqlite3_bind_int64(thin->cut, 4, (int64_t)first->period);
    sqlite3_bind_int64(thin->cut, 5, (int64_t)last->cycle);
    sqlite3_bind_int64(thin->cut, 6, (int64_t)last->period);
    code = rps_database_run(thin->cut);
    rps_thin_run_merge(track->row, run, (size_t)thin->options.set_count, thin->merged);
    for (int n = 0; n < thin->options.set_count && code == SQLITE_OK; n++)
        code = insert_row(thin, &thin->merged[n]);
    if (end_ns > thin->merged_end_ns)
        thin->merged_end_ns = end_ns;
    return code;
}

static int merge_block(struct rps_thin *thin, uint64_t end)
{
    int code = SQLITE_OK;

    for (size_t t = 0; t < thin->track_count && code == SQLITE_OK; t++)
        code = load_block(thin, &thin->track[t], end);
    if (code != SQLITE_OK || !is_mergeable(thin))
        return code;
    for (size_t t = 0; t < thin->track_count && code == SQLITE_OK; t++) {
        const struct track *track = &thin->track[t];
        struct rps_thin_run run = {0};

        while (code == SQLITE_OK &&
               rps_thin_run_find(track->row, track->count, (size_t)thin->options.set_count,
                                 run.first + run.count, &run))
            code = merge_run(thin, track, &run);
    }
    return code;
}

/* The level's mark stands where its periods end, and moves on with them. */
static int move_mark(struct rps_thin *thin, int level)
{
    const struct level *one = &thin->level[level];
    sqlite3_stmt *stmt = one->mark_ns < 0 ? thin->mark_new : thin->mark_move;
    char text[200], why[RPS_TEXT_NUMBER_SIZE];
    long factor = 1;

    for (int l = 0; l < level; l++)
        factor *= TEN;
    /* the beginning is what a picture has room for */
    if (thin->whole_ns == thin->options.keep_ns)
        snprintf(text, sizeof(text), "before this %ld to a row: periods older than %s are merged",
                 factor, rps_text_duration(why, sizeof(why), age_of(thin, level)));
    else
        snprintf(text, sizeof(text),
                 "before this %ld to a row: periods are merged to keep the store below %s", factor,
                 rps_text_size(why, sizeof(why), thin->options.max_bytes));
    sqlite3_bind_int64(stmt, 1, thin->options.run_id);
    sqlite3_bind_int64(stmt, 2, thin->merged_end_ns);
    sqlite3_bind_int64(stmt, 3, -level); /* no other mark has such a number */
    sqlite3_bind_text(stmt, 4, text, -1, SQLITE_TRANSIENT);
    if (one->mark_ns >= 0)
        sqlite3_bind_int64(stmt, 5, one->mark_ns);
    return rps_database_run(stmt);
}

/* Merge the blocks of a span, in one transaction. */
static int merge_span(struct rps_thin *thin, int level, const struct span *span)
{
    uint64_t size = block_size(thin, level);
    int code = rps_database_run(thin->begin);

    if (code != SQLITE_OK)
        return code;
    thin->merged_end_ns = -1;
    for (size_t t = 0; t < thin->track_count; t++)
        thin->track[t].at = thin->track[t].passed[level];
    for (uint64_t at = span->first; at < span->end && code == SQLITE_OK; at += size)
        code = merge_block(thin, at + size);
    if (code == SQLITE_OK && thin->merged_end_ns >= 0)
        code = move_mark(thin, level);
    if (code == SQLITE_OK)
        code = rps_database_run(thin->commit);
    if (code != SQLITE_OK) {
        if (!sqlite3_get_autocommit(thin->db))
            rps_database_run(thin->rollback);
        return code;
    }
    for (size_t t = 0; t < thin->track_count; t++)
        thin->track[t].passed[level] = thin->track[t].at;
    thin->level[level].next = span->end;
    if (thin->merged_end_ns >= 0)
        thin->level[level].mark_ns = thin->merged_end_ns;
    return SQLITE_OK;
}

/* --- when ------------------------------------------------------------------------------------- */

/* One transaction, of the finest level that has something to do. *ret_done is 0 when none has. */
static int step(struct rps_thin *thin, int64_t end_ns, int64_t settled_ns, int *ret_done)
{
    int code = SQLITE_OK;

    *ret_done = 0;
    for (int level = 1; level <= LEVELS && code == SQLITE_OK && !*ret_done; level++) {
        int64_t age_ns = age_of(thin, level);
        int64_t limit_ns = end_ns > age_ns ? end_ns - age_ns : 0;
        struct span span = {0, 0};

        limit_ns = limit_ns < settled_ns ? limit_ns : settled_ns;
        if (limit_ns <= 0)
            break;
        for (size_t t = 0; t < thin->track_count && code == SQLITE_OK; t++) {
            code = find_span(thin, &thin->track[t], level, limit_ns, &span);
            if (span.end > span.first)
                break;
        }
        if (code == SQLITE_OK && span.end > span.first) {
            *ret_done = 1;
            code = merge_span(thin, level, &span);
        }
    }
    return code;
}

static int pragma_number(sqlite3_stmt *stmt, int64_t *ret)
{
    int code = sqlite3_step(stmt);

    if (code == SQLITE_ROW)
        *ret = sqlite3_column_int64(stmt, 0);
    sqlite3_reset(stmt);
    return code == SQLITE_ROW ? SQLITE_OK : code;
}

/* Is the store so large that T must get shorter? */
static int is_large(struct rps_thin *thin, int *ret)
{
    int64_t pages = 0, unused = 0;
    int code = SQLITE_OK;

    *ret = 0;
    if (thin->pages_soft == INT64_MAX)
        return SQLITE_OK;
    code = pragma_number(thin->pages, &pages);
    if (code == SQLITE_OK)
        code = pragma_number(thin->free_pages, &unused);
    *ret = pages - unused > thin->pages_soft;
    thin->in_vain = pages - unused > thin->pages_hard && thin->whole_ns <= thin->least_ns;
    return code;
}

/* Make T shorter; 0 when it is as short as it may be. */
static int shorten(struct rps_thin *thin, int64_t end_ns)
{
    int64_t before_ns = thin->whole_ns;

    if (before_ns > end_ns)
        thin->whole_ns = end_ns;
    thin->whole_ns = SHORTER(thin->whole_ns);
    if (thin->whole_ns < thin->least_ns)
        thin->whole_ns = before_ns < thin->least_ns ? before_ns : thin->least_ns;
    return thin->whole_ns < before_ns;
}

int rps_thin_is_due(const struct rps_thin *thin, uint64_t periods, int64_t end_ns)
{
    return periods - thin->looked_periods >= LOOK_PERIODS ||
           end_ns - thin->looked_ns >= LOOK_SHARE(thin->whole_ns);
}

int rps_thin_work(struct rps_thin *thin, uint64_t periods, int64_t end_ns, int64_t settled_ns,
                  int transactions, int *ret_left)
{
    int code = find_tracks(thin), done = 1, large = 0;

    thin->looked_periods = periods;
    thin->looked_ns = end_ns;
    for (int i = 0; i < transactions && done && code == SQLITE_OK;) {
        code = step(thin, end_ns, settled_ns, &done);
        i += done && thin->merged_end_ns >= 0; /* one that merged nothing costs next to nothing */
        if (!done && code == SQLITE_OK && (code = is_large(thin, &large)) == SQLITE_OK && large)
            done = shorten(thin, end_ns);
    }
    if (ret_left)
        *ret_left = done && code == SQLITE_OK;
    return code;
}

int rps_thin_is_in_vain(const struct rps_thin *thin)
{
    return thin->in_vain;
}

int rps_thin_used_bytes(sqlite3 *db, uint64_t *ret)
{
    sqlite3_int64 bytes = 0, pages = 0, unused = 0;
    int code = rps_database_number(db, "PRAGMA page_size", &bytes);

    if (code == SQLITE_OK)
        code = rps_database_number(db, "PRAGMA page_count", &pages);
    if (code == SQLITE_OK)
        code = rps_database_number(db, "PRAGMA freelist_count", &unused);
    if (code == SQLITE_OK)
        *ret = (uint64_t)(bytes * (pages - unused));
    return code;
}
