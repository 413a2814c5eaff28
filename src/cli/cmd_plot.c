/* `rpistat plot`: a run as a picture, or as a drawing in the terminal. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "cpus.h"
#include "rpistat/parse.h"
#include "rpistat/plot.h"
#include "screen.h"

#define PLOT_LIST_MAX 64
#define PLOT_TEXT_MAX 4096

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
    size_t metric_count, panel_count;
    const char *metric[PLOT_LIST_MAX]; /* in text */
    const char *panel[PLOT_LIST_MAX];
    char text[PLOT_TEXT_MAX]; /* of --metric, cut at its commas */
    size_t text_used;
    const char *size; /* NULL: chosen */
    const char *keep; /* NULL: nothing is kept */
    const char *cpus; /* NULL: chosen */
    int width, height;
    const char *chars; /* NULL: as the locale is */
    int ascii;
    int sixel;
};

/* What makes a picture rather than a smudge, or a file too large to open. */
struct size_limits {
    const char *unit;
    unsigned width_min, height_min, width_max, height_max;
    const char *example;
};

static const struct size_limits pixel_limits = {"pixels", 320, 240, 16384, 16384, "1200x900"};
static const struct size_limits character_limits = {"characters", 40, 12, 1000, 1000, "100x30"};

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

static int set_theme(struct rps_cli *cli, const char *argument)
{
    struct settings *settings = cli->settings;

    if (strcmp(argument, "light") != 0 && strcmp(argument, "dark") != 0)
        return rps_error_set(&cli->err, RPS_USAGE, "--theme: '%s' is neither light nor dark",
                             argument);
    settings->theme = strcmp(argument, "dark") == 0 ? RPS_THEME_DARK : RPS_THEME_LIGHT;
    return 0;
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

/* Names between commas; the option may be given again. */
static int add_metrics(struct rps_cli *cli, const char *argument)
{
    struct settings *settings = cli->settings;
    char *text = settings->text + settings->text_used, *rest = NULL;
    size_t before = settings->metric_count;

    if (strlen(argument) >= sizeof(settings->text) - settings->text_used)
        return rps_error_set(&cli->err, RPS_USAGE, "--metric: too many names");
    strcpy(text, argument);
    settings->text_used += strlen(argument) + 1;
    for (char *name = strtok_r(text, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        if (settings->metric_count == PLOT_LIST_MAX)
            return rps_error_set(&cli->err, RPS_USAGE, "--metric: more than %d names",
                                 PLOT_LIST_MAX);
        settings->metric[settings->metric_count++] = name;
    }
    if (settings->metric_count == before)
        return rps_error_set(&cli->err, RPS_USAGE, "--metric: no name in '%s'", argument);
    return 0;
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
        return add_metrics(cli, argument);
    case OPTION_PANEL:
        return add_panel(cli, argument);
    case OPTION_THEME:
        return set_theme(cli, argument);
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
        if (argument[0] == '\0')
            return rps_error_set(&cli->err, RPS_USAGE, "--keep: the folder's name is empty");
        settings->keep = argument;
        return 0;
    }
}

/* "WxH" within the limits of what is drawn, which -o decides. */
static int check(struct rps_cli *cli)
{
    struct settings *settings = cli->settings;
    const struct size_limits *limits =
        is_drawing(cli) && !settings->sixel ? &character_limits : &pixel_limits;
    const char *x = settings->size != NULL ? strchr(settings->size, 'x') : NULL;
    uint64_t width = 0, height = 0;
    char text[16];

    if (settings->sixel && (!is_drawing(cli) || settings->chars))
        return rps_error_set(&cli->err, RPS_USAGE, "--sixel goes with -o -, and without --chars");
    if (settings->size == NULL)
        return 0;
    if (x != NULL && (size_t)(x - settings->size) < sizeof(text)) {
        snprintf(text, sizeof(text), "%.*s", (int)(x - settings->size), settings->size);
        if (rps_parse_uint64("--size", text, limits->width_min, limits->width_max, &width, NULL) ==
                0 &&
            rps_parse_uint64("--size", x + 1, limits->height_min, limits->height_max, &height,
                             NULL) == 0) {
            settings->width = (int)width;
            settings->height = (int)height;
            return 0;
        }
    }
    return rps_error_set(&cli->err, RPS_USAGE,
                         "--size: '%s' is no size in %s from %ux%u to %ux%u, as in %s",
                         settings->size, limits->unit, limits->width_min, limits->height_min,
                         limits->width_max, limits->height_max, limits->example);
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
        plot->height -= plot->height > (int)character_limits.height_min; /* the prompt's line */
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
        .metric = settings->metric,
        .metric_count = settings->metric_count,
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
