/*
 * `rpistat events`: what can be counted here. Every event is really tried with the backend that
 * would count it; a table of what a processor should have would be wrong in virtual machines and
 * containers.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "machine.h"
#include "rpistat/plan.h"
#include "rpistat/pmu.h"
#include "rpistat/text.h"

#define CPUINFO        "/proc/cpuinfo"
#define TEXT_WIDTH     96 /* columns of explanations, unless the terminal has fewer */
#define ENCODING_SIZE  128
#define ENCODING_WIDTH 20

enum {
    OPTION_SETS = RPS_OPTION_OWN,
    OPTION_PMU,
    OPTION_EXPLAIN,
};

struct settings {
    const char *sets; /* NULL: all documents that come with rpistat */
    const char *pmu;
    int explain;
};

static const struct rps_option options[] = {
    {"sets", OPTION_SETS, "NAME", "only these event sets: a name, or a .ini file", NULL},
    {"pmu", OPTION_PMU, "NAME", "auto, hardware, software or sim:SCRIPT", "auto",
     "auto hardware software sim:"},
    {"explain", OPTION_EXPLAIN, NULL, "say what each event and figure means", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static int set_option(struct rps_cli *cli, int letter, const char *argument)
{
    struct settings *settings = cli->settings;

    if (letter == OPTION_SETS)
        settings->sets = argument;
    else if (letter == OPTION_PMU)
        settings->pmu = argument;
    else
        settings->explain = 1;
    return 0;
}

/* --- text ------------------------------------------------------------------------------------- */

static void print_text(const struct rps_cli *cli, int indent, const char *text)
{
    char printable[2 * RPS_EXPLAIN_SIZE];
    int limit = TEXT_WIDTH, column = 0, columns;
    const char *word;

    if (cli->out == stdout && rps_output_terminal(&columns, NULL) && columns < limit)
        limit = columns;
    rps_text_printable(printable, sizeof(printable), text);
    for (word = printable + strspn(printable, " "); *word != '\0'; word += strspn(word, " ")) {
        int length = (int)strcspn(word, " ");

        if (column > 0 && column + 1 + length > limit) {
            fputc('\n', cli->out);
            column = 0;
        }
        if (column == 0)
            column = fprintf(cli->out, "%*s%.*s", indent, "", length, word);
        else
            column += fprintf(cli->out, " %.*s", length, word);
        word += length;
    }
    if (column > 0)
        fputc('\n', cli->out);
}

/* "hardware 0x1", "pmu 11 0x3c", with config1 and config2 where they are used. */
static void format_encoding(char *ret, const struct rps_event *event)
{
    static const char *const type_name[] = {"hardware", "software", "tracepoint", "cache", "raw"};
    char type[32];
    int length;

    if (event->type < sizeof(type_name) / sizeof(type_name[0]))
        snprintf(type, sizeof(type), "%s", type_name[event->type]);
    else
        snprintf(type, sizeof(type), "pmu %" PRIu32, event->type);
    length = snprintf(ret, ENCODING_SIZE, "%s 0x%" PRIx64, type, event->config);
    if (event->config1 != 0 || event->config2 != 0)
        snprintf(ret + length, ENCODING_SIZE - (size_t)length, ",0x%" PRIx64 ",0x%" PRIx64,
                 event->config1, event->config2);
}

/* Text of a document, safe for a terminal, in a column. */
static void print_cell(const struct rps_cli *cli, int width, const char *text)
{
    char printable[2 * RPS_SPEC_SIZE];

    fprintf(cli->out, "%-*s  ", width, rps_text_printable(printable, sizeof(printable), text));
}

/* spec_width 0: without the column of what was asked for. */
static void print_event(const struct rps_cli *cli, int name_width, int spec_width,
                        const struct rps_event *event)
{
    char encoding[ENCODING_SIZE] = "-";

    if (event->state == RPS_EVENT_MEASURED || event->type != 0 || event->config != 0)
        format_encoding(encoding, event);
    fputs("    ", cli->out);
    print_cell(cli, name_width, event->name);
    if (spec_width > 0)
        print_cell(cli, spec_width, event->spec);
    print_cell(cli, ENCODING_WIDTH, encoding);
    fputs(event->state == RPS_EVENT_MEASURED ? "yes" : "no", cli->out);
    if (event->state != RPS_EVENT_MEASURED && event->reason[0] != '\0') {
        fputs(": ", cli->out);
        rps_text_print(cli->out, event->reason);
    } else if (event->state == RPS_EVENT_MEASURED && strcmp(event->modifiers, "u") == 0) {
        fputs(", without the kernel", cli->out);
    } else if (event->state == RPS_EVENT_MEASURED && strcmp(event->modifiers, "k") == 0) {
        fputs(", only the kernel", cli->out);
    }
    fputc('\n', cli->out);
}

static void print_backends(const struct rps_cli *cli, const struct rps_machine *machine)
{
    fputs("Counters\n", cli->out);
    for (int i = 0; i < machine->count; i++) {
        const struct rps_backend *backend = &machine->backend[i];

        fprintf(cli->out, "  %-10s  %-3s  %s\n", backend->pmu->name,
                backend->self != NULL ? "yes" : "no", backend->pmu->summary);
        if (backend->self == NULL)
            print_text(cli, 19, backend->err.message);
    }
}

static void print_metrics(const struct rps_cli *cli, const struct rps_plan *plan)
{
    fputs("  Figures derived from them\n", cli->out);
    for (int m = 0; m < plan->metric_count; m++) {
        const struct rps_metric *metric = &plan->metric[m];

        fputs("    ", cli->out);
        rps_text_print(cli->out, metric->label);
        fputs(metric->unit[0] != '\0' ? ", " : "", cli->out);
        rps_text_print(cli->out, metric->unit);
        fputs(" = ", cli->out);
        rps_text_print(cli->out, metric->formula_text);
        fputc('\n', cli->out);
        print_text(cli, 8, metric->explain);
    }
}

/* --- documents -------------------------------------------------------------------------------- */

static void widen(int *width, const char *text)
{
    int length = (int)strlen(text);

    *width = length > *width ? length : *width;
}

/* How the sets would be counted: the clock event, the counters, what is merged or split. What
 * cannot be is left out; RPS_FAILED without memory. */
static int print_fitting(const struct rps_cli *cli, const struct rps_backend *backend,
                         const char *plan_name, struct rps_error *err)
{
    struct rps_error why;
    int result;

    struct rps_plan *plan = NULL;
    struct rps_fitting fitting;
    char text[RPS_NAME_SIZE * 2], count[32] = "", *save = NULL;

    result = rps_plan_load(plan_name, &plan, &why);
    if (result == 0)
        rps_plan_keep_default(plan);
    if (result == 0)
        result = rps_pmu_prepare(backend->pmu, backend->self, plan, 1, &fitting, &why);
    if (result == 0) {
        if (fitting.counter_count >= 0)
            snprintf(count, sizeof(count), "%d at a time ", fitting.counter_count);
        snprintf(text, sizeof(text), "Counted by %s, %sbeside %s", backend->pmu->name, count,
                 plan->clock.label);
        print_text(cli, 2, text);
        for (char *line = strtok_r(fitting.text, "\n", &save); line != NULL;
             line = strtok_r(NULL, "\n", &save))
            print_text(cli, 4, line);
    }
    rps_plan_free(plan);
    return result < 0 && rps_error_is_memory(&why) ? rps_error_memory(err) : 0;
}

static int print_set(const struct rps_cli *cli, struct rps_backend *backend,
                     struct rps_event_set *set, const int *width, struct rps_error *err)
{
    const struct settings *settings = cli->settings;
    int result = 0;

    fputs("  Set ", cli->out);
    rps_text_print(cli->out, set->name);
    fputs(set->on_request ? ", not by default: for a scenario, or by name with -e\n" : "\n",
          cli->out);
    if (settings->explain)
        print_text(cli, 4, set->explain);
    for (int s = 0; s < set->event_count && result == 0; s++) {
        result = rps_machine_try_event(backend, &set->event[s], err);
        if (result == 0)
            print_event(cli, width[0], width[1], &set->event[s]);
        if (result == 0 && settings->explain)
            print_text(cli, 8, set->event[s].explain);
    }
    return result;
}

static int print_plan(const struct rps_cli *cli, struct rps_machine *machine, const char *name,
                      struct rps_plan *plan, struct rps_error *err)
{
    const struct settings *settings = cli->settings;
    struct rps_backend *backend = rps_machine_backend(machine, plan);
    int width[2] = {0, 0}, result = 0;

    for (int n = 0; n < plan->set_count; n++) {
        for (int s = 0; s < plan->set[n].event_count; s++) {
            widen(&width[0], plan->set[n].event[s].name);
            widen(&width[1], plan->set[n].event[s].spec);
        }
    }
    fputs("\nEvent sets ", cli->out);
    rps_text_print(cli->out, plan->name);
    fputs(": ", cli->out);
    rps_text_print(cli->out, plan->title);
    fputc('\n', cli->out);
    print_text(cli, 2, plan->explain);
    if (backend != NULL && backend->self != NULL)
        result = print_fitting(cli, backend, name, err);
    else
        print_text(cli, 2, "Counted by nothing here:");
    if (backend != NULL && backend->self == NULL)
        print_text(cli, 4, backend->err.message);
    for (int n = 0; n < plan->set_count && result == 0; n++)
        result = print_set(cli, backend, &plan->set[n], width, err);
    if (result == 0 && settings->explain)
        print_metrics(cli, plan);
    return result;
}

/* alone: 1 when it is all that is listed; nothing is printed of sets that there are not. */
static int list_plan(struct rps_cli *cli, struct rps_machine *machine, const char *name, int alone)
{
    struct rps_plan *plan = NULL;
    int result = rps_plan_load(name, &plan, &cli->err);

    if (result == 0 && alone)
        print_backends(cli, machine);
    if (result == 0)
        result = print_plan(cli, machine, name, plan, &cli->err);
    rps_plan_free(plan);
    return result;
}

/* 1 when the document is for this machine's processor, or for any; RPS_FAILED without memory. */
static int is_for_this(const char *name, struct rps_error *err)
{
    struct rps_plan *plan = NULL;
    int fits;

    if (rps_plan_load(name, &plan, err) < 0)
        return rps_error_is_memory(err) ? RPS_FAILED : 1; /* said when it is listed */
    fits = rps_plan_matches(plan, CPUINFO, NULL);
    rps_plan_free(plan);
    return fits;
}

static int list_all(struct rps_cli *cli, struct rps_machine *machine)
{
    const struct settings *settings = cli->settings;
    const char *const *names = rps_plan_names();
    char others[512] = "";
    int result = 0;

    if (settings->sets != NULL)
        return list_plan(cli, machine, settings->sets, 1);
    print_backends(cli, machine);
    for (int i = 0; names[i] != NULL && result == 0; i++) {
        size_t used = strlen(others);

        result = is_for_this(names[i], &cli->err);
        if (result > 0)
            result = list_plan(cli, machine, names[i], 0);
        else if (result == 0)
            snprintf(others + used, sizeof(others) - used, " %s", names[i]);
    }
    if (result == 0 && others[0] != '\0') {
        fputs("\nEvent sets for other processors ('rpistat events --sets NAME' shows one)\n",
              cli->out);
        print_text(cli, 2, others + 1);
    }
    return result;
}

/* --- single names ----------------------------------------------------------------------------- */

/* The event that the document recorded with these counters knows by this ID or role, if any. */
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

/* Try one name with every backend until one counts it. RPS_USAGE when it is no event's name. */
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

/* The events asked for. Returns the exit status: the worst of theirs. */
static int list_names(struct rps_cli *cli, struct rps_machine *machine, int count, char **name)
{
    struct rps_event *event = calloc((size_t)count, sizeof(*event));
    int *result = calloc((size_t)count, sizeof(*result));
    int width[2] = {0, 0}, differs = 0, status = 0;

    if (event == NULL || result == NULL) {
        status = rps_error_memory(&cli->err);
        goto out;
    }
    for (int i = 0; i < count; i++) {
        result[i] = try_name(machine, name[i], &event[i], &cli->err);
        if (result[i] < 0) {
            rps_output_message(cli->err.message);
            status = 2;
            continue;
        }
        differs |= strcmp(event[i].name, event[i].spec) != 0;
        widen(&width[0], event[i].name);
        widen(&width[1], event[i].spec);
    }
    width[1] = differs ? width[1] : 0;
    for (int i = 0; i < count; i++) {
        if (result[i] < 0)
            continue;
        print_event(cli, width[0], width[1], &event[i]);
        print_text(cli, 8, event[i].explain);
        if (event[i].state != RPS_EVENT_MEASURED && status == 0)
            status = 1;
    }
out:
    free(result);
    free(event);
    return status;
}

static int run(struct rps_cli *cli, int argc, char **argv)
{
    const struct settings *settings = cli->settings;
    struct rps_machine machine;
    int result = rps_machine_open(&machine, settings->pmu, &cli->err);

    if (result < 0)
        return result;
    result = argc > 0 ? list_names(cli, &machine, argc, argv) : list_all(cli, &machine);
    rps_machine_close(&machine);
    return result;
}

const struct rps_command rps_command_events = {
    .name = "events",
    .summary = "what can be counted on this machine",
    .usage = "[OPTIONS] [NAME...]",
    .description =
        "List what can count, the event sets with their events, how each is encoded, and\n"
        "whether it can be counted here; or only the events NAME. The exit status is 1\n"
        "when one of these cannot be counted, and 2 when there is no such event.",
    .examples = "  rpistat events --explain\n"
                "  rpistat events instructions r00c0 sched:sched_switch",
    .input = RPS_INPUT_NONE,
    .counts = 1,
    .output = RPS_OUTPUT_STREAM,
    .output_help = "file to write",
    .operand_max = -1,
    .options = options,
    .settings_size = sizeof(struct settings),
    .option = set_option,
    .run = run,
};
