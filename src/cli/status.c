/* The status line of a recording. */
#include "record.h"

#include <math.h>
#include <string.h>

#include "terminal_line.h"
#include "rpistat/clock.h"
#include "rpistat/formula.h"
#include "rpistat/plan.h"
#include "rpistat/rotation.h"
#include "rpistat/store.h"
#include "rpistat/text.h"

#define METRICS_MAX 3

struct view {
    uint64_t periods;
    int64_t elapsed_ns;
    double counted;  /* share of time for which a set was counted, over the run so far; the
                        lowest of all sets */
    double *operand; /* operands of formulas, from the most recent complete rotation */
    int have_operand;
};

struct rps_status {
    struct rps_arena *arena; /* arena that holds this struct and the struct's data; owned */
    const struct rps_plan *plan;
    struct rps_writer *writer;
    struct rps_terminal_line *line;
    pthread_mutex_t lock; /* lock for view, run and latest */
    struct view view;
    struct rps_tally run;                        /* sums since the start */
    struct rps_rotation latest;                  /* current rotation, added up over all CPUs */
    struct view drawn;                           /* copy of view that only the line's thread uses */
    uint64_t max_bytes, first_bytes, last_bytes; /* --max-size; first and current size of the
                                                    file */
    int64_t last_ns;                             /* time when the file reached last_bytes */
};

/* Add the time until --max-size is reached, if the file has grown for at least a minute. The size
 * of the log is not included, because the log's pages are later moved into the file. */
static void add_growth(struct rps_status *status, struct rps_status_text *line, uint64_t bytes)
{
    double scale = (double)(status->max_bytes - status->first_bytes);
    char text[RPS_TEXT_NUMBER_SIZE];

    if (status->first_bytes == 0)
        status->first_bytes = status->last_bytes = bytes;
    /* Near --max-size the store is downsampled, so the growth of the store is not used. */
    if (bytes > status->last_bytes && bytes < status->max_bytes / 4 * 3) {
        status->last_bytes = bytes;
        status->last_ns = status->drawn.elapsed_ns;
    }
    if (status->last_ns < 60 * RPS_NS_PER_S)
        return;
    scale /= (double)(status->last_bytes - status->first_bytes);
    rps_text_duration(text, sizeof(text), (int64_t)((double)status->last_ns * scale));
    rps_status_text_add(line, "--max-size lasts %s", text);
}

/* Compose a line such as "rpistat 12.3 s 123 periods counters on 25 % of the time 8.1 KiB CPI 1.234
 * DC miss ratio 2.1 %", as far as it fits. */
static void compose(void *context, struct rps_status_text *line)
{
    struct rps_status *status = context;
    char number[RPS_TEXT_NUMBER_SIZE];
    const struct view *view = &status->drawn;
    double *operand = view->operand;
    struct rps_writer_status written;
    int metrics = 0;

    pthread_mutex_lock(&status->lock);
    memcpy(operand, status->view.operand,
           (size_t)rps_plan_operand_count(status->plan) * sizeof(*operand));
    status->drawn = status->view;
    status->drawn.operand = operand;
    pthread_mutex_unlock(&status->lock);
    rps_writer_status(status->writer, &written);
    rps_status_text_add(line, "rpistat");
    rps_status_text_add(line, "%s", rps_text_duration(number, sizeof(number), view->elapsed_ns));
    rps_status_text_add(line, "%llu periods", (unsigned long long)view->periods);
    if (!isnan(view->counted))
        rps_status_text_add(line, "counters on %.0f %% of the time", view->counted * 100);
    rps_status_text_add(line, "%s", rps_text_size(number, sizeof(number), written.size_bytes));
    add_growth(status, line, written.file_bytes);
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

static void status_free(struct rps_status *status)
{
    pthread_mutex_destroy(&status->lock);
    rps_arena_free(status->arena);
}

int rps_status_start(struct rps_status **ret, int fd, const struct rps_plan *plan,
                     struct rps_writer *writer, uint64_t max_bytes, struct rps_error *err)
{
    size_t operands = (size_t)rps_plan_operand_count(plan);
    struct rps_arena *arena = rps_arena_new();
    struct rps_status *status = rps_arena_get(arena, 1, sizeof(*status));
    int rc;

    status->arena = arena;
    pthread_mutex_init(&status->lock, NULL);
    status->plan = plan;
    status->writer = writer;
    status->max_bytes = max_bytes;
    status->view.counted = NAN;
    status->view.operand = rps_arena_get(arena, operands, sizeof(double));
    status->drawn.operand = rps_arena_get(arena, operands, sizeof(double));
    status->run = rps_tally_new(arena, plan);
    status->latest = rps_rotation_new(arena, plan);
    rc = rps_terminal_line_start(&status->line, fd, compose, status, err);
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
    view->counted = 1;
    for (int n = 0; n < status->plan->set_count; n++)
        view->counted = fmin(view->counted, rps_tally_counted(&status->run, n));
}

void rps_status_period(struct rps_status *status, const struct rps_period *period, uint64_t count)
{
    struct rps_period of_all = *period; /* treated as a period of all CPUs, because the periods
                                           of different CPUs arrive alternately */

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
    rps_terminal_line_stop(status->line);
    status_free(status);
}
