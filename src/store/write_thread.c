/*
 * The writer, the thread that owns the database.
 *
 * A write that fails may succeed later: the disk gets room again, the other program lets go of its
 * lock. So nothing is taken out of the queue before COMMIT said yes, and a failed write is tried
 * again, at longer and longer distances, for as long as the run goes on. Only errors that no
 * waiting mends (a damaged file, one that was removed) end writing.
 */
#include "writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "companion.h"
#include "database.h"
#include "fields.h"
#include "period_table.h"
#include "rpistat/clock.h"

/* Periods in one transaction, at most. */
#define BATCH_MAX 1024

/* With so many waiting the next commit is due, whatever --commit says. */
#define DUE_PERIODS (4 * BATCH_MAX)

/* Periods whose pages are packed together; the transaction takes 10 ms. */
#define SETTLE_PERIODS 2048

/* Of thinning, between two writes; a look comes every 256 periods, so that these keep up. */
#define THIN_TRANSACTIONS 4

#define BACKOFF_FIRST_NS (10 * RPS_NS_PER_MS)
#define BACKOFF_MAX_NS   RPS_NS_PER_S

/* A write that takes longer is reported; after that, one that takes twice as long as the last. */
#define SLOW_WRITE_NS RPS_NS_PER_S

/* Between two looks whether the store is still at its place. */
#define LOOK_NS RPS_NS_PER_S

struct batch {
    const struct rps_period *period; /* in the queue */
    size_t count;
    struct rps_note_list notes; /* taken over */
    char trouble[200];          /* why it could not be written */
};

/* --- saying ---------------------------------------------------------------------------------- */

static void notice(const struct rps_writer *writer, const char *sentence)
{
    if (writer->options.notice)
        writer->options.notice(writer->options.notice_context, sentence);
}

/* --- one write ------------------------------------------------------------------------------- */

static int write_note(struct rps_writer *writer, const struct rps_pending_note *note)
{
    sqlite3_stmt *stmt = note->is_mark ? writer->insert_mark : writer->insert_gap;
    int code = rps_fields_bind_text(stmt, 4, note->text);

    if (code != SQLITE_OK)
        return code;
    sqlite3_bind_int64(stmt, 1, writer->run_id);
    sqlite3_bind_int64(stmt, 2, note->start_ns);
    sqlite3_bind_int64(stmt, 3, note->number);
    if (!note->is_mark) {
        sqlite3_bind_int64(stmt, 5, note->cpu);
        sqlite3_bind_int64(stmt, 6, note->length_ns);
    }
    return rps_database_run(stmt);
}

static uint32_t measured(const struct rps_writer *writer, uint32_t set_no)
{
    return set_no < (uint32_t)writer->set_count ? writer->measured[set_no] : 0;
}

/* Keep what SQLite says of a failure; the next call on the database would forget it. */
static void keep_trouble(struct rps_writer *writer, struct batch *batch, int code)
{
    snprintf(batch->trouble, sizeof(batch->trouble), "%s", rps_database_reason(writer->db, code));
}

static int write_many(struct rps_writer *writer, struct batch *batch)
{
    int code = rps_database_run(writer->begin);

    for (size_t i = 0; i < batch->count && code == SQLITE_OK; i++)
        code = rps_period_table_insert(writer->table, writer->run_id, &batch->period[i],
                                       measured(writer, batch->period[i].set_no));
    for (const struct rps_pending_note *note = batch->notes.first; note && code == SQLITE_OK;
         note = note->next)
        code = write_note(writer, note);
    if (code == SQLITE_OK)
        code = rps_database_run(writer->commit);
    if (code != SQLITE_OK)
        keep_trouble(writer, batch, code);
    if (code != SQLITE_OK && !sqlite3_get_autocommit(writer->db))
        rps_database_run(writer->rollback);
    return code;
}

/* In one transaction; a single period, the usual batch, is one by itself. */
static int write_batch(struct rps_writer *writer, struct batch *batch)
{
    int code;

    if (batch->count != 1 || batch->notes.first)
        return write_many(writer, batch);
    code = rps_period_table_insert(writer->table, writer->run_id, &batch->period[0],
                                   measured(writer, batch->period[0].set_no));
    if (code != SQLITE_OK)
        keep_trouble(writer, batch, code);
    return code;
}

/* --- after a write --------------------------------------------------------------------------- */

static void sum_period(struct rps_writer *writer, const struct rps_period *period)
{
    if (period->start_ns + period->length_ns > writer->end_ns)
        writer->end_ns = period->start_ns + period->length_ns;
    if (period->set_no < (uint32_t)writer->set_count)
        rps_set_sum_add(&writer->sum[period->set_no], period, measured(writer, period->set_no));
}

static void count_unsettled(struct rps_unsettled *unsettled, const struct rps_period *period)
{
    if (unsettled->periods++ == 0) {
        unsettled->cpu = period->cpu;
        unsettled->cycle = period->cycle;
        unsettled->period = period->period;
        unsettled->start_ns = period->start_ns;
    } else if (period->cpu != unsettled->cpu) {
        unsettled->mixed = true;
    }
}

void rps_writer_settle(struct rps_writer *writer)
{
    struct rps_unsettled *unsettled = &writer->unsettled;

    if (unsettled->periods >= RPS_SETTLE_PERIODS_MIN && !unsettled->mixed && !writer->broken)
        rps_period_table_settle(writer->table, writer->run_id, unsettled->cpu, unsettled->cycle,
                                unsettled->period);
    *unsettled = (struct rps_unsettled){0};
}

static void report_slow(struct rps_writer *writer, int64_t taken_ns)
{
    char sentence[512];

    if (taken_ns < SLOW_WRITE_NS || taken_ns < 2 * writer->slow_ns)
        return;
    writer->slow_ns = taken_ns;
    snprintf(sentence, sizeof(sentence),
             "a write to %s took %.1f s; the periods of that time were kept in memory",
             writer->path, (double)taken_ns / RPS_NS_PER_S);
    notice(writer, sentence);
}

bool rps_writer_has_moved(const struct rps_writer *writer)
{
    int moved = 0;

    return sqlite3_file_control(writer->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK &&
           moved;
}

/* Nothing is lost while the file is open: said once, and mended at the end of the run. */
static void look_for_store(struct rps_writer *writer, int64_t now_ns)
{
    char sentence[768];

    if (writer->moved || now_ns - writer->looked_ns < LOOK_NS)
        return;
    writer->looked_ns = now_ns;
    writer->moved = rps_writer_has_moved(writer);
    if (!writer->moved)
        return;
    /* a store that comes to that place is not to be read with this log */
    rps_companion_remove_log(writer->path, writer->log_inode);
    snprintf(sentence, sizeof(sentence),
             "the store %s was deleted, moved or replaced while it is recorded into; the recording "
             "goes on, and is saved beside it at its end",
             writer->path);
    notice(writer, sentence);
}

/* With the lock held, which is let go for the notice. */
static void report_recovery(struct rps_writer *writer)
{
    uint64_t lost = writer->dropped - writer->lost_when_failing;
    char sentence[512], number[32] = "no";

    writer->failing = false;
    writer->backoff_ns = 0;
    writer->trouble[0] = '\0';
    pthread_mutex_unlock(&writer->lock);
    if (lost > 0)
        snprintf(number, sizeof(number), "%" PRIu64, lost);
    snprintf(sentence, sizeof(sentence), "writing to %s is possible again; %s period%s lost",
             writer->path, number, lost > 1 ? "s were" : " was");
    notice(writer, sentence);
    pthread_mutex_lock(&writer->lock);
}

/* With the lock held, which is let go meanwhile. */
static void finish_batch(struct rps_writer *writer, struct batch *batch, int64_t taken_ns)
{
    pthread_mutex_unlock(&writer->lock);
    for (size_t i = 0; i < batch->count; i++) {
        sum_period(writer, &batch->period[i]);
        count_unsettled(&writer->unsettled, &batch->period[i]);
    }
    rps_note_list_clear(&batch->notes);
    report_slow(writer, taken_ns);
    writer->last_commit_ns = rps_clock_monotonic_ns();
    look_for_store(writer, writer->last_commit_ns);
    pthread_mutex_lock(&writer->lock);
    rps_queue_drop(&writer->queue, batch->count);
    writer->committed += batch->count;
    if (writer->failing)
        report_recovery(writer);
    if (writer->unsettled.periods >= SETTLE_PERIODS || writer->thin) {
        pthread_mutex_unlock(&writer->lock);
        if (writer->unsettled.periods >= SETTLE_PERIODS)
            rps_writer_settle(writer);
        rps_writer_thin(writer, THIN_TRANSACTIONS);
        pthread_mutex_lock(&writer->lock);
    }
}

/* Put notes that were not written in front of those that came since. */
static void put_back(struct rps_writer *writer, struct batch *batch)
{
    if (!batch->notes.first)
        return;
    *batch->notes.end = writer->notes.first;
    if (!writer->notes.first)
        writer->notes.end = batch->notes.end;
    writer->notes.first = batch->notes.first;
    writer->notes.count += batch->notes.count;
}

/* Sleep until told to stop, or for ns. With the lock held, which is let go meanwhile. */
static void pause_for(struct rps_writer *writer, int64_t ns)
{
    int64_t until_ns = rps_clock_monotonic_ns() + ns;
    struct timespec until = {.tv_sec = (time_t)(until_ns / RPS_NS_PER_S),
                             .tv_nsec = (long)(until_ns % RPS_NS_PER_S)};

    pthread_cond_timedwait(&writer->wake, &writer->lock, &until);
}

/* A write failed in a way that may pass. With the lock held. */
static void fail_batch(struct rps_writer *writer, const struct batch *batch)
{
    char sentence[768];
    size_t room = writer->queue.capacity - writer->queue.count;

    snprintf(writer->trouble, sizeof(writer->trouble), "%s", batch->trouble);
    writer->backoff_ns = writer->failing ? 2 * writer->backoff_ns : BACKOFF_FIRST_NS;
    if (writer->backoff_ns > BACKOFF_MAX_NS)
        writer->backoff_ns = BACKOFF_MAX_NS;
    if (!writer->failing) {
        writer->failing = true;
        writer->lost_when_failing = writer->dropped;
        snprintf(sentence, sizeof(sentence),
                 "cannot write to %s now: %s; the recording goes on in memory, with room for %zu "
                 "more period%s",
                 writer->path, writer->trouble, room, room == 1 ? "" : "s");
        pthread_mutex_unlock(&writer->lock);
        notice(writer, sentence);
        pthread_mutex_lock(&writer->lock);
    }
    if (!writer->stop || writer->give_up_ns > rps_clock_monotonic_ns())
        pause_for(writer, writer->stop ? BACKOFF_FIRST_NS : writer->backoff_ns);
}

/* A write failed for good. With the lock held. */
static void break_off(struct rps_writer *writer, const struct batch *batch)
{
    char sentence[768];

    snprintf(writer->trouble, sizeof(writer->trouble), "%s", batch->trouble);
    writer->broken = true;
    snprintf(sentence, sizeof(sentence),
             "recording into %s has ended: %s; the workload goes on, what was written before is "
             "kept",
             writer->path, writer->trouble);
    pthread_mutex_unlock(&writer->lock);
    notice(writer, sentence);
    pthread_mutex_lock(&writer->lock);
}

/* --- the loop -------------------------------------------------------------------------------- */

static bool has_work(const struct rps_writer *writer)
{
    return writer->queue.count > 0 || writer->notes.first;
}

size_t rps_writer_due(const struct rps_writer *writer)
{
    size_t half = writer->queue.capacity / 2;

    return half < DUE_PERIODS ? half : DUE_PERIODS;
}

/* How long the next commit has to wait; not above 0: it is due. */
static int64_t until_due_ns(const struct rps_writer *writer)
{
    if (writer->commit_ns == 0 || writer->last_commit_ns == 0)
        return 0;
    return writer->last_commit_ns + writer->commit_ns - rps_clock_monotonic_ns();
}

/* Wait for work, and until it is due: notes always are. With the lock held. False: told to stop,
 * and all is done. */
static bool wait_for_work(struct rps_writer *writer)
{
    int64_t wait_ns;

    while (!has_work(writer)) {
        if (writer->stop)
            return false;
        wait_ns = until_due_ns(writer);
        if (wait_ns > 0) {
            pause_for(writer, wait_ns); /* what comes meanwhile is not due before */
            continue;
        }
        writer->sleeping = true;
        pthread_cond_wait(&writer->wake, &writer->lock);
        writer->sleeping = false;
    }
    while (!writer->stop && writer->queue.count < rps_writer_due(writer)) {
        wait_ns = until_due_ns(writer);
        if (wait_ns <= 0 || writer->notes.first)
            break;
        /* not `sleeping`: a period every 100 ms is no reason to wake up, the time is */
        pause_for(writer, wait_ns);
    }
    return true;
}

static void take_batch(struct rps_writer *writer, struct batch *ret)
{
    ret->count = rps_queue_peek(&writer->queue, BATCH_MAX, &ret->period);
    rps_note_list_init(&ret->notes);
    if (writer->notes.first) {
        ret->notes = writer->notes;
        rps_note_list_init(&writer->notes);
    }
}

void *rps_writer_thread(void *context)
{
    struct rps_writer *writer = context;
    struct batch batch;
    int64_t start_ns;
    int code;

    pthread_mutex_lock(&writer->lock);
    while (!writer->broken && wait_for_work(writer)) {
        take_batch(writer, &batch);
        pthread_mutex_unlock(&writer->lock);
        start_ns = rps_clock_monotonic_ns();
        code = write_batch(writer, &batch);
        pthread_mutex_lock(&writer->lock);
        if (code == SQLITE_OK) {
            finish_batch(writer, &batch, rps_clock_monotonic_ns() - start_ns);
            continue;
        }
        put_back(writer, &batch);
        if (rps_database_is_transient(code))
            fail_batch(writer, &batch);
        else
            break_off(writer, &batch);
        if (writer->stop && rps_clock_monotonic_ns() >= writer->give_up_ns)
            break;
    }
    pthread_mutex_unlock(&writer->lock);
    return NULL;
}
