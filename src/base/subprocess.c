#include "rpistat/subprocess.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rpistat/arena.h"

/* The outcome of the work; shared by both processes. */
struct outcome {
    int is_there;
    int result;
    struct rps_error err;
};

static struct outcome *own_outcome; /* in a process that was started here */

static void end_early(const struct rps_error *why)
{
    own_outcome->result = RPS_FAILED;
    own_outcome->err = *why;
    own_outcome->is_there = 1;
    _exit(1);
}

static _Noreturn void work_and_end(const char *name, rps_subprocess_work *work, void *context,
                                   int fd, struct outcome *outcome)
{
    FILE *out;

    prctl(PR_SET_NAME, name);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    own_outcome = outcome;
    rps_arena_on_exhaustion(end_early);
    out = fdopen(fd, "w");
    if (!out)
        rps_arena_exhausted();
    outcome->result = work(context, out, &outcome->err);
    if (outcome->result >= 0 && fclose(out) != 0)
        outcome->result = rps_error_memory(&outcome->err); /* the file is memory */
    outcome->is_there = 1;
    _exit(0);
}

/* Copy the written text into new memory. */
static int take(int fd, char **ret, size_t *ret_size, struct rps_error *err)
{
    struct stat file;
    char *text = fstat(fd, &file) == 0 ? malloc((size_t)file.st_size + 1) : NULL;

    if (!text || pread(fd, text, (size_t)file.st_size, 0) != (ssize_t)file.st_size) {
        free(text);
        return rps_error_memory(err);
    }
    text[file.st_size] = '\0';
    *ret = text;
    *ret_size = (size_t)file.st_size;
    return 0;
}

static int wait_for(pid_t pid, const char *name, const struct outcome *outcome,
                    struct rps_error *err)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (!outcome->is_there)
        return rps_error_set(err, RPS_FAILED, "the process '%s' ended too early (%s)", name,
                             WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "of itself");
    if (outcome->result < 0)
        *err = outcome->err;
    return outcome->result;
}

int rps_subprocess_run(const char *name, rps_subprocess_work *work, void *context, char **ret,
                       size_t *ret_size, struct rps_error *err)
{
    struct outcome *outcome =
        mmap(NULL, sizeof(*outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int fd = memfd_create(name, MFD_CLOEXEC), result;
    pid_t pid = outcome != MAP_FAILED && fd >= 0 ? fork() : -1;

    if (pid == 0)
        work_and_end(name, work, context, fd, outcome);
    if (pid < 0)
        result = rps_error_set(err, RPS_FAILED, "the process '%s' cannot be started: %s", name,
                               strerror(errno));
    else
        result = wait_for(pid, name, outcome, err);
    if (result >= 0 && ret && take(fd, ret, ret_size, err) < 0)
        result = RPS_FAILED;
    if (fd >= 0)
        close(fd);
    if (outcome != MAP_FAILED)
        munmap(outcome, sizeof(*outcome));
    return result;
}
