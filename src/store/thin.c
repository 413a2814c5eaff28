/*
 * Thinning: when. What is merged, and how, is in thin_merge.c.
 *
 * The older, the coarser: periods older than an age T are merged ten to a row, those older than
 * 10 T a hundred to a row, and so on. What is kept grows with the logarithm of time, a period is
 * rewritten once and a ninth, and the resolution is everywhere better than a tenth of the age. T is
 * what --keep says. For --max-size it is as long as the store is small enough, and a fifth shorter
 * each time it is not. (Merging two to a row instead of ten was thought of; a period would be
 * rewritten twice as often, for a resolution that nobody sees in a picture of the whole.)
 *
 * Pages that become free are used again by the rows that come, so that the file does not grow. It
 * never shrinks: that would mean moving pages about, VACUUM's work.
 */
#include "thin_state.h"

#include <stdio.h>
#include <stdlib.h>

#include "database.h"
#include "period_row.h"
#include "rpistat/clock.h"

/* Work is looked for after so many periods, or after this share of the age T. */
#define LOOK_PERIODS   256
#define LOOK_SHARE(ns) ((ns) / 16)

/* For --max-size: T begins and goes on at four fifths, down to so many rotations. */
#define SHORTER(ns)       ((ns) / 5 * 4)
#define LEAST_ROTATIONS   (2 * RPS_THIN_TEN)
#define PERIOD_NS_DEFAULT (100 * RPS_NS_PER_MS)

/* Pages of the log before it is copied into the file: a share of --max-size, within bounds. Beside
 * them lie those of the largest transaction. */
#define LOG_PAGES_SHARE   32
#define LOG_PAGES_MIN     32
#define LOG_PAGES_MAX     1000
#define TRANSACTION_PAGES 192

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
        {&thin->next_cpu, RPS_ROW_NEXT_CPU},
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
    for (int l = 0; l <= RPS_THIN_LEVELS; l++)
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
    struct rps_thin_track *more = realloc(thin->track, (thin->track_count + 1) * sizeof(*more));

    if (!more)
        return SQLITE_NOMEM;
    thin->track = more;
    more[thin->track_count] = (struct rps_thin_track){.cpu = cpu};
    for (int l = 0; l <= RPS_THIN_LEVELS; l++)
        more[thin->track_count].passed[l] = (struct rps_thin_key){-1, -1};
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
    int code = SQLITE_ROW;

    sqlite3_bind_int64(thin->next_cpu, 1, thin->options.run_id);
    while (code == SQLITE_ROW) {
        code = rps_row_next_cpu(thin->next_cpu, cpu, &cpu);
        if (code == SQLITE_ROW && cpu > INT32_MAX)
            code = SQLITE_DONE;
        if (code == SQLITE_ROW && !is_known(thin, cpu) &&
            add_track(thin, (int32_t)cpu) != SQLITE_OK)
            code = SQLITE_NOMEM;
    }
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

/* --- when ------------------------------------------------------------------------------------- */

/* One transaction, of the finest level that has something to do. *ret_done is 0 when none has. */
static int step(struct rps_thin *thin, int64_t end_ns, int64_t settled_ns, int *ret_done)
{
    int code = SQLITE_OK;

    *ret_done = 0;
    for (int level = 1; level <= RPS_THIN_LEVELS && code == SQLITE_OK && !*ret_done; level++) {
        int64_t age_ns = rps_thin_age(thin, level);
        int64_t limit_ns = end_ns > age_ns ? end_ns - age_ns : 0;
        struct rps_thin_span span = {0, 0};

        limit_ns = limit_ns < settled_ns ? limit_ns : settled_ns;
        if (limit_ns <= 0)
            break;
        for (size_t t = 0; t < thin->track_count && code == SQLITE_OK; t++) {
            code = rps_thin_find_span(thin, &thin->track[t], level, limit_ns, &span);
            if (span.end > span.first)
                break;
        }
        if (code == SQLITE_OK && span.end > span.first) {
            *ret_done = 1;
            code = rps_thin_merge_span(thin, level, &span);
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
