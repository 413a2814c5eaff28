/* `rpistat stop`: ends a recording, as SIGTERM to its recorder does, and waits until the recording
 * is complete.
 *
 * SAFETY: a pidfd sends the signal only to the process that, according to Linux, has locked the
 * run's file, and whose user owns the file. `stop` waits for the recorder's end, because all data
 * are written by then. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli.h"
#include "registry.h"
#include "rpistat/clock.h"
#include "rpistat/store.h"
#include "rpistat/text.h"

#define NAME_SIZE 800

struct stop_settings {
    int is_all;
    int64_t timeout_ns;
};

#define AT(member) RPS_AT(struct stop_settings, member)

static const struct rps_option options[] = {
    {"input", 'i', "FILE", "store of the run (default all of your recordings)", NULL,
     RPS_OPTION_TEXT, RPS_AT_COMMON(input), .is_once = 1},
    {"all", 0, NULL, "end all of your recordings", NULL, RPS_OPTION_FLAG, AT(is_all), .is_once = 1},
    {"timeout", 0, "T", "longest time to wait", "30s", RPS_OPTION_DURATION, AT(timeout_ns), 0,
     86400 * RPS_NS_PER_S},
    {NULL},
};

/* Put a text such as "run 3 (label nightly, ./naive) of /var/x.data". */
static char *name_of(char ret[NAME_SIZE], const struct rps_recorder *recorder)
{
    char run[512], store[256];

    snprintf(ret, NAME_SIZE, "%s of %s", rps_format_run(run, sizeof(run), &recorder->entry.run),
             rps_text_printable(store, sizeof(store), recorder->entry.store));
    return ret;
}

/* --- choosing --------------------------------------------------------------------------------- */

/* Return 1 if `text` is the number, the label or a tag of the run. */
static int is_meant(const struct rps_run *run, const char *text)
{
    char number[24];

    snprintf(number, sizeof(number), "%" PRId64, run->run_id);
    return (run->run_id > 0 && strcmp(number, text) == 0) ||
           (text[0] != '\0' && strcmp(run->label, text) == 0) || rps_tag_is(run, text);
}

/* Report the state of a run that has no recorder, from the store that -i names. */
static int report_store(struct rps_cli *cli, const char *text)
{
    struct rps_reader *reader = NULL;
    char title[128];
    struct rps_run run;
    int64_t run_id;
    int result = rps_reader_open(&reader, cli->input, &cli->err);

    if (result == 0)
        result = rps_reader_find(reader, text, &run_id, &cli->err);
    if (result == 0)
        result = rps_reader_run(cli->arena, reader, run_id, &run, &cli->err);
    if (result == 0 && run.state == RPS_RUN_RECORDING)
        rps_error_set(
            &cli->err, RPS_FAILED,
            "run %" PRId64 " of %s is recorded by process %" PRId64
            " on %s; this user cannot see that process from here. Stop it on its machine, "
            "or as root",
            run_id, cli->input, run.recorder_pid, run.host);
    else if (result == 0)
        rps_error_set(&cli->err, RPS_FAILED,
                      "run %" PRId64 " (%s) of %s is not being recorded any more: it is %s", run_id,
                      rps_run_title(title, sizeof(title), &run), cli->input,
                      rps_run_states[run.state]);
    rps_reader_close(reader);
    return RPS_FAILED;
}

/* SAFETY: a file of the registry can name any store that its user chooses. Only the store's owner,
 * root and this user are trusted. */
static int may_record(const struct rps_recorder *recorder, const struct stat *store)
{
    return recorder->uid == store->st_uid || recorder->uid == 0 || recorder->uid == geteuid();
}

/* Return 1 if the recorder's run is selected. Another user's run is selected only if the run's
 * store is named. If `text` is NULL, all runs of the store, or of this user, are selected. */
static int is_asked_for(const struct rps_recorder *recorder, const struct stat *store,
                        const char *text, int is_all)
{
    struct stat file;

    if (recorder->entry.run.run_id < 0 ||
        (recorder->uid != geteuid() && (store == NULL || is_all)) ||
        (store != NULL && (!may_record(recorder, store) || stat(recorder->entry.store, &file) < 0 ||
                           file.st_dev != store->st_dev || file.st_ino != store->st_ino)))
        return 0;
    return text == NULL || is_meant(&recorder->entry.run, text);
}

/* Move the selected recorders to the front. Returns the number, or a negative value. */
static int choose(struct rps_cli *cli, struct rps_recorders *recorders, const struct stat *wanted,
                  const char *text)
{
    const struct stop_settings *settings = cli->settings;
    struct rps_recorder *list = recorders->recorder;
    int count = 0;

    for (size_t i = 0; i < recorders->count; i++) {
        if (is_asked_for(&list[i], wanted, text, settings->is_all)) {
            struct rps_recorder found = list[i];

            list[i] = list[count];
            list[count++] = found;
        }
    }
    if (text != NULL && count == 0) {
        if (cli->input != NULL)
            return report_store(cli, text);
        return rps_error_set(
            &cli->err, RPS_FAILED,
            "run %s is not being recorded by this user on this machine; see `rpistat "
            "status`, or name another user's store with -i",
            text);
    }
    if (text == NULL && !settings->is_all && count != 1)
        return rps_error_set(
            &cli->err, count > 1 ? RPS_USAGE : RPS_FAILED,
            count > 1
                ? "several runs of %s are being recorded; name one (see `rpistat status`)"
                : "no run of %s that this user can see is being recorded; see `rpistat status`",
            cli->input);
    if (text != NULL && count > 1)
        return rps_error_set(
            &cli->err, RPS_FAILED,
            "'%s' is ambiguous: run %" PRId64 " of %s or run %" PRId64 " of %s; %s", text,
            list[0].entry.run.run_id, list[0].entry.store, list[1].entry.run.run_id,
            list[1].entry.store,
            strcmp(list[0].entry.store, list[1].entry.store) == 0 ? "give its number"
                                                                  : "name its store with -i");
    return count;
}

/* --- ending ----------------------------------------------------------------------------------- */

static int send_signal(const struct rps_recorder *recorder, struct rps_error *err)
{
    char name[NAME_SIZE];
    siginfo_t info = {.si_signo = SIGTERM, .si_code = SI_QUEUE};

    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_int = RPS_REGISTRY_STOP;
    if (syscall(SYS_pidfd_send_signal, recorder->pidfd, SIGTERM, &info, 0) == 0 || errno == ESRCH)
        return 0; /* ESRCH: the recorder has ended by itself */
    if (errno == EPERM)
        return rps_error_set(
            err, RPS_FAILED,
            "cannot stop %s: it is recorded by %s (process %ld); ask that user or root to stop it",
            name_of(name, recorder), recorder->user, (long)recorder->pid);
    return rps_error_set(err, RPS_FAILED, "cannot send a signal to the recorder of %s: %s",
                         name_of(name, recorder), strerror(errno));
}

/* Read the run from its store into recorder->entry. The store belongs to this user's recorder, or
 * the user named it. RPS_BUSY if the run is not in the store, or the store is locked. */
static int read_again(struct rps_cli *cli, struct rps_recorder *recorder)
{
    struct rps_registered *entry = &recorder->entry;
    struct rps_run_summary summary;
    struct rps_reader *reader = NULL;
    struct rps_run run;
    int64_t run_id;
    int result =
        rps_reader_open(&reader, cli->input != NULL ? cli->input : entry->store, &cli->err);

    if (result == 0)
        result = rps_reader_find(reader, entry->run.uuid, &run_id, &cli->err) < 0
                     ? RPS_BUSY
                     : rps_reader_run(cli->arena, reader, run_id, &run, &cli->err);
    if (result == 0) {
        entry->run = run;
        result = rps_reader_summary(reader, run.run_id, &summary, &cli->err);
    }
    if (result == 0)
        entry->periods = (int64_t)summary.periods;
    rps_reader_close(reader);
    return result;
}

/* Wait until the recorder has ended or the deadline has passed, and report the run's state. */
static int wait_for(struct rps_cli *cli, struct rps_recorder *recorder, int64_t deadline_ns)
{
    const struct stop_settings *settings = cli->settings;
    char name[NAME_SIZE], elapsed[RPS_TEXT_NUMBER_SIZE];
    struct pollfd ended = {.fd = recorder->pidfd, .events = POLLIN};
    const struct rps_run *run = &recorder->entry.run;
    int64_t left_ns;
    int got, result;

    do {
        left_ns = deadline_ns - rps_clock_monotonic_ns();
        got = poll(&ended, 1, left_ns > 0 ? (int)(left_ns / RPS_NS_PER_MS + 1) : 0);
    } while (got < 0 && errno == EINTR);
    result = read_again(cli, recorder);
    name_of(name, recorder);
    if (result == RPS_BUSY)
        return rps_error_set(
            &cli->err, RPS_FAILED,
            "%s is not in its store, which may be locked; when its recorder (process %ld) has "
            "ended, look for the run in the store, or in %s.saved-%.8s",
            name, (long)recorder->pid, recorder->entry.store, run->uuid);
    if (result < 0)
        return RPS_FAILED;
    if (run->state == RPS_RUN_RECORDING && got == 0)
        return rps_error_set(
            &cli->err, RPS_FAILED,
            "%s is still being recorded after %s: its recorder (process %ld) received SIGTERM and "
            "may wait for its command; stop it again to end only the recording",
            name, rps_text_duration(elapsed, sizeof(elapsed), settings->timeout_ns),
            (long)recorder->pid);
    if (run->state != RPS_RUN_COMPLETE)
        return rps_error_set(&cli->err, RPS_FAILED,
                             "the recorder of %s ended before the run was complete%s%s", name,
                             run->end_reason[0] != '\0' ? ": " : "", run->end_reason);
    if (!cli->quiet) {
        fprintf(cli->out, "Stopped %s: %" PRId64 " period%s in %s%s%s.\n", name,
                recorder->entry.periods, recorder->entry.periods == 1 ? "" : "s",
                rps_text_duration(elapsed, sizeof(elapsed), run->elapsed_ns),
                run->exit_signal > 0 ? "; the signal ended its command too" : "",
                got == 0 ? "; its recorder has not ended yet" : "");
        fflush(cli->out);
    }
    return 0;
}

static int stop(struct rps_cli *cli, struct rps_recorders *recorders, int count)
{
    const struct stop_settings *settings = cli->settings;
    int64_t deadline_ns = rps_clock_monotonic_ns() + settings->timeout_ns;
    int has_failed = 0, result = 0;

    for (int i = 0; i < count && result == 0; i++)
        result = send_signal(&recorders->recorder[i], &cli->err);
    if (result < 0)
        return result;
    for (int i = 0; i < count; i++) {
        if (result < 0) { /* print the previous error now, because err holds only one error */
            rps_output_message(cli->err.message);
            cli->err.message[0] = '\0';
            has_failed = 1;
        }
        result = wait_for(cli, &recorders->recorder[i], deadline_ns);
    }
    return has_failed ? RPS_FAILED : result;
}

static int run(struct rps_cli *cli)
{
    const struct stop_settings *settings = cli->settings;
    struct rps_recorders recorders = {0};
    const struct stat *wanted = NULL;
    struct stat store;
    int count;

    if (cli->argc == 0 && !settings->is_all && cli->input == NULL)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "no run to stop; name one, as in `rpistat stop 3`, or add --all (see "
                             "`rpistat status`)");
    if (cli->argc > 0 && settings->is_all)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--all ends every recording of this user; leave out '%s' or --all",
                             cli->argv[0]);
    if (cli->input != NULL && stat(cli->input, &store) < 0)
        return rps_error_set(&cli->err, RPS_FAILED, "cannot find the store %s: %s; check its name",
                             cli->input, strerror(errno));
    wanted = cli->input != NULL ? &store : NULL;
    if (rps_recorders_find(cli->arena, &recorders, &cli->err) < 0)
        return RPS_FAILED;
    count = choose(cli, &recorders, wanted, cli->argv[0]);
    if (count == 0 && !cli->quiet)
        fputs("Nothing of this user is being recorded.\n", cli->out);
    count = count > 0 ? stop(cli, &recorders, count) : count;
    rps_recorders_free(&recorders);
    return count;
}

const struct rps_command rps_command_stop = {
    .name = "stop",
    .summary = "end a recording and wait until it is complete",
    .answers = "How does a recording end so that its run is complete?",
    .usage = "[OPTIONS] [RUN]",
    .description =
        "End the recording of a run and wait until it is complete. RUN is a number, a\n"
        "label or a tag KEY=VALUE; it may be omitted if the store of -i has only one\n"
        "recording. A command that rpistat started gets SIGTERM too; processes that ran\n"
        "before (-p, -a) continue.",
    .examples = "  rpistat stop nightly\n"
                "  rpistat stop -i naive.data 3\n"
                "  rpistat stop --all --timeout 5s",
    .operand_max = 1,
    .options = RPS_OPTIONS(options),
    .settings_size = sizeof(struct stop_settings),
    .run = run,
};
