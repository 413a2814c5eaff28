/* The samples of a recording. The tracker assigns a stack and a task to each sample. A sample waits
 * here until its period is known, and is counted at the end of the next period. The sampler passes
 * on a sample only when the sample is older than the previous period. */
#include "rpistat/arena.h"
#include "rpistat/code_recorder.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/clock.h"
#include "rpistat/code_store.h"
#include "rpistat/proc.h"
#include "rpistat/store.h"
#include "intern.h"
#include "symbolize_job.h"
#include "record_tracker.h"
#include "unwind.h"

/* Interval between writes of the sampling status to the store. */
#define STATUS_NS RPS_NS_PER_S

#define WAIT_MARKS_MAX 20

/* Waits are compared with schedstat once per period, but not more often than once in this time. */
#define CHECK_NS (50 * RPS_NS_PER_MS)

/* Time before the first symbolization, and between two symbolizations. Symbolization must be rare:
 * reading the kernel's list of symbols alone costs as much CPU time as a minute of samples. */
#define SYMBOLIZE_NS       (60 * RPS_NS_PER_S)
#define SYMBOLIZE_FIRST_NS (20 * RPS_NS_PER_S)

/* Once this number of functions is named, the names of a frame are not written again if an earlier
 * frame has the same names. */
#define NAMES_REPORTED_ALL 2048

/* Names of a location. The key holds the hashes of these names. */
struct name {
    struct rps_intern_key key;
    int64_t frame; /* First frame with these names at depth 0. */
};

/* A sample whose period is not known yet. */
struct sample {
    int64_t time_ns; /* Time in the run. */
    int32_t cpu;     /* CPU on which the sample was taken. */
    int64_t stack, task;
};

struct wait {
    int64_t from_ns, to_ns; /* Times in the run. */
    int64_t stack;
    int32_t cpu;
};

struct span {
    int64_t start_ns, end_ns;
    int32_t cpu;
    uint64_t period;
};

struct recorder {
    struct rps_sampler sampler;
    struct rps_tracker *tracker;
    struct rps_writer *writer;
    struct rps_symbolize_job symbolizer;
    int has_files;             /* 1 if /proc has the recorded tasks. */
    int64_t start_ns, told_ns; /* told_ns: end of the last period whose status was written. */
    int64_t symbolize_ns;      /* Time in the run before which symbolization does not start. */
    struct rps_intern names;   /* Table of struct name. */
    struct sample *sample;     /* Owned; in order of time. */
    size_t sample_count;
    struct span *span; /* Owned; periods to which waiting samples may belong, in order of end. */
    size_t span_count;
    struct wait *wait; /* Owned; waits not yet assigned to a period. */
    size_t wait_count;
    int64_t forgot_ns, late_ns;        /* End of forgotten periods; length of waits in them. */
    int64_t heard_ns;                  /* All samples before this time in the run have arrived. */
    uint64_t blocked_us;               /* Off-CPU time written so far. */
    uint64_t blocked_of, blocked_most; /* Stacks are recorded in one of every blocked_of windows.
                                          blocked_most is the largest value of blocked_of so far. */
    int wait_marks;
    int has_waits;      /* 1 if waits are recorded. */
    int64_t checked_ns; /* Time in the run of the last comparison with schedstat. */
    uint64_t lost;      /* Samples lost because there was no memory, or no period for them. */
};

/* --- the tracker's results -------------------------------------------------------------------- */

static void on_sample(void *context, const struct rps_sample *sample)
{
    struct recorder *samples = context;

    rps_tracker_add_known(samples->tracker, sample);
}

/* Define a function of the sink that passes an item to the writer. */
#define ON_ITEM(item)                                                                              \
    static void on_##item(void *context, const struct rps_##item *item)                            \
    {                                                                                              \
        rps_writer_##item(((struct recorder *)context)->writer, item);                             \
    }

ON_ITEM(module)
ON_ITEM(frame)
ON_ITEM(stack)
ON_ITEM(cgroup)
ON_ITEM(program)

static void on_task(void *context, const struct rps_task *task)
{
    struct recorder *samples = context;
    struct rps_task told = *task;
    char file[RPS_TASK_FILE_SIZE] = "";

    if (samples->has_files && task->end_ns < 0)
        rps_task_file_read(file, "/proc", (pid_t)task->pid);
    told.file = file;
    told.start_ns -= samples->start_ns;
    told.end_ns -= told.end_ns >= 0 ? samples->start_ns : 0;
    rps_writer_task(samples->writer, &told);
}

static void on_process_time(void *context, int64_t task, int64_t cpu_ns)
{
    struct recorder *samples = context;

    rps_writer_process_time(samples->writer, task, cpu_ns);
}

static void on_count(void *context, int64_t time_ns, int32_t cpu, int64_t stack, int64_t task)
{
    struct recorder *samples = context;

    if (!rps_array_add(&samples->sample, samples->sample_count, sizeof(*samples->sample))) {
        samples->lost++;
        return;
    }
    samples->sample[samples->sample_count++] =
        (struct sample){time_ns - samples->start_ns, cpu, stack, task};
}

static void on_blocked(void *context, int64_t from_ns, int64_t to_ns, int32_t cpu, int64_t stack)
{
    struct recorder *samples = context;

    if (!rps_array_add(&samples->wait, samples->wait_count, sizeof(*samples->wait))) {
        samples->lost++;
        return;
    }
    samples->wait[samples->wait_count++] =
        (struct wait){from_ns - samples->start_ns, to_ns - samples->start_ns, stack, cpu};
}

static void on_incomplete(void *context, int64_t time_ns, const char *path)
{
    struct recorder *samples = context;
    char text[PATH_MAX + 128];

    snprintf(text, sizeof(text),
             "stacks through %s are incomplete from now on: its file cannot be read for unwinding, "
             "too large, or damaged",
             path);
    rps_writer_mark(samples->writer, time_ns - samples->start_ns, text);
}

/* --- periods ---------------------------------------------------------------------------------- */

/* Return the period of a sample: the first period of its CPU, or of all CPUs, that ends after the
 * sample. A sample in a pause belongs to the next period. If no period follows (`late`), the sample
 * belongs to the last period. NULL: there is no period. */
static const struct span *find_span(const struct recorder *samples, const struct sample *sample,
                                    int late)
{
    const struct span *last = NULL;

    for (size_t i = 0; i < samples->span_count; i++) {
        const struct span *span = &samples->span[i];

        if (span->cpu >= 0 && span->cpu != sample->cpu)
            continue;
        if (span->end_ns > sample->time_ns)
            return span;
        last = span;
    }
    return late ? last : NULL;
}

static void write_count(struct recorder *samples, const struct span *span,
                        enum rps_code_counted what, int64_t id, uint64_t count)
{
    const struct rps_code_count row = {
        .cpu = span->cpu, .period = span->period, .id = id, .samples = count};

    rps_writer_code_count(samples->writer, what, &row);
}

/* Count the samples whose period is known. all: 1 if no more periods follow. Periods that follow
 * end after all known periods. So if a sample is older than the latest known end, and its CPU has
 * no period, that CPU is no longer online. */
static void count_samples(struct recorder *samples, int all)
{
    int64_t end_ns =
        samples->span_count > 0 ? samples->span[samples->span_count - 1].end_ns : INT64_MIN;
    size_t i = 0;

    for (; i < samples->sample_count; i++) {
        const struct sample *sample = &samples->sample[i];
        int late = all || sample->time_ns < end_ns;
        const struct span *span = find_span(samples, sample, late);

        if (!span && !late)
            break;
        if (span) {
            write_count(samples, span, RPS_COUNT_STACKS, sample->stack, 1);
            write_count(samples, span, RPS_COUNT_TASKS, sample->task, 1);
        } else {
            samples->lost++;
        }
    }
    if (i == 0)
        return;
    samples->sample_count -= i;
    memmove(samples->sample, samples->sample + i, samples->sample_count * sizeof(*samples->sample));
}

/* Return a wait's overlap with a period, us. The overlaps with all periods add up to the wait. */
static uint64_t part_us(const struct wait *wait, const struct span *span)
{
    int64_t from_ns = wait->from_ns > span->start_ns ? wait->from_ns : span->start_ns;
    int64_t to_ns = wait->to_ns < span->end_ns ? wait->to_ns : span->end_ns;

    return from_ns < to_ns && (span->cpu < 0 || span->cpu == wait->cpu)
               ? (uint64_t)(to_ns / 1000 - from_ns / 1000)
               : 0;
}

/* Add each wait to the known periods in which the thread was off the CPU. The time between two
 * periods (a pause) is not counted. The rest of a wait after the last period is kept for later. A
 * wait that is found late may have parts in forgotten periods; their time is unknown. */
static void count_waits(struct recorder *samples)
{
    int64_t end_ns = samples->span_count > 0 ? samples->span[samples->span_count - 1].end_ns : 0;
    size_t kept = 0;

    for (size_t i = 0; i < samples->wait_count; i++) {
        struct wait wait = samples->wait[i];
        int64_t late_ns = (wait.to_ns < samples->forgot_ns ? wait.to_ns : samples->forgot_ns) -
                          (wait.from_ns > 0 ? wait.from_ns : 0);

        samples->late_ns += late_ns > 0 ? late_ns : 0;
        for (size_t s = 0; s < samples->span_count; s++) {
            const struct span *span = &samples->span[s];
            uint64_t us = part_us(&wait, span);

            if (us > 0)
                write_count(samples, span, RPS_COUNT_BLOCKED, wait.stack, us);
            samples->blocked_us += us;
        }
        if (wait.from_ns < end_ns)
            wait.from_ns = end_ns;
        if (wait.from_ns < wait.to_ns)
            samples->wait[kept++] = wait;
    }
    samples->wait_count = kept;
}

/* Forget periods that ended before from_ns and before the first waiting sample. */
static void forget_spans(struct recorder *samples, int64_t from_ns)
{
    size_t gone = 0;

    if (samples->sample_count > 0 && samples->sample[0].time_ns < from_ns)
        from_ns = samples->sample[0].time_ns;
    while (gone < samples->span_count && samples->span[gone].end_ns <= from_ns)
        gone++;
    if (gone == 0)
        return;
    samples->forgot_ns = samples->span[gone - 1].end_ns;
    samples->span_count -= gone;
    memmove(samples->span, samples->span + gone, samples->span_count * sizeof(*samples->span));
}

/* Add a mark when the recording of all waits off the CPU stops or starts again. Also add a mark
 * when stacks of waits are taken more rarely than ever before. The number of marks is limited
 * because some workloads change all the time. */
static void mark_waits(struct recorder *samples, const struct rps_sampling *sampling)
{
    uint64_t of = sampling->blocked_of, before = samples->blocked_of;
    char text[160];

    int is_worse = of > samples->blocked_most;

    if (is_worse)
        samples->blocked_most = of;
    samples->blocked_of = of;
    if (((of == 0) == (before == 0) && !is_worse) || samples->wait_marks == WAIT_MARKS_MAX)
        return;
    samples->wait_marks++;
    if (of == 0)
        snprintf(text, sizeof(text),
                 "from here on, waits off the CPU are sampled, because there are too many switches "
                 "(--wall)");
    else if (of == 1)
        snprintf(text, sizeof(text), "from here on, all waits off the CPU are recorded (--wall)");
    else
        snprintf(
            text, sizeof(text),
            "from here on, stacks of threads that leave their CPU are taken for 0.1 s of every "
            "%.1f s, because there are many switches (--wall)",
            (double)of / 10);
    rps_writer_mark(samples->writer, samples->heard_ns, text);
}

static void report_store(struct recorder *samples)
{
    struct rps_sampling sampling = {0};

    samples->sampler.status(samples->sampler.self, &sampling);
    rps_tracker_status(samples->tracker, &sampling);
    sampling.lost += samples->lost;
    sampling.blocked_us = samples->blocked_us;
    sampling.blocked_off_us =
        (uint64_t)(rps_tracker_unknown_waits(samples->tracker) + samples->late_ns) / 1000;
    if (sampling.has_waits)
        mark_waits(samples, &sampling);
    sampling.blocked_of = samples->blocked_most;
    rps_writer_sampling(samples->writer, &sampling);
    rps_tracker_report_programs(samples->tracker);
}

/* --- names ------------------------------------------------------------------------------------ */

/* Return an earlier frame with equal names, if many frames are named; -1: none. */
static int64_t find_alike(struct recorder *samples, const struct rps_location *location)
{
    int is_new = 0;
    struct name *name = NULL;

    if (location->depth == 0 && location->how != RPS_LOCATION_NONE)
        name = rps_intern_at(
            &samples->names,
            rps_intern_add(&samples->names, rps_intern_hash(0, location->function),
                           rps_intern_hash((uint64_t)location->how, location->file), &is_new));
    if (is_new && name)
        name->frame = location->frame;
    return name && name->frame != location->frame && samples->names.count > NAMES_REPORTED_ALL
               ? name->frame
               : -1;
}

static int take_names(void *context, const struct rps_symbolize_message *told)
{
    struct recorder *samples = context;

    if (!rps_tracker_name(samples->tracker, &told->location[told->count - 1]))
        return 0;
    for (size_t i = 0; i < told->count; i++)
        rps_writer_location(samples->writer, &told->location[i],
                            find_alike(samples, &told->location[i]));
    return 0;
}

/* Continue symbolization after a period that ended at end_ns. */
static void name_meanwhile(struct recorder *samples, int64_t end_ns)
{
    rps_symbolize_job_receive(&samples->symbolizer, take_names, samples);
    if (samples->symbolizer.pid != 0 || end_ns < samples->symbolize_ns ||
        rps_tracker_is_named(samples->tracker))
        return;
    samples->symbolize_ns = end_ns + SYMBOLIZE_NS;
    rps_symbolize_job_start(&samples->symbolizer, samples->tracker);
}

/* --- called by the recording ------------------------------------------------------------------ */

static void take_period(void *self, const struct rps_period *period)
{
    struct recorder *samples = self;
    int64_t end_ns = period->start_ns + period->length_ns;

    if (samples->span_count > 0 && samples->span[samples->span_count - 1].end_ns < end_ns) {
        count_samples(samples, 0);
        rps_tracker_report_waits(samples->tracker, samples->start_ns + samples->heard_ns);
        count_waits(samples);
        if (samples->has_waits && end_ns - samples->checked_ns >= CHECK_NS) {
            samples->checked_ns = end_ns;
            rps_tracker_check_waits(samples->tracker, "/proc", rps_clock_monotonic_ns());
        }
        samples->heard_ns = samples->span[samples->span_count - 1].end_ns;
        /* Samples that are still to come are not older than the previous period. */
        forget_spans(samples, period->start_ns - period->length_ns - RPS_NS_PER_S);
        if (end_ns - samples->told_ns >= STATUS_NS) {
            samples->told_ns = end_ns;
            report_store(samples);
        }
        name_meanwhile(samples, end_ns);
    }
    if (!rps_array_add(&samples->span, samples->span_count, sizeof(*samples->span)))
        return;
    samples->span[samples->span_count++] =
        (struct span){period->start_ns, end_ns, period->cpu, period->period};
}

/* --- life ------------------------------------------------------------------------------------- */

/* Add the running processes of the target, or all processes if the target is the machine. */
static void add_processes(struct recorder *samples, const struct rps_target *target)
{
    DIR *processes;

    for (int i = 0; i < target->pid_count; i++)
        rps_tracker_add_process(samples->tracker, target->pid[i]);
    if (target->pid_count > 0 || !rps_proc_is_own() || !(processes = opendir("/proc")))
        return;
    rps_tracker_read_cgroups(samples->tracker, "/proc");
    for (struct dirent *entry; (entry = readdir(processes)) != NULL;) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        rps_tracker_add_process(samples->tracker, pid);
        rps_tracker_add_cgroup(samples->tracker, pid);
    }
    closedir(processes);
}

static void begin(void *self, struct rps_writer *writer, int64_t start_ns)
{
    struct recorder *samples = self;

    samples->writer = writer;
    samples->start_ns = start_ns;
    samples->symbolize_ns = SYMBOLIZE_FIRST_NS;
    samples->blocked_of = samples->blocked_most = 1;
    if (samples->has_files)
        rps_tracker_begin_queues(samples->tracker, "/proc", start_ns);
    report_store(samples);
}

static int64_t end(void *self)
{
    struct recorder *samples = self;
    int64_t cpu_ns = rps_tracker_end(samples->tracker);

    rps_symbolize_job_end(&samples->symbolizer);
    count_samples(samples, 1);
    if (samples->span_count > 0)
        rps_tracker_report_waits(samples->tracker,
                                 samples->start_ns + samples->span[samples->span_count - 1].end_ns);
    count_waits(samples);
    report_store(samples);
    return cpu_ns + samples->symbolizer.cpu_ns;
}

static int name_frames(void *self, int64_t run_id, struct rps_error *err)
{
    struct recorder *samples = self;
    struct rps_arena *arena = rps_arena_new();
    struct rps_code code;
    int rc = rps_symbolize_job_run(arena, samples->tracker, 1, &code, err);
    int64_t *alike = rps_arena_get(arena, code.location_count, sizeof(*alike));
    size_t kept = 0;

    for (size_t i = 0; i < code.location_count; i++) {
        if (!rps_tracker_name(samples->tracker, &code.location[i]))
            continue;
        alike[kept] = find_alike(samples, &code.location[i]);
        code.location[kept++] = code.location[i];
    }
    code.location_count = kept;
    rps_tracker_status(samples->tracker, &code.sampling);
    if (rc >= 0 && rps_writer_set_locations(samples->writer, run_id, &code, alike, err) < 0)
        rc = RPS_FAILED;
    else if (rc > 0)
        rc = rps_error_set(err, RPS_FAILED, "%s", rps_symbolize_refused);
    rps_arena_free(arena);
    return rc;
}

static void close_recorder(void *self)
{
    struct recorder *samples = self;

    rps_symbolize_job_end(&samples->symbolizer);
    rps_tracker_free(samples->tracker);
    rps_intern_free(&samples->names);
    if (samples->sampler.close)
        samples->sampler.close(samples->sampler.self);
    free(samples->sample);
    free(samples->span);
    free(samples->wait);
    free(samples);
}

static int open_tracker(struct recorder *samples, struct rps_error *err)
{
    const struct rps_tracker_sink sink = {
        .context = samples,
        .module = on_module,
        .frame = on_frame,
        .stack = on_stack,
        .cgroup = on_cgroup,
        .task = on_task,
        .process_time = on_process_time,
        .program = on_program,
        .count = on_count,
        .blocked = on_blocked,
        .incomplete = on_incomplete,
    };

    return rps_tracker_new(&samples->tracker, 0, &sink, err);
}

int rps_code_recorder_open(struct rps_code_recorder *ret,
                           const struct rps_sampling_options *options, const struct rps_pmu *pmu,
                           void *pmu_self, const struct rps_target *target, struct rps_error *err)
{
    struct rps_sampling_options possible = *options;
    struct recorder *samples;
    int rc;

    if (possible.stacks == RPS_STACKS_AUTO && !rps_unwind_is_possible())
        possible.stacks = RPS_STACKS_FP;
    if (options->waits && options->threshold > 0)
        return rps_error_set(
            err, RPS_USAGE,
            "--wall needs samples at a fixed rate, because one sample per N events "
            "(:N) measures no time; leave out :N or --wall");
    if (!pmu->open_sampler)
        return rps_error_set(err, RPS_FAILED, "these counters do not support samples");
    samples = calloc(1, sizeof(*samples));
    if (!samples)
        return rps_error_memory(err);
    samples->has_waits = options->waits;
    samples->names = RPS_INTERN_OF(struct name);
    if (sched_getaffinity(0, sizeof(samples->symbolizer.home), &samples->symbolizer.home) < 0)
        CPU_ZERO(&samples->symbolizer.home);
    rc = pmu->open_sampler(pmu_self, &possible, target, &samples->sampler, err);
    if (rc == 0)
        rc = open_tracker(samples, err);
    if (rc < 0) {
        close_recorder(samples);
        return rc;
    }
    if (target->kind != RPS_TARGET_LAUNCH)
        add_processes(samples, target);
    else if (target->pid_count > 0)
        rps_tracker_add_workload(samples->tracker, "/proc", target->pid[0]);
    samples->has_files = strcmp(pmu->name, "sim") != 0 && rps_proc_is_own();
    *ret = (struct rps_code_recorder){
        .self = samples,
        .sampler = samples->sampler,
        .sink = {samples, on_sample},
        .begin = begin,
        .period = take_period,
        .end = end,
        .name = name_frames,
        .close = close_recorder,
    };
    return 0;
}
