/* perf_event: decide which threads belong to the target, if whole CPUs are sampled. */
#include "sampler_perf.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "rpistat/arena.h"
#include "rpistat/proc.h"

RPS_ARRAY_BEFORE(is_before, struct rps_perf_member, .tid, <, pid_t)

static size_t place_of(const struct rps_perf_tree *tree, pid_t tid)
{
    return rps_array_find(tree->member, tree->count, sizeof(*tree->member), is_before, &tid);
}

static int64_t boot_ns(void)
{
    struct rps_clocks clocks;

    rps_clock_read_all(&clocks);
    return clocks.boot_ns;
}

void rps_perf_tree_init(struct rps_perf_tree *tree)
{
    *tree = (struct rps_perf_tree){.looked_ns = boot_ns()};
}

void rps_perf_tree_free(struct rps_perf_tree *tree)
{
    free(tree->member);
    *tree = (struct rps_perf_tree){0};
}

int rps_perf_tree_has(const struct rps_perf_tree *tree, pid_t pid, pid_t tid)
{
    size_t i = place_of(tree, tid);

    return i < tree->count && tree->member[i].tid == tid && tree->member[i].pid == pid;
}

void rps_perf_tree_add(struct rps_perf_tree *tree, pid_t pid, pid_t tid)
{
    size_t i = place_of(tree, tid);

    if (i == tree->count || tree->member[i].tid != tid) {
        if (!rps_array_insert(&tree->member, tree->count, i, sizeof(*tree->member))) {
            tree->is_in_doubt = 1;
            return;
        }
        tree->count++;
    }
    tree->member[i] = (struct rps_perf_member){tid, pid};
}

/* Remove a thread, or all threads of a process if tid is 0. */
static void drop(struct rps_perf_tree *tree, pid_t pid, pid_t tid)
{
    size_t kept = 0;

    for (size_t i = 0; i < tree->count; i++)
        if (tid > 0 ? tree->member[i].tid != tid : tree->member[i].pid != pid)
            tree->member[kept++] = tree->member[i];
    tree->count = kept;
}

void rps_perf_tree_hear(struct rps_perf_tree *tree, const struct rps_sample *sample)
{
    if (sample->kind == RPS_SAMPLE_FORK)
        rps_perf_tree_add(tree, sample->pid, sample->tid);
    if (sample->kind == RPS_SAMPLE_EXIT)
        drop(tree, sample->pid, sample->tid);
    if (sample->kind != RPS_SAMPLE_NAME || !sample->is_exec)
        return;
    /* The record does not name the thread that called exec. That thread now has the number of the
     * process's first thread. */
    drop(tree, sample->pid, 0);
    rps_perf_tree_add(tree, sample->pid, sample->tid);
}

/* --- processes that run ----------------------------------------------------------------------- */

struct process {
    pid_t pid, parent;
    int is_own;
};

struct processes {
    struct process *item; /* owned */
    size_t count;
};

/* Read the kernel's data of a process. Returns 0 if the process has ended. */
static int read_process(pid_t pid, struct process *ret, int64_t *ret_start_ns)
{
    const char *start;
    char text[1024];

    rps_proc_read(text, sizeof(text), "/proc/%ld/stat", (long)pid);
    start = rps_proc_stat_field(text, 22);
    if (!*start)
        return 0;
    *ret = (struct process){pid, (pid_t)atol(rps_proc_stat_field(text, 4)), 0};
    *ret_start_ns = atoll(start) * (RPS_NS_PER_S / sysconf(_SC_CLK_TCK));
    return 1;
}

/* List running processes. A process that is in the tree and began before since_ns belongs to the
 * target. Returns -1 if memory is short. */
static int list_processes(const struct rps_perf_tree *tree, int64_t since_ns, struct processes *ret)
{
    DIR *folder = opendir("/proc");
    struct process process;
    struct dirent *entry;
    int64_t start_ns;

    while (folder && (entry = readdir(folder))) {
        if (!isdigit((unsigned char)entry->d_name[0]) ||
            !read_process((pid_t)atoi(entry->d_name), &process, &start_ns))
            continue;
        for (size_t i = 0; i < tree->count && start_ns < since_ns; i++)
            process.is_own |= tree->member[i].pid == process.pid;
        if (!rps_array_add(&ret->item, ret->count, sizeof(*ret->item))) {
            closedir(folder);
            return -1;
        }
        ret->item[ret->count++] = process;
    }
    if (folder)
        closedir(folder);
    return 0;
}

/* Add the children of the target's processes to the target. Returns the number of children. */
static size_t add_children(struct processes *list)
{
    size_t more = 0;

    for (size_t i = 0; i < list->count; i++)
        for (size_t j = 0; !list->item[i].is_own && j < list->count; j++)
            if (list->item[j].is_own && list->item[j].pid == list->item[i].parent)
                more += (size_t)(list->item[i].is_own = 1);
    return more;
}

static void add_threads(struct rps_perf_tree *tree, pid_t pid)
{
    struct dirent *entry;
    char path[64];
    DIR *folder;

    snprintf(path, sizeof(path), "/proc/%ld/task", (long)pid);
    folder = opendir(path);
    while (folder && (entry = readdir(folder)))
        if (isdigit((unsigned char)entry->d_name[0]))
            rps_perf_tree_add(tree, pid, (pid_t)atoi(entry->d_name));
    if (folder)
        closedir(folder);
}

static void make_anew(struct rps_perf_tree *tree)
{
    struct processes list = {NULL, 0};
    int rc;

    tree->lookups++;
    if (!rps_proc_is_own())
        return;
    rc = list_processes(tree, tree->since_ns, &list);
    while (rc == 0 && add_children(&list) > 0)
        ;
    tree->count = 0; /* also if memory is short, so that no other program's thread remains */
    for (size_t i = 0; rc == 0 && i < list.count; i++)
        if (list.item[i].is_own)
            add_threads(tree, list.item[i].pid);
    free(list.item);
}

/* Handle all records in the rings first, including forks whose ends were lost. */
void rps_perf_tree_check(struct rps_perf_tree *tree, int64_t until_ns)
{
    if (tree->doubt_ns > 0 && tree->doubt_ns <= until_ns) {
        make_anew(tree);
        tree->doubt_ns = 0;
    }
    if (tree->is_in_doubt && tree->doubt_ns == 0) {
        tree->doubt_ns = rps_clock_monotonic_ns();
        tree->since_ns = tree->looked_ns;
    }
    tree->is_in_doubt = 0;
    tree->looked_ns = boot_ns();
}
