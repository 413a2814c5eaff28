/* Chooses the column of times.
 *
 * The time is a column, or a pair of columns: a date and a time of day. Every row must have a time.
 * The times must increase, or decrease in files whose newest row comes first. A name alone does not
 * make a column the time, and neither do increasing numbers. A column that looks like a time but
 * cannot be used is refused. Otherwise its rows could be read as seconds, and rates would be wrong
 * without any warning. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "import_table.h"
#include "rpistat/clock.h"

/* If at most one in CELLS_PER_BAD cells of a time column is bad, the line of the bad cell is
 * refused. --skip-bad tolerates more bad cells. */
#define CELLS_PER_BAD 8

/* A column increases if it has at least STEPS_PER_BACK steps forward for each step back. */
#define STEPS_PER_BACK 4

#define DAYS_1990       7305
#define DAYS_2100       47482
#define MODIFIED_JULIAN 2400000.5 /* difference between a Julian day and a modified one */
#define DATE_BEGIN_S    6.3e8     /* minimum and maximum of a plausible time since 1970 */
#define DATE_END_S      3e9

#define FORMATS                                                                                    \
    "2026-03-04 10:00:00, 04.03.2026 10:00, 03/24/2026, Wed Mar 4 10:00:00 2026, 10:00:00, "       \
    "1h30m, "                                                                                      \
    "numbers; --map COLUMN=time:%%d/%%m/%%Y describes others"

/* --- cells ------------------------------------------------------------------------------------ */

void rps_time_add_order(struct rps_time_order *order, double value, int wraps)
{
    if (order->count++ == 0)
        order->first = value;
    else if (value > order->last || (wraps && value < order->last - RPS_NS_PER_DAY / 2.0))
        order->rises++;
    else if (value < order->last)
        order->falls++;
    order->last = value;
}

void rps_time_look(struct rps_time_stats *stats, const char *cell)
{
    static const struct rps_time_format formats[2] = {{0}, {.is_month_first = 1}};
    struct rps_time time;
    int result;

    if (stats->failed > 10 && stats->failed > stats->parsed) /* the cells are words, not times */
        return;
    result = rps_time_read(cell, &time);
    stats->failed += result <= 0;
    stats->has_zone |= result < 0;
    if (result <= 0)
        return;
    if (stats->parsed++ == 0) {
        stats->first = time.first;
        stats->is_single = time.kind == RPS_TIME_CLOCK && time.first_digits == 1;
    }
    stats->kinds[time.kind]++;
    stats->is_wide |= time.kind == RPS_TIME_CLOCK && time.first > 24;
    stats->is_short |= time.kind == RPS_TIME_CLOCK && time.fields == 2;
    stats->has_leap_day |= time.year == 0 && time.month == 2 && time.day == 29;
    stats->has_offset |= time.has_offset;
    stats->ambiguous += time.is_ambiguous;
    stats->day_first += time.is_day_first;
    stats->month_first += time.is_month_first;
    for (int i = 0; i < 2; i++)
        rps_time_add_order(&stats->order[i], (double)rps_time_order(&time, &formats[i]),
                           time.kind == RPS_TIME_CLOCK || time.year == 0);
}

/* --- columns ---------------------------------------------------------------------------------- */

/* Return 1 if the name begins with a word of the list: "Elapsed (ms)" begins with "elapsed". */
static int is_in(const char *name, const char *const *list)
{
    for (; *list; list++) {
        size_t length = strlen(*list);

        if (strncasecmp(name, *list, length) == 0 && !isalnum((unsigned char)name[length]))
            return 1;
    }
    return 0;
}

/* Return 1 for a name such as "time", "Time (s)", "date_utc"; 2 if it may also mean a duration. */
static int is_named(const struct rps_import_table *table, size_t c)
{
    static const char *const names[] = {"time",     "date",       "timestamp", "ts",   "epoch",
                                        "datetime", "@timestamp", "_time",     "when", "julian",
                                        "jd",       "mjd",        NULL},
                             *const others[] = {"t",      "elapsed", "sec",     "secs",
                                                "second", "seconds", "minutes", "hours",
                                                "days",   "uptime",  NULL};
    const char *name = table->column[c].name;

    return is_in(name, names) ? 1 : is_in(name, others) ? 2 : 0;
}

/* Return 1 if the last word of the name is a time, as in "start_time". */
static int ends_as_time(const struct rps_import_table *table, size_t c)
{
    static const char *const ends[] = {"time",  "timestamp", "date", "datetime",
                                       "epoch", "ts",        NULL};
    const char *name = table->column[c].name, *word = name;

    for (const char *at = name; *at; at++) {
        if (!isalpha((unsigned char)*at))
            word = at + 1;
    }
    return strcasestr(name, "time_of_day") != NULL || is_in(word, ends);
}

/* Return how successive cells of the column change, as numbers or as times. */
static const struct rps_time_order *order_of(const struct rps_import_table_column *column)
{
    return rps_import_is_text_time(column) ? &column->time.order[column->format.is_month_first]
                                           : &column->order;
}

static int grows(const struct rps_time_order *order)
{
    return order->count == 1 || (order->rises > 0 && order->rises >= STEPS_PER_BACK * order->falls);
}

static int falls(const struct rps_time_order *order)
{
    return order->falls > 0 && order->falls > STEPS_PER_BACK * order->rises;
}

/* Return 1 if the column increases or decreases. */
static int moves(const struct rps_import_table_column *column)
{
    return grows(order_of(column)) || falls(order_of(column));
}

static uint64_t cells_per_bad(const struct rps_import_table_column *column)
{
    return column->time.is_tolerant ? 1 : CELLS_PER_BAD;
}

int rps_import_is_numeric(const struct rps_import_table_column *column)
{
    return column->numbers > 0 && column->numbers >= column->words;
}

int rps_import_is_text_time(const struct rps_import_table_column *column)
{
    return column->time.parsed > 0 &&
           column->time.parsed >= cells_per_bad(column) * column->time.failed &&
           (column->format.is_compact || column->time.parsed >= column->numbers);
}

/* Return the unit that --map gives the column, such as "ms" or "1000s", in ns. 0: it gives none. */
static int64_t mapped_unit(const struct rps_import_table_column *column)
{
    char *name;
    uint64_t factor = strtoull(column->unit, &name, 10);
    int64_t unit_ns = rps_import_time_unit(name, NULL);

    if (name == column->unit)
        factor = 1;
    if (unit_ns <= 0 || factor > (uint64_t)(RPS_IMPORT_TIME_MAX_NS / unit_ns))
        return 0;
    return unit_ns * (int64_t)factor;
}

/* Return the unit of the column's numbers in ns, according to the map or its name, otherwise the
 * smallest unit that makes the first number a time since 1970. If no unit does, return seconds. */
static int64_t unit_of(const struct rps_import_table_column *column)
{
    int64_t unit_ns = mapped_unit(column);

    if (unit_ns == 0)
        unit_ns = rps_import_time_unit(column->name, NULL);
    for (int64_t ns = 1; ns < RPS_NS_PER_S && unit_ns <= 0; ns *= 1000) {
        if (column->order.first * (double)ns >= RPS_IMPORT_EPOCH_S * RPS_NS_PER_S)
            unit_ns = ns;
    }
    return unit_ns > 0 ? unit_ns : RPS_NS_PER_S;
}

static double seconds_of(const struct rps_import_table_column *column, double value)
{
    if (rps_import_is_text_time(column))
        return value / RPS_NS_PER_S;
    return column->format.day_1970 > 0 ? (value - column->format.day_1970) * 86400
                                       : value * (double)unit_of(column) / RPS_NS_PER_S;
}

/* Return 1 if the first time is between 1990 and 2065. */
static int has_date(const struct rps_import_table_column *column)
{
    double first_s = seconds_of(column, order_of(column)->first);

    return first_s >= DATE_BEGIN_S && first_s < DATE_END_S;
}

/* Return 1 if the name says that numbers are days since some day, and not seconds. */
static int is_of_days(const struct rps_import_table_column *column)
{
    static const char *const names[] = {"date", "julian", "jd", "mjd", NULL};

    return is_in(column->name, names);
}

/* Return the number of 1970-01-01 if the column has days between 1990 and 2100. Otherwise 0. */
static double find_day_1970(const struct rps_import_table *table, size_t c)
{
    const struct rps_import_table_column *column = &table->column[c];
    const char *name = column->name;
    double least = fmin(column->order.first, column->order.last),
           most = fmax(column->order.first, column->order.last), day;

    if (is_named(table, c) != 1 || rps_import_time_unit(name, NULL) > 0 ||
        (!column->has_fraction && !strcasestr(name, "date") && !is_of_days(column)))
        return 0;
    day = strcasestr(name, "mjd") ? RPS_IMPORT_JULIAN_1970 - MODIFIED_JULIAN
          : strcasestr(name, "julian") || strcasestr(name, "jd") ||
                  least >= RPS_IMPORT_JULIAN_1970 + DAYS_1990
              ? RPS_IMPORT_JULIAN_1970
              : RPS_IMPORT_EXCEL_1970;
    return least >= day + DAYS_1990 && most < day + DAYS_2100 ? day : 0;
}

static void choose_format(const struct rps_import_table *table, size_t c)
{
    struct rps_import_table_column *column = &table->column[c];
    const struct rps_time_stats *time = &column->time;
    struct rps_time_format *format = &column->format;

    format->is_month_first = time->month_first > 0;
    format->is_compact = time->compact > 0 && time->compact == time->parsed &&
                         time->parsed >= column->numbers &&
                         (is_named(table, c) || ends_as_time(table, c) || !table->has_header) &&
                         (c == 0 || table->has_header);
    format->is_elapsed = time->is_wide || (time->is_single && time->first == 0) ||
                         strcasestr(column->name, "elapsed") ||
                         strcasestr(column->name, "duration");
    if (!format->is_compact && column->numbers > 0 && format->day_1970 == 0 && !column->unit[0])
        format->day_1970 = find_day_1970(table, c);
}

/* Return 1 for a column that has a time in every row, in any order. */
static int is_time(const struct rps_import_table *table, size_t c)
{
    const struct rps_import_table_column *column = &table->column[c];
    int named = is_named(table, c);

    if (rps_import_is_text_time(column))
        return column->time.kinds[RPS_TIME_ELAPSED] < column->time.parsed || named;
    if (column->numbers == 0 || column->numbers < cells_per_bad(column) * column->words)
        return 0;
    if (!table->has_header)
        return c == 0 && has_date(column) && table->count > 1;
    return named || (ends_as_time(table, c) && has_date(column));
}

static int is_of(const struct rps_import_table_column *column, enum rps_time_kind kind)
{
    return rps_import_is_text_time(column) &&
           CELLS_PER_BAD * column->time.kinds[kind] >= (CELLS_PER_BAD - 1) * column->time.parsed;
}

/* --- the choice ------------------------------------------------------------------------------- */

/* Find two columns, such as "24.11.2026" and "16:00:05", that together make one time. */
static int find_pair(struct rps_import_table *table)
{
    int day = -1, clock = -1;

    for (size_t c = 0; c < table->count; c++) {
        const struct rps_import_table_column *column = &table->column[c];

        if (column->kind != RPS_CELLS_NONE && column->kind != RPS_CELLS_TIME)
            continue;
        if (day < 0 && is_of(column, RPS_TIME_DATE))
            day = (int)c;
        if (clock < 0 && is_of(column, RPS_TIME_CLOCK) && !column->format.is_elapsed)
            clock = (int)c;
        if (is_of(column, RPS_TIME_MOMENT) && moves(column))
            return 0;
    }
    if (day < 0 || clock < 0 || (table->time >= 0 && table->time != day && table->time != clock) ||
        (table->time < 0 && moves(&table->column[day]) + moves(&table->column[clock]) == 0))
        return 0;
    table->day = day;
    table->time = clock;
    return 1;
}

/* Return 1 if two columns have the same times in different forms (text and number, since 1970 and
 * since a start) over the same span. Beginnings and ends of periods are not the same times. */
static int is_same(const struct rps_import_table_column *a, const struct rps_import_table_column *b)
{
    const struct rps_time_order *x = order_of(a), *y = order_of(b);
    double begin = seconds_of(a, x->first) - seconds_of(b, y->first),
           end = seconds_of(a, x->last) - seconds_of(b, y->last);

    return fabs(end - begin) <= 1 && (fabs(begin) <= 1 || has_date(a) != has_date(b) ||
                                      rps_import_is_text_time(a) != rps_import_is_text_time(b));
}

/* Return 1 if the column may be the time, because it increases, or decreases if is_falling is 1. */
static int is_candidate(const struct rps_import_table *table, size_t c, int is_falling)
{
    const struct rps_import_table_column *column = &table->column[c];
    const struct rps_time_stats *time = &column->time;

    return column->kind == RPS_CELLS_NONE && is_time(table, c) &&
           (is_falling ? falls(order_of(column)) : grows(order_of(column))) &&
           (time->ambiguous == 0 || (time->month_first > 0) != (time->day_first > 0));
}

/* Choose the increasing or decreasing column. Among columns with the same times, prefer dates. */
static int choose_growing(const struct rps_import_reading *reading, struct rps_import_table *table,
                          int is_falling, struct rps_error *err)
{
    for (size_t c = 0; c < table->count; c++) {
        if (!is_candidate(table, c, is_falling))
            continue;
        if (table->time >= 0 && !is_same(&table->column[table->time], &table->column[c]))
            return rps_error_set(
                err, RPS_FAILED,
                "%s: the columns '%s' and '%s' may both be the time; choose one with --map "
                "'%s=time'",
                reading->builder->path, table->column[table->time].label, table->column[c].label,
                table->column[table->time].map_name);
        if (table->time < 0 || has_date(&table->column[c]) > has_date(&table->column[table->time]))
            table->time = (int)c;
    }
    return 0;
}

/* Find a column that looks like a time but is unusable. Returns 1 with the error, otherwise 0. */
static int refuse_column(const struct rps_import_reading *reading,
                         const struct rps_import_table *table, size_t c, struct rps_error *err)
{
    const struct rps_import_table_column *column = &table->column[c];
    const char *path = reading->builder->path, *label = column->label, *name = column->map_name,
               *cell = column->first ? column->first : "",
               *bad = column->first_bad ? column->first_bad : "";
    static const char *const parts[] = {"year", "month", "day", "hour", NULL};
    int named = is_named(table, c) == 1;

    if (rps_import_is_numeric(column) && column->order.rises > 0 && grows(&column->order) &&
        is_in(column->name, parts))
        return rps_error_set(err, RPS_FAILED,
                             "%s: the column '%.60s' may be a part of the time; join the parts, or "
                             "write --map '%s=time:%%Y', '=time:d' or '=skip'",
                             path, label, name);
    if (column->time.ambiguous > 0 && column->time.failed == 0)
        return rps_error_set(err, RPS_FAILED, "%s: '%.40s' " RPS_IMPORT_AMBIGUOUS, path, cell);
    if (column->time.has_zone)
        return rps_error_set(
            err, RPS_FAILED,
            "%s: '%.60s' in the column '%.60s' names a time zone, which is ambiguous; "
            "write +01:00, or leave the name out and add --zone",
            path, bad, label);
    if (named && column->words > 0 && !is_time(table, c))
        return rps_error_set(err, RPS_FAILED,
                             "%s: '%.60s' in the column '%.60s' is not a time between 1970 and "
                             "2089 in a known format; write " FORMATS,
                             path, bad, label);
    if (!is_time(table, c) ||
        (!named && !is_of(column, RPS_TIME_MOMENT) && !is_of(column, RPS_TIME_DATE)))
        return 0;
    if (order_of(column)->rises + order_of(column)->falls == 0)
        return rps_error_set(
            err, RPS_FAILED,
            "%s: the column '%.60s' (%.60s in the first row) does not change "
            "enough to be the time, and no other column has times; --map '%s=skip' "
            "imports the rows as one per second",
            path, label, cell, name);
    return rps_error_set(err, RPS_FAILED,
                         "%s: the column '%.60s' looks like a time, but neither grows nor falls; "
                         "--map '%s=%s' imports the rows as one per second",
                         path, label, name, rps_import_is_text_time(column) ? "skip" : "gauge");
}

/* Check short times such as "9:55", which may be a time of day or nine minutes and 55 seconds, and
 * numbers such as 100010, which may be a time of day or seconds. */
static int check_short(const struct rps_import_reading *reading,
                       const struct rps_import_table_column *column, struct rps_error *err)
{
    const struct rps_time_stats *time = &column->time;

    if (column->packed > 1 && column->packed == column->numbers && !column->unit[0] &&
        rps_import_time_unit(column->name, NULL) <= 0 &&
        fabs(column->order.last - column->order.first) >= 60)
        return rps_error_set(err, RPS_FAILED,
                             "%s: '%.40s' may be a time of day or seconds; write --map "
                             "COLUMN=time:%%H%%M%%S or COLUMN=time:s",
                             reading->builder->path, column->first);
    if (!is_of(column, RPS_TIME_CLOCK) || !time->is_short || !time->is_single ||
        column->format.is_elapsed || column->format.pattern)
        return 0;
    return rps_error_set(err, RPS_FAILED,
                         "%s: '%.40s' may be hours and minutes, or minutes and seconds; "
                         "write --map COLUMN=time:%%H:%%M or COLUMN=time:%%M:%%S",
                         reading->builder->path, column->first);
}

static void set_format(struct rps_import_table *table, const struct rps_import_table_column *column)
{
    struct rps_time_format *format = &table->format;

    *format = column->format;
    format->unit_ns = unit_of(column);
    format->is_moment = format->pattern || format->day_1970 > 0 || format->is_compact ||
                        (rps_import_is_text_time(column) && !format->is_elapsed &&
                         column->time.kinds[RPS_TIME_ELAPSED] < column->time.parsed);
}

/* Set the zone of the file if the column's name has one, unless its cells have their own. */
static int choose_zone(const struct rps_import_reading *reading,
                       const struct rps_import_table *table, int c, struct rps_error *err)
{
    const struct rps_import_options *options = reading->options;
    const struct rps_import_table_column *column = &table->column[c];
    struct rps_import_zone zone = {0};

    if (rps_import_is_text_time(column) || column->format.day_1970 > 0 || column->format.pattern)
        rps_import_time_unit(column->name, &zone);
    if (zone.found == 0 || !options->set_zone || column->time.has_offset)
        return 0;
    if (zone.found > 0 && options->set_zone(zone.text) == 0)
        return 0;
    return rps_error_set(err, RPS_FAILED,
                         "%s: '%s' in the name of the column '%.60s' may be a time zone but is not "
                         "clear; add --zone UTC, +01:00 or another zone",
                         reading->builder->path, zone.text, column->label);
}

/* Check that the unit and the beginning of the column's numbers are known. */
static int check_unit(const struct rps_import_reading *reading,
                      const struct rps_import_table_column *column, struct rps_error *err)
{
    int64_t unit_ns = rps_import_time_unit(column->name, NULL);
    double first_s = seconds_of(column, column->order.first);
    int is_clear = unit_ns > 0                     ? first_s < DATE_END_S
                   : first_s >= RPS_IMPORT_EPOCH_S ? has_date(column)
                                                   : unit_ns == 0 && !is_of_days(column);

    if (column->format.day_1970 > 0)
        return 0;
    if (column->unit[0] && mapped_unit(column) == 0)
        return rps_error_set(err, RPS_USAGE,
                             "--map: '%s' is not a format of times; write 's', 'ms', 'us', 'ns', "
                             "'min', 'h', 'd', 'weeks', 'excel', 'julian', or a format of strptime",
                             column->unit);
    if (column->unit[0] || rps_import_is_text_time(column) || is_clear)
        return 0;
    return rps_error_set(err, RPS_FAILED,
                         "%s: the unit of the time column '%.60s' is not clear; write --map "
                         "'%s=time:s', or another unit such as ms, 1000s, excel or julian",
                         reading->builder->path, column->label, column->map_name);
}

int rps_import_choose_time(const struct rps_import_reading *reading, struct rps_import_table *table,
                           struct rps_error *err)
{
    int is_mapped = table->time >= 0, day, result;

    for (size_t c = 0; c < table->count; c++) {
        table->column[c].format.has_leap_day = table->column[c].time.has_leap_day;
        if (!table->column[c].format.pattern)
            choose_format(table, c);
    }
    is_mapped |= find_pair(table);
    for (size_t c = 0; c < table->count; c++) {
        if (table->column[c].mapped == RPS_CELLS_TIME && (int)c != table->time &&
            (int)c != table->day)
            return rps_error_set(err, RPS_USAGE,
                                 "--map: choose one time column, or one date and one time of day");
    }
    for (int is_falling = 0; is_falling < 2 && table->time < 0 && !is_mapped; is_falling++) {
        if (choose_growing(reading, table, is_falling, err) < 0)
            return RPS_FAILED;
    }
    for (size_t c = 0; c < table->count && table->time < 0 && !rps_import_has_words(reading); c++) {
        if (table->column[c].kind == RPS_CELLS_NONE && refuse_column(reading, table, c, err) != 0)
            return RPS_FAILED;
    }
    if (table->time < 0)
        return 0;
    day = table->day >= 0 ? table->day : table->time;
    if (choose_zone(reading, table, day, err) < 0 ||
        choose_zone(reading, table, table->time, err) < 0)
        return RPS_FAILED;
    set_format(table, &table->column[day]);
    if (table->format.pattern)
        return 0;
    result = check_unit(reading, &table->column[day], err);
    if (result < 0)
        return result;
    if (table->column[day].time.ambiguous > 0 && !table->format.is_month_first &&
        table->column[day].time.day_first == 0)
        return refuse_column(reading, table, (size_t)day, err);
    return check_short(reading, &table->column[table->time], err);
}
