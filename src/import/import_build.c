/* Periods from a reader's values.
 *
 * A row of the store has eight slots, and other tools count more events at once. An interval of a
 * file is therefore stored as a rotation with one row per set. The rows divide the interval's time.
 * Sums over rows (length, enabled time, the clock) equal those of the interval. Each set's running
 * time is the whole interval, because the running time over a time range must be the sum of all
 * rows' enabled time. Therefore nothing is scaled, and every count equals the file's count.
 * `rpistat check` allows such running times for imported runs. */
#include <math.h>
#include <string.h>

#include "import_parts.h"
#include "rpistat/arena.h"
#include "rpistat/clock.h"
#include "rpistat/period.h"
#include "rpistat/plan.h"
#include "rpistat/run.h"
#include "rpistat/store.h"
#include "rpistat/text.h"

/* Limit of times and sums in a store, with a margin. */
#define TIME_MAX_NS (INT64_C(1) << 60)
#define SUM_MAX     (UINT64_C(1) << 62)
#define TRACKS_MAX  8192 /* maximum number of CPUs, as in Linux; more CPUs slow down the store */
#define GAUGE_MAX   1e290

/* --- the builder ------------------------------------------------------------------------------ */

struct rps_import_builder *rps_import_open(FILE *file, const char *path, int is_signals,
                                           void (*note)(const char *sentence))
{
    struct rps_arena *arena = rps_arena_new();
    struct rps_import_builder *builder = rps_arena_get(arena, 1, sizeof(*builder));

    builder->arena = arena;
    builder->file = file;
    builder->path = path;
    builder->note = note;
    builder->time_of_day_ns = -1;
    builder->columns_max = is_signals ? RPS_IMPORT_SIGNALS_MAX : RPS_IMPORT_COLUMNS_MAX;
    builder->signals = is_signals ? rps_import_new_signals(arena) : NULL;
    rps_run_init(&builder->run);
    rps_run_init(&builder->again);
    builder->run.arena = builder->again.arena = arena;
    builder->plan = rps_plan_new();
    if (!builder->plan)
        rps_arena_exhausted();
    builder->rows = rps_csv_rows_open(arena, file, path, RPS_IMPORT_LINE_MAX);
    return builder;
}

void rps_import_close(struct rps_import_builder *builder)
{
    if (!builder)
        return;
    rps_import_free_signals(builder->signals);
    if (builder->mirror)
        fclose(builder->mirror);
    rps_plan_free(builder->plan);
    rps_arena_free(builder->arena);
}

struct rps_run *rps_import_run(struct rps_import_builder *builder)
{
    return builder->writer ? &builder->again : &builder->run;
}

/* --- periods of CPUs -------------------------------------------------------------------------- */

static struct rps_import_track *find_track(struct rps_import_builder *builder, int32_t cpu,
                                           struct rps_error *err)
{
    for (size_t i = 0; i < builder->track_count; i++) {
        if (builder->track[i].cpu == cpu)
            return &builder->track[i];
    }
    if (cpu < RPS_CPU_ALL) {
        rps_import_refuse(builder, err, "CPU %ld is impossible", (long)cpu);
        return NULL;
    }
    if (builder->track_count == TRACKS_MAX) {
        rps_import_refuse(builder, err, "there are more than %d CPUs", TRACKS_MAX);
        return NULL;
    }
    builder->track = rps_arena_grow(builder->arena, builder->track, builder->track_count,
                                    sizeof(*builder->track));
    builder->track[builder->track_count].cpu = cpu;
    builder->track[builder->track_count].has =
        rps_arena_get(builder->arena, (size_t)builder->columns_max, 1);
    return &builder->track[builder->track_count++];
}

int64_t rps_import_last_end(const struct rps_import_builder *builder, int32_t cpu)
{
    for (size_t i = 0; i < builder->track_count; i++) {
        if (builder->track[i].cpu == cpu)
            return builder->track[i].end_ns;
    }
    return 0;
}

static void write_gap(struct rps_import_builder *builder, int32_t cpu, int64_t start_ns,
                      int64_t length_ns)
{
    if (!builder->writer || builder->is_dry_run)
        return;
    rps_writer_gap(builder->writer, cpu, start_ns, length_ns, "the file has no values");
    rps_writer_wait(builder->writer);
}

/* Number an interval. Normally an interval gets the CPU's next number. After a gap, the interval
 * gets the number of other CPUs' intervals that begin at the same time. Times that differ only by
 * rounding are treated as equal. */
static void number_interval(struct rps_import_builder *builder, struct rps_import_track *track,
                            int64_t start_ns)
{
    int is_new = start_ns > builder->interval_ns;

    if (start_ns > track->end_ns + RPS_NS_PER_US) {
        write_gap(builder, track->cpu, track->end_ns, start_ns - track->end_ns);
        if (start_ns >= builder->interval_ns &&
            builder->interval + (unsigned)is_new > track->intervals)
            track->intervals = builder->interval + (unsigned)is_new;
    }
    if (is_new || track->intervals > builder->interval) {
        builder->interval_ns = start_ns;
        builder->interval = track->intervals;
    }
}

int rps_import_begin_period(struct rps_import_builder *builder, int32_t cpu, int64_t start_ns,
                            int64_t length_ns, struct rps_error *err)
{
    struct rps_import_track *track = find_track(builder, cpu, err);

    if (!track)
        return RPS_FAILED;
    if (start_ns < track->end_ns)
        return rps_import_refuse(
            builder, err, "the time goes back from %.9g s to %.9g s; sort the rows by time",
            (double)start_ns / RPS_NS_PER_S, (double)track->end_ns / RPS_NS_PER_S);
    if (length_ns <= 0 || start_ns > TIME_MAX_NS || length_ns > TIME_MAX_NS - start_ns)
        return rps_import_refuse(builder, err, "a period of %.9g s at %.9g s is impossible",
                                 (double)length_ns / RPS_NS_PER_S, (double)start_ns / RPS_NS_PER_S);
    number_interval(builder, track, start_ns);
    builder->current = track;
    builder->start_ns = start_ns;
    builder->length_ns = length_ns;
    builder->has_gap =
        builder->is_broken || (track->intervals > 0 && start_ns > track->end_ns + RPS_NS_PER_US);
    builder->is_broken = 0;
    if (builder->has_gap)
        track->gap_ns = start_ns;
    if (builder->column_count > 0)
        memset(builder->cell, 0, (size_t)builder->column_count * sizeof(builder->cell[0]));
    return 0;
}

/* --- values ----------------------------------------------------------------------------------- */

int rps_import_value(struct rps_import_builder *builder, int number, long double value,
                     int64_t enabled_ns, int64_t running_ns, struct rps_error *err)
{
    struct rps_import_known_column *column = &builder->column[number];
    struct rps_import_cell *cell = &builder->cell[number];

    if (!isfinite(value) || (fabsl(value) > GAUGE_MAX && !builder->signals))
        return rps_import_refuse(builder, err, "a value of '%s' cannot be stored: %Lg",
                                 column->name, value);
    if (column->kind != RPS_IMPORT_GAUGE) {
        long double count = value;

        if (value < 0)
            return rps_import_refuse(builder, err, "a count of '%s' is below 0: %Lg", column->name,
                                     value);
        value = fmaxl(0, roundl(count + column->rest));
        column->rest += count - value; /* counts such as 0.4 add up */
        if (value + cell->value >= 0x1p63L)
            return rps_import_refuse(builder, err, "a count of '%s' is too large: %.20Lg",
                                     column->name, value + cell->value);
    }
    if (builder->adds && cell->is_there) {
        cell->value += value;
        return 0;
    }
    builder->current->has[number] |= 1;
    enabled_ns = enabled_ns < 0 ? builder->length_ns : enabled_ns;
    running_ns = running_ns < 0 ? enabled_ns : running_ns;
    column->enabled_ns += (double)enabled_ns;
    column->running_ns += (double)running_ns;
    if (running_ns == 0 && enabled_ns > 0)
        return 0;
    column->counted_ns += (double)enabled_ns;
    if (cell->is_there)
        return rps_import_refuse(builder, err, "there are two values of '%s' in one period",
                                 column->name);
    *cell = (struct rps_import_cell){1, value};
    return 0;
}

/* --- the rows of the store -------------------------------------------------------------------- */

/* Return part j of a whole number that is split into k parts. The parts' sum is the number. */
static uint64_t part(uint64_t whole, int j, int k)
{
    uint64_t n = (uint64_t)k, i = (uint64_t)j;
    uint64_t from = whole / n * i + whole % n * i / n;

    return whole / n * (i + 1) + whole % n * (i + 1) / n - from;
}

/* Put the values of a row. If a CPU never has values of a column, zero is stored: a count of 0, or
 * for a gauge a time of 0. As a result, values of only some CPUs are not scaled to all CPUs.
 * Examples are events of a socket or of one type of core. If some CPUs lack a gauge for some time,
 * its mean covers the others: a ratio has no value while a CPU is idle. */
static void put_slots(const struct rps_import_builder *builder, struct rps_period *row)
{
    for (int i = 0; i < builder->column_count; i++) {
        const struct rps_import_known_column *column = &builder->column[i];
        const struct rps_import_cell *cell = &builder->cell[i];
        int is_gauge = column->kind == RPS_IMPORT_GAUGE;
        int is_none = column->periods > 0 && !cell->is_there &&
                      (!builder->current->has[i] || (is_gauge && builder->track_count > 1));

        if (column->set != (int)row->set_no || (!cell->is_there && !is_none))
            continue;
        row->counted |= UINT32_C(1) << column->slot;
        if (is_gauge)
            row->counted |= UINT32_C(1) << column->time_slot;
        if (is_none)
            continue;
        if (is_gauge) {
            row->count[column->slot] =
                rps_import_gauge_count(column, (double)cell->value, builder->length_ns);
            row->count[column->time_slot] = (uint64_t)builder->length_ns;
        } else {
            row->count[column->slot] = (uint64_t)cell->value;
        }
    }
}

/* Return the CPU time in the period. The time is never 0, because a gauge has values while the
 * workload sleeps. *ret_clock is the clock event's count, 0 if unknown. */
static uint64_t clock_of(const struct rps_import_builder *builder, uint64_t *ret_clock)
{
    uint64_t least = (uint64_t)builder->plan->set_count;

    *ret_clock = (uint64_t)builder->length_ns;
    if (builder->clock) {
        const struct rps_import_cell *cell = &builder->cell[builder->clock - builder->column];

        *ret_clock = (uint64_t)cell->value; /* if there is no cell, the count is 0 */
        if (cell->is_there)
            return *ret_clock > least ? *ret_clock : least;
    }
    return (uint64_t)builder->length_ns > least ? (uint64_t)builder->length_ns : least;
}

static void write_rotation(struct rps_import_builder *builder)
{
    struct rps_import_track *track = builder->current;
    uint64_t clock, enabled_ns = clock_of(builder, &clock);
    int sets = builder->plan->set_count;
    int64_t start_ns = builder->start_ns;

    for (int n = 0; n < sets; n++) {
        struct rps_period row = {
            .cpu = track->cpu,
            .set_no = (uint32_t)n,
            .period = track->intervals * (uint64_t)sets + (uint64_t)n,
            .rotation = track->intervals,
            .cycles = part(clock, n, sets),
            .start_ns = start_ns,
            .length_ns = (int64_t)part((uint64_t)builder->length_ns, n, sets),
            .enabled_ns = part(enabled_ns, n, sets),
        };

        row.cycle = track->cycle += row.cycles;
        row.clock_running_ns = clock > 0 ? row.enabled_ns : 0;
        put_slots(builder, &row);
        row.running_ns = row.counted ? enabled_ns : 0;
        start_ns += row.length_ns;
        rps_writer_period(builder->writer, &row);
    }
    if (builder->periods % 64 == 0)
        rps_writer_wait(builder->writer);
}

/* Add the period to the statistics of the columns, in the first pass. */
static int add_up(struct rps_import_builder *builder, struct rps_error *err)
{
    int64_t end_ns = builder->start_ns + builder->length_ns, before_ns = builder->current->end_ns;

    for (int i = 0; i < builder->column_count; i++) {
        struct rps_import_known_column *column = &builder->column[i];
        const struct rps_import_cell *cell = &builder->cell[i];
        uint8_t *has = &builder->current->has[i];

        column->is_partial |= *has == 1 && column->periods > 0 && column->first_ns <= before_ns;
        if (*has) {
            *has = 3;
            column->end_ns[cell->is_there] = end_ns;
        }
        column->is_partial |= column->end_ns[0] > 0 && column->end_ns[0] == column->end_ns[1];
        if (!cell->is_there)
            continue;
        if (column->periods++ == 0)
            column->first_ns = end_ns;
        column->least = fmin(column->least, (double)cell->value);
        column->most = fmax(column->most, (double)cell->value);
        if (column->kind == RPS_IMPORT_GAUGE)
            continue;
        column->sum += (uint64_t)cell->value;
        if (column->sum > SUM_MAX)
            return rps_import_refuse(builder, err, "the counts of '%s' add up to more than %llu",
                                     column->name, (unsigned long long)SUM_MAX);
    }
    return 0;
}

int rps_import_end_period(struct rps_import_builder *builder, struct rps_error *err)
{
    struct rps_import_track *track = builder->current;

    if (builder->writer && !builder->is_dry_run) {
        write_rotation(builder);
    } else if (!builder->is_dry_run) {
        if (builder->signals)
            rps_import_collect(builder);
        if (add_up(builder, err) < 0)
            return RPS_FAILED;
        builder->seconds += (double)builder->length_ns / RPS_NS_PER_S;
    }
    track->end_ns = builder->start_ns + builder->length_ns;
    track->intervals++;
    track->periods++;
    builder->end_ns = track->end_ns > builder->end_ns ? track->end_ns : builder->end_ns;
    builder->periods++;
    builder->current = NULL;
    return 0;
}

/* --- the whole file --------------------------------------------------------------------------- */

void rps_import_restart(struct rps_import_builder *builder)
{
    builder->periods = 0;
    for (size_t i = 0; i < builder->track_count; i++) {
        builder->track[i].end_ns = builder->track[i].gap_ns = 0;
        builder->track[i].intervals = builder->track[i].periods = builder->track[i].cycle = 0;
    }
    for (int i = 0; i < builder->column_count; i++)
        builder->column[i].rest = 0;
    builder->interval = 0;
    builder->interval_ns = 0;
    builder->is_broken = 0;
}

/* Print the columns that have values of only some CPUs at some time. */
static void note_partial(const struct rps_import_builder *builder)
{
    char text[300] = "", name[RPS_NAME_SIZE];

    for (int i = 0; i < builder->column_count; i++) {
        if (builder->column[i].is_partial)
            rps_text_list(text, sizeof(text),
                          rps_text_printable(name, sizeof(name), builder->column[i].name));
    }
    if (text[0])
        rps_import_note(
            builder,
            "%s: at some times, only some CPUs have a value of %s; counts of all CPUs are then "
            "unknown, and means of gauges cover only these CPUs",
            builder->path, text);
}

int rps_import_read(struct rps_import_builder *builder, const struct rps_import_format *format,
                    const struct rps_import_options *options, struct rps_error *err)
{
    uint64_t before = builder->periods, values = 0;
    int result = rps_import_rewind(builder, err);

    rps_import_restart(builder);
    if (result == 0)
        result = format->read(builder, options, err);
    if (result < 0)
        return result;
    for (int i = 0; i < builder->column_count; i++)
        values += builder->column[i].periods;
    if (builder->periods == 0 || values == 0)
        return rps_error_set(
            err, RPS_FAILED, "%s has no %s", builder->path,
            builder->column_count > 0
                ? "values to import; every value is missing, not counted or not supported"
                : "rows to import");
    if (builder->writer && before != builder->periods)
        return rps_error_set(err, RPS_FAILED, "%s was changed while it was read; try again",
                             builder->path);
    note_partial(builder);
    /* Write gaps for CPUs whose last period ends before the end of the run. */
    for (size_t i = 0; i < builder->track_count; i++) {
        const struct rps_import_track *track = &builder->track[i];

        if (track->end_ns < builder->end_ns)
            write_gap(builder, track->cpu, track->end_ns, builder->end_ns - track->end_ns);
    }
    return 0;
}
