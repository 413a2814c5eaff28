/* Detected phases as documents: the phases in order of time, the phase classes, their differences,
 * and principal components.
 *
 * Both tables have the same metrics in the same order. First come the profile's metrics, CPU use,
 * and the metrics that the descriptions mention. All other metrics follow. The table of classes
 * always has all mentioned metrics. In the text, other metrics are omitted if the line has no space
 * for them. */
#include "rpistat/phase_output.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "parts.h"
#include "rpistat/clock.h"
#include "rpistat/collect.h"
#include "rpistat/loops.h"
#include "rpistat/profile.h"
#include "rpistat/report.h"
#include "rpistat/text.h"

#define LABEL_WIDTH     30   /* maximum width of a phase's letter and name: metrics need space */
#define LABELS_MAX      8    /* maximum number of labels listed for an outlier iteration */
#define WAITS_THRESHOLD .1   /* minimum share of waits in a class's time for printing them */
#define SAME            1e-6 /* a metric that varies by a smaller share of its mean is constant */
#define EXPLAINED_MIN   .1   /* minimum share of variance explained by phases for a noisy metric */

char *rps_phase_output_parameters(const struct rps_phases_options *find,
                                  const struct rps_detect_details *details, const char *cpus,
                                  const char *const *signal, size_t signal_count)
{
    const struct rps_detect_options *options = &find->detect;
    struct rps_json json;

    if (rps_json_open(&json, 1) < 0)
        return NULL;
    rps_json_object(&json, NULL);
    if (options->min_length > 0)
        rps_json_uint64(&json, "min_length", options->min_length);
    else
        rps_json_null(&json, "min_length");
    if (find->level.fine)
        rps_json_text(&json, "level", "fine");
    else if (find->level.size > 0)
        rps_json_uint64(&json, "level", find->level.size);
    else
        rps_json_null(&json, "level");
    if (find->level.at_most > 0)
        rps_json_uint64(&json, "at_most", find->level.at_most);
    else
        rps_json_null(&json, "at_most");
    rps_json_int64(&json, "sensitivity", find->level.steps);
    rps_json_bool(&json, "exact", options->exact);
    rps_json_text(&json, "cpu", cpus);
    rps_json_array(&json, "signals");
    for (size_t s = 0; s < signal_count; s++)
        rps_json_text(&json, NULL, signal[s]);
    rps_json_end(&json);
    rps_json_uint64(&json, "used_signals", details->used_signal_count);
    rps_json_double(&json, "penalty", details->penalty);
    rps_json_double(&json, "autocorrelation", details->autocorrelation);
    rps_json_double(&json, "objective", details->objective);
    rps_json_text(&json, "segments", details->linear ? "linear" : "constant");
    rps_json_end(&json);
    return rps_json_close(&json);
}

/* --- metrics ---------------------------------------------------------------------------------- */

/* Return 1 if the text shows the metric. The metric must have been counted. With several classes,
 * the metric must also vary, and must not be a noisy low count that the phases do not explain. */
static int is_seen(const struct rps_profile *profile, const struct rps_figure *figure)
{
    double whole = fabs(figure->whole);

    if (profile->label_count < 2)
        return whole > 0;
    return figure->spread > SAME * whole &&
           (figure->explained >= EXPLAINED_MIN || figure->spread <= whole);
}

/* Return an array with 1 for each metric that is CPU use, energy, power, or in a description. */
static const uint8_t *find_reported(struct rps_arena *arena, const struct rps_profile *profile)
{
    uint8_t *ret = rps_arena_get(arena, profile->figure_count + 1, sizeof(*ret));
    size_t told[RPS_PROFILE_DIFFERENCES_MAX];

    for (size_t f = 0; f < profile->figure_count; f++)
        ret[f] = (strcmp(profile->figure[f].name, RPS_COLLECT_CPU_USE) == 0 &&
                  is_seen(profile, &profile->figure[f])) ||
                 strcmp(profile->figure[f].name, "energy_j") == 0 ||
                 strcmp(profile->figure[f].name, "power_w") == 0;
    for (int l = 0; l < profile->label_count; l++) {
        for (int i = 0, count = rps_profile_reported(profile, l, told); i < count; i++)
            ret[told[i]] = 1;
    }
    return ret;
}

/* Add one column per metric. In the text, these columns follow the existing columns. If keeps_told
 * is 1, mentioned metrics are never omitted. */
static void add_figures(struct rps_block *block, const struct rps_profile *profile,
                        const char *group, int keeps_told)
{
    int place = (int)block->column_count, count = (int)profile->figure_count;
    int *rank = rps_arena_get(block->document->arena, profile->figure_count + 1, sizeof(*rank));
    const uint8_t *told = find_reported(block->document->arena, profile);

    for (int i = 0; i < count; i++)
        rank[profile->order[i]] = i + (i == 0 || told[profile->order[i]] ? 0 : count);
    for (size_t f = 0; f < profile->figure_count; f++) {
        const struct rps_figure *figure = &profile->figure[f];

        rps_block_column(block, (struct rps_column){
                                    .name = figure->name,
                                    .heading = !told[f] && !is_seen(profile, figure) ? NULL
                                               : figure->label[0]                    ? figure->label
                                                                                     : figure->name,
                                    .kind = RPS_VALUE_FIGURE,
                                    .unit = figure->unit,
                                    .group = group,
                                    .has_interval = 1,
                                    .has_deviation = keeps_told,
                                    .place = place + rank[f],
                                    .shown = RPS_SHOWN_IF_KNOWN,
                                    .drop = keeps_told && told[f] ? 0 : 2 * count - rank[f],
                                });
    }
}

/* Put the metrics of one row of a profile. If spread is NULL, omit the standard deviations. */
static void put_figures(struct rps_block *block, const struct rps_profile *profile,
                        const double *value, const struct rps_interval *interval,
                        const double *spread)
{
    for (size_t f = 0; f < profile->figure_count; f++)
        rps_put_figure(block, value[f], &interval[f])->deviation =
            spread && !profile->figure[f].is_of_package ? spread[f] : NAN;
}

/* Put the length of a phase or class. If the run is a table, put the number of rows instead. */
static void put_length(struct rps_block *block, const struct rps_run *run, int64_t length_ns,
                       uint64_t rows)
{
    rps_put_int(block, run ? length_ns : (int64_t)rows, 1);
}

/* Put the last row of the text, which covers everything. The length precedes the metrics. `before`
 * is the number of columns that precede the label. */
static void put_all(struct rps_block *block, const struct rps_run *run,
                    const struct rps_profile *profile, int before)
{
    block->human_rows = 1;
    rps_put_blanks(block, before);
    rps_put_text(block, "all");
    rps_put_blanks(block, (int)(block->column_count - profile->figure_count) - before - 2);
    put_length(block, run, profile->length_ns, profile->periods);
    for (size_t f = 0; f < profile->figure_count; f++)
        rps_put_figure(block, profile->figure[f].whole, &profile->figure[f].interval);
}

/* --- the phases in order of time -------------------------------------------------------------- */

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* Put the range in which the boundary may be. */
static void put_uncertainty(struct rps_block *block, const struct rps_run *run,
                            const struct rps_phase *phase)
{
    uint64_t before = phase->first - phase->earliest, behind = phase->latest - phase->first;
    uint64_t off = before > behind ? before : behind;

    rps_put_blanks(block, 1);
    if (off > 0 && run)
        rps_put_words(block, "±%.*f", rps_document_decimals(block->document),
                      (double)off * (double)run->period_ns / RPS_NS_PER_S);
    else if (off > 0)
        rps_put_words(block, "±%" PRIu64, off);
}

/* Put the letter of a class. In the text, add the name that rps_profile_code chose. */
static void put_label(struct rps_block *block, const struct rps_profile *profile, int label,
                      int is_doubtful)
{
    char letter[RPS_PHASE_LABEL_SIZE];
    const char *code = profile->label[label].code;

    rps_put_text(block, rps_phase_label(label, letter))->doubtful = is_doubtful && !code[0];
    if (code[0])
        rps_put_words(block, "%s%s %s", letter, is_doubtful ? "?" : "", code);
}

/* Put the confidence in the boundary. The text omits the confidence at the start of the run. */
static void put_sure(struct rps_block *block, const struct rps_phase *phase)
{
    rps_put_number(block, phase->confidence);
    if (phase->first > 0)
        rps_put_words(block, "%.0f %%", 100 * phase->confidence);
    else
        rps_put_words(block, "%s", "");
}

/* Return the number of loops that contain the phase, one inside the other. *ret_turns: the
 * iterations in the form of --from "3.2"; NULL if there is at most one loop. */
static int find_inner(struct rps_arena *arena, const struct rps_phase *phase,
                      const char **ret_turns)
{
    const char *turns = rps_arena_print(arena, "%d", phase->turn);
    int depth = phase->turn > 0;

    for (int d = 0; d < RPS_PHASE_INNER_MAX && phase->inner[d].turn > 0; d++, depth++)
        turns = rps_arena_print(arena, "%s.%d", turns, phase->inner[d].turn);
    *ret_turns = depth > 1 ? turns : NULL;
    return depth;
}

#define PHASES(CELL, BY)                                                                           \
    CELL(INT, (i, 1), "phase")                                                                     \
    BY(TEXT,                                                                                       \
       put_label(block, profile, phase->label, phase->label_confidence < RPS_PHASE_LABEL_SURE),    \
       "label", "Phase", .place = 1, .width_max = LABEL_WIDTH)                                     \
    CELL(INT, (phase->first, 1), "first", run ? NULL : "First", .place = 2, .is_id = 1)            \
    BY(TEXT, put_uncertainty(block, run, phase), NULL, "±", .unit = run ? "s" : "rows",            \
       .place = 3, .shown = RPS_SHOWN_IF_KNOWN)                                                    \
    CELL(INT, (phase->last, 1), "last", run ? NULL : "Last", .place = 4, .is_id = 1)               \
    CELL(INT, (phase->earliest, 1), "earliest")                                                    \
    CELL(INT, (phase->latest, 1), "latest")                                                        \
    BY(SHARE, put_sure(block, phase), "confidence", "Boundary confidence", .place = 5)             \
    CELL(SHARE, (phase->label_confidence), "label_confidence")                                     \
    CELL(SHARE, (rps_profile_share(profile, length_ns, rows)), "share", "Share", .place = 7)       \
    BY(CLOCK, rps_put_int(block, phase->start_ns, 1), run ? "start_s" : NULL,                      \
       run ? "Start" : NULL, .place = 2)                                                           \
    BY(CLOCK, rps_put_int(block, phase->end_ns, 1), run ? "end_s" : NULL, run ? "End" : NULL,      \
       .place = 4)                                                                                 \
    CELL(TIME, (rps_clock_add_ns(epoch_ns, phase->start_ns), epoch_ns >= 0), run ? "start" : NULL) \
    CELL(TIME, (rps_clock_add_ns(epoch_ns, phase->end_ns), epoch_ns >= 0), run ? "end" : NULL)     \
    CELL(INT, (phase->turn, phase->turn > 0), "turn")                                              \
    CELL(INT, (phase->part, phase->part > 0), "part")                                              \
    CELL(INT, (depth, 1), "depth")                                                                 \
    CELL(TEXT, (turns), "inner_turn")                                                              \
    CELL(BOOL, (1, phase->trend != 0), "ramp")

static void put_phase(struct rps_block *block, const struct rps_run *run,
                      const struct rps_profile *profile, const struct rps_phase *phase, size_t i)
{
    int64_t length_ns = phase->end_ns - phase->start_ns;
    int64_t epoch_ns = run ? run->start_realtime_ns : -1;
    uint64_t rows = phase->last - phase->first + 1;
    const char *turns;
    int depth = find_inner(block->document->arena, phase, &turns);

    PHASES(RPS_PUT, RPS_PUT_BY)
    put_length(block, run, length_ns, rows);
}

static void set_times(struct rps_document *document, const struct rps_run *run,
                      const struct rps_phases *phases)
{
    document->period_ns = run ? run->period_ns : 0;
    document->length_ns = run && phases->count > 0 ? phases->phase[phases->count - 1].end_ns : 0;
}

struct rps_block *rps_phase_block(struct rps_document *document, const struct rps_run *run,
                                  const struct rps_phases *phases,
                                  const struct rps_profile *profile)
{
    const struct rps_column columns[] = {
        PHASES(RPS_COLUMN, RPS_COLUMN){run ? "length_s" : "length", run ? "Length" : "Rows",
                                       run ? RPS_VALUE_DURATION : RPS_VALUE_INT, .place = 6},
    };
    struct rps_block *block = rps_document_block(document, "phases", columns, RPS_COUNT(columns));

    set_times(document, run, phases);
    block->indent = 2;
    block->fixed = run ? 7 : 6;
    add_figures(block, profile, "figures", 0);
    for (size_t i = 0; i < phases->count; i++) {
        size_t at = i * profile->figure_count;

        put_phase(block, run, profile, &phases->phase[i], i);
        put_figures(block, profile, profile->phase + at, profile->phase_interval + at, NULL);
    }
    put_all(block, run, profile, 1);
    return block;
}

/* --- loops ------------------------------------------------------------------------------------ */

/* Format the length of iterations, in seconds or, for a table, in rows. */
static const char *length_text(const struct rps_document *document, const struct rps_run *run,
                               double length)
{
    return run ? rps_document_duration(document, (int64_t)length)
               : rps_arena_print(document->arena, "%.0f rows", length);
}

/* Format a standard deviation, such as "0.05", in seconds or rows. */
static const char *deviation_text(const struct rps_document *document, const struct rps_run *run,
                                  double deviation)
{
    return rps_arena_print(document->arena, "%.2f", deviation / (run ? RPS_NS_PER_S : 1));
}

/* Format the time, or for a table the row, at which a phase begins or ends. */
static const char *place_text(const struct rps_document *document, const struct rps_run *run,
                              const struct rps_phase *phase, int is_end)
{
    if (run)
        return rps_document_clock(document, is_end ? phase->end_ns : phase->start_ns);
    return rps_arena_print(document->arena, "%" PRIu64, is_end ? phase->last : phase->first);
}

/* Format an outlier iteration: "31:27.0 (long, 71.2 s)", "42:51.0 (phases B C B E)". */
static const char *iteration_text(const struct rps_document *document, const struct rps_run *run,
                                  const struct rps_phases *phases, const struct rps_iteration *turn)
{
    const struct rps_phase *phase = &phases->phase[turn->first];
    const char *at = place_text(document, run, phase, 0), *labels = "";
    char label[RPS_PHASE_LABEL_SIZE];

    if (turn->kind != RPS_ITERATION_UNLIKE)
        return rps_arena_print(document->arena, "%s (%s, %s)", at,
                               turn->kind == RPS_ITERATION_LONG ? "long" : "short",
                               length_text(document, run, turn->length));
    for (size_t k = 0; k < turn->count && k < LABELS_MAX; k++)
        labels = rps_arena_print(document->arena, "%s %s", labels,
                                 rps_phase_label(phase[k].label, label));
    return rps_arena_print(document->arena, "%s (phases%s%s)", at, labels,
                           turn->count > LABELS_MAX ? " ..." : "");
}

/* Put a line on the outlier iterations. The line lists only the first of these iterations. */
static void report_outliers(struct rps_block *block, const struct rps_run *run,
                            const struct rps_phases *phases, const struct rps_loop *loop)
{
    const struct rps_document *document = block->document;
    const char *text = "";
    size_t named = 0, more;

    for (size_t t = 0; t < loop->iteration_count && named < RPS_LOOPS_OUTLIERS_NAMED; t++) {
        if (loop->turn[t].kind != RPS_ITERATION_USUAL)
            text = rps_arena_print(document->arena, "%s%s%s", text, named++ > 0 ? ", " : "",
                                   iteration_text(document, run, phases, &loop->turn[t]));
    }
    more = loop->outlier_count - named;
    if (more > 0)
        text = rps_arena_print(document->arena, "%s, %zu more (--level fine)", text, more);
    if (named > 0)
        rps_block_wrap(block, 4, 6, "outlier iteration%s: %s", plural(loop->outlier_count), text);
}

/* Put one row per part of a loop. If a part is an inner loop, the rows of the inner loop's parts
 * follow, indented. */
static void put_parts(struct rps_block *block, const struct rps_run *run,
                      const struct rps_profile *profile, const struct rps_loop *loop)
{
    const struct rps_document *document = block->document;
    char label[RPS_PHASE_LABEL_SIZE];

    for (size_t k = 0; k < loop->part_count; k++) {
        const struct rps_loop_part *part = &loop->part[k];

        if (part->loop)
            rps_put_text(block,
                         rps_arena_print(document->arena, "%*s%s x", (int)(2 * loop->depth), "",
                                         rps_loop_part_iterations(document->arena, part)));
        else
            rps_put_text(block, rps_arena_print(document->arena, "%*s%s %s", (int)(2 * loop->depth),
                                                "", rps_phase_label(part->label, label),
                                                profile->label[part->label].code));
        rps_put_blanks(block, 4);
        put_length(block, run, (int64_t)part->length, (uint64_t)(part->length + .5));
        rps_put_text(block, deviation_text(document, run, part->deviation));
        rps_put_number(block,
                       rps_profile_share(profile, (int64_t)part->total, (uint64_t)part->total));
        if (part->loop)
            put_parts(block, run, profile, part->loop);
    }
}

/* Put a loop: a line, one row per part, and a line on outlier iterations. */
static void put_loop(struct rps_block *block, const struct rps_run *run,
                     const struct rps_phases *phases, const struct rps_profile *profile,
                     const struct rps_loop *loop)
{
    const struct rps_document *document = block->document;
    const struct rps_phase *first = &phases->phase[loop->first];

    rps_block_line(
        block, "  %zu iterations from %s to %s, mean %s (sd %s %s):", loop->iteration_count,
        place_text(document, run, first, 0), place_text(document, run, first + loop->count - 1, 1),
        length_text(document, run, loop->length), deviation_text(document, run, loop->deviation),
        run ? "s" : "rows");
    put_parts(block, run, profile, loop);
    report_outliers(block, run, phases, loop);
}

/* Put a row for a phase outside of loops. */
static void put_stretch(struct rps_block *block, const struct rps_run *run,
                        const struct rps_profile *profile, const struct rps_phases *phases,
                        size_t i)
{
    const struct rps_phase *phase = &phases->phase[i];
    int64_t length_ns = phase->end_ns - phase->start_ns;
    uint64_t rows = phase->last - phase->first + 1;

    put_label(block, profile, phase->label, phase->label_confidence < RPS_PHASE_LABEL_SURE);
    rps_put_int(block, run ? phase->start_ns : (int64_t)phase->first, 1);
    put_uncertainty(block, run, phase);
    rps_put_int(block, run ? phase->end_ns : (int64_t)phase->last, 1);
    put_sure(block, phase);
    put_length(block, run, length_ns, rows);
    rps_put_blanks(block, 1);
    rps_put_number(block, rps_profile_share(profile, length_ns, rows));
}

/* In the text, add the phases with loops folded. The metrics are in the table of classes. */
static void add_folded(struct rps_document *document, const struct rps_phase_output *output)
{
    const struct rps_run *run = output->run;
    const struct rps_phases *phases = output->phases;
    const struct rps_profile *profile = output->profile;
    const enum rps_value_kind at = run ? RPS_VALUE_CLOCK : RPS_VALUE_INT;
    const struct rps_column columns[] = {
        {.heading = "Phase"},
        {.heading = run ? "Start" : "First", .kind = at, .shown = RPS_SHOWN_IF_KNOWN},
        {.heading = "±", .unit = run ? "s" : "rows", .shown = RPS_SHOWN_IF_KNOWN},
        {.heading = run ? "End" : "Last", .kind = at, .shown = RPS_SHOWN_IF_KNOWN},
        {.heading = "Boundary confidence", .kind = RPS_VALUE_SHARE, .shown = RPS_SHOWN_IF_KNOWN},
        {.heading = run ? "Length" : "Rows", .kind = run ? RPS_VALUE_DURATION : RPS_VALUE_INT},
        {.heading = "sd", .unit = run ? "s" : "rows"},
        {.heading = "Share", .kind = RPS_VALUE_SHARE},
    };
    struct rps_block *block = rps_document_block(document, NULL, columns, RPS_COUNT(columns));

    block->indent = 2;
    block->fixed = 8;
    block->head_first = 1;
    for (size_t i = 0; i < phases->count;) {
        const struct rps_phase *phase = &phases->phase[i];

        if (phase->loop > 0) {
            const struct rps_loop *loop = &profile->loops.loop[phase->loop - 1];

            put_loop(block, run, phases, profile, loop);
            i += loop->count;
        } else {
            put_stretch(block, run, profile, phases, i++);
        }
    }
}

/* Lengths of iterations and parts are in ns, or for a table in rows. */
#define PARTS(CELL, BY)                                                                            \
    CELL(INT, (loop->depth, 1), "depth")                                                           \
    CELL(TEXT, (part->loop ? NULL : rps_phase_label(part->label, label)), "label")                 \
    CELL(INT, (part->iterations_min, part->loop != NULL), "turns_min")                             \
    CELL(INT, (part->iterations_max, part->loop != NULL), "turns_max")
#define LOOPS(CELL, BY)                                                                            \
    CELL(INT, (loop->first, 1), "first_phase")                                                     \
    CELL(INT, (loop->count, 1), "phases")                                                          \
    CELL(INT, (output->phases->phase[loop->first].turn, 1), "first_turn")                          \
    CELL(INT, (loop->iteration_count, 1), "turns")                                                 \
    CELL(INT, (loop->outlier_count, 1), "odd_turns")

static void put_iteration_length(struct rps_block *block, const struct rps_run *run, double length,
                                 double deviation)
{
    if (run) {
        rps_put_int(block, (int64_t)length, 1);
        rps_put_int(block, (int64_t)deviation, 1);
    } else {
        rps_put_number(block, length);
        rps_put_number(block, deviation);
    }
}

/* Add the parts of a loop for programs. If a part is an inner loop, add the inner loop's parts too,
 * one level deeper. */
static void add_parts(struct rps_block *block, const struct rps_run *run,
                      const struct rps_loop *loop)
{
    char label[RPS_PHASE_LABEL_SIZE];

    for (size_t k = 0; k < loop->part_count; k++) {
        const struct rps_loop_part *part = &loop->part[k];

        PARTS(RPS_PUT, RPS_PUT_BY)
        put_iteration_length(block, run, part->length, part->deviation);
        if (part->loop)
            add_parts(block, run, part->loop);
    }
}

/* Add the loops, for programs. */
static void add_loops(struct rps_document *document, const struct rps_phase_output *output)
{
    const struct rps_run *run = output->run;
    const enum rps_value_kind kind = run ? RPS_VALUE_DURATION : RPS_VALUE_NUMBER;
    const struct rps_column columns[] = {
        LOOPS(RPS_COLUMN, RPS_COLUMN){run ? "turn_s" : "turn_length", .kind = kind},
        {run ? "turn_s_sd" : "turn_length_sd", .kind = kind},
        {"parts", .kind = RPS_VALUE_BLOCK},
    };
    const struct rps_column parts[] = {
        PARTS(RPS_COLUMN, RPS_COLUMN){run ? "part_s" : "part_length", .kind = kind},
        {run ? "part_s_sd" : "part_length_sd", .kind = kind},
    };
    struct rps_block *block = rps_document_block(document, "loops", columns, RPS_COUNT(columns));
    const struct rps_loops *loops = &output->profile->loops;

    for (size_t l = 0; l < loops->count; l++) {
        const struct rps_loop *loop = &loops->loop[l];

        LOOPS(RPS_PUT, RPS_PUT_BY)
        put_iteration_length(block, run, loop->length, loop->deviation);
        add_parts(rps_put_block(block, parts, RPS_COUNT(parts)), run, loop);
    }
}

/* --- the phase classes ------------------------------------------------------------------------ */

/* In the text, put the share of each metric's variance that the phases explain. */
static void put_explained(struct rps_block *block, const struct rps_profile *profile)
{
    rps_put_text(block, "explained");
    rps_put_blanks(block, (int)(block->column_count - profile->figure_count) - 1);
    for (size_t f = 0; f < profile->figure_count; f++) {
        rps_put_blanks(block, 1);
        if (isfinite(profile->figure[f].explained))
            rps_put_words(block, "%.0f %%", 100 * profile->figure[f].explained);
    }
    block->human_rows++;
    rps_block_line(block, "explained: share of the metric's variance that is between classes "
                          "(all metrics: --format json)");
}

struct rps_block *rps_label_block(struct rps_document *document, const struct rps_run *run,
                                  const struct rps_profile *profile,
                                  const struct rps_part_shares *shares)
{
    const struct rps_column columns[] = {
        {"label", "Class", .place = 1},
        {"occurrences", "Phases", RPS_VALUE_INT, .place = 2},
        {run ? "length" : NULL, .kind = RPS_VALUE_INT},
        {"share", "Share", RPS_VALUE_SHARE, .place = 4},
        {.name = "words"},
        {shares ? "samples" : NULL, .kind = RPS_VALUE_INT},
        {shares ? "expected_samples" : NULL, .kind = RPS_VALUE_NUMBER},
        {shares ? "unnamed_share" : NULL, .kind = RPS_VALUE_NUMBER},
        {shares ? "top" : NULL, .kind = RPS_VALUE_BLOCK},
        {shares ? "stands_out" : NULL, .kind = RPS_VALUE_BLOCK},
        {run ? "time_s" : "length", run ? "Total" : "Rows",
         run ? RPS_VALUE_DURATION : RPS_VALUE_INT, .place = 3},
    };
    struct rps_block *block = rps_document_block(document, "labels", columns, RPS_COUNT(columns));
    size_t stands_out_count;
    const struct rps_column *stands_out = rps_share_block_columns(&stands_out_count);
    char words[RPS_PROFILE_WORDS_SIZE];

    block->indent = 2;
    block->fixed = 1;
    add_figures(block, profile, "mean", 1);
    for (int l = 0; l < profile->label_count; l++) {
        const struct rps_profile_label *of = &profile->label[l];
        size_t at = (size_t)l * profile->figure_count;

        put_label(block, profile, l, 0);
        rps_put_int(block, (int64_t)of->occurrences, 1);
        rps_put_int(block, (int64_t)of->periods, 1);
        rps_put_number(block, rps_profile_share(profile, of->length_ns, of->periods));
        rps_put_text(block, rps_profile_words(words, profile, l, 0));
        if (shares)
            rps_share_block_put(block, &shares->sampling, &shares->group[l], of->cpu_s);
        else
            rps_put_blanks(block, 4);
        if (shares && rps_share_is_tested(&shares->group[l]))
            rps_share_block_stand_out(rps_put_block(block, stands_out, stands_out_count),
                                      &shares->group[l]);
        else
            rps_put_blanks(block, 1);
        put_length(block, run, of->length_ns, of->periods);
        put_figures(block, profile, profile->mean + at, profile->mean_interval + at,
                    profile->spread + at);
    }
    if (profile->label_count > 1) {
        put_all(block, run, profile, 0);
        put_explained(block, profile);
    }
    return block;
}

/* Format "in solve (three.c:40)" and the function that waited most. If there are fewer samples than
 * expected, add "(only 120 of 400 expected samples arrived)". If the samples do not show any
 * function, format "only 12 of 40 expected samples arrived" instead. */
static const char *code_text(char *ret, size_t size, const struct rps_phase_output *output, int l)
{
    const struct rps_share_group *group = &output->shares->group[l];
    double expected =
        rps_samples_expected(&output->shares->sampling, output->profile->label[l].cpu_s, 0);
    const int is_short = rps_samples_are_short(group->samples, expected);
    size_t used = strlen(rps_share_group_text(ret, size, group));
    char text[320];

    if (is_short && isnan(group->top[0].share) && !group->apart[RPS_APART_FUNCTION].is_tested)
        used = 0; /* The few samples do not represent the class. */
    ret[used] = '\0';
    if (is_short)
        snprintf(ret + used, size - used, "%sonly %" PRIu64 " of %s%.0f expected samples arrived%s",
                 used ? " (" : "", group->samples,
                 rps_samples_at_most(&output->shares->sampling, 0, 0) ? "at most " : "", expected,
                 used ? ")" : "");
    used = strlen(ret);
    if (group->waited_s > WAITS_THRESHOLD * output->profile->label[l].seconds &&
        rps_share_waits_text(text, sizeof(text), group, 1)[0])
        snprintf(ret + used, size - used, "%s%s", used ? ", " : "", text);
    return ret;
}

/* Add one line per class: how the class differs from the others, and its main function. */
static void add_words(struct rps_document *document, const struct rps_phase_output *output)
{
    const struct rps_profile *profile = output->profile;
    struct rps_block *block;
    char label[RPS_PHASE_LABEL_SIZE], words[RPS_PROFILE_WORDS_SIZE];
    int has_unnamed = 0, has_jit = 0, has_block = 0;

    if (profile->label_count < 2)
        return;
    block = rps_document_block(document, NULL, NULL, 0);
    rps_block_title(block, "Each class compared with the whole %s:", output->run ? "run" : "table");
    /* All places are written first, because words compare the places of classes. */
    for (int l = 0; output->shares && l < profile->label_count; l++) {
        char *code = profile->label[l].place;

        code_text(code, sizeof(profile->label[l].place), output, l);
        has_unnamed |= rps_share_has_brackets(code);
        has_jit |= strstr(code, "in " RPS_SHARE_JIT) != NULL;
        has_block |= strstr(code, "+0x") != NULL;
    }
    for (int l = 0; l < profile->label_count; l++)
        rps_block_wrap(block, 2, 5, "%s: %s", rps_phase_label(l, label),
                       rps_profile_words(words, profile, l, 0));
    if (has_unnamed)
        rps_block_wrap(block, 2, 5, RPS_SHARE_UNNAMED_NOTE);
    if (has_block)
        rps_block_wrap(block, 2, 5,
                       "+0x...: a part of the code; build with -g to see source lines");
    if (has_jit)
        rps_block_wrap(block, 2, 5, "%s", rps_share_jit_note(output->run, output->shares));
}

/* Add a warning if classes have fewer samples than expected from the classes' CPU time. */
static void add_samples(struct rps_document *document, const struct rps_phase_output *output)
{
    const struct rps_part_shares *shares = output->shares;
    double cpu_s = 0;
    char text[320];

    for (int l = 0; l < output->profile->label_count; l++)
        cpu_s += output->profile->label[l].cpu_s;
    if (shares && rps_samples_short_text(text, sizeof(text), &shares->sampling,
                                         shares->sample_count, cpu_s, 1)[0])
        rps_block_line(rps_document_block(document, NULL, NULL, 0), "%s", text);
}

/* --- the rest --------------------------------------------------------------------------------- */

#define FIGURES(CELL, BY)                                                                          \
    CELL(TEXT, (figure->name), "name")                                                             \
    CELL(TEXT, (figure->label), "label")                                                           \
    CELL(TEXT, (figure->unit), "unit")                                                             \
    CELL(FIGURE, (figure->whole, &figure->interval), "whole", .has_interval = 1)                   \
    BY(FIGURE, rps_put_number(block, figure->spread), "spread")                                    \
    CELL(SHARE, (figure->explained), "explained")                                                  \
    CELL(NUMBER, (figure->apart), "apart")

static void add_whole(struct rps_document *document, const struct rps_profile *profile)
{
    static const struct rps_column columns[] = {FIGURES(RPS_COLUMN, RPS_COLUMN)};
    struct rps_block *block = rps_document_block(document, "figures", columns, RPS_COUNT(columns));

    for (size_t f = 0; f < profile->figure_count; f++) {
        const struct rps_figure *figure = &profile->figure[f];

        FIGURES(RPS_PUT, RPS_PUT_BY)
    }
}

static void add_components(struct rps_document *document, const struct rps_phase_output *output)
{
    const struct rps_components *components = output->components;
    static const struct rps_column columns[] = {
        {NULL, "Component", .kind = RPS_VALUE_INT},
        {"share", "Variance", RPS_VALUE_SHARE, .place = 1},
    };
    struct rps_block *block = rps_document_block(document, "components", columns, 2);

    rps_block_title(block, "Principal components");
    rps_block_wrap(block, 0, 0,
                   "Directions in which the metrics vary together, with their share of "
                   "the variance and their correlation with each metric.");
    block->indent = 2;
    block->fixed = 1;
    for (size_t s = 0; s < components->signal_count; s++)
        rps_block_column(block, (struct rps_column){.name = output->component_signal[s],
                                                    .heading = output->component_signal[s],
                                                    .kind = RPS_VALUE_FIGURE,
                                                    .group = "loadings",
                                                    .place = 2});
    for (size_t c = 0; c < components->component_count; c++) {
        rps_put_int(block, (int64_t)c + 1, 1);
        rps_put_number(block, components->share[c]);
        for (size_t s = 0; s < components->signal_count; s++) {
            double loading = components->loading[c * components->signal_count + s];

            rps_put_number(block, loading);
            rps_put_words(block, "%.2f", loading);
        }
    }
}

/* Return 1 if the default level has too many phases for the text. The text then has the classes,
 * and explains how to list the phases. */
static int is_long(const struct rps_phase_output *output)
{
    return !output->is_passing && !output->unfolded && output->level_count > 0 &&
           output->level[output->level_shown].rows > RPS_LEVELS_READABLE;
}

static void report_levels(struct rps_block *block, const struct rps_phase_output *output)
{
    size_t count = output->level_count, finest = count > 0 ? output->level[count - 1].stretches : 0;

    if (finest > 1)
        rps_block_line(block, "More or less detail: --level N (1 to %zu phases) or --level fine",
                       finest);
    if (finest > 1 && output->is_passing && output->level_shown != output->level_usual &&
        output->run)
        rps_block_line(block, "`rpistat code B` and --from phase:B use the letters of the default "
                              "level, not of this one");
}

/* Put a time as argument of --from. Round up, so that the printed time is not before from_ns. */
static void report_downsampled(struct rps_block *block, int64_t from_ns)
{
    int decimals = rps_document_decimals(block->document);
    char from[RPS_TEXT_NUMBER_SIZE];
    int64_t unit = RPS_NS_PER_S;

    if (from_ns < 0)
        return;
    for (int i = 0; i < decimals; i++)
        unit /= 10;
    from_ns += (unit - from_ns % unit) % unit;
    rps_text_clock(from, sizeof(from), from_ns, decimals > 0 ? decimals : 1);
    rps_block_line(block, "Full detail from %s on (--from %s); older periods are downsampled",
                   rps_document_clock(block->document, from_ns), from);
}

static void add_heading(struct rps_document *document, const struct rps_phase_output *output)
{
    struct rps_block *block = rps_document_block(document, NULL, NULL, 0);
    const char *length = "", *unit = output->unit, *count = "1 phase";
    char found[RPS_TEXT_NUMBER_SIZE];
    const struct rps_phase *phase = output->phases->phase;
    uint64_t rows = output->observations;

    if (output->run && output->block == 0) /* an observation may be several short periods */
        rows = phase[output->phases->count - 1].last - phase[0].first + 1;
    if (output->phases->count > 1)
        count = rps_arena_print(document->arena, "%zu phases in %d class%s", output->phases->count,
                                output->phases->label_count,
                                output->phases->label_count == 1 ? "" : "es");
    if (output->run)
        length = rps_arena_print(document->arena, "%s, ",
                                 rps_document_duration(document, output->profile->length_ns));
    if (output->block > 0)
        unit = rps_arena_print(document->arena, "block%s of %d rotation",
                               plural(output->observations), output->block);
    if (output->rows_per > 1)
        length = rps_arena_print(document->arena, "means of %zu rows, ", output->rows_per);
    rps_block_title(block, "Phases of %s", output->title);
    rps_block_wrap(block, 0, 0, "%s (%s%s %s%s%s, %zu metric%s)", count, length,
                   rps_text_count(found, sizeof(found), rows),
                   strcmp(unit, "period") == 0 ? "measurement " : "", unit,
                   plural(output->block > 0 ? 2 : rows), output->signal_count,
                   plural(output->signal_count));
    report_downsampled(block, output->periods_from_ns);
    report_levels(block, output);
    if (is_long(output))
        rps_block_wrap(block, 0, 0, "Too many phases to list%s; --level %zu lists them.",
                       output->profile->loops.count > 0 ? "" : ", in no repeating order",
                       output->phases->count);
    if (output->remark)
        rps_block_wrap(block, 0, 0, "%c%s.", toupper((unsigned char)output->remark[0]),
                       output->remark + 1);
}

#define SETTINGS(CELL, BY)                                                                         \
    CELL(TEXT, (output->title), "of")                                                              \
    CELL(INT, (run ? run->run_id : 0, run != NULL), "run")                                         \
    CELL(TEXT, (output->unit), "unit")                                                             \
    CELL(INT, (output->block, 1), output->block > 0 ? "block_rotations" : NULL)                    \
    BY(CLOCK, rps_put_int(block, output->periods_from_ns, output->periods_from_ns >= 0),           \
       run ? "periods_from_s" : NULL)                                                              \
    CELL(INT, (output->observations, 1), "observations")                                           \
    CELL(DURATION, (run ? run->period_ns : 0, run && run->period_ns > 0), run ? "period_s" : NULL) \
    CELL(TEXT, (output->method), "method")                                                         \
    BY(JSON, rps_put_text(block, output->parameters), "parameters")                                \
    CELL(TEXT, (output->remark), "remark")
#define LEVELS(CELL, BY)                                                                           \
    CELL(INT, (level->stretches, 1), "phases")                                                     \
    CELL(INT, (level->rows, level->rows > 0), "rows")                                              \
    CELL(SHARE, (level->lost), "lost")                                                             \
    CELL(BOOL, (at == output->level_shown, 1), "shown")

static void add_settings(struct rps_document *document, const struct rps_phase_output *output)
{
    static const struct rps_column levels[] = {LEVELS(RPS_COLUMN, RPS_COLUMN)};
    const struct rps_run *run = output->run;
    const struct rps_column columns[] = {SETTINGS(RPS_COLUMN, RPS_COLUMN)};
    struct rps_block *block = rps_document_block(document, NULL, columns, RPS_COUNT(columns));

    SETTINGS(RPS_PUT, RPS_PUT_BY)
    block = rps_document_block(document, "levels", levels, RPS_COUNT(levels));
    for (size_t at = 0; at < output->level_count; at++) {
        const struct rps_level *level = &output->level[at];

        LEVELS(RPS_PUT, RPS_PUT_BY)
    }
}

void rps_phase_document(struct rps_document *document, const struct rps_phase_output *output)
{
    locale_t before = uselocale(document->locale);
    const struct rps_phases *phases = output->phases;
    struct rps_block *block;
    int is_doubtful = 0, is_folded;

    document->csv = "phases";
    document->width = RPS_DOCUMENT_WIDTH;
    set_times(document, output->run, phases);
    for (size_t i = 0; i < phases->count; i++)
        is_doubtful |= phases->phase[i].label_confidence < RPS_PHASE_LABEL_SURE;
    add_settings(document, output);
    add_heading(document, output);
    is_folded = output->profile->loops.count > 0 && !output->unfolded;
    if (is_folded && !is_long(output))
        add_folded(document, output);
    block = rps_phase_block(document, output->run, phases, output->profile);
    for (size_t c = 0;
         (phases->count == 1 || is_folded || is_long(output)) && c < block->column_count; c++)
        block->column[c].heading = NULL; /* the text has this column in the table of classes */
    for (size_t c = 0; phases->count == (size_t)phases->label_count && c < block->column_count; c++)
        if (block->column[c].group)
            block->column[c].heading = NULL; /* this column would repeat another column */
    add_loops(document, output);
    if (is_doubtful && !is_long(output))
        rps_document_print(document, "?: uncertain class (confidence under 75 %%)");
    rps_label_block(document, output->run, output->profile, output->shares);
    add_words(document, output);
    add_samples(document, output);
    add_whole(document, output->profile);
    rps_phase_outliers(document, output);
    if (output->components)
        add_components(document, output);
    uselocale(before);
}
