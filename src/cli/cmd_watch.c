/* `rpistat watch`: follows a running recording, as a drawing in the terminal or a picture file.
 *
 * `watch` reads the store as any other reader does, without the recorder. To limit its CPU time,
 * `watch` runs with a higher nice value, and draws less often if drawings are slow. On an output
 * that cannot be a screen (a pipe, a file, a dumb terminal), `watch` draws once and ends. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "rpistat/clock.h"
#include "rpistat/live_page.h"
#include "rpistat/plot.h"
#include "rpistat/process.h"
#include "rpistat/text.h"
#include "screen.h"
#include "watch_conditions.h"
#include "watch_view.h"

#define IDLE_SHARE  4 /* minimum ratio of a pause to the CPU time of the drawing before the pause */
#define RUN_NS      (50 * RPS_NS_PER_MS) /* delay between the starts of two commands that are due */
#define COLUMNS_MIN 30
#define LINES_MIN   6 /* minimum number of lines of a drawing */

#define UNSEEN_STATUS 5 /* exit status if the recording ended before --until's condition held */

struct settings {
    int64_t last_ns, every_ns;
    int once;
    int chars; /* RPS_CHARS_ASCII, ...; 0: selected by the locale */
    int http, port;
    struct rps_texts on, until;
};

#define AT(member) RPS_AT(struct settings, member)

#define CONDITION_WORDS "loop-end phase:"

static int check_condition(const char *option, const char *text, struct rps_error *err)
{
    struct rps_watch_condition condition;

    return rps_watch_condition_parse(option, text, &condition, err);
}

static const struct rps_option options[] = {
    {"last", 0, "T", "show the last T of the run", "5m", RPS_OPTION_DURATION, AT(last_ns),
     RPS_NS_PER_S, 366 * 24 * 3600 * RPS_NS_PER_S},
    {"every", 0, "T", "draw once per T", "2s", RPS_OPTION_DURATION, AT(every_ns),
     200 * RPS_NS_PER_MS, 3600 * RPS_NS_PER_S},
    {"plot", 0, "FILE", "draw to this picture file instead of the terminal", NULL, RPS_OPTION_TEXT,
     RPS_AT_COMMON(output)},
    {"once", 0, NULL, "draw once and end", NULL, RPS_OPTION_FLAG, AT(once), .is_once = 1},
    {"chars", 0, "SET", "braille or ascii (default from the locale)", NULL, RPS_OPTION_CHOICE,
     AT(chars), 1, .words = RPS_CHARS},
    {"on", 0, "CONDITION", "run COMMAND at phase, phase:C, loop-end, 'cpi>1.5'", NULL,
     RPS_OPTION_LIST, AT(on), .words = "phase " CONDITION_WORDS, .check = check_condition,
     .excludes = "once http", .is_once = 1},
    {"until", 0, "CONDITION", "end at phase:C, loop-end, 'cpi>1.5'", NULL, RPS_OPTION_LIST,
     AT(until), .words = CONDITION_WORDS, .check = check_condition, .excludes = "once http",
     .is_once = 1},
    {"http", 0, NULL, "serve the page to a browser on this machine", NULL, RPS_OPTION_FLAG,
     AT(http)},
    {"port", 0, "N", "port for --http; 0 chooses a free one", "0", RPS_OPTION_INT, AT(port), 0,
     65535},
    {"run", 'r', "RUN", "run to follow (default the newest one recorded)", NULL, RPS_OPTION_TEXT,
     RPS_AT_COMMON(run_text)},
    {NULL},
};

struct watch {
    struct rps_cli *cli;
    int64_t run_id;
    const char *picture; /* file of the picture; NULL: draw in the terminal */
    int draws;           /* 0: conditions are checked, but nothing is drawn */
    struct rps_watch_view view;
    struct rps_screen screen;
    int line_shown; /* 1: the terminal shows a line of metrics, in addition to a picture */
    struct rps_watch_condition *condition; /* conditions of --on and --until */
    size_t condition_count;
    int64_t cpu_ns;                         /* CPU time so far, without the CPU time of commands */
    const struct rps_watch_condition *seen; /* condition of --until that has held; NULL: none yet */
    char **command;                         /* command line of --on */
};

/* Return the CPU time of this process and its ended children, which draw some of the pictures. */
static int64_t cpu_now_ns(void)
{
    struct rusage used;
    int64_t ns = 0;

    for (int who = RUSAGE_CHILDREN; who <= RUSAGE_SELF; who++) {
        getrusage(who, &used);
        ns += rps_clock_timeval_ns(&used.ru_utime) + rps_clock_timeval_ns(&used.ru_stime);
    }
    return ns;
}

/* Start the commands that are due, one per condition at a time. Returns 1 if some are still due. */
static int run_commands(struct watch *watch)
{
    int result = 0, is_due = 0;

    for (size_t i = 0; i < watch->condition_count && result == 0; i++) {
        struct rps_watch_condition *condition = &watch->condition[i];

        if (rps_watch_condition_is_due(condition) && !rps_watch_condition_runs(condition, 0))
            result = rps_watch_condition_run(condition, watch->cli, watch->run_id, watch->command,
                                             &watch->cli->err);
        is_due = is_due || rps_watch_condition_is_due(condition);
    }
    return result < 0 ? result : is_due;
}

/* Check the conditions, even while a command runs: a command must run once for each new phase. */
static int look_at_conditions(struct watch *watch)
{
    int result = 0;

    for (size_t i = 0; i < watch->condition_count && result >= 0; i++) {
        struct rps_watch_condition *condition = &watch->condition[i];
        int is_phase = condition->kind == RPS_WATCH_PHASE;

        if (!is_phase && rps_watch_condition_runs(condition, 0))
            continue;
        do {
            result = rps_watch_condition_look(condition, &watch->view, &watch->cli->err);
            if (result > 0 && condition->is_until)
                watch->seen = condition;
            else if (result > 0)
                rps_watch_condition_add(condition, watch->cli->arena);
        } while (result > 0 && is_phase && !condition->is_until);
    }
    result = result < 0 ? result : run_commands(watch);
    return result < 0 ? result : 0;
}

static int look_again(struct watch *watch)
{
    const struct settings *settings = watch->cli->settings;
    int64_t start_ns = cpu_now_ns();
    int result = rps_watch_view_look(&watch->view, watch->cli->input, watch->run_id,
                                     settings->last_ns, settings->every_ns, &watch->cli->err);

    watch->cpu_ns += cpu_now_ns() - start_ns;
    return result == 0 ? look_at_conditions(watch) : result;
}

/* --- drawing ---------------------------------------------------------------------------------- */

/* Write the lines above the drawing. Returns the number of lines. */
static int write_heading(struct watch *watch, int columns, FILE *frame)
{
    struct rps_status_text state, system, rates;
    locale_t before = uselocale(watch->cli->locale);

    rps_status_text_begin(&state, (size_t)columns);
    rps_status_text_begin(&system, (size_t)columns);
    rps_status_text_begin(&rates, (size_t)columns);
    rps_watch_view_state(&watch->view, &state);
    rps_watch_view_system(&watch->view, &system);
    rps_watch_view_rates(&watch->view, &rates);
    uselocale(before);
    fprintf(frame, "%s\n%s%s%s\n", state.text, system.text, system.text[0] ? "\n" : "", rates.text);
    return system.text[0] ? 3 : 2;
}

static int write_frame(struct watch *watch, struct rps_plot_options *plot, FILE *frame)
{
    const struct settings *settings = watch->cli->settings;
    int terminal = rps_output_terminal(&plot->width, &plot->height);
    int lines = write_heading(watch, plot->width, frame);

    if (!watch->view.have_rates)
        return 0;
    plot->output = "-";
    plot->out = frame;
    plot->untitled = 1;
    plot->colour = rps_output_colour();
    plot->ascii = settings->chars ? settings->chars == RPS_CHARS_ASCII : !rps_output_utf8();
    plot->height -= lines + 1;              /* leave a line for the cursor */
    plot->height -= !watch->screen.entered; /* leave a line for the note below a kept drawing */
    if (terminal && (plot->width < COLUMNS_MIN || plot->height < LINES_MIN)) {
        fputs("(too small for a drawing)\n", frame);
        return 0;
    }
    if (!terminal && getenv("LINES") == NULL)
        plot->height = 0;
    return rps_plot_draw(watch->cli->reader, watch->run_id, plot, &watch->cli->err);
}

/* Draw in a separate process, so that the terminal is always restored. */
static int draw_apart(void *context, FILE *out, struct rps_error *err)
{
    struct watch *watch = context;
    struct rps_cli *cli = watch->cli;
    struct rps_plot_options plot = {
        .from_ns = watch->view.from_ns,
        .to_ns = watch->view.to_ns,
        .output = watch->picture,
        .script_folder = rps_output_scripts(),
        .temporary_folder = getenv("TMPDIR"),
        .no_phases = !watch->view.have_phases,
        .phases = &watch->view.phases,
    };
    int result = rps_reader_open(&cli->reader, cli->input, &cli->err);

    if (result == 0 && !watch->picture)
        result = write_frame(watch, &plot, out);
    else if (result == 0 && watch->view.have_rates)
        result = rps_plot_draw(cli->reader, watch->run_id, &plot, &cli->err);
    rps_reader_close(cli->reader);
    *err = cli->err;
    return result;
}

/* For a picture, show the line of metrics, if a terminal can show the line and nothing else uses
 * that terminal. */
static void show_line(struct watch *watch)
{
    struct rps_status_text line;
    locale_t before;
    int columns;

    if (watch->cli->quiet || !rps_output_screen() || tcgetpgrp(STDOUT_FILENO) != getpgrp())
        return;
    rps_output_terminal(&columns, NULL);
    rps_status_text_begin(&line, (size_t)columns - 1);
    before = uselocale(watch->cli->locale);
    rps_watch_view_state(&watch->view, &line);
    rps_watch_view_system(&watch->view, &line);
    rps_watch_view_rates(&watch->view, &line);
    uselocale(before);
    printf("\r%s\033[K", line.text);
    fflush(stdout);
    watch->line_shown = 1;
}

static int draw_view(struct watch *watch)
{
    char *text = NULL;
    size_t size = 0;
    int64_t start_ns = cpu_now_ns();
    int result =
        rps_subprocess_run("rpistat drawing", draw_apart, watch, &text, &size, &watch->cli->err);

    watch->cpu_ns += cpu_now_ns() - start_ns;

    if (result == 0 && !watch->picture)
        result = rps_screen_show(&watch->screen, text, &watch->cli->err);
    else if (result == 0 && watch->screen.signal_fd > 0)
        show_line(watch);
    free(text);
    return result;
}

/* --- following -------------------------------------------------------------------------------- */

/* Wait for the next update, and start the commands that are due. */
static int pause_until(struct watch *watch, int64_t until_ns, int *ret_quit)
{
    enum rps_screen_event event;
    int is_due = 0;

    do {
        int64_t left_ns = until_ns - rps_clock_monotonic_ns();

        event = rps_screen_wait(&watch->screen, is_due && left_ns > RUN_NS ? RUN_NS : left_ns);
        is_due = run_commands(watch);
    } while (is_due >= 0 && event == RPS_SCREEN_TIME && rps_clock_monotonic_ns() < until_ns);
    *ret_quit = event == RPS_SCREEN_QUIT;
    return is_due < 0 ? is_due : 0;
}

/* Draw until the recording ends, --until holds, or the user quits (then *ret_quit is 1). */
static int draw_until_end(struct watch *watch, int *ret_quit)
{
    const struct settings *settings = watch->cli->settings;
    int result;

    do {
        int64_t start_ns = rps_clock_monotonic_ns(), cpu_ns = watch->cpu_ns, least_ns, next_ns;

        result = look_again(watch);
        if (result < 0 || watch->seen || watch->view.run.state != RPS_RUN_RECORDING)
            break;
        if (watch->draws)
            result = draw_view(watch);
        next_ns = start_ns + settings->every_ns;
        least_ns = rps_clock_monotonic_ns() + IDLE_SHARE * (watch->cpu_ns - cpu_ns);
        if (result == 0)
            result = pause_until(watch, next_ns > least_ns ? next_ns : least_ns, ret_quit);
    } while (result == 0 && !*ret_quit);
    return result;
}

static void report_end(const struct watch *watch, int followed)
{
    const struct rps_run *run = &watch->view.run;
    char length[RPS_TEXT_NUMBER_SIZE];
    const char *state = run->state == RPS_RUN_COMPLETE ? "complete" : "interrupted";
    locale_t before;

    if (run->state == RPS_RUN_RECORDING)
        return;
    before = uselocale(watch->cli->locale);
    rps_text_duration(length, sizeof(length), run->elapsed_ns > 0 ? run->elapsed_ns : 0);
    uselocale(before);
    if (followed)
        rps_output_print("the recording of run %lld ended after %s%s%s", (long long)run->run_id,
                         length, run->end_reason[0] != '\0' ? ": " : "", run->end_reason);
    else if (watch->cli->run_text)
        rps_output_print("run %lld is no longer being recorded (%s)", (long long)run->run_id,
                         state);
    else
        rps_output_print("nothing is being recorded into %s; run %lld, the newest, is %s",
                         watch->cli->input, (long long)run->run_id, state);
}

/* Wait for running commands, and start the commands still due. Returns 1 if any was due. */
static int finish_commands(struct watch *watch)
{
    int is_due = 0;

    for (size_t i = 0; i < watch->condition_count; i++) {
        rps_watch_condition_runs(&watch->condition[i], 1);
        is_due = is_due || rps_watch_condition_is_due(&watch->condition[i]);
    }
    return is_due && run_commands(watch) >= 0;
}

static int watch_run(struct watch *watch)
{
    struct rps_cli *cli = watch->cli;
    const struct settings *settings = cli->settings;
    char since[RPS_TEXT_NUMBER_SIZE];
    int full = watch->picture == NULL && watch->draws, quit = 0, result = look_again(watch);
    int follows = watch->view.run.state == RPS_RUN_RECORDING && !settings->once && !watch->seen &&
                  (!full || rps_output_screen());

    if (result == 0 && follows) {
        result = rps_screen_open(&watch->screen, full, &cli->err);
        if (result == 0)
            result = draw_until_end(watch, &quit);
        rps_screen_close(&watch->screen);
        if (watch->line_shown)
            fputs("\r\033[K", stdout);
        if (result == 0 && !quit && !watch->seen)
            result = look_again(watch);
    }
    if (result == 0 && !quit && watch->draws)
        result = draw_view(watch);
    if (result == 0 && !quit && fflush(stdout) == 0 && !cli->quiet) {
        if (watch->seen)
            rps_output_print("run %lld: %s since %s", (long long)watch->run_id, watch->seen->text,
                             rps_text_clock(since, sizeof(since), watch->seen->start_ns, 0));
        else
            report_end(watch, follows);
    }
    while (!quit && finish_commands(watch) > 0)
        ;
    return result == 0 && settings->until.count > 0 && !watch->seen ? UNSEEN_STATUS : result;
}

/* --- in a browser ----------------------------------------------------------------------------- */

static void print_url(void *context, const char *url)
{
    (void)context;
    printf("%s\n", url);
    fflush(stdout);
}

/* Wait for a signal. The signal ends only the server of the live page, not the program. */
static int wait_for_end_signal(void *context, int fd, int64_t ns)
{
    const int *signal_fd = context;
    struct signalfd_siginfo info;
    struct pollfd wait[2] = {{.fd = *signal_fd, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    const struct timespec left = {(time_t)(ns / RPS_NS_PER_S), (long)(ns % RPS_NS_PER_S)};

    return ppoll(wait, 2, &left, NULL) > 0 && wait[0].revents != 0 &&
           read(*signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info);
}

/* Serve the live page until a signal arrives. The reader of the store is closed during that time.
 * The errors are those of rps_live_page_serve. */
static int serve(const struct watch *watch)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
    struct rps_cli *cli = watch->cli;
    const struct settings *settings = cli->settings;
    int signal_fd = -1, result;
    const struct rps_live_page_options page = {
        .store_path = cli->input,
        .run_id = watch->run_id,
        .script_folder = rps_output_scripts(),
        .port = settings->port,
        .ready = print_url,
        .wait = wait_for_end_signal,
        .context = &signal_fd,
    };
    sigset_t before;

    if (settings->once || settings->chars || cli->output)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "%s is for a drawing, and --http serves a page; leave one of them out",
                             settings->once    ? "--once"
                             : settings->chars ? "--chars"
                                               : "--plot");
    result = rps_signals_take(ending, RPS_COUNT(ending), &signal_fd, &before, &cli->err);
    if (result < 0)
        return result;
    result = rps_live_page_serve(&page, &cli->err);
    close(signal_fd);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return result;
}

/* --- the command ------------------------------------------------------------------------------ */

/* Parse the conditions, which check() has already found valid, a second time, into an array. */
static void take_conditions(struct watch *watch)
{
    const struct settings *settings = watch->cli->settings;
    size_t count = (size_t)settings->on.count + (size_t)settings->until.count;

    watch->condition = rps_arena_get(watch->cli->arena, count, sizeof(*watch->condition));
    for (int i = 0; i < settings->on.count; i++)
        rps_watch_condition_parse("--on", settings->on.text[i],
                                  &watch->condition[watch->condition_count++], NULL);
    for (int i = 0; i < settings->until.count; i++)
        rps_watch_condition_parse("--until", settings->until.text[i],
                                  &watch->condition[watch->condition_count++], NULL);
    watch->view.recent_periods = count > 0 ? RPS_WATCH_PERIODS : 0;
    watch->draws = watch->picture || count == 0 || (settings->on.count == 0 && rps_output_screen());
}

static int run_watch(struct rps_cli *cli)
{
    const struct settings *settings = cli->settings;
    struct watch watch = {.cli = cli, .command = cli->argv};
    int result;

    if ((cli->argc > 0) != (settings->on.count > 0))
        return rps_error_set(
            &cli->err, RPS_USAGE,
            cli->argc > 0
                ? "'%s' is a command without a condition; add a condition, as in --on phase"
                : "--on '%s' needs a command; append it as -- COMMAND",
            cli->argc > 0 ? cli->argv[0] : settings->on.text[0]);
    if (cli->output != NULL && strcmp(cli->output, "-") != 0)
        watch.picture = cli->output;
    watch.view.arena = rps_arena_new();
    rps_run_init(&watch.view.run);
    take_conditions(&watch);
    result = rps_reader_find_live(cli->reader, cli->run_text, &watch.run_id, &cli->err);
    rps_reader_close(cli->reader); /* the server itself opens the store each time it reads */
    cli->reader = NULL;
    (void)!nice(RPS_CLI_NICENESS);
    if (result == 0)
        result = settings->http ? serve(&watch) : watch_run(&watch);
    rps_watch_view_free(&watch.view);
    return result;
}

const struct rps_command rps_command_watch = {
    .name = "watch",
    .summary = "follow a recording while it runs",
    .answers = "What does a recording show now, and when does a condition become true?",
    .usage = "[OPTIONS] [--on CONDITION -- COMMAND [ARG...]]",
    .description =
        "Follow a recording from another terminal. watch draws its last minutes, with the\n"
        "current rates and phase, until the recording ends or you press q. Without a\n"
        "terminal, or if nothing is being recorded, it draws once. --plot needs gnuplot,\n"
        "except for a page (.html). --http serves the page to a browser on this machine.\n"
        "--on runs COMMAND in the background each time the condition becomes true (see\n"
        "the manual for how long it must hold). The environment of COMMAND contains\n"
        "RPISTAT_CONDITION, RPISTAT_STORE, RPISTAT_RUN, RPISTAT_PHASE and RPISTAT_TIME_S.\n"
        "--until exits with status 0 when the condition becomes true, and with 5 if the\n"
        "recording ends first.",
    .examples = "  rpistat watch\n"
                "  rpistat watch -i long.data --last 1h --every 30s\n"
                "  rpistat watch --plot now.png        for a picture viewer that follows\n"
                "  rpistat watch --http                prints the address to open\n"
                "  rpistat watch --on phase -- sh -c 'echo phase $RPISTAT_PHASE'\n"
                "  rpistat watch --until 'cpi>3' || echo \"the limit was not passed\"",
    .input = RPS_INPUT_STORE,
    .output = RPS_OUTPUT_PATH,
    .output_help = "the same as --plot",
    .operand_max = -1,
    .runs_workload = 1,
    .options = RPS_OPTIONS(options),
    .settings_size = sizeof(struct settings),
    .run = run_watch,
};
