/*
 * What the page has of the code: the tree of calls, and how often each call was the innermost in
 * each bin, so that the page itself adds up any stretch, and compares two.
 *
 * An hour of a build has hundreds of thousands of counts. Rare calls become "others" of their
 * caller, and bins wider, until all of it is a megabyte and a half at most.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "page.h"
#include "rpistat/code_store.h"
#include "rpistat/page_parts.h"
#include "wing.h"

#define CODE_CALLS 15000    /* places but for others: 0.2 MB */
#define CODE_NAMES 600000   /* bytes of the names of functions and files */
#define CODE_NAME  400      /* ... of one */
#define CODE_CELLS 220000   /* 0.7 MB */
#define CODE_BINS  300      /* fewer tell nothing: rare calls go before */
#define OTHERS     SIZE_MAX /* call of a place */

void rps_page_code_free(struct rps_page_code *code)
{
    rps_code_bins_free(&code->bins);
    free(code->place);
    free(code->call);
    free(code->caller);
    free(code->others);
    rps_calls_free(&code->calls);
    rps_shares_free(&code->shares);
    rps_code_free(&code->code);
    memset(code, 0, sizeof(*code));
}

/* --- places ----------------------------------------------------------------------------------- */

/* Give calls of so many samples a place of their own, and the callees of each that have fewer one
 * together. Returns the bytes of the names. */
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

/* The fewest samples of a call with a place of its own. */
static int choose_least(const struct rps_calls *calls, uint64_t *ret, struct rps_error *err)
{
    uint64_t *total = calloc(calls->count + 1, sizeof(*total));

    if (!total)
        return rps_error_memory(err);
    for (size_t i = 0; i < calls->count; i++)
        total[i] = calls->call[i].total;
    qsort(total, calls->count, sizeof(*total), compare_totals);
    *ret = calls->count > CODE_CALLS ? total[CODE_CALLS] + 1 : 1;
    free(total);
    return 0;
}

/* Bins whose cells are of places, in *ret. */
static int try_places(const struct rps_page_code *code, struct rps_code_bins *ret,
                      struct rps_error *err)
{
    const struct rps_code_bins *bins = &code->bins;

    *ret = *bins;
    ret->cell = malloc((bins->cell_count + 1) * sizeof(*ret->cell));
    if (!ret->cell)
        return rps_error_memory(err);
    if (bins->cell_count > 0)
        memcpy(ret->cell, bins->cell, bins->cell_count * sizeof(*ret->cell));
    rps_code_bins_rename(ret, code->place);
    return 0;
}

/* Until everything is small enough: cells are of calls before, of places then. */
static int make_small(struct rps_page_code *code, struct rps_error *err)
{
    struct rps_code_bins bins;
    uint64_t least;
    int result = choose_least(&code->calls, &least, err);

    while (result == 0) {
        while (choose_places(code, least) > CODE_NAMES)
            least *= 2;
        result = try_places(code, &bins, err);
        if (result == 0 && bins.cell_count <= CODE_CELLS) {
            free(code->bins.cell);
            code->bins = bins;
            break;
        }
        if (result == 0)
            free(bins.cell);
        if (code->bins.bin_count <= CODE_BINS || !rps_code_bins_widen(&code->bins))
            least *= 2;
    }
    return result;
}

/* --- reading ---------------------------------------------------------------------------------- */

static int compare_shares(const void *a, const void *b)
{
    const struct rps_share *x = a, *y = b;
    int result = strcmp(x->module, y->module);

    return result ? result : strcmp(x->name, y->name);
}

static int find_calls(struct rps_page_code *code, struct rps_error *err)
{
    const struct rps_code_bins *bins = &code->bins;
    uint64_t *samples = calloc(code->code.stack_count + 1, sizeof(*samples));
    int result;

    if (!samples)
        return rps_error_memory(err);
    for (size_t i = 0; i < bins->cell_count; i++)
        samples[bins->cell[i].id] += bins->cell[i].samples;
    result = rps_shares_calls(&code->code, samples, &code->calls, err);
    if (result == 0)
        result = rps_shares_find(&code->code, samples, RPS_SHARES_FUNCTION, &code->shares, err);
    if (result == 0)
        qsort(code->shares.share, code->shares.count, sizeof(*code->shares.share), compare_shares);
    free(samples);
    return result;
}

int rps_page_make_code(struct rps_page_code *code, struct rps_error *err)
{
    int result = find_calls(code, err);

    if (result < 0)
        return result;
    rps_code_bins_rename(&code->bins, code->calls.node);
    code->place = calloc(code->calls.count + 1, sizeof(*code->place));
    code->call = calloc(2 * code->calls.count + 1, sizeof(*code->call));
    code->caller = calloc(2 * code->calls.count + 1, sizeof(*code->caller));
    code->others = calloc(2 * code->calls.count + 1, sizeof(*code->others));
    if (!code->place || !code->call || !code->caller || !code->others)
        return rps_error_memory(err);
    return make_small(code, err);
}

/* --- names ------------------------------------------------------------------------------------ */

/* The functions of the places: numbers in order of module and name. */
struct functions {
    const struct rps_call **call;   /* owned; in that order, one a function */
    const struct rps_share **where; /* owned; of each its lines; NULL: not known */
    int64_t *of;                    /* owned; of each place; -1: the root, -2: others */
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

static int find_functions(const struct rps_page_code *code, struct functions *functions)
{
    size_t count = 0;

    functions->call = calloc(code->place_count + 1, sizeof(*functions->call));
    functions->where = calloc(code->place_count + 1, sizeof(*functions->where));
    functions->of = calloc(code->place_count + 1, sizeof(*functions->of));
    if (!functions->call || !functions->where || !functions->of)
        return RPS_FAILED;
    for (size_t i = 1; i < code->place_count; i++) {
        if (code->call[i] != OTHERS)
            functions->call[count++] = &code->calls.call[code->call[i]];
    }
    qsort(functions->call, count, sizeof(*functions->call), compare_functions);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || compare_functions(&functions->call[i], &functions->call[i - 1]) != 0)
            functions->call[functions->count++] = functions->call[i];
    }
    for (size_t i = 0; i < code->place_count; i++) {
        const struct rps_call *call, **found;

        functions->of[i] = i == 0 ? -1 : -2;
        if (i == 0 || code->call[i] == OTHERS)
            continue;
        call = &code->calls.call[code->call[i]];
        found = bsearch(&call, functions->call, functions->count, sizeof(*functions->call),
                        compare_functions);
        functions->of[i] = found - functions->call;
    }
    for (size_t i = 0; i < functions->count; i++) {
        const struct rps_share key = {.module = functions->call[i]->module,
                                      .name = functions->call[i]->function};

        functions->where[i] = bsearch(&key, code->shares.share, code->shares.count,
                                      sizeof(*code->shares.share), compare_shares);
    }
    return 0;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void put_cut(struct rps_json *json, const char *text)
{
    char cut[CODE_NAME];

    snprintf(cut, sizeof(cut), "%s", text);
    rps_json_text(json, NULL, cut);
}

static void put_functions(struct rps_json *json, const struct functions *functions)
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
        put_cut(json, functions->where[i] ? functions->where[i]->file : "");
    rps_json_end(json);
    rps_json_array(json, "line");
    for (size_t i = 0; i < functions->count; i++)
        rps_json_int64(json, NULL, functions->where[i] ? functions->where[i]->line : 0);
    rps_json_end(json);
    rps_json_array(json, "module");
    for (size_t i = 0; i < functions->count; i++) {
        module += i == 0 || compare_modules(functions->call[i], functions->call[i - 1]) != 0;
        rps_json_int64(json, NULL, module);
    }
    rps_json_end(json);
    rps_json_end(json);
}

/* The tree: how far before each place its caller is, and the function. */
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

/* "3,1x4,2;;1": each bin's places, as the distance from the one before, and samples where they are
 * more than one. */
static int put_counts(struct rps_json *json, const struct rps_code_bins *bins)
{
    char *text = NULL;
    size_t size = 0, cell = 0;
    FILE *out = open_memstream(&text, &size);
    int failed = !out; /* ferror is not set where memory was short */

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
    failed |= !text;
    if (!failed)
        rps_json_text(json, "counts", text);
    free(text);
    return failed ? RPS_FAILED : 0;
}

static void put_sampling(struct rps_json *json, const struct rps_picture *picture,
                         const struct rps_sampling *sampling)
{
    rps_json_int64(json, "cpus", picture->cpu_series.by_cpu ? picture->cpu_series.count : 1);
    rps_json_text(json, "event", sampling->event);
    rps_json_uint64(json, "frequency", sampling->frequency);
    rps_json_uint64(json, "threshold", sampling->threshold);
    rps_json_uint64(json, "samples", sampling->samples);
    rps_json_uint64(json, "complete", sampling->complete);
    rps_json_uint64(json, "lost", sampling->lost);
}

int rps_page_put_calls(struct rps_json *json, const struct rps_page_code *code,
                       struct rps_error *err)
{
    struct functions functions = {0};
    int result = find_functions(code, &functions);

    if (result == 0) {
        put_functions(json, &functions);
        put_places(json, code, &functions);
        result = put_counts(json, &code->bins);
    }
    free(functions.call);
    free(functions.where);
    free(functions.of);
    return result < 0 ? rps_error_memory(err) : 0;
}

/* --- of a run --------------------------------------------------------------------------------- */

static int read_code(const struct rps_picture *picture, struct rps_page_code *ret,
                     struct rps_error *err)
{
    const struct rps_cpu_series *series = &picture->cpu_series;
    int result = rps_reader_code(series->reader, series->run_id, &ret->code, err);

    if (result <= 0 || ret->code.stack_count == 0) /* nothing was sampled */
        return result < 0 ? result : 0;
    result =
        rps_code_bins_read(picture, picture->bin_count, 0, ret->code.stack_count, &ret->bins, err);
    return result == 0 && ret->bins.bin_count > 0 ? rps_page_make_code(ret, err) : result;
}

int rps_code_page(struct rps_json *json, const struct rps_picture *picture, struct rps_error *err)
{
    struct rps_page_code code = {0};
    int result = read_code(picture, &code, err);

    if (result == 0 && rps_code_bins_samples(&code.bins) >= RPS_SHARES_SAMPLES_MIN) {
        rps_json_object(json, "code");
        put_sampling(json, picture, &code.code.sampling);
        result = rps_page_put_calls(json, &code, err);
        rps_json_array(json, "edges");
        for (size_t i = 0; i <= code.bins.bin_count; i++)
            rps_page_put_number(json, rps_picture_position(picture, code.bins.edge_ns[i]), 9);
        rps_json_end(json);
        rps_json_end(json);
    }
    rps_page_code_free(&code);
    return result;
}
