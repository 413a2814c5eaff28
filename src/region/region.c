/*
 * Regions: begin and end, threads, and what becomes of them.
 *
 * This is the one place in rpistat with state that is not handed from caller to caller. A region is
 * begun and ended deep inside somebody's program, where nobody has a handle to pass; the libraries
 * that people know for this (PAPI, LIKWID) work by name alone too. The state is one struct under
 * one lock, and one pointer a thread. Handles were tried first: the program's own functions all had
 * to carry one along.
 *
 * What happens in begin and end is kept off the lock: a thread's entries are its own, and only the
 * sums at the end are added under a lock that nobody else wants but a report.
 */
#include "rpistat/region.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "state.h"
#include "rpistat/clock.h"

#define BUCKETS       64
#define EMPTY_ENTRIES 16

/* A region in one thread. */
struct entry {
    struct entry *next;
    struct rps_region *region;
    int depth; /* begun and not ended */
    int64_t begin_ns;
    struct rps_counters_sample begin;
    struct rps_sums sums; /* under the thread's lock */
};

struct thread {
    struct thread *next;
    pthread_mutex_t lock; /* of the entries' sums, and of adding entries */
    struct rps_counters counters;
    struct entry *entry[BUCKETS];
};

static struct {
    pthread_mutex_t lock; /* of everything but the threads' own */
    pthread_once_t once;
    pthread_key_t key; /* for its destructor only */
    int marks_fd;      /* to the recorder, -1: none */
    struct rps_region_state state;
    struct rps_region **last; /* where the next region goes */
    struct thread *thread;
    atomic_uint generation; /* grows when everything is forgotten */
} process = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .once = PTHREAD_ONCE_INIT,
    .marks_fd = -1,
};

static _Thread_local struct thread *own_thread;
static _Thread_local unsigned own_generation;

/* This thread's record, or NULL when it has none that is still good. */
static struct thread *own(void)
{
    if (own_generation != atomic_load_explicit(&process.generation, memory_order_relaxed))
        return NULL;
    return own_thread;
}

static void set_own(struct thread *thread)
{
    own_thread = thread;
    own_generation = atomic_load_explicit(&process.generation, memory_order_relaxed);
    pthread_setspecific(process.key, thread);
}

/* --- sums ------------------------------------------------------------------------------------- */

static void add_sums(struct rps_sums *to, const struct rps_sums *from)
{
    to->entered += from->entered;
    to->elapsed_ns += from->elapsed_ns;
    to->enabled_ns += from->enabled_ns;
    to->running_ns += from->running_ns;
    to->lost |= from->lost;
    for (int i = 0; i < RPS_COUNTERS_MAX; i++)
        to->value[i] += from->value[i];
}

/* Times read in two ways may differ by a few ns in the wrong direction. */
static uint64_t growth(uint64_t end, uint64_t begin)
{
    return end > begin ? end - begin : 0;
}

static void add_entry(struct rps_sums *sums, const struct rps_counters_sample *begin,
                      const struct rps_counters_sample *end, int64_t elapsed_ns)
{
    uint32_t valid = begin->valid & end->valid;

    sums->entered++;
    sums->elapsed_ns += (uint64_t)elapsed_ns;
    sums->lost |= ~valid;
    if (valid & 1) {
        sums->enabled_ns += growth(end->enabled_ns, begin->enabled_ns);
        sums->running_ns += growth(end->running_ns, begin->running_ns);
    }
    for (int i = 0; i < RPS_COUNTERS_MAX; i++)
        if (valid & (UINT32_C(1) << i))
            sums->value[i] += end->value[i] - begin->value[i];
}

void rps_region_state_sum(const struct rps_region *region, struct rps_sums *ret)
{
    *ret = region->ended;
    for (struct thread *thread = process.thread; thread; thread = thread->next) {
        pthread_mutex_lock(&thread->lock);
        for (int i = 0; i < BUCKETS; i++)
            for (const struct entry *entry = thread->entry[i]; entry; entry = entry->next)
                if (entry->region == region)
                    add_sums(ret, &entry->sums);
        pthread_mutex_unlock(&thread->lock);
    }
}

/* --- threads ---------------------------------------------------------------------------------- */

static void free_thread(struct thread *thread, int forked)
{
    for (int i = 0; i < BUCKETS; i++) {
        while (thread->entry[i]) {
            struct entry *entry = thread->entry[i];

            thread->entry[i] = entry->next;
            free(entry);
        }
    }
    rps_counters_close(&thread->counters, forked);
    if (!forked)
        pthread_mutex_destroy(&thread->lock);
    free(thread);
}

/* A thread has ended: its sums stay with the regions. */
static void leave_thread(void *context)
{
    struct thread *thread = context, **link = &process.thread;

    pthread_mutex_lock(&process.lock);
    while (own() && *link && *link != thread)
        link = &(*link)->next;
    if (own() && *link) {
        *link = thread->next;
        for (int i = 0; i < BUCKETS; i++)
            for (const struct entry *entry = thread->entry[i]; entry; entry = entry->next)
                add_sums(&entry->region->ended, &entry->sums);
        free_thread(thread, 0);
    }
    own_thread = NULL;
    pthread_mutex_unlock(&process.lock);
}

/* This thread's record, with its counters open; NULL without memory. The state is locked. */
static struct thread *join_thread(void)
{
    struct thread *thread = calloc(1, sizeof(*thread));
    struct rps_choice *choice = &process.state.choice;
    struct rps_error err;

    if (!thread)
        return NULL;
    pthread_mutex_init(&thread->lock, NULL);
    if (choice->plan) {
        if (rps_counters_open(&thread->counters, choice->plan, choice->set, &err) < 0) {
            if (!strstr(choice->problem, err.message))
                rps_choice_complain(choice, "%s", err.message);
        } else {
            process.state.from_user =
                thread->counters.from_user && (!process.state.counting || process.state.from_user);
            process.state.counting = 1;
        }
    }
    thread->next = process.thread;
    process.thread = thread;
    set_own(thread);
    return thread;
}

/* --- the process ------------------------------------------------------------------------------ */

static void free_regions(void)
{
    while (process.state.first) {
        struct rps_region *region = process.state.first;

        process.state.first = region->next;
        free(region);
    }
    process.last = &process.state.first;
}

/* What one entry adds to the counts, as the least of some; in this thread, without a name. Entries
 * during which somebody else had the counters say nothing. */
static void measure_empty(struct thread *thread)
{
    struct rps_sums *empty = &process.state.empty;

    memset(empty, 0, sizeof(*empty));
    empty->lost = ~UINT32_C(0);
    for (int i = 0; i < EMPTY_ENTRIES; i++) {
        struct rps_counters_sample begin, end;
        struct rps_sums one = {0};
        int64_t begin_ns = rps_clock_monotonic_ns();

        rps_counters_read(&thread->counters, &begin);
        rps_counters_read(&thread->counters, &end);
        add_entry(&one, &begin, &end, rps_clock_monotonic_ns() - begin_ns);
        if (empty->entered == 0 || one.elapsed_ns < empty->elapsed_ns)
            empty->elapsed_ns = one.elapsed_ns;
        empty->entered = 1;
        if (one.running_ns < one.enabled_ns)
            continue;
        for (int c = 0; c < RPS_COUNTERS_MAX; c++)
            if (empty->lost & (UINT32_C(1) << c) || one.value[c] < empty->value[c])
                empty->value[c] = one.value[c];
        empty->lost = one.lost;
    }
    empty->enabled_ns = empty->running_ns = empty->elapsed_ns;
}

/* Choose, join, connect. The state is locked. */
static int open_state(const char *sets)
{
    int result;

    if (process.state.opened)
        return process.state.choice.plan ? 0 : -1;
    process.state.opened = 1;
    process.last = &process.state.first;
    process.marks_fd = rps_marks_connect(getpid(), "/proc");
    result = rps_choice_make(&process.state.choice, sets);
    if (!own())
        join_thread();
    if (own())
        measure_empty(own());
    return result < 0 ? -1 : 0;
}

/* Marks that are held, and totals, before the program ends. The state is locked. */
static void finish_marks(void)
{
    if (process.marks_fd < 0)
        return;
    for (struct rps_region *region = process.state.first; region; region = region->next) {
        struct rps_sums sums;

        rps_region_state_sum(region, &sums);
        rps_marks_finish(&region->marks, process.marks_fd, region->name, rps_clock_monotonic_ns(),
                         sums.entered, sums.elapsed_ns);
    }
    close(process.marks_fd);
    process.marks_fd = -1;
}

static void before_fork(void)
{
    pthread_mutex_lock(&process.lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&process.lock);
}

/* Counters are still the parent's, and so is what was measured: the child begins anew. */
static void in_child(void)
{
    while (process.thread) {
        struct thread *thread = process.thread;

        process.thread = thread->next;
        free_thread(thread, 1);
    }
    set_own(NULL);
    free_regions();
    if (process.state.opened && process.marks_fd >= 0) {
        close(process.marks_fd);
        process.marks_fd = rps_marks_connect(getpid(), "/proc");
    }
    pthread_mutex_unlock(&process.lock);
}

/* The program ends. A thread that is killed with the lock must not hold this up. */
static void at_end(void)
{
    if (pthread_mutex_trylock(&process.lock) == 0) {
        finish_marks();
        pthread_mutex_unlock(&process.lock);
    }
}

static void prepare_process(void)
{
    pthread_key_create(&process.key, leave_thread);
    pthread_atfork(before_fork, after_fork, in_child);
    atexit(at_end);
}

static void lock_process(void)
{
    pthread_once(&process.once, prepare_process);
    pthread_mutex_lock(&process.lock);
}

struct rps_region_state *rps_region_state_lock(void)
{
    lock_process();
    open_state(NULL);
    return &process.state;
}

void rps_region_state_unlock(void)
{
    pthread_mutex_unlock(&process.lock);
}

int rps_region_open(const char *sets)
{
    int number = errno, result;

    lock_process();
    result = open_state(sets);
    pthread_mutex_unlock(&process.lock);
    errno = number;
    return result;
}

void rps_region_close(void)
{
    lock_process();
    finish_marks();
    while (process.thread) {
        struct thread *thread = process.thread;

        process.thread = thread->next;
        free_thread(thread, 0);
    }
    atomic_fetch_add(&process.generation, 1);
    set_own(NULL);
    free_regions();
    rps_choice_free(&process.state.choice);
    memset(&process.state, 0, sizeof(process.state));
    pthread_mutex_unlock(&process.lock);
}

/* --- begin and end ---------------------------------------------------------------------------- */

struct rps_region *rps_region_state_find(const struct rps_region_state *state, const char *name)
{
    for (struct rps_region *region = state->first; region; region = region->next)
        if (strncmp(region->name, name, sizeof(region->name) - 1) == 0)
            return region;
    return NULL;
}

/* The region of that name, made when it is new; NULL without memory. The state is locked. */
static struct rps_region *need_region(const char *name)
{
    struct rps_region *region = rps_region_state_find(&process.state, name);

    if (region)
        return region;
    region = calloc(1, sizeof(*region));
    if (!region)
        return NULL;
    memcpy(region->name, name, strnlen(name, sizeof(region->name) - 1));
    region->marking = process.marks_fd >= 0;
    *process.last = region;
    process.last = &region->next;
    return region;
}

static unsigned bucket_of(const char *name)
{
    unsigned hash = 2166136261;

    for (int i = 0; i < RPS_REGION_NAME_SIZE - 1 && name[i]; i++)
        hash = (hash ^ (unsigned char)name[i]) * 16777619;
    return (hash ^ hash >> 16) % BUCKETS;
}

static struct entry *find_entry(const struct thread *thread, const char *name)
{
    struct entry *entry = thread->entry[bucket_of(name)];

    while (entry && strncmp(entry->region->name, name, RPS_REGION_NAME_SIZE - 1) != 0)
        entry = entry->next;
    return entry;
}

/* First entry of a region in this thread; the first of a thread joins it. NULL without memory. */
static struct entry *new_entry(const char *name)
{
    struct entry *entry = calloc(1, sizeof(*entry)), **link;
    struct thread *thread;

    lock_process();
    open_state(NULL);
    thread = own() ? own() : join_thread();
    if (entry && thread)
        entry->region = need_region(name);
    if (!entry || !thread || !entry->region) {
        free(entry);
        entry = NULL;
    } else {
        pthread_mutex_lock(&thread->lock);
        link = &thread->entry[bucket_of(name)];
        entry->next = *link;
        *link = entry;
        pthread_mutex_unlock(&thread->lock);
    }
    pthread_mutex_unlock(&process.lock);
    return entry;
}

static void mark(struct rps_region *region, enum rps_region_wire_kind kind, int64_t time_ns)
{
    pthread_mutex_lock(&process.lock);
    if (process.marks_fd >= 0) {
        rps_marks_add(&region->marks, process.marks_fd, region->name, kind, time_ns);
        for (struct rps_region *other = process.state.first; other; other = other->next)
            rps_marks_flush(&other->marks, process.marks_fd, other->name, time_ns);
    }
    if (region->marks.muted || process.marks_fd < 0)
        atomic_store_explicit(&region->marking, 0, memory_order_relaxed);
    pthread_mutex_unlock(&process.lock);
}

void rps_region_begin(const char *name)
{
    int number = errno;
    struct entry *entry = own() && name ? find_entry(own(), name) : NULL;

    if (!entry && name)
        entry = new_entry(name);
    if (entry && entry->depth++ == 0) {
        if (atomic_load_explicit(&entry->region->marking, memory_order_relaxed))
            mark(entry->region, RPS_REGION_WIRE_BEGIN, rps_clock_monotonic_ns());
        entry->begin_ns = rps_clock_monotonic_ns();
        rps_counters_read(&own()->counters, &entry->begin);
    }
    errno = number;
}

void rps_region_end(const char *name)
{
    struct rps_counters_sample end;
    struct thread *thread = own();
    struct entry *entry;
    int number = errno;
    int64_t end_ns;

    if (!thread || !name)
        return;
    rps_counters_read(&thread->counters, &end);
    end_ns = rps_clock_monotonic_ns();
    entry = find_entry(thread, name);
    if (entry && entry->depth > 0 && --entry->depth == 0) {
        pthread_mutex_lock(&thread->lock);
        add_entry(&entry->sums, &entry->begin, &end, end_ns - entry->begin_ns);
        pthread_mutex_unlock(&thread->lock);
        if (atomic_load_explicit(&entry->region->marking, memory_order_relaxed))
            mark(entry->region, RPS_REGION_WIRE_END, end_ns);
    }
    errno = number;
}
