/*
 * System signals, from /proc: when they are read, and what that may cost.
 *
 * The workload is read each period, the machine and a control group once a second. Where reading
 * the workload takes more than its part of a CPU it is read each so many periods. The loop is never
 * late by it: a thread of the reader's reads, and what it has read is handed over at the end of the
 * next period. At a pause and at the end, when nothing is counted, the loop reads by itself.
 */
#include "signals_proc.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pmu_perf.h"
#include "rpistat/array.h"
#include "rpistat/clock.h"
#include "rpistat/signal_pace.h"

#define THREADS_MAX 4096
#define SECOND_NS   RPS_NS_PER_S
#define OPENED_NS   (10 * RPS_NS_PER_MS)

/* The readings of a source. */
struct row {
    int is_read;
    int64_t time_ns; /* of the latest */
};

/* The end of a period. */
struct turn {
    uint64_t period;
    int64_t time_ns, start_ns;
    int force;
    struct rps_signal_event *heard; /* owned; until then */
    size_t heard_count;
    int is_deaf; /* no more will be heard */
};

struct reader {
    /* The loop's: */
    struct turn next;
    int has_thread, is_busy;
    pthread_t thread;
    cpu_set_t cpus;
    sem_t go, done;

    /* The thread's, while is_busy: */
    struct rps_system_options options;
    struct turn turn;
    int ends;
    struct row row[RPS_SYSTEM_SOURCES];
    struct rps_signal_tree tree;
    struct rps_signal_machine machine;
    struct rps_signal_group group;
    struct rps_system_state state; /* of the tree, when it was opened, */
    int64_t opened_ns;             /* which was then */
    struct rps_signal_pace pace;   /* of the tree */
    int is_too_many, machine_begun;
    struct rps_system_reading reading[RPS_SYSTEM_SOURCES]; /* to be handed over */
    int reading_count;
    char note[160];
};

static int64_t thread_cpu_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * RPS_NS_PER_S + time.tv_nsec;
}

/* --- reading ---------------------------------------------------------------------------------- */

static void keep_reading(struct reader *reader, enum rps_system_source source)
{
    const struct turn *turn = &reader->turn;
    struct row *row = &reader->row[source];
    struct rps_system_reading *reading = &reader->reading[reader->reading_count++];

    *reading =
        (struct rps_system_reading){.source = source,
                                    .period = turn->period,
                                    .end_ns = turn->time_ns - turn->start_ns,
                                    .length_us = (turn->time_ns - row->time_ns) / RPS_NS_PER_US};
    if (source == RPS_SYSTEM_TREE)
        rps_signal_tree_tell(&reader->tree, reading);
    else if (source == RPS_SYSTEM_MACHINE)
        rps_signal_machine_tell(&reader->machine, reading);
    else
        rps_signal_group_tell(&reader->group, reading);
    row->time_ns = turn->time_ns;
}

static void begin_machine(struct reader *reader, int64_t time_ns)
{
    struct rps_system_reading unused = {.length_us = 0};

    rps_signal_machine_read(&reader->machine);
    rps_signal_machine_tell(&reader->machine, &unused);
    reader->row[RPS_SYSTEM_MACHINE].time_ns = time_ns;
    reader->machine_begun = 1;
}

static void apply_heard(struct rps_signal_tree *tree, struct turn *turn)
{
    for (size_t i = 0; i < turn->heard_count; i++)
        rps_signal_tree_apply(tree, &turn->heard[i]);
    free(turn->heard);
    turn->heard = NULL;
    turn->heard_count = 0;
    tree->hears &= !turn->is_deaf;
}

/* Too many threads, and when there are fewer again. */
static int has_too_many(struct reader *reader)
{
    const int is_now = reader->tree.thread_count > THREADS_MAX;

    if (is_now && !reader->is_too_many)
        snprintf(reader->note, sizeof(reader->note),
                 "signals of the workload are not read: it has %zu threads",
                 reader->tree.thread_count);
    if (!is_now && reader->is_too_many)
        snprintf(reader->note, sizeof(reader->note), "signals of the workload are read again");
    reader->is_too_many = is_now;
    return is_now;
}

static void read_workload(struct reader *reader)
{
    const struct rps_signal_tree *tree = &reader->tree;
    const struct turn *turn = &reader->turn;
    char what[80], text[sizeof(reader->note)];
    int64_t before_ns;

    if (has_too_many(reader) ||
        (!turn->force && !rps_signal_pace_due(&reader->pace, turn->time_ns)))
        return;
    before_ns = thread_cpu_ns();
    rps_signal_tree_read(&reader->tree);
    snprintf(what, sizeof(what), "%zu process%s, %zu thread%s", tree->process_count,
             tree->process_count == 1 ? "" : "es", tree->thread_count,
             tree->thread_count == 1 ? "" : "s");
    rps_signal_pace_spent(&reader->pace, turn->time_ns, thread_cpu_ns() - before_ns, what, text,
                          sizeof(text));
    if (text[0])
        memcpy(reader->note, text, sizeof(text));
    keep_reading(reader, RPS_SYSTEM_TREE);
}

/* The machine and the group are read each second. */
static int is_due(const struct reader *reader, enum rps_system_source source)
{
    return reader->turn.force || reader->turn.time_ns - reader->row[source].time_ns >=
                                     SECOND_NS - reader->options.period_ns / 2;
}

/* What comes is counted from the first reading on, at the end of the first period: a command that
 * is over before does not wait for it. */
static void read_machine(struct reader *reader)
{
    if (!reader->machine_begun && reader->turn.force)
        return;
    if (!reader->row[RPS_SYSTEM_TREE].is_read) /* nothing else tells who waits: several looks */
        rps_signal_machine_look(&reader->machine);
    if (!reader->machine_begun) {
        begin_machine(reader, reader->turn.time_ns);
    } else if (is_due(reader, RPS_SYSTEM_MACHINE)) {
        rps_signal_machine_read(&reader->machine);
        keep_reading(reader, RPS_SYSTEM_MACHINE);
    }
}

static void read_turn(struct reader *reader)
{
    if (reader->row[RPS_SYSTEM_TREE].is_read) {
        apply_heard(&reader->tree, &reader->turn);
        read_workload(reader);
    }
    if (reader->row[RPS_SYSTEM_MACHINE].is_read)
        read_machine(reader);
    if (reader->row[RPS_SYSTEM_GROUP].is_read && is_due(reader, RPS_SYSTEM_GROUP)) {
        rps_signal_group_read(&reader->group);
        keep_reading(reader, RPS_SYSTEM_GROUP);
    }
}

/* --- the thread ------------------------------------------------------------------------------- */

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) < 0)
        ; /* interrupted */
}

static void *thread_main(void *context)
{
    struct reader *reader = context;

    for (;;) {
        wait_for(&reader->go);
        if (reader->ends)
            return NULL;
        read_turn(reader);
        sem_post(&reader->done);
    }
}

/* Signals are the loop's; CPUs those that the reader was opened on: the loop's may be one. */
static void start_thread(struct reader *reader)
{
    pthread_attr_t attr;
    sigset_t all, before;

    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setaffinity_np(&attr, sizeof(reader->cpus), &reader->cpus);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    reader->has_thread = pthread_create(&reader->thread, &attr, thread_main, reader) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
}

/* Has the thread, if it was asked to, read? waits 1: wait until it has. */
static int is_idle(struct reader *reader, int waits)
{
    if (!reader->is_busy)
        return 1;
    if (waits)
        wait_for(&reader->done);
    else if (sem_trywait(&reader->done) < 0)
        return 0;
    reader->is_busy = 0;
    return 1;
}

/* --- the reader ------------------------------------------------------------------------------- */

static void reader_hear(void *self, const struct rps_sample *sample)
{
    struct reader *reader = self;
    struct turn *next = &reader->next;
    struct rps_signal_event *grown;

    if (!sample)
        next->is_deaf = 1;
    if (!sample || !reader->row[RPS_SYSTEM_TREE].is_read ||
        !(sample->kind == RPS_SAMPLE_FORK || sample->kind == RPS_SAMPLE_EXIT ||
          (sample->kind == RPS_SAMPLE_NAME && sample->is_exec)))
        return;
    grown = rps_array_grow(next->heard, next->heard_count, sizeof(*grown));
    if (!grown)
        return;
    next->heard = grown;
    grown[next->heard_count++] = (struct rps_signal_event){sample->kind, sample->pid, sample->tid,
                                                           sample->parent_tid, sample->time_ns};
}

static void hand_over(struct reader *reader, const struct rps_system_sink *sink, char *note,
                      size_t size)
{
    for (int i = 0; i < reader->reading_count; i++)
        sink->reading(sink->context, &reader->reading[i]);
    reader->reading_count = 0;
    if (reader->note[0])
        snprintf(note, size, "%s", reader->note);
    reader->note[0] = '\0';
}

void rps_signals_finish(void *self, const struct rps_system_sink *sink, char *note, size_t size)
{
    is_idle(self, 1);
    hand_over(self, sink, note, size);
}

/* What was heard until now is the thread's. */
static void take_turn(struct reader *reader)
{
    reader->turn = reader->next;
    reader->next.heard = NULL;
    reader->next.heard_count = 0;
}

static void reader_read(void *self, uint64_t period, int64_t time_ns, int64_t start_ns, int force,
                        const struct rps_system_sink *sink, char *note, size_t size)
{
    struct reader *reader = self;
    struct turn *next = &reader->next;

    note[0] = '\0';
    if (!is_idle(reader, force))
        return;
    hand_over(reader, sink, note, size);
    next->period = period;
    next->time_ns = time_ns;
    next->start_ns = start_ns;
    next->force = force;
    take_turn(reader);
    if (!force && !reader->has_thread)
        start_thread(reader);
    if (!force && reader->has_thread) {
        reader->is_busy = 1;
        sem_post(&reader->go);
        return;
    }
    read_turn(reader);
    hand_over(reader, sink, note, size);
}

static void reader_resume(void *self, int64_t time_ns)
{
    struct reader *reader = self;
    struct rps_system_reading unused;

    is_idle(reader, 1);
    rps_signal_pace_begin(&reader->pace, time_ns);
    reader->row[RPS_SYSTEM_TREE].time_ns = reader->row[RPS_SYSTEM_GROUP].time_ns = time_ns;
    if (reader->machine_begun)
        begin_machine(reader, time_ns);
    if (time_ns - reader->opened_ns < OPENED_NS) /* what was read then will do */
        return;
    if (reader->row[RPS_SYSTEM_TREE].is_read) {
        take_turn(reader);
        apply_heard(&reader->tree, &reader->turn);
        rps_signal_tree_read(&reader->tree);
        rps_signal_tree_tell(&reader->tree, &unused);
        reader->tree.since_ns = time_ns;
    }
    if (reader->row[RPS_SYSTEM_GROUP].is_read) {
        rps_signal_group_read(&reader->group);
        rps_signal_group_tell(&reader->group, &unused);
    }
}

static int reader_state(void *self, enum rps_system_source source, struct rps_system_state *ret)
{
    struct reader *reader = self;

    *ret = (struct rps_system_state){.source = source};
    if (!reader->row[source].is_read)
        return 1;
    if (source == RPS_SYSTEM_TREE)
        *ret = reader->state;
    else if (source == RPS_SYSTEM_MACHINE)
        rps_signal_machine_state(&reader->machine, ret);
    else
        rps_signal_group_state(&reader->group, ret);
    return 0;
}

static void reader_close(void *self)
{
    struct reader *reader = self;

    if (!reader)
        return;
    is_idle(reader, 1);
    if (reader->has_thread) {
        reader->ends = 1;
        sem_post(&reader->go);
        pthread_join(reader->thread, NULL);
    }
    sem_destroy(&reader->go);
    sem_destroy(&reader->done);
    if (reader->row[RPS_SYSTEM_TREE].is_read)
        rps_signal_tree_free(&reader->tree);
    if (reader->row[RPS_SYSTEM_MACHINE].is_read)
        rps_signal_machine_free(&reader->machine);
    if (reader->row[RPS_SYSTEM_GROUP].is_read)
        rps_signal_group_free(&reader->group);
    free(reader->next.heard);
    free(reader->turn.heard);
    free(reader);
}

static int open_sources(struct reader *reader, const char *root, const struct rps_target *target,
                        struct rps_error *err)
{
    const int has_tree = target->kind != RPS_TARGET_CPUS;
    struct rps_system_options *options = &reader->options;

    if (options->machine) {
        reader->row[RPS_SYSTEM_MACHINE].is_read = 1;
        if (rps_signal_machine_init(&reader->machine, root) < 0)
            return rps_error_set(err, RPS_FAILED, "cannot read signals: there is no %s/proc", root);
    }
    if (options->tree && has_tree) {
        reader->row[RPS_SYSTEM_TREE].is_read = 1;
        if (rps_signal_tree_init(&reader->tree, root, target, options->hears) < 0)
            return rps_error_set(err, RPS_FAILED, "cannot read signals: no memory, or no %s/proc",
                                 root);
        reader->state.source = RPS_SYSTEM_TREE;
        rps_signal_tree_state(&reader->tree, &reader->state);
    }
    reader->row[RPS_SYSTEM_GROUP].is_read =
        options->tree && has_tree && rps_signal_group_init(&reader->group, root, target) == 0;
    reader->opened_ns = rps_clock_monotonic_ns();
    return 0;
}

int rps_signals_open(const char *root, const struct rps_system_options *options,
                     const struct rps_target *target, struct rps_system_reader *ret,
                     struct rps_error *err)
{
    struct reader *reader = calloc(1, sizeof(*reader));

    if (!reader)
        return rps_error_memory(err);
    reader->options = *options;
    rps_signal_pace_init(&reader->pace, options->period_ns, options->budget);
    sem_init(&reader->go, 0, 0);
    sem_init(&reader->done, 0, 0);
    sched_getaffinity(0, sizeof(reader->cpus), &reader->cpus);
    if (open_sources(reader, root, target, err) < 0) {
        reader_close(reader);
        return RPS_FAILED;
    }
    *ret = (struct rps_system_reader){
        .self = reader,
        .state = reader_state,
        .hear = reader_hear,
        .read = reader_read,
        .resume = reader_resume,
        .close = reader_close,
    };
    return 0;
}

int rps_perf_open_signals(void *self, const struct rps_system_options *options,
                          const struct rps_target *target, struct rps_system_reader *ret,
                          struct rps_error *err)
{
    (void)self;
    return rps_signals_open("", options, target, ret, err);
}
