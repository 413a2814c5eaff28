/* `rpistat push`: sends runs to a time-series database, while the runs are recorded or afterwards.
 *
 * SAFETY: passwords and tokens are read from files, because ps shows every user the command line
 * until the secret is removed from it. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "rpistat/clock.h"
#include "rpistat/push.h"
#include "rpistat/process.h"
#include "rpistat/store.h"
#include "rpistat/text.h"

#define SECRET_MAX      4096
#define URL_SIZE        4096
#define GIVE_UP_NS      (600 * RPS_NS_PER_S)
#define LONG_NS         (366 * 24 * 3600 * RPS_NS_PER_S)
#define EVERY_MIN_NS    (10 * RPS_NS_PER_MS)
#define LOOK_NS         RPS_NS_PER_S /* interval between two readings of a running recording */
#define STATE_IN_FOLDER "rpistat/pushed"

struct settings {
    int all, yes;
    const char *user_file, *bearer_file;
    char url[URL_SIZE];
    struct rps_push_options push;
};

/* Copy a URL to `kept`. Remove name and password from the argument, which ps shows to everyone. */
static int take_url(const char *argument, char kept[URL_SIZE], const char **ret,
                    struct rps_error *err)
{
    char *text = (char *)(uintptr_t)argument, *begin = strstr(text, "://"), *at;
    size_t length = strlen(text), rest;

    if (length >= URL_SIZE)
        return rps_error_set(err, RPS_USAGE, "the URL is longer than %d bytes; shorten it",
                             URL_SIZE - 1);
    *ret = strcpy(kept, text);
    begin = begin ? begin + strlen("://") : text;
    at = strrchr(begin, '@');
    if (at) {
        rest = strlen(at + 1);
        memmove(begin, at + 1, rest);
        memset(begin + rest, 0, (size_t)(text + length - (begin + rest)));
    }
    return 0;
}

static int set_url(const char *option, const char *text, void *member, struct rps_error *err)
{
    struct settings *settings = member;

    (void)option;
    return take_url(text, settings->url, &settings->push.url, err);
}

#define AT(member) RPS_AT(struct settings, member)

static const struct rps_option options[] = {
    {"follow", 0, NULL, "follow a recording until the run ends", NULL, RPS_OPTION_FLAG,
     AT(push.follow)},
    {"all", 0, NULL, "send all runs of the store that were not sent", NULL, RPS_OPTION_FLAG,
     AT(all), .excludes = "run"},
    {"run", 'r', "RUN", "run to send (default the last, or the one recorded)", NULL,
     RPS_OPTION_TEXT, RPS_AT_COMMON(run_text)},
    {"every", 0, "T", "one sample per T instead of one per period", NULL, RPS_OPTION_DURATION,
     AT(push.every_ns), EVERY_MIN_NS, LONG_NS},
    {"again", 0, NULL, "send everything again; needs --yes", NULL, RPS_OPTION_FLAG, AT(push.again),
     .is_once = 1},
    {"yes", 0, NULL, "confirm that repeated samples may count twice", NULL, RPS_OPTION_FLAG,
     AT(yes), .is_once = 1},
    {"retry-for", 0, "T", "retry for T (default 10m; with --follow, no limit)", NULL,
     RPS_OPTION_DURATION, AT(push.give_up_ns), 1, LONG_NS, .old_name = "give-up"},
    {"timeout", 0, "T", "longest time for one request", "60s", RPS_OPTION_DURATION,
     AT(push.timeout_ns), EVERY_MIN_NS, 3600 * RPS_NS_PER_S},
    {"user-file", 0, "FILE", "read NAME:PASSWORD from FILE", NULL, RPS_OPTION_TEXT, AT(user_file),
     .excludes = "bearer-file"},
    {"bearer-file", 0, "FILE", "read a token from FILE", NULL, RPS_OPTION_TEXT, AT(bearer_file)},
    {"ca", 0, "FILE", "trust these certificates, not those of the system", NULL, RPS_OPTION_TEXT,
     AT(push.ca_file)},
    {"state", 0, "FILE", "progress file (default ~/.local/state/rpistat/pushed)", NULL,
     RPS_OPTION_TEXT, AT(push.state_path)},
    {"url", 0, "URL", "URL, for the configuration file", NULL, RPS_OPTION_OTHER, RPS_AT_SETTINGS,
     .set = set_url},
    {NULL},
};

static int check_push(struct rps_cli *cli)
{
    struct settings *settings = cli->settings;

    if (settings->push.again && !settings->yes)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--again sends samples a second time, and a database that does not "
                             "deduplicate stores them twice; add --yes to confirm");
    if (settings->push.give_up_ns == 0 && !settings->push.follow)
        settings->push.give_up_ns = GIVE_UP_NS;
    return 0;
}

/* --- files ------------------------------------------------------------------------------------ */

/* Read the first line of the file `path` into *ret. If `path` is NULL, *ret is set to NULL. */
static int read_secret(struct rps_arena *arena, const char *path, const char **ret,
                       struct rps_error *err)
{
    FILE *file = path ? fopen(path, "re") : NULL;
    char line[SECRET_MAX + 2] = "";

    if (!path)
        return 0;
    if (file && (fgets(line, sizeof(line), file) || !ferror(file)))
        errno = 0; /* errno stays 0 if the file is empty */
    if (file)
        fclose(file);
    line[strcspn(line, "\r\n")] = '\0';
    if (!line[0] || strlen(line) > SECRET_MAX)
        return rps_error_set(err, RPS_FAILED,
                             "cannot read a name or token from the first line of %s: %s", path,
                             line[0] ? "it is too long"
                             : errno ? strerror(errno)
                                     : "it is empty");
    *ret = rps_arena_text(arena, line);
    return 0;
}

/* Find the path of the state file when --state is not given. */
static int find_state(struct rps_arena *arena, const char **ret, struct rps_error *err)
{
    const char *folder = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    char *path;

    if (folder && folder[0] == '/')
        path = rps_arena_print(arena, "%s/" STATE_IN_FOLDER, folder);
    else if (home && home[0] == '/')
        path = rps_arena_print(arena, "%s/.local/state/" STATE_IN_FOLDER, home);
    else
        return rps_error_set(err, RPS_FAILED,
                             "cannot keep a record of pushed samples: HOME is not a directory; "
                             "name a file with --state");
    /* Create the parent directories. Opening the file later reports a missing directory. */
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    *ret = path;
    return 0;
}

/* --- pushing ---------------------------------------------------------------------------------- */

static void print_note(void *context, const char *sentence)
{
    (void)context;
    rps_output_message(sentence);
}

/* Return 1 if a signal has arrived. The signal is not read from the descriptor. */
static int wait_for_signal(void *context, int64_t ns)
{
    struct pollfd signals = {.fd = *(const int *)context, .events = POLLIN};

    return poll(&signals, 1, (int)((ns + RPS_NS_PER_MS - 1) / RPS_NS_PER_MS)) > 0;
}

/* State of one run to push. */
struct one {
    int64_t run_id, start_ns;
    struct rps_push *push; /* NULL if the push has not begun or has ended */
    int is_over, is_there; /* is_over: the run's push has ended; is_there: the database already
                              had all data of the run */
};

static void print_line(struct rps_cli *cli, const struct one *one, int is_stopped)
{
    const struct rps_push_outcome *outcome = rps_push_outcome(one->push);
    char length[RPS_TEXT_NUMBER_SIZE], bytes[RPS_TEXT_NUMBER_SIZE];

    if (cli->quiet || outcome->present || (outcome->samples == 0 && outcome->skipped > 0))
        return;
    fprintf(cli->out, "Pushed %llu samples of run %lld to %s in %s, %s%s.\n",
            (unsigned long long)outcome->samples, (long long)one->run_id, outcome->target,
            rps_text_duration(length, sizeof(length), rps_clock_monotonic_ns() - one->start_ns),
            rps_text_size(bytes, sizeof(bytes), outcome->bytes),
            is_stopped ? "; the push was stopped, and the next one continues from there" : "");
    fflush(cli->out);
}

/* End the push of a run. Returns 0, or the error for samples that the server refused. */
static int conclude_push(struct rps_cli *cli, struct one *one, int is_stopped,
                         struct rps_error *err)
{
    const struct settings *settings = cli->settings;
    const struct rps_push_outcome *outcome = rps_push_outcome(one->push);
    int result = 0;

    if (outcome->present && !settings->all && !cli->quiet)
        fprintf(cli->out, "Run %lld was pushed to %s already.\n", (long long)one->run_id,
                outcome->target);
    print_line(cli, one, is_stopped);
    if (outcome->skipped > 0)
        result = rps_error_set(err, RPS_FAILED,
                               "%llu samples of run %lld were refused by %s and left out; push "
                               "them with --again --yes when the database accepts them",
                               (unsigned long long)outcome->skipped, (long long)one->run_id,
                               outcome->target);
    one->is_there = outcome->present;
    one->is_over = 1;
    rps_push_close(one->push);
    one->push = NULL;
    return result;
}

/* Push the available data of a run. Returns 1 if more data will come, otherwise 0. */
static int push_what_is_there(struct rps_cli *cli, struct one *one, int *ret_stopped,
                              struct rps_error *err)
{
    const struct settings *settings = cli->settings;
    const struct rps_push_outcome *outcome;
    int result = 0;

    if (!one->push) {
        one->start_ns = rps_clock_monotonic_ns();
        result = rps_push_open(&one->push, &cli->reader, one->run_id, &settings->push, err);
        if (result < 0)
            return result;
    }
    outcome = rps_push_outcome(one->push);
    result = rps_push_look(one->push, err);
    *ret_stopped = outcome->stopped;
    if (result == 0 && !outcome->goes_on && !outcome->stopped)
        return conclude_push(cli, one, 0, err);
    return result < 0 ? result : outcome->goes_on;
}

/* Record a failure. The command returns its last failure; each earlier failure is printed when the
 * next failure occurs. */
static void add_failure(struct rps_cli *cli, const struct rps_error *err, int *failed)
{
    if (*failed)
        rps_output_message(cli->err.message);
    cli->err = *err;
    *failed = 1;
}

/* Push the available data of each run in turn, once per second while some runs are followed. */
static int push_runs(struct rps_cli *cli, struct one *one, size_t count)
{
    const struct settings *settings = cli->settings;
    int failed = 0, is_stopped = 0, result = 0;
    struct rps_error err;
    size_t left;

    do {
        left = 0;
        for (size_t i = 0; i < count && !is_stopped; i++) {
            if (one[i].is_over)
                continue;
            result = push_what_is_there(cli, &one[i], &is_stopped, &err);
            left += result > 0;
            if (result < 0)
                add_failure(cli, &err, &failed);
            if (result < 0 && !one[i].is_over)
                return result;
        }
        if (left > 0 && !is_stopped)
            is_stopped = wait_for_signal(settings->push.context, LOOK_NS);
    } while (left > 0 && !is_stopped);
    for (size_t i = 0; i < count; i++) {
        if (one[i].push && conclude_push(cli, &one[i], 1, &err) < 0)
            add_failure(cli, &err, &failed);
    }
    return failed ? RPS_FAILED : is_stopped && !settings->push.follow;
}

/* Choose the runs to push. */
static int choose(struct rps_cli *cli, struct one **ret, size_t *ret_count)
{
    const struct settings *settings = cli->settings;
    int64_t one = 0, *run_id = NULL;
    size_t count = 1;
    int result =
        settings->all ? rps_reader_runs(cli->arena, cli->reader, &run_id, &count, &cli->err)
        : settings->push.follow ? rps_reader_find_live(cli->reader, cli->run_text, &one, &cli->err)
                                : rps_reader_find(cli->reader, cli->run_text, &one, &cli->err);

    if (result < 0)
        return result;
    *ret_count = count;
    *ret = rps_arena_get(cli->arena, count, sizeof(**ret));
    for (size_t i = 0; i < count; i++)
        (*ret)[i].run_id = run_id ? run_id[i] : one;
    return 0;
}

static int push_chosen(struct rps_cli *cli)
{
    const struct settings *settings = cli->settings;
    struct one *one = NULL;
    size_t count = 0, there = 0;
    int result = choose(cli, &one, &count);

    if (result == 0)
        result = push_runs(cli, one, count);
    for (size_t i = 0; i < count; i++) {
        there += (size_t)one[i].is_there;
        rps_push_close(one[i].push);
    }
    if (result == 0 && settings->all && there == count && !cli->quiet)
        fprintf(cli->out, "Nothing is left to push of %zu runs.\n", count);
    return result;
}

static int run_push(struct rps_cli *cli)
{
    static const int taken[] = {SIGINT, SIGTERM, SIGHUP};
    struct settings *settings = cli->settings;
    struct rps_push_options *options_of = &settings->push;
    int signals = -1, result = 0;

    for (int i = 0; i < cli->argc && result == 0; i++)
        result = take_url(cli->argv[i], settings->url, &options_of->url, &cli->err);
    if (result == 0 && cli->argc > 1) /* SAFETY: arguments may hold passwords: do not print */
        result =
            rps_error_set(&cli->err, RPS_USAGE, "push takes one URL; see `rpistat push --help`");
    if (result < 0)
        return result;
    if (!options_of->url)
        return rps_error_set(
            &cli->err, RPS_USAGE,
            "no database to push to; name its URL, as in `rpistat push http://localhost:8428`");
    if (options_of->follow)
        (void)!nice(RPS_CLI_NICENESS);
    if (!options_of->state_path)
        result = find_state(cli->arena, &options_of->state_path, &cli->err);
    if (result == 0)
        result = read_secret(cli->arena, settings->user_file, &options_of->user, &cli->err);
    if (result == 0)
        result = read_secret(cli->arena, settings->bearer_file, &options_of->bearer, &cli->err);
    if (result == 0)
        result = rps_signals_take(taken, RPS_COUNT(taken), &signals, NULL, &cli->err);
    if (result == 0) {
        options_of->store_path = cli->input;
        options_of->note = cli->quiet ? NULL : print_note;
        options_of->wait = wait_for_signal;
        options_of->context = &signals;
        result = push_chosen(cli);
    }
    if (signals >= 0)
        close(signals);
    return result;
}

const struct rps_command rps_command_push = {
    .name = "push",
    .summary = "send runs to a time-series database",
    .answers = "How do the values of a run get into a time-series database?",
    .usage = "[OPTIONS] URL",
    .description =
        "Send a run to a database that accepts Prometheus remote write: VictoriaMetrics,\n"
        "Prometheus (--web.enable-remote-write-receiver), Mimir or Thanos. URL is\n"
        "http://HOST:PORT; /api/v1/write is appended if it has no path. An interrupted\n"
        "push continues where it stopped. Needs libcurl and libsnappy.",
    .examples = "  rpistat push http://localhost:8428\n"
                "  rpistat push --follow --every 10s http://localhost:8428\n"
                "  rpistat push --all --user-file secret https://metrics.example.org",
    .input = RPS_INPUT_STORE,
    .output_help = "file for the push summary",
    .operand_max = -1, /* run_push() checks the number of operands */
    .options = RPS_OPTIONS(options),
    .settings_size = sizeof(struct settings),
    .check = check_push,
    .run = run_push,
};
