/*
 * The process that reads call frame information, and its parent's side of the socket. A question is
 * about one place in one file, so that the file it died of is known.
 */
#include "unwinder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "child.h"
#include "rpistat/array.h"
#include "rpistat/clock.h"

#define PATH_SIZE 4096
#define CFI_MAX   256 /* files of which the call frame information is kept */

/* What the parent asks; the path follows, without its zero. */
struct question {
    int64_t module;
    uint64_t offset; /* in the file */
    uint32_t kind;   /* enum rps_module_kind */
    char build_id[2 * RPS_BUILD_ID_MAX + 1];
};

/* --- the child -------------------------------------------------------------------------------- */

struct child {
    struct {
        int64_t module; /* plus one */
        struct rps_cfi *cfi;
    } cfi[CFI_MAX]; /* by module */
    struct {
        struct question question;
        char path[PATH_SIZE];
    } message;
};

static struct rps_cfi *find_cfi(struct child *child, const struct question *question)
{
    size_t at = (size_t)question->module % CFI_MAX;

    if (child->cfi[at].module != question->module + 1) {
        rps_cfi_close(child->cfi[at].cfi);
        child->cfi[at].cfi = rps_cfi_open((enum rps_module_kind)question->kind, child->message.path,
                                          question->build_id);
        child->cfi[at].module = question->module + 1;
    }
    return child->cfi[at].cfi;
}

/* The parent ends it. */
static _Noreturn void read_in_child(int fd)
{
    struct child *child = calloc(1, sizeof(*child));
    const struct question *question = &child->message.question;
    struct rps_unwind_row row;

    rps_child_begin("rpistat unwinds");
    rps_child_keep_only(fd);
    while (child) {
        struct itimerval limit = {.it_value = {.tv_sec = RPS_CHILD_CPU_S}};
        ssize_t size = recv(fd, &child->message, sizeof(child->message) - 1, 0);

        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0)
            break;
        ((char *)&child->message)[size] = '\0';
        setitimer(ITIMER_PROF, &limit, NULL); /* of CPU time: it stands still in between */
        size = (ssize_t)rps_cfi_find(find_cfi(child, question), question->offset, &row);
        if (send(fd, &row, (size_t)size, MSG_NOSIGNAL) < 0)
            break;
    }
    _exit(0);
}

/* --- the parent ------------------------------------------------------------------------------- */

void rps_unwinder_end(struct rps_unwinder *unwinder)
{
    if (unwinder->pid == 0)
        return;
    unwinder->cpu_ns += rps_child_end(unwinder->pid);
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
        read_in_child(ends[1]);
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

/* Whether there is time to wait, now. */
static int has_time(struct rps_unwinder *unwinder, int64_t now_ns)
{
    unwinder->waited_ns -= (now_ns - unwinder->asked_ns) / 10;
    if (unwinder->waited_ns < 0)
        unwinder->waited_ns = 0;
    unwinder->asked_ns = now_ns;
    return unwinder->waited_ns < unwinder->wait_us * RPS_NS_PER_US;
}

/* Send a question; 0, or negative when that cannot be. */
static int ask(struct rps_unwinder *unwinder, const struct rps_mapped *mapped, uint64_t offset)
{
    struct question question = {
        .module = mapped->module, .offset = offset, .kind = (uint32_t)mapped->kind};
    struct iovec part[] = {{&question, sizeof(question)},
                           {(void *)(uintptr_t)mapped->path, strlen(mapped->path)}};
    struct msghdr message = {.msg_iov = part, .msg_iovlen = 2};

    if (unwinder->pid == 0 && !unwinder->has_died)
        start_process(unwinder);
    if (unwinder->pid == 0 || unwinder->is_late)
        return -1;
    strcpy(question.build_id, mapped->build_id);
    unwinder->module = mapped->module;
    unwinder->offset = offset;
    if (sendmsg(unwinder->fd, &message, MSG_NOSIGNAL) < 0) {
        rps_unwinder_end(unwinder); /* somebody else ended it */
        return -1;
    }
    unwinder->is_late = 1;
    return 0;
}

/* --- rows that are known ---------------------------------------------------------------------- */

static int lies_before(const void *thing, const void *key)
{
    const struct rps_unwinder_row *row = thing, *place = key;

    return row->module != place->module ? row->module < place->module : row->end <= place->end;
}

static void forget_rows(struct rps_unwinder *unwinder)
{
    for (size_t i = 0; i < unwinder->row_count; i++)
        free(unwinder->row[i].row);
    free(unwinder->row);
    unwinder->row = NULL;
    unwinder->row_count = 0;
}

/* Without memory it is not kept; NULL. */
static const struct rps_unwind_row *keep_row(struct rps_unwinder *unwinder, int64_t module,
                                             const struct rps_unwind_row *row, size_t bytes)
{
    const struct rps_unwinder_row place = {.module = module, .end = row->end};
    struct rps_unwinder_row *rows;
    size_t at;

    if (unwinder->row_count == RPS_UNWINDER_ROWS_MAX)
        forget_rows(unwinder);
    rows = rps_array_grow(unwinder->row, unwinder->row_count, sizeof(*rows));
    if (!rows)
        return NULL;
    unwinder->row = rows;
    at = rps_array_find(rows, unwinder->row_count, sizeof(*rows), lies_before, &place);
    memmove(&rows[at + 1], &rows[at], (unwinder->row_count - at) * sizeof(*rows));
    rows[at] = place;
    rows[at].row = malloc(bytes);
    if (!rows[at].row) {
        memmove(&rows[at], &rows[at + 1], (unwinder->row_count - at) * sizeof(*rows));
        return NULL;
    }
    memcpy(rows[at].row, row, bytes);
    unwinder->row_count++;
    return rows[at].row;
}

/* The answer to the last question, or NULL: it is still to come, or the process has died. One that
 * makes no sense is as good as dead. */
static const struct rps_unwind_row *hear(struct rps_unwinder *unwinder, int flags)
{
    struct rps_unwind_row row;
    ssize_t size;

    do {
        size = recv(unwinder->fd, &row, sizeof(row), flags);
    } while (size < 0 && errno == EINTR);
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return NULL;
    unwinder->is_late = 0;
    if (size > 0 && rps_unwind_row_is_sound(&row, (size_t)size, unwinder->offset))
        return keep_row(unwinder, unwinder->module, &row, (size_t)size);
    rps_unwinder_end(unwinder);
    unwinder->has_died = 1;
    return NULL;
}

static const struct rps_unwind_row *find_row(const struct rps_unwinder *unwinder, int64_t module,
                                             uint64_t offset)
{
    const struct rps_unwinder_row place = {.module = module, .end = offset};
    size_t at = rps_array_find(unwinder->row, unwinder->row_count, sizeof(*unwinder->row),
                               lies_before, &place);

    return at < unwinder->row_count && unwinder->row[at].module == module &&
                   unwinder->row[at].row->start <= offset
               ? unwinder->row[at].row
               : NULL;
}

const struct rps_unwind_row *rps_unwinder_find(struct rps_unwinder *unwinder,
                                               const struct rps_map *map, uint64_t address)
{
    static struct rps_unwind_row nothing;
    const uint64_t offset = address - map->start + map->file_offset;
    const int64_t module = map->mapped->module;
    const struct rps_unwind_row *row = find_row(unwinder, module, offset);
    int64_t asked_ns;

    if (row)
        return row;
    if (strlen(map->mapped->path) >= PATH_SIZE)
        return rps_cfi_find(NULL, offset, &nothing) > 0 ? &nothing : NULL;
    if (unwinder->is_late && hear(unwinder, MSG_DONTWAIT) &&
        (row = find_row(unwinder, module, offset)))
        return row;
    asked_ns = rps_clock_monotonic_ns();
    if (ask(unwinder, map->mapped, offset) < 0 || !has_time(unwinder, asked_ns))
        return NULL;
    row = hear(unwinder, 0);
    unwinder->waited_ns += rps_clock_monotonic_ns() - asked_ns;
    return row;
}

void rps_unwinder_free(struct rps_unwinder *unwinder)
{
    rps_unwinder_end(unwinder);
    forget_rows(unwinder);
}
