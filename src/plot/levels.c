/* The levels of phases other than the level that the picture shows. A picture has a thin band of
 * finer phases below the strip of the phases shown. A page can show any level. The phases of other
 * levels have no own letters or colours. A finer phase has a tint of the colour of the phase that
 * contains it. Similar parts of recurring phases with the same label have the same tint. */
#include <string.h>

#include "rpistat/picture.h"

#define FINER_MIN_PX      4 /* minimum average width of finer phases, in pixels */
#define FINER_MIN_COLUMNS 3 /* minimum average width of finer phases, in characters */

static size_t count_in_picture(const struct rps_picture *picture, const struct rps_phases *phases)
{
    struct rps_picture_box box;
    size_t count = 0;

    for (size_t i = 0; i < phases->count; i++)
        count += rps_picture_place(picture, &phases->phase[i], &box) != 0;
    return count;
}

size_t rps_picture_finer(const struct rps_picture *picture)
{
    const struct rps_phase_levels *levels = &picture->levels;
    double room =
        picture->characters
            ? (double)(picture->width - RPS_PICTURE_COLUMN_MARGIN) / FINER_MIN_COLUMNS
            : (picture->width / picture->scale - picture->left - picture->right) / FINER_MIN_PX;

    for (size_t at = levels->count; at-- > levels->shown + 1;) {
        size_t count = count_in_picture(picture, &levels->level[at]);

        if ((double)count <= room)
            return count > count_in_picture(picture, &picture->phases) ? at : 0;
    }
    return 0;
}

int rps_picture_strip_height(const struct rps_picture *picture)
{
    if (!picture->has_phases)
        return 0;
    return RPS_PICTURE_STRIP_HEIGHT +
           (rps_picture_finer(picture) > 0 ? RPS_PICTURE_FINER_HEIGHT : 0);
}

/* --- boxes ------------------------------------------------------------------------------------ */

/* A map from the labels of another level to the labels of the level shown. */
struct relabelling {
    const struct rps_phases *shown;
    size_t at; /* current phase in `shown`, whose phases are in order of time */
    size_t part_labels;
    int *tint;        /* tint, from 1, for each pair of a shown label and a part's label */
    int *tint_count;  /* number of tints used so far, for each shown label */
    uint64_t *length; /* length of each label shown; scratch */
};

/* Advance to the shown phase that contains this period, and return the phase's label. */
static int label_at(struct relabelling *r, uint64_t period)
{
    const struct rps_phases *shown = r->shown;

    while (r->at + 1 < shown->count && shown->phase[r->at + 1].first <= period)
        r->at++;
    return shown->phase[r->at].label;
}

static int tint_of(struct relabelling *r, int label, int part)
{
    int *tint = &r->tint[(size_t)label * r->part_labels + (size_t)part];

    if (*tint == 0)
        *tint = ++r->tint_count[label];
    return (*tint - 1) % RPS_PALETTE_TINTS;
}

/* Return the label shown for most of a phase's periods. */
static int prevailing(struct relabelling *r, const struct rps_phase *phase)
{
    const struct rps_phases *shown = r->shown;
    int most = label_at(r, phase->first);

    memset(r->length, 0, (size_t)shown->label_count * sizeof(*r->length));
    for (size_t i = r->at; i < shown->count && shown->phase[i].first <= phase->last; i++) {
        const struct rps_phase *part = &shown->phase[i];
        uint64_t first = part->first > phase->first ? part->first : phase->first;
        uint64_t last = part->last < phase->last ? part->last : phase->last;

        r->length[part->label] += last + 1 - first;
        most = r->length[part->label] > r->length[most] ? part->label : most;
    }
    return most;
}

/* Put the boxes of phases, with tints assigned over the whole run: the same for any time range. */
static size_t fill_boxes(const struct rps_picture *picture, const struct rps_phases *phases,
                         int finer, struct relabelling *r, struct rps_picture_box *box)
{
    size_t count = 0;

    for (size_t i = 0; i < phases->count; i++) {
        const struct rps_phase *phase = &phases->phase[i];
        int label = finer ? label_at(r, phase->first) : prevailing(r, phase);
        int tint = finer ? tint_of(r, label, phase->label) : 0;

        if (!rps_picture_place(picture, phase, &box[count]))
            continue;
        if (count > 0)
            box[count - 1].to = box[count].from;
        box[count].label = label;
        box[count++].tint = tint;
    }
    return count;
}

struct rps_picture_box *rps_picture_level_boxes(const struct rps_picture *picture, size_t level,
                                                size_t *ret_count)
{
    const struct rps_phases *phases = &picture->levels.level[level], *shown = &picture->phases;
    size_t labels = (size_t)shown->label_count, part_labels = (size_t)phases->label_count;
    struct rps_arena *arena = picture->arena;
    struct rps_picture_box *box = rps_arena_get(arena, phases->count + 1, sizeof(*box));
    struct relabelling r = {
        .shown = shown,
        .part_labels = part_labels,
        .tint = rps_arena_get(arena, labels * part_labels + 1, sizeof(*r.tint)),
        .tint_count = rps_arena_get(arena, labels + 1, sizeof(*r.tint_count)),
        .length = rps_arena_get(arena, labels + 1, sizeof(*r.length)),
    };

    *ret_count = fill_boxes(picture, phases, level > picture->levels.shown, &r, box);
    return box;
}
