/* The exports of measurement periods, for spreadsheets, databases and data frames. For an import's
 * gauge, the gauge's value is exported.
 *
 * wide: one row per period, and one column per event, which is empty if the event was not counted.
 * The column time_s is the time from the start of the run to the period's start. Start and length
 * are exact to the nanosecond, so that they can be read back without loss. `cycle` is the cycle
 * timestamp at the period's end; `cycles` is the number of cycles in the period.
 *
 * table: an import in its original form; each rotation is exported as the row it was made from.
 *
 * long: one row per event and period. `count` is the raw count, and `scaled` is the estimate for
 * the whole period. Both are empty if the event was not counted. */
#include <math.h>
#include <string.h>

#include "gauges.h"
#include "rpistat/arena.h"
#include "rpistat/plan.h"
#include "rpistat/tally.h"
#include "sheet.h"

struct periods {
    struct rps_sheet sheet; /* the sheet must be the first member */
    struct rps_gauges gauges;
    signed char *slot;        /* wide: slot of cell c in set n, at n * cell_count + c; -1: none */
    struct rps_sheet_row row; /* table: the row that is being assembled */
    uint64_t rotation;        /* table: rotation of that row, from 1; 0: none */
    struct rps_tally tally;   /* long: counts of the period; scratch */
};

static struct rps_sheet_row row_of(const struct rps_export_job *job,
                                   const struct rps_period *period)
{
    int has_set = period->set_no < (uint32_t)job->plan->set_count;

    return (struct rps_sheet_row){.cpu = period->cpu,
                                  .number = period->period,
                                  .first = period->period,
                                  .last = rps_period_last(period),
                                  .start_ns = period->start_ns,
                                  .length_ns = period->length_ns,
                                  .cycle = period->cycle,
                                  .cycles = period->cycles,
                                  .enabled_ns = period->enabled_ns,
                                  .set = has_set ? job->plan->set[period->set_no].name : NULL};
}

/* Return the count of a slot, or the value of its gauge. */
static struct rps_cell cell_of(const struct periods *periods, const struct rps_period *period,
                               int slot)
{
    if (rps_gauges_metric(&periods->gauges, period->set_no, slot) >= 0)
        return (struct rps_cell){.kind = RPS_CELL_EXACT,
                                 .real = rps_gauges_value(&periods->gauges, period, slot)};
    return rps_sheet_count((period->counted >> slot) & 1, period->count[slot]);
}

/* --- wide ------------------------------------------------------------------------------------- */

/* Write the name of each event once, as in its first set. */
static void head_events(struct rps_export_job *job, const struct rps_event **event)
{
    struct periods *periods = job->state;
    const struct rps_plan *plan = job->plan;
    int *count = &periods->sheet.cell_count;
    const char *meaning;
    int is_gauge, is_file;

    for (int n = 0; n < plan->set_count; n++) {
        for (int s = 0; s < plan->set[n].event_count; s++) {
            int c = 0;

            while (c < *count && strcmp(event[c]->name, plan->set[n].event[s].name) != 0)
                c++;
            if (c < *count ||
                rps_gauges_metric(&periods->gauges, (uint32_t)n, s) == RPS_GAUGES_TIME)
                continue;
            event[(*count)++] = &plan->set[n].event[s];
            is_gauge = rps_gauges_metric(&periods->gauges, (uint32_t)n, s) >= 0;
            meaning = event[c]->explain[0] ? event[c]->explain : event[c]->label;
            is_file = periods->sheet.format == RPS_SHEET_TABLE;
            rps_sheet_head(job, is_file ? event[c]->spec : rps_gauges_event_name(event[c]),
                           event[c]->unit, "event", NULL,
                           is_file    ? "as in the file"
                           : is_gauge ? "mean"
                                      : "raw count; empty: not counted",
                           meaning);
        }
    }
}

static void map_slots(struct periods *periods, const struct rps_plan *plan,
                      const struct rps_event *const *event)
{
    signed char *slot = periods->slot;

    for (int n = 0; n < plan->set_count; n++) {
        for (int c = 0; c < periods->sheet.cell_count; c++, slot++) {
            *slot = -1;
            for (int s = 0; s < plan->set[n].event_count; s++) {
                if (strcmp(event[c]->name, plan->set[n].event[s].name) == 0)
                    *slot = (signed char)s;
            }
        }
    }
}

static int cells_begin(struct rps_export_job *job, struct rps_error *err)
{
    size_t sets = (size_t)job->plan->set_count, most = sets * RPS_SLOT_MAX;
    const struct rps_event **event =
        rps_arena_get(job->arena, most, sizeof(const struct rps_event *));
    struct periods *periods;
    int result = rps_sheet_begin(job, sizeof(*periods), (int)most, err);

    if (result < 0)
        return result;
    periods = job->state;
    periods->gauges = rps_gauges_find(job->arena, job->plan);
    head_events(job, event);
    periods->slot = rps_arena_get(job->arena, sets, (size_t)periods->sheet.cell_count + 1);
    map_slots(periods, job->plan, event);
    rps_sheet_end_head(job);
    return 0;
}

/* Fill the cells of the period's set. The cells of other sets are not changed. */
static void fill_cells(struct periods *periods, const struct rps_period *period)
{
    int count = periods->sheet.cell_count;

    for (int c = 0; c < count; c++) {
        int slot = periods->slot[period->set_no * (uint32_t)count + (uint32_t)c];

        if (slot >= 0)
            periods->sheet.cell[c] = cell_of(periods, period, slot);
    }
}

static void empty_cells(struct periods *periods)
{
    memset(periods->sheet.cell, 0,
           (size_t)periods->sheet.cell_count * sizeof(*periods->sheet.cell));
}

static void wide_period(struct rps_export_job *job, const struct rps_period *period)
{
    const struct rps_sheet_row row = row_of(job, period);

    empty_cells(job->state);
    if (row.set)
        fill_cells(job->state, period);
    rps_sheet_put(job, &row);
}

const struct rps_export_format rps_export_wide = {
    .name = "wide",
    .sheet = RPS_SHEET_WIDE,
    .phases = 1,
    .begin = cells_begin,
    .period = wide_period,
    .end = rps_sheet_end,
    .release = rps_sheet_release,
};

/* --- table ------------------------------------------------------------------------------------ */

static void put_table_row(struct rps_export_job *job)
{
    struct periods *periods = job->state;

    if (periods->rotation > 0)
        rps_sheet_put(job, &periods->row);
    empty_cells(periods);
    periods->rotation = 0;
}

static void table_period(struct rps_export_job *job, const struct rps_period *period)
{
    struct rps_sheet_row row = row_of(job, period);
    struct periods *periods = job->state;

    if (period->rotation + 1 != periods->rotation || period->cpu != periods->row.cpu) {
        put_table_row(job);
        periods->row = row;
    }
    periods->rotation = period->rotation + 1;
    periods->row.last = row.last;
    periods->row.end_ns = rps_period_end_ns(period);
    if (row.set)
        fill_cells(periods, period);
}

static void table_end(struct rps_export_job *job)
{
    put_table_row(job);
    rps_sheet_end(job);
}

const struct rps_export_format rps_export_table = {
    .name = "table",
    .sheet = RPS_SHEET_TABLE,
    .rotations = 1,
    .phases = 1,
    .begin = cells_begin,
    .period = table_period,
    .end = table_end,
    .release = rps_sheet_release,
};

/* --- long ------------------------------------------------------------------------------------- */

static int long_begin(struct rps_export_job *job, struct rps_error *err)
{
    struct periods *periods;
    int result = rps_sheet_begin(job, sizeof(*periods), 0, err);

    periods = job->state;
    periods->gauges = rps_gauges_find(job->arena, job->plan);
    periods->tally = rps_tally_new(job->arena, job->plan);
    if (result == 0)
        rps_sheet_end_head(job);
    return result;
}

static void long_period(struct rps_export_job *job, const struct rps_period *period)
{
    struct rps_sheet_row row = row_of(job, period);
    struct periods *periods = job->state;
    int set_no = (int)period->set_no;

    if (!row.set)
        return;
    rps_tally_reset(&periods->tally);
    rps_tally_add(&periods->tally, period);
    for (int slot = 0; slot < job->plan->set[set_no].event_count; slot++) {
        uint64_t scaled = 0;

        if (rps_gauges_metric(&periods->gauges, period->set_no, slot) == RPS_GAUGES_TIME)
            continue;
        row.name = rps_gauges_event_name(&job->plan->set[set_no].event[slot]);
        row.unit = job->plan->set[set_no].event[slot].unit;
        row.running_ns = period->running_ns - period->missing_ns[slot];
        row.count = row.scaled = cell_of(periods, period, slot);
        if (row.count.kind != RPS_CELL_EXACT) {
            int is_known = rps_tally_estimate_u64(&periods->tally, set_no, slot, &scaled);

            if (is_known && scaled >> 53 == 0) /* a double can represent the number exactly */
                scaled = (uint64_t)llround(rps_tally_estimate(&periods->tally, set_no, slot));
            row.scaled = rps_sheet_count(is_known, scaled);
        }
        rps_sheet_put(job, &row);
    }
}

const struct rps_export_format rps_export_long = {
    .name = "long",
    .sheet = RPS_SHEET_LONG,
    .phases = 1,
    .begin = long_begin,
    .period = long_period,
    .end = rps_sheet_end,
    .release = rps_sheet_release,
};
