/* Read how long the machine's ended threads had waited for a CPU. Linux sends this time at the end
 * of each thread (taskstats, over generic netlink). In /proc the waiting time exists only for live
 * threads, but short processes do most of the waiting.
 *
 * SAFETY: the socket is connected to the kernel, so that no other program's message reaches it, and
 * no length in a message is trusted. */
#include "sampler_perf.h"

#include <errno.h>
#include <limits.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rpistat/proc.h"

#define HEAD_BYTES ((size_t)(NLMSG_HDRLEN + GENL_HDRLEN))
#define ROOM_BYTES (16 * 1024 * 1024) /* space for some 25,000 ends of threads between two drains */

/* Value of `failure` until the end of the recording. */
static const char goes_on[] = "the recording did not reach its end";

/* Return the content of a type's first attribute, or NULL if missing or of invalid length. */
static const uint8_t *find(const uint8_t *at, size_t size, int type, size_t *ret_size)
{
    struct nlattr attr;

    for (size_t step; size >= sizeof(attr); at += step, size -= step) {
        memcpy(&attr, at, sizeof(attr));
        if (attr.nla_len < sizeof(attr) || attr.nla_len > size)
            return NULL;
        *ret_size = attr.nla_len - sizeof(attr);
        if ((attr.nla_type & NLA_TYPE_MASK) == type)
            return at + sizeof(attr);
        step = (size_t)NLA_ALIGN(attr.nla_len);
        step = step < size ? step : size;
    }
    return NULL;
}

int rps_perf_queue_parse(const uint8_t *message, size_t size, int family, struct taskstats *ret)
{
    const size_t needed = offsetof(struct taskstats, ac_ppid);
    struct nlmsghdr head = {.nlmsg_len = 0};

    if (size >= HEAD_BYTES)
        memcpy(&head, message, sizeof(head));
    if (head.nlmsg_type != family || head.nlmsg_len < HEAD_BYTES || head.nlmsg_len > size)
        return -1;
    message =
        find(message + HEAD_BYTES, head.nlmsg_len - HEAD_BYTES, TASKSTATS_TYPE_AGGR_PID, &size);
    if (!message || !(message = find(message, size, TASKSTATS_TYPE_STATS, &size)) || size < needed)
        return -1;
    memcpy(ret, message, needed);
    ret->ac_comm[sizeof(ret->ac_comm) - 1] = '\0';
    return ret->ac_pid == 0 || ret->ac_pid > INT_MAX || ret->cpu_delay_total > INT64_MAX ? -1 : 0;
}

/* Send a request with a text, which Linux answers at once. Returns the answer's size, or -errno. */
static ssize_t ask(int fd, uint16_t family, uint8_t command, uint16_t type, const char *text,
                   uint8_t answer[RPS_PERF_QUEUE_BYTES])
{
    struct {
        struct nlmsghdr head;
        struct genlmsghdr command;
        struct nlattr attr;
        char text[256];
    } sent = {{0, family, NLM_F_REQUEST | (family == GENL_ID_CTRL ? 0 : NLM_F_ACK), 0, 0},
              {command, 1, 0},
              {(uint16_t)(NLA_HDRLEN + strlen(text) + 1), type},
              ""};
    struct nlmsgerr error = {.error = -EBADMSG};
    ssize_t got;

    snprintf(sent.text, sizeof(sent.text), "%s", text);
    sent.head.nlmsg_len = (uint32_t)(HEAD_BYTES + sent.attr.nla_len);
    if (send(fd, &sent, sent.head.nlmsg_len, 0) < 0 ||
        (got = recv(fd, answer, RPS_PERF_QUEUE_BYTES, 0)) < 0)
        return -errno;
    memcpy(&sent.head, answer, sizeof(sent.head));
    if (got >= (ssize_t)(NLMSG_HDRLEN + sizeof(error)))
        memcpy(&error, answer + NLMSG_HDRLEN, sizeof(error));
    return sent.head.nlmsg_type == NLMSG_ERROR || got < (ssize_t)HEAD_BYTES ? error.error : got;
}

/* Register for the ends of threads on all CPUs. Returns Linux's error if negative. */
static ssize_t listen_to_ends(struct rps_perf_queue *queue)
{
    const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    const int room = ROOM_BYTES;
    uint8_t answer[RPS_PERF_QUEUE_BYTES] = {0};
    const uint8_t *family;
    char cpus[200];
    size_t bytes = 0;
    ssize_t got;

    queue->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_GENERIC);
    if (queue->fd < 0 || connect(queue->fd, (const struct sockaddr *)&kernel, sizeof(kernel)) < 0)
        return -errno;
    got = ask(queue->fd, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME,
              TASKSTATS_GENL_NAME, answer);
    if (got < 0)
        return got;
    family = find(answer + HEAD_BYTES, (size_t)got - HEAD_BYTES, CTRL_ATTR_FAMILY_ID, &bytes);
    if (!family || bytes < sizeof(queue->family))
        return -EBADMSG;
    memcpy(&queue->family, family, sizeof(queue->family));
    setsockopt(queue->fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
    rps_proc_read(cpus, sizeof(cpus), "/sys/devices/system/cpu/possible");
    cpus[strcspn(cpus, "\n")] = '\0';
    return ask(queue->fd, queue->family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK,
               cpus, answer);
}

void rps_perf_queue_open(struct rps_perf_queue *queue)
{
    const ssize_t error = listen_to_ends(queue);

    if (error < 0)
        rps_perf_queue_close(queue);
    queue->failure = error >= 0        ? goes_on
                     : error == -EPERM ? "it takes root, or CAP_NET_ADMIN"
                                       : "taskstats are missing in this kernel or container";
}

void rps_perf_queue_close(struct rps_perf_queue *queue)
{
    if (queue->fd > 0)
        close(queue->fd);
    queue->fd = 0;
}

void rps_perf_queue_drain(struct rps_perf_queue *queue, int is_on, int is_end,
                          const struct rps_sample_sink *sink)
{
    struct rps_sample sample = {.kind = RPS_SAMPLE_QUEUE, .time_ns = rps_clock_monotonic_ns()};
    uint8_t message[RPS_PERF_QUEUE_BYTES];
    struct taskstats task;
    ssize_t got;

    while (queue->fd > 0 &&
           ((got = recv(queue->fd, message, sizeof(message), 0)) >= 0 || errno == ENOBUFS)) {
        if (!sink) /* may be the acknowledgement of the registration */
            continue;
        if (got < 0 || rps_perf_queue_parse(message, (size_t)got, queue->family, &task) < 0) {
            queue->failure = "times of threads that ended were lost";
        } else if (task.cpu_count == 0) { /* not 0 if counted: every thread that ran was in a
                                             queue before */
            queue->failure = "Linux does not count it (boot option nodelayacct)";
        } else {
            sample.path = task.ac_comm;
            sample.tid = (pid_t)task.ac_pid;
            sample.queue_ns = (int64_t)task.cpu_delay_total;
            sink->sample(sink->context, &sample);
        }
    }
    if (queue->failure != goes_on || !sink || (is_on && !is_end))
        return;
    queue->failure = is_end ? NULL : "the recording was paused";
    sample.tid = 0;
    if (is_end)
        sink->sample(sink->context, &sample);
}
