/* Conversions of cells of other tools' tables. */
#include "import_build.h"

#include <math.h>
#include <string.h>

#include "import_values.h"
#include "rpistat/clock.h"

#define DIGITS "0123456789"

/* Limit of times, with a margin so that sums of times fit into 64 bits. */
#define SECONDS_MAX_NS (INT64_C(9000000000) * RPS_NS_PER_S)

int rps_cell_number(const char *cell, long double *ret)
{
    char decimal = strchr(cell, ',') ? ',' : '.';
    double value;

    if (rps_value_read(cell, strlen(cell), decimal, &value) <= 0 || isnan(value))
        return 0;
    *ret = rps_value_exact(cell, decimal, value);
    return 1;
}

int rps_cell_count(const char *cell, uint64_t *ret)
{
    long double value;

    if (!rps_cell_number(cell, &value) ||
        !(value >= 0 && value < 0x1p63L && value == floorl(value)))
        return 0;
    *ret = (uint64_t)value;
    return 1;
}

int rps_cell_seconds(const char *cell, int64_t *ret_ns)
{
    return rps_import_decimal(cell, strchr(cell, ',') ? ',' : '.', RPS_NS_PER_S, ret_ns) &&
           *ret_ns < SECONDS_MAX_NS;
}

int rps_cell_refuse(struct rps_import_builder *builder, const char *what, const char *cell,
                    struct rps_error *err)
{
    return rps_import_refuse(builder, err, "%s '%.79s' is not a number", what, cell);
}

const char *rps_import_first_row(const char *head)
{
    for (;;) {
        const char *text = head + strspn(head, " \t\r");
        const char *end = strchr(text, '\n');

        if (*text != '#' && *text != '\n')
            return text;
        if (!end)
            return "";
        head = end + 1;
    }
}

int rps_import_comment(const char *head, const char *mark, char *ret, size_t size)
{
    const char *row = rps_import_first_row(head), *found = strstr(head, mark);
    size_t length;

    if (!found || (*row && found >= row))
        return 0;
    found += strlen(mark);
    length = strcspn(found, "\r\n");
    if (length >= size)
        return 0;
    memcpy(ret, found, length);
    ret[length] = '\0';
    return 1;
}

char rps_import_separator(const char *row)
{
    size_t cell = strcspn(row, ",;\t|\r\n");

    if (row[cell] == ',' && strspn(row + cell + 1, DIGITS) == 9 &&
        strchr(";\t|", row[cell + 10])) /* a time of perf, with a decimal comma */
        return row[cell + 10];

    return row[cell] == '\r' || row[cell] == '\n' ? '\0' : row[cell];
}

size_t rps_import_split(const char *row, char *text, size_t size, char **ret, size_t max)
{
    char separator = rps_import_separator(row), *next = text;
    size_t length = strcspn(row, "\r\n"), count = 0;

    if (!separator || length >= size)
        return 0;
    memcpy(text, row, length);
    text[length] = '\0';
    while (next && count < max) {
        char *end = strchr(next, separator);

        if (end)
            *end = '\0';
        ret[count++] = next + strspn(next, " ");
        next = end ? end + 1 : NULL;
    }
    return count;
}
