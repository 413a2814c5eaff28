/* The function of each stack, and the program or control group of each task. */
#include "rpistat/shares.h"
#include "rpistat/clock.h"
#include "shares_index.h"

#define EXEC_NS RPS_NS_PER_S /* Maximum time from an exec to the process's next sample. */

static struct rps_share_name *make_names(struct rps_arena *arena,
                                         const struct rps_share_index *index)
{
    struct rps_share_name *name = rps_arena_get(arena, index->items.count, sizeof(*name));

    for (size_t i = 0; i < index->items.count; i++) {
        const struct rps_share_key *key = &index->items.key[i];

        name[i] = (struct rps_share_name){.name = key->name,
                                          .module = rps_share_index_path(index->code, key->module),
                                          .file = "",
                                          .is_unnamed = key->how == RPS_LOCATION_NONE};
    }
    return name;
}

/* Return the element of `of`, which is parallel to the items, for each stack's innermost
 * function. */
static int64_t *find_innermost(struct rps_arena *arena, const struct rps_share_index *index,
                               int user, const size_t *of)
{
    const struct rps_code *code = index->code;
    int64_t *ret = rps_arena_get(arena, code->stack_count, sizeof(*ret));

    for (size_t s = 0; s < code->stack_count; s++) {
        size_t frame = rps_share_frame_of(code, s);

        if (frame == code->frame_count)
            ret[s] = -1;
        else if (user && rps_share_index_is_kernel(code, rps_share_index_module(index, frame)))
            ret[s] = rps_share_parent_of(code, s) == RPS_SHARE_NONE
                         ? -1
                         : ret[rps_share_parent_of(code, s)];
        else
            ret[s] = (int64_t)of[index->first[frame]];
    }
    return ret;
}

int64_t *rps_share_index_functions(struct rps_arena *arena, const struct rps_share_index *index,
                                   int user, struct rps_share_name **ret_name, size_t *ret_count)
{
    *ret_name = make_names(arena, index);
    *ret_count = index->items.count;
    return find_innermost(arena, index, user, index->item);
}

int64_t *rps_share_index_innermost_lines(struct rps_arena *arena,
                                         const struct rps_share_index *index, int user)
{
    return find_innermost(arena, index, user, index->line);
}

int64_t *rps_shares_functions(struct rps_arena *arena, const struct rps_code *code, int user,
                              enum rps_unnamed unnamed, struct rps_share_name **ret_name,
                              size_t *ret_count)
{
    struct rps_arena *scratch = rps_arena_new();
    struct rps_share_index index =
        rps_share_index_make(scratch, arena, code, RPS_SHARES_FUNCTION, unnamed, 0);
    int64_t *function = rps_share_index_functions(arena, &index, user, ret_name, ret_count);

    rps_arena_free(scratch);
    return function;
}

void rps_share_index_place(const struct rps_share_index *index, const uint64_t *samples,
                           struct rps_share_name *name)
{
    const struct rps_share_key **line = rps_share_index_lines(index, samples);

    for (size_t i = 0; i < index->items.count; i++) {
        name[i].file = line[i]->file;
        name[i].line = line[i]->line;
    }
}

void rps_shares_place(const struct rps_code *code, enum rps_unnamed unnamed,
                      const uint64_t *samples, struct rps_share_name *name)
{
    struct rps_arena *scratch = rps_arena_new();
    struct rps_share_index index =
        rps_share_index_make(scratch, scratch, code, RPS_SHARES_FUNCTION, unnamed, 1);

    rps_share_index_place(&index, samples, name);
    rps_arena_free(scratch);
}

int rps_shares_has_processes(const struct rps_code *code)
{
    size_t t = 0;

    while (t < code->task_count && code->task[t].pid == code->task[0].pid)
        t++;
    return t < code->task_count;
}

int rps_shares_are_of_programs(const struct rps_code *code, const struct rps_share_name *function,
                               const uint64_t *samples, size_t count)
{
    uint64_t unnamed = 0, most = 0;

    for (size_t i = 0; i < count; i++) {
        if (function[i].is_unnamed)
            unnamed += samples[i];
        else if (samples[i] > most)
            most = samples[i];
    }
    return code->is_of_machine || (unnamed > most && rps_shares_has_processes(code));
}

static int were_together(const struct rps_task *first, const struct rps_task *task,
                         int64_t apart_ns)
{
    return (task->end_ns < 0 || first->start_ns <= task->end_ns) &&
           (first->end_ns < 0 || task->start_ns <= first->end_ns ||
            task->start_ns - first->end_ns <= apart_ns);
}

size_t *rps_shares_processes(struct rps_arena *arena, const struct rps_code *code,
                             size_t *ret_first)
{
    const size_t count = code->task_count, size = sizeof(size_t);
    size_t *pid = rps_arena_get(arena, count, size), *last = rps_arena_get(arena, count, size);
    size_t *previous = rps_arena_get(arena, count, size); /* previous: for each first thread, the
                                                             earlier first thread with the same
                                                             pid, plus 1; 0: none. */
    size_t *lone = rps_arena_get(arena, count, size), *ret = rps_arena_get(arena, count, size);
    struct rps_share_key key = {.name = "", .file = ""};
    struct rps_share_items pids = {0};

    for (size_t t = 0; t < count; t++) {
        key.module = (size_t)code->task[t].pid;
        pid[t] = rps_share_items_number(arena, &pids, &key);
        if (code->task[t].tid == code->task[t].pid) {
            previous[t] = last[pid[t]];
            last[pid[t]] = t + 1;
        }
    }
    for (size_t t = 0; t < count; t++) {
        const struct rps_task *task = &code->task[t];
        size_t at = task->tid == task->pid ? t + 1 : last[pid[t]], before;

        while (at > 0 && !were_together(&code->task[at - 1], task, 0))
            at = previous[at - 1];
        ret_first[t] = at;
        while (at > 0 && (before = previous[at - 1]) > 0 &&
               were_together(&code->task[before - 1], &code->task[at - 1], EXEC_NS))
            at = before;
        if (at == 0)
            at = lone[pid[t]] = lone[pid[t]] ? lone[pid[t]] : t + 1;
        ret[t] = at - 1;
    }
    return ret;
}

/* `file` is the path up to and including the control group's name. */
static struct rps_share_key key_of_cgroup(struct rps_arena *arena, const struct rps_code *code,
                                          int64_t cgroup)
{
    const char *path = cgroup < 0 ? "" : code->cgroup[cgroup].path, *name;
    size_t length, end;

    if (!path[0])
        return (struct rps_share_key){.name = RPS_SHARE_UNKNOWN, .file = ""};
    name = rps_cgroup_name(path, &length, &end);
    return (struct rps_share_key){.name = rps_arena_print(arena, "%.*s", (int)length, name),
                                  .file = rps_arena_print(arena, "%.*s", (int)end, path)};
}

int64_t *rps_shares_owners(struct rps_arena *arena, const struct rps_code *code,
                           enum rps_shares_by by, struct rps_share_name **ret_name,
                           size_t *ret_count, size_t **ret_process)
{
    struct rps_arena *scratch = rps_arena_new();
    int64_t *owner = rps_arena_get(arena, code->task_count, sizeof(*owner));
    size_t *first = rps_arena_get(scratch, code->task_count, sizeof(*first));
    size_t *process = rps_shares_processes(scratch, code, first);
    struct rps_share_key *cgroup = rps_arena_get(scratch, code->cgroup_count + 1, sizeof(*cgroup));
    size_t *lowest = rps_arena_get(scratch, code->task_count, sizeof(*lowest));
    struct rps_share_items owners = {0}, pairs = {0};

    for (size_t t = 0; t < code->task_count; t++) {
        size_t *of = &lowest[process[t]];

        if (*of == 0 || code->task[t].tid < code->task[*of - 1].tid)
            *of = t + 1;
    }
    if (ret_process)
        *ret_process = rps_arena_get(arena, code->task_count, sizeof(**ret_process));
    for (size_t c = 0; c <= code->cgroup_count; c++) /* Index 0 is the unknown control group. */
        cgroup[c] = key_of_cgroup(arena, code, (int64_t)c - 1);
    for (size_t t = 0; t < code->task_count; t++) {
        const size_t lone = by == RPS_SHARES_THREAD ? t + 1 : lowest[process[t]];
        const struct rps_task *task = &code->task[(first[t] > 0 ? first[t] : lone) - 1];
        struct rps_share_key key = {
            .name = task->name && task->name[0] ? task->name : RPS_SHARE_UNKNOWN, .file = ""};

        if (by == RPS_SHARES_CGROUP)
            key = cgroup[code->task[t].cgroup + 1];
        owner[t] = (int64_t)rps_share_items_number(scratch, &owners, &key);
        key = (struct rps_share_key){
            .name = "", .file = "", .module = process[t], .line = (int)owner[t]};
        if (ret_process)
            (*ret_process)[t] = rps_share_items_number(scratch, &pairs, &key);
    }
    *ret_name = rps_arena_get(arena, owners.count, sizeof(**ret_name));
    *ret_count = owners.count;
    for (size_t i = 0; i < owners.count; i++)
        (*ret_name)[i] = (struct rps_share_name){
            .name = owners.key[i].name, .module = owners.key[i].file, .file = ""};
    rps_arena_free(scratch);
    return owner;
}
