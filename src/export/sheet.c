#include "sheet.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "rpistat/arena.h"
#include "rpistat/clock.h"
#include "rpistat/code_hooks.h"
#include "rpistat/phase.h"
#include "rpistat/plan.h"
#include "rpistat/store.h"

enum kind {
    RUN,
    CPU, /* number of the CPU; empty if the run is not by CPU */
    COUNT,
    SECONDS,
    CLOCK, /* start_ns as a time of day; the column exists only on request */
    STAMP, /* end_ns in the format of an imported file's times; named as in the file */
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

/* Texts in the data dictionary. In the column for the unit: the unit of the clock event, or the
 * unit in the row's column `unit`. The other texts are how a cell is aggregated. */
#define OF_CLOCK "clock"
#define OF_ROW   "as column unit"
#define ONE      "one per row"
#define MIDDLE   "at the middle of the row"
#define COUNTS   "from the counts of the rotation"

static const struct rps_sheet_column {
    const char *name;
    enum kind kind;
    size_t member;    /* offset in the row for COUNT (uint64_t), SECONDS (int64_t), TEXT, CELL */
    unsigned formats; /* formats that have the column */
    const char *unit, *how, *meaning;
} columns[] = {
    {"time", STAMP, 0, TABLE, "", "last", "End of the row, as in the imported file"},
    {"run", RUN, 0, ALL, "", "the same in all rows", "Number of the run in the store"},
    {"cpu", CPU, 0, ALL | TABLE, "", "each, or sum", "CPU; empty: a sum, or not recorded by CPU"},
    {"period", COUNT, MEMBER(number), WIDE | LONG, "", "first", "Number of the period, from 0"},
    {"rotation", COUNT, MEMBER(number), RATES | LONG_RATES, "", "first", "Number of the rotation"},
    {"time_s", SECONDS, MEMBER(start_ns), ALL, "s", "first", "Start, since the start of the run"},
    {"time", CLOCK, 0, ALL, "", "first", "Date and time of time_s"},
    {"length_s", SECONDS, MEMBER(length_ns), ALL & ~LONG, "s", "sum", "Recorded time"},
    {"rotations", COUNT, MEMBER(rotations), EVERY, "", "sum", "Rotations of the event sets"},
    {"block", COUNT, MEMBER(block), EVERY, "", "highest", "Rotations per block; 1: no blocks"},
    {"cycle", COUNT, MEMBER(cycle), WIDE | LONG | RATES, OF_CLOCK, "last", "Cycle timestamp"},
    {"cycles", COUNT, MEMBER(cycles), WIDE | RATES, OF_CLOCK, "sum", "Count of the clock event"},
    {"set", TEXT, MEMBER(set), WIDE, "", ONE, "Event set that was counted"},
    {"phase", PHASE, 0, ALL, "", MIDDLE, "Number of the phase, from 0; empty: unknown"},
    {"label", LABEL, 0, ALL, "", MIDDLE, "Letter of the phase class; empty: unknown"},
    {"event", TEXT, MEMBER(name), LONG, "", ONE, "Name of the event"},
    {"metric", TEXT, MEMBER(name), LONG_RATES, "", ONE, "Name of the metric"},
    {"unit", TEXT, MEMBER(unit), LONG | LONG_RATES, "", ONE, "Unit of the event or metric"},
    {"count", CELL, MEMBER(count), LONG, OF_ROW, "sum", "Raw count; empty: not counted"},
    {"enabled_ns", COUNT, MEMBER(enabled_ns), LONG, "ns", "sum", "Time when it could be counted"},
    {"running_ns", COUNT, MEMBER(running_ns), LONG, "ns", "sum", "Time when it was counted"},
    {"scaled", CELL, MEMBER(scaled), LONG, OF_ROW, "sum", "Estimated count in the whole period"},
    {"value", CELL, MEMBER(value), LONG_RATES, OF_ROW, COUNTS, "Value; empty: unknown"},
    {"low", CELL, MEMBER(low), LONG_RATES, OF_ROW, COUNTS, "Lower end of its 95 % interval"},
    {"high", CELL, MEMBER(high), LONG_RATES, OF_ROW, COUNTS, "Upper end of its 95 % interval"},
};

#define COLUMNS_END (columns + RPS_COUNT(columns))

static void put_text(struct rps_export_job *job, const char *text)
{
    if (text && text[0])
        rps_csv_text(job->state, text);
    else
        rps_csv_empty(job->state);
}

/* Put the time as "2026-11-24T16:00:05.000+01:00" or "2026-11-24 16:00:05.000". Spreadsheets read
 * the second form if its decimal mark is that of their language. */
static void put_clock(struct rps_export_job *job, int64_t start_ns)
{
    char text[RPS_WALL_TEXT_SIZE] = "";
    int64_t run_ns = job->run->start_realtime_ns;

    if (run_ns >= 0)
        rps_wall_text(text, sizeof(text), rps_clock_add_ns(run_ns, start_ns));
    if (text[0] && job->options->clock == RPS_EXPORT_CLOCK_LOCAL) {
        text[10] = ' ';
        text[19] = job->options->csv.decimal;
        text[23] = '\0';
    }
    put_text(job, text);
}

/* Put the time in the imported file's format: "2026-11-24 16:00:05" (spreadsheets) or seconds. */
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
    snprintf(text + 19, sizeof(text) - 19, "%c%09d", job->options->csv.decimal, part_ns);
    text[part_ns == 0                   ? 19
         : part_ns % RPS_NS_PER_MS == 0 ? 23
         : part_ns % RPS_NS_PER_US == 0 ? 26
                                        : 29] = '\0';
    put_text(job, text);
}

/* Find the time column in an import's description: "Zeit=time", or "t=time:s" for numbers. */
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

/* Return the phase that contains the middle of the row; SIZE_MAX if it is unknown. */
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

static void put_name(struct rps_export_job *job, const struct rps_sheet_column *column)
{
    const struct rps_sheet *sheet = job->state;
    int is_file = column->kind == STAMP, is_clock = strcmp(column->unit, OF_CLOCK) == 0;
    const char *unit = is_clock ? job->plan->clock.unit : column->unit;

    rps_sheet_head(job, is_file ? sheet->time_name : column->name,
                   is_file && !sheet->is_moment ? "s" : unit, is_file ? "time" : NULL, NULL,
                   column->how, column->meaning);
}

int rps_sheet_begin(struct rps_export_job *job, size_t size, int cells, struct rps_error *err)
{
    struct rps_sheet *sheet = rps_arena_get(job->arena, 1, size);
    int result = rps_sheet_begin_csv(job, &sheet->csv, err);

    sheet->format = (enum rps_sheet_format)job->format->sheet;
    find_time(sheet, job->plan->clock.spec, job->options->clock);
    sheet->cell = rps_arena_get(job->arena, (size_t)cells, sizeof(*sheet->cell));
    sheet->column = rps_arena_get(job->arena, COLUMNS_END - columns, sizeof(*sheet->column));
    for (const struct rps_sheet_column *column = columns; column < COLUMNS_END && result == 0;
         column++) {
        if (!is_there(job, column))
            continue;
        sheet->column[sheet->column_count++] = column;
        put_name(job, column);
    }
    return result;
}

/* Append the kind to the name of an event or metric, in all its columns. */
static void extend_name(struct rps_export_job *job, const char *meaning)
{
    struct rps_sheet *sheet = job->state;

    for (struct rps_sheet_name *one = sheet->name; one < sheet->name + sheet->name_count; one++) {
        if (!one->kind || one->meaning != meaning)
            continue;
        one->text = rps_arena_print(job->arena, "%.*s_%s%s", one->length, one->text, one->kind,
                                    one->text + one->length);
        one->length += 1 + (int)strlen(one->kind);
    }
}

/* Change names until no two columns have the same. A name with an end is kept: the metric x_min is
 * changed, not the minimum of x. Otherwise the later name is changed. */
static void make_unique(struct rps_export_job *job)
{
    const struct rps_sheet *sheet = job->state;
    const struct rps_sheet_name *name = sheet->name;

    for (size_t i = 1, j = 0; i < sheet->name_count; j = j + 1 < i ? j + 1 : (i++, 0)) {
        int is_fixed = !name[i].kind || (name[i].text[name[i].length] && name[j].kind);

        if (strcmp(name[i].text, name[j].text) != 0 || !(name[i].kind || name[j].kind))
            continue;
        extend_name(job, name[is_fixed ? j : i].meaning);
        i = 1, j = 0;
    }
}

/* Write the names of the columns for the programs with most samples, and for all other programs. */
static void head_programs(struct rps_export_job *job)
{
    const struct rps_code_hooks *hooks = rps_store_used_hooks();
    struct rps_sheet *sheet = job->state;
    int result = hooks && hooks->programs ? hooks->programs(job, &sheet->programs, &job->err) : 0;

    job->result = result < 0 ? result : job->result;
    for (size_t i = 0; i < sheet->programs.count; i++) {
        const char *name = sheet->programs.name[i];

        rps_sheet_head(job,
                       name ? rps_arena_print(job->arena, "program_%s_samples", name)
                            : "programs_other_samples",
                       "samples", NULL, NULL, "sum",
                       "Samples in the processes of this program, or of all others");
    }
}

static void put_programs(struct rps_export_job *job, const struct rps_sheet_row *row)
{
    struct rps_sheet *sheet = job->state;
    uint64_t samples[RPS_SHARES_OWNERS + 1] = {0};
    int result = sheet->programs.count == 0
                     ? 0
                     : sheet->programs.read(&sheet->programs, row->cpu, row->first, row->last,
                                            samples, &job->err);

    job->result = result < 0 ? result : job->result;
    for (size_t i = 0; i < sheet->programs.count; i++)
        rps_csv_uint64(&sheet->csv, samples[i]);
}

void rps_sheet_end_head(struct rps_export_job *job)
{
    struct rps_sheet *sheet = job->state;

    if (sheet->format & (WIDE | RATES | EVERY))
        rps_system_cells_head(&sheet->system, job, sheet->format == EVERY);
    if (sheet->format == EVERY)
        head_programs(job);
    for (const struct rps_sheet_column *column = columns; column < COLUMNS_END; column++)
        if (sheet->format == TABLE && column->kind == LABEL)
            put_name(job, column);
    make_unique(job);
    for (size_t i = 0; i < sheet->name_count; i++)
        rps_sheet_name(job, sheet->name[i].text, sheet->name[i].unit, sheet->name[i].how,
                       sheet->name[i].meaning);
    if (!job->options->explain)
        rps_csv_end_head(&sheet->csv);
}

void rps_sheet_put(struct rps_export_job *job, const struct rps_sheet_row *row)
{
    struct rps_sheet *sheet = job->state;

    for (int i = 0; i < sheet->column_count; i++)
        put_column(job, sheet->column[i], row);
    for (int i = 0; i < sheet->cell_count; i++)
        put_cell(&sheet->csv, &sheet->cell[i]);
    rps_system_cells_put(&sheet->system, job, row->cpu, row->first, row->last);
    put_programs(job, row);
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
