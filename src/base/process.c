#include "rpistat/process.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rpistat/arena.h"

/* Outcome of the work, in memory that parent and child share. */
struct outcome {
    int is_there;
    int result;
    struct rps_error err;
};

static struct outcome *own_outcome; /* set only in a child that rps_subprocess_run started */

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
        outcome->result = rps_error_memory(&outcome->err); /* the output file is memory */
    outcome->is_there = 1;
    _exit(0);
}

/* Copy the text that the work wrote into new memory. */
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
        return rps_error_set(err, RPS_FAILED,
                             "the process '%s' ended too early (%s); run the command again", name,
                             WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "by itself");
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
        result = rps_error_set(err, RPS_FAILED, "cannot start the helper process '%s': %s", name,
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

/* Functions for libraries that are opened when needed. */

int rps_library_open(const char *file, const struct rps_library_function *function)
{
    void *library = dlopen(file, RTLD_LAZY | RTLD_LOCAL);

    for (; library && function->name; function++) {
        void *symbol = dlsym(library, function->name);

        if (!symbol)
            return 0;
        memcpy(function->pointer, &symbol, sizeof(symbol));
    }
    return library != NULL;
}

void rps_signals_begin(struct rps_signals_before *ret)
{
    const struct sigaction normal = {.sa_handler = SIG_DFL};
    struct sigaction before = normal;
    sigset_t blocked;

    sigaction(SIGCHLD, &normal, &before);
    ret->ignores_children = before.sa_handler == SIG_IGN;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGXFSZ); /* blocked, not ignored: children inherit ignored signals */
    sigprocmask(SIG_BLOCK, &blocked, &ret->mask);
}

void rps_signals_restore(const struct rps_signals_before *before)
{
    if (before->ignores_children)
        signal(SIGCHLD, SIG_IGN);
    sigprocmask(SIG_SETMASK, &before->mask, NULL);
}

int rps_signals_take(const int *number, size_t count, int *ret_fd, sigset_t *ret_before,
                     struct rps_error *err)
{
    sigset_t mask, before;
    int fd;

    sigemptyset(&mask);
    for (size_t i = 0; i < count; i++) {
        struct sigaction action;

        if (sigaction(number[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&mask, number[i]);
    }
    sigprocmask(SIG_BLOCK, &mask, &before);
    fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0) {
        rps_error_set(err, RPS_FAILED, "cannot receive signals: %s", strerror(errno));
        sigprocmask(SIG_SETMASK, &before, NULL);
        return RPS_FAILED;
    }
    *ret_fd = fd;
    if (ret_before)
        *ret_before = before;
    return 0;
}

/* The handler for SIGBUS, and the guards to which the handler jumps.
 *
 * SAFETY: after siglongjmp out of SQLite, everything except the broken connection can be used.
 * SQLite accesses the mapped file only in wal.c, outside of malloc and of every mutex. In
 * os_unix.c, SQLite holds its mutexes while it maps or locks the file, and extends the file by
 * write(2), so that it does not access the mapped file there. No connection has its own mutex,
 * because all connections are opened with SQLITE_OPEN_NOMUTEX. The broken connection's memory and
 * file locks are never freed; connections to other files do not use this memory or these locks. A
 * new connection to the same file would share the broken mapping. The test cli/lost guards this. */

/* Buffer size for the longest line of /proc/self/maps, in which a path has at most 4,096 bytes. */
#define MAPS_SIZE 8192

struct bracket {
    struct bracket *outer;
    sigjmp_buf place;
};

static _Thread_local struct bracket *innermost;

/* Find the mapped file that contains an address, with only those calls that are allowed in a signal
 * handler. Return the file's path (in `maps`) if it is the shared memory of a store, or NULL. */
static const char *find_shared_memory(uintptr_t address, char maps[MAPS_SIZE])
{
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    char *line, *end, *rest, *path = NULL;
    size_t used = 0;
    ssize_t got;

    while (fd >= 0 && !path && (got = read(fd, maps + used, MAPS_SIZE - 1 - used)) > 0) {
        maps[used + (size_t)got] = '\0';
        for (line = maps; !path && (end = strchr(line, '\n')) != NULL; line = end + 1) {
            uintptr_t from = strtoull(line, &rest, 16),
                      to = *rest ? strtoull(rest + 1, NULL, 16) : 0;

            *end = '\0';
            path = address >= from && address < to ? strchr(line, '/') : NULL;
        }
        used = strlen(line);
        if (!path)
            memmove(maps, line, used);
    }
    close(fd);
    if (path && (end = strstr(path, " (deleted)")) != NULL)
        *end = '\0';
    return path && strlen(path) > 4 && strcmp(strchr(path, '\0') - 4, "-shm") == 0 ? path : NULL;
}

static void on_fault(int number, siginfo_t *info, void *unused)
{
    char maps[MAPS_SIZE]; /* SAFETY: the buffer is not static, because threads may fault in
                             parallel. The test base/fault guards this. */
    const char *path =
        info->si_code > 0 ? find_shared_memory((uintptr_t)info->si_addr, maps) : NULL;
    struct rps_error err;

    (void)unused;
    if (path) {
        if (innermost)
            siglongjmp(innermost->place, 1);
        if (syscall(SYS_gettid) == getpid()) {
            rps_error_set(
                &err, RPS_FAILED,
                "another program truncated %s while it was in use; start the command again", path);
            rps_arena_end(&err);
        }
    }
    signal(number, SIG_DFL);
    raise(number);
}

void rps_fault_begin(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO}, before;

    sigemptyset(&action.sa_mask);
    if (sigaction(SIGBUS, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGBUS, &action, NULL);
}

int rps_fault_guard(void (*work)(void *context), void *context)
{
    struct bracket bracket = {.outer = innermost};
    int result = sigsetjmp(bracket.place, 1) == 0 ? 0 : RPS_FAILED;

    if (result == 0) {
        innermost = &bracket;
        work(context);
    }
    innermost = bracket.outer;
    return result;
}
