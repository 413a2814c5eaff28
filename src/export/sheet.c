#include "sheet.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/arena.h"
#include "rpistat/clock.h"
#include "rpistat/phase.h"
#include "rpistat/plan.h"
#include "rpistat/wall.h"

enum kind {
    RUN,
    CPU, /* empty if the run is not by CPU */
    COUNT,
    SECONDS,
    CLOCK, /* start_ns as time of day; a column on request */
    STAMP, /* end_ns in the format of an import's file, under the file's name */
    TEXT,
    CELL,
    PHASE,
    LABEL
};

#define MEMBER(member) offsetof(struct rps_sheet_row, member)
#define WIDE           RPS_SHEET_WIDE
#define LONG           RPS_SHEET_LONG
#define RATES          RPS_SHEET_RATES
#define LONG_RATES     RPS_SHEET_LONG_RATES
#define EVERY          RPS_SHEET_EVERY
#define TABLE          RPS_SHEET_TABLE
#define ALL            (WIDE | LONG | RATES | LONG_RATES | EVERY)

static const struct rps_sheet_column {
    const char *name;
    enum kind kind;
    size_t member;    /* of COUNT (uint64_t), SECONDS (int64_t, ns), TEXT and CELL in the row */
    unsigned formats; /* formats with it */
} columns[] = {
    {"time", STAMP, 0, TABLE},
    {"run", RUN, 0, ALL},
    {"cpu", CPU, 0, ALL | TABLE},
    {"period", COUNT, MEMBER(number), WIDE | LONG},
    {"rotation", COUNT, MEMBER(number), RATES | LONG_RATES},
    {"time_s", SECONDS, MEMBER(start_ns), ALL},
    {"time", CLOCK, 0, ALL},
    {"length_s", SECONDS, MEMBER(length_ns), ALL & ~LONG},
    {"rotations", COUNT, MEMBER(rotations), EVERY},
    {"block", COUNT, MEMBER(block), EVERY},
    {"cycle", COUNT, MEMBER(cycle), WIDE | LONG | RATES},
    {"cycles", COUNT, MEMBER(cycles), WIDE | RATES},
    {"set", TEXT, MEMBER(set), WIDE},
    {"phase", PHASE, 0, ALL},
    {"label", LABEL, 0, ALL},
    {"event", TEXT, MEMBER(name), LONG},
    {"metric", TEXT, MEMBER(name), LONG_RATES},
    {"unit", TEXT, MEMBER(unit), LONG | LONG_RATES},
    {"count", CELL, MEMBER(count), LONG},
    {"enabled_ns", COUNT, MEMBER(enabled_ns), LONG},
    {"running_ns", COUNT, MEMBER(running_ns), LONG},
    {"scaled", CELL, MEMBER(scaled), LONG},
    {"value", CELL, MEMBER(value), LONG_RATES},
    {"low", CELL, MEMBER(low), LONG_RATES},
    {"high", CELL, MEMBER(high), LONG_RATES},
};

#define COLUMNS_END (columns + sizeof(columns) / sizeof(columns[0]))

static void put_text(struct rps_export_job *job, const char *text)
{
    if (text && text[0])
        rps_csv_text(job->state, text);
    else
        rps_csv_empty(job->state);
}

static void put_clock(struct rps_export_job *job, int64_t start_ns)
{
    char text[RPS_WALL_TEXT_SIZE];
    int64_t run_ns = job->run->start_realtime_ns;

    put_text(job, run_ns < 0
                      ? NULL
                      : rps_wall_text(text, sizeof(text), rps_clock_add_ns(run_ns, start_ns)));
}

/* The time in the file's format: "2026-11-24 16:00:05", which spreadsheets read, or seconds. */
static void put_stamp(struct rps_export_job *job, int64_t end_ns)
{
    const struct rps_sheet *sheet = job->state;
    char text[RPS_WALL_TEXT_SIZE];
    int part_ns;

    if (!sheet->is_moment) {
        rps_csv_exact(job->state, (double)end_ns / RPS_NS_PER_S);
        return;
    }
    end_ns = rps_clock_add_ns(end_ns, job->run->start_realtime_ns);
    rps_wall_text(text, sizeof(text), end_ns);
    text[10] = ' ';
    part_ns = (int)(end_ns % RPS_NS_PER_S);
    snprintf(text + 19, sizeof(text) - 19, ".%09d", part_ns);
    text[part_ns == 0                   ? 19
         : part_ns % RPS_NS_PER_MS == 0 ? 23
         : part_ns % RPS_NS_PER_US == 0 ? 26
                                        : 29] = '\0';
    put_text(job, text);
}

/* The time column of an import in its clock: "Zeit=time", or "t=time:s" if it is a number. */
static void find_time(struct rps_sheet *sheet, const char *map, int clock)
{
    const char *equals = strrchr(map, '=');
    int is_there = equals && strncmp(equals, "=time", 5) == 0;

    sheet->is_moment = clock || (is_there && strcmp(equals, "=time") == 0);
    snprintf(sheet->time_name, sizeof(sheet->time_name), "%.*s",
             is_there ? (int)(equals - map) : INT_MAX,
             is_there           ? map
             : sheet->is_moment ? "time"
                                : "time_s");
}

/* The phase of the row's middle; SIZE_MAX if unknown. */
static size_t phase_of(struct rps_export_job *job, const struct rps_sheet_row *row)
{
    uint64_t middle = row->first + (row->last - row->first) / 2;

    return job->phases ? rps_phases_at(job->phases, middle, &job->phase_at) : SIZE_MAX;
}

static void put_phase(struct rps_export_job *job, size_t phase, int is_label)
{
    char label[RPS_PHASE_LABEL_SIZE];

    if (phase == SIZE_MAX)
        rps_csv_empty(job->state);
    else if (is_label)
        rps_csv_text(job->state, rps_phase_label(job->phases->phase[phase].label, label));
    else
        rps_csv_uint64(job->state, phase);
}

static void put_cell(struct rps_csv_writer *csv, const struct rps_cell *cell)
{
    switch (cell->kind) {
    case RPS_CELL_EMPTY:
        rps_csv_empty(csv);
        break;
    case RPS_CELL_COUNT:
        rps_csv_uint64(csv, cell->count);
        break;
    case RPS_CELL_EXACT:
        rps_csv_exact(csv, cell->real);
        break;
    case RPS_CELL_REAL:
        rps_csv_double(csv, cell->real);
        break;
    }
}

static void put_column(struct rps_export_job *job, const struct rps_sheet_column *column,
                       const struct rps_sheet_row *row)
{
    const void *member = (const char *)row + column->member;

    switch (column->kind) {
    case RUN:
        rps_csv_int64(job->state, job->run->run_id);
        break;
    case CPU:
        if (row->cpu == RPS_CPU_ALL)
            rps_csv_empty(job->state);
        else
            rps_csv_int64(job->state, row->cpu);
        break;
    case COUNT:
        rps_csv_uint64(job->state, *(const uint64_t *)member);
        break;
    case SECONDS:
        rps_csv_seconds(job->state, *(const int64_t *)member);
        break;
    case CLOCK:
        put_clock(job, row->start_ns);
        break;
    case STAMP:
        put_stamp(job, row->end_ns);
        break;
    case TEXT:
        put_text(job, *(const char *const *)member);
        break;
    case CELL:
        put_cell(job->state, member);
        break;
    case PHASE:
    case LABEL:
        put_phase(job, phase_of(job, row), column->kind == LABEL);
        break;
    }
}

static int is_there(const struct rps_export_job *job, const struct rps_sheet_column *column)
{
    const struct rps_sheet *sheet = job->state;

    return (column->formats & sheet->format) && (column->kind != CLOCK || job->options->clock) &&
           (sheet->format != TABLE || column->kind != CPU ||
            rps_run_is_of_machine(job->run->target));
}

int rps_sheet_begin(struct rps_export_job *job, size_t size, enum rps_sheet_format format,
                    int cells, struct rps_error *err)
{
    struct rps_sheet *sheet = rps_arena_get(job->arena, 1, size);
    int result = rps_csv_begin(job->arena, &sheet->csv, job->out, &job->options->csv, err);

    job->state = sheet;
    sheet->format = format;
    find_time(sheet, job->plan->clock.spec, job->options->clock);
    sheet->cell = rps_arena_get(job->arena, (size_t)cells, sizeof(*sheet->cell));
    sheet->column = rps_arena_get(job->arena, COLUMNS_END - columns, sizeof(*sheet->column));
    for (const struct rps_sheet_column *column = columns; column < COLUMNS_END && result == 0;
         column++) {
        if (!is_there(job, column))
            continue;
        sheet->column[sheet->column_count++] = column;
        rps_csv_text(&sheet->csv, column->kind == STAMP ? sheet->time_name : column->name);
    }
    return result;
}

/* "_percent", "_per_s", "_MB_per_s"; for counts of events or cycles, the name is enough. */
static void append_unit(char *name, size_t size, const char *unit)
{
    static const char *const none[] = {"events", "cycles", RPS_UNIT_GAUGE};
    char suffix[RPS_NAME_SIZE + 16] = "_";
    size_t used = 1, length = strlen(name);

    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        if (strcmp(unit, none[i]) == 0)
            return;
    }
    for (; *unit && used + sizeof("_percent_") < sizeof(suffix); unit++) {
        const char *said = *unit == '%' ? "percent" : *unit == '/' ? "_per_" : "_";

        if (isalnum((unsigned char)*unit))
            suffix[used++] = *unit;
        else
            used += (size_t)sprintf(suffix + used, "%s", said + (said[0] == '_' && used == 1));
    }
    suffix[used] = '\0';
    if (strcmp(suffix, "_PTI") == 0)
        strcpy(suffix, "_pti");
    if (used > 1 && (length < used || strcmp(name + length - used, suffix) != 0))
        snprintf(name + length, size - length, "%s", suffix);
}

void rps_sheet_head(struct rps_export_job *job, const char *name, const char *unit,
                    const char *kind, const char *end)
{
    const struct rps_sheet *sheet = job->state;
    char text[4 * RPS_NAME_SIZE];

    snprintf(text, sizeof(text), "%s", name);
    append_unit(text, sizeof(text), unit);
    for (int i = 0; i < sheet->column_count; i++) {
        if (strcmp(sheet->column[i]->name, text) == 0) {
            snprintf(text + strlen(text), sizeof(text) - strlen(text), "_%s", kind);
            break;
        }
    }
    if (end)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "_%s", end);
    rps_csv_text(job->state, text);
}

static int has_system(const struct rps_sheet *sheet)
{
    return sheet->format == WIDE || sheet->format == RATES;
}

void rps_sheet_end_head(struct rps_export_job *job)
{
    struct rps_sheet *sheet = job->state;

    if (has_system(sheet))
        rps_system_cells_head(&sheet->system, job);
    if (sheet->format == TABLE)
        rps_csv_text(&sheet->csv, "label");
    rps_csv_end_head(&sheet->csv);
}

void rps_sheet_put(struct rps_export_job *job, const struct rps_sheet_row *row)
{
    struct rps_sheet *sheet = job->state;

    for (int i = 0; i < sheet->column_count; i++)
        put_column(job, sheet->column[i], row);
    for (int i = 0; i < sheet->cell_count; i++)
        put_cell(&sheet->csv, &sheet->cell[i]);
    if (has_system(sheet))
        rps_system_cells_put(&sheet->system, job, row->cpu, row->first, row->last);
    if (sheet->format == TABLE)
        put_phase(job, phase_of(job, row), 1);
    rps_csv_end_row(&sheet->csv);
}

void rps_sheet_end(struct rps_export_job *job)
{
    struct rps_sheet *sheet = job->state;

    rps_system_cells_end(&sheet->system);
    rps_csv_flush(&sheet->csv);
}

void rps_sheet_release(struct rps_export_job *job)
{
    struct rps_sheet *sheet = job->state;

    if (sheet)
        rps_system_cells_free(&sheet->system);
    job->state = NULL;
}
