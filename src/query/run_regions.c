/* Regions of a run from its marks. */
#include "rpistat/run_regions.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "rpistat/clock.h"
#include "rpistat/text.h"
#include "rpistat/walk.h"

#define PREFIX     "region "
#define NAMES_SIZE 256

/* --- text of marks ---------------------------------------------------------------------------- */

static int ends_with(const char *text, size_t length, const char *ending)
{
    size_t size = strlen(ending);

    return length > size && memcmp(text + length - size, ending, size) == 0;
}

struct rps_region_mark rps_region_mark_read(const char *text)
{
    struct rps_region_mark found = {.kind = RPS_REGION_MARK_NONE};
    size_t length;
    int read = 0;

    if (strncmp(text, PREFIX, strlen(PREFIX)) != 0)
        return found;
    found.name = text + strlen(PREFIX);
    length = strlen(found.name);
    if (ends_with(found.name, length, " begin")) {
        found.kind = RPS_REGION_MARK_BEGIN;
        found.length = length - strlen(" begin");
    } else if (ends_with(found.name, length, " end")) {
        found.kind = RPS_REGION_MARK_END;
        found.length = length - strlen(" end");
    } else {
        for (const char *colon = found.name; (colon = strchr(colon, ':')); colon++) {
            if (colon > found.name &&
                sscanf(colon, ": %20" SCNu64 " entries, %40lf s%n", &found.entered,
                       &found.elapsed_s, &read) == 2 &&
                read > 0 && !colon[read]) {
                found.kind = RPS_REGION_MARK_TOTALS;
                found.length = (size_t)(colon - found.name);
            }
        }
    }
    return found;
}

/* --- finding ---------------------------------------------------------------------------------- */

/* An open entry of a region. within: maximum number of nested entries open at once. */
struct begun {
    int64_t start_ns;
    uint64_t within;
};

/* The open entries of a region. The number of open entries shrinks and grows again, so the capacity
 * of each array is kept. */
struct stack {
    size_t count, room, span_room;
    struct begun *begun;
};

struct totals {
    uint64_t entered;
    double elapsed_s;
};

struct finding {
    struct rps_arena *arena;
    struct rps_run_regions *regions;
    int64_t from_ns, to_ns;
    struct stack stack[RPS_RUN_REGIONS_MAX];
    struct totals totals[RPS_RUN_REGIONS_MAX];
};

/* Return the number of the region, or -1 if there are too many regions. */
static int find_region(const struct finding *finding, const struct rps_region_mark *found)
{
    struct rps_run_regions *regions = finding->regions;

    for (size_t i = 0; i < regions->count; i++) {
        if (strncmp(regions->region[i].name, found->name, found->length) == 0 &&
            !regions->region[i].name[found->length])
            return (int)i;
    }
    regions->more |= regions->count == RPS_RUN_REGIONS_MAX;
    if (regions->more)
        return -1;
    regions->region =
        rps_arena_grow(finding->arena, regions->region, regions->count, sizeof(*regions->region));
    regions->region[regions->count].name =
        rps_arena_print(finding->arena, "%.*s", (int)found->length, found->name);
    return (int)regions->count++;
}

/* Entries end in order of time, so the spans inside the new span are at the end of the array. */
static void add_span(struct rps_arena *arena, struct rps_spans *spans, size_t *room,
                     struct rps_span span)
{
    while (spans->count > 0 && spans->span[spans->count - 1].end_ns >= span.start_ns) {
        if (spans->span[spans->count - 1].start_ns < span.start_ns)
            span.start_ns = spans->span[spans->count - 1].start_ns;
        spans->count--;
    }
    if (spans->count == *room)
        spans->span = rps_arena_grow(arena, spans->span, (*room)++, sizeof(*spans->span));
    spans->span[spans->count++] = span;
}

static void end_entry(const struct finding *finding, struct rps_run_region *region,
                      struct stack *stack, int64_t end_ns)
{
    struct begun begun;
    int64_t from_ns, to_ns;

    if (stack->count == 0)
        return; /* The begin of this entry was not recorded. */
    begun = stack->begun[--stack->count];
    if (begun.start_ns >= finding->to_ns || end_ns < finding->from_ns)
        return;
    if (stack->count > 0 && stack->begun[stack->count - 1].within < begun.within + 1)
        stack->begun[stack->count - 1].within = begun.within + 1;
    if (region->at_once < begun.within + 1)
        region->at_once = begun.within + 1;
    from_ns = begun.start_ns > finding->from_ns ? begun.start_ns : finding->from_ns;
    to_ns = end_ns < finding->to_ns ? end_ns : finding->to_ns;
    region->marked++;
    region->time_ns += to_ns - from_ns;
    add_span(finding->arena, &region->spans, &stack->span_room,
             (struct rps_span){begun.start_ns, end_ns});
}

static void take(struct finding *finding, const struct rps_note *mark)
{
    struct rps_region_mark found = rps_region_mark_read(mark->text);
    int number = found.kind == RPS_REGION_MARK_NONE ? -1 : find_region(finding, &found);

    if (number < 0)
        return;
    if (found.kind == RPS_REGION_MARK_BEGIN) {
        if (finding->stack[number].count == finding->stack[number].room)
            finding->stack[number].begun = rps_arena_grow(
                finding->arena, finding->stack[number].begun, finding->stack[number].room++,
                sizeof(*finding->stack[number].begun));
        finding->stack[number].begun[finding->stack[number].count++] =
            (struct begun){.start_ns = mark->start_ns};
    }
    if (found.kind == RPS_REGION_MARK_END)
        end_entry(finding, &finding->regions->region[number], &finding->stack[number],
                  mark->start_ns);
    finding->totals[number].entered += found.entered; /* Totals are added up because each process
                                                        reports its own totals. */
    finding->totals[number].elapsed_s += found.elapsed_s;
}

/* Compute the values that need all marks. */
static void conclude(struct finding *finding, size_t number)
{
    struct rps_run_region *region = &finding->regions->region[number];
    const struct totals *totals = &finding->totals[number];
    const struct stack *stack = &finding->stack[number];
    int64_t elapsed_ns = 0;

    region->entered = region->marked;
    if (totals->elapsed_s > 0 && totals->elapsed_s < (double)(INT64_MAX / RPS_NS_PER_S / 2))
        elapsed_ns = (int64_t)(totals->elapsed_s * RPS_NS_PER_S);
    if (totals->entered > region->marked && finding->from_ns <= 0 && finding->to_ns == INT64_MAX) {
        region->entered = totals->entered;
        region->time_ns = elapsed_ns > region->time_ns ? elapsed_ns : region->time_ns;
        return; /* The totals are used, so a missing end has no meaning. */
    }
    for (size_t i = 0; i < stack->count && totals->entered == 0; i++)
        region->open += stack->begun[i].start_ns < finding->to_ns;
}

/* Drop the regions that were not entered in the part. */
static void drop_empty(struct rps_run_regions *regions)
{
    size_t kept = 0;

    for (size_t i = 0; i < regions->count; i++) {
        if (regions->region[i].entered + regions->region[i].open > 0)
            regions->region[kept++] = regions->region[i];
    }
    regions->count = kept;
}

struct rps_run_regions rps_run_regions_find(struct rps_arena *arena, const struct rps_notes *marks,
                                            int64_t from_ns, int64_t to_ns)
{
    struct rps_run_regions regions = {.count = 0};
    struct finding finding = {
        .arena = arena, .regions = &regions, .from_ns = from_ns, .to_ns = to_ns};

    for (size_t i = 0; i < marks->count; i++)
        take(&finding, &marks->note[i]);
    for (size_t i = 0; i < regions.count; i++)
        conclude(&finding, i);
    drop_empty(&regions);
    return regions;
}

/* --- use of regions --------------------------------------------------------------------------- */

static int no_such_region(const struct rps_run_regions *regions, int64_t run_id, const char *name,
                          struct rps_error *err)
{
    char names[NAMES_SIZE] = "";

    if (regions->count == 0)
        return rps_error_set(err, RPS_FAILED,
                             "--region: run %" PRId64
                             " has no regions in this range; see `man librpistat-region`",
                             run_id);
    for (size_t i = 0; i < regions->count; i++)
        rps_text_list(names, sizeof(names), regions->region[i].name);
    return rps_error_set(err, RPS_FAILED,
                         "--region: run %" PRId64
                         " has no region '%s' in this time range; choose from %s",
                         run_id, name, names);
}

int rps_run_regions_choose(struct rps_run_regions *regions, int64_t run_id, const char *name,
                           struct rps_error *err)
{
    for (size_t i = 0; i < regions->count; i++) {
        if (strcmp(regions->region[i].name, name) != 0)
            continue;
        regions->region += i;
        regions->count = 1;
        return 0;
    }
    return no_such_region(regions, run_id, name, err);
}

static int64_t length_ns(const struct rps_spans *spans)
{
    int64_t sum_ns = 0;

    for (size_t i = 0; i < spans->count; i++)
        sum_ns += spans->span[i].end_ns - spans->span[i].start_ns;
    return sum_ns;
}

void rps_run_regions_keep_longest(struct rps_run_regions *regions, size_t most)
{
    while (regions->count > most) {
        size_t shortest = 0;

        for (size_t i = 1; i < regions->count; i++) {
            if (length_ns(&regions->region[i].spans) <= length_ns(&regions->region[shortest].spans))
                shortest = i;
        }
        regions->count--;
        memmove(&regions->region[shortest], &regions->region[shortest + 1],
                (regions->count - shortest) * sizeof(*regions->region));
    }
}

static int no_period(const struct rps_cpu_series *series, const struct rps_run_region *region,
                     struct rps_error *err)
{
    char time[RPS_TEXT_NUMBER_SIZE], period[RPS_TEXT_NUMBER_SIZE];
    struct rps_run run;

    if (rps_reader_run(series->arena, series->reader, series->run_id, &run, err) < 0)
        return RPS_FAILED;
    return rps_error_set(
        err, RPS_FAILED,
        "--region: no measurement period (%s) is entirely inside '%s', which took %s in %" PRIu64
        " entries, %" PRIu64 " of them marked; record with a shorter --period",
        rps_text_duration(period, sizeof(period), run.period_ns), region->name,
        rps_text_duration(time, sizeof(time), region->time_ns), region->entered, region->marked);
}

int rps_run_region_keep(struct rps_cpu_series *series, const struct rps_run_region *region,
                        struct rps_error *err)
{
    const struct rps_spans *spans = &region->spans;
    struct rps_walk walk = {.series = series};
    int result = 0;

    series->within = spans;
    series->resolution = 0;
    if (spans->count > 0 && spans->span[0].start_ns > series->from_ns)
        series->from_ns = spans->span[0].start_ns;
    if (spans->count > 0 && spans->span[spans->count - 1].end_ns < series->to_ns)
        series->to_ns = spans->span[spans->count - 1].end_ns;
    if (spans->count > 0 && series->from_ns < series->to_ns && rps_walk_next(&walk, &result, err)) {
        result = 1; /* There is a period. */
        rps_walk_next(&walk, &result, err);
        return 0;
    }
    return result < 0 ? result : no_period(series, region, err);
}
