/* `rpistat verify`: the comparisons and their rows. In the first part, each event set is counted
 * alone, without rotation, and the counts are compared with predictions. In the second part, the
 * events of a set are counted in rotation, and the estimates are compared with full-time counts. */
#include <math.h>
#include <string.h>

#include "rpistat/clock.h"
#include "rpistat/loop.h"
#include "rpistat/plan.h"
#include "rpistat/tally.h"
#include "verify.h"

/* Length of a period: short, so that a rotation of a few seconds has enough periods. */
#define ROTATION_PERIOD_NS (10 * RPS_NS_PER_MS)
#define ROTATION_NS        (2 * RPS_NS_PER_S)
#define ROTATION_TOLERANCE 0.02

/* The microbenchmark of the rotation, and the minimum count per iteration of an event that is
 * compared. Rarer events happen by chance, outside the loop. */
#define ROTATION_MICRO "load"
#define ROTATION_RATE  0.1

/* Maximum number of attempts per comparison. Other programs, and other guests of a virtual
 * machine's host, may disturb a run, but hardly every attempt. */
#define ATTEMPTS 3

/* --- rows ------------------------------------------------------------------------------------- */

static int is_right(const struct rps_verify_comparison *comparison)
{
    return fabs(comparison->error) <= comparison->tolerance;
}

static int is_held(const struct rps_verify_comparison *comparison)
{
    return comparison->interval.certainty == RPS_CERTAINTY_INTERVAL &&
           comparison->interval.low <= comparison->expected &&
           comparison->expected <= comparison->interval.high;
}

/* Begin a table of comparisons. With -q the table contains only rows that failed. */
static void begin_table(struct rps_verify *verify, const char *title, const char *expected,
                        const char *measured, const char *interval)
{
    int is_quiet = verify->cli->quiet;
    const struct rps_column columns[] = {
        {"pmu", .kind = RPS_VALUE_TEXT},
        {"against", .kind = RPS_VALUE_TEXT},
        {"workload", "workload", .place = 1, .width_min = 8},
        {"name", .kind = RPS_VALUE_TEXT},
        {"label", "event", .place = 2, .width_min = 20},
        {"unit", .kind = RPS_VALUE_TEXT},
        {"expected", expected, RPS_VALUE_NUMBER, .place = 3, .width_min = 11},
        {"value", measured, RPS_VALUE_NUMBER, .has_interval = 1, .place = 4, .width_min = 11},
        {"error", "error", RPS_VALUE_NUMBER, .place = 5, .width_min = 9},
        {"tolerance", "tolerance", RPS_VALUE_NUMBER, .place = 6, .width_min = 9},
        {"right", "", RPS_VALUE_BOOL, .place = 8},
        {"held", interval, RPS_VALUE_BOOL, .place = 7},
    };
    size_t count = RPS_COUNT(columns);
    struct rps_block *table = rps_document_block(&verify->document, "comparisons", columns, count);

    for (size_t c = 0; c < count && is_quiet; c++)
        table->column[c].heading = table->column[c].heading ? "" : NULL;
    table->indent = 2;
    table->place = 1;
    if (!is_quiet)
        rps_block_title(table, "Counted by %s (%s, in addition to %s): %s", verify->pmu->name,
                        verify->plan->title, verify->plan->clock.label, title);
    verify->comparisons = table;
}

/* Put whether the estimate's interval contains the full-time count, or why there is no interval. */
static void put_held(struct rps_block *table, const struct rps_verify_comparison *comparison)
{
    const struct rps_interval *interval = &comparison->interval;
    int is_held_by = is_held(comparison);

    rps_put_int(table, is_held_by, interval->certainty == RPS_CERTAINTY_INTERVAL);
    if (interval->certainty == RPS_CERTAINTY_INTERVAL)
        rps_put_words(table, "± %.3f %%, %s",
                      100 * (interval->high - interval->low) / 2 / comparison->measured,
                      is_held_by ? "holds" : "missed");
    else if (interval->certainty != RPS_CERTAINTY_NONE)
        rps_put_words(table, "none: %s", rps_certainty_name(interval->certainty));
}

static void put_row(struct rps_verify *verify, const char *workload, const struct rps_event *event,
                    const struct rps_verify_comparison *comparison)
{
    int does_not_count = comparison->measured == 0 && comparison->expected > 0;
    struct rps_block *table = verify->comparisons;

    rps_put_texts(table, 6, verify->pmu->name,
                  comparison->in_rotation ? "all the time" : "prediction", workload, event->name,
                  event->label, event->unit);
    rps_put_number(table, comparison->expected);
    rps_put_words(table, "%.0f", comparison->expected);
    rps_put_number(table, comparison->measured)->sure = comparison->interval;
    if (isnan(comparison->measured))
        rps_put_words(table, "not counted");
    else
        rps_put_words(table, "%.0f", comparison->measured);
    rps_put_number(table, comparison->error);
    if (!isnan(comparison->error) && fabs(comparison->error) >= 10)
        rps_put_words(table, "%+.0f x", comparison->error);
    else if (!isnan(comparison->error))
        rps_put_words(table, "%+.*f %%", fabs(comparison->error) < 0.0095 ? 3 : 1,
                      100 * comparison->error);
    rps_put_number(table, comparison->tolerance);
    rps_put_words(table, "%.1f %%", 100 * comparison->tolerance);
    rps_put_int(table, is_right(comparison), 1);
    rps_put_words(table, "%s",
                  is_right(comparison) ? ""
                  : does_not_count     ? "WRONG: it does not count"
                                       : "WRONG");
    put_held(table, comparison);
}

static void add_verify_row(struct rps_verify *verify, const char *workload,
                           const struct rps_event *event,
                           const struct rps_verify_comparison *comparison)
{
    int right = is_right(comparison);

    verify->rows++;
    verify->right += right;
    verify->intervals += comparison->interval.certainty == RPS_CERTAINTY_INTERVAL;
    verify->held += is_held(comparison);
    if (!verify->cli->quiet || !right)
        put_row(verify, workload, event, comparison);
}

/* --- one run of a microbenchmark -------------------------------------------------------------- */

static void keep_period(void *context, const struct rps_period *period)
{
    rps_tally_add(context, period);
}

/* Release the waiting child, to which the counters are attached, and count until its end. */
static int record_child(const struct rps_pmu *pmu, void *self, const struct rps_plan *plan,
                        struct rps_micro_child *child, int64_t period_ns, struct rps_tally *tally,
                        struct rps_error *err)
{
    struct rps_sink sink = {tally, keep_period, NULL, NULL};
    struct rps_loop_options loop = {
        .pmu = pmu,
        .pmu_self = self,
        .plan = plan,
        .sink = &sink,
        .period_ns = period_ns,
        .counting = 1,
    };
    struct rps_real_event_loop *event_loop = NULL;
    enum rps_loop_end end;
    int64_t elapsed_ns;
    int rc = rps_real_event_loop_open(&event_loop, &child->pidfd, 1, NULL, 0, err);

    if (rc == 0 && (rc = pmu->start(self, 0, err)) == 0)
        rc = rps_micro_release(child, err);
    if (rc == 0) {
        loop.event_loop = rps_real_event_loop_table(event_loop);
        loop.start_ns = rps_clock_monotonic_ns();
        rc = rps_loop_run(&loop, &end, &elapsed_ns, err);
    }
    rps_real_event_loop_close(event_loop);
    return rc;
}

/* Count a run like a recording, by the same backends, multiplexer and loop, into *tally, which was
 * made for the plan. Returns 0; 1 if this machine cannot run the microbenchmark; or negative. */
static int count_run(const struct rps_pmu *pmu, const struct rps_plan *plan,
                     const struct rps_micro *micro, uint64_t turns, int64_t period_ns,
                     struct rps_tally *tally, struct rps_micro_result *result,
                     struct rps_error *err)
{
    struct rps_micro_child child;
    struct rps_error later;
    void *self = NULL;
    int rc = rps_micro_launch(&child, micro, turns, err), ended;
    struct rps_target target = {
        .kind = RPS_TARGET_LAUNCH,
        .pid = &child.pid,
        .pid_count = 1,
    };

    if (rc != 0)
        return rc;
    if ((rc = pmu->open(&self, NULL, err)) == 0 &&
        (rc = pmu->attach(self, plan, &target, err)) == 0)
        rc = record_child(pmu, self, plan, &child, period_ns, tally, err);
    ended = rps_micro_finish(&child, result, rc < 0 ? &later : err);
    if (self)
        pmu->close(self);
    return rc < 0 ? rc : ended;
}

/* --- predicted against measured --------------------------------------------------------------- */

static int find_predicted_slot(const struct rps_plan *plan, const char *what)
{
    for (int s = 0; s < plan->set[0].event_count; s++) {
        const struct rps_event *event = &plan->set[0].event[s];
        size_t length = strlen(what);

        if (event->state == RPS_EVENT_MEASURED &&
            (strcmp(event->role, what) == 0 || strcmp(event->spec, what) == 0 ||
             (strncmp(event->spec, what, length) == 0 && event->spec[length] == ':')))
            return s;
    }
    return -1;
}

/* Return 1 if the microbenchmark predicts any event of the set. */
static int concerns(const struct rps_plan *plan, const struct rps_micro *micro)
{
    struct rps_micro_prediction prediction[RPS_MICRO_PREDICTION_MAX];
    struct rps_micro_result nothing = {0};
    int count = rps_micro_predict(micro, micro->turns, &nothing, prediction);

    for (int i = 0; i < count; i++)
        if (find_predicted_slot(plan, prediction[i].what) >= 0)
            return 1;
    return 0;
}

/* Compare the predictions with the tally, event by event. Returns the number of compared events. */
static int compare_counts(const struct rps_plan *plan, const struct rps_micro *micro,
                          const struct rps_micro_result *result, const struct rps_tally *tally,
                          struct rps_verify_comparison *ret)
{
    struct rps_micro_prediction prediction[RPS_MICRO_PREDICTION_MAX];
    int count = rps_micro_predict(micro, micro->turns, result, prediction), compared = 0;

    for (int i = 0; i < count; i++) {
        const struct rps_micro_prediction *one = &prediction[i];
        int slot = find_predicted_slot(plan, one->what);
        double measured = slot < 0 ? NAN : rps_tally_estimate(tally, 0, slot);

        if (slot < 0)
            continue;
        ret[compared++] = (struct rps_verify_comparison){
            .slot = slot,
            .expected = one->count,
            .measured = measured,
            .error = (measured - one->count) / one->of,
            .tolerance = measured > one->count ? one->above : one->tolerance,
        };
    }
    return compared;
}

static int verify_micro(struct rps_verify *verify, const struct rps_plan *plan, int set,
                        const struct rps_micro *micro, struct rps_error *err)
{
    struct rps_verify_comparison comparison[RPS_MICRO_PREDICTION_MAX];
    struct rps_micro_result result;
    struct rps_tally tally = rps_tally_new(verify->cli->arena, plan);
    int count = 0, wrong = 1, rc = 0;

    for (int i = 0; rc == 0 && wrong && i < ATTEMPTS; i++) {
        rps_tally_reset(&tally);
        rc = count_run(verify->pmu, plan, micro, micro->turns, RPS_PERIOD_DEFAULT_NS, &tally,
                       &result, err);
        count = rc == 0 ? compare_counts(plan, micro, &result, &tally, comparison) : 0;
        wrong = 0;
        for (int c = 0; c < count; c++)
            wrong += !is_right(&comparison[c]);
    }
    for (int c = 0; c < count; c++) {
        verify->judged[set] |= UINT32_C(1) << comparison[c].slot;
        add_verify_row(verify, micro->name, &plan->set[0].event[comparison[c].slot],
                       &comparison[c]);
    }
    return rc < 0 ? rc : 0;
}

static struct rps_plan *plan_of_clock(const struct rps_plan *plan)
{
    struct rps_plan *one = rps_plan_new();

    if (!one)
        rps_arena_exhausted();
    one->clock = plan->clock;
    return one;
}

static struct rps_event_set *add_set(struct rps_plan *plan)
{
    struct rps_event_set *set = rps_plan_add_set(plan);

    if (!set)
        rps_arena_exhausted();
    return set;
}

/* Return a plan with the clock event and one set, which is counted all the time. */
static struct rps_plan *plan_of_set(const struct rps_plan *plan, const struct rps_event_set *set)
{
    struct rps_plan *one = plan_of_clock(plan);

    *add_set(one) = *set;
    return one;
}

int rps_verify_predictions(struct rps_verify *verify, struct rps_error *err)
{
    int rc = 0;

    begin_table(verify, "predicted and measured counts; each event set is counted all the time",
                "predicted", "measured", NULL);
    for (int n = 0; rc == 0 && n < verify->plan->set_count; n++) {
        struct rps_plan *one = plan_of_set(verify->plan, &verify->plan->set[n]);

        for (const struct rps_micro *micro = rps_micros; rc == 0 && micro->name; micro++)
            if (concerns(one, micro))
                rc = verify_micro(verify, one, n, micro, err);
        rps_plan_free(one);
    }
    return rc;
}

/* --- estimates against measured --------------------------------------------------------------- */

/* Return a plan that rotates the events of one set, each in its own set. */
static struct rps_plan *plan_interleaved(const struct rps_plan *plan)
{
    struct rps_plan *turns = plan_of_clock(plan);

    for (int s = 0; s < plan->set[0].event_count; s++) {
        struct rps_event_set *set;

        if (plan->set[0].event[s].state != RPS_EVENT_MEASURED)
            continue;
        set = add_set(turns);
        snprintf(set->name, sizeof(set->name), "%s", plan->set[0].event[s].name);
        set->event[0] = plan->set[0].event[s];
        set->event_count = 1;
    }
    return turns;
}

/* Choose a number of iterations that takes about as long as the rotation. */
static int choose_interleaved(const struct rps_micro *micro, uint64_t *ret, struct rps_error *err)
{
    struct rps_micro_child child;
    struct rps_micro_result result = {0};
    int rc = rps_micro_launch(&child, micro, micro->turns, err), released;

    if (rc != 0)
        return rc < 0 ? rc : rps_error_set(err, RPS_FAILED, "cannot run microbenchmarks here");
    released = rps_micro_release(&child, err);
    rc = rps_micro_finish(&child, &result, released < 0 ? NULL : err);
    if (released < 0)
        return released;
    if (rc == 0 && result.cpu_ns > 0)
        *ret = (uint64_t)((double)micro->turns * (double)ROTATION_NS / (double)result.cpu_ns);
    /* On 32-bit processors, a loop has at most UINT32_MAX iterations. */
    if (*ret > UINT32_MAX)
        *ret = UINT32_MAX;
    return rc;
}

/* Run equal iterations counted all the time and in rotation, and compare the frequent events. */
static int compare_rotation(struct rps_verify *verify, const struct rps_plan *one,
                            const struct rps_plan *in_rotation, uint64_t turns,
                            struct rps_verify_comparison *ret, struct rps_error *err)
{
    const struct rps_micro *micro = rps_micro_find(ROTATION_MICRO);
    struct rps_tally full = rps_tally_new(verify->cli->arena, one);
    struct rps_tally rotated = rps_tally_new(verify->cli->arena, in_rotation);
    struct rps_micro_result result;
    int compared = 0, rc;

    if ((rc = count_run(verify->pmu, one, micro, turns, ROTATION_PERIOD_NS, &full, &result, err)) !=
            0 ||
        (rc = count_run(verify->pmu, in_rotation, micro, turns, ROTATION_PERIOD_NS, &rotated,
                        &result, err)) != 0)
        return rc;
    for (int s = 0, n = 0; s < one->set[0].event_count; s++) {
        struct rps_interval estimate;
        double counted;

        if (one->set[0].event[s].state != RPS_EVENT_MEASURED)
            continue;
        counted = rps_tally_estimate(&full, 0, s);
        estimate = rps_tally_interval(&rotated, n++, 0);
        if (counted >= ROTATION_RATE * (double)turns)
            ret[compared++] = (struct rps_verify_comparison){
                .slot = s,
                .expected = counted,
                .measured = estimate.value,
                .error = estimate.value / counted - 1,
                .tolerance = ROTATION_TOLERANCE,
                .in_rotation = 1,
                .interval = estimate,
            };
    }
    return compared;
}

/* Compare all events of a set. The plan `one` has only this set. */
static int verify_rotation_of(struct rps_verify *verify, const struct rps_plan *one, uint64_t turns,
                              struct rps_error *err)
{
    struct rps_plan *in_rotation = plan_interleaved(one);
    struct rps_verify_comparison comparison[RPS_SLOT_MAX];
    int count = 0, wrong = in_rotation->set_count > 1;

    for (int i = 0; count >= 0 && wrong && i < ATTEMPTS; i++) {
        count = compare_rotation(verify, one, in_rotation, turns, comparison, err);
        wrong = 0;
        for (int c = 0; c < count; c++)
            wrong += !is_right(&comparison[c]);
    }
    for (int c = 0; c < count; c++)
        add_verify_row(verify, ROTATION_MICRO, &one->set[0].event[comparison[c].slot],
                       &comparison[c]);
    rps_plan_free(in_rotation);
    return count < 0 ? count : 0;
}

int rps_verify_rotation(struct rps_verify *verify, struct rps_error *err)
{
    const struct rps_micro *micro = rps_micro_find(ROTATION_MICRO);
    uint64_t turns = micro->turns;
    char text[160];
    int rc = choose_interleaved(micro, &turns, err);

    snprintf(text, sizeof(text),
             "all the time, compared with in turns (each event in one of several periods of "
             "%.0f ms)",
             (double)ROTATION_PERIOD_NS / RPS_NS_PER_MS);
    begin_table(verify, text, "all the time", "in turns", "95 % interval");
    for (int n = 0; rc == 0 && n < verify->plan->set_count; n++) {
        struct rps_plan *one = plan_of_set(verify->plan, &verify->plan->set[n]);

        rc = verify_rotation_of(verify, one, turns, err);
        rps_plan_free(one);
    }
    return rc;
}
