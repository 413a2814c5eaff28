/* `rpistat plot`: a run as a picture, or as a drawing in the terminal. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "config.h"
#include "cpus.h"
#include "rpistat/parse.h"
#include "rpistat/plot.h"

enum {
    OPTION_AXIS = RPS_OPTION_OWN,
    OPTION_SIZE,
    OPTION_KEEP,
    OPTION_CPU,
};

struct settings {
    enum rps_axis axis;
    const char *size; /* NULL: chosen */
    const char *keep; /* NULL: nothing is kept */
    const char *cpus; /* NULL: chosen */
    int width, height;
};

/* What makes a picture rather than a smudge, or a file too large to open. */
struct size_limits {
    const char *unit;
    unsigned width_min, height_min, width_max, height_max;
};

static const struct size_limits pixel_limits = {"pixels", 320, 240, 16384, 16384};
static const struct size_limits character_limits = {"characters", 40, 12, 1000, 1000};

static const struct rps_option options[] = {
    {"x", OPTION_AXIS, "AXIS", "what runs to the right: time or cycles", "time"},
    {"size", OPTION_SIZE, "WxH", "in pixels; in characters with -o -", NULL},
    {"keep", OPTION_KEEP, "DIR", "leave gnuplot's script and data in the folder DIR", NULL},
    {"cpu", OPTION_CPU, "CPUS", "of a recording by CPU: each, sum or a list", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static int is_drawing(const struct rps_cli *cli)
{
    return strcmp(cli->output, "-") == 0;
}

static int set_option(struct rps_cli *cli, int letter, const char *argument)
{
    struct settings *settings = cli->settings;

    switch (letter) {
    case OPTION_AXIS:
        if (strcmp(argument, "time") != 0 && strcmp(argument, "cycles") != 0)
            return rps_error_set(&cli->err, RPS_USAGE, "--x: '%s' is neither time nor cycles",
                                 argument);
        settings->axis = strcmp(argument, "time") == 0 ? RPS_AXIS_TIME : RPS_AXIS_CYCLE;
        return 0;
    case OPTION_SIZE:
        settings->size = argument;
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
    const struct size_limits *limits = is_drawing(cli) ? &character_limits : &pixel_limits;
    struct settings *settings = cli->settings;
    const char *x = settings->size != NULL ? strchr(settings->size, 'x') : NULL;
    uint64_t width = 0, height = 0;
    char text[16];

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
                         "--size: '%s' is no size in %s from %ux%u to %ux%u, as in 1200x900",
                         settings->size, limits->unit, limits->width_min, limits->height_min,
                         limits->width_max, limits->height_max);
}

/* Where the gnuplot scripts are: installed, or in the source tree this program was built from. */
static const char *script_folder(void)
{
    return access(RPS_PLOT_FOLDER "/run.gp", R_OK) == 0 ? RPS_PLOT_FOLDER : RPS_PLOT_SOURCE_FOLDER;
}

static int run(struct rps_cli *cli, int argc, char **argv)
{
    const struct settings *settings = cli->settings;
    struct rps_plot_options plot = {
        .from_ns = cli->from_ns,
        .to_ns = cli->to_ns,
        .axis = settings->axis,
        .output = cli->output,
        .keep = settings->keep,
        .script_folder = script_folder(),
        .width = settings->width,
        .height = settings->height,
        .colour = rps_output_colour(),
    };
    int *list = NULL;
    char note[512];
    int result;

    (void)argc;
    (void)argv;
    if (is_drawing(cli) && settings->size == NULL) {
        rps_output_terminal(&plot.width, &plot.height);
        plot.height -= plot.height > (int)character_limits.height_min; /* the prompt's line */
    }
    if (settings->cpus != NULL) {
        result = rps_cpus_parse(settings->cpus, &plot.cpus, &list, &cli->err);
        if (result < 0)
            return result;
    }
    result = rps_plot_draw(cli->reader, cli->run_id, &plot, &cli->err);
    free(list);
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
    .description = "Draw a run: panels of derived figures under one axis. Needs gnuplot.",
    .examples = "  rpistat plot -o run.svg\n"
                "  rpistat plot -o - --from 10s --to 20s      draw in the terminal",
    .input = RPS_INPUT_RUN,
    .output = RPS_OUTPUT_PATH,
    .output_help = "a .png, .svg or .pdf; -: the terminal",
    .output_value = "rpistat.png",
    .options = options,
    .settings_size = sizeof(struct settings),
    .option = set_option,
    .check = check,
    .run = run,
};
