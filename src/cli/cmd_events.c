/* `rpistat events`: the events that can be counted on this machine. The backend tries every event,
 * because a table per processor model would be wrong in virtual machines and containers. */
#include <string.h>

#include "machine.h"
#include "cli.h"
#include "rpistat/clock.h"
#include "rpistat/plan.h"

#define CPUINFO "/proc/cpuinfo"

struct settings {
    const char *sets; /* name of a document; NULL: all documents that come with rpistat */
    const char *pmu;
    int explain;
    enum rps_format format;
};

#define AT(member) RPS_AT(struct settings, member)

static const struct rps_option options[] = {
    {"sets", 0, "NAME", "list only these event sets: a name, or an .ini file", NULL,
     RPS_OPTION_TEXT, AT(sets), .names = rps_plan_names},
    {"pmu", 0, "NAME", "auto, hardware, software or sim:SCRIPT", "auto", RPS_OPTION_TEXT, AT(pmu),
     .words = "auto hardware software sim:"},
    {"explain", 0, NULL, "explain each event and metric", NULL, RPS_OPTION_FLAG, AT(explain)},
    RPS_FORMAT_OPTION(AT(format)),
    {NULL},
};

/* --- documents -------------------------------------------------------------------------------- */

/* Fit the document to the counters as a recording does, if possible. RPS_FAILED without memory. */
static int fit(struct rps_events_document *document, const char *name, struct rps_error *err)
{
    const struct rps_backend *backend = document->backend;
    struct rps_plan *plan = NULL;
    struct rps_error why;
    int result;

    if (backend == NULL || backend->self == NULL)
        return 0;
    result = rps_plan_load(name, &plan, &why);
    if (result == 0)
        rps_plan_keep_default(plan);
    if (result == 0)
        result = rps_pmu_prepare(backend->pmu, backend->self, plan, 1, &document->fitting, &why);
    if (result == 0)
        memcpy(document->clock, plan->clock.label, sizeof(document->clock));
    document->is_fitted = result == 0;
    rps_plan_free(plan);
    return result < 0 && rps_error_is_memory(&why) ? rps_error_memory(err) : 0;
}

static int add_document(struct rps_events_found *found, struct rps_machine *machine,
                        const char *name, struct rps_error *err)
{
    struct rps_events_document *document = &found->document[found->document_count++];
    struct rps_backend *backend;
    int result = rps_plan_load(name, &document->plan, err);

    if (result < 0)
        return result;
    document->backend = backend = rps_machine_backend(machine, document->plan);
    result = fit(document, name, err);
    for (int n = 0; n < document->plan->set_count && result == 0; n++) {
        struct rps_event_set *set = &document->plan->set[n];

        for (int s = 0; s < set->event_count && result == 0; s++)
            result = rps_machine_try_event(backend, &set->event[s], err);
    }
    return result;
}

/* Return 1 if the document is for this machine's or any processor; RPS_FAILED without memory. */
static int is_for_this(const char *name, struct rps_error *err)
{
    struct rps_plan *plan = NULL;
    int fits;

    if (rps_plan_load(name, &plan, err) < 0)
        return rps_error_is_memory(err) ? RPS_FAILED : 1; /* other errors are reported later */
    fits = rps_plan_matches(plan, CPUINFO, NULL);
    rps_plan_free(plan);
    return fits;
}

/* Find the system metrics of packages, from the first backend that has metrics of packages. */
static void find_packages(struct rps_events_found *found, const struct rps_machine *machine)
{
    static const int cpu = 0;
    const struct rps_system_options asked = {
        .machine = 1, .package = 1, .period_ns = RPS_NS_PER_S, .budget = 1};
    const struct rps_target target = {.kind = RPS_TARGET_CPUS, .cpu = &cpu, .cpu_count = 1};

    for (int i = 0; i < machine->count && !found->has_packages; i++) {
        const struct rps_backend *backend = &machine->backend[i];
        struct rps_system_reader reader;

        if (!backend->self || !backend->pmu->open_system ||
            backend->pmu->open_system(backend->self, &asked, &target, &reader, NULL) < 0)
            continue;
        reader.state(reader.self, RPS_SYSTEM_PACKAGE, &found->packages);
        reader.close(reader.self);
        found->has_packages = 1;
    }
}

static int find_documents(struct rps_arena *arena, struct rps_events_found *found,
                          struct rps_machine *machine, const char *sets, struct rps_error *err)
{
    const char *const *names = rps_plan_names();
    size_t count = 0;
    int result = 0;

    while (names[count] != NULL)
        count++;
    found->document = rps_arena_get(arena, count + 1, sizeof(*found->document));
    found->other = rps_arena_get(arena, count, sizeof(*found->other));
    if (sets != NULL)
        return add_document(found, machine, sets, err);
    find_packages(found, machine);
    for (size_t i = 0; i < count && result == 0; i++) {
        result = is_for_this(names[i], err);
        if (result > 0)
            result = add_document(found, machine, names[i], err);
        else if (result == 0)
            found->other[found->other_count++] = names[i];
    }
    return result;
}

/* --- single names ----------------------------------------------------------------------------- */

/* Find the event with this ID or role in the default plan of a recording with these counters. */
static int find_in_plan(const struct rps_pmu *pmu, const char *name, struct rps_event *ret)
{
    const struct rps_event *event = NULL;
    struct rps_plan *plan = NULL;

    if (rps_pmu_load_plan(pmu, NULL, &plan, NULL) < 0)
        return 0;
    event = rps_plan_role(plan, name, NULL, NULL);
    for (int n = 0; n < plan->set_count && event == NULL; n++) {
        for (int s = 0; s < plan->set[n].event_count; s++) {
            if (strcmp(plan->set[n].event[s].name, name) == 0)
                event = &plan->set[n].event[s];
        }
    }
    if (event != NULL)
        *ret = *event;
    rps_plan_free(plan);
    return event != NULL;
}

/* Try one name with every backend until a backend can count the event. RPS_USAGE if the name is not
 * that of an event. */
static int try_name(struct rps_machine *machine, const char *name, struct rps_event *ret,
                    struct rps_error *err)
{
    int known = 0, result = 0;

    memset(ret, 0, sizeof(*ret));
    for (int i = 0; i < machine->count && (!known || ret->state != RPS_EVENT_MEASURED); i++) {
        struct rps_backend *backend = &machine->backend[i];
        struct rps_event tried = {.state = RPS_EVENT_UNSUPPORTED};

        if (!find_in_plan(backend->pmu, name, &tried))
            snprintf(tried.spec, sizeof(tried.spec), "%s", name);
        result = rps_machine_try_event(backend, &tried, err);
        if (result < 0)
            continue;
        if (tried.state != RPS_EVENT_MEASURED && tried.reason[0] == '\0')
            snprintf(tried.reason, sizeof(tried.reason), "%.*s", RPS_REASON_SIZE - 1,
                     backend->err.message);
        if (!known || tried.state == RPS_EVENT_MEASURED)
            *ret = tried;
        known = 1;
    }
    if (!known)
        return result;
    snprintf(ret->name, sizeof(ret->name), "%.*s", RPS_NAME_SIZE - 1, name);
    return 0;
}

/* Try the requested events with the backends. Returns the worst exit status of all events. */
static int find_names(struct rps_cli *cli, struct rps_events_found *found,
                      struct rps_machine *machine)
{
    int status = 0;

    found->event = rps_arena_get(cli->arena, (size_t)cli->argc, sizeof(*found->event));
    for (int i = 0; i < cli->argc; i++) {
        struct rps_event *event = &found->event[found->event_count];

        if (try_name(machine, cli->argv[i], event, &cli->err) < 0) {
            rps_output_message(cli->err.message);
            status = 2;
            continue;
        }
        found->event_count++;
        if (event->state != RPS_EVENT_MEASURED && status == 0)
            status = 1;
    }
    return status;
}

static int run(struct rps_cli *cli)
{
    const struct settings *settings = cli->settings;
    struct rps_document document = {.arena = cli->arena};
    struct rps_machine machine;
    struct rps_events_found found = {.machine = &machine, .explain = settings->explain};
    int result = rps_machine_open(&machine, settings->pmu, &cli->err);

    if (result < 0)
        return result;
    result = cli->argc > 0
                 ? find_names(cli, &found, &machine)
                 : find_documents(cli->arena, &found, &machine, settings->sets, &cli->err);
    if (result >= 0) {
        rps_events_blocks(&document, &found);
        rps_format_document(cli, &document, settings->format);
    }
    for (int i = 0; i < found.document_count; i++)
        rps_plan_free(found.document[i].plan);
    rps_machine_close(&machine);
    return result;
}

const struct rps_command rps_command_events = {
    .name = "events",
    .summary = "list the events that this machine can count",
    .answers = "Which events can this machine count, and why not the others?",
    .usage = "[OPTIONS] [NAME...]",
    .description =
        "List the event sets and their events, how each is encoded, and whether this\n"
        "machine can count it. With NAME, list only these events. The exit status is 1 if\n"
        "one of them cannot be counted, and 2 if it does not exist.",
    .examples = "  rpistat events --explain\n"
                "  rpistat events instructions r00c0 sched:sched_switch\n"
                "  rpistat events --format json",
    .counts = 1,
    .operand_max = -1,
    .options = RPS_OPTIONS(options),
    .settings_size = sizeof(struct settings),
    .run = run,
};
