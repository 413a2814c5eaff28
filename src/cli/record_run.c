/* The loop of a recording: counts are stored, and signals end the run.
 *
 * Signals. SIGINT, SIGQUIT, SIGTERM and SIGHUP are read from a descriptor, like the timer. A signal
 * from the terminal has already reached the workload, unless the workload has left rpistat's
 * process group (setsid). In that case rpistat passes the signal on, as it does for a signal that
 * was sent to rpistat alone. In both cases the recording ends when the workload ends, as with
 * `time`.
 *
 * The recording ends at once if the workload ignores the signal, or at the second signal that
 * rpistat receives. Signals that the terminal has also sent to the workload have no such effect.
 * All data are then written, and the workload continues. If rpistat started no workload (-p, -a), a
 * signal is how the user ends the recording, with exit status 0. After the recording, the writer
 * may wait for a store that another program has locked. A signal during this time ends the wait,
 * and the run goes into STORE.saved-ID. */
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rpistat/clock.h"
#include "rpistat/plan.h"
#include "rpistat/proc.h"
#include "rpistat/rights.h"
#include "rpistat/process.h"
#include "rpistat/store.h"

/* --- signals ---------------------------------------------------------------------------------- */

static const int handled[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
static const char *const handled_name[] = {"SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP"};

#define HANDLED_COUNT RPS_COUNT(handled)

const char *rps_record_signal_name(int number)
{
    for (size_t i = 0; i < HANDLED_COUNT; i++)
        if (handled[i] == number)
            return handled_name[i];
    return "a signal";
}

int rps_record_take_signals(int *ret_fd, sigset_t *ret_before, struct rps_error *err)
{
    return rps_signals_take(handled, HANDLED_COUNT, ret_fd, ret_before, err);
}

void rps_record_add_fitting(struct rps_recording *r, const char *before, const char *line)
{
    size_t used = strlen(r->run.fitting);

    if (*line)
        snprintf(r->run.fitting + used, sizeof(r->run.fitting) - used, "%s%s%s", used ? "\n" : "",
                 before, line);
}

/* Handle pending signals. Returns 1 and *ret if the recording must end now. */
static int on_signal(void *context, enum rps_wake *ret)
{
    struct rps_recording *r = context;
    struct signalfd_siginfo info;

    while (read(r->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        int number = (int)info.ssi_signo;

        if (r->is_over) {
            r->sent += 2; /* there is no workload to wait for, so one signal ends the wait for
                             the store */
            continue;
        }
        if (info.ssi_code == SI_KERNEL && r->argv && getpgid(r->workload.pid) == getpgrp())
            continue; /* the terminal has sent this signal to the workload as well */
        r->sent++;
        if (!r->argv || r->sent > 1 || rps_workload_ignores(&r->workload, number)) {
            r->stop_signal = number;
            r->is_stop_command = info.ssi_code == SI_QUEUE && info.ssi_int == RPS_REGISTRY_STOP;
            *ret = RPS_WAKE_STOP;
            return 1;
        }
        syscall(SYS_pidfd_send_signal, r->workload.pidfd, number, NULL, 0);
    }
    return 0;
}

void rps_record_set_over(struct rps_recording *r)
{
    const int stop_signal = r->stop_signal;
    enum rps_wake unused;

    on_signal(r, &unused); /* handle earlier signals, such as the one that ended the workload */
    r->stop_signal = stop_signal;
    r->is_over = 1;
}

int rps_record_ends_now(void *context)
{
    struct rps_recording *r = context;
    enum rps_wake unused;

    on_signal(r, &unused);
    return r->sent > 1;
}

/* --- the run ---------------------------------------------------------------------------------- */

static void hand_over_period(struct rps_recording *r)
{
    if (r->has_held)
        rps_writer_period(r->writer, &r->held);
    r->has_held = 0;
}

/* Add the CPU time of processes that Linux has stopped counting. If these processes used most of
 * the period's CPU time, the period's counts are treated as missing. The remaining counts do not
 * describe the workload. */
static void add_hidden_time(struct rps_recording *r, const struct rps_system_reading *reading)
{
    int64_t missing_ns = reading->value[RPS_TREE_RUNNING] * RPS_NS_PER_US - r->row_ns;

    if (missing_ns > reading->hidden_us * RPS_NS_PER_US)
        missing_ns = reading->hidden_us * RPS_NS_PER_US;
    if (!r->has_held || missing_ns <= 0)
        return;
    if ((uint64_t)missing_ns > r->held.enabled_ns)
        r->held.counted = 0;
    r->held.enabled_ns += (uint64_t)missing_ns;
}

static void sink_period(void *context, const struct rps_period *period)
{
    struct rps_recording *r = context;
    struct rps_period seen = *period;

    if (r->not_counted)
        seen.counted = 0;
    hand_over_period(r);
    r->held = seen;
    r->has_held = 1;
    r->task_ns += (int64_t)seen.enabled_ns;
    r->row_ns += (int64_t)seen.enabled_ns;
    if (!r->system.self || r->target.target.kind == RPS_TARGET_CPUS)
        hand_over_period(r);
    if (r->samples.self)
        r->samples.period(r->samples.self, &seen);
    r->period_count += r->period_count == 0 || period->period != r->last_period;
    r->last_period = period->period;
    rps_status_period(r->status, &seen, r->period_count);
    if (r->simulated && r->period_count % 1024 == 0)
        rps_writer_wait(r->writer);
}

static void sink_mark(void *context, int64_t time_ns, const char *text)
{
    struct rps_recording *r = context;

    rps_writer_mark(r->writer, time_ns, text);
}

static void sink_gap(void *context, int32_t cpu, int64_t start_ns, int64_t length_ns,
                     const char *reason)
{
    struct rps_recording *r = context;

    rps_writer_gap(r->writer, cpu, start_ns, length_ns, reason);
}

/* Report which metrics of a source are read or not. The run is in the store by now. */
static void report_source(struct rps_recording *r, enum rps_system_source source)
{
    struct rps_system_state state;

    if (r->reported_sources >> source & 1 || r->system.state(r->system.self, source, &state) != 0)
        return;
    rps_writer_system_state(r->writer, &state);
    r->reported_sources |= UINT32_C(1) << source;
}

static void sink_reading(void *context, const struct rps_system_reading *reading)
{
    struct rps_recording *r = context;

    if (reading->source == RPS_SYSTEM_TREE) {
        r->hidden_us += reading->hidden_us;
        add_hidden_time(r, reading);
        r->row_ns = 0;
    }
    hand_over_period(r);
    report_source(r, reading->source);
    rps_writer_system(r->writer, reading);
}

static void region_mark(void *context, int64_t time_ns, const char *text)
{
    struct rps_recording *r = context;

    rps_writer_mark(r->writer, time_ns - r->run.start_monotonic_ns, text);
}

static int64_t simulated_now_ns(void *context)
{
    const struct rps_recording *r = context;
    const struct rps_event_loop *loop = r->pmu->event_loop(r->pmu_self);

    return loop->now_ns(loop->self);
}

#define PERIODS_PER_LOOK 256 /* a simulation has many thousand periods per second */

/* Let the simulation wait, and handle signals once per PERIODS_PER_LOOK periods. */
static int simulated_wait(void *context, int64_t deadline_ns, enum rps_wake *ret,
                          struct rps_error *err)
{
    struct rps_recording *r = context;
    const struct rps_event_loop *loop = r->pmu->event_loop(r->pmu_self);
    int rc = loop->wait(loop->self, deadline_ns, ret, err);

    if (rc == 0 && *ret == RPS_WAKE_DEADLINE && r->period_count % PERIODS_PER_LOOK == 0)
        on_signal(r, ret);
    return rc;
}

/* Open the loop: it waits for signals, commands, and the end of our workload or -p's processes. */
static int open_event_loop(struct rps_recording *r, struct rps_error *err)
{
    const struct rps_watch watch[] = {
        {.fd = r->signal_fd, .on_ready = on_signal, .context = r},
        rps_control_watch(r->control),
        rps_region_marks_watch(r->region_marks),
    };
    const int *pidfd = r->argv ? &r->workload.pidfd : r->target.pidfd;
    int rc = rps_real_event_loop_open(&r->real_event_loop, pidfd,
                                      r->argv ? 1 : r->target.pidfd_count, watch, 3, err);

    if (rc == 0)
        r->event_loop = rps_real_event_loop_table(r->real_event_loop);
    return rc;
}

static int starts_at_exec(const struct rps_recording *r)
{
    return r->settings->delay_ns == 0 &&
           (r->simulated || (r->argv && r->target.target.kind == RPS_TARGET_LAUNCH));
}

/* Return 1 if counting begins as soon as everything is ready. */
static int starts_now(const struct rps_recording *r)
{
    return r->settings->delay_ns == 0 && !starts_at_exec(r);
}

/* Release the workload. The run is already in the store; the run's time begins now. */
static int release(struct rps_recording *r, struct rps_error *err)
{
    struct rps_run *run = &r->run;
    int64_t before_ns = run->start_monotonic_ns;
    int rc;

    r->workload.search_path = getenv("PATH");
    rc = rps_workload_release(&r->workload, &run->start_monotonic_ns, err);
    run->start_realtime_ns += run->start_monotonic_ns - before_ns;
    return rc;
}

/* Minimum memory for samples and their symbols. */
#define SAMPLES_BYTES_MIN ((size_t)32 << 20)

static int try_samples(struct rps_recording *r, struct rps_error *err)
{
#ifdef RPS_HAS_CODE
    struct rps_sampling_options options = {
        .event = r->plan->sampled[0] ? r->plan->sampled : NULL,
        .frequency = r->settings->frequency,
        .threshold = r->sample_threshold,
        .stacks = r->settings->stacks,
        .on = r->settings->sample_on,
        .waits = r->settings->wall,
    };

    return rps_code_recorder_open(&r->samples, &options, r->pmu, r->pmu_self, &r->target.target,
                                  err);
#else
    (void)r;
    return rps_error_set(err, RPS_FAILED, RPS_CLI_NO_CODE);
#endif
}

/* Open the samples. If samples are not available, the recording continues without samples, unless
 * the user requested them. The report shows the reason. */
static int open_samples(struct rps_recording *r, struct rps_error *err)
{
    const struct rps_record_settings *settings = r->settings;
    struct rps_error why;
    int rc;

    if (settings->no_samples || r->not_counted)
        return 0;
    if (!r->simulated && rps_memory_limit() < SAMPLES_BYTES_MIN)
        rc = rps_error_set(&why, RPS_FAILED,
                           "memory is limited to less than 32 MiB; raise ulimit -v or ulimit -d");
    else
        rc = try_samples(r, &why);
    if (rc == 0)
        return 0;
    if (settings->asks_for_samples) {
        *err = why;
        return rc;
    }
    if (!r->simulated)
        rps_record_add_fitting(r, "no samples of the code: ", why.message);
    return 0;
}

/* Open a sampler for thread events only, if there are no samples. If the sampler cannot be opened,
 * the system reader itself searches for threads. */
static void open_hearing(struct rps_recording *r)
{
    const struct rps_sampling_options options = {.hears_only = 1};
    const enum rps_target_kind kind = r->target.target.kind;

    if (!r->samples.self && !r->not_counted && !r->simulated && r->pmu->open_sampler &&
        (kind == RPS_TARGET_LAUNCH || kind == RPS_TARGET_ATTACH) &&
        r->pmu->open_sampler(r->pmu_self, &options, &r->target.target, &r->hearing, NULL) < 0)
        r->hearing.self = NULL;
}

static int try_system(struct rps_recording *r, struct rps_error *err)
{
    const enum rps_record_system asked = r->settings->signals;
    struct rps_system_options options = {
        .tree = (asked == RPS_RECORD_SYSTEM_TREE || asked == RPS_RECORD_SYSTEM_ALL) &&
                r->target.target.kind != RPS_TARGET_CPUS,
        .machine = asked == RPS_RECORD_SYSTEM_MACHINE || asked == RPS_RECORD_SYSTEM_ALL,
        .package = (asked == RPS_RECORD_SYSTEM_PACKAGE || asked == RPS_RECORD_SYSTEM_ALL) &&
                   (r->settings->all_cpus || r->simulated),
        .period_ns = r->settings->period_ns,
        .budget = r->settings->system_budget,
    };

    if (!r->simulated && !rps_proc_is_own())
        return rps_error_set(err, RPS_FAILED, RPS_PROC_FOREIGN);
    if (options.tree)
        open_hearing(r);
    options.hears = r->samples.self || r->hearing.self;
    if (!r->pmu->open_system)
        return rps_error_set(err, RPS_FAILED, "--pmu %s has no system metrics", r->pmu->name);
    return r->pmu->open_system(r->pmu_self, &options, &r->target.target, &r->system, err);
}

/* Open the system metrics; without system metrics, only a recording that requests them fails. */
static int open_system(struct rps_recording *r, struct rps_error *err)
{
    struct rps_error why;
    int rc;

    if (r->settings->signals == RPS_RECORD_SYSTEM_OFF || (rc = try_system(r, &why)) == 0)
        return 0;
    if (r->settings->needs_system)
        return rps_error_set(err, rc, "cannot read system metrics: %s", why.message);
    if (!r->simulated)
        rps_record_add_fitting(r, "no system metrics: ", why.message);
    return 0;
}

static void report_system(struct rps_recording *r)
{
    for (int source = 0; r->system.self && source < RPS_SYSTEM_SOURCES; source++)
        report_source(r, (enum rps_system_source)source);
}

static void begin_samples(struct rps_recording *r, int64_t start_ns)
{
    if (r->samples.self)
        r->samples.begin(r->samples.self, r->writer, start_ns);
}

int rps_record_attach(struct rps_recording *r, struct rps_error *err)
{
    int rc;

    if (r->argv) {
        if ((rc = rps_workload_fork(&r->workload, r->argv, &r->cli->before, err)) < 0 ||
            (rc = rps_region_marks_open(&r->region_marks, r->workload.pid, region_mark, r, err)) <
                0)
            return rc;
    }
    if (r->target.target.kind == RPS_TARGET_LAUNCH) {
        r->target.target.pid = &r->workload.pid;
        r->target.target.pid_count = 1;
        r->target.target.start_at_exec = starts_at_exec(r);
        r->target.target.first_set = rps_order_set(&r->settings->order, r->plan->set_count, 0);
    }
    if ((rc = r->pmu->attach(r->pmu_self, r->plan, &r->target.target, err)) == 0 &&
        (rc = open_samples(r, err)) == 0)
        rc = open_system(r, err);
    return rc;
}

int rps_record_launch(struct rps_recording *r, struct rps_error *err)
{
    int first = rps_order_set(&r->settings->order, r->plan->set_count, 0), rc;

    if ((rc = rps_rights_end(err)) < 0) /* give up the rights before the writer's thread exists */
        return rc;
    r->run.start_realtime_ns = rps_clock_realtime_ns();
    r->run.start_monotonic_ns = rps_clock_monotonic_ns();
    if (starts_now(r) && !r->argv && (rc = r->pmu->start(r->pmu_self, first, err)) < 0)
        return rc;
    if ((rc = rps_writer_begin(r->writer, &r->run, r->plan, err)) < 0)
        return rc;
    report_system(r);
    if (r->simulated) {
        r->simulated_loop =
            (struct rps_event_loop){r, simulated_now_ns, simulated_wait, NULL, NULL};
        r->event_loop = &r->simulated_loop;
        begin_samples(r, r->event_loop->now_ns(r->event_loop->self));
        return 0;
    }
    if ((rc = open_event_loop(r, err)) < 0 || (r->argv && (rc = release(r, err)) < 0))
        return rc;
    begin_samples(r, r->run.start_monotonic_ns);
    return r->argv && starts_now(r) ? r->pmu->start(r->pmu_self, first, err) : 0;
}

/* Open the terminal for the status line; -1: no terminal is available. If the workload uses the
 * terminal, rpistat does not draw on the terminal. If the workload writes to files, the terminal is
 * free only if rpistat is a job of its own. Otherwise other processes of the job, such as a script
 * that called rpistat, may write to the terminal. */
static int open_status_terminal(const struct rps_recording *r)
{
    if (r->cli->quiet)
        return -1;
    if (!r->argv)
        return isatty(STDERR_FILENO) ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3) : -1;
    if (getpgrp() != getpid() || !rps_output_is_file(STDOUT_FILENO) ||
        !rps_output_is_file(STDERR_FILENO))
        return -1;
    return open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
}

static int start_status(struct rps_recording *r, struct rps_error *err)
{
    int fd = open_status_terminal(r), rc;

    if (fd < 0)
        return 0;
    rc = rps_status_start(&r->status, fd, r->plan, r->writer, r->settings->max_bytes, err);
    close(fd);
    return rc;
}

int rps_record_loop(struct rps_recording *r, enum rps_loop_end *ret_end, struct rps_error *err)
{
    struct rps_sink sink = {r, sink_period, sink_mark, sink_gap};
    struct rps_system_sink system_sink = {r, sink_reading};
    struct rps_loop_options options = {
        .pmu = r->pmu,
        .pmu_self = r->pmu_self,
        .plan = r->plan,
        .order = r->settings->order,
        .event_loop = r->event_loop,
        .sink = &sink,
        .sampler = r->samples.self   ? &r->samples.sampler
                   : r->hearing.self ? &r->hearing
                                     : NULL,
        .sample_sink = r->samples.self ? &r->samples.sink : NULL,
        .system = r->system.self ? &r->system : NULL,
        .system_sink = &system_sink,
        .start_ns =
            r->simulated ? r->event_loop->now_ns(r->event_loop->self) : r->run.start_monotonic_ns,
        .period_ns = r->settings->period_ns,
        .fine_start = r->settings->fine_start,
        .duration_ns = r->settings->duration_ns,
        .delay_ns = r->settings->delay_ns,
        .paused = r->settings->delay_ns < 0,
        .counting = r->settings->delay_ns == 0,
    };
    int rc;

    if ((rc = start_status(r, err)) < 0)
        return rc;
    r->busy_ns = rps_clock_process_cpu_ns() - rps_proc_busy_ns();
    rc = rps_loop_run(&options, ret_end, &r->run.elapsed_ns, err);
    r->busy_ns += rps_proc_busy_ns() - rps_clock_process_cpu_ns();
    hand_over_period(r);
    if (r->samples.self)
        r->children_cpu_ns = r->samples.end(r->samples.self);
    rps_status_stop(r->status);
    r->status = NULL;
    return rc;
}

/* --- a workload that continues ---------------------------------------------------------------- */

void rps_record_wait(struct rps_recording *r)
{
    struct pollfd fd[2] = {
        {.fd = r->workload.pidfd, .events = POLLIN},
        {.fd = r->signal_fd, .events = POLLIN},
    };
    enum rps_wake unused;

    while (!r->stop_signal) {
        if (poll(fd, 2, -1) < 0 && errno != EINTR)
            return;
        if (fd[0].revents)
            return;
        if (fd[1].revents && on_signal(r, &unused))
            return;
    }
}
