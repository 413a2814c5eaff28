/*
 * `record --repeat`: the command several times in a row, as one group of runs.
 *
 * Each run is recorded by a process of its own, which ends as a recording alone would: it gives up
 * the rights that opening counters takes, and its CPU time is that of its run. Signals of the
 * terminal reach it as they reach us; others are passed on. Any signal ends the series with the run
 * that it meets, and so does a run that fails: what runs after it would not be the same.
 */
#include "record_series.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include <fcntl.h>

#include "record.h"
#include "rpistat/text.h"

struct series {
    struct rps_cli *cli;
    uint64_t repeat;
    int signal_fd;
    int signal; /* that came; 0: none */
    pid_t pid;  /* of the recorder; 0: none */
    int status; /* of the last run */
    size_t count;
    int64_t *run_id; /* owned; of those that were recorded */
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

/* Wait for the recorder, which tells the number of its run through the pipe that it has open. */
static void wait_for_recorder(struct series *s, int told_fd)
{
    struct pollfd fd[2] = {{.fd = told_fd, .events = POLLIN},
                           {.fd = s->signal_fd, .events = POLLIN}};
    int64_t run_id = 0;
    int status = 0;

    while (poll(fd, 2, -1) < 0 ? errno == EINTR : 1) {
        if (fd[1].revents)
            take_signals(s);
        if (fd[0].revents && read(told_fd, &run_id, sizeof(run_id)) != (ssize_t)sizeof(run_id))
            break; /* it has ended */
    }
    while (waitpid(s->pid, &status, 0) < 0 && errno == EINTR)
        ;
    s->pid = 0;
    s->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (run_id > 0)
        s->run_id[s->count++] = run_id;
}

/* "4-8", "4,6-8" */
static char *list_runs(const struct series *s, char *ret, size_t size)
{
    size_t used = 0;

    ret[0] = '\0';
    for (size_t i = 0, end; i < s->count && used < size; i = end) {
        for (end = i + 1; end < s->count && s->run_id[end] == s->run_id[end - 1] + 1; end++)
            ;
        used +=
            (size_t)snprintf(ret + used, size - used, "%s%" PRId64, i > 0 ? "," : "", s->run_id[i]);
        if (end - i > 1 && used < size)
            used += (size_t)snprintf(ret + used, size - used, "-%" PRId64, s->run_id[end - 1]);
    }
    return ret;
}

/* On a terminal: which runs, and, of a whole series, how they are compared: with as many before
 * them, or with those to come. */
static void show_summary(const struct series *s)
{
    const char *store = s->cli->output;
    int64_t first = s->run_id[0], count = (int64_t)s->count, from;
    int is_first = first <= count;
    char runs[256], other[64], command[1024], text[2048];
    const char *argv[] = {program_invocation_name, "compare", "-i", store, NULL, NULL, NULL};
    int argc = strcmp(store, s->cli->command->output_value) == 0 ? 2 : 4;

    list_runs(s, runs, sizeof(runs));
    from = is_first ? s->run_id[s->count - 1] + 1 : first - count;
    snprintf(other, sizeof(other), count > 1 ? "%" PRId64 "-%" PRId64 : "%" PRId64, from,
             from + count - 1);
    argv[argc++] = is_first ? runs : other;
    argv[argc++] = is_first ? other : runs;
    argv[argc] = NULL;
    snprintf(text, sizeof(text), "run%s %s in the store %s", count > 1 ? "s" : "", runs, store);
    rps_output_message(text);
    if (s->count < s->repeat || s->status != 0)
        return;
    rps_text_command(command, sizeof(command), argc, (char *const *)(uintptr_t)argv);
    snprintf(text, sizeof(text), "next: %s%s",
             is_first ? "record what is to be compared in the same way, then " : "", command);
    rps_output_message(text);
}

static void say_end(const struct series *s)
{
    char text[128], why[64] = "a run that failed";

    if (s->signal)
        snprintf(why, sizeof(why), "%s", rps_record_signal_name(s->signal));
    if (s->count > 0 && s->count < s->repeat) {
        snprintf(text, sizeof(text), "%s ended the series: %zu of %" PRIu64 " runs were recorded",
                 why, s->count, s->repeat);
        rps_output_message(text);
    }
    if (s->count > 0 && !s->cli->quiet && rps_output_has_terminal())
        show_summary(s);
}

static void series_free(struct series *s)
{
    free(s->run_id);
    if (s->signal_fd >= 0)
        close(s->signal_fd);
}

int rps_record_series(struct rps_cli *cli, int argc, char **argv)
{
    struct rps_record_settings *settings = cli->settings;
    struct series s = {
        .cli = cli,
        .repeat = settings->repeat,
        .signal_fd = -1,
    };
    sigset_t before;
    int told[2], result = rps_record_take_signals(&s.signal_fd, &before, &cli->err);

    prctl(PR_SET_NAME, "rpistat series"); /* `status` takes none of that name for a recorder */
    s.run_id = calloc(s.repeat, sizeof(*s.run_id));
    if (result == 0 && !s.run_id)
        result = rps_error_memory(&cli->err);
    for (uint64_t i = 0; i < s.repeat && result == 0 && s.status == 0 && !s.signal; i++) {
        if (pipe2(told, O_CLOEXEC) < 0 || (s.pid = fork()) < 0) {
            result = rps_error_set(&cli->err, RPS_FAILED, "cannot start run %" PRIu64 ": %s", i + 1,
                                   strerror(errno));
            break;
        }
        if (s.pid == 0) {
            prctl(PR_SET_NAME, "rpistat");
            close(told[0]);
            series_free(&s);
            sigprocmask(SIG_SETMASK, &before, NULL); /* until it takes them itself they end it */
            settings->order.seed = (settings->order.seed + i) & INT64_MAX; /* other orders each */
            return rps_record_once(cli, argc, argv, &(struct rps_record_turn){i, told[1]});
        }
        close(told[1]);
        wait_for_recorder(&s, told[0]);
        close(told[0]);
        take_signals(&s);
    }
    if (result == 0) {
        say_end(&s);
        result = s.status == 0 && s.signal ? 128 + s.signal : s.status;
    }
    series_free(&s);
    return result;
}
