/* `rpistat runs`: what a store holds, one line a run. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

#include "format.h"
#include "runs_edit.h"
#include "rpistat/clock.h"
#include "rpistat/text.h"

#define COLUMN_COUNT 9
#define COLUMN_GAP   2
#define COMMAND_MIN  20 /* columns the command gets however narrow the terminal is */
#define LABEL_MAX    24 /* columns a label, or tags, may take on a terminal */
#define CELL_SIZE    1024

static const struct {
    const char *title;
    int right; /* 1: numbers, aligned to the right */
} columns[COLUMN_COUNT] = {
    {"RUN", 1},     {"LABEL", 0},   {"TAGS", 0},    {"START", 0},   {"STATE", 0},
    {"ELAPSED", 1}, {"PERIODS", 1}, {"COUNTED", 0}, {"COMMAND", 0},
};

enum {
    COLUMN_RUN,
    COLUMN_LABEL,
    COLUMN_TAGS, /* left out where no run has any */
    COLUMN_START,
    COLUMN_STATE,
    COLUMN_ELAPSED,
    COLUMN_PERIODS,
    COLUMN_COUNTED,
    COLUMN_COMMAND,
};

struct row {
    char *cell[COLUMN_COUNT]; /* owned */
};

/*
 * Bytes of text that take at most `limit` columns of a terminal, and in *ret_width how many they
 * take. What the locale cannot read counts one column a byte.
 */
static size_t measure(const char *text, int limit, int *ret_width)
{
    size_t length = 0, size = strlen(text);
    mbstate_t state;
    int width = 0;

    memset(&state, 0, sizeof(state));
    while (length < size) {
        wchar_t character;
        size_t step = mbrtowc(&character, text + length, size - length, &state);
        int taken = 1;

        if (step == 0 || step > size - length) {
            step = 1;
            memset(&state, 0, sizeof(state));
        } else {
            taken = wcwidth(character) >= 0 ? wcwidth(character) : 1;
        }
        if (width + taken > limit)
            break;
        width += taken;
        length += step;
    }
    *ret_width = width;
    return length;
}

static int width_of(const char *text)
{
    int width;

    measure(text, INT32_MAX, &width);
    return width;
}

/* Cut text to `limit` columns, three dots at its end. */
static void cut(char *text, int limit)
{
    int width;

    if (width_of(text) > limit)
        memcpy(text + measure(text, limit - 3, &width), "...", 4);
}

static void format_start(char *ret, size_t size, int64_t realtime_ns)
{
    time_t seconds = (time_t)(realtime_ns / RPS_NS_PER_S);
    struct tm local;

    if (localtime_r(&seconds, &local) == NULL || strftime(ret, size, "%Y-%m-%d %H:%M", &local) == 0)
        snprintf(ret, size, "?");
}

/* "build=42 host=a", or "-". */
static void format_tags(char *ret, size_t size, const struct rps_run *run)
{
    char text[CELL_SIZE] = "-";
    size_t used = 0;

    for (int i = 0; i < run->tag_count && used < sizeof(text); i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s=%s", i > 0 ? " " : "",
                                 run->tag[i].key, run->tag[i].value);
    rps_text_printable(ret, size, text);
}

/* A run, to be freed in any case, and its summary. */
static int read_run(struct rps_cli *cli, int64_t run_id, struct rps_run *run,
                    struct rps_run_summary *summary)
{
    int result;

    rps_run_init(run);
    result = rps_reader_run(cli->reader, run_id, run, &cli->err);
    return result == 0 ? rps_reader_summary(cli->reader, run_id, summary, &cli->err) : result;
}

static int fill_row(struct row *row, struct rps_cli *cli, int64_t run_id)
{
    char text[COLUMN_COUNT][CELL_SIZE], counted[RPS_RUN_TEXT_SIZE];
    struct rps_run_summary summary;
    struct rps_run run;
    int result = read_run(cli, run_id, &run, &summary);

    if (result == 0) {
        snprintf(text[COLUMN_RUN], CELL_SIZE, "%" PRId64, run_id);
        rps_text_printable(text[COLUMN_LABEL], CELL_SIZE, run.label[0] != '\0' ? run.label : "-");
        format_tags(text[COLUMN_TAGS], CELL_SIZE, &run);
        format_start(text[COLUMN_START], CELL_SIZE, run.start_realtime_ns);
        snprintf(text[COLUMN_STATE], CELL_SIZE, "%s", rps_run_states[run.state]);
        rps_text_duration(text[COLUMN_ELAPSED], CELL_SIZE, run.elapsed_ns > 0 ? run.elapsed_ns : 0);
        snprintf(text[COLUMN_PERIODS], CELL_SIZE, "%" PRIu64, summary.periods);
        snprintf(counted, sizeof(counted), "%s", run.pmu);
        if (strcmp(run.pmu, summary.plan) != 0)
            snprintf(counted, sizeof(counted), "%s %s", run.pmu, summary.plan);
        rps_text_printable(text[COLUMN_COUNTED], CELL_SIZE, counted);
        rps_run_title(text[COLUMN_COMMAND], CELL_SIZE, &run);
    }
    for (int c = 0; c < COLUMN_COUNT && result == 0; c++) {
        row->cell[c] = strdup(text[c]);
        if (row->cell[c] == NULL)
            result = rps_error_memory(&cli->err);
    }
    rps_run_free(&run);
    return result;
}

/* A width of 0 leaves the column out. */
static void print_row(FILE *out, const char *const *cell, const int *width)
{
    for (int c = 0; c < COLUMN_COUNT; c++) {
        int padding = width[c] - width_of(cell[c]);

        if (width[c] == 0)
            continue;
        if (columns[c].right)
            fprintf(out, "%*s%s", padding, "", cell[c]);
        else
            fputs(cell[c], out);
        if (c < COLUMN_COUNT - 1)
            fprintf(out, "%*s", COLUMN_GAP + (columns[c].right ? 0 : padding), "");
    }
    fputc('\n', out);
}

/* Columns that are left for the command. */
static int room(const int *width, int terminal_columns)
{
    int left = terminal_columns;

    for (int c = 0; c < COLUMN_COMMAND; c++)
        left -= width[c] > 0 ? width[c] + COLUMN_GAP : 0;
    return left;
}

/* Make the table fit a terminal: cut long labels and commands, leave out what matters least. */
static void fit_terminal(struct row *row, size_t count, int *width, int terminal_columns)
{
    static const int droppable[] = {COLUMN_COUNTED, COLUMN_PERIODS, COLUMN_ELAPSED, COLUMN_TAGS};
    int left;

    width[COLUMN_LABEL] = width[COLUMN_LABEL] < LABEL_MAX ? width[COLUMN_LABEL] : LABEL_MAX;
    width[COLUMN_TAGS] = width[COLUMN_TAGS] < LABEL_MAX ? width[COLUMN_TAGS] : LABEL_MAX;
    for (size_t d = 0; d < sizeof(droppable) / sizeof(droppable[0]); d++) {
        if (room(width, terminal_columns) < COMMAND_MIN)
            width[droppable[d]] = 0;
    }
    left = room(width, terminal_columns);
    for (size_t i = 0; i < count; i++) {
        cut(row[i].cell[COLUMN_LABEL], width[COLUMN_LABEL]);
        if (width[COLUMN_TAGS] > 0) /* else it is left out, and too short to be cut */
            cut(row[i].cell[COLUMN_TAGS], width[COLUMN_TAGS]);
        cut(row[i].cell[COLUMN_COMMAND], left > COMMAND_MIN ? left : COMMAND_MIN);
    }
}

/* terminal_columns 0: as wide as it is. */
static void print_table(FILE *out, struct row *row, size_t count, int terminal_columns)
{
    const char *title[COLUMN_COUNT];
    int width[COLUMN_COUNT], has_tags = 0;

    for (size_t i = 0; i < count; i++)
        has_tags |= strcmp(row[i].cell[COLUMN_TAGS], "-") != 0;
    for (int c = 0; c < COLUMN_COUNT; c++) {
        title[c] = columns[c].title;
        width[c] = width_of(title[c]);
        for (size_t i = 0; i < count; i++) {
            int cell_width = width_of(row[i].cell[c]);

            width[c] = cell_width > width[c] ? cell_width : width[c];
        }
    }
    width[COLUMN_TAGS] = has_tags ? width[COLUMN_TAGS] : 0;
    if (terminal_columns > 0)
        fit_terminal(row, count, width, terminal_columns);
    print_row(out, title, width);
    for (size_t i = 0; i < count; i++)
        print_row(out, (const char *const *)row[i].cell, width);
}

static int print_runs(struct rps_cli *cli, int is_named, const int64_t *run_id, size_t count)
{
    struct row *row = calloc(count + 1, sizeof(*row));
    int terminal_columns, result = row ? 0 : rps_error_memory(&cli->err);

    for (size_t i = 0; i < count && result == 0; i++)
        result = fill_row(&row[i], cli, run_id[i]);
    if (result == 0 && count == 0) {
        fputs("The store ", cli->out);
        rps_text_print(cli->out, cli->input);
        fputs(is_named ? " holds no such run.\n" : " holds no runs.\n", cli->out);
    } else if (result == 0) {
        if (cli->out != stdout || !rps_output_terminal(&terminal_columns, NULL))
            terminal_columns = 0;
        print_table(cli->out, row, count, terminal_columns);
    }
    for (size_t i = 0; row != NULL && i < count; i++) {
        for (int c = 0; c < COLUMN_COUNT; c++)
            free(row[i].cell[c]);
    }
    free(row);
    return result;
}

/* --- for programs ----------------------------------------------------------------------------- */

static void put_run(struct rps_rows *rows, const struct rps_run *run,
                    const struct rps_run_summary *summary)
{
    rps_rows_row(rows);
    rps_rows_run(rows, run, summary);
    rps_rows_end_row(rows);
}

static int write_run(struct rps_cli *cli, int64_t run_id, struct rps_rows *rows)
{
    struct rps_run_summary summary;
    struct rps_run run;
    int result = read_run(cli, run_id, &run, &summary);

    if (result == 0)
        put_run(rows, &run, &summary);
    rps_run_free(&run);
    return result;
}

static int write_runs(struct rps_cli *cli, enum rps_format format, const int64_t *run_id,
                      size_t count)
{
    struct rps_run_summary no_summary = {.plan = ""};
    struct rps_run no_run;
    struct rps_rows rows;
    int result = 0;

    if (rps_rows_open(&rows, cli->out, format, &cli->err) < 0)
        return RPS_FAILED;
    rps_run_init(&no_run);
    rps_rows_text(&rows, "store", cli->input);
    if (rps_rows_begin(&rows, "runs"))
        put_run(&rows, &no_run, &no_summary);
    for (size_t i = 0; i < count && result == 0; i++)
        result = write_run(cli, run_id[i], &rows);
    rps_rows_end(&rows);
    return rps_rows_close(&rows, result, &cli->err);
}

static int run(struct rps_cli *cli, int argc, char **argv)
{
    const struct rps_runs_settings *settings = cli->settings;
    int is_named = argc + settings->run.count + settings->tag.count > 0 || settings->label != NULL;
    int64_t *run_id = NULL;
    size_t count = 0;
    int result = rps_runs_choose(cli, argc, argv, &run_id, &count);

    if (result == 0 && rps_runs_is_change(settings))
        result = rps_runs_change(cli, is_named, run_id, count);
    else if (result == 0 && settings->format == RPS_FORMAT_TEXT)
        result = print_runs(cli, is_named, run_id, count);
    else if (result == 0)
        result = write_runs(cli, settings->format, run_id, count);
    free(run_id);
    return result;
}

const struct rps_command rps_command_runs = {
    .name = "runs",
    .summary = "what a store holds; delete, label and tag runs",
    .usage = "[OPTIONS] [RUN...]",
    .description =
        "List the runs of a store, with their start in local time: those that are named\n"
        "(a number, a label, a tag KEY=VALUE, last or last-N) or chosen with --label and\n"
        "--tag, else all. Or delete them, or give them another label or other tags.",
    .examples = "  rpistat runs\n"
                "  rpistat runs -i naive.data --tag build=42\n"
                "  rpistat runs 3 --set-label before --set-tag host=a\n"
                "  rpistat runs --delete 1 2\n"
                "  rpistat runs --format json",
    .input = RPS_INPUT_STORE,
    .output = RPS_OUTPUT_STREAM,
    .output_help = "file to write",
    .operand_max = -1,
    .options = rps_runs_options,
    .settings_size = sizeof(struct rps_runs_settings),
    .option = rps_runs_option,
    .check = rps_runs_check,
    .run = run,
};
