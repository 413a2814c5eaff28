/* Lists of a line a row: see list.h. */
#include "list.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "cli.h"
#include "rpistat/text.h"

#define COLUMN_GAP 2
#define LAST_MIN   20 /* columns that the last gets however narrow the terminal is */

/* Bytes of text that take at most `limit` columns of a terminal, and in *ret_width how many they
 * take. What the locale cannot write counts one column a byte. */
static size_t measure(const char *text, int limit, int *ret_width)
{
    const char *at = text;
    uint32_t code = 0;

    *ret_width = 0;
    while (*at) {
        int length = rps_text_decode(at, &code), width = length > 0 ? wcwidth((wchar_t)code) : 1;

        length = length > 0 ? length : 1;
        width = width < 0 ? length : width;
        if (*ret_width + width > limit)
            break;
        *ret_width += width;
        at += length;
    }
    return (size_t)(at - text);
}

static int width_of(const char *text)
{
    int width;

    measure(text, INT32_MAX, &width);
    return width;
}

/* Cut text to `limit` columns, three dots at its end. */
static void cut(char *text, int limit)
{
    int width;

    if (width_of(text) > limit)
        memcpy(text + measure(text, limit - 3, &width), "...", 4);
}

int rps_list_add(struct rps_list *list, char (*cell)[RPS_LIST_CELL_SIZE], struct rps_error *err)
{
    size_t count = (size_t)list->column_count;
    char **more = realloc(list->cell, (list->row_count + 1) * count * sizeof(*more));
    int has_failed = 0;

    if (more == NULL)
        return rps_error_memory(err);
    list->cell = more;
    for (size_t c = 0; c < count; c++) {
        more[list->row_count * count + c] = strdup(cell[c]);
        has_failed |= more[list->row_count * count + c] == NULL;
    }
    list->row_count++;
    return has_failed ? rps_error_memory(err) : 0;
}

void rps_list_free(struct rps_list *list)
{
    for (size_t i = 0; i < list->row_count * (size_t)list->column_count; i++)
        free(list->cell[i]);
    free(list->cell);
    list->cell = NULL;
    list->row_count = 0;
}

static char *cell_of(const struct rps_list *list, size_t row, int column)
{
    return list->cell[row * (size_t)list->column_count + (size_t)column];
}

/* A width of 0 leaves the column out. Row -1 is the titles. */
static void print_row(FILE *out, const struct rps_list *list, long row, const int *width)
{
    for (int c = 0; c < list->column_count; c++) {
        const char *text = row < 0 ? list->column[c].title : cell_of(list, (size_t)row, c);
        int padding = width[c] - width_of(text);

        if (width[c] == 0)
            continue;
        if (list->column[c].is_right)
            fprintf(out, "%*s%s", padding, "", text);
        else
            fputs(text, out);
        if (c < list->column_count - 1)
            fprintf(out, "%*s", COLUMN_GAP + (list->column[c].is_right ? 0 : padding), "");
    }
    fputc('\n', out);
}

/* Columns that are left for the last. */
static int room(const struct rps_list *list, const int *width, int terminal_columns)
{
    int left = terminal_columns;

    for (int c = 0; c < list->column_count - 1; c++)
        left -= width[c] > 0 ? width[c] + COLUMN_GAP : 0;
    return left;
}

/* The column that is left out next, where the terminal is too narrow; -1: none. */
static int next_to_drop(const struct rps_list *list, const int *width)
{
    int found = -1;

    for (int c = 0; c < list->column_count; c++) {
        if (list->column[c].drop > 0 && width[c] > 0 &&
            (found < 0 || list->column[c].drop < list->column[found].drop))
            found = c;
    }
    return found;
}

/* Make the list fit a terminal: cut what is long, leave out what matters least. */
static void fit_terminal(const struct rps_list *list, int *width, int terminal_columns)
{
    int last = list->column_count - 1, left, drop;

    for (int c = 0; c < last; c++) {
        if (list->column[c].width_max > 0 && width[c] > list->column[c].width_max)
            width[c] = list->column[c].width_max;
    }
    while (room(list, width, terminal_columns) < LAST_MIN &&
           (drop = next_to_drop(list, width)) >= 0)
        width[drop] = 0;
    left = room(list, width, terminal_columns);
    for (size_t i = 0; i < list->row_count; i++) {
        for (int c = 0; c < last; c++) {
            if (list->column[c].width_max > 0 && width[c] > 0)
                cut(cell_of(list, i, c), width[c]);
        }
        cut(cell_of(list, i, last), left > LAST_MIN ? left : LAST_MIN);
    }
}

void rps_list_print(FILE *out, struct rps_list *list)
{
    int width[RPS_LIST_COLUMNS_MAX] = {0}, terminal_columns;

    for (int c = 0; c < list->column_count; c++) {
        int has_any = !list->column[c].is_optional;

        width[c] = width_of(list->column[c].title);
        for (size_t i = 0; i < list->row_count; i++) {
            const char *text = cell_of(list, i, c);
            int cell_width = width_of(text);

            has_any |= strcmp(text, "-") != 0;
            width[c] = cell_width > width[c] ? cell_width : width[c];
        }
        width[c] = has_any ? width[c] : 0;
    }
    if (out == stdout && rps_output_terminal(&terminal_columns, NULL))
        fit_terminal(list, width, terminal_columns);
    for (long i = -1; i < (long)list->row_count; i++)
        print_row(out, list, i, width);
}
