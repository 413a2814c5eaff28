/* Push: reads a run batch by batch, and records which samples the server has received.
 *
 * The store is read with one cursor per CPU and batch. No cursor is open during network requests,
 * since an open cursor keeps the store's log from being moved into the store. The numbers of
 * periods show which rows were already added to the totals. If rows are downsampled during the
 * push, a block may include both rows that were added and new rows. In this case the totals are
 * computed again from the run's beginning, as after an interrupted push. Samples up to the recorded
 * position are not passed on again. */
#include "push_parts.h"

#include <stdlib.h>

#include "rpistat/arena.h"
#include "rpistat/clock.h"
#include "rpistat/error.h"
#include "rpistat/plan.h"
#include "rpistat/run.h"
#include "rpistat/run_phases.h"
#include "rpistat/store.h"

/* Special entries in the state of a run, besides the position of each CPU. */
#define CPU_DONE   (-2) /* the run had ended, and all samples up to this ms of the run were sent */
#define CPU_START  (-4) /* the run's start that all sent samples use, in ns of Unix time */
#define OF_THE_RUN 2    /* number of special entries */

#define MADE_ANEW  2 /* result of a function: the totals must be computed again */
#define NO_PERIODS INT64_C(-1)

/* Positions in the rows of a CPU, as numbers of periods; NO_PERIODS: none. */
struct track {
    int32_t cpu;
    int64_t newest;    /* last period that was added to the totals */
    int64_t handed;    /* last period whose samples were all passed on */
    int64_t noted;     /* last period stored in the state */
    int64_t quiet;     /* last period that was passed on before the totals began; samples up to
                          it are not passed on again */
    int64_t from_ns;   /* start of the newest added rotation */
    uint64_t rotation; /* number of the newest added rotation */
};

struct rps_push {
    struct rps_reader **reader;
    int64_t run_id;
    const struct rps_push_options *options;
    struct rps_push_target target;
    struct rps_push_outcome outcome;
    struct rps_pushed *pushed;
    struct rps_arena *arena; /* owned; also holds this struct */
    struct rps_run run;      /* data of the run, as last read */
    struct rps_plan *plan;
    struct rps_time_totals *totals;
    struct rps_push_batch batch;
    size_t track_count;
    struct track *track; /* tracks, one per CPU */
};

/* --- the state -------------------------------------------------------------------------------- */

/* Read a position from the state. Returns 1 and *ret, 0 if nothing was stored, or negative. */
static int get_noted(struct rps_push *push, int64_t cpu, int64_t *ret, struct rps_error *err)
{
    return rps_pushed_get(push->pushed, push->target.url.shown, push->run.uuid, cpu, ret, err);
}

/* Record the CPUs' positions: all samples up to these positions were passed on and sent. If is_done
 * is 1, also record that the run is complete. */
static int note_positions(struct rps_push *push, int is_done, struct rps_error *err)
{
    struct rps_pushed_position *position =
        calloc(push->track_count + OF_THE_RUN, sizeof(*position));
    size_t count = 0;
    int result = 0;

    if (!position)
        return rps_error_memory(err);
    for (size_t i = 0; i < push->track_count; i++) {
        struct track *track = &push->track[i];

        if (track->handed <= track->noted)
            continue;
        track->noted = track->handed;
        position[count++] = (struct rps_pushed_position){track->cpu, track->noted};
    }
    if (is_done)
        position[count++] =
            (struct rps_pushed_position){CPU_DONE, push->run.elapsed_ns / RPS_NS_PER_MS};
    if (count > 0) {
        position[count++] = (struct rps_pushed_position){CPU_START, push->run.start_realtime_ns};
        result = rps_pushed_set(push->pushed, push->target.url.shown, push->run.uuid, position,
                                count, err);
    }
    free(position);
    return result;
}

/* --- CPUs ------------------------------------------------------------------------------------- */

static struct track *find_track(struct rps_push *push, int32_t cpu)
{
    for (size_t i = 0; i < push->track_count; i++) {
        if (push->track[i].cpu == cpu)
            return &push->track[i];
    }
    return NULL;
}

static int add_track(struct rps_push *push, int32_t cpu, struct rps_error *err)
{
    int64_t noted = NO_PERIODS;

    push->track = rps_arena_grow(push->arena, push->track, push->track_count, sizeof(*push->track));
    if (get_noted(push, cpu, &noted, err) < 0)
        return RPS_FAILED;
    push->track[push->track_count++] = (struct track){
        .cpu = cpu, .newest = NO_PERIODS, .handed = NO_PERIODS, .noted = noted, .quiet = noted};
    return 0;
}

/* Find the CPUs that have periods in the run. Read only the run's coarsest blocks, because there
 * are few of them. */
static int find_cpus(struct rps_push *push, struct rps_error *err)
{
    struct rps_cursor *cursor = NULL;
    struct rps_period row;
    int result =
        rps_cursor_open(&cursor, *push->reader, push->run_id, 0, INT64_MAX, RPS_LEVELS, err);

    while (result == 0 && (result = rps_cursor_next(cursor, &row, err)) > 0)
        result = find_track(push, row.cpu) ? 0 : add_track(push, row.cpu, err);
    rps_cursor_close(cursor);
    return result;
}

/* --- sending ---------------------------------------------------------------------------------- */

/* Send the pending samples, and record the positions. is_done is 1 if the run is complete. */
static int send_batch(struct rps_push *push, int is_done, struct rps_error *err)
{
    int result = rps_push_send(&push->target, &push->batch, err);

    return result == 0 ? note_positions(push, is_done, err) : result;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Add the samples of a row. Returns 0, or 1 if the batch is full and must be sent first. */
static int add_row_samples(struct rps_push *push, struct track *track, const struct rps_period *row,
                           struct rps_error *err)
{
    int64_t last = (int64_t)rps_period_last(row), before = track->newest;
    int begins = row->rotation != track->rotation || before == NO_PERIODS;

    if (begins && push->batch.count >= RPS_PUSH_BATCH_SAMPLES)
        return 1;
    if (rps_time_totals_add(push->totals, row, last <= track->quiet, err) < 0)
        return RPS_FAILED;
    if (begins) {
        track->rotation = row->rotation;
        track->from_ns = row->start_ns;
        track->handed = before; /* the samples of a block are passed on with the next row */
    }
    if (track->newest < last)
        track->newest = last;
    if (row->level == 0)
        track->handed = track->newest;
    return 0;
}

/* Read the rows of a CPU from its position, until there are no more or the batch is full. Returns
 * 0, 1 if the batch is full, or MADE_ANEW. */
static int read_rows(struct rps_push *push, struct track *track, struct rps_error *err)
{
    const int64_t added = track->newest; /* the end of a rotation, or of rows at the finest level */
    struct rps_cursor *cursor = NULL;
    struct rps_period row;
    int result =
        rps_cursor_open(&cursor, *push->reader, push->run_id, track->from_ns, INT64_MAX, 0, err);

    if (result < 0)
        return result;
    rps_cursor_choose_cpu(cursor, track->cpu);
    while ((result = rps_cursor_next(cursor, &row, err)) > 0) {
        if ((int64_t)rps_period_last(&row) <= added)
            continue;
        result = (int64_t)row.period <= added ? MADE_ANEW : add_row_samples(push, track, &row, err);
        if (result != 0)
            break;
    }
    rps_cursor_close(cursor);
    return result;
}

static int read_cpu(struct rps_push *push, struct track *track, struct rps_error *err)
{
    int result;

    while ((result = read_rows(push, track, err)) == 1) {
        result = send_batch(push, 0, err);
        if (result != 0)
            break;
    }
    return result;
}

/* Send all available samples. *ret_goes_on is 1 if more samples will follow. */
static int send_what_is_there(struct rps_push *push, int *ret_goes_on, struct rps_error *err)
{
    struct rps_arena *arena = rps_arena_new();
    struct rps_run run;
    /* Read the run before its periods: if it has ended by then, all periods are in the store. */
    int result = rps_reader_run(arena, *push->reader, push->run_id, &run, err);

    rps_arena_free(arena);
    if (result < 0)
        return result;
    push->run.state = run.state;
    push->run.elapsed_ns = run.elapsed_ns;
    *ret_goes_on = run.state == RPS_RUN_RECORDING;
    result = find_cpus(push, err);
    for (size_t i = 0; i < push->track_count && result == 0; i++)
        result = read_cpu(push, &push->track[i], err);
    return result == 0 ? send_batch(push, 0, err) : result;
}

/* --- a run ------------------------------------------------------------------------------------ */

static int put_phases(struct rps_push *push, struct rps_error *err)
{
    const char *path = push->options->store_path;
    struct rps_phases phases = {0};
    int result;

    rps_reader_close(*push->reader);
    *push->reader = NULL;
    result = rps_run_phases_apart(push->arena, path, push->run_id, NULL, &phases, err);
    if (result > 0)
        result = rps_time_totals_phases(push->totals, &phases, err);
    if (rps_reader_open(push->reader, path, result < 0 ? NULL : err) < 0)
        return RPS_FAILED;
    if (result < 0)
        return result;
    return rps_time_totals_waiting(push->totals, *push->reader, 0, INT64_MAX, err);
}

/* Send the data of an ended run that are not in its periods. */
static int send_end(struct rps_push *push, struct rps_error *err)
{
    int result = rps_time_totals_flush(push->totals, err);

    if (result == 0)
        result = put_phases(push, err);
    if (result == 0)
        result = rps_time_totals_info(push->totals, push->run.elapsed_ns, err);
    for (size_t i = 0; i < push->track_count; i++)
        push->track[i].handed = push->track[i].newest;
    return result == 0 ? send_batch(push, 1, err) : result;
}

/* Start with totals of zero, and a batch without samples. */
static int begin(struct rps_push *push, struct rps_error *err)
{
    const struct rps_time_sink sink = {.sample = rps_push_batch_put, .context = &push->batch};
    int result;

    rps_push_batch_free(&push->batch);
    rps_time_totals_close(push->totals);
    push->totals = NULL;
    push->track_count = 0;
    result = rps_time_totals_open(&push->totals, &push->run, push->plan, push->options->every_ns,
                                  &sink, err);
    if (result == 0 && push->run.state == RPS_RUN_RECORDING)
        result = rps_time_totals_info(push->totals, 0, err);
    return result;
}

/* Send all available samples, and an ended run's end. Returns 0, or 1 if `wait` ended the push. */
static int push_rows(struct rps_push *push, int *ret_goes_on, struct rps_error *err)
{
    int result = push->totals ? 0 : begin(push, err);

    while (result == 0 && (result = send_what_is_there(push, ret_goes_on, err)) == MADE_ANEW)
        result = begin(push, err);
    if (result == 0 && !*ret_goes_on)
        result = send_end(push, err);
    return result;
}

/* Set *ret to 1 if everything was pushed and no more data will come. */
static int is_there(struct rps_push *push, int *ret, struct rps_error *err)
{
    int64_t ms = 0;
    int noted = get_noted(push, CPU_DONE, &ms, err);

    *ret = noted > 0 && push->run.state != RPS_RUN_RECORDING &&
           push->run.elapsed_ns / RPS_NS_PER_MS <= ms;
    return noted < 0 ? noted : 0;
}

int rps_push_open(struct rps_push **ret, struct rps_reader **reader, int64_t run_id,
                  const struct rps_push_options *options, struct rps_error *err)
{
    struct rps_arena *arena = rps_arena_new();
    struct rps_push *push = rps_arena_get(arena, 1, sizeof(*push));
    int result;

    push->arena = arena;
    push->reader = reader;
    push->run_id = run_id;
    push->options = options;
    result = rps_push_target_open(arena, &push->target, options, &push->outcome, err);
    if (result == 0)
        result = rps_pushed_open(&push->pushed, options->state_path, err);
    if (result == 0)
        result = rps_reader_run(arena, *reader, run_id, &push->run, err);
    if (result == 0)
        result = rps_reader_plan(arena, *reader, run_id, &push->plan, err);
    /* When a run ends, the recorder corrects the run's start by some ms. All samples of a run use
     * the start before the correction, so that repeated samples have the same times as before. */
    if (result == 0)
        result = get_noted(push, CPU_START, &push->run.start_realtime_ns, err);
    if (result >= 0 && options->again)
        result = rps_pushed_forget(push->pushed, push->target.url.shown, push->run.uuid, err);
    if (result >= 0)
        result = is_there(push, &push->outcome.present, err);
    if (result < 0)
        rps_push_close(push);
    else
        *ret = push;
    return result;
}

int rps_push_look(struct rps_push *push, struct rps_error *err)
{
    struct rps_push_outcome *outcome = &push->outcome;
    int goes_on = 0, result = 0;

    if (outcome->present)
        return 0;
    result = push_rows(push, &goes_on, err);
    outcome->goes_on = result == 0 && goes_on && push->options->follow;
    outcome->stopped = result == 1;
    return result < 0 ? result : 0;
}

const struct rps_push_outcome *rps_push_outcome(const struct rps_push *push)
{
    return &push->outcome;
}

void rps_push_close(struct rps_push *push)
{
    if (!push)
        return;
    rps_time_totals_close(push->totals);
    rps_push_batch_free(&push->batch);
    rps_http_close(push->target.http);
    rps_pushed_close(push->pushed);
    rps_arena_free(push->arena);
}
