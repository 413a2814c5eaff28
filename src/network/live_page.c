/* The page of a live run: requests and answers.
 *
 *     /           the page, the same for every run
 *     /rows       the data measured after `after`, with the number of the newest data, 0 if none
 *                 exist yet; made at once
 *     /data       all of the page's data, with phases, or {"error": ...}
 *     /metrics    the run's totals, for Prometheus; made at once
 *
 * Making data takes time, since phases are detected. A separate process makes the data, and the
 * server answers requests for rows in that time. The process starts when a client requests rows: a
 * page that nobody has open costs nothing. The more CPU time the process takes, the less often it
 * runs, since the machine is being measured. The store is open only while it is read, because a
 * forked process must not inherit an open database. Besides, opening the store recovers the data of
 * a killed recorder. */
#include "rpistat/live_page.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "http_server.h"
#include "rpistat/arena.h"
#include "rpistat/clock.h"
#include "rpistat/export.h"
#include "rpistat/json.h"
#include "live_data.h"
#include "rpistat/store.h"
#include "rpistat/text.h"

#define REQUEST_NS  (10 * RPS_NS_PER_S)
#define ANSWER_NS   (60 * RPS_NS_PER_S)
#define DATA_MIN_NS RPS_NS_PER_S /* minimum pause before new data (usually half the run's length) */
#define DATA_MAX_NS (10 * RPS_NS_PER_S)
#define IDLE_SHARE  19 /* minimum ratio of the pause to the CPU time for the data */
#define MAKING_NS   (50 * RPS_NS_PER_MS) /* interval of checks whether data are complete */
#define WAIT_NS     (3600 * RPS_NS_PER_S)
#define JSON_TYPE   "application/json"
#define OPENMETRICS "application/openmetrics-text"
#define TOTALS_TYPE OPENMETRICS "; version=1.0.0; charset=utf-8"
#define TEXT_TYPE   "text/plain; version=0.0.4; charset=utf-8" /* content type for Prometheus */

/* The message if the process that makes data has died. Only the server can report this. */
#define UNMADE                                                                                     \
    "the process that finds the phases ended early, perhaps for lack of memory; rpistat starts "   \
    "it again"

struct live {
    const struct rps_live_page_options *options;
    struct rps_http_server *server;
    int is_openmetrics; /* 1: the request accepts OpenMetrics */
    char *page, *data;  /* texts of the page and the data, owned; data NULL: none yet */
    size_t page_size, data_size;
    int64_t number;           /* number of the newest data */
    struct rps_live_end made; /* end of the data that are available, or being computed */
    int64_t made_of_ns;       /* time of the store's last write before the data were computed */
    pid_t pid;                /* number of the process that computes data; 0: none */
    int fd;                   /* pipe to which the process writes */
    int64_t next_ns;          /* earliest time of the next start */
};

/* --- a process that computes data ------------------------------------------------------------- */

static void write_error(struct rps_json *json, const char *sentence)
{
    rps_json_object(json, NULL);
    rps_json_text(json, "error", sentence);
    rps_json_end(json);
}

/* Return an error as a new JSON text; NULL: no memory. */
static char *write_error_text(const char *sentence)
{
    struct rps_json json;

    if (rps_json_open(&json, 1) < 0)
        return NULL;
    write_error(&json, sentence);
    return rps_json_close(&json);
}

static int write_data(const struct live *live, FILE *out, struct rps_error *err)
{
    struct rps_reader *reader = NULL;
    int result = rps_reader_open(&reader, live->options->store_path, err);

    if (result == 0)
        result = rps_live_write_data(out, reader, live->options->run_id, &live->made, err);
    rps_reader_close(reader);
    return result;
}

static void end_early(const struct rps_error *unused)
{
    (void)unused;
    _exit(2);
}

/* Make the data in a separate process. Exit status 0: the data are written; 1: an error is written
 * instead. */
static _Noreturn void make(const struct live *live)
{
    struct rps_json json = {.out = fdopen(live->fd, "w"), .one_line = 1};
    struct rps_error err;
    int result;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    rps_arena_on_exhaustion(end_early);
    if (!json.out)
        _exit(2);
    result = write_data(live, json.out, &err);
    if (result < 0) {
        rewind(json.out);
        if (ftruncate(live->fd, 0) < 0)
            _exit(2);
        write_error(&json, err.message);
    }
    _exit(fflush(json.out) != 0 ? 2 : result < 0);
}

/* Return the time of the last write to the store or its log. */
static int64_t written_ns(const char *path)
{
    char log[4096];
    const char *const file[] = {path, log};
    int64_t last_ns = 0;

    snprintf(log, sizeof(log), "%s-wal", path);
    for (int i = 0; i < 2; i++) {
        struct stat info;
        int64_t at_ns = stat(file[i], &info) == 0 && info.st_size > 0
                            ? info.st_mtim.tv_sec * RPS_NS_PER_S + info.st_mtim.tv_nsec
                            : 0;

        last_ns = at_ns > last_ns ? at_ns : last_ns;
    }
    return last_ns;
}

static void begin_data(struct live *live, const struct rps_live_end *end)
{
    live->fd = memfd_create("rpistat page", MFD_CLOEXEC);
    if (live->fd < 0)
        return;
    live->made = *end;
    live->made_of_ns = written_ns(live->options->store_path);
    live->pid = fork();
    if (live->pid == 0)
        make(live);
    if (live->pid < 0) {
        live->pid = 0;
        close(live->fd);
    }
}

/* Return the output of the process, data or an error; NULL: not available. */
static char *read_made(struct live *live, int status, size_t *ret_size)
{
    const int written = WIFEXITED(status) && WEXITSTATUS(status) <= 1;
    const off_t size = lseek(live->fd, 0, SEEK_END);
    char *text = written && size > 0 ? malloc((size_t)size) : NULL;

    *ret_size = (size_t)size;
    if (!text || pread(live->fd, text, (size_t)size, 0) == (ssize_t)size)
        return text;
    free(text);
    return NULL;
}

/* Take the data that the process made. If the process failed, the data are computed again; until
 * then the previous data are kept. */
static void take_data(struct live *live, int status)
{
    size_t size;
    char *text = read_made(live, status, &size);

    if (status != 0 || !text)
        live->made.end_ns = 0;
    if (!text && !live->data && (text = write_error_text(UNMADE)))
        size = strlen(text);
    if (text) {
        free(live->data);
        live->data = text;
        live->data_size = size;
        live->number++;
    }
    close(live->fd);
}

static void end_data(struct live *live)
{
    int64_t pause_ns = live->made.end_ns / 2, cpu_ns;
    struct rusage usage;
    int status = 0;

    if (live->pid == 0 || wait4(live->pid, &status, WNOHANG, &usage) != live->pid)
        return;
    live->pid = 0;
    take_data(live, status);
    cpu_ns = rps_clock_timeval_ns(&usage.ru_utime) + rps_clock_timeval_ns(&usage.ru_stime);
    pause_ns = pause_ns < DATA_MIN_NS   ? DATA_MIN_NS
               : pause_ns > DATA_MAX_NS ? DATA_MAX_NS
                                        : pause_ns;
    if (pause_ns < IDLE_SHARE * cpu_ns)
        pause_ns = IDLE_SHARE * cpu_ns;
    live->next_ns = rps_clock_monotonic_ns() + pause_ns;
}

/* Return 1 if there are newer data, and the pause is over. When the run has ended, data are due at
 * once. The store still changes after the end: symbols are found, and the user may set a label. */
static int is_due(const struct live *live, const struct rps_live_end *end)
{
    if (live->pid != 0 || end->end_ns == 0)
        return 0;
    if (live->number == 0 || end->state != live->made.state)
        return live->number > 0 || rps_clock_monotonic_ns() >= live->next_ns;
    return rps_clock_monotonic_ns() >= live->next_ns &&
           (end->end_ns > live->made.end_ns ||
            (end->state != RPS_RUN_RECORDING &&
             written_ns(live->options->store_path) > live->made_of_ns));
}

/* --- answers ---------------------------------------------------------------------------------- */

static void put(struct rps_http_page *ret, int status, const char *type, char *text, size_t size)
{
    *ret = (struct rps_http_page){.status = status, .type = type, .text = text, .size = size};
}

static void put_copy(struct rps_http_page *ret, const char *type, const char *text, size_t size)
{
    char *copy = malloc(size + 1);

    if (copy)
        put(ret, 200, type, memcpy(copy, text, size), size);
}

static void put_error(struct rps_http_page *ret, int status, const char *sentence)
{
    char *text = write_error_text(sentence);

    put(ret, status, JSON_TYPE, text, text ? strlen(text) : 0);
}

static int write_live_rows(struct live *live, int64_t after_ns, FILE *out, struct rps_error *err)
{
    struct rps_reader *reader = NULL;
    struct rps_live_end end = {0};
    int result = rps_reader_open(&reader, live->options->store_path, err);

    if (result == 0)
        result = rps_live_find_end(reader, live->options->run_id, &end, err);
    if (after_ns == INT64_MAX)
        after_ns = end.end_ns;
    if (result == 0)
        result = rps_live_write_rows(out, reader, live->options->run_id, after_ns, &end,
                                     live->number, err);
    rps_reader_close(reader);
    if (result == 0 && is_due(live, &end))
        begin_data(live, &end);
    return result;
}

static int write_totals(struct live *live, int64_t after_ns, FILE *out, struct rps_error *err)
{
    struct rps_reader *reader = NULL;
    int result = rps_reader_open(&reader, live->options->store_path, err);

    (void)after_ns;
    if (result == 0)
        result = rps_export_totals(out, reader, live->options->run_id, live->is_openmetrics, err);
    rps_reader_close(reader);
    return result;
}

/* Answer with data that are computed at once. */
static void answer_made(struct live *live, const char *after, const char *type,
                        int (*write)(struct live *live, int64_t after_ns, FILE *out,
                                     struct rps_error *err),
                        struct rps_http_page *ret)
{
    struct rps_error err;
    uint64_t after_ns = INT64_MAX; /* if the argument is missing: the end of the run */
    char *text = NULL;
    size_t size = 0;
    FILE *out;
    int result;

    if (after && rps_parse_uint64("after", after, 0, INT64_MAX, &after_ns, &err) < 0) {
        put_error(ret, 400, err.message);
        return;
    }
    out = open_memstream(&text, &size);
    if (!out)
        return;
    result = write(live, (int64_t)after_ns, out, &err);
    text = rps_text_close(out, &text);
    if (result == 0) {
        put(ret, 200, type, text, size);
        return;
    }
    free(text);
    put_error(ret, 500, err.message);
}

static void answer(void *context, const char *path, const char *after, const char *accept,
                   struct rps_http_page *ret)
{
    struct live *live = context;

    live->is_openmetrics = accept && strcasestr(accept, OPENMETRICS);
    if (strcmp(path, "/") == 0)
        put_copy(ret, "text/html; charset=utf-8", live->page, live->page_size);
    else if (strcmp(path, "/rows") == 0)
        answer_made(live, after, JSON_TYPE, write_live_rows, ret);
    else if (strcmp(path, "/metrics") == 0)
        answer_made(live, after, live->is_openmetrics ? TOTALS_TYPE : TEXT_TYPE, write_totals, ret);
    else if (strcmp(path, "/data") == 0 && live->data)
        put_copy(ret, JSON_TYPE, live->data, live->data_size);
    else
        put_error(ret, 404, "There is nothing here.");
}

/* --- serving ---------------------------------------------------------------------------------- */

static int read_page(struct live *live, struct rps_error *err)
{
    FILE *out = open_memstream(&live->page, &live->page_size);
    int result;

    if (!out)
        return rps_error_memory(err);
    result = rps_live_write_live(out, live->options->script_folder, err);
    live->page = rps_text_close(out, &live->page);
    return live->page || result < 0 ? result : rps_error_memory(err);
}

static void serve(struct live *live)
{
    const struct rps_live_page_options *options = live->options;
    int64_t wait_ns;

    do {
        end_data(live);
        wait_ns = rps_http_server_run(live->server, live->pid != 0 ? MAKING_NS : WAIT_NS);
    } while (options->wait(options->context, rps_http_server_fd(live->server), wait_ns) == 0);
}

static void live_close(struct live *live)
{
    if (live->pid > 0) {
        kill(live->pid, SIGKILL);
        while (waitpid(live->pid, NULL, 0) < 0 && errno == EINTR)
            ;
        close(live->fd);
    }
    rps_http_server_close(live->server);
    free(live->page);
    free(live->data);
}

int rps_live_page_serve(const struct rps_live_page_options *options, struct rps_error *err)
{
    struct live live = {.options = options};
    const struct rps_http_server_options http = {
        .port = options->port,
        .request_ns = REQUEST_NS,
        .answer_ns = ANSWER_NS,
        .answer = answer,
        .context = &live,
    };
    int result = read_page(&live, err);

    if (result == 0)
        result = rps_http_server_open(&live.server, &http, err);
    if (result == 0) {
        options->ready(options->context, rps_http_server_url(live.server));
        serve(&live);
    }
    live_close(&live);
    return result;
}
