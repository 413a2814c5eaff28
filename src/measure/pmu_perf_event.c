/* perf_event: open one event, and explain the kernel's refusals. */
#include "pmu_perf.h"
#include "rpistat/proc.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert((int)RPS_EVENT_HARDWARE == (int)PERF_TYPE_HARDWARE, "the kernel's number");
_Static_assert((int)RPS_EVENT_SOFTWARE == (int)PERF_TYPE_SOFTWARE, "the kernel's number");
_Static_assert((int)RPS_EVENT_TRACEPOINT == (int)PERF_TYPE_TRACEPOINT, "the kernel's number");
_Static_assert((int)RPS_EVENT_HW_CACHE == (int)PERF_TYPE_HW_CACHE, "the kernel's number");
_Static_assert((int)RPS_EVENT_RAW == (int)PERF_TYPE_RAW, "the kernel's number");

#define PERF_TIMES (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

static int open_attr(struct perf_event_attr *attr, const struct rps_perf_place *place, int group_fd)
{
    return (int)syscall(SYS_perf_event_open, attr, place->pid, place->cpu, group_fd,
                        PERF_FLAG_FD_CLOEXEC | place->flags);
}

void rps_perf_fill_attr(struct perf_event_attr *attr, const struct rps_event *event, unsigned flags)
{
    memset(attr, 0, sizeof(*attr));
    attr->size = sizeof(*attr);
    attr->type = event->type;
    attr->config = event->config;
    attr->config1 = event->config1;
    attr->config2 = event->config2;
    attr->disabled = !!(flags & RPS_PERF_DISABLED);
    attr->enable_on_exec = !!(flags & RPS_PERF_ON_EXEC);
    attr->pinned = !!(flags & RPS_PERF_PINNED);
    attr->inherit = !!(flags & RPS_PERF_INHERIT);
    attr->read_format = PERF_TIMES | (flags & RPS_PERF_GROUP ? PERF_FORMAT_GROUP : 0);
    if (strchr(event->modifiers, 'u') && !strchr(event->modifiers, 'k'))
        attr->exclude_kernel = attr->exclude_hv = 1;
    if (strchr(event->modifiers, 'k') && !strchr(event->modifiers, 'u'))
        attr->exclude_user = 1;
}

int rps_perf_open_attr(struct perf_event_attr *attr, const struct rps_perf_place *place,
                       int group_fd)
{
    static const struct rps_perf_place here = {.pid = 0, .cpu = -1};
    int fd, number;

    if (!place)
        place = &here;
    fd = open_attr(attr, place, group_fd);
    if (fd >= 0)
        return fd;
    number = errno;
    if ((number != EACCES && number != EPERM) || attr->exclude_kernel || attr->exclude_user)
        return -number;
    attr->exclude_kernel = attr->exclude_hv = 1;
    fd = open_attr(attr, place, group_fd);
    if (fd < 0)
        attr->exclude_kernel = attr->exclude_hv = 0;
    return fd >= 0 ? fd : -number;
}

int rps_perf_open_event(const struct rps_event *event, const struct rps_perf_place *place,
                        int group_fd, unsigned flags, int *ret_user_only)
{
    struct perf_event_attr attr;
    int asked, fd;

    rps_perf_fill_attr(&attr, event, flags);
    asked = attr.exclude_kernel;
    fd = rps_perf_open_attr(&attr, place, group_fd);
    if (ret_user_only)
        *ret_user_only = attr.exclude_kernel && !asked;
    return fd;
}

void rps_perf_close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* --- why not ---------------------------------------------------------------------------------- */

int rps_perf_paranoid(void)
{
    char text[16];

    return rps_proc_read(text, sizeof(text), "/proc/sys/kernel/perf_event_paranoid") > 0
               ? atoi(text)
               : -100;
}

int rps_perf_is_virtual(void)
{
    char text[8192]; /* text of /proc/cpuinfo for the first CPU */

    return rps_proc_read(text, sizeof(text), "/proc/cpuinfo") > 0 && strstr(text, " hypervisor");
}

/* Suggest a remedy for a refusal. root is refused only in a container or by other confinement. */
static const char *permission_advice(void)
{
    return geteuid() == 0
               ? ", even to root: a container or sandbox forbids perf_event_open; start it with "
                 "CAP_PERFMON and a seccomp profile that allows perf_event_open"
               : "; run as root, set sysctl kernel.perf_event_paranoid=1, or, where it is at most "
                 "2, "
                 "give rpistat CAP_PERFMON (a container may forbid perf_event_open entirely)";
}

enum rps_event_state rps_perf_explain(int number, char *reason, size_t size)
{
    switch (number) {
    case EACCES:
    case EPERM:
        snprintf(reason, size, "not permitted (kernel.perf_event_paranoid is %d)%s",
                 rps_perf_paranoid(), permission_advice());
        return RPS_EVENT_NOT_PERMITTED;
    case ENOSYS:
        snprintf(reason, size,
                 "perf_event_open does not exist here: the kernel was built without performance "
                 "events, or a sandbox hides them");
        return RPS_EVENT_UNSUPPORTED;
    case EBUSY:
        snprintf(reason, size, "another tool holds the counters");
        return RPS_EVENT_UNSUPPORTED;
    case EMFILE:
    case ENFILE:
        snprintf(reason, size, "too few file descriptors; raise ulimit -n");
        return RPS_EVENT_UNSUPPORTED;
    default:
        snprintf(reason, size, "not supported here (%s)%s", strerror(number),
                 rps_perf_is_virtual() ? ": this virtual machine does not have it" : "");
        return RPS_EVENT_UNSUPPORTED;
    }
}
