/*
 * The writer, adding a run to a store that another program may have locked.
 *
 * A lock must not keep the user's command from running. So the recording begins in memory, and the
 * thread adds the run when the lock is free: another recorder needs it for milliseconds, but a merge
 * or a stopped process may hold it for minutes. If the wait takes too long, the run goes into a file
 * of its own, which `rpistat merge` adds to the store.
 */
#include "writer.h"

#include "database.h"
#include "rpistat/clock.h"
#include "rpistat/text.h"

/* Records of a run that waits take at most this much memory, and half of the ring, since rows of
 * samples get no more (push in write.c). */
#define WAIT_BYTES (UINT64_C(64) << 20)

/* Do the store's contents leave enough of max_bytes for a run? RPS_FAILED with a message. */
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

int rps_writer_add_run(struct rps_writer *writer, int busy_ms, struct rps_error *err)
{
    int code = SQLITE_OK, result = writer->db ? 0 : rps_writer_connect(writer, busy_ms, err);

    if (result == 0)
        result = check_room(writer, err);
    if (result < 0)
        return result;
    sqlite3_busy_timeout(writer->db, busy_ms);
    if (writer->run_id == 0)
        code = rps_write_run_begin(writer->db, &writer->run, writer->plan, &writer->run_id);
    writer->run.run_id = writer->run_id;
    if (code == SQLITE_OK)
        code = rps_writer_open_run(writer);
    if (code == SQLITE_OK)
        return 0;
    result = rps_database_error(writer->db, code, writer->path, err);
    rps_writer_close_run(writer);
    return result;
}

bool rps_writer_gives_up(const struct rps_writer *writer)
{
    bool is_busy = rps_database_is_busy(writer->code);
    size_t room = writer->ring.size / 2;
    int64_t now_ns = rps_clock_monotonic_ns(), more_ns = 0;

    if (is_busy && writer->stop && writer->options.ends_now &&
        writer->options.ends_now(writer->options.ends_now_context))
        return true;
    if (writer->waits_ns > 0)
        return writer->abandoned || !is_busy || now_ns - writer->waits_ns >= writer->lock_wait_ns ||
               writer->ring.used >= (room < WAIT_BYTES ? room : WAIT_BYTES);
    if (is_busy && !writer->abandoned && writer->lock_wait_ns > writer->patience_ns)
        more_ns = writer->lock_wait_ns - writer->patience_ns;
    return now_ns - more_ns >= writer->give_up_ns;
}
