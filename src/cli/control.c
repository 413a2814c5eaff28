/* The control pipes of a recording. */
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rpistat/rights.h"
#include "rpistat/run_regions.h"

#define LINE_SIZE   1024
#define REGIONS_MAX 1024 /* maximum number of begins whose names are kept */

/* Maximum bytes per read, so that a flood of commands cannot delay the loop's periods. */
#define BYTES_AT_ONCE 65536

struct pipe_end {
    char *path; /* path of the pipe; owned */
    int made;   /* 1: rpistat created the pipe, and removes it at the end */
    int fd;
};

struct rps_control {
    struct pipe_end command, answer;
    void (*mark)(void *context, const char *text);
    void *context;
    char line[LINE_SIZE];
    size_t used;
    int overlong;              /* 1: the line is too long and is skipped */
    char *region[REGIONS_MAX]; /* names of the open regions, one for each begin; owned */
    size_t region_count;
    int lacks_region; /* 1: a begin is not in `region` */
};

/* Open a pipe, or create it. The pipe is open for reading and writing, so that reading never ends,
 * and neither side waits for the other. */
static int open_pipe(struct pipe_end *end, struct rps_error *err)
{
    struct stat st;
    char *unused = NULL;

    end->made = mkfifo(end->path, 0600) == 0;
    if (!end->made && errno != EEXIST)
        return rps_error_set(err, RPS_FAILED,
                             "--control: cannot create the named pipe %s: %s; choose another path",
                             end->path, strerror(errno));
    if (rps_trust_path(end->path, &unused, NULL, err) < 0)
        return RPS_FAILED;
    free(unused);
    /* check the type first: opening a device may have effects */
    if (lstat(end->path, &st) == 0 && !S_ISFIFO(st.st_mode))
        return rps_error_set(err, RPS_FAILED,
                             "--control: %s is not a named pipe; name another file", end->path);
    end->fd = open(end->path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
    if (end->fd < 0)
        return rps_error_set(err, RPS_FAILED, "--control: cannot open %s: %s", end->path,
                             strerror(errno));
    if (fstat(end->fd, &st) < 0 || !S_ISFIFO(st.st_mode))
        return rps_error_set(err, RPS_FAILED,
                             "--control: %s is not a named pipe; name another file", end->path);
    return 0;
}

static void close_pipe(struct pipe_end *end)
{
    if (end->fd >= 0)
        close(end->fd);
    if (end->path && end->made)
        unlink(end->path);
    free(end->path);
}

int rps_control_open(struct rps_control **ret, const char *text,
                     void (*mark)(void *context, const char *text), void *context,
                     struct rps_error *err)
{
    struct rps_control *control;
    int rc;

    if (strncmp(text, "fifo:", 5) != 0 || !text[5])
        return rps_error_set(err, RPS_USAGE, "--control: '%s' is not a named pipe; write fifo:PATH",
                             text);
    control = calloc(1, sizeof(*control));
    if (!control)
        return rps_error_memory(err);
    control->command.fd = control->answer.fd = -1;
    control->mark = mark;
    control->context = context;
    control->command.path = strdup(text + 5);
    if (asprintf(&control->answer.path, "%s.ack", text + 5) < 0)
        control->answer.path = NULL;
    if (!control->command.path || !control->answer.path)
        rc = rps_error_memory(err);
    else if ((rc = open_pipe(&control->command, err)) == 0)
        rc = open_pipe(&control->answer, err);
    if (rc < 0) {
        rps_control_close(control);
        return rc;
    }
    *ret = control;
    return 0;
}

/* Write an answer. If the pipe is full, the answer is dropped, so that the loop does not wait. */
static void answer(struct rps_control *control, const char *text)
{
    char line[128];
    int length = snprintf(line, sizeof(line), "%s\n", text);
    ssize_t put = write(control->answer.fd, line, (size_t)length);

    (void)put;
}

static void begin_region(struct rps_control *control, const struct rps_region_mark *mark)
{
    char *name = control->region_count < REGIONS_MAX ? strndup(mark->name, mark->length) : NULL;

    if (name)
        control->region[control->region_count++] = name;
    else
        control->lacks_region = 1;
}

/* Return 0 if the region has not begun. */
static int end_region(struct rps_control *control, const struct rps_region_mark *mark)
{
    char **region = control->region;

    for (size_t i = control->region_count; i-- > 0;) {
        if (strlen(region[i]) == mark->length && memcmp(region[i], mark->name, mark->length) == 0) {
            free(region[i]);
            region[i] = region[--control->region_count];
            return 1;
        }
    }
    return control->lacks_region;
}

static void obey_mark(struct rps_control *control, const char *text)
{
    const struct rps_region_mark mark = rps_region_mark_read(text);

    if (mark.kind == RPS_REGION_MARK_END && !end_region(control, &mark)) {
        answer(control, "error: this region has not begun; write 'mark region NAME begin'");
        return;
    }
    if (mark.kind == RPS_REGION_MARK_BEGIN)
        begin_region(control, &mark);
    control->mark(control->context, text);
    answer(control, "ack");
}

/* Run one command. If the loop must act before the answer, set *ret and return 1. */
static int obey(struct rps_control *control, const char *line, enum rps_wake *ret)
{
    if (strcmp(line, "enable") == 0) {
        *ret = RPS_WAKE_RESUME;
        return 1;
    }
    if (strcmp(line, "disable") == 0) {
        *ret = RPS_WAKE_PAUSE;
        return 1;
    }
    if (strcmp(line, "stop") == 0) {
        *ret = RPS_WAKE_STOP;
        answer(control, "ack"); /* answer before the loop ends */
        return 1;
    }
    if (strncmp(line, "mark ", 5) == 0 && line[5]) {
        obey_mark(control, line + 5);
        return 0;
    }
    answer(control, "error: expected enable, disable, mark TEXT or stop");
    return 0;
}

/* Copy the next complete line, without its newline, into `line`. Returns 0 if no line is complete,
 * or if *left bytes have been read. */
static int next_command(struct rps_control *control, char *line, size_t *left)
{
    for (;;) {
        char *end = memchr(control->line, '\n', control->used);
        ssize_t got;

        if (end) {
            size_t length = (size_t)(end - control->line);

            memcpy(line, control->line, length);
            line[length] = '\0';
            control->used -= length + 1;
            memmove(control->line, end + 1, control->used);
            if (!control->overlong)
                return 1;
            control->overlong = 0;
            answer(control, "error: the command is too long");
            continue;
        }
        if (control->used == sizeof(control->line)) {
            control->overlong = 1;
            control->used = 0;
        }
        if (*left == 0)
            return 0;
        do {
            got = read(control->command.fd, control->line + control->used,
                       sizeof(control->line) - control->used);
        } while (got < 0 && errno == EINTR);
        if (got <= 0)
            return 0;
        control->used += (size_t)got;
        *left -= (size_t)got < *left ? (size_t)got : *left;
    }
}

static int on_ready(void *context, enum rps_wake *ret)
{
    struct rps_control *control = context;
    char line[LINE_SIZE];
    size_t left = BYTES_AT_ONCE;

    while (next_command(control, line, &left))
        if (line[0] && obey(control, line, ret))
            return 1;
    return 0;
}

/* Answer the finished request. Commands that arrived together with the request are read when the
 * loop waits again. */
static void on_done(void *context)
{
    answer(context, "ack");
}

struct rps_watch rps_control_watch(struct rps_control *control)
{
    return (struct rps_watch){
        .fd = control ? control->command.fd : -1,
        .on_ready = on_ready,
        .on_done = on_done,
        .context = control,
    };
}

void rps_control_close(struct rps_control *control)
{
    if (!control)
        return;
    close_pipe(&control->answer);
    close_pipe(&control->command);
    for (size_t i = 0; i < control->region_count; i++)
        free(control->region[i]);
    free(control);
}
