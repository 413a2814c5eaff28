/*
 * Drawing a run: puts a figure's files and the script into a folder, lets gnuplot draw there
 * (gnuplot.c), and gives the finished picture its name (rpistat/output_file.h): one that was not
 * finished never has the name the user gave.
 */
#include "rpistat/plot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gnuplot.h"
#include "page.h"
#include "picture_kinds.h"
#include "rpistat/output_file.h"
#include "rpistat/signals.h"

#define PLOT_PATH_SIZE 4096

struct plot_format {
    const char *ending, *name; /* of the file; for the script */
    const char *tail;          /* what the last bytes of a whole picture hold */
    size_t tail_size;
};

static const struct plot_format plot_formats[] = {
    {".png", "png", "IEND", 4},
    {".svg", "svg", "</svg>", 6},
    {".pdf", "pdf", "%%EOF", 5},
};

static const struct plot_format plot_page = {".html", "page", "</html>", 7};
static const struct plot_format plot_sixel = {"-", "sixel", "\033\\", 2};
static const struct plot_format plot_characters = {"-", "characters", NULL, 0};

const struct rps_plot_kind_info rps_plot_kinds[RPS_PLOT_KIND_COUNT] = {
    [RPS_PLOT_TIME] = {"time", "panels of metrics over time, phases shaded"},
    [RPS_PLOT_PHASES] = {"phases", "the distinct phases side by side, metric by metric"},
    [RPS_PLOT_SCATTER] = {"scatter", "two metrics against each other, coloured by phase"},
    [RPS_PLOT_HEAT] = {"heat", "a map of all metrics over time"},
    [RPS_PLOT_PCA] = {"pca", "principal components over time, and against each other"},
};

const char *const rps_plot_code_names[RPS_PLOT_CODE_COUNT] = {
    [RPS_PLOT_CODE_CHOSEN] = "chosen", [RPS_PLOT_CODE_FUNCTION] = "function",
    [RPS_PLOT_CODE_MODULE] = "module", [RPS_PLOT_CODE_THREAD] = "thread",
    [RPS_PLOT_CODE_NONE] = "none",
};

/* The script of a kind, and what it loads. */
#define PLOT_SCRIPTS_MAX 7

struct plot_kind {
    rps_picture_write_kind *write;
    const char *script[PLOT_SCRIPTS_MAX]; /* the first is run; the rest are NULL */
};

static const struct plot_kind plot_kinds[RPS_PLOT_KIND_COUNT] = {
    [RPS_PLOT_TIME] = {rps_picture_write_time,
                       {"run.gp", "common.gp", "axis.gp", "title.gp", "words.gp", "strip.gp",
                        "code.gp"}},
    [RPS_PLOT_PHASES] = {rps_picture_write_profile,
                         {"phases.gp", "common.gp", "title.gp", "words.gp"}},
    [RPS_PLOT_SCATTER] = {rps_picture_write_scatter, {"scatter.gp", "common.gp", "title.gp"}},
    [RPS_PLOT_HEAT] = {rps_picture_write_heat,
                       {"heat.gp", "common.gp", "axis.gp", "title.gp", "strip.gp"}},
    [RPS_PLOT_PCA] = {rps_picture_write_pca,
                      {"pca.gp", "common.gp", "axis.gp", "title.gp", "strip.gp"}},
};

struct plot {
    const struct rps_plot_options *options;
    const struct plot_format *format;
    const struct plot_kind *kind;
    struct rps_picture picture;
    char folder[PLOT_PATH_SIZE]; /* where gnuplot works */
    int folder_made;             /* a temporary one, to be removed */
    int folder_fd;
    int stop_fd;                 /* can be read when a signal waits for the folder's end; 0: none */
    sigset_t before;             /* the mask of signals, while there is a folder */
    struct rps_output_file file; /* the picture; all zero for a drawing in the terminal */
    int drawing_fd;              /* what gnuplot writes: the file's, or our own; -1 without it */
};

/* --- places ----------------------------------------------------------------------------------- */

static const struct plot_format *format_of(const struct rps_plot_options *options)
{
    const char *dot = strrchr(options->output, '.');

    if (strcmp(options->output, "-") == 0)
        return options->sixel ? &plot_sixel : &plot_characters;
    if (dot && strcasecmp(dot, plot_page.ending) == 0)
        return &plot_page;
    for (size_t i = 0; dot && i < sizeof(plot_formats) / sizeof(plot_formats[0]); i++) {
        if (strcasecmp(dot, plot_formats[i].ending) == 0)
            return &plot_formats[i];
    }
    return NULL;
}

/* The unfinished picture has no name. */
static int open_drawing(struct plot *plot, struct rps_error *err)
{
    if (strcmp(plot->options->output, "-") != 0) {
        if (rps_output_file_open(&plot->file, plot->options->output, 1, err) < 0)
            return RPS_FAILED;
        plot->drawing_fd = plot->file.fd;
        return 0;
    }
    if (plot->format == &plot_characters)
        return 0;
    plot->drawing_fd = memfd_create("rpistat drawing", MFD_CLOEXEC);
    if (plot->drawing_fd < 0)
        return rps_error_set(err, RPS_FAILED, "no temporary file could be made: %s",
                             strerror(errno));
    return 0;
}

/* A signal that would end the program waits until the folder is removed, and ends gnuplot. Where
 * the caller takes them from a descriptor, gnuplot goes on. */
static int hold_signals(struct plot *plot, struct rps_error *err)
{
    static const int number[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};

    if (rps_signals_take(number, sizeof(number) / sizeof(number[0]), &plot->stop_fd, &plot->before,
                         err) < 0)
        return RPS_FAILED;
    if (sigismember(&plot->before, SIGINT)) {
        close(plot->stop_fd);
        plot->stop_fd = 0;
    }
    return 0;
}

static void release_signals(struct plot *plot)
{
    if (plot->stop_fd > 0)
        close(plot->stop_fd);
    sigprocmask(SIG_SETMASK, &plot->before, NULL);
}

static int open_folder(struct plot *plot, struct rps_error *err)
{
    const char *keep = plot->options->keep;
    const char *temporary = plot->options->temporary_folder && plot->options->temporary_folder[0]
                                ? plot->options->temporary_folder
                                : P_tmpdir;
    struct stat st;

    if (keep) {
        if (mkdir(keep, 0777) < 0 && errno != EEXIST)
            return rps_error_set(err, RPS_FAILED,
                                 "the folder %s cannot be made: %s; name another with --keep", keep,
                                 strerror(errno));
        snprintf(plot->folder, sizeof(plot->folder), "%s", keep);
    } else {
        int length =
            snprintf(plot->folder, sizeof(plot->folder), "%s/rpistat-plot-XXXXXX", temporary);

        if ((size_t)length >= sizeof(plot->folder))
            errno = ENAMETOOLONG;
        if ((size_t)length >= sizeof(plot->folder) || !mkdtemp(plot->folder))
            return rps_error_set(err, RPS_FAILED,
                                 "no temporary folder could be made in %s: %s; name another with "
                                 "TMPDIR",
                                 temporary, strerror(errno));
        plot->folder_made = 1;
    }
    plot->folder_fd = open(plot->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (plot->folder_fd < 0 || fstat(plot->folder_fd, &st) < 0)
        return rps_error_set(err, RPS_FAILED,
                             "the folder %s cannot be opened: %s; name another with %s",
                             plot->folder, strerror(errno), keep ? "--keep" : "TMPDIR");
    if (st.st_uid != geteuid() || (st.st_mode & S_IWOTH))
        return rps_error_set(err, RPS_FAILED,
                             "--keep: others can write the folder %s, and gnuplot runs what is in "
                             "it; choose a folder of your own",
                             plot->folder);
    return 0;
}

/* Remove the temporary folder and what gnuplot and we put there; of a kept one what nobody
 * needs. */
static void close_folder(struct plot *plot)
{
    DIR *dir = plot->folder_made && plot->folder_fd >= 0 ? fdopendir(dup(plot->folder_fd)) : NULL;
    struct dirent *entry;

    while (dir && (entry = readdir(dir)) != NULL)
        unlinkat(plot->folder_fd, entry->d_name, 0);
    if (dir)
        closedir(dir);
    if (plot->folder_made)
        rmdir(plot->folder);
    else if (plot->folder_fd >= 0)
        unlinkat(plot->folder_fd, RPS_GNUPLOT_LOG, 0);
    if (plot->folder_fd >= 0)
        close(plot->folder_fd);
}

/* --- the script ------------------------------------------------------------------------------- */

static int copy_stream(FILE *from, FILE *to)
{
    char buffer[8192];
    size_t got;

    while ((got = fread(buffer, 1, sizeof(buffer), from)) > 0) {
        if (fwrite(buffer, 1, got, to) != got)
            return -1;
    }
    return ferror(from) ? -1 : 0;
}

static FILE *create_in_folder(struct plot *plot, const char *name, mode_t mode)
{
    int fd =
        openat(plot->folder_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;

    if (!file && fd >= 0)
        close(fd);
    return file;
}

static int copy_script(struct plot *plot, const char *name, struct rps_error *err)
{
    char path[PLOT_PATH_SIZE];
    FILE *from, *to = NULL;
    int result = -1;

    snprintf(path, sizeof(path), "%s/%s", plot->options->script_folder, name);
    from = fopen(path, "re");
    if (!from)
        return rps_error_set(err, RPS_FAILED,
                             "the plot script %s cannot be read: %s; install rpistat again", path,
                             strerror(errno));
    to = create_in_folder(plot, name, 0666);
    if (to)
        result = copy_stream(from, to);
    if (to && fclose(to) != 0)
        result = -1;
    if (result < 0)
        rps_error_set(err, RPS_FAILED, "%s cannot be written into %s: %s", name, plot->folder,
                      strerror(errno));
    fclose(from);
    return result;
}

static int copy_scripts(struct plot *plot, struct rps_error *err)
{
    for (int i = 0; i < PLOT_SCRIPTS_MAX && plot->kind->script[i]; i++) {
        if (copy_script(plot, plot->kind->script[i], err) < 0)
            return RPS_FAILED;
    }
    return 0;
}

/* For a kept folder: how to draw again after changing something. */
static int write_redraw(struct plot *plot, struct rps_error *err)
{
    const struct plot_format *format = plot->format;
    int terminal = format == &plot_sixel;
    FILE *file = create_in_folder(plot, "redraw.sh", 0777);

    if (file) {
        fprintf(file,
                "#!/bin/sh\n"
                "# Draws this folder's figure again, after a change to %s or the data.\n"
                "cd \"$(dirname \"$0\")\" || exit\n"
                "gnuplot -d -c %s %s%s%s\n",
                plot->kind->script[0], plot->kind->script[0], format->name,
                terminal ? "" : " > figure", terminal ? "" : format->ending);
        if (fclose(file) == 0)
            return 0;
    }
    return rps_error_set(err, RPS_FAILED, "redraw.sh cannot be written into %s: %s", plot->folder,
                         strerror(errno));
}

/* --- gnuplot ---------------------------------------------------------------------------------- */

/* Does the drawing end as a whole picture does? */
static int is_whole(struct plot *plot)
{
    char tail[64];
    off_t size = lseek(plot->drawing_fd, 0, SEEK_END);
    off_t from = size > (off_t)sizeof(tail) ? size - (off_t)sizeof(tail) : 0;
    ssize_t got = size > 0 ? pread(plot->drawing_fd, tail, sizeof(tail), from) : -1;

    if (got <= 0)
        return 0;
    return memmem(tail, (size_t)got, plot->format->tail, plot->format->tail_size) != NULL;
}

static int run_gnuplot(struct plot *plot, struct rps_error *err)
{
    char said[RPS_GNUPLOT_SAID_SIZE];
    int rc = rps_gnuplot_run(plot->folder_fd, plot->kind->script[0], plot->format->name,
                             plot->drawing_fd, plot->stop_fd, err);

    if (rc == 0 && !is_whole(plot)) {
        rps_gnuplot_said(plot->folder_fd, said);
        rc = rps_error_set(err, RPS_FAILED, "gnuplot could not draw the run: %s", said);
    }
    return rc;
}

/* --- the finished drawing --------------------------------------------------------------------- */

/* The drawing was a whole one: write it where it goes. */
static int write_drawing(struct plot *plot, struct rps_error *err)
{
    FILE *out = plot->options->out;
    FILE *file = plot->drawing_fd >= 0 ? fdopen(dup(plot->drawing_fd), "r") : NULL;
    int result = 0;

    if (file) {
        rewind(file);
        result = copy_stream(file, out);
        fclose(file);
        fputc('\n', out);
    }
    if (result < 0 || fflush(out) != 0 || ferror(out))
        return rps_error_set(err, RPS_FAILED, "the drawing could not be written: %s",
                             strerror(errno));
    return 0;
}

static int finish(struct plot *plot, struct rps_error *err)
{
    return plot->file.path ? rps_output_file_finish(&plot->file, err) : write_drawing(plot, err);
}

static void plot_close(struct plot *plot)
{
    if (strcmp(plot->options->output, "-") == 0 && plot->drawing_fd >= 0)
        close(plot->drawing_fd);
    rps_output_file_abandon(&plot->file);
    rps_picture_free(&plot->picture);
}

/* --- drawing ---------------------------------------------------------------------------------- */

/* Options that exclude each other. */
static int check(const struct plot *plot, struct rps_error *err)
{
    const struct rps_plot_options *options = plot->options;
    const char *kind = rps_plot_kinds[options->kind].name;

    if (options->kind != RPS_PLOT_TIME && plot->format == &plot_characters)
        return rps_error_set(err, RPS_USAGE,
                             "--kind %s cannot be drawn in characters: name a .png, .svg or .pdf "
                             "with -o, or try --sixel",
                             kind);
    if (options->kind != RPS_PLOT_TIME && plot->format == &plot_page)
        return rps_error_set(err, RPS_USAGE,
                             "--kind %s: a page shows the run over time, with its tables; name a "
                             ".png, .svg or .pdf with -o",
                             kind);
    if (options->keep && (plot->format == &plot_page || plot->format == &plot_characters))
        return rps_error_set(err, RPS_USAGE, "--keep: a %s is made without gnuplot",
                             plot->format == &plot_page ? "page" : "drawing in characters");
    if (options->no_phases && options->kind == RPS_PLOT_PHASES)
        return rps_error_set(err, RPS_USAGE, "--no-phases leaves nothing to draw for --kind %s",
                             kind);
    if (options->kind == RPS_PLOT_SCATTER && options->metric_count > 0 &&
        options->metric_count != 2)
        return rps_error_set(err, RPS_USAGE,
                             "--metric: --kind scatter needs two metrics, as in cpi,dc_miss_rate, "
                             "not %zu",
                             options->metric_count);
    return 0;
}

static int draw_page(struct plot *plot, struct rps_reader *reader, struct rps_error *err)
{
    FILE *file = fdopen(dup(plot->drawing_fd), "w");
    int result;

    if (!file)
        return rps_error_set(err, RPS_FAILED, "%s cannot be written: %s", plot->options->output,
                             strerror(errno));
    result = rps_page_write(file, &plot->picture, reader, plot->options, err);
    if (fclose(file) != 0 && result == 0)
        result = rps_error_set(err, RPS_FAILED, "%s cannot be written: %s", plot->options->output,
                               strerror(errno));
    return result;
}

static int draw_in_folder(struct plot *plot, struct rps_reader *reader, struct rps_error *err)
{
    int result = open_folder(plot, err);

    if (result == 0)
        result = plot->kind->write(&plot->picture, reader, plot->options, plot->folder_fd, err);
    if (result == 0)
        result = copy_scripts(plot, err);
    if (result == 0 && plot->options->keep)
        result = write_redraw(plot, err);
    if (result == 0)
        result = run_gnuplot(plot, err);
    close_folder(plot);
    return result;
}

static int draw_picture(struct plot *plot, struct rps_reader *reader, struct rps_error *err)
{
    int result = hold_signals(plot, err);

    if (result == 0) {
        result = draw_in_folder(plot, reader, err);
        release_signals(plot);
    }
    return result;
}

int rps_plot_draw(struct rps_reader *reader, int64_t run_id, const struct rps_plot_options *options,
                  struct rps_error *err)
{
    struct plot plot = {.options = options, .folder_fd = -1, .drawing_fd = -1};
    int result;

    plot.format = format_of(options);
    if (!plot.format)
        return rps_error_set(err, RPS_USAGE,
                             "%s: the ending must be .png, .svg, .pdf or .html (or the whole name "
                             "- for a drawing in the terminal)",
                             options->output);
    plot.kind = &plot_kinds[options->kind];
    result = check(&plot, err);
    if (result == 0)
        result = rps_picture_open(&plot.picture, reader, run_id, options,
                                  plot.format == &plot_characters, err);
    plot.picture.xml = strcmp(plot.format->name, "svg") == 0;
    if (result == 0)
        result = open_drawing(&plot, err);
    if (result == 0)
        result = plot.format == &plot_page ? draw_page(&plot, reader, err)
                 : plot.format == &plot_characters
                     ? rps_picture_draw_characters(&plot.picture, options, options->out, err)
                     : draw_picture(&plot, reader, err);
    if (result == 0)
        result = finish(&plot, err);
    plot_close(&plot);
    return result;
}
