/* `rpistat verify`: checks that this machine's counters count correctly.
 *
 * Every available backend counts events in workloads whose counts are known beforehand, and the
 * results are compared with the known counts (verify_compare.c).
 *
 * Counters exclude the kernel if possible, because only the counts of the program's own
 * instructions are predictable. */
#include <string.h>

#include "cli.h"
#include "verify.h"
#include "rpistat/plan.h"

struct settings {
    const char *sets; /* argument of --sets; NULL: the event sets that a recording uses */
    const char *pmu;
    enum rps_format format;
};

#define AT(member) RPS_AT(struct settings, member)

static const struct rps_option options[] = {
    {"sets", 0, "NAME", "event sets to verify: a name, or an .ini file", NULL, RPS_OPTION_TEXT,
     AT(sets), .names = rps_plan_names},
    {"pmu", 0, "NAME", "auto (all there are), hardware or software", "auto", RPS_OPTION_TEXT,
     AT(pmu), .words = "auto hardware software"},
    RPS_FORMAT_OPTION(AT(format)),
    {NULL},
};

/* --- one backend ------------------------------------------------------------------------------ */

/* Set every hardware event that can be restricted to user mode to count only user mode. */
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
            if (user.state != RPS_EVENT_MEASURED ||
                !(user.type == RPS_EVENT_HARDWARE || user.type == RPS_EVENT_HW_CACHE ||
                  user.type == RPS_EVENT_RAW) ||
                user.modifiers[0] || length + 2 >= sizeof(user.spec))
                continue;
            user = *event;
            memcpy(user.spec + length, ":u", 3);
            if (pmu->try_event(self, &user, NULL) == 0 && user.state == RPS_EVENT_MEASURED)
                memcpy(event->spec, user.spec, sizeof(event->spec));
        }
    }
    return 0;
}

/* Load the plan that a recording with this backend would use, and fit the plan to the counters. */
static int prepare(struct rps_verify *verify, const char *sets, struct rps_fitting *fitting,
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
    if (rc == 0)
        verify->judged = rps_arena_get(verify->cli->arena, (size_t)verify->plan->set_count,
                                       sizeof(*verify->judged));
    return rc;
}

/* Put the events that were not compared, with the reasons. */
static void put_rest(const struct rps_verify *verify)
{
    struct rps_block *not_compared = verify->not_compared;
    char *list = NULL;

    for (int n = 0; n < verify->plan->set_count; n++) {
        for (int s = 0; s < verify->plan->set[n].event_count; s++) {
            const struct rps_event *event = &verify->plan->set[n].event[s];
            int is_measured = event->state == RPS_EVENT_MEASURED;

            if (is_measured && verify->judged[n] >> s & 1)
                continue;
            rps_put_texts(not_compared, 3, verify->pmu->name, event->name, event->label);
            rps_put_int(not_compared, is_measured, 1);
            rps_put_text(not_compared, is_measured ? "without a prediction" : event->reason);
            if (is_measured)
                list = rps_arena_print(verify->cli->arena, "%s%s%s", list ? list : "",
                                       list ? ", " : "", event->label);
            else if (!verify->cli->quiet)
                rps_block_line(not_compared, "Not counted: %s: %s", event->label, event->reason);
        }
    }
    if (list && !verify->cli->quiet)
        rps_block_line(not_compared, "Without a prediction: %s", list);
}

static void put_backend(struct rps_verify *verify, const struct rps_pmu *pmu,
                        const struct rps_fitting *fitting, const char *reason)
{
    const struct rps_plan *plan = verify->plan;

    rps_put_text(verify->pmus, pmu->name);
    rps_put_int(verify->pmus, !reason, 1);
    rps_put_text(verify->pmus, reason);
    rps_put_texts(verify->pmus, 2, plan ? plan->name : NULL, plan ? plan->title : NULL);
    rps_put_int(verify->pmus, fitting->counter_count, fitting->counter_count >= 0);
    rps_put_text(verify->pmus, plan ? plan->clock.label : NULL);
    if (reason && !verify->cli->quiet)
        rps_block_line(verify->pmus, "%s", reason);
}

static int verify_backend(struct rps_verify *verify, const struct rps_pmu *pmu, const char *sets,
                          struct rps_error *err)
{
    struct rps_fitting fitting = {.counter_count = -1};
    int rc;

    verify->pmu = pmu;
    rc = prepare(verify, sets, &fitting, err);
    if (rc == 0) {
        put_backend(verify, pmu, &fitting, NULL);
        rc = rps_verify_predictions(verify, err);
    }
    if (rc == 0 && pmu == &rps_pmu_hardware)
        rc = rps_verify_rotation(verify, err);
    if (rc == 0)
        put_rest(verify);
    rps_plan_free(verify->plan);
    verify->plan = NULL;
    return rc;
}

/* Verify every available backend, or only the backend that the user names. */
static int verify_all(struct rps_verify *verify, const struct settings *settings,
                      struct rps_error *err)
{
    int automatic = strcmp(settings->pmu, "auto") == 0, done = 0, rc = 0;

    for (int i = 0; rc == 0 && rps_pmus[i]; i++) {
        const struct rps_pmu *pmu = rps_pmus[i];
        void *self = NULL;

        if ((!automatic && strcmp(pmu->name, settings->pmu) != 0) || (settings->sets && done > 0))
            continue;
        if (automatic && pmu->open(&self, NULL, err) < 0) {
            put_backend(verify, pmu, &(struct rps_fitting){.counter_count = -1}, err->message);
            continue;
        }
        if (automatic)
            pmu->close(self);
        rc = verify_backend(verify, pmu, settings->sets, err);
        done++;
    }
    return rc < 0 || done > 0 ? rc : RPS_FAILED;
}

static int check_verify(struct rps_cli *cli)
{
    const struct settings *settings = cli->settings;
    struct rps_plan *plan = NULL;
    int rc = settings->sets ? rps_plan_load(settings->sets, &plan, &cli->err) : 0;

    if (rc < 0)
        return rc;
    rps_plan_free(plan);
    for (int i = 0; rps_pmus[i]; i++)
        if (strcmp(rps_pmus[i]->name, settings->pmu) == 0)
            return 0;
    if (strcmp(settings->pmu, "auto") == 0)
        return 0;
    return rps_error_set(&cli->err, RPS_USAGE,
                         "--pmu %s has no real counters; use auto, hardware or software",
                         settings->pmu);
}

static void put_end(struct rps_verify *verify)
{
    static const char *const name[] = {"compared_count", "right_count", "interval_count",
                                       "held_count"};
    const int count[] = {verify->rows, verify->right, verify->intervals, verify->held};
    struct rps_block *end;

    for (size_t i = 0; i < RPS_COUNT(name); i++)
        rps_put_int(rps_document_field(&verify->document, name[i], RPS_VALUE_INT), count[i], 1);
    if (verify->cli->quiet)
        return;
    end = rps_document_block(&verify->document, NULL, NULL, 0);
    end->place = 3;
    rps_block_line(end, "%d of %d within tolerance", verify->right, verify->rows);
    if (verify->intervals > 0)
        rps_block_line(end,
                       "%d of %d intervals contain the count of the whole time (95 of 100 should)",
                       verify->held, verify->intervals);
}

/* Run the whole verification. Returns the exit status, or negative. */
static int verify_here(struct rps_verify *verify, const struct settings *settings,
                       struct rps_error *err)
{
    int rc = verify_all(verify, settings, err);

    if (rc < 0)
        return rc;
    if (verify->rows == 0)
        return rps_error_set(err, RPS_FAILED,
                             "none of these events has a prediction; give them roles, as in "
                             "`rpistat events --explain`");
    return verify->right == verify->rows ? 0 : 1;
}

static int run_verify(struct rps_cli *cli)
{
    static const struct rps_column pmus[] = {
        {.name = "pmu"},    {.name = "usable", .kind = RPS_VALUE_BOOL},
        {.name = "reason"}, {.name = "plan"},
        {.name = "title"},  {.name = "counters", .kind = RPS_VALUE_INT},
        {.name = "clock"},
    };
    static const struct rps_column not_compared[] = {
        {.name = "pmu"},    {.name = "name"},
        {.name = "label"},  {.name = "countable", .kind = RPS_VALUE_BOOL},
        {.name = "reason"},
    };
    const struct settings *settings = cli->settings;
    struct rps_verify verify = {.cli = cli,
                                .document = {.arena = cli->arena, .csv = "comparisons"}};
    int result;

    verify.pmus = rps_document_block(&verify.document, "pmus", pmus, 7);
    verify.not_compared = rps_document_block(&verify.document, "not_compared", not_compared, 5);
    verify.not_compared->place = 2;
    rps_progress_begin(cli, "comparing");
    result = verify_here(&verify, settings, &cli->err);
    rps_progress_end(cli);
    put_end(&verify);
    if (result >= 0)
        rps_format_document(cli, &verify.document, settings->format);
    return result;
}

const struct rps_command rps_command_verify = {
    .name = "verify",
    .summary = "check the counters with workloads of known counts",
    .answers = "Do the counters of this machine count correctly?",
    .usage = "[OPTIONS]",
    .description =
        "Run small workloads whose counts are known, and compare the counters with them.\n"
        "Then compare estimates from rotating event sets with counts of the whole time.\n"
        "This takes some seconds; an idle machine is best. The exit status is 1 if an\n"
        "error exceeds its tolerance. With -q, only such errors are printed.",
    .examples = "  rpistat verify\n"
                "  rpistat verify --sets ./mine.ini --format csv -o verify.csv",
    .counts = 1,
    .options = RPS_OPTIONS(options),
    .settings_size = sizeof(struct settings),
    .check = check_verify,
    .run = run_verify,
};
