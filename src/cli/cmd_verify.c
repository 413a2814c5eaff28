/*
 * `rpistat verify`: do this machine's counters count what they are said to?
 *
 * Workloads whose counts are known beforehand are counted the way recordings are, by the same
 * backends, multiplexer and loop. First each event set alone, all the time: predicted against
 * measured. Then the sets in rotation: estimates against what was measured all the time.
 *
 * Counters are taken without the kernel where they can be, because only the program's own side of a
 * count is predictable.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "rpistat/clock.h"
#include "rpistat/loop.h"
#include "rpistat/micro.h"
#include "rpistat/pmu.h"
#include "rpistat/tally.h"
#include "rpistat/text.h"

/* The rotation: short periods, so that it takes seconds, and enough of them. */
#define ROTATION_PERIOD_NS (10 * RPS_NS_PER_MS)
#define ROTATION_NS        (2 * RPS_NS_PER_S)
#define ROTATION_TOLERANCE 0.02

/* The workload of the rotation, and how often an event must happen in its turns: what is rarer is
 * chance, and comes from outside the loop. */
#define ROTATION_MICRO "load"
#define ROTATION_RATE  0.1

/* What comes out wrong is tried again: other programs, and other guests of a virtual machine's
 * host, disturb a run, and would have to do so every time. */
#define ATTEMPTS 3

enum {
    OPTION_SETS = RPS_OPTION_OWN,
    OPTION_PMU,
};

struct settings {
    const char *sets; /* NULL: what a recording would count */
    const char *pmu;
};

static const struct rps_option options[] = {
    {"sets", OPTION_SETS, "NAME", "the event sets to verify: a name, or a .ini file", NULL},
    {"pmu", OPTION_PMU, "NAME", "auto (all there are), hardware or software", "auto"},
    {NULL, 0, NULL, NULL, NULL},
};

static int set_option(struct rps_cli *cli, int letter, const char *argument)
{
    struct settings *settings = cli->settings;

    if (letter == OPTION_SETS)
        settings->sets = argument;
    else
        settings->pmu = argument;
    return 0;
}

struct verify {
    struct rps_cli *cli;
    const struct rps_pmu *pmu;
    struct rps_plan *plan; /* fitted */
    uint32_t *judged;      /* owned; a set each, bit s: slot s had a prediction */
    int rows, right;       /* so far */
};

/* --- counting one run ---------------------------------------------------------------------------
 */

static void keep_period(void *context, const struct rps_period *period)
{
    rps_tally_add(context, period);
}

static void ignore_mark(void *context, int64_t time_ns, const char *text)
{
    (void)context;
    (void)time_ns;
    (void)text;
}

static void ignore_gap(void *context, int32_t cpu, int64_t start_ns, int64_t length_ns,
                       const char *reason)
{
    (void)context;
    (void)cpu;
    (void)start_ns;
    (void)length_ns;
    (void)reason;
}

/* The child waits and is attached: let it run, and record it to its end. */
static int record_child(const struct rps_pmu *pmu, void *self, const struct rps_plan *plan,
                        struct rps_micro_child *child, int64_t period_ns, struct rps_tally *tally,
                        struct rps_error *err)
{
    struct rps_sink sink = {tally, keep_period, ignore_mark, ignore_gap};
    struct rps_loop_options loop = {
        .pmu = pmu,
        .pmu_self = self,
        .plan = plan,
        .sink = &sink,
        .period_ns = period_ns,
        .counting = 1,
    };
    struct rps_real_world *world = NULL;
    enum rps_loop_end end;
    int64_t elapsed_ns;
    int rc = rps_real_world_open(&world, &child->pidfd, 1, NULL, 0, err);

    if (rc == 0 && (rc = pmu->start(self, 0, err)) == 0)
        rc = rps_micro_release(child, err);
    if (rc == 0) {
        loop.world = rps_real_world_table(world);
        loop.start_ns = rps_clock_monotonic_ns();
        rc = rps_loop_run(&loop, &end, &elapsed_ns, err);
    }
    rps_real_world_close(world);
    return rc;
}

/*
 * Count one run of a microbenchmark. *tally is one of the plan, and is added to. Returns 0; 1 when
 * this machine cannot run it; or negative.
 */
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

/* --- rows ------------------------------------------------------------------------------------- */

/* A measured event of a run against its prediction. */
struct comparison {
    int slot;
    double expected, measured, error, tolerance;
};

static int is_right(const struct comparison *comparison)
{
    return fabs(comparison->error) <= comparison->tolerance;
}

static void print_heading(const struct rps_cli *cli, const char *text, const char *expected,
                          const char *measured)
{
    if (cli->quiet)
        return;
    fprintf(cli->out, "\n%s\n\n", text);
    fprintf(cli->out, "  %-8s  %-20s  %15s  %15s  %9s  %9s\n", "", "", expected, measured, "error",
            "tolerance");
}

static void format_share(char *ret, size_t size, double share)
{
    if (isnan(share))
        snprintf(ret, size, "-");
    else if (fabs(share) >= 10)
        snprintf(ret, size, "%+.0f x", share);
    else
        snprintf(ret, size, "%+.*f %%", fabs(share) < 0.0095 ? 3 : 1, 100 * share);
}

static void print_row(struct verify *verify, const char *workload, const struct rps_event *event,
                      const struct comparison *comparison)
{
    const struct rps_cli *cli = verify->cli;
    int right = is_right(comparison);
    char label[2 * RPS_NAME_SIZE], share[32], number[32] = "not counted";
    const char *remark = "";

    verify->rows++;
    verify->right += right;
    if (cli->quiet && right)
        return;
    rps_text_printable(label, sizeof(label), event->label);
    format_share(share, sizeof(share), comparison->error);
    if (!isnan(comparison->measured))
        snprintf(number, sizeof(number), "%.0f", comparison->measured);
    if (!right)
        remark = comparison->measured == 0 && comparison->expected > 0
                     ? "  WRONG: it does not count"
                     : "  WRONG";
    fprintf(cli->out, "  %-8s  %-20s  %15.0f  %15s  %9s  %7.1f %%%s\n", workload, label,
            comparison->expected, number, share, 100 * comparison->tolerance, remark);
}

/* --- predicted against measured -----------------------------------------------------------------
 */

/* Slot of the event in the plan's only set that the prediction is for, or -1. */
static int find_slot(const struct rps_plan *plan, const char *what)
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

/* Does the microbenchmark predict anything of the set? */
static int concerns(const struct rps_plan *plan, const struct rps_micro *micro)
{
    struct rps_micro_prediction prediction[RPS_MICRO_PREDICTION_MAX];
    struct rps_micro_result nothing = {0};
    int count = micro->predict(micro->turns, &nothing, prediction);

    for (int i = 0; i < count; i++)
        if (find_slot(plan, prediction[i].what) >= 0)
            return 1;
    return 0;
}

/* What the prediction and the tally say of the same event; how many are compared. */
static int compare(const struct rps_plan *plan, const struct rps_micro *micro,
                   const struct rps_micro_result *result, const struct rps_tally *tally,
                   struct comparison *ret)
{
    struct rps_micro_prediction prediction[RPS_MICRO_PREDICTION_MAX];
    int count = micro->predict(micro->turns, result, prediction), compared = 0;

    for (int i = 0; i < count; i++) {
        const struct rps_micro_prediction *one = &prediction[i];
        int slot = find_slot(plan, one->what);
        double measured = slot < 0 ? NAN : rps_tally_estimate(tally, 0, slot);

        if (slot < 0)
            continue;
        ret[compared++] = (struct comparison){
            .slot = slot,
            .expected = one->count,
            .measured = measured,
            .error = (measured - one->count) / one->of,
            .tolerance = measured > one->count ? one->above : one->tolerance,
        };
    }
    return compared;
}

static int verify_micro(struct verify *verify, const struct rps_plan *plan, int set,
                        const struct rps_micro *micro, struct rps_error *err)
{
    struct comparison comparison[RPS_MICRO_PREDICTION_MAX];
    struct rps_micro_result result;
    struct rps_tally tally;
    int count = 0, wrong = 1, rc;

    if ((rc = rps_tally_init(&tally, plan, err)) < 0)
        return rc;
    for (int i = 0; rc == 0 && wrong && i < ATTEMPTS; i++) {
        rps_tally_reset(&tally);
        rc = count_run(verify->pmu, plan, micro, micro->turns, RPS_PERIOD_DEFAULT_NS, &tally,
                       &result, err);
        count = rc == 0 ? compare(plan, micro, &result, &tally, comparison) : 0;
        wrong = 0;
        for (int c = 0; c < count; c++)
            wrong += !is_right(&comparison[c]);
    }
    for (int c = 0; c < count; c++) {
        verify->judged[set] |= UINT32_C(1) << comparison[c].slot;
        print_row(verify, micro->name, &plan->set[0].event[comparison[c].slot], &comparison[c]);
    }
    rps_tally_free(&tally);
    return rc < 0 ? rc : 0;
}

/* A plan of the clock event and one set: that set is counted all the time. */
static struct rps_plan *plan_of_set(const struct rps_plan *plan, const struct rps_event_set *set)
{
    struct rps_plan *one = rps_plan_new();
    struct rps_event_set *added = one ? rps_plan_add_set(one) : NULL;

    if (!added) {
        rps_plan_free(one);
        return NULL;
    }
    one->clock = plan->clock;
    *added = *set;
    return one;
}

static int verify_predictions(struct verify *verify, struct rps_error *err)
{
    int rc = 0;

    print_heading(verify->cli, "Predicted against measured, each event set counted all the time",
                  "predicted", "measured");
    for (int n = 0; rc == 0 && n < verify->plan->set_count; n++) {
        struct rps_plan *one = plan_of_set(verify->plan, &verify->plan->set[n]);

        if (!one)
            return rps_error_memory(err);
        for (int i = 0; rc == 0 && rps_micros[i]; i++)
            if (concerns(one, rps_micros[i]))
                rc = verify_micro(verify, one, n, rps_micros[i], err);
        rps_plan_free(one);
    }
    return rc;
}

/* --- estimates against measured ------------------------------------------------------------------
 */

/* The events of one of the plan's sets in turns, each a set of its own. */
static struct rps_plan *plan_in_turns(const struct rps_plan *plan)
{
    struct rps_plan *turns = rps_plan_new();

    if (!turns)
        return NULL;
    turns->clock = plan->clock;
    for (int s = 0; s < plan->set[0].event_count; s++) {
        struct rps_event_set *set;

        if (plan->set[0].event[s].state != RPS_EVENT_MEASURED)
            continue;
        set = rps_plan_add_set(turns);
        if (!set) {
            rps_plan_free(turns);
            return NULL;
        }
        snprintf(set->name, sizeof(set->name), "%s", plan->set[0].event[s].name);
        set->event[0] = plan->set[0].event[s];
        set->event_count = 1;
    }
    return turns;
}

/* Turns of the loop that last about as long as the rotation shall. */
static int choose_turns(const struct rps_micro *micro, uint64_t *ret, struct rps_error *err)
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
    /* On 32-bit processors a loop's turns are. */
    if (*ret > UINT32_MAX)
        *ret = UINT32_MAX;
    return rc;
}

/* Count the same turns all the time and in turns, and compare the events that happen often enough.
 */
static int compare_rotation(struct verify *verify, const struct rps_plan *one,
                            const struct rps_plan *in_turns, uint64_t turns, struct comparison *ret,
                            struct rps_error *err)
{
    const struct rps_micro *micro = rps_micro_find(ROTATION_MICRO);
    struct rps_tally full = {0}, rotated = {0};
    struct rps_micro_result result;
    int compared = 0, rc;

    if ((rc = rps_tally_init(&full, one, err)) < 0 ||
        (rc = rps_tally_init(&rotated, in_turns, err)) < 0 ||
        (rc = count_run(verify->pmu, one, micro, turns, ROTATION_PERIOD_NS, &full, &result, err)) !=
            0 ||
        (rc = count_run(verify->pmu, in_turns, micro, turns, ROTATION_PERIOD_NS, &rotated, &result,
                        err)) != 0)
        goto out;
    for (int s = 0, n = 0; s < one->set[0].event_count; s++) {
        double counted, estimated;

        if (one->set[0].event[s].state != RPS_EVENT_MEASURED)
            continue;
        counted = rps_tally_estimate(&full, 0, s);
        estimated = rps_tally_estimate(&rotated, n++, 0);
        if (counted >= ROTATION_RATE * (double)turns)
            ret[compared++] = (struct comparison){s, counted, estimated, estimated / counted - 1,
                                                  ROTATION_TOLERANCE};
    }
out:
    rps_tally_free(&rotated);
    rps_tally_free(&full);
    return rc < 0 ? rc : compared;
}

/* Compare all events of a set; `one` has only this set. */
static int verify_rotation_of(struct verify *verify, const struct rps_plan *one, uint64_t turns,
                              struct rps_error *err)
{
    struct rps_plan *in_turns = plan_in_turns(one);
    struct comparison comparison[RPS_SLOT_MAX];
    int count = in_turns ? 0 : rps_error_memory(err), wrong = 1;

    if (in_turns && in_turns->set_count < 2)
        goto out;
    for (int i = 0; count >= 0 && wrong && i < ATTEMPTS; i++) {
        count = compare_rotation(verify, one, in_turns, turns, comparison, err);
        wrong = 0;
        for (int c = 0; c < count; c++)
            wrong += !is_right(&comparison[c]);
    }
    for (int c = 0; c < count; c++)
        print_row(verify, ROTATION_MICRO, &one->set[0].event[comparison[c].slot], &comparison[c]);
out:
    rps_plan_free(in_turns);
    return count < 0 ? count : 0;
}

/* Events that the kernel counts are never rotated in a recording; the hardware's may be. */
static int verify_rotation(struct verify *verify, struct rps_error *err)
{
    const struct rps_micro *micro = rps_micro_find(ROTATION_MICRO);
    uint64_t turns = micro->turns;
    char text[160];
    int rc = choose_turns(micro, &turns, err);

    snprintf(text, sizeof(text),
             "All the time against in turns: each event counted in one of several periods of "
             "%.0f ms",
             (double)ROTATION_PERIOD_NS / RPS_NS_PER_MS);
    print_heading(verify->cli, text, "all the time", "in turns");
    for (int n = 0; rc == 0 && n < verify->plan->set_count; n++) {
        struct rps_plan *one = plan_of_set(verify->plan, &verify->plan->set[n]);

        rc = one ? verify_rotation_of(verify, one, turns, err) : rps_error_memory(err);
        rps_plan_free(one);
    }
    return rc;
}

/* --- one backend ----------------------------------------------------------------------------- */

static int needs_counter(const struct rps_event *event)
{
    return event->type == RPS_EVENT_HARDWARE || event->type == RPS_EVENT_HW_CACHE ||
           event->type == RPS_EVENT_RAW;
}

/* Ask for the user's side of every hardware event that can be counted so. */
static int leave_out_kernel(const struct rps_pmu *pmu, void *self, struct rps_plan *plan,
                            struct rps_error *err)
{
    for (int n = 0; n < plan->set_count; n++) {
        for (int s = 0; s < plan->set[n].event_count; s++) {
            struct rps_event *event = &plan->set[n].event[s], user = *event;
            size_t length = strlen(event->spec);
            int rc = pmu->try_event(self, &user, err);

            if (rc < 0)
                return rc;
            if (user.state != RPS_EVENT_MEASURED || !needs_counter(&user) || user.modifiers[0] ||
                length + 2 >= sizeof(user.spec))
                continue;
            user = *event;
            memcpy(user.spec + length, ":u", 3);
            if (pmu->try_event(self, &user, NULL) == 0 && user.state == RPS_EVENT_MEASURED)
                memcpy(event->spec, user.spec, sizeof(event->spec));
        }
    }
    return 0;
}

/* Load what a recording with this backend would count, and fit it. *ret_self is open after it. */
static int prepare(struct verify *verify, const char *sets, struct rps_fitting *fitting,
                   struct rps_error *err)
{
    void *self = NULL;
    int rc;

    if ((rc = verify->pmu->open(&self, NULL, err)) < 0)
        return rc;
    rc = rps_pmu_load_plan(verify->pmu, sets, &verify->plan, err);
    if (rc == 0)
        rc = leave_out_kernel(verify->pmu, self, verify->plan, err);
    if (rc == 0)
        rc = rps_pmu_prepare(verify->pmu, self, verify->plan, 1, fitting, err);
    verify->pmu->close(self);
    if (rc < 0)
        return rc;
    verify->judged = calloc((size_t)verify->plan->set_count + 1, sizeof(*verify->judged));
    return verify->judged ? 0 : rps_error_memory(err);
}

/* What was not verified, and why. */
static void print_rest(const struct verify *verify)
{
    const struct rps_cli *cli = verify->cli;
    int unpredicted = 0;

    for (int n = 0; n < verify->plan->set_count; n++) {
        for (int s = 0; s < verify->plan->set[n].event_count; s++) {
            const struct rps_event *event = &verify->plan->set[n].event[s];

            if (event->state == RPS_EVENT_MEASURED && !(verify->judged[n] >> s & 1))
                fprintf(cli->out, "%s%s",
                        unpredicted++ ? ", " : "\nWithout a prediction: ", event->label);
        }
    }
    fputs(unpredicted ? "\n" : "", cli->out);
    for (int n = 0; n < verify->plan->set_count; n++) {
        for (int s = 0; s < verify->plan->set[n].event_count; s++) {
            const struct rps_event *event = &verify->plan->set[n].event[s];

            if (event->state == RPS_EVENT_MEASURED)
                continue;
            fputs("Not counted: ", cli->out);
            rps_text_print(cli->out, event->label);
            fputs(": ", cli->out);
            rps_text_print(cli->out, event->reason);
            fputc('\n', cli->out);
        }
    }
}

static void print_backend(const struct verify *verify, const struct rps_fitting *fitting)
{
    const struct rps_cli *cli = verify->cli;

    fprintf(cli->out, "%sCounted by %s: ", verify->rows > 0 ? "\n" : "", verify->pmu->name);
    rps_text_print(cli->out, verify->plan->title);
    if (fitting->counter_count >= 0)
        fprintf(cli->out, ", %d at a time", fitting->counter_count);
    fprintf(cli->out, ", beside %s\n", verify->plan->clock.label);
}

static int verify_backend(struct verify *verify, const struct rps_pmu *pmu, const char *sets,
                          struct rps_error *err)
{
    struct rps_fitting fitting;
    int rc;

    verify->pmu = pmu;
    rc = prepare(verify, sets, &fitting, err);
    if (rc == 0 && !verify->cli->quiet)
        print_backend(verify, &fitting);
    if (rc == 0)
        rc = verify_predictions(verify, err);
    if (rc == 0 && pmu == &rps_pmu_hardware)
        rc = verify_rotation(verify, err);
    if (rc == 0 && !verify->cli->quiet)
        print_rest(verify);
    rps_plan_free(verify->plan);
    free(verify->judged);
    verify->plan = NULL;
    verify->judged = NULL;
    return rc;
}

/* Every backend that is there, or the one that was named. */
static int verify_all(struct verify *verify, const struct settings *settings, struct rps_error *err)
{
    int automatic = strcmp(settings->pmu, "auto") == 0, done = 0, rc = 0;

    for (int i = 0; rc == 0 && rps_pmus[i]; i++) {
        const struct rps_pmu *pmu = rps_pmus[i];
        void *self = NULL;

        if (pmu == &rps_pmu_sim || (!automatic && strcmp(pmu->name, settings->pmu) != 0) ||
            (settings->sets && done > 0))
            continue;
        if (automatic && pmu->open(&self, NULL, err) < 0) {
            if (!verify->cli->quiet)
                fprintf(verify->cli->out, "%s\n", err->message);
            continue;
        }
        if (automatic)
            pmu->close(self);
        rc = verify_backend(verify, pmu, settings->sets, err);
        done++;
    }
    return rc < 0 || done > 0 ? rc : RPS_FAILED;
}

static int check(struct rps_cli *cli)
{
    const struct settings *settings = cli->settings;

    for (int i = 0; rps_pmus[i]; i++)
        if (rps_pmus[i] != &rps_pmu_sim && strcmp(rps_pmus[i]->name, settings->pmu) == 0)
            return 0;
    if (strcmp(settings->pmu, "auto") == 0)
        return 0;
    return rps_error_set(&cli->err, RPS_USAGE,
                         "--pmu %s: there are no such real counters; take auto, hardware or "
                         "software",
                         settings->pmu);
}

static int run(struct rps_cli *cli, int argc, char **argv)
{
    const struct settings *settings = cli->settings;
    struct verify verify = {.cli = cli};
    int rc = verify_all(&verify, settings, &cli->err);

    (void)argc;
    (void)argv;
    if (rc < 0)
        return rc;
    if (verify.rows == 0)
        return rps_error_set(&cli->err, RPS_FAILED,
                             "none of these events has a prediction: give them roles, as 'rpistat "
                             "events --explain' shows them");
    if (!cli->quiet)
        fprintf(cli->out, "\n%d of %d within tolerance\n", verify.right, verify.rows);
    return verify.right == verify.rows ? 0 : 1;
}

const struct rps_command rps_command_verify = {
    .name = "verify",
    .summary = "this machine's counters against workloads of known counts",
    .usage = "[OPTIONS]",
    .description =
        "Run small workloads whose counts are known beforehand, and compare what this\n"
        "machine's counters say; then estimates from event sets in turns with counts of\n"
        "all the time. Takes some seconds, best on an idle machine; what comes out wrong\n"
        "is tried twice more. The exit status is 1 when an error is larger than its\n"
        "tolerance; with -q only those are printed.",
    .examples = "  rpistat verify\n"
                "  rpistat verify --sets ./mine.ini -o verify.txt",
    .input = RPS_INPUT_NONE,
    .output = RPS_OUTPUT_STREAM,
    .output_help = "file to write",
    .options = options,
    .settings_size = sizeof(struct settings),
    .option = set_option,
    .check = check,
    .run = run,
};
