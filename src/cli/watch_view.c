/* One update from a running recording.
 *
 * Each update queries the store again, in transactions that end when the data are read. Therefore
 * no open transaction keeps the recorder's log from being moved into the store. Only the last
 * minutes are searched for phases, so an update on the third day is as fast as in the first hour.
 * The disadvantage is that a phase that recurs after a longer time may get another letter. */
#include "watch_view.h"

#include <math.h>
#include <string.h>

#include "rpistat/loops.h"
#include "rpistat/plan.h"
#include "rpistat/run_phases.h"
#include "rpistat/run_system.h"
#include "rpistat/text.h"

#define VALUE_MIN .1 /* smaller values are not shown */

void rps_watch_view_free(struct rps_watch_view *view)
{
    rps_arena_free(view->phases_arena);
    rps_arena_free(view->arena);
    rps_arena_free(view->run.arena);
    memset(view, 0, sizeof(*view));
}

/* --- looking ---------------------------------------------------------------------------------- */

static int look_at_run(struct rps_watch_view *view, struct rps_reader *reader, int64_t run_id,
                       struct rps_error *err)
{
    struct rps_arena *arena = rps_arena_new();
    struct rps_run_summary summary;
    struct rps_run run;
    int result = rps_reader_run(arena, reader, run_id, &run, err);

    rps_arena_free(result < 0 ? arena : view->run.arena);
    if (result < 0)
        return result;
    view->run = run;
    if (rps_reader_summary(reader, run_id, &summary, err) < 0)
        return RPS_FAILED;
    view->periods = summary.periods;
    if (view->plan)
        return 0;
    result = rps_reader_plan(view->arena, reader, run_id, &view->plan, err);
    if (result < 0)
        return result;
    view->operand = rps_arena_get(view->arena, (size_t)rps_plan_operand_count(view->plan),
                                  sizeof(*view->operand));
    view->recent = rps_tally_new(view->arena, view->plan);
    view->system = rps_arena_get(view->arena, 1, sizeof(*view->system));
    return 0;
}

/* Add the recent periods. All periods of one CPU come before those of the next CPU. */
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
        *view->system = system[0];
    rps_arena_free(arena);
    return result;
}

static int look_at_rates(struct rps_watch_view *view, struct rps_reader *reader, int64_t recent_ns,
                         struct rps_error *err)
{
    int64_t all_ns = /* time range in which every set was counted at least once */
        rps_run_rotations_ns(&view->run, view->plan->set_count, 1, view->to_ns);
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
    struct rps_arena *arena;
    struct rps_phases shown = {0};

    view->have_phases = 0;
    if (periods > RPS_RUN_PHASES_PERIODS_MAX)
        return 0;
    arena = rps_arena_new();
    if (rps_run_phases_apart(arena, path, view->run.run_id, &options, &shown, err) < 0) {
        rps_arena_free(arena);
        return RPS_FAILED;
    }
    if (view->from_ns > 0 && view->phases.count > 0)
        rps_phases_keep_labels(&shown, &view->phases);
    rps_arena_free(view->phases_arena);
    view->phases_arena = arena;
    view->phases = shown;
    view->have_phases = shown.count > 0;
    return 0;
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
    char text[RPS_LOOPS_ITERATION_SIZE], turn[RPS_LOOPS_ITERATION_SIZE + 16] = "";

    rps_phase_label(phase->label, label);
    rps_loops_iteration_text(&view->phases, text);
    if (text[0] && view->from_ns > 0) /* iterations before from_ns are unknown */
        snprintf(turn, sizeof(turn), ", in an iteration%s", strstr(text, " of"));
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
    double counted = NAN; /* smallest counted share of any set; NaN while idle */

    rps_status_text_add(line, "run %lld", (long long)view->run.run_id);
    rps_status_text_add(line, "%s", rps_run_states[view->run.state]);
    if (!view->have_rates) {
        rps_status_text_add(line, "no period yet");
        return;
    }
    rps_status_text_add(line, "%s", rps_text_duration(number, sizeof(number), view->to_ns));
    rps_status_text_add(line, "%s period%s", rps_text_count(number, sizeof(number), view->periods),
                        view->periods == 1 ? "" : "s");
    if (view->have_phases)
        add_phase(view, line);
    for (int n = 0; n < view->plan->set_count; n++)
        counted = fmin(counted, rps_tally_counted(&view->recent, n));
    if (isfinite(counted))
        rps_status_text_add(line, "counters on %.0f %% of the time", counted * 100);
}

/* Add the metrics of a source that have a short name for the line. */
static void add_metrics(const struct rps_run_system *system, enum rps_system_source source,
                        struct rps_status_text *line)
{
    for (int s = 0; s < rps_system_metric_count[source]; s++) {
        const struct rps_system_metric *signal = &rps_system_metrics[source][s];
        double value = rps_run_system_mean(system, source, s) / signal->column.divisor;

        if (signal->watch.name && value >= VALUE_MIN)
            rps_status_text_add(line, value < 1000 ? "%s %.3g%s" : "%s %.0f%s", signal->watch.name,
                                value, signal->watch.unit);
    }
}

void rps_watch_view_system(const struct rps_watch_view *view, struct rps_status_text *line)
{
    const struct rps_run_system *system = view->system;
    struct rps_system_time time;
    static const char *const name[] = {"threads running", "waiting", "asleep", "unknown"};
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
        /* Add the metrics of whole CPUs. */
        if (rps_run_is_of_machine(view->run.target)) {
            double waiting = rps_run_system_mean(system, RPS_SYSTEM_MACHINE, RPS_MACHINE_WAIT);

            if (isfinite(waiting))
                rps_status_text_add(line, "waiting for a CPU: %.1f threads", waiting);
            add_metrics(system, RPS_SYSTEM_MACHINE, line);
        }
        return;
    }
    time = rps_run_system_time(system, view->operand[RPS_OPERAND_CPU_SECONDS]);
    all_s = fmax(fmax(time.threads_s, time.elapsed_s), time.on_s + time.wait_s + time.asleep_s);
    if (time.elapsed_s > 0) {
        double share[] = {time.on_s / all_s, time.wait_s / all_s, time.asleep_s / all_s,
                          fmax(0, all_s - time.on_s - time.wait_s - time.asleep_s) / all_s};

        rps_text_round_parts(share, 4, 1, .01);
        for (int s = 0; s < 4 && (s < 3 || share[s] > 0); s++)
            rps_status_text_add(line, "%s %.0f %%", name[s], 100 * share[s]);
        if (time.idle_s >= .5 * time.elapsed_s)
            rps_status_text_add(line, "%.0f idle", time.idle_s / time.elapsed_s);
    }
    add_metrics(system, RPS_SYSTEM_TREE, line);
}

/* Return the reason for a missing value. */
static const char *reason_of(const struct rps_watch_view *view)
{
    double most = NAN; /* largest counted share of any set; NaN while idle */

    for (int n = 0; n < view->plan->set_count; n++)
        most = fmax(most, rps_tally_counted(&view->recent, n));
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
    rps_status_text_add(line, view->run.state == RPS_RUN_RECORDING ? "now" : "at the end");
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
        line->text[start] = '\0'; /* no metric fits into the line, so remove the label */
}
