/* The annotations on a chart's axis: phases and their boundaries, gaps and marks, behind and over
 * the panels. This file also makes the rows between title and panels. These rows are regions, texts
 * of marks, a legend of labels, the strip of phases, and the band of finer phases. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rpistat/loops.h"
#include "rpistat/picture.h"
#include "rpistat/text.h"

#define OVERLAY_EDGE_PX      2   /* minimum width of a phase's box; a boundary has its own line */
#define OVERLAY_GAP_PX       1.5 /* minimum width of a gap */
#define OVERLAY_TEXT_MAX     28  /* maximum length of a mark's text in characters */
#define OVERLAY_NAME         7   /* distance from a row to its name on the left */
#define OVERLAY_NOTE         4   /* distance from a mark's tick to its text */
#define OVERLAY_ITERATION_PX 60  /* minimum width of a loop's iteration with letters and lines */

static double pixels_across(const struct rps_picture *picture)
{
    return fmax(10, picture->width - (picture->left + picture->right) * picture->scale);
}

/* Convert a length on the axis to pixels at scale 1. */
static double px_of(const struct rps_picture *picture, double length)
{
    return length / (picture->to - picture->from) * pixels_across(picture) / picture->scale;
}

/* --- in the background of panels and over them ------------------------------------------------ */

/* Return a new layer that does not yet belong to a panel. */
static struct rps_layer *new_layer(struct rps_chart *chart, enum rps_layer_kind kind,
                                   const char *before, const char *name, rps_ink ink)
{
    return rps_chart_layer(chart, NULL, kind, rps_arena_print(chart->arena, "%s%s", before, name),
                           ink);
}

/* Find the loops that have narrow iterations and space for a text. If the iterations of a loop are
 * wide, search its inner loops instead. */
static void find_loops(const struct rps_picture *picture, struct rps_picture_overlay *overlay)
{
    const struct rps_phase *phase = picture->phases.phase;
    struct rps_loops loops = rps_loops_of(picture->arena, &picture->phases);
    struct rps_loop_runs runs = rps_loop_runs_of(picture->arena, &loops);
    size_t folded_end = 0; /* end of the phases in the last narrow loop */

    overlay->loop = rps_arena_get(picture->arena, runs.count + 1, sizeof(*overlay->loop));
    for (size_t k = 0; k < runs.count; k++) {
        const struct rps_loop_run *run = &runs.run[k];
        struct rps_picture_loop *to = &overlay->loop[overlay->loop_count];

        if (run->first < folded_end)
            continue;
        to->from = rps_picture_position(picture, phase[run->first].start_ns);
        to->to = rps_picture_position(picture, phase[run->first + run->count - 1].end_ns);
        if (px_of(picture, to->to - to->from) / (double)run->turns >= OVERLAY_ITERATION_PX)
            continue;
        folded_end = run->first + run->count;
        to->from = fmax(to->from, picture->from);
        to->to = fmin(to->to, picture->to);
        to->text = rps_picture_loop_name(picture, run);
        overlay->loop_count += px_of(picture, to->to - to->from) >
                               RPS_PICTURE_CHARACTER * (double)strlen(to->text) + 4;
    }
}

static int is_in_loop(const struct rps_picture_overlay *overlay, const struct rps_picture_box *box)
{
    double middle = (box->from + box->to) / 2;
    size_t k = 0;

    while (k < overlay->loop_count &&
           !(middle > overlay->loop[k].from && middle < overlay->loop[k].to))
        k++;
    return k < overlay->loop_count;
}

/* Add the boxes of phases; for labels beyond the number of colours, the boxes are also hatched. */
static void add_boxes(struct rps_chart *chart, const struct rps_picture *picture,
                      const struct rps_picture_overlay *overlay)
{
    for (size_t i = 0; i < overlay->box_count; i++) {
        const struct rps_picture_box *box = &overlay->box[i];
        rps_ink ink = box->label < 0 ? (rps_ink)RPS_INK_GRID : RPS_INK_BAND + (rps_ink)box->label;

        rps_chart_shape(chart, overlay->phases, box->from, 0, box->to, 0)->ink = ink;
        if (rps_ink_is_repeated(ink))
            rps_chart_shape(chart, overlay->hatched, box->from, 0, box->to, 0);
        if (overlay->exact && box->from > picture->from &&
            !(is_in_loop(overlay, box) && i > 0 && is_in_loop(overlay, box - 1)))
            rps_chart_shape(chart, overlay->bounds, box->from, 0, 0, 0);
    }
}

/* Return the time at which a period began. The period is near the start of the phase. */
static int64_t time_of(const struct rps_picture *picture, const struct rps_phase *phase,
                       uint64_t period)
{
    int64_t periods = (int64_t)period - (int64_t)phase->first;

    return phase->start_ns + periods * picture->run.period_ns;
}

static void add_edges(struct rps_chart *chart, const struct rps_picture *picture,
                      struct rps_layer *edges)
{
    for (size_t i = 0; i < picture->phases.count; i++) {
        const struct rps_phase *phase = &picture->phases.phase[i];
        double from = rps_picture_position(picture, time_of(picture, phase, phase->earliest));
        double to = rps_picture_position(picture, time_of(picture, phase, phase->latest));

        from = fmax(from, picture->from);
        to = fmin(to, picture->to);
        if (phase->loop == 0 && px_of(picture, to - from) >= OVERLAY_EDGE_PX)
            rps_chart_shape(chart, edges, from, 0, to, 0);
    }
}

static void add_gaps(struct rps_chart *chart, const struct rps_picture *picture,
                     struct rps_layer *gaps)
{
    double least = OVERLAY_GAP_PX / px_of(picture, 1);

    for (size_t i = 0; i < picture->gaps.count; i++) {
        const struct rps_note *gap = &picture->gaps.note[i];
        double from = rps_picture_position(picture, gap->start_ns);
        double to =
            fmax(from + least, rps_picture_position(picture, gap->start_ns + gap->length_ns));

        from = fmax(from, picture->from);
        to = fmin(to, picture->to);
        if (to > from)
            rps_chart_shape(chart, gaps, from, 0, to, 0);
    }
}

/* Add the marks, at most one per pixel. */
static void add_marks(struct rps_chart *chart, const struct rps_picture *picture,
                      struct rps_layer *marks)
{
    double last = -INFINITY;

    for (size_t i = 0; i < picture->marks.count; i++) {
        double at = rps_picture_position(picture, picture->marks.note[i].start_ns);

        if (at < picture->from || at > picture->to || px_of(picture, at - last) < 1)
            continue;
        rps_chart_shape(chart, marks, at, 0, 0, 0);
        last = at;
    }
}

void rps_picture_overlay_of_phases(struct rps_chart *chart, const struct rps_picture *picture,
                                   const char *before, struct rps_picture_overlay *ret)
{
    *ret = (struct rps_picture_overlay){
        .phases = new_layer(chart, RPS_LAYER_SPANS, before, "phases", 0),
        .hatched = new_layer(chart, RPS_LAYER_SPANS, before, "hatched", RPS_INK_FAINT),
        .edges = new_layer(chart, RPS_LAYER_SPANS, before, "edges", RPS_INK_FAINT),
        .bounds =
            new_layer(chart, RPS_LAYER_RULES, before, "bounds", RPS_INK_VEIL(RPS_INK_AXIS, 64)),
        .gaps = new_layer(chart, RPS_LAYER_SPANS, before, "gaps", RPS_INK_FAINT),
        .marks = new_layer(chart, RPS_LAYER_RULES, before, "marks", RPS_INK_TEXT),
    };
    ret->phases->each = 1;
    ret->hatched->look = RPS_LOOK_HATCHED;
    ret->edges->look = RPS_LOOK_UNSURE;
    ret->bounds->weight = 0.6;
    ret->gaps->look = RPS_LOOK_GAP;
    ret->marks->look = RPS_LOOK_DOTTED;
    if (!picture->has_phases)
        return;
    ret->box =
        rps_picture_boxes(picture, (size_t)pixels_across(picture), &ret->box_count, &ret->exact);
    find_loops(picture, ret);
    add_boxes(chart, picture, ret);
}

void rps_picture_overlay(struct rps_chart *chart, const struct rps_picture *picture,
                         struct rps_picture_overlay *ret)
{
    rps_picture_overlay_of_phases(chart, picture, "", ret);
    if (ret->exact)
        add_edges(chart, picture, ret->edges);
    add_gaps(chart, picture, ret->gaps);
    add_marks(chart, picture, ret->marks);
}

/* Add a layer that has the same shapes as another layer, but looks different. */
static struct rps_layer *share_as(struct rps_chart *chart, struct rps_panel *panel,
                                  const struct rps_layer *layer, rps_ink ink, enum rps_look look)
{
    struct rps_layer *ret = rps_chart_layer(chart, panel, layer->kind, layer->file, ink);

    *ret = *layer;
    ret->ink = ink;
    ret->look = look;
    return ret;
}

void rps_picture_shade(struct rps_chart *chart, struct rps_panel *panel,
                       const struct rps_picture_overlay *overlay)
{
    share_as(chart, panel, overlay->phases, RPS_INK_VEIL(0, chart->palette->band_veil),
             RPS_LOOK_PLAIN);
    rps_chart_share(chart, panel, overlay->hatched);
    rps_chart_share(chart, panel, overlay->edges);
    rps_chart_share(chart, panel, overlay->bounds);
    share_as(chart, panel, overlay->gaps, RPS_INK_BACKGROUND, RPS_LOOK_PLAIN);
    rps_chart_share(chart, panel, overlay->gaps);
}

void rps_picture_over_areas(struct rps_chart *chart, struct rps_panel *panel,
                            const struct rps_picture_overlay *overlay)
{
    share_as(chart, panel, overlay->bounds, RPS_INK_BACKGROUND, RPS_LOOK_PLAIN)->weight = 0.8;
    share_as(chart, panel, overlay->gaps, RPS_INK_BACKGROUND, RPS_LOOK_PLAIN);
    rps_chart_share(chart, panel, overlay->marks);
}

/* --- texts of regions, marks and gaps --------------------------------------------------------- */

int rps_picture_next_note(const struct rps_picture *picture, size_t *mark, size_t *gap,
                          struct rps_picture_note *ret)
{
    const struct rps_notes *marks = &picture->marks, *gaps = &picture->gaps;
    int is_gap = *gap < gaps->count &&
                 (*mark == marks->count || gaps->note[*gap].start_ns < marks->note[*mark].start_ns);
    const struct rps_note *note;
    char text[RPS_PICTURE_TEXT_SIZE];

    if (*mark == marks->count && *gap == gaps->count)
        return 0;
    note = is_gap ? &gaps->note[(*gap)++] : &marks->note[(*mark)++];
    ret->at = rps_picture_position(picture, note->start_ns);
    if (is_gap && ret->at < picture->from) /* the gap began before the picture */
        ret->at =
            fmin(picture->from, rps_picture_position(picture, note->start_ns + note->length_ns));
    snprintf(text, sizeof(text), "%s%s", is_gap ? "not recorded: " : "", note->text);
    rps_picture_cut_text(text, OVERLAY_TEXT_MAX);
    rps_text_printable(ret->text, sizeof(ret->text), text);
    return 1;
}

static double note_width(const struct rps_picture_note *note)
{
    return RPS_PICTURE_CHARACTER * 0.95 * (double)strlen(note->text) + 8;
}

static int is_beyond(const struct rps_picture *picture, const struct rps_picture_note *note)
{
    double at = px_of(picture, note->at - picture->from);

    return at + note_width(note) > px_of(picture, picture->to - picture->from) + picture->right &&
           at > 40;
}

/* Find a position for the region's name, which is drawn only once. The position is the start of an
 * interval at which the name fits before the next interval. */
static int place_region(const struct rps_picture *picture, const struct rps_run_region *region,
                        struct rps_picture_note *ret)
{
    char text[RPS_PICTURE_TEXT_SIZE];
    double pixel = 1 / px_of(picture, 1), from, to, next_from;
    size_t next = 0;
    int more;

    snprintf(text, sizeof(text), "%s", region->name);
    rps_picture_cut_text(text, OVERLAY_TEXT_MAX);
    rps_text_printable(ret->text, sizeof(ret->text), text);
    more = rps_picture_next_stretch(picture, &region->spans, pixel, &next, &from, &to);
    while (more) {
        ret->at = from;
        more = rps_picture_next_stretch(picture, &region->spans, pixel, &next, &next_from, &to);
        if (!is_beyond(picture, ret) &&
            (!more || px_of(picture, next_from - from) > note_width(ret)))
            return 1;
        from = next_from;
    }
    return 0;
}

static void add_note(struct rps_chart *chart, const struct rps_picture *picture,
                     const struct rps_picture_note *note, double top)
{
    const struct rps_layer tick = {.kind = RPS_LAYER_SEGMENTS, .ink = RPS_INK_TEXT, .weight = 1};
    double x = picture->left + px_of(picture, note->at - picture->from);

    rps_chart_line(chart, x, top + 4, x, top + 15, &tick);
    rps_chart_text(chart, x + OVERLAY_NOTE, top + 9, RPS_LOOK_PLAIN, RPS_TEXT_SMALL, RPS_INK_TEXT,
                   note->text);
}

/* Add the texts of notes. A text is drawn if it fits between the previous text and the picture's
 * end. Each region has a row of its own; marks and gaps share the last row. */
static void add_notes(struct rps_chart *chart, const struct rps_picture *picture, double top)
{
    size_t mark = 0, gap = 0;
    double free_from = -INFINITY;
    struct rps_picture_note note;

    for (size_t row = 0; row < picture->regions.count; row++, top += RPS_PICTURE_LEGEND_HEIGHT) {
        if (place_region(picture, &picture->regions.region[row], &note))
            add_note(chart, picture, &note, top);
    }
    while (rps_picture_next_note(picture, &mark, &gap, &note)) {
        double at = px_of(picture, note.at - picture->from);

        if (note.at < picture->from || note.at > picture->to || at < free_from ||
            is_beyond(picture, &note))
            continue;
        free_from = at + note_width(&note);
        add_note(chart, picture, &note, top);
    }
}

/* --- rows above the panels -------------------------------------------------------------------- */

/* Add a panel that has the picture's axis. */
static struct rps_panel *add_row(struct rps_chart *chart, const struct rps_picture *picture,
                                 double top, double bottom)
{
    struct rps_panel *panel = rps_picture_panel(chart, picture, top, bottom);

    panel->x = (struct rps_scale){.from = picture->from, .to = picture->to};
    panel->y = (struct rps_scale){.from = 0, .to = 1};
    return panel;
}

static void add_regions(struct rps_chart *chart, const struct rps_picture *picture, double top)
{
    double pixel = 1 / px_of(picture, 1), from, to;
    size_t rows = picture->regions.count;
    struct rps_panel *panel =
        add_row(chart, picture, top, top + (double)rows * RPS_PICTURE_LEGEND_HEIGHT);
    struct rps_layer *layer =
        rps_chart_layer(chart, panel, RPS_LAYER_BOXES, "regions", RPS_INK_VEIL(RPS_INK_TEXT, 192));

    panel->y = (struct rps_scale){.from = (double)rows};
    for (size_t row = 0; row < rows; row++) {
        size_t next = 0;

        while (rps_picture_next_stretch(picture, &picture->regions.region[row].spans, pixel, &next,
                                        &from, &to))
            rps_chart_shape(chart, layer, from, (double)row + 0.15, to, (double)row + 0.9);
    }
}

static int is_in_picture(const struct rps_picture *picture, int label)
{
    struct rps_picture_box unused;

    for (size_t i = 0; i < picture->phases.count; i++) {
        if (picture->phases.phase[i].label == label &&
            rps_picture_place(picture, &picture->phases.phase[i], &unused))
            return 1;
    }
    return 0;
}

void rps_picture_add_label_legend(struct rps_chart *chart, const struct rps_picture *picture,
                                  double y)
{
    struct rps_layer like = {.kind = RPS_LAYER_BOXES};
    double x = picture->left, end = chart->width / chart->scale - picture->right;
    char text[RPS_PHASE_LABEL_SIZE];

    for (int label = 0; label < picture->phases.label_count; label++) {
        if (!is_in_picture(picture, label))
            continue;
        if (x + 2 * RPS_PICTURE_LABEL_ENTRY > end && label + 1 < picture->phases.label_count) {
            rps_chart_text(chart, x, y, RPS_LOOK_PLAIN, RPS_TEXT_NORMAL, RPS_INK_QUIET, "and more");
            return;
        }
        like.ink = RPS_INK_BAND + (rps_ink)label;
        rps_chart_entry(chart, x, y, &like, rps_phase_label(label, text));
        x += RPS_PICTURE_LABEL_ENTRY;
    }
}

/* Add the letters of phases that fit. For a loop, add the letters of only one iteration. */
static void add_letters(struct rps_chart *chart, const struct rps_picture *picture,
                        const struct rps_picture_overlay *overlay, struct rps_panel *panel)
{
    char letter[RPS_PHASE_LABEL_SIZE], text[RPS_PHASE_LABEL_SIZE + 1];

    for (size_t i = 0; i < overlay->box_count; i++) {
        const struct rps_picture_box *box = &overlay->box[i];

        if (box->label < 0 || is_in_loop(overlay, box))
            continue;
        snprintf(text, sizeof(text), "%s%s", rps_phase_label(box->label, letter),
                 box->is_doubtful ? "?" : "");
        if (px_of(picture, box->to - box->from) >= RPS_PICTURE_CHARACTER * (double)strlen(text) + 4)
            rps_chart_label(chart, panel, (box->from + box->to) / 2, 0.5, RPS_LOOK_CENTRE,
                            RPS_INK_ON_AREA, text);
    }
    for (size_t k = 0; k < overlay->loop_count; k++)
        rps_chart_label(chart, panel, (overlay->loop[k].from + overlay->loop[k].to) / 2, 0.5,
                        RPS_LOOK_BOXED, RPS_INK_TEXT, overlay->loop[k].text);
}

struct rps_panel *rps_picture_add_strip(struct rps_chart *chart, const struct rps_picture *picture,
                                        const struct rps_picture_overlay *overlay, double top,
                                        double bottom)
{
    struct rps_panel *panel = add_row(chart, picture, top, bottom);

    rps_chart_share(chart, panel, overlay->phases);
    share_as(chart, panel, overlay->hatched, RPS_INK_WHITE, RPS_LOOK_HATCHED);
    share_as(chart, panel, overlay->bounds, RPS_INK_BACKGROUND, RPS_LOOK_PLAIN)->weight = 0.8;
    add_letters(chart, picture, overlay, panel);
    share_as(chart, panel, overlay->gaps, RPS_INK_BACKGROUND, RPS_LOOK_PLAIN);
    return panel;
}

static void add_finer(struct rps_chart *chart, const struct rps_picture *picture,
                      const struct rps_picture_overlay *overlay, double top)
{
    struct rps_panel *panel = add_row(chart, picture, top - 3, top + RPS_PICTURE_FINER_HEIGHT - 5);
    struct rps_layer *layer = rps_chart_layer(chart, panel, RPS_LAYER_SPANS, "finer", 0);
    size_t count;
    struct rps_picture_box *box =
        rps_picture_level_boxes(picture, rps_picture_finer(picture), &count);
    char text[32];

    layer->each = 1;
    for (size_t i = 0; i < count; i++)
        rps_chart_shape(chart, layer, box[i].from, 0, box[i].to, 0)->ink = RPS_INK_VEIL(
            RPS_INK_POINT + (rps_ink)box[i].label, chart->palette->tint_veil[box[i].tint]);
    share_as(chart, panel, overlay->gaps, RPS_INK_BACKGROUND, RPS_LOOK_PLAIN);
    snprintf(text, sizeof(text), "%zu finer", count);
    rps_chart_text(chart, picture->left - OVERLAY_NAME, top + 1, RPS_LOOK_RIGHT, RPS_TEXT_SMALL,
                   RPS_INK_QUIET, text);
}

double rps_picture_add_rows(struct rps_chart *chart, const struct rps_picture *picture,
                            const struct rps_picture_overlay *overlay, double top)
{
    top += rps_picture_add_words(chart, picture, top);
    if (picture->regions.count > 0)
        add_regions(chart, picture, top);
    add_notes(chart, picture, top);
    top += RPS_PICTURE_LEGEND_HEIGHT * rps_picture_note_rows(picture);
    if (rps_picture_needs_label_legend(picture)) {
        top += RPS_PICTURE_LEGEND_HEIGHT;
        rps_picture_add_label_legend(chart, picture, top - 9);
    }
    if (!picture->has_phases)
        return top;
    rps_picture_add_strip(chart, picture, overlay, top + 1, top + RPS_PICTURE_STRIP_HEIGHT - 5);
    rps_chart_text(chart, picture->left - OVERLAY_NAME, top + RPS_PICTURE_STRIP_HEIGHT / 2.0 - 2,
                   RPS_LOOK_RIGHT, RPS_TEXT_NORMAL, RPS_INK_QUIET, "Phases");
    top += RPS_PICTURE_STRIP_HEIGHT;
    if (rps_picture_finer(picture) > 0) {
        add_finer(chart, picture, overlay, top);
        top += RPS_PICTURE_FINER_HEIGHT;
    }
    return top;
}
