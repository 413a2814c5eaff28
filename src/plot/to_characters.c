/* A picture in characters. gnuplot's dumb terminal was used before, which has one position per
 * character, so that in a panel of four lines 45 % of the points were in the row of 0. Here a
 * character has eight dots (raster.h), and a panel of four lines is twelve dots high.
 *
 *     title, second line, the CPUs' letters
 *     panels: a heading, and at least three lines of dots with their axis
 *     the axis of time or cycles
 *     Phases  |----A----|--B--|      a band of letters
 *     finer   |..|...|..|..|..|      phases of a finer level
 *     Code    aaaaaaaabbbbb          the function with most of the time, and
 *             a parse  b solve       its name
 *     Threads abbbbbbb               the state of most threads
 *     RSS     12 to 306 MiB
 *     Marks        ^warm  ^done
 *     the metrics that are always zero, and the names of the panels that do not fit
 *
 * If there is too little space, rows other than panels and the axis are left out, from the bottom
 * up. The last panel is left out only after all these rows. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rpistat/picture.h"
#include "raster.h"
#include "rpistat/plan.h"
#include "rpistat/text.h"

#define AXIS_ROWS     2
#define PANEL_ROWS    6 /* rows of a panel if there is enough space */
#define PANEL_MIN     4
#define NAMED_MIN     2 /* minimum number of panels; below it, omitted panels are not named */
#define LABEL_COLUMNS (RPS_PICTURE_COLUMN_LEFT - 2) /* width of a number to the left of a panel */
#define LEGEND_MIN    4                             /* minimum useful letters of a line's name */
#define NOTE_MIN      3                             /* minimum useful letters of a mark's text */
#define CODE_ROOM     24                            /* width of the name of a function */
#define THREADS_MIN   .5  /* minimum number of threads in states with a line for a letter */
#define OTHER_UNLESS  .1  /* minimum share of a named line in a step; else "Others" is shown */
#define GAUGE_MOVES   .02 /* minimum range shown as two numbers, as a share of the maximum */
#define NUMBER_SIZE   24
#define LINES_MAX     26
#define NAME_SIZE     256

struct drawing {
    struct rps_picture *picture;
    const struct rps_plot_options *options;
    struct rps_raster raster;
    int columns; /* width of the panels in columns */
    int frame;   /* number of rows that are not panels */
    int title, subtitle, legend, phases, finer, code, threads, gauges, notes, zeros,
        names;                            /* rows of each part, included in `frame` */
    char left_out[RPS_PICTURE_TEXT_SIZE]; /* names of omitted panels, divided into lines */
};

/* --- code and states -------------------------------------------------------------------------- */

/* Return the line with the largest share of a step, or for code that mostly waited for a CPU, of
 * the CPU time. "Others" is returned only if no named line has a tenth. */
static int most_of(const struct rps_picture_areas *areas, size_t step, int is_code)
{
    const double *share = &areas->share[step * RPS_PICTURE_AREAS_LINES];
    double sum = 0;
    int most = 0, before = 0;

    for (int line = 1; line < areas->line_count; line++)
        most = share[line] > share[most] ? line : most;
    if (!is_code || (areas->colour[most] != -2 && areas->colour[most] != RPS_PICTURE_AREAS_OTHER))
        return most;
    for (int line = 0; line < most; line++) {
        before = share[line] > share[before] ? line : before;
        sum += share[line];
    }
    if (areas->colour[most] == RPS_PICTURE_AREAS_OTHER)
        return share[before] >= OTHER_UNLESS * (sum + share[most]) ? before : most;
    return share[before] > 0 ? before : most;
}

static double sum_of(const struct rps_picture_areas *code, size_t step)
{
    double sum = 0;

    for (int line = 0; line < code->line_count; line++)
        sum += code->share[step * RPS_PICTURE_AREAS_LINES + (size_t)line];
    return sum;
}

/* Draw each column's letter: the line with the largest share, or a dash if all lines together have
 * less than `least`, because the threads sleep in states without a line. Code never has dashes.
 * Below, explain each drawn letter. Return the number of rows, also without a raster. */
static int draw_areas(struct drawing *drawing, int row, const char *heading,
                      const struct rps_picture_areas *code, double least)
{
    const struct rps_picture *picture = drawing->picture;
    char letter[RPS_PICTURE_AREAS_LINES][2], name[RPS_PICTURE_AREAS_NAME];
    int column = RPS_PICTURE_COLUMN_LEFT, is_drawn[RPS_PICTURE_AREAS_LINES] = {0}, sleeps = 0,
        first = row;
    size_t step = 0;

    if (code->line_count == 0)
        return 0;
    for (int line = 0; line < code->line_count; line++)
        snprintf(letter[line], sizeof(letter[line]), "%c",
                 code->letter[line] ? code->letter[line] : 'a' + line);
    rps_raster_text(&drawing->raster, 0, row, heading, RPS_RASTER_PLAIN);
    for (int k = 0; k < drawing->columns; k++) {
        double at = picture->from + (k + 0.5) / drawing->columns * (picture->to - picture->from);
        int line;

        while (step + 1 < code->step_count && code->at[step + 1] <= at)
            step++;
        line = most_of(code, step, least == 0);
        if (at < code->at[0] || at >= code->at[code->step_count])
            continue;
        if (sum_of(code, step) < least) {
            rps_raster_text(&drawing->raster, RPS_PICTURE_COLUMN_LEFT + k, row, "-",
                            RPS_RASTER_QUIET);
            sleeps = 1;
            continue;
        }
        rps_raster_text(&drawing->raster, RPS_PICTURE_COLUMN_LEFT + k, row, letter[line],
                        RPS_RASTER_INK + line);
        is_drawn[line] = 1;
    }
    row++;
    if (sleeps) {
        rps_raster_text(&drawing->raster, column, row, "- mostly asleep", RPS_RASTER_QUIET);
        column += 2 + (int)strlen("- mostly asleep");
    }
    for (int line = 0; line < code->line_count; line++) {
        int width;

        if (!is_drawn[line])
            continue;
        strcpy(name, code->name[line]);
        rps_picture_cut_text(name, CODE_ROOM);
        width = 2 + rps_text_width(name);
        if (column > RPS_PICTURE_COLUMN_LEFT && column + width > picture->width) {
            column = RPS_PICTURE_COLUMN_LEFT;
            row++;
        }
        rps_raster_text(&drawing->raster, column, row, letter[line], RPS_RASTER_INK + line);
        rps_raster_text(&drawing->raster, column + 2, row, name, RPS_RASTER_PLAIN);
        column += width + 2;
    }
    return row + 1 - first;
}

/* --- space ------------------------------------------------------------------------------------ */

/* Grant rows to optional parts of the drawing. */
static int grant(struct drawing *drawing, int wanted, int panels)
{
    int height = drawing->options->height;

    if (height > 0 && height < drawing->frame + wanted + PANEL_MIN * panels)
        return 0;
    drawing->frame += wanted;
    return wanted;
}

/* Leave out panels that do not fit, and more for the line of names, unless too few are left. */
static void fit_panels(struct drawing *drawing, int lines)
{
    struct rps_picture *picture = drawing->picture;
    int fit = lines < PANEL_MIN ? 1 : lines / PANEL_MIN;
    int least = fit < NAMED_MIN ? fit : NAMED_MIN, named = fit, rows = 0, needed;

    if (fit >= picture->panel_count)
        return;
    while (named >= least &&
           (needed = rps_picture_name_left_out(picture, named, drawing->left_out)) > rows) {
        rows = needed;
        named = (lines - rows) / PANEL_MIN;
    }
    drawing->names = named >= least ? rows : 0;
    drawing->frame += drawing->names;
    rps_picture_drop_panels(picture, named >= least ? named : fit);
}

static void fit(struct drawing *drawing)
{
    struct rps_picture *picture = drawing->picture;
    int height = drawing->options->height, least, panels = picture->panel_count > 0 ? NAMED_MIN : 0;

    drawing->columns = picture->width - RPS_PICTURE_COLUMN_MARGIN;
    drawing->frame = AXIS_ROWS;
    drawing->phases = grant(drawing, picture->has_phases, 1);
    drawing->title = grant(drawing, 1, 1);
    drawing->legend = grant(drawing, rps_picture_legend_rows(picture), 1);
    drawing->subtitle = grant(drawing, !drawing->options->untitled, 1);
    drawing->notes = grant(drawing, rps_picture_note_rows(picture), 1);
    drawing->zeros = grant(drawing, picture->zero_rows, 1);
    drawing->code = grant(drawing, draw_areas(drawing, 0, "", &picture->code, 0), panels);
    drawing->threads =
        grant(drawing, draw_areas(drawing, 0, "", &picture->threads, THREADS_MIN), panels);
    drawing->gauges = grant(drawing, picture->gauge_count, panels);
    drawing->finer = grant(drawing, rps_picture_finer(picture) > 0, picture->panel_count);
    if (height > 0)
        fit_panels(drawing, height - drawing->frame);
    least = drawing->frame + (picture->panel_count > 0 ? PANEL_MIN : 0);
    picture->height = height > 0 ? height : drawing->frame + PANEL_ROWS * picture->panel_count;
    picture->height = picture->height < least ? least : picture->height;
}

/* Return the first row of a panel. After the last panel, return the row of the axis. */
static int first_row(const struct drawing *drawing, int panel)
{
    const struct rps_picture *picture = drawing->picture;

    return drawing->title + drawing->subtitle + drawing->legend +
           (panel > 0 ? panel * (picture->height - drawing->frame) / picture->panel_count : 0);
}

/* --- panels ----------------------------------------------------------------------------------- */

/* One line of a panel: a metric or a CPU. */
struct line {
    const struct rps_series *series;
    char name[NAME_SIZE];
};

/* Find the lines of a panel. There are at most as many lines as letters of the alphabet. */
static int lines_of(const struct drawing *drawing, int panel, struct line line[LINES_MAX])
{
    const struct rps_picture *picture = drawing->picture;
    const char *unit = rps_picture_panel_unit(picture, panel);
    char text[RPS_PICTURE_TEXT_SIZE];
    int count = 0;

    for (int m = 0; m < picture->plan->metric_count; m++) {
        for (int i = 0; picture->panel[m] == panel && i < picture->line_count && count < LINES_MAX;
             i++, count++) {
            if (picture->apart)
                snprintf(text, sizeof(text), "CPU %d", (int)picture->cpu_series.cpu[i]);
            else if (unit[0])
                snprintf(text, sizeof(text), "%s", picture->plan->metric[m].label);
            else
                rps_picture_metric_title(&picture->plan->metric[m], text);
            line[count].series = rps_picture_series(picture, m, i);
            rps_text_printable(line[count].name, sizeof(line[count].name), text);
        }
    }
    return count;
}

/* The area of a panel in dots. */
struct area {
    int left, top, columns, rows;
    struct rps_picture_axis axis;
};

static int dot_across(const struct drawing *drawing, const struct area *area, double position)
{
    const struct rps_picture *picture = drawing->picture;
    int at = (int)floor((position - picture->from) / (picture->to - picture->from) * area->columns);

    return area->left + (at < 0 ? 0 : at < area->columns ? at : area->columns - 1);
}

static int dot_down(const struct area *area, double value)
{
    return area->top + rps_raster_level(value, area->axis.from, area->axis.to, area->rows);
}

/* Draw a pattern of dots from the smallest to the largest value. */
static void draw_band(struct drawing *drawing, const struct area *area,
                      const struct rps_series *series)
{
    for (size_t i = 0; i < series->count; i++) {
        int x = dot_across(drawing, area, series->position[i]);

        if (!isfinite(series->value[i]) || x % 2 != 0)
            continue;
        for (int y = dot_down(area, series->max[i]); y <= dot_down(area, series->min[i]); y++) {
            if (y % 2 == x / 2 % 2)
                rps_raster_dot(&drawing->raster, x, y, RPS_RASTER_QUIET);
        }
    }
}

/* Draw a line of a panel. Without colours, different dashes distinguish the lines. Returns the row
 * of the last value, or -1 if there is no value. */
static int draw_line(struct drawing *drawing, const struct area *area,
                     const struct rps_series *series, int number)
{
    static const struct rps_raster_dash dashes[] = {{1, 1, 0}, {2, 4, 0}, {6, 8, 0}, {2, 8, 0}};
    struct rps_raster_dash dash = dashes[drawing->options->colour ? 0 : number % 4];
    struct rps_raster_dash lone = dashes[0];
    int last_x = 0, last_y = -1, row = -1;

    for (size_t i = 0; i < series->count; i++) {
        int x, y;

        if (!isfinite(series->value[i])) {
            last_y = -1;
            continue;
        }
        x = dot_across(drawing, area, series->position[i]);
        row = y = dot_down(area, series->value[i]);
        if (rps_series_is_lone(series, i)) /* a single dot would be invisible */
            rps_raster_line(&drawing->raster, x - 1, y, x + 1, y, &lone, RPS_RASTER_INK + number);
        rps_raster_line(&drawing->raster, last_y < 0 ? x : last_x, last_y < 0 ? y : last_y, x, y,
                        &dash, RPS_RASTER_INK + number);
        last_x = x;
        last_y = y;
    }
    return row;
}

/* Put the letter of a line at its end, in the nearest free row. */
static void draw_letter(struct drawing *drawing, const struct area *area, int number, int dot_row)
{
    int column = (area->left + area->columns) / RPS_RASTER_ACROSS + 1;
    int top = area->top / RPS_RASTER_DOWN, rows = area->rows / RPS_RASTER_DOWN;
    int wanted = dot_row / RPS_RASTER_DOWN - top;

    for (int away = 0; dot_row >= 0 && away < rows; away++) {
        for (int side = -1; side <= 1; side += 2) {
            int row = wanted + side * away;

            if (row < 0 || row >= rows || !rps_raster_is_free(&drawing->raster, column, top + row))
                continue;
            rps_raster_text(&drawing->raster, column, top + row, (char[]){(char)('a' + number), 0},
                            RPS_RASTER_INK + number);
            return;
        }
    }
}

static void draw_y_axis(struct drawing *drawing, const struct area *area)
{
    const struct rps_picture_axis *axis = &area->axis;
    int column = RPS_PICTURE_COLUMN_LEFT - 1, used = -1;
    double first = ceil(axis->from / axis->step - 1e-9);

    for (int row = 0; row < area->rows / RPS_RASTER_DOWN; row++)
        rps_raster_text(&drawing->raster, column, area->top / RPS_RASTER_DOWN + row, "│",
                        RPS_RASTER_QUIET);
    for (double i = first; i <= axis->to / axis->step + 1e-9; i++) {
        int row = dot_down(area, i * axis->step) / RPS_RASTER_DOWN;
        char text[RPS_TEXT_NUMBER_SIZE];

        if (row == used)
            continue;
        used = row;
        snprintf(text, sizeof(text), "%.15g%s", i * axis->step / axis->scale + 0.0,
                 i != 0 ? axis->suffix : "");
        rps_raster_text(&drawing->raster, LABEL_COLUMNS - (int)strlen(text), row, text,
                        RPS_RASTER_PLAIN);
        rps_raster_text(&drawing->raster, column, row, "┤", RPS_RASTER_QUIET);
    }
}

/* Draw the letters and names of lines, right-aligned in `room` columns. If they do not fit, long
 * names are cut. */
static void draw_names(struct drawing *drawing, int row, int end, int room, struct line *line,
                       int count)
{
    int column = end, each = room / count - 4, total = -2;

    for (int i = 0; i < count; i++)
        total += rps_text_width(line[i].name) + 4;
    for (int i = 0; i < count; i++) {
        if (total > room && rps_text_width(line[i].name) > each)
            rps_picture_cut_text(line[i].name, each);
        column -= rps_text_width(line[i].name) + 2 + (i > 0 ? 2 : 0);
    }
    for (int i = 0; i < count; i++) {
        rps_raster_text(&drawing->raster, column, row, (char[]){(char)('a' + i), 0},
                        RPS_RASTER_INK + i);
        column =
            2 + rps_raster_text(&drawing->raster, column + 2, row, line[i].name, RPS_RASTER_PLAIN);
    }
}

static void draw_panel(struct drawing *drawing, int panel)
{
    struct rps_picture *picture = drawing->picture;
    int row = first_row(drawing, panel), rows = first_row(drawing, panel + 1) - row - 1;
    struct area area = {
        .left = RPS_PICTURE_COLUMN_LEFT * RPS_RASTER_ACROSS,
        .top = (row + 1) * RPS_RASTER_DOWN,
        .columns = drawing->columns * RPS_RASTER_ACROSS,
        .rows = rows * RPS_RASTER_DOWN,
        .axis = rps_picture_panel_axis(picture, panel),
    };
    struct line line[LINES_MAX];
    char heading[RPS_PICTURE_TEXT_SIZE], text[RPS_PICTURE_TEXT_SIZE];
    int count = lines_of(drawing, panel, line), end[LINES_MAX], column, room, is_named;

    rps_text_printable(text, sizeof(text), rps_picture_heading(picture, panel, heading));
    column =
        rps_raster_text(&drawing->raster, RPS_PICTURE_COLUMN_LEFT, row, text, RPS_RASTER_STRONG);
    room = picture->width - 1 - (picture->apart ? 0 : column + 2);
    is_named = count > 1 && room / count - 4 >= LEGEND_MIN && (!picture->apart || drawing->legend);
    draw_y_axis(drawing, &area);
    if (count == 0)
        rps_raster_text(&drawing->raster, RPS_PICTURE_COLUMN_LEFT + drawing->columns / 2 - 3,
                        row + 1 + rows / 2, "no data", RPS_RASTER_QUIET);
    for (int i = 0; i < count && !picture->apart; i++)
        draw_band(drawing, &area, line[i].series);
    for (int i = count; i-- > 0;) /* draw the first line last, so that it is on top */
        end[i] = draw_line(drawing, &area, line[i].series, i);
    for (int i = 0; i < count && is_named; i++)
        draw_letter(drawing, &area, i, end[i]);
    if (is_named && !picture->apart)
        draw_names(drawing, row, picture->width - 1, room, line, count);
    else if (is_named && panel == 0)
        draw_names(drawing, drawing->title + drawing->subtitle, picture->width - 1, room, line,
                   count);
}

/* --- the axis and its annotations ------------------------------------------------------------- */

static int column_of(const struct drawing *drawing, double position)
{
    const struct area area = {.columns = drawing->columns};

    return RPS_PICTURE_COLUMN_LEFT + dot_across(drawing, &area, position);
}

static void draw_x_axis(struct drawing *drawing, int row)
{
    const struct rps_picture *picture = drawing->picture;
    int column = RPS_PICTURE_COLUMN_LEFT - 1, free_from = 0;
    struct rps_picture_tic tic;

    for (int i = 0; i <= drawing->columns; i++)
        rps_raster_text(&drawing->raster, column + i, row, i > 0 ? "─" : "└", RPS_RASTER_QUIET);
    for (int64_t next = 0; rps_picture_x_tic(picture, &next, &tic);) {
        int at = column_of(drawing, tic.at), width = rps_text_width(tic.text);
        int from = at - width / 2;

        rps_raster_text(&drawing->raster, at, row, "┬", RPS_RASTER_QUIET);
        if (from < free_from || from + width > picture->width)
            continue;
        rps_raster_text(&drawing->raster, from, row + 1, tic.text, RPS_RASTER_PLAIN);
        free_from = from + width + 1;
    }
}

/* Draw a band of phases such as |--A--|-B-|. With colours, each phase has the colour of its label.
 * If `label` is 0, the band is |..|...|. */
static void draw_band_of(struct drawing *drawing, int row, const char *name,
                         const struct rps_picture_box *box, size_t count, int label)
{
    const struct rps_picture *picture = drawing->picture;
    double each = drawing->columns / (picture->to - picture->from);
    int colours = label && drawing->options->colour;

    rps_raster_text(&drawing->raster, 0, row, name, RPS_RASTER_PLAIN);
    for (size_t i = 0; i < count; i++) {
        int from = (int)lround((box[i].from - picture->from) * each);
        int to = (int)lround((box[i].to - picture->from) * each);
        enum rps_raster_colour colour =
            colours ? RPS_RASTER_BACKGROUND + (unsigned)box[i].label : RPS_RASTER_PLAIN;
        int apart = colours && (i == 0 || box[i - 1].label != box[i].label);
        char letter[RPS_PHASE_LABEL_SIZE], text[RPS_PHASE_LABEL_SIZE + 1];
        const int width =
            snprintf(text, sizeof(text), "%s%s", rps_phase_label(box[i].label, letter),
                     box[i].is_doubtful ? "?" : "");

        to = to < drawing->columns ? to : drawing->columns;
        for (int k = from; k < to; k++)
            rps_raster_text(&drawing->raster, RPS_PICTURE_COLUMN_LEFT + k, row,
                            k == from && !apart ? "|"
                            : colours           ? " "
                            : label             ? "-"
                                                : ".",
                            colour);
        if (label && to - from >= width)
            rps_raster_text(&drawing->raster,
                            RPS_PICTURE_COLUMN_LEFT + from + (to - from - width + 1) / 2, row, text,
                            colour);
    }
}

/* Put a number with three digits, or with all digits before the point if those are more. */
static const char *gauge_text(char ret[NUMBER_SIZE], double value)
{
    snprintf(ret, NUMBER_SIZE, value < 100 ? "%.3g" : "%.0f", value);
    return ret;
}

static void draw_gauge(struct drawing *drawing, int row, const struct rps_picture_gauge *gauge)
{
    char text[2 * NAME_SIZE] = "", low[NUMBER_SIZE], high[NUMBER_SIZE], end[NUMBER_SIZE];

    for (int k = 0; k < gauge->line_count; k++) {
        const struct rps_picture_gauge_line *line = &gauge->line[k];
        const char *name = gauge->line_count > 1 ? line->name : "";
        double least = line->low[0], most = line->high[0];
        size_t used = strlen(text);

        for (size_t i = 1; i < line->count; i++) {
            least = fmin(least, line->low[i]);
            most = fmax(most, line->high[i]);
        }
        gauge_text(end, line->mean[line->count - 1]);
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s%s", k > 0 ? "; " : "",
                                 name, *name ? " " : "");
        if (most - least < GAUGE_MOVES * most)
            snprintf(text + used, sizeof(text) - used, "%s %s", end, gauge->unit);
        else
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s to %s %s",
                                     gauge_text(low, least), gauge_text(high, most), gauge->unit);
        if (most - least >= GAUGE_MOVES * most && gauge->line_count == 1)
            snprintf(text + used, sizeof(text) - used, ", %s at the end", end);
    }
    rps_raster_text(&drawing->raster, 0, row, gauge->name, RPS_RASTER_PLAIN);
    rps_raster_text(&drawing->raster, RPS_PICTURE_COLUMN_LEFT, row, text, RPS_RASTER_QUIET);
}

/* Draw a tic, and the part of its text that fits before column `end`. */
static void draw_note(struct drawing *drawing, int row, int at, char *text, int end)
{
    rps_raster_text(&drawing->raster, at, row, "^", RPS_RASTER_PLAIN);
    if (end - at - 1 < NOTE_MIN)
        return;
    rps_picture_cut_text(text, end - at - 1);
    rps_raster_text(&drawing->raster, at + 1, row, text, RPS_RASTER_QUIET);
}

/* Draw marks and gaps: a tic for each, and the text of the first one in a column. */
static void draw_notes(struct drawing *drawing, int row)
{
    const struct rps_picture *picture = drawing->picture;
    struct rps_picture_note note, before;
    size_t mark = 0, gap = 0;
    int at_before = -1;

    rps_raster_text(&drawing->raster, 0, row, "Marks", RPS_RASTER_PLAIN);
    while (rps_picture_next_note(picture, &mark, &gap, &note)) {
        int at = column_of(drawing, note.at);

        if (note.at < picture->from || note.at > picture->to || at == at_before)
            continue;
        if (at_before >= 0)
            draw_note(drawing, row, at_before, before.text, at - 1);
        before = note;
        at_before = at;
    }
    if (at_before >= 0)
        draw_note(drawing, row, at_before, before.text, picture->width);
}

/* Draw text of at most `rows` rows. The text is changed. Returns the row after the text. */
static int draw_rows(struct drawing *drawing, int row, char *text, int rows)
{
    char printable[2 * RPS_PICTURE_TEXT_SIZE];

    for (; rows > 0; rows--, row++)
        rps_raster_text(&drawing->raster, 0, row,
                        rps_text_printable(printable, sizeof(printable), strsep(&text, "\n")),
                        RPS_RASTER_QUIET);
    return row;
}

static void draw_below(struct drawing *drawing)
{
    struct rps_picture *picture = drawing->picture;
    int row = first_row(drawing, picture->panel_count);

    draw_x_axis(drawing, row);
    row += AXIS_ROWS;
    if (drawing->phases) {
        size_t count;
        struct rps_picture_box *box =
            rps_picture_boxes(drawing->picture, (size_t)drawing->columns, &count, NULL);

        draw_band_of(drawing, row++, "Phases", box, count, 1);
    }
    if (drawing->finer) {
        size_t count;
        struct rps_picture_box *box =
            rps_picture_level_boxes(drawing->picture, rps_picture_finer(drawing->picture), &count);

        draw_band_of(drawing, row++, "finer", box, count, 0);
    }
    if (drawing->code)
        row += draw_areas(drawing, row, "Code", &picture->code, 0);
    if (drawing->threads)
        row += draw_areas(drawing, row, "Threads", &picture->threads, THREADS_MIN);
    for (int g = 0; g < drawing->gauges; g++)
        draw_gauge(drawing, row++, &picture->gauge[g]);
    if (drawing->notes)
        draw_notes(drawing, row++);
    row = draw_rows(drawing, row, picture->zeros, drawing->zeros);
    draw_rows(drawing, row, drawing->left_out, drawing->names);
}

/* --- the whole picture ------------------------------------------------------------------------ */

static void draw_titles(struct drawing *drawing)
{
    const struct rps_picture *picture = drawing->picture;
    char text[RPS_PICTURE_TEXT_SIZE], label[RPS_PICTURE_TEXT_SIZE];

    if (drawing->title) {
        rps_run_title(text, sizeof(text) - 8, &picture->run);
        rps_picture_cut_text(text, picture->width);
        rps_raster_text(&drawing->raster, 0, 0, text, RPS_RASTER_STRONG);
    }
    if (drawing->subtitle) {
        rps_picture_x_label(picture, label);
        rps_picture_subtitle(picture, picture->axis != RPS_AXIS_TIME || picture->clock ? label : "",
                             text);
        rps_picture_cut_text(text, picture->width);
        rps_raster_text(&drawing->raster, 0, 1, text, RPS_RASTER_QUIET);
    }
}

int rps_picture_draw_characters(struct rps_picture *picture, const struct rps_plot_options *options,
                                FILE *file, struct rps_error *err)
{
    struct drawing drawing = {.picture = picture, .options = options};

    if (rps_picture_bin(picture, 0, err) < 0 || rps_picture_read_code(picture, options, err) < 0 ||
        rps_picture_read_system(picture, options, err) < 0)
        return RPS_FAILED;
    fit(&drawing);
    drawing.raster = rps_raster_new(
        picture->arena, options->width > 0 ? options->width : picture->width, picture->height);
    draw_titles(&drawing);
    for (int p = 0; p < picture->panel_count; p++)
        draw_panel(&drawing, p);
    draw_below(&drawing);
    rps_raster_write(
        &drawing.raster,
        (options->ascii ? RPS_RASTER_ASCII : 0) | (options->colour ? RPS_RASTER_COLOUR : 0), file);
    return 0;
}
