/* Provides samples of the code as metrics for phases. Each observation has the number of samples of
 * each group of calls (call_groups.h). If there are several programs, each observation also has the
 * number of samples of each program. If metrics were chosen by name, innermost functions are
 * counted instead of calls.
 *
 * The counts are used twice. The first pass finds the symbols with most samples; the second pass
 * puts these symbols into the observations. */
#include "hooks.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "call_groups.h"
#include "intern.h"
#include "sample_source.h"
#include "rpistat/arena.h"
#include "rpistat/clock.h"
#include "rpistat/run_code.h"
#include "rpistat/shares.h"
#include "rpistat/store.h"
#include "rpistat/text.h"

#define ALL    "samples"
#define ALL_IN ALL " in "

/* RPS_COUNT_SAMPLE_DIVISOR applies to runs with at least this number of samples per second. */
#define SAMPLES_DENSE 99

/* The tables: functions or calls, counted by stacks, and programs, counted by tasks. There are two
 * tables because the store counts stacks and tasks separately. */
enum { FUNCTIONS, PROGRAMS, TABLES };

/* Functions, or programs, of a run. */
struct symbols {
    size_t count;
    const struct rps_share_name *name; /* Name of each symbol. */
    uint64_t *seen;                    /* Samples of each symbol. */
    int64_t *of;                       /* Symbol of each stack or task; -1: not in the workload. */
    size_t of_count;
    const uint64_t *of_seen; /* Samples of each stack or task. */
};

/* The columns of the stacks, or of the tasks, of one run. */
struct sampled {
    int64_t *column; /* Column in the table for each stack or task; -1: none. */
    size_t count;
};

struct state {
    struct rps_sample_source *source; /* Samples of each run. */
    struct sampled *sampled[TABLES];  /* One array per table, with one element per run. */
    struct rps_cpus cpus;             /* Borrowed list of CPUs. */
    size_t width[TABLES]; /* Number of columns; the last is for all other symbols. 0: no table. */
};

static int is_name(const char *name)
{
    return strcmp(name, ALL) == 0 || strncmp(name, ALL_IN, strlen(ALL_IN)) == 0;
}

/* --- functions -------------------------------------------------------------------------------- */

/* Find the workload's innermost function in each stack. Kernel functions called by this function
 * work on its behalf. Kernel threads and idle CPUs have no workload function. If symbols are found
 * or lost later, a run's phases do not change, because a function is identified by its beginning.
 * Functions of several runs, perhaps of several builds, are matched by name. Threads of a process
 * whose first thread has no samples are kept apart: those of a JVM have different work. */
static struct symbols find_symbols(struct rps_arena *arena, const struct rps_code *code, int table,
                                   enum rps_unnamed unnamed)
{
    struct symbols symbols = {.of_count = table == PROGRAMS ? code->task_count : code->stack_count};
    struct rps_share_name *name;

    symbols.of =
        table == PROGRAMS
            ? rps_shares_owners(arena, code, RPS_SHARES_THREAD, &name, &symbols.count, NULL)
            : rps_shares_functions(arena, code, 1, unnamed, &name, &symbols.count);
    symbols.name = name;
    return symbols;
}

/* Count the samples of each symbol in the periods of a run. */
static int count_symbols(struct rps_arena *arena, struct rps_sample_source *source, int table,
                         struct symbols *symbols, struct rps_error *err)
{
    struct rps_run_stretch stretch = {source->first, source->last, 0};
    struct rps_run_part part = {.count = 1, .stretch = &stretch, .group_count = 1};
    struct rps_code_counts counts = {.key = symbols->of, .key_count = symbols->count};
    int result = rps_sample_source_count(arena, &counts, source, &part, table == PROGRAMS, err);

    symbols->seen = counts.seen;
    symbols->of_seen = counts.id;
    return result;
}

/* --- columns ---------------------------------------------------------------------------------- */

/* A symbol that may get a column. Symbols of several runs with equal names and modules are one
 * symbol. */
struct ranked {
    struct rps_share_name name;
    double share; /* Share of the samples; with several runs, the largest share in a run. */
};

struct ranking {
    struct rps_arena *arena;
    const char *const *asked; /* Requested metric names; NULL: the symbols with most samples. */
    size_t asked_count;
    struct ranked *ranked;
    size_t count;
};

static int compare_shares(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->share < y->share || x->share > y->share)
        return x->share > y->share ? -1 : 1;
    return strcmp(x->name.name, y->name.name);
}

/* Return the column of a function, or the number of columns if the function has none. */
static size_t column_of(const struct ranking *ranking, const struct rps_share_name *name)
{
    size_t at = 0;

    if (ranking->asked) {
        while (at < ranking->asked_count &&
               strcmp(ranking->asked[at] + strlen(ALL_IN), name->name) != 0)
            at++;
        return at;
    }
    while (at < ranking->count && !(strcmp(ranking->ranked[at].name.name, name->name) == 0 &&
                                    strcmp(rps_text_file_name(ranking->ranked[at].name.module),
                                           rps_text_file_name(name->module)) == 0))
        at++;
    return at;
}

static void cut(struct ranking *ranking)
{
    if (ranking->count > 0)
        qsort(ranking->ranked, ranking->count, sizeof(*ranking->ranked), compare_shares);
    if (ranking->count > RPS_COUNT_SYMBOLS_MAX)
        ranking->count = RPS_COUNT_SYMBOLS_MAX;
}

static void rank_run(struct ranking *ranking, const struct symbols *symbols)
{
    struct ranking own = {.arena = ranking->arena};
    double all = 0;

    own.ranked = rps_arena_get(own.arena, symbols->count, sizeof(*own.ranked));
    for (size_t f = 0; f < symbols->count; f++)
        all += (double)symbols->seen[f];
    for (size_t f = 0; f < symbols->count; f++) {
        if (symbols->seen[f] > 0)
            own.ranked[own.count++] =
                (struct ranked){symbols->name[f], (double)symbols->seen[f] / all};
    }
    cut(&own);
    for (size_t i = 0; i < own.count; i++) {
        size_t at = column_of(ranking, &own.ranked[i].name);

        if (at == ranking->count) {
            ranking->ranked = rps_arena_grow(ranking->arena, ranking->ranked, ranking->count,
                                             sizeof(*ranking->ranked));
            ranking->ranked[ranking->count++] = own.ranked[i];
        } else if (own.ranked[i].share > ranking->ranked[at].share) {
            ranking->ranked[at].share = own.ranked[i].share;
        }
    }
}

static struct sampled give_columns(struct rps_arena *arena, const struct ranking *ranking,
                                   const struct symbols *symbols)
{
    struct sampled sampled = {rps_arena_get(arena, symbols->of_count, sizeof(*sampled.column)),
                              symbols->of_count};
    size_t *column = rps_arena_get(ranking->arena, symbols->count, sizeof(*column));

    for (size_t f = 0; f < symbols->count; f++)
        column[f] = column_of(ranking, &symbols->name[f]);
    for (size_t i = 0; i < symbols->of_count; i++)
        sampled.column[i] = symbols->of[i] < 0 ? -1 : (int64_t)column[symbols->of[i]];
    return sampled;
}

/* --- choosing --------------------------------------------------------------------------------- */

struct run_code {
    struct rps_code code;
    struct symbols symbols[TABLES];
};

static int read_run(struct rps_arena *arena, struct rps_sample_source *source,
                    enum rps_unnamed unnamed, struct run_code *ret, struct rps_error *err)
{
    int result = rps_reader_code(arena, source->reader, source->run_id, &ret->code, err);

    if (result <= 0 || ret->code.stack_count == 0)
        return result < 0 ? result : 0;
    for (int t = 0; t < TABLES; t++)
        ret->symbols[t] = find_symbols(arena, &ret->code, t, unnamed);
    return count_symbols(arena, source, FUNCTIONS, &ret->symbols[FUNCTIONS], err);
}

/* Check that each requested name is a function with samples. */
static int check_names(const struct ranking *ranking, const struct run_code *run,
                       struct rps_error *err)
{
    const struct symbols *symbols = &run->symbols[FUNCTIONS];

    for (size_t i = 0; i < ranking->asked_count; i++) {
        size_t f = 0;

        while (f < symbols->count &&
               (symbols->seen[f] == 0 ||
                strcmp(ranking->asked[i] + strlen(ALL_IN), symbols->name[f].name) != 0))
            f++;
        if (f == symbols->count)
            return rps_error_set(err, RPS_USAGE,
                                 "the function of '%s' is unknown; choose one from `rpistat code`",
                                 ranking->asked[i]);
    }
    return 0;
}

static void make_columns(struct rps_arena *arena, struct ranking ranking,
                         const struct run_code *code, size_t count, int table, struct state *state)
{
    for (size_t r = 0; r < count && !ranking.asked; r++)
        rank_run(&ranking, &code[r].symbols[table]);
    cut(&ranking);
    state->width[table] = (ranking.asked ? ranking.asked_count : ranking.count) + 1;
    state->sampled[table] = rps_arena_get(arena, count, sizeof(*state->sampled[table]));
    for (size_t r = 0; r < count; r++)
        state->sampled[table][r] = give_columns(arena, &ranking, &code[r].symbols[table]);
}

/* Return the functions of a run's stacks. A function has the same number in all runs. */
static int64_t *match_functions(struct rps_arena *arena, struct rps_intern *names,
                                const struct symbols *functions)
{
    int64_t *number = rps_arena_get(arena, functions->count, sizeof(*number));
    int64_t *ret = rps_arena_get(arena, functions->of_count, sizeof(*ret));
    int is_new;

    for (size_t f = 0; f < functions->count; f++) {
        const struct rps_share_name *name = &functions->name[f];

        number[f] = rps_intern_add(names, rps_intern_hash(0, name->name),
                                   rps_intern_hash(0, rps_text_file_name(name->module)), &is_new);
        if (number[f] < 0)
            rps_arena_exhausted();
    }
    for (size_t s = 0; s < functions->of_count; s++)
        ret[s] = functions->of[s] < 0 ? -1 : number[functions->of[s]];
    return ret;
}

/* Set each run's columns of the table of calls. The functions of a single run need no names. */
static void make_call_columns(struct rps_arena *arena, struct rps_arena *scratch,
                              const struct run_code *code, size_t count, struct state *state)
{
    struct rps_call_run *run = rps_arena_get(scratch, count, sizeof(*run));
    struct rps_intern names = RPS_INTERN_OF(struct rps_intern_key);
    struct sampled *sampled = rps_arena_get(arena, count, sizeof(*sampled));

    for (size_t r = 0; r < count; r++) {
        const struct symbols *functions = &code[r].symbols[FUNCTIONS];

        sampled[r] =
            (struct sampled){rps_arena_get(arena, functions->of_count, sizeof(*sampled[r].column)),
                             functions->of_count};
        run[r] = (struct rps_call_run){
            .code = &code[r].code,
            .function = count > 1 ? match_functions(scratch, &names, functions) : functions->of,
            .name = count > 1 ? NULL : functions->name,
            .samples = functions->of_seen,
            .group = sampled[r].column};
    }
    state->width[FUNCTIONS] = rps_call_groups_find(run, count);
    state->sampled[FUNCTIONS] = sampled;
    rps_intern_free(&names);
}

/* Make the table of calls or functions. Also make the table of programs, if there are several
 * programs and no function was chosen. */
static int make_tables(struct rps_arena *arena, struct rps_arena *scratch, struct run_code *code,
                       size_t count, const char *const *asked, size_t asked_count,
                       struct state *state, struct rps_error *err)
{
    struct ranking ranking = {.arena = scratch, .asked = asked, .asked_count = asked_count};
    int result = 0, are_several = 0;

    if (check_names(&ranking, &code[0], err) < 0)
        return RPS_USAGE;
    if (asked)
        make_columns(arena, ranking, code, count, FUNCTIONS, state);
    else
        make_call_columns(arena, scratch, code, count, state);
    for (size_t r = 0; r < count; r++)
        are_several |= code[r].symbols[PROGRAMS].count > 1;
    if (asked || !are_several)
        return 0;
    for (size_t r = 0; r < count && result == 0; r++)
        result =
            count_symbols(scratch, &state->source[r], PROGRAMS, &code[r].symbols[PROGRAMS], err);
    if (result == 0)
        make_columns(arena, ranking, code, count, PROGRAMS, state);
    return result;
}

static int asks_for_all(const char *const *name, size_t name_count)
{
    size_t i = 0;

    while (i < name_count && strcmp(name[i], ALL) != 0)
        i++;
    return i < name_count;
}

void rps_code_left_free(void *left)
{
    if (left)
        rps_arena_free(((struct rps_code_left *)left)->arena);
}

/* Give the code and counts of a single run to the run's reader. If there are several runs, free the
 * code. */
static void leave_code(struct rps_arena *arena, const struct rps_sample_source *source,
                       size_t count, const struct rps_code *code)
{
    struct rps_code_left *left = rps_arena_get(arena, 1, sizeof(*left));

    *left = (struct rps_code_left){arena, source->run_id, *code, *source};
    left->code.source = source->cpus->count == 0 ? &left->source : NULL;
    rps_code_left_free(count == 1 && code->stack_count > 0
                           ? rps_reader_leave(source->reader, left, rps_code_left_free)
                           : left);
}

static int choose_signals(struct rps_arena *arena, const struct rps_signal_run *run, size_t count,
                          const struct rps_cpus *cpus, const char *const *name, size_t name_count,
                          struct rps_chosen_signals *ret, struct rps_error *err)
{
    struct state *state = rps_arena_get(arena, 1, sizeof(*state));
    struct rps_arena *scratch = rps_arena_new();
    struct run_code *code = rps_arena_get(scratch, count, sizeof(*code));
    size_t asked = asks_for_all(name, name_count) ? 0 : name_count;
    enum rps_unnamed unnamed = asked > 0   ? RPS_UNNAMED_ADDRESS
                               : count > 1 ? RPS_UNNAMED_PAGE
                                           : RPS_UNNAMED_PLACE;
    static const char *const all = ALL;
    int result = 0;

    *state = (struct state){.cpus = *cpus};
    state->source = rps_arena_get(arena, count, sizeof(*state->source));
    ret->state = state;
    for (size_t r = 0; r < count && result == 0; r++) {
        state->source[r] = (struct rps_sample_source){
            scratch, .first = run[r].first, .last = run[r].last, .reader = run[r].reader,
            .run_id = run[r].run_id, .cpus = &state->cpus, .code = &code[r].code,
            /* The counts of several runs might be too many for memory. */
            .kept = {{.is_read = count > 1}, {.is_read = count > 1}}};
        result = read_run(scratch, &state->source[r], unnamed, &code[r], err);
        ret->having += code[r].code.stack_count > 0;
    }
    if (result == 0 && ret->having == count) {
        result =
            make_tables(arena, scratch, code, count, asked > 0 ? name : NULL, asked, state, err);
        ret->table_count = (size_t)1 + (state->width[PROGRAMS] > 0);
        ret->name = asked > 0 ? name : &all;
        ret->name_count = asked > 0 ? asked : 1;
    } else if (result == 0 && name_count > 0) {
        result = rps_error_set(err, RPS_USAGE, "run %" PRId64 " has no samples of its code",
                               run->run_id);
    }
    leave_code(scratch, state->source, count, &code[0].code);
    return result;
}

/* --- the table -------------------------------------------------------------------------------- */

/* Return the observations as a part of the run in which each observation is a group. */
static struct rps_run_part part_of(struct rps_arena *arena, const struct rps_collected *collected)
{
    size_t count = collected->signals.count;
    struct rps_run_part part = {.count = count, .group_count = count};

    part.stretch = rps_arena_get(arena, count, sizeof(*part.stretch));
    for (size_t i = 0; i < count; i++)
        part.stretch[i] =
            (struct rps_run_stretch){collected->row[i].first, collected->row[i].last, i};
    return part;
}

struct reading {
    const struct sampled *sampled;
    struct rps_count *count; /* Owned; release with free(). */
    size_t count_count;
    size_t *last; /* For each column, the newest element of `count`. */
};

/* Add a count. The counts of different stacks with one function are added up immediately within an
 * observation, because there may be many such stacks. */
static int add_count(void *context, size_t group, int64_t id, struct rps_code_weight of,
                     struct rps_error *err)
{
    struct reading *reading = context;
    struct rps_count *last;
    uint32_t column;

    if ((uint64_t)id >= reading->sampled->count || reading->sampled->column[id] < 0 || !of.samples)
        return 0;
    column = (uint32_t)reading->sampled->column[id];
    last = reading->count_count > 0 ? &reading->count[reading->last[column]] : NULL;
    if (last && last->observation == group && last->symbol == column) {
        last->count += (float)of.samples;
        return 0;
    }
    if (!rps_array_add(&reading->count, reading->count_count, sizeof(*reading->count)))
        return rps_error_memory(err);
    reading->last[column] = reading->count_count;
    reading->count[reading->count_count++] = (struct rps_count){group, column, (float)of.samples};
    return 0;
}

/* Return how many samples are worth one independent count. The further apart samples are, the less
 * they depend on each other. In 86 recordings with an equal divisor for all runs, the mean F1 is
 * .741 and the mean ARI is .701. With the divisor of this function, they are .747 and .706.
 * Single-phase programs get the same number of boundaries or fewer. */
static double divisor_of(const struct reading *reading, const struct rps_collected *collected)
{
    size_t count = collected->signals.count;
    double samples = 0, length_s = 0;

    if (count > 0)
        length_s =
            (double)(collected->row[count - 1].end_ns - collected->row[0].start_ns) / RPS_NS_PER_S;
    for (size_t c = 0; c < reading->count_count; c++)
        samples += (double)reading->count[c].count;
    return 1 + (RPS_COUNT_SAMPLE_DIVISOR - 1) * fmin(1, samples / (length_s * SAMPLES_DENSE));
}

static int add_table(const struct state *state, size_t r, int table,
                     struct rps_collected *collected, struct rps_error *err)
{
    struct rps_arena *scratch = rps_arena_new();
    size_t width = state->width[table];
    struct reading reading = {.sampled = &state->sampled[table][r],
                              .last = rps_arena_get(scratch, width, sizeof(*reading.last))};
    struct rps_count_table made;
    struct rps_run_part part = part_of(scratch, collected);
    int result = rps_sample_source_walk(&state->source[r], &part, table == PROGRAMS, add_count,
                                        &reading, err);

    rps_arena_free(scratch);
    if (result < 0) {
        free(reading.count);
        return result;
    }
    made = rps_count_table_make(collected->signals.count, width, divisor_of(&reading, collected),
                                reading.count, reading.count_count);
    rps_collected_add_table(collected, &made);
    return 0;
}

static int add_signals(const struct rps_chosen_signals *chosen, size_t r,
                       struct rps_collected *collected, struct rps_error *err)
{
    const struct state *state = chosen->state;
    int result = 0;

    for (int t = 0; t < TABLES && result == 0; t++)
        if (state->width[t] > 0)
            result = add_table(state, r, t, collected, err);
    return result;
}

const struct rps_signal_provider rps_code_signals = {
    .is_name = is_name,
    .choose = choose_signals,
    .add = add_signals,
};
