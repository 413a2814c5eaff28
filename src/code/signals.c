/*
 * Samples of the code as signals of phases: in which functions of the workload they were, and how
 * often in each observation.
 *
 * The counts are read twice, once to find the functions that matter and once to put them into the
 * observations: a day has millions of them, and there are thousands of functions. It is the
 * innermost function of the workload that counts: the kernel's below it are what it asked for, and
 * are in the counters; threads of the kernel, and idle CPUs, are nobody's.
 */
#include "wing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/run_code.h"
#include "rpistat/signal.h"
#include "rpistat/text.h"

#define PREFIX    "samples"
#define PREFIX_IN PREFIX " in "

/* A function that has less of the samples is none of the signals. */
#define SHARE_MIN 0.03

/* The functions that are worth a signal. All zero: none. */
struct signals {
    size_t count;
    char (*name)[RPS_NAME_SIZE * 2]; /* "samples in solve"; most of them first */
    size_t stack_count;
    int64_t *of_stack; /* of each stack the signal of the workload's innermost function; `count`: it
                          is of another function; -1: it is not the workload's */
};

/* --- functions -------------------------------------------------------------------------------- */

/* The functions of the workload, and how often each was seen. */
struct functions {
    struct rps_share_name *name; /* of each; code without names is told apart by pages */
    struct rps_code_counts counts;
    uint64_t all_samples; /* of all of them */
};

static int count_functions(struct rps_arena *arena, const struct rps_signal_run *run,
                           const struct rps_cpus *cpus, const struct rps_code *code,
                           struct functions *ret, struct rps_error *err)
{
    struct rps_run_stretch stretch = {run->first, run->last, 0};
    struct rps_run_part part = {1, &stretch, 1};
    int result;

    ret->counts.key =
        rps_shares_functions(arena, code, 1, RPS_UNNAMED_PAGE, &ret->name, &ret->counts.key_count);
    result = rps_code_counts_read(arena, &ret->counts, run->reader, run->run_id, &part, cpus, code,
                                  0, err);
    for (size_t f = 0; f < ret->counts.key_count && result == 0; f++)
        ret->all_samples += ret->counts.seen[f];
    return result;
}

/* --- choosing --------------------------------------------------------------------------------- */

static int is_name(const char *name)
{
    return strcmp(name, PREFIX) == 0 || strncmp(name, PREFIX_IN, strlen(PREFIX_IN)) == 0;
}

/* "samples in solve", "samples in libfoo.so.1+0x3000". */
static void name_signal(const struct rps_share_name *name, char ret[RPS_NAME_SIZE * 2])
{
    size_t room = RPS_NAME_SIZE * 2 - sizeof(PREFIX_IN);

    snprintf(ret, RPS_NAME_SIZE * 2, PREFIX_IN "%.*s", (int)rps_text_cut(name->name, room),
             name->name);
}

/* Is the signal one that was asked for? `named` is set for those that are. */
static int is_chosen(const char *signal, const char *const *name, size_t name_count,
                     int is_frequent, uint8_t *named)
{
    int chosen = name_count == 0 && is_frequent;

    for (size_t i = 0; i < name_count; i++) {
        int is_it = strcmp(name[i], PREFIX) == 0 ? is_frequent : strcmp(name[i], signal) == 0;

        named[i] |= (uint8_t)is_it;
        chosen |= is_it;
    }
    return chosen;
}

struct ranked {
    uint64_t samples;
    size_t function;
};

static int compare_ranks(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->samples != y->samples)
        return x->samples > y->samples ? -1 : 1;
    return (x->function > y->function) - (x->function < y->function);
}

/* The functions that are chosen, most of the samples first; how many there are. */
static size_t rank(const struct functions *functions, const char *const *name, size_t name_count,
                   uint8_t *named, struct ranked *ranked)
{
    size_t count = 0;

    for (size_t f = 0; f < functions->counts.key_count; f++) {
        uint64_t samples = functions->counts.seen[f];
        double share = (double)samples / (double)functions->all_samples;
        char signal[RPS_NAME_SIZE * 2];

        name_signal(&functions->name[f], signal);
        if (samples > 0 && is_chosen(signal, name, name_count, share > SHARE_MIN, named))
            ranked[count++] = (struct ranked){samples, f};
    }
    qsort(ranked, count, sizeof(*ranked), compare_ranks);
    return count;
}

/* From the functions that were ranked to the signals of stacks. */
static void make_signals(struct rps_arena *arena, struct rps_arena *scratch,
                         const struct rps_code *code, const struct functions *functions,
                         const struct ranked *ranked, size_t count, struct signals *ret)
{
    int64_t *signal = rps_arena_get(scratch, functions->counts.key_count, sizeof(*signal));

    ret->name = rps_arena_get(arena, count, sizeof(*ret->name));
    ret->of_stack = rps_arena_get(arena, code->stack_count, sizeof(*ret->of_stack));
    for (size_t f = 0; f < functions->counts.key_count; f++)
        signal[f] = (int64_t)count;
    for (size_t i = 0; i < count; i++) {
        signal[ranked[i].function] = (int64_t)i;
        name_signal(&functions->name[ranked[i].function], ret->name[i]);
    }
    for (size_t s = 0; s < code->stack_count; s++) {
        int64_t function = functions->counts.key[s];

        ret->of_stack[s] = function < 0 ? -1 : signal[function];
    }
    ret->count = count;
    ret->stack_count = code->stack_count;
}

/* The names that were asked for. */
struct asked {
    const char *const *name;
    size_t count;
    int if_there; /* 1: a name of which there is nothing is no error */
};

/* Choose of the code of a run that has any. */
static int choose(struct rps_arena *arena, struct rps_arena *scratch,
                  const struct rps_signal_run *run, const struct rps_code *code,
                  const struct rps_cpus *cpus, const struct asked *asked, struct signals *ret,
                  struct rps_error *err)
{
    uint8_t *named = rps_arena_get(scratch, asked->count, sizeof(*named));
    struct functions functions = {0};
    struct ranked *ranked;
    int result = count_functions(scratch, run, cpus, code, &functions, err);

    if (result < 0)
        return result;
    ranked = rps_arena_get(scratch, functions.counts.key_count, sizeof(*ranked));
    make_signals(arena, scratch, code, &functions, ranked,
                 rank(&functions, asked->name, asked->count, named, ranked), ret);
    for (size_t i = 0; i < asked->count && !asked->if_there; i++) {
        if (!named[i])
            return rps_error_set(
                err, RPS_USAGE, "there are no '%s'%s: rpistat code names the functions",
                asked->name[i],
                strcmp(asked->name[i], PREFIX) == 0 ? " that could be told apart" : "");
    }
    return 0;
}

/*
 * The functions that have more than 3 % of the samples in the run's periods; or, where there are
 * names, those that are named, whatever they have. Of frames without a name it is the page of code,
 * "samples in libfoo.so.1+0x3000". There are none, and this is no error, when the run has no samples
 * there.
 */
static int choose_asked(struct rps_arena *arena, const struct rps_signal_run *run,
                        const struct rps_cpus *cpus, const struct asked *asked, struct signals *ret,
                        struct rps_error *err)
{
    struct rps_arena *scratch = rps_arena_new();
    struct rps_code code = {0};
    int result = rps_reader_code(run->reader, run->run_id, &code, err);

    if (result > 0 && code.stack_count > 0)
        result = choose(arena, scratch, run, &code, cpus, asked, ret, err);
    else if (result >= 0 && asked->count > 0)
        result = rps_error_set(err, RPS_USAGE, "run %" PRId64 " has no samples of its code",
                               run->run_id);
    else if (result > 0)
        result = 0;
    rps_code_free(&code);
    rps_arena_free(scratch);
    return result;
}

/* The place of a name, or the number of names. */
static size_t place_of(const char *const *name, size_t count, const char *wanted)
{
    size_t place = 0;

    while (place < count && strcmp(name[place], wanted) != 0)
        place++;
    return place;
}

/* Signals in the order of names; those of one name are one. */
static void arrange(struct rps_arena *arena, struct signals *signals, const struct asked *asked)
{
    char(*name)[RPS_NAME_SIZE * 2] = rps_arena_get(arena, asked->count, sizeof(*name));

    for (size_t s = 0; s < signals->stack_count; s++) {
        int64_t *signal = &signals->of_stack[s];

        if (*signal >= 0)
            *signal = (size_t)*signal == signals->count
                          ? (int64_t)asked->count
                          : (int64_t)place_of(asked->name, asked->count, signals->name[*signal]);
    }
    for (size_t i = 0; i < asked->count; i++)
        snprintf(name[i], sizeof(name[i]), "%s", asked->name[i]);
    signals->name = name;
    signals->count = asked->count;
}

/* All names that any of the signals has. */
static const char **list_names(struct rps_arena *arena, const struct signals *signals, size_t count,
                               size_t *ret_count)
{
    const char **name = NULL;

    *ret_count = 0;
    for (size_t r = 0; r < count; r++) {
        for (size_t i = 0; i < signals[r].count; i++) {
            if (place_of(name, *ret_count, signals[r].name[i]) < *ret_count)
                continue;
            name = rps_arena_grow(arena, name, *ret_count, sizeof(*name));
            name[(*ret_count)++] = signals[r].name[i];
        }
    }
    return name;
}

/* The functions that have more than 3 % of the samples in any of several runs, by name. What was
 * chosen in any is chosen in each; one that a run has not has no stacks there. */
static int choose_jointly(struct rps_arena *arena, const struct rps_signal_run *run, size_t count,
                          const struct rps_cpus *cpus, struct signals *ret, size_t *ret_having,
                          struct rps_error *err)
{
    struct rps_arena *scratch = rps_arena_new();
    struct signals *own = rps_arena_get(scratch, count, sizeof(*own));
    struct asked asked = {0};
    int result = 0;

    for (size_t r = 0; r < count && result == 0; r++) {
        result = choose_asked(scratch, &run[r], cpus, &asked, &own[r], err);
        *ret_having += result == 0 && own[r].stack_count > 0;
    }
    if (result == 0 && *ret_having == count)
        asked.name = list_names(scratch, own, count, &asked.count);
    asked.if_there = 1;
    for (size_t r = 0; r < count && result == 0 && asked.count > 0; r++) {
        result = choose_asked(arena, &run[r], cpus, &asked, &ret[r], err);
        if (result == 0)
            arrange(arena, &ret[r], &asked);
    }
    rps_arena_free(scratch);
    return result;
}

/* --- the provider ----------------------------------------------------------------------------- */

struct state {
    const struct rps_signal_run *run; /* borrowed */
    struct signals *signals;          /* of each run */
    struct rps_cpus cpus;             /* borrowed */
};

static int choose_signals(struct rps_arena *arena, const struct rps_signal_run *run, size_t count,
                          const struct rps_cpus *cpus, const char *const *name, size_t name_count,
                          struct rps_chosen_signals *ret, struct rps_error *err)
{
    struct state *state = rps_arena_get(arena, 1, sizeof(*state));
    int result;

    *state = (struct state){run, rps_arena_get(arena, count, sizeof(*state->signals)), *cpus};
    ret->state = state;
    if (count == 1) {
        const struct asked asked = {name, name_count, 0};

        result = choose_asked(arena, run, cpus, &asked, state->signals, err);
        ret->having = state->signals->stack_count > 0;
    } else {
        result = choose_jointly(arena, run, count, cpus, state->signals, &ret->having, err);
    }
    ret->count = state->signals[0].count;
    return result;
}

/* The observations, a group each. */
static struct rps_run_part part_of(struct rps_arena *arena, const struct rps_collected *collected)
{
    size_t count = collected->signals.count;
    struct rps_run_part part = {count, rps_arena_get(arena, count, sizeof(*part.stretch)), count};

    for (size_t i = 0; i < count; i++)
        part.stretch[i] = (struct rps_run_stretch){collected->first[i], collected->last[i], i};
    return part;
}

/* A store may say anything; sums of so many observations must not overflow. */
static uint32_t bounded(uint64_t samples)
{
    return samples > UINT32_MAX ? UINT32_MAX : (uint32_t)samples;
}

/* Of the counts, in which a group is an observation and the last key is of other functions. */
static int add_counts(struct rps_arena *scratch, const struct signals *signals,
                      const struct rps_code_counts *counts, struct rps_collected *collected,
                      struct rps_error *err)
{
    size_t count = collected->signals.count;
    uint32_t *of = rps_arena_get(scratch, signals->count * count, sizeof(*of));
    uint32_t *all = rps_arena_get(scratch, count, sizeof(*all));

    for (size_t i = 0; i < count; i++) {
        const uint64_t *seen = &counts->seen[i * counts->key_count];
        uint64_t sum = 0;

        for (size_t s = 0; s <= signals->count; s++) {
            sum += bounded(seen[s]);
            if (s < signals->count)
                of[s * count + i] = bounded(seen[s]);
        }
        all[i] = bounded(sum);
    }
    return rps_collected_add_samples(
        collected, &(struct rps_collect_samples){signals->count, signals->name, of, all}, err);
}

static int add_signals(const struct rps_chosen_signals *chosen, size_t r,
                       struct rps_collected *collected, struct rps_error *err)
{
    const struct state *state = chosen->state;
    const struct signals *signals = &state->signals[r];
    const struct rps_code code = {.stack_count = signals->stack_count};
    struct rps_code_counts counts = {.key = signals->of_stack, .key_count = signals->count + 1};
    struct rps_arena *scratch = rps_arena_new();
    struct rps_run_part part = part_of(scratch, collected);
    int result = rps_code_counts_read(scratch, &counts, state->run[r].reader, state->run[r].run_id,
                                      &part, &state->cpus, &code, 0, err);

    if (result == 0)
        result = add_counts(scratch, signals, &counts, collected, err);
    rps_arena_free(scratch);
    return result;
}

const struct rps_signal_provider rps_code_signals = {
    .is_name = is_name,
    .choose = choose_signals,
    .add = add_signals,
};
