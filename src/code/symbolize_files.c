/* Lists the candidates for the files of a module, in the order in which they are tried. */
#include "symbolize_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rpistat/text.h"

/* Time to wait for slow disks, and for debuginfod, which has its own limits. */
#define WAIT_MS         5000
#define WAIT_SERVERS_MS 30000

static int is_build_id(const char *text)
{
    size_t length = strlen(text);

    return length > 2 && length % 2 == 0 && strspn(text, "0123456789abcdef") == length;
}

/* Return 1 if a link is a file name without a directory, or a path in the directory of debug
 * information. */
static int is_link(const char *link)
{
    static const char start[] = RPS_DEBUG_DIRECTORY "/";

    if (strncmp(link, start, sizeof(start) - 1) == 0)
        return !strstr(link, "/..");
    return link[0] && !strchr(link, '/') && strcmp(link, ".") != 0 && strcmp(link, "..") != 0;
}

/* --- the user's files ------------------------------------------------------------------------- */

/* Open a file given by --binaries, or a file in a directory given by --binaries, by the module's
 * path or name. SAFETY: the path came from a store, and must not lead out of the directory. */
static int open_binary(const struct rps_module *module, const char *binary, int is_by_name)
{
    const char *name = rps_text_file_name(module->path);
    int fd = open(binary, O_PATH | O_CLOEXEC), found = -ENOENT;
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0)
        status.st_mode = 0;
    if (S_ISREG(status.st_mode) && !is_by_name &&
        (module->build_id[0] || strcmp(rps_text_file_name(binary), name) == 0))
        return rps_process_file_reopen(fd);
    if (S_ISDIR(status.st_mode) && name[0] && strcmp(name, "..") != 0 &&
        (is_by_name || module->path[0] == '/'))
        found = rps_process_file_open_below(fd, is_by_name ? name : module->path, 0);
    if (fd >= 0)
        close(fd);
    return found;
}

/* Note the path of the open file, because the debug files that it links to are searched in its
 * directory. */
static int note_binary(struct rps_symbolizer *symbolizer, int fd)
{
    char link[64];
    ssize_t length;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    length = fd < 0 ? 0 : readlink(link, symbolizer->binary, sizeof(symbolizer->binary) - 1);
    symbolizer->binary[length > 0 ? length : 0] = '\0';
    symbolizer->binary_pid = 0;
    return fd;
}

/* --- candidates ------------------------------------------------------------------------------- */

static int open_file(struct rps_symbolizer *symbolizer, enum rps_process_file_kind kind,
                     struct rps_module_origin origin, const char *build_id, const char *path)
{
    struct rps_process_file file = {.kind = kind, .origin = origin};

    if (snprintf(file.path, sizeof(file.path), "%s", path) >= (int)sizeof(file.path))
        return -ENOENT;
    strcpy(file.build_id, build_id);
    return rps_opener_open(&symbolizer->opener, &file,
                           kind == RPS_PROCESS_FILE_DEBUGINFOD ? WAIT_SERVERS_MS : WAIT_MS);
}

/* Open debug information at a path as seen by the process (pid 0: as seen by rpistat). */
static int open_debug(struct rps_symbolizer *symbolizer, pid_t pid, const char *path)
{
    return open_file(symbolizer, RPS_PROCESS_FILE_DEBUG, (struct rps_module_origin){.pid = pid}, "",
                     path);
}

static int open_by_build_id(struct rps_symbolizer *symbolizer, pid_t pid, const char *build_id,
                            const char *end)
{
    char path[sizeof(RPS_DEBUG_DIRECTORY) + 2 * RPS_BUILD_ID_MAX + 32];

    snprintf(path, sizeof(path), RPS_DEBUG_DIRECTORY "/.build-id/%.2s/%s%s", build_id, build_id + 2,
             end);
    return open_debug(symbolizer, pid, path);
}

static int ask_servers(struct rps_symbolizer *symbolizer, const char *build_id, const char *what)
{
    return rps_process_file_has_servers()
               ? open_file(symbolizer, RPS_PROCESS_FILE_DEBUGINFOD,
                           (struct rps_module_origin){.pid = 0}, build_id, what)
               : -ENOENT;
}

/* ENODATA: there is no candidate of this number. ENOENT: the candidate's file is missing. */
static int open_binary_candidate(struct rps_symbolizer *symbolizer,
                                 const struct rps_symbolize_group *group, int image, uint32_t at)
{
    const struct rps_symbolize_options *options = symbolizer->options;
    const struct rps_module *module = group->module;

    if (image >= 0)
        return at == 0 ? fcntl(image, F_DUPFD_CLOEXEC, 0) : -ENODATA;
    if (options->opens_paths && at-- == 0) {
        snprintf(symbolizer->binary, sizeof(symbolizer->binary), "%s", module->path);
        symbolizer->binary_pid = group->origin.pid;
        return open_file(symbolizer,
                         module->kind == RPS_MODULE_JIT ? RPS_PROCESS_FILE_JIT_MAP
                                                        : RPS_PROCESS_FILE_MAPPED,
                         group->origin, module->build_id, module->path);
    }
    if (at < 2 * options->binary_count)
        return note_binary(symbolizer, open_binary(module, options->binary[at / 2], at % 2));
    at -= (uint32_t)(2 * options->binary_count);
    if (module->kind != RPS_MODULE_FILE || !is_build_id(module->build_id) || at > 1)
        return -ENODATA;
    symbolizer->binary[0] = '\0';
    if (at == 0)
        return open_by_build_id(symbolizer, 0, module->build_id, "");
    return ask_servers(symbolizer, module->build_id, "executable");
}

/* Open the debug file that a link names, in one of the three directories that debuggers search. */
static int open_link(struct rps_symbolizer *symbolizer, pid_t pid, const char *link, uint32_t place)
{
    const char *start = place == 2 ? RPS_DEBUG_DIRECTORY : "",
               *middle = place == 1 ? ".debug/" : "";
    int length = (int)(rps_text_file_name(symbolizer->binary) - symbolizer->binary);
    char path[RPS_PROCESS_FILE_PATH_SIZE];

    if (link[0] == '/' ? place != 2 : symbolizer->binary[0] != '/')
        return -ENOENT;
    if (link[0] == '/')
        snprintf(path, sizeof(path), "%s", link);
    else if (snprintf(path, sizeof(path), "%s%.*s%s%s", start, length, symbolizer->binary, middle,
                      link) >= (int)sizeof(path))
        return -ENOENT;
    return open_debug(symbolizer, pid, path);
}

/* Try the build-id and the link, below the root of the process and below the root of rpistat. Then
 * try debuginfod. */
static int open_debug_candidate(struct rps_symbolizer *symbolizer,
                                const struct rps_symbolize_request *request, uint32_t at)
{
    const char *id = is_build_id(request->build_id) ? request->build_id : NULL;
    pid_t pid = at < 4 ? symbolizer->binary_pid : 0;

    if (at > 8)
        return -ENODATA;
    if (at == 8)
        return id ? ask_servers(symbolizer, id, "debuginfo") : -ENOENT;
    if (at < 4 && pid <= 0)
        return -ENOENT;
    if (at % 4 == 0)
        return id ? open_by_build_id(symbolizer, pid, id, ".debug") : -ENOENT;
    return is_link(request->link) ? open_link(symbolizer, pid, request->link, at % 4 - 1) : -ENOENT;
}

int rps_symbolize_open(struct rps_symbolizer *symbolizer, const struct rps_symbolize_group *group,
                       int image, const struct rps_symbolize_request *request,
                       uint32_t *ret_candidate)
{
    uint32_t at = request->candidate;
    int fd;

    do {
        fd = request->wanted == RPS_SYMBOLIZE_BINARY
                 ? open_binary_candidate(symbolizer, group, image, at)
                 : open_debug_candidate(symbolizer, request, at);
        at++;
    } while (fd == -ENOENT);
    *ret_candidate = at;
    return fd == -ETIMEDOUT && request->wanted == RPS_SYMBOLIZE_DEBUG ? -ENODATA : fd;
}

int rps_symbolize_request_file(int requests, struct rps_symbolize_request *request)
{
    struct rps_symbolize_answer answer;
    int fd;

    if (rps_opener_pass(requests, request, sizeof(*request), -1) < 0 ||
        rps_opener_receive(requests, &answer, sizeof(answer), 0, &fd) != (ssize_t)sizeof(answer))
        return -ENODATA;
    request->candidate = answer.candidate;
    return fd >= 0 ? fd : answer.status < 0 ? answer.status : -ENODATA;
}
