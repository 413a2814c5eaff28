/* Makes the data that the server sends for the live page. The live page shows a run that is being
 * recorded.
 *
 * Rows end at the end of a rotation of the event sets, because only whole rotations have a value of
 * every metric. A rotation is complete when a later rotation has begun, because the writer receives
 * the periods of all CPUs in the order of measurement. */
#include "live_data.h"

#include <math.h>

#include "rpistat/page_parts.h"
#include "rpistat/plan.h"

#define ROTATIONS_BACK 64 /* number of latest rotations in which a whole rotation is searched */

static int put_nothing(struct rps_json *json, const void *context, struct rps_error *err)
{
    (void)context;
    (void)err;
    rps_json_null(json, NULL);
    return 0;
}

int rps_live_write_live(FILE *out, const char *script_folder, struct rps_error *err)
{
    const struct rps_page page = {.out = out,
                                  .output = "the page",
                                  .template = "page.html",
                                  .folder = script_folder,
                                  .title = "Live",
                                  .live = 1,
                                  .put = put_nothing};

    return rps_page_fill(&page, err);
}

/* --- where it ends ---------------------------------------------------------------------------- */

/* State of the search for the last whole rotation, one CPU after another. */
struct ending {
    uint64_t newest; /* newest rotation of any CPU */
    int32_t cpu;
    uint64_t rotation;
    int64_t start_ns, end_ns;
    int64_t before_ns; /* length of the previous rotation */
    int64_t first_ns;  /* length assumed before a CPU's first rotation: 0 at the start of the run */
    int64_t found_ns;  /* end of the last whole rotation; 0: none found */
};

/* End a complete rotation. Rows do not end with a rotation less than half as long as the previous
 * one. A rotation that short at the end of the rows would be treated as a remainder, and joined to
 * the previous point (rpistat/bins.h). */
static void end_rotation(struct ending *ending)
{
    int64_t length_ns = ending->end_ns - ending->start_ns;

    if (ending->rotation < ending->newest && 2 * length_ns >= ending->before_ns &&
        ending->end_ns > ending->found_ns)
        ending->found_ns = ending->end_ns;
    ending->before_ns = length_ns;
}

static void add_to_rotation(struct ending *ending, const struct rps_period *period)
{
    int is_other = period->cpu != ending->cpu;

    if (is_other || period->rotation != ending->rotation) {
        end_rotation(ending);
        ending->cpu = period->cpu;
        ending->rotation = period->rotation;
        ending->start_ns = period->start_ns;
        ending->before_ns = is_other ? ending->first_ns : ending->before_ns;
    }
    ending->end_ns = rps_period_end_ns(period);
}

/* Return the end of the last whole rotation after from_ns, or 0 if there is no such rotation. */
static int last_whole(struct rps_reader *reader, int64_t run_id, int64_t from_ns, int64_t *ret_ns,
                      struct rps_error *err)
{
    struct ending ending = {.cpu = INT32_MIN, .first_ns = from_ns > 0 ? INT64_MAX : 0};
    struct rps_cursor *cursor = NULL;
    struct rps_period period;
    int got = 0;

    for (int pass = 0; pass < 2 && got == 0; pass++) {
        got = rps_cursor_open(&cursor, reader, run_id, from_ns, INT64_MAX, 0, err);
        while (got == 0 && (got = rps_cursor_next(cursor, &period, err)) > 0) {
            if (pass == 1)
                add_to_rotation(&ending, &period);
            else if (period.rotation > ending.newest)
                ending.newest = period.rotation;
            got = 0;
        }
        rps_cursor_close(cursor);
        cursor = NULL;
    }
    end_rotation(&ending);
    if (got == 0)
        *ret_ns = ending.found_ns;
    return got;
}

int rps_live_find_end(struct rps_reader *reader, int64_t run_id, struct rps_live_end *ret,
                      struct rps_error *err)
{
    struct rps_arena *arena = rps_arena_new();
    struct rps_plan *plan = NULL;
    struct rps_run run;
    int result = rps_reader_run(arena, reader, run_id, &run, err);

    if (result == 0)
        *ret = (struct rps_live_end){run.state, run.elapsed_ns > 0 ? run.elapsed_ns : 0};
    if (result == 0 && run.state == RPS_RUN_RECORDING && run.elapsed_ns > 0) {
        result = rps_reader_plan(arena, reader, run_id, &plan, err);
        if (result == 0)
            result =
                last_whole(reader, run_id,
                           run.elapsed_ns - rps_run_rotations_ns(&run, plan->set_count,
                                                                 ROTATIONS_BACK, run.elapsed_ns),
                           &ret->end_ns, err);
    }
    rps_arena_free(arena);
    return result;
}

/* --- data ------------------------------------------------------------------------------------- */

static void put_head(struct rps_json *json, const struct rps_live_end *end)
{
    rps_json_object(json, NULL);
    rps_json_int64(json, "after", end->end_ns);
    rps_json_bool(json, "recording", end->state == RPS_RUN_RECORDING);
}

int rps_live_write_data(FILE *out, struct rps_reader *reader, int64_t run_id,
                        const struct rps_live_end *end, struct rps_error *err)
{
    const struct rps_plot_options options = {
        .to_ns = end->state == RPS_RUN_RECORDING ? end->end_ns : INT64_MAX,
    };
    struct rps_json json = {.out = out, .one_line = 1};
    struct rps_page_run run = {0};
    struct rps_picture picture;
    int result = rps_picture_open(&picture, reader, run_id, &options, 0, err);

    if (result == 0)
        result = rps_page_run_read(&run, &picture, reader, &options, err);
    if (result == 0) {
        put_head(&json, end);
        rps_json_object(&json, "page");
        result = rps_page_put_data(&json, &picture, &run.profile, run.has_code, err);
        rps_json_end(&json);
        rps_json_end(&json);
    }
    rps_picture_free(&picture);
    return result;
}

/* Read the rows between after_ns and end_ns, with bins in proportion to this time. */
static int read_rows(struct rps_picture *picture, struct rps_reader *reader, int64_t run_id,
                     int64_t after_ns, int64_t end_ns, struct rps_error *err)
{
    const struct rps_plot_options options = {
        .from_ns = after_ns, .to_ns = end_ns, .no_phases = 1, .code = RPS_PLOT_CODE_NONE};
    double share = (double)(end_ns - after_ns) / (double)end_ns;
    int result = rps_picture_open(picture, reader, run_id, &options, 0, err);

    picture->named = 1; /* also show panels that are zero in these rows */
    if (result == 0)
        result = rps_picture_bin(picture,
                                 (size_t)ceil(share * (double)rps_page_choose_bins(picture)), err);
    return result;
}

int rps_live_write_rows(FILE *out, struct rps_reader *reader, int64_t run_id, int64_t after_ns,
                        const struct rps_live_end *end, int64_t data, struct rps_error *err)
{
    struct rps_json json = {.out = out, .one_line = 1};
    struct rps_live_end reached = *end;
    struct rps_picture picture = {0};
    int result = 0;

    if (after_ns >= end->end_ns)
        reached.end_ns = after_ns;
    else
        result = read_rows(&picture, reader, run_id, after_ns, end->end_ns, err);
    put_head(&json, &reached);
    rps_json_int64(&json, "data", data);
    if (result == 0 && after_ns < end->end_ns) {
        rps_json_object(&json, "rows");
        rps_page_put_rows(&json, &picture);
        rps_json_end(&json);
    } else {
        rps_json_null(&json, "rows");
    }
    rps_json_end(&json);
    rps_picture_free(&picture);
    return result;
}
