/* The caller's side of the writer: opening, and the ring of records. write_begin.c begins a run,
 * write_end.c ends it. SAFETY: no function in this file waits for the disk during a run, or holds
 * the lock while SQL runs. */
#include "writer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "database.h"
#include "period.h"
#include "rpistat/clock.h"
#include "rpistat/plan.h"
#include "rpistat/text.h"

#define RING_BYTES_MIN (UINT64_C(64) << 20)
#define RING_BYTES_MAX (UINT64_C(512) << 20)
#define RING_NS        (600 * RPS_NS_PER_S)

/* rps_writer_wait waits while the ring has more periods than this limit. */
#define WAIT_PERIODS 16384
#define WAIT_ROWS    32768

/* Space in the ring for marks and gaps, in addition to the space for periods. */
#define RING_NOTE_BYTES (UINT64_C(4) << 20)

/* With this many periods in the ring a commit is due, even before the interval of --commit. */
#define DUE_PERIODS 4096

/* How long rps_writer_end tries to write the remaining records. */
#define PATIENCE_NS (10 * RPS_NS_PER_S)

/* Time for which a recording waits for another program's lock before it uses another file. */
#define LOCK_WAIT_NS (60 * RPS_NS_PER_S)

#define MARK_MAX_BYTES 1024

/* --- opening ---------------------------------------------------------------------------------- */

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

int rps_writer_hold(struct rps_writer *writer, struct rps_error *err)
{
    return writer->db ? 0 : rps_database_open_existing(rps_writer_file(writer), &writer->db, err);
}

void rps_writer_release(struct rps_writer *writer)
{
    if (!rps_database_is_alone(writer->db))
        return;
    rps_database_close(writer->db);
    writer->db = NULL;
    writer->log = NULL;
}

size_t rps_writer_ring_periods(int64_t period_ns, int cpu_count)
{
    size_t bytes = rps_ring_bytes(sizeof(struct rps_period));
    size_t least = RING_BYTES_MIN / bytes, most = RING_BYTES_MAX / bytes;
    size_t wanted = (size_t)(RING_NS / period_ns) * (size_t)cpu_count;

    return wanted < least ? least : wanted > most ? most : wanted;
}

int rps_writer_connect(struct rps_writer *writer, int busy_ms, struct rps_error *err)
{
    const struct rps_database_options options = {
        .durability_full = writer->options.durability_full,
        .busy_ms = busy_ms,
        .ret_made = &writer->made,
        .notice = writer->options.notice,
        .notice_context = writer->options.notice_context,
    };
    struct stat status;
    int result = rps_database_open_write(writer->path, &options, &writer->db, err);

    writer->mode = stat(writer->path, &status) == 0 ? status.st_mode & 0666 : 0600;
    return result;
}

int rps_writer_open(struct rps_writer **ret, const char *path,
                    const struct rps_writer_options *options, struct rps_error *err)
{
    size_t periods = options->ring_periods > 0 ? options->ring_periods : 2 * WAIT_PERIODS;
    struct rps_writer *writer = calloc(1, sizeof(*writer));
    int result = RPS_FAILED;

    if (!writer)
        return rps_error_memory(err);
    writer->options = *options;
    writer->patience_ns = PATIENCE_NS;
    writer->lock_wait_ns = LOCK_WAIT_NS;
    rps_heartbeat_boot_id(writer->boot_id, sizeof(writer->boot_id));
    writer->path = strdup(path);
    if (!writer->path) {
        rps_error_memory(err);
        goto free_writer;
    }
    if (rps_ring_init(&writer->ring,
                      periods * rps_ring_bytes(sizeof(struct rps_period)) + RING_NOTE_BYTES,
                      err) < 0)
        goto free_path;
    if (init_lock(writer) < 0) {
        rps_error_memory(err);
        goto free_ring;
    }
    result = rps_writer_connect(writer, options->starts_locked ? RPS_WRITER_START_BUSY_MS : 0, err);
    if (result == RPS_BUSY && options->starts_locked)
        writer->waits_ns = rps_clock_monotonic_ns();
    else if (result < 0)
        goto unmake;
    *ret = writer;
    return 0;

unmake:
    if (writer->made)
        rps_database_unmake(path, 0);
    pthread_mutex_destroy(&writer->lock);
    pthread_cond_destroy(&writer->wake);
free_ring:
    rps_ring_free(&writer->ring);
free_path:
    free(writer->path);
free_writer:
    free(writer);
    return result;
}

void rps_writer_notice(const struct rps_writer *writer, const char *format, ...)
{
    char sentence[2048];
    va_list arguments;

    if (!writer->options.notice)
        return;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    writer->options.notice(writer->options.notice_context, sentence);
}

/* --- a run ------------------------------------------------------------------------------------ */

/* Copy the parts of the plan that the thread needs. */
static int keep_plan(struct rps_writer *writer)
{
    const struct rps_plan *plan = writer->plan;

    writer->set_count = plan->set_count;
    writer->measured = calloc((size_t)plan->set_count, sizeof(*writer->measured));
    writer->sum = calloc((size_t)plan->set_count, sizeof(*writer->sum));
    if (!writer->measured || !writer->sum)
        return SQLITE_NOMEM;
    for (int n = 0; n < plan->set_count; n++) {
        for (int slot = 0; slot < plan->set[n].event_count; slot++) {
            if (plan->set[n].event[slot].state == RPS_EVENT_MEASURED)
                writer->measured[n] |= (uint8_t)(1u << slot);
        }
    }
    return SQLITE_OK;
}

static int insert_rollup(void *context, const struct rps_period *row)
{
    struct rps_writer *writer = context;

    return rps_period_insert(writer->statements.rollup, writer->run_id, row);
}

int rps_writer_open_run(struct rps_writer *writer)
{
    const struct rps_rollup_sink sink = {writer, insert_rollup};
    struct rps_downsample_options downsample = {
        .run_id = writer->run_id,
        .keep_ns = writer->options.keep_ns,
        .keep_blocks = writer->options.keep_blocks,
        .max_bytes = writer->options.max_bytes,
    };
    int code = rps_write_record_prepare(writer);

    downsample.extension = writer->statements.extension;
    if (code == SQLITE_OK && !writer->measured)
        code = keep_plan(writer);
    if (code == SQLITE_OK && !writer->rollup) {
        writer->rollup = rps_rollup_new(writer->set_count, &sink);
        code = writer->rollup ? SQLITE_OK : SQLITE_NOMEM;
    }
    if (code == SQLITE_OK && (downsample.keep_ns > 0 || downsample.max_bytes > 0))
        code = rps_downsample_open(writer->db, &downsample, &writer->downsample);
    sqlite3_busy_timeout(writer->db, RPS_WRITER_BUSY_MS);
    rps_writer_watch_files(writer);
    return code;
}

void rps_writer_close_run(struct rps_writer *writer)
{
    rps_downsample_close(writer->downsample);
    writer->downsample = NULL;
    rps_write_record_finalize(writer);
    rps_rollup_free(writer->rollup);
    writer->rollup = NULL;
    rps_system_write_forget(&writer->system);
    free(writer->measured);
    writer->measured = NULL;
    free(writer->sum);
    writer->sum = NULL;
    writer->has_start = false;
}

/* --- during the run --------------------------------------------------------------------------- */

/* Append a record, whose payload the caller fills. The caller holds the lock. Returns NULL if there
 * is no space. Half of the ring is reserved for periods: rows use only the other half. */
static void *push(struct rps_writer *writer, int kind, size_t payload)
{
    bool is_row = kind >= RPS_WRITE_RECORD_READING;
    void *place = NULL;

    if (!writer->broken && (!is_row || writer->ring.used < writer->ring.size / 2))
        place = rps_ring_push(&writer->ring, (uint32_t)kind, payload);
    writer->periods += place && kind == RPS_WRITE_RECORD_PERIOD;
    writer->rows += place && is_row;
    return place;
}

/* Append a record with a copy of the payload. Returns false if there is no space. */
static bool push_copy(struct rps_writer *writer, int kind, const void *payload, size_t size)
{
    void *place = push(writer, kind, size);

    if (place)
        memcpy(place, payload, size);
    return place != NULL;
}

/* Append a record with a row. Returns false if there is no space. */
static bool push_row(struct rps_writer *writer, int kind, const int64_t *number, size_t numbers,
                     const char *const *text, size_t texts)
{
    struct rps_write_row *row;
    size_t bytes = numbers * sizeof(*number), size = sizeof(*row) + bytes;
    char *place;

    for (size_t i = 0; i < texts; i++)
        size += strlen(text[i]) + 1;
    row = push(writer, kind, size);
    if (!row)
        return false;
    row->number_count = (int)numbers;
    place = (char *)memcpy(row->number, number, bytes) + bytes;
    for (size_t i = 0; i < texts; i++)
        place = stpcpy(place, text[i]) + 1;
    return true;
}

/* Append a mark or a gap. Without space, count the record as lost. */
static bool push_note(struct rps_writer *writer, int kind, const int64_t *number, size_t numbers,
                      const char *text)
{
    char cut[MARK_MAX_BYTES + 1];
    const char *texts[] = {cut};
    bool is_there;

    snprintf(cut, sizeof(cut), "%.*s", (int)rps_text_cut(text, MARK_MAX_BYTES), text);
    is_there = push_row(writer, kind, number, numbers, texts, 1);
    writer->lost_notes += !is_there;
    return is_there;
}

static void push_mark(struct rps_writer *writer, int64_t time_ns, const char *text)
{
    const int64_t number[] = {time_ns, writer->next_note++};

    push_note(writer, RPS_WRITE_RECORD_MARK, number, 2, text);
}

static bool push_gap(struct rps_writer *writer, int32_t cpu, int64_t start_ns, int64_t length_ns,
                     const char *reason)
{
    const int64_t number[] = {start_ns, writer->next_note++, cpu, length_ns};

    return push_note(writer, RPS_WRITE_RECORD_GAP, number, 4, reason);
}

void rps_writer_note_lost(struct rps_writer *writer)
{
    struct rps_lost_stretch *lost = &writer->lost;
    char reason[160];

    if (lost->periods == 0)
        return;
    snprintf(reason, sizeof(reason),
             "the store could not be written and the queue was full: %" PRIu64 " periods lost",
             lost->periods);
    if (push_gap(writer, lost->cpu, lost->start_ns, lost->end_ns - lost->start_ns, reason))
        lost->periods = 0;
    else
        writer->lost_notes--; /* do not count the gap as lost, because the next call retries it */
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

size_t rps_writer_due(const struct rps_writer *writer)
{
    size_t half = writer->ring.size / 2;
    size_t due = DUE_PERIODS * rps_ring_bytes(sizeof(struct rps_period));

    return half < due ? half : due;
}

static void unlock_and_wake(struct rps_writer *writer)
{
    bool wake = writer->sleeping && (writer->idle || writer->ring.used >= rps_writer_due(writer));

    pthread_mutex_unlock(&writer->lock);
    if (wake) /* signal after unlocking: a thread woken earlier would wait for the lock */
        pthread_cond_signal(&writer->wake);
}

void rps_writer_period(struct rps_writer *writer, const struct rps_period *period)
{
    pthread_mutex_lock(&writer->lock);
    if (!push_copy(writer, RPS_WRITE_RECORD_PERIOD, period, sizeof(*period)))
        lose(writer, period);
    unlock_and_wake(writer);
}

void rps_writer_note_marks(struct rps_writer *writer)
{
    char text[120];

    if (writer->marks_left_out == 0)
        return;
    snprintf(text, sizeof(text), "%" PRIu64 " marks left out: more than %d came within a second",
             writer->marks_left_out, RPS_MARKS_PER_S);
    push_mark(writer, writer->mark_time_ns, text);
    writer->marks_left_out = 0;
}

/* Return true if the limit of marks per second permits another mark. */
static bool has_mark_left(struct rps_writer *writer, int64_t time_ns)
{
    int64_t now_ns = rps_clock_monotonic_ns();

    if (writer->marks == 0 || now_ns - writer->mark_second_ns >= RPS_NS_PER_S) {
        rps_writer_note_marks(writer);
        writer->mark_second_ns = now_ns;
        writer->marks = 0;
    }
    if (writer->marks++ < RPS_MARKS_PER_S)
        return true;
    writer->mark_time_ns = time_ns;
    writer->marks_left_out++;
    return false;
}

void rps_writer_mark(struct rps_writer *writer, int64_t time_ns, const char *text)
{
    pthread_mutex_lock(&writer->lock);
    if (has_mark_left(writer, time_ns))
        push_mark(writer, time_ns, text);
    unlock_and_wake(writer);
}

void rps_writer_gap(struct rps_writer *writer, int32_t cpu, int64_t start_ns, int64_t length_ns,
                    const char *reason)
{
    pthread_mutex_lock(&writer->lock);
    push_gap(writer, cpu, start_ns, length_ns, reason);
    unlock_and_wake(writer);
}

void rps_writer_row(struct rps_writer *writer, int kind, const int64_t *number, size_t numbers,
                    const char *const *text, size_t texts)
{
    pthread_mutex_lock(&writer->lock);
    writer->lost_rows +=
        !push_row(writer, RPS_WRITE_RECORD_EXTENSION + kind, number, numbers, text, texts);
    unlock_and_wake(writer);
}

void rps_writer_system_state(struct rps_writer *writer, const struct rps_system_state *state)
{
    pthread_mutex_lock(&writer->lock);
    writer->lost_notes += !push_copy(writer, RPS_WRITE_RECORD_STATE, state, sizeof(*state));
    unlock_and_wake(writer);
}

void rps_writer_system(struct rps_writer *writer, const struct rps_system_reading *reading)
{
    pthread_mutex_lock(&writer->lock);
    push_copy(writer, RPS_WRITE_RECORD_READING, reading, sizeof(*reading));
    unlock_and_wake(writer);
}

uint64_t rps_writer_lost_rows(struct rps_writer *writer)
{
    uint64_t lost;

    pthread_mutex_lock(&writer->lock);
    lost = writer->lost_rows;
    pthread_mutex_unlock(&writer->lock);
    return lost;
}

void rps_writer_wait(struct rps_writer *writer)
{
    const struct timespec pause = {.tv_nsec = RPS_NS_PER_MS};
    bool is_full = true;

    while (is_full) {
        pthread_mutex_lock(&writer->lock);
        is_full = (writer->periods > WAIT_PERIODS || writer->rows > WAIT_ROWS ||
                   /* half of the ring is only for periods */
                   writer->ring.used > writer->ring.size / 4) &&
                  (!writer->failing || writer->waits_ns > 0) && !writer->broken;
        pthread_mutex_unlock(&writer->lock);
        if (is_full)
            nanosleep(&pause, NULL);
    }
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
    char file[4096];

    pthread_mutex_lock(&writer->lock);
    snprintf(file, sizeof(file), "%s", rps_writer_file(writer));
    *ret = (struct rps_writer_status){
        .committed = writer->committed,
        .queued = writer->periods,
        .dropped = writer->dropped,
        .failing = writer->failing || writer->broken,
        .is_damaged = writer->loss > RPS_WRITER_LOSS_RUN,
        .is_empty = writer->committed == writer->committed_before,
        .run_id = writer->run_id,
        .file = rps_writer_file(writer),
    };
    memcpy(ret->trouble, writer->trouble, sizeof(ret->trouble));
    pthread_mutex_unlock(&writer->lock);
    ret->file_bytes = file_bytes(file, "");
    ret->size_bytes = ret->file_bytes + file_bytes(file, "-wal");
}
