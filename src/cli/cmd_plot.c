/* `rpistat plot`: shows a run as a picture file, or as a drawing in the terminal. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "rpistat/plot.h"
#include "rpistat/store.h"
#include "screen.h"

struct settings {
    struct rps_plot_options plot;
    enum { X_TIME, X_CLOCK, X_CYCLES } x;
    struct rps_names metric;
    struct rps_texts panel, function;
    const char *size; /* NULL: automatic size */
    const char *cpus; /* NULL: automatic choice */
    int chars;        /* RPS_CHARS_ASCII, ...; 0: selected by the locale */
};

static const struct rps_picture_size character_size = {"characters", 40, 12, 1000, 1000, "100x30"};

#define AT(member) RPS_AT(struct settings, member)

#define WORD(kind, name, help) " " #name
#define HELP(kind, name, help) "\n  " help

/* The words of --code are in the same order as the members of the enum (rpistat/plot.h). */
static const struct rps_option options[] = {
    {"kind", 0, "KIND", "kind of picture, see above", "time", RPS_OPTION_CHOICE, AT(plot.kind),
     .words = &RPS_PLOT_KINDS(WORD)[1]},
    {"metric", 0, "LIST", "show only these metrics, separated by commas", NULL, RPS_OPTION_NAMES,
     AT(metric)},
    {"panel", 0, "TEXT", "show panels with TEXT in the title; may be repeated", NULL,
     RPS_OPTION_LIST, AT(panel), 1},
    {"code", 0, "WHAT", "show the shares of time by WHAT", "function", RPS_OPTION_CHOICE,
     AT(plot.code), RPS_PLOT_CODE_FUNCTION, .words = "function module thread program cgroup none"},
    {"function", 0, "NAME", "show when function NAME ran; may be repeated", NULL, RPS_OPTION_LIST,
     AT(function), 1, RPS_PALETTE_LINES},
    {"wall", 0, NULL, "with --function: include the time asleep", NULL, RPS_OPTION_FLAG,
     AT(plot.wall)},
    {"no-phases", 0, NULL, "do not show phases", NULL, RPS_OPTION_FLAG, AT(plot.no_phases)},
    {"theme", 0, "THEME", "light or dark", NULL, RPS_OPTION_CHOICE, AT(plot.theme), RPS_THEME_LIGHT,
     .words = "light dark"},
    {"x-axis", 0, "AXIS", "x axis: time, clock or cycles", "time", RPS_OPTION_CHOICE, AT(x),
     .words = "time clock cycles", .old_name = "x"},
    {"size", 0, "WxH", "size in pixels; with -o -, in characters", NULL, RPS_OPTION_TEXT, AT(size)},
    {"chars", 0, "SET", "with -o -: braille or ascii (default from the locale)", NULL,
     RPS_OPTION_CHOICE, AT(chars), 1, .words = RPS_CHARS},
    {"sixel", 0, NULL, "with -o -: draw a picture (sixel terminals)", NULL, RPS_OPTION_FLAG,
     AT(plot.sixel)},
    {"keep-script", 0, "DIR", "keep gnuplot's script and data in DIR", NULL, RPS_OPTION_TEXT,
     AT(plot.keep), 1, .old_name = "keep"},
    {"cpu", 0, "CPUS", "CPUs: each, sum or a list", NULL, RPS_OPTION_TEXT, AT(cpus),
     .check = rps_cpus_check, .words = "each sum"},
    {NULL},
};

static int is_drawing(const struct rps_cli *cli)
{
    return strcmp(cli->output, "-") == 0;
}

/* Check the options. The valid sizes depend on the type of picture, which -o selects. */
static int check_plot(struct rps_cli *cli)
{
    struct settings *settings = cli->settings;
    int in_characters = is_drawing(cli) && !settings->plot.sixel;

    if (settings->plot.code == RPS_PLOT_CODE_FUNCTION &&
        !rps_options_set(cli, "code", RPS_SOURCE_COMMAND_LINE))
        settings->plot.code = RPS_PLOT_CODE_CHOSEN;
    if (((settings->plot.code != RPS_PLOT_CODE_CHOSEN &&
          settings->plot.code != RPS_PLOT_CODE_NONE) ||
         settings->function.count > 0) &&
        !rps_store_used_hooks())
        return rps_error_set(&cli->err, RPS_FAILED, RPS_CLI_NO_CODE);
    if (settings->plot.wall && settings->function.count == 0)
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--wall shows the off-CPU time of functions; add --function NAME");
    if (settings->plot.sixel && (!is_drawing(cli) || settings->chars))
        return rps_error_set(&cli->err, RPS_USAGE,
                             "--sixel draws in the terminal; add -o - and leave out --chars");
    return rps_picture_size(settings->size, in_characters ? &character_size : &rps_picture_pixels,
                            &settings->plot.width, &settings->plot.height, &cli->err);
}

/* Draw sixels if requested or supported by the terminal, otherwise characters. */
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
    if (result == 0 || settings->plot.sixel)
        return result;
    if (settings->size == NULL) {
        terminal = rps_output_terminal(&plot->width, &plot->height);
        /* Leave one line for the prompt. */
        plot->height -= plot->height > (int)character_size.height_min;
        if (!terminal && getenv("LINES") == NULL)
            plot->height = 0; /* automatic height: a file has no height limit */
    }
    return rps_plot_draw(cli->reader, cli->run_id, plot, &cli->err);
}

static int run_plot(struct rps_cli *cli)
{
    struct settings *settings = cli->settings;
    struct rps_plot_options *plot = &settings->plot;
    int result;

    plot->from_ns = cli->from_ns;
    plot->to_ns = cli->to_ns;
    plot->axis = settings->x == X_CYCLES ? RPS_AXIS_CYCLE : RPS_AXIS_TIME;
    plot->clock = settings->x == X_CLOCK;
    plot->metric = settings->metric.name;
    plot->metric_count = settings->metric.count;
    plot->panel = settings->panel.text;
    plot->panel_count = (size_t)settings->panel.count;
    plot->function = settings->function.text;
    plot->function_count = (size_t)settings->function.count;
    plot->output = cli->output;
    plot->script_folder = rps_output_scripts();
    plot->temporary_folder = getenv("TMPDIR");
    plot->out = stdout;
    plot->colour = rps_output_colour();
    plot->ascii = settings->chars ? settings->chars == RPS_CHARS_ASCII : !rps_output_utf8();
    result = rps_cpus_choose(cli, settings->cpus, &plot->cpus);
    if (result < 0)
        return result;
    if (!is_drawing(cli))
        rps_progress_begin(cli, "drawing");
    result = is_drawing(cli) ? draw_in_terminal(cli, plot)
                             : rps_plot_draw(cli->reader, cli->run_id, plot, &cli->err);
    rps_progress_end(cli);
    if (result == 0 && !cli->quiet && !is_drawing(cli) && isatty(STDERR_FILENO))
        rps_output_print("run %lld is drawn in %s", (long long)cli->run_id, cli->output);
    return result;
}

const struct rps_command rps_command_plot = {
    .name = "plot",
    .summary = "draw a run",
    .answers = "How do the metrics of a run look over time?",
    .usage = "[OPTIONS]",
    .description = "Draw the metrics of a run over time, with its phases. Pictures need gnuplot;\n"
                   "interactive pages (.html) and drawings in the terminal (-o -) do not.\n"
                   "\n"
                   "Kinds:" RPS_PLOT_KINDS(HELP),
    .examples = "  rpistat plot -o run.svg\n"
                "  rpistat plot -o run.html                   a page to zoom into\n"
                "  rpistat plot --x-axis clock                time of day on the x axis\n"
                "  rpistat plot --kind scatter --metric cpi,dc_miss_ratio\n"
                "  rpistat plot --function inflate            when a function ran\n"
                "  rpistat plot -o - --from 10s --to 20s      draw in the terminal",
    .input = RPS_INPUT_RUN,
    .output = RPS_OUTPUT_PATH,
    .output_help = "png, svg, pdf, html; -: terminal",
    .output_value = "rpistat.png",
    .options = RPS_OPTIONS(options),
    .settings_size = sizeof(struct settings),
    .check = check_plot,
    .run = run_plot,
};
