/* `rpistat record`: connects measurement to the store.
 *
 * The order of the steps matters. Every possible error in the command, the counters, the plan and
 * the store is found before the workload runs. Then rpistat forks a child that waits, opens its
 * counters, opens or creates the store and adds the run. After that, rpistat releases the child,
 * loops until the child ends (record_run.c), finishes the store, and writes the report
 * (record_report.c). An error before the release leaves no new store. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "machine.h"
#include "cli.h"
#include "record.h"
#include "rpistat/clock.h"
#include "rpistat/plan.h"
#include "rpistat/workload.h"
#include "rpistat/report.h"
#include "rpistat/proc.h"
#include "rpistat/run.h"
#include "rpistat/store.h"
#include "rpistat/text.h"

/* Counted CPU time that differs from the command's by more than both limits causes a remark. */
#define APART_NS_MIN (50 * RPS_NS_PER_MS)
#define APART_SHARE  .05

/* Maximum number of process numbers in the message about processes that outlive the command. */
#define LEFT_MAX 4

/* With --keep, fine rows are deleted only after the run has this number of coarser rows. */
#define KEEP_BLOCKS 240

/* --- before the run --------------------------------------------------------------------------- */

static void keep_note(struct rps_recording *r, const char *sentence)
{
    size_t size = strlen(sentence) + 1;

    if (size > sizeof(r->notes) - r->notes_size) {
        r->notes_left_out++;
        return;
    }
    memcpy(r->notes + r->notes_size, sentence, size);
    r->notes_size += size;
}

/* Report a note of the writer. Called in the writer's thread, or before the thread starts. */
static void notice(void *context, const char *sentence)
{
    struct rps_recording *r = context;

    if (r->cli->quiet)
        return;
    pthread_mutex_lock(&r->note_lock);
    if (r->keeps_notes) {
        keep_note(r, sentence);
    } else {
        if (!r->argv && rps_output_has_terminal())
            fputs("\r\033[K", stderr); /* erase the status line */
        rps_output_message(sentence);
    }
    pthread_mutex_unlock(&r->note_lock);
}

/* Print the notes that waited because the workload used the terminal. Call this function after the
 * workload has ended, or has outlived the recording. The function may be called several times. */
static void report_notes(struct rps_recording *r)
{
    pthread_mutex_lock(&r->note_lock);
    for (size_t at = 0; at < r->notes_size; at += strlen(r->notes + at) + 1)
        rps_output_message(r->notes + at);
    if (r->notes_left_out > 0)
        rps_output_print("%zu more notes are left out", r->notes_left_out);
    r->notes_size = r->notes_left_out = 0;
    r->keeps_notes = 0;
    pthread_mutex_unlock(&r->note_lock);
}

/* Return the event with this number, from 0, among the plan's events not counted; NULL: none. */
static const struct rps_event *not_counted(const struct rps_plan *plan, size_t number)
{
    for (int n = 0; n < plan->set_count; n++)
        for (int slot = 0; slot < plan->set[n].event_count; slot++)
            if (plan->set[n].event[slot].state != RPS_EVENT_MEASURED && number-- == 0)
                return &plan->set[n].event[slot];
    return NULL;
}

/* Print the reasons why events are not counted. Each reason is printed once, with all events to
 * which the reason applies. */
static void report_not_counted(const struct rps_plan *plan)
{
    const struct rps_event *event, *other;

    for (size_t i = 0; (event = not_counted(plan, i)) != NULL; i++) {
        char labels[1024] = "";
        size_t count = 0, before = 0;

        while (before < i && strcmp(not_counted(plan, before)->reason, event->reason) != 0)
            before++;
        for (size_t k = i; before == i && (other = not_counted(plan, k)) != NULL; k++)
            if (strcmp(other->reason, event->reason) == 0) {
                rps_text_list(labels, sizeof(labels), other->label);
                count++;
            }
        if (count > 0)
            rps_output_print("%s %s not counted: %s", labels, count > 1 ? "are" : "is",
                             event->reason);
    }
}

/* Before the run, show the notes on the event sets, but only on a terminal, because the report also
 * contains these notes. Notes on limits of this machine are printed once per store. Notes on
 * rejected requests of the user are printed in every run. */
static void show_fitting(const struct rps_recording *r)
{
    const struct rps_record_settings *settings = r->settings;
    int asked = settings->events.count > 0 || settings->scenario || settings->sets, is_first;
    char text[sizeof(r->run.fitting)];
    char *save = NULL;
    struct stat store;

    if (r->cli->quiet || !isatty(STDERR_FILENO) || (r->turn && r->turn->number > 0))
        return;
    /* The store is not opened, since the store may be locked. */
    is_first = stat(r->cli->output, &store) < 0 || store.st_size == 0;
    snprintf(text, sizeof(text), "%s", r->run.fitting);
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (is_first || strcmp(line, RPS_RUN_NO_COUNTS) == 0)
            rps_output_message(line);
    }
    if (is_first || asked)
        report_not_counted(r->plan);
}

/* Print a note for `rpistat stat ./x`. This command records the program stat(1), which a user of
 * another tool may not intend. */
static void report_habit(const struct rps_recording *r, const char *path)
{
    const char *meant = r->cli->implicit ? rps_names_habit(r->argv[0]) : NULL;

    if (!meant || r->cli->quiet || !isatty(STDERR_FILENO))
        return;
    rps_output_print("recording the program %.300s; rpistat's own command is 'rpistat %s'", path,
                     meant);
}

/* Parse --sample EVENT or EVENT:N; RPS_USAGE for an invalid number. */
static int read_sample_event(struct rps_recording *r, struct rps_error *err)
{
    const char *text = r->settings->sample ? r->settings->sample : "";
    const char *colon = strrchr(text, ':');
    int has_threshold = colon && isdigit((unsigned char)colon[1]);

    snprintf(r->plan->sampled, sizeof(r->plan->sampled), "%.*s",
             has_threshold ? (int)(colon - text) : (int)strlen(text), text);
    return has_threshold ? rps_parse_uint64("--sample EVENT:N", colon + 1, 1, INT64_MAX,
                                            &r->sample_threshold, err)
                         : 0;
}

/* Check the command and choose the counters. Nothing is created or started. */
static int prepare_counters(struct rps_recording *r, struct rps_error *err)
{
    const struct rps_record_settings *settings = r->settings;
    char *path = NULL;
    int rc;

    if (r->argv) {
        rc = rps_workload_check(r->argv[0], getenv("PATH"), &path, err);
        if (rc == RPS_CANNOT_FIND && r->cli->implicit && *r->argv[0] && !strchr(r->argv[0], '/'))
            rc = rps_names_not_found(r->argv[0], err);
        if (rc < 0)
            return rc;
        report_habit(r, path);
        r->not_counted =
            rps_workload_drops_counters(path) && r->target.target.kind == RPS_TARGET_LAUNCH;
        if (r->not_counted)
            rps_record_add_fitting(r, "", RPS_RUN_NO_COUNTS);
        free(path);
    }
    rc = rps_pmu_open(settings->pmu, rps_machine_others, &r->pmu, &r->pmu_self, r->note,
                      sizeof(r->note), err);
    if (rc == 0)
        rc = rps_record_plan_load(settings, r->pmu, &r->plan, r->note, err);
    if (rc == 0 && !settings->no_samples)
        rc = read_sample_event(r, err);
    if (rc == 0)
        rc = rps_pmu_prepare(r->pmu, r->pmu_self, r->plan, !settings->always_rotate, &r->fitting,
                             err);
    if (rc < 0)
        return rc;
    rps_pmu_measure_costs(r->plan);
    rps_record_add_fitting(r, "", r->note);
    rps_record_add_fitting(r, "", r->fitting.text);
    return 0;
}

static void describe_run(struct rps_recording *r, int argc)
{
    char *simulated[] = {(char *)(uintptr_t)r->settings->pmu, NULL};
    struct rps_run *run = &r->run;

    rps_host_describe(run);
    rps_run_set_command(run, r->argv ? argc : r->simulated, r->argv ? r->argv : simulated);
    rps_record_target_command(r->cli->arena, &r->target, run);
    snprintf(run->target, sizeof(run->target), "%s", r->simulated ? "simulation" : r->target.text);
    snprintf(run->label, sizeof(run->label), "%s", r->settings->label);
    snprintf(run->version, sizeof(run->version), "%s", RPS_VERSION);
    snprintf(run->pmu, sizeof(run->pmu), "%s", r->pmu->name);
    snprintf(run->clock_label, sizeof(run->clock_label), "%s", r->plan->clock.label);
    run->counter_count = r->fitting.counter_count;
    run->period_ns = r->settings->period_ns;
    if (r->settings->order.is_random && r->plan->set_count > 1)
        run->order_seed = (int64_t)r->settings->order.seed;
    rps_tag_add(run, &r->settings->tag);
}

/* Open the store. While another program has locked the store, the writer's thread tries again. */
static int open_store(struct rps_recording *r, struct rps_error *err)
{
    const int cpu_count = r->target.target.cpu_count > 0 ? r->target.target.cpu_count : 1;
    const struct rps_writer_options options = {
        .commit_ns = r->settings->commit_ns,
        .starts_locked = 1,
        .durability_full = r->settings->durability_full,
        .keep_ns = r->settings->keep_ns,
        .keep_blocks = KEEP_BLOCKS,
        .max_bytes = r->settings->max_bytes,
        .ring_periods =
            r->simulated ? 0 : rps_writer_ring_periods(r->settings->period_ns, cpu_count),
        .notice = notice,
        .notice_context = r,
        .ends_now = rps_record_ends_now,
        .ends_now_context = r,
        .beat = rps_registry_beat,
        .beat_context = &r->registry,
    };

    return rps_writer_open(&r->writer, r->store, &options, err);
}

/* --- after the run ---------------------------------------------------------------------------- */

static void describe_end(struct rps_recording *r, enum rps_loop_end end)
{
    struct rps_run *run = &r->run;

    if (end == RPS_LOOP_DURATION)
        snprintf(run->end_reason, sizeof(run->end_reason), "--duration was over");
    else if (end == RPS_LOOP_STOPPED)
        snprintf(run->end_reason, sizeof(run->end_reason), "stopped by %s",
                 r->is_stop_command ? "`rpistat stop`"
                 : r->stop_signal   ? rps_record_signal_name(r->stop_signal)
                                    : "--control");
}

struct conclusion {
    int64_t run_id;
    struct rps_plan *plan; /* plan of the recording; owned */
};

static int conclude(void *context, struct rps_reader *reader, struct rps_error *err)
{
    struct conclusion *conclusion = context;

    return rps_report_conclude(reader, conclusion->run_id, &conclusion->plan, err);
}

/* Store the run's estimates. A reader of a run without estimates computes the estimates itself. */
static void keep_estimates(struct rps_recording *r)
{
    struct conclusion conclusion = {.run_id = r->run.run_id};

    if (rps_writer_read(r->writer, conclude, &conclusion, NULL) == 0)
        rps_writer_set_estimates(r->writer, conclusion.plan, NULL);
    rps_plan_free(conclusion.plan);
}

/* Return the CPU time of child processes that have ended. */
static int64_t children_cpu_ns(void)
{
    struct rusage usage;

    getrusage(RUSAGE_CHILDREN, &usage);
    return rps_clock_timeval_ns(&usage.ru_utime) + rps_clock_timeval_ns(&usage.ru_stime);
}

/* Find symbols, which may take seconds. If rpistat now controls the terminal, the terminal shows
 * progress. Child processes find the symbols. The CPU time of these processes is added to that of
 * the recorder; the CPU time of the workload is not added. */
static void name_code(struct rps_recording *r)
{
    int64_t before_ns = children_cpu_ns();
    struct rps_error why;
    int rc;

    if (rps_output_has_terminal())
        rps_progress_begin(r->cli, "reading symbols");
    rc = r->samples.name(r->samples.self, r->run.run_id, &why);
    rps_progress_end(r->cli);
    r->before_end_ns -= children_cpu_ns() - before_ns;
    if (rc < 0)
        notice(r, why.message);
}

static int wait_for_workload(struct rps_recording *r, struct rps_error *err)
{
    struct rps_workload_end end;
    int rc = rps_workload_wait(&r->workload, &end, err);

    if (rc < 0)
        return rc;
    r->run.exit_status = end.status;
    r->run.exit_signal = end.signal;
    r->run.user_ns = end.user_ns;
    r->run.system_ns = end.system_ns;
    r->run.memory_bytes = end.memory_bytes;
    return 0;
}

struct late_events {
    const struct rps_system_reader *system;
    size_t count;
};

static void add_late_event(void *context, const struct rps_sample *sample)
{
    struct late_events *late = context;

    late->count += sample->kind == RPS_SAMPLE_FORK;
    late->system->hear(late->system->self, sample);
}

/* Find the processes that the command left, in the same way as `left` in struct rps_system_reader.
 * If all known processes have ended, the sampler has already received the events of their forks.
 * For example, a daemon's first process forks the second one and exits. Each iteration reads these
 * events and finds a process that is one generation younger. */
static size_t find_left(struct rps_recording *r, pid_t *ret_pid, size_t size)
{
    struct late_events late = {.system = &r->system};
    const struct rps_sample_sink sink = {&late, add_late_event};
    const struct rps_sampler *sampler = r->samples.self ? &r->samples.sampler : &r->hearing;
    size_t count = r->system.left(r->system.self, ret_pid, size), seen;

    do {
        seen = late.count;
        if (count == 0 && sampler->self &&
            sampler->drain(sampler->self, INT64_MAX, &sink, NULL) == 0)
            count = r->system.left(r->system.self, ret_pid, size);
    } while (count == 0 && late.count > seen);
    return count;
}

/* Report the command's processes that still run after the end of the command. */
static void report_left(struct rps_recording *r)
{
    pid_t pid[LEFT_MAX];
    char text[256];
    size_t count = 0, used;

    if (r->system.self && r->system.left && r->target.target.kind == RPS_TARGET_LAUNCH)
        count = find_left(r, pid, LEFT_MAX);
    if (count == 0)
        return;
    used = (size_t)snprintf(text, sizeof(text),
                            "%zu process%s of the command still ran when it ended; to record %s: "
                            "rpistat record -p ",
                            count, count == 1 ? "" : "es", count == 1 ? "it" : "them");
    for (size_t i = 0; i < count && i < LEFT_MAX; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%ld", i > 0 ? "," : "",
                                 (long)pid[i]);
    if (count > LEFT_MAX)
        snprintf(text + used, sizeof(text) - used, ",...");
    rps_record_add_fitting(r, "", text);
    notice(r, text);
}

/* Print a remark if the counted CPU time differs from the command's CPU time. */
static void compare_cpu_time(struct rps_recording *r)
{
    const int64_t used_ns = r->run.user_ns + r->run.system_ns,
                  apart_ns = llabs(used_ns - r->task_ns);
    char line[160];

    if (r->not_counted || r->run.user_ns < 0 || r->target.target.kind != RPS_TARGET_LAUNCH ||
        r->settings->delay_ns != 0 || r->control || apart_ns <= APART_NS_MIN ||
        (double)apart_ns <= APART_SHARE * (double)used_ns)
        return;
    snprintf(line, sizeof(line), "%.3f s " RPS_RUN_OTHER_TIME " %.3f s for the command. %s: ",
             (double)r->task_ns / RPS_NS_PER_S, (double)used_ns / RPS_NS_PER_S,
             r->hidden_us > 0 ? "Reason" : "Possible reason");
    rps_record_add_fitting(
        r, line,
        r->task_ns > used_ns
            ? "Linux leaves out processes that nobody waited for, and time that a hypervisor took"
        : r->hidden_us > 0 || !r->system.self ? RPS_RUN_SOME_COUNTS
                                              : "Linux counts no process while it starts and ends");
}

/* Find the CPU time that neither the workload nor the recorder used. Linux counts the machine's CPU
 * time in ticks, so the time is unknown for a short run. */
static void find_others(struct rps_recording *r)
{
    const int64_t used_ns = r->run.user_ns + r->run.system_ns;
    int64_t others_ns = r->busy_ns - r->children_cpu_ns -
                        (r->run.user_ns >= 0 && used_ns > r->task_ns ? used_ns : r->task_ns);

    if (!r->simulated && !rps_run_is_of_machine(r->run.target) && rps_proc_busy_ns() >= 0 &&
        r->run.elapsed_ns >= RPS_RUN_OTHERS_MIN_NS)
        r->run.others_cpu_ns = others_ns > 0 ? others_ns : 0;
}

/* Finish the run in the store. If `failed` is set, the loop's error is in err, and is stored with
 * the run. */
static int finish_store(struct rps_recording *r, enum rps_loop_end end, int failed,
                        struct rps_error *err)
{
    struct rps_run *run = &r->run;
    struct rps_writer_status status;
    struct rps_error later;
    int rc = 0, ended;

    run->state = failed ? RPS_RUN_INTERRUPTED : RPS_RUN_COMPLETE;
    if (failed)
        snprintf(run->end_reason, sizeof(run->end_reason), "%.*s", RPS_RUN_TEXT_SIZE - 1,
                 err->message);
    else
        describe_end(r, end);
    if (r->simulated && end != RPS_LOOP_STOPPED)
        r->pmu->outcome(r->pmu_self, &run->exit_status, &run->exit_signal);
    else if (!r->simulated && r->argv && end == RPS_LOOP_WORKLOAD && !failed) {
        rc = wait_for_workload(r, err);
        report_left(r);
    }
    if (!r->argv || (end == RPS_LOOP_WORKLOAD && !failed))
        rps_record_set_over(r);
    compare_cpu_time(r);
    r->before_end_ns = rps_clock_process_cpu_ns();
    run->recorder_cpu_ns = r->before_end_ns + r->children_cpu_ns;
    find_others(r);
    rps_record_begin_reading(r);
    ended = rps_writer_end(r->writer, run, failed || rc < 0 ? &later : err);
    rps_writer_status(r->writer, &status);
    r->is_damaged = status.is_damaged;
    run->run_id = status.run_id;
    if (ended == RPS_BUSY) { /* the run is in another file or incomplete; keep the exit status */
        rps_output_message(failed || rc < 0 ? later.message : err->message);
        r->no_report = strcmp(status.file, r->cli->output) == 0;
        if (!r->no_report)
            r->store = rps_arena_print(r->cli->arena, "%s", status.file);
    } else if (ended < 0) {
        rc = RPS_FAILED;
    }
    if (rc == 0 && !r->no_report)
        keep_estimates(r);
    rps_registry_end(&r->registry);
    if (r->samples.self && run->run_id > 0 &&
        !(status.is_damaged && (status.failing || status.is_empty)))
        name_code(r);
    return rc;
}

static void close_readers(struct rps_recording *r)
{
    if (r->system.self)
        r->system.close(r->system.self);
    if (r->hearing.self)
        r->hearing.close(r->hearing.self);
    r->system.self = r->hearing.self = NULL;
    if (r->samples.self)
        r->samples.close(r->samples.self);
    r->samples.self = NULL;
}

/* Wait for a workload that continues after the end of the recording, and return its exit status. */
static void outlive(struct rps_recording *r)
{
    r->outlived = 1;
    rps_writer_close(r->writer); /* the wait may be long, so the store is completed before the
                                    wait */
    r->writer = NULL;
    rps_control_close(r->control); /* from now on commands of --control have no effect */
    r->control = NULL;
    close_readers(r);
    r->pmu->close(r->pmu_self);
    r->pmu_self = NULL;
    rps_record_wait(r);
    if (!r->stop_signal)
        wait_for_workload(r, NULL);
}

/* Run all steps of a recording from the launch to the report. */
static int record(struct rps_recording *r, struct rps_error *err)
{
    enum rps_loop_end end = RPS_LOOP_WORKLOAD;
    int rc, failed;

    r->keeps_notes = r->argv && isatty(STDERR_FILENO);
    if ((rc = rps_record_attach(r, err)) == 0 && (rc = open_store(r, err)) == 0)
        rc = rps_record_launch(r, err);
    if (rc < 0) {
        rps_writer_abandon(r->writer);
        r->writer = NULL;
        r->run.run_id = 0;
        report_notes(r);
        return rc;
    }
    failed = rps_record_loop(r, &end, err) < 0;
    rps_region_marks_finish(r->region_marks);
    if (!failed && end == RPS_LOOP_WORKLOAD)
        report_notes(r);
    rc = finish_store(r, end, failed, err);
    if (r->argv && (failed || end != RPS_LOOP_WORKLOAD) && !r->stop_signal) {
        if (failed && !r->keeps_notes) { /* print the error now, not when the workload ends */
            rps_output_message(err->message);
            err->message[0] = '\0';
        }
        outlive(r);
    }
    report_notes(r);
    if (rc < 0 && !failed && r->argv && r->is_damaged) {
        rps_output_message(err->message);
        return rps_record_exit_status(r);
    }
    if (failed || rc < 0)
        return RPS_FAILED;
    if (r->no_report)
        return rps_record_exit_status(r);
    rc = r->writer ? 0 : open_store(r, err);
    rc = rc < 0 ? rps_record_without_report(r, rc, err) : rps_record_report(r, err);
    if (rc < 0 && !r->argv)
        return rc;
    if (rc < 0) /* the run is stored: return the workload's status, not an error */
        rps_output_message(err->message);
    return rps_record_exit_status(r);
}

static int check_usage(const struct rps_recording *r, int argc, struct rps_error *err)
{
    enum rps_target_kind kind = r->target.target.kind;

    if (r->simulated && (argc > 0 || kind != RPS_TARGET_LAUNCH || r->control))
        return rps_error_set(err, RPS_USAGE,
                             "--pmu %s runs the workload of its script; leave out the command, -p, "
                             "-a, -C, -G and --control",
                             r->settings->pmu);
    if (!r->simulated && argc == 0 && kind == RPS_TARGET_LAUNCH)
        return rps_error_set(err, RPS_USAGE,
                             "no command to record; name one, or see `rpistat record --help`");
    if (argc == 0 && r->settings->jit_names &&
        rps_options_set(r->cli, "jit-names", RPS_SOURCE_COMMAND_LINE))
        return rps_error_set(err, RPS_USAGE,
                             "--jit-names changes the environment of a command; name one");
    if (argc > 0 && kind == RPS_TARGET_ATTACH)
        return rps_error_set(err, RPS_USAGE, "-p records running processes; leave out the command");
    return 0;
}

/* Check that the workload's redirected output is not a file that rpistat writes. */
static int check_stream(const char *path, const char *what, struct rps_error *err)
{
    struct stat file, stream;

    if (stat(path, &file) < 0 || !S_ISREG(file.st_mode))
        return 0;
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fstat(fd, &stream) < 0 || stream.st_dev != file.st_dev || stream.st_ino != file.st_ino)
            continue;
        return rps_error_set(err, RPS_USAGE,
                             "%s receives the output, and the %s would replace it; redirect the "
                             "output to another file, or name another store with -o",
                             path, what);
    }
    return 0;
}

/* Check that the store and the report next to it can be written. A named pipe is refused, because
 * rpistat would wait for the pipe's reader after the workload. */
static int check_files(const char *store, const char *path, struct rps_error *err)
{
    struct rps_output output;
    struct stat file;

    /* An error of the directory has the store's name, which the user gave. */
    if (stat(store, &file) < 0) {
        if (rps_output_open(&output, store, err) < 0)
            return RPS_FAILED;
        rps_output_abandon(&output);
    }
    if (stat(path, &file) == 0 && S_ISFIFO(file.st_mode))
        return rps_error_set(err, RPS_FAILED,
                             "cannot write the report to %s: this file is a named pipe; remove the "
                             "pipe, or name another store with -o",
                             path);
    if (rps_output_open(&output, path, err) < 0)
        return rps_error_prefix(err, RPS_FAILED, "the report of %s", store);
    rps_output_abandon(&output);
    return 0;
}

static void control_mark(void *context, const char *text)
{
    struct rps_recording *r = context;

    rps_writer_mark(r->writer, rps_clock_monotonic_ns() - r->run.start_monotonic_ns, text);
}

/* Make all checks that are possible before something is created or started. */
static int prepare(struct rps_recording *r, int argc, struct rps_error *err)
{
    int rc;

    if ((rc = rps_record_target_open(r->cli->arena, r->settings, &r->target, err)) < 0 ||
        (rc = check_usage(r, argc, err)) < 0 || (rc = prepare_counters(r, err)) < 0)
        return rc;
    describe_run(r, argc);
    r->report_path = rps_record_path_beside(r->cli->arena, r->cli->output, ".txt");
    if ((rc = check_stream(r->report_path, "report", err)) < 0 ||
        (rc = check_stream(r->cli->output, "store", err)) < 0 ||
        (rc = check_files(r->cli->output, r->report_path, err)) < 0)
        return rc;
    return r->settings->control
               ? rps_control_open(&r->control, r->settings->control, control_mark, r, err)
               : 0;
}

int rps_record_once(struct rps_cli *cli, int argc, char **argv, const struct rps_record_turn *turn)
{
    struct rps_recording r = {
        .cli = cli,
        .store = cli->output,
        .settings = cli->settings,
        .argv = argc > 0 ? argv : NULL,
        .workload = {.pidfd = -1, .release_fd = -1, .status_fd = -1},
        .signal_fd = -1,
        .registry = {.fd = -1},
        .turn = turn,
        .note_lock = PTHREAD_MUTEX_INITIALIZER,
    };
    struct rps_error *err = &cli->err;
    int rc;

    r.simulated = strncmp(r.settings->pmu, "sim:", 4) == 0;
    rps_run_init(&r.run);
    prctl(PR_SET_NAME,
          "rpistat"); /* `status` recognizes a recorder by this name, not by the name of the
                         program's file */
    if ((rc = prepare(&r, argc, err)) < 0)
        goto out;
    show_fitting(&r);
    if ((rc = rps_record_take_signals(&r.signal_fd, NULL, err)) == 0)
        rc = record(&r, err);
    rps_record_report_number(&r);
out:
    rps_real_event_loop_close(r.real_event_loop);
    rps_control_close(r.control);
    rps_region_marks_close(r.region_marks);
    rps_record_target_close(&r.target);
    rps_workload_close(&r.workload);
    close_readers(&r);
    if (r.pmu_self)
        r.pmu->close(r.pmu_self);
    rps_writer_close(r.writer);
    rps_registry_close(&r.registry);
    rps_plan_free(r.plan);
    rps_run_free(&r.run);
    if (r.signal_fd >= 0)
        close(r.signal_fd);
    return rc;
}
