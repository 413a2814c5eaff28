/* Read the stored estimates of many runs, and find the levels of each metric. */
#include "rpistat/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/clock.h"
#include "rpistat/plan.h"
#include "rpistat/store.h"
#include "rpistat/text.h"
#include "work.h"

#define END_S      1e-3      /* uncertainty of the time at which a run ends, in seconds */
#define COPY_TAG   "copy_of" /* tag that merge gives to copies; its value is the original's uuid */
#define BYTES_MIB  1048576.0
#define INTERVAL_Z 3.92 /* width of a 95 % interval in standard deviations */

/* --- runs ------------------------------------------------------------------------------------- */

static int compare_starts(const void *a, const void *b)
{
    const struct rps_run *x = &((const struct rps_history_run *)a)->run,
                         *y = &((const struct rps_history_run *)b)->run;
    int order = (x->start_realtime_ns > y->start_realtime_ns) -
                (x->start_realtime_ns < y->start_realtime_ns);

    return order != 0 ? order : (x->run_id > y->run_id) - (x->run_id < y->run_id);
}

/* Keep one run of those that `rpistat merge` stored as copies of each other, because they are one
 * measurement. Copies start at the same time, and the original has the lowest number. */
static void leave_out_copies(struct rps_history *history)
{
    size_t kept = 0;

    for (size_t r = 0; r < history->run_count; r++) {
        struct rps_run *run = &history->run[r].run;
        const struct rps_tag *of = rps_run_tag(run, COPY_TAG);

        if (kept > 0 && of && strcmp(of->value, history->run[kept - 1].run.uuid) == 0)
            continue;
        history->run[kept++] = history->run[r];
    }
    history->copies = history->run_count - kept;
    history->run_count = kept;
}

/* Read the runs that ended without error. If `near` is not NULL, the runs must have the tag that is
 * typed, and the keys of tags are considered as suggestions. */
static int read_runs(struct rps_history *history, const int64_t *run_id, size_t count,
                     struct rps_suggestion *near, struct rps_error *err)
{
    history->run = rps_arena_get(history->arena, count + 1, sizeof(*history->run));
    for (size_t i = 0; i < count; i++) {
        struct rps_run *run = &history->run[history->run_count].run;
        int is_chosen, is_complete, is_failed;

        if (rps_reader_run(history->arena, history->reader, run_id[i], run, err) < 0)
            return RPS_FAILED;
        for (int t = 0; t < run->tag_count && near; t++)
            rps_suggestion_consider(near, run->tag[t].key);
        is_chosen = !near || rps_run_tag(run, near->typed);
        is_complete = run->state == RPS_RUN_COMPLETE;
        is_failed = run->exit_status > 0 || run->exit_signal > 0;
        if (is_chosen && is_complete && !is_failed) {
            history->run_count++;
            continue;
        }
        history->unfinished += is_chosen && !is_complete;
        history->failed += is_chosen && is_complete;
    }
    qsort(history->run, history->run_count, sizeof(*history->run), compare_starts);
    leave_out_copies(history);
    return 0;
}

/* Choose the runs. *ret_key is set if the text is the key of a tag. */
static int choose_runs(struct rps_history *history, const char **ret_key, struct rps_error *err)
{
    struct rps_suggestion near = {.typed = history->name};
    struct rps_error none;
    char question[256];
    int64_t *run_id = NULL;
    size_t count = 0;
    int result =
        rps_reader_find_group(history->arena, history->reader, history->name, &run_id, &count, err);

    if (result == 0) {
        result = read_runs(history, run_id, count, NULL, err);
    } else if (rps_reader_runs(history->arena, history->reader, &run_id, &count, &none) == 0 &&
               read_runs(history, run_id, count, &near, &none) == 0) {
        if (history->run_count + history->unfinished + history->failed > 0) {
            *ret_key = history->name;
            result = 0;
        } else if (near.count > 0) {
            rps_suggestion_question(&near, question, sizeof(question));
            rps_error_set(err, result, "%s: no run has this label or tag; %ssee `rpistat runs`",
                          history->name, question);
        }
    }
    if (result == 0 && history->run_count < 2)
        return rps_error_set(
            err, RPS_FAILED,
            "%s: %zu run%s ended without error, and %zu did not; record at least %d runs, because "
            "with fewer no change can be found",
            history->name, history->run_count, history->run_count == 1 ? "" : "s",
            history->unfinished + history->failed, RPS_STEPS_MIN);
    return result;
}

/* Set the tags of each run that differ from the run before. If `key` is not NULL, only this tag is
 * compared. If a tag has different values, a run with the tags of the run before is a repeat. */
static void find_repeats(struct rps_history *history, const char *key)
{
    for (size_t r = 0; r < history->run_count; r++) {
        struct rps_history_run *of = &history->run[r];

        for (int i = 0; i < of->run.tag_count; i++) {
            const struct rps_tag *tag = &of->run.tag[i];
            const struct rps_tag *before = r > 0 ? rps_run_tag(&of[-1].run, tag->key) : NULL;

            if ((key && strcmp(tag->key, key) != 0) || strcmp(tag->key, COPY_TAG) == 0 ||
                (before && strcmp(before->value, tag->value) == 0))
                continue;
            of->tags = rps_arena_print(history->arena, "%s%s%s=%s", of->tags ? of->tags : "",
                                       of->tags ? " " : "", tag->key, tag->value);
            history->has_repeats |= before != NULL;
        }
    }
}

/* --- values ----------------------------------------------------------------------------------- */

/* Return the stored estimate of a metric or an event, or NULL. */
static const struct rps_interval *estimate_of(const struct rps_plan *plan,
                                              const struct rps_compared_figure *figure)
{
    int operand = figure->formula.step[0].operand, set = rps_operand_set(operand);
    int metric = rps_plan_metric(plan, figure->is.name);

    if (figure->is.kind == RPS_FIGURE_METRIC)
        return metric >= 0 ? &plan->metric[metric].whole : NULL;
    return set < 0 ? &plan->clock.whole : &plan->set[set].event[rps_operand_slot(operand)].whole;
}

static void read_value(const struct rps_plan *plan, const struct rps_run *run, int64_t cpu_ns,
                       const struct rps_compared_figure *figure, struct rps_step *ret)
{
    const struct rps_interval *whole;

    if (figure->is.kind == RPS_FIGURE_TIME || figure->is.kind == RPS_FIGURE_CPU) {
        int64_t ns = figure->is.kind == RPS_FIGURE_TIME ? run->elapsed_ns : cpu_ns;

        ret->value = ns > 0 ? (double)ns / RPS_NS_PER_S : NAN;
        ret->floor = END_S * END_S;
    } else if (figure->is.kind == RPS_FIGURE_SYSTEM) {
        ret->value = run->memory_bytes > 0 ? (double)run->memory_bytes / BYTES_MIB : NAN;
    } else if ((whole = estimate_of(plan, figure)) && whole->certainty != RPS_CERTAINTY_NONE &&
               whole->certainty < RPS_CERTAINTY_INCOMPLETE) {
        ret->value = whole->value;
        ret->floor = figure->is.kind == RPS_FIGURE_TOTAL ? fmax(1, whole->value) : 0;
        if (rps_interval_has_ends(whole) && isfinite(whole->high - whole->low))
            ret->floor = fmax(ret->floor, pow((whole->high - whole->low) / INTERVAL_Z, 2));
    }
}

/* Offer the metrics of a run: the times, the memory, and the metrics of its plan. */
static int offer(struct rps_history *history, size_t run, struct rps_arena *arena,
                 struct rps_compared_run *ret, struct rps_error *err)
{
    size_t at = 0;

    if (rps_reader_plan(arena, history->reader, history->run[run].run.run_id, &ret->plan, err) <
            0 ||
        rps_comparison_offer_counts(arena, ret, err) < 0)
        return RPS_FAILED;
    while (at < ret->offered_count && ret->offered[at].is.kind <= RPS_FIGURE_CPU)
        at++;
    memmove(&ret->offered[at + 1], &ret->offered[at],
            (ret->offered_count++ - at) * sizeof(*ret->offered));
    ret->offered[at] =
        (struct rps_compared_figure){.is = {RPS_FIGURE_SYSTEM, "memory", "Peak memory", "MiB"}};
    return 0;
}

/* Read the values of the metrics that a run has in the same form as the newest run. */
static int read_run(struct rps_history *history, size_t r, const struct rps_compared_run *newest,
                    struct rps_error *err)
{
    struct rps_compared_run one = {0};
    struct rps_arena *arena = rps_arena_new();
    const struct rps_run *run = &history->run[r].run;
    struct rps_run_summary summary = {0};
    int result = offer(history, r, arena, &one, err);

    if (result == 0)
        result = rps_reader_summary(history->reader, run->run_id, &summary, err);
    for (size_t m = 0; m < history->metric_count && result == 0; m++) {
        size_t same = rps_comparison_find_same(&one, newest, &newest->offered[m]);
        struct rps_step *step = &history->metric[m].step[r];

        step->value = NAN;
        step->may_begin = history->run[r].tags || !history->has_repeats || run->tag_count == 0;
        if (same < one.offered_count)
            read_value(one.plan, run, rps_run_is_of_machine(run->target) ? -1 : summary.cpu_ns,
                       &one.offered[same], step);
    }
    rps_arena_free(arena);
    return result;
}

static int read_values(struct rps_history *history, struct rps_error *err)
{
    struct rps_compared_run newest = {0};
    int result = offer(history, history->run_count - 1, history->arena, &newest, err);

    history->metric_count = result == 0 ? newest.offered_count : 0;
    history->metric =
        rps_arena_get(history->arena, history->metric_count + 1, sizeof(*history->metric));
    for (size_t m = 0; m < history->metric_count; m++)
        history->metric[m] = (struct rps_history_metric){
            .is = newest.offered[m].is,
            .step = rps_arena_get(history->arena, history->run_count, sizeof(struct rps_step))};
    for (size_t r = 0; r < history->run_count && result == 0; r++)
        result = read_run(history, r, &newest, err);
    return result;
}

/* Return 1 for a metric that is shown by default. Rates change like their totals. */
static int is_shown(const struct rps_history *history, const struct rps_history_metric *metric)
{
    double most = 0;

    for (size_t r = 0; r < history->run_count; r++)
        most = fmax(most, fabs(metric->step[r].value));
    return most > 0 && metric->is.unit[0] != '/';
}

/* Keep the named metrics in the order of the names, or else those that are shown by default. */
static int choose_metrics(struct rps_history *history, char *const *name, size_t count,
                          struct rps_error *err)
{
    struct rps_history_metric *all = history->metric;
    size_t all_count = history->metric_count, kept = 0, m;
    char known[1024] = "";

    history->metric = rps_arena_get(history->arena, all_count + count, sizeof(*all));
    for (m = 0; m < all_count; m++) {
        rps_text_list(known, sizeof(known), all[m].is.name);
        if (count == 0 && is_shown(history, &all[m]))
            history->metric[kept++] = all[m];
    }
    for (size_t i = 0; i < count; i++) {
        int is_repeated = 0;

        for (m = 0; m < all_count && strcmp(all[m].is.name, name[i]) != 0; m++)
            ;
        for (size_t k = 0; k < i; k++)
            is_repeated |= strcmp(name[k], name[i]) == 0;
        if (m == all_count)
            return rps_error_set(err, RPS_USAGE,
                                 "the newest run has no metric '%s'; choose from %s", name[i],
                                 known);
        if (!is_repeated)
            history->metric[kept++] = all[m];
    }
    history->metric_count = kept;
    return 0;
}

/* --- levels ----------------------------------------------------------------------------------- */

static void find_levels(const struct rps_history *history, struct rps_history_metric *metric)
{
    size_t runs = history->run_count, from = 0, at = 0, end = 0;
    struct rps_change_value *value = rps_arena_get(history->arena, runs, sizeof(*value));

    metric->level = rps_arena_get(history->arena, runs + 1, sizeof(*metric->level));
    for (size_t r = 0; r <= runs; r++) {
        struct rps_history_level *level = &metric->level[metric->level_count];

        if (r == runs || metric->step[r].begins) {
            level->count = end - at;
            level->change =
                rps_change_find(value + from, at - from, value + at, end - at, RPS_CHANGE_MEAN);
            level->change.is_few = 0; /* rps_steps_find has a rule for few values */
            if (level->first > 0) {
                level->change.p = metric->step[level->first].p;
                level->change.adjusted = metric->step[level->first].corrected;
            }
            level[1].first = r;
            metric->level_count++;
            from = at;
            at = end;
        }
        if (r < runs && isfinite(metric->step[r].value) && !metric->step[r].is_outlier)
            value[end++] = (struct rps_change_value){metric->step[r].value, metric->step[r].floor};
    }
}

/* Set *change to the last change of a metric. A metric without a change may have any change that
 * would not be found. The interval includes outliers after the last level. */
static void find_latest(const struct rps_history *history, const struct rps_history_metric *metric,
                        struct rps_change *change)
{
    *change = metric->level[metric->level_count - 1].change;
    change->why = RPS_CHANGE_TESTED;
    if (metric->level_count < 2 && !isnan(metric->found)) {
        change->a = change->b;
        change->ratio = 0;
        change->low = change->is_log ? 1 / (1 + metric->found) - 1 : -metric->found;
        change->high = metric->found;
        change->basis = RPS_CHANGE_GROUPS;
    }
    for (size_t r = history->run_count; r-- > 0;) {
        const struct rps_step *step = &metric->step[r];

        if (isfinite(step->value) && !step->is_outlier)
            return;
        change->low = fmin(change->low, step->value / change->a - 1);
        change->high = fmax(change->high, step->value / change->a - 1);
    }
}

/* Put the last changes into history->latest. */
static void put_latest(struct rps_history *history)
{
    struct rps_comparison *latest = &history->latest;

    latest->figure_count = history->metric_count;
    latest->figure = rps_arena_get(latest->arena, latest->figure_count, sizeof(*latest->figure));
    latest->row->change =
        rps_arena_get(latest->arena, latest->figure_count, sizeof(*latest->row->change));
    for (size_t m = 0; m < history->metric_count; m++) {
        latest->figure[m] = history->metric[m].is;
        find_latest(history, &history->metric[m], &latest->row->change[m]);
    }
}

/* Add remarks on facts that differ between the runs before and after each change. */
static int remark_changes(struct rps_history *history, struct rps_error *err)
{
    for (size_t r = 1; r < history->run_count; r++) {
        int begins = 0;

        for (size_t m = 0; m < history->metric_count; m++)
            begins |= history->metric[m].step[r].begins;
        if (begins &&
            rps_comparison_remark_pair(&history->latest, history->reader, &history->run[r - 1].run,
                                       &history->run[r].run, err) < 0)
            return RPS_FAILED;
    }
    return 0;
}

/* --- the history ------------------------------------------------------------------------------ */

int rps_history_find(struct rps_arena *arena, struct rps_reader *reader, const char *text,
                     char *const *metric, size_t metric_count, struct rps_history *ret,
                     struct rps_error *err)
{
    const char *key = NULL;
    int result;

    *ret = (struct rps_history){.arena = arena, .reader = reader, .name = text};
    ret->latest = (struct rps_comparison){.arena = arena, .name = {NULL, "Value"}, .row_count = 1};
    ret->latest.row = rps_arena_get(arena, 1, sizeof(*ret->latest.row));
    ret->latest.row->label = -1;
    result = choose_runs(ret, &key, err);
    if (result == 0) {
        find_repeats(ret, key);
        result = read_values(ret, err);
    }
    if (result == 0)
        result = choose_metrics(ret, metric, metric_count, err);
    for (size_t m = 0; m < ret->metric_count && result == 0; m++) {
        struct rps_history_metric *of = &ret->metric[m];
        double others = (double)ret->metric_count - 1;
        double alpha = others > 0 ? RPS_HISTORY_ALPHA / 2 : RPS_HISTORY_ALPHA;

        result = rps_steps_find(arena, of->step, ret->run_count, m > 0 ? alpha / others : alpha,
                                &of->found, &of->trend, err);
        if (result == 0)
            find_levels(ret, of);
    }
    if (result == 0) {
        put_latest(ret);
        result = remark_changes(ret, err);
    }
    return result;
}
