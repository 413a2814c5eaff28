/* gnuplot's directory, with a chart's files and scripts, removed even if the program ends early. */
#include "rpistat/plot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rpistat/output_file.h"
#include "rpistat/process.h"

#define FOLDER_PATH_SIZE 4096

/* The file in the directory for gnuplot's messages. */
#define LOG       "gnuplot.log"
#define SAID_SIZE 600

static const char script_name[] = "draw.gp";

static const struct rps_gnuplot_format formats[] = {
    {".png", "png", "IEND", 4},
    {".svg", "svg", "</svg>", 6},
    {".pdf", "pdf", "%%EOF", 5},
};

const struct rps_gnuplot_format rps_gnuplot_sixel = {"-", "sixel", "\033\\", 2};

const struct rps_gnuplot_format *rps_gnuplot_format(const char *path)
{
    const char *dot = strrchr(path, '.');

    for (size_t i = 0; dot && i < RPS_COUNT(formats); i++) {
        if (strcasecmp(dot, formats[i].ending) == 0)
            return &formats[i];
    }
    return NULL;
}

/* --- gnuplot's process ------------------------------------------------------------------------ */

/* SAFETY: gnuplot is started without a shell and without the user's start-up file. gnuplot writes
 * to its standard output, which is a file of ours. Therefore no file name becomes part of a script,
 * where `|` would begin a command. */

static int spawn(int folder_fd, const char *script, const char *argument, int out_fd,
                 pid_t *ret_pid)
{
    char script_copy[32], argument_copy[16];
    char *argv[] = {(char[]){"gnuplot"}, (char[]){"-d"}, (char[]){"-c"},
                    script_copy,         argument_copy,  NULL};
    posix_spawn_file_actions_t actions;
    int error;

    snprintf(script_copy, sizeof(script_copy), "%s", script);
    snprintf(argument_copy, sizeof(argument_copy), "%s", argument);
    error = posix_spawn_file_actions_init(&actions);
    if (error)
        return error;
    if ((error = posix_spawn_file_actions_addfchdir_np(&actions, folder_fd)) == 0 &&
        (error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)) == 0 &&
        (error = posix_spawn_file_actions_adddup2(&actions, out_fd, 1)) == 0 &&
        (error = posix_spawn_file_actions_addopen(
             &actions, 2, LOG, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0666)) == 0)
        error = posix_spawnp(ret_pid, "gnuplot", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Return the last meaningful line of gnuplot's log. */
static void read_log(int folder_fd, char ret[SAID_SIZE])
{
    int fd = openat(folder_fd, LOG, O_RDONLY | O_CLOEXEC);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    char line[512];

    snprintf(ret, SAID_SIZE, "it gave no reason");
    while (file && fgets(line, sizeof(line), file)) {
        char *text = line + strspn(line, " \t^\n");

        text[strcspn(text, "\n")] = '\0';
        /* gnuplot quotes the line of the script, marks the position, then describes the error. */
        if (text[0] && (strstr(text, "line ") || strstr(text, "rror")))
            snprintf(ret, SAID_SIZE, "%s", text);
    }
    if (file)
        fclose(file);
    else if (fd >= 0)
        close(fd);
}

/* Wait until the process has ended. The process is killed when stop_fd becomes readable. */
static void watch(pid_t pid, int stop_fd)
{
    struct pollfd fd[2] = {
        {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN},
        {.fd = stop_fd, .events = POLLIN},
    };

    if (fd[0].fd < 0)
        return;
    while (poll(fd, 2, -1) < 0 && errno == EINTR)
        ;
    if (fd[1].revents)
        kill(pid, SIGKILL);
    close(fd[0].fd);
}

/* Run a script with one argument in the directory; the drawing goes to out_fd. Kill gnuplot when
 * stop_fd (0: none) is readable. RPS_FAILED with gnuplot's message or the package to install. */
static int run_process(int folder_fd, const char *script, const char *argument, int out_fd,
                       int stop_fd, struct rps_error *err)
{
    char said[SAID_SIZE];
    pid_t pid;
    int status, error = spawn(folder_fd, script, argument, out_fd, &pid);

    if (error == ENOENT || error == EACCES) /* EACCES: a directory of PATH cannot be searched */
        return rps_error_set(err, RPS_FAILED,
                             "gnuplot was not found; install it (Debian: apt-get install "
                             "gnuplot-nox), or use `rpistat export` and another program");
    if (error)
        return rps_error_set(err, RPS_FAILED, "cannot start gnuplot: %s", strerror(error));
    if (stop_fd > 0)
        watch(pid, stop_fd);
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return rps_error_set(err, RPS_FAILED, "cannot wait for gnuplot: %s", strerror(errno));
    }
    if (WIFSIGNALED(status))
        return rps_error_set(err, RPS_FAILED, "gnuplot was ended by signal %d; nothing was drawn",
                             WTERMSIG(status));
    if (WEXITSTATUS(status) != 0) {
        read_log(folder_fd, said);
        return rps_error_set(err, RPS_FAILED, "gnuplot could not draw: %s", said);
    }
    return 0;
}

struct folder {
    const struct rps_gnuplot_picture *picture;
    char path[FOLDER_PATH_SIZE];
    int made; /* 1: a temporary directory, which is removed */
    int fd;
    int stop_fd;     /* readable if a signal arrived while the directory existed; 0: none */
    sigset_t before; /* the signal mask before the directory was created */
};

/* --- places ----------------------------------------------------------------------------------- */

/* Delay signals that end the program: they end gnuplot at once, and the program after the directory
 * is removed. If the caller reads signals from a descriptor, they do not end gnuplot. */
static int hold_signals(struct folder *folder, struct rps_error *err)
{
    static const int number[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};

    if (rps_signals_take(number, RPS_COUNT(number), &folder->stop_fd, &folder->before, err) < 0)
        return RPS_FAILED;
    if (sigismember(&folder->before, SIGINT)) {
        close(folder->stop_fd);
        folder->stop_fd = 0;
    }
    return 0;
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
            return rps_error_set(
                err, RPS_FAILED,
                "cannot create the directory %s: %s; name another directory with --keep-script",
                keep, strerror(errno));
        snprintf(folder->path, sizeof(folder->path), "%s", keep);
    } else {
        int length =
            snprintf(folder->path, sizeof(folder->path), "%s/rpistat-plot-XXXXXX", temporary);

        if ((size_t)length >= sizeof(folder->path))
            errno = ENAMETOOLONG;
        if ((size_t)length >= sizeof(folder->path) || !mkdtemp(folder->path))
            return rps_error_set(
                err, RPS_FAILED,
                "cannot create a temporary directory in %s: %s; name another directory with TMPDIR",
                temporary, strerror(errno));
        folder->made = 1;
    }
    folder->fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder->fd < 0 || fstat(folder->fd, &st) < 0)
        return rps_error_set(err, RPS_FAILED,
                             "cannot open the directory %s: %s; name another directory with %s",
                             folder->path, strerror(errno), keep ? "--keep-script" : "TMPDIR");
    if (st.st_uid != geteuid() || (st.st_mode & S_IWOTH))
        return rps_error_set(err, RPS_FAILED,
                             "--keep-script: other users can write the directory %s, and gnuplot "
                             "runs its files; choose a directory of your own",
                             folder->path);
    return 0;
}

/* Remove the directory and its files, or only unneeded files if the directory is kept. */
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
        unlinkat(folder->fd, LOG, 0);
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
                             "cannot read the plot script %s: %s; install rpistat again", path,
                             strerror(errno));
    to = create_in_folder(folder, name, 0666);
    if (to)
        result = rps_gnuplot_copy(from, to);
    if (to && fclose(to) != 0)
        result = -1;
    if (result < 0)
        rps_error_set(err, RPS_FAILED, "cannot write %s into %s: %s", name, folder->path,
                      strerror(errno));
    fclose(from);
    return result;
}

/* Write instructions into a kept directory: how to draw again after a change. */
static int write_redraw(struct folder *folder, struct rps_error *err)
{
    const struct rps_gnuplot_format *format = folder->picture->format;
    int terminal = format == &rps_gnuplot_sixel;
    FILE *file = create_in_folder(folder, "redraw.sh", 0777);

    if (file) {
        fprintf(file,
                "#!/bin/sh\n"
                "# Draws the picture of this directory again, after a change to %s or the data.\n"
                "cd \"$(dirname \"$0\")\" || exit\n"
                "gnuplot -d -c %s %s%s%s\n",
                script_name, script_name, format->name, terminal ? "" : " > figure",
                terminal ? "" : format->ending);
        if (fclose(file) == 0)
            return 0;
    }
    return rps_error_set(err, RPS_FAILED, "cannot write redraw.sh into %s: %s", folder->path,
                         strerror(errno));
}

/* --- gnuplot ---------------------------------------------------------------------------------- */

/* Return 1 if the drawing has the end of a complete picture. */
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
    char said[SAID_SIZE];
    int rc = run_process(folder->fd, script_name, folder->picture->format->name,
                         folder->picture->out_fd, folder->stop_fd, err);

    if (rc == 0 && !is_whole(folder)) {
        read_log(folder->fd, said);
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
        result = copy_script(folder, script_name, err);
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
        if (folder.stop_fd > 0)
            close(folder.stop_fd);
        sigprocmask(SIG_SETMASK, &folder.before, NULL);
    }
    return result;
}

int rps_gnuplot_draw_file(const struct rps_gnuplot_picture *picture, const char *path,
                          struct rps_error *err)
{
    struct rps_gnuplot_picture drawn = *picture;
    struct rps_output_file file = {0};
    int result = rps_output_file_open(&file, path, 1, err);

    drawn.out_fd = file.fd;
    if (result == 0)
        result = rps_gnuplot_draw(&drawn, err);
    if (result == 0)
        result = rps_output_file_finish(&file, err);
    rps_output_file_abandon(&file);
    return result;
}
