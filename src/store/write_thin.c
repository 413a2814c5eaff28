/*
 * The writer's side of thinning: when, and what the user must know of it. How is in thin.c.
 */
#include "writer.h"

#include <stdio.h>

#include "database.h"
#include "rpistat/clock.h"
#include "rpistat/text.h"

int rps_writer_check_room(struct rps_writer *writer, struct rps_error *err)
{
    uint64_t max_bytes = writer->options.max_bytes, used = 0;
    char is[RPS_TEXT_NUMBER_SIZE], max[RPS_TEXT_NUMBER_SIZE];
    int code;

    if (max_bytes == 0)
        return 0;
    code = rps_thin_used_bytes(writer->db, &used);
    if (code != SQLITE_OK)
        return rps_database_error(writer->db, code, writer->path, err);
    if (used + RPS_THIN_ROOM_BYTES <= max_bytes)
        return 0;
    return rps_error_set(err, RPS_FAILED,
                         "%s holds %s of other runs, too much to keep it below %s: record into "
                         "another store, or allow more",
                         writer->path, rps_text_size(is, sizeof(is), used),
                         rps_text_size(max, sizeof(max), max_bytes));
}

int rps_writer_begin_thinning(struct rps_writer *writer, const struct rps_run *run)
{
    const struct rps_thin_options options = {
        .run_id = writer->run_id,
        .set_count = writer->set_count,
        .period_ns = run->period_ns,
        .keep_ns = writer->options.keep_ns,
        .max_bytes = writer->options.max_bytes,
    };

    if (options.keep_ns <= 0 && options.max_bytes == 0)
        return SQLITE_OK;
    return rps_thin_open(writer->db, &options, &writer->thin);
}

void rps_writer_thin(struct rps_writer *writer, int transactions)
{
    const struct rps_unsettled *unsettled = &writer->unsettled;
    int64_t keep_ns = writer->options.keep_ns, settled_ns;
    char sentence[512], size[RPS_TEXT_NUMBER_SIZE];

    if (!writer->thin || !rps_thin_is_due(writer->thin, writer->committed, writer->end_ns))
        return;
    if (keep_ns > 0 && unsettled->periods >= RPS_SETTLE_PERIODS_MIN && !unsettled->mixed &&
        unsettled->start_ns < writer->end_ns - keep_ns)
        rps_writer_settle(writer);
    settled_ns = unsettled->periods > 0 && !unsettled->mixed ? unsettled->start_ns : INT64_MAX;
    /* what fails is tried again at the next look; a store that cannot be written says so itself */
    rps_thin_work(writer->thin, writer->committed, writer->end_ns, settled_ns, transactions, NULL);
    if (writer->full || !rps_thin_is_in_vain(writer->thin))
        return;
    writer->full = true;
    snprintf(sentence, sizeof(sentence),
             "%s cannot be kept below %s: nothing more can be merged; the recording goes on",
             writer->path, rps_text_size(size, sizeof(size), writer->options.max_bytes));
    if (writer->options.notice)
        writer->options.notice(writer->options.notice_context, sentence);
}

void rps_writer_finish_thinning(struct rps_writer *writer)
{
    int left = 1;

    while (writer->thin && left && rps_clock_monotonic_ns() < writer->give_up_ns &&
           rps_thin_work(writer->thin, writer->committed, writer->end_ns, INT64_MAX, 1, &left) ==
               SQLITE_OK)
        ;
}
