/* Implement regions: the functions begin and end, the data of threads, and the sums over threads.
 *
 * Only this file of rpistat has global state, which is not passed to functions as an argument. A
 * region begins and ends deep inside a user's program, which has no handle to pass. The known
 * libraries for this purpose (PAPI, LIKWID) also identify regions by name alone. The state is one
 * struct that a lock protects, and one pointer per thread. The first version used handles, but then
 * every function of the user's program had to pass on a handle.
 *
 * SAFETY: begin and end need no shared lock. Each thread has separate entries. At the end of an
 * entry, sums are added under the thread's lock, which only reports also use. If nobody uses
 * regions, begin and end are not called, because the macros in rpistat/region.h check
 * rps_region_quiet.
 *
 * If an open region begins again, the new entry may be nested in the open entry. Or the open entry
 * was left without its end (by longjmp, an exception, a return). In some cases, the stack shows
 * which of the two is true. If the new begin is at the same code address and stack depth, or at a
 * smaller depth, the open entry was left. In other cases, both entries are kept. Inner entries are
 * kept as sums, and are counted until the outermost entry ends. */
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

/* Number of nested levels that have sums: the outermost and the next. Deeper levels have none. */
#define LEVELS 2

/* A position of the program: an address in its code, and its stack, which grows downwards. */
struct place {
    uintptr_t code, stack;
};

struct begin {
    struct place place;
    int64_t time_ns;
    struct rps_counters_sample sample;
};

/* The entries of a region in one thread. */
struct entry {
    struct entry *next;
    struct rps_region *region;
    atomic_int depth; /* number of entries that have begun and not ended */
    struct begin begin[LEVELS];
    struct rps_sums sums[LEVELS]; /* sums, under the thread's lock; [1]: inner entries */
};

struct thread {
    struct thread *next;
    pthread_mutex_t lock; /* lock that protects the sums of the entries and the list of entries */
    struct rps_counters counters;
    struct entry *entry[BUCKETS], *recent;
};

int rps_region_quiet;

static struct {
    pthread_mutex_t lock; /* lock that protects all members except the data of threads */
    pthread_once_t once;
    pthread_key_t key; /* key whose destructor runs at the end of each thread */
    int asked;         /* 1 if rpistat has searched for a recorder */
    int marks_fd;      /* socket to the recorder; -1: none */
    struct rps_region_state state;
    struct rps_region **last; /* pointer to which the next region is appended */
    struct thread *thread;
    atomic_uint generation; /* number of times that all data were discarded */
} process = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .once = PTHREAD_ONCE_INIT,
    .marks_fd = -1,
};

static _Thread_local struct thread *own_thread;
static _Thread_local unsigned own_generation;

/* Return this thread's record, or NULL if it has no valid record. */
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
    to->left += from->left;
    to->open += from->open;
    to->elapsed_ns += from->elapsed_ns;
    to->enabled_ns += from->enabled_ns;
    to->running_ns += from->running_ns;
    to->lost |= from->lost;
    for (int i = 0; i < RPS_COUNTERS_MAX; i++)
        to->value[i] += from->value[i];
}

/* Return end - begin, or 0 if negative: times read in different ways may differ by a few ns. */
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

/* SAFETY: the caller holds the thread's lock. Add a thread's sums; `over` is 1 if it has ended. */
static void add_thread_sums(struct rps_sums *to, const struct entry *entry, int over)
{
    add_sums(to, &entry->sums[0]);
    if (entry->depth == 0)
        return;
    add_sums(to, &entry->sums[1]);
    to->left += over != 0;
    to->open += over == 0;
}

void rps_region_state_sum(const struct rps_region *region, struct rps_sums *ret)
{
    *ret = region->ended;
    for (struct thread *thread = process.thread; thread; thread = thread->next) {
        pthread_mutex_lock(&thread->lock);
        for (int i = 0; i < BUCKETS; i++)
            for (const struct entry *entry = thread->entry[i]; entry; entry = entry->next)
                if (entry->region == region)
                    add_thread_sums(ret, entry, 0);
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

/* At the end of a thread, add the thread's sums to the regions. */
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
                add_thread_sums(&entry->region->ended, entry, 1);
        free_thread(thread, 0);
    }
    own_thread = NULL;
    pthread_mutex_unlock(&process.lock);
}

/* SAFETY: the caller has locked the state. Open this thread's counters, if events are counted. */
static void open_counters(struct thread *thread)
{
    struct rps_region_choice *choice = &process.state.choice;
    struct rps_error err;

    if (!choice->plan)
        return;
    if (rps_counters_open(&thread->counters, choice->plan, choice->set, &err) < 0) {
        if (!strstr(choice->problem, err.message))
            rps_choice_complain(choice, "%s", err.message);
        return;
    }
    process.state.from_user =
        thread->counters.from_user && (!process.state.counting || process.state.from_user);
    process.state.counting = 1;
}

/* SAFETY: the caller has locked the state. Return this thread's record; NULL if memory runs out. */
static struct thread *join_thread(void)
{
    struct thread *thread = own();

    if (thread)
        return thread;
    thread = calloc(1, sizeof(*thread));
    if (!thread)
        return NULL;
    pthread_mutex_init(&thread->lock, NULL);
    open_counters(thread);
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

static unsigned bucket_of(const char *name)
{
    unsigned hash = 2166136261;

    for (int i = 0; i < RPS_REGION_NAME_SIZE - 1 && name[i]; i++)
        hash = (hash ^ (unsigned char)name[i]) * 16777619;
    return (hash ^ hash >> 16) % BUCKETS;
}

static void link_entry(struct thread *thread, struct entry *entry)
{
    struct entry **link = &thread->entry[bucket_of(entry->region->name)];

    entry->next = *link;
    *link = entry;
}

static void unlink_entry(struct thread *thread, const struct entry *entry)
{
    struct entry **link = &thread->entry[bucket_of(entry->region->name)];

    while (*link != entry)
        link = &(*link)->next;
    *link = entry->next;
    thread->recent = NULL;
}

/* Set *least to the minimum of both. Ignore counts if another program used the counters. */
static void take_least(struct rps_sums *least, const struct rps_sums *one)
{
    if (least->entered == 0 || one->elapsed_ns < least->elapsed_ns)
        least->elapsed_ns = one->elapsed_ns;
    least->enabled_ns = least->running_ns = least->elapsed_ns;
    least->entered = 1;
    if (one->running_ns < one->enabled_ns)
        return;
    for (int c = 0; c < RPS_COUNTERS_MAX; c++)
        if (least->lost & (UINT32_C(1) << c) || one->value[c] < least->value[c])
            least->value[c] = one->value[c];
    least->lost = one->lost;
}

static void subtract_sums(struct rps_sums *from, const struct rps_sums *sums)
{
    from->elapsed_ns = growth(from->elapsed_ns, sums->elapsed_ns);
    from->enabled_ns = from->running_ns = from->elapsed_ns;
    for (int c = 0; c < RPS_COUNTERS_MAX; c++)
        from->value[c] = growth(from->value[c], sums->value[c]);
}

/* Measure how much an entry adds to its own values, and to the values of a region around it. The
 * overhead is the minimum over several entries, which are made in the same way as the entries of a
 * program. The regions of these entries are not in the list of regions. The caller may hold the
 * lock of the state, because begin and end do not take it for an existing entry without marks. */
static void measure_empty(struct thread *thread)
{
    struct rps_region region[2] = {{.name = "around"}, {.name = "empty"}};
    struct entry around = {.region = &region[0]}, empty = {.region = &region[1]};

    process.state.empty = process.state.around = (struct rps_sums){.lost = ~UINT32_C(0)};
    link_entry(thread, &around);
    link_entry(thread, &empty);
    for (int i = 0; i < EMPTY_ENTRIES; i++) {
        memset(around.sums, 0, sizeof(around.sums));
        memset(empty.sums, 0, sizeof(empty.sums));
        rps_region_begin("around");
        rps_region_begin("empty");
        rps_region_end("empty");
        rps_region_end("around");
        take_least(&process.state.around, &around.sums[0]);
        take_least(&process.state.empty, &empty.sums[0]);
    }
    unlink_entry(thread, &empty);
    unlink_entry(thread, &around);
    subtract_sums(&process.state.around, &process.state.empty);
}

static void set_quiet(int quiet)
{
    __atomic_store_n(&rps_region_quiet, quiet, __ATOMIC_RELAXED);
}

/* SAFETY: the caller has locked the state. Search for a recorder. */
static void find_recorder(void)
{
    if (process.asked)
        return;
    process.asked = 1;
    process.last = &process.state.first;
    process.marks_fd = rps_marks_connect(getpid(), "/proc");
    set_quiet(process.marks_fd < 0 && !process.state.opened);
}

/* SAFETY: the caller has locked the state. Choose the events and begin to count. */
static int open_state(const char *sets)
{
    struct thread *thread;
    int result;

    if (process.state.opened)
        return process.state.choice.plan ? 0 : -1;
    find_recorder();
    process.state.opened = 1;
    result = rps_choice_make(&process.state.choice, sets);
    set_quiet(0);
    thread = own();
    if (thread)
        open_counters(thread);
    else
        thread = join_thread();
    if (thread)
        measure_empty(thread);
    return result < 0 ? -1 : 0;
}

/* SAFETY: the caller has locked the state. Send held marks, and totals, before the program ends. */
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

/* In a child after fork(), discard the counters and results, because they belong to the parent. */
static void in_child(void)
{
    while (process.thread) {
        struct thread *thread = process.thread;

        process.thread = thread->next;
        free_thread(thread, 1);
    }
    set_own(NULL);
    free_regions();
    if (process.marks_fd >= 0) {
        close(process.marks_fd);
        process.asked = 0;
        find_recorder();
    }
    pthread_mutex_unlock(&process.lock);
}

/* SAFETY: the program ends. Do not wait for the lock, because a killed thread may hold it. */
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
    process.asked = 0;
    set_quiet(0);
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

/* SAFETY: the caller has locked the state. Find or add a region; NULL if memory runs out. */
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

static int is_named(const struct entry *entry, const char *name)
{
    return strncmp(entry->region->name, name, RPS_REGION_NAME_SIZE - 1) == 0;
}

/* Find a region's entry in this thread. Usually, this is the entry of the previous call. */
static struct entry *find_entry(struct thread *thread, const char *name)
{
    struct entry *entry = thread->recent;

    if (entry && is_named(entry, name))
        return entry;
    entry = thread->entry[bucket_of(name)];
    while (entry && !is_named(entry, name))
        entry = entry->next;
    if (entry)
        thread->recent = entry;
    return entry;
}

/* Add the first entry of a region in this thread. If this is the first entry in the thread, also
 * add the thread. Return NULL if nobody uses regions, or if memory runs out. */
static struct entry *new_entry(const char *name)
{
    struct entry *entry = NULL;
    struct rps_region *region = NULL;
    struct thread *thread = NULL;

    lock_process();
    find_recorder();
    if (process.state.opened || process.marks_fd >= 0)
        thread = join_thread();
    if (thread)
        region = need_region(name);
    if (region)
        entry = calloc(1, sizeof(*entry));
    if (entry) {
        entry->region = region;
        pthread_mutex_lock(&thread->lock);
        link_entry(thread, entry);
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

/* Return 1 if the open entry was left without its end, because it begins again at `here`. */
static int was_left(const struct begin *open, struct place here)
{
    return here.stack > open->place.stack ||
           (here.stack == open->place.stack && here.code == open->place.code);
}

/* A region begins at `here`. Close open entries left without their end; count them in `left`. */
static void give_up(struct thread *thread, struct entry *entry, struct place here)
{
    int level = 0;

    while (level < LEVELS && level < entry->depth && !was_left(&entry->begin[level], here))
        level++;
    if (level == LEVELS || level == entry->depth)
        return;
    pthread_mutex_lock(&thread->lock);
    entry->depth = level;
    entry->sums[level].left++;
    if (level == 0) {
        add_sums(&entry->sums[0], &entry->sums[1]);
        memset(&entry->sums[1], 0, sizeof(entry->sums[1]));
    }
    pthread_mutex_unlock(&thread->lock);
}

static void begin_at(const char *name, struct place here)
{
    int number = errno, depth;
    struct entry *entry = own() ? find_entry(own(), name) : NULL;
    struct begin *begin;

    if (!entry)
        entry = new_entry(name);
    if (!entry)
        goto done;
    if (entry->depth > 0)
        give_up(own(), entry, here);
    depth = entry->depth;
    atomic_store_explicit(&entry->depth, depth + 1, memory_order_relaxed);
    if (depth == 0 && atomic_load_explicit(&entry->region->marking, memory_order_relaxed))
        mark(entry->region, RPS_REGION_WIRE_BEGIN, rps_clock_monotonic_ns());
    if (depth < LEVELS) {
        begin = &entry->begin[depth];
        begin->place = here;
        begin->time_ns = rps_clock_monotonic_ns();
        rps_counters_read(&own()->counters, &begin->sample);
    }
done:
    errno = number;
}

/* End the innermost open entry. */
static void end_entry(struct thread *thread, struct entry *entry,
                      const struct rps_counters_sample *end, int64_t end_ns)
{
    const struct begin *begin;
    int depth;

    pthread_mutex_lock(&thread->lock);
    depth = entry->depth - 1;
    atomic_store_explicit(&entry->depth, depth, memory_order_relaxed);
    if (depth < LEVELS) {
        begin = &entry->begin[depth];
        add_entry(&entry->sums[depth], &begin->sample, end, end_ns - begin->time_ns);
    }
    if (depth == 0 && (entry->sums[1].entered | entry->sums[1].left))
        memset(&entry->sums[1], 0, sizeof(entry->sums[1]));
    pthread_mutex_unlock(&thread->lock);
    if (depth == 0 && atomic_load_explicit(&entry->region->marking, memory_order_relaxed))
        mark(entry->region, RPS_REGION_WIRE_END, end_ns);
}

/* The function must not be inlined, because the position would then be that of the calling
 * function. The parentheses prevent the use of the header's macros. */
__attribute__((noinline)) void(rps_region_begin)(const char *name)
{
    if (name)
        begin_at(name, (struct place){
                           .code = (uintptr_t)__builtin_return_address(0),
                           .stack = (uintptr_t)__builtin_frame_address(0),
                       });
}

__attribute__((noinline)) void(rps_region_end)(const char *name)
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
    if (entry && entry->depth > 0)
        end_entry(thread, entry, &end, end_ns);
    errno = number;
}
