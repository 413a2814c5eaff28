/* `rpistat plot`: a run as a picture, or as a drawing in the terminal. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "cpus.h"
#include "picture_options.h"
#include "rpistat/plot.h"
#include "screen.h"

#define PLOT_LIST_MAX 64

enum {
    OPTION_AXIS = RPS_OPTION_OWN,
    OPTION_SIZE,
    OPTION_KEEP,
    OPTION_CPU,
    OPTION_KIND,
    OPTION_METRIC,
    OPTION_PANEL,
    OPTION_THEME,
    OPTION_NO_PHASES,
    OPTION_CODE,
    OPTION_CHARS,
    OPTION_SIXEL,
};

struct settings {
    enum rps_plot_kind kind;
    enum rps_axis axis;
    int clock;
    enum rps_theme theme;
    int no_phases;
    enum rps_plot_code code;
    struct rps_picture_metrics metric;
    size_t panel_count;
    const char *panel[PLOT_LIST_MAX];
    const char *size; /* NULL: chosen */
    const char *keep; /* NULL: nothing is kept */
    const char *cpus; /* NULL: chosen */
    int width, height;
    const char *chars; /* NULL: as the locale is */
    int ascii;
    int sixel;
};

static const struct rps_picture_size character_size = {"characters", 40, 12, 1000, 1000, "100x30"};

static const struct rps_option options[] = {
    {"kind", OPTION_KIND, "KIND", "what is drawn, see above", "time"},
    {"metric", OPTION_METRIC, "LIST", "these metrics only, separated by commas", NULL},
    {"panel", OPTION_PANEL, "TEXT", "only panels with TEXT in their title; repeatable", NULL},
    {"code", OPTION_CODE, "WHAT", "of sampled runs: shares of time by WHAT", "function",
     "function module thread none"},
    {"no-phases", OPTION_NO_PHASES, NULL, "leave out the phases", NULL},
    {"theme", OPTION_THEME, "THEME", "light or dark", NULL, "light dark"},
    {"x", OPTION_AXIS, "AXIS", "the axis to the right: time, clock or cycles", "time",
     "time clock cycles"},
    {"size", OPTION_SIZE, "WxH", "in pixels; in characters with -o -", NULL},
    {"chars", OPTION_CHARS, "SET", "of -o -: braille or ascii, unless as the locale is", NULL,
     "braille ascii"},
    {"sixel", OPTION_SIXEL, NULL, "with -o -: a picture, in a terminal that shows sixels", NULL},
    {"keep", OPTION_KEEP, "DIR", "leave gnuplot's script and data in the folder DIR", NULL},
    {"cpu", OPTION_CPU, "CPUS", "of a recording by CPU: each, sum or a list", NULL, "each sum"},
    {NULL, 0, NULL, NULL, NULL},
};

static int is_drawing(const struct rps_cli *cli)
{
    return strcmp(cli->output, "-") == 0;
}

static int set_kind(struct rps_cli *cli, const char *argument)
{
    struct settings *settings = cli->settings;
    char known[128] = "";
    size_t used = 0;

    for (int kind = 0; kind < RPS_PLOT_KIND_COUNT; kind++) {
        if (strcmp(argument, rps_plot_kinds[kind].name) == 0) {
            settings->kind = (enum rps_plot_kind)kind;
            return 0;
        }
        used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", kind ? ", " : "",
                                 rps_plot_kinds[kind].name);
    }
    return rps_error_set(&cli->err, RPS_USAGE, "--kind: '%s' is no kind of picture; there are %s",
                         argument, known);
}

static int set_code(struct rps_cli *cli, const char *argument)
{
    struct settings *settings = cli->settings;

    for (int code = RPS_PLOT_CODE_FUNCTION; code < RPS_PLOT_CODE_COUNT; code++) {
        if (strcmp(argument, rps_plot_code_names[code]) == 0) {
            settings->code = (enum rps_plot_code)code;
            return 0;
        }
    }
    return rps_error_set(&cli->err, RPS_USAGE,
                         "--code: '%s' is not function, module, thread or none", argument);
}

static int add_panel(struct rps_cli *cli, const char *argument)
{
    struct settings *settings = cli->settings;

    if (argument[0] == '\0')
        return rps_error_set(&cli->err, RPS_USAGE, "--panel: the text is empty");
    if (settings->panel_count == PLOT_LIST_MAX)
        return rps_error_set(&cli->err, RPS_USAGE, "--panel: more than %d of them", PLOT_LIST_MAX);
    settings->panel[settings->panel_count++] = argument;
    return 0;
}

static int set_option(struct rps_cli *cli, int letter, const char *argument)
{
    struct settings *settings = cli->settings;

    switch (letter) {
    case OPTION_KIND:
        return set_kind(cli, argument);
    case OPTION_METRIC:
        return rps_picture_metrics(&settings->metric, argument, &cli->err);
    case OPTION_PANEL:
        return add_panel(cli, argument);
    case OPTION_THEME:
        return rps_picture_theme(argument, &settings->theme, &cli->err);
    case OPTION_CODE:
        return set_code(cli, argument);
    case OPTION_NO_PHASES:
        settings->no_phases = 1;
        return 0;
    case OPTION_AXIS:
        settings->clock = strcmp(argument, "clock") == 0;
        if (strcmp(argument, "time") != 0 && strcmp(argument, "cycles") != 0 && !settings->clock)
            return rps_error_set(&cli->err, RPS_USAGE, "--x: '%s' is not time, clock or cycles",
                                 argument);
        settings->axis = strcmp(argument, "cycles") == 0 ? RPS_AXIS_CYCLE : RPS_AXIS_TIME;
        return 0;
    case OPTION_SIZE:
        settings->size = argument;
        return 0;
    case OPTION_CHARS:
        settings->chars = argument;
        return rps_output_chars(argument, &settings->ascii, &cli->err);
    case OPTION_SIXEL:
        settings->sixel = 1;
        return 0;
    case OPTION_CPU:
        settings->cpus = argument;
        return rps_cpus_check(argument, &cli->err);
    default:
        return rps_picture_keep(argument, &settings->keep, &cli->err);
    }
}

/* What is drawn, which -o decides, decides about the size. */
static int check(struct rps_cli *cli)
{
    struct settings *settings = cli->settings;
    int in_characters = is_drawing(cli) && !settings->sixel;

    if (settings->sixel && (!is_drawing(cli) || settings->chars))
        return rps_error_set(&cli->err, RPS_USAGE, "--sixel goes with -o -, and without --chars");
    return rps_picture_size(settings->size, in_characters ? &character_size : &rps_picture_pixels,
                            &settings->width, &settings->height, &cli->err);
}

/* In sixels where they are asked for, or the terminal shows them; else in characters. */
static int draw_in_terminal(struct rps_cli *cli, struct rps_plot_options *plot)
{
    const struct settings *settings = cli->settings;
    struct rps_plot_options pixels = *plot;
    int terminal, result = RPS_FAILED;

    pixels.sixel |= !settings->size && !settings->chars && rps_screen_has_sixel();
    if (pixels.sixel && settings->size == NULL)
        rps_screen_pixels(&pixels.width, &pixels.height);
    if (pixels.sixel)
        result = rps_plot_draw(cli->reader, cli->run_id, &pixels, &cli->err);
    if (result == 0 || settings->sixel)
        return result;
    if (settings->size == NULL) {
        terminal = rps_output_terminal(&plot->width, &plot->height);
        plot->height -= plot->height > (int)character_size.height_min; /* the prompt's line */
        if (!terminal && getenv("LINES") == NULL)
            plot->height = 0; /* a file is as long as it needs to be */
    }
    return rps_plot_draw(cli->reader, cli->run_id, plot, &cli->err);
}

static int run(struct rps_cli *cli, int argc, char **argv)
{
    const struct settings *settings = cli->settings;
    struct rps_plot_options plot = {
        .from_ns = cli->from_ns,
        .to_ns = cli->to_ns,
        .kind = settings->kind,
        .axis = settings->axis,
        .clock = settings->clock,
        .theme = settings->theme,
        .no_phases = settings->no_phases,
        .code = settings->code,
        .metric = settings->metric.name,
        .metric_count = settings->metric.count,
        .panel = settings->panel,
        .panel_count = settings->panel_count,
        .output = cli->output,
        .keep = settings->keep,
        .script_folder = rps_output_scripts(),
        .temporary_folder = getenv("TMPDIR"),
        .width = settings->width,
        .height = settings->height,
        .out = stdout,
        .colour = rps_output_colour(),
        .ascii = settings->chars ? settings->ascii : !rps_output_utf8(),
        .sixel = settings->sixel,
    };
    int *list = NULL;
    char note[512];
    int result;

    (void)argc;
    (void)argv;
    if (settings->cpus != NULL) {
        result = rps_cpus_choose(cli, settings->cpus, &plot.cpus, &list);
        if (result < 0)
            return result;
    }
    if (!is_drawing(cli))
        rps_progress_begin(cli, "drawing");
    result = is_drawing(cli) ? draw_in_terminal(cli, &plot)
                             : rps_plot_draw(cli->reader, cli->run_id, &plot, &cli->err);
    free(list);
    rps_progress_end(cli);
    if (result == 0 && !cli->quiet && !is_drawing(cli) && isatty(STDERR_FILENO)) {
        snprintf(note, sizeof(note), "run %lld is drawn in %s", (long long)cli->run_id,
                 cli->output);
        rps_output_message(note);
    }
    return result;
}

const struct rps_command rps_command_plot = {
    .name = "plot",
    .summary = "a run as a picture",
    .usage = "[OPTIONS]",
    .description = "Draw a run: panels of derived figures under one axis, with its phases. Needs\n"
                   "gnuplot, but for an interactive page (.html) and in the terminal (-o -).\n"
                   "\n"
                   "Kinds:\n"
                   "  time     panels of metrics over time, phases shaded\n"
                   "  phases   the distinct phases side by side, metric by metric\n"
                   "  scatter  two metrics against each other, coloured by phase\n"
                   "  heat     a map of all metrics over time\n"
                   "  pca      principal components over time, and against each other",
    .examples = "  rpistat plot -o run.svg\n"
                "  rpistat plot -o run.html                   a page to zoom and look around in\n"
                "  rpistat plot --x clock                     by the clock on the wall\n"
                "  rpistat plot --kind scatter --metric cpi,dc_miss_ratio\n"
                "  rpistat plot -o - --from 10s --to 20s      draw in the terminal",
    .input = RPS_INPUT_RUN,
    .output = RPS_OUTPUT_PATH,
    .output_help = ".png, .svg, .pdf, .html; -: terminal",
    .output_value = "rpistat.png",
    .options = options,
    .settings_size = sizeof(struct settings),
    .option = set_option,
    .check = check,
    .run = run,
};
