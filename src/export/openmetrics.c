/* The export as OpenMetrics 1.0 text: the running totals of rpistat/time_series.h. The format needs
 * all samples of a series together, and all series of a family. A run is read period by period. To
 * read the run only once, with bounded memory, the samples are written into a temporary file, where
 * the blocks of each series are linked, and the output is written from these blocks. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/export.h"
#include "rpistat/arena.h"
#include "rpistat/plan.h"
#include "rpistat/run.h"
#include "rpistat/store.h"
#include "rpistat/time_series.h"

#define BLOCK_SAMPLES 255

/* A block in the temporary file. The block's offset is a multiple of the block's size. */
struct block {
    int64_t next; /* offset of the next block of the series */
    size_t count;
    struct sample {
        int64_t time_ms;
        double value;
    } sample[BLOCK_SAMPLES];
};

struct series {
    const struct rps_time_series *series;
    int64_t first, at; /* offset of the first block; offset of the block that is being filled */
    struct block *block;
};

/* State of the export. The arena holds everything except the totals. */
struct metrics_state {
    struct rps_arena *arena;
    struct rps_time_totals *totals;
    FILE *file;  /* temporary file; NULL: no block is full yet */
    int64_t end; /* end of the last block in the file */
    int is_text; /* 1: the text format of Prometheus (0.0.4), which simple readers accept */
    int is_now;  /* 1: write only the newest sample of each series, without its time */
    size_t series_count;
    struct series *series; /* series, ordered by number */
    struct block block;    /* block being read; scratch */
};

static const struct family {
    const char *name, *metric, *type, *unit, *help;
    int decimals; /* number of decimals that are printed; -1: as many as needed */
} families[] = {
    {"rpistat_run", "rpistat_run_info", "info", NULL, "Program, machine and labels of the run.", 0},
    {"rpistat_phase", "rpistat_phase", "gauge", NULL, "1 while the run is in the phase.", 0},
    {"rpistat_events", "rpistat_events_total", "counter", NULL,
     "Raw count of an event since the start of the run.", 0},
    {"rpistat_gauge", "rpistat_gauge", "gauge", NULL,
     "Value of an import's gauge, its mean since the sample before.", -1},
    {"rpistat_event_running_seconds", "rpistat_event_running_seconds_total", "counter", "seconds",
     "Part of the enabled time during which the event was counted.", 9},
    {"rpistat_enabled_seconds", "rpistat_enabled_seconds_total", "counter", "seconds",
     "Time during which events could have been counted.", 9},
    {"rpistat_cpu_seconds", "rpistat_cpu_seconds_total", "counter", "seconds",
     "Enabled time less the idle time of CPUs.", 9},
    {"rpistat_waiting_seconds", "rpistat_waiting_seconds_total", "counter", "seconds",
     "Time that threads waited, by reason; its rate is their mean number.", 6},
};

/* --- the temporary file ----------------------------------------------------------------------- */

static int file_failed(struct rps_error *err)
{
    return rps_error_set(err, RPS_FAILED,
                         "the samples do not fit into a temporary file in " P_tmpdir
                         ": %s; free some space, or export fewer with --every 10s",
                         strerror(errno));
}

static int64_t take_room(struct metrics_state *state)
{
    int64_t at = state->end;

    state->end += (int64_t)sizeof(struct block);
    return at;
}

/* Write the block, which is full, and begin the next one. */
static int next_block(struct metrics_state *state, struct series *of, struct rps_error *err)
{
    int64_t next = take_room(state);

    of->block->next = next;
    state->file = state->file ? state->file : tmpfile();
    if (!state->file || fseeko(state->file, of->at, SEEK_SET) < 0 ||
        fwrite(of->block, sizeof(*of->block), 1, state->file) != 1 || fflush(state->file) != 0)
        return file_failed(err);
    of->at = next;
    of->block->count = 0;
    return 0;
}

static struct series *find_series(struct metrics_state *state, const struct rps_time_series *series)
{
    struct series *of;

    if (series->number < state->series_count)
        return &state->series[series->number];
    state->series =
        rps_arena_grow(state->arena, state->series, state->series_count, sizeof(*state->series));
    of = &state->series[state->series_count++];
    of->series = series;
    of->block = rps_arena_get(state->arena, 1, sizeof(*of->block));
    of->first = of->at = take_room(state);
    return of;
}

static int take_sample(void *context, const struct rps_time_series *series, int64_t time_ms,
                       double value, struct rps_error *err)
{
    struct metrics_state *state = context;
    struct series *of = find_series(state, series);

    if (of->block->count == BLOCK_SAMPLES && next_block(state, of, err) < 0)
        return RPS_FAILED;
    of->block->sample[of->block->count++] = (struct sample){time_ms, value};
    return 0;
}

/* --- text ------------------------------------------------------------------------------------- */

static void put_sample(FILE *out, const char *head, int decimals, const struct sample *sample,
                       int is_now)
{
    fprintf(out, decimals < 0 ? "%s %.*g" : "%s %.*f", head, decimals < 0 ? 15 : decimals,
            sample->value);
    if (!is_now)
        fprintf(out, " %" PRId64 ".%03d", sample->time_ms / 1000, (int)(sample->time_ms % 1000));
    fputc('\n', out);
}

static void put_block(FILE *out, const char *head, int decimals, const struct block *block)
{
    for (size_t i = 0; i < block->count && !ferror(out); i++)
        put_sample(out, head, decimals, &block->sample[i], 0);
}

static int put_series(struct rps_export_job *job, const struct series *of, int decimals,
                      struct rps_error *err)
{
    struct metrics_state *state = job->state;
    char *head = rps_time_series_text(of->series);
    int result = 0;

    if (!head)
        rps_arena_exhausted();

    for (int64_t at = of->first; !state->is_now && at != of->at && result == 0;
         at = state->block.next) {
        if (fseeko(state->file, at, SEEK_SET) < 0 ||
            fread(&state->block, sizeof(state->block), 1, state->file) != 1)
            result = file_failed(err);
        else
            put_block(job->out, head, decimals, &state->block);
    }
    if (state->is_now)
        put_sample(job->out, head, decimals, &of->block->sample[of->block->count - 1], 1);
    else if (result == 0)
        put_block(job->out, head, decimals, of->block);
    free(head);
    return result;
}

static int put_family(struct rps_export_job *job, const struct family *family,
                      struct rps_error *err)
{
    const struct metrics_state *state = job->state;
    int result = 0, is_first = 1;

    for (size_t i = 0; i < state->series_count && result == 0; i++) {
        if (strcmp(state->series[i].series->metric, family->metric) != 0)
            continue;
        if (is_first) {
            const char *name = state->is_text ? family->metric : family->name;
            int is_info = strcmp(family->type, "info") == 0;

            fprintf(job->out, "# TYPE %s %s\n", name,
                    state->is_text && is_info ? "gauge" : family->type);
            if (family->unit && !state->is_text)
                fprintf(job->out, "# UNIT %s %s\n", name, family->unit);
            fprintf(job->out, "# HELP %s %s\n", name, family->help);
        }
        is_first = 0;
        result = put_series(job, &state->series[i], family->decimals, err);
    }
    return result;
}

static int put_families(struct rps_export_job *job, struct rps_error *err)
{
    int result = 0;

    for (size_t i = 0; i < RPS_COUNT(families) && result == 0; i++)
        result = put_family(job, &families[i], err);
    if (result == 0 && !((struct metrics_state *)job->state)->is_text)
        fputs("# EOF\n", job->out);
    return result;
}

/* --- the format ------------------------------------------------------------------------------- */

static void metrics_release(struct rps_export_job *job)
{
    struct metrics_state *state = job->state;

    if (!state)
        return;
    rps_time_totals_close(state->totals);
    if (state->file)
        fclose(state->file);
    job->state = NULL;
}

static int begin(struct rps_export_job *job, int64_t every_ns, int64_t from_ns,
                 struct rps_error *err)
{
    struct metrics_state *state = rps_arena_get(job->arena, 1, sizeof(*state));
    const struct rps_time_sink sink = {take_sample, state};
    int result;

    job->state = state;
    state->arena = job->arena;
    result = rps_time_totals_open(&state->totals, job->run, job->plan, every_ns, &sink, err);
    return result == 0 ? rps_time_totals_info(state->totals, from_ns, err) : result;
}

static int metrics_begin(struct rps_export_job *job, struct rps_error *err)
{
    return begin(job, job->options->every_ns, job->options->from_ns, err);
}

static void metrics_period(struct rps_export_job *job, const struct rps_period *period)
{
    struct metrics_state *state = job->state;

    job->result = rps_time_totals_add(state->totals, period, 0, &job->err);
}

static int take_phases(struct rps_export_job *job, int64_t from_ns, int64_t to_ns,
                       struct rps_error *err)
{
    struct metrics_state *state = job->state;
    size_t count = job->phases ? job->phases->count : 0;
    struct rps_phases part = {.phase = rps_arena_get(job->arena, count + 1, sizeof(*part.phase))};

    for (size_t i = 0; i < count; i++) {
        struct rps_phase phase = job->phases->phase[i];

        phase.start_ns = phase.start_ns > from_ns ? phase.start_ns : from_ns;
        phase.end_ns = phase.end_ns < to_ns ? phase.end_ns : to_ns;
        if (phase.start_ns < phase.end_ns)
            part.phase[part.count++] = phase;
    }
    return rps_time_totals_phases(state->totals, &part, err);
}

static void metrics_end(struct rps_export_job *job)
{
    const struct rps_export_options *options = job->options;
    int64_t to_ns = options->to_ns < job->run->elapsed_ns ? options->to_ns : job->run->elapsed_ns;
    struct metrics_state *state = job->state;

    job->result = rps_time_totals_flush(state->totals, &job->err);
    if (job->result == 0 && to_ns > options->from_ns)
        job->result = rps_time_totals_info(state->totals, to_ns, &job->err);
    if (job->result == 0)
        job->result = take_phases(job, options->from_ns, to_ns, &job->err);
    if (job->result == 0)
        job->result = rps_time_totals_waiting(state->totals, job->reader, options->from_ns,
                                              options->to_ns, &job->err);
    if (job->result == 0)
        job->result = put_families(job, &job->err);
}

const struct rps_export_format rps_export_openmetrics = {
    .name = "openmetrics",
    .own_form = 1,
    .phases = 1,
    .takes_every = 1,
    .begin = metrics_begin,
    .period = metrics_period,
    .end = metrics_end,
    .release = metrics_release,
};

/* --- current totals --------------------------------------------------------------------------- */

/* Add all rows of the coarsest level, which has few rows and the same totals as finer levels. */
static int add_all(struct rps_export_job *job, struct rps_error *err)
{
    struct metrics_state *state = job->state;
    struct rps_cursor *cursor = NULL;
    struct rps_period row;
    int result =
        rps_cursor_open(&cursor, job->reader, job->run->run_id, 0, INT64_MAX, RPS_LEVELS, err);

    while (result == 0 && (result = rps_cursor_next(cursor, &row, err)) > 0)
        result = rps_time_totals_add(state->totals, &row, 0, err);
    rps_cursor_close(cursor);
    return result == 0 ? rps_time_totals_flush(state->totals, err) : result;
}

int rps_export_totals(FILE *out, struct rps_reader *reader, int64_t run_id, int is_openmetrics,
                      struct rps_error *err)
{
    struct rps_plan *plan = NULL;
    struct rps_run run;
    struct rps_export_job job = {
        .out = out, .reader = reader, .run = &run, .arena = rps_arena_new()};
    int result = rps_reader_run(job.arena, reader, run_id, &run, err);

    if (result == 0)
        result = rps_reader_plan(job.arena, reader, run_id, &plan, err);
    job.plan = plan;
    if (result == 0)
        result = begin(&job, INT64_MAX / 2, 0, err);
    if (result == 0)
        result = add_all(&job, err);
    if (result == 0)
        result = rps_time_totals_waiting(((struct metrics_state *)job.state)->totals, reader, 0,
                                         INT64_MAX, err);
    if (result == 0) {
        ((struct metrics_state *)job.state)->is_now = 1;
        ((struct metrics_state *)job.state)->is_text = !is_openmetrics;
        result = put_families(&job, err);
    }
    metrics_release(&job);
    rps_arena_free(job.arena);
    return result;
}
