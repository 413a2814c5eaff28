/* Puts the call tree into a page, and how often each call was innermost in each bin. From these
 * data, the page itself computes the counts of any time range, and compares two time ranges.
 *
 * If a build is recorded for an hour, there are hundreds of thousands of counts. Rare calls become
 * the "others" of their caller, and bins become wider, until the data is at most 1.5 MB. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "page.h"
#include "rpistat/code_store.h"
#include "rpistat/off_cpu.h"
#include "rpistat/page_parts.h"
#include "hooks.h"

#define CODE_CALLS 15000    /* Maximum number of places (0.2 MB), not counting "others". */
#define CODE_NAMES 600000   /* Maximum bytes of all function and file names. */
#define CODE_NAME  400      /* Maximum bytes of a function or file name. */
#define CODE_CELLS 220000   /* Maximum number of cells, which take 0.7 MB. */
#define CODE_BINS  300      /* Up to this number, bins are kept and rare calls are dropped. */
#define OTHERS     SIZE_MAX /* Value of `call` for an "others" place. */

/* --- places ----------------------------------------------------------------------------------- */

/* Give each call with at least `least` samples a place of its own. All other callees of a call
 * share one place. Return the total bytes of the names. */
static size_t choose_places(struct rps_page_code *code, uint64_t least)
{
    const struct rps_calls *calls = &code->calls;
    size_t names = 0;

    code->place_count = 0;
    for (size_t i = 0; i < calls->count; i++) {
        const struct rps_call *call = &calls->call[i];
        size_t caller = i > 0 ? code->place[call->parent] : 0, *others = &code->others[caller];
        int is_own = i == 0 || call->total >= least;

        if (!is_own && code->call[caller] == OTHERS) {
            code->place[i] = caller;
            continue;
        }
        if (is_own || !*others) {
            code->call[code->place_count] = is_own ? i : OTHERS;
            code->caller[code->place_count] = caller;
            code->others[code->place_count] = 0;
            code->place[i] = code->place_count++;
            names += is_own ? strlen(call->function) + strlen(call->file) + 8 : 0;
        }
        if (!is_own) {
            *others = *others ? *others : code->place_count - 1;
            code->place[i] = *others;
        }
    }
    return names;
}

static int compare_totals(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x < y) - (x > y);
}

/* Return the minimum number of samples of a call that gets its own place. */
static uint64_t choose_least(const struct rps_page_code *code)
{
    const struct rps_calls *calls = &code->calls;
    uint64_t *total = rps_arena_get(code->arena, calls->count, sizeof(*total));

    for (size_t i = 0; i < calls->count; i++)
        total[i] = calls->call[i].total;
    qsort(total, calls->count, sizeof(*total), compare_totals);
    return calls->count > CODE_CALLS ? total[CODE_CALLS] + 1 : 1;
}

/* Reduce the data until it fits into the page. When the function begins, cells belong to calls;
 * when it ends, cells belong to places. */
static void make_small(struct rps_page_code *code)
{
    struct rps_code_cell *cell = rps_arena_get(code->arena, code->bins.cell_count, sizeof(*cell));
    uint64_t least = choose_least(code);
    struct rps_code_bins bins;

    for (;;) {
        while (choose_places(code, least) > CODE_NAMES)
            least *= 2;
        bins = code->bins;
        if (bins.cell_count > 0)
            bins.cell = memcpy(cell, bins.cell, bins.cell_count * sizeof(*cell));
        rps_code_bins_rename(&bins, code->place);
        if (bins.cell_count <= CODE_CELLS)
            break;
        if (code->bins.bin_count <= CODE_BINS || !rps_code_bins_widen(&code->bins))
            least *= 2;
    }
    code->bins = bins;
    while (code->waits.bin_count > bins.bin_count && rps_code_bins_widen(&code->waits))
        continue;
    rps_code_bins_rename(&code->waits, code->place);
}

/* Move off-CPU time to the caller of the scheduler. Give each stack a weight in samples, as if the
 * off-CPU time had been sampled CPU time. */
static void add_waits(struct rps_page_code *code, uint64_t *samples)
{
    struct rps_code_bins *waits = &code->waits;
    uint64_t frequency = code->code->sampling.frequency;
    uint64_t *us = rps_arena_get(code->arena, code->code->stack_count, sizeof(*us));

    if (waits->bin_count == 0)
        return;
    rps_code_bins_rename(waits, rps_off_cpu_callers(code->arena, code->code, RPS_OFF_CPU_REASON));
    for (size_t i = 0; i < waits->cell_count; i++)
        us[waits->cell[i].id] += waits->cell[i].samples;
    for (size_t s = 0; s < code->code->stack_count; s++)
        samples[s] += us[s] > 0 ? us[s] * frequency / 1000000 + 1 : 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

void rps_page_make_code(struct rps_page_code *code)
{
    const struct rps_code_bins *bins = &code->bins;
    struct rps_arena *arena = code->arena;
    uint64_t *samples = rps_arena_get(arena, code->code->stack_count, sizeof(*samples));
    size_t places;

    for (size_t i = 0; i < bins->cell_count; i++)
        samples[bins->cell[i].id] += bins->cell[i].samples;
    add_waits(code, samples);
    code->calls = rps_shares_calls(arena, code->code, samples);
    rps_shares_functions(arena, code->code, 0, RPS_UNNAMED_MODULE, &code->name, &code->name_count);
    rps_shares_place(code->code, RPS_UNNAMED_MODULE, samples, code->name);
    rps_code_bins_rename(&code->bins, code->calls.node);
    rps_code_bins_rename(&code->waits, code->calls.node);
    places = 2 * code->calls.count;
    code->place = rps_arena_get(arena, code->calls.count, sizeof(*code->place));
    code->call = rps_arena_get(arena, places, sizeof(*code->call));
    code->caller = rps_arena_get(arena, places, sizeof(*code->caller));
    code->others = rps_arena_get(arena, places, sizeof(*code->others));
    make_small(code);
}

/* --- names ------------------------------------------------------------------------------------ */

/* The functions of the places in the page, numbered by module and name. */
struct functions {
    const struct rps_call **call; /* One call per function, in order of module and name. */
    int64_t *of;                  /* Function of each place; -1: the root, -2: "others". */
    size_t count;
};

static int compare_modules(const struct rps_call *x, const struct rps_call *y)
{
    return strcmp(x->module, y->module);
}

static int compare_functions(const void *a, const void *b)
{
    const struct rps_call *x = *(const struct rps_call *const *)a;
    const struct rps_call *y = *(const struct rps_call *const *)b;
    int result = compare_modules(x, y);

    return result ? result : strcmp(x->function, y->function);
}

static struct functions find_functions(const struct rps_page_code *code)
{
    size_t places = code->place_count, count = 0;
    /* number: for each item, the number of its function. */
    int64_t *number = rps_arena_get(code->arena, code->name_count, sizeof(*number));
    struct functions ret = {
        .call = rps_arena_get(code->arena, places, sizeof(*ret.call)),
        .of = rps_arena_get(code->arena, places, sizeof(*ret.of)),
    };

    for (size_t i = 1; i < places; i++) {
        if (code->call[i] != OTHERS)
            ret.call[count++] = &code->calls.call[code->call[i]];
    }
    qsort(ret.call, count, sizeof(*ret.call), compare_functions);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || compare_functions(&ret.call[i], &ret.call[ret.count - 1]) != 0)
            ret.call[ret.count++] = ret.call[i];
        number[ret.call[i]->item] = (int64_t)ret.count - 1;
    }
    for (size_t i = 0; i < places; i++)
        ret.of[i] = i == 0                    ? -1
                    : code->call[i] == OTHERS ? -2
                                              : number[code->calls.call[code->call[i]].item];
    return ret;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void put_cut(struct rps_json *json, const char *text)
{
    char cut[CODE_NAME];

    snprintf(cut, sizeof(cut), "%s", text);
    rps_json_text(json, NULL, cut);
}

static void put_functions(struct rps_json *json, const struct rps_page_code *code,
                          const struct functions *functions)
{
    int64_t module = -1;

    rps_json_array(json, "modules");
    for (size_t i = 0; i < functions->count; i++) {
        if (i == 0 || compare_modules(functions->call[i], functions->call[i - 1]) != 0)
            put_cut(json, functions->call[i]->module);
    }
    rps_json_end(json);
    rps_json_object(json, "functions");
    rps_json_array(json, "name");
    for (size_t i = 0; i < functions->count; i++)
        put_cut(json, functions->call[i]->function);
    rps_json_end(json);
    rps_json_array(json, "file");
    for (size_t i = 0; i < functions->count; i++)
        put_cut(json, code->name[functions->call[i]->item].file);
    rps_json_end(json);
    rps_json_array(json, "line");
    for (size_t i = 0; i < functions->count; i++)
        rps_json_int64(json, NULL, code->name[functions->call[i]->item].line);
    rps_json_end(json);
    rps_json_array(json, "module");
    for (size_t i = 0; i < functions->count; i++) {
        module += i == 0 || compare_modules(functions->call[i], functions->call[i - 1]) != 0;
        rps_json_int64(json, NULL, module);
    }
    rps_json_end(json);
    rps_json_end(json);
}

/* Put the tree: for each place, put its distance from its caller's place, and its function. */
static void put_places(struct rps_json *json, const struct rps_page_code *code,
                       const struct functions *functions)
{
    rps_json_array(json, "caller");
    for (size_t i = 0; i < code->place_count; i++)
        rps_json_uint64(json, NULL, i - code->caller[i]);
    rps_json_end(json);
    rps_json_array(json, "function");
    for (size_t i = 0; i < code->place_count; i++)
        rps_json_int64(json, NULL, functions->of[i]);
    rps_json_end(json);
}

/* Put the places of each bin as "3,1x4,2;;1". Bins are separated by semicolons. Each number is the
 * distance from the previous place in the bin; "x4" means four samples. */
static void put_counts(struct rps_json *json, const char *name, const struct rps_code_bins *bins)
{
    char *text = NULL;
    size_t size = 0, cell = 0;
    FILE *out = open_memstream(&text, &size);
    int failed = !out; /* ferror does not report a failed open_memstream. */

    for (size_t bin = 0; bin < bins->bin_count && out; bin++) {
        uint32_t before = 0;
        const char *comma = "";

        for (; cell < bins->cell_count && bins->cell[cell].bin == bin; cell++) {
            const struct rps_code_cell *at = &bins->cell[cell];

            failed |= fprintf(out, "%s%" PRIu32, comma, at->id - before) < 0;
            if (at->samples != 1)
                failed |= fprintf(out, "x%" PRIu64, at->samples) < 0;
            before = at->id;
            comma = ",";
        }
        if (bin + 1 < bins->bin_count)
            failed |= fputc(';', out) == EOF;
    }
    failed |= out && fclose(out) != 0;
    if (failed || !text)
        rps_arena_exhausted();
    rps_json_text(json, name, text);
    free(text);
}

void rps_page_put_calls(struct rps_json *json, const struct rps_page_code *code)
{
    struct functions functions = find_functions(code);

    put_functions(json, code, &functions);
    put_places(json, code, &functions);
    put_counts(json, "counts", &code->bins);
    if (code->waits.bin_count > 0)
        put_counts(json, "waits", &code->waits);
}

/* --- of a run --------------------------------------------------------------------------------- */

static void put_code(struct rps_json *json, const struct rps_picture *picture,
                     struct rps_page_code *code)
{
    rps_page_make_code(code);
    if (rps_code_bins_samples(&code->bins) < RPS_SHARES_SAMPLES_MIN && code->waits.cell_count == 0)
        return;
    rps_json_object(json, "code");
    rps_json_int64(json, "cpus", picture->cpu_series.by_cpu ? picture->cpu_series.count : 1);
    rps_json_text(json, "event", code->code->sampling.event);
    rps_json_uint64(json, "frequency", code->code->sampling.frequency);
    rps_json_uint64(json, "threshold", code->code->sampling.threshold);
    rps_json_uint64(json, "samples", code->code->sampling.samples);
    rps_json_uint64(json, "complete", code->code->sampling.complete);
    rps_json_uint64(json, "lost", code->code->sampling.lost);
    rps_page_put_calls(json, code);
    rps_json_array(json, "edges");
    for (size_t i = 0; i <= code->bins.bin_count; i++)
        rps_page_put_number(json, rps_picture_position(picture, code->bins.edge_ns[i]), 9);
    rps_json_end(json);
    rps_json_end(json);
}

int rps_code_page(struct rps_json *json, const struct rps_picture *picture, struct rps_error *err)
{
    const struct rps_cpu_series *series = &picture->cpu_series;
    struct rps_arena *arena = rps_arena_new();
    struct rps_code of = {0};
    struct rps_page_code code = {.arena = arena, .code = &of};
    int result = rps_reader_code(arena, series->reader, series->run_id, &of, err);

    if (result > 0) /* The run has samples. */
        result = rps_code_bins_read(arena, picture, picture->bin_count, RPS_COUNT_STACKS,
                                    of.stack_count, &code.bins, err);
    if (result == 0 && of.sampling.has_waits)
        result = rps_code_bins_read(arena, picture, picture->bin_count, RPS_COUNT_BLOCKED,
                                    of.stack_count, &code.waits, err);
    if (result == 0 && code.bins.bin_count > 0)
        put_code(json, picture, &code);
    rps_arena_free(arena);
    return result;
}
