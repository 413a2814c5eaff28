/*
 * One update from a running recording.
 *
 * Each update queries the store again, in transactions that end with the reading. No open
 * transaction keeps the recorder's log from being moved into the store. Only the last minutes are
 * searched for phases, so an update on the third day costs as much as one in the first hour. In
 * return, a phase that recurs later than that may get another letter.
 */
#include "watch_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/fold.h"
#include "rpistat/run_phases.h"
#include "rpistat/text.h"

#define KIB_PER_MIB 1024
#define MIB_LEAST   .1 /* smaller values are not shown */

void rps_watch_view_init(struct rps_watch_view *view)
{
    *view = (struct rps_watch_view){.arena = rps_arena_new()};
    rps_run_init(&view->run);
}

void rps_watch_view_free(struct rps_watch_view *view)
{
    rps_phases_free(&view->phases);
    rps_plan_free(view->plan);
    rps_arena_free(view->arena);
    rps_run_free(&view->run);
    memset(view, 0, sizeof(*view));
}

/* --- looking ---------------------------------------------------------------------------------- */

static int look_at_run(struct rps_watch_view *view, struct rps_reader *reader, int64_t run_id,
                       struct rps_error *err)
{
    struct rps_run_summary summary;
    struct rps_run run;
    int result = rps_reader_run(reader, run_id, &run, err);

    if (result < 0)
        return result;
    rps_run_free(&view->run);
    view->run = run;
    if (rps_reader_summary(reader, run_id, &summary, err) < 0)
        return RPS_FAILED;
    view->periods = summary.periods;
    if (view->plan)
        return 0;
    result = rps_reader_plan(reader, run_id, &view->plan, err);
    if (result < 0)
        return result;
    view->operand = rps_arena_get(view->arena, (size_t)rps_plan_operand_count(view->plan),
                                  sizeof(*view->operand));
    view->recent = rps_tally_new(view->arena, view->plan);
    return 0;
}

/* Periods come grouped by CPU. */
static int add_recent(struct rps_watch_view *view, struct rps_cursor *cursor, struct rps_error *err)
{
    struct rps_period period;
    int32_t cpu = 0;
    int cpus = 0, got;

    while ((got = rps_cursor_next(cursor, &period, err)) > 0) {
        cpus += cpus == 0 || period.cpu != cpu;
        cpu = period.cpu;
        rps_tally_add(&view->recent, &period);
    }
    if (cpus > 1)
        view->recent.length_ns /= cpus;
    view->have_rates = cpus > 0;
    rps_tally_operands(&view->recent, view->plan, view->operand);
    return got;
}

static int look_at_system(struct rps_watch_view *view, struct rps_reader *reader, int64_t from_ns,
                          struct rps_error *err)
{
    struct rps_arena *arena = rps_arena_new();
    struct rps_run_system *system;
    int result = rps_run_system_read(arena, reader, view->run.run_id, from_ns, view->to_ns, NULL,
                                     &system, err);

    if (result == 0)
        view->system = system[0];
    rps_arena_free(arena);
    return result;
}

static int look_at_rates(struct rps_watch_view *view, struct rps_reader *reader, int64_t recent_ns,
                         struct rps_error *err)
{
    int64_t all_ns = /* in which every set was counted */
        rps_run_turns_ns(&view->run, view->plan->set_count, 1, view->to_ns);
    int64_t least_ns = view->recent_periods * view->run.period_ns, from_ns;
    struct rps_cursor *cursor = NULL;
    int result;

    recent_ns = recent_ns > all_ns ? recent_ns : all_ns;
    from_ns = view->to_ns - (recent_ns > least_ns ? recent_ns : least_ns);
    rps_tally_reset(&view->recent);
    result = rps_cursor_open(&cursor, reader, view->run.run_id, from_ns, view->to_ns, 0, err);
    if (result == 0)
        result = add_recent(view, cursor, err);
    rps_cursor_close(cursor);
    return result == 0 ? look_at_system(view, reader, from_ns, err) : result;
}

static int look_at_phases(struct rps_watch_view *view, const char *path, struct rps_error *err)
{
    const struct rps_run_phases_options options = {.from_ns = view->from_ns, .to_ns = view->to_ns};
    int64_t periods = (view->to_ns - view->from_ns) / (view->run.period_ns + 1);
    struct rps_phases shown = {0};
    int result = 0;

    view->have_phases = 0;
    if (periods > RPS_RUN_PHASES_PERIODS_MAX)
        return 0;
    if (rps_run_phases_apart(path, view->run.run_id, &options, &shown, err) < 0)
        return RPS_FAILED;
    if (view->from_ns > 0 && view->phases.count > 0)
        result = rps_phases_keep_labels(&shown, &view->phases, err);
    if (result == 0) {
        rps_phases_free(&view->phases);
        view->phases = shown;
        shown = (struct rps_phases){0};
        view->have_phases = view->phases.count > 0;
    }
    rps_phases_free(&shown);
    return result;
}

int rps_watch_view_look(struct rps_watch_view *view, const char *path, int64_t run_id,
                        int64_t last_ns, int64_t recent_ns, struct rps_error *err)
{
    struct rps_reader *reader = NULL;
    int result = rps_reader_open(&reader, path, err);

    if (result == 0)
        result = look_at_run(view, reader, run_id, err);
    if (result == 0 && view->run.elapsed_ns > 0) {
        view->to_ns = view->run.elapsed_ns;
        view->from_ns = view->to_ns > last_ns ? view->to_ns - last_ns : 0;
        result = look_at_rates(view, reader, recent_ns, err);
    }
    rps_reader_close(reader);
    if (result == 0 && view->run.elapsed_ns > 0 && view->have_rates)
        result = look_at_phases(view, path, err);
    return result;
}

/* --- output ----------------------------------------------------------------------------------- */

static void add_phase(const struct rps_watch_view *view, struct rps_status_text *line)
{
    const struct rps_phase *phase = &view->phases.phase[view->phases.count - 1];
    char label[RPS_PHASE_LABEL_SIZE], since[RPS_TEXT_NUMBER_SIZE], length[RPS_TEXT_NUMBER_SIZE];
    char text[RPS_LOOPS_TURN_SIZE], turn[RPS_LOOPS_TURN_SIZE + 16] = "";

    rps_phase_label(phase->label, label);
    rps_loops_turn_text(&view->phases, text);
    if (text[0] && view->from_ns > 0) /* iterations before it are not counted */
        snprintf(turn, sizeof(turn), ", in a turn%s", strstr(text, " of"));
    else if (text[0])
        snprintf(turn, sizeof(turn), ", %s", text);
    rps_text_clock(since, sizeof(since), phase->start_ns, 0);
    rps_text_duration(length, sizeof(length), view->to_ns - phase->start_ns);
    if (view->phases.count == 1 && view->from_ns > 0)
        rps_status_text_add(line, "phase %s for more than %s", label, length);
    else if (!rps_status_text_add(line, "phase %s since %s (%s)%s", label, since, length, turn) &&
             !rps_status_text_add(line, "phase %s since %s%s", label, since, turn))
        rps_status_text_add(line, "phase %s%s", label, turn);
}

void rps_watch_view_state(const struct rps_watch_view *view, struct rps_status_text *line)
{
    char number[RPS_TEXT_NUMBER_SIZE];
    double duty = NAN; /* of the set with the least counting; NaN while idle */

    rps_status_text_add(line, "run %lld", (long long)view->run.run_id);
    rps_status_text_add(line, "%s", rps_run_states[view->run.state]);
    if (!view->have_rates) {
        rps_status_text_add(line, "no period yet");
        return;
    }
    rps_status_text_add(line, "%s", rps_text_duration(number, sizeof(number), view->to_ns));
    rps_status_text_add(line, "%s period%s",
                        rps_text_count(number, sizeof(number), view->periods),
                        view->periods == 1 ? "" : "s");
    for (int n = 0; n < view->plan->set_count; n++)
        duty = fmin(duty, rps_tally_duty(&view->recent, n));
    if (isfinite(duty))
        rps_status_text_add(line, "duty %.0f %%", duty * 100);
    if (view->have_phases)
        add_phase(view, line);
}

static void add_rate(const struct rps_run_system *system, enum rps_system_source source, int slot,
                     const char *name, const char *unit, struct rps_status_text *line)
{
    double mib = rps_run_system_mean(system, source, slot) / KIB_PER_MIB;

    if (mib >= MIB_LEAST)
        rps_status_text_add(line, mib < 1000 ? "%s %.3g %s" : "%s %.0f %s", name, mib, unit);
}

/* Metrics of whole CPUs. */
static void add_machine(const struct rps_run_system *system, struct rps_status_text *line)
{
    double waiting = rps_run_system_mean(system, RPS_SYSTEM_MACHINE, RPS_MACHINE_WAIT);

    if (isfinite(waiting))
        rps_status_text_add(line, "waiting for a CPU %.1f threads", waiting);
    add_rate(system, RPS_SYSTEM_MACHINE, RPS_MACHINE_AVAILABLE, "available", "MiB", line);
    add_rate(system, RPS_SYSTEM_MACHINE, RPS_MACHINE_DISK_READ, "read", "MiB/s", line);
    add_rate(system, RPS_SYSTEM_MACHINE, RPS_MACHINE_DISK_WRITTEN, "written", "MiB/s", line);
}

void rps_watch_view_system(const struct rps_watch_view *view, struct rps_status_text *line)
{
    const struct rps_run_system *system = &view->system;
    struct rps_system_time time;
    double all_s;

    if (!view->have_rates)
        return;
    for (int f = 0; f < RPS_PACKAGE_FIGURES; f++) {
        const double value = rps_run_system_package(system, (enum rps_package_figure)f);

        if (isfinite(value) && rps_package_figures[f].unit[0] != 'J')
            rps_status_text_add(line, "%s %.3g %s", rps_package_figures[f].label, value,
                                rps_package_figures[f].unit);
    }
    if (!(system->length_s[RPS_SYSTEM_TREE] > 0)) {
        if (rps_run_is_of_machine(view->run.target))
            add_machine(system, line);
        return;
    }
    time = rps_run_system_time(system, view->operand[RPS_OPERAND_CPU_SECONDS]);
    all_s = fmax(time.threads_s, time.elapsed_s);
    if (time.elapsed_s > 0 &&
        rps_status_text_add(line, "%s %.0f %%",
                            rps_system_time_is_of_one(&time) ? "CPU" : "threads on a CPU",
                            100 * time.on_s / all_s)) {
        rps_status_text_add(line, "waiting %.0f %%", 100 * time.wait_s / all_s);
        rps_status_text_add(line, "asleep %.0f %%", 100 * time.asleep_s / all_s);
        if (time.idle_s >= .5 * time.elapsed_s)
            rps_status_text_add(line, "%.0f idle", time.idle_s / time.elapsed_s);
    }
    add_rate(system, RPS_SYSTEM_TREE, RPS_TREE_RSS, "RSS", "MiB", line);
    add_rate(system, RPS_SYSTEM_TREE, RPS_TREE_READ, "read", "MiB/s", line);
    add_rate(system, RPS_SYSTEM_TREE, RPS_TREE_WRITTEN, "written", "MiB/s", line);
}

/* The reason for a missing value. */
static const char *reason_of(const struct rps_watch_view *view)
{
    double most = NAN; /* largest share of time that a set was on counters; NaN while idle */

    for (int n = 0; n < view->plan->set_count; n++)
        most = fmax(most, rps_tally_duty(&view->recent, n));
    return most == 0 ? "not counted" : "idle";
}

double rps_watch_view_metric(const struct rps_watch_view *view, int metric)
{
    const struct rps_formula *formula = &view->plan->metric[metric].formula;

    return rps_tally_carries(&view->recent, formula) ? rps_formula_value(formula, view->operand)
                                                     : NAN;
}

void rps_watch_view_rates(const struct rps_watch_view *view, struct rps_status_text *line)
{
    const struct rps_plan *plan = view->plan;
    size_t start = strlen(line->text);
    int known = 0, told = 0;

    if (!view->have_rates)
        return;
    rps_status_text_add(line, view->run.state == RPS_RUN_RECORDING ? "now" : "at its end");
    for (int m = 0; m < plan->metric_count; m++) {
        const struct rps_metric *metric = &plan->metric[m];
        double value = rps_watch_view_metric(view, m);

        if (metric->panel[0] == '\0' || !isfinite(value))
            continue;
        known++;
        told += rps_status_text_add_figure(line, metric->label, value, metric->unit);
    }
    if (known == 0)
        rps_status_text_add(line, "%s", reason_of(view));
    else if (told == 0)
        line->text[start] = '\0'; /* too long */
}
