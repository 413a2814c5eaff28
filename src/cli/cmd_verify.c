/*
 * `rpistat verify`: do this machine's counters count what they are said to?
 *
 * Workloads whose counts are known beforehand are counted by every backend there is
 * (verify_count.c), and compared (verify_compare.c).
 *
 * Counters are taken without the kernel where they can be, because only the program's own side of a
 * count is predictable.
 */
#include <stdlib.h>
#include <string.h>

#include "format.h"
#include "rpistat/text.h"
#include "verify.h"

struct settings {
    const char *sets; /* NULL: what a recording would count */
    const char *pmu;
    enum rps_format format;
};

#define AT(member) RPS_AT(struct settings, member)

static const struct rps_option options[] = {
    {"sets", 0, "NAME", "the event sets to verify: a name, or a .ini file", NULL, RPS_OPTION_TEXT,
     AT(sets), .names = rps_plan_names},
    {"pmu", 0, "NAME", "auto (all there are), hardware or software", "auto", RPS_OPTION_TEXT,
     AT(pmu), .words = "auto hardware software"},
    {"format", 0, "FORMAT", "text, json or csv", "text", RPS_OPTION_CHOICE, AT(format),
     .words = RPS_FORMATS},
    {NULL},
};

/* --- one backend ------------------------------------------------------------------------------ */

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

/* Load what a recording with this backend would count, and fit it. */
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
    if (rc < 0)
        return rc;
    verify->judged = calloc((size_t)verify->plan->set_count + 1, sizeof(*verify->judged));
    return verify->judged ? 0 : rps_error_memory(err);
}

/* What was not verified, and why. */
static void print_rest(const struct rps_verify *verify)
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

/* The same for programs: why they were not compared. */
static void write_rest(const struct rps_verify *verify)
{
    struct rps_rows *rows = verify->rows_out;

    rps_rows_begin(rows, "not_compared");
    for (int n = 0; n < verify->plan->set_count; n++) {
        for (int s = 0; s < verify->plan->set[n].event_count; s++) {
            const struct rps_event *event = &verify->plan->set[n].event[s];
            int is_measured = event->state == RPS_EVENT_MEASURED;

            if (is_measured && verify->judged[n] >> s & 1)
                continue;
            rps_rows_row(rows);
            rps_rows_text(rows, "name", event->name);
            rps_rows_text(rows, "label", event->label);
            rps_rows_bool(rows, "countable", is_measured, 1);
            rps_rows_text(rows, "reason", is_measured ? "without a prediction" : event->reason);
            rps_rows_end_row(rows);
        }
    }
    rps_rows_end(rows);
}

static void print_backend(const struct rps_verify *verify, const struct rps_fitting *fitting)
{
    const struct rps_cli *cli = verify->cli;

    fprintf(cli->out, "%sCounted by %s: ", verify->rows > 0 ? "\n" : "", verify->pmu->name);
    rps_text_print(cli->out, verify->plan->title);
    if (fitting->counter_count >= 0)
        fprintf(cli->out, ", %d at a time", fitting->counter_count);
    fprintf(cli->out, ", beside %s\n", verify->plan->clock.label);
}

static int compare_backend(struct rps_verify *verify, struct rps_error *err)
{
    int rc = rps_verify_predictions(verify, err);

    if (rc == 0 && verify->pmu == &rps_pmu_hardware)
        rc = rps_verify_rotation(verify, err);
    return rc;
}

/* As an object of JSON, or as rows of CSV. */
static int write_backend(struct rps_verify *verify, const struct rps_fitting *fitting,
                         struct rps_error *err)
{
    struct rps_rows *rows = verify->rows_out;
    int rc;

    if (!rows->json)
        return compare_backend(verify, err);
    rps_json_object(rows->json, NULL);
    rps_rows_text(rows, "pmu", verify->pmu->name);
    rps_rows_bool(rows, "usable", 1, 1);
    rps_rows_text(rows, "reason", NULL);
    rps_rows_text(rows, "plan", verify->plan->name);
    rps_rows_text(rows, "title", verify->plan->title);
    rps_rows_int(rows, "counters", fitting->counter_count, fitting->counter_count >= 0);
    rps_rows_text(rows, "clock", verify->plan->clock.label);
    rps_rows_begin(rows, "comparisons");
    rc = compare_backend(verify, err);
    rps_rows_end(rows);
    write_rest(verify);
    rps_json_end(rows->json);
    return rc;
}

static int print_comparisons(struct rps_verify *verify, const struct rps_fitting *fitting,
                             struct rps_error *err)
{
    int rc;

    if (!verify->cli->quiet)
        print_backend(verify, fitting);
    rc = compare_backend(verify, err);
    if (rc == 0 && !verify->cli->quiet)
        print_rest(verify);
    return rc;
}

static int verify_backend(struct rps_verify *verify, const struct rps_pmu *pmu, const char *sets,
                          struct rps_error *err)
{
    struct rps_fitting fitting = {.counter_count = -1};
    int rc;

    verify->pmu = pmu;
    rc = prepare(verify, sets, &fitting, err);
    if (rc == 0)
        rc = verify->rows_out ? write_backend(verify, &fitting, err)
                              : print_comparisons(verify, &fitting, err);
    rps_plan_free(verify->plan);
    free(verify->judged);
    verify->plan = NULL;
    verify->judged = NULL;
    return rc;
}

static void tell_unusable(const struct rps_verify *verify, const struct rps_pmu *pmu,
                          const char *reason)
{
    struct rps_rows *rows = verify->rows_out;

    if (rows && rows->json) {
        rps_rows_row(rows);
        rps_rows_text(rows, "pmu", pmu->name);
        rps_rows_bool(rows, "usable", 0, 1);
        rps_rows_text(rows, "reason", reason);
        rps_rows_end_row(rows);
    } else if (!rows && !verify->cli->quiet) {
        fprintf(verify->cli->out, "%s\n", reason);
    }
}

/* Every backend that is there, or the one that was named. */
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
            tell_unusable(verify, pmu, err->message);
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
                         "--pmu %s: there are no such real counters; take auto, hardware or "
                         "software",
                         settings->pmu);
}

static void print_end(const struct rps_verify *verify)
{
    FILE *out = verify->cli->out;

    fprintf(out, "\n%d of %d within tolerance\n", verify->right, verify->rows);
    if (verify->intervals > 0)
        fprintf(out, "%d of %d intervals hold the count of all the time (95 in 100 should)\n",
                verify->held, verify->intervals);
}

static void put_end(const struct rps_verify *verify)
{
    struct rps_rows *rows = verify->rows_out;

    rps_rows_int(rows, "compared_count", verify->rows, 1);
    rps_rows_int(rows, "right_count", verify->right, 1);
    rps_rows_int(rows, "interval_count", verify->intervals, 1);
    rps_rows_int(rows, "held_count", verify->held, 1);
}

/* The verification, to its end. Returns the exit status, or negative. */
static int verify_here(struct rps_verify *verify, const struct settings *settings,
                       struct rps_error *err)
{
    int rc = verify_all(verify, settings, err);

    if (rc < 0)
        return rc;
    if (verify->rows == 0)
        return rps_error_set(err, RPS_FAILED,
                             "none of these events has a prediction: give them roles, as 'rpistat "
                             "events --explain' shows them");
    return verify->right == verify->rows ? 0 : 1;
}

static int write_verify_rows(struct rps_verify *verify, const struct settings *settings,
                             struct rps_error *err)
{
    const struct rps_event no_event = {.name = ""};
    const struct rps_verify_comparison nothing = {.slot = 0};
    struct rps_rows *rows = verify->rows_out;
    int result;

    if (rps_rows_open(rows, verify->cli->out, settings->format, err) < 0)
        return RPS_FAILED;
    if (rps_rows_begin(rows, "pmus"))
        rps_verify_put_row(rows, NULL, NULL, &no_event, &nothing);
    result = verify_here(verify, settings, err);
    rps_rows_end(rows);
    put_end(verify);
    return rps_rows_close(rows, result, err);
}

static int run_verify(struct rps_cli *cli, int argc, char **argv)
{
    const struct settings *settings = cli->settings;
    struct rps_rows rows = {.json = NULL};
    struct rps_verify verify = {
        .cli = cli,
        .rows_out = settings->format == RPS_FORMAT_TEXT ? NULL : &rows,
    };
    int result;

    (void)argc;
    (void)argv;
    if (verify.rows_out)
        return write_verify_rows(&verify, settings, &cli->err);
    result = verify_here(&verify, settings, &cli->err);
    if (result >= 0 && !cli->quiet)
        print_end(&verify);
    return result;
}

const struct rps_command rps_command_verify = {
    .name = "verify",
    .summary = "this machine's counters against workloads of known counts",
    .usage = "[OPTIONS]",
    .description =
        "Run small workloads whose counts are known beforehand, and compare what this\n"
        "machine's counters say; then estimates from event sets in turns with counts of\n"
        "all the time, and how many of their intervals hold these. Takes some seconds,\n"
        "best on an idle machine; what comes out wrong is tried twice more. The exit\n"
        "status is 1 when an error is larger than its tolerance; with -q only those are\n"
        "printed.",
    .examples = "  rpistat verify\n"
                "  rpistat verify --sets ./mine.ini --format csv -o verify.csv",
    .input = RPS_INPUT_NONE,
    .counts = 1,
    .output = RPS_OUTPUT_STREAM,
    .output_help = "file to write",
    .options = options,
    .settings_size = sizeof(struct settings),
    .check = check_verify,
    .run = run_verify,
};
