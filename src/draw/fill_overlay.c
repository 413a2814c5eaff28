/*
 * The files of what lies on a picture's axis: phases, boundaries, gaps and marks.
 *
 *     phases.dat      from, to, area's colour, the strip's colour, 1 when hatched (a label beyond
 *                     the colours)
 *     labels.dat      middle of a phase, its label
 *     bounds.dat      where one phase ends and the next begins
 *     finer.dat       from, to, colour of a phase of the finer level
 *     edges.dat       from, to: where a boundary may lie, where that is wide enough to be seen
 *     gaps.dat        from, to: not recorded
 *     marks.dat       where a mark is; one a pixel
 *     regions.dat     from, to: when anybody was in a region; its row, from 0 at the top
 *
 * A file without a line is not written, and its count in figure.gp is 0.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/picture.h"
#include "rpistat/text.h"

#define OVERLAY_EDGE_PX   2   /* narrower ones are the boundary's own line */
#define OVERLAY_GAP_PX    1.5 /* a gap is drawn at least this wide */
#define OVERLAY_TEXT_MOST 28  /* characters of a mark's text */

/* A data file that is made when its first line comes. */
struct lines {
    int folder_fd;
    const char *name;
    FILE *file;
    size_t count;
};

static FILE *next_line(struct lines *lines, struct rps_error *err)
{
    if (!lines->file)
        lines->file = rps_picture_file(lines->folder_fd, lines->name, err);
    lines->count += lines->file != NULL;
    return lines->file;
}

static int end_lines(struct lines *lines, int result, struct rps_error *err)
{
    if (lines->file && rps_picture_file_close(lines->file, lines->name, err) < 0)
        return RPS_FAILED;
    return result;
}

static double pixels_across(const struct rps_picture *picture)
{
    return fmax(10, picture->width - (picture->left + picture->right) * picture->scale);
}

/* Length on the axis in pixels at scale 1. */
static double px_of(const struct rps_picture *picture, double length)
{
    return length / (picture->to - picture->from) * pixels_across(picture) / picture->scale;
}

/* --- phases ----------------------------------------------------------------------------------- */

static int write_boxes(const struct rps_picture *picture, int folder_fd, const char *name,
                       const struct rps_picture_box *box, size_t count, struct rps_error *err)
{
    struct lines lines = {.folder_fd = folder_fd, .name = name};

    for (size_t i = 0; i < count; i++) {
        const char *colour = box[i].label < 0
                                 ? picture->palette->grid
                                 : picture->palette->band[box[i].label % RPS_PALETTE_LABELS];

        if (!next_line(&lines, err))
            return RPS_FAILED;
        fprintf(lines.file, "%.12g %.12g 0x%02X%s 0x%s %d\n", box[i].from, box[i].to,
                picture->palette->band_veil, colour, colour, box[i].label >= RPS_PALETTE_LABELS);
    }
    return end_lines(&lines, 0, err);
}

static int write_labels(const struct rps_picture *picture, int folder_fd, const char *name,
                        const struct rps_picture_box *box, size_t count, size_t *ret_count,
                        struct rps_error *err)
{
    struct lines lines = {.folder_fd = folder_fd, .name = name};
    char text[RPS_PHASE_LABEL_SIZE];

    for (size_t i = 0; i < count; i++) {
        if (box[i].label < 0)
            continue;
        rps_phase_label(box[i].label, text);
        if (px_of(picture, box[i].to - box[i].from) <
            RPS_PICTURE_CHARACTER * (double)strlen(text) + 4)
            continue;
        if (!next_line(&lines, err))
            return RPS_FAILED;
        fprintf(lines.file, "%.12g %s\n", (box[i].from + box[i].to) / 2, text);
    }
    *ret_count = lines.count;
    return end_lines(&lines, 0, err);
}

static int write_bounds(const struct rps_picture *picture, int folder_fd, const char *name,
                        const struct rps_picture_box *box, size_t count, size_t *ret_count,
                        struct rps_error *err)
{
    struct lines lines = {.folder_fd = folder_fd, .name = name};

    for (size_t i = 0; i < count; i++) {
        if (box[i].from <= picture->from)
            continue;
        if (!next_line(&lines, err))
            return RPS_FAILED;
        fprintf(lines.file, "%.12g\n", box[i].from);
    }
    *ret_count = lines.count;
    return end_lines(&lines, 0, err);
}

/* The time at which a period near a phase's first began. */
static int64_t time_of(const struct rps_picture *picture, const struct rps_phase *phase,
                       uint64_t period)
{
    int64_t periods = (int64_t)period - (int64_t)phase->first;

    return phase->start_ns + periods * picture->run.period_ns;
}

static int write_edges(const struct rps_picture *picture, int folder_fd, size_t *ret_count,
                       struct rps_error *err)
{
    struct lines lines = {.folder_fd = folder_fd, .name = "edges.dat"};

    for (size_t i = 0; i < picture->phases.count; i++) {
        const struct rps_phase *phase = &picture->phases.phase[i];
        double from = rps_picture_position(picture, time_of(picture, phase, phase->earliest));
        double to = rps_picture_position(picture, time_of(picture, phase, phase->latest));

        from = fmax(from, picture->from);
        to = fmin(to, picture->to);
        if (px_of(picture, to - from) < OVERLAY_EDGE_PX)
            continue;
        if (!next_line(&lines, err))
            return RPS_FAILED;
        fprintf(lines.file, "%.12g %.12g\n", from, to);
    }
    *ret_count = lines.count;
    return end_lines(&lines, 0, err);
}

static int write_finer(const struct rps_picture *picture, int folder_fd, size_t *ret_count,
                       struct rps_error *err)
{
    const struct rps_palette *palette = picture->palette;
    struct lines lines = {.folder_fd = folder_fd, .name = "finer.dat"};
    struct rps_picture_box *box = NULL;
    size_t finer = rps_picture_finer(picture);
    int result = 0;

    if (finer > 0)
        result = rps_picture_level_boxes(picture, finer, &box, ret_count, err);
    for (size_t i = 0; i < *ret_count && result == 0; i++) {
        if (next_line(&lines, err))
            fprintf(lines.file, "%.12g %.12g 0x%02X%s\n", box[i].from, box[i].to,
                    palette->tint_veil[box[i].tint],
                    palette->ink[box[i].label % RPS_PALETTE_LABELS]);
        else
            result = RPS_FAILED;
    }
    free(box);
    return end_lines(&lines, result, err);
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

void rps_picture_write_label_legend(const struct rps_picture *picture, FILE *file)
{
    int most = (int)((picture->width / picture->scale - picture->left - picture->right) /
                     RPS_PICTURE_LABEL_ENTRY);
    int labels = rps_picture_needs_label_legend(picture) ? picture->phases.label_count : 0;
    int entries = 0;

    if (labels > 0)
        fprintf(file, "label_entry = %d\narray label_name[%d]\narray legend_label[%d]\n",
                RPS_PICTURE_LABEL_ENTRY, labels, labels);
    for (int label = 0; label < labels && entries < most; label++) {
        char text[RPS_PHASE_LABEL_SIZE];

        if (!is_in_picture(picture, label))
            continue;
        entries++;
        fprintf(file, "label_name[%d] = \"%s\"\nlegend_label[%d] = %d\n", entries,
                rps_phase_label(label, text), entries, label);
    }
    fprintf(file, "phase_legend = %d\n", entries);
}

int rps_picture_write_strip(const struct rps_picture *picture, int folder_fd, const char *before,
                            struct rps_picture_strip *ret, struct rps_error *err)
{
    char phases[32], labels[32], bounds[32];
    struct rps_picture_box *box = NULL;
    int result = 0;

    snprintf(phases, sizeof(phases), "%sphases.dat", before);
    snprintf(labels, sizeof(labels), "%slabels.dat", before);
    snprintf(bounds, sizeof(bounds), "%sbounds.dat", before);
    *ret = (struct rps_picture_strip){0};
    if (picture->has_phases)
        result = rps_picture_boxes(picture, (size_t)pixels_across(picture), &box, &ret->phases,
                                   &ret->exact, err);
    if (result == 0)
        result = write_boxes(picture, folder_fd, phases, box, ret->phases, err);
    if (result == 0)
        result = write_labels(picture, folder_fd, labels, box, ret->phases, &ret->labels, err);
    if (result == 0 && ret->exact)
        result = write_bounds(picture, folder_fd, bounds, box, ret->phases, &ret->bounds, err);
    free(box);
    return result;
}

static int write_phases(const struct rps_picture *picture, int folder_fd, FILE *file,
                        struct rps_error *err)
{
    size_t edges = 0, finer = 0;
    struct rps_picture_strip strip;
    int result = rps_picture_write_strip(picture, folder_fd, "", &strip, err);

    if (result == 0 && strip.exact)
        result = write_edges(picture, folder_fd, &edges, err);
    if (result == 0)
        result = write_finer(picture, folder_fd, &finer, err);
    fprintf(file,
            "strip = %d\nphases = %zu\nlabels = %zu\nbounds = %zu\nedges = %zu\nfiner = %zu\n",
            picture->has_phases, strip.phases, strip.labels, strip.bounds, edges, finer);
    rps_picture_write_label_legend(picture, file);
    return result;
}

/* --- marks and gaps --------------------------------------------------------------------------- */

static int write_gaps(const struct rps_picture *picture, int folder_fd, size_t *ret_count,
                      struct rps_error *err)
{
    struct lines lines = {.folder_fd = folder_fd, .name = "gaps.dat"};
    double least = OVERLAY_GAP_PX / px_of(picture, 1);

    for (size_t i = 0; i < picture->gaps.count; i++) {
        const struct rps_note *gap = &picture->gaps.note[i];
        double from = rps_picture_position(picture, gap->start_ns);
        double to =
            fmax(from + least, rps_picture_position(picture, gap->start_ns + gap->length_ns));

        from = fmax(from, picture->from);
        to = fmin(to, picture->to);
        if (to <= from)
            continue;
        if (!next_line(&lines, err))
            return RPS_FAILED;
        fprintf(lines.file, "%.12g %.12g\n", from, to);
    }
    *ret_count = lines.count;
    return end_lines(&lines, 0, err);
}

static int write_marks(const struct rps_picture *picture, int folder_fd, size_t *ret_count,
                       struct rps_error *err)
{
    struct lines lines = {.folder_fd = folder_fd, .name = "marks.dat"};
    double last = -INFINITY;

    for (size_t i = 0; i < picture->marks.count; i++) {
        double at = rps_picture_position(picture, picture->marks.note[i].start_ns);

        if (at < picture->from || at > picture->to || px_of(picture, at - last) < 1)
            continue;
        if (!next_line(&lines, err))
            return RPS_FAILED;
        fprintf(lines.file, "%.12g\n", at);
        last = at;
    }
    *ret_count = lines.count;
    return end_lines(&lines, 0, err);
}

static int write_regions(const struct rps_picture *picture, int folder_fd, size_t *ret_count,
                         struct rps_error *err)
{
    struct lines lines = {.folder_fd = folder_fd, .name = "regions.dat"};
    double pixel = 1 / px_of(picture, 1), from, to;

    for (size_t row = 0; row < picture->regions.count; row++) {
        size_t next = 0;

        while (rps_picture_next_stretch(picture, &picture->regions.region[row].spans, pixel, &next,
                                        &from, &to)) {
            if (!next_line(&lines, err))
                return RPS_FAILED;
            fprintf(lines.file, "%.12g %.12g %zu\n", from, to, row);
        }
    }
    *ret_count = lines.count;
    return end_lines(&lines, 0, err);
}

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
    if (is_gap && ret->at < picture->from) /* one that reaches into the picture */
        ret->at =
            fmin(picture->from, rps_picture_position(picture, note->start_ns + note->length_ns));
    snprintf(text, sizeof(text), "%s%s", is_gap ? "not recorded: " : "", note->text);
    rps_picture_cut_text(text, OVERLAY_TEXT_MOST);
    rps_text_printable(ret->text, sizeof(ret->text), text);
    return 1;
}

static double note_width(const struct rps_picture_note *note)
{
    return RPS_PICTURE_CHARACTER * 0.95 * (double)strlen(note->text) + 8;
}

/* Would the text reach beyond the picture's end? */
static int is_beyond(const struct rps_picture *picture, const struct rps_picture_note *note)
{
    double at = px_of(picture, note->at - picture->from);

    return at + note_width(note) > px_of(picture, picture->to - picture->from) + picture->right &&
           at > 40;
}

/* The region's name, once, where it has room: at the beginning of a stretch, before the next. */
static int place_region(const struct rps_picture *picture, const struct rps_run_region *region,
                        struct rps_picture_note *ret)
{
    char text[RPS_PICTURE_TEXT_SIZE];
    double pixel = 1 / px_of(picture, 1), from, to, next_from;
    size_t next = 0;
    int more;

    snprintf(text, sizeof(text), "%s", region->name);
    rps_picture_cut_text(text, OVERLAY_TEXT_MOST);
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

static void put_note(const struct rps_picture *picture, const struct rps_picture_note *note,
                     size_t number, int row, FILE *positions, FILE *texts)
{
    if (positions)
        fprintf(positions, "note_at[%zu] = %.12g\nnote_in[%zu] = %d\n", number, note->at, number,
                row);
    if (texts)
        rps_picture_write_line(picture, texts, note->text);
}

/* Place each text that has room: behind the one before, and before the picture's end. Regions have
 * a row each, marks and gaps the last. */
static size_t place_notes(const struct rps_picture *picture, FILE *positions, FILE *texts)
{
    size_t mark = 0, gap = 0, count = 0;
    double free_from = -INFINITY;
    struct rps_picture_note note;

    for (size_t row = 0; row < picture->regions.count; row++) {
        if (place_region(picture, &picture->regions.region[row], &note))
            put_note(picture, &note, ++count, (int)row, positions, texts);
    }
    while (rps_picture_next_note(picture, &mark, &gap, &note)) {
        double at = px_of(picture, note.at - picture->from);

        if (note.at < picture->from || note.at > picture->to || at < free_from ||
            is_beyond(picture, &note))
            continue;
        free_from = at + note_width(&note);
        put_note(picture, &note, ++count, rps_picture_note_rows(picture) - 1, positions, texts);
    }
    return count;
}

void rps_picture_write_overlay_texts(const struct rps_picture *picture, FILE *file)
{
    place_notes(picture, NULL, file);
}

int rps_picture_write_overlay(const struct rps_picture *picture, int folder_fd, FILE *file,
                              struct rps_error *err)
{
    size_t gaps = 0, marks = 0, regions = 0, notes = place_notes(picture, NULL, NULL);
    int result = write_phases(picture, folder_fd, file, err);

    if (result == 0)
        result = write_gaps(picture, folder_fd, &gaps, err);
    if (result == 0)
        result = write_marks(picture, folder_fd, &marks, err);
    if (result == 0)
        result = write_regions(picture, folder_fd, &regions, err);
    fprintf(file, "gaps = %zu\nmarks = %zu\nregions = %zu\nnote_rows = %d\nnotes = %zu\n", gaps,
            marks, regions, rps_picture_note_rows(picture), notes);
    if (notes > 0)
        fprintf(file, "array note_at[%zu]\narray note_in[%zu]\n", notes, notes);
    place_notes(picture, file, NULL);
    return result;
}
