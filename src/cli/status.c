/* The status line of a recording. */
#include "status.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "status_text.h"
#include "rpistat/clock.h"
#include "rpistat/rotation.h"
#include "rpistat/text.h"

#define REDRAW_NS   (500 * RPS_NS_PER_MS)
#define METRICS_MAX 3

/* What a terminal shows for an interrupt key. */
#define ECHO_COLUMNS 2

/* What the line shows. */
struct view {
    uint64_t periods;
    int64_t elapsed_ns;
    double duty;     /* lowest duty cycle of a set, over the run */
    double *operand; /* of the last whole rotation; owned */
    int have_operand;
};

struct rps_status {
    const struct rps_plan *plan;
    struct rps_writer *writer;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    int stop; /* under the lock, as are view, run and latest */
    struct view view;
    struct rps_tally run;       /* since the start */
    struct rps_rotation latest; /* that is being added up, over all CPUs */
    struct view drawn;          /* of the thread */
    int shown;                  /* of the thread: a line stands on the terminal */
};

/* May a line be drawn now? Not over an editor, not from the background. */
static int may_draw(void)
{
    struct termios mode;

    return tcgetpgrp(STDERR_FILENO) == getpgrp() && tcgetattr(STDERR_FILENO, &mode) == 0 &&
           (mode.c_lflag & ICANON);
}

/* Columns that the line may take: the terminal's, without those in which it echoes ^C or ^Z, which
 * would go to another line otherwise and leave this one standing. */
static size_t line_columns(void)
{
    struct winsize size;
    size_t columns = 80;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
        columns = size.ws_col;
    return columns - 1 - ECHO_COLUMNS;
}

/* "rpistat  12.3 s  123 periods  duty 25 %  8.1 KiB  CPI 1.234  DC miss ratio 2.1 %", as far as it
 * fits. */
static void compose(struct rps_status *status, struct rps_status_text *line)
{
    char number[RPS_TEXT_NUMBER_SIZE];
    const struct view *view = &status->drawn;
    struct rps_writer_status written;
    int metrics = 0;

    rps_writer_status(status->writer, &written);
    rps_status_text_begin(line, line_columns());
    rps_status_text_add(line, "rpistat");
    rps_status_text_add(line, "%s", rps_text_duration(number, sizeof(number), view->elapsed_ns));
    rps_status_text_add(line, "%llu periods", (unsigned long long)view->periods);
    if (!isnan(view->duty))
        rps_status_text_add(line, "duty %.0f %%", view->duty * 100);
    rps_status_text_add(line, "%s", rps_text_size(number, sizeof(number), written.size_bytes));
    if (written.failing)
        rps_status_text_add(line, "NOT WRITING, %llu waiting", (unsigned long long)written.queued);
    for (int m = 0; m < status->plan->metric_count && view->have_operand; m++) {
        const struct rps_metric *metric = &status->plan->metric[m];
        double value = rps_formula_value(&metric->formula, view->operand);

        if (isnan(value) || metrics == METRICS_MAX)
            continue;
        rps_status_text_add_figure(line, metric->label, value, metric->unit);
        metrics++;
    }
}

static void draw(struct rps_status *status)
{
    struct rps_status_text line;

    if (!may_draw())
        return;
    compose(status, &line);
    dprintf(STDERR_FILENO, "\r%s\033[K", line.text);
    status->shown = 1;
}

static void copy_view(struct view *to, const struct view *from, const struct rps_plan *plan)
{
    double *operand = to->operand;

    memcpy(operand, from->operand, (size_t)rps_plan_operand_count(plan) * sizeof(*operand));
    *to = *from;
    to->operand = operand;
}

static void *status_thread(void *argument)
{
    struct rps_status *status = argument;
    struct timespec until;

    pthread_mutex_lock(&status->lock);
    while (!status->stop) {
        int64_t next_ns = rps_clock_monotonic_ns() + REDRAW_NS;

        until.tv_sec = (time_t)(next_ns / RPS_NS_PER_S);
        until.tv_nsec = (long)(next_ns % RPS_NS_PER_S);
        while (!status->stop &&
               pthread_cond_timedwait(&status->wake, &status->lock, &until) != ETIMEDOUT)
            ;
        if (!status->stop) {
            copy_view(&status->drawn, &status->view, status->plan);
            pthread_mutex_unlock(&status->lock);
            draw(status); /* may wait for the terminal */
            pthread_mutex_lock(&status->lock);
        }
    }
    pthread_mutex_unlock(&status->lock);
    return NULL;
}

static int start_thread(struct rps_status *status)
{
    pthread_condattr_t attr;
    int rc;

    pthread_mutex_init(&status->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&status->wake, &attr);
    pthread_condattr_destroy(&attr);
    rc = pthread_create(&status->thread, NULL, status_thread, status);
    if (rc != 0) {
        pthread_cond_destroy(&status->wake);
        pthread_mutex_destroy(&status->lock);
    }
    return rc;
}

static void status_free(struct rps_status *status)
{
    rps_rotation_free(&status->latest);
    rps_tally_free(&status->run);
    free(status->drawn.operand);
    free(status->view.operand);
    free(status);
}

int rps_status_start(struct rps_status **ret, const struct rps_plan *plan,
                     struct rps_writer *writer, struct rps_error *err)
{
    size_t operands = (size_t)rps_plan_operand_count(plan);
    struct rps_status *status;
    int rc;

    if (!isatty(STDERR_FILENO)) {
        *ret = NULL;
        return 0;
    }
    status = calloc(1, sizeof(*status));
    if (!status)
        return rps_error_memory(err);
    status->plan = plan;
    status->writer = writer;
    status->view.duty = NAN;
    status->view.operand = calloc(operands, sizeof(double));
    status->drawn.operand = calloc(operands, sizeof(double));
    rc = status->view.operand && status->drawn.operand ? 0 : rps_error_memory(err);
    if (rc == 0)
        rc = rps_tally_init(&status->run, plan, err);
    if (rc == 0)
        rc = rps_rotation_init(&status->latest, plan, err);
    if (rc == 0 && start_thread(status) != 0)
        rc = rps_error_set(err, RPS_FAILED, "cannot start the thread of the status line");
    if (rc < 0) {
        status_free(status);
        return rc;
    }
    *ret = status;
    return 0;
}

static void end_rotation(struct rps_status *status)
{
    struct view *view = &status->view;

    rps_tally_operands(&status->latest.tally, status->plan, view->operand);
    for (int n = 0; n < status->plan->set_count; n++) {
        for (int s = 0; s < RPS_SLOT_MAX && rps_tally_hardly(&status->latest.tally, n); s++)
            view->operand[RPS_OPERAND_EVENTS + n * RPS_SLOT_MAX + s] = NAN;
    }
    view->have_operand = 1;
    rps_rotation_reset(&status->latest);
    view->duty = 1;
    for (int n = 0; n < status->plan->set_count; n++)
        view->duty = fmin(view->duty, rps_tally_duty(&status->run, n));
}

void rps_status_period(struct rps_status *status, const struct rps_period *period, uint64_t count)
{
    struct rps_period of_all = *period; /* CPUs take turns here, period by period */

    if (!status)
        return;
    of_all.cpu = RPS_CPU_ALL;
    pthread_mutex_lock(&status->lock);
    if (rps_rotation_ends(&status->latest, &of_all))
        end_rotation(status);
    status->view.periods = count;
    status->view.elapsed_ns = rps_period_end_ns(period);
    rps_tally_add(&status->run, period);
    rps_rotation_add(&status->latest, &of_all);
    pthread_mutex_unlock(&status->lock);
}

void rps_status_stop(struct rps_status *status)
{
    if (!status)
        return;
    pthread_mutex_lock(&status->lock);
    status->stop = 1;
    pthread_cond_signal(&status->wake);
    pthread_mutex_unlock(&status->lock);
    pthread_join(status->thread, NULL);
    if (status->shown && may_draw())
        dprintf(STDERR_FILENO, "\r\033[K");
    pthread_cond_destroy(&status->wake);
    pthread_mutex_destroy(&status->lock);
    status_free(status);
}
