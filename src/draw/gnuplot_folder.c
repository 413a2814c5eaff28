/*
 * The directory that gnuplot works in: filled with a chart's files and the scripts, and removed
 * however the program ends. gnuplot.c runs gnuplot's process.
 */
#include "rpistat/gnuplot_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gnuplot.h"
#include "rpistat/signals.h"

#define FOLDER_PATH_SIZE 4096

static const char script[] = "draw.gp";

static const struct rps_gnuplot_format formats[] = {
    {".png", "png", "IEND", 4},
    {".svg", "svg", "</svg>", 6},
    {".pdf", "pdf", "%%EOF", 5},
};

const struct rps_gnuplot_format rps_gnuplot_sixel = {"-", "sixel", "\033\\", 2};

const struct rps_gnuplot_format *rps_gnuplot_format(const char *path)
{
    const char *dot = strrchr(path, '.');

    for (size_t i = 0; dot && i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (strcasecmp(dot, formats[i].ending) == 0)
            return &formats[i];
    }
    return NULL;
}

struct folder {
    const struct rps_gnuplot_picture *picture;
    char path[FOLDER_PATH_SIZE];
    int made; /* a temporary one, to be removed */
    int fd;
    int stop_fd;     /* readable when a signal waits for the directory's removal; 0: none */
    sigset_t before; /* the signal mask before the directory was created */
};

/* --- places ----------------------------------------------------------------------------------- */

/* A signal that would end the program ends gnuplot, and waits until the directory is removed. If
 * the caller reads signals from a descriptor, gnuplot continues. */
static int hold_signals(struct folder *folder, struct rps_error *err)
{
    static const int number[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};

    if (rps_signals_take(number, sizeof(number) / sizeof(number[0]), &folder->stop_fd,
                         &folder->before, err) < 0)
        return RPS_FAILED;
    if (sigismember(&folder->before, SIGINT)) {
        close(folder->stop_fd);
        folder->stop_fd = 0;
    }
    return 0;
}

static void release_signals(struct folder *folder)
{
    if (folder->stop_fd > 0)
        close(folder->stop_fd);
    sigprocmask(SIG_SETMASK, &folder->before, NULL);
}

static int open_folder(struct folder *folder, struct rps_error *err)
{
    const char *keep = folder->picture->keep;
    const char *temporary =
        folder->picture->temporary_folder && folder->picture->temporary_folder[0]
            ? folder->picture->temporary_folder
            : P_tmpdir;
    struct stat st;

    if (keep) {
        if (mkdir(keep, 0777) < 0 && errno != EEXIST)
            return rps_error_set(err, RPS_FAILED,
                                 "the folder %s cannot be made: %s; name another with --keep", keep,
                                 strerror(errno));
        snprintf(folder->path, sizeof(folder->path), "%s", keep);
    } else {
        int length =
            snprintf(folder->path, sizeof(folder->path), "%s/rpistat-plot-XXXXXX", temporary);

        if ((size_t)length >= sizeof(folder->path))
            errno = ENAMETOOLONG;
        if ((size_t)length >= sizeof(folder->path) || !mkdtemp(folder->path))
            return rps_error_set(err, RPS_FAILED,
                                 "no temporary folder could be made in %s: %s; name another with "
                                 "TMPDIR",
                                 temporary, strerror(errno));
        folder->made = 1;
    }
    folder->fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder->fd < 0 || fstat(folder->fd, &st) < 0)
        return rps_error_set(err, RPS_FAILED,
                             "the folder %s cannot be opened: %s; name another with %s",
                             folder->path, strerror(errno), keep ? "--keep" : "TMPDIR");
    if (st.st_uid != geteuid() || (st.st_mode & S_IWOTH))
        return rps_error_set(err, RPS_FAILED,
                             "--keep: others can write the folder %s, and gnuplot runs what is in "
                             "it; choose a folder of your own",
                             folder->path);
    return 0;
}

/* Remove the temporary directory and the files that gnuplot and we put there; in a kept one, the
 * files that nobody needs. */
static void close_folder(struct folder *folder)
{
    DIR *dir = folder->made && folder->fd >= 0 ? fdopendir(dup(folder->fd)) : NULL;
    struct dirent *entry;

    while (dir && (entry = readdir(dir)) != NULL)
        unlinkat(folder->fd, entry->d_name, 0);
    if (dir)
        closedir(dir);
    if (folder->made)
        rmdir(folder->path);
    else if (folder->fd >= 0)
        unlinkat(folder->fd, RPS_GNUPLOT_LOG, 0);
    if (folder->fd >= 0)
        close(folder->fd);
}

/* --- the script ------------------------------------------------------------------------------- */

int rps_gnuplot_copy(FILE *from, FILE *to)
{
    char buffer[8192];
    size_t got;

    while ((got = fread(buffer, 1, sizeof(buffer), from)) > 0) {
        if (fwrite(buffer, 1, got, to) != got)
            return -1;
    }
    return ferror(from) ? -1 : 0;
}

static FILE *create_in_folder(struct folder *folder, const char *name, mode_t mode)
{
    int fd = openat(folder->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;

    if (!file && fd >= 0)
        close(fd);
    return file;
}

static int copy_script(struct folder *folder, const char *name, struct rps_error *err)
{
    char path[FOLDER_PATH_SIZE];
    FILE *from, *to = NULL;
    int result = -1;

    snprintf(path, sizeof(path), "%s/%s", folder->picture->script_folder, name);
    from = fopen(path, "re");
    if (!from)
        return rps_error_set(err, RPS_FAILED,
                             "the plot script %s cannot be read: %s; install rpistat again", path,
                             strerror(errno));
    to = create_in_folder(folder, name, 0666);
    if (to)
        result = rps_gnuplot_copy(from, to);
    if (to && fclose(to) != 0)
        result = -1;
    if (result < 0)
        rps_error_set(err, RPS_FAILED, "%s cannot be written into %s: %s", name, folder->path,
                      strerror(errno));
    fclose(from);
    return result;
}

/* For a kept directory: how to draw again after a change. */
static int write_redraw(struct folder *folder, struct rps_error *err)
{
    const struct rps_gnuplot_format *format = folder->picture->format;
    int terminal = format == &rps_gnuplot_sixel;
    FILE *file = create_in_folder(folder, "redraw.sh", 0777);

    if (file) {
        fprintf(file,
                "#!/bin/sh\n"
                "# Draws this folder's figure again, after a change to %s or the data.\n"
                "cd \"$(dirname \"$0\")\" || exit\n"
                "gnuplot -d -c %s %s%s%s\n",
                script, script, format->name, terminal ? "" : " > figure",
                terminal ? "" : format->ending);
        if (fclose(file) == 0)
            return 0;
    }
    return rps_error_set(err, RPS_FAILED, "redraw.sh cannot be written into %s: %s", folder->path,
                         strerror(errno));
}

/* --- gnuplot ---------------------------------------------------------------------------------- */

/* Return 1 if the drawing ends like a complete picture. */
static int is_whole(struct folder *folder)
{
    char tail[64];
    off_t size = lseek(folder->picture->out_fd, 0, SEEK_END);
    off_t from = size > (off_t)sizeof(tail) ? size - (off_t)sizeof(tail) : 0;
    ssize_t got = size > 0 ? pread(folder->picture->out_fd, tail, sizeof(tail), from) : -1;

    if (got <= 0)
        return 0;
    return memmem(tail, (size_t)got, folder->picture->format->tail,
                  folder->picture->format->tail_size) != NULL;
}

static int run_gnuplot(struct folder *folder, struct rps_error *err)
{
    char said[RPS_GNUPLOT_SAID_SIZE];
    int rc = rps_gnuplot_run(folder->fd, script, folder->picture->format->name,
                             folder->picture->out_fd, folder->stop_fd, err);

    if (rc == 0 && !is_whole(folder)) {
        rps_gnuplot_said(folder->fd, said);
        rc = rps_error_set(err, RPS_FAILED, "gnuplot could not draw: %s", said);
    }
    return rc;
}

static int draw_in_folder(struct folder *folder, struct rps_error *err)
{
    int result = open_folder(folder, err);

    if (result == 0)
        result =
            rps_chart_write(folder->picture->chart,
                            strcmp(folder->picture->format->name, "svg") == 0, folder->fd, err);
    if (result == 0)
        result = copy_script(folder, script, err);
    if (result == 0 && folder->picture->keep)
        result = write_redraw(folder, err);
    if (result == 0)
        result = run_gnuplot(folder, err);
    close_folder(folder);
    return result;
}

int rps_gnuplot_draw(const struct rps_gnuplot_picture *picture, struct rps_error *err)
{
    struct folder folder = {.picture = picture, .fd = -1};
    int result = hold_signals(&folder, err);

    if (result == 0) {
        result = draw_in_folder(&folder, err);
        release_signals(&folder);
    }
    return result;
}
