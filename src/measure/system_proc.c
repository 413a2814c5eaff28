/* System metrics from /proc: decide when they are read, within their budget.
 *
 * The workload and packages are read each period, the machine and a control group once per second.
 * If reading the workload or the packages exceeds its share of a CPU, that source is read only
 * every few periods. If one reading of the workload would make the loop late, a separate thread
 * reads. The loop then passes on the result at the end of the next period. Thread events that
 * arrive during a reading are applied after it. */
#include "system_proc.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "pmu_perf.h"
#include "rpistat/arena.h"
#include "rpistat/clock.h"
#include "rpistat/system_pace.h"

#define OWN_THREAD_NS (200 * RPS_NS_PER_US)
#define THREADS_MAX   4096
#define SECOND_NS     RPS_NS_PER_S
#define OPENED_NS     (10 * RPS_NS_PER_MS)

/* Linux counts the times of a thread that still runs at its ticks, so a reading this early does not
 * show in which states the threads were. */
#define STATES_FROM_NS (10 * RPS_NS_PER_MS)
#define STATES                                                                                     \
    ((UINT32_C(2) << RPS_TREE_IN_OTHER) - (UINT32_C(1) << RPS_TREE_RUNNING) +                      \
     (UINT32_C(1) << RPS_TREE_IDLE) + (UINT32_C(1) << RPS_TREE_FUTEX))

/* State of the readings of one source. */
struct row {
    int is_read;
    int has_any;
    uint64_t period; /* period of the last reading */
    int64_t time_ns;
};

struct reader {
    struct rps_system_options options;
    struct row row[RPS_SYSTEM_SOURCES];
    struct rps_system_tree tree;
    struct rps_system_machine machine;
    struct rps_system_group group;
    const char *root;
    pid_t pid;
    struct rps_target moving; /* process that may move into another group; pid_count 0: none */
    struct rps_system_package package;
    int has_package;               /* 1 if package counters were opened, even without metrics */
    struct rps_system_state state; /* state of the tree when it was opened */
    int64_t opened_ns;             /* time at which the tree was opened */

    struct rps_system_event *heard; /* owned; thread events that are not yet applied */
    size_t heard_count;
    int is_deaf; /* 1 if no more events follow */

    struct rps_system_pace pace, package_pace; /* pace of reading the tree, and packages */
    int is_too_many, machine_begun;

    /* SAFETY: while is_busy, the thread owns the tree and the cost of the reading. */
    int has_thread, is_busy, ends;
    pthread_t thread;
    cpu_set_t cpus;
    sem_t go, done;
    int64_t read_ns; /* cost of the reading */
    uint64_t period; /* period at whose end the reading was requested */
    int64_t time_ns; /* time at which the reading was requested */
};

static int64_t thread_cpu_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * RPS_NS_PER_S + time.tv_nsec;
}

static void read_tree(struct reader *reader)
{
    const int64_t before_ns = thread_cpu_ns();

    rps_system_tree_read(&reader->tree);
    reader->read_ns = thread_cpu_ns() - before_ns;
}

/* --- handing over ----------------------------------------------------------------------------- */

static void hand_over(struct reader *reader, enum rps_system_source source, uint64_t period,
                      int64_t time_ns, int64_t start_ns, const struct rps_system_sink *sink)
{
    struct row *row = &reader->row[source];
    struct rps_system_reading reading = {.source = source,
                                         .period = period,
                                         .end_ns = time_ns - start_ns,
                                         .length_us = (time_ns - row->time_ns) / RPS_NS_PER_US};

    if (source == RPS_SYSTEM_TREE)
        rps_system_tree_report(&reader->tree, &reading);
    else if (source == RPS_SYSTEM_MACHINE)
        rps_system_machine_report(&reader->machine, &reading);
    else if (source == RPS_SYSTEM_PACKAGE)
        rps_system_package_report(&reader->package, &reading);
    else
        rps_system_group_report(&reader->group, &reading);
    if (source == RPS_SYSTEM_TREE && reading.end_ns <= STATES_FROM_NS)
        reading.valid &= ~STATES;
    *row = (struct row){1, 1, period, time_ns};
    sink->reading(sink->context, &reading);
}

/* Finish a reading of the workload: pass on the result, and set the interval to the next one. */
static void end_reading(struct reader *reader, uint64_t period, int64_t time_ns, int64_t start_ns,
                        const struct rps_system_sink *sink, char *note, size_t size)
{
    const size_t processes = reader->tree.process_count, threads = reader->tree.thread_count;
    char what[80], text[160];

    snprintf(what, sizeof(what), "%zu process%s, %zu thread%s", processes,
             processes == 1 ? "" : "es", threads, threads == 1 ? "" : "s");
    rps_system_pace_spent(&reader->pace, time_ns, reader->read_ns, what, text, sizeof(text));
    if (text[0])
        snprintf(note, size, "%s", text);
    hand_over(reader, RPS_SYSTEM_TREE, period, time_ns, start_ns, sink);
}

static void begin_machine(struct reader *reader, int64_t time_ns)
{
    struct rps_system_reading unused = {.length_us = 0};

    rps_system_machine_read(&reader->machine);
    rps_system_machine_report(&reader->machine, &unused);
    reader->row[RPS_SYSTEM_MACHINE].time_ns = time_ns;
    reader->machine_begun = 1;
}

static int was_read(const struct row *row, uint64_t period)
{
    return row->has_any && row->period == period;
}

/* --- the thread ------------------------------------------------------------------------------- */

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) < 0)
        ; /* retry after an interrupt */
}

static void *thread_main(void *context)
{
    struct reader *reader = context;

    sched_setaffinity(0, sizeof(reader->cpus), &reader->cpus);
    for (;;) {
        wait_for(&reader->go);
        if (reader->ends)
            return NULL;
        read_tree(reader);
        sem_post(&reader->done);
    }
}

/* Start the reading thread. Signals go to the loop. The thread may use the CPUs that were permitted
 * when the reader was opened, because the loop may have only one CPU. */
static void start_thread(struct reader *reader)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    reader->has_thread = pthread_create(&reader->thread, NULL, thread_main, reader) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Return 1 if the thread has finished reading. If `waits` is 1, wait for that. */
static int has_read(struct reader *reader, int waits)
{
    if (!reader->is_busy)
        return 0;
    if (waits)
        wait_for(&reader->done);
    else if (sem_trywait(&reader->done) < 0)
        return 0;
    reader->is_busy = 0;
    return 1;
}

/* --- the reader ------------------------------------------------------------------------------- */

static void apply_heard(struct reader *reader)
{
    for (size_t i = 0; i < reader->heard_count; i++)
        rps_system_tree_apply(&reader->tree, &reader->heard[i]);
    free(reader->heard);
    reader->heard = NULL;
    reader->heard_count = 0;
    reader->tree.hears &= !reader->is_deaf;
}

static void reader_hear(void *self, const struct rps_sample *sample)
{
    struct reader *reader = self;

    if (!sample)
        reader->is_deaf = 1;
    if (!sample || !reader->row[RPS_SYSTEM_TREE].is_read ||
        !(sample->kind == RPS_SAMPLE_FORK || sample->kind == RPS_SAMPLE_EXIT ||
          (sample->kind == RPS_SAMPLE_NAME && sample->is_exec)))
        return;
    if (!rps_array_add(&reader->heard, reader->heard_count, sizeof(*reader->heard)))
        return;
    reader->heard[reader->heard_count++] = (struct rps_system_event){
        sample->kind, sample->pid, sample->tid, sample->parent_tid, sample->time_ns};
}

static size_t reader_left(void *self, pid_t *ret_pid, size_t size)
{
    struct reader *reader = self;

    if (!reader->row[RPS_SYSTEM_TREE].is_read)
        return 0;
    has_read(reader, 1); /* SAFETY: the thread may still read the tree */
    apply_heard(reader);
    return rps_system_tree_left(&reader->tree, ret_pid, size);
}

/* Return 1 if the workload has too many threads. *note reports a change. */
static int has_too_many(struct reader *reader, char *note, size_t size)
{
    const int is_now = reader->tree.thread_count > THREADS_MAX;

    if (is_now && !reader->is_too_many)
        snprintf(note, size,
                 "from here on, system metrics of the workload are not read: it has %zu threads",
                 reader->tree.thread_count);
    if (!is_now && reader->is_too_many)
        snprintf(note, size, "from here on, system metrics of the workload are read again");
    reader->is_too_many = is_now;
    return is_now;
}

static void read_workload(struct reader *reader, uint64_t period, int64_t time_ns, int64_t start_ns,
                          int force, const struct rps_system_sink *sink, char *note, size_t size)
{
    if (has_read(reader, force))
        end_reading(reader, reader->period, reader->time_ns, start_ns, sink, note, size);
    if (reader->is_busy)
        return;
    apply_heard(reader);
    if (has_too_many(reader, note, size) || was_read(&reader->row[RPS_SYSTEM_TREE], period) ||
        (!force && !rps_system_pace_due(&reader->pace, time_ns)))
        return;
    if (!force && reader->read_ns >= OWN_THREAD_NS && !reader->has_thread)
        start_thread(reader);
    if (!force && reader->read_ns >= OWN_THREAD_NS && reader->has_thread) {
        reader->period = period;
        reader->time_ns = time_ns;
        reader->is_busy = 1;
        sem_post(&reader->go);
        return;
    }
    read_tree(reader);
    end_reading(reader, period, time_ns, start_ns, sink, note, size);
}

/* Return 1 once per second, when the machine and the group are read. */
static int is_second(const struct reader *reader, const struct row *row, int64_t time_ns)
{
    return time_ns - row->time_ns >= SECOND_NS - reader->options.period_ns / 2;
}

/* Read the machine's metrics. Counting begins at the first reading, at the end of the first period,
 * so that a short command does not wait for this reading. */
static void read_machine(struct reader *reader, uint64_t period, int64_t time_ns, int64_t start_ns,
                         int force, const struct rps_system_sink *sink)
{
    struct row *row = &reader->row[RPS_SYSTEM_MACHINE];

    if (!reader->row[RPS_SYSTEM_TREE].is_read) /* without a tree, only this sample shows waits */
        rps_system_machine_look(&reader->machine);
    if (!reader->machine_begun) {
        begin_machine(reader, time_ns);
        return;
    }
    if (was_read(row, period) || (!force && !is_second(reader, row, time_ns)))
        return;
    rps_system_machine_read(&reader->machine);
    hand_over(reader, RPS_SYSTEM_MACHINE, period, time_ns, start_ns, sink);
}

/* Find the group of the recorded process, and make the first reading of this group. */
static void find_group(struct reader *reader, int64_t time_ns)
{
    struct row *row = &reader->row[RPS_SYSTEM_GROUP];

    if (row->is_read)
        rps_system_group_free(&reader->group);
    row->time_ns = time_ns;
    row->is_read = rps_system_group_init(&reader->group, reader->root, &reader->moving) == 0;
}

/* Read the group once per second, and a last time when the process has moved into another group. */
static void read_group(struct reader *reader, uint64_t period, int64_t time_ns, int64_t start_ns,
                       int force, const struct rps_system_sink *sink)
{
    struct row *row = &reader->row[RPS_SYSTEM_GROUP];
    const int has_moved = reader->moving.pid_count > 0 &&
                          rps_system_group_is_left(&reader->group, reader->root, reader->pid);

    if (row->is_read && !was_read(row, period) &&
        (force || has_moved || is_second(reader, row, time_ns))) {
        rps_system_group_read(&reader->group);
        hand_over(reader, RPS_SYSTEM_GROUP, period, time_ns, start_ns, sink);
    }
    if (has_moved)
        find_group(reader, time_ns);
}

static void read_package(struct reader *reader, uint64_t period, int64_t time_ns, int64_t start_ns,
                         int force, const struct rps_system_sink *sink, char *note, size_t size)
{
    const int64_t before_ns = thread_cpu_ns();
    char what[40], text[160];

    if (was_read(&reader->row[RPS_SYSTEM_PACKAGE], period) ||
        (!force && !rps_system_pace_due(&reader->package_pace, time_ns)))
        return;
    rps_system_package_read(&reader->package, time_ns, 0);
    hand_over(reader, RPS_SYSTEM_PACKAGE, period, time_ns, start_ns, sink);
    snprintf(what, sizeof(what), "%zu counters of packages", reader->package.count);
    rps_system_pace_spent(&reader->package_pace, time_ns, thread_cpu_ns() - before_ns, what, text,
                          sizeof(text));
    if (text[0])
        snprintf(note, size, "%s", text);
}

static void reader_read(void *self, uint64_t period, int64_t time_ns, int64_t start_ns, int force,
                        const struct rps_system_sink *sink, char *note, size_t size)
{
    struct reader *reader = self;

    note[0] = '\0';
    if (reader->row[RPS_SYSTEM_TREE].is_read)
        read_workload(reader, period, time_ns, start_ns, force, sink, note, size);
    if (reader->row[RPS_SYSTEM_MACHINE].is_read)
        read_machine(reader, period, time_ns, start_ns, force, sink);
    read_group(reader, period, time_ns, start_ns, force, sink);
    if (reader->row[RPS_SYSTEM_PACKAGE].is_read)
        read_package(reader, period, time_ns, start_ns, force, sink, note, size);
}

static void reader_resume(void *self, int64_t time_ns)
{
    struct reader *reader = self;
    struct row *row = &reader->row[RPS_SYSTEM_TREE];
    struct rps_system_reading unused;

    has_read(reader, 1);
    rps_system_pace_begin(&reader->pace, time_ns);
    row->time_ns = time_ns;
    /* If the reader was opened only recently, the reading at its opening is recent enough. */
    if (row->is_read && time_ns - reader->opened_ns >= OPENED_NS) {
        apply_heard(reader);
        rps_system_tree_read(&reader->tree);
        rps_system_tree_report(&reader->tree, &unused);
        reader->tree.since_ns = time_ns;
    }
    if (reader->machine_begun)
        begin_machine(reader, time_ns);
    if (reader->row[RPS_SYSTEM_GROUP].is_read) {
        rps_system_group_read(&reader->group);
        rps_system_group_report(&reader->group, &unused);
        reader->row[RPS_SYSTEM_GROUP].time_ns = time_ns;
    }
    if (reader->row[RPS_SYSTEM_PACKAGE].is_read) {
        rps_system_package_read(&reader->package, time_ns, 1);
        rps_system_package_report(&reader->package, &unused);
        rps_system_pace_begin(&reader->package_pace, time_ns);
        reader->row[RPS_SYSTEM_PACKAGE].time_ns = time_ns;
    }
}

static int reader_state(void *self, enum rps_system_source source, struct rps_system_state *ret)
{
    struct reader *reader = self;

    *ret = (struct rps_system_state){.source = source};
    if (source == RPS_SYSTEM_PACKAGE && reader->has_package)
        rps_system_package_state(&reader->package, ret);
    if (!reader->row[source].is_read || source == RPS_SYSTEM_PACKAGE)
        return !reader->row[source].is_read;
    if (source == RPS_SYSTEM_TREE)
        *ret = reader->state;
    else if (source == RPS_SYSTEM_MACHINE)
        rps_system_machine_state(&reader->machine, ret);
    else
        rps_system_group_state(&reader->group, ret);
    return 0;
}

static void reader_close(void *self)
{
    struct reader *reader = self;

    if (!reader)
        return;
    has_read(reader, 1);
    if (reader->has_thread) {
        reader->ends = 1;
        sem_post(&reader->go);
        pthread_join(reader->thread, NULL);
    }
    sem_destroy(&reader->go);
    sem_destroy(&reader->done);
    if (reader->row[RPS_SYSTEM_TREE].is_read)
        rps_system_tree_free(&reader->tree);
    if (reader->row[RPS_SYSTEM_MACHINE].is_read)
        rps_system_machine_free(&reader->machine);
    if (reader->row[RPS_SYSTEM_GROUP].is_read)
        rps_system_group_free(&reader->group);
    if (reader->has_package)
        rps_system_package_free(&reader->package);
    free(reader->heard);
    free(reader);
}

static int open_sources(struct reader *reader, const char *root, const struct rps_target *target,
                        struct rps_error *err)
{
    const int has_tree = target->kind != RPS_TARGET_CPUS;
    struct rps_system_options *options = &reader->options;

    if (options->machine) {
        reader->row[RPS_SYSTEM_MACHINE].is_read = 1;
        if (rps_system_machine_init(&reader->machine, root) < 0)
            return rps_error_set(err, RPS_FAILED,
                                 "cannot read system metrics: %s/proc does not exist", root);
    }
    if (options->tree && has_tree) {
        reader->row[RPS_SYSTEM_TREE].is_read = 1;
        if (rps_system_tree_init(&reader->tree, root, target, options->hears) < 0)
            return rps_error_set(err, RPS_FAILED,
                                 "cannot read system metrics: no memory, or no %s/proc", root);
        reader->state.source = RPS_SYSTEM_TREE;
        rps_system_tree_state(&reader->tree, &reader->state);
    }
    reader->row[RPS_SYSTEM_GROUP].is_read =
        options->tree && has_tree && rps_system_group_init(&reader->group, root, target) == 0;
    if (options->tree && has_tree && target->pid_count == 1) {
        reader->pid = target->pid[0];
        reader->moving = (struct rps_target){target->kind, .pid = &reader->pid, .pid_count = 1};
    }
    if (options->package && !has_tree) {
        rps_system_package_init(&reader->package, root, target);
        reader->has_package = 1;
        reader->row[RPS_SYSTEM_PACKAGE].is_read = reader->package.supported != 0;
    }
    reader->opened_ns = rps_clock_monotonic_ns();
    return 0;
}

int rps_system_open(const char *root, const struct rps_system_options *options,
                    const struct rps_target *target, struct rps_system_reader *ret,
                    struct rps_error *err)
{
    struct reader *reader = calloc(1, sizeof(*reader));
    int rc;

    if (!reader)
        return rps_error_memory(err);
    reader->options = *options;
    reader->root = root;
    rps_system_pace_init(&reader->pace, options->period_ns, options->budget);
    rps_system_pace_init(&reader->package_pace, options->period_ns, options->budget);
    sem_init(&reader->go, 0, 0);
    sem_init(&reader->done, 0, 0);
    sched_getaffinity(0, sizeof(reader->cpus), &reader->cpus);
    rc = open_sources(reader, root, target, err);
    if (rc == 0 && reader->has_package && !options->machine && !reader->package.supported)
        rc = rps_error_set(err, RPS_FAILED,
                           "no PMU of this machine counts whole packages; see `rpistat events`");
    if (rc < 0) {
        reader_close(reader);
        return RPS_FAILED;
    }
    *ret = (struct rps_system_reader){
        .self = reader,
        .state = reader_state,
        .hear = reader_hear,
        .read = reader_read,
        .resume = reader_resume,
        .left = reader_left,
        .close = reader_close,
    };
    return 0;
}

int rps_perf_open_system(void *self, const struct rps_system_options *options,
                         const struct rps_target *target, struct rps_system_reader *ret,
                         struct rps_error *err)
{
    (void)self;
    return rps_system_open("", options, target, ret, err);
}
