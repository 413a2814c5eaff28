/* Conditions of `rpistat watch`.
 *
 * Each update detects the phases again. A boundary may therefore move a little between updates, or
 * a segment may get another letter. A segment is treated as already seen if it began before the
 * middle of the segment that was seen last. */
#include "watch_conditions.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rpistat/clock.h"
#include "rpistat/loops.h"
#include "rpistat/plan.h"
#include "rpistat/text.h"

#define LOOP_END_ITERATIONS 2

int rps_watch_condition_parse(const char *option, const char *text, struct rps_watch_condition *ret,
                              struct rps_error *err)
{
    struct rps_watch_condition condition = {
        .text = text,
        .kind = RPS_WATCH_METRIC,
        .label = -1,
        .is_until = strcmp(option, "--until") == 0,
        .looked_ns = INT64_MAX,
        .middle_ns = -1,
        .seen_ns = -1,
        .seen_label = -1,
    };
    size_t length = strcspn(text, "<>");
    int is_right = 0;

    if (strcmp(text, "loop-end") == 0) {
        condition.kind = RPS_WATCH_LOOP_END;
        is_right = 1;
    } else if (strncmp(text, "phase", 5) == 0 && (text[5] == ':' || text[5] == '\0')) {
        condition.kind = RPS_WATCH_PHASE;
        condition.label = text[5] == ':' ? rps_phase_label_parse(text + 6) : -1;
        is_right = condition.label >= 0 || (text[5] == '\0' && !condition.is_until);
    } else if (length > 0 && length < sizeof(condition.name) && text[length] != '\0') {
        memcpy(condition.name, text, length);
        condition.is_below = text[length] == '<';
        is_right = rps_parse_double(option, text + length + 1, &condition.limit, NULL) == 0;
    }
    if (!is_right)
        return rps_error_set(err, RPS_USAGE,
                             "%s '%s' is not a condition; write %sphase:C, loop-end, or a metric, "
                             "> or < and a number, as in 'cpi>1.5'",
                             option, text, condition.is_until ? "" : "phase, ");
    *ret = condition;
    return 0;
}

/* --- looking ---------------------------------------------------------------------------------- */

static int is_new(const struct rps_watch_condition *condition, const struct rps_watch_view *view,
                  const struct rps_phase *phase)
{
    if (phase == view->phases.phase && view->from_ns > 0) /* the phase began before the range */
        return phase->label != condition->seen_label;
    return phase->start_ns > condition->middle_ns &&
           (phase->label != condition->seen_label || phase->start_ns >= condition->seen_ns);
}

/* Return the first new phase since the last update; at the first update, the current phase. */
static const struct rps_phase *find_phase(const struct rps_watch_condition *condition,
                                          const struct rps_watch_view *view, int64_t least_ns)
{
    for (size_t i = 0; i < view->phases.count; i++) {
        const struct rps_phase *phase = &view->phases.phase[i];

        if ((i + 1 == view->phases.count || phase->end_ns > condition->looked_ns) &&
            phase->end_ns - phase->start_ns >= least_ns && is_new(condition, view, phase) &&
            (condition->label < 0 || condition->label == phase->label))
            return phase;
    }
    return NULL;
}

/* Return the end of the run's last loop, if that end is at least two iterations ago. An iteration
 * that has only begun, or is an outlier, is recognized only when this iteration and the next
 * iteration are complete. Returns -1 if there is no loop, or if the loop may continue. Also returns
 * -1 if the loop began before the loop end that was last seen, because the loop is then the same as
 * before. */
static int64_t find_loop_end(const struct rps_watch_condition *condition,
                             const struct rps_watch_view *view)
{
    struct rps_arena *arena = rps_arena_new();
    const struct rps_loops loops = rps_loops_of(arena, &view->phases);
    char turn[RPS_LOOPS_ITERATION_SIZE];
    int64_t end_ns = -1;

    if (loops.count > 0 && rps_loops_iteration_text(&view->phases, turn)[0] == '\0') {
        const struct rps_loop *loop = &loops.loop[loops.count - 1];

        end_ns = view->phases.phase[loop->first + loop->count - 1].end_ns;
        if ((double)(view->to_ns - end_ns) < LOOP_END_ITERATIONS * loop->length ||
            (condition->seen_ns >= 0 &&
             (double)(condition->start_ns - view->phases.phase[loop->first].start_ns) >
                 loop->length))
            end_ns = -1;
    }
    rps_arena_free(arena);
    return end_ns;
}

static int find_metric(const struct rps_watch_condition *condition, const struct rps_plan *plan,
                       struct rps_error *err)
{
    struct rps_suggestion suggestion = {.typed = condition->name};
    char question[256], known[400];
    int found = rps_plan_metric(plan, condition->name);

    if (found >= 0)
        return found;
    for (int m = 0; m < plan->metric_count; m++)
        rps_suggestion_consider(&suggestion, plan->metric[m].name);
    return rps_error_set(err, RPS_USAGE, "'%s': the run has no metric '%s'; %schoose from %s",
                         condition->text, condition->name,
                         rps_suggestion_question(&suggestion, question, sizeof(question)),
                         rps_plan_metric_names(plan, known, sizeof(known)));
}

static int look_at_metric(struct rps_watch_condition *condition, const struct rps_watch_view *view,
                          int64_t least_ns, int64_t *ret_start_ns, struct rps_error *err)
{
    int metric = find_metric(condition, view->plan, err), was_seen = condition->seen_ns >= 0;
    double value;

    if (metric < 0)
        return metric;
    if (!view->have_rates || view->to_ns < least_ns)
        return 0;
    value = rps_watch_view_metric(view, metric);
    *ret_start_ns = view->recent.start_ns;
    if (condition->is_below ? value < condition->limit : value > condition->limit)
        return !was_seen;
    condition->seen_ns = -1;
    return 0;
}

int rps_watch_condition_look(struct rps_watch_condition *condition,
                             const struct rps_watch_view *view, struct rps_error *err)
{
    int64_t least_ns = RPS_WATCH_PERIODS * view->run.period_ns, start_ns = 0;
    const struct rps_phase *phase =
        view->have_phases ? &view->phases.phase[view->phases.count - 1] : NULL;
    int result = 0;

    if (condition->kind == RPS_WATCH_METRIC) {
        result = look_at_metric(condition, view, least_ns, &start_ns, err);
    } else if (phase && condition->kind == RPS_WATCH_PHASE) {
        const struct rps_phase *found = find_phase(condition, view, least_ns);

        phase = found ? found : phase;
        start_ns = phase->start_ns;
        result = found != NULL;
    } else if (phase) {
        start_ns = find_loop_end(condition, view);
        result = start_ns >= 0 && view->to_ns - start_ns >= least_ns;
    }
    if (result > 0) {
        int64_t end_ns = condition->kind == RPS_WATCH_PHASE ? phase->end_ns : view->to_ns;

        condition->seen_label = phase ? phase->label : -1;
        condition->start_ns = start_ns;
        condition->middle_ns = start_ns + (end_ns - start_ns) / 2;
        condition->seen_ns = end_ns;
    }
    if (result == 0 || condition->kind != RPS_WATCH_PHASE)
        condition->looked_ns = view->to_ns; /* if a phase condition holds, looked_ns is not
                                               changed, because this update may have more
                                               segments */
    return result;
}

void rps_watch_condition_add(struct rps_watch_condition *condition, struct rps_arena *arena)
{
    condition->boundary = rps_arena_grow(arena, condition->boundary, condition->boundary_count,
                                         sizeof(*condition->boundary));
    condition->boundary[condition->boundary_count++] =
        (struct rps_watch_boundary){condition->start_ns, condition->seen_label};
}

int rps_watch_condition_is_due(const struct rps_watch_condition *condition)
{
    return condition->run_count < condition->boundary_count;
}

/* --- the command ------------------------------------------------------------------------------ */

static int set_environment(const struct rps_watch_condition *condition, const struct rps_cli *cli,
                           int64_t run_id)
{
    const struct rps_watch_boundary *of = &condition->boundary[condition->run_count];
    char label[RPS_PHASE_LABEL_SIZE] = "", run[24], time[32];

    if (of->label >= 0)
        rps_phase_label(of->label, label);
    snprintf(run, sizeof(run), "%lld", (long long)run_id);
    snprintf(time, sizeof(time), "%.3f", (double)of->start_ns / RPS_NS_PER_S);
    return setenv("RPISTAT_STORE", cli->input, 1) < 0 || setenv("RPISTAT_RUN", run, 1) < 0 ||
                   setenv("RPISTAT_PHASE", label, 1) < 0 || setenv("RPISTAT_TIME_S", time, 1) < 0 ||
                   setenv("RPISTAT_CONDITION", condition->text, 1) < 0
               ? ENOMEM
               : 0;
}

int rps_watch_condition_run(struct rps_watch_condition *condition, const struct rps_cli *cli,
                            int64_t run_id, char **argv, struct rps_error *err)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&actions);

    if (error != 0)
        return rps_error_memory(err);
    if ((error = posix_spawnattr_init(&attributes)) == 0) {
        if ((error = set_environment(condition, cli, run_id)) == 0 &&
            (error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY,
                                                      0)) == 0 &&
            (error = posix_spawnattr_setsigmask(&attributes, &cli->before.mask)) == 0 &&
            (error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK)) == 0) {
            /* posix_spawn cannot set SIG_IGN for the command, so the command inherits SIG_IGN from
             * rpistat */
            if (cli->before.ignores_children)
                signal(SIGCHLD, SIG_IGN);
            error =
                posix_spawnp(&condition->command, argv[0], &actions, &attributes, argv, environ);
            signal(SIGCHLD, SIG_DFL);
        }
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    condition->run_count++;
    if (error == 0)
        return 0;
    condition->command = 0;
    return rps_error_set(err, RPS_FAILED, "cannot run '%s': %s", argv[0], strerror(error));
}

int rps_watch_condition_runs(struct rps_watch_condition *condition, int is_end)
{
    pid_t ended = 0;

    if (condition->command == 0)
        return 0;
    do
        ended = waitpid(condition->command, NULL, is_end ? 0 : WNOHANG);
    while (ended < 0 && errno == EINTR);
    if (ended != 0)
        condition->command = 0;
    return ended == 0;
}
