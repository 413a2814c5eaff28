/* `rpistat events`: what was found, for people. */
#include <string.h>

#include "events.h"
#include "rpistat/text.h"

#define TEXT_WIDTH     96 /* columns of explanations, unless the terminal has fewer */
#define ENCODING_WIDTH 20

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
    char encoding[RPS_EVENTS_ENCODING_SIZE];

    if (!rps_events_encoding(encoding, event)[0])
        strcpy(encoding, "-");
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

static void widen(int *width, const char *text)
{
    int length = (int)strlen(text);

    *width = length > *width ? length : *width;
}

/* How the sets would be counted: the clock event, the counters, what is merged or split. */
static void print_fitting(const struct rps_cli *cli, const struct rps_events_document *document)
{
    const struct rps_fitting *fitting = &document->fitting;
    char text[RPS_NAME_SIZE * 2], lines[sizeof(fitting->text)], count[32] = "", *save = NULL;

    if (!document->is_fitted)
        return;
    if (fitting->counter_count >= 0)
        snprintf(count, sizeof(count), "%d at a time ", fitting->counter_count);
    snprintf(text, sizeof(text), "Counted by %s, %sbeside %s", document->backend->pmu->name, count,
             document->clock);
    print_text(cli, 2, text);
    memcpy(lines, fitting->text, sizeof(lines));
    for (char *line = strtok_r(lines, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save))
        print_text(cli, 4, line);
}

static void print_set(const struct rps_cli *cli, const struct rps_event_set *set, const int *width,
                      int explain)
{
    fputs("  Set ", cli->out);
    rps_text_print(cli->out, set->name);
    fputs(set->on_request ? ", not by default: for a scenario, or by name with -e\n" : "\n",
          cli->out);
    if (explain)
        print_text(cli, 4, set->explain);
    for (int s = 0; s < set->event_count; s++) {
        print_event(cli, width[0], width[1], &set->event[s]);
        if (explain)
            print_text(cli, 8, set->event[s].explain);
    }
}

static void print_document(const struct rps_cli *cli, const struct rps_events_document *document,
                           int explain)
{
    const struct rps_backend *backend = document->backend;
    const struct rps_plan *plan = document->plan;
    int width[2] = {0, 0};

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
        print_fitting(cli, document);
    else
        print_text(cli, 2, "Counted by nothing here:");
    if (backend != NULL && backend->self == NULL)
        print_text(cli, 4, backend->err.message);
    for (int n = 0; n < plan->set_count; n++)
        print_set(cli, &plan->set[n], width, explain);
    if (explain)
        print_metrics(cli, plan);
}

static void print_documents(const struct rps_cli *cli, const struct rps_events_found *found)
{
    char others[512] = "";

    print_backends(cli, found->machine);
    for (int i = 0; i < found->document_count; i++)
        print_document(cli, &found->document[i], found->explain);
    for (int i = 0; i < found->other_count; i++) {
        size_t used = strlen(others);

        snprintf(others + used, sizeof(others) - used, " %s", found->other[i]);
    }
    if (found->other_count > 0) {
        fputs("\nEvent sets for other processors ('rpistat events --sets NAME' shows one)\n",
              cli->out);
        print_text(cli, 2, others);
    }
}

static void print_names(const struct rps_cli *cli, const struct rps_events_found *found)
{
    int width[2] = {0, 0}, differs = 0;

    for (int i = 0; i < found->event_count; i++) {
        differs |= strcmp(found->event[i].name, found->event[i].spec) != 0;
        widen(&width[0], found->event[i].name);
        widen(&width[1], found->event[i].spec);
    }
    width[1] = differs ? width[1] : 0;
    for (int i = 0; i < found->event_count; i++) {
        print_event(cli, width[0], width[1], &found->event[i]);
        print_text(cli, 8, found->event[i].explain);
    }
}

void rps_events_print(const struct rps_cli *cli, const struct rps_events_found *found)
{
    if (found->event)
        print_names(cli, found);
    else
        print_documents(cli, found);
}
