/* Frames, stacks and modules are kept until the end of the recording. Their number is limited
 * because code is finite. If there are too many frames, stacks, modules or tasks, the excess is
 * merged. Processes, threads and their maps are removed when the processes and threads end. */
#include "record_tracker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record_maps.h"
#include "rpistat/clock.h"
#include "record_tracker_parts.h"
#include "record_tracker_waits.h"

#define NAME_SIZE 64

#define PROGRAMS_MAX 10000 /* Maximum separate programs; later programs share one nameless entry. */
#define CGROUPS_MAX  65536 /* Maximum separate control groups; later groups share one entry. */

/* Maximum number of separate tasks. Later threads share tasks: one task per thread name and control
 * group, up to FOLDED_MAX such tasks. A machine recorded for weeks has millions of tasks. */
#define TASKS_MAX  500000
#define FOLDED_MAX 100000

/* An ended thread is kept for this time, and until its CPU time arrives, which is much later if the
 * kernel exchanged the events of two threads. At most ENDED_MAX ended threads are kept. */
#define ENDED_NS  (RPS_NS_PER_S / 10)
#define ENDED_MAX 1000

/* Maximum threads whose schedstat is read in one call, because each reading takes some 10 us. */
#define CHECKS_MAX 64

struct rps_process {
    struct rps_intern_key key; /* Process number (pid). */
    struct rps_space space;
    size_t threads; /* Number of known threads. */
    size_t living;  /* Number of known threads that have not ended. */
    int64_t task;   /* Task of the latest sample; -1: none. */
    int64_t cpu_ns; /* CPU time of ended threads; -1: unknown for some threads. */
    pid_t parent;
    int64_t cgroup;                   /* Number of the process's control group; -1: unknown. */
    int is_placed;                    /* 1 if the control group was read after the last exec. */
    struct rps_tracker_place *places; /* Owned; the places at which the process's threads waited. */
    char name[NAME_SIZE];             /* Name that the first thread had when that thread ended. */
};

struct rps_thread {
    struct rps_intern_key key; /* Thread number (tid). */
    pid_t pid;
    int64_t task; /* Task number; -1 before the first sample of the thread. */
    int64_t start_ns;
    int64_t end_ns;   /* End on the clock of the samples; -1: alive. */
    int64_t next;     /* Number of the thread that ended after this thread. */
    int is_renamed;   /* 1 if renamed after the task was reported. */
    int64_t cpu_ns;   /* Exact CPU time; -1: unknown. */
    int64_t queue_ns; /* Time in run queues before queues were first read. */
    uint64_t samples;
    struct rps_tracker_waits waits;
    char name[NAME_SIZE];
};

/* --- texts ------------------------------------------------------------------------------------ */

/* Return the text's number in a table whose items begin with a text; negative: no memory. */
static int64_t add_text(struct rps_intern *table, const char *text, int *ret_is_new)
{
    uint64_t hash = rps_intern_hash(0, text), same = 0;
    struct rps_tracker_text *item;
    int64_t number;
    char *own;

    *ret_is_new = 0;
    while ((item = rps_intern_at(table, number = rps_intern_find(table, hash, same)))) {
        if (strcmp(item->text, text) == 0)
            return number;
        same++;
    }
    own = strdup(text);
    number = own ? rps_intern_add(table, hash, same, ret_is_new) : -1;
    item = rps_intern_at(table, number);
    if (item)
        item->text = own;
    else
        free(own);
    return number;
}

static void free_texts(struct rps_intern *table)
{
    for (size_t i = 0; i < table->count; i++)
        free(((struct rps_tracker_text *)rps_intern_at(table, (int64_t)i))->text);
    rps_intern_free(table);
}

/* --- processes, threads, tasks ---------------------------------------------------------------- */

static struct rps_process *find_process(const struct rps_tracker *tracker, pid_t pid)
{
    return rps_intern_at(&tracker->process, rps_intern_find(&tracker->process, (uint32_t)pid, 0));
}

static struct rps_thread *find_thread(const struct rps_tracker *tracker, pid_t tid)
{
    return rps_intern_at(&tracker->thread, rps_intern_find(&tracker->thread, (uint32_t)tid, 0));
}

static void report_task(struct rps_tracker *tracker, struct rps_thread *thread, int64_t end_ns)
{
    int64_t number = find_process(tracker, thread->pid)->cgroup;
    struct rps_tracker_cgroup *cgroup = rps_intern_at(&tracker->cgroup, number);
    struct rps_task told = {.task = thread->task,
                            .pid = thread->pid,
                            .tid = (pid_t)thread->key.a,
                            .name = thread->name,
                            .start_ns = thread->start_ns,
                            .end_ns = end_ns,
                            .process_ns = -1,
                            .cgroup = number};

    if (cgroup && !cgroup->is_reported)
        tracker->sink.cgroup(tracker->sink.context,
                             &(struct rps_cgroup){number, cgroup->path.text});
    if (cgroup)
        cgroup->is_reported = 1;
    tracker->sink.task(tracker->sink.context, &told);
    thread->is_renamed = 0;
}

static void end_task(struct rps_tracker *tracker, struct rps_thread *thread, int64_t time_ns)
{
    if (thread->task >= 0 && thread->task < TASKS_MAX)
        report_task(tracker, thread, time_ns - tracker->start_ns);
    thread->task = -1;
}

/* Return the program with the name. If there is none, add it. Return NULL if there is no memory. */
static struct rps_tracker_program *add_program(struct rps_tracker *tracker, const char *name)
{
    int is_new;
    int64_t number =
        add_text(&tracker->program, tracker->program.count < PROGRAMS_MAX ? name : "", &is_new);
    struct rps_tracker_program *program = rps_intern_at(&tracker->program, number);

    if (program && is_new)
        program->told =
            (struct rps_program){.program = number, .name = program->name.text, .wait_ns = -1};
    return program;
}

/* Return the name of a thread's program, which is the name of the process's first thread. */
static const char *program_name(const struct rps_tracker *tracker, const struct rps_thread *thread)
{
    const struct rps_thread *first = find_thread(tracker, thread->pid);

    return first ? first->name : find_process(tracker, thread->pid)->name;
}

/* Add the exact CPU time of an ended thread to the time of its program. */
static void count_time(struct rps_tracker *tracker, const struct rps_thread *thread)
{
    struct rps_tracker_program *program = add_program(tracker, program_name(tracker, thread));
    int is_first = (pid_t)thread->key.a == thread->pid;

    if (!program) {
        tracker->lost++;
        return;
    }
    program->is_changed = 1;
    program->told.cpu_ns += thread->cpu_ns;
    program->told.samples += thread->samples;
    if (thread->samples > 0)
        return;
    program->told.unsampled_ns += thread->cpu_ns;
    program->told.unsampled_processes += is_first;
    program->told.unsampled_threads += !is_first;
}

static void leave_process(struct rps_tracker *tracker, const struct rps_thread *thread)
{
    int64_t number = rps_intern_find(&tracker->process, (uint32_t)thread->pid, 0);
    struct rps_process *process = rps_intern_at(&tracker->process, number);

    if (thread->cpu_ns >= 0)
        count_time(tracker, thread);
    if ((pid_t)thread->key.a == thread->pid)
        strcpy(process->name, thread->name);
    process->cpu_ns =
        thread->cpu_ns < 0 || process->cpu_ns < 0 ? -1 : process->cpu_ns + thread->cpu_ns;
    if (--process->threads > 0)
        return;
    if (process->task >= 0 && process->cpu_ns >= 0)
        tracker->sink.process_time(tracker->sink.context, process->task, process->cpu_ns);
    rps_space_clear(&process->space); /* Release maps that were recorded after the process ended. */
    free(process->places);
    process->places = NULL;
    rps_intern_remove(&tracker->process, number);
}

static void forget_first(struct rps_tracker *tracker)
{
    int64_t number = tracker->first_ended;
    const struct rps_thread *thread = rps_intern_at(&tracker->thread, number);

    tracker->first_ended = thread->next;
    tracker->ended_count--;
    leave_process(tracker, thread);
    rps_intern_remove(&tracker->thread, number);
}

static void forget_all(struct rps_tracker *tracker)
{
    while (tracker->ended_count > 0)
        forget_first(tracker);
}

/* Keep a thread that ended at time_ns for some time (ENDED_NS). Remove earlier ended threads that
 * need not be kept any longer. */
static void keep_ended(struct rps_tracker *tracker, int64_t number, int64_t time_ns)
{
    const struct rps_thread *first;
    int is_over;

    if (tracker->ended_count++ == 0)
        tracker->first_ended = number;
    else
        ((struct rps_thread *)rps_intern_at(&tracker->thread, tracker->last_ended))->next = number;
    tracker->last_ended = number;
    do {
        first = rps_intern_at(&tracker->thread, tracker->first_ended);
        is_over = tracker->ended_count > ENDED_MAX ||
                  (first->cpu_ns >= 0 && first->end_ns < time_ns - ENDED_NS);
        if (is_over)
            forget_first(tracker);
    } while (is_over);
}

/* --- ends ------------------------------------------------------------------------------------- */

static void end_thread(struct rps_tracker *tracker, pid_t tid, int64_t time_ns)
{
    int64_t number = rps_intern_find(&tracker->thread, (uint32_t)tid, 0);
    struct rps_thread *thread = rps_intern_at(&tracker->thread, number);
    struct rps_process *process;

    if (!thread || thread->end_ns >= 0)
        return;
    rps_tracker_waits_end(tracker, &thread->waits, time_ns);
    tracker->unknown_ns += rps_tracker_waits_unknown(&thread->waits);
    free(thread->waits.places);
    thread->waits.places = NULL;
    end_task(tracker, thread, time_ns);
    process = find_process(tracker, thread->pid);
    if (--process->living == 0)
        rps_space_clear(&process->space);
    thread->end_ns = time_ns;
    keep_ended(tracker, number, time_ns);
}

/* Remove a thread whose number is used again. Remove all ended threads too, since they may belong
 * to the same process. */
static void free_number(struct rps_tracker *tracker, pid_t tid, int64_t time_ns)
{
    if (!find_thread(tracker, tid))
        return;
    end_thread(tracker, tid, time_ns);
    forget_all(tracker);
}

/* Return the thread. Add the thread and its process if they are unknown. Return NULL if there is no
 * memory. The thread is valid until the next thread is added. */
static struct rps_thread *add_thread(struct rps_tracker *tracker, pid_t pid, pid_t tid,
                                     int64_t time_ns)
{
    struct rps_thread *thread = find_thread(tracker, tid);
    struct rps_process *of;
    int64_t number, process;
    int is_new;

    if (thread && thread->pid == pid)
        return thread;
    free_number(tracker, tid, time_ns); /* An earlier thread may have ended unrecorded. */
    number = rps_intern_add(&tracker->thread, (uint32_t)tid, 0, &is_new);
    if (number < 0)
        return NULL;
    process = rps_intern_add(&tracker->process, (uint32_t)pid, 0, &is_new);
    if (process < 0) {
        rps_intern_remove(&tracker->thread, number);
        return NULL;
    }
    of = rps_intern_at(&tracker->process, process);
    if (is_new)
        of->task = of->cgroup = -1;
    of->threads++;
    of->living++;
    thread = rps_intern_at(&tracker->thread, number);
    thread->pid = pid;
    thread->task = thread->end_ns = thread->cpu_ns = -1;
    strcpy(thread->name, tid == 0 ? "swapper" : ""); /* the kernel never names the idle task */
    return thread;
}

/* Return the process of a sample. Add the process if it is unknown. NULL: no memory. */
static struct rps_process *add_process(struct rps_tracker *tracker, const struct rps_sample *sample)
{
    return add_thread(tracker, sample->pid, sample->tid, sample->time_ns)
               ? find_process(tracker, sample->pid)
               : NULL;
}

static int take_map(struct rps_tracker *tracker, const struct rps_sample *sample)
{
    struct rps_process *process = add_process(tracker, sample);
    struct rps_mapped *mapped = process ? rps_mapped_new(sample) : NULL;
    int status = mapped ? rps_space_add(&process->space, sample->map_address, sample->map_length,
                                        sample->file_offset, mapped)
                        : -1;

    if (mapped && !tracker->proc) /* not if all programs of a machine are recorded */
        rps_tracker_see_mapped(tracker, mapped);
    rps_mapped_release(mapped);
    return status;
}

static int take_fork(struct rps_tracker *tracker, const struct rps_sample *sample)
{
    const struct rps_thread *parent;
    struct rps_process *process, *parent_process;
    struct rps_thread *thread;

    if (sample->tid == sample->parent_tid) /* a thread cannot create itself */
        return 0;
    free_number(tracker, sample->tid, sample->time_ns);
    /* A parent that is still unknown has moved into the control group after its exec. */
    if (tracker->proc && !find_process(tracker, sample->parent_pid))
        add_thread(tracker, sample->parent_pid, sample->parent_tid, sample->time_ns);
    thread = add_thread(tracker, sample->pid, sample->tid, sample->time_ns);
    if (!thread)
        return -1;
    thread->waits.record_ns = sample->time_ns;
    rps_tracker_waits_check(&thread->waits, sample->time_ns, 0, 0, RPS_TRACKER_NO_STACK);
    parent = find_thread(tracker, sample->parent_tid);
    if (parent)
        strcpy(thread->name, parent->name);
    parent_process = find_process(tracker, sample->parent_pid);
    process = find_process(tracker, sample->pid);
    if (parent_process && parent_process != process) {
        rps_space_clear(&process->space);
        process->cgroup = parent_process->cgroup;
        process->parent = sample->parent_pid;
        return rps_space_copy(&process->space, &parent_process->space);
    }
    return 0;
}

/* End the other threads at an exec. The exec leaves one thread, which gets the number of the first
 * thread. If another thread called exec, the first thread has ended. No record shows that the other
 * threads have ended. Return 1 if there were other threads. */
static int end_others(struct rps_tracker *tracker, const struct rps_sample *sample)
{
    const struct rps_thread *first = find_thread(tracker, sample->tid);
    const struct rps_process *process = find_process(tracker, sample->pid);

    if (!process || process->living <= (first && first->end_ns < 0))
        return 0;
    for (size_t i = 0; i < tracker->thread.count; i++) {
        const struct rps_thread *other = rps_intern_at(&tracker->thread, (int64_t)i);

        if (other->end_ns < 0 && other->pid == sample->pid && (pid_t)other->key.a != sample->tid)
            end_thread(tracker, (pid_t)other->key.a, sample->time_ns);
    }
    if (first && first->end_ns >= 0)
        free_number(tracker, sample->tid, sample->time_ns);
    return 1;
}

static int take_name(struct rps_tracker *tracker, const struct rps_sample *sample)
{
    int had_others = sample->is_exec && end_others(tracker, sample);
    struct rps_process *process;
    struct rps_thread *thread;

    process = add_process(tracker, sample);
    thread = find_thread(tracker, sample->tid);
    if (!process)
        return -1;
    if (sample->is_exec) {
        if (had_others)
            rps_tracker_waits_forget(tracker, &thread->waits, sample->time_ns);
        else if (thread->waits.book.read_ns == 0 && tracker->complete_ns == 0)
            rps_tracker_waits_check(&thread->waits, sample->time_ns, tracker->before_cpu_ns,
                                    tracker->before_queue_ns,
                                    RPS_TRACKER_NO_STACK); /* The workload begins with this exec. */
        end_task(tracker, thread, sample->time_ns);
        rps_space_clear(&process->space);
        process->is_placed = 0;
    }
    snprintf(thread->name, sizeof(thread->name), "%s", sample->path ? sample->path : "");
    thread->is_renamed = thread->task >= 0;
    return 0;
}

static int take_cgroup(struct rps_tracker *tracker, const struct rps_sample *sample)
{
    struct rps_process *process = find_process(tracker, sample->pid);
    int is_new;

    if (!process)
        process = add_process(tracker, sample);
    if (!process)
        return -1;
    process->cgroup =
        add_text(&tracker->cgroup,
                 sample->path && tracker->cgroup.count < CGROUPS_MAX ? sample->path : "", &is_new);
    return process->cgroup < 0 ? -1 : 0;
}

int rps_tracker_add_cgroup(struct rps_tracker *tracker, pid_t pid)
{
    char text[RPS_CGROUP_TEXT_SIZE];
    struct rps_sample sample = {.kind = RPS_SAMPLE_CGROUP, .pid = pid, .tid = pid};

    sample.path = rps_cgroup_read(tracker->proc, pid, text);
    return sample.path ? take_cgroup(tracker, &sample) : -1;
}

/* Read the control group of a process, once after each exec. If the process has ended, use the next
 * ancestor that is still alive. */
static void place_process(struct rps_tracker *tracker, struct rps_process *process)
{
    struct rps_process *of = process;

    while (tracker->proc && of && !of->is_placed) {
        of->is_placed = 1;
        if (rps_tracker_add_cgroup(tracker, (pid_t)of->key.a) == 0)
            break;
        of = find_process(tracker, of->parent);
    }
    if (of && of->cgroup >= 0)
        process->cgroup = of->cgroup;
}

/* Return the number for a thread's new task, or a negative value if there is no memory.
 * *ret_is_new: 1 if the task must be reported. */
static int64_t next_task(struct rps_tracker *tracker, const struct rps_thread *thread,
                         int64_t cgroup, int *ret_is_new)
{
    char text[NAME_SIZE + 32];
    int is_room = tracker->folded.count < FOLDED_MAX;
    int64_t number;

    *ret_is_new = 1;
    if (tracker->task_count < TASKS_MAX)
        return tracker->task_count++;
    snprintf(text, sizeof(text), "%lld %s", is_room ? (long long)cgroup : -1,
             is_room ? thread->name : "");
    number = add_text(&tracker->folded, text, ret_is_new);
    return number < 0 ? -1 : TASKS_MAX + number;
}

/* Return the task that ran in the sample. If the task is new, add it. Negative: no memory. */
static int64_t add_task(struct rps_tracker *tracker, const struct rps_sample *sample)
{
    struct rps_thread *thread = find_thread(tracker, sample->tid);
    struct rps_process *process = find_process(tracker, thread->pid);
    int is_new = 0;

    if (thread->task >= TASKS_MAX && thread->is_renamed)
        thread->task = -1;
    if (thread->task < 0) {
        place_process(tracker, process);
        thread->task = next_task(tracker, thread, process->cgroup, &is_new);
        if (thread->task < 0)
            return -1;
        thread->start_ns = sample->time_ns - tracker->start_ns;
        thread->is_renamed = is_new;
        process->task = thread->task < TASKS_MAX ? thread->task : -1;
    }
    if (thread->is_renamed)
        report_task(tracker, thread, -1);
    thread->samples++;
    return thread->task;
}

static void take_time(struct rps_tracker *tracker, const struct rps_sample *sample)
{
    struct rps_thread *thread = find_thread(tracker, sample->tid);

    if (thread && thread->pid == sample->pid)
        thread->cpu_ns = (thread->cpu_ns > 0 ? thread->cpu_ns : 0) + sample->cpu_time_ns;
}

/* Count the time that a thread waited for CPUs until time_ns. Since Linux 6.12 this time may
 * include sleep (measure/system_tree.c), so it is limited to the elapsed time. */
static int count_queue(struct rps_tracker *tracker, const char *name, int64_t queue_ns,
                       int64_t time_ns)
{
    struct rps_tracker_program *program = add_program(tracker, name);

    if (!program)
        return -1;
    if (queue_ns > time_ns - tracker->queues_ns)
        queue_ns = time_ns - tracker->queues_ns;
    program->told.wait_ns += (queue_ns > 0 ? queue_ns : 0) + (program->told.wait_ns < 0);
    program->is_changed = 1;
    return 0;
}

/* Read how long each living thread has waited in run queues since its start. If is_end is 1, count
 * the waiting since the first reading. */
static int read_queues(struct rps_tracker *tracker, int64_t time_ns, int is_end)
{
    int status = 0;

    for (size_t i = 0; i < tracker->thread.count && tracker->queues_proc; i++) {
        struct rps_thread *thread = rps_intern_at(&tracker->thread, (int64_t)i);
        int64_t cpu_ns, before_ns = thread->queue_ns;

        if (thread->end_ns < 0 &&
            rps_tracker_waits_times(tracker->queues_proc, (pid_t)thread->key.a, &cpu_ns,
                                    &thread->queue_ns) == 0 &&
            is_end)
            status |= count_queue(tracker, program_name(tracker, thread),
                                  thread->queue_ns - before_ns, time_ns);
    }
    return status;
}

void rps_tracker_begin_queues(struct rps_tracker *tracker, const char *proc, int64_t time_ns)
{
    tracker->queues_ns = time_ns;
    tracker->queues_proc = proc;
    read_queues(tracker, time_ns, 0);
}

/* Count the queue time in a record. The thread may have ended before its fork was read. For a
 * process's first thread, use the name in the record, which is newer than the name read before. */
static int take_queue(struct rps_tracker *tracker, const struct rps_sample *sample)
{
    const struct rps_thread *thread = find_thread(tracker, sample->tid);
    int is_first = !thread || thread->pid == sample->tid;

    if (sample->tid == 0)
        return read_queues(tracker, sample->time_ns, 1);
    return count_queue(tracker, is_first ? sample->path : program_name(tracker, thread),
                       sample->queue_ns - (thread ? thread->queue_ns : 0), sample->time_ns);
}

static int take_stack(struct rps_tracker *tracker, const struct rps_sample *sample)
{
    const struct rps_process *process = add_process(tracker, sample);
    struct rps_tracker_chain chain = {.count = 0};
    int64_t stack, task;

    if (!process || rps_tracker_find_chain(tracker, sample, &process->space, &chain) < 0)
        return -1;
    stack = rps_tracker_add_stacks(tracker, &chain);
    if (stack < 0 || (task = add_task(tracker, sample)) < 0)
        return -1;
    rps_tracker_count_end(tracker, &chain);
    tracker->samples++;
    tracker->sink.count(tracker->sink.context, sample->time_ns, sample->cpu, stack, task);
    return 0;
}

/* Begin the wait of a thread that leaves its CPU. If the stack in the record has no callers, use a
 * complete stack of an earlier wait at the same place. */
static int take_wait(struct rps_tracker *tracker, const struct rps_sample *sample)
{
    struct rps_process *process = sample->tid > 0 ? add_process(tracker, sample) : NULL;
    struct rps_thread *thread = find_thread(tracker, sample->tid);
    struct rps_tracker_chain chain = {.count = 0};
    int64_t stack = RPS_TRACKER_NO_STACK;

    if (!process)
        return sample->tid > 0 ? -1 : 0; /* the CPU is idle */
    if (thread->end_ns >= 0)
        return 0; /* This is the thread's last switch. */
    if (sample->is_partial)
        stack = rps_tracker_places_find(thread->waits.places, sample->place);
    if (sample->is_partial && stack == RPS_TRACKER_NO_STACK)
        stack = rps_tracker_places_find(process->places, sample->place_alike);
    if (stack == RPS_TRACKER_NO_STACK &&
        (rps_tracker_find_chain(tracker, sample, &process->space, &chain) < 0 ||
         (stack = rps_tracker_add_stacks(tracker, &chain)) < 0))
        return -1;
    if (!sample->is_partial) {
        rps_tracker_places_keep(&thread->waits.places, sample->place, stack);
        rps_tracker_places_keep(&process->places, sample->place_alike, stack);
    }
    rps_tracker_waits_begin(tracker, &thread->waits, sample->time_ns, sample->cpu, stack);
    return 0;
}

/* --- waiting ---------------------------------------------------------------------------------- */

void rps_tracker_report_waits(struct rps_tracker *tracker, int64_t until_ns)
{
    for (size_t i = 0; i < tracker->thread.count; i++) {
        struct rps_thread *thread = rps_intern_at(&tracker->thread, (int64_t)i);

        if (thread->end_ns >= 0)
            continue;
        rps_tracker_waits_send(tracker, &thread->waits, until_ns);
    }
}

int64_t rps_tracker_unknown_waits(const struct rps_tracker *tracker)
{
    int64_t unknown_ns = tracker->unknown_ns;

    for (size_t i = 0; i < tracker->thread.count; i++) {
        const struct rps_thread *thread = rps_intern_at(&tracker->thread, (int64_t)i);

        if (thread->end_ns < 0)
            unknown_ns += rps_tracker_waits_unknown(&thread->waits);
    }
    return unknown_ns;
}

void rps_tracker_add_workload(struct rps_tracker *tracker, const char *proc, pid_t pid)
{
    rps_tracker_waits_times(proc, pid, &tracker->before_cpu_ns, &tracker->before_queue_ns);
}

void rps_tracker_check_waits(struct rps_tracker *tracker, const char *proc, int64_t time_ns)
{
    const size_t count = tracker->simulated.count > 0 ? 0 : tracker->thread.count;
    int reads = 0;

    for (size_t n = 0; n < count && reads < CHECKS_MAX; n++) {
        struct rps_thread *thread =
            rps_intern_at(&tracker->thread, (int64_t)(tracker->next_check++ % count));

        if (thread->end_ns < 0 && thread->key.a != 0)
            reads += rps_tracker_waits_read(
                tracker, &thread->waits, &find_process(tracker, thread->pid)->space, proc,
                &(struct rps_sample){
                    .time_ns = time_ns, .pid = thread->pid, .tid = (pid_t)thread->key.a});
    }
}

/* Handle missing records of one CPU, or of all CPUs (cpu < 0): the state of the threads is unknown.
 * A thread that waits on another CPU may have moved to this CPU. If it has not moved, its wait
 * continues after the gap. */
static void lose_waits(struct rps_tracker *tracker, const struct rps_sample *sample)
{
    int64_t since_ns = sample->since_ns > 0 ? sample->since_ns : sample->time_ns;

    for (size_t i = 0; i < tracker->thread.count; i++) {
        struct rps_thread *thread = rps_intern_at(&tracker->thread, (int64_t)i);
        struct rps_tracker_waits *waits = &thread->waits;
        int goes_on = waits->is_waiting && sample->cpu >= 0 && sample->cpu != waits->cpu;

        if (thread->end_ns >= 0)
            continue;
        rps_tracker_waits_end(tracker, waits, since_ns);
        waits->record_ns = sample->time_ns;
        if (goes_on) {
            rps_tracker_waits_begin(tracker, waits, sample->time_ns, waits->cpu, waits->stack);
            waits->doubt_ns = sample->time_ns;
        }
        if (sample->is_preempted)
            rps_tracker_waits_forget(tracker, waits, sample->time_ns);
    }
    tracker->lacks_switches |= sample->cpu < 0 && !sample->is_preempted;
}

/* Handle a thread that is on a CPU again, or whose CPU another thread took. If all switches are
 * read, and the thread has no record since then, it has slept since reading of switches began. */
static void take_awake(struct rps_tracker *tracker, const struct rps_sample *sample)
{
    struct rps_thread *thread;
    struct rps_tracker_waits *waits;

    if (sample->tid == 0) {
        lose_waits(tracker, sample);
        return;
    }
    thread = find_thread(tracker, sample->tid);
    if (!thread && tracker->complete_ns > 0)
        thread = add_thread(tracker, sample->pid, sample->tid, sample->time_ns);
    if (!thread || thread->end_ns >= 0)
        return;
    waits = &thread->waits;
    rps_tracker_waits_settle(tracker, waits, sample->time_ns);
    if (sample->is_preempted) { /* another thread took the CPU */
        waits->is_waiting = 0;
    } else {
        if (!waits->is_waiting && waits->record_ns < tracker->complete_ns)
            rps_tracker_waits_begin(tracker, waits, tracker->complete_ns, sample->cpu,
                                    RPS_TRACKER_NO_STACK);
        rps_tracker_waits_end(tracker, waits, sample->time_ns);
    }
    waits->record_ns = sample->time_ns;
    waits->cpu = sample->cpu;
}

/* Handle a thread that leaves its CPU and waits; RPS_SAMPLE_WAIT reports the thread's stack. */
static void take_asleep(struct rps_tracker *tracker, const struct rps_sample *sample)
{
    struct rps_thread *thread = find_thread(tracker, sample->tid);

    if (sample->tid == 0) {
        tracker->complete_ns = sample->time_ns;
        tracker->lacks_switches = 0;
    } else if (thread && thread->end_ns < 0) {
        rps_tracker_waits_begin(tracker, &thread->waits, sample->time_ns, sample->cpu,
                                RPS_TRACKER_NO_STACK);
    }
}

/* --- the tracker ------------------------------------------------------------------------------ */

int rps_tracker_new(struct rps_tracker **ret, int64_t start_ns, const struct rps_tracker_sink *sink,
                    struct rps_error *err)
{
    struct rps_tracker *tracker = calloc(1, sizeof(*tracker));

    if (!tracker)
        return rps_error_memory(err);
    tracker->sink = *sink;
    tracker->start_ns = start_ns;
    tracker->unwinder.wait_us = RPS_UNWINDER_WAIT_US;
    tracker->module = RPS_INTERN_OF(struct rps_tracker_module);
    tracker->frame = RPS_INTERN_OF(struct rps_tracker_frame);
    tracker->address = RPS_INTERN_OF(struct rps_tracker_address);
    tracker->stack = RPS_INTERN_OF(struct rps_intern_key);
    tracker->process = RPS_INTERN_OF(struct rps_process);
    tracker->thread = RPS_INTERN_OF(struct rps_thread);
    tracker->program = RPS_INTERN_OF(struct rps_tracker_program);
    tracker->cgroup = RPS_INTERN_OF(struct rps_tracker_cgroup);
    tracker->folded = RPS_INTERN_OF(struct rps_tracker_text);
    for (int i = 0; i < RPS_MODULE_KINDS; i++)
        tracker->only_module[i] = -1;
    *ret = tracker;
    return 0;
}

void rps_tracker_read_cgroups(struct rps_tracker *tracker, const char *proc)
{
    tracker->proc = proc;
}

void rps_tracker_report_programs(struct rps_tracker *tracker)
{
    rps_unwinder_close_files(&tracker->unwinder);
    for (size_t i = 0; i < tracker->program.count; i++) {
        struct rps_tracker_program *program = rps_intern_at(&tracker->program, (int64_t)i);

        if (program->is_changed)
            tracker->sink.program(tracker->sink.context, &program->told);
        program->is_changed = 0;
    }
}

int64_t rps_tracker_end(struct rps_tracker *tracker)
{
    forget_all(tracker);
    rps_unwinder_end(&tracker->unwinder);
    return tracker->unwinder.cpu_ns;
}

void rps_tracker_free(struct rps_tracker *tracker)
{
    if (!tracker)
        return;
    rps_unwinder_free(&tracker->unwinder);
    for (size_t i = 0; i < tracker->module.count; i++)
        free(((struct rps_tracker_module *)rps_intern_at(&tracker->module, (int64_t)i))->path);
    for (size_t i = 0; i < tracker->process.count; i++) {
        struct rps_process *process = rps_intern_at(&tracker->process, (int64_t)i);

        rps_space_clear(&process->space);
        free(process->places);
    }
    rps_intern_free(&tracker->module);
    rps_intern_free(&tracker->frame);
    rps_intern_free(&tracker->address);
    rps_kernel_functions_free(&tracker->kernel);
    rps_intern_free(&tracker->stack);
    rps_intern_free(&tracker->process);
    for (size_t i = 0; i < tracker->thread.count; i++)
        free(((struct rps_thread *)rps_intern_at(&tracker->thread, (int64_t)i))->waits.places);
    rps_intern_free(&tracker->thread);
    free_texts(&tracker->program);
    free_texts(&tracker->cgroup);
    free_texts(&tracker->folded);
    rps_simulated_free(&tracker->simulated);
    free(tracker);
}

void rps_tracker_add(struct rps_tracker *tracker, const struct rps_sample *sample)
{
    int status = 0;

    switch (sample->kind) {
    case RPS_SAMPLE_STACK:
        status = take_stack(tracker, sample);
        break;
    case RPS_SAMPLE_WAIT:
        status = take_wait(tracker, sample);
        break;
    case RPS_SAMPLE_AWAKE:
        take_awake(tracker, sample);
        break;
    case RPS_SAMPLE_ASLEEP:
        take_asleep(tracker, sample);
        break;
    case RPS_SAMPLE_MAP:
        status = take_map(tracker, sample);
        break;
    case RPS_SAMPLE_FORK:
        status = take_fork(tracker, sample);
        break;
    case RPS_SAMPLE_NAME:
        status = take_name(tracker, sample);
        break;
    case RPS_SAMPLE_CGROUP:
        status = take_cgroup(tracker, sample);
        break;
    case RPS_SAMPLE_EXIT:
        end_thread(tracker, sample->tid, sample->time_ns);
        break;
    case RPS_SAMPLE_TIME:
        take_time(tracker, sample);
        break;
    case RPS_SAMPLE_QUEUE:
        status = take_queue(tracker, sample);
        break;
    case RPS_SAMPLE_SYMBOL:
        status = rps_simulated_add(&tracker->simulated, sample);
        break;
    }
    tracker->lost += status < 0;
}
