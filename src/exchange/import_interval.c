/* The values of an interval, gathered. */
#include "import_interval.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import_parts.h"
#include "rpistat/array.h"
#include "rpistat/clock.h"
#include "rpistat/text.h"

#define DATUM_MAX (1 << 18) /* more in one interval are no recording */
#define TRACK_MAX 4096      /* machines have fewer cores; a name is compared with all others */

struct rps_import_gathered {
    struct rps_import_datum datum; /* without the column's text */
    int column;
    size_t order;
};

void rps_import_interval_open(struct rps_import_interval *interval,
                              struct rps_import_builder *builder)
{
    memset(interval, 0, sizeof(*interval));
    interval->builder = builder;
}

/* --- CPUs ------------------------------------------------------------------------------------- */

static int add_track(struct rps_import_interval *interval, const char *name, struct rps_error *err)
{
    char text[80], **track;

    if (interval->track_count == TRACK_MAX)
        return rps_import_refuse(interval->builder, err, "there are more than %d names of CPUs",
                                 TRACK_MAX);
    track = rps_array_grow(interval->track, interval->track_count, sizeof(*track));
    if (!track)
        return rps_error_memory(err);
    interval->track = track;
    if (!(track[interval->track_count] = strdup(name)))
        return rps_error_memory(err);
    rps_import_note(interval->builder, "%s is CPU %zu of the run",
                    rps_text_printable(text, sizeof(text), name), interval->track_count);
    interval->track_count++;
    return 0;
}

int rps_import_interval_cpu(struct rps_import_interval *interval, const char *track, int32_t *ret,
                            struct rps_error *err)
{
    const char *digits = track && strncmp(track, "CPU", 3) == 0 ? track + 3 : track;
    size_t i, count;

    *ret = RPS_CPU_ALL;
    if (!track || !track[0])
        return 0;
    if (digits[0] && strlen(digits) < 7 && !digits[strspn(digits, "0123456789")]) {
        *ret = (int32_t)atoi(digits);
        return 0;
    }
    /* in most files they come in the same order every time */
    for (i = interval->next_track, count = interval->track_count; count > 0; i++, count--) {
        i = i < interval->track_count ? i : 0;
        if (strcmp(interval->track[i], track) == 0)
            break;
    }
    if (count == 0) {
        i = interval->track_count;
        if (add_track(interval, track, err) < 0)
            return RPS_FAILED;
    }
    interval->next_track = i;
    *ret = (int32_t)i;
    return 0;
}

/* --- columns ---------------------------------------------------------------------------------- */

/* The column of the nth value, from 1, of one that is there. */
static int find_column(struct rps_import_interval *interval,
                       const struct rps_import_gathered *gathered, int nth, int *ret,
                       struct rps_error *err)
{
    const struct rps_import_known_column *first = &interval->builder->column[gathered->column];
    struct rps_import_column column = {.unit = first->unit, .panel = first->panel};
    char text[512];

    *ret = gathered->column;
    if (nth == 1)
        return 0;
    snprintf(text, sizeof(text), "%.*s#%d", (int)rps_text_cut(first->name, 480), first->name, nth);
    column.name = text;
    column.kind = first->kind == RPS_IMPORT_CLOCK ? RPS_IMPORT_COUNT : first->kind;
    return rps_import_column(interval->builder, &column, ret, err);
}

/* --- values ----------------------------------------------------------------------------------- */

/* What the builder would refuse when the interval is over is refused where it stands. */
static int check_count(struct rps_import_interval *interval, const struct rps_import_datum *datum,
                       struct rps_error *err)
{
    double value = datum->is_exact ? (double)datum->count : datum->value;
    char text[80];

    if (datum->column.kind == RPS_IMPORT_GAUGE || (value >= 0 && value < 0x1p63))
        return 0;
    return rps_import_refuse(interval->builder, err, "'%s' cannot have a count of %.17g",
                             rps_text_printable(text, sizeof(text), datum->column.name), value);
}

int rps_import_interval_add(struct rps_import_interval *interval,
                            const struct rps_import_datum *datum, struct rps_error *err)
{
    struct rps_import_gathered *gathered;
    int column;

    if (check_count(interval, datum, err) < 0 ||
        rps_import_column(interval->builder, &datum->column, &column, err) < 0)
        return RPS_FAILED;
    if (interval->datum_count == DATUM_MAX)
        return rps_import_refuse(interval->builder, err,
                                 "there are more than %d values of one interval", DATUM_MAX);
    gathered = rps_array_grow(interval->datum, interval->datum_count, sizeof(*gathered));
    if (!gathered)
        return rps_error_memory(err);
    interval->datum = gathered;
    gathered += interval->datum_count;
    gathered->datum = *datum;
    gathered->column = column;
    gathered->order = interval->datum_count++;
    return 0;
}

static int compare_gathered(const void *a, const void *b)
{
    const struct rps_import_gathered *x = a, *y = b;

    if (x->datum.cpu != y->datum.cpu)
        return x->datum.cpu < y->datum.cpu ? -1 : 1;
    if (x->column != y->column)
        return x->column < y->column ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static int say_value(struct rps_import_builder *builder, int column,
                     const struct rps_import_datum *datum, struct rps_error *err)
{
    if (datum->is_exact)
        return rps_import_count(builder, column, datum->count, datum->enabled_ns, datum->running_ns,
                                err);
    return rps_import_value(builder, column, datum->value, datum->enabled_ns, datum->running_ns,
                            err);
}

static int is_counted(const struct rps_import_gathered *gathered, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (gathered[i].datum.running_ns != 0 || gathered[i].datum.enabled_ns <= 0)
            return 1;
    return 0;
}

/* The period of one CPU; none when nothing was counted. */
static int say_period(struct rps_import_interval *interval,
                      const struct rps_import_gathered *gathered, size_t count,
                      struct rps_error *err)
{
    int nth = 0, column, result;

    if (!is_counted(gathered, count))
        return 0;
    result = rps_import_begin_period(interval->builder, gathered->datum.cpu, interval->start_ns,
                                     interval->end_ns - interval->start_ns, err);
    for (size_t i = 0; i < count && result == 0; i++) {
        nth = i > 0 && gathered[i].column == gathered[i - 1].column ? nth + 1 : 1;
        result = find_column(interval, gathered + i, nth, &column, err);
        if (result == 0)
            result = say_value(interval->builder, column, &gathered[i].datum, err);
    }
    return result < 0 ? result : rps_import_end_period(interval->builder, err);
}

static int hand_over_gathered(struct rps_import_interval *interval, struct rps_error *err)
{
    struct rps_import_gathered *gathered = interval->datum;
    size_t end;
    int result = 0;

    if (interval->datum_count > 0)
        qsort(gathered, interval->datum_count, sizeof(*gathered), compare_gathered);
    for (size_t i = 0; i < interval->datum_count && result == 0; i = end) {
        for (end = i + 1; end < interval->datum_count; end++)
            if (gathered[end].datum.cpu != gathered[i].datum.cpu)
                break;
        result = say_period(interval, gathered + i, end - i, err);
    }
    interval->datum_count = 0;
    interval->next_track = 0;
    return result;
}

int rps_import_interval_line(struct rps_import_interval *interval, int64_t end_ns,
                             struct rps_error *err)
{
    if (end_ns > 0 && end_ns == interval->end_ns)
        return 0;
    if (end_ns <= interval->end_ns)
        return rps_import_refuse(
            interval->builder, err, "the time goes back, from %.9f s to %.9f s",
            (double)interval->end_ns / RPS_NS_PER_S, (double)end_ns / RPS_NS_PER_S);
    if (hand_over_gathered(interval, err) < 0)
        return RPS_FAILED;
    interval->events_before = interval->events;
    interval->events = 0;
    interval->start_ns = interval->end_ns;
    interval->end_ns = end_ns;
    return 0;
}

int rps_import_interval_close(struct rps_import_interval *interval, int result,
                              struct rps_error *err)
{
    if (result == 0 && interval->events >= interval->events_before)
        result = hand_over_gathered(interval, err);
    else if (result == 0)
        rps_import_note(interval->builder,
                        "the last interval has fewer events than the one before, %zu for %zu: the "
                        "file was cut off in it, and it is left out",
                        interval->events, interval->events_before);
    for (size_t i = 0; i < interval->track_count; i++)
        free(interval->track[i]);
    free(interval->track);
    free(interval->datum);
    return result;
}
