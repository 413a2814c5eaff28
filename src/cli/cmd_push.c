/*
 * `rpistat push`: a run into a time-series database, while it is recorded or afterwards.
 *
 * Passwords and tokens are read from files: what stands on a command line, everybody sees in ps.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "rpistat/clock.h"
#include "rpistat/parse.h"
#include "rpistat/push.h"
#include "rpistat/signals.h"
#include "rpistat/text.h"
#include "run_choice.h"

#define NICENESS        10
#define SECRET_MAX      4096
#define GIVE_UP_NS      (600 * RPS_NS_PER_S)
#define LONG_NS         (366 * 24 * 3600 * RPS_NS_PER_S)
#define EVERY_LEAST_NS  (10 * RPS_NS_PER_MS)
#define LOOK_NS         RPS_NS_PER_S /* from one look at what is followed to the next */
#define STATE_IN_FOLDER "rpistat/pushed"

enum {
    OPTION_URL = RPS_OPTION_OWN,
    OPTION_FOLLOW,
    OPTION_ALL,
    OPTION_AGAIN,
    OPTION_EVERY,
    OPTION_STATE,
    OPTION_GIVE_UP,
    OPTION_TIMEOUT,
    OPTION_NO_VERIFY,
    OPTION_QUERY_URL,
    OPTION_CA,
    OPTION_USER_FILE,
    OPTION_BEARER_FILE,
};

struct settings {
    int all;
    const char *user_file, *bearer_file;
    struct rps_push_options push;
};

static const struct rps_option options[] = {
    {"follow", OPTION_FOLLOW, NULL, "go on with what is recorded until the run ends", NULL},
    {"all", OPTION_ALL, NULL, "all runs of the store that are not pushed yet", NULL},
    {"run", 'r', "RUN", "the run, unless the last, or the one to follow", NULL},
    {"every", OPTION_EVERY, "T", "a sample each such time, unless each period", NULL},
    {"again", OPTION_AGAIN, NULL, "from the beginning, whatever was pushed", NULL, NULL, 1},
    {"give-up", OPTION_GIVE_UP, "T", "how long to wait out trouble, unless 10m or --follow", NULL},
    {"timeout", OPTION_TIMEOUT, "T", "longest request, longest verification", "60s"},
    {"no-verify", OPTION_NO_VERIFY, NULL, "do not ask whether all is there", NULL},
    {"query-url", OPTION_QUERY_URL, "URL", "where to ask, unless made of the other URL", NULL},
    {"user-file", OPTION_USER_FILE, "FILE", "file with NAME:PASSWORD", NULL},
    {"bearer-file", OPTION_BEARER_FILE, "FILE", "file with a token", NULL},
    {"ca", OPTION_CA, "FILE", "certificates to trust, unless the system's", NULL},
    {"state", OPTION_STATE, "FILE", "what was pushed; else ~/.local/state/rpistat/pushed", NULL},
    {"url", OPTION_URL, "URL", "the same as the argument, for the configuration file", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static int set_option(struct rps_cli *cli, int letter, const char *argument)
{
    struct settings *settings = cli->settings;
    struct rps_push_options *push = &settings->push;

    switch (letter) {
    case 'r':
        cli->run_text = argument;
        return 0;
    case OPTION_URL:
        push->url = argument;
        return 0;
    case OPTION_FOLLOW:
        push->follow = 1;
        return 0;
    case OPTION_ALL:
        settings->all = 1;
        return 0;
    case OPTION_AGAIN:
        push->again = 1;
        return 0;
    case OPTION_EVERY:
        return rps_parse_duration_ns("--every", argument, EVERY_LEAST_NS, LONG_NS, &push->every_ns,
                                     &cli->err);
    case OPTION_STATE:
        push->state_path = argument;
        return 0;
    case OPTION_GIVE_UP:
        return rps_parse_duration_ns("--give-up", argument, 1, LONG_NS, &push->give_up_ns,
                                     &cli->err);
    case OPTION_TIMEOUT:
        return rps_parse_duration_ns("--timeout", argument, EVERY_LEAST_NS, 3600 * RPS_NS_PER_S,
                                     &push->timeout_ns, &cli->err);
    case OPTION_NO_VERIFY:
        push->query_url = "";
        return 0;
    case OPTION_QUERY_URL:
        push->query_url = argument;
        return 0;
    case OPTION_CA:
        push->ca_file = argument;
        return 0;
    case OPTION_USER_FILE:
        settings->user_file = argument;
        return 0;
    default:
        settings->bearer_file = argument;
        return 0;
    }
}

static int check(struct rps_cli *cli)
{
    struct settings *settings = cli->settings;

    if (settings->all && cli->run_text)
        return rps_error_set(&cli->err, RPS_USAGE, "--all is every run: leave out -r, or --all");
    if (settings->user_file && settings->bearer_file)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "a server asks for a name or for a token: leave out --user-file or "
                             "--bearer-file");
    if (settings->push.give_up_ns == 0 && !settings->push.follow)
        settings->push.give_up_ns = GIVE_UP_NS;
    return 0;
}

/* --- files ------------------------------------------------------------------------------------ */

/* The first line of a file, in *ret for free(); NULL path: NULL. */
static int read_secret(const char *path, char **ret, struct rps_error *err)
{
    FILE *file = path ? fopen(path, "re") : NULL;
    char line[SECRET_MAX + 2] = "";

    if (!path)
        return 0;
    if (file && (fgets(line, sizeof(line), file) || !ferror(file)))
        errno = 0; /* it is empty unless there is something in it */
    if (file)
        fclose(file);
    line[strcspn(line, "\r\n")] = '\0';
    if (!line[0] || strlen(line) > SECRET_MAX)
        return rps_error_set(err, RPS_FAILED,
                             "cannot read a name or token from the first line of %s: %s", path,
                             line[0] ? "it is too long"
                             : errno ? strerror(errno)
                                     : "there is nothing in it");
    *ret = strdup(line);
    return *ret ? 0 : rps_error_memory(err);
}

/* Make the folders that lead to a file, from byte `from` on. What fails is told by opening it. */
static void make_folders(char *path, size_t from)
{
    for (char *slash = strchr(path + from, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
}

/* Where the state is kept unless --state says, for free(). */
static int find_state(char **ret, struct rps_error *err)
{
    const char *folder = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int length = 0;

    if (folder && folder[0] == '/')
        length = asprintf(ret, "%s/" STATE_IN_FOLDER, folder);
    else if (home && home[0] == '/')
        length = asprintf(ret, "%s/.local/state/" STATE_IN_FOLDER, home);
    else
        return rps_error_set(err, RPS_FAILED,
                             "HOME names no folder to note in what was pushed: name a file with "
                             "--state");
    if (length < 0)
        return rps_error_memory(err);
    make_folders(*ret, 1);
    return 0;
}

/* --- pushing ---------------------------------------------------------------------------------- */

static void tell(void *context, const char *sentence)
{
    (void)context;
    rps_output_message(sentence);
}

/* 1 when a signal has come, which stays in the descriptor. */
static int wait_for_signal(void *context, int64_t ns)
{
    struct pollfd signals = {.fd = *(const int *)context, .events = POLLIN};

    return poll(&signals, 1, (int)((ns + RPS_NS_PER_MS - 1) / RPS_NS_PER_MS)) > 0;
}

/* A run to push. */
struct one {
    int64_t run_id, start_ns;
    struct rps_push *push; /* NULL: not begun, or over */
    int is_over, is_there; /* is_there: all of it was there before */
};

static void print_line(struct rps_cli *cli, const struct one *one, int is_stopped)
{
    const struct rps_push_outcome *outcome = rps_push_outcome(one->push);
    const struct settings *settings = cli->settings;
    int is_asked = !settings->push.query_url || settings->push.query_url[0];
    char length[RPS_TEXT_NUMBER_SIZE], bytes[RPS_TEXT_NUMBER_SIZE];
    const char *end = is_stopped          ? "it was stopped, and the next push goes on from there"
                      : outcome->verified ? "its last values are there"
                      : is_asked          ? "not verified: see --query-url"
                                          : "not verified";

    if (cli->quiet || outcome->present || (outcome->samples == 0 && outcome->skipped > 0))
        return;
    fprintf(cli->out, "Pushed %llu samples of run %lld to %s in %s, %s; %s.\n",
            (unsigned long long)outcome->samples, (long long)one->run_id, outcome->target,
            rps_text_duration(length, sizeof(length), rps_clock_monotonic_ns() - one->start_ns),
            rps_text_size(bytes, sizeof(bytes), outcome->bytes), end);
    fflush(cli->out);
}

static void end_push(struct one *one)
{
    one->is_over = 1;
    rps_push_close(one->push);
    one->push = NULL;
}

/* The end of the push of a run: 0, or the error of samples that the server refused. */
static int conclude(struct rps_cli *cli, struct one *one, int is_stopped, struct rps_error *err)
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
                               "%llu samples of run %lld were refused by %s, and left out: push "
                               "with --again when it takes them",
                               (unsigned long long)outcome->skipped, (long long)one->run_id,
                               outcome->target);
    one->is_there = outcome->present;
    end_push(one);
    return result;
}

/* Push what there is of a run: 1 when more will come, else 0. It is over when it failed and others
 * can be pushed all the same. */
static int look(struct rps_cli *cli, struct one *one, int *ret_stopped, struct rps_error *err)
{
    const struct settings *settings = cli->settings;
    const struct rps_push_outcome *outcome;
    int result = 0;

    if (!one->push) {
        one->start_ns = rps_clock_monotonic_ns();
        result = rps_push_open(&one->push, cli->reader, one->run_id, &settings->push, err);
        if (result < 0)
            return result;
    }
    outcome = rps_push_outcome(one->push);
    result = rps_push_look(one->push, err);
    *ret_stopped = outcome->stopped;
    if (result == 0 && !outcome->goes_on && !outcome->stopped)
        return conclude(cli, one, 0, err);
    if (result < 0 && outcome->lost) {
        if (settings->all)
            rps_error_prefix(err, result, "run %lld", (long long)one->run_id);
        end_push(one);
    }
    return result < 0 ? result : outcome->goes_on;
}

/* The last failure is the command's; those before are told when another comes. */
static void add_failure(struct rps_cli *cli, const struct rps_error *err, int *failed)
{
    if (*failed)
        rps_output_message(cli->err.message);
    cli->err = *err;
    *failed = 1;
}

/* Push what there is of each run in turn, and so on once a second while some are followed. */
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
            result = look(cli, &one[i], &is_stopped, &err);
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
        if (one[i].push && conclude(cli, &one[i], 1, &err) < 0)
            add_failure(cli, &err, &failed);
    }
    return failed ? RPS_FAILED : is_stopped && !settings->push.follow;
}

/* The numbers of the runs that are meant, in *ret for free(). */
static int choose(struct rps_cli *cli, int64_t **ret, size_t *ret_count)
{
    const struct settings *settings = cli->settings;

    if (settings->all)
        return rps_reader_runs(cli->reader, ret, ret_count, &cli->err);
    *ret = calloc(1, sizeof(**ret));
    *ret_count = 1;
    if (!*ret)
        return rps_error_memory(&cli->err);
    return settings->push.follow ? rps_run_choice(cli, *ret)
                                 : rps_reader_find(cli->reader, cli->run_text, *ret, &cli->err);
}

static int push(struct rps_cli *cli)
{
    const struct settings *settings = cli->settings;
    struct one *one = NULL;
    int64_t *run_id = NULL;
    size_t count = 0, there = 0;
    int result = choose(cli, &run_id, &count);

    if (result == 0 && !(one = calloc(count + 1, sizeof(*one))))
        result = rps_error_memory(&cli->err);
    for (size_t i = 0; i < count && result == 0; i++)
        one[i].run_id = run_id[i];
    if (result == 0)
        result = push_runs(cli, one, count);
    for (size_t i = 0; i < count && one; i++) {
        there += (size_t)one[i].is_there;
        rps_push_close(one[i].push);
    }
    if (result == 0 && settings->all && there == count && !cli->quiet)
        fprintf(cli->out, "Nothing is left to push of %zu runs.\n", count);
    free(one);
    free(run_id);
    return result;
}

static int run(struct rps_cli *cli, int argc, char **argv)
{
    static const int taken[] = {SIGINT, SIGTERM, SIGHUP};
    struct settings *settings = cli->settings;
    struct rps_push_options *options_of = &settings->push;
    char *state = NULL, *user = NULL, *bearer = NULL;
    int signals = -1, result = 0;

    if (argc > 0)
        options_of->url = argv[0];
    if (!options_of->url)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "push: name the database's URL, as in rpistat push "
                             "http://localhost:8428");
    if (options_of->follow)
        nice(NICENESS);
    if (!options_of->state_path)
        result = find_state(&state, &cli->err);
    if (result == 0)
        result = read_secret(settings->user_file, &user, &cli->err);
    if (result == 0)
        result = read_secret(settings->bearer_file, &bearer, &cli->err);
    if (result == 0)
        result =
            rps_signals_take(taken, sizeof(taken) / sizeof(taken[0]), &signals, NULL, &cli->err);
    if (result == 0) {
        if (state)
            options_of->state_path = state;
        options_of->user = user;
        options_of->bearer = bearer;
        options_of->note = cli->quiet ? NULL : tell;
        options_of->wait = wait_for_signal;
        options_of->context = &signals;
        result = push(cli);
    }
    if (signals >= 0)
        close(signals);
    free(state);
    free(user);
    free(bearer);
    return result;
}

const struct rps_command rps_command_push = {
    .name = "push",
    .summary = "a run into a time-series database",
    .usage = "[OPTIONS] URL",
    .description = "Send a run to a time-series database that takes Prometheus' remote write, as\n"
                   "VictoriaMetrics, Prometheus (--web.enable-remote-write-receiver), Mimir and\n"
                   "Thanos do. URL is http://HOST:PORT, and /api/v1/write unless it has a path.\n"
                   "A push that was broken off goes on where it stopped; one of a run that is\n"
                   "there already does nothing. At the end it is asked whether all is there.\n"
                   "Needs libcurl and libsnappy.",
    .examples = "  rpistat push http://localhost:8428\n"
                "  rpistat push --follow --every 10s http://localhost:8428\n"
                "  rpistat push --all --user-file secret https://metrics.example.org",
    .input = RPS_INPUT_STORE,
    .output = RPS_OUTPUT_STREAM,
    .output_help = "file for what was pushed",
    .operand_max = 1,
    .options = options,
    .settings_size = sizeof(struct settings),
    .option = set_option,
    .check = check,
    .run = run,
};
