/* The part of the writer that begins a run. */
#include "writer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "rpistat/clock.h"
#include "rpistat/error.h"
#include "rpistat/random.h"

/* Make a random UUID (RFC 9562, version 4). */
static int make_uuid(char ret[40], struct rps_error *err)
{
    unsigned char b[16];

    if (rps_random_bytes(b, sizeof(b), err) < 0)
        return rps_error_prefix(err, RPS_FAILED, "cannot create a uuid for the run");
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    snprintf(ret, 40, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
             b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
             b[14], b[15]);
    return 0;
}

static void reset_run(struct rps_writer *writer)
{
    writer->lost = (struct rps_lost_stretch){0};
    writer->system = (struct rps_system_write){0};
    writer->end_ns = -1;
    writer->next_period = 0;
    writer->last_commit_ns = writer->last_beat_ns = writer->slow_ns = writer->backoff_ns = 0;
    writer->next_note = 0;
    writer->marks = writer->marks_left_out = 0;
    writer->lost_notes = writer->committed = writer->dropped = 0;
    writer->rows = writer->lost_rows = 0;
    writer->sleeping = writer->stop = writer->failing = writer->broken = writer->full = false;
    writer->save_failed = writer->abandoned = false;
    writer->run_id = 0;
    writer->code = SQLITE_OK;
    writer->loss = RPS_WRITER_LOSS_NONE;
    writer->committed_before = 0;
    writer->trouble[0] = '\0';
}

static int start_thread(struct rps_writer *writer, struct rps_error *err)
{
    int number = pthread_create(&writer->thread, NULL, rps_writer_thread, writer);

    if (number == EAGAIN && rps_memory_limit() != SIZE_MAX) /* no memory for the thread's stack */
        return rps_error_memory(err);
    if (number != 0)
        return rps_error_set(err, RPS_FAILED, "cannot start the thread that writes %s: %s",
                             writer->path, strerror(number));
    writer->thread_runs = true;
    return 0;
}

int rps_writer_begin(struct rps_writer *writer, struct rps_run *run, const struct rps_plan *plan,
                     struct rps_error *err)
{
    bool starts_locked = writer->options.starts_locked;
    int result = 0;

    if (make_uuid(run->uuid, err) < 0 ||
        (writer->waits_ns == 0 && rps_writer_hold(writer, err) < 0))
        return RPS_FAILED;
    reset_run(writer);
    writer->plan = plan;
    writer->run = *run;
    if (writer->waits_ns == 0)
        result = rps_writer_add_run(
            writer, starts_locked ? RPS_WRITER_START_BUSY_MS : RPS_DATABASE_BUSY_MS, err);
    if (result == RPS_BUSY && starts_locked) {
        writer->waits_ns = rps_clock_monotonic_ns();
        result = 0;
    }
    run->run_id = writer->run_id; /* set before the thread starts */
    if (result == 0)
        result = start_thread(writer, err);
    if (result < 0)
        rps_writer_close_run(writer);
    return result;
}
