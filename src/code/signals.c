/*
 * Samples of the code as signals: which functions, and how often they were seen in each
 * observation.
 *
 * The counts are read twice, once to find the functions that matter and once to put them into the
 * observations: a day has millions of them, and there are thousands of functions. It is the
 * innermost function of the workload that counts: the kernel's below it are what it asked for, and
 * are in the counters; threads of the kernel, and idle CPUs, are nobody's.
 */
#include "rpistat/code_signals.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/code.h"
#include "rpistat/run_code.h"
#include "rpistat/shares.h"
#include "rpistat/text.h"

#define PREFIX    "samples"
#define PREFIX_IN PREFIX " in "

/* A function that has less of the samples is none of the signals. */
#define SHARE_MIN 0.03

/* --- functions -------------------------------------------------------------------------------- */

/* The functions of the workload, numbered from 0. */
struct functions {
    size_t count;
    struct rps_function_name *name; /* owned; of each; code without names is told apart by pages */
    int64_t *of_stack;              /* owned; -1: none */
    uint64_t *samples;              /* owned; of each */
    uint64_t all_samples;           /* of all of them */
};

static int find_functions(const struct rps_code *code, struct functions *ret, struct rps_error *err)
{
    if (rps_shares_functions(code, 1, RPS_UNNAMED_PAGE, &ret->of_stack, &ret->name, &ret->count,
                             err) < 0)
        return RPS_FAILED;
    ret->samples = calloc(ret->count + 1, sizeof(*ret->samples));
    return ret->samples ? 0 : rps_error_memory(err);
}

static void functions_free(struct functions *functions)
{
    free(functions->samples);
    free(functions->of_stack);
    free(functions->name);
}

/* How often each was seen in the periods. */
static int count_samples(struct rps_reader *reader, int64_t run_id, uint64_t first, uint64_t last,
                         const struct rps_cpus *cpus, const struct rps_code *code,
                         struct functions *functions, struct rps_error *err)
{
    struct rps_code_stretch stretch = {first, last, 0};
    struct rps_code_part part = {1, &stretch, 1};
    uint64_t *samples = NULL;
    int result = rps_run_code_counts(reader, run_id, &part, cpus, code, 0, &samples, err);

    for (size_t s = 0; s < code->stack_count && result == 0; s++) {
        if (functions->of_stack[s] < 0)
            continue;
        functions->samples[functions->of_stack[s]] += samples[s];
        functions->all_samples += samples[s];
    }
    free(samples);
    return result;
}

/* --- choosing --------------------------------------------------------------------------------- */

int rps_code_signals_is_name(const char *name)
{
    return strcmp(name, PREFIX) == 0 || strncmp(name, PREFIX_IN, strlen(PREFIX_IN)) == 0;
}

/* "samples in solve", "samples in libfoo.so.1+0x3000". */
static void name_signal(const struct rps_function_name *name, char ret[RPS_NAME_SIZE * 2])
{
    size_t room = RPS_NAME_SIZE * 2 - sizeof(PREFIX_IN);

    snprintf(ret, RPS_NAME_SIZE * 2, PREFIX_IN "%.*s", (int)rps_text_cut(name->function, room),
             name->function);
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

    for (size_t f = 0; f < functions->count; f++) {
        double share = (double)functions->samples[f] / (double)functions->all_samples;
        char signal[RPS_NAME_SIZE * 2];

        name_signal(&functions->name[f], signal);
        if (functions->samples[f] > 0 &&
            is_chosen(signal, name, name_count, share > SHARE_MIN, named))
            ranked[count++] = (struct ranked){functions->samples[f], f};
    }
    qsort(ranked, count, sizeof(*ranked), compare_ranks);
    return count;
}

/* From the functions that were ranked to the signals of stacks. */
static int make_signals(const struct rps_code *code, const struct functions *functions,
                        const struct ranked *ranked, size_t count, struct rps_code_signals *ret,
                        struct rps_error *err)
{
    int32_t *signal = calloc(functions->count + 1, sizeof(*signal));

    ret->name = calloc(count + 1, sizeof(*ret->name));
    ret->of_stack = calloc(code->stack_count + 1, sizeof(*ret->of_stack));
    if (!signal || !ret->name || !ret->of_stack) {
        free(signal);
        return rps_error_memory(err);
    }
    for (size_t f = 0; f < functions->count; f++)
        signal[f] = RPS_CODE_SIGNALS_OTHER;
    for (size_t i = 0; i < count; i++) {
        signal[ranked[i].function] = (int32_t)i;
        name_signal(&functions->name[ranked[i].function], ret->name[i]);
    }
    for (size_t s = 0; s < code->stack_count; s++)
        ret->of_stack[s] =
            functions->of_stack[s] < 0 ? RPS_CODE_SIGNALS_NONE : signal[functions->of_stack[s]];
    ret->count = count;
    ret->stack_count = code->stack_count;
    free(signal);
    return 0;
}

/* The names that were asked for. */
struct asked {
    const char *const *name;
    size_t count;
    int if_there; /* 1: a name of which there is nothing is no error */
};

/* Choose of the functions that were counted. */
static int choose(const struct rps_code *code, const struct functions *functions,
                  const struct asked *asked, struct rps_code_signals *ret, struct rps_error *err)
{
    struct ranked *ranked = calloc(functions->count + 1, sizeof(*ranked));
    uint8_t *named = calloc(asked->count + 1, sizeof(*named));
    int result = ranked && named ? 0 : rps_error_memory(err);

    if (result == 0)
        result = make_signals(code, functions, ranked,
                              rank(functions, asked->name, asked->count, named, ranked), ret, err);
    for (size_t i = 0; i < asked->count && result == 0 && !asked->if_there; i++) {
        if (!named[i])
            result = rps_error_set(
                err, RPS_USAGE, "there are no '%s'%s: rpistat code names the functions",
                asked->name[i],
                strcmp(asked->name[i], PREFIX) == 0 ? " that could be told apart" : "");
    }
    free(named);
    free(ranked);
    return result;
}

/* Choose of the code of a run that has any. */
static int choose_of(struct rps_reader *reader, int64_t run_id, const struct rps_code *code,
                     uint64_t first, uint64_t last, const struct rps_cpus *cpus,
                     const struct asked *asked, struct rps_code_signals *ret, struct rps_error *err)
{
    struct functions functions = {0};
    int result = find_functions(code, &functions, err);

    if (result == 0)
        result = count_samples(reader, run_id, first, last, cpus, code, &functions, err);
    if (result == 0)
        result = choose(code, &functions, asked, ret, err);
    functions_free(&functions);
    return result;
}

static int choose_asked(struct rps_reader *reader, int64_t run_id, uint64_t first, uint64_t last,
                        const struct rps_cpus *cpus, const struct asked *asked,
                        struct rps_code_signals *ret, struct rps_error *err)
{
    struct rps_code_signals signals = {0};
    struct rps_code code = {0};
    int result = rps_reader_code(reader, run_id, &code, err);

    if (result > 0 && code.stack_count > 0)
        result = choose_of(reader, run_id, &code, first, last, cpus, asked, &signals, err);
    else if (result >= 0 && asked->count > 0)
        result =
            rps_error_set(err, RPS_USAGE, "run %" PRId64 " has no samples of its code", run_id);
    else if (result > 0)
        result = 0;
    rps_code_free(&code);
    if (result == 0)
        *ret = signals;
    else
        rps_code_signals_free(&signals);
    return result;
}

int rps_code_signals_choose(struct rps_reader *reader, int64_t run_id, uint64_t first,
                            uint64_t last, const struct rps_cpus *cpus, const char *const *name,
                            size_t name_count, struct rps_code_signals *ret, struct rps_error *err)
{
    return choose_asked(reader, run_id, first, last, cpus, &(struct asked){name, name_count, 0},
                        ret, err);
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
static int arrange(struct rps_code_signals *signals, const struct asked *asked,
                   struct rps_error *err)
{
    char(*name)[RPS_NAME_SIZE * 2] = calloc(asked->count + 1, sizeof(*name));

    if (!name)
        return rps_error_memory(err);
    for (size_t s = 0; s < signals->stack_count; s++) {
        int32_t *signal = &signals->of_stack[s];

        if (*signal >= 0)
            *signal = (int32_t)place_of(asked->name, asked->count, signals->name[*signal]);
    }
    for (size_t i = 0; i < asked->count; i++)
        snprintf(name[i], sizeof(name[i]), "%s", asked->name[i]);
    free(signals->name);
    signals->name = name;
    signals->count = asked->count;
    return 0;
}

/* All names that any of the signals has; owned by the signals. */
static const char **list_names(const struct rps_code_signals *signals, size_t count,
                               size_t *ret_count)
{
    const char **name;
    size_t most = 0;

    for (size_t r = 0; r < count; r++)
        most += signals[r].count;
    name = calloc(most + 1, sizeof(*name));
    *ret_count = 0;
    for (size_t r = 0; r < count && name; r++) {
        for (size_t i = 0; i < signals[r].count; i++) {
            if (place_of(name, *ret_count, signals[r].name[i]) == *ret_count)
                name[(*ret_count)++] = signals[r].name[i];
        }
    }
    return name;
}

/* Choose in each run what was chosen in any. */
static int choose_again(const struct rps_code_signals_run *run, size_t count,
                        const struct rps_cpus *cpus, const struct asked *asked,
                        struct rps_code_signals *ret, struct rps_error *err)
{
    int result = 0;

    for (size_t r = 0; r < count && result == 0; r++) {
        result = choose_asked(run[r].reader, run[r].run_id, run[r].first, run[r].last, cpus, asked,
                              &ret[r], err);
        if (result == 0)
            result = arrange(&ret[r], asked, err);
    }
    return result;
}

int rps_code_signals_choose_jointly(const struct rps_code_signals_run *run, size_t count,
                                    const struct rps_cpus *cpus, struct rps_code_signals *ret,
                                    size_t *ret_having, struct rps_error *err)
{
    struct rps_code_signals *own = calloc(count + 1, sizeof(*own));
    const char **name = NULL;
    struct asked asked = {.if_there = 1};
    int result = own ? 0 : rps_error_memory(err);

    *ret_having = 0;
    for (size_t r = 0; r < count && result == 0; r++) {
        result = rps_code_signals_choose(run[r].reader, run[r].run_id, run[r].first, run[r].last,
                                         cpus, NULL, 0, &own[r], err);
        *ret_having += result == 0 && own[r].stack_count > 0;
    }
    if (result == 0 && *ret_having == count) {
        name = list_names(own, count, &asked.count);
        asked.name = name;
        result = name ? 0 : rps_error_memory(err);
    }
    if (result == 0 && asked.count > 0)
        result = choose_again(run, count, cpus, &asked, ret, err);
    free(name);
    for (size_t r = 0; own && r < count; r++)
        rps_code_signals_free(&own[r]);
    free(own);
    return result;
}

void rps_code_signals_free(struct rps_code_signals *signals)
{
    free(signals->of_stack);
    free(signals->name);
    *signals = (struct rps_code_signals){0};
}

/* --- counting --------------------------------------------------------------------------------- */

struct counting {
    const struct rps_code_signals *signals;
    size_t count;       /* observations */
    uint32_t *of, *all; /* as in struct rps_collect_samples */
};

/* A store may say anything; sums of so many observations must not overflow. */
static void add(uint32_t *to, uint64_t samples)
{
    *to = samples > UINT32_MAX - *to ? UINT32_MAX : *to + (uint32_t)samples;
}

static int count_stack(void *context, size_t observation, int64_t stack, uint64_t samples,
                       struct rps_error *err)
{
    const struct counting *counting = context;
    int32_t signal;

    (void)err;
    if ((uint64_t)stack >= counting->signals->stack_count)
        return 0;
    signal = counting->signals->of_stack[stack];
    if (signal >= 0)
        add(&counting->of[(size_t)signal * counting->count + observation], samples);
    if (signal != RPS_CODE_SIGNALS_NONE)
        add(&counting->all[observation], samples);
    return 0;
}

/* The observations, a group each. */
static int part_of(const struct rps_collected *collected, struct rps_code_part *ret,
                   struct rps_error *err)
{
    size_t count = collected->signals.count;

    *ret = (struct rps_code_part){count, calloc(count + 1, sizeof(*ret->stretch)), count};
    if (!ret->stretch)
        return rps_error_memory(err);
    for (size_t i = 0; i < count; i++)
        ret->stretch[i] = (struct rps_code_stretch){collected->first[i], collected->last[i], i};
    return 0;
}

int rps_code_signals_add(const struct rps_code_signals *signals, struct rps_reader *reader,
                         int64_t run_id, const struct rps_cpus *cpus,
                         struct rps_collected *collected, struct rps_error *err)
{
    struct counting counting = {.signals = signals, .count = collected->signals.count};
    struct rps_code_part part = {0};
    int result = part_of(collected, &part, err);

    counting.of = calloc(signals->count * counting.count + 1, sizeof(*counting.of));
    counting.all = calloc(counting.count + 1, sizeof(*counting.all));
    if (result == 0 && (!counting.of || !counting.all))
        result = rps_error_memory(err);
    if (result == 0)
        result = rps_run_code_walk(reader, run_id, &part, cpus, 0, count_stack, &counting, err);
    if (result == 0)
        result = rps_collected_add_samples(
            collected,
            &(struct rps_collect_samples){signals->count, signals->name, counting.of, counting.all},
            err);
    rps_code_part_free(&part);
    free(counting.all);
    free(counting.of);
    return result;
}
