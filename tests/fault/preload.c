/* A library to be loaded into rpistat before libc (LD_PRELOAD). The library makes allocations or
 * reads of counters fail, as set in the environment. Other programs that rpistat starts are not
 * affected.
 *
 *     RPISTAT_FAULT_ALLOC=N     the N-th allocation fails (from 1); "N+": so do all later ones
 *     RPISTAT_FAULT_PROCESS=NAME only allocations in the process of this name are counted and fail
 *     RPISTAT_FAULT_READ=N:KIND every N-th read of a counter is a KIND: "eintr", "short", "eio",
 *                               "zero"
 *     RPISTAT_FAULT_COUNT=FILE  file that receives the numbers of allocations and counter reads */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* glibc's own allocator, under the names that glibc provides for interposed libraries. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

static struct {
    bool active;
    unsigned long alloc_at, read_each;
    bool alloc_on;
    char read_kind[8];
    const char *process; /* name of the process; NULL: any */
    ssize_t (*read)(int fd, void *data, size_t size);
    atomic_ulong allocs, reads;
} fault;

__attribute__((constructor)) static void begin(void)
{
    const char *alloc = getenv("RPISTAT_FAULT_ALLOC"), *read_text = getenv("RPISTAT_FAULT_READ");
    char *end = NULL;

    fault.read = (ssize_t(*)(int, void *, size_t))(uintptr_t)dlsym(RTLD_NEXT, "read");
    if (strcmp(program_invocation_short_name, "rpistat") != 0)
        return;
    if (alloc) {
        fault.alloc_at = strtoul(alloc, &end, 10);
        fault.alloc_on = *end == '+';
    }
    if (read_text) {
        fault.read_each = strtoul(read_text, &end, 10);
        snprintf(fault.read_kind, sizeof(fault.read_kind), "%s", *end ? end + 1 : "");
    }
    fault.process = getenv("RPISTAT_FAULT_PROCESS");
    fault.active = true;
}

__attribute__((destructor)) static void report(void)
{
    const char *path = getenv("RPISTAT_FAULT_COUNT");
    char text[64];
    int fd;

    if (!fault.active || !path)
        return;
    snprintf(text, sizeof(text), "%lu %lu\n", atomic_load(&fault.allocs),
             atomic_load(&fault.reads));
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        abort();
    close(fd);
}

static bool alloc_fails(void)
{
    unsigned long number;
    char name[16];

    if (!fault.active)
        return false;
    if (fault.process && (prctl(PR_GET_NAME, name) < 0 || strcmp(name, fault.process) != 0))
        return false;
    number = atomic_fetch_add(&fault.allocs, 1) + 1;
    if (number != fault.alloc_at && (!fault.alloc_on || number < fault.alloc_at))
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return alloc_fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return alloc_fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    return alloc_fails() ? NULL : __libc_realloc(memory, size);
}

static bool is_counter(int fd)
{
    char link[64], name[64];
    ssize_t length;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    length = readlink(link, name, sizeof(name) - 1);
    if (length < 0)
        return false;
    name[length] = '\0';
    return strstr(name, "perf_event") != NULL;
}

ssize_t read(int fd, void *data, size_t size)
{
    ssize_t got;

    if (!fault.active || fault.read_each == 0 || !is_counter(fd) ||
        (atomic_fetch_add(&fault.reads, 1) + 1) % fault.read_each != 0)
        return fault.read(fd, data, size);
    if (strcmp(fault.read_kind, "eintr") == 0 || strcmp(fault.read_kind, "eio") == 0) {
        errno = strcmp(fault.read_kind, "eio") == 0 ? EIO : EINTR;
        return -1;
    }
    if (strcmp(fault.read_kind, "zero") == 0)
        return 0;
    got = fault.read(fd, data, size);
    return got > 8 ? got - 8 : got;
}
