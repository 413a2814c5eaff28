/*
 * The writer, the caller's side: opening, beginning a run, and the queue; write_end.c ends it.
 * Nothing here waits for the disk while the run goes on; the lock is never held while SQL runs.
 */
#include "writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#include "companion.h"
#include "database.h"
#include "period_table.h"
#include "recover.h"
#include "rpistat/clock.h"

/* An hour of 100 ms periods. */
#define QUEUE_PERIODS_DEFAULT 36000

/* How long rps_writer_end tries to write what could not be written. */
#define PATIENCE_NS (10 * RPS_NS_PER_S)

/* How long a write of the thread waits for another program's lock before it says so. Long enough
 * for every transaction of another recorder. */
#define RECORDING_BUSY_MS 500
#define OPENING_BUSY_MS   5000

/* Between commits, unless the user has said. */
#define COMMIT_NS_DEFAULT RPS_NS_PER_S

#define MARK_MAX_BYTES 1024

/* --- notes ---------------------------------------------------------------------------------- */

void rps_note_list_init(struct rps_note_list *list)
{
    *list = (struct rps_note_list){0};
    list->end = &list->first;
}

void rps_note_list_clear(struct rps_note_list *list)
{
    struct rps_pending_note *note = list->first;

    while (note) {
        struct rps_pending_note *next = note->next;

        free(note);
        note = next;
    }
    rps_note_list_init(list);
}

/* Length of text up to limit bytes, cut at a whole character. */
static size_t cut_length(const char *text, size_t limit)
{
    size_t length = strnlen(text, limit + 1);

    if (length <= limit)
        return length;
    length = limit;
    while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
        length--;
    return length;
}

void rps_writer_add_note(struct rps_writer *writer, bool is_mark, int32_t cpu, int64_t start_ns,
                         int64_t length_ns, const char *text)
{
    size_t length = cut_length(text, MARK_MAX_BYTES);
    struct rps_pending_note *note = calloc(1, sizeof(*note) + length + 1);

    if (!note) {
        writer->lost_notes++;
        return;
    }
    note->is_mark = is_mark;
    note->cpu = cpu;
    note->start_ns = start_ns;
    note->length_ns = length_ns;
    note->number = writer->next_note++;
    memcpy(note->text, text, length);
    *writer->notes.end = note;
    writer->notes.end = &note->next;
    writer->notes.count++;
}

/* --- opening --------------------------------------------------------------------------------- */

static int init_lock(struct rps_writer *writer)
{
    pthread_condattr_t attributes;

    if (pthread_condattr_init(&attributes) != 0)
        return -1;
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    if (pthread_cond_init(&writer->wake, &attributes) != 0) {
        pthread_condattr_destroy(&attributes);
        return -1;
    }
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&writer->lock, NULL);
    return 0;
}

int rps_writer_open(struct rps_writer **ret, const char *path,
                    const struct rps_writer_options *options, struct rps_error *err)
{
    struct rps_database_options database = {
        .durability_full = options->durability_full,
        .notice = options->notice,
        .notice_context = options->notice_context,
    };
    size_t room = options->queue_periods > 0 ? options->queue_periods : QUEUE_PERIODS_DEFAULT;
    struct rps_writer *writer = calloc(1, sizeof(*writer));
    struct stat status;

    if (!writer)
        return rps_error_memory(err);
    writer->options = *options;
    writer->patience_ns = PATIENCE_NS;
    rps_note_list_init(&writer->notes);
    writer->path = strdup(path);
    if (!writer->path) {
        rps_error_memory(err);
        goto free_writer;
    }
    if (rps_queue_init(&writer->queue, room, err) < 0)
        goto free_path;
    if (init_lock(writer) < 0) {
        rps_error_memory(err);
        goto free_queue;
    }
    if (rps_database_open_write(path, &database, &writer->db, err) < 0)
        goto destroy_lock;
    writer->mode = stat(path, &status) == 0 ? status.st_mode : 0600;
    rps_recover_sweep(writer->db, path, options->notice, options->notice_context);
    *ret = writer;
    return 0;

destroy_lock:
    pthread_mutex_destroy(&writer->lock);
    pthread_cond_destroy(&writer->wake);
free_queue:
    rps_queue_free(&writer->queue);
free_path:
    free(writer->path);
free_writer:
    free(writer);
    return RPS_FAILED;
}

/* --- beginning ------------------------------------------------------------------------------- */

/* A random UUID (RFC 9562, version 4). */
static int make_uuid(char ret[40], struct rps_error *err)
{
    unsigned char b[16];

    if (getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b))
        return rps_error_set(err, RPS_FAILED,
                             "cannot make an id for the run: the kernel gives no random numbers "
                             "(%s)",
                             strerror(errno));
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    snprintf(ret, 40, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
             b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
             b[14], b[15]);
    return 0;
}

void rps_writer_free_run(struct rps_writer *writer, bool keep)
{
    rps_period_table_close(writer->table);
    writer->table = NULL;
    rps_thin_close(writer->thin);
    writer->thin = NULL;
    sqlite3_stmt **const statements[] = {&writer->begin, &writer->commit, &writer->rollback,
                                         &writer->insert_mark, &writer->insert_gap};
    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
        sqlite3_finalize(*statements[i]);
        *statements[i] = NULL;
    }
    free(writer->measured);
    writer->measured = NULL;
    free(writer->sum);
    writer->sum = NULL;
    rps_queue_unshare(&writer->queue, writer->uuid, keep);
    rps_queue_drop(&writer->queue, writer->queue.count);
    rps_note_list_clear(&writer->notes);
}

static int prepare_statements(struct rps_writer *writer, int slots)
{
    struct {
        sqlite3_stmt **stmt;
        const char *sql;
    } const statements[] = {
        {&writer->begin, "BEGIN IMMEDIATE"},
        {&writer->commit, "COMMIT"},
        {&writer->rollback, "ROLLBACK"},
        {&writer->insert_mark,
         "INSERT INTO mark (run_id, time_ns, mark_no, text) VALUES (?1, ?2, ?3, ?4)"},
        {&writer->insert_gap, "INSERT INTO gap (run_id, start_ns, gap_no, cpu, length_ns, reason)"
                              " VALUES (?1, ?2, ?3, ?5, ?6, ?4)"},
    };
    int code = rps_period_table_open(writer->db, slots, &writer->table);

    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]) && code == SQLITE_OK; i++)
        code = rps_database_prepare(writer->db, statements[i].sql, statements[i].stmt);
    return code;
}

/* What the thread keeps of the plan. */
static int keep_plan(struct rps_writer *writer, const struct rps_plan *plan, int *ret_slots)
{
    int slots = 1;

    writer->set_count = plan->set_count;
    writer->measured = calloc((size_t)plan->set_count, sizeof(*writer->measured));
    writer->sum = calloc((size_t)plan->set_count, sizeof(*writer->sum));
    if (!writer->measured || !writer->sum)
        return SQLITE_NOMEM;
    for (int n = 0; n < plan->set_count; n++) {
        const struct rps_event_set *set = &plan->set[n];

        for (int slot = 0; slot < set->event_count; slot++) {
            if (set->event[slot].state == RPS_EVENT_MEASURED)
                writer->measured[n] |= (uint8_t)(1u << slot);
        }
        if (set->event_count > slots)
            slots = set->event_count;
    }
    *ret_slots = slots;
    return SQLITE_OK;
}

static void reset_run(struct rps_writer *writer)
{
    writer->unsettled = (struct rps_unsettled){0};
    writer->lost = (struct rps_lost_stretch){0};
    writer->end_ns = -1;
    writer->last_commit_ns = writer->slow_ns = writer->backoff_ns = 0;
    writer->next_note = 0;
    writer->lost_notes = writer->committed = writer->dropped = 0;
    writer->sleeping = writer->stop = writer->failing = writer->broken = writer->full = false;
    writer->moved = false;
    writer->looked_ns = rps_clock_monotonic_ns();
    writer->trouble[0] = '\0';
}

/* Commits that are not every period's are as safe from a kill only when the queue outlives it. */
static void share_queue(struct rps_writer *writer, const char *uuid)
{
    int chosen = writer->options.commit_ns == RPS_COMMIT_CHOSEN;

    writer->commit_ns = !chosen                           ? writer->options.commit_ns
                        : writer->options.durability_full ? 0
                                                          : COMMIT_NS_DEFAULT;
    snprintf(writer->uuid, sizeof(writer->uuid), "%s", uuid);
    if (writer->commit_ns == 0)
        return;
    if (!rps_queue_share(&writer->queue, uuid, writer->path) && chosen)
        writer->commit_ns = 0;
}

static int start_thread(struct rps_writer *writer, struct rps_error *err)
{
    int number = pthread_create(&writer->thread, NULL, rps_writer_thread, writer);

    if (number != 0)
        return rps_error_set(err, RPS_FAILED, "cannot start the thread that writes %s: %s",
                             writer->path, strerror(number));
    writer->thread_runs = true;
    return 0;
}

int rps_writer_begin(struct rps_writer *writer, struct rps_run *run, const struct rps_plan *plan,
                     struct rps_error *err)
{
    int64_t run_id = 0;
    int slots = 1, code, result = RPS_FAILED;

    if (writer->thread_runs || plan->set_count < 1)
        return rps_error_set(err, RPS_FAILED, "cannot begin a run in %s: %s", writer->path,
                             writer->thread_runs ? "the one before has not ended"
                                                 : "there is nothing to count");
    if (rps_writer_check_room(writer, err) < 0 || make_uuid(run->uuid, err) < 0)
        return RPS_FAILED;
    reset_run(writer);
    sqlite3_busy_timeout(writer->db, OPENING_BUSY_MS);
    code = keep_plan(writer, plan, &slots);
    if (code == SQLITE_OK)
        code = prepare_statements(writer, slots);
    if (code == SQLITE_OK)
        code = rps_write_run_begin(writer->db, run, plan, &run_id);
    if (code != SQLITE_OK) {
        rps_database_error(writer->db, code, writer->path, err);
        goto fail;
    }
    writer->run_id = run_id;
    writer->log_inode = rps_companion_log_inode(writer->path);
    code = rps_writer_begin_thinning(writer, run);
    if (code != SQLITE_OK) {
        rps_database_error(writer->db, code, writer->path, err);
        goto fail;
    }
    sqlite3_busy_timeout(writer->db, RECORDING_BUSY_MS);
    share_queue(writer, run->uuid);
    result = start_thread(writer, err);
    if (result < 0)
        goto fail;
    run->run_id = run_id;
    return 0;

fail:
    rps_writer_free_run(writer, false);
    return result;
}

/* --- while the run goes on ------------------------------------------------------------------- */

void rps_writer_note_lost(struct rps_writer *writer)
{
    struct rps_lost_stretch *lost = &writer->lost;
    char reason[160];

    if (lost->periods == 0)
        return;
    snprintf(reason, sizeof(reason),
             "the store could not be written and the queue was full: %" PRIu64 " periods lost",
             lost->periods);
    rps_writer_add_note(writer, false, lost->cpu, lost->start_ns, lost->end_ns - lost->start_ns,
                        reason);
    lost->periods = 0;
}

static void lose(struct rps_writer *writer, const struct rps_period *period)
{
    struct rps_lost_stretch *lost = &writer->lost;
    int64_t end_ns = period->start_ns + period->length_ns;

    writer->dropped++;
    if (lost->periods++ == 0) {
        *lost = (struct rps_lost_stretch){1, period->cpu, period->start_ns, end_ns};
        return;
    }
    if (period->cpu != lost->cpu)
        lost->cpu = RPS_CPU_ALL;
    if (period->start_ns < lost->start_ns)
        lost->start_ns = period->start_ns;
    if (end_ns > lost->end_ns)
        lost->end_ns = end_ns;
}

void rps_writer_period(struct rps_writer *writer, const struct rps_period *period)
{
    bool wake;

    pthread_mutex_lock(&writer->lock);
    if (!writer->broken && rps_queue_push(&writer->queue, period))
        rps_writer_note_lost(writer);
    else
        lose(writer, period);
    /* with so many it may be waiting for its next commit */
    wake = writer->sleeping || writer->queue.count == rps_writer_due(writer);
    pthread_mutex_unlock(&writer->lock);
    if (wake) /* now: a thread woken under the lock would wait for the lock at once */
        pthread_cond_signal(&writer->wake);
}

void rps_writer_mark(struct rps_writer *writer, int64_t time_ns, const char *text)
{
    pthread_mutex_lock(&writer->lock);
    rps_writer_add_note(writer, true, RPS_CPU_ALL, time_ns, 0, text);
    pthread_cond_signal(&writer->wake);
    pthread_mutex_unlock(&writer->lock);
}

void rps_writer_gap(struct rps_writer *writer, int32_t cpu, int64_t start_ns, int64_t length_ns,
                    const char *reason)
{
    pthread_mutex_lock(&writer->lock);
    rps_writer_add_note(writer, false, cpu, start_ns, length_ns, reason);
    pthread_cond_signal(&writer->wake);
    pthread_mutex_unlock(&writer->lock);
}

static uint64_t file_bytes(const char *path, const char *suffix)
{
    char name[4096];
    struct stat status;

    if (snprintf(name, sizeof(name), "%s%s", path, suffix) >= (int)sizeof(name) ||
        stat(name, &status) != 0)
        return 0;
    return (uint64_t)status.st_size;
}

void rps_writer_status(struct rps_writer *writer, struct rps_writer_status *ret)
{
    pthread_mutex_lock(&writer->lock);
    *ret = (struct rps_writer_status){
        .committed = writer->committed,
        .queued = writer->queue.count,
        .dropped = writer->dropped,
        .failing = writer->failing || writer->broken,
    };
    pthread_mutex_unlock(&writer->lock);
    ret->size_bytes = file_bytes(writer->path, "") + file_bytes(writer->path, "-wal");
}
