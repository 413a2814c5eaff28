/* Times in tables of other tools, as text and as numbers. */
#pragma once

#include <stdint.h>

/* Limits of times and of row lengths, so that their sums and differences fit into 64 bits. */
#define RPS_IMPORT_TIME_MAX_NS   INT64_C(4000000000000000000)
#define RPS_IMPORT_LENGTH_MAX_NS INT64_C(1000000000000000000)

/* A time of at least this number of seconds is a time since 1970. The unit of a number is the
 * smallest of s, ms, us and ns in which the number means such a time. */
#define RPS_IMPORT_EPOCH_S 1e8

/* Number of 1970-01-01 in the days of a spreadsheet, since 1899-12-30, and in Julian days. */
#define RPS_IMPORT_EXCEL_1970  25569
#define RPS_IMPORT_JULIAN_1970 2440587.5

#define RPS_IMPORT_ZONE_SIZE 48

enum rps_time_kind {
    RPS_TIME_NONE,
    RPS_TIME_MOMENT,  /* a date and a time of day */
    RPS_TIME_DATE,    /* a date without a time of day */
    RPS_TIME_CLOCK,   /* a time of day, or an elapsed time with colons */
    RPS_TIME_ELAPSED, /* a duration such as "10s" or "2 days 01:00:00" */
    RPS_TIME_KINDS
};

/* The parts of a cell that was parsed. */
struct rps_time {
    enum rps_time_kind kind;
    int year, month, day; /* date; year 0: none. If is_ambiguous, month and day may be exchanged */
    int is_ambiguous, is_day_first, is_month_first; /* properties of a date such as 05/11/2026 */
    int64_t ns;                                     /* time since midnight, or elapsed time */
    int64_t short_ns;                /* value of `ns` if a two-part time is minutes and seconds */
    int fields, first, first_digits; /* of 1:02:03: parts, first part, its digits */
    int has_offset, offset_s;
};

/* The format of the cells of a column. */
struct rps_time_format {
    int is_month_first, is_elapsed; /* 1: 05/11/2026 is in May; 1: 0:10 is ten seconds */
    int is_compact;                 /* 1: 20260304 is a date */
    int has_leap_day;               /* 1: some date without a year is February 29 */
    double day_1970;                /* numbers are days, and 1970-01-01 is this day; 0: no days */
    int is_moment;                  /* 1: dates or times of day, not numbers */
    int64_t unit_ns;                /* unit of numbers */
    const char *pattern;            /* pattern for strptime; NULL: none */
};

/* The state of reading times one after another. */
struct rps_import_times {
    char decimal;
    int64_t last_ns;              /* previous time; times of day continue after midnight */
    int64_t changed_ns;           /* time of the file's last change, for dates without a year */
    int year;                     /* year of the most recent date without a year; 0: none */
    int64_t hour, hour_offset_ns; /* hour of local time + 1 (0: none), and its UTC offset */
    uint64_t twice;               /* number of times in an hour that occurs twice (summer time) */
};

/* Parse a text. Returns 1, 0 for no time, or -1 for a zone's name, which may be ambiguous. */
int rps_time_read(const char *cell, struct rps_time *ret);

/* Return ns that grow with the time, for comparisons. 0: the time does not have this format. */
int64_t rps_time_order(const struct rps_time *time, const struct rps_time_format *format);

/* Convert a cell to ns since 1970, midnight or a start. Returns 1, or 0: no time in this format. */
int rps_import_time(struct rps_import_times *times, const struct rps_time_format *format,
                    const char *cell, int64_t *ret_ns);

/* Convert a line with only a time (iostat) to ns. A date with two meanings, such as 5 November and
 * 11 May, is ignored; the result is then a time of day. Returns 1, or 0 if the line is no time. */
int rps_import_stamp(struct rps_import_times *times, const char *cell, int64_t *ret_ns);

/* A zone in the name of a column: "date_utc", "Time (UTC+2)", "time [Europe/Paris]". */
struct rps_import_zone {
    int found; /* 1; 0: there is none; -1: the text is not clear, such as CET */
    char text[RPS_IMPORT_ZONE_SIZE];
};

/* Return the unit in ns that is a word of a name: "time_ms_rel", "Time (us)", "ms". 0: there is
 * none. -1: the unit is not clear, as in "time (ticks)", "time (1000 s)", "time_ms_s" and "time
 * {foo}". The zone may be NULL. */
int64_t rps_import_time_unit(const char *name, struct rps_import_zone *ret_zone);

/* Return the day that sar and pidstat print above a table, in ns of Unix time. -1: there is no day,
 * or it has two meanings. `head` is the beginning of the file. */
int64_t rps_import_day(const char *head);
