/* Counts in a file: columns become the events of a plan, at most eight per set.
 *
 * A gauge is stored in a form that can be added up over periods: the value above its minimum, times
 * the seconds. The unit is so small that the sum over the run has as many digits as a count. The
 * set of the gauge also stores the time in which the gauge was available. Gauges that are always
 * available share one such time. A metric divides the gauge by the time. The result is the mean
 * over time. If CPUs are added up, the result is also the mean over CPUs. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "import_parts.h"
#include "rpistat/clock.h"
#include "rpistat/collect.h"
#include "rpistat/interval.h"
#include "rpistat/plan.h"
#include "rpistat/text.h"

#define GAUGE_SUM_MAX 1e18

/* Minimum counted share of a column's time; rpistat reports columns with a smaller share. */
#define MIN_SHARE 0.999

static int add_column(struct rps_import_builder *builder, const struct rps_import_column *column,
                      int *ret, struct rps_error *err)
{
    struct rps_arena *arena = builder->arena;
    size_t count = (size_t)builder->column_count;

    if (builder->writer)
        return rps_import_refuse(builder, err, "the file was changed while it was read");
    if (builder->column_count == builder->columns_max)
        return rps_import_refuse(builder, err, "there are more than %d columns to import",
                                 builder->columns_max);
    builder->column = rps_arena_grow(arena, builder->column, count, sizeof(*builder->column));
    builder->cell = rps_arena_grow(arena, builder->cell, count, sizeof(*builder->cell));
    builder->column[count] = (struct rps_import_known_column){
        .name = rps_arena_text(arena, column->name),
        .unit = rps_arena_text(arena, column->unit),
        .panel = rps_arena_text(arena, column->panel),
        .kind = column->kind,
        .least = INFINITY,
        .most = -INFINITY,
    };
    *ret = builder->column_count++;
    return 0;
}

/* The search begins at the next column, since columns usually keep their order. */
int rps_import_column(struct rps_import_builder *builder, const struct rps_import_column *column,
                      int *ret, struct rps_error *err)
{
    for (int i = 0; i < builder->column_count; i++) {
        int number = (builder->next_column + i) % builder->column_count;

        if (builder->column[number].kind == column->kind &&
            strcmp(builder->column[number].name, column->name) == 0) {
            builder->next_column = (number + 1) % builder->column_count;
            *ret = number;
            return 0;
        }
    }
    return add_column(builder, column, ret, err);
}

/* --- gauges ----------------------------------------------------------------------------------- */

uint64_t rps_import_gauge_count(const struct rps_import_known_column *column, double value,
                                int64_t length_ns)
{
    double count = (value - column->base) * ((double)length_ns / RPS_NS_PER_S) * column->scale;

    return count > 0 ? (uint64_t)llround(count) : 0;
}

/* --- the plan --------------------------------------------------------------------------------- */

static int add_gauge_metric(struct rps_plan *plan, const struct rps_import_known_column *column,
                            const struct rps_event *event, const struct rps_event *time,
                            struct rps_error *err)
{
    char text[RPS_NAME_SIZE * 3 + 100], offset[40] = "";
    struct rps_metric *metric;

    if (column->base < 0)
        snprintf(offset, sizeof(offset), " - %.17g", -column->base);
    snprintf(text, sizeof(text), "%s=%s / (%s * %.17g)%s", event->name, event->name, time->name,
             column->scale / RPS_NS_PER_S, offset);
    if (rps_plan_add_formula(plan, text, err) < 0)
        return RPS_FAILED;
    metric = &plan->metric[plan->metric_count - 1];
    rps_text_printable(metric->label, sizeof(metric->label), column->name);
    rps_text_printable(metric->unit, sizeof(metric->unit), column->unit);
    rps_text_printable(metric->panel, sizeof(metric->panel),
                       column->panel[0] ? column->panel : column->name);
    snprintf(metric->explain, sizeof(metric->explain),
             "Value in the file; for a time range, its mean.");
    return 0;
}

/* Add an event to the last set. Returns the slot of the event. */
static int add_slot(struct rps_plan *plan, const char *label, const char *unit, int by_clock)
{
    struct rps_event_set *set = &plan->set[plan->set_count - 1];
    struct rps_event event = {.state = RPS_EVENT_MEASURED, .by_clock = by_clock};

    rps_text_printable(event.spec, sizeof(event.spec), label);
    rps_text_printable(event.label, sizeof(event.label), label);
    rps_text_printable(event.unit, sizeof(event.unit), unit);
    rps_plan_new_id(plan, event.spec, event.name);
    set->event[set->event_count] = event;
    return set->event_count++;
}

static int add_event(struct rps_plan *plan, struct rps_import_known_column *column, int time_slot,
                     struct rps_error *err)
{
    struct rps_event_set *set = &plan->set[plan->set_count - 1];
    const char *unit = column->kind == RPS_IMPORT_GAUGE   ? RPS_UNIT_GAUGE
                       : column->kind == RPS_IMPORT_CLOCK ? "ns"
                       : column->unit[0]                  ? column->unit
                                                          : "events";

    column->set = plan->set_count - 1;
    column->slot = add_slot(plan, column->name, unit, column->kind == RPS_IMPORT_CLOCK);
    if (column->kind != RPS_IMPORT_GAUGE)
        return 0;
    column->time_slot = time_slot >= 0 ? time_slot : add_slot(plan, "time", RPS_UNIT_GAUGE, 0);
    return add_gauge_metric(plan, column, &set->event[column->slot], &set->event[column->time_slot],
                            err);
}

/* Add the metric "CPU use", which recorded runs also have. The metric is the rate of the column for
 * the clock event. */
static int add_cpu_use(struct rps_import_builder *builder, struct rps_error *err)
{
    struct rps_plan *plan = builder->plan;
    const struct rps_import_known_column *column = builder->clock;
    char text[RPS_NAME_SIZE + 80];
    struct rps_metric *metric;
    struct rps_event *event;

    if (!column)
        return 0;
    event = &plan->set[column->set].event[column->slot];
    snprintf(event->role, sizeof(event->role), "%s", plan->clock.role);
    if (rps_plan_metric(plan, RPS_COLLECT_CPU_USE) >= 0)
        return 0;
    snprintf(text, sizeof(text), RPS_COLLECT_CPU_USE "=100 * %s / (seconds * %" PRId64 ")",
             event->name, RPS_NS_PER_S);
    if (rps_plan_add_formula(plan, text, err) < 0)
        return RPS_FAILED;
    metric = &plan->metric[plan->metric_count - 1];
    snprintf(metric->label, sizeof(metric->label), "CPU use");
    snprintf(metric->unit, sizeof(metric->unit), "%%");
    snprintf(metric->panel, sizeof(metric->panel), "CPU use (%% of one CPU)");
    snprintf(metric->explain, sizeof(metric->explain), "CPU time for elapsed time.");
    return 0;
}

static int add_sets(struct rps_import_builder *builder, struct rps_error *err)
{
    struct rps_plan *plan = builder->plan;
    struct rps_event_set *set = NULL;
    int shared = -1; /* slot with the time that the set's always available gauges share; -1: none */

    for (int i = 0; i < builder->column_count; i++) {
        struct rps_import_known_column *column = &builder->column[i];
        int is_gauge = column->kind == RPS_IMPORT_GAUGE;
        int shares = is_gauge && column->periods == builder->periods;

        if (column->periods == 0) /* the column was never counted */
            continue;
        if (!set || set->event_count + 1 + (is_gauge && !(shares && shared >= 0)) > RPS_SLOT_MAX) {
            if (!(set = rps_plan_add_set(plan)))
                return rps_error_memory(err);
            snprintf(set->name, sizeof(set->name), "columns%d", plan->set_count);
            shared = -1;
        }
        if (add_event(plan, column, shares ? shared : -1, err) < 0)
            return RPS_FAILED;
        if (shares)
            shared = column->time_slot;
    }
    return 0;
}

/* Add requested events that were never counted, if the last set has a free slot. These events get
 * no set of their own, because such a set would take time from the other sets. */
static void add_not_counted(struct rps_import_builder *builder)
{
    struct rps_plan *plan = builder->plan;

    for (int i = 0; i < builder->column_count && plan->set_count > 0; i++) {
        const struct rps_import_known_column *column = &builder->column[i];
        const char *reason = column->is_unsupported ? "the file says that it is not supported"
                                                    : "in the file it is never on a counter";
        struct rps_event_set *set = &plan->set[plan->set_count - 1];

        if (column->periods > 0 || (!column->is_unsupported && column->enabled_ns <= 0))
            continue;
        rps_import_note(builder, "%.*s was not counted: %s", RPS_NAME_SIZE - 1, column->name,
                        reason);
        if (set->event_count < RPS_SLOT_MAX) {
            struct rps_event *event = &set->event[add_slot(plan, column->name, "events", 0)];

            event->state = RPS_EVENT_UNSUPPORTED;
            snprintf(event->reason, sizeof(event->reason), "%s", reason);
        }
    }
}

/* Make the clock event: the file's CPU time, or without a CPU time the elapsed time. */
static void make_clock(struct rps_import_builder *builder)
{
    struct rps_event *clock = &builder->plan->clock;

    for (int i = builder->column_count - 1; i >= 0; i--) {
        if (builder->column[i].kind == RPS_IMPORT_CLOCK && builder->column[i].periods > 0)
            builder->clock = &builder->column[i];
    }
    snprintf(clock->name, sizeof(clock->name), "clock");
    snprintf(clock->unit, sizeof(clock->unit), "ns");
    if (builder->clock) {
        rps_text_printable(clock->spec, sizeof(clock->spec), builder->clock->name);
        snprintf(clock->label, sizeof(clock->label), "Task clock");
        snprintf(clock->role, sizeof(clock->role), "task_clock");
    } else {
        snprintf(clock->label, sizeof(clock->label), "%s",
                 builder->track_count > 1 ? "Time, all CPUs" : "Elapsed time");
        rps_text_printable(clock->spec, sizeof(clock->spec),
                           builder->time_name ? builder->time_name : "");
    }
}

int rps_import_make_plan(struct rps_import_builder *builder, struct rps_error *err)
{
    struct rps_plan *plan = builder->plan;

    for (int i = 0; i < builder->column_count; i++) {
        if (builder->column[i].kind == RPS_IMPORT_GAUGE) {
            double range;

            builder->column[i].base = builder->column[i].least < 0 ? builder->column[i].least : 0;
            range = builder->column[i].most - builder->column[i].base;
            builder->column[i].scale = 1e6;
            if (range > 0)
                builder->column[i].scale =
                    pow(10, fmin(200, floor(log10(GAUGE_SUM_MAX / range / builder->seconds))));
        }
    }
    make_clock(builder);
    if (add_sets(builder, err) < 0 || add_cpu_use(builder, err) < 0)
        return RPS_FAILED;
    add_not_counted(builder);
    if (rps_plan_compile(plan, err) < 0 || rps_plan_add_rates(plan, err) < 0)
        return RPS_FAILED;
    if (plan->set_count == 0)
        return rps_error_set(err, RPS_FAILED, "%s has no columns to import", builder->path);
    return 0;
}

/* Return the share of time in which the column was counted, according to the file. */
static double share_of(const struct rps_import_known_column *column)
{
    return column->counted_ns > 0 ? column->running_ns / column->counted_ns : 1;
}

void rps_import_note_shares(const struct rps_import_builder *builder)
{
    for (int i = 0; i < builder->column_count; i++) {
        const struct rps_import_known_column *column = &builder->column[i];
        double share = share_of(column);

        if (share <= MIN_SHARE && column->periods > 0)
            builder->plan->set[column->set].event[column->slot].whole =
                (struct rps_interval){RPS_CERTAINTY_SCALED, NAN, NAN, NAN, share};
    }
}

void rps_import_make_remarks(struct rps_import_builder *builder)
{
    char *text = builder->run.fitting;
    size_t size = sizeof(builder->run.fitting);
    int left_out = 0;

    for (int i = 0; i < builder->column_count; i++) {
        const struct rps_import_known_column *column = &builder->column[i];
        double share = share_of(column);
        char name[RPS_NAME_SIZE], line[RPS_NAME_SIZE + 120];
        size_t used = strlen(text);

        if (share > MIN_SHARE || column->periods == 0)
            continue;
        rps_text_printable(name, sizeof(name), column->name);
        snprintf(line, sizeof(line),
                 "%s%s: counted for %.1f %% of the time, and scaled by the recording tool",
                 used ? "\n" : "", name, 100 * share);
        if (used + strlen(line) + 40 < size)
            memcpy(text + used, line, strlen(line) + 1);
        else
            left_out++;
    }
    if (left_out > 0)
        snprintf(text + strlen(text), size - strlen(text), "\nand %d more columns", left_out);
}
