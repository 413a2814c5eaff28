/* `rpistat status`: what is being recorded on this machine, a line a recorder. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli.h"
#include "format.h"
#include "list.h"
#include "recorders.h"
#include "rpistat/clock.h"
#include "rpistat/text.h"

/* cli->settings of `status`. */
struct status_settings {
    enum rps_format format;
};

static const struct rps_list_column columns[] = {
    {"USER", .width_max = 12},
    {"PROCESS", .is_right = 1},
    {"RUN", .is_right = 1},
    {"LABEL", .is_optional = 1, .width_max = 24, .drop = 4},
    {"STATE"},
    {"SINCE", .drop = 1},
    {"ELAPSED", .is_right = 1, .drop = 3},
    {"PERIODS/S", .is_right = 1, .drop = 2},
    {"WRITTEN/S", .is_right = 1},
    {"SIZE", .is_right = 1},
    {"STORE"},
    {"COMMAND"},
};

enum {
    COLUMN_USER,
    COLUMN_PROCESS,
    COLUMN_RUN,
    COLUMN_LABEL,
    COLUMN_STATE,
    COLUMN_SINCE,
    COLUMN_ELAPSED,
    COLUMN_PERIODS_PER_S,
    COLUMN_WRITTEN_PER_S,
    COLUMN_SIZE,
    COLUMN_STORE,
    COLUMN_COMMAND,
    COLUMN_COUNT
};

#define AT(member) RPS_AT(struct status_settings, member)

static const struct rps_option options[] = {
    {"format", 0, "FORMAT", "text, json or csv", "text", RPS_OPTION_CHOICE, AT(format),
     .words = RPS_FORMATS},
    {NULL},
};

/* Of so many units; NAN where it is not known. */
static double per_s(const struct rps_recorder *recorder, int64_t units)
{
    int64_t elapsed_ns = recorder->entry.run.elapsed_ns;

    return units < 0 || elapsed_ns <= 0 ? NAN : (double)units * RPS_NS_PER_S / (double)elapsed_ns;
}

static double periods_per_s(const struct rps_recorder *recorder)
{
    return per_s(recorder, recorder->entry.periods);
}

static double written_per_s(const struct rps_recorder *recorder)
{
    return per_s(recorder, recorder->written_bytes);
}

/* --- for people ------------------------------------------------------------------------------- */

static void fill_run(char text[COLUMN_COUNT][RPS_LIST_CELL_SIZE],
                     const struct rps_recorder *recorder)
{
    const struct rps_run *run = &recorder->entry.run;
    char size[RPS_TEXT_NUMBER_SIZE];

    snprintf(text[COLUMN_RUN], RPS_LIST_CELL_SIZE, "%" PRId64, run->run_id);
    if (run->label[0] != '\0')
        rps_text_printable(text[COLUMN_LABEL], RPS_LIST_CELL_SIZE, run->label);
    rps_format_start(text[COLUMN_SINCE], RPS_LIST_CELL_SIZE, run->start_realtime_ns);
    if (run->elapsed_ns > 0)
        rps_text_duration(text[COLUMN_ELAPSED], RPS_LIST_CELL_SIZE, run->elapsed_ns);
    if (!isnan(periods_per_s(recorder)))
        rps_text_number(text[COLUMN_PERIODS_PER_S], RPS_LIST_CELL_SIZE, periods_per_s(recorder));
    if (!isnan(written_per_s(recorder)))
        snprintf(text[COLUMN_WRITTEN_PER_S], RPS_LIST_CELL_SIZE, "%s",
                 rps_text_size(size, sizeof(size), (uint64_t)written_per_s(recorder)));
    rps_text_size(text[COLUMN_SIZE], RPS_LIST_CELL_SIZE, (uint64_t)recorder->entry.store_bytes);
    rps_run_title(text[COLUMN_COMMAND], RPS_LIST_CELL_SIZE, run);
}

static int add_row(struct rps_list *list, const struct rps_recorder *recorder,
                   struct rps_error *err)
{
    char text[COLUMN_COUNT][RPS_LIST_CELL_SIZE];

    for (int c = 0; c < COLUMN_COUNT; c++)
        strcpy(text[c], "-");
    snprintf(text[COLUMN_USER], RPS_LIST_CELL_SIZE, "%s", recorder->user);
    snprintf(text[COLUMN_PROCESS], RPS_LIST_CELL_SIZE, "%ld", (long)recorder->pid);
    snprintf(text[COLUMN_STATE], RPS_LIST_CELL_SIZE, "%s", rps_recorder_states[recorder->state]);
    snprintf(text[COLUMN_COMMAND], RPS_LIST_CELL_SIZE, "%s", recorder->command);
    if (recorder->entry.run.run_id > 0)
        fill_run(text, recorder);
    if (recorder->entry.store[0] != '\0')
        rps_text_printable(text[COLUMN_STORE], RPS_LIST_CELL_SIZE, recorder->entry.store);
    return rps_list_add(list, text, err);
}

static const char *reason_of(const struct rps_recorder *recorder)
{
    return recorder->state == RPS_RECORDER_UNKNOWN
               ? "the registry that this user sees does not say what it records: it is another "
                 "user's, of another PID namespace, as in a container, or of another version"
               : NULL;
}

/* Why it is not known what they record, a line each. */
static void print_reasons(FILE *out, const struct rps_recorders *recorders)
{
    for (size_t i = 0; i < recorders->count; i++) {
        const struct rps_recorder *one = &recorders->recorder[i];

        if (reason_of(one))
            fprintf(out, "Process %ld: %s.\n", (long)one->pid, reason_of(one));
    }
}

static int print(struct rps_cli *cli, const struct rps_recorders *recorders)
{
    struct rps_list list = {.column = columns, .column_count = COLUMN_COUNT};
    int result = 0;

    for (size_t i = 0; i < recorders->count && result == 0; i++)
        result = add_row(&list, &recorders->recorder[i], &cli->err);
    if (result == 0 && recorders->count == 0) {
        fputs("Nothing is being recorded on this machine.\n", cli->out);
    } else if (result == 0) {
        rps_list_print(cli->out, &list);
        print_reasons(cli->out, recorders);
    }
    rps_list_free(&list);
    return result;
}

/* --- for programs ----------------------------------------------------------------------------- */

static void put(struct rps_rows *rows, const struct rps_recorder *recorder)
{
    const struct rps_run *run = &recorder->entry.run;
    int known = run->run_id > 0;
    char title[4096] = "";

    rps_rows_row(rows);
    rps_rows_text(rows, "user", recorder->user);
    rps_rows_int(rows, "pid", recorder->pid, recorder->pid > 0);
    rps_rows_text(rows, "recorder_command", recorder->command);
    rps_rows_text(rows, "recorder_state", rps_recorder_states[recorder->state]);
    rps_rows_text(rows, "store", recorder->entry.store);
    rps_rows_text(rows, "reason", reason_of(recorder));
    rps_rows_uint(rows, "store_bytes", (uint64_t)recorder->entry.store_bytes, known);
    rps_rows_int(rows, "run", run->run_id, known);
    rps_rows_text(rows, "uuid", run->uuid);
    rps_rows_text(rows, "label", run->label);
    rps_rows_text(rows, "command", known ? rps_run_title(title, sizeof(title), run) : title);
    rps_rows_text(rows, "target", run->target);
    rps_rows_time(rows, "start", run->start_realtime_ns, known && run->start_realtime_ns >= 0);
    rps_rows_seconds(rows, "elapsed_s", run->elapsed_ns, known && run->elapsed_ns >= 0);
    rps_rows_seconds(rows, "period_s", run->period_ns, known && run->period_ns > 0);
    rps_rows_uint(rows, "periods", (uint64_t)recorder->entry.periods, known);
    rps_rows_double(rows, "periods_per_s", periods_per_s(recorder));
    rps_rows_double(rows, "written_per_s", written_per_s(recorder));
    rps_rows_end_row(rows);
}

static int write_rows(struct rps_cli *cli, enum rps_format format,
                      const struct rps_recorders *recorders)
{
    struct rps_recorder none = {.user = ""};
    struct rps_rows rows;

    if (rps_rows_open(&rows, cli->out, format, &cli->err) < 0)
        return RPS_FAILED;
    rps_run_init(&none.entry.run);
    if (rps_rows_begin(&rows, "recorders"))
        put(&rows, &none);
    for (size_t i = 0; i < recorders->count; i++)
        put(&rows, &recorders->recorder[i]);
    rps_rows_end(&rows);
    return rps_rows_close(&rows, 0, &cli->err);
}

static int run(struct rps_cli *cli, int argc, char **argv)
{
    const struct status_settings *settings = cli->settings;
    struct rps_recorders recorders = {0};
    int result = rps_recorders_find(&recorders, &cli->err);

    (void)argc;
    (void)argv;
    if (result == 0 && settings->format == RPS_FORMAT_TEXT)
        result = print(cli, &recorders);
    else if (result == 0)
        result = write_rows(cli, settings->format, &recorders);
    rps_recorders_free(&recorders);
    return result;
}

const struct rps_command rps_command_status = {
    .name = "status",
    .summary = "what is being recorded on this machine, and by whom",
    .usage = "[OPTIONS]",
    .description =
        "List the recorders of this machine with their users, runs and stores, how much\n"
        "they record a second, and how large the store is, as they have registered. Of\n"
        "those whose entries this user may not read the process is listed.",
    .examples = "  rpistat status\n"
                "  rpistat status --format json",
    .input = RPS_INPUT_NONE,
    .output = RPS_OUTPUT_STREAM,
    .output_help = "file to write",
    .options = options,
    .settings_size = sizeof(struct status_settings),
    .run = run,
};
