/*
 * The lines of the report. Text from the store is printed with its control characters escaped.
 */
#include <string.h>

#include "rpistat/report_parts.h"
#include "rpistat/text.h"
#include "rpistat/words.h"

/* The flag ' is POSIX's, not ISO C's. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat"
char *rps_report_count(char *ret, uint64_t count)
{
    snprintf(ret, RPS_REPORT_NUMBER_SIZE, "%'llu", (unsigned long long)count);
    return ret;
}

char *rps_report_figure(char *ret, int decimals, double figure)
{
    snprintf(ret, RPS_REPORT_NUMBER_SIZE, "%'.*f", decimals, figure);
    return ret;
}
#pragma GCC diagnostic pop

void rps_report_label(struct rps_report *report, const char *label, int width)
{
    char printable[4 * RPS_NAME_SIZE];
    int length;

    rps_text_printable(printable, sizeof(printable), label);
    length = (int)strlen(printable) + 1;
    fprintf(report->out, "  %s:%*s", printable, length < width ? width - length : 1, "");
}

void rps_report_field(struct rps_report *report, const char *label, const char *text)
{
    if (text[0] == '\0')
        return;
    rps_report_label(report, label, RPS_REPORT_SYSTEM_WIDTH);
    rps_text_print(report->out, text);
    fputc('\n', report->out);
}

void rps_report_wrapped(struct rps_report *report, const char *text, int indent)
{
    rps_words_wrap(report->out, text, RPS_REPORT_TEXT_WIDTH, indent, indent + 2);
}

const char *rps_report_clock_label(const struct rps_report *report)
{
    return rps_words_clock_label(&report->run, report->plan);
}

const char *rps_report_clock_unit(const struct rps_report *report)
{
    const char *unit = report->plan->clock.unit;

    return strcmp(unit, "cycles") == 0 || strcmp(unit, "events") == 0 ? "" : unit;
}

void rps_report_each(struct rps_report *report, const char *family, rps_report_event *each,
                     void *context)
{
    for (int i = 0; i < report->plan->set_count; i++) {
        const struct rps_event_set *set = &report->plan->set[i];

        for (int slot = 0; slot < set->event_count; slot++) {
            if (strcmp(set->event[slot].unit, RPS_UNIT_GAUGE) != 0 &&
                (!family || strcmp(set->event[slot].family, family) == 0))
                each(report, &set->event[slot], i, slot, context);
        }
    }
}
