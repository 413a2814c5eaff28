/* The status line on the terminal and the thread that draws it. */
#include "terminal_line.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "rpistat/clock.h"
#include "rpistat/text.h"

#include "cli.h"

#define REDRAW_NS (500 * RPS_NS_PER_MS)

/* Number of columns that a terminal needs to show an interrupt key such as ^C. */
#define ECHO_COLUMNS 2

struct rps_terminal_line {
    int fd;
    rps_terminal_line_compose *compose;
    void *context;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    int stop;  /* 1: the thread must end; guarded by the lock */
    int shown; /* 1: a line is on the terminal; only the thread uses it */
};

static int may_draw(int fd)
{
    struct termios mode;

    return tcgetpgrp(fd) == getpgrp() && tcgetattr(fd, &mode) == 0 && (mode.c_lflag & ICANON) &&
           (mode.c_lflag & ECHO);
}

/* Return the number of columns for the line: the terminal's columns, minus those of ^C or ^Z. A
 * longer line would wrap when the terminal shows ^C, and a part of the line would remain. */
static size_t line_columns(int fd)
{
    struct winsize size;
    size_t columns = 80;

    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
        columns = size.ws_col;
    return columns - 1 - ECHO_COLUMNS;
}

static void draw_line(struct rps_terminal_line *line)
{
    struct rps_status_text text;

    if (!may_draw(line->fd))
        return;
    rps_status_text_begin(&text, line_columns(line->fd));
    line->compose(line->context, &text);
    dprintf(line->fd, "\r%s\033[K", text.text);
    line->shown = 1;
}

static void *line_thread(void *argument)
{
    struct rps_terminal_line *line = argument;
    struct timespec until;

    pthread_mutex_lock(&line->lock);
    while (!line->stop) {
        int64_t next_ns = rps_clock_monotonic_ns() + REDRAW_NS;

        until.tv_sec = (time_t)(next_ns / RPS_NS_PER_S);
        until.tv_nsec = (long)(next_ns % RPS_NS_PER_S);
        while (!line->stop && pthread_cond_timedwait(&line->wake, &line->lock, &until) != ETIMEDOUT)
            ;
        if (!line->stop) {
            pthread_mutex_unlock(&line->lock);
            draw_line(line); /* without the lock, because the terminal may block the write */
            pthread_mutex_lock(&line->lock);
        }
    }
    pthread_mutex_unlock(&line->lock);
    return NULL;
}

static void line_free(struct rps_terminal_line *line)
{
    pthread_cond_destroy(&line->wake);
    pthread_mutex_destroy(&line->lock);
    if (line->fd >= 0)
        close(line->fd);
    free(line);
}

int rps_terminal_line_start(struct rps_terminal_line **ret, int fd,
                            rps_terminal_line_compose *compose, void *context,
                            struct rps_error *err)
{
    struct rps_terminal_line *line = calloc(1, sizeof(*line));
    pthread_condattr_t attr;
    int number;

    if (!line)
        return rps_error_memory(err);
    line->compose = compose;
    line->context = context;
    pthread_mutex_init(&line->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&line->wake, &attr);
    pthread_condattr_destroy(&attr);
    line->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    number = line->fd < 0 ? errno : pthread_create(&line->thread, NULL, line_thread, line);
    if (number != 0) {
        line_free(line);
        return rps_error_set(err, RPS_FAILED, "cannot show the progress: %s", strerror(number));
    }
    *ret = line;
    return 0;
}

void rps_terminal_line_stop(struct rps_terminal_line *line)
{
    if (!line)
        return;
    pthread_mutex_lock(&line->lock);
    line->stop = 1;
    pthread_cond_signal(&line->wake);
    pthread_mutex_unlock(&line->lock);
    pthread_join(line->thread, NULL);
    if (line->shown && may_draw(line->fd))
        dprintf(line->fd, "\r\033[K");
    line_free(line);
}

/* Functions for lines of metrics. Each byte is treated as one column, so a line with non-ASCII text
 * is shorter than allowed, never longer. */

void rps_status_text_begin(struct rps_status_text *line, size_t columns)
{
    line->columns = columns < RPS_STATUS_TEXT_SIZE - 1 ? columns : RPS_STATUS_TEXT_SIZE - 1;
    line->text[0] = '\0';
}

int rps_status_text_add(struct rps_status_text *line, const char *format, ...)
{
    char field[RPS_STATUS_TEXT_SIZE], printable[RPS_STATUS_TEXT_SIZE];
    size_t used = strlen(line->text), gap = used > 0 ? 2 : 0;
    va_list args;

    va_start(args, format);
    vsnprintf(field, sizeof(field), format, args);
    va_end(args);
    rps_text_printable(printable, sizeof(printable), field);
    if (used + gap + strlen(printable) > line->columns)
        return 0;
    snprintf(line->text + used, sizeof(line->text) - used, "%*s%s", (int)gap, "", printable);
    return 1;
}

int rps_status_text_add_figure(struct rps_status_text *line, const char *label, double value,
                               const char *unit)
{
    char number[RPS_TEXT_NUMBER_SIZE];

    if (strcmp(unit, "%") == 0 && value >= 100)
        rps_text_figure(number, sizeof(number), 0, value);
    else
        rps_text_number_of(number, sizeof(number), value, unit);
    return rps_status_text_add(line, "%s %s%s%s", label, number,
                               unit[0] == '/' || unit[0] == '\0' ? "" : " ", unit);
}

/* --- progress of slow commands ---------------------------------------------------------------- */

struct rps_progress {
    struct rps_terminal_line *line;
    const char *what;
    int64_t start_ns;
};

static void compose(void *context, struct rps_status_text *line)
{
    const struct rps_progress *progress = context;
    int64_t taken_ns = rps_clock_monotonic_ns() - progress->start_ns;

    rps_status_text_add(line, "rpistat: %s, %.1f s", progress->what,
                        (double)taken_ns / RPS_NS_PER_S);
}

void rps_progress_begin(struct rps_cli *cli, const char *what)
{
    if (cli->quiet || cli->progress || !isatty(STDERR_FILENO))
        return;
    cli->progress = calloc(1, sizeof(*cli->progress));
    if (!cli->progress)
        return;
    cli->progress->what = what;
    cli->progress->start_ns = rps_clock_monotonic_ns();
    if (rps_terminal_line_start(&cli->progress->line, STDERR_FILENO, compose, cli->progress, NULL) <
        0)
        rps_progress_end(cli);
}

void rps_progress_end(struct rps_cli *cli)
{
    if (!cli->progress)
        return;
    rps_terminal_line_stop(cli->progress->line);
    free(cli->progress);
    cli->progress = NULL;
}
