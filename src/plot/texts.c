/* The texts of a picture: title, second line, names of axes and panels. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "rpistat/picture.h"
#include "rpistat/clock.h"
#include "rpistat/plan.h"
#include "rpistat/text.h"

#define DATE_LENGTH 10 /* length of the date in rps_wall_text */
#define ZONE_AT     23 /* start of the UTC offset in rps_wall_text */

void rps_picture_cut_text(char *text, int most)
{
    int count = 0;
    char *cut = text;

    for (char *c = text; *c; c++) {
        if (rps_text_is_inside(*c))
            continue;
        if (++count == most)
            cut = c;
        if (count > most) {
            strcpy(cut, "\xe2\x80\xa6");
            return;
        }
    }
}

/* Return the number of characters that fit across the picture if they are `px` pixels high. */
int rps_picture_characters_across(const struct rps_picture *picture, double px)
{
    double count = (picture->width / picture->scale - 28) / (px * 0.6);

    if (picture->characters)
        return picture->width - 2;
    return count < 10 ? 10 : count > 400 ? 400 : (int)count;
}

static void append(char text[RPS_PICTURE_TEXT_SIZE], const char *more)
{
    size_t used = strlen(text);

    if (more[0])
        snprintf(text + used, RPS_PICTURE_TEXT_SIZE - used, "%s%s", used ? " \xc2\xb7 " : "", more);
}

/* For a recording by CPU, append how CPUs are shown, unless the legend shows them side by side. */
static void append_cpus(const struct rps_picture *picture, char text[RPS_PICTURE_TEXT_SIZE])
{
    char name[RPS_CPU_SERIES_TEXT_SIZE], part[RPS_CPU_SERIES_TEXT_SIZE + 64];

    rps_cpu_series_name(name, &picture->cpu_series);
    if (!name[0] || picture->apart)
        return;
    snprintf(part, sizeof(part), "%s%s", name,
             picture->quantile               ? ": median and 10 to 90 % band"
             : picture->cpu_series.count > 1 ? ", sum"
                                             : "");
    append(text, part);
}

static void append_left_out(const struct rps_picture *picture, char text[RPS_PICTURE_TEXT_SIZE])
{
    char part[96];

    if (picture->panel_total <= picture->panel_count)
        return;
    snprintf(part, sizeof(part), "%d of %d panels fit%s", picture->panel_count,
             picture->panel_total, picture->characters ? "" : " (--panel chooses)");
    append(text, part);
}

/* Append a name to lines of at most `most` characters. *line is the last line. Returns 1 if the
 * name is the first in a new line. */
static int add_name(char text[RPS_PICTURE_TEXT_SIZE], char **line, const char *name, int most)
{
    size_t used = strlen(text);
    const char *comma = used > 0 && text[used - 1] == ':' ? "" : ",";

    if (used + strlen(name) + 8 > RPS_PICTURE_TEXT_SIZE)
        return 0;
    if (rps_text_width(*line) + rps_text_width(name) + 2 < most) {
        sprintf(text + used, "%s %s", comma, name);
        return 0;
    }
    sprintf(text + used, "%s\n  %s", comma, name);
    *line = text + used + 1 + strlen(comma);
    return 1;
}

int rps_picture_name_left_out(const struct rps_picture *picture, int from,
                              char text[RPS_PICTURE_TEXT_SIZE])
{
    const char *before = "";
    char *line = text;
    int rows = 1;

    strcpy(text, "Not shown (--panel):");
    for (int m = 0; m < picture->plan->metric_count; m++) {
        const char *title = rps_picture_panel_title(&picture->plan->metric[m]);

        if (picture->panel[m] < from || strcmp(title, before) == 0)
            continue;
        rows += add_name(text, &line, title, picture->width);
        before = title;
    }
    return rows;
}

void rps_picture_name_zeros(struct rps_picture *picture)
{
    int most = rps_picture_characters_across(picture, 12), rows = 1, count = 0;
    char *text = picture->zeros, *line = text;

    strcpy(text, "Always zero:");
    for (int m = 0; m < picture->plan->metric_count; m++) {
        if (picture->panel[m] != RPS_PICTURE_ZERO)
            continue;
        rows += add_name(text, &line, picture->plan->metric[m].label, most);
        count++;
    }
    picture->zero_rows = count > 0 ? rows : 0;
}

char *rps_picture_subtitle(const struct rps_picture *picture, const char *remark,
                           char text[RPS_PICTURE_TEXT_SIZE])
{
    const struct rps_run *run = &picture->run;
    time_t start = (time_t)(run->start_realtime_ns / RPS_NS_PER_S);
    char raw[RPS_PICTURE_TEXT_SIZE] = "", part[RPS_TEXT_NUMBER_SIZE];
    char level[RPS_CPU_SERIES_TEXT_SIZE];
    struct tm local;

    append_left_out(picture, raw); /* omitted panels first, so that they are never cut off */
    append(raw, remark);
    if (!picture->characters &&
        (picture->kind == RPS_PLOT_TIME || picture->kind == RPS_PLOT_PHASES))
        append(raw, picture->remark);
    append(raw, run->host);
    if (localtime_r(&start, &local) && strftime(part, sizeof(part), "%Y-%m-%d %H:%M:%S", &local))
        append(raw, part);
    if (run->elapsed_ns >= 0)
        append(raw, rps_text_duration(part, sizeof(part), run->elapsed_ns));
    if (run->state == RPS_RUN_INTERRUPTED)
        append(raw, "interrupted");
    append_cpus(picture, raw);
    append(raw, run->label);
    append(raw, rps_cpu_series_level_text(level, &picture->cpu_series));
    if (picture->thinned_ns >= 0) {
        append(raw, "downsampled before ");
        rps_text_clock(part, sizeof(part), picture->thinned_ns, 0);
        strncat(raw, part, RPS_PICTURE_TEXT_SIZE - strlen(raw) - 1);
    }
    return rps_text_printable(text, RPS_PICTURE_TEXT_SIZE - 8, raw);
}

/* Return a label such as "Time of day, 2026-10-24 to 2026-10-26 (UTC+02:00, then UTC+01:00)". */
static char *clock_label(const struct rps_picture *picture, char text[RPS_PICTURE_TEXT_SIZE])
{
    int64_t from_ns = rps_picture_moment_ns(picture, picture->from);
    int64_t to_ns = rps_picture_moment_ns(picture, picture->to);
    char from[RPS_WALL_TEXT_SIZE], to[RPS_WALL_TEXT_SIZE];
    int days, zones;

    rps_wall_text(from, sizeof(from), from_ns);
    rps_wall_text(to, sizeof(to), to_ns);
    days = strncmp(from, to, DATE_LENGTH) != 0;
    zones = rps_wall_offset_s(from_ns) != rps_wall_offset_s(to_ns);
    snprintf(text, RPS_PICTURE_TEXT_SIZE, "Time of day, %.*s%s%.*s (UTC%s%s%s)", DATE_LENGTH, from,
             days ? " to " : "", days ? DATE_LENGTH : 0, to, from + ZONE_AT,
             zones ? ", then UTC" : "", zones ? to + ZONE_AT : "");
    return text;
}

char *rps_picture_x_label(const struct rps_picture *picture, char text[RPS_PICTURE_TEXT_SIZE])
{
    static const char *const powers[] = {"",
                                         "10\xc2\xb3 ",
                                         "10\xe2\x81\xb6 ",
                                         "10\xe2\x81\xb9 ",
                                         "10\xc2\xb9\xc2\xb2 ",
                                         "10\xc2\xb9\xe2\x81\xb5 ",
                                         "10\xc2\xb9\xe2\x81\xb8 "};
    const struct rps_event *clock = &picture->plan->clock;
    int power = rps_picture_x_power(picture) / 3;

    if (picture->clock)
        return clock_label(picture, text);
    if (picture->turn)
        snprintf(text, RPS_PICTURE_TEXT_SIZE, "Time in an iteration (hh:mm:ss)");
    else if (picture->axis == RPS_AXIS_TIME)
        snprintf(text, RPS_PICTURE_TEXT_SIZE, "Time since the start (hh:mm:ss)");
    else
        snprintf(text, RPS_PICTURE_TEXT_SIZE, "Cycle timestamp: %s (%s%s)",
                 clock->label[0] ? clock->label : "Cycles", power <= 6 ? powers[power] : "",
                 clock->unit[0] ? clock->unit : "cycles");
    return text;
}

/* --- panels ----------------------------------------------------------------------------------- */

const char *rps_picture_panel_unit(const struct rps_picture *picture, int panel)
{
    const char *unit = NULL;

    for (int m = 0; m < picture->plan->metric_count; m++) {
        if (picture->panel[m] != panel)
            continue;
        if (unit && strcmp(unit, picture->plan->metric[m].unit) != 0)
            return "";
        unit = picture->plan->metric[m].unit;
    }
    return unit ? unit : "";
}

/* Return the number of metrics with this panel title that are drawn, or left out as low. */
static int count_titled(const struct rps_picture *picture, const char *title, int is_low)
{
    int count = 0;

    for (int m = 0; m < picture->plan->metric_count; m++)
        count += (is_low ? picture->panel[m] == RPS_PICTURE_LOW : picture->panel[m] >= 0) &&
                 strcmp(picture->plan->metric[m].panel, title) == 0;
    return count;
}

const char *rps_picture_panel_title(const struct rps_metric *metric)
{
    return metric->panel[0] ? metric->panel : metric->label;
}

char *rps_picture_heading(const struct rps_picture *picture, int panel,
                          char text[RPS_PICTURE_TEXT_SIZE])
{
    static const struct rps_metric none;
    const struct rps_metric *metric = &none;
    const char *unit = rps_picture_panel_unit(picture, panel), *title;
    double peak = rps_picture_panel_axis(picture, panel).peak;
    char number[RPS_TEXT_NUMBER_SIZE] = "";
    int named, is_shared;

    for (int m = picture->plan->metric_count; m-- > 0;)
        metric = picture->panel[m] == panel ? &picture->plan->metric[m] : metric;
    title = rps_picture_panel_title(metric);
    /* In the plans that come with rpistat, titles already contain their unit in words. */
    named = !unit[0] || (strchr(title, '(') && title[strlen(title) - 1] == ')') ||
            strstr(title, " per ");
    is_shared = picture->apart && count_titled(picture, title, 0) > 1;
    if (peak > 0)
        snprintf(number, sizeof(number), "; peak beyond the axis: %.*f", peak < 100 ? 1 : 0, peak);
    snprintf(text, RPS_PICTURE_TEXT_SIZE, "%s%s%s%s%s%s%s%s", title, named ? "" : " (",
             named ? "" : unit, named ? "" : ")",
             count_titled(picture, title, 1) > 0 ? ": the highest lines" : "",
             is_shared ? ": " : "", is_shared ? metric->label : "", number);
    return text;
}

char *rps_picture_metric_title(const struct rps_metric *metric, char text[RPS_PICTURE_TEXT_SIZE])
{
    snprintf(text, RPS_PICTURE_TEXT_SIZE, metric->unit[0] ? "%s (%s)" : "%s", metric->label,
             metric->unit);
    return text;
}

int rps_picture_panel_lines(const struct rps_picture *picture, int panel)
{
    int count = 0;

    for (int m = 0; m < picture->plan->metric_count; m++)
        count += picture->panel[m] == panel ? picture->line_count : 0;
    return count;
}

/* Functions for the charts of all types of pictures. */

#define TITLE_X  14
#define TITLE_Y  17
#define SECOND_Y 36

/* Put as much of a text as fits across the picture. The text is `px` pixels high. */
static void put_line(struct rps_chart *chart, const struct rps_picture *picture, double y,
                     enum rps_text_size size, rps_ink ink, double px, const char *text)
{
    char printable[RPS_PICTURE_TEXT_SIZE];

    rps_text_printable(printable, sizeof(printable) - 8, text);
    rps_picture_cut_text(printable, rps_picture_characters_across(picture, px));
    rps_chart_text(chart, TITLE_X, y, RPS_LOOK_PLAIN, size, ink, printable);
}

struct rps_chart *rps_picture_titled_chart(struct rps_picture *picture, const char *title,
                                           const char *second)
{
    struct rps_chart *chart = rps_chart_new(picture->arena, picture->palette, picture->width,
                                            picture->height, picture->scale);
    char text[RPS_PICTURE_TEXT_SIZE], *rest = text;

    put_line(chart, picture, TITLE_Y, RPS_TEXT_TITLE, RPS_INK_TEXT, 16, title);
    put_line(chart, picture, SECOND_Y, RPS_TEXT_NORMAL, RPS_INK_QUIET, 12, second);
    strcpy(text, picture->zeros);
    for (int row = picture->zero_rows; row-- > 0;)
        rps_chart_text(chart, TITLE_X,
                       chart->panel[0]->bottom - row * RPS_PICTURE_LEGEND_HEIGHT - 9,
                       RPS_LOOK_PLAIN, RPS_TEXT_NORMAL, RPS_INK_QUIET, strsep(&rest, "\n"));
    return chart;
}

struct rps_chart *rps_picture_chart(struct rps_picture *picture, const char *remark)
{
    char title[RPS_PICTURE_TEXT_SIZE], second[RPS_PICTURE_TEXT_SIZE];

    rps_run_title(title, sizeof(title) - 8, &picture->run);
    return rps_picture_titled_chart(picture, title, rps_picture_subtitle(picture, remark, second));
}

struct rps_panel *rps_picture_panel(struct rps_chart *chart, const struct rps_picture *picture,
                                    double top, double bottom)
{
    return rps_chart_panel(chart, picture->left, picture->width / picture->scale - picture->right,
                           top, bottom);
}

void rps_picture_scale(struct rps_chart *chart, const struct rps_picture_axis *axis,
                       struct rps_scale *ret)
{
    double last = floor(axis->to / axis->step + 1e-9);
    char text[RPS_PICTURE_TIC_SIZE];

    *ret = (struct rps_scale){.from = axis->from, .to = axis->to, .shown = 1};
    for (double i = ceil(axis->from / axis->step - 1e-9); i <= last; i++) {
        snprintf(text, sizeof(text), "%.15g%s", i * axis->step / axis->scale + 0.0,
                 i != 0 ? axis->suffix : "");
        rps_chart_tic(chart, ret, i * axis->step, text);
    }
}

void rps_picture_x_scale(struct rps_chart *chart, const struct rps_picture *picture, int with_texts,
                         struct rps_scale *ret)
{
    char text[RPS_PICTURE_TEXT_SIZE];
    struct rps_picture_tic tic;

    *ret = (struct rps_scale){.from = picture->from, .to = picture->to, .shown = 1};
    if (with_texts)
        ret->label = rps_arena_text(chart->arena, rps_picture_x_label(picture, text));
    for (int64_t next = 0; rps_picture_x_tic(picture, &next, &tic);)
        rps_chart_tic(chart, ret, tic.at, with_texts ? tic.text : "");
}
