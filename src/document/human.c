/* Choose a block's columns for users, and format each value: for text, Markdown and HTML. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "rpistat/arena.h"
#include "rpistat/clock.h"
#include "rpistat/document.h"
#include "rpistat/text.h"
#include "to.h"

#define UNKNOWN   "-"
#define CELL_SIZE 96
#define SHORT_NS  (1000 * RPS_NS_PER_S) /* if a run is shorter, times have no minutes */
#define HOUR_NS   (3600 * RPS_NS_PER_S)

enum mark { MARK_INTERVAL = 1, MARK_NONE = 2 };

/* --- words ------------------------------------------------------------------------------------ */

char *rps_document_printable(const struct rps_document *document, const char *text)
{
    size_t size = 4 * strlen(text) + 1; /* each byte may become \xHH */

    return rps_text_printable(rps_arena_get(document->arena, size, 1), size, text);
}

/* Write a time in the reader's time zone: "2026-11-21 14:30". */
static void write_time(char *ret, int64_t realtime_ns)
{
    time_t seconds = (time_t)(realtime_ns / RPS_NS_PER_S);
    struct tm local;

    if (localtime_r(&seconds, &local) == NULL ||
        strftime(ret, CELL_SIZE, "%Y-%m-%d %H:%M", &local) == 0)
        strcpy(ret, "?");
}

int rps_document_decimals(const struct rps_document *document)
{
    int decimals = 0;

    for (int64_t unit = RPS_NS_PER_S; unit > document->period_ns && decimals < 6; unit /= 10)
        decimals++;
    return decimals;
}

char *rps_document_duration(const struct rps_document *document, int64_t ns)
{
    char text[RPS_TEXT_NUMBER_SIZE];

    if (document->length_ns > 0 && document->length_ns < SHORT_NS)
        return rps_arena_print(document->arena, "%.*f s", rps_document_decimals(document),
                               (double)ns / RPS_NS_PER_S);
    if (document->length_ns > 0)
        return rps_arena_text(document->arena, rps_text_stretch(text, sizeof(text), ns));
    return rps_arena_text(document->arena, rps_text_duration(text, sizeof(text), ns));
}

char *rps_document_clock(const struct rps_document *document, int64_t ns)
{
    int has_no_hours = document->length_ns > 0 && document->length_ns < HOUR_NS;
    char text[RPS_TEXT_NUMBER_SIZE];

    rps_text_clock(text, sizeof(text), ns, rps_document_decimals(document));
    return rps_arena_text(document->arena, text + (has_no_hours ? strlen("00:") : 0));
}

static const char *decimal_text(char *ret, double value, int decimals)
{
    double size = fabs(value);

    if (size >= 1e9 || (size > 0 && size < 1e-4))
        snprintf(ret, CELL_SIZE, "%.1e", value);
    else
        rps_text_figure(ret, CELL_SIZE, value > 0 || value < 0 ? decimals : 0, value);
    return ret;
}

/* Format an error or a deviation with as many decimals as the value to which it belongs. */
static const char *off_text(char *ret, double off, double value, int decimals)
{
    if (fabs(value) < 1e-4 || fabs(value) >= 1e9)
        return decimal_text(ret, off, decimals);
    rps_text_figure(ret, CELL_SIZE, off > 0 ? decimals : 0, off);
    return ret;
}

/* Return the distance from the value to the farther end of the interval. */
static double farther_distance(const struct rps_interval *interval)
{
    return fmax(interval->high - interval->value, interval->value - interval->low);
}

/* Write a value and its uncertainty: "2.14 ±0.04", or "2.14 (1.20-3.80)" for a wide interval. An
 * estimated value without an interval is "2.14 *". A value with a deviation is "2.14 sd 0.2". */
static void write_figure(char *ret, const struct rps_value *value)
{
    const struct rps_interval *sure = &value->sure;
    double size = fabs(value->real);
    /* three or four significant digits, at most 4 decimals */
    int decimals = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : size >= 1 ? 3 : 4;
    int has_ends = sure->certainty == RPS_CERTAINTY_INTERVAL;
    char number[CELL_SIZE];
    size_t used;

    if (has_ends && decimals > 0 && farther_distance(sure) >= pow(10, 1 - decimals))
        decimals--; /* leave out the last decimal, because the uncertainty is larger */
    if (value->deviation > 0 && isfinite(value->deviation))
        decimals = (int)fmin(decimals, fmax(0, 1 - floor(log10(value->deviation))));
    used = (size_t)snprintf(ret, CELL_SIZE, "%.30s", decimal_text(number, value->real, decimals));
    if (has_ends && rps_interval_is_narrow(sure))
        used += (size_t)snprintf(
            ret + used, CELL_SIZE - used, " ±%.30s",
            off_text(number, rps_interval_round(farther_distance(sure), 15, decimals, 1),
                     value->real, decimals));
    else if (has_ends)
        used += (size_t)snprintf(ret + used, CELL_SIZE - used, " (%.3g-%.3g)",
                                 rps_interval_round(sure->low, 3, 300, 0),
                                 rps_interval_round(sure->high, 3, 300, 1));
    else if (sure->certainty > RPS_CERTAINTY_COUNTED)
        used += (size_t)snprintf(ret + used, CELL_SIZE - used, " *");
    if (isfinite(value->deviation))
        snprintf(ret + used, CELL_SIZE - used, " sd %.28s",
                 off_text(number, value->deviation, value->real, decimals));
}

char *rps_document_tags_text(const struct rps_block *tags, const char *separator)
{
    char *text = NULL;

    for (size_t i = 0; tags && i < tags->column_count; i++)
        text = rps_arena_print(tags->document->arena, "%s%s%s=%s", text ? text : "",
                               text ? separator : "", tags->column[i].name,
                               tags->value[i].text ? tags->value[i].text : "");
    return text;
}

static const char *words_of(const struct rps_document *document, const struct rps_column *column,
                            const struct rps_value *value, char ret[CELL_SIZE])
{
    if (value->words)
        return value->words;
    if (!value->known)
        return UNKNOWN;
    switch (column->kind) {
    case RPS_VALUE_TEXT:
    case RPS_VALUE_JSON:
        return value->text;
    case RPS_VALUE_TAGS:
        return rps_document_tags_text(value->block, " ");
    case RPS_VALUE_BOOL:
        return value->number ? "yes" : "no";
    case RPS_VALUE_BLOCK:
        return UNKNOWN;
    case RPS_VALUE_TIME:
        write_time(ret, value->number);
        break;
    case RPS_VALUE_INT:
        if (column->is_id)
            snprintf(ret, CELL_SIZE, "%" PRId64, value->number);
        else
            rps_text_figure(ret, CELL_SIZE, 0, (double)value->number);
        break;
    case RPS_VALUE_NUMBER:
        rps_text_number(ret, CELL_SIZE, value->real);
        break;
    case RPS_VALUE_FIGURE:
        write_figure(ret, value);
        break;
    case RPS_VALUE_SHARE:
        snprintf(ret, CELL_SIZE, "%.1f %%", 100 * value->real);
        break;
    case RPS_VALUE_BYTES:
        rps_text_size(ret, CELL_SIZE, (uint64_t)value->number);
        break;
    case RPS_VALUE_DURATION:
        return rps_document_duration(document, value->number);
    case RPS_VALUE_CLOCK:
        return rps_document_clock(document, value->number);
    }
    return ret;
}

/* --- the grid --------------------------------------------------------------------------------- */

static void fill_column(struct rps_grid *grid, size_t c)
{
    const struct rps_document *document = grid->block->document;
    const struct rps_column *column = grid->column[c];
    char text[CELL_SIZE];

    grid->heading[c] = rps_document_printable(
        document, column->unit && column->unit[0]
                      ? rps_arena_print(document->arena, "%s (%s)", column->heading, column->unit)
                      : column->heading);
    grid->has_head |= grid->heading[c][0] != '\0';
    for (size_t i = 0; i < grid->row_count; i++) {
        const struct rps_value *value =
            &grid->block->value[i * grid->block->column_count +
                                (size_t)(grid->column[c] - grid->block->column)];
        const char *words = words_of(document, column, value, text);

        grid->cell[i * grid->column_count + c] = rps_document_printable(
            document, value->doubtful ? rps_arena_print(document->arena, "%s?", words) : words);
        if (column->kind != RPS_VALUE_FIGURE || !value->known || value->words)
            continue;
        if (value->sure.certainty == RPS_CERTAINTY_INTERVAL)
            grid->marks[c] |= MARK_INTERVAL;
        else if (value->sure.certainty > RPS_CERTAINTY_COUNTED)
            grid->marks[c] |= MARK_NONE;
    }
}

/* Indent the cells of a tree in the last text column. */
static void indent_tree(struct rps_grid *grid)
{
    size_t c = grid->column_count;

    while (c > 0 && rps_column_is_right(grid->column[c - 1]))
        c--;
    for (size_t i = 0; i < grid->row_count && c > 0; i++) {
        char **cell = &grid->cell[i * grid->column_count + c - 1];

        *cell = rps_arena_print(grid->block->document->arena, "%*s%s", 2 * grid->block->depth[i],
                                "", *cell);
    }
}

/* Return 1 if users should see the column. */
static int is_needed(const struct rps_grid *grid, size_t c)
{
    enum rps_column_shown shown = grid->column[c]->shown;

    for (size_t i = 0; i < grid->row_count && shown != RPS_SHOWN_ALWAYS; i++) {
        const char *cell = grid->cell[i * grid->column_count + c];

        if (shown == RPS_SHOWN_IF_KNOWN ? cell[0] && strcmp(cell, UNKNOWN) != 0
                                        : strcmp(cell, grid->cell[c]) != 0)
            return 1;
    }
    return shown == RPS_SHOWN_ALWAYS;
}

static void remove_column(struct rps_grid *grid, size_t gone)
{
    size_t count = grid->column_count--;

    for (size_t c = gone; c + 1 < count; c++) {
        grid->column[c] = grid->column[c + 1];
        grid->heading[c] = grid->heading[c + 1];
        grid->marks[c] = grid->marks[c + 1];
    }
    for (size_t from = 0, to = 0; from < grid->row_count * count; from++) {
        if (from % count != gone)
            grid->cell[to++] = grid->cell[from];
    }
}

struct rps_grid rps_grid_make(const struct rps_block *block)
{
    struct rps_arena *arena = block->document->arena;
    struct rps_grid grid = {.block = block, .row_count = rps_block_rows(block)};

    grid.column = rps_arena_get(arena, block->column_count + 1, sizeof(*grid.column));
    grid.heading = rps_arena_get(arena, block->column_count + 1, sizeof(*grid.heading));
    grid.marks = rps_arena_get(arena, block->column_count + 1, sizeof(*grid.marks));
    for (size_t c = 0; c < block->column_count; c++) {
        size_t to = grid.column_count;

        if (!block->column[c].heading)
            continue;
        for (; to > 0 && grid.column[to - 1]->place > block->column[c].place; to--)
            grid.column[to] = grid.column[to - 1];
        grid.column[to] = &block->column[c];
        grid.column_count++;
    }
    grid.cell = rps_arena_get(arena, grid.row_count * grid.column_count + 1, sizeof(*grid.cell));
    for (size_t c = 0; c < grid.column_count; c++)
        fill_column(&grid, c);
    for (size_t c = grid.column_count; c-- > 0;) {
        if (!is_needed(&grid, c))
            remove_column(&grid, c);
    }
    if (block->depth)
        indent_tree(&grid);
    if (grid.column_count == 0)
        grid.row_count = 0;
    return grid;
}

/* --- all blocks ------------------------------------------------------------------------------- */

const struct rps_block *rps_document_next(const struct rps_document *document,
                                          const struct rps_block *block)
{
    const struct rps_block *next = NULL;
    int is_behind = block == NULL;

    for (const struct rps_block *at = document->first; at; at = at->next) {
        if (at == block)
            is_behind = 1;
        else if ((!block || at->place > block->place || (at->place == block->place && is_behind)) &&
                 (!next || at->place < next->place))
            next = at;
    }
    return next;
}

const char *rps_document_note(int marks, int *told)
{
    static const char *const note[] = {
        [MARK_INTERVAL] = "± and ranges: 95 % intervals of metrics that were counted in rotation",
        [MARK_NONE] =
            "*: counted in rotation, without an interval: too rare, in too few periods, or not at "
            "the start of the run",
    };

    for (int mark = MARK_INTERVAL; mark <= MARK_NONE; mark *= 2) {
        if (marks & ~*told & mark) {
            *told |= mark;
            return note[mark];
        }
    }
    return NULL;
}

#define NARROW .2

#define SHARE_DECIMALS 4

#define DIGITS 15   /* number of exact digits of a double */
#define FINEST 300  /* number of decimals for a value near 0 */
#define NOISE  1e-6 /* rounding error of the computation, in units of the last digit */

int rps_interval_is_narrow(const struct rps_interval *interval)
{
    return farther_distance(interval) <= NARROW * fabs(interval->value);
}

char *rps_interval_percent(char *ret, const struct rps_interval *interval)
{
    double percent = fmax(.01, 100 * farther_distance(interval) / fabs(interval->value));
    int decimals = percent < 1 ? 2 : percent < 10 ? 1 : 0;

    snprintf(ret, RPS_INTERVAL_TEXT_SIZE, "± %.*f %%", decimals,
             rps_interval_round(percent, DIGITS, decimals, 1));
    return ret;
}

char *rps_interval_share(char *ret, double share)
{
    int decimals = share < .1 ? 1 : 0;

    while (share < 1 && share * 100 >= 100 - .5 * pow(10, -decimals) && decimals < SHARE_DECIMALS)
        decimals++; /* a share just below 1 is not shown as 100 % */
    snprintf(ret, RPS_INTERVAL_TEXT_SIZE, "%.*f %%", decimals, 100 * share);
    return ret;
}

char *rps_interval_words(char *ret, const struct rps_interval *interval)
{
    char share[RPS_INTERVAL_TEXT_SIZE];

    ret[0] = '\0';
    if (interval->certainty == RPS_CERTAINTY_UNSEEN)
        snprintf(ret, RPS_INTERVAL_TEXT_SIZE, "none seen in %s of the time",
                 rps_interval_share(share, interval->share));
    else if (interval->certainty == RPS_CERTAINTY_SCALED)
        snprintf(ret, RPS_INTERVAL_TEXT_SIZE, "counted for %s of the time",
                 rps_interval_share(share, interval->share));
    else if (interval->certainty == RPS_CERTAINTY_START || interval->certainty == RPS_CERTAINTY_END)
        snprintf(ret, RPS_INTERVAL_TEXT_SIZE, "%sits %s was not counted",
                 interval->value > 0 ? "" : "none seen; ",
                 interval->certainty == RPS_CERTAINTY_START ? "start" : "end");
    else if (interval->certainty != RPS_CERTAINTY_COUNTED &&
             interval->certainty != RPS_CERTAINTY_INTERVAL)
        snprintf(ret, RPS_INTERVAL_TEXT_SIZE, "%s", rps_certainty_name(interval->certainty));
    return ret;
}

double rps_interval_end(const struct rps_interval *interval, int is_high)
{
    return rps_interval_has_ends(interval)
               ? rps_interval_round(is_high ? interval->high : interval->low, 9, FINEST, is_high)
               : NAN;
}

double rps_interval_round(double end, int digits, int decimals, int is_high)
{
    double first = fabs(end) > 0 ? floor(log10(fabs(end))) : 0;
    double step = pow(10, fmax(first - digits + 1, -decimals));

    /* adding 0.0 changes -0 to 0 */
    return (is_high ? ceil(end / step - NOISE) : floor(end / step + NOISE)) * step + 0.0;
}
