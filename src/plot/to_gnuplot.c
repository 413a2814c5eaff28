/* Writes a chart for gnuplot: the files that plot/draw.gp loads.
 *
 * SAFETY: gnuplot runs the files that it loads, so text must not reach it as code. The files
 * figure.gp and panels.gp contain numbers, names of rpistat's own files and tics. All other text is
 * in text.gp, as one data block that gnuplot does not interpret. Each line begins with a bar, so no
 * line can end the block. Scripts refer to the lines by number. (A data file is not suitable:
 * gnuplot's reader splits quotes.) */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rpistat/chart.h"
#include "rpistat/picture.h"
#include "rpistat/text.h"

#define HEADING_PX 11 /* distance from the middle of a heading to the panel below */
#define LABEL_PX   37 /* distance from an axis to the middle of its label */
#define LEGEND_PX  17

struct writer {
    const struct rps_chart *chart;
    int folder_fd;
    FILE *panels, *texts;
    int text_count;
    int xml; /* 1: the output is XML, so gnuplot writes texts into XML */
};

/* --- files ------------------------------------------------------------------------------------ */

static FILE *create(int folder_fd, const char *name, struct rps_error *err)
{
    int fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;

    if (!file) {
        rps_error_set(err, RPS_FAILED, "cannot write the plot's file %s: %s", name,
                      strerror(errno));
        if (fd >= 0)
            close(fd);
    }
    return file;
}

static int finish(FILE *file, const char *name, struct rps_error *err)
{
    int failed = ferror(file);

    if (fclose(file) != 0 || failed)
        return rps_error_set(err, RPS_FAILED, "cannot write the plot's file %s: %s", name,
                             strerror(errno));
    return 0;
}

/* --- colours ---------------------------------------------------------------------------------- */

int rps_ink_is_repeated(rps_ink ink)
{
    return (ink & 0xff0000) == RPS_INK_BAND && (ink & 0xffff) >= RPS_PALETTE_LABELS;
}

static unsigned rgb_of(const char *hexadecimal)
{
    return (unsigned)strtoul(hexadecimal, NULL, 16);
}

static unsigned mixed(unsigned from, unsigned to, double share)
{
    unsigned ret = 0;

    for (int bit = 0; bit < 24; bit += 8) {
        double a = from >> bit & 0xff, b = to >> bit & 0xff;

        ret |= (unsigned)lround(a + share * (b - a)) << bit;
    }
    return ret;
}

static unsigned map_rgb(const struct rps_palette *palette, unsigned step)
{
    double share = 2.0 * step / RPS_INK_MAP_STEPS;

    return share < 1 ? mixed(rgb_of(palette->low), rgb_of(palette->middle), share)
                     : mixed(rgb_of(palette->middle), rgb_of(palette->high), share - 1);
}

/* Return a colour as gnuplot's bytes, from the highest: transparency, red, green, blue. */
static unsigned argb_of(const struct rps_palette *palette, rps_ink ink)
{
    const char *const plain[] = {
        [RPS_INK_TEXT] = palette->text,   [RPS_INK_QUIET] = palette->quiet,
        [RPS_INK_AXIS] = palette->axis,   [RPS_INK_GRID] = palette->grid,
        [RPS_INK_FAINT] = palette->faint, [RPS_INK_BACKGROUND] = palette->background,
        [RPS_INK_ON_AREA] = "101010",     [RPS_INK_WHITE] = "FFFFFF",
    };
    unsigned at = ink & 0xffff, veil = ink & 0xff000000;

    switch (ink & 0xff0000) {
    case RPS_INK_LINE:
        return veil | rgb_of(palette->line[at % RPS_PALETTE_LINES]);
    case RPS_INK_BAND:
        return veil | rgb_of(palette->band[at % RPS_PALETTE_LABELS]);
    case RPS_INK_POINT:
        return veil | rgb_of(palette->ink[at % RPS_PALETTE_LABELS]);
    case RPS_INK_AREA:
        return veil | rgb_of(palette->area[at % RPS_PALETTE_AREAS]);
    case RPS_INK_MAP:
        return veil | map_rgb(palette, at);
    default:
        return veil | rgb_of(plain[at]);
    }
}

static void write_figure(const struct rps_chart *chart, FILE *file)
{
    const struct rps_palette *palette = chart->palette;

    fprintf(file,
            "# Size and colours of the chart, written by rpistat.\n"
            "width = %d\nheight = %d\nscale = %.6g\n"
            "background = \"#%s\"\ndark = \"#%s\"\nquiet = \"#%s\"\naxis = \"#%s\"\n"
            "grid = \"#%s\"\n",
            chart->width, chart->height, chart->scale, palette->background, palette->text,
            palette->quiet, palette->axis, palette->grid);
}

/* --- texts ------------------------------------------------------------------------------------ */

/* Print text for SVG. gnuplot escapes `<` and `&`, but not `]]>`, which XML text cannot contain.
 * gnuplot also does not escape texts that look like a character number. */
static void print_for_xml(FILE *file, const char *text)
{
    for (const char *at = text; *at; at++) {
        if (*at == '>' && at - text >= 2 && at[-1] == ']' && at[-2] == ']')
            fputs("&#x3e;", file);
        else if (strncmp(at, "&#x", 3) == 0)
            fputs("&#x26;", file);
        else
            fputc(*at, file);
    }
}

/* Put a text into the data block. Returns the line number of the text. */
static int put_text(struct writer *writer, const char *text)
{
    char printable[4 * RPS_PICTURE_TEXT_SIZE];

    rps_text_printable(printable, sizeof(printable), text);
    fputc('|', writer->texts);
    if (writer->xml)
        print_for_xml(writer->texts, printable);
    else
        fputs(printable, writer->texts);
    fputc('\n', writer->texts);
    return ++writer->text_count;
}

/* --- layers ----------------------------------------------------------------------------------- */

/* Each row has the values of a shape, gnuplot's columns for them, and the style (lines, areas,
 * points). The values: x and y, X and Y for x2 and y2, and w and h for the distances. */
static const struct kind {
    const char *numbers, *columns, *style;
    enum { OF_LINES, OF_AREAS, OF_POINTS } of;
} kinds[] = {
    [RPS_LAYER_LINE] = {"xy", "1:2", "lines", OF_LINES},
    [RPS_LAYER_BAND] = {"xyY", "1:2:3", "filledcurves", OF_AREAS},
    [RPS_LAYER_BOXES] = {"xXyY", "1:3:1:2:3:4", "boxxyerror", OF_AREAS},
    [RPS_LAYER_SPANS] = {"xX", "1:(low):1:2:(low):(high)", "boxxyerror", OF_AREAS},
    [RPS_LAYER_RULES] = {"x", "1:(low):(0):(high - low)", "vectors nohead", OF_LINES},
    [RPS_LAYER_SEGMENTS] = {"xywh", "1:2:3:4", "vectors nohead", OF_LINES},
    [RPS_LAYER_POINTS] = {"xy", "1:2", "points", OF_POINTS},
};

static double number_of(const struct rps_shape *shape, char which)
{
    switch (which) {
    case 'x':
        return shape->x;
    case 'y':
        return shape->y;
    case 'X':
        return shape->x2;
    case 'Y':
        return shape->y2;
    case 'w':
        return shape->x2 - shape->x;
    default:
        return shape->y2 - shape->y;
    }
}

static int write_shapes(const struct writer *writer, const struct rps_layer *layer,
                        struct rps_error *err)
{
    char name[64];
    FILE *file;

    snprintf(name, sizeof(name), "%s.dat", layer->file);
    file = create(writer->folder_fd, name, err);
    if (!file)
        return RPS_FAILED;
    /* Write a shape. An empty row ends lines and bands. */
    for (size_t i = 0; i < layer->count; i++) {
        for (const char *which = kinds[layer->kind].numbers; *which && !isnan(layer->shape[i].y);
             which++)
            fprintf(file, "%s%.12g", which == kinds[layer->kind].numbers ? "" : " ",
                    number_of(&layer->shape[i], *which));
        if (layer->each)
            fprintf(file, " 0x%06X", argb_of(writer->chart->palette, layer->shape[i].ink));
        fputc('\n', file);
    }
    return finish(file, name, err);
}

/* Write a layer as a clause of the plot command. */
static void write_layer(struct writer *writer, const struct rps_layer *layer)
{
    static const char *const fills[] = {
        [RPS_LOOK_PLAIN] = "solid",
        [RPS_LOOK_HATCHED] = "transparent pattern 4",
        [RPS_LOOK_UNSURE] = "transparent pattern 5",
        [RPS_LOOK_GAP] = "transparent pattern 2",
    };
    const struct kind *kind = &kinds[layer->kind];
    FILE *file = writer->panels;

    fprintf(file, "'%s.dat' using %s", layer->file, kind->columns);
    if (layer->each)
        fprintf(file, ":(%u + int(strcol(%zu)))", layer->ink & 0xff000000,
                strlen(kind->numbers) + 1);
    fprintf(file, " with %s ", kind->style);
    if (kind->of == OF_LINES)
        fprintf(file, "linewidth %.3g dashtype %d linecolor ", layer->weight, layer->look + 1);
    else if (kind->of == OF_AREAS)
        fprintf(file, "fillstyle %s noborder fillcolor ", fills[layer->look]);
    else
        fprintf(file, "pointtype point_shape(%d) pointsize point_size(%g) linecolor ",
                layer->shape_of, layer->weight);
    if (layer->each)
        fputs("rgb variable", file);
    else
        fprintf(file, "rgb '#%08X'", argb_of(writer->chart->palette, layer->ink));
    if (layer->name)
        fprintf(file, " title caption(%d)", put_text(writer, layer->name));
    else
        fputs(" notitle", file);
}

/* --- labels ----------------------------------------------------------------------------------- */

/* Write a label with `set label`, since a plot style would split quotes. */
static void write_label(struct writer *writer, const struct rps_label *label, size_t number)
{
    static const char *const places[] = {
        [RPS_LOOK_PLAIN] = "left",
        [RPS_LOOK_CENTRE] = "center",
        [RPS_LOOK_RIGHT] = "right",
        [RPS_LOOK_BOXED] = "center boxed",
        [RPS_LOOK_BESIDE] = "left boxed offset character 0.8, 0.7",
    };
    static const char *const fonts[] = {
        [RPS_TEXT_NORMAL] = "",
        [RPS_TEXT_SMALL] = " font small_font",
        [RPS_TEXT_TITLE] = " font title_font",
    };

    fprintf(writer->panels,
            "set label %zu caption(%d) at %.12g, %.9g front %s noenhanced%s textcolor rgb "
            "'#%06X'\n",
            number, put_text(writer, label->text), label->x, label->y, places[label->look],
            fonts[label->size], argb_of(writer->chart->palette, label->ink));
}

/* --- panels ----------------------------------------------------------------------------------- */

/* Write the tics. gnuplot treats their texts, which come from rpistat itself, as formats of
 * numbers, so each % is doubled. */
static void write_tics(FILE *file, const char *axis, const struct rps_scale *scale, int quiet)
{
    fprintf(file, "set %stics (", axis);
    if (scale->tic_count == 0)
        fprintf(file, "'' (%.17g)", scale->from);
    for (size_t i = 0; i < scale->tic_count; i++) {
        fputs(i ? ", \"" : "\"", file);
        for (const char *c = scale->tic[i].text; *c; c++)
            fputs(*c == '%' ? "%%" : (char[]){*c, '\0'}, file);
        fprintf(file, "\" (%.17g)", scale->tic[i].at);
    }
    fprintf(file, ") @%s%s\n", quiet ? "quiet_tics" : "tics",
            axis[0] == 'x' ? " offset 0, 0.15" : "");
}

static void write_axes(const struct rps_panel *panel, FILE *file)
{
    fprintf(file, "eval place(%.6g, %.6g, %.6g, %.6g)\n", panel->left, panel->right, panel->top,
            panel->bottom);
    fprintf(file,
            "low = %.17g\nhigh = %.17g\nset xrange [%.17g : %.17g]\nset yrange [low : high]\n",
            panel->y.from, panel->y.to, panel->x.from, panel->x.to);
    if (panel->x.shown || panel->y.shown)
        fprintf(file, "set border %d linestyle 101\nset grid linestyle 100\n",
                panel->x.shown + 2 * panel->y.shown);
    if (panel->x.shown)
        write_tics(file, "x", &panel->x, 0);
    if (panel->y.shown)
        write_tics(file, "y", &panel->y, panel->quiet);
}

static void write_heading(struct writer *writer, const struct rps_panel *panel)
{
    double above = panel->top - HEADING_PX;
    int names = 0;

    for (size_t i = 0; i < panel->layer_count; i++)
        names += panel->layer[i]->name != NULL;
    if (names > 0)
        fprintf(writer->panels,
                "set key at screen across(%.6g), up(%.6g) right center horizontal Left reverse "
                "noenhanced samplen 1.6 textcolor rgb dark\n",
                panel->right,
                above - (panel->legend_rows > 1 ? (panel->legend_rows - 1) * LEGEND_PX / 2. : 0));
    if (panel->heading)
        fprintf(writer->panels,
                "set label 1 caption(%d) at screen across(%.6g), up(%.6g) left noenhanced%s\n",
                put_text(writer, panel->heading), panel->left,
                above - panel->legend_rows * LEGEND_PX,
                panel->quiet ? " font small_font textcolor rgb quiet" : " textcolor rgb dark");
    if (panel->x.label)
        fprintf(writer->panels,
                "set label 2 caption(%d) at screen across(%.6g), up(%.6g) center noenhanced "
                "textcolor rgb quiet\n",
                put_text(writer, panel->x.label), (panel->left + panel->right) / 2,
                panel->bottom + LABEL_PX);
}

static void write_panel(struct writer *writer, const struct rps_panel *panel)
{
    const char *before = "plot ";

    fputc('\n', writer->panels);
    write_axes(panel, writer->panels);
    write_heading(writer, panel);
    for (size_t i = 0; i < panel->label_count; i++)
        write_label(writer, &panel->label[i], i + 3);
    for (size_t i = 0; i < panel->layer_count; i++) {
        if (panel->layer[i]->count == 0)
            continue;
        fputs(before, writer->panels);
        write_layer(writer, panel->layer[i]);
        before = ", \\\n    ";
    }
    fputs(before[0] == 'p' ? "plot NaN notitle\n" : "\n", writer->panels);
}

/* --- the whole chart -------------------------------------------------------------------------- */

/* Return 1 if no earlier layer has the same data file. */
static int is_first(const struct rps_chart *chart, const struct rps_panel *panel, size_t at)
{
    const char *file = panel->layer[at]->file;

    for (size_t p = 0; p < chart->panel_count; p++) {
        const struct rps_panel *other = chart->panel[p];

        for (size_t i = 0; i < other->layer_count; i++) {
            if (other->layer[i]->count > 0 && strcmp(other->layer[i]->file, file) == 0)
                return other == panel && i == at;
        }
    }
    return 0;
}

static int write_panels(struct writer *writer, struct rps_error *err)
{
    const struct rps_chart *chart = writer->chart;

    fputs("# Text, by the number of its line. A line of text is what follows its bar.\n"
          "$text << END\n",
          writer->texts);
    for (size_t p = 0; p < chart->panel_count; p++) {
        const struct rps_panel *panel = chart->panel[p];

        for (size_t i = 0; i < panel->layer_count; i++) {
            if (is_first(chart, panel, i) && write_shapes(writer, panel->layer[i], err) < 0)
                return RPS_FAILED;
        }
        write_panel(writer, panel);
    }
    fputs("END\n", writer->texts);
    return 0;
}

int rps_chart_write(const struct rps_chart *chart, int xml, int folder_fd, struct rps_error *err)
{
    struct writer writer = {.chart = chart, .folder_fd = folder_fd, .xml = xml};
    FILE *file = create(folder_fd, "figure.gp", err);
    int result = RPS_FAILED;

    if (!file)
        return RPS_FAILED;
    write_figure(chart, file);
    if (finish(file, "figure.gp", err) < 0)
        return RPS_FAILED;
    writer.panels = create(folder_fd, "panels.gp", err);
    writer.texts = writer.panels ? create(folder_fd, "text.gp", err) : NULL;
    if (writer.texts)
        result = write_panels(&writer, err);
    if (writer.texts && finish(writer.texts, "text.gp", err) < 0)
        result = RPS_FAILED;
    if (writer.panels && finish(writer.panels, "panels.gp", err) < 0)
        result = RPS_FAILED;
    return result;
}
