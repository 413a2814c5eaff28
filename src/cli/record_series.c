/* `record --repeat`: records the command several times in a row, as one group of runs. With
 * --alternate, two commands alternate, as two groups.
 *
 * Each run is recorded by a process of its own, which ends like a single recording. The separate
 * process gives up the rights for opening counters, and its CPU time covers only its run. Signals
 * of the terminal reach both the series and the recorder; other signals are passed on to the
 * recorder. Any signal ends the series after the current run. A run that fails also ends the
 * series, since later runs would not be comparable. A warm-up run only executes the command: no
 * events are counted, and no data are kept. Nothing is counted or kept for the command of
 * --prepare, which runs before each run and each warm-up run. */

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <fcntl.h>

#include "record.h"
#include "rpistat/text.h"

enum step { STEP_PREPARE, STEP_WARM_UP, STEP_RECORD };

struct series {
    struct rps_cli *cli;
    uint64_t warmup, repeat; /* number of warm-up runs, and of recorded runs, for each side */
    int signal_fd;
    sigset_t before;    /* the previous signal mask */
    int signal;         /* signal that arrived; 0: none */
    pid_t pid;          /* process of the recorder; 0: none */
    enum step step;     /* most recent step of the series */
    int status;         /* exit status of the most recent step */
    size_t count, done; /* number of sides; number of runs that have been recorded */
    struct rps_series_side side[2];
};

static void take_signals(struct series *s)
{
    struct signalfd_siginfo info;

    while (read(s->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        s->signal = (int)info.ssi_signo;
        if (s->pid > 0 && info.ssi_code != SI_KERNEL)
            kill(s->pid, s->signal);
    }
}

/* Wait for the end of the recorder's process. A recorder sends the number of its run through a
 * pipe. A warm-up run closes the pipe when it executes the command. */
static void wait_for_recorder(struct series *s, struct rps_series_side *side, int told_fd)
{
    struct pollfd fd[] = {{.fd = told_fd, .events = POLLIN},
                          {.fd = s->signal_fd, .events = POLLIN},
                          {.fd = (int)syscall(SYS_pidfd_open, s->pid, 0), .events = POLLIN}};
    int64_t run_id = 0;
    int status = 0;

    while (poll(fd, 3, -1) < 0 ? errno == EINTR : 1) {
        if (fd[1].revents)
            take_signals(s);
        if (fd[0].revents && read(told_fd, &run_id, sizeof(run_id)) != (ssize_t)sizeof(run_id))
            fd[0].fd = -1;
        if (fd[2].revents && !(fd[0].revents & POLLIN))
            break;
    }
    close(fd[2].fd);
    while (waitpid(s->pid, &status, 0) < 0 && errno == EINTR)
        ;
    s->pid = 0;
    s->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (run_id > 0) {
        side->run_id[side->count++] = run_id;
        s->done++;
    }
}

static void report_end(struct series *s)
{
    uint64_t all = s->repeat * s->count;
    char why[64] = "a run failed and";

    if (s->step == STEP_WARM_UP)
        snprintf(why, sizeof(why), "a warm-up run failed and");
    if (s->step == STEP_PREPARE)
        snprintf(why, sizeof(why), "the --prepare command failed (status %d) and", s->status);
    if (s->signal)
        snprintf(why, sizeof(why), "%s", rps_record_signal_name(s->signal));
    /* no message here if the command could not be executed, because that is already reported */
    if (s->done < all && s->status == 0 && !s->signal)
        rps_output_print("%zu of %" PRIu64 " runs are in the store", s->done, all);
    else if (s->done < all && (s->done > 0 || s->step == STEP_PREPARE ||
                               (s->step == STEP_WARM_UP && s->status != 126 && s->status != 127)))
        rps_output_print("%s ended the series: %zu of %" PRIu64 " runs were recorded", why, s->done,
                         all);
    if (s->done > 0 && !s->cli->quiet && rps_output_has_terminal())
        rps_series_summary(s->cli, s->side, s->count, s->done == all && s->status == 0);
}

/* --- the sides -------------------------------------------------------------------------------- */

/* Split a label "old,new" between the sides. */
static int split_label(struct series *s, const char *label, struct rps_error *err)
{
    const char *comma = strchr(label, ',');

    if (!comma || comma == label || !comma[1] || strchr(comma + 1, ','))
        return rps_error_set(
            err, RPS_USAGE,
            "--label '%s': --alternate needs a label for each command; write --label old,new",
            label);
    snprintf(s->side[0].label, sizeof(s->side[0].label), "%.*s", (int)(comma - label), label);
    snprintf(s->side[1].label, sizeof(s->side[1].label), "%s", comma + 1);
    return 0;
}

/* Label the sides with their programs; if equal, also with the arguments that differ: "gzip -6". */
static void label_by_command(struct series *s)
{
    struct rps_series_side *a = &s->side[0], *b = &s->side[1];
    char *name[] = {(char *)(uintptr_t)rps_text_file_name(a->argv[0]),
                    (char *)(uintptr_t)rps_text_file_name(b->argv[0])};
    int least = a->argc < b->argc ? a->argc : b->argc, before = 1, behind = 0;

    while (before < least && strcmp(a->argv[before], b->argv[before]) == 0)
        before++;
    while (behind < least - before &&
           strcmp(a->argv[a->argc - 1 - behind], b->argv[b->argc - 1 - behind]) == 0)
        behind++;
    for (int i = 0; i < 2; i++) {
        struct rps_series_side *side = &s->side[i];
        int differ = strcmp(name[0], name[1]) == 0 ? side->argc - before - behind : 0;
        char **argv = rps_arena_get(s->cli->arena, (size_t)differ + 1, sizeof(*argv));

        argv[0] = name[i];
        memcpy(argv + 1, side->argv + before, (size_t)differ * sizeof(*argv));
        rps_text_command(side->label, sizeof(side->label), 1 + differ, argv);
    }
}

/* Split the operands of --alternate at "--" into two commands. */
static int split(struct series *s, struct rps_error *err)
{
    const struct rps_record_settings *settings = s->cli->settings;
    struct rps_series_side *a = &s->side[0], *b = &s->side[1];
    int result = 0;

    *b = *a;
    s->count = 2;
    for (a->argc = 0; a->argc < b->argc && strcmp(b->argv[a->argc], "--") != 0; a->argc++)
        ;
    if (a->argc == 0 || a->argc + 1 >= b->argc)
        return rps_error_set(err, RPS_USAGE,
                             "--alternate needs two commands with -- between them, as in "
                             "--alternate ./old -- ./new");
    b->argc -= a->argc + 1;
    b->argv += a->argc + 1;
    b->argv[-1] = NULL;
    if (settings->label[0])
        result = split_label(s, settings->label, err);
    else
        label_by_command(s);
    if (result == 0 && strcmp(a->label, b->label) == 0)
        result = rps_error_set(
            err, RPS_USAGE,
            "--alternate: both commands would have the label '%.100s'; add --label old,new",
            a->label);
    return result;
}

/* --- runs ------------------------------------------------------------------------------------- */

/* Execute a command in a process of its own. Returns only on failure. */
static int execute(struct series *s, char *const *argv)
{
    int result = rps_workload_check(argv[0], getenv("PATH"), NULL, &s->cli->err);

    if (result < 0)
        return result;
    rps_signals_restore(&s->cli->before);
    execvp(argv[0], argv);
    return rps_workload_exec_error(argv[0], getenv("PATH"), errno, &s->cli->err);
}

/* Perform a step of a side. In the step's process, return 1 and the exit status in *ret_status. */
static int run(struct series *s, struct rps_series_side *side, enum step step, int *ret_status)
{
    struct rps_record_settings *settings = s->cli->settings;
    char *const prepare[] = {(char *)(uintptr_t) "/bin/sh", (char *)(uintptr_t) "-c",
                             (char *)(uintptr_t)settings->prepare, NULL};
    int told[2];

    s->step = step;
    if (pipe2(told, O_CLOEXEC) < 0 || (s->pid = fork()) < 0)
        return rps_error_set(&s->cli->err, RPS_FAILED, "cannot start run %zu: %s", s->done + 1,
                             strerror(errno));
    if (s->pid == 0) {
        close(told[0]);
        close(s->signal_fd);
        s->signal_fd = -1;
        if (step != STEP_RECORD) {
            prctl(PR_SET_NAME, "rpistat warm-up");
            *ret_status = execute(s, step == STEP_PREPARE ? prepare : side->argv);
            return 1;
        }
        sigprocmask(SIG_SETMASK, &s->before, NULL); /* until the new recorder blocks signals, a
                                                       signal ends the recorder */
        /* Each run has a different order of event sets. */
        settings->order.seed = (settings->order.seed + side->count) & INT64_MAX;
        settings->label = side->label;
        *ret_status = rps_record_once(s->cli, side->argc, side->argv,
                                      &(struct rps_record_turn){s->done, told[1]});
        return 1;
    }
    close(told[1]);
    wait_for_recorder(s, side, told[0]);
    close(told[0]);
    take_signals(s);
    return 0;
}

int rps_record_series(struct rps_cli *cli)
{
    const struct rps_record_settings *settings = cli->settings;
    struct series s = {
        .cli = cli,
        .warmup = settings->warmup,
        .repeat = settings->repeat > 0 ? settings->repeat : 1,
        .signal_fd = -1,
        .count = 1,
        .side[0] = {.argc = cli->argc, .argv = cli->argv},
    };
    int result, status = 0;

    snprintf(s.side[0].label, sizeof(s.side[0].label), "%s", settings->label);
    result = settings->alternate ? split(&s, &cli->err) : 0;
    if (result == 0 && (s.warmup > 0 || settings->prepare) && cli->argc == 0)
        result = rps_error_set(&cli->err, RPS_USAGE,
                               "--%s needs a command; name a command, or leave out the option",
                               s.warmup > 0 ? "warmup" : "prepare");
    if (result == 0)
        result = rps_record_take_signals(&s.signal_fd, &s.before, &cli->err);
    prctl(PR_SET_NAME, "rpistat series"); /* `status` ignores processes with this name */
    for (size_t i = 0; i < s.count; i++)
        s.side[i].run_id = rps_arena_get(cli->arena, s.repeat, sizeof(*s.side[i].run_id));
    for (uint64_t i = 0; i < s.count * (s.warmup + s.repeat) && result == 0; i++) {
        struct rps_series_side *side = &s.side[i % s.count];

        if (settings->prepare)
            result = run(&s, side, STEP_PREPARE, &status);
        if (result == 0 && s.status == 0 && !s.signal)
            result = run(&s, side, i / s.count < s.warmup ? STEP_WARM_UP : STEP_RECORD, &status);
        if (s.status != 0 || s.signal)
            break;
    }
    if (result == 0) {
        report_end(&s);
        status = s.status == 0 && s.signal ? 128 + s.signal : s.status;
    }
    if (s.signal_fd >= 0)
        close(s.signal_fd);
    return result < 0 ? result : status;
}
