/* Reads a file of another tool as input signals for the detector of phases, with one observation
 * per period.
 *
 * Each column has an array of its own, which begins when the column is found. The number of columns
 * and the number of rows are known only at the end. A file with more rows than the detector accepts
 * is averaged while it is read.
 *
 * If a column numbers the rows, its values increase evenly. As a signal, such a column would cut
 * the rows into equal parts. A column numbers the rows if its steps are equal, or if it never
 * decreases and has a suitable name. A name alone is no proof (a column `year` may hold sales), and
 * neither are increasing values (a population increases, too). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import_build.h"
#include "import_parts.h"
#include "rpistat/arena.h"
#include "rpistat/clock.h"
#include "rpistat/csv_signals.h"
#include "rpistat/text.h"

#define ROWS_MAX (UINT64_C(1) << 21)

#define NAMES_SIZE 400

struct signal {
    double *value;  /* value per observation; NaN: none; owned */
    uint16_t *seen; /* number of values in each mean; owned */
    size_t count, room;
};

struct rps_import_signals {
    size_t signal_count, count; /* number of columns; number of observations */
    struct signal *signal;      /* array of signals, in the arena */
    uint8_t *broken;            /* for each observation: 1 if it follows a gap; owned */
    uint64_t rows;
    size_t rows_per; /* number of rows whose mean is one observation */
    int64_t end_ns;  /* end of the last row; the next member is that row's CPU */
    int32_t cpu;
    int has_breaks;
};

/* --- collecting ------------------------------------------------------------------------------- */

struct rps_import_signals *rps_import_new_signals(struct rps_arena *arena)
{
    struct rps_import_signals *signals = rps_arena_get(arena, 1, sizeof(*signals));

    signals->rows_per = 1;
    return signals;
}

static void *grown(void *array, size_t count, size_t more, size_t size)
{
    void *ret = rps_array_grow_by(array, count, more, size);

    if (!ret)
        rps_arena_exhausted();
    return ret;
}

static void extend(struct signal *signal, size_t count)
{
    if (count > signal->room) { /* calling realloc for each value would take a tenth of the time */
        size_t more = 2 * count - signal->count;

        signal->room = 2 * count;
        signal->value = grown(signal->value, signal->count, more, sizeof(*signal->value));
        signal->seen = grown(signal->seen, signal->count, more, sizeof(*signal->seen));
    }
    for (; signal->count < count; signal->count++) {
        signal->value[signal->count] = NAN;
        signal->seen[signal->count] = 0;
    }
}

/* Add the mean of `seen` values to the mean of the observation. */
static void add_mean(struct signal *signal, size_t at, double mean, unsigned seen)
{
    unsigned all = signal->seen[at] + seen;

    if (seen > 0 && all <= UINT16_MAX) {
        if (signal->seen[at] == 0)
            signal->value[at] = mean;
        else
            signal->value[at] += (mean - signal->value[at]) * seen / all;
        signal->seen[at] = (uint16_t)all;
    }
}

/* Replace each pair of neighbouring observations by one observation, the mean of both. */
static void halve(struct rps_import_signals *signals)
{
    size_t kept = (signals->count + 1) / 2;

    for (size_t s = 0; s < signals->signal_count; s++) {
        struct signal *signal = &signals->signal[s];

        extend(signal, signals->count);
        for (size_t i = 0; i < kept; i++) {
            signal->value[i] = signal->value[2 * i];
            signal->seen[i] = signal->seen[2 * i];
            if (2 * i + 1 < signals->count)
                add_mean(signal, i, signal->value[2 * i + 1], signal->seen[2 * i + 1]);
        }
        signal->count = kept;
    }
    for (size_t i = 0; i < kept; i++)
        signals->broken[i] =
            signals->broken[2 * i] || (2 * i + 1 < signals->count && signals->broken[2 * i + 1]);
    signals->count = kept;
    signals->rows_per *= 2;
}

/* Begin an observation, unless the row belongs to the current observation. A row with the same time
 * and another CPU belongs to the current observation. If observations are means of several rows,
 * the row belongs to the current observation until this observation is full. */
static void place_row(struct rps_import_builder *builder, int64_t end_ns)
{
    struct rps_import_signals *signals = builder->signals;

    if (signals->rows > 0 && end_ns == signals->end_ns && builder->current->cpu != signals->cpu)
        return;
    if (signals->rows % signals->rows_per == 0 && signals->count == ROWS_MAX)
        halve(signals);
    if (signals->rows++ % signals->rows_per == 0) {
        if ((signals->count & (signals->count - 1)) == 0) /* the array `broken` is full */
            signals->broken = grown(signals->broken, signals->count, 1, 1);
        signals->broken[signals->count++] = 0;
    }
    if (builder->has_gap && signals->rows > 1)
        signals->broken[signals->count - 1] = (uint8_t)(signals->has_breaks = 1);
}

/* Add the column's value to the observation. A mean of counts is unknown if a CPU lacks its count.
 * A CPU that never has counts, such as a core of another type, is not part of the mean. */
static void add_value(struct rps_import_builder *builder, size_t s)
{
    const struct rps_import_cell *cell = &builder->cell[s];
    struct signal *signal = &builder->signals->signal[s];
    uint8_t has = builder->current->has[s];
    int is_count = builder->column[s].kind != RPS_IMPORT_GAUGE,
        is_of_all = is_count && builder->track_count > 1,
        is_late = has == 1 && builder->current->periods > 0;
    size_t now = builder->signals->count - 1;
    double value = cell->is_there ? (double)cell->value : NAN;

    if (is_count)
        value = value * RPS_NS_PER_S / (double)builder->length_ns;
    extend(signal, now + 1);
    for (size_t i = 0; i < now && is_of_all && is_late; i++)
        signal->value[i] = NAN; /* this CPU lacked its counts until now */
    if (cell->is_there || (is_of_all && has))
        add_mean(signal, now, value, 1);
}

void rps_import_collect(struct rps_import_builder *builder)
{
    struct rps_import_signals *signals = builder->signals;
    int64_t end_ns = builder->start_ns + builder->length_ns;

    place_row(builder, end_ns);
    for (; signals->signal_count < (size_t)builder->column_count; signals->signal_count++)
        signals->signal = rps_arena_grow(builder->arena, signals->signal, signals->signal_count,
                                         sizeof(*signals->signal));
    for (size_t s = 0; s < signals->signal_count; s++)
        add_value(builder, s);
    signals->end_ns = end_ns;
    signals->cpu = builder->current->cpu;
}

/* --- choosing --------------------------------------------------------------------------------- */

static int find_metric(const struct rps_import_builder *builder, const char *name, size_t *ret,
                       struct rps_error *err)
{
    char names[NAMES_SIZE] = "";

    for (int i = 0; i < builder->column_count; i++) {
        if (strcmp(builder->column[i].name, name) == 0) {
            *ret = (size_t)i;
            return 0;
        }
        rps_text_list(names, sizeof(names), builder->column[i].name);
    }
    return rps_error_set(err, RPS_USAGE, "%s has no column of numbers '%s'; choose from %s",
                         builder->path, name, names[0] ? names : "none");
}

/* Choose the signals that do not number the rows, and report the others. If all signals seem to
 * number rows, choose all except those whose names mean row numbers. */
static int choose_all(const struct rps_import_builder *builder, size_t *chosen, size_t *ret_count,
                      struct rps_error *err)
{
    const struct rps_import_signals *signals = builder->signals;
    char names[NAMES_SIZE] = "";
    size_t count = 0;

    for (size_t s = 0; s < signals->signal_count; s++) {
        const char *name = builder->column[s].name;

        if (!rps_csv_is_place(signals->signal[s].value, signals->count, signals->rows_per > 1,
                              name))
            chosen[count++] = s;
        else
            rps_text_list(names, sizeof(names), name);
    }
    if (count > 0 && names[0])
        rps_import_note(builder,
                        "%s: left out: %s (numbers of rows; --metric COLUMN uses such a column)",
                        builder->path, names);
    for (size_t s = 0, all = count == 0; s < signals->signal_count && all; s++) {
        if (!rps_csv_names_place(builder->column[s].name))
            chosen[count++] = s;
    }
    *ret_count = count;
    return count > 0 ? 0
                     : rps_error_set(err, RPS_FAILED,
                                     "%s has only columns that number its rows; name one with "
                                     "--metric to use it nevertheless",
                                     builder->path);
}

int rps_import_take_signals(struct rps_import_builder *builder, struct rps_arena *arena,
                            const struct rps_import_options *options, struct rps_csv_signals *ret,
                            struct rps_error *err)
{
    struct rps_import_signals *signals = builder->signals;
    size_t *chosen, count = 0;
    int result = 0;

    for (size_t s = 0; s < signals->signal_count; s++)
        extend(&signals->signal[s], signals->count);
    chosen = rps_arena_get(builder->arena, signals->signal_count + options->metric_count,
                           sizeof(*chosen));
    for (; count < options->metric_count && result == 0; count++)
        result = find_metric(builder, options->metric[count], &chosen[count], err);
    if (options->metric_count == 0)
        result = choose_all(builder, chosen, &count, err);
    if (result < 0)
        return result;
    *ret = (struct rps_csv_signals){
        .signals = {.count = signals->count, .signal_count = count},
        .name = rps_arena_get(arena, count, sizeof(*ret->name)),
        .rows = signals->rows,
        .rows_per = signals->rows_per,
    };
    ret->signals.value = rps_arena_get(arena, signals->count, count * sizeof(double));
    for (size_t s = 0; s < count; s++) {
        memcpy(ret->signals.value + s * signals->count, signals->signal[chosen[s]].value,
               signals->count * sizeof(double));
        rps_text_printable(ret->name[s], RPS_NAME_SIZE, builder->column[chosen[s]].name);
    }
    if (signals->has_breaks) {
        ret->signals.broken = rps_arena_get(arena, signals->count, 1);
        memcpy(ret->signals.broken, signals->broken, signals->count);
    }
    return 0;
}

void rps_import_free_signals(struct rps_import_signals *signals)
{
    for (size_t s = 0; signals && s < signals->signal_count; s++) {
        free(signals->signal[s].value);
        free(signals->signal[s].seen);
    }
    if (signals)
        free(signals->broken);
}
