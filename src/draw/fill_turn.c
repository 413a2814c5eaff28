/*
 * One iteration of a loop (plot --kind turn): the panels of a picture over one iteration. They show
 * the median of all iterations and a band from 10 to 90 % of them. Parts are overlaid: a period
 * keeps its place in its part, which is as wide as in the usual iteration.
 */
#include <math.h>

#include "rpistat/clock.h"
#include "rpistat/fold.h"
#include "rpistat/picture_kinds.h"
#include "rpistat/profile.h"
#include "rpistat/text.h"

#define TURN_BINS 240

/* The total length of the loop in the picture. */
static double length_in(const struct rps_picture *picture, const struct rps_loop *loop)
{
    const struct rps_phase *first = &picture->phases.phase[loop->first];
    double from = fmax(picture->from, (double)first->start_ns / RPS_NS_PER_S);
    double to = fmin(picture->to, (double)(first + loop->count - 1)->end_ns / RPS_NS_PER_S);

    return fmax(0, to - from);
}

/* The loop that lasts longest; NULL: there is none. */
static const struct rps_loop *choose_loop(const struct rps_picture *picture)
{
    struct rps_loops loops = rps_loops_of(picture->arena, &picture->phases);
    const struct rps_loop *best = NULL;

    for (size_t k = 0; k < loops.count; k++) {
        double length = length_in(picture, &loops.loop[k]);

        if (length > 0 && (!best || length > length_in(picture, best)))
            best = &loops.loop[k];
    }
    return best;
}

/* Add the parts of an iteration of that length as phases. An inner loop repeats while it fits. */
static void add_parts(struct rps_picture *picture, const struct rps_loop *loop, double length)
{
    struct rps_phases *phases = &picture->phases;
    double all = 0;

    for (size_t k = 0; k < loop->part_count; k++)
        all += loop->part[k].length;
    for (size_t k = 0; k < loop->part_count; k++) {
        const struct rps_loop *inner = loop->part[k].loop;
        double part = loop->part[k].length / all * length, turns;
        struct rps_phase *phase;

        if (inner) {
            turns = fmax(1, floor(part / inner->length + .5));
            for (double turn = 0; turn < turns; turn++)
                add_parts(picture, inner, part / turns);
            continue;
        }
        phases->phase =
            rps_arena_grow(picture->arena, phases->phase, phases->count, sizeof(*phases->phase));
        phase = &phases->phase[phases->count];
        *phase = (struct rps_phase){.label = loop->part[k].label};
        phase->first = phase->last = phase->earliest = phase->latest = phases->count++;
        phase->start_ns = phase->first > 0 ? phase[-1].end_ns : 0;
        phase->end_ns = phase->start_ns + (int64_t)part;
    }
}

/* Replace the phases by those of one iteration, and clear the rest of the time axis. */
static void take_turn(struct rps_picture *picture)
{
    picture->phases.count = 0;
    picture->phases.phase = NULL;
    add_parts(picture, picture->turn, picture->turn->length);
    picture->levels.shown = picture->levels.count > 0 ? picture->levels.count - 1 : 0;
    picture->duty.count = 0;
    rps_notes_free(&picture->marks);
    rps_notes_free(&picture->gaps);
    picture->regions.count = 0;
}

/* Words are only about the iteration. */
static void leave_others_out(const struct rps_phases *phases, struct rps_profile *profile)
{
    for (int l = 0; l < profile->label_count; l++) {
        size_t k = 0;

        while (k < phases->count && phases->phase[k].label != l)
            k++;
        profile->label[l].periods *= k < phases->count;
    }
}

/* "One turn of B C D E, 57.0 s: median and 10 to 90 % of 60 turns". */
static const char *remark_of(const struct rps_picture *picture)
{
    const struct rps_loop *loop = picture->turn;
    char length[RPS_TEXT_NUMBER_SIZE];

    rps_text_duration(length, sizeof(length), (int64_t)loop->length);
    return rps_arena_print(picture->arena,
                           "One turn of %s (%s): median and 10 to 90 %% of %zu turns",
                           rps_loop_parts(picture->arena, loop, "x", RPS_FOLD_PARTS_MAX), length,
                           loop->turn_count - loop->odd_count);
}

int rps_picture_fill_turn(struct rps_picture *picture, struct rps_reader *reader,
                          const struct rps_plot_options *options, struct rps_chart **ret,
                          struct rps_error *err)
{
    struct rps_profile profile;

    picture->turn = picture->has_phases ? choose_loop(picture) : NULL;
    if (!picture->turn)
        return rps_error_set(
            err, RPS_FAILED,
            "run %lld has no loop to draw a turn of: no phases of it come again in "
            "the same order, four times at least",
            (long long)picture->run.run_id);
    picture->axis = RPS_AXIS_TIME;
    picture->clock = 0;
    picture->from = 0;
    picture->to = picture->turn->length / RPS_NS_PER_S;
    if (rps_picture_profile(picture, reader, options, &profile, err) < 0 ||
        rps_picture_bin(picture, TURN_BINS, err) < 0)
        return RPS_FAILED;
    take_turn(picture);
    leave_others_out(&picture->phases, &profile);
    rps_picture_choose_words(picture, &profile, options);
    rps_picture_fit(picture, options);
    *ret = rps_picture_draw_panels(picture, remark_of(picture));
    return 0;
}
