/* Lines of figures. A byte counts as a column: what is not ASCII makes a line shorter, never
 * longer. */
#include "status_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "rpistat/text.h"

void rps_status_text_begin(struct rps_status_text *line, size_t columns)
{
    line->columns = columns < RPS_STATUS_TEXT_SIZE - 1 ? columns : RPS_STATUS_TEXT_SIZE - 1;
    line->text[0] = '\0';
}

int rps_status_text_add(struct rps_status_text *line, const char *format, ...)
{
    char field[RPS_STATUS_TEXT_SIZE], printable[RPS_STATUS_TEXT_SIZE];
    size_t used = strlen(line->text), gap = used > 0 ? 2 : 0;
    va_list args;

    va_start(args, format);
    vsnprintf(field, sizeof(field), format, args);
    va_end(args);
    rps_text_printable(printable, sizeof(printable), field);
    if (used + gap + strlen(printable) > line->columns)
        return 0;
    snprintf(line->text + used, sizeof(line->text) - used, "%*s%s", (int)gap, "", printable);
    return 1;
}

int rps_status_text_add_figure(struct rps_status_text *line, const char *label, double value,
                               const char *unit)
{
    char number[RPS_TEXT_NUMBER_SIZE];

    if (strcmp(unit, "%") == 0 && value >= 100)
        rps_text_figure(number, sizeof(number), 0, value);
    else
        rps_text_number_of(number, sizeof(number), value, unit);
    return rps_status_text_add(line, "%s %s%s%s", label, number,
                               unit[0] == '/' || unit[0] == '\0' ? "" : " ", unit);
}
