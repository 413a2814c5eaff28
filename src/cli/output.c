/*
 * Where output goes: standard output or a file, the messages, and what the terminal can do.
 *
 * A file is written without a name (O_TMPFILE) and gets its name when it is complete, so that a
 * full disk or an interrupt neither destroys an earlier file nor leaves half of a new one. A
 * temporary file with a name was dropped: it stays behind when the program is killed. Where the
 * file system cannot do this the file is written directly, as every other tool does.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "config.h"
#include "rpistat/parse.h"
#include "rpistat/text.h"
#include "rpistat/trust.h"

#define MESSAGE_SIZE 4096
#define TERMINAL_MAX 4096 /* columns or lines that anybody could mean */

static int is_standard_output(const char *path)
{
    return path == NULL || strcmp(path, "-") == 0;
}

/* The folder of path, in a new string. */
static char *folder_of(const char *path)
{
    char *copy = strdup(path);
    char *folder = copy != NULL ? strdup(dirname(copy)) : NULL;

    free(copy);
    return folder;
}

static int refuse(const char *path, int number, struct rps_error *err)
{
    char *folder = folder_of(path);
    const char *in = folder != NULL ? folder : "";
    int result;

    if (number == ENOENT || number == ENOTDIR)
        result = rps_error_set(err, RPS_FAILED,
                               "cannot write '%s': there is no folder '%s'; make it, or choose "
                               "another file with -o",
                               path, in);
    else if (number == EISDIR)
        result = rps_error_set(err, RPS_FAILED,
                               "cannot write '%s': it is a folder; choose a file with -o", path);
    else
        result =
            rps_error_set(err, RPS_FAILED, "cannot write '%s': %s; choose another file with -o",
                          path, strerror(number));
    free(folder);
    return result;
}

/* A file without a name in the folder of path, or -1. */
static int open_unnamed(const char *path, mode_t mode)
{
    char *folder = folder_of(path);
    int fd = folder != NULL ? open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, mode) : -1;

    free(folder);
    return fd;
}

int rps_output_open(struct rps_output *ret, const char *path, struct rps_error *err)
{
    struct rps_output output = {.file = stdout};
    struct stat existing;
    int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, fd = -1;

    if (is_standard_output(path)) {
        *ret = output;
        return 0;
    }
    /* What is there is replaced where it is, not the link to it. */
    if (rps_trust_path(path, &output.path, err) < 0)
        return RPS_FAILED;
    if (stat(output.path, &existing) < 0)
        fd = open_unnamed(output.path, 0666);
    else if (S_ISREG(existing.st_mode) && access(output.path, W_OK) == 0)
        fd = open_unnamed(output.path, existing.st_mode & 0777);
    output.unnamed = fd >= 0;
    if (fd < 0)
        fd = open(output.path, flags, 0666);
    output.file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (output.file == NULL) {
        refuse(path, errno, err);
        if (fd >= 0)
            close(fd);
        free(output.path);
        return RPS_FAILED;
    }
    *ret = output;
    return 0;
}

/* Give the file its name. linkat cannot replace a file, so a passing name comes first. */
static int name_file(const struct rps_output *output)
{
    char source[64], passing[PATH_MAX];
    int length = snprintf(passing, sizeof(passing), "%s.%ld", output->path, (long)getpid());

    if (length < 0 || (size_t)length >= sizeof(passing)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    snprintf(source, sizeof(source), "/proc/self/fd/%d", fileno(output->file));
    if (linkat(AT_FDCWD, source, AT_FDCWD, passing, AT_SYMLINK_FOLLOW) < 0)
        return -1;
    if (rename(passing, output->path) < 0) {
        int number = errno;

        unlink(passing);
        errno = number;
        return -1;
    }
    return 0;
}

int rps_output_close(struct rps_output *output, struct rps_error *err)
{
    const char *name = output->path != NULL ? output->path : "to standard output";
    int failed, number, result = 0;

    if (output->file == NULL)
        return 0;
    errno = 0;
    failed = fflush(output->file) != 0 || ferror(output->file) ||
             (output->unnamed && name_file(output) < 0);
    number = errno;
    if (output->file != stdout && fclose(output->file) != 0 && !failed) {
        failed = 1;
        number = errno;
    }
    if (failed && number == EPIPE)
        result = rps_error_set(err, RPS_FAILED, "%s", "");
    else if (failed)
        result = rps_error_set(err, RPS_FAILED, "cannot write %s: %s; the output is not complete",
                               name, number != 0 ? strerror(number) : "an earlier write failed");
    free(output->path);
    memset(output, 0, sizeof(*output));
    return result;
}

void rps_output_abandon(struct rps_output *output)
{
    if (output->file != NULL && output->file != stdout)
        fclose(output->file);
    free(output->path);
    memset(output, 0, sizeof(*output));
}

int rps_output_differs(const char *input, const char *output, struct rps_error *err)
{
    struct stat in, out;

    if (input == NULL || is_standard_output(output) || stat(input, &in) < 0 ||
        stat(output, &out) < 0 || in.st_dev != out.st_dev || in.st_ino != out.st_ino)
        return 0;
    return rps_error_set(err, RPS_USAGE,
                         "-o '%s' is the store itself, which would be lost; choose another file",
                         output);
}

void rps_output_guard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        /* The other direction: using the stream fails as it would without the guard. */
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", (fd == 0 ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
    }
}

void rps_output_message(const char *sentence)
{
    char text[MESSAGE_SIZE];

    /* In one piece: standard error is not buffered, and the workload's too. */
    fprintf(stderr, "rpistat: %s\n", rps_text_printable(text, sizeof(text), sentence));
}

/* A positive number in the environment, or 0. */
static int environment_number(const char *name)
{
    const char *text = getenv(name);
    uint64_t value = 0;

    if (text == NULL || rps_parse_uint64(name, text, 1, TERMINAL_MAX, &value, NULL) < 0)
        return 0;
    return (int)value;
}

int rps_output_terminal(int *ret_columns, int *ret_lines)
{
    struct winsize size = {0};
    int terminal = isatty(STDOUT_FILENO);
    int columns = environment_number("COLUMNS"), lines = environment_number("LINES");

    if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
        memset(&size, 0, sizeof(size));
    if (columns == 0)
        columns = size.ws_col > 0 ? size.ws_col : 80;
    if (lines == 0)
        lines = size.ws_row > 0 ? size.ws_row : 24;
    if (ret_columns != NULL)
        *ret_columns = columns;
    if (ret_lines != NULL)
        *ret_lines = lines;
    return terminal;
}

int rps_output_screen(void)
{
    const char *term = getenv("TERM");

    return isatty(STDOUT_FILENO) && term != NULL && strcmp(term, "dumb") != 0;
}

int rps_output_colour(void)
{
    const char *no_color = getenv("NO_COLOR");

    return rps_output_screen() && (no_color == NULL || no_color[0] == '\0');
}

const char *rps_output_scripts(void)
{
    return access(RPS_PLOT_FOLDER "/run.gp", R_OK) == 0 ? RPS_PLOT_FOLDER : RPS_PLOT_SOURCE_FOLDER;
}
