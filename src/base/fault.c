/*
 * The handler for SIGBUS, and the brackets that it leaves.
 *
 * SAFETY: leaving SQLite by siglongjmp is sound for all but the broken connection. SQLite accesses
 * the mapped file only in wal.c, outside of malloc and of every mutex: os_unix.c holds its mutexes
 * while it maps or locks the file, and it extends the file by write(2). rpistat opens connections
 * with SQLITE_OPEN_NOMUTEX, so none has a mutex of its own. What remains is memory that nobody frees
 * and file locks, which a connection to another file does not share. A new connection to the same
 * file would share the broken mapping. Guarded by unit/store/faults and cli/faults.
 */
#include "rpistat/fault.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rpistat/arena.h"
#include "rpistat/error.h"

#define LINES_SIZE 16384 /* at least two lines of /proc/self/maps */

struct bracket {
    struct bracket *outer;
    sigjmp_buf place;
};

static _Thread_local struct bracket *innermost;

/* Is this line of /proc/self/maps a shared memory file that holds the address? */
static bool is_shared_memory(char *line, uintptr_t address, char **ret_path)
{
    char *rest;
    uintptr_t from = strtoull(line, &rest, 16), to = *rest ? strtoull(rest + 1, &rest, 16) : 0;
    char *path = strchr(rest, '/'), *deleted = path ? strstr(path, " (deleted)") : NULL;
    size_t length;

    if (deleted)
        *deleted = '\0';
    length = path ? strlen(path) : 0;
    *ret_path = path;
    return from <= address && address < to && length > 4 && strcmp(path + length - 4, "-shm") == 0;
}

/* Find the file that is mapped at the address, by calls that a signal handler may make. */
static bool find_shared_memory(uintptr_t address, char lines[LINES_SIZE], char **ret_path)
{
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    ssize_t got = 0;
    bool found = false;

    while (!found && fd >= 0 && (got = read(fd, lines + used, LINES_SIZE - 1 - used)) > 0) {
        char *line = lines, *end;

        lines[used + (size_t)got] = '\0';
        for (; !found && (end = strchr(line, '\n')) != NULL; line = end + 1) {
            *end = '\0';
            found = is_shared_memory(line, address, ret_path);
        }
        used = found ? 0 : strlen(line);
        if (!found)
            memmove(lines, line, used);
    }
    if (fd >= 0)
        close(fd);
    return found;
}

static void on_fault(int number, siginfo_t *info, void *unused)
{
    char lines[LINES_SIZE], *path;
    struct rps_error err;

    (void)unused;
    if (info->si_code > 0 && find_shared_memory((uintptr_t)info->si_addr, lines, &path)) {
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
