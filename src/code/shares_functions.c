/* The function that each stack is in, and the program that each task is of. */
#include "rpistat/shares.h"

#include <stdlib.h>
#include <string.h>

#include "rpistat/text.h"
#include "shares_index.h"

/* Names with a copy of those that are not the code's behind them, in one piece. */
static struct rps_share_name *copy_names(const struct rps_share_index *index)
{
    size_t count = index->items.count;
    struct rps_share_name *name = malloc((count + 1) * sizeof(*name) + index->used);
    char *texts = name ? (char *)(name + count + 1) : NULL;

    if (!name)
        return NULL;
    memcpy(texts, index->texts, index->used);
    for (size_t i = 0; i < count; i++) {
        const struct rps_share_key *key = &index->items.key[i];

        name[i] = (struct rps_share_name){.name = key->name,
                                          .module = rps_share_index_path(index->code, key->module),
                                          .file = ""};
        name[i].is_unnamed = key->name == rps_text_file_name(name[i].module);
        if (key->name >= index->texts && key->name < index->texts + index->used) {
            name[i].name = texts + (key->name - index->texts);
            name[i].is_unnamed = 1;
        }
    }
    for (size_t e = index->entries; e-- > 0;) {
        name[index->item[e]].file = index->lines.key[index->line[e]].file;
        name[index->item[e]].line = index->lines.key[index->line[e]].line;
    }
    return name;
}

int rps_shares_functions(const struct rps_code *code, int user, enum rps_unnamed unnamed,
                         int64_t **ret_function, struct rps_share_name **ret_name,
                         size_t *ret_count, struct rps_error *err)
{
    struct rps_share_name *name;
    struct rps_share_index index;
    int64_t *function;

    if (rps_share_index_make(&index, code, RPS_SHARES_FUNCTION, unnamed, err) < 0)
        return RPS_FAILED;
    function = malloc((code->stack_count + 1) * sizeof(*function));
    name = function ? copy_names(&index) : NULL;
    for (size_t s = 0; s < code->stack_count && name; s++) {
        size_t frame = rps_share_frame_of(code, s);

        if (frame == code->frame_count)
            function[s] = -1;
        else if (user && rps_share_index_is_kernel(code, rps_share_index_module(&index, frame)))
            function[s] = rps_share_parent_of(code, s) == RPS_SHARE_NONE
                              ? -1
                              : function[rps_share_parent_of(code, s)];
        else
            function[s] = (int64_t)index.item[index.first[frame]];
    }
    if (name) {
        *ret_function = function;
        *ret_name = name;
        *ret_count = index.items.count;
    } else {
        free(function);
    }
    rps_share_index_free(&index);
    return name ? 0 : rps_error_memory(err);
}

int rps_shares_mostly_unnamed(const struct rps_share_name *name, const uint64_t *samples,
                              size_t count)
{
    uint64_t unnamed = 0, most = 0;

    for (size_t i = 0; i < count; i++) {
        if (name[i].is_unnamed)
            unnamed += samples[i];
        else if (samples[i] > most)
            most = samples[i];
    }
    return unnamed > most;
}

int rps_shares_has_processes(const struct rps_code *code)
{
    size_t t = 0;

    while (t < code->task_count && code->task[t].pid == code->task[0].pid)
        t++;
    return t < code->task_count;
}

/* The process of each task in `ret`, and in `first`, of each process, the task of its first thread
 * that was sampled last, and 1; 0: none was. */
static int find_processes(const struct rps_code *code, int64_t *ret, size_t *first)
{
    struct rps_share_items processes = {0};
    size_t process = 0;

    for (size_t t = 0; t < code->task_count && process != RPS_SHARE_NONE; t++) {
        const struct rps_task *task = &code->task[t];
        const struct rps_share_key key = {.name = "", .file = "", .module = (size_t)task->pid};

        process = rps_share_items_number(&processes, &key);
        ret[t] = (int64_t)process;
        if (process != RPS_SHARE_NONE && task->tid == task->pid)
            first[process] = t + 1;
    }
    rps_share_items_free(&processes);
    return process == RPS_SHARE_NONE ? RPS_FAILED : 0;
}

/* The process of each task becomes its program. */
static int name_programs(const struct rps_code *code, int64_t *program, const size_t *first,
                         struct rps_share_name *name, size_t *ret_count)
{
    struct rps_share_items programs = {0};
    size_t number = 0;

    for (size_t t = 0; t < code->task_count && number != RPS_SHARE_NONE; t++) {
        const struct rps_task *task = &code->task[t];
        struct rps_share_key key = {.name = RPS_SHARE_UNKNOWN, .file = ""};

        if (task->tid != task->pid && first[program[t]] > 0)
            task = &code->task[first[program[t]] - 1];
        if (task->name && task->name[0])
            key.name = task->name;
        number = rps_share_items_number(&programs, &key);
        if (number == RPS_SHARE_NONE)
            break;
        program[t] = (int64_t)number;
        name[number] = (struct rps_share_name){.name = key.name, .module = "", .file = ""};
    }
    *ret_count = programs.count;
    rps_share_items_free(&programs);
    return number == RPS_SHARE_NONE ? RPS_FAILED : 0;
}

int rps_shares_programs(const struct rps_code *code, int64_t **ret_program,
                        struct rps_share_name **ret_name, size_t *ret_count, struct rps_error *err)
{
    struct rps_share_name *name = calloc(code->task_count + 1, sizeof(*name));
    int64_t *program = calloc(code->task_count + 1, sizeof(*program));
    size_t *first = calloc(code->task_count + 1, sizeof(*first));
    int failed = !name || !program || !first || find_processes(code, program, first) < 0 ||
                 name_programs(code, program, first, name, ret_count) < 0;

    free(first);
    if (failed) {
        free(name);
        free(program);
        return rps_error_memory(err);
    }
    *ret_program = program;
    *ret_name = name;
    return 0;
}
