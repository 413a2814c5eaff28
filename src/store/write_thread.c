/* The writer's thread, which owns the database.
 *
 * A failed write may succeed later: the disk gets free space, or another program releases its lock.
 * So records stay in the ring until COMMIT succeeds, and a failed write is retried at growing
 * intervals for as long as the run continues. Writing ends only after an error that waiting cannot
 * fix, such as a damaged file. */
#include "writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>

#include "database.h"
#include "rpistat/clock.h"
#include "rpistat/process.h"
#include "rpistat/text.h"

/* Maximum number of records in one transaction. */
#define BATCH_MAX 4096

/* Maximum number of transactions of downsampling between two writes. Every 256 periods the thread
 * looks for rows to downsample, so that downsampling keeps up with the new rows. */
#define DOWNSAMPLE_TRANSACTIONS 4

#define BACKOFF_FIRST_NS (10 * RPS_NS_PER_MS)
#define BACKOFF_MAX_NS   RPS_NS_PER_S

/* A write of more than this time is reported; the limit is then twice the reported time. */
#define SLOW_WRITE_NS RPS_NS_PER_S

/* When the log has this number of pages, SQLite moves the log into the file. On a small disk the
 * limit is a share of the free space. Otherwise the log might fill the disk and keep the file from
 * growing. On a small disk the file grows by GROW_PAGES pages at once, to have space for the log
 * when the disk is full. Unused space is returned when the run ends. */
#define LOG_PAGES_MIN 16
#define LOG_PAGES_MAX 1000
#define LOG_SHARE     4
#define GROW_PAGES    48
#define PAGE_BYTES    4096

/* Maximum number of immediate retries of a write because another program made a file smaller. */
#define VERIFICATIONS_MAX 3

struct batch {
    struct rps_ring ring; /* state of the ring when the batch was taken */
    size_t count;         /* number of records, from the oldest on; 0: only a heartbeat */
};

/* --- one write -------------------------------------------------------------------------------- */

static int64_t beat_interval_ns(const struct rps_writer *writer)
{
    return writer->options.commit_ns > RPS_HEARTBEAT_INTERVAL_NS ? writer->options.commit_ns
                                                                 : RPS_HEARTBEAT_INTERVAL_NS;
}

/* A heartbeat is due with a commit if the previous heartbeat is at least 1 s old. */
static bool is_beat_due(const struct rps_writer *writer)
{
    return writer->last_beat_ns == 0 ||
           rps_clock_monotonic_ns() - writer->last_beat_ns >= RPS_NS_PER_S;
}

static int beat(struct rps_writer *writer)
{
    return rps_statements_do(&writer->statements.kept,
                             "INSERT INTO heartbeat (run_id, realtime_ns, boot_id, interval_ns)"
                             " VALUES (?1, ?2, ?3, ?4)"
                             " ON CONFLICT DO UPDATE SET realtime_ns = excluded.realtime_ns,"
                             " boot_id = excluded.boot_id, interval_ns = excluded.interval_ns",
                             "iiti", writer->run_id, rps_clock_realtime_ns(), writer->boot_id,
                             beat_interval_ns(writer));
}

/* Check within a transaction that the run can be written; see rps_writer_write. */
static int check_run(struct rps_writer *writer)
{
    struct rps_statements *kept = &writer->statements.kept;
    int64_t is_recording = 0;
    int code = rps_statements_ask(
        kept, &is_recording, "SELECT state = 'recording' FROM run WHERE run_id = ?1 AND uuid = ?2",
        "it", writer->run_id, writer->run.uuid);

    if (code == SQLITE_OK && !is_recording)
        code = rps_statements_do(kept,
                                 "UPDATE run SET state = 'recording', end_reason = '',"
                                 " elapsed_ns = NULL WHERE run_id = ?1",
                                 "i", writer->run_id);
    return code == SQLITE_DONE ? RPS_WRITER_RUN_IS_GONE : code;
}

/* Prepare this statement early, because memory may be short when the statement is needed. */
static const char sql_rollback[] = "ROLLBACK";

static int try_to_write(struct rps_writer *writer,
                        int (*insert)(struct rps_writer *writer, const void *context),
                        const void *context)
{
    struct rps_statements *kept = &writer->statements.kept;
    sqlite3_stmt *rollback = NULL;
    int code = rps_statements_get(kept, sql_rollback, &rollback);

    if (code == SQLITE_OK)
        code = rps_statements_do(kept, "BEGIN IMMEDIATE", "");
    if (code == SQLITE_OK)
        code = check_run(writer);
    if (code == SQLITE_OK)
        code = insert(writer, context);
    if (code == SQLITE_OK)
        code = rps_writer_check_files(writer);
    if (code == SQLITE_OK)
        code = rps_statements_do(kept, "COMMIT", "");
    if (code == SQLITE_OK) {
        rps_rollup_commit(writer->rollup);
        writer->system.touched = false;
        writer->has_start = writer->next_period > 2 * (uint64_t)writer->set_count;
        return code;
    }
    /* Save the message now: the next call on the database would clear it. */
    snprintf(writer->reason, sizeof(writer->reason), "%s",
             code == RPS_WRITER_RUN_IS_GONE ? "the run was deleted"
                                            : rps_database_reason(writer->db, code));
    code = writer->code = rps_database_code(writer->db, code);
    if (!sqlite3_get_autocommit(writer->db))
        rps_database_run(rollback);
    rps_rollup_roll_back(writer->rollup);
    rps_system_write_roll_back(&writer->system);
    return code;
}

int rps_writer_write(struct rps_writer *writer,
                     int (*insert)(struct rps_writer *writer, const void *context),
                     const void *context)
{
    int code = writer->db ? try_to_write(writer, insert, context) : RPS_WRITER_HAS_LEFT;

    if (code == SQLITE_FULL) {
        rps_writer_empty_log(writer);
        rps_writer_watch_files(writer);
        code = try_to_write(writer, insert, context);
    }
    for (int i = 0; code == RPS_WRITER_SHRUNK && i < VERIFICATIONS_MAX; i++)
        if ((code = rps_writer_verify(writer)) == SQLITE_OK)
            code = try_to_write(writer, insert, context);
    if (code != RPS_WRITER_SHRUNK)
        return code;
    snprintf(writer->reason, sizeof(writer->reason), "another program keeps changing its files");
    return SQLITE_BUSY;
}

int rps_writer_start(struct rps_writer *writer, bool is_end)
{
    const uint64_t periods = 2 * (uint64_t)writer->set_count + (is_end ? 0 : 1);

    if (writer->has_start || writer->next_period < periods)
        return SQLITE_OK;
    return rps_write_run_start(writer->db, writer->run_id);
}

static int insert_batch(struct rps_writer *writer, const void *context)
{
    const struct batch *batch = context;
    struct rps_ring_place place = {0};
    int code = SQLITE_OK;

    if (rps_store_hooks)
        rps_store_hooks->forget(writer->statements.extension);
    if (is_beat_due(writer))
        code = beat(writer);
    if (code == SQLITE_OK)
        code = rps_writer_start(writer, false);
    while (code == SQLITE_OK && place.count < batch->count)
        code = rps_write_record_insert(writer, rps_ring_next(&batch->ring, &place));
    if (code == SQLITE_OK && rps_store_hooks)
        code = rps_store_hooks->write(writer->statements.extension);
    return code;
}

/* --- after a write ---------------------------------------------------------------------------- */

static void report_slow(struct rps_writer *writer, int64_t taken_ns)
{
    if (taken_ns < SLOW_WRITE_NS || taken_ns < 2 * writer->slow_ns)
        return;
    writer->slow_ns = taken_ns;
    rps_writer_notice(writer,
                      "a write to %s took %.1f s; the periods of that time were kept in memory",
                      rps_writer_file(writer), (double)taken_ns / RPS_NS_PER_S);
}

/* Limit the size of the log. On a small disk, also reserve space in the file before the run has
 * data to write. With --max-size downsampling keeps the log short. */
static void bound_log(struct rps_writer *writer)
{
    struct statvfs disk;
    int64_t pages;
    int chunk = GROW_PAGES * PAGE_BYTES;

    if (writer->options.max_bytes > 0 || statvfs(rps_writer_file(writer), &disk) != 0)
        return;
    pages = (int64_t)(disk.f_bavail * disk.f_frsize / LOG_SHARE / PAGE_BYTES);
    pages = pages < LOG_PAGES_MIN ? LOG_PAGES_MIN : pages > LOG_PAGES_MAX ? LOG_PAGES_MAX : pages;
    if (pages == writer->log_pages || rps_database_bound_log(writer->db, pages) != SQLITE_OK)
        return;
    if (pages < LOG_PAGES_MAX && writer->log_pages % LOG_PAGES_MAX == 0) { /* the disk is small */
        sqlite3_file_control(writer->db, "main", SQLITE_FCNTL_CHUNK_SIZE, &chunk);
        sqlite3_wal_checkpoint_v2(writer->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    }
    writer->log_pages = pages;
    rps_writer_watch_files(writer);
}

static void downsample(struct rps_writer *writer, int transactions)
{
    struct rps_downsample *downsample = writer->downsample;
    char size[RPS_TEXT_NUMBER_SIZE];

    if (!downsample || !rps_downsample_is_due(downsample, writer->committed, writer->end_ns))
        return;
    /* If downsampling fails, the next call retries it. Failures need no report here, because the
     * writer reports a store that cannot be written. */
    rps_downsample_work(downsample, writer->committed, writer->end_ns, transactions, NULL);
    if (writer->full || !rps_downsample_is_in_vain(downsample))
        return;
    writer->full = true;
    rps_writer_notice(writer,
                      "%s cannot be kept below %s, because nothing more can be downsampled; the "
                      "recording continues",
                      writer->path, rps_text_size(size, sizeof(size), writer->options.max_bytes));
}

/* Add the records of a committed batch to the sums. Returns the number of periods. *ret_rows is the
 * number of readings and rows of an extension. */
static uint64_t sum_batch(struct rps_writer *writer, const struct batch *batch,
                          struct rps_ring_place *ret_place, uint64_t *ret_rows)
{
    uint64_t periods = 0;

    *ret_rows = 0;
    while (ret_place->count < batch->count) {
        const struct rps_ring_record *record = rps_ring_next(&batch->ring, ret_place);

        rps_write_record_sum(writer, record);
        periods += record->kind == RPS_WRITE_RECORD_PERIOD;
        *ret_rows += record->kind >= RPS_WRITE_RECORD_READING;
    }
    return periods;
}

/* Report that writes succeed again. The caller holds the lock, which is released for the notice. */
static void report_recovery(struct rps_writer *writer)
{
    uint64_t lost = writer->dropped - writer->lost_when_failing;
    char number[32] = "no";

    writer->failing = false;
    writer->backoff_ns = 0;
    writer->trouble[0] = '\0';
    pthread_mutex_unlock(&writer->lock);
    if (lost > 0)
        snprintf(number, sizeof(number), "%" PRIu64, lost);
    rps_writer_notice(writer, "writing to %s is possible again; %s period%s lost",
                      rps_writer_file(writer), number, lost > 1 ? "s were" : " was");
    pthread_mutex_lock(&writer->lock);
}

void rps_writer_report_beat(struct rps_writer *writer, bool gave_up)
{
    struct rps_writer_beat beat = {
        .file = rps_writer_file(writer),
        .run_id = writer->run_id,
        .run = &writer->run,
        .periods = writer->next_period,
        .end_ns = writer->end_ns,
        .late_ns = writer->last_beat_ns + 3 * beat_interval_ns(writer) + RPS_HEARTBEAT_GRACE_NS,
        .gave_up = gave_up,
    };
    struct rps_writer_status status;

    if (!writer->options.beat)
        return;
    rps_writer_status(writer, &status);
    beat.size_bytes = status.size_bytes;
    writer->options.beat(writer->options.beat_context, &beat);
}

/* Remove a committed batch from the ring. The caller holds the lock, which may be released. */
static void finish_batch(struct rps_writer *writer, const struct batch *batch, int64_t taken_ns)
{
    struct rps_ring_place place = {0};
    uint64_t periods, rows;

    pthread_mutex_unlock(&writer->lock);
    periods = sum_batch(writer, batch, &place, &rows);
    report_slow(writer, taken_ns);
    if (batch->count > 0) /* a heartbeat alone must not delay the first period */
        writer->last_commit_ns = rps_clock_monotonic_ns();
    pthread_mutex_lock(&writer->lock);
    rps_ring_drop(&writer->ring, &place); /* drop first: a fault may interrupt the SQLite call */
    writer->periods -= periods;
    writer->rows -= rows;
    writer->committed += periods;
    rps_writer_note_lost(writer); /* the ring has space for the gap now */
    if (writer->failing)
        report_recovery(writer);
    pthread_mutex_unlock(&writer->lock);
    if (is_beat_due(writer)) {
        bound_log(writer);
        writer->last_beat_ns = rps_clock_monotonic_ns();
        rps_writer_report_beat(writer, false);
    }
    downsample(writer, DOWNSAMPLE_TRANSACTIONS);
    pthread_mutex_lock(&writer->lock);
}

/* Sleep for ns or until `stop`. The caller holds the lock, which is released during the sleep. */
static void pause_for(struct rps_writer *writer, int64_t ns)
{
    int64_t until_ns = rps_clock_monotonic_ns() + ns;
    struct timespec until = {.tv_sec = (time_t)(until_ns / RPS_NS_PER_S),
                             .tv_nsec = (long)(until_ns % RPS_NS_PER_S)};

    pthread_cond_timedwait(&writer->wake, &writer->lock, &until);
}

/* Handle a failure that may be temporary. The caller holds the lock. */
static void fail_batch(struct rps_writer *writer)
{
    size_t room =
        (writer->ring.size - writer->ring.used) / rps_ring_bytes(sizeof(struct rps_period));

    memcpy(writer->trouble, writer->reason, sizeof(writer->trouble));
    writer->backoff_ns = writer->failing ? 2 * writer->backoff_ns : BACKOFF_FIRST_NS;
    if (writer->backoff_ns > BACKOFF_MAX_NS)
        writer->backoff_ns = BACKOFF_MAX_NS;
    if (!writer->failing) {
        writer->failing = true;
        writer->lost_when_failing = writer->dropped;
        pthread_mutex_unlock(&writer->lock);
        rps_writer_notice(writer,
                          "cannot write to %s now: %s; the recording continues in memory, with "
                          "space for %zu more period%s",
                          rps_writer_file(writer), writer->reason, room, room == 1 ? "" : "s");
        pthread_mutex_lock(&writer->lock);
    }
    if (!writer->stop || !rps_writer_gives_up(writer))
        pause_for(writer, writer->stop ? BACKOFF_FIRST_NS : writer->backoff_ns);
}

/* Handle a permanent failure. The caller holds the lock, which is released for the notice. */
static void break_off(struct rps_writer *writer)
{
    memcpy(writer->trouble, writer->reason, sizeof(writer->trouble));
    writer->broken = true;
    pthread_mutex_unlock(&writer->lock);
    rps_writer_notice(writer, "the recording into %s has ended: %s; the workload continues",
                      rps_writer_file(writer), writer->reason);
    rps_writer_report_beat(writer, true);
    pthread_mutex_lock(&writer->lock);
}

bool rps_writer_go_on(struct rps_writer *writer, int code)
{
    if (code == RPS_WRITER_RUN_IS_GONE)
        return rps_writer_save_run(writer, RPS_WRITER_LOSS_RUN) == SQLITE_OK;
    if (code == SQLITE_READONLY_DBMOVED) /* without a new file, writing continues as before */
        return rps_writer_save_copy(writer) == SQLITE_OK || writer->save_failed;
    return rps_writer_is_lost(code) &&
           rps_writer_save_run(writer, code == RPS_WRITER_HAS_LEFT
                                           ? RPS_WRITER_LOSS_MEMORY
                                           : RPS_WRITER_LOSS_DAMAGE) == SQLITE_OK;
}

/* Continue in another file if the store or its run is gone, or if the store was locked for too
 * long. Returns true on success. The caller holds the lock, which is released for some time. */
static bool is_saved(struct rps_writer *writer, int code)
{
    bool waits = writer->waits_ns > 0, saved;
    bool is_over = (waits || (writer->stop && rps_database_is_busy(code))) &&
                   rps_writer_gives_up(writer) && !writer->abandoned;

    pthread_mutex_unlock(&writer->lock);
    if (is_over)
        saved = rps_writer_save_locked(writer) == SQLITE_OK;
    else
        saved = !waits && rps_writer_go_on(writer, code);
    pthread_mutex_lock(&writer->lock);
    return saved;
}

/* Retry adding the run that waits for the store's lock. Returns an SQLite code. Until the run is
 * added, heartbeats are reported only to the caller. */
static int try_to_add(struct rps_writer *writer)
{
    struct rps_error err;
    int result;

    if (writer->code == RPS_WRITER_HAS_LEFT)
        return writer->code;
    result = rps_writer_add_run(writer, RPS_WRITER_BUSY_MS, &err);
    if (result == 0) {
        pthread_mutex_lock(&writer->lock);
        writer->waits_ns = 0;
        pthread_mutex_unlock(&writer->lock);
        writer->last_beat_ns = 0; /* a heartbeat with the run's number is due at once */
        return SQLITE_OK;
    }
    if (is_beat_due(writer)) {
        writer->last_beat_ns = rps_clock_monotonic_ns();
        rps_writer_report_beat(writer, false);
    }
    writer->code = result == RPS_BUSY ? SQLITE_BUSY : SQLITE_CANTOPEN;
    snprintf(writer->reason, sizeof(writer->reason), "%.199s",
             result == RPS_BUSY ? rps_database_reason(NULL, SQLITE_BUSY) : err.message);
    return writer->code;
}

/* --- the loop --------------------------------------------------------------------------------- */

/* Return true if a write is due. If not, *ret_wait_ns is the time until a write may be due. */
static bool is_due(struct rps_writer *writer, int64_t *ret_wait_ns)
{
    int64_t now_ns = rps_clock_monotonic_ns();
    int64_t beat_ns =
        writer->last_beat_ns == 0 ? 0 : writer->last_beat_ns + beat_interval_ns(writer) - now_ns;
    int64_t next_ns = writer->last_commit_ns == 0
                          ? 0
                          : writer->last_commit_ns + writer->options.commit_ns - now_ns;
    bool is_commit_due = next_ns <= 0 || writer->ring.used >= rps_writer_due(writer);

    if (writer->waits_ns > 0 || beat_ns <= 0 || (writer->ring.count > 0 && is_commit_due))
        return true;
    writer->idle = is_commit_due;
    *ret_wait_ns = !writer->idle && next_ns < beat_ns ? next_ns : beat_ns;
    return false;
}

/* Wait, with the lock held, for a due write. Returns false at `stop` if all records are written. */
static bool wait_for_work(struct rps_writer *writer)
{
    int64_t wait_ns;

    while (!writer->stop && !is_due(writer, &wait_ns)) {
        writer->sleeping = true;
        pause_for(writer, wait_ns);
        writer->sleeping = false;
    }
    return !writer->stop || writer->ring.count > 0 || writer->waits_ns > 0;
}

static void write_all(void *context)
{
    struct rps_writer *writer = context;
    int64_t start_ns;
    int code;
    bool waits, is_over;

    if (writer->waits_ns == 0)
        bound_log(writer);
    pthread_mutex_lock(&writer->lock);
    while (!writer->broken && !writer->abandoned && wait_for_work(writer)) {
        struct batch batch = {
            .ring = writer->ring,
            .count = writer->ring.count < BATCH_MAX ? writer->ring.count : BATCH_MAX,
        };

        pthread_mutex_unlock(&writer->lock);
        start_ns = rps_clock_monotonic_ns();
        waits = writer->waits_ns > 0;
        code = waits ? try_to_add(writer) : rps_writer_write(writer, insert_batch, &batch);
        pthread_mutex_lock(&writer->lock);
        is_over = writer->stop && rps_writer_gives_up(writer);
        if (code == SQLITE_OK && !waits)
            finish_batch(writer, &batch, rps_clock_monotonic_ns() - start_ns);
        else if (code == SQLITE_OK || is_saved(writer, code))
            continue;
        else if (rps_database_is_transient(code))
            fail_batch(writer);
        else
            break_off(writer);
        if (code != SQLITE_OK && is_over)
            break;
    }
    pthread_mutex_unlock(&writer->lock);
}

void *rps_writer_thread(void *context)
{
    while (rps_fault_guard(write_all, context) < 0)
        rps_writer_leave_connection(context);
    return NULL;
}
