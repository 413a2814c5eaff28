/* Output of the commands: standard output or a file, messages, and the terminal's abilities. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <langinfo.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "config.h"
#include "rpistat/document.h"
#include "rpistat/store.h"
#include "rpistat/text.h"

#define MESSAGE_SIZE 4096
#define TERMINAL_MAX 4096 /* maximum number of columns or lines that is accepted */
#define COLUMNS_MIN  20   /* minimum width of a terminal for breaking lines */

static int is_standard_output(const char *path)
{
    return path == NULL || strcmp(path, "-") == 0;
}

int rps_output_open(struct rps_output *ret, const char *path, struct rps_error *err)
{
    struct rps_output output = {.file = stdout};
    int fd;

    if (!is_standard_output(path)) {
        if (rps_output_file_open(&output.target, path, 0, err) < 0)
            return RPS_FAILED;
        fd = fcntl(output.target.fd, F_DUPFD_CLOEXEC, 3);
        output.file = fd >= 0 ? fdopen(fd, "w") : NULL;
        if (output.file == NULL) {
            rps_error_set(err, RPS_FAILED, "cannot write '%s': %s", path, strerror(errno));
            if (fd >= 0)
                close(fd);
            rps_output_file_abandon(&output.target);
            return RPS_FAILED;
        }
    }
    *ret = output;
    return 0;
}

int rps_output_close(struct rps_output *output, struct rps_error *err)
{
    const char *name = output->target.path != NULL ? output->target.path : "to standard output";
    int failed, number, result = 0;

    if (output->file == NULL)
        return 0;
    errno = 0;
    failed = fflush(output->file) != 0 || ferror(output->file);
    number = errno;
    if (output->file != stdout && fclose(output->file) != 0 && !failed) {
        failed = 1;
        number = errno;
    }
    output->file = NULL;
    if (failed && number == EPIPE)
        result = rps_error_set(err, RPS_FAILED, "%s", "");
    else if (failed)
        result = rps_error_set(
            err, RPS_FAILED,
            "cannot write %s: %s; run the command again, because the output is incomplete", name,
            number != 0 ? strerror(number) : "an earlier write failed");
    else
        result = rps_output_file_finish(&output->target, err);
    rps_output_abandon(output);
    return result;
}

void rps_output_abandon(struct rps_output *output)
{
    if (output->file != NULL && output->file != stdout)
        fclose(output->file);
    rps_output_file_abandon(&output->target);
    memset(output, 0, sizeof(*output));
}

int rps_output_differs(const char *input, const char *output, struct rps_error *err)
{
    struct stat in, out;

    if (input == NULL || is_standard_output(output) || stat(input, &in) < 0 ||
        stat(output, &out) < 0 || in.st_dev != out.st_dev || in.st_ino != out.st_ino)
        return 0;
    return rps_error_set(err, RPS_USAGE, "-o '%s' is also the input; choose another file", output);
}

void rps_output_guard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        /* Open for the opposite direction, so that using the stream fails as if it were closed. */
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", (fd == 0 ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
    }
}

void rps_output_message(const char *sentence)
{
    char text[MESSAGE_SIZE], whole[MESSAGE_SIZE + 16], lines[2 * MESSAGE_SIZE] = "";
    struct winsize size = {0};
    FILE *out = NULL;

    snprintf(whole, sizeof(whole), "rpistat: %s\n",
             rps_text_printable(text, sizeof(text), sentence));
    /* Do not break a command that the user may copy. */
    if (strncmp(sentence, "next: ", 6) != 0 && isatty(STDERR_FILENO) &&
        ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= COLUMNS_MIN &&
        strlen(whole) > size.ws_col)
        out = fmemopen(lines, sizeof(lines), "w");
    if (out) {
        whole[strlen(whole) - 1] = '\0';
        rps_document_break(out, whole, size.ws_col, 0, 2);
        fclose(out);
    }
    /* Write in one piece: the workload also writes to standard error, which is not buffered. */
    fputs(lines[0] ? lines : whole, stderr);
}

void rps_output_print(const char *format, ...)
{
    char sentence[MESSAGE_SIZE];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    rps_output_message(sentence);
}

int rps_output_has_terminal(void)
{
    pid_t in_front = tcgetpgrp(STDERR_FILENO);

    return isatty(STDERR_FILENO) && (in_front < 0 || in_front == getpgrp());
}

int rps_output_is_file(int fd)
{
    struct stat file;

    return fstat(fd, &file) == 0 &&
           (S_ISREG(file.st_mode) || (S_ISCHR(file.st_mode) && !isatty(fd)));
}

/* Return a positive number from an environment variable, or 0. */
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

int rps_output_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *term = getenv("TERM"), *locale = NULL;
    locale_t user = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    int is_utf8 = user && strcmp(nl_langinfo_l(CODESET, user), "UTF-8") == 0;

    if (user)
        freelocale(user);
    for (size_t i = 0; i < RPS_COUNT(names) && (!locale || !locale[0]); i++)
        locale = getenv(names[i]);
    if (term != NULL && strcmp(term, "dumb") == 0)
        return 0;
    /* a locale that is not installed has only a name */
    return is_utf8 || (locale && (strcasestr(locale, "utf-8") || strcasestr(locale, "utf8")));
}

int rps_output_colour(void)
{
    const char *no_color = getenv("NO_COLOR");

    return rps_output_screen() && (no_color == NULL || no_color[0] == '\0');
}

/* SAFETY: only directories that whoever installed or built the program has written. A path further
 * up, such as ../../plot, might be in a directory that others can write. */
const char *rps_output_scripts(void)
{
    /* for an unpacked package, for a build directory */
    static const char *const nearby[] = {"/../share/rpistat/plot", "/plot"};
    static char path[PATH_MAX + 32];
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    char *slash = memrchr(path, '/', length > 0 ? (size_t)length : 0);

    if (access(RPS_PLOT_FOLDER "/draw.gp", R_OK) == 0)
        return RPS_PLOT_FOLDER;
    for (size_t i = 0; slash && i < RPS_COUNT(nearby); i++) {
        strcpy(slash, nearby[i]);
        if (access(path, R_OK) == 0)
            return path;
    }
    return RPS_PLOT_FOLDER;
}

locale_t rps_format_locale(const struct rps_cli *cli, enum rps_format format)
{
    return format == RPS_FORMAT_JSON || format == RPS_FORMAT_CSV ? (locale_t)0 : cli->locale;
}

void rps_format_document(const struct rps_cli *cli, const struct rps_document *document,
                         enum rps_format format)
{
    struct rps_document localised = *document;
    int columns = 0;

    localised.locale = rps_format_locale(cli, format);
    if (cli->out != stdout || !rps_output_terminal(&columns, NULL))
        columns = 0;
    rps_document_write(&localised, cli->out, format, columns);
}

char *rps_format_run(char *ret, size_t size, const struct rps_run *run)
{
    char label[RPS_RUN_TEXT_SIZE], title[128], number[48] = "a run without a number yet";

    if (run->run_id > 0)
        snprintf(number, sizeof(number), "run %" PRId64, run->run_id);
    snprintf(ret, size, "%s (%s%s%s%s)", number, run->label[0] != '\0' ? "label " : "",
             rps_text_printable(label, sizeof(label), run->label),
             run->label[0] != '\0' ? ", " : "", rps_run_title(title, sizeof(title), run));
    return ret;
}

int rps_cpus_choose(struct rps_cli *cli, const char *text, struct rps_cpus *ret)
{
    int rc = text ? rps_cpus_parse(cli->arena, text, ret, &cli->err) : 0;
    struct rps_run run;

    if (rc < 0 || !text || ret->way != RPS_CPUS_EACH || ret->count > 0 || !cli->reader ||
        rps_reader_run(cli->arena, cli->reader, cli->run_id, &run, NULL) < 0)
        return rc;
    if (!rps_run_is_of_machine(run.target))
        snprintf(cli->note, sizeof(cli->note),
                 "run %lld was not counted per CPU, so --cpu each shows its sum; record with -a to "
                 "count per CPU",
                 (long long)cli->run_id);
    return 0;
}

/* Options of the commands that draw. */

const struct rps_picture_size rps_picture_pixels = {"pixels", 320, 240, 16384, 16384, "1200x900"};

int rps_picture_size(const char *text, const struct rps_picture_size *limits, int *ret_width,
                     int *ret_height, struct rps_error *err)
{
    const char *x = text ? strchr(text, 'x') : NULL;
    uint64_t width = 0, height = 0;
    char first[16];

    if (!text)
        return 0;
    if (x && (size_t)(x - text) < sizeof(first)) {
        snprintf(first, sizeof(first), "%.*s", (int)(x - text), text);
        if (rps_parse_uint64("--size", first, limits->width_min, limits->width_max, &width, NULL) ==
                0 &&
            rps_parse_uint64("--size", x + 1, limits->height_min, limits->height_max, &height,
                             NULL) == 0) {
            *ret_width = (int)width;
            *ret_height = (int)height;
            return 0;
        }
    }
    return rps_error_set(err, RPS_USAGE,
                         "--size: '%s' is not a size in %s from %ux%u to %ux%u; write one like %s",
                         text, limits->unit, limits->width_min, limits->height_min,
                         limits->width_max, limits->height_max, limits->example);
}
