/* Names frames during a recording. The naming process is a copy of the recorder with the tracker's
 * data. As at the end of a recording, further processes with limits read the modules' files. */
#include "symbolize_job.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "child.h"

#define NICE       19
#define HEAR_BYTES 65536 /* Bytes per read: the capacity of a pipe. */

int rps_symbolize_job_run(struct rps_arena *arena, const struct rps_tracker *tracker, int is_end,
                          struct rps_code *ret, struct rps_error *err)
{
    const struct rps_symbolize_options options = {.opens_paths = 1};
    int rc;

    *ret = rps_tracker_code(arena, tracker, is_end);
    if (ret->location_count > 0) /* A simulation has provided the names. */
        return 0;
    rc = rps_symbolize(arena, ret, &options, err);
    for (size_t i = 0; i < ret->location_count; i++)
        ret->location[i].frame = ret->frame[ret->location[i].frame].frame;
    return rc;
}

/* --- the process ------------------------------------------------------------------------------ */

static _Noreturn void name_in_child(const struct rps_tracker *tracker, const cpu_set_t *home,
                                    int fd)
{
    struct rps_code code;
    FILE *out;

    rps_child_begin("rpistat names");
    if (rps_child_keep_only(fd, fd) < 0)
        _exit(1);
    setpriority(PRIO_PROCESS, 0, NICE);
    if (CPU_COUNT(home) > 0)
        sched_setaffinity(0, sizeof(*home), home);
    out = fdopen(fd, "w");
    if (!out || rps_symbolize_job_run(rps_arena_new(), tracker, 0, &code, NULL) < 0)
        _exit(1);
    for (size_t first = 0, next; first < code.location_count; first = next) {
        for (next = first + 1; next < code.location_count; next++) {
            if (code.location[next].frame != code.location[first].frame)
                break;
        }
        rps_symbolize_send(out, (size_t)code.location[first].frame, &code.location[first],
                           next - first);
    }
    _exit(fflush(out) == 0 ? 0 : 1);
}

/* --- its parent ------------------------------------------------------------------------------- */

void rps_symbolize_job_start(struct rps_symbolize_job *job, const struct rps_tracker *tracker)
{
    int ends[2];
    pid_t pid;

    if (job->pid != 0)
        return;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return;
    pid = fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 ? fork() : -1;
    if (pid == 0)
        name_in_child(tracker, &job->home, ends[1]);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return;
    }
    job->pid = pid;
    job->fd = ends[0];
}

void rps_symbolize_job_receive(struct rps_symbolize_job *job,
                               int (*take)(void *context, const struct rps_symbolize_message *told),
                               void *context)
{
    size_t heard = 0;
    ssize_t got = 1;

    while (job->pid != 0 && heard < HEAR_BYTES && got > 0) {
        got = rps_symbolize_receive(&job->heard, job->fd, take, context);
        heard += got > 0 ? (size_t)got : 0;
        if (got == 0)
            rps_symbolize_job_end(job);
    }
}

void rps_symbolize_job_end(struct rps_symbolize_job *job)
{
    enum rps_child_end how;

    if (job->pid != 0) {
        job->cpu_ns += rps_child_end(job->pid, &how); /* The process ends by itself after its
                                                         last message. */
        close(job->fd);
    }
    rps_symbolize_received_free(&job->heard);
    job->pid = 0;
}
