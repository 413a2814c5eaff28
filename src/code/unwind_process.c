/* The process that reads call frame information, and the parent's side of its sockets. Requests go
 * to the opener, which passes on each request with the open file; answers come from the reading
 * process. Each request is about one place in one file. So if the reading process crashes, the
 * latest request shows which file is the reason. */
#include "unwind_process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "child.h"
#include "record_functions.h"
#include "rpistat/arena.h"
#include "rpistat/clock.h"

/* If an answer takes longer than this number of waits (10 s), the process is treated as dead. */
#define LATE_MAX 100

#define CLOSE_FILES RPS_MODULE_KINDS /* Request to close the files. The request has no answer. */

/* --- the child -------------------------------------------------------------------------------- */

struct known_file {
    int64_t module; /* Module number plus one. */
    int is_read;
    struct rps_cfi *cfi;
    struct rps_function_file functions;
};

struct child {
    struct known_file file[RPS_UNWINDER_FILES]; /* Files by module. */
    struct rps_opened message;
};

static struct known_file *find_file(struct child *child, int fd)
{
    const struct rps_opened *message = &child->message;
    struct known_file *file = &child->file[(size_t)message->module % RPS_UNWINDER_FILES];

    if (file->module != message->module + 1) {
        rps_cfi_close(file->cfi);
        rps_function_file_close(&file->functions);
        *file = (struct known_file){.module = message->module + 1};
    }
    if (!file->is_read && (fd >= 0 || message->kind == RPS_MODULE_VDSO)) {
        file->cfi = rps_cfi_open((enum rps_module_kind)message->kind, fd);
        file->is_read = 1;
    }
    if (fd >= 0)
        rps_function_file_open(&file->functions, fd);
    return file;
}

/* Find the row of a place, and return the row's size. A file without call frame information has one
 * row for all places. */
static size_t find_place(const struct known_file *file, uint64_t offset, struct rps_unwind_row *ret)
{
    size_t size = RPS_UNWIND_ROW_BYTES(0);

    if (file->cfi) {
        size = rps_cfi_find(file->cfi, offset, ret);
    } else {
        memset(ret, 0, sizeof(*ret));
        ret->start = offset;
        ret->end = offset + 1;
        if (file->is_read && !file->functions.table) {
            ret->start = 0;
            ret->end = UINT64_MAX;
        }
    }
    ret->function = rps_function_in_file(&file->functions, offset);
    return size;
}

/* Read files in the child until the parent ends the child. */
static _Noreturn void read_in_child(int in, int out)
{
    struct child *child = calloc(1, sizeof(*child));
    struct rps_unwind_row row;
    int fd;

    rps_child_begin("rpistat unwinds");
    rps_child_become_nobody(in, out);
    while (child && rps_opener_receive(in, &child->message, sizeof(child->message), 0, &fd) ==
                        (ssize_t)sizeof(child->message)) {
        struct itimerval limit = {.it_value = {.tv_sec = RPS_CHILD_CPU_S}};
        size_t size;

        setitimer(ITIMER_PROF, &limit, NULL); /* The limit is on CPU time, so idle time does not
                                                 count. */
        for (size_t i = 0; i < RPS_UNWINDER_FILES && child->message.kind == CLOSE_FILES; i++)
            rps_function_file_close(&child->file[i].functions);
        if (child->message.kind == CLOSE_FILES)
            continue;
        size = find_place(find_file(child, fd), child->message.offset, &row);
        if (send(out, &row, size, MSG_NOSIGNAL) < 0)
            break;
    }
    _exit(0);
}

/* --- the parent ------------------------------------------------------------------------------- */

void rps_unwinder_end(struct rps_unwinder *unwinder)
{
    enum rps_child_end how;

    if (unwinder->pid == 0)
        return;
    unwinder->cpu_ns -= unwinder->opener.cpu_ns;
    rps_opener_end(&unwinder->opener);
    unwinder->cpu_ns += unwinder->opener.cpu_ns + rps_child_end(unwinder->pid, &how);
    unwinder->is_refused |= how == RPS_CHILD_REFUSED;
    unwinder->opener.stuck += how == RPS_CHILD_STUCK;
    close(unwinder->fd);
    unwinder->pid = 0;
    unwinder->is_late = 0;
}

/* Start both processes: the opener as root or the recording user, and the reading process without
 * rights. */
static int start_children(struct rps_unwinder *unwinder, const int *files, const int *answers)
{
    pid_t pid;

    if (rps_opener_start(&unwinder->opener, files[0]) < 0)
        return -1;
    pid = fork();
    if (pid == 0)
        read_in_child(files[1], answers[1]);
    if (pid < 0) {
        rps_opener_end(&unwinder->opener);
        return -1;
    }
    unwinder->pid = pid;
    unwinder->fd = answers[0];
    unwinder->module = -1;
    memset(unwinder->given, 0, sizeof(unwinder->given));
    return 0;
}

/* If the system has no free process or descriptor, rpistat tries again for the next stack. */
static void start_process(struct rps_unwinder *unwinder)
{
    const struct timeval wait = {.tv_sec = unwinder->wait_us / 1000000,
                                 .tv_usec = unwinder->wait_us % 1000000};
    int files[2], answers[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, files) < 0)
        return;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, answers) == 0) {
        setsockopt(answers[0], SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
        if (start_children(unwinder, files, answers) < 0)
            close(answers[0]);
        close(answers[1]);
    }
    close(files[0]);
    close(files[1]);
}

/* Return 1 if the time of recent waits permits another wait. */
static int has_time(struct rps_unwinder *unwinder, int64_t now_ns)
{
    unwinder->waited_ns -= (now_ns - unwinder->asked_ns) / 10;
    if (unwinder->waited_ns < 0)
        unwinder->waited_ns = 0;
    unwinder->asked_ns = now_ns;
    return unwinder->waited_ns < unwinder->wait_us * RPS_NS_PER_US;
}

/* Return 1 if the process was ended from outside between requests, not by a crash on a file. */
static int has_ended(const struct rps_unwinder *unwinder)
{
    char byte;

    return unwinder->pid != 0 && !unwinder->is_late &&
           recv(unwinder->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
}

/* Send a request. Returns a negative value if this is not possible. */
static int ask(struct rps_unwinder *unwinder, const struct rps_module *module,
               const struct rps_module_origin *origin, uint64_t offset)
{
    struct rps_opener_request request = {
        .task = {.kind = module->kind, .module = module->module, .offset = offset}};
    int64_t *given = &unwinder->given[(size_t)module->module % RPS_UNWINDER_FILES];

    if (has_ended(unwinder)) {
        rps_unwinder_end(unwinder);
        return -1;
    }
    if (unwinder->pid == 0 && !unwinder->has_died && !unwinder->is_refused)
        start_process(unwinder);
    if (unwinder->pid == 0 || unwinder->is_late)
        return -1;
    if (module->kind == RPS_MODULE_FILE && *given != module->module + 1) {
        request.file =
            (struct rps_process_file){.kind = RPS_PROCESS_FILE_MAPPED, .origin = *origin};
        strcpy(request.file.build_id, module->build_id);
        strcpy(request.file.path, module->path);
    }
    unwinder->module = module->module;
    unwinder->offset = offset;
    if (rps_opener_send(&unwinder->opener, &request) < 0) {
        rps_unwinder_end(unwinder); /* The process was ended from outside. */
        return -1;
    }
    *given = module->module + 1;
    unwinder->is_late = 1;
    unwinder->sent_ns = rps_clock_monotonic_ns();
    return 0;
}

void rps_unwinder_close_files(struct rps_unwinder *unwinder)
{
    const struct rps_opener_request request = {.task = {.kind = CLOSE_FILES}};

    if (unwinder->pid == 0 || unwinder->is_late || unwinder->module < 0)
        return;
    rps_opener_send(&unwinder->opener, &request);
    memset(unwinder->given, 0, sizeof(unwinder->given));
    unwinder->module = -1;
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

/* Keep a row; NULL: no memory. */
static const struct rps_unwind_row *keep_row(struct rps_unwinder *unwinder, int64_t module,
                                             const struct rps_unwind_row *row, size_t bytes)
{
    const struct rps_unwinder_row place = {.module = module, .end = row->end};
    struct rps_unwinder_row *rows;
    size_t at;

    if (unwinder->row_count == RPS_UNWINDER_ROWS_MAX)
        forget_rows(unwinder);
    at = rps_array_find(unwinder->row, unwinder->row_count, sizeof(*rows), lies_before, &place);
    if (!rps_array_insert(&unwinder->row, unwinder->row_count, at, sizeof(*rows)))
        return NULL;
    rows = unwinder->row;
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

/* Receive the answer to the last request. NULL: the answer is late, or the process has died. A
 * malformed answer is treated as the death of the process. */
static const struct rps_unwind_row *hear(struct rps_unwinder *unwinder, int flags)
{
    struct rps_unwind_row row;
    ssize_t size;

    do {
        size = recv(unwinder->fd, &row, sizeof(row), flags);
    } while (size < 0 && errno == EINTR);
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) &&
        rps_clock_monotonic_ns() - unwinder->sent_ns < LATE_MAX * unwinder->wait_us * RPS_NS_PER_US)
        return NULL;
    unwinder->is_late = 0;
    if (size > 0 && rps_unwind_row_is_sound(&row, (size_t)size, unwinder->offset))
        return keep_row(unwinder, unwinder->module, &row, (size_t)size);
    rps_unwinder_end(unwinder);
    unwinder->has_died = !unwinder->is_refused;
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
                                               const struct rps_module *module,
                                               const struct rps_module_origin *origin,
                                               uint64_t offset)
{
    const struct rps_unwind_row *row = find_row(unwinder, module->module, offset);
    int64_t asked_ns;

    if (row || unwinder->is_refused || strlen(module->path) >= RPS_PROCESS_FILE_PATH_SIZE)
        return row;
    if (unwinder->is_late && hear(unwinder, MSG_DONTWAIT) &&
        (row = find_row(unwinder, module->module, offset)))
        return row;
    asked_ns = rps_clock_monotonic_ns();
    if (ask(unwinder, module, origin, offset) < 0 || !has_time(unwinder, asked_ns))
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
