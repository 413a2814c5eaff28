/* `rpistat status`: lists the recordings on this machine, one line per recorder. */
#include <math.h>
#include <stdio.h>

#include "cli.h"
#include "registry.h"
#include "rpistat/clock.h"
#include "rpistat/document.h"
#include "rpistat/text.h"

struct status_settings {
    enum rps_format format;
};

#define COLUMNS(CELL, BY)                                                                          \
    CELL(TEXT, (recorder->user), "user", "USER", .place = 1, .width_max = 12)                      \
    CELL(INT, (recorder->pid, recorder->pid > 0), "pid", "PROCESS", .place = 2, .is_id = 1)        \
    CELL(TEXT, (recorder->command), "recorder_command")                                            \
    CELL(TEXT, (rps_recorder_states[recorder->state]), "recorder_state", "STATE", .place = 5)      \
    CELL(TEXT, (recorder->entry.store), "store", "STORE", .place = 11)                             \
    CELL(TEXT, (reason_of(recorder)), "reason")                                                    \
    CELL(BYTES, (recorder->entry.store_bytes, known), "store_bytes", "SIZE", .place = 10,          \
         .drop = 4)                                                                                \
    CELL(INT, (run->run_id, run->run_id > 0), "run", "RUN", .place = 3, .is_id = 1)                \
    CELL(TEXT, (run->uuid), "uuid")                                                                \
    CELL(TEXT, (run->label), "label", "LABEL", .place = 4, .shown = RPS_SHOWN_IF_KNOWN,            \
         .width_max = 24, .drop = 6)                                                               \
    BY(TEXT, put_command(block, recorder), "command", "COMMAND", .place = 12)                      \
    CELL(TEXT, (run->target), "target")                                                            \
    CELL(TIME, (run->start_realtime_ns, known && run->start_realtime_ns >= 0), "start", "SINCE",   \
         .place = 6, .drop = 3)                                                                    \
    CELL(DURATION, (run->elapsed_ns, known && run->elapsed_ns >= 0), "elapsed_s", "ELAPSED",       \
         .place = 7, .drop = 5)                                                                    \
    CELL(DURATION, (run->period_ns, known && run->period_ns > 0), "period_s")                      \
    CELL(INT, (recorder->entry.periods, known), "periods")                                         \
    CELL(NUMBER, (per_s(recorder, recorder->entry.periods)), "periods_per_s", "PERIODS/S",         \
         .place = 8, .drop = 1)                                                                    \
    BY(NUMBER, put_written(block, recorder), "written_per_s", "WRITTEN/S", .place = 9, .drop = 2)

static const struct rps_column columns[] = {COLUMNS(RPS_COLUMN, RPS_COLUMN)};

#define AT(member) RPS_AT(struct status_settings, member)

static const struct rps_option options[] = {
    RPS_FORMAT_OPTION(AT(format)),
    {NULL},
};

/* Divide a number of units by the recording's elapsed time in seconds; NAN if either is unknown. */
static double per_s(const struct rps_recorder *recorder, int64_t units)
{
    int64_t elapsed_ns = recorder->entry.run.elapsed_ns;

    return units < 0 || elapsed_ns <= 0 ? NAN : (double)units * RPS_NS_PER_S / (double)elapsed_ns;
}

static const char why_unknown[] = "unknown here, because the recorder belongs to another user, PID "
                                  "namespace (container), runtime "
                                  "directory or version";

static const char why_no_number[] =
    "in memory and without a number, because another program holds the store's lock";

static const char *reason_of(const struct rps_recorder *recorder)
{
    return recorder->state == RPS_RECORDER_UNKNOWN ? why_unknown
           : recorder->entry.run.run_id == 0       ? why_no_number
                                                   : NULL;
}

static void put_command(struct rps_block *block, const struct rps_recorder *recorder)
{
    char title[4096] = "";

    if (recorder->entry.run.run_id >= 0)
        rps_run_title(title, sizeof(title), &recorder->entry.run);
    rps_put_text(block, title);
    if (recorder->entry.run.run_id < 0)
        rps_put_words(block, "%s", recorder->command);
}

static void put_written(struct rps_block *block, const struct rps_recorder *recorder)
{
    double written_per_s = per_s(recorder, recorder->written_bytes);
    char size[RPS_TEXT_NUMBER_SIZE];

    rps_put_number(block, written_per_s);
    if (!isnan(written_per_s))
        rps_put_words(block, "%s", rps_text_size(size, sizeof(size), (uint64_t)written_per_s));
}

/* Put one sentence about all recorders to which this reason applies. */
static void put_reason(struct rps_block *block, const struct rps_recorders *recorders,
                       const char *reason)
{
    char pids[1024] = "", pid[24];
    size_t count = 0;

    for (size_t i = 0; i < recorders->count; i++) {
        const struct rps_recorder *one = &recorders->recorder[i];

        if (reason_of(one) != reason)
            continue;
        snprintf(pid, sizeof(pid), "%ld", (long)one->pid);
        rps_text_list(pids, sizeof(pids), pid);
        count++;
    }
    if (count > 0)
        rps_block_wrap(block, 0, 2, "Process%s %s: %s.", count > 1 ? "es" : "", pids, reason);
}

static int run(struct rps_cli *cli)
{
    const struct status_settings *settings = cli->settings;
    struct rps_document document = {.arena = cli->arena};
    struct rps_block *block =
        rps_document_block(&document, "recorders", columns, RPS_COUNT(columns));
    struct rps_recorders recorders = {0};
    int result = rps_recorders_find(cli->arena, &recorders, &cli->err);
    locale_t before = uselocale(rps_format_locale(cli, settings->format));

    for (size_t i = 0; i < recorders.count && result == 0; i++) {
        const struct rps_recorder *recorder = &recorders.recorder[i];
        const struct rps_run *run = &recorder->entry.run;
        int known = run->run_id >= 0;

        COLUMNS(RPS_PUT, RPS_PUT_BY)
    }
    uselocale(before);
    put_reason(block, &recorders, why_unknown);
    put_reason(block, &recorders, why_no_number);
    if (recorders.count == 0)
        rps_block_line(block, "Nothing is being recorded on this machine.");
    if (result == 0)
        rps_format_document(cli, &document, settings->format);
    rps_recorders_free(&recorders);
    return result;
}

const struct rps_command rps_command_status = {
    .name = "status",
    .summary = "list the recordings in progress on this machine",
    .answers = "What is being recorded on this machine now?",
    .usage = "[OPTIONS]",
    .description =
        "List the recorders of this machine: user, process, run, store, bytes written per\n"
        "second, and size of the store. If you may not read the registry file of a\n"
        "recorder, only user, process and command line are listed.",
    .examples = "  rpistat status\n"
                "  rpistat status --format json",
    .options = RPS_OPTIONS(options),
    .settings_size = sizeof(struct status_settings),
    .run = run,
};
