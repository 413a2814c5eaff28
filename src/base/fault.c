/*
 * The handler for SIGBUS, and the brackets that it leaves.
 *
 * SAFETY: leaving SQLite by siglongjmp is sound for everything but the broken connection. SQLite
 * accesses the mapped file only in wal.c, outside of malloc and of every mutex. In os_unix.c it
 * holds its mutexes while it maps or locks the file, and it extends the file by write(2). No
 * connection has its own mutex, since all are opened with SQLITE_OPEN_NOMUTEX. Memory and file
 * locks remain that nobody frees; a connection to another file does not share them. A new
 * connection to the same file would share the broken mapping. Guarded by cli/lost.
 */
#include "rpistat/fault.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rpistat/arena.h"
#include "rpistat/error.h"

/* More than the longest line of /proc/self/maps: a path has at most 4,096 bytes. */
#define MAPS_SIZE 8192

struct bracket {
    struct bracket *outer;
    sigjmp_buf place;
};

static _Thread_local struct bracket *innermost;

/* Find the mapped file at the address, with calls that are allowed in a signal handler. Return its
 * path (in `maps`) if it is a store's shared memory, or NULL. */
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
    char maps[MAPS_SIZE]; /* SAFETY: threads may fault at the same time. Guarded by base/fault. */
    const char *path =
        info->si_code > 0 ? find_shared_memory((uintptr_t)info->si_addr, maps) : NULL;
    struct rps_error err;

    (void)unused;
    if (path) {
        if (innermost)
            siglongjmp(innermost->place, 1);
        if (syscall(SYS_gettid) == getpid()) {
            rps_error_set(&err, RPS_FAILED,
                          "%s was emptied by another program while it was in use: start the "
                          "command again",
                          path);
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
