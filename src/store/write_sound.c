/* Check that the recorded rows are still in the store.
 *
 * Another program can empty, cut or overwrite a store's files while rpistat writes them. SQLite
 * does not notice: it finds pages of the log by an index in shared memory, and reads the log's
 * checksums only after a crash. So the writer compares the files' sizes with those of its last
 * commit, and reads the checksums before it moves the log into the file. Checkpoints and VACUUM
 * also make files smaller. If a file is smaller, a second connection therefore counts the periods
 * in the store. */
#include "writer.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "identity.h"
#include "rpistat/clock.h"
#include "rpistat/rights.h"

/* Constants of the log's format, sizes in 32-bit words:
 * https://sqlite.org/fileformat2.html#the_write_ahead_log */
#define LOG_HEAD   8
#define FRAME_HEAD 6
#define PAGE_MAX   1024 /* in words; longer pages are not checked */
#define LOG_MAGIC  (UINT32_C(0x377f0682) + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__))

/* Interval of checking the log, which reads at most 4 MB in some milliseconds. */
#define CHECK_NS (10 * RPS_NS_PER_S)

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
    int has_moved = 0; /* compares the path with the open file, since file[0] may be a later one */

    sqlite3_file_control(writer->db, "main", SQLITE_FCNTL_HAS_MOVED, &has_moved);
    if (has_moved && !writer->save_failed) {
        writer->loss = RPS_WRITER_LOSS_NONE;
        return SQLITE_READONLY_DBMOVED;
    }
    for (int i = 0; i < 3; i++) {
        struct stat before = writer->file[i], *now = &writer->file[i];
        int64_t size = i == 1 ? (int64_t)writer->frames * writer->frame_bytes : before.st_size;

        look_at_file(writer, i, now);
        if (before.st_ino && !writer->save_failed &&
            (now->st_ino != before.st_ino || now->st_dev != before.st_dev)) {
            writer->loss = i > 0 ? RPS_WRITER_LOSS_LOG : RPS_WRITER_LOSS_NONE;
            return SQLITE_READONLY_DBMOVED;
        }
        /* The number of disk blocks shows if a file was emptied and then written at its old end,
         * because such a file has a hole. */
        if (i < 2 && (now->st_size < size || 2 * now->st_blocks < before.st_blocks))
            writer->shrunk |= 1u << i;
    }
    return writer->log_code == SQLITE_OK && writer->shrunk ? RPS_WRITER_SHRUNK : writer->log_code;
}

/* --- the log ---------------------------------------------------------------------------------- */

/* Add words to the log's checksum. Returns true if the sum equals the stored sum at `expected`. */
static bool add_checksum(uint32_t sum[2], const uint32_t *word, uint32_t count,
                         const uint32_t *expected)
{
    for (uint32_t i = 0; i < count; i += 2) {
        sum[0] += word[i] + sum[1];
        sum[1] += word[i + 1] + sum[0];
    }
    return sum[0] == be32toh(expected[0]) && sum[1] == be32toh(expected[1]);
}

static int read_log(const struct rps_writer *writer)
{
    uint32_t head[LOG_HEAD], frame[FRAME_HEAD + PAGE_MAX], sum[2] = {0}, page;
    sqlite3_file *log = writer->log;
    sqlite3_int64 at = sizeof(head);

    if (writer->frames == 0 || !log || !log->pMethods)
        return SQLITE_OK;
    if (log->pMethods->xRead(log, head, sizeof(head), 0) != SQLITE_OK)
        return RPS_WRITER_SHRUNK;
    page = be32toh(head[2]) / sizeof(*frame);
    if ((be32toh(head[0]) ^ LOG_MAGIC) == 1)
        return SQLITE_OK; /* a machine with the other byte order began the log */
    if (be32toh(head[0]) != LOG_MAGIC || !add_checksum(sum, head, 6, head + 6))
        return SQLITE_CORRUPT;
    if (memcmp(head + 4, writer->log_salt, sizeof(writer->log_salt)) != 0)
        return RPS_WRITER_SHRUNK; /* the log was restarted, perhaps by this transaction */
    if (page > PAGE_MAX)
        return SQLITE_OK;
    for (int n = 0, size = (int)((FRAME_HEAD + page) * sizeof(*frame)); n < writer->frames; n++) {
        if (log->pMethods->xRead(log, frame, size, at + (sqlite3_int64)n * size) != SQLITE_OK)
            return RPS_WRITER_SHRUNK;
        add_checksum(sum, frame, 2, frame);
        if (frame[2] != head[4] || frame[3] != head[5] ||
            !add_checksum(sum, frame + FRAME_HEAD, page, frame + 4))
            return SQLITE_CORRUPT;
    }
    return SQLITE_OK;
}

/* Check that the log holds this writer's last commit. Returns RPS_WRITER_SHRUNK if another program
 * may have restarted the log, and SQLITE_CORRUPT if two reads show that the log was overwritten. */
static int check_log(const struct rps_writer *writer)
{
    int code = read_log(writer);

    return code == SQLITE_CORRUPT ? read_log(writer) : code;
}

/* Called by SQLite at a commit instead of its own hook, which would not check the log. */
static int on_commit(void *context, sqlite3 *db, const char *name, int frames)
{
    struct rps_writer *writer = context;
    uint32_t head[LOG_HEAD];

    if (writer->log && writer->log->pMethods &&
        writer->log->pMethods->xRead(writer->log, head, sizeof(head), 0) == SQLITE_OK)
        memcpy(writer->log_salt, head + 4, sizeof(writer->log_salt));
    if (frames < writer->frames)
        writer->frames_moved = 0; /* the log was restarted */
    writer->frames = frames;
    if (frames < writer->frames_moved + writer->frames_max &&
        rps_clock_monotonic_ns() - writer->checked_ns < CHECK_NS)
        return SQLITE_OK;
    writer->log_code = check_log(writer);
    writer->checked_ns = rps_clock_monotonic_ns();
    if (frames < writer->frames_moved + writer->frames_max)
        return SQLITE_OK;
    writer->frames_moved = frames;
    if (writer->log_code == SQLITE_OK)
        sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    return SQLITE_OK;
}

void rps_writer_watch_files(struct rps_writer *writer)
{
    int64_t pages = 0, page_bytes = 0;

    for (int i = 0; i < 3; i++)
        look_at_file(writer, i, &writer->file[i]);
    rps_database_ask(writer->db, &page_bytes, "PRAGMA page_size", "");
    writer->frame_bytes = (int)(FRAME_HEAD * sizeof(uint32_t)) + (int)page_bytes;
    writer->frames = writer->frames_moved = writer->log_code = 0;
    writer->shrunk = 0;
    writer->checked_ns = rps_clock_monotonic_ns();
    sqlite3_file_control(writer->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &writer->log);
    rps_database_ask(writer->db, &pages, "PRAGMA wal_autocheckpoint", "");
    if (pages > 0) /* 0: on_commit() is already SQLite's hook */
        writer->frames_max = (int)pages;
    sqlite3_wal_hook(writer->db, on_commit, writer);
}

void rps_writer_empty_log(struct rps_writer *writer)
{
    if (check_log(writer) != SQLITE_CORRUPT)
        rps_database_exec(writer->db, "PRAGMA wal_checkpoint(TRUNCATE)");
}

/* --- the content ------------------------------------------------------------------------------ */

/* Open a new connection for reading. Returns an SQLite code; the caller closes *ret in any case. */
static int open_again(const char *path, sqlite3 **ret)
{
    char *name = rps_path_check_sqlite_path(path);
    struct rps_rights_before before;
    int64_t version;
    int code = name ? SQLITE_CANTOPEN : SQLITE_NOMEM;

    if (rps_rights_take_for(path, RPS_RIGHTS_FILE, &before, NULL) == 0 && name)
        code = rps_database_open_guarded(name, 0, RPS_DATABASE_BUSY_MS, ret);
    if (code == SQLITE_OK)
        code = rps_database_ask(*ret, &version, "PRAGMA user_version", "");
    rps_rights_return(&before);
    if ((code & 0xff) == SQLITE_CANTOPEN) { /* there is no shared memory */
        sqlite3_close(*ret);
        *ret = NULL;
        code = rps_database_open_read(path, ret, NULL) < 0 ? SQLITE_CANTOPEN : SQLITE_OK;
    }
    free(name);
    return code;
}

/* Read all rows of runs, and count the periods of this run (-1: no run), through a new connection.
 * If the writer's connection is exclusive, no new connection can be opened. Then the writer's
 * connection frees its cache and reads the files again. */
static int read_back(const struct rps_writer *writer, const char *path, int64_t run_id, bool all,
                     int64_t *ret_runs, int64_t *ret_periods)
{
    bool is_alone = writer->db && rps_database_is_alone(writer->db);
    sqlite3 *db = is_alone ? writer->db : NULL;
    int64_t is_sound = 1;
    int code = is_alone ? sqlite3_db_release_memory(db) : open_again(path, &db);

    if (code == SQLITE_OK)
        code = rps_database_ask(db, ret_runs,
                                "SELECT count(uuid || command || plan || coalesce((SELECT period"
                                " FROM period AS p WHERE p.run_id = run.run_id LIMIT 1), ''))"
                                " FROM run",
                                "");
    if (code == SQLITE_OK)
        code = rps_database_ask(db, ret_periods,
                                "SELECT CASE count(*) WHEN 0 THEN -1 ELSE"
                                " (SELECT count(*) FROM period WHERE run_id = ?1) END"
                                " FROM run WHERE run_id = ?1 AND uuid = ?2",
                                "it", run_id, writer->run.uuid);
    if (code == SQLITE_OK && all)
        code = rps_database_ask(db, &is_sound,
                                "SELECT quick_check = 'ok' FROM pragma_quick_check(1)", "");
    if (!is_alone)
        sqlite3_close(db);
    return is_sound ? code : SQLITE_CORRUPT;
}

bool rps_writer_is_lost(int code)
{
    return code == SQLITE_IOERR_SHORT_READ ||
           (code != SQLITE_OK && code != RPS_WRITER_RUN_IS_GONE &&
            code != SQLITE_READONLY_DBMOVED && !rps_database_is_transient(code));
}

int rps_writer_verify(struct rps_writer *writer)
{
    int64_t runs, periods, expected = (int64_t)(writer->committed - writer->committed_before);
    int code = check_log(writer);

    if (code != SQLITE_CORRUPT)
        code = read_back(writer, rps_writer_file(writer), writer->run_id, writer->shrunk & 1, &runs,
                         &periods);
    if (writer->save_failed) /* the store's file has another name now */
        code = SQLITE_OK;
    else if (code == SQLITE_OK && periods < 0)
        code = RPS_WRITER_RUN_IS_GONE;
    else if (code == SQLITE_OK && periods < (writer->downsample ? expected > 0 : expected))
        code = SQLITE_CORRUPT;
    if (code == SQLITE_OK && (writer->shrunk || writer->log_code)) {
        /* Nothing is lost: another program's checkpoint or VACUUM made the files smaller. */
        writer->shrunk = 0;
        writer->frames = writer->frames_moved = writer->log_code = 0;
    }
    if (rps_writer_is_lost(code))
        snprintf(writer->reason, sizeof(writer->reason), "recorded data are missing");
    return code;
}

bool rps_writer_is_whole(const struct rps_writer *writer)
{
    struct stat now;

    return stat(writer->path, &now) == 0 && now.st_ino == writer->file[0].st_ino &&
           now.st_size >= writer->file[0].st_size && now.st_size > 0 &&
           check_log(writer) == SQLITE_OK;
}

void rps_writer_describe_kept(const struct rps_writer *writer, int64_t run_id, bool is_whole,
                              char *ret, size_t size)
{
    bool is_memory = writer->loss == RPS_WRITER_LOSS_MEMORY;
    int64_t runs, kept, before = (int64_t)writer->committed;

    /* This process cannot open the file again if the file's shared memory is broken. */
    if (is_memory && is_whole)
        snprintf(ret, size, "; %s keeps the %" PRId64 " periods before", writer->path, before);
    else if (is_memory)
        snprintf(ret, size, "; %s may have lost some of the %" PRId64 " periods before",
                 writer->path, before);
    else if (read_back(writer, writer->path, run_id, true, &runs, &kept) == SQLITE_OK)
        snprintf(ret, size,
                 "; %s keeps %" PRId64 " of the %" PRId64 " periods before (runs: %" PRId64 ")",
                 writer->path, kept > 0 ? kept : 0, before, runs);
    else
        snprintf(ret, size,
                 "; the %" PRId64 " periods before and earlier runs cannot be read from "
                 "%s any more",
                 before, writer->path);
}
