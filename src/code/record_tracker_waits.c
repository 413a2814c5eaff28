/* Measures how long threads are off the CPU, and where.
 *
 * - Each wait has its own length, from the switch that takes a thread off its CPU to the switch
 *   that brings it back. The switches of all threads are read.
 * - That length includes the run queue after the wake-up. schedstat has the time that a thread
 *   spent on CPUs and in run queues; in all other time since its start, the thread slept. If the
 *   records show more sleep than schedstat, the next waits are shortened by the excess. If the
 *   records show less sleep, the missing sleep is unknown.
 * - If there are too many switches to read, each reading of schedstat shows how long the thread
 *   slept since the previous reading. /proc shows where the thread sleeps now.
 * - Stacks are taken only in some windows. In other windows, the place of a wait is a hash of the
 *   kernel's addresses, the instruction and the stack pointer. The wait gets a stack that its
 *   thread had at that place. If there is none, the wait gets a stack that another thread of the
 *   process had at the same place. Since the stacks of two threads begin at different pages, the
 *   hash for this search uses only the stack pointer's position in its page.
 * - A thread that slept before the recording began has no record. /proc shows the instruction and
 *   the stack pointer of its system call; the callers are in the thread's memory. The kernel's
 *   functions are missing, since /proc does not show their addresses. */
#include "record_tracker_waits.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record_maps.h"
#include "rpistat/clock.h"
#include "rpistat/proc.h"

/* Maximum number of places in a table. A later place replaces an earlier place that has the same
 * remainder modulo PLACES. */
#define PLACES 64

/* All records of one switch arrive within this time. */
#define SAME_SWITCH_NS RPS_NS_PER_MS

/* Number of bytes that are read from the top of a stack. Samples have copies of the same size. */
#define STACK_BYTES 8192

/* Maximum number of successive readings of a thread's system call. A thread that switches often is
 * rarely asleep during a reading. */
#define LOOKS_MAX 4

/* If two readings are further apart than this time, the sleep between them is unknown. */
#define SAMPLED_WITHIN_NS RPS_NS_PER_S

/* A thread counts as asleep between readings if it was awake for at most this share of the time. */
#define AWAKE_MAX .02

/* A difference up to this share of a thread's sleep is not reported as unknown. A threshold of 2 %
 * made the reported sleep of threads with lost records 2 % too short. */
#define UNKNOWN_THRESHOLD .005

struct rps_tracker_place {
    uint64_t place; /* 0 if the entry is empty. */
    int64_t stack;
};

/* Find how long a thread without a recorded wait has slept before a reading. If all switches are
 * read, and a sleeping thread has no record since then, it has slept since reading of switches
 * began. While no switches are read, schedstat has the sleep since the previous reading. This sleep
 * is assigned to the place of the current reading. Readings are made at random times, so over many
 * readings each place gets its share of the sleep. */
static void find_unseen(struct rps_tracker *tracker, struct rps_tracker_waits *waits,
                        const struct rps_tracker_reading *now)
{
    struct rps_tracker_reading *before = &waits->sampled;
    const int64_t slept_ns = now->asleep_ns - before->asleep_ns, since_ns = tracker->complete_ns;
    const int is_first = before->time_ns == 0 || now->time_ns - before->time_ns > SAMPLED_WITHIN_NS;
    const int has_stack = now->stack != RPS_TRACKER_NO_STACK;

    if (!tracker->lacks_switches) {
        before->time_ns = 0;
        if (waits->record_ns >= since_ns || now->time_ns <= since_ns ||
            !(has_stack || waits->book.is_asleep))
            return;
        waits->is_waiting = 1;
        waits->record_ns = waits->began_ns = waits->sent_ns = since_ns;
        waits->doubt_ns = 0;
        waits->stack = now->stack;
        return;
    }
    if (!is_first && has_stack && slept_ns > 0) {
        waits->slept_ns += slept_ns;
        tracker->sink.blocked(tracker->sink.context, now->time_ns - slept_ns, now->time_ns,
                              waits->cpu, now->stack);
    }
    if (is_first || has_stack)
        *before = *now;
}

/* Compare a reading with the records. All records from before the reading have arrived. */
static void compare(struct rps_tracker *tracker, struct rps_tracker_waits *waits,
                    const struct rps_tracker_reading *reading)
{
    struct rps_tracker_book *book = &waits->book;
    const int64_t came_ns = reading->asleep_ns - book->latest.asleep_ns;
    int64_t slept_ns;

    book->is_asleep =
        book->is_known &&
        (double)came_ns >= (1 - AWAKE_MAX) * (double)(reading->time_ns - book->latest.time_ns);
    if (!waits->is_waiting)
        find_unseen(tracker, waits, reading);
    slept_ns = waits->slept_ns;
    if (waits->is_waiting && waits->began_ns < reading->time_ns)
        slept_ns += reading->time_ns - waits->began_ns;
    if (book->is_known) {
        book->total_ns += came_ns;
        book->missing_ns += came_ns - (slept_ns - book->slept_ns);
        book->unsure_ns = 0;
    }
    book->is_known = 1;
    book->latest = *reading;
    book->slept_ns = slept_ns;
}

void rps_tracker_waits_settle(struct rps_tracker *tracker, struct rps_tracker_waits *waits,
                              int64_t time_ns)
{
    struct rps_tracker_book *book = &waits->book;
    int done = 0;

    while (done < book->count && book->reading[done].time_ns <= time_ns)
        compare(tracker, waits, &book->reading[done++]);
    book->count -= done;
    memmove(book->reading, book->reading + done, (size_t)book->count * sizeof(*book->reading));
}

void rps_tracker_waits_check(struct rps_tracker_waits *waits, int64_t time_ns, int64_t cpu_ns,
                             int64_t queue_ns, int64_t stack)
{
    struct rps_tracker_book *book = &waits->book;

    if (book->count < RPS_TRACKER_READINGS)
        book->reading[book->count++] =
            (struct rps_tracker_reading){time_ns, time_ns - cpu_ns - queue_ns, stack};
    book->read_ns = time_ns;
}

void rps_tracker_waits_forget(struct rps_tracker *tracker, struct rps_tracker_waits *waits,
                              int64_t time_ns)
{
    rps_tracker_waits_settle(tracker, waits, time_ns);
    waits->book.is_known = waits->book.count = 0;
}

int64_t rps_tracker_waits_unknown(const struct rps_tracker_waits *waits)
{
    const struct rps_tracker_book *book = &waits->book;
    int64_t unknown_ns = book->missing_ns + book->cut_ns + book->unsure_ns;

    return (double)unknown_ns > UNKNOWN_THRESHOLD * (double)book->total_ns && unknown_ns > 0
               ? unknown_ns
               : 0;
}

int rps_tracker_waits_times(const char *proc, pid_t tid, int64_t *ret_cpu_ns, int64_t *ret_queue_ns)
{
    char text[96];

    rps_proc_read(text, sizeof(text), "%s/%ld/schedstat", proc, (long)tid);
    return sscanf(text, "%" SCNd64 " %" SCNd64, ret_cpu_ns, ret_queue_ns) == 2 ? 0 : -1;
}

/* Copy the memory of a thread from an address on. Return the number of bytes read. */
static size_t read_memory(const char *proc, pid_t tid, uint64_t address, void *ret, size_t size)
{
    char path[128];
    ssize_t got = -1;
    int fd;

    snprintf(path, sizeof(path), "%s/%ld/mem", proc, (long)tid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        got = pread(fd, ret, size, (off_t)address);
        close(fd);
    }
    return got > 0 ? (size_t)got : 0;
}

/* Return a sleeping thread's stack. RPS_TRACKER_NO_STACK: the thread runs, or may not be read. */
static int64_t read_stack(struct rps_tracker *tracker, const struct rps_space *space,
                          const char *proc, const struct rps_sample *of)
{
    struct rps_tracker_chain chain = {.count = 0};
    struct rps_sample sample = *of;
    unsigned char copy[STACK_BYTES];
    uint64_t at[2]; /* Stack pointer and instruction. */
    int is_asleep = 0;
    char text[256];

    for (int looks = 0; !is_asleep && looks < LOOKS_MAX; looks++) {
        rps_proc_read(text, sizeof(text), "%s/%ld/syscall", proc, (long)of->tid);
        is_asleep =
            sscanf(text, "%*d %*x %*x %*x %*x %*x %*x %" SCNx64 " %" SCNx64, &at[0], &at[1]) == 2;
    }
    if (!is_asleep)
        return RPS_TRACKER_NO_STACK;
    sample.address = &at[1];
    sample.address_count = 1;
    sample.registers = (struct rps_sample_registers){
        at, RPS_UNWIND_PLACE, copy, read_memory(proc, of->tid, at[0], copy, sizeof(copy))};
    return rps_tracker_find_chain(tracker, &sample, space, &chain) < 0
               ? RPS_TRACKER_NO_STACK
               : rps_tracker_add_stacks(tracker, &chain);
}

int rps_tracker_waits_read(struct rps_tracker *tracker, struct rps_tracker_waits *waits,
                           const struct rps_space *space, const char *proc,
                           const struct rps_sample *of)
{
    const int is_unseen = waits->record_ns < tracker->complete_ns;
    int64_t cpu_ns, queue_ns, stack = RPS_TRACKER_NO_STACK;

    if (waits->record_ns < waits->book.read_ns && !tracker->lacks_switches && !is_unseen &&
        waits->doubt_ns == 0)
        return 0;
    if (tracker->lacks_switches || (!waits->is_waiting && is_unseen))
        stack = read_stack(tracker, space, proc, of);
    if (rps_tracker_waits_times(proc, of->tid, &cpu_ns, &queue_ns) == 0)
        rps_tracker_waits_check(waits, of->time_ns, cpu_ns, queue_ns, stack);
    return 1;
}

/* Return the number of an unknown stack. */
static int64_t add_unknown(struct rps_tracker *tracker)
{
    static const struct rps_space nothing = {0};
    const struct rps_sample sample = {.kind = RPS_SAMPLE_WAIT};
    struct rps_tracker_chain chain = {.count = 0};

    return rps_tracker_find_chain(tracker, &sample, &nothing, &chain) < 0
               ? RPS_TRACKER_NO_STACK
               : rps_tracker_add_stacks(tracker, &chain);
}

static void hand_over(struct rps_tracker *tracker, struct rps_tracker_waits *waits,
                      int64_t until_ns)
{
    const int64_t from_ns = waits->sent_ns;
    int64_t excess_ns, stack = waits->stack;

    if (!waits->is_waiting || until_ns <= from_ns)
        return;
    waits->sent_ns = until_ns;
    excess_ns = -waits->book.missing_ns - waits->book.cut_ns;
    excess_ns = excess_ns < 0 ? 0 : excess_ns < until_ns - from_ns ? excess_ns : until_ns - from_ns;
    waits->book.cut_ns += excess_ns;
    if (stack == RPS_TRACKER_NO_STACK)
        stack = add_unknown(tracker);
    if (stack != RPS_TRACKER_NO_STACK && until_ns - excess_ns > from_ns)
        tracker->sink.blocked(tracker->sink.context, from_ns, until_ns - excess_ns, waits->cpu,
                              stack);
}

void rps_tracker_waits_send(struct rps_tracker *tracker, struct rps_tracker_waits *waits,
                            int64_t until_ns)
{
    rps_tracker_waits_settle(tracker, waits, until_ns);
    if (waits->doubt_ns == 0 ||
        (waits->book.is_asleep && waits->book.latest.time_ns > waits->doubt_ns))
        hand_over(tracker, waits, until_ns);
}

void rps_tracker_waits_begin(struct rps_tracker *tracker, struct rps_tracker_waits *waits,
                             int64_t time_ns, int32_t cpu, int64_t stack)
{
    rps_tracker_waits_settle(tracker, waits, time_ns);
    waits->record_ns = time_ns;
    waits->cpu = cpu;
    if (waits->is_waiting && time_ns - waits->began_ns < SAME_SWITCH_NS) {
        if (stack != RPS_TRACKER_NO_STACK)
            waits->stack = stack;
        return;
    }
    /* A waiting thread was on a CPU without a record, so its wait began at an unknown time. */
    if (waits->is_waiting)
        waits->book.unsure_ns += time_ns - waits->sent_ns;
    waits->is_waiting = 1;
    waits->began_ns = waits->sent_ns = time_ns;
    waits->doubt_ns = 0;
    waits->stack = stack;
}

void rps_tracker_waits_end(struct rps_tracker *tracker, struct rps_tracker_waits *waits,
                           int64_t time_ns)
{
    rps_tracker_waits_settle(tracker, waits, time_ns);
    hand_over(tracker, waits, time_ns);
    if (waits->is_waiting && time_ns > waits->began_ns)
        waits->slept_ns += time_ns - waits->began_ns;
    waits->is_waiting = 0;
}

int64_t rps_tracker_places_find(const struct rps_tracker_place *places, uint64_t place)
{
    return places && place != 0 && places[place % PLACES].place == place
               ? places[place % PLACES].stack
               : RPS_TRACKER_NO_STACK;
}

void rps_tracker_places_keep(struct rps_tracker_place **places, uint64_t place, int64_t stack)
{
    if (place == 0 || (!*places && !(*places = calloc(PLACES, sizeof(**places)))))
        return;
    (*places)[place % PLACES] = (struct rps_tracker_place){place, stack};
}
