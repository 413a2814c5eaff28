/* Idle time of CPUs, from /proc/stat. No other source in Linux exists on every machine and
 * continues to count while a CPU sleeps without a tick. The times of /proc/schedstat are exact, but
 * lack a running program's time until the program leaves its CPU. The times of cpuidle in sysfs
 * stop while a CPU sleeps, and are missing in many virtual machines. Reading /proc/stat takes 11 us
 * on a machine of two CPUs. */
#include "idle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rpistat/clock.h"

/* Size of a buffer for a CPU's line, which is always shorter. CPU numbers are below CPU_MAX. */
#define LINE_BYTES 256
#define CPU_MAX    1000000

/* Index of column idle in a line: user, nice, system, idle, iowait. */
#define IDLE_COLUMN   3
#define IOWAIT_COLUMN 4

/* Parse a decimal number after blanks. Returns NULL if there is none, or if it is too large. */
static const char *parse_number(const char *text, uint64_t *ret)
{
    char *end;

    text += strspn(text, " \t");
    if (*text < '0' || *text > '9')
        return NULL;
    errno = 0;
    *ret = strtoull(text, &end, 10);
    return errno == 0 && (*end == ' ' || *end == '\n') ? end : NULL;
}

/* Parse a complete line. Returns 1 if it is a line of a CPU. */
static int parse_stat_line(const char *line, int *ret_cpu, uint64_t *ret_ticks)
{
    uint64_t cpu, number, ticks = 0;

    if (strncmp(line, "cpu", 3) != 0 || line[3] == ' ' || !(line = parse_number(line + 3, &cpu)) ||
        cpu > CPU_MAX)
        return 0;
    for (int column = 0; column <= IOWAIT_COLUMN; column++) {
        if (!(line = parse_number(line, &number)))
            return 0;
        if (column >= IDLE_COLUMN && __builtin_add_overflow(ticks, number, &ticks))
            return 0;
    }
    *ret_cpu = (int)cpu;
    *ret_ticks = ticks;
    return 1;
}

const char *rps_idle_parse(const char *text, int *ret_cpu, uint64_t *ret_ticks)
{
    const char *end;

    while ((end = strchr(text, '\n'))) {
        int found = parse_stat_line(text, ret_cpu, ret_ticks);

        text = end + 1;
        if (found)
            return text;
    }
    return NULL;
}

int rps_idle_open(struct rps_idle *idle, const int *cpu, int count, struct rps_error *err)
{
    long configured = sysconf(_SC_NPROCESSORS_CONF), ticks = sysconf(_SC_CLK_TCK);

    *idle = (struct rps_idle){.fd = -1, .tick_ns = RPS_NS_PER_S / (ticks > 0 ? ticks : 100)};
    for (int i = 0; i < count; i++)
        idle->count = cpu[i] >= idle->count ? cpu[i] + 1 : idle->count;
    idle->size = LINE_BYTES * (size_t)(2 + (configured > idle->count ? configured : idle->count));
    idle->cpu = calloc((size_t)idle->count + 1, sizeof(*idle->cpu));
    idle->text = malloc(idle->size);
    if (!idle->cpu || !idle->text) {
        rps_idle_close(idle);
        return rps_error_memory(err);
    }
    idle->fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
    return 0;
}

void rps_idle_close(struct rps_idle *idle)
{
    if (idle->text && idle->fd >= 0)
        close(idle->fd);
    free(idle->text);
    free(idle->cpu);
    memset(idle, 0, sizeof(*idle));
}

/* Record idle time. The sum of idle and iowait can decrease by a tick, and later grows again. */
static void note_idle_time(struct rps_idle_cpu *cpu, int64_t now_ns)
{
    cpu->known = cpu->last_ns >= 0;
    if (now_ns <= cpu->last_ns)
        return;
    if (cpu->known)
        cpu->total_ns += now_ns - cpu->last_ns;
    cpu->last_ns = now_ns;
}

void rps_idle_look(struct rps_idle *idle)
{
    ssize_t got = idle->count > 0 ? pread(idle->fd, idle->text, idle->size - 1, 0) : -1;
    const char *at = idle->text;
    uint64_t ticks;
    int number;

    for (int i = 0; i < idle->count; i++)
        idle->cpu[i].known = idle->cpu[i].taken = 0;
    if (got < 0)
        return;
    idle->text[got] = '\0';
    while ((at = rps_idle_parse(at, &number, &ticks)))
        if (number < idle->count && ticks <= (uint64_t)(INT64_MAX / idle->tick_ns))
            note_idle_time(&idle->cpu[number], (int64_t)ticks * idle->tick_ns);
}

void rps_idle_start(struct rps_idle *idle)
{
    for (int i = 0; i < idle->count; i++)
        idle->cpu[i].last_ns = -1;
    rps_idle_look(idle);
    for (int i = 0; i < idle->count; i++)
        idle->cpu[i].taken = 1; /* no difference is available yet */
}

int64_t rps_idle_ns(struct rps_idle *idle, int cpu)
{
    if (idle->cpu[cpu].taken)
        rps_idle_look(idle);
    idle->cpu[cpu].taken = 1;
    return idle->cpu[cpu].known ? idle->cpu[cpu].total_ns : -1;
}
