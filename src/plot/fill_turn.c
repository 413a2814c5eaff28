/* One iteration of a loop (plot --kind turn): panels with the median of all iterations, and a band
 * from the 10 % to the 90 % quantile. The segments of all iterations are overlaid: a period keeps
 * its relative position in its segment, which is as wide as in the usual iteration. */
#include <math.h>

#include "rpistat/clock.h"
#include "rpistat/loops.h"
#include "rpistat/picture.h"
#include "rpistat/profile.h"
#include "rpistat/text.h"

#define ITERATION_BINS 240

/* Return the total length of the loop in the picture. */
static double length_in(const struct rps_picture *picture, const struct rps_loop *loop)
{
    const struct rps_phase *first = &picture->phases.phase[loop->first];
    double from = fmax(picture->from, (double)first->start_ns / RPS_NS_PER_S);
    double to = fmin(picture->to, (double)(first + loop->count - 1)->end_ns / RPS_NS_PER_S);

    return fmax(0, to - from);
}

/* Return the loop that lasts longest; NULL: there is none. */
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

/* Add the segments of an iteration as phases; an inner loop is repeated while there is space. */
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
        *phase = (struct rps_phase){.label = loop->part[k].label, .label_confidence = 1};
        phase->first = phase->last = phase->earliest = phase->latest = phases->count++;
        phase->start_ns = phase->first > 0 ? phase[-1].end_ns : 0;
        phase->end_ns = phase->start_ns + (int64_t)part;
    }
}

/* Replace the phases by the parts of one iteration, and clear the rest of the time axis. */
static void take_iteration(struct rps_picture *picture)
{
    picture->phases.count = 0;
    picture->phases.phase = NULL;
    add_parts(picture, picture->turn, picture->turn->length);
    picture->levels.shown = picture->levels.count > 0 ? picture->levels.count - 1 : 0;
    picture->counted.count = 0;
    picture->marks.count = picture->gaps.count = 0;
    picture->regions.count = 0;
}

/* Return a remark such as "One iteration of B C D E (57.0 s): median and 10 to 90 % band of 60
 * iterations". */
static const char *remark_of(const struct rps_picture *picture)
{
    const struct rps_loop *loop = picture->turn;
    char length[RPS_TEXT_NUMBER_SIZE];

    rps_text_duration(length, sizeof(length), (int64_t)loop->length);
    return rps_arena_print(
        picture->arena, "One iteration of %s (%s): median and 10 to 90 %% band of %zu iterations",
        rps_loop_parts(picture->arena, loop, "x", RPS_LOOPS_PARTS_MAX), length,
        loop->iteration_count - loop->outlier_count);
}

int rps_picture_fill_turn(struct rps_picture *picture, struct rps_reader *reader,
                          const struct rps_plot_options *options, struct rps_chart **ret,
                          struct rps_error *err)
{
    struct rps_profile profile;

    picture->turn = picture->has_phases ? choose_loop(picture) : NULL;
    if (!picture->turn)
        return rps_error_set(err, RPS_FAILED,
                             "run %lld has no loop to draw, because its phases do not recur in the "
                             "same order often enough; choose another --kind",
                             (long long)picture->run.run_id);
    picture->axis = RPS_AXIS_TIME;
    picture->clock = 0;
    picture->from = 0;
    picture->to = picture->turn->length / RPS_NS_PER_S;
    if (rps_picture_profile(picture, reader, options, &profile, err) < 0 ||
        rps_picture_bin(picture, ITERATION_BINS, err) < 0)
        return RPS_FAILED;
    take_iteration(picture);
    /* Leave out the descriptions of labels that do not occur in the iteration. */
    for (int l = 0; l < profile.label_count; l++) {
        size_t k = 0;

        while (k < picture->phases.count && picture->phases.phase[k].label != l)
            k++;
        profile.label[l].periods *= k < picture->phases.count;
    }
    rps_picture_choose_words(picture, &profile, options);
    rps_picture_fit(picture, options);
    *ret = rps_picture_draw_panels(picture, remark_of(picture));
    return 0;
}
