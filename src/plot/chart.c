/* Functions that build charts. */
#include "rpistat/chart.h"
#include "rpistat/plot.h"

#define ENTRY_SWATCH 10 /* side of a box before the text of a legend's entry */
#define ENTRY_LINE   18 /* length of a line before the text of a legend's entry */
#define ENTRY_SPACE  4  /* space between box or line and the text */

struct rps_chart *rps_chart_new(struct rps_arena *arena, const struct rps_palette *palette,
                                int width, int height, double scale)
{
    struct rps_chart *chart = rps_arena_get(arena, 1, sizeof(*chart));
    double right = width / scale, bottom = height / scale;
    struct rps_panel *canvas;

    *chart = (struct rps_chart){
        .arena = arena, .palette = palette, .width = width, .height = height, .scale = scale};
    canvas = rps_chart_panel(chart, 0, right, 0, bottom);
    canvas->x.to = right;
    canvas->y.from = bottom;
    return chart;
}

struct rps_panel *rps_chart_panel(struct rps_chart *chart, double left, double right, double top,
                                  double bottom)
{
    struct rps_panel *panel = rps_arena_get(chart->arena, 1, sizeof(*panel));

    *panel = (struct rps_panel){.left = left, .right = right, .top = top, .bottom = bottom};
    chart->panel =
        rps_arena_grow(chart->arena, chart->panel, chart->panel_count, sizeof(struct rps_panel *));
    chart->panel[chart->panel_count++] = panel;
    return panel;
}

void rps_chart_share(struct rps_chart *chart, struct rps_panel *panel, struct rps_layer *layer)
{
    panel->layer =
        rps_arena_grow(chart->arena, panel->layer, panel->layer_count, sizeof(struct rps_layer *));
    panel->layer[panel->layer_count++] = layer;
}

struct rps_layer *rps_chart_layer(struct rps_chart *chart, struct rps_panel *panel,
                                  enum rps_layer_kind kind, const char *file, rps_ink ink)
{
    struct rps_layer *layer = rps_arena_get(chart->arena, 1, sizeof(*layer));

    *layer = (struct rps_layer){.kind = kind, .file = file, .ink = ink, .weight = 1};
    if (!file)
        layer->file = rps_arena_print(chart->arena, "layer-%d", ++chart->nameless);
    if (panel)
        rps_chart_share(chart, panel, layer);
    return layer;
}

struct rps_shape *rps_chart_shape(struct rps_chart *chart, struct rps_layer *layer, double x,
                                  double y, double x2, double y2)
{
    layer->shape = rps_arena_grow(chart->arena, layer->shape, layer->count, sizeof(*layer->shape));
    layer->shape[layer->count] = (struct rps_shape){.x = x, .y = y, .x2 = x2, .y2 = y2};
    return &layer->shape[layer->count++];
}

void rps_chart_tic(struct rps_chart *chart, struct rps_scale *scale, double at, const char *text)
{
    scale->tic = rps_arena_grow(chart->arena, scale->tic, scale->tic_count, sizeof(*scale->tic));
    scale->tic[scale->tic_count++] =
        (struct rps_tic){.at = at, .text = rps_arena_text(chart->arena, text)};
}

/* --- outside panels --------------------------------------------------------------------------- */

/* Return the chart's own layer that looks like `like`. If there is no such layer, add one. */
static struct rps_layer *layer_like(struct rps_chart *chart, const struct rps_layer *like)
{
    struct rps_panel *canvas = chart->panel[0];
    struct rps_layer *layer;

    for (size_t i = 0; i < canvas->layer_count; i++) {
        layer = canvas->layer[i];
        if (layer->kind == like->kind && layer->look == like->look && layer->ink == like->ink &&
            layer->shape_of == like->shape_of && layer->weight == like->weight)
            return layer;
    }
    layer = rps_chart_layer(chart, canvas, like->kind, NULL, like->ink);
    layer->look = like->look;
    layer->shape_of = like->shape_of;
    layer->weight = like->weight;
    return layer;
}

void rps_chart_label(struct rps_chart *chart, struct rps_panel *panel, double x, double y,
                     enum rps_look look, rps_ink ink, const char *text)
{
    panel->label =
        rps_arena_grow(chart->arena, panel->label, panel->label_count, sizeof(*panel->label));
    panel->label[panel->label_count++] = (struct rps_label){
        .x = x, .y = y, .look = look, .ink = ink, .text = rps_arena_text(chart->arena, text)};
}

void rps_chart_text(struct rps_chart *chart, double x, double y, enum rps_look look,
                    enum rps_text_size size, rps_ink ink, const char *text)
{
    struct rps_panel *canvas = chart->panel[0];

    rps_chart_label(chart, canvas, x, y, look, ink, text);
    canvas->label[canvas->label_count - 1].size = size;
}

void rps_chart_box(struct rps_chart *chart, double x, double y, double x2, double y2, rps_ink ink)
{
    struct rps_layer like = {.kind = RPS_LAYER_BOXES, .ink = ink, .weight = 1};

    rps_chart_shape(chart, layer_like(chart, &like), x, y, x2, y2);
    if (!rps_ink_is_repeated(ink))
        return;
    like.ink = RPS_INK_WHITE;
    like.look = RPS_LOOK_HATCHED;
    rps_chart_shape(chart, layer_like(chart, &like), x, y, x2, y2);
}

void rps_chart_line(struct rps_chart *chart, double x, double y, double x2, double y2,
                    const struct rps_layer *like)
{
    rps_chart_shape(chart, layer_like(chart, like), x, y, x2, y2);
}

void rps_chart_entry(struct rps_chart *chart, double x, double y, const struct rps_layer *like,
                     const char *text)
{
    double width = like->kind == RPS_LAYER_SEGMENTS ? ENTRY_LINE : ENTRY_SWATCH;

    if (like->kind == RPS_LAYER_BOXES)
        rps_chart_box(chart, x, y - width / 2, x + width, y + width / 2, like->ink);
    else
        rps_chart_line(chart, x, y, x + (like->kind == RPS_LAYER_SEGMENTS ? width : 0), y, like);
    rps_chart_text(chart, x + width + ENTRY_SPACE, y, RPS_LOOK_PLAIN, RPS_TEXT_NORMAL, RPS_INK_TEXT,
                   text);
}

/* The colours of pictures. */

#define PALETTE_BANDS                                                                              \
    {                                                                                              \
        "77AADD", "EEDD88", "EE8866", "99DDFF", "44BB99", "FFAABB", "BBCC33", "DDDDDD", "AAAA00"   \
    }

static const struct rps_palette light = {
    .background = "FFFFFF",
    .text = "202020",
    .quiet = "5C5C5C",
    .axis = "707070",
    .grid = "DCDCDC",
    .faint = "A4A9AE",
    .band = PALETTE_BANDS,
    .ink = {"2F6DB5", "C79A00", "C8441B", "1AA3C9", "11806A", "D6427A", "7D8C00", "707070",
            "5E5E00"},
    .band_veil = 0xac,
    .tint_veil = {0x60, 0xc0, 0x90, 0xa8, 0x78},
    .line = {"0072B2", "D55E00", "009E73", "CC79A7", "E69F00", "56B4E9", "000000", "8C8C8C"},
    .area = {"4B2E83", "C27BD4", "7A3B12", "D9B8EC", "5A0F3A", "A9826A", "101840", "8C8C8C"},
    .low = "2166AC",
    .middle = "F7F7F7",
    .high = "B2182B",
};

/* The colours on black: areas are less transparent, and lines and text are lighter. */
static const struct rps_palette dark = {
    .background = "14171A",
    .text = "E6E6E6",
    .quiet = "A6ABB0",
    .axis = "80868C",
    .grid = "363C42",
    .faint = "6A7178",
    .band = PALETTE_BANDS,
    .ink = PALETTE_BANDS,
    .band_veil = 0xa0,
    .tint_veil = {0x60, 0xc0, 0x90, 0xa8, 0x78},
    .line = {"56B4E9", "F5874A", "2FD0A0", "E3A0C8", "F0B840", "8CA8FF", "FFFFFF", "A0A0A0"},
    .area = {"8055D8", "D58CEB", "A5622B", "E3CCF7", "B03A86", "C9A38B", "5560A8", "A0A0A0"},
    .low = "5AA5F0",
    .middle = "262B30",
    .high = "F2705A",
};

const struct rps_palette *rps_palette(enum rps_theme theme)
{
    return theme == RPS_THEME_DARK ? &dark : &light;
}

/* The names of the kinds of pictures, and of the contents of the panel "Code". */

const char *const rps_plot_kind_names[RPS_PLOT_KIND_COUNT] = {
#define NAME(kind, name, help) #name,
    RPS_PLOT_KINDS(NAME)};

const char *const rps_plot_code_names[RPS_PLOT_CODE_COUNT] = {
    [RPS_PLOT_CODE_CHOSEN] = "chosen",   [RPS_PLOT_CODE_FUNCTION] = "function",
    [RPS_PLOT_CODE_MODULE] = "module",   [RPS_PLOT_CODE_THREAD] = "thread",
    [RPS_PLOT_CODE_PROGRAM] = "program", [RPS_PLOT_CODE_CGROUP] = "cgroup",
    [RPS_PLOT_CODE_NONE] = "none",
};
