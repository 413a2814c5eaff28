/* The annotations on a picture's axis: phases, marks and gaps. Times of annotations are times of
 * the run; for an axis of cycles, cycle_map converts a time. The map contains periods whose time
 * and cycle timestamp are both known. Only every n-th period is kept, so that a day needs no more
 * memory than a minute. Enough periods are kept that no boundary is wrong by a pixel. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "rpistat/arena.h"
#include "rpistat/bursts.h"
#include "rpistat/loops.h"
#include "rpistat/picture.h"
#include "rpistat/run_phases.h"

#define CYCLE_MAP_ROOM 8192
#define REGIONS_MAX    4 /* maximum number of regions that have a row */
#define PARTS_NAMED    12
#define TIMES          "\xc3\x97"

/* --- reading ---------------------------------------------------------------------------------- */

/* Put the regions into rows. A drawing in characters has no space for these rows. Such a drawing
 * shows the marks of regions like any other marks. */
static void take_regions(struct rps_picture *picture, const struct rps_plot_options *options)
{
    size_t kept = 0;

    if (picture->characters)
        return;
    picture->regions =
        rps_run_regions_find(picture->arena, &picture->marks, options->from_ns, options->to_ns);
    rps_run_regions_keep_longest(&picture->regions, REGIONS_MAX);
    while (picture->regions.count > 0 &&
           picture->regions.region[picture->regions.count - 1].spans.count == 0)
        rps_run_regions_keep_longest(&picture->regions, picture->regions.count - 1);
    for (size_t i = 0; i < picture->marks.count; i++) {
        if (!rps_region_mark_read(picture->marks.note[i].text).kind)
            picture->marks.note[kept++] = picture->marks.note[i];
    }
    picture->marks.count = kept;
}

/* Put the bursts into a row of their own, like a region. */
static void take_bursts(struct rps_picture *picture)
{
    const struct rps_phases *phases = &picture->phases;
    struct rps_bursts bursts =
        picture->characters ? (struct rps_bursts){0} : rps_bursts_find(picture->arena, phases);
    struct rps_run_regions *regions = &picture->regions;
    struct rps_run_region *row, burst = {
                                    .name = "bursts",
                                    .entered = bursts.count,
                                    .marked = bursts.count,
                                };

    if (bursts.count == 0)
        return;
    row = rps_arena_get(picture->arena, regions->count + 1, sizeof(*row));
    if (regions->count > 0)
        memcpy(row, regions->region, regions->count * sizeof(*row));
    regions->region = row;
    burst.spans.span = rps_arena_get(picture->arena, bursts.count, sizeof(*burst.spans.span));
    for (size_t i = 0; i < bursts.count; i++) {
        struct rps_span *span = &burst.spans.span[burst.spans.count++];

        span->start_ns = rps_phases_time(phases, bursts.first[i]);
        span->end_ns = rps_phases_time(phases, bursts.last[i] + 1);
        burst.time_ns += span->end_ns - span->start_ns;
    }
    regions->region[regions->count++] = burst;
}

int rps_picture_read_phases(struct rps_picture *picture, struct rps_reader *reader,
                            const struct rps_plot_options *options, struct rps_error *err)
{
    int64_t run_id = picture->run.run_id;

    if (rps_reader_marks(picture->arena, reader, run_id, &picture->marks, err) < 0 ||
        rps_reader_gaps(picture->arena, reader, run_id, &picture->gaps, err) < 0)
        return RPS_FAILED;
    take_regions(picture, options);
    if (options->no_phases)
        return 0;
    if (options->phases) {
        picture->phases = *options->phases;
        picture->has_phases = 1;
        return 0;
    }
    picture->has_phases =
        rps_run_phases_get(picture->arena, reader, run_id, &picture->levels, picture->remark, err);
    picture->remark[0] = (char)toupper((unsigned char)picture->remark[0]);
    if (picture->has_phases <= 0)
        return picture->has_phases;
    picture->phases = *rps_phase_levels_shown(&picture->levels);
    take_bursts(picture);
    return 0;
}

void rps_cycle_map_add(struct rps_picture *picture, double time_s, double cycle)
{
    struct rps_cycle_map *cycle_map = &picture->cycle_map;

    if (!cycle_map->room) {
        cycle_map->time_s = rps_arena_get(picture->arena, CYCLE_MAP_ROOM, sizeof(double));
        cycle_map->cycle = rps_arena_get(picture->arena, CYCLE_MAP_ROOM, sizeof(double));
        cycle_map->room = CYCLE_MAP_ROOM;
        cycle_map->stride = 1;
    }
    if (cycle_map->seen++ % cycle_map->stride != 0)
        return;
    /* Keep every second point of a cycle map. */
    if (cycle_map->count == cycle_map->room) {
        size_t kept = 0;

        for (size_t i = 0; i < cycle_map->count; i += 2, kept++) {
            cycle_map->time_s[kept] = cycle_map->time_s[i];
            cycle_map->cycle[kept] = cycle_map->cycle[i];
        }
        cycle_map->count = kept;
        cycle_map->stride *= 2;
    }
    cycle_map->time_s[cycle_map->count] = time_s;
    cycle_map->cycle[cycle_map->count++] = cycle;
}

RPS_ARRAY_BEFORE(is_before_time, double, , <, double)

double rps_picture_position(const struct rps_picture *picture, int64_t time_ns)
{
    const struct rps_cycle_map *cycle_map = &picture->cycle_map;
    double time_s = (double)time_ns / 1e9, share;
    size_t at;

    if (picture->axis == RPS_AXIS_TIME || cycle_map->count < 2)
        return time_s;
    at = rps_array_find(cycle_map->time_s, cycle_map->count, sizeof(*cycle_map->time_s),
                        is_before_time, &time_s);
    if (at == 0)
        return cycle_map->cycle[0];
    if (at == cycle_map->count)
        return picture->to;
    share =
        (time_s - cycle_map->time_s[at - 1]) / (cycle_map->time_s[at] - cycle_map->time_s[at - 1]);
    return cycle_map->cycle[at - 1] + share * (cycle_map->cycle[at] - cycle_map->cycle[at - 1]);
}

size_t rps_picture_phase_of(const struct rps_picture *picture, uint64_t period, size_t *hint)
{
    const struct rps_phases *phases = &picture->phases;

    if (*hint >= phases->count || phases->phase[*hint].first > period)
        *hint = 0;
    while (*hint + 1 < phases->count && phases->phase[*hint + 1].first <= period)
        (*hint)++;
    return *hint;
}

RPS_ARRAY_BEFORE(begins_by, struct rps_phase, .start_ns, <=, int64_t)

size_t rps_picture_phase_at(const struct rps_picture *picture, int64_t time_ns)
{
    const struct rps_phases *phases = &picture->phases;
    size_t at =
        rps_array_find(phases->phase, phases->count, sizeof(*phases->phase), begins_by, &time_ns);

    return at > 0 ? at - 1 : 0;
}

const char *rps_picture_loop_name(const struct rps_picture *picture, const struct rps_loop_run *run)
{
    const char *parts = rps_loop_parts(picture->arena, run->loop, TIMES, PARTS_NAMED);

    return rps_arena_print(
        picture->arena, rps_loop_has_inner(run->loop) ? "%zu " TIMES " (%s)" : "%zu " TIMES " %s",
        run->turns, parts);
}

int rps_picture_place_in_turn(const struct rps_picture *picture, size_t *hint,
                              const struct rps_period *period, struct rps_period *ret)
{
    const struct rps_loop *loop = picture->turn;
    const struct rps_phases *phases = &picture->phases;
    size_t at = rps_picture_phase_of(picture, period->period, hint), i, end, count, k = 0;
    const struct rps_phase *phase = &phases->phase[at];
    size_t turn = (size_t)(phase->turn - phases->phase[loop->first].turn);
    double before = 0, share;
    int64_t part_ns;

    if (phase->loop != phases->phase[loop->first].loop ||
        loop->turn[turn].kind != RPS_ITERATION_USUAL)
        return 0;
    i = loop->turn[turn].first;
    end = i + loop->turn[turn].count;
    while (i + (count = rps_loop_part_phases(loop, phases, i, end)) <= at) {
        before += loop->part[k++].length;
        i += count;
    }
    part_ns = phases->phase[i + count - 1].end_ns - phases->phase[i].start_ns;
    share = (double)(period->start_ns - phases->phase[i].start_ns) / (double)part_ns;
    *ret = *period;
    ret->start_ns = (int64_t)(before + fmax(share, 0) * loop->part[k].length);
    ret->end_ns = ret->start_ns + (rps_period_end_ns(period) - period->start_ns);
    ret->cpu = (int32_t)turn;
    return 1;
}

/* --- boxes ------------------------------------------------------------------------------------ */

int rps_picture_place(const struct rps_picture *picture, const struct rps_phase *phase,
                      struct rps_picture_box *ret)
{
    ret->from = fmax(picture->from, rps_picture_position(picture, phase->start_ns));
    ret->to = fmin(picture->to, rps_picture_position(picture, phase->end_ns));
    ret->label = phase->label;
    ret->tint = 0;
    ret->is_doubtful = phase->label_confidence < RPS_PHASE_LABEL_SURE;
    return ret->to > ret->from;
}

static size_t exact_boxes(const struct rps_picture *picture, struct rps_picture_box *box)
{
    size_t count = 0;

    for (size_t i = 0; i < picture->phases.count; i++) {
        if (!rps_picture_place(picture, &picture->phases.phase[i], &box[count]))
            continue;
        if (count > 0)
            box[count - 1].to = box[count].from; /* a pause belongs to the phase before it */
        count++;
    }
    return count;
}

/* Add a column whose label is known: extend the previous box, or begin a new one. */
static size_t end_column(struct rps_picture_box *box, size_t count, const double *length,
                         int label_count, double from, double to)
{
    int most = 0;

    for (int label = 1; label < label_count; label++)
        most = length[label] > length[most] ? label : most;
    if (length[most] <= 0)
        return count;
    if (count > 0 && box[count - 1].label == most && box[count - 1].to >= from) {
        box[count - 1].to = to;
        return count;
    }
    box[count] = (struct rps_picture_box){.from = from, .to = to, .label = most};
    return count + 1;
}

/* Find, for each column, the label with most time. */
static size_t column_boxes(const struct rps_picture *picture, size_t columns, double *length,
                           struct rps_picture_box *box)
{
    double width = (picture->to - picture->from) / (double)columns;
    int labels = picture->phases.label_count;
    size_t count = 0, phase = 0;

    for (size_t column = 0; column < columns; column++) {
        double from = picture->from + width * (double)column;
        double to =
            picture->from + width * (double)(column + 1); /* exactly the start of the next column */
        struct rps_picture_box part;

        for (int label = 0; label < labels; label++)
            length[label] = 0;
        while (phase < picture->phases.count) {
            if (rps_picture_place(picture, &picture->phases.phase[phase], &part) &&
                part.label >= 0 && part.label < labels)
                length[part.label] += fmax(0, fmin(part.to, to) - fmax(part.from, from));
            if (part.to >= to)
                break; /* the phase continues in the next column */
            phase++;
        }
        count = end_column(box, count, length, labels, from, to);
    }
    return count;
}

struct rps_picture_box *rps_picture_boxes(const struct rps_picture *picture, size_t columns,
                                          size_t *ret_count, int *ret_exact)
{
    int exact = picture->phases.count <= columns / 4 + 1;
    size_t room = exact ? picture->phases.count : columns;
    struct rps_picture_box *box = rps_arena_get(picture->arena, room + 1, sizeof(*box));
    double *length =
        rps_arena_get(picture->arena, (size_t)picture->phases.label_count + 1, sizeof(*length));

    *ret_count = exact ? exact_boxes(picture, box) : column_boxes(picture, columns, length, box);
    if (ret_exact)
        *ret_exact = exact;
    return box;
}

int rps_picture_needs_label_legend(const struct rps_picture *picture)
{
    double px = picture->width / picture->scale - picture->left - picture->right;
    struct rps_picture_box box;
    int labels = picture->phases.label_count;

    if (!picture->has_phases || picture->characters || picture->words.all)
        return 0;
    for (int label = 0; label < labels; label++) {
        char text[RPS_PHASE_LABEL_SIZE];
        double room = RPS_PICTURE_CHARACTER * (double)strlen(rps_phase_label(label, text)) + 4;
        int shown = 0, there = 0;

        for (size_t i = 0; i < picture->phases.count && !shown; i++) {
            if (picture->phases.phase[i].label != label ||
                !rps_picture_place(picture, &picture->phases.phase[i], &box))
                continue;
            there = 1;
            shown = (box.to - box.from) / (picture->to - picture->from) * px >= room;
        }
        if (there && !shown)
            return 1;
    }
    return 0;
}

int rps_picture_next_stretch(const struct rps_picture *picture, const struct rps_spans *spans,
                             double least, size_t *next, double *ret_from, double *ret_to)
{
    double to = -INFINITY;

    for (; *next < spans->count; ++*next) {
        double start = rps_picture_position(picture, spans->span[*next].start_ns);
        double end = rps_picture_position(picture, spans->span[*next].end_ns);

        if (end < picture->from || start > picture->to)
            continue;
        if (to > -INFINITY && start - to >= least)
            break;
        if (to == -INFINITY)
            *ret_from = fmax(start, picture->from);
        to = fmin(fmax(end, start + least), picture->to);
    }
    *ret_to = to;
    return to > -INFINITY;
}

static int any_in_picture(const struct rps_picture *picture, const struct rps_notes *notes)
{
    for (size_t i = 0; i < notes->count; i++) {
        double from = rps_picture_position(picture, notes->note[i].start_ns);
        double to =
            rps_picture_position(picture, notes->note[i].start_ns + notes->note[i].length_ns);

        if (to >= picture->from && from <= picture->to)
            return 1;
    }
    return 0;
}

int rps_picture_note_rows(const struct rps_picture *picture)
{
    return (int)picture->regions.count +
           (any_in_picture(picture, &picture->marks) || any_in_picture(picture, &picture->gaps));
}
