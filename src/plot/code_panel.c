/* The panel "Code" of a picture: legend and stacked areas, whose shares an extension computes. */
#include <math.h>
#include <string.h>

#include "rpistat/picture.h"
#include "rpistat/text.h"
#include "rpistat/code_hooks.h"

#define CODE_CUT    32 /* maximum length of a name in the legend */
#define CODE_SWATCH 14

/* Lay out the legend. All entries of the legend are as wide as the longest name. */
void rps_picture_lay_out_areas(const struct rps_picture *picture, struct rps_picture_areas *code)
{
    double across = picture->width / picture->scale - picture->left - picture->right;
    int longest = 1;

    for (int line = 0; line < code->line_count; line++) {
        int width = rps_text_width(code->name[line]);

        longest = width > longest ? width : longest;
    }
    longest = longest < CODE_CUT ? longest : CODE_CUT;
    code->entry = longest * RPS_PICTURE_CHARACTER + CODE_SWATCH + 24;
    code->columns = across > 2 * code->entry ? (int)(across / code->entry) : 1;
    code->columns = code->columns < code->line_count ? code->columns : code->line_count;
    code->rows = code->line_count > 0 ? (code->line_count + code->columns - 1) / code->columns : 0;
}

int rps_picture_read_code(struct rps_picture *picture, const struct rps_plot_options *options,
                          struct rps_error *err)
{
    const struct rps_code_hooks *hooks = rps_store_used_hooks();
    int result;

    if (!hooks || !hooks->panel)
        return 0;
    result = hooks->panel(picture, options, err);
    rps_picture_lay_out_areas(picture, &picture->code);
    return result;
}

double rps_picture_areas_height(const struct rps_picture_areas *areas)
{
    return areas->line_count > 0 ? RPS_PICTURE_CODE_HEIGHT + RPS_PICTURE_LEGEND_HEIGHT * areas->rows
                                 : 0;
}

/* --- chart ------------------------------------------------------------------------------------ */

static rps_ink ink_of(int colour)
{
    return colour == -2 ? (rps_ink)RPS_INK_QUIET
           : colour < 0 ? (rps_ink)RPS_INK_GRID
                        : RPS_INK_AREA + (rps_ink)colour;
}

static void add_legend(struct rps_chart *chart, const struct rps_picture *picture,
                       const struct rps_picture_areas *code, double top)
{
    struct rps_layer like = {.kind = RPS_LAYER_BOXES};
    char name[RPS_PICTURE_AREAS_NAME];

    for (int line = 0; line < code->line_count; line++) {
        strcpy(name, code->name[line]);
        rps_picture_cut_text(name, CODE_CUT);
        like.ink = ink_of(code->colour[line]);
        rps_chart_entry(chart, picture->left + line % code->columns * code->entry,
                        top + line / code->columns * RPS_PICTURE_LEGEND_HEIGHT + 8, &like, name);
    }
}

struct rps_panel *rps_picture_add_areas(struct rps_chart *chart, const struct rps_picture *picture,
                                        const struct rps_picture_areas *code, const char *file,
                                        const struct rps_picture_overlay *overlay, double bottom)
{
    struct rps_picture_axis axis = rps_picture_axis(0, code->top, 2);
    double top = bottom - rps_picture_areas_height(code) + RPS_PICTURE_HEADING;
    struct rps_panel *panel = rps_picture_panel(
        chart, picture, top + code->rows * RPS_PICTURE_LEGEND_HEIGHT, bottom - RPS_PICTURE_FLOOR);
    double *below = rps_arena_get(chart->arena, code->step_count, sizeof(*below));

    rps_chart_text(chart, picture->left, top - 11, RPS_LOOK_PLAIN, RPS_TEXT_NORMAL, RPS_INK_TEXT,
                   code->title);
    add_legend(chart, picture, code, top);
    rps_picture_x_scale(chart, picture, 0, &panel->x);
    rps_picture_scale(chart, &axis, &panel->y);
    for (int line = 0; line < code->line_count; line++) {
        struct rps_layer *layer = rps_chart_layer(
            chart, panel, RPS_LAYER_BAND, rps_arena_print(chart->arena, "%s-%d", file, line + 1),
            ink_of(code->colour[line]));

        for (size_t i = 0; i < code->step_count; i++) {
            double share = code->share[i * RPS_PICTURE_AREAS_LINES + (size_t)line];
            double above = fmin(below[i] + share, code->top);

            rps_chart_shape(chart, layer, code->at[i], below[i], 0, above);
            rps_chart_shape(chart, layer, code->at[i + 1], below[i], 0, above);
            below[i] = above;
        }
    }
    rps_picture_over_areas(chart, panel, overlay);
    return panel;
}
