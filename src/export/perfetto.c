/*
 * The export as trace events of Chrome (JSON), for Perfetto and other readers.
 *
 * The run is a process there, with tracks of its phases, regions, marks and calls. Everything with
 * its own counts is another process, such as each CPU of a recording by CPU. Metrics are counters
 * with one value per rotation, system metrics have one value per reading. A counter keeps its value
 * until the next, so a value that is the same or unknown is not written. Calls are slices
 * (rpistat/wing.h). Times are us since the start of the run, with all their nanoseconds.
 */
#include <math.h>

#include "formats.h"
#include "rpistat/formula.h"
#include "rpistat/json.h"
#include "rpistat/plan.h"
#include "rpistat/rotation.h"
#include "rpistat/store.h"
#include "rpistat/system_rows.h"
#include "rpistat/system_signals.h"
#include "rpistat/wing.h"

/* Numbers of processes there. A thread's is its process's x TRACKS plus its index, since Perfetto
 * requires unique ones. */
enum {
    OF_RUN = 1,
    OF_MACHINE,
    OF_GROUP,
    OF_PACKAGE,
    OF_CPU
}; /* all but the last by enum rps_system_source */
#define TRACKS    1000
#define OF_CALLS  1 /* the others count from 2 */
#define TEXT_SIZE 64

struct perfetto {
    struct rps_json json;
    struct rps_rotation rotation; /* being added up */
    double *operand;              /* scratch, the arena's */
    double *last;                 /* per metric: its last value on this CPU */
    int64_t process;              /* being written; 0 at first */
    int64_t calls_of;             /* process of the last written calls */
};

static int64_t process_of(int32_t cpu)
{
    return cpu == RPS_CPU_ALL ? OF_RUN : OF_CPU + (int64_t)cpu;
}

/* The members that every event has; more may follow. */
static void begin_event(struct rps_json *json, const char *kind, const char *name, int64_t time_ns,
                        int64_t process, int track)
{
    rps_json_object(json, NULL);
    rps_json_text(json, "ph", kind);
    rps_json_text(json, "name", name);
    rps_json_decimal(json, "ts", time_ns, 3);
    rps_json_int64(json, "pid", process);
    rps_json_int64(json, "tid", process * TRACKS + track);
}

/* For slices and marks; DevTools fails on one without a category. */
static void begin_slice(struct rps_json *json, const char *kind, const char *name, int64_t time_ns,
                        int64_t process, int track)
{
    begin_event(json, kind, name, time_ns, process, track);
    rps_json_text(json, "cat", "rpistat");
}

/* Put the name of a process, or of a track in it. */
static void put_name(struct rps_json *json, const char *what, int64_t process, int track,
                     const char *name)
{
    begin_event(json, "M", what, 0, process, track);
    rps_json_object(json, "args");
    rps_json_text(json, "name", name);
    rps_json_end(json);
    rps_json_end(json);
}

static void put_counter(struct rps_json *json, const char *name, const char *unit, int64_t process,
                        int64_t time_ns, double value, double *last)
{
    if (!isfinite(value) || value == *last)
        return;
    *last = value;
    begin_event(json, "C", name, time_ns, process, 0);
    rps_json_object(json, "args");
    rps_json_double(json, unit[0] ? unit : "value", value);
    rps_json_end(json);
    rps_json_end(json);
}

/* --- metrics ---------------------------------------------------------------------------------- */

static int perfetto_begin(struct rps_export_job *job, struct rps_error *err)
{
    struct perfetto *perfetto = rps_arena_get(job->arena, 1, sizeof(*perfetto));
    char title[RPS_RUN_TEXT_SIZE];
    struct rps_json *json = &perfetto->json;

    (void)err;
    job->state = perfetto;
    perfetto->rotation = rps_rotation_new(job->arena, job->plan);
    perfetto->operand = rps_arena_get(job->arena, (size_t)rps_plan_operand_count(job->plan),
                                      sizeof(*perfetto->operand));
    perfetto->last =
        rps_arena_get(job->arena, (size_t)job->plan->metric_count, sizeof(*perfetto->last));
    *json = (struct rps_json){.out = job->out};
    rps_json_object(json, NULL);
    rps_json_object(json, "otherData");
    rps_json_text(json, "command", rps_run_title(title, sizeof(title), job->run));
    rps_json_text(json, "host", job->run->host);
    rps_json_text(json, "run", job->run->uuid);
    rps_json_end(json);
    rps_json_array(json, "traceEvents");
    put_name(json, "process_name", OF_RUN, 0, title);
    return 0;
}

static void begin_cpu(struct rps_export_job *job, int32_t cpu)
{
    struct perfetto *perfetto = job->state;
    char name[TEXT_SIZE];

    perfetto->process = process_of(cpu);
    for (int m = 0; m < job->plan->metric_count; m++)
        perfetto->last[m] = NAN;
    snprintf(name, sizeof(name), "CPU %d", cpu);
    if (cpu != RPS_CPU_ALL)
        put_name(&perfetto->json, "process_name", perfetto->process, 0, name);
}

/* Write a completed rotation. */
static void end_rotation(struct rps_export_job *job)
{
    struct perfetto *perfetto = job->state;
    const struct rps_rotation *rotation = &perfetto->rotation;

    if (rotation->tally.periods == 0)
        return;
    if (perfetto->process != process_of(rotation->cpu))
        begin_cpu(job, rotation->cpu);
    rps_tally_operands(&rotation->tally, job->plan, perfetto->operand);
    for (int m = 0; m < job->plan->metric_count; m++) {
        const struct rps_metric *metric = &job->plan->metric[m];

        put_counter(&perfetto->json, metric->label, metric->unit, perfetto->process,
                    rotation->tally.start_ns,
                    rps_formula_value(&metric->formula, perfetto->operand), &perfetto->last[m]);
    }
    rps_rotation_reset(&perfetto->rotation);
}

static void perfetto_period(struct rps_export_job *job, const struct rps_period *period)
{
    struct perfetto *perfetto = job->state;

    if (rps_rotation_ends(&perfetto->rotation, period))
        end_rotation(job);
    rps_rotation_add(&perfetto->rotation, period);
}

/* --- system metrics --------------------------------------------------------------------------- */

static void put_reading(struct rps_json *json, const struct rps_system_row *row, double *last)
{
    for (int s = 0; s < rps_system_signal_count[row->source]; s++) {
        const struct rps_system_signal *signal = &rps_system_signals[row->source][s];
        int is_gauge = signal->kind == RPS_SYSTEM_GAUGE;
        double over = is_gauge ? (double)row->readings[s] : (double)row->length_us / 1e6;
        char unit[TEXT_SIZE];

        snprintf(unit, sizeof(unit), "%s%s", signal->unit, is_gauge ? "" : "/s");
        if (row->readings[s] > 0 && over > 0)
            put_counter(json, signal->label, unit, OF_RUN + (int64_t)row->source,
                        row->end_ns - row->length_us * 1000, (double)row->sum[s] / over, &last[s]);
    }
}

static int put_source(struct rps_export_job *job, enum rps_system_source source,
                      struct rps_error *err)
{
    static const char *const name[] = {NULL, "Machine", "Control group", "Packages"};
    const struct rps_export_options *options = job->options;
    struct perfetto *perfetto = job->state;
    struct rps_system_cursor *cursor;
    struct rps_system_row row;
    double last[RPS_SYSTEM_SLOT_MAX];
    int is_first = name[source] != NULL;
    int result = rps_system_cursor_open(&cursor, job->reader, job->run->run_id, source,
                                        options->from_ns, options->to_ns, 0, err);

    for (int s = 0; s < RPS_SYSTEM_SLOT_MAX; s++)
        last[s] = NAN;
    while (result == 0 && (result = rps_system_cursor_next(cursor, &row, err)) > 0) {
        if (is_first)
            put_name(&perfetto->json, "process_name", OF_RUN + (int64_t)source, 0, name[source]);
        is_first = 0;
        put_reading(&perfetto->json, &row, last);
        result = 0;
    }
    rps_system_cursor_close(cursor);
    return result;
}

/* --- phases, regions, marks ------------------------------------------------------------------- */

/* Each ends 1 ns early: viewers add start and length in floating point, and a sum after the start
 * of the next one breaks both. */
static int put_stretches(struct rps_export_job *job, struct rps_error *err)
{
    const struct rps_export_options *options = job->options;
    struct rps_json *json = &((struct perfetto *)job->state)->json;
    struct rps_export_stretches stretches;
    const char *track = NULL;
    int number = OF_CALLS, result;

    result = rps_export_stretches_find(job, options->from_ns, options->to_ns, &options->cpus,
                                       &stretches, err);
    for (size_t i = 0; i < stretches.count && result == 0; i++) {
        const struct rps_export_stretch *stretch = &stretches.stretch[i];
        int is_mark = stretch->start_ns == stretch->end_ns;

        if (stretch->track != track)
            put_name(json, "thread_name", OF_RUN, ++number, stretch->track);
        track = stretch->track;
        begin_slice(json, is_mark ? "i" : "X", stretch->name, stretch->start_ns, OF_RUN, number);
        if (is_mark)
            rps_json_text(json, "s", "t");
        else
            rps_json_decimal(json, "dur", stretch->end_ns - stretch->start_ns - 1, 3);
        rps_json_end(json);
    }
    return result;
}

/* --- calls ------------------------------------------------------------------------------------ */

static void begin_call(void *context, int32_t cpu, int64_t time_ns, const char *function,
                       const char *module)
{
    struct perfetto *perfetto = context;
    int64_t process = process_of(cpu);

    if (perfetto->calls_of != process)
        put_name(&perfetto->json, "thread_name", process, OF_CALLS, "Calls");
    perfetto->calls_of = process;
    begin_slice(&perfetto->json, "B", function, time_ns, process, OF_CALLS);
    rps_json_object(&perfetto->json, "args");
    rps_json_text(&perfetto->json, "module", module);
    rps_json_end(&perfetto->json);
    rps_json_end(&perfetto->json);
}

static void end_call(void *context, int32_t cpu, int64_t time_ns, const char *function)
{
    struct perfetto *perfetto = context;

    begin_slice(&perfetto->json, "E", function, time_ns, process_of(cpu), OF_CALLS);
    rps_json_end(&perfetto->json);
}

static int put_calls(struct rps_export_job *job, struct rps_error *err)
{
    const struct rps_export_options *options = job->options;
    const struct rps_wing *wing = rps_store_used_wing();
    const struct rps_part_choice choice = {
        .from_ns = options->from_ns, .to_ns = options->to_ns, .region = options->region};
    const struct rps_call_sink sink = {begin_call, end_call, job->state};

    return wing && wing->calls ? wing->calls(job, &choice, &options->cpus, &sink, err) : 0;
}

/* --- the format ------------------------------------------------------------------------------- */

static void perfetto_end(struct rps_export_job *job)
{
    struct perfetto *perfetto = job->state;

    end_rotation(job);
    for (int source = 0; source < RPS_SYSTEM_SOURCES && job->result == 0; source++)
        job->result = put_source(job, (enum rps_system_source)source, &job->err);
    if (job->result == 0)
        job->result = put_stretches(job, &job->err);
    if (job->result == 0)
        job->result = put_calls(job, &job->err);
    rps_json_end(&perfetto->json);
    rps_json_end(&perfetto->json);
}

const struct rps_export_format rps_export_perfetto = {
    .name = "perfetto",
    .own_form = 1,
    .phases = 1,
    .begin = perfetto_begin,
    .period = perfetto_period,
    .end = perfetto_end,
};
