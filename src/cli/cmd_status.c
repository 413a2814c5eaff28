/* `rpistat status`: what is being recorded on this machine, a line a recorder. */
#include <math.h>
#include <stdio.h>

#include "cli.h"
#include "format.h"
#include "recorders.h"
#include "rpistat/clock.h"
#include "rpistat/text.h"

/* cli->settings of `status`. */
struct status_settings {
    enum rps_format format;
};

static const struct rps_column columns[] = {
    {"user", "USER", .place = 1, .width_max = 12},
    {"pid", "PROCESS", RPS_VALUE_INT, .place = 2, .is_id = 1},
    {.name = "recorder_command"},
    {"recorder_state", "STATE", .place = 5},
    {"store", "STORE", .place = 11},
    {.name = "reason"},
    {"store_bytes", "SIZE", RPS_VALUE_BYTES, .place = 10, .drop = 4},
    {"run", "RUN", RPS_VALUE_INT, .place = 3, .is_id = 1},
    {.name = "uuid"},
    {"label", "LABEL", .place = 4, .shown = RPS_SHOWN_IF_KNOWN, .width_max = 24, .drop = 6},
    {"command", "COMMAND", .place = 12},
    {.name = "target"},
    {"start", "SINCE", RPS_VALUE_TIME, .place = 6, .drop = 3},
    {"elapsed_s", "ELAPSED", RPS_VALUE_DURATION, .place = 7, .drop = 5},
    {"period_s", .kind = RPS_VALUE_DURATION},
    {"periods", .kind = RPS_VALUE_INT},
    {"periods_per_s", "PERIODS/S", RPS_VALUE_NUMBER, .place = 8, .drop = 1},
    {"written_per_s", "WRITTEN/S", RPS_VALUE_NUMBER, .place = 9, .drop = 2},
};

#define AT(member) RPS_AT(struct status_settings, member)

static const struct rps_option options[] = {
    RPS_FORMAT_OPTION(AT(format)),
    {NULL},
};

/* Of so many units; NAN where it is not known. */
static double per_s(const struct rps_recorder *recorder, int64_t units)
{
    int64_t elapsed_ns = recorder->entry.run.elapsed_ns;

    return units < 0 || elapsed_ns <= 0 ? NAN : (double)units * RPS_NS_PER_S / (double)elapsed_ns;
}

static const char why_unknown[] =
    "the registry that this user sees does not say what is recorded: by another user, in another "
    "PID namespace, as in a container, with another runtime directory, or by another version";

static const char why_no_number[] =
    "another program holds the store's lock: the run is in memory, and gets its number when the "
    "lock is free";

static const char *reason_of(const struct rps_recorder *recorder)
{
    return recorder->state == RPS_RECORDER_UNKNOWN ? why_unknown
           : recorder->entry.run.run_id == 0       ? why_no_number
                                                   : NULL;
}

static void put_recorder(struct rps_block *block, const struct rps_recorder *recorder)
{
    const struct rps_run *run = &recorder->entry.run;
    double written_per_s = per_s(recorder, recorder->written_bytes);
    char title[4096] = "", size[RPS_TEXT_NUMBER_SIZE];
    int known = run->run_id >= 0;

    rps_put_text(block, recorder->user);
    rps_put_int(block, recorder->pid, recorder->pid > 0);
    rps_put_text(block, recorder->command);
    rps_put_text(block, rps_recorder_states[recorder->state]);
    rps_put_texts(block, 2, recorder->entry.store, reason_of(recorder));
    rps_put_int(block, recorder->entry.store_bytes, known);
    rps_put_int(block, run->run_id, run->run_id > 0);
    rps_put_text(block, run->uuid);
    rps_put_text(block, run->label);
    rps_put_text(block, known ? rps_run_title(title, sizeof(title), run) : title);
    if (!known)
        rps_put_words(block, "%s", recorder->command);
    rps_put_text(block, run->target);
    rps_put_int(block, run->start_realtime_ns, known && run->start_realtime_ns >= 0);
    rps_put_int(block, run->elapsed_ns, known && run->elapsed_ns >= 0);
    rps_put_int(block, run->period_ns, known && run->period_ns > 0);
    rps_put_int(block, recorder->entry.periods, known);
    rps_put_number(block, per_s(recorder, recorder->entry.periods));
    rps_put_number(block, written_per_s);
    if (!isnan(written_per_s))
        rps_put_words(block, "%s", rps_text_size(size, sizeof(size), (uint64_t)written_per_s));
}

/* One sentence for all recorders that have this reason. */
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
        rps_block_line(block, "Process%s %s: %s.", count > 1 ? "es" : "", pids, reason);
}

static int run(struct rps_cli *cli)
{
    const struct status_settings *settings = cli->settings;
    struct rps_document document = {.arena = cli->arena};
    struct rps_block *block =
        rps_document_block(&document, "recorders", columns, sizeof(columns) / sizeof(columns[0]));
    struct rps_recorders recorders = {0};
    int result = rps_recorders_find(cli->arena, &recorders, &cli->err);
    locale_t before = uselocale(rps_format_locale(cli, settings->format));

    for (size_t i = 0; i < recorders.count && result == 0; i++)
        put_recorder(block, &recorders.recorder[i]);
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
    .usage = "[OPTIONS]",
    .description =
        "List the recorders of this machine: user, process, run, store, how much each\n"
        "writes per second, and how large the store is. For recorders whose entries you\n"
        "may not read, only the process is listed.",
    .examples = "  rpistat status\n"
                "  rpistat status --format json",
    .input = RPS_INPUT_NONE,
    .output = RPS_OUTPUT_STREAM,
    .output_help = "file to write",
    .options = options,
    .settings_size = sizeof(struct status_settings),
    .run = run,
};
