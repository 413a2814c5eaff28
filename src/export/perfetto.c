/* The export as trace events of Chrome (JSON), for Perfetto and other readers.
 *
 * The run is a process in the trace. Its tracks show gaps, phases, regions, marks and calls. A
 * process is shown for each thing that has separate counts, such as each CPU of a recording by CPU.
 * Metrics are counters with one value per rotation; system metrics have one value per reading. In
 * the trace, a counter's value is valid until the next value, so unchanged and unknown values are
 * not written. Calls are slices (rpistat/code_hooks.h). Times are us since the start of the run,
 * with decimals down to the nanosecond. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "rpistat/clock.h"
#include "rpistat/export.h"
#include "rpistat/formula.h"
#include "rpistat/json.h"
#include "rpistat/plan.h"
#include "rpistat/profile.h"
#include "rpistat/rotation.h"
#include "rpistat/run_regions.h"
#include "rpistat/store.h"
#include "rpistat/system_rows.h"
#include "rpistat/system_reader.h"
#include "rpistat/code_hooks.h"

/* Process numbers in the trace, above those of Linux. A thread's number is its process's number x
 * TRACKS plus the thread's index, since Perfetto requires unique thread numbers. */
#define PID_MAX 4194304 /* of Linux */
enum {
    OF_RUN = 1,
    OF_MACHINE,
    OF_GROUP,
    OF_PACKAGE,
    OF_CPU
}; /* all numbers except OF_CPU are in the order of enum rps_system_source */
#define TRACKS    1000
#define OF_CALLS  1 /* track of calls; the numbers of other tracks follow */
#define TEXT_SIZE 64

struct perfetto {
    struct rps_json json;
    struct rps_rotation rotation; /* current rotation, to which periods are added */
    double *operand;              /* operands of formulas; scratch in the arena */
    double *last;                 /* last value of each metric on this CPU */
    int64_t process;              /* number of the process that is being written; 0 at first */
    int64_t calls_of;             /* process whose calls were written most recently */
    const struct rps_export_job *job;
    const char **label; /* names of the phases, by label */
    const char *track;  /* track of the last phase, region or mark written; number of such tracks */
    int track_count;
    struct rps_export_thread thread; /* thread that was written last; pid -1: none */
};

static int64_t process_of(int32_t cpu)
{
    return cpu == RPS_CPU_ALL ? OF_RUN : OF_CPU + (int64_t)cpu;
}

/* Begin an event, with the members that every event has. More members may follow. */
static void begin_thread_event(struct rps_json *json, const char *kind, const char *name,
                               int64_t time_ns, int64_t pid, int64_t tid)
{
    rps_json_object(json, NULL);
    rps_json_text(json, "ph", kind);
    rps_json_text(json, "name", name);
    rps_json_decimal(json, "ts", time_ns, 3);
    rps_json_int64(json, "pid", pid);
    rps_json_int64(json, "tid", tid);
}

static void begin_event(struct rps_json *json, const char *kind, const char *name, int64_t time_ns,
                        int64_t process, int track)
{
    begin_thread_event(json, kind, name, time_ns, PID_MAX + process,
                       PID_MAX + process * TRACKS + track);
}

/* Put the name of a process, or of a thread. */
static void put_thread_name(struct rps_json *json, const char *what, int64_t pid, int64_t tid,
                            const char *name)
{
    begin_thread_event(json, "M", what, 0, pid, tid);
    rps_json_object(json, "args");
    rps_json_text(json, "name", name);
    rps_json_end(json);
    rps_json_end(json);
}

static void put_name(struct rps_json *json, const char *what, int64_t process, int track,
                     const char *name)
{
    put_thread_name(json, what, PID_MAX + process, PID_MAX + process * TRACKS + track, name);
}

static void put_counter(struct rps_json *json, const char *name, const char *unit, int64_t pid,
                        int64_t tid, int64_t time_ns, double value, double *last)
{
    if (!isfinite(value) || value == *last)
        return;
    *last = value;
    begin_thread_event(json, "C", name, time_ns, pid, tid);
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
    perfetto->job = job;
    perfetto->thread.pid = perfetto->thread.tid = -1;
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

static void begin_cpu(const struct rps_export_job *job, int32_t cpu)
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

        put_counter(&perfetto->json, metric->label, metric->unit, PID_MAX + perfetto->process,
                    PID_MAX + perfetto->process * TRACKS, rotation->tally.start_ns,
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
    int64_t process = OF_RUN + (int64_t)row->source;

    for (int s = 0; s < rps_system_metric_count[row->source]; s++) {
        const struct rps_system_metric *signal = &rps_system_metrics[row->source][s];
        int is_gauge = signal->kind == RPS_SYSTEM_GAUGE;
        double over = is_gauge ? (double)row->readings[s] : (double)row->length_us / 1e6;
        char unit[TEXT_SIZE];

        snprintf(unit, sizeof(unit), "%s%s", signal->unit, is_gauge ? "" : "/s");
        if (row->readings[s] > 0 && over > 0)
            put_counter(json, signal->label, unit, PID_MAX + process, PID_MAX + process * TRACKS,
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

/* Put a phase, region or mark, as far as it lies in the time range of the export. A mark has no
 * length. A phase or region ends 1 ns early, because viewers add start and length in floating
 * point. A sum after the start of the next slice would break both slices. */
static void put_stretch(struct rps_export_job *job, const char *track, const char *name,
                        int64_t start_ns, int64_t end_ns)
{
    const struct rps_export_options *options = job->options;
    struct perfetto *perfetto = job->state;
    struct rps_json *json = &perfetto->json;
    int is_mark = start_ns == end_ns;

    start_ns = start_ns > options->from_ns ? start_ns : options->from_ns;
    end_ns = end_ns < options->to_ns ? end_ns : options->to_ns;
    if (start_ns > end_ns || (start_ns == end_ns && !is_mark))
        return;
    if (perfetto->track != track)
        put_name(json, "thread_name", OF_RUN, OF_CALLS + ++perfetto->track_count, track);
    perfetto->track = track;
    begin_event(json, is_mark ? "i" : "X", name, start_ns, OF_RUN,
                OF_CALLS + perfetto->track_count);
    rps_json_text(json, "cat", "rpistat"); /* DevTools fails without a category */
    if (is_mark)
        rps_json_text(json, "s", "t");
    else
        rps_json_decimal(json, "dur", end_ns - start_ns - 1, 3);
    rps_json_end(json);
}

static int put_phases(struct rps_export_job *job, struct rps_error *err)
{
    const struct rps_cpus *cpus = &job->options->cpus;
    const struct rps_phases *phases = job->phases;
    const char **label = rps_arena_get(job->arena, (size_t)phases->label_count, sizeof(*label));
    char letter[RPS_PHASE_LABEL_SIZE];
    struct rps_part_shares shares;
    struct rps_profile profile;
    int result = rps_part_shares_of_labels(job->arena, job->reader, job->run->run_id, phases, cpus,
                                           &shares, err);

    if (result >= 0)
        result = rps_profile_run(job->arena, job->reader, job->run->run_id, 0, INT64_MAX, cpus,
                                 phases, 1, 1, &profile, err);
    if (result < 0)
        return result;
    rps_profile_code(&profile, &shares);
    ((struct perfetto *)job->state)->label = label;
    for (int i = 0; i < phases->label_count; i++) {
        const char *code = profile.label[i].code;

        label[i] = rps_arena_text(job->arena, rps_phase_label(i, letter));
        if (code[0])
            label[i] = rps_arena_print(job->arena, "%s (%s)", letter, code);
    }
    for (size_t i = 0; i < phases->count; i++)
        put_stretch(job, "Phases", label[phases->phase[i].label], phases->phase[i].start_ns,
                    phases->phase[i].end_ns);
    return 0;
}

static void put_regions(struct rps_export_job *job, const struct rps_run_regions *regions)
{
    for (size_t i = 0; i < regions->count; i++) {
        const struct rps_run_region *region = &regions->region[i];
        const char *track = rps_arena_print(job->arena, "Region %s", region->name);

        for (size_t s = 0; s < region->spans.count; s++)
            put_stretch(job, track, region->name, region->spans.span[s].start_ns,
                        region->spans.span[s].end_ns);
    }
}

static int put_stretches(struct rps_export_job *job, struct rps_error *err)
{
    struct rps_run_regions regions;
    struct rps_notes marks = {0}, gaps = {0};
    int result = rps_reader_marks(job->arena, job->reader, job->run->run_id, &marks, err);

    if (result == 0)
        result = rps_reader_gaps(job->arena, job->reader, job->run->run_id, &gaps, err);
    for (size_t i = 0; i < gaps.count; i++)
        if (gaps.note[i].cpu == RPS_CPU_ALL && gaps.note[i].length_ns > 0)
            put_stretch(job, "Gaps", gaps.note[i].text, gaps.note[i].start_ns,
                        gaps.note[i].start_ns + gaps.note[i].length_ns);
    if (result == 0 && job->phases)
        result = put_phases(job, err);
    if (result == 0) {
        regions =
            rps_run_regions_find(job->arena, &marks, job->options->from_ns, job->options->to_ns);
        put_regions(job, &regions);
    }
    for (size_t i = 0; i < marks.count && result == 0; i++) {
        if (!rps_region_mark_read(marks.note[i].text).kind)
            put_stretch(job, "Marks", marks.note[i].text, marks.note[i].start_ns,
                        marks.note[i].start_ns);
    }
    return result;
}

/* --- calls ------------------------------------------------------------------------------------ */

/* Put a call, with the module as category and without arguments, by which some viewers match the
 * end. A call ends 1 ns early, as speedscope confuses an end and a beginning at the same time. */
static void put_call(struct perfetto *perfetto, const char *kind, int32_t cpu, int64_t time_ns,
                     const char *function, const char *module)
{
    begin_event(&perfetto->json, kind, function, time_ns, process_of(cpu), OF_CALLS);
    rps_json_text(&perfetto->json, "cat", module[0] ? module : "unknown");
    rps_json_end(&perfetto->json);
}

static void begin_call(void *context, int32_t cpu, int64_t time_ns, const char *function,
                       const char *module)
{
    struct perfetto *perfetto = context;
    int64_t process = process_of(cpu);

    if (perfetto->calls_of != process) {
        begin_cpu(perfetto->job, cpu); /* in a sum, CPUs have calls, but no metrics */
        put_name(&perfetto->json, "thread_name", process, OF_CALLS, "Calls");
    }
    perfetto->calls_of = process;
    put_call(perfetto, "B", cpu, time_ns, function, module);
}

static void end_call(void *context, int32_t cpu, int64_t time_ns, const char *function,
                     const char *module)
{
    put_call(context, "E", cpu, time_ns - 1, function, module);
}

/* Put a thread in a time range. The slice has the name of the phase. The track has the thread's
 * first name. The thread's samples per second are a counter. */
static void put_thread(void *context, const struct rps_export_thread *thread)
{
    struct perfetto *perfetto = context;
    struct rps_json *json = &perfetto->json;
    const struct rps_phases *phases = perfetto->job->phases;
    int64_t length_ns = thread->end_ns - thread->start_ns;
    double last = NAN, per_s = (double)thread->samples * RPS_NS_PER_S / (double)length_ns;
    char name[RPS_RUN_TEXT_SIZE];
    const char *track = perfetto->thread.name;

    if (thread->pid != perfetto->thread.pid)
        put_thread_name(json, "process_name", thread->pid, thread->tid, thread->program);
    if (thread->pid != perfetto->thread.pid || thread->tid != perfetto->thread.tid)
        put_thread_name(json, "thread_name", thread->pid, thread->tid, track = thread->name);
    perfetto->thread = *thread;
    perfetto->thread.name = track;
    begin_thread_event(
        json, "X",
        thread->phase == SIZE_MAX ? "sampled" : perfetto->label[phases->phase[thread->phase].label],
        thread->start_ns, thread->pid, thread->tid);
    rps_json_decimal(json, "dur", length_ns > 0 ? length_ns - 1 : 0, 3);
    rps_json_text(json, "cat", "rpistat");
    rps_json_end(json);
    snprintf(name, sizeof(name), "Samples of %s %" PRId64, track, thread->tid);
    put_counter(json, name, "/s", thread->pid, thread->tid, thread->start_ns, per_s, &last);
    if (isfinite(per_s))
        put_counter(json, name, "/s", thread->pid, thread->tid, thread->end_ns - 1, 0, &last);
}

static int put_calls(struct rps_export_job *job, struct rps_error *err)
{
    const struct rps_export_options *options = job->options;
    const struct rps_code_hooks *hooks = rps_store_used_hooks();
    const struct rps_part_choice choice = {
        .from_ns = options->from_ns, .to_ns = options->to_ns, .region = options->region};
    const struct rps_call_sink sink = {begin_call, end_call, put_thread, job->state};

    return hooks && hooks->calls ? hooks->calls(job, &choice, &options->cpus, &sink, err) : 0;
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
