/*
 * The process that unwinds, and its parent's side of the socket.
 *
 * A question is about one map: the child answers with callers as long as they are in it, and the
 * parent, which knows what each process has mapped, asks on in the map of the last one. So the
 * child knows no processes, and which file it died of is known.
 */
#include "unwinder.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "rpistat/clock.h"

#define STACK_MAX (64 << 10) /* bytes of a stack */
#define PATH_SIZE 4096
#define CFI_MAX   256 /* files of which the call frame information is kept */

/* What the parent asks; values of registers, the stack and the path follow. */
struct question {
    uint64_t start, end, file_offset; /* of the map */
    int64_t module;
    uint64_t mask; /* of registers; 0: those of the last answer */
    uint32_t value_bytes, stack_bytes, path_bytes;
    uint32_t kind; /* enum rps_module_kind; MEMORY: no file is to be read */
    char build_id[2 * RPS_BUILD_ID_MAX + 1];
};

#define QUESTION_BYTES_MAX (sizeof(struct question) + 64 * sizeof(uint64_t) + STACK_MAX + PATH_SIZE)

/* --- the child -------------------------------------------------------------------------------- */

struct child {
    struct rps_unwind unwind;
    uint64_t value[64];
    char stack[STACK_MAX];
    char path[PATH_SIZE];
    struct {
        int64_t module; /* plus one */
        struct rps_cfi *cfi;
    } cfi[CFI_MAX]; /* by module */
    char message[QUESTION_BYTES_MAX];
};

static struct rps_cfi *find_cfi(struct child *child, const struct question *question)
{
    size_t at = (size_t)question->module % CFI_MAX;

    if (question->kind == RPS_MODULE_MEMORY)
        return NULL;
    if (child->cfi[at].module != question->module + 1) {
        rps_cfi_close(child->cfi[at].cfi);
        child->cfi[at].cfi =
            rps_cfi_open((enum rps_module_kind)question->kind, child->path, question->build_id);
        child->cfi[at].module = question->module + 1;
    }
    return child->cfi[at].cfi;
}

/* Take the question's parts out of the message; the registers, when there are some, begin a
 * stack. */
static int read_question(struct child *child, struct question *ret)
{
    const char *at = child->message + sizeof(*ret);
    struct rps_sample_registers registers = {.value = child->value, .stack = child->stack};

    memcpy(ret, child->message, sizeof(*ret));
    memcpy(child->value, at, ret->value_bytes);
    at += ret->value_bytes;
    if (ret->mask)
        memcpy(child->stack, at, ret->stack_bytes);
    at += ret->stack_bytes;
    memcpy(child->path, at, ret->path_bytes);
    child->path[ret->path_bytes] = '\0';
    registers.mask = ret->mask;
    registers.stack_bytes = ret->stack_bytes;
    return ret->mask ? rps_unwind_start(&child->unwind, &registers) : 0;
}

static void answer_question(struct child *child, struct rps_unwinder_answer *ret)
{
    struct rps_unwind *unwind = &child->unwind;
    enum rps_unwind_step step;
    struct question question;
    struct rps_cfi *cfi;
    uint64_t address;

    memset(ret, 0, sizeof(*ret));
    if (read_question(child, &question) < 0) {
        ret->step = RPS_UNWIND_LOST;
        return;
    }
    cfi = find_cfi(child, &question);
    address = unwind->pc - !unwind->is_exact;
    do {
        step = rps_unwind_step(unwind, cfi, address - question.start + question.file_offset);
        address = unwind->pc - !unwind->is_exact;
        if (step == RPS_UNWIND_CALLER)
            ret->address[ret->count++] = address;
    } while (step == RPS_UNWIND_CALLER && ret->count < RPS_SAMPLE_DEPTH_MAX &&
             address >= question.start && address < question.end);
    ret->step = step;
}

static _Noreturn void unwind_in_child(int fd)
{
    struct child *child = calloc(1, sizeof(*child));
    struct rps_unwinder_answer answer;

    rps_child_begin("rpistat unwinds");
    rps_child_keep_only(fd);
    while (child) {
        struct itimerval limit = {.it_value = {.tv_sec = RPS_CHILD_CPU_S}};
        ssize_t size = recv(fd, child->message, sizeof(child->message), 0);

        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0)
            break;
        setitimer(ITIMER_PROF, &limit, NULL); /* of CPU time: it stands still in between */
        answer_question(child, &answer);
        if (send(fd, &answer, sizeof(answer), MSG_NOSIGNAL) < 0)
            break;
    }
    _exit(0);
}

/* --- the parent ------------------------------------------------------------------------------- */

void rps_unwinder_end(struct rps_unwinder *unwinder)
{
    struct rusage usage = {.ru_utime = {0}};
    pid_t pid;

    if (unwinder->pid == 0)
        return;
    kill(unwinder->pid, SIGKILL);
    do {
        pid = wait4(unwinder->pid, NULL, 0, &usage);
    } while (pid < 0 && errno == EINTR);
    unwinder->cpu_ns += (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * RPS_NS_PER_S +
                        (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * RPS_NS_PER_US;
    close(unwinder->fd);
    unwinder->pid = 0;
    unwinder->is_late = 0;
}

/* Without processes or descriptors there is none, and it is tried again for the next stack. */
static void start_process(struct rps_unwinder *unwinder)
{
    const struct timeval wait = {.tv_sec = unwinder->wait_us / 1000000,
                                 .tv_usec = unwinder->wait_us % 1000000};
    int ends[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return;
    pid = fork();
    if (pid == 0)
        unwind_in_child(ends[1]);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return;
    }
    unwinder->pid = pid;
    unwinder->fd = ends[0];
    unwinder->module = -1;
    setsockopt(unwinder->fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
}

/* 1: the answer, 0: it is still to come. When the process has died, or tells nonsense, there is
 * none. */
static int hear(struct rps_unwinder *unwinder, int flags, struct rps_unwinder_answer *ret)
{
    ssize_t size;

    do {
        size = recv(unwinder->fd, ret, sizeof(*ret), flags);
    } while (size < 0 && errno == EINTR);
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return 0;
    if (size != sizeof(*ret) || ret->count > RPS_SAMPLE_DEPTH_MAX || ret->step > RPS_UNWIND_END ||
        (ret->step == RPS_UNWIND_CALLER && ret->count == 0)) {
        rps_unwinder_end(unwinder);
        unwinder->has_died = 1;
        *ret = (struct rps_unwinder_answer){.step = RPS_UNWIND_LOST};
    }
    return 1;
}

int rps_unwinder_is_ready(struct rps_unwinder *unwinder)
{
    struct rps_unwinder_answer late;

    if (unwinder->is_late && hear(unwinder, MSG_DONTWAIT, &late))
        unwinder->is_late = 0;
    if (unwinder->pid == 0 && !unwinder->has_died)
        start_process(unwinder);
    return unwinder->pid != 0 && !unwinder->is_late;
}

void rps_unwinder_ask(struct rps_unwinder *unwinder, const struct rps_sample_registers *registers,
                      const struct rps_map *map, uint64_t address, int use_file,
                      struct rps_unwinder_answer *ret)
{
    struct question question = {
        .start = map ? map->start : address,
        .end = map ? map->end : address,
        .file_offset = map ? map->file_offset : 0,
        .module = map ? map->mapped->module : -1,
        .kind = RPS_MODULE_MEMORY,
    };
    struct iovec part[4] = {{&question, sizeof(question)}};
    struct msghdr message = {.msg_iov = part, .msg_iovlen = 4};

    if (registers) {
        question.mask = registers->mask;
        question.value_bytes =
            (uint32_t)((size_t)__builtin_popcountll(registers->mask) * sizeof(uint64_t));
        question.stack_bytes =
            (uint32_t)(registers->stack_bytes < STACK_MAX ? registers->stack_bytes : STACK_MAX);
        part[1] = (struct iovec){(void *)(uintptr_t)registers->value, question.value_bytes};
        part[2] = (struct iovec){(void *)(uintptr_t)registers->stack, question.stack_bytes};
    }
    if (map && use_file && strlen(map->mapped->path) < PATH_SIZE) {
        question.kind = (uint32_t)map->mapped->kind;
        question.path_bytes = (uint32_t)strlen(map->mapped->path);
        strcpy(question.build_id, map->mapped->build_id);
        part[3] = (struct iovec){map->mapped->path, question.path_bytes};
    }
    unwinder->module = question.kind == RPS_MODULE_MEMORY ? -1 : question.module;
    *ret = (struct rps_unwinder_answer){.step = RPS_UNWIND_LOST};
    if (sendmsg(unwinder->fd, &message, MSG_NOSIGNAL) < 0)
        rps_unwinder_end(unwinder); /* somebody else ended it */
    else if (!hear(unwinder, 0, ret))
        unwinder->is_late = 1;
}
