/* The writer, beginning a run. */
#include "writer.h"

#include <stdio.h>
#include <string.h>

#include "database.h"
#include "rpistat/random.h"
#include "rpistat/text.h"

#define OPENING_BUSY_MS 5000

/* A random UUID (RFC 9562, version 4). */
static int make_uuid(char ret[40], struct rps_error *err)
{
    unsigned char b[16];

    if (rps_random_bytes(b, sizeof(b), err) < 0)
        return rps_error_prefix(err, RPS_FAILED, "cannot make an id for the run");
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    snprintf(ret, 40, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
             b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
             b[14], b[15]);
    return 0;
}

/* Does what the store holds leave room for a run below max_bytes? RPS_FAILED and a sentence. */
static int check_room(struct rps_writer *writer, struct rps_error *err)
{
    uint64_t max_bytes = writer->options.max_bytes, used = 0, unused = 0;
    char is[RPS_TEXT_NUMBER_SIZE], max[RPS_TEXT_NUMBER_SIZE];
    int code;

    if (max_bytes == 0)
        return 0;
    code = rps_database_space(writer->db, &used, &unused);
    if (code != SQLITE_OK)
        return rps_database_error(writer->db, code, writer->path, err);
    used -= unused;
    if (used + RPS_DOWNSAMPLE_ROOM_BYTES <= max_bytes)
        return 0;
    return rps_error_set(err, RPS_FAILED,
                         "%s holds %s of other runs, too much to keep it below %s: record into "
                         "another store, or allow more",
                         writer->path, rps_text_size(is, sizeof(is), used),
                         rps_text_size(max, sizeof(max), max_bytes));
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
    writer->save_failed = false;
    writer->loss = RPS_WRITER_LOSS_NONE;
    writer->committed_before = 0;
    writer->trouble[0] = '\0';
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
    int code, result = RPS_FAILED;

    if (make_uuid(run->uuid, err) < 0 || rps_writer_hold(writer, err) < 0 ||
        check_room(writer, err) < 0)
        return RPS_FAILED;
    reset_run(writer);
    writer->plan = plan;
    writer->run = *run;
    sqlite3_busy_timeout(writer->db, OPENING_BUSY_MS);
    code = rps_write_run_begin(writer->db, run, plan, &writer->run_id);
    writer->run.run_id = writer->run_id; /* before the thread is there */
    if (code == SQLITE_OK)
        code = rps_writer_open_run(writer);
    if (code != SQLITE_OK)
        rps_database_error(writer->db, code, writer->path, err);
    else
        result = start_thread(writer, err);
    if (result < 0) {
        rps_writer_close_run(writer);
        return result;
    }
    run->run_id = writer->run_id;
    return 0;
}
