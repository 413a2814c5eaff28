/* Fuzz a damaged store, read in every way that rpistat supports. gnuplot is not available, but its
 * input is written. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hurt.h"
#include "rpistat/arena.h"
#include "rpistat/check.h"
#include "rpistat/code_store.h"
#include "rpistat/code_output.h"
#include "rpistat/comparison.h"
#include "rpistat/export.h"
#include "rpistat/plot.h"
#include "rpistat/report.h"
#include "rpistat/run_phases.h"
#include "rpistat/store.h"
#include "rpistat/store_hooks.h"

#define RUNS_MAX    3
#define PERIODS_MAX 2000 /* limit for stores that a fuzzer can read in time */

static void read_notes(struct rps_reader *reader, int64_t run_id)
{
    struct rps_arena *arena = rps_arena_new();
    struct rps_notes notes;
    struct rps_run_summary summary;
    struct rps_run run;
    struct rps_error err;
    char title[256];

    if (rps_reader_run(arena, reader, run_id, &run, &err) == 0)
        fuzz_expect_printable(rps_run_title(title, sizeof(title), &run));
    rps_reader_summary(reader, run_id, &summary, &err);
    rps_reader_marks(arena, reader, run_id, &notes, &err);
    rps_reader_gaps(arena, reader, run_id, &notes, &err);
    rps_arena_free(arena);
}

static int take_count(void *context, const struct rps_code_count *count, struct rps_error *err)
{
    (void)context;
    (void)err;
    fuzz_expect(count->id >= 0 && count->samples <= UINT64_C(99999999999), "a count is none");
    return 0;
}

/* Read the code of a run. Every number must be a valid index, as the contract promises. */
static void read_code(struct rps_reader *reader, int64_t run_id)
{
    struct rps_code_count_query query = {
        .cpu = RPS_CPU_ALL, .last = UINT64_MAX, .count = take_count};
    struct rps_arena *arena = rps_arena_new();
    struct rps_code code;
    uint64_t first, last;
    struct rps_error err;

    for (query.what = 0; query.what < RPS_COUNT_KINDS; query.what++)
        rps_reader_code_counts(reader, run_id, &query, &err);
    if (rps_reader_periods(reader, run_id, 1, INT64_MAX, &first, &last, &err) > 0)
        fuzz_expect(first <= last, "periods go back");
    if (rps_reader_code(arena, reader, run_id, &code, &err) <= 0)
        goto out;
    for (size_t i = 0; i < code.frame_count; i++)
        fuzz_expect(code.frame[i].module < (int64_t)code.module_count, "a module is none");
    for (size_t i = 0; i < code.stack_count; i++)
        fuzz_expect(code.stack[i].parent < (int64_t)i &&
                        code.stack[i].frame < (int64_t)code.frame_count,
                    "a stack's caller or frame is none");
    for (size_t i = 0; i < code.location_count; i++)
        fuzz_expect(code.location[i].frame < (int64_t)code.frame_count &&
                        code.location[i].function && code.location[i].file,
                    "a location is none");
    for (size_t i = 0; i < code.module_count; i++)
        fuzz_expect(code.module[i].path != NULL, "a module has no path");
    for (size_t i = 0; i < code.task_count; i++)
        fuzz_expect(code.task[i].name != NULL, "a task has no name");
out:
    rps_arena_free(arena);
}

static uint64_t count_periods(struct rps_reader *reader, int64_t run_id)
{
    struct rps_cursor *cursor = NULL;
    struct rps_period period;
    struct rps_error err;
    uint64_t count = 0;

    if (rps_cursor_open(&cursor, reader, run_id, 0, INT64_MAX, 0, &err) == 0)
        while (count <= PERIODS_MAX && rps_cursor_next(cursor, &period, &err) > 0)
            count++;
    rps_cursor_close(cursor);
    return count;
}

/* Draw a kind of picture, or for the next number the page. */
static void draw(struct rps_reader *reader, int64_t run_id, unsigned kind)
{
    struct rps_plot_options options = {.to_ns = INT64_MAX,
                                       .kind = (enum rps_plot_kind)kind,
                                       .output = fuzz_path("run.svg"),
                                       .script_folder = FUZZ_PLOT,
                                       .width = 800};
    struct rps_error err;

    if (kind == RPS_PLOT_KIND_COUNT) {
        options.kind = RPS_PLOT_TIME;
        options.output = fuzz_path("run.html");
    }
    if (rps_plot_draw(reader, run_id, &options, &err) < 0)
        fuzz_expect(err.message[0] != '\0', "a picture failed without a sentence");
}

static void show(struct rps_reader *reader, int64_t run_id, unsigned picture)
{
    const struct rps_export_options export = {
        .to_ns = INT64_MAX, .csv.separator = ',', .csv.decimal = '.'};
    const struct rps_report_options report = {.to_ns = INT64_MAX, .explain = 1};
    const struct rps_run_phases_options phases = {.to_ns = INT64_MAX};
    const struct rps_run_at at = {reader, run_id};
    struct rps_run_components components;
    struct rps_arena *arena;
    struct rps_run_phases found = {0};
    struct rps_phase_levels stored = {0};
    struct rps_error err;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    fuzz_expect(out != NULL, "out of memory");
    rps_report_write_2013(out, reader, run_id, &report, &err);
    fclose(out);
    fuzz_expect_printable(text);
    free(text);
    for (const struct rps_export_format *const *format = rps_export_formats; *format; format++)
        rps_export_run(*format, fuzz_sink(), reader, run_id, &export, &err);
    for (const struct rps_export_format *const *format = rps_code_hooks.formats; *format; format++)
        rps_export_run(*format, fuzz_sink(), reader, run_id, &export, &err);
    arena = rps_arena_new();
    rps_run_phases_get(arena, reader, run_id, &stored, NULL, &err);
    rps_run_phases_detect(arena, &at, 1, &phases, &found, &err);
    rps_run_components_find(arena, &at, &phases, 3, &components, &err);
    rps_arena_free(arena);
    draw(reader, run_id, picture);
}

/* Compare two runs of the store, as text and as JSON. */
static void compare(struct rps_reader *reader, const char *path, const int64_t *run_id)
{
    const struct rps_comparison_options options = {0};
    struct rps_comparison_choice choice[2];
    struct rps_comparison comparison;
    const struct rps_comparison_output output = {.comparison = &comparison};
    struct rps_document document = {.arena = rps_arena_new()};
    struct rps_error err;
    char *text = NULL;
    size_t size;
    FILE *out;

    for (int i = 0; i < 2; i++)
        choice[i] = (struct rps_comparison_choice){reader, path, run_id[i],
                                                   i == 0 ? RPS_SIDE_A : RPS_SIDE_B};
    if (rps_comparison_find(document.arena, choice, 2, &options, &comparison, &err) < 0) {
        fuzz_expect(err.message[0] != '\0', "a comparison failed without a sentence");
    } else {
        rps_comparison_put(&document, &output);
        out = open_memstream(&text, &size);
        fuzz_expect(out != NULL, "out of memory");
        rps_document_write(&document, out, RPS_FORMAT_TEXT, 0);
        fclose(out);
        fuzz_expect_printable(text);
        free(text);
        rps_document_write(&document, fuzz_sink(), RPS_FORMAT_JSON, 0);
    }
    rps_arena_free(document.arena);
}

static void take_finding(void *context, enum rps_finding_kind kind, const char *sentence)
{
    (void)context;
    (void)kind;
    fuzz_expect(sentence[0] != '\0', "an empty finding");
}

static void check(const char *path)
{
    const struct rps_finding_sink sink = {NULL, take_finding};
    struct rps_repair_result repaired;
    struct rps_check_result checked;
    const char *fresh = fuzz_path("new.data");
    struct rps_error err;

    rps_store_check(path, &sink, &checked, &err);
    unlink(fresh);
    if (rps_store_repair(path, fresh, &sink, &repaired, &err) == 0) {
        fuzz_expect(rps_store_check(fresh, &sink, &checked, &err) == 0,
                    "a repaired store cannot be opened");
        fuzz_expect(checked.wrong == 0, "a repaired store is not sound");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = hurt_store("hurt.data", data, size);
    struct rps_arena *arena = rps_arena_new();
    struct rps_reader *reader = NULL;
    struct rps_error err = {""};
    int64_t *run_id = NULL;
    size_t count = 0;
    unsigned sum = 0; /* Each input draws one kind of picture, because drawing takes most of the
                         time. */

    for (size_t i = 0; i < size; i++)
        sum += data[i];
    setenv("PATH", "/nonexistent", 1);
    rps_store_use(&rps_code_store, &rps_code_hooks);
    if (rps_reader_open(&reader, path, &err) == 0 &&
        rps_reader_runs(arena, reader, &run_id, &count, &err) == 0) {
        for (size_t i = 0; i < count && i < RUNS_MAX; i++) {
            read_notes(reader, run_id[i]);
            read_code(reader, run_id[i]);
            if (count_periods(reader, run_id[i]) <= PERIODS_MAX)
                show(reader, run_id[i], (sum + (unsigned)i) % (RPS_PLOT_KIND_COUNT + 1));
        }
        if (count > 1 && count_periods(reader, run_id[0]) <= PERIODS_MAX &&
            count_periods(reader, run_id[1]) <= PERIODS_MAX)
            compare(reader, path, run_id);
    }
    rps_arena_free(arena);
    rps_reader_close(reader);
    check(path);
    return 0;
}
