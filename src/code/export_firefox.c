/*
 * Exports samples for the Firefox Profiler, in its processed profile format, version 55. Newer
 * versions convert it (docs-developer/CHANGELOG-formats.md of its source).
 *
 * A CPU of a recording by CPU is a thread there, and so is the workload of any other recording. Its
 * tables represent a call tree, with one frame per node: stack i is node i + 1. Equal samples of a
 * period are one sample with a weight. Idle time is a sample without a stack. The format has tables
 * by column, so samples are read once for each column, and are never all in memory. Phases, regions
 * and marks are markers of the first thread.
 */
#include <string.h>

#include "rpistat/clock.h"
#include "rpistat/code_wing.h"
#include "rpistat/json.h"
#include "rpistat/store_wing.h"
#include "rpistat/text.h"
#include "shares_index.h"
#include "timeline.h"

#define VERSION         55
#define VERSION_RAW     31 /* that Firefox itself sent at the time */
#define KIND_OF_LIBRARY "1"
#define INTERVAL        "1" /* phase of a marker that has an end */
#define INSTANT         "0"

enum { OTHER, PROGRAM, LIBRARY, KERNEL };

struct firefox {
    struct rps_json json;
    struct rps_export_job *job;
    struct rps_export_stretches stretches;
};

/* Columns that differ between rows, with SIZE_MAX for null; SAME: all others. */
enum column {
    SAME,
    PREFIX,
    FRAME,
    FUNCTION,
    LINE,
    CATEGORY,
    NAME,
    MODULE,
    FILE_NAME,
    PATH,
    COLUMNS
};

enum rows { NODES, FUNCTIONS, MODULES, ROWS };

/* clang-format off */ /* one per line */
/* The tables of a call tree, column by column. */
static const struct {
    const char *table;
    enum rows rows;
    const char *name;
    enum column column;
    const char *same;
} columns[] = {
    {"stackTable", NODES, "prefix", PREFIX, NULL},
    {"stackTable", NODES, "frame", FRAME, NULL},
    {"frameTable", NODES, "func", FUNCTION, NULL},
    {"frameTable", NODES, "line", LINE, NULL},
    {"frameTable", NODES, "category", CATEGORY, NULL},
    {"frameTable", NODES, "subcategory", SAME, "0"},
    {"frameTable", NODES, "address", SAME, "-1"},
    {"frameTable", NODES, "inlineDepth", SAME, "0"},
    {"frameTable", NODES, "innerWindowID", SAME, "0"},
    {"frameTable", NODES, "nativeSymbol", SAME, "null"},
    {"frameTable", NODES, "column", SAME, "null"},
    {"funcTable", FUNCTIONS, "name", NAME, NULL},
    {"funcTable", FUNCTIONS, "resource", MODULE, NULL},
    {"funcTable", FUNCTIONS, "fileName", FILE_NAME, NULL},
    {"funcTable", FUNCTIONS, "isJS", SAME, "false"},
    {"funcTable", FUNCTIONS, "relevantForJS", SAME, "false"},
    {"funcTable", FUNCTIONS, "lineNumber", SAME, "null"},
    {"funcTable", FUNCTIONS, "columnNumber", SAME, "null"},
    {"resourceTable", MODULES, "name", PATH, NULL},
    {"resourceTable", MODULES, "lib", SAME, "null"},
    {"resourceTable", MODULES, "host", SAME, "null"},
    {"resourceTable", MODULES, "type", SAME, KIND_OF_LIBRARY},
};

/* The constant part of every profile. It has no addresses, since names would be requested for them.
 * Frames have a CATEGORY; markers are shown by their labels. */
#define NO_SYMBOLS                                                                                 \
    "{\"length\": 0, \"libIndex\": [], \"address\": [], \"name\": [], \"functionSize\": []}"
#define CATEGORIES                                                                                 \
    "[{\"name\": \"Other\", \"color\": \"grey\", \"subcategories\": [\"Other\"]},"                     \
    " {\"name\": \"Program\", \"color\": \"yellow\", \"subcategories\": [\"Other\"]},"                  \
    " {\"name\": \"Library\", \"color\": \"lightblue\", \"subcategories\": [\"Other\"]},"               \
    " {\"name\": \"Kernel\", \"color\": \"orange\", \"subcategories\": [\"Other\"]}]"
#define MARKERS                                                                                    \
    "[{\"name\": \"rpistat\", \"chartLabel\": \"{marker.data.label}\","                              \
    " \"tableLabel\": \"{marker.data.label}\", \"tooltipLabel\": \"{marker.data.label}\","            \
    " \"display\": [\"marker-chart\", \"marker-table\", \"timeline-overview\"],"                     \
    " \"fields\": [{\"key\": \"label\", \"label\": \"What it is\", \"format\": \"string\"}]}]"
/* clang-format on */

/* A thread being written; arrays belong to the arena. */
struct thread {
    struct rps_json *json;
    struct rps_arena *arena;
    const struct rps_timeline *timeline;
    size_t count[ROWS];
    size_t *column[COLUMNS];
    struct rps_share_items modules; /* by their paths */
    size_t text_count;
    const char **text;
    enum { STACK, TIME, WEIGHT } sample; /* the column that is being written */
    int64_t end_ns;                      /* of the last sample */
    size_t sample_count;
};

/* --- columns ---------------------------------------------------------------------------------- */

static void put_same(struct rps_json *json, const char *name, size_t count, const char *value)
{
    rps_json_array(json, name);
    for (size_t i = 0; i < count; i++)
        rps_json_raw(json, NULL, value);
    rps_json_end(json);
}

static void put_numbers(struct rps_json *json, const char *name, size_t count, const size_t *number)
{
    rps_json_array(json, name);
    for (size_t i = 0; i < count; i++) {
        if (number[i] == SIZE_MAX)
            rps_json_null(json, NULL);
        else
            rps_json_uint64(json, NULL, number[i]);
    }
    rps_json_end(json);
}

/* --- tables of a tree ------------------------------------------------------------------------- */

static size_t add_text(struct thread *thread, const char *text)
{
    thread->text =
        rps_arena_grow(thread->arena, thread->text, thread->text_count, sizeof(*thread->text));
    thread->text[thread->text_count] = text;
    return thread->text_count++;
}

static size_t add_module(struct thread *thread, const char *path)
{
    const struct rps_share_key key = {.name = path, .file = ""};
    size_t m = rps_share_items_number(thread->arena, &thread->modules, &key);

    if (m == thread->count[MODULES]) {
        thread->column[PATH][m] = add_text(thread, path);
        thread->count[MODULES]++;
    }
    return m;
}

static size_t category_of(const struct rps_call *call)
{
    return call->is_kernel                                     ? KERNEL
           : strstr(rps_text_file_name(call->module), ".so")   ? LIBRARY
           : call->module[0] == '[' || call->module[0] == '\0' ? OTHER
                                                               : PROGRAM;
}

static void add_function(struct thread *thread, const struct rps_call *call)
{
    size_t f = thread->count[FUNCTIONS]++;

    thread->column[MODULE][f] = add_module(thread, call->module);
    thread->column[NAME][f] = add_text(thread, call->function);
    thread->column[FILE_NAME][f] = call->file[0] ? add_text(thread, call->file) : SIZE_MAX;
}

/* Fill the columns. Functions, modules and texts are numbered in order of appearance. */
static void fill_columns(struct thread *thread)
{
    const struct rps_calls *calls = &thread->timeline->calls;
    size_t most = 0, *number; /* of the function of each item, + 1 */

    for (size_t i = 1; i < calls->count; i++)
        most = calls->call[i].item > most ? calls->call[i].item : most;
    number = rps_arena_get(thread->arena, most + 1, sizeof(*number));
    for (int c = 0; c < COLUMNS; c++)
        thread->column[c] = rps_arena_get(thread->arena, calls->count, sizeof(*thread->column[c]));
    for (size_t i = 1; i < calls->count; i++) {
        const struct rps_call *call = &calls->call[i];
        size_t node = thread->count[NODES]++;

        if (number[call->item] == 0) {
            add_function(thread, call);
            number[call->item] = thread->count[FUNCTIONS];
        }
        thread->column[PREFIX][node] = call->parent > 0 ? call->parent - 1 : SIZE_MAX;
        thread->column[FRAME][node] = node;
        thread->column[FUNCTION][node] = number[call->item] - 1;
        thread->column[LINE][node] = call->line > 0 ? (size_t)call->line : SIZE_MAX;
        thread->column[CATEGORY][node] = category_of(call);
    }
}

static void put_tables(const struct thread *thread)
{
    struct rps_json *json = thread->json;
    const char *table = "";

    for (size_t c = 0; c < sizeof(columns) / sizeof(columns[0]); c++) {
        size_t count = thread->count[columns[c].rows];

        if (strcmp(columns[c].table, table) != 0) {
            if (c > 0)
                rps_json_end(json);
            rps_json_object(json, columns[c].table);
            rps_json_uint64(json, "length", count);
        }
        table = columns[c].table;
        if (columns[c].same)
            put_same(json, columns[c].name, count, columns[c].same);
        else
            put_numbers(json, columns[c].name, count, thread->column[columns[c].column]);
    }
    rps_json_end(json);
    rps_json_raw(json, "nativeSymbols", NO_SYMBOLS);
}

/* --- samples ---------------------------------------------------------------------------------- */

static void put_sample(struct thread *thread, size_t node, int64_t time_ns, uint64_t samples)
{
    if (thread->sample == TIME)
        rps_json_decimal(thread->json, NULL, time_ns, 6);
    else if (thread->sample == WEIGHT)
        rps_json_uint64(thread->json, NULL, samples);
    else if (node == 0)
        rps_json_null(thread->json, NULL);
    else
        rps_json_uint64(thread->json, NULL, node - 1);
    thread->sample_count++;
}

static void put_row(void *context, const struct rps_timeline_row *row)
{
    struct thread *thread = context;

    if (row->start_ns > thread->end_ns)
        put_sample(thread, 0, thread->end_ns, 0);
    for (size_t i = 0; i < row->count; i++)
        put_sample(thread, row->seen[i].node, row->seen[i].start_ns, row->seen[i].samples);
    thread->end_ns = row->seen[row->count - 1].end_ns;
}

static int put_samples(struct thread *thread, struct rps_error *err)
{
    static const char *const column[] = {"stack", "time", "weight"};
    int result = 0;

    rps_json_object(thread->json, "samples");
    for (int i = 0; i < 3 && result == 0; i++) {
        thread->sample = i;
        thread->sample_count = 0;
        thread->end_ns = thread->timeline->of->choice->from_ns;
        rps_json_array(thread->json, column[i]);
        result = rps_timeline_walk(thread->timeline, put_row, thread, err);
        put_sample(thread, 0, thread->end_ns, 0);
        rps_json_end(thread->json);
    }
    rps_json_text(thread->json, "weightType", "samples");
    rps_json_uint64(thread->json, "length", thread->sample_count);
    rps_json_end(thread->json);
    return result;
}

/* --- markers ---------------------------------------------------------------------------------- */

static void put_marker_data(struct rps_json *json, const char *name)
{
    rps_json_object(json, NULL);
    rps_json_text(json, "type", "rpistat");
    rps_json_text(json, "label", name);
    rps_json_end(json);
}

/* Put all markers of the run, or an empty table, which every thread needs. */
static void put_markers(struct thread *thread, const struct rps_export_stretches *stretches)
{
    struct rps_json *json = thread->json;
    const struct rps_export_stretch *stretch = stretches->stretch;
    size_t count = stretches->count, *name = rps_arena_get(thread->arena, count, sizeof(*name));

    for (size_t i = 0; i < count; i++)
        name[i] = i > 0 && stretch[i].track == stretch[i - 1].track
                      ? name[i - 1]
                      : add_text(thread, stretch[i].track);
    rps_json_object(json, "markers");
    rps_json_uint64(json, "length", count);
    put_numbers(json, "name", count, name);
    rps_json_array(json, "startTime");
    for (size_t i = 0; i < count; i++)
        rps_json_decimal(json, NULL, stretch[i].start_ns, 6);
    rps_json_end(json);
    rps_json_array(json, "endTime");
    for (size_t i = 0; i < count; i++) {
        if (stretch[i].start_ns < stretch[i].end_ns)
            rps_json_decimal(json, NULL, stretch[i].end_ns, 6);
        else
            rps_json_null(json, NULL);
    }
    rps_json_end(json);
    rps_json_array(json, "phase");
    for (size_t i = 0; i < count; i++)
        rps_json_raw(json, NULL, stretch[i].start_ns < stretch[i].end_ns ? INTERVAL : INSTANT);
    rps_json_end(json);
    put_same(json, "category", count, "0");
    rps_json_array(json, "data");
    for (size_t i = 0; i < count; i++)
        put_marker_data(json, stretch[i].name);
    rps_json_end(json);
    rps_json_end(json);
}

/* --- all of it -------------------------------------------------------------------------------- */

static void put_thread_head(const struct firefox *firefox, int32_t cpu, int is_first)
{
    const struct rps_run *run = firefox->job->run;
    struct rps_json *json = (struct rps_json *)&firefox->json;
    char title[RPS_RUN_TEXT_SIZE], name[32];

    rps_run_title(title, sizeof(title), run);
    snprintf(name, sizeof(name), "CPU %d", cpu);
    rps_json_object(json, NULL);
    rps_json_text(json, "name", cpu == RPS_CPU_ALL ? title : name);
    rps_json_text(json, "processName", title);
    rps_json_text(json, "processType", "default");
    rps_json_text(json, "pid", "1");
    rps_json_int64(json, "tid", cpu == RPS_CPU_ALL ? 1 : (int64_t)cpu + 1);
    rps_json_bool(json, "isMainThread", is_first);
    rps_json_int64(json, "registerTime", 0);
    rps_json_null(json, "unregisterTime");
    rps_json_int64(json, "processStartupTime", 0);
    rps_json_null(json, "processShutdownTime");
    rps_json_raw(json, "pausedRanges", "[]");
}

static int put_thread(struct firefox *firefox, const struct rps_export_code *of, int32_t cpu,
                      int is_first, struct rps_error *err)
{
    static const struct rps_export_stretches none = {0};
    struct rps_timeline timeline;
    struct thread thread = {
        .json = &firefox->json, .arena = rps_arena_new(), .timeline = &timeline};
    int result = rps_timeline_open(&timeline, thread.arena, firefox->job, of, cpu, err);

    if (result == 0) {
        fill_columns(&thread);
        put_thread_head(firefox, cpu, is_first);
        put_tables(&thread);
        put_markers(&thread, is_first ? &firefox->stretches : &none);
        result = put_samples(&thread, err);
        rps_json_texts(thread.json, "stringArray", thread.text, thread.text_count);
        rps_json_end(thread.json);
    }
    rps_arena_free(thread.arena);
    return result;
}

static void put_meta(struct firefox *firefox, const struct rps_sampling *sampling)
{
    const struct rps_run *run = firefox->job->run;
    struct rps_json *json = &firefox->json;
    char title[RPS_RUN_TEXT_SIZE];

    rps_json_object(json, "meta");
    rps_json_int64(json, "preprocessedProfileVersion", VERSION);
    rps_json_int64(json, "version", VERSION_RAW);
    rps_json_text(json, "product", rps_run_title(title, sizeof(title), run));
    rps_json_text(json, "importedFrom", "rpistat");
    rps_json_decimal(json, "startTime", run->start_realtime_ns > 0 ? run->start_realtime_ns : 0, 6);
    rps_json_decimal(
        json, "interval",
        (int64_t)(sampling->frequency > 0 ? RPS_NS_PER_S / sampling->frequency : RPS_NS_PER_MS), 6);
    rps_json_int64(json, "processType", 0);
    rps_json_int64(json, "stackwalk", 1);
    rps_json_bool(json, "symbolicated", 1);
    rps_json_bool(json, "usesOnlyOneStackType", 1);
    rps_json_bool(json, "sourceCodeIsNotOnSearchfox", 1);
    rps_json_bool(json, "keepProfileThreadOrder", 1);
    rps_json_text(json, "CPUName", run->cpu_model);
    rps_json_raw(json, "categories", CATEGORIES);
    rps_json_raw(json, "markerSchema", MARKERS);
    rps_json_end(json);
}

static int write_firefox(struct rps_export_job *job, const struct rps_export_code *of,
                         struct rps_error *err)
{
    struct firefox firefox = {.json = {.out = job->out}, .job = job};
    struct rps_json *json = &firefox.json;
    int32_t *cpu = NULL;
    size_t count = 0;
    int result = rps_timeline_cpus(job, of, &cpu, &count, err);

    if (result == 0)
        result = rps_export_stretches_find(job, of->choice->from_ns, of->choice->to_ns, of->cpus,
                                           &firefox.stretches, err);
    if (result < 0)
        return result;
    rps_json_object(json, NULL);
    put_meta(&firefox, &of->code->sampling);
    rps_json_raw(json, "libs", "[]");
    rps_json_array(json, "threads");
    for (size_t i = 0; i < count && result == 0; i++)
        result = put_thread(&firefox, of, cpu[i], i == 0, err);
    rps_json_end(json);
    rps_json_end(json);
    return result;
}

/* Write a part, from one state of the store. */
static int firefox_part(struct rps_export_job *job, const struct rps_part_choice *choice,
                        const struct rps_cpus *cpus, struct rps_error *err)
{
    int result = rps_reader_each(job->reader, "SAVEPOINT firefox", 0, 0, NULL, NULL, err);

    if (result == 0)
        result = rps_export_code(job, choice, cpus, write_firefox, err);
    rps_reader_each(job->reader, "RELEASE firefox", 0, 0, NULL, NULL, NULL);
    return result;
}

const struct rps_export_format rps_export_firefox = {
    .name = "firefox",
    .own_form = 1,
    .phases = 1,
    .part = firefox_part,
};
