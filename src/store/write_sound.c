/*
 * Is what was recorded still in the store?
 *
 * Whoever may write a store can also empty, cut or overwrite its files while it is recorded. SQLite
 * does not notice: it knows the log by its index in shared memory, and checks the log's checksums
 * only after a crash. So the writer compares the files' sizes with those of its last commit, and
 * reads the log's checksums before the log goes into the file. Other programs may shrink the files
 * rightly (a checkpoint, VACUUM): then a second connection counts what there is.
 */
#include "writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "database.h"
#include "path_check.h"
#include "rpistat/rights.h"

/* The log's format: https://sqlite.org/fileformat2.html#the_write_ahead_log */
#define LOG_HEAD   32
#define FRAME_HEAD 24
#define PAGE_MAX   65536
#define LOG_MAGIC  (UINT32_C(0x377f0682) + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__))

/* Salts of a log that other programs started over so many times differ by at most this. */
#define RESTARTS_MAX 1000

/* --- the files -------------------------------------------------------------------------------- */

static void look_at_file(const struct rps_writer *writer, int i, struct stat *ret)
{
    static const char *const end[] = {"", "-wal", "-shm"};
    char name[4200];

    snprintf(name, sizeof(name), "%s%s", sqlite3_db_filename(writer->db, "main"), end[i]);
    if (lstat(name, ret) < 0)
        *ret = (struct stat){0};
}

int rps_writer_check_files(struct rps_writer *writer)
{
    for (int i = 0; i < RPS_WRITER_FILES; i++) {
        struct stat *before = &writer->file[i], now;

        look_at_file(writer, i, &now);
        if (before->st_ino != 0 && !writer->save_failed &&
            (now.st_ino != before->st_ino || now.st_dev != before->st_dev))
            return SQLITE_READONLY_DBMOVED;
        /* blocks: a file that was emptied and written again has a hole */
        if (i < 2 && (now.st_size < before->st_size || now.st_blocks < before->st_blocks))
            writer->shrunk |= 1 << i;
        *before = now;
    }
    return writer->log_code == SQLITE_OK && writer->shrunk ? RPS_WRITER_SHRUNK : writer->log_code;
}

/* --- the log ---------------------------------------------------------------------------------- */

static uint32_t big_endian(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Add to the checksum of the log. Does it then equal the one at `expected`? */
static bool add_checksum(uint32_t sum[2], const unsigned char *bytes, size_t size,
                         const unsigned char *expected)
{
    uint32_t word[2];

    for (size_t at = 0; at < size; at += sizeof(word)) {
        memcpy(word, bytes + at, sizeof(word));
        sum[0] += word[0] + sum[1];
        sum[1] += word[1] + sum[0];
    }
    return sum[0] == big_endian(expected) && sum[1] == big_endian(expected + 4);
}

static int read_log(const struct rps_writer *writer)
{
    unsigned char head[LOG_HEAD], frame[FRAME_HEAD + PAGE_MAX];
    sqlite3_file *log = writer->log;
    sqlite3_int64 at = LOG_HEAD;
    uint32_t sum[2] = {0}, page;

    if (writer->frames == 0 || !log || !log->pMethods)
        return SQLITE_OK;
    if (log->pMethods->xRead(log, head, LOG_HEAD, 0) != SQLITE_OK)
        return RPS_WRITER_SHRUNK;
    page = big_endian(head + 8);
    if ((big_endian(head) ^ LOG_MAGIC) == 1)
        return SQLITE_OK; /* begun on a machine with the other byte order */
    if (big_endian(head) != LOG_MAGIC || page > PAGE_MAX || !add_checksum(sum, head, 24, head + 24))
        return SQLITE_CORRUPT;
    for (int n = 0; n < writer->frames; n++, at += FRAME_HEAD + page) {
        if (log->pMethods->xRead(log, frame, (int)(FRAME_HEAD + page), at) != SQLITE_OK)
            return RPS_WRITER_SHRUNK;
        if (memcmp(frame + 8, head + 16, 8) != 0)
            return big_endian(head + 16) - big_endian(frame + 8) + RESTARTS_MAX < 2 * RESTARTS_MAX
                       ? RPS_WRITER_SHRUNK
                       : SQLITE_CORRUPT;
        add_checksum(sum, frame, 8, frame);
        if (!add_checksum(sum, frame + FRAME_HEAD, page, frame + 16))
            return SQLITE_CORRUPT;
    }
    return SQLITE_OK;
}

/* Does the log still hold what our last commit left there? Another program that starts the log over
 * while it is read makes one reading of it wrong, but not two. */
static int check_log(const struct rps_writer *writer)
{
    int code = read_log(writer);

    return code == SQLITE_CORRUPT ? read_log(writer) : code;
}

/* SQLite's hook after a commit, in place of its own, which would not look at the log. */
static int on_commit(void *context, sqlite3 *db, const char *name, int frames)
{
    struct rps_writer *writer = context;

    if (frames < writer->frames)
        writer->frames_taken = 0; /* it was started over */
    writer->frames = frames;
    if (frames < writer->frames_taken + writer->frames_max)
        return SQLITE_OK;
    writer->frames_taken = frames;
    writer->log_code = check_log(writer);
    if (writer->log_code == SQLITE_OK)
        sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    return SQLITE_OK;
}

void rps_writer_watch_log(struct rps_writer *writer)
{
    int64_t pages = 0;

    if (rps_database_ask(writer->db, &pages, "PRAGMA wal_autocheckpoint", "") != SQLITE_OK ||
        pages <= 0)
        return;
    writer->frames_max = (int)pages;
    sqlite3_wal_hook(writer->db, on_commit, writer);
}

void rps_writer_watch_files(struct rps_writer *writer)
{
    for (int i = 0; i < RPS_WRITER_FILES; i++)
        look_at_file(writer, i, &writer->file[i]);
    writer->shrunk = writer->frames = writer->frames_taken = 0;
    writer->log_code = SQLITE_OK;
    writer->log = NULL;
    sqlite3_file_control(writer->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &writer->log);
    rps_writer_watch_log(writer);
}

void rps_writer_take_log_up(struct rps_writer *writer)
{
    if (check_log(writer) == SQLITE_OK)
        rps_database_exec(writer->db, "PRAGMA wal_checkpoint(TRUNCATE)");
}

/* --- the content ------------------------------------------------------------------------------ */

/* Open another connection, which reads. An SQLite code; *ret is to be closed in any case. */
static int open_again(const char *path, sqlite3 **ret)
{
    struct rps_rights_before before;
    struct rps_path_check look;
    struct rps_error unheard;
    int64_t version;
    int code = SQLITE_NOTADB;

    if (rps_rights_take_for(path, RPS_RIGHTS_FILE, &before, &unheard) == 0 &&
        rps_path_check_read(path, &look, &unheard) == 0)
        code = rps_database_open_guarded(path, 0, ret);
    if (code == SQLITE_OK)
        code = rps_database_ask(*ret, &version, "PRAGMA user_version", "");
    rps_rights_return(&before);
    return code;
}

/* Read all rows of runs, and count those of this one's periods: -1 without the run. */
static int read_back(const struct rps_writer *writer, const char *path, int64_t run_id, bool all,
                     int64_t *ret_runs, int64_t *ret_periods)
{
    sqlite3 *db = NULL;
    int64_t sound = 1;
    int code = open_again(path, &db);

    if (code == SQLITE_OK)
        code = rps_database_ask(db, ret_runs, "SELECT count(uuid || command || plan) FROM run", "");
    if (code == SQLITE_OK)
        code = rps_database_ask(db, ret_periods,
                                "SELECT CASE WHEN count(*) = 0 THEN -1 ELSE"
                                " (SELECT count(*) FROM period WHERE run_id = ?1) END"
                                " FROM run WHERE run_id = ?1 AND uuid = ?2",
                                "it", run_id, writer->run.uuid);
    if (code == SQLITE_OK && all)
        code = rps_database_ask(db, &sound,
                                "SELECT quick_check = 'ok' FROM pragma_quick_check(1)", "");
    sqlite3_close(db);
    return code == SQLITE_OK && !sound ? SQLITE_CORRUPT : code;
}

bool rps_writer_is_lost(int code)
{
    return code != SQLITE_OK && code != RPS_WRITER_RUN_IS_GONE && code != SQLITE_READONLY_DBMOVED &&
           (code == SQLITE_IOERR_SHORT_READ || !rps_database_is_transient(code));
}

int rps_writer_verify(struct rps_writer *writer)
{
    int64_t runs = 0, periods = -1, expected = (int64_t)(writer->committed - writer->committed_before);
    int code = check_log(writer);

    if (code != SQLITE_CORRUPT)
        code = read_back(writer, rps_writer_file(writer), writer->run_id, writer->shrunk & 1, &runs,
                         &periods);
    if (code == SQLITE_OK && periods < 0)
        return RPS_WRITER_RUN_IS_GONE;
    if (code == SQLITE_OK && periods < (writer->downsample ? expected > 0 : expected))
        code = SQLITE_CORRUPT;
    if (code == SQLITE_OK)
        writer->shrunk = 0;
    if (rps_writer_is_lost(code))
        snprintf(writer->reason, sizeof(writer->reason), "what was recorded is missing");
    return code;
}

void rps_writer_describe_kept(const struct rps_writer *writer, int64_t run_id, char *ret,
                              size_t size)
{
    int64_t runs, periods;

    if (writer->loss == RPS_WRITER_LOSS_MEMORY)
        snprintf(ret, size,
                 check_log(writer) == SQLITE_OK
                     ? "; %s still holds the %" PRIu64 " periods before"
                     : "; it is unknown whether %s still holds the %" PRIu64 " periods before",
                 writer->path, writer->committed);
    else if (read_back(writer, writer->path, run_id, true, &runs, &periods) != SQLITE_OK)
        snprintf(ret, size, "; %s cannot be read any more, and the %" PRIu64 " periods before are "
                 "lost unless `rpistat check --repair` finds them", writer->path, writer->committed);
    else
        snprintf(ret, size,
                 "; %s still holds %" PRId64 " runs, and %" PRId64 " of the %" PRIu64
                 " periods before",
                 writer->path, runs, periods > 0 ? periods : 0, writer->committed);
}
