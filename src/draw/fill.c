/* Functions for charts of all kinds of pictures. */
#include <math.h>
#include <string.h>

#include "rpistat/picture.h"
#include "rpistat/text.h"

#define TITLE_X  14
#define TITLE_Y  17
#define SECOND_Y 36

/* Put the part of a text that fits across the picture at `px` pixels high. */
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
