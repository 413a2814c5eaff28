/* System metrics of a workload. For each thread schedstat and wchan are read, for each process
 * statm, io and fd.
 *
 * - A thread that has not run since the previous reading still sleeps in the same place. Its wchan
 *   is read again only once per second, but in state D at each reading. The io of a process without
 *   running threads is not read.
 *   Hence a thread that wakes up and waits for a CPU may count as asleep for a second.
 * - The kernel counts a wait for a CPU when the wait ends. An unfinished wait is counted up to each
 *   reading if the thread is ready now, was ready at an earlier reading, and has not run since
 *   then.
 * - If a thread moves to another CPU while it falls asleep, Linux 6.12 and later counts the whole
 *   sleep as a wait when the thread wakes up. If the thread slept at the previous reading, rpistat
 *   therefore counts only the time since that reading.
 * - When a parent has waited for a process, the parent's io includes the totals of the process.
 *   The totals that were already counted are therefore subtracted from the parent's increase. The
 *   first reading without the process, or the next one, does this. If the parent has also ended,
 *   the totals are in the parent of the parent. The totals are lost if the parent ignores the end
 *   of the process, or does not belong to the workload.
 * - Files of a thread that has already ended are not opened.
 * - A thread that waits in futex is idle if it hardly ran in the last one to two seconds, or since
 *   its first reading. A thread that waits for a lock differs: the kernel wakes it when the lock is
 *   free, and it uses CPU time between waits. A parked thread of a pool is not woken and uses no
 *   CPU time.
 * - A thread that waits for a mutex or a rwlock is never idle, however long it waits. The
 *   arguments of futex show the lock: the C library passes a "locked, with waiters" value.
 * - The first thread of a process is idle while it waits for the end of another thread. In this
 *   case the value that it passes to futex is the number of the other thread. Other threads that
 *   wait for the end of a thread do not count as idle, because finding them would require reading
 *   all waits in futex.
 * - A wait in futex with a timeout is a sleep in timers: in the first thread of a process, in the
 *   thread that it joins, and in any thread if no other thread is parked without a timeout. In other
 *   processes it may be housekeeping of a runtime, and idle: half of the JVM's own threads wait with
 *   timeouts. So do threads of the JVM that wait for a monitor, even in a deadlock. After a busy
 *   time, a wait is a sleep from its second reading on. */
#include "system_proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rpistat/arena.h"
#include "rpistat/clock.h"
#include "rpistat/proc.h"

/* Time after which the RSS and the descriptors of an idle process are read again. The kernel may
 * have reduced the RSS, and another process may share the descriptors. */
#define LEVEL_AGAIN_NS RPS_NS_PER_S

/* A flag in stat: the task is ending. */
#define PF_EXITING 4u

/* Time after which a sleeping thread is checked again: it may now be awake and wait for a CPU. */
#define DOING_AGAIN_NS RPS_NS_PER_S

/* Number of readings without a thread after which the thread's end event counts as lost. */
#define GONE_MAX 3

/* Limits for an idle thread: runs and run time, measured from a time one to two IDLE_NS ago. The
 * limit TIMED_RUNS is for waits with a timeout: a thread of the JVM wakes up each 50 ms, and a
 * thread that waits for the lock of Python's interpreter each 5 ms. */
#define IDLE_NS     RPS_NS_PER_S
#define IDLE_RUNS   2
#define TIMED_RUNS  64
#define IDLE_RUN_NS (IDLE_NS / 20)

#define LOCK_PI2     13  /* FUTEX_LOCK_PI2, since Linux 5.14 */
#define FUTEX_TIME64 422 /* number of futex_time64, on 32-bit systems */
#define FUTEX_WAITV  449 /* number of futex_waitv, since Linux 5.16 */

#define BIT(slot) (UINT32_C(1) << (slot))

/* Groups of slots that come from one file. */
#define TIME_SLOTS (BIT(RPS_TREE_RUNNING) | BIT(RPS_TREE_WAIT))
#define REASON_SLOTS                                                                               \
    (BIT(RPS_TREE_IN_IO) | BIT(RPS_TREE_IN_LOCK) | BIT(RPS_TREE_IN_MESSAGE) |                      \
     BIT(RPS_TREE_IN_TIMER) | BIT(RPS_TREE_IN_CHILD) | BIT(RPS_TREE_IN_OTHER))
#define LEVEL_SLOTS (BIT(RPS_TREE_RSS) | BIT(RPS_TREE_FDS)) /* values per process */
#define FUTEX_SLOTS (BIT(RPS_TREE_IDLE) | BIT(RPS_TREE_FUTEX))
#define GAUGE_SLOTS (REASON_SLOTS | FUTEX_SLOTS | BIT(RPS_TREE_THREADS) | LEVEL_SLOTS)
#define IO_SLOTS                                                                                   \
    (BIT(RPS_TREE_READ) | BIT(RPS_TREE_WRITTEN) | BIT(RPS_TREE_DISK_READ) |                        \
     BIT(RPS_TREE_DISK_WRITTEN))

/* Activity of a thread: one of the slots IN_IO to IN_OTHER, IDLE, or one of these values. */
enum {
    AWAKE = RPS_SYSTEM_SLOT_MAX, /* the thread runs, or waits for a CPU */
    HIDDEN,                      /* the thread sleeps for an unknown reason */
    ENDED,                       /* the thread has ended, and was not waited for */
};

/* Reason for a wait in futex. UNREAD: not yet read; OTHER: none of the known reasons. */
enum futex_wait { NONE, UNREAD, LOCK, JOIN, OTHER, UNREADABLE };

struct rps_system_process {
    struct rps_system_process *next, *previous;
    struct rps_system_process *parent; /* parent in the workload, or NULL */
    int users;                         /* number of users: the tree, threads and children */
    pid_t pid;
    size_t threads;
    uint64_t turn;  /* with control groups: last reading that found the process */
    int is_old;     /* 1 if older than the counting: its counts before that are excluded */
    int is_read;    /* 1 if the io of the process was read once */
    int is_hidden;  /* 1 if the io of the process may not be read */
    int is_gone;    /* 1 if the process was waited for */
    int is_dropped; /* 1 if perf no longer counts the process and sends no events */
    int has_run;    /* 1 if one of the threads has run since the previous reading */
    int has_parked; /* 1 if a thread other than the first one was parked without a timeout */
    pid_t joined;   /* thread for whose end the first thread waits, or 0 */
    int statm_fd, io_fd;
    int64_t ran_ns;                 /* time on CPUs in this reading */
    int64_t rss_kib, fds, level_ns; /* level_ns: time of reading rss_kib and fds; 0: never */
    int64_t io[RPS_IO_COUNT];
    int64_t grown[RPS_IO_COUNT];     /* increase in this reading */
    int64_t credit[2][RPS_IO_COUNT]; /* ended children's totals to subtract: from the previous
                                        and this reading */
};

struct rps_system_thread {
    pid_t tid;
    struct rps_system_process *process;
    int schedstat_fd, wchan_fd;
    int is_old, is_read, has_run;
    int gone; /* number of readings that did not find the thread */
    int doing;
    enum futex_wait wait;
    int is_timed;       /* 1 if this wait has a timeout */
    int is_in_futex;    /* 1 if the thread slept in futex, but not in timers, at the last reading */
    uint64_t turn;      /* last reading that found the thread; 0: none */
    int64_t since_ns;   /* time of the last reading, or of the thread's start */
    int64_t step_ns;    /* time between the last two readings */
    int64_t ran_ns;     /* time on CPUs between them */
    int64_t looked_ns;  /* time at which the activity was found */
    int64_t woken_ns;   /* when the thread was found ready after a sleep; 0 after it ran */
    int64_t pending_ns; /* counted part of an unfinished wait */
    int64_t time[RPS_TIMES], runs;
    struct mark {
        int64_t at_ns, running_ns, runs;
    } mark[2]; /* state at two times, in order of time; at_ns 0: no state */
};

/* --- what there is ---------------------------------------------------------------------------- */

RPS_ARRAY_BEFORE(is_before, struct rps_system_thread, .tid, <, pid_t)

static struct rps_system_thread *find(const struct rps_system_tree *tree, pid_t tid)
{
    size_t i =
        rps_array_find(tree->thread, tree->thread_count, sizeof(*tree->thread), is_before, &tid);

    return i < tree->thread_count && tree->thread[i].tid == tid ? &tree->thread[i] : NULL;
}

static void release(struct rps_system_process *process)
{
    while (process && --process->users == 0) {
        struct rps_system_process *parent = process->parent;

        free(process);
        process = parent;
    }
}

static struct rps_system_process *add_process(struct rps_system_tree *tree, pid_t pid,
                                              struct rps_system_process *parent)
{
    struct rps_system_process *process = calloc(1, sizeof(*process));

    if (!process)
        return NULL;
    *process = (struct rps_system_process){.previous = tree->last,
                                           .parent = parent,
                                           .users = 1,
                                           .pid = pid,
                                           .statm_fd = -1,
                                           .io_fd = -1};
    if (parent)
        parent->users++;
    *(tree->last ? &tree->last->next : &tree->first) = process;
    tree->last = process;
    return process;
}

static void remove_process(struct rps_system_tree *tree, struct rps_system_process *process)
{
    *(process->previous ? &process->previous->next : &tree->first) = process->next;
    *(process->next ? &process->next->previous : &tree->last) = process->previous;
    rps_system_file_close(&tree->files, &process->statm_fd);
    rps_system_file_close(&tree->files, &process->io_fd);
    process->is_gone = 1;
    release(process);
}

static struct rps_system_thread *add_thread(struct rps_system_tree *tree, pid_t tid,
                                            struct rps_system_process *process, int64_t time_ns)
{
    struct rps_system_thread *thread;
    size_t at = rps_array_find(tree->thread, tree->thread_count, sizeof(*thread), is_before, &tid);

    thread = rps_array_insert(&tree->thread, tree->thread_count, at, sizeof(*thread));
    if (!thread)
        return NULL;
    tree->thread_count++;
    *thread = (struct rps_system_thread){.tid = tid,
                                         .process = process,
                                         .schedstat_fd = -1,
                                         .wchan_fd = -1,
                                         .doing = AWAKE,
                                         .since_ns = time_ns};
    process->threads++;
    process->users++;
    return thread;
}

/* Remove a thread, and its process if this was the last thread and the process was never read. */
static void remove_thread(struct rps_system_tree *tree, struct rps_system_thread *thread)
{
    struct rps_system_process *process = thread->process;

    rps_system_file_close(&tree->files, &thread->schedstat_fd);
    rps_system_file_close(&tree->files, &thread->wchan_fd);
    memmove(thread, thread + 1,
            (size_t)(tree->thread + --tree->thread_count - thread) * sizeof(*thread));
    process->has_run = 1;
    if (--process->threads == 0 && !process->is_read)
        remove_process(tree, process);
    release(process);
}

static struct rps_system_process *find_process(const struct rps_system_tree *tree, pid_t pid)
{
    const struct rps_system_thread *leader = find(tree, pid);
    struct rps_system_process *process = tree->last;

    if (leader && leader->process->pid == pid)
        return leader->process;
    while (process && (process->pid != pid || process->threads == 0))
        process = process->previous;
    return process;
}

/* --- threads ---------------------------------------------------------------------------------- */

/* Words at the beginning of wchan or after a "_", and the activity that they show. */
static const struct {
    const char *word;
    enum rps_tree_slot slot;
} reasons[] = {
    {"io_schedule", RPS_TREE_IN_IO},
    {"folio_wait", RPS_TREE_IN_IO},
    {"wait_on_page", RPS_TREE_IN_IO},
    {"bit_wait", RPS_TREE_IN_IO},
    {"submit_bio", RPS_TREE_IN_IO},
    {"blk_", RPS_TREE_IN_IO},
    {"jbd2", RPS_TREE_IN_IO},
    {"wbt", RPS_TREE_IN_IO},
    {"rq_qos", RPS_TREE_IN_IO},
    {"dirty_buffer", RPS_TREE_IN_IO},
    {"futex", RPS_TREE_IN_LOCK},
    {"rwsem", RPS_TREE_IN_LOCK},
    {"mutex", RPS_TREE_IN_LOCK},
    {"pipe", RPS_TREE_IN_MESSAGE},
    {"poll", RPS_TREE_IN_MESSAGE},
    {"epoll", RPS_TREE_IN_MESSAGE},
    {"ep_", RPS_TREE_IN_MESSAGE},
    {"select", RPS_TREE_IN_MESSAGE},
    {"sk_", RPS_TREE_IN_MESSAGE},
    {"skb", RPS_TREE_IN_MESSAGE},
    {"unix_", RPS_TREE_IN_MESSAGE},
    {"tcp", RPS_TREE_IN_MESSAGE},
    {"inet", RPS_TREE_IN_MESSAGE},
    {"tty", RPS_TREE_IN_MESSAGE},
    {"wait_woken", RPS_TREE_IN_MESSAGE}, /* a read of TCP, terminals or inotify */
    {"nanosleep", RPS_TREE_IN_TIMER},
    {"sigtimed", RPS_TREE_IN_TIMER},
    {"do_wait_intr", RPS_TREE_IN_OTHER}, /* a wait for eventfd or timerfd */
    {"do_wait", RPS_TREE_IN_CHILD},
    {"vfork", RPS_TREE_IN_CHILD},
    {"kernel_clone", RPS_TREE_IN_CHILD},
    {"sigsuspend", RPS_TREE_IN_CHILD},
};

static int has_word(const char *text, const char *word)
{
    const char *at = text;

    while ((at = strstr(at, word)) && at > text && at[-1] != '_')
        at++;
    return at != NULL;
}

static int reason_of(const char *wchan)
{
    for (size_t i = 0; i < RPS_COUNT(reasons); i++)
        if (has_word(wchan, reasons[i].word))
            return (int)reasons[i].slot;
    return RPS_TREE_IN_OTHER;
}

struct task_stat {
    char state; /* 0 if the task has ended */
    pid_t parent;
    unsigned long flags;
};

static struct task_stat read_stat(struct rps_system_tree *tree, pid_t pid, pid_t tid)
{
    struct task_stat stat = {0};
    char text[512];
    int fd = -1;

    if (rps_system_task_read(&tree->files, &fd, pid, tid, "stat", text, sizeof(text)) > 0)
        stat = (struct task_stat){
            *rps_proc_stat_field(text, 3), (pid_t)atol(rps_proc_stat_field(text, 4)),
            *rps_proc_stat_field(text, 9) ? strtoul(rps_proc_stat_field(text, 9), NULL, 10)
                                          : PF_EXITING};
    rps_system_file_close(&tree->files, &fd);
    return stat;
}

static int is_alive(char state)
{
    return state != 0 && state != 'Z' && state != 'X';
}

/* Read the function in which a thread sleeps to *text. Returns 1, 0 without function, or -errno. */
static int read_wchan(struct rps_system_tree *tree, struct rps_system_thread *thread, char *text,
                      size_t size)
{
    ssize_t got = rps_system_task_read(&tree->files, &thread->wchan_fd, thread->process->pid,
                                       thread->tid, "wchan", text, size);

    return got < 0 ? (int)got : got > 0 && strcmp(text, "0") != 0;
}

/* Find a thread's activity. A wchan of "0" may mean that the thread runs, has ended, or is hidden
 * from other users. Linux 6.12 and later keeps a thread that falls asleep in the queue of its CPU
 * for a while, and then its wchan is "0", too. In one run of rm, this was more than half of state
 * D. The state is read only if the thread did not run most of the time. */
static int find_doing(struct rps_system_tree *tree, struct rps_system_thread *thread)
{
    int rc, turn = 0;
    char text[128], state;

    thread->wait = NONE;
    while ((rc = read_wchan(tree, thread, text, sizeof(text))) == 0) {
        if (thread->process->is_hidden)
            return HIDDEN;
        if (thread->is_read && thread->has_run && 2 * thread->ran_ns >= thread->step_ns)
            return AWAKE;
        state = read_stat(tree, thread->process->pid, thread->tid).state;
        if (state == 'D')
            return RPS_TREE_IN_IO;
        if (state == 'R' || (is_alive(state) && thread->is_read && thread->has_run))
            return AWAKE;
        if (!is_alive(state))
            return ENDED;
        if (turn++ > 0) /* the thread did not just fall asleep */
            return HIDDEN;
    }
    if (rc < 0)
        return rc == -ESRCH || rc == -ENOENT ? ENDED : HIDDEN;
    rc = reason_of(text);
    if (rc == RPS_TREE_IN_LOCK && has_word(text, "futex")) {
        thread->wait = UNREAD;
        thread->is_timed = 0;
    }
    if (rc == RPS_TREE_IN_OTHER && read_stat(tree, thread->process->pid, thread->tid).state == 'D')
        return RPS_TREE_IN_IO;
    return rc;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Return the part of a finished wait that is still to be added to the total. If the thread slept at
 * the previous reading, time before that reading is excluded. The time that was already added
 * (pending_ns) is also excluded. */
static int64_t ended_wait(const struct rps_system_thread *thread, int64_t wait_ns, int64_t now_ns)
{
    if (thread->doing < AWAKE)
        wait_ns = least(wait_ns, now_ns - thread->since_ns);
    else if (thread->woken_ns > 0)
        wait_ns = least(wait_ns, now_ns - thread->woken_ns);
    return wait_ns - thread->pending_ns;
}

/* Keep a mark that is one to two IDLE_NS old. If the thread has fewer runs than before, it is
 * another thread with the same number. */
static void put_mark(struct rps_system_thread *thread, struct mark now)
{
    struct mark *const mark = thread->mark;

    if (mark[1].at_ns == 0 || now.runs < mark[1].runs)
        mark[0] = mark[1] = now;
    if (now.at_ns - mark[1].at_ns < IDLE_NS)
        return;
    mark[0] = mark[1];
    mark[1] = now;
}

/* Return 1 if an operation of futex with this value waits for a mutex or a rwlock.
 *
 *   glibc  mutex 2 (FUTEX_WAIT), or the owner and FUTEX_WAITERS; rwlock 2 and 3
 *   others mutex 2 (Go, Rust), or FUTEX_WAITERS (musl)
 *
 * Condition variables, semaphores and joins wait with other values: 0, a count or a thread's
 * number. A condition variable of musl waits with 2, and is treated as a lock. */
static int is_lock_operation(uint32_t operation, uint32_t value)
{
    operation &= FUTEX_CMD_MASK;
    if (operation == FUTEX_LOCK_PI || operation == LOCK_PI2)
        return 1;
    if (operation != FUTEX_WAIT && operation != FUTEX_WAIT_BITSET)
        return 0;
    return (value & FUTEX_WAITERS) != 0 || value == 2 || (value == 3 && operation != FUTEX_WAIT);
}

/* Read why a thread waits in futex, and whether the wait has a timeout. */
static void read_futex_wait(struct rps_system_tree *tree, struct rps_system_thread *thread)
{
    const struct rps_system_thread *joined;
    unsigned long operation, value, timeout;
    char text[160];
    long call;
    int fd = -1;
    ssize_t got = rps_system_task_read(&tree->files, &fd, thread->process->pid, thread->tid,
                                       "syscall", text, sizeof(text));

    rps_system_file_close(&tree->files, &fd);
    thread->wait = got > 0 ? OTHER : UNREADABLE;
    if (got <= 0 || sscanf(text, "%ld %*x %lx %lx %lx", &call, &operation, &value, &timeout) < 4)
        return; /* if the file has fewer words, the thread is awake now */
    if (call != SYS_futex && call != FUTEX_TIME64 && call != FUTEX_WAITV) {
        thread->wait = UNREADABLE;
        return;
    }
    thread->is_timed = timeout != 0;
    if (call == FUTEX_WAITV)
        return; /* the other arguments differ */
    if (is_lock_operation((uint32_t)operation, (uint32_t)value)) {
        thread->wait = LOCK;
    } else if ((joined = find(tree, (pid_t)value)) && joined->process == thread->process) {
        thread->wait = JOIN;
        if (thread->tid == thread->process->pid)
            thread->process->joined = joined->tid;
    }
}

/* Return the activity of a thread that sleeps in futex. Its system call is read once per sleep. */
static int doing_in_futex(struct rps_system_tree *tree, struct rps_system_thread *thread)
{
    struct rps_system_process *const process = thread->process;
    const struct mark *const since = &thread->mark[0];
    const int uses_little =
        since->at_ns != 0 && thread->time[RPS_RUNNING] - since->running_ns <= IDLE_RUN_NS;
    const int is_main = thread->tid == process->pid || thread->tid == process->joined;
    int has_hardly_run, wakes;

    if (thread->wait == UNREAD && (uses_little || is_main || !thread->has_run))
        read_futex_wait(tree, thread);
    has_hardly_run =
        uses_little && thread->runs - since->runs <= (thread->is_timed ? TIMED_RUNS : IDLE_RUNS);
    process->has_parked |= !is_main && has_hardly_run && thread->wait == OTHER && !thread->is_timed;
    wakes = thread->is_timed && (is_main || !process->has_parked);
    thread->is_in_futex = !wakes;
    if (thread->wait == UNREADABLE)
        tree->missing |= BIT(RPS_TREE_FUTEX);
    if (wakes && thread->wait != LOCK &&
        (has_hardly_run || !thread->has_run || process->threads == 1))
        return RPS_TREE_IN_TIMER;
    return thread->wait == JOIN || (thread->wait >= OTHER && has_hardly_run) ? RPS_TREE_IDLE
                                                                             : RPS_TREE_IN_LOCK;
}

/* Read the thread's time on CPUs and its time waiting for CPUs. Returns 0 or -errno. */
static int read_times(struct rps_system_tree *tree, struct rps_system_thread *thread)
{
    char text[96];
    const char *at = text;
    int64_t now_ns = rps_clock_monotonic_ns(), time[RPS_TIMES], runs;
    ssize_t got =
        tree->lacks & TIME_SLOTS
            ? -ENOSYS
            : rps_system_task_read(&tree->files, &thread->schedstat_fd, thread->process->pid,
                                   thread->tid, "schedstat", text, sizeof(text));

    if (got < 0)
        return (int)got;
    for (int i = 0; i < RPS_TIMES; i++) {
        int64_t grown = (time[i] = (int64_t)rps_system_number(&at)) - thread->time[i];

        if (i == RPS_RUNNING)
            thread->ran_ns = grown;
        if (i == RPS_WAITING && grown > 0)
            grown = ended_wait(thread, grown, now_ns);
        /* A smaller value than before means an exec by another thread, which took this number. */
        if ((thread->is_read || !thread->is_old) && grown > 0) {
            tree->time[i].total += grown;
            thread->process->ran_ns += i == RPS_RUNNING ? grown : 0;
        }
    }
    runs = (int64_t)rps_system_number(&at);
    put_mark(thread, (struct mark){now_ns, time[RPS_RUNNING], runs});
    thread->has_run =
        !thread->is_read || runs != thread->runs || memcmp(time, thread->time, sizeof(time)) != 0;
    thread->process->has_run |= thread->has_run;
    memcpy(thread->time, time, sizeof(time));
    thread->runs = runs;
    thread->step_ns = now_ns - thread->since_ns;
    thread->since_ns = now_ns;
    if (thread->has_run)
        thread->woken_ns = thread->pending_ns = 0;
    return 0;
}

static void count_ended(struct rps_system_tree *tree, const struct rps_system_thread *thread,
                        int doing)
{
    if (doing == ENDED)
        return; /* the thread is already counted */
    tree->ended[RPS_TREE_THREADS]++;
    if (doing < AWAKE)
        tree->ended[doing]++;
    tree->ended[RPS_TREE_FUTEX] += thread->is_in_futex;
}

/* End a thread. The first and last thread of a process can be read until the process is waited for.
 * The number of another ended thread may belong to a new thread, even of another program. */
static void end_thread(struct rps_system_tree *tree, struct rps_system_thread *thread,
                       int64_t time_ns)
{
    if (thread->schedstat_fd >= 0 && thread->tid == thread->process->pid &&
        thread->process->threads == 1 && read_times(tree, thread) == 0)
        count_ended(tree, thread, thread->doing);
    if (thread->since_ns < tree->since_ns)
        thread->since_ns = tree->since_ns;
    if (time_ns > thread->since_ns)
        tree->unseen.total += time_ns - thread->since_ns;
    remove_thread(tree, thread);
}

/* --- events ----------------------------------------------------------------------------------- */

static void fork_thread(struct rps_system_tree *tree, const struct rps_system_event *event)
{
    struct rps_system_thread *old = find(tree, event->tid), *maker;
    struct rps_system_process *process = NULL;

    if (old && old->since_ns >= event->time_ns)
        return; /* the thread was found in /proc before this event */
    if (old)
        end_thread(tree, old, event->time_ns); /* the end event of the old thread was lost */
    maker = find(tree, event->parent_tid);
    if (event->tid != event->pid)
        process = maker && maker->process->pid == event->pid ? maker->process
                                                             : find_process(tree, event->pid);
    if (!process)
        process = add_process(tree, event->pid, maker ? maker->process : NULL);
    if (!process)
        return;
    old = add_thread(tree, event->tid, process, event->time_ns);
    if (old && event->time_ns < tree->since_ns)
        old->is_old = process->is_old = 1;
    if (!old && process->threads == 0)
        remove_process(tree, process);
}

/* Handle an exec. The event does not name the thread that became the new program. This thread now
 * has the first thread's number, and the first thread has usually ended before. */
static void exec_process(struct rps_system_tree *tree, const struct rps_system_event *event)
{
    struct rps_system_thread *thread = find(tree, event->tid);
    struct rps_system_process *process = thread ? thread->process : find_process(tree, event->pid);

    if (process)
        process->is_dropped = 0; /* the EXIT record before was that of the first thread */
    if (!process || (thread && process->threads == 1) ||
        (!thread && !(thread = add_thread(tree, event->tid, process, event->time_ns))))
        return;
    thread->is_read = 0;
    thread->is_old = 1;
    for (size_t i = tree->thread_count; i-- > 0;)
        if (tree->thread[i].process == process && tree->thread[i].tid != event->tid)
            end_thread(tree, &tree->thread[i], event->time_ns);
}

/* Return 1 if the process of an EXIT record continues. Linux also sends this record when it stops
 * counting a process that executes a program with other rights, and when a thread that is not the
 * first one executes a program. Only then, an exec record follows. */
static int goes_on(struct rps_system_tree *tree, pid_t pid)
{
    const struct task_stat stat = read_stat(tree, pid, 0);

    return is_alive(stat.state) && !(stat.flags & PF_EXITING);
}

void rps_system_tree_apply(struct rps_system_tree *tree, const struct rps_system_event *event)
{
    struct rps_system_thread *thread;

    if (event->kind == RPS_SAMPLE_FORK)
        fork_thread(tree, event);
    else if (event->kind == RPS_SAMPLE_NAME)
        exec_process(tree, event);
    else if (!(thread = find(tree, event->tid)))
        return;
    else if (event->tid == event->pid && goes_on(tree, event->pid))
        thread->process->is_dropped = 1;
    else
        end_thread(tree, thread, event->time_ns);
}

size_t rps_system_tree_left(struct rps_system_tree *tree, pid_t *ret_pid, size_t size)
{
    size_t count = 0;

    for (struct rps_system_process *one = tree->first; one; one = one->next)
        if (one->threads > 0 && !one->is_gone && goes_on(tree, one->pid)) {
            if (count < size)
                ret_pid[count] = one->pid;
            count++;
        }
    return count;
}

/* --- looking for threads ---------------------------------------------------------------------- */

/* Add a thread that was found. If is_old is 1, its earlier counts are excluded. */
static int found_thread(struct rps_system_tree *tree, struct rps_system_process *process, pid_t tid,
                        int is_old)
{
    struct rps_system_thread *thread = find(tree, tid);

    if (thread && thread->process != process) {
        remove_thread(tree, thread); /* the number was given to another thread */
        thread = NULL;
    }
    if (!thread) {
        thread = add_thread(tree, tid, process, rps_clock_monotonic_ns());
        if (!thread)
            return -1;
        thread->is_old = is_old;
    }
    thread->turn = tree->turn;
    return 0;
}

/* Open directory `path` below `at_fd`. Returns NULL and sets errno on failure. */
static DIR *open_folder(int at_fd, const char *path)
{
    const int fd = openat(at_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);

    if (!folder && fd >= 0)
        close(fd);
    return folder;
}

static int find_threads(struct rps_system_tree *tree, struct rps_system_process *process,
                        int is_old)
{
    struct dirent *entry;
    char path[32];
    DIR *folder;
    int rc = 0;

    snprintf(path, sizeof(path), "%ld/task", (long)process->pid);
    folder = open_folder(tree->files.folder_fd, path);
    while (rc == 0 && folder && (entry = readdir(folder)))
        if (isdigit((unsigned char)entry->d_name[0]))
            rc = found_thread(tree, process, (pid_t)atol(entry->d_name), is_old);
    if (folder)
        closedir(folder);
    return rc;
}

static void find_children(struct rps_system_tree *tree, pid_t tid,
                          struct rps_system_process *process)
{
    struct rps_system_process *child;
    char path[64], text[4096];
    size_t kept = 0;
    ssize_t got;
    pid_t pid;
    int fd;

    snprintf(path, sizeof(path), "%ld/task/%ld/children", (long)process->pid, (long)tid);
    fd = openat(tree->files.folder_fd, path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && (got = read(fd, text + kept, sizeof(text) - 1 - kept)) > 0) {
        const char *at = text;
        char *rest;

        text[kept + (size_t)got] = '\0';
        rest = strrchr(text, ' '); /* a space follows each number: remove the incomplete rest */
        if (!rest)
            break;
        *rest++ = '\0';
        while ((pid = (pid_t)rps_system_number(&at)) > 0)
            if (!find_process(tree, pid) && (child = add_process(tree, pid, process)))
                child->is_dropped = process->is_dropped;
        kept = strlen(rest);
        memmove(text, rest, kept);
    }
    if (fd >= 0)
        close(fd);
}

/* Add a process of a control group. A process that no other process of the group started was moved
 * into the group: its earlier counts are excluded. */
static void found_process(struct rps_system_tree *tree, pid_t pid)
{
    struct rps_system_process *process = find_process(tree, pid), *maker = NULL;
    int is_new = !process;

    if (is_new) {
        maker = find_process(tree, read_stat(tree, pid, 0).parent);
        if (!(process = add_process(tree, pid, maker)))
            return;
        process->is_old = tree->turn == 1 || !maker;
    }
    process->turn = tree->turn;
    find_threads(tree, process, is_new && process->is_old);
}

/* Find the processes of a group, and of the groups inside it. */
static void find_processes(struct rps_system_tree *tree, int folder_fd)
{
    const int list_fd = openat(folder_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
    FILE *list = list_fd < 0 ? NULL : fdopen(list_fd, "r");
    DIR *folder = open_folder(folder_fd, ".");
    struct dirent *entry;
    long pid;

    while (list && fscanf(list, "%ld", &pid) == 1)
        if (pid > 0) /* 0: this PID namespace has no number for the process */
            found_process(tree, (pid_t)pid);
    while (folder && (entry = readdir(folder))) {
        int below = entry->d_type == DT_DIR && entry->d_name[0] != '.'
                        ? openat(folder_fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                        : -1;

        if (below >= 0) {
            find_processes(tree, below);
            close(below);
        }
    }
    if (list)
        fclose(list);
    if (folder)
        closedir(folder);
}

/* Find the processes of the control groups. A live process that is not found was moved out. */
static void find_group(struct rps_system_tree *tree)
{
    for (int i = 0; i < tree->group_count; i++)
        find_processes(tree, tree->group_fd[i]);
    for (struct rps_system_process *one = tree->first; one; one = one->next)
        if (one->turn != tree->turn && one->threads > 0)
            one->is_gone |= is_alive(read_stat(tree, one->pid, 0).state);
}

/* Find the threads and children of the known processes, and of the processes found in this way. If
 * only_dropped is 1, skip the processes that send events. */
static void find_tree(struct rps_system_tree *tree, int only_dropped)
{
    for (struct rps_system_process *one = tree->first; one; one = one->next) {
        if (only_dropped && !one->is_dropped)
            continue;
        find_threads(tree, one, 0);
        for (size_t i = 0; i < tree->thread_count; i++)
            if (tree->thread[i].process == one)
                find_children(tree, tree->thread[i].tid, one);
    }
}

static void look(struct rps_system_tree *tree)
{
    if (tree->group_count > 0)
        find_group(tree);
    else
        find_tree(tree, 0);
    for (size_t i = tree->thread_count; i-- > 0;)
        if (tree->thread[i].turn != tree->turn)
            remove_thread(tree, &tree->thread[i]);
}

/* --- reading ---------------------------------------------------------------------------------- */

static void read_threads(struct rps_system_tree *tree)
{
    for (size_t i = tree->thread_count; i-- > 0;) {
        struct rps_system_thread *thread = &tree->thread[i];
        int rc = thread->gone > 0 ? -ESRCH : read_times(tree, thread);

        if (rc == -ESRCH || rc == -ENOENT) {
            thread->process->has_run = 1; /* the thread may also have ended */
            if (thread->gone++ >= GONE_MAX)
                remove_thread(tree, thread);
        } else if (rc < 0) {
            tree->missing |= TIME_SLOTS;
            thread->has_run = thread->process->has_run = 1;
        }
    }
}

static void read_rss(struct rps_system_tree *tree, struct rps_system_process *process, int is_due)
{
    char text[128];
    const char *at = text;
    int64_t kib;

    if (is_due) {
        if (rps_system_task_read(&tree->files, &process->statm_fd, process->pid, 0, "statm", text,
                                 sizeof(text)) <= 0) {
            tree->missing |= BIT(RPS_TREE_RSS);
            return;
        }
        rps_system_number(&at);
        kib = (int64_t)rps_system_number(&at) * (sysconf(_SC_PAGESIZE) / 1024);
        if (kib > 0) /* 0: the process is ending and has returned all memory */
            process->rss_kib = kib;
        else if (process->rss_kib == 0)
            tree->missing |= BIT(RPS_TREE_RSS);
    }
    tree->gauge[RPS_TREE_RSS] += process->rss_kib;
}

/* Return the number of open descriptors of a process, or -errno. */
static int64_t count_fds(const struct rps_system_tree *tree, pid_t pid)
{
    struct dirent *entry;
    struct stat status;
    char path[32];
    int64_t count = 0;
    DIR *folder;

    snprintf(path, sizeof(path), "%ld/fd", (long)pid);
    if (tree->has_fd_size)
        return fstatat(tree->files.folder_fd, path, &status, 0) < 0 ? -errno : status.st_size;
    if (!(folder = open_folder(tree->files.folder_fd, path)))
        return -errno;
    while ((entry = readdir(folder)))
        count += isdigit((unsigned char)entry->d_name[0]) != 0;
    closedir(folder);
    return count;
}

/* Handle a process whose parent has waited for it. The totals of the process are now in its nearest
 * ancestor that still exists. */
static void lose_process(struct rps_system_process *process)
{
    struct rps_system_process *heir = process->parent;

    while (heir && heir->is_gone)
        heir = heir->parent;
    process->is_gone = 1;
    for (int i = 0; heir && i < RPS_IO_COUNT; i++)
        heir->credit[1][i] += process->io[i] + process->credit[0][i] + process->credit[1][i];
}

static int is_orphan(const struct rps_system_process *process)
{
    return process->parent && process->parent->is_gone;
}

/* Find the new parent of an orphan. */
static void adopt_process(struct rps_system_tree *tree, struct rps_system_process *process)
{
    struct rps_system_process *orphaned_by = process->parent;

    process->parent = find_process(tree, read_stat(tree, process->pid, 0).parent);
    if (process->parent)
        process->parent->users++;
    release(orphaned_by);
}

static void read_io(struct rps_system_tree *tree, struct rps_system_process *process)
{
    static const int line[RPS_IO_COUNT] = {0, 1, 4, 5};
    char text[256];
    const char *at = text;
    int64_t number[7];
    ssize_t got = rps_system_task_read(&tree->files, &process->io_fd, process->pid, 0, "io", text,
                                       sizeof(text));

    process->is_hidden = got == -EACCES || got == -EPERM;
    if (got == -ESRCH || got == -ENOENT)
        lose_process(process);
    if (got <= 0)
        return;
    for (int i = 0; i < 7; i++)
        number[i] = (int64_t)rps_system_number(&at);
    for (int i = 0; i < RPS_IO_COUNT; i++) {
        if (process->is_read || !process->is_old)
            process->grown[i] = number[line[i]] - process->io[i];
        process->io[i] = number[line[i]];
    }
    process->is_read = 1;
    if (is_orphan(process))
        adopt_process(tree, process);
}

static void read_process(struct rps_system_tree *tree, struct rps_system_process *process)
{
    memset(process->grown, 0, sizeof(process->grown));
    if (!process->is_gone && !(tree->lacks & IO_SLOTS) &&
        (process->has_run || process->threads == 0 || is_orphan(process)))
        read_io(tree, process);
    if (process->is_hidden)
        tree->missing |= IO_SLOTS;
    if (process->is_dropped || (process->is_hidden && !tree->hears))
        tree->hidden.total += process->ran_ns;
    process->ran_ns = 0;
    if (!process->is_gone && process->threads > 0) {
        const int64_t now_ns = rps_clock_monotonic_ns();
        const int is_due = process->has_run || now_ns - process->level_ns >= LEVEL_AGAIN_NS;

        process->level_ns = is_due ? now_ns : process->level_ns;
        read_rss(tree, process, is_due);
        if (!(tree->lacks & BIT(RPS_TREE_FDS))) {
            int64_t count = is_due ? count_fds(tree, process->pid) : process->fds;

            if (count > 0) /* 0: the process is ending and has closed all descriptors */
                process->fds = count;
            if (count < 0)
                tree->missing |= BIT(RPS_TREE_FDS);
            tree->gauge[RPS_TREE_FDS] += process->fds;
        }
    }
    process->has_run = 0;
}

/* Add the growth of a process' io, without the totals that the process got from its children. */
static void settle_process(struct rps_system_tree *tree, struct rps_system_process *process)
{
    for (int i = 0; i < RPS_IO_COUNT; i++) {
        int64_t old = least(process->grown[i], process->credit[0][i]);
        int64_t new = least(process->grown[i] - old, process->credit[1][i]);

        tree->io[i].total += process->grown[i] - old - new;
        process->credit[0][i] = process->credit[1][i] - new;
        process->credit[1][i] = 0;
    }
    if (process->threads > 0 || (process->io_fd >= 0 && !process->is_gone))
        return;
    if (!process->is_gone)
        lose_process(process); /* the file of the process could not stay open */
    remove_process(tree, process);
}

static void look_at_doing(struct rps_system_tree *tree, struct rps_system_thread *thread)
{
    int before = thread->doing;

    if (!thread->has_run && before < AWAKE && before != RPS_TREE_IN_IO &&
        thread->since_ns - thread->looked_ns < DOING_AGAIN_NS)
        return;
    thread->doing = find_doing(tree, thread);
    thread->looked_ns = thread->since_ns;
    if (thread->doing != AWAKE || thread->has_run || (tree->lacks & TIME_SLOTS))
        return;
    if (before != AWAKE) {
        thread->woken_ns = thread->since_ns;
    } else {
        thread->pending_ns += thread->step_ns;
        tree->time[RPS_WAITING].total += thread->step_ns;
    }
}

static void read_doings(struct rps_system_tree *tree)
{
    for (size_t i = 0; i < tree->thread_count; i++) {
        struct rps_system_thread *thread = &tree->thread[i];
        int doing;

        if (thread->gone > 0)
            continue;
        doing = thread->doing;
        if (!(tree->lacks & REASON_SLOTS))
            look_at_doing(tree, thread);
        if (thread->doing == ENDED)
            count_ended(tree, thread, doing);
        thread->is_in_futex = 0;
        if (thread->wait != NONE)
            thread->doing = doing_in_futex(tree, thread);
        tree->gauge[RPS_TREE_FUTEX] += thread->is_in_futex;
        thread->is_read = 1;
        tree->gauge[RPS_TREE_THREADS] += thread->doing != ENDED;
        if (thread->doing < AWAKE)
            tree->gauge[thread->doing]++;
        else if (thread->doing == HIDDEN)
            tree->missing |= REASON_SLOTS | FUTEX_SLOTS;
        if (thread->wait != NONE && thread->mark[0].at_ns == 0)
            tree->missing |= FUTEX_SLOTS;
    }
}

void rps_system_tree_read(struct rps_system_tree *tree)
{
    struct rps_system_process *process, *next;

    tree->turn++;
    tree->missing = tree->lacks;
    memset(tree->gauge, 0, sizeof(tree->gauge));
    if (tree->hears)
        find_tree(tree, 1);
    else
        look(tree);
    read_threads(tree);
    tree->process_count = 0;
    for (process = tree->first; process; process = process->next) {
        read_process(tree, process);
        tree->process_count += process->threads > 0;
    }
    for (process = tree->first; process; process = next) {
        next = process->next;
        settle_process(tree, process);
    }
    read_doings(tree);
    /* At the end no thread is alive. The values of threads that were read until they ended are used
     * for the time since the previous reading, because `unseen` does not include this time. A
     * control group may be empty. */
    if (tree->gauge[RPS_TREE_THREADS] == 0 && tree->group_count == 0) {
        memcpy(tree->gauge, tree->ended, sizeof(tree->gauge));
        tree->missing |= tree->ended[RPS_TREE_THREADS] > 0 ? LEVEL_SLOTS : GAUGE_SLOTS;
    }
    memset(tree->ended, 0, sizeof(tree->ended));
    if (!tree->hears)
        tree->missing |= BIT(RPS_TREE_UNSEEN);
}

void rps_system_tree_report(struct rps_system_tree *tree, struct rps_system_reading *ret)
{
    for (int s = RPS_TREE_THREADS; s <= RPS_TREE_RSS; s++)
        ret->value[s] = tree->gauge[s];
    ret->value[RPS_TREE_IDLE] = tree->gauge[RPS_TREE_IDLE];
    ret->value[RPS_TREE_FDS] = tree->gauge[RPS_TREE_FDS];
    ret->value[RPS_TREE_FUTEX] = tree->gauge[RPS_TREE_FUTEX];
    for (int i = 0; i < RPS_TIMES; i++)
        ret->value[RPS_TREE_RUNNING + i] = rps_system_sum_read(&tree->time[i], RPS_NS_PER_US);
    ret->hidden_us = rps_system_sum_read(&tree->hidden, RPS_NS_PER_US);
    ret->value[RPS_TREE_UNSEEN] = rps_system_sum_read(&tree->unseen, RPS_NS_PER_US);
    for (int i = 0; i < RPS_IO_COUNT; i++)
        ret->value[RPS_TREE_READ + i] = rps_system_sum_read(&tree->io[i], 1024);
    ret->valid = (BIT(RPS_TREE_SLOTS) - 1) & ~tree->missing;
}

/* --- the target ------------------------------------------------------------------------------- */

/* Files, the metrics that come from each file, and the reason if a file is missing. */
static const struct {
    const char *name;
    uint32_t slots;
    const char *lacking, *hidden;
} files[] = {
    {"statm", BIT(RPS_TREE_RSS) | BIT(RPS_TREE_THREADS), "its processes are not shown in /proc",
     ""},
    {"schedstat", TIME_SLOTS | FUTEX_SLOTS, "this kernel has no schedstat", ""},
    {"wchan", REASON_SLOTS | FUTEX_SLOTS, "this kernel has no wchan", "wchan reports nothing here"},
    {"io", IO_SLOTS, "this kernel counts no bytes of processes (io)", "io is another user's"},
    {"fd", BIT(RPS_TREE_FDS), "descriptors are not shown in /proc", "fd is another user's"},
    {"syscall", BIT(RPS_TREE_FUTEX), "this kernel does not show system calls",
     "system calls cannot be read"},
};

/* Add the existing threads. A launched workload has one thread, which waits for its exec. */
static int add_target(struct rps_system_tree *tree, const struct rps_target *target)
{
    const int launched = target->kind == RPS_TARGET_LAUNCH;
    struct rps_system_process *one;

    for (int i = 0; i < target->pid_count; i++) {
        one = add_process(tree, target->pid[i], NULL);
        if (!one || (launched ? found_thread(tree, one, one->pid, 1) : find_threads(tree, one, 1)))
            return -1;
        one->is_old = 1;
    }
    for (one = tree->first; target->pid_count > 1 && one; one = one->next)
        if ((one->parent = find_process(tree, read_stat(tree, one->pid, 0).parent)))
            one->parent->users++;
    return 0;
}

/* Find the files that an existing process lacks. */
static void find_lacking(struct rps_system_tree *tree, pid_t pid)
{
    char path[64];

    for (size_t i = 0; i < RPS_COUNT(files); i++) {
        snprintf(path, sizeof(path), "%ld/%s", (long)pid, files[i].name);
        if (faccessat(tree->files.folder_fd, path, F_OK, 0) < 0)
            tree->lacks |= files[i].slots;
    }
    for (size_t i = 0; i < tree->thread_count; i++) {
        tree->thread[i].gone = tree->thread[i].process->is_gone = 0;
        tree->thread[i].doing = AWAKE;
    }
}

int rps_system_tree_init(struct rps_system_tree *tree, const char *root,
                         const struct rps_target *target, int hears)
{
    struct stat status;
    pid_t pid;

    *tree = (struct rps_system_tree){.hears = hears && target->cgroup_count == 0};
    tree->has_fd_size = !*root && stat("/proc/self/fd", &status) == 0 && status.st_size > 0;
    if (rps_system_files_open(&tree->files, root, "/proc") < 0 || add_target(tree, target) < 0)
        return -1;
    for (; tree->group_count < target->cgroup_count; tree->group_count++) {
        int fd = fcntl(target->cgroup_fd[tree->group_count], F_DUPFD_CLOEXEC, 0);

        if (fd < 0)
            return -1;
        tree->group_fd[tree->group_count] = fd;
    }
    rps_system_tree_read(tree);
    pid = target->pid_count > 0 ? target->pid[0] : tree->first ? tree->first->pid : 0;
    if (pid > 0 && (tree->thread_count == 0 || tree->thread[0].gone || tree->first->is_gone ||
                    tree->thread[0].doing == ENDED)) {
        find_lacking(tree, pid);
        rps_system_tree_read(tree);
    }
    tree->since_ns = rps_clock_monotonic_ns();
    return 0;
}

void rps_system_tree_free(struct rps_system_tree *tree)
{
    while (tree->thread_count > 0)
        remove_thread(tree, &tree->thread[tree->thread_count - 1]);
    while (tree->first)
        remove_process(tree, tree->first);
    free(tree->thread);
    if (tree->files.folder_fd >= 0)
        close(tree->files.folder_fd);
    while (tree->group_count > 0)
        close(tree->group_fd[--tree->group_count]);
    *tree = (struct rps_system_tree){.files.folder_fd = -1};
}

void rps_system_tree_state(const struct rps_system_tree *tree, struct rps_system_state *ret)
{
    ret->supported = (BIT(RPS_TREE_SLOTS) - 1) & ~tree->missing;
    for (int s = 0; s < RPS_TREE_SLOTS; s++) {
        const char *reason = "only events of forks and exits report it, and there are none";

        for (size_t i = 0; i < RPS_COUNT(files); i++) {
            int is_lacking = (tree->lacks & files[i].slots) == files[i].slots;

            if ((files[i].slots & BIT(s)) == 0)
                continue;
            reason = is_lacking ? files[i].lacking : files[i].hidden;
            if (is_lacking)
                break;
        }
        if (((REASON_SLOTS | FUTEX_SLOTS) & ~tree->lacks & BIT(s)) && tree->first &&
            tree->first->is_hidden)
            reason = "wchan is another user's";
        if (tree->lacks & files[0].slots)
            reason = files[0].lacking;
        if (tree->missing & BIT(s))
            snprintf(ret->reason[s], sizeof(ret->reason[s]), "%s", reason);
    }
}
