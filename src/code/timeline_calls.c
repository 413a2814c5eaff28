/* Calls and threads over time, for traces (rpistat/export.h).
 *
 * The store counts samples of threads by period, so the time of a thread consists of whole periods.
 * A thread's time is split at the end of a phase. It is also split at a gap in which a thread that
 * runs all the time would have GAP samples. */
#include "timeline.h"

#include <stdlib.h>

#include "rpistat/clock.h"
#include "rpistat/code_store.h"
#include "rpistat/text.h"

#define GAP           10
#define THRESHOLD_GAP (RPS_NS_PER_S / 10) /* for samples by threshold, which have no interval */

/* --- calls ------------------------------------------------------------------------------------ */

struct nesting {
    const struct rps_timeline *timeline;
    const struct rps_call_sink *sink;
    int64_t end_ns; /* end of the open calls */
    size_t count;
    size_t *open; /* nodes of the open calls, outermost first */
    size_t *way;  /* scratch: the next node and its callers, outermost first */
};

static void end_calls(struct nesting *nesting, size_t left)
{
    const struct rps_call *call = nesting->timeline->calls.call;

    for (; nesting->count > left; nesting->count--) {
        const struct rps_call *ended = &call[nesting->open[nesting->count - 1]];

        nesting->sink->end(nesting->sink->context, nesting->timeline->cpu, nesting->end_ns,
                           ended->function, rps_text_file_name(ended->module));
    }
}

/* End the open calls that do not contain the next node. Then begin all calls of the node that are
 * not open. */
static void begin_calls(struct nesting *nesting, size_t node, int64_t time_ns)
{
    const struct rps_call *call = nesting->timeline->calls.call;
    size_t depth = 0, common = 0;

    for (size_t at = node; at != 0; at = call[at].parent)
        depth++;
    for (size_t at = node, i = depth; at != 0; at = call[at].parent)
        nesting->way[--i] = at;
    while (common < depth && common < nesting->count &&
           nesting->open[common] == nesting->way[common])
        common++;
    end_calls(nesting, common);
    for (; nesting->count < depth; nesting->count++) {
        const struct rps_call *begun = &call[nesting->way[nesting->count]];

        nesting->open[nesting->count] = nesting->way[nesting->count];
        nesting->sink->begin(nesting->sink->context, nesting->timeline->cpu, time_ns,
                             begun->function, rps_text_file_name(begun->module));
    }
}

static void put_row(void *context, const struct rps_timeline_row *row)
{
    struct nesting *nesting = context;

    if (row->start_ns > nesting->end_ns)
        end_calls(nesting, 0);
    for (size_t i = 0; i < row->count; i++) {
        /* the node would end before it begins */
        if (row->seen[i].end_ns - row->seen[i].start_ns < 2)
            continue;
        begin_calls(nesting, row->seen[i].node, row->seen[i].start_ns);
        nesting->end_ns = row->seen[i].end_ns;
    }
}

static int put_cpu(const struct rps_export_job *job, const struct rps_export_code *of, int32_t cpu,
                   const struct rps_call_sink *sink, struct rps_error *err)
{
    struct rps_arena *arena = rps_arena_new();
    struct rps_timeline timeline;
    struct nesting nesting = {.timeline = &timeline, .sink = sink};
    int result = rps_timeline_open(&timeline, arena, job, of, cpu, RPS_COUNT_STACKS, err);

    if (result == 0) {
        nesting.open = rps_arena_get(arena, timeline.calls.count, sizeof(*nesting.open));
        nesting.way = rps_arena_get(arena, timeline.calls.count, sizeof(*nesting.way));
        result = rps_timeline_walk(&timeline, put_row, &nesting, err);
        end_calls(&nesting, 0);
    }
    rps_arena_free(arena);
    return result;
}

/* --- threads ---------------------------------------------------------------------------------- */

struct collecting {
    struct rps_export_job *job;
    const struct rps_code *code;
    const struct rps_share_name *program;
    const int64_t *program_of; /* program of each task */
    int64_t gap_ns;
    size_t phase; /* phase of the last row */
    size_t count;
    struct rps_export_thread *thread; /* owned by the arena; in the order found, CPU by CPU */
    size_t *open;                     /* for each task: its last `thread` on this CPU, + 1 */
};

static void collect_row(void *context, const struct rps_timeline_row *row)
{
    struct collecting *collecting = context;
    const struct rps_phases *phases = collecting->job->phases;
    size_t phase = phases ? rps_phases_at(phases, row->period, &collecting->phase) : SIZE_MAX;

    for (size_t i = 0; i < row->count; i++) {
        const struct rps_task *task = &collecting->code->task[row->seen[i].node];
        size_t *open = &collecting->open[row->seen[i].node];
        struct rps_export_thread *thread = *open ? &collecting->thread[*open - 1] : NULL;

        if (task->pid < 0)
            continue;
        if (thread && thread->phase == phase &&
            row->start_ns - thread->end_ns < collecting->gap_ns) {
            thread->end_ns = row->end_ns;
            thread->samples += row->seen[i].samples;
            continue;
        }
        collecting->thread = rps_arena_grow(collecting->job->arena, collecting->thread,
                                            collecting->count, sizeof(*collecting->thread));
        collecting->thread[collecting->count] = (struct rps_export_thread){
            .pid = task->pid,
            .tid = task->tid,
            .program = collecting->program[collecting->program_of[task->task]].name,
            .name = task->name,
            .start_ns = row->start_ns,
            .end_ns = row->end_ns,
            .phase = phase,
            .samples = row->seen[i].samples,
        };
        *open = ++collecting->count;
    }
}

static int compare_threads(const void *a, const void *b)
{
    const struct rps_export_thread *one = a, *other = b;
    const int64_t key[][2] = {{one->pid, other->pid},
                              {one->tid, other->tid},
                              {one->start_ns, other->start_ns},
                              {one->end_ns, other->end_ns}};

    for (size_t i = 0; i < RPS_COUNT(key); i++) {
        if (key[i][0] != key[i][1])
            return key[i][0] < key[i][1] ? -1 : 1;
    }
    return 0;
}

/* Pass on the threads' times in order. If a thread moves to another CPU within a period, its times
 * overlap and are merged. */
static void put_collected(const struct collecting *collecting, const struct rps_call_sink *sink)
{
    struct rps_export_thread *thread = collecting->thread, *last = thread;

    if (collecting->count > 0)
        qsort(thread, collecting->count, sizeof(*thread), compare_threads);
    for (size_t i = 1; i < collecting->count; i++) {
        struct rps_export_thread next = thread[i];
        int is_same = next.pid == last->pid && next.tid == last->tid;

        if (is_same &&
            (next.end_ns <= last->end_ns ||
             (next.phase == last->phase && next.start_ns - last->end_ns < collecting->gap_ns))) {
            last->end_ns = next.end_ns > last->end_ns ? next.end_ns : last->end_ns;
            last->samples += next.samples;
            continue;
        }
        if (is_same && next.start_ns < last->end_ns)
            next.start_ns = last->end_ns;
        sink->thread(sink->context, last);
        *++last = next;
    }
    if (collecting->count > 0)
        sink->thread(sink->context, last);
}

static int put_threads(struct rps_export_job *job, const struct rps_export_code *of,
                       const int32_t *cpu, size_t cpu_count, const struct rps_call_sink *sink,
                       struct rps_error *err)
{
    const size_t tasks = of->code->task_count;
    const uint64_t frequency = of->code->sampling.frequency;
    struct rps_share_name *program;
    size_t program_count;
    struct collecting collecting = {
        .job = job,
        .code = of->code,
        .program_of = rps_shares_owners(job->arena, of->code, RPS_SHARES_PROGRAM, &program,
                                        &program_count, NULL),
        .gap_ns = frequency > 0 ? GAP * RPS_NS_PER_S / (int64_t)frequency : THRESHOLD_GAP,
    };
    int result = 0;

    collecting.program = program;
    for (size_t i = 0; i < cpu_count && result == 0; i++) {
        struct rps_arena *scratch = rps_arena_new();
        struct rps_timeline timeline;

        result = rps_timeline_open(&timeline, scratch, job, of, cpu[i], RPS_COUNT_TASKS, err);
        collecting.open = rps_arena_get(scratch, tasks, sizeof(*collecting.open));
        collecting.phase = 0;
        if (result == 0)
            result = rps_timeline_walk(&timeline, collect_row, &collecting, err);
        rps_arena_free(scratch);
    }
    if (result == 0)
        put_collected(&collecting, sink);
    return result;
}

int rps_timeline_calls(struct rps_export_job *job, const struct rps_part_choice *choice,
                       const struct rps_cpus *cpus, const struct rps_call_sink *sink,
                       struct rps_error *err)
{
    struct rps_run_part part = {0};
    struct rps_code code;
    const struct rps_export_code of = {&code, choice, &part, cpus};
    int32_t *cpu = NULL;
    size_t count = 0;
    int result = rps_reader_code(job->arena, job->reader, job->run->run_id, &code, err);

    if (result > 0)
        result = rps_run_part_choose(job->arena, job->reader, job->run->run_id, choice, &part, err);
    if (result == 0 && code.stack_count > 0)
        result = rps_timeline_cpus(job, &of, &cpu, &count, err);
    for (size_t i = 0; i < count && result == 0; i++)
        result = put_cpu(job, &of, cpu[i], sink, err);
    return result < 0 ? result : put_threads(job, &of, cpu, count, sink, err);
}
