/* The candidates for the files of a module, in order. */
#include "naming_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rpistat/text.h"

/* For slow disks, and for debuginfod, which has its own limits. */
#define WAIT_MS         5000
#define WAIT_SERVERS_MS 30000

static int is_build_id(const char *text)
{
    size_t length = strlen(text);

    return length > 2 && length % 2 == 0 && strspn(text, "0123456789abcdef") == length;
}

/* Return 1 for the name of a file, or a path in the directory of debug information. */
static int is_link(const char *link)
{
    static const char start[] = RPS_DEBUG_DIRECTORY "/";

    if (strncmp(link, start, sizeof(start) - 1) == 0)
        return !strstr(link, "/..");
    return link[0] && !strchr(link, '/') && strcmp(link, ".") != 0 && strcmp(link, "..") != 0;
}

/* --- the user's files ------------------------------------------------------------------------- */

/* Open a file of --binaries, or one in such a directory, by the module's path or name. SAFETY: the
 * path came from a store, and must not lead out of the directory. */
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

/* Note the file's location, for the links of its debug information. */
static int note_binary(struct rps_naming *naming, int fd)
{
    char link[64];
    ssize_t length;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    length = fd < 0 ? 0 : readlink(link, naming->binary, sizeof(naming->binary) - 1);
    naming->binary[length > 0 ? length : 0] = '\0';
    naming->binary_pid = 0;
    return fd;
}

/* --- candidates ------------------------------------------------------------------------------- */

static int open_file(struct rps_naming *naming, enum rps_process_file_kind kind,
                     struct rps_module_origin origin, const char *build_id, const char *path)
{
    struct rps_process_file file = {.kind = kind, .origin = origin};

    if (snprintf(file.path, sizeof(file.path), "%s", path) >= (int)sizeof(file.path))
        return -ENOENT;
    strcpy(file.build_id, build_id);
    return rps_opener_open(&naming->opener, &file,
                           kind == RPS_PROCESS_FILE_DEBUGINFOD ? WAIT_SERVERS_MS : WAIT_MS);
}

/* Open debug information, as the process sees the path; pid 0: as this process does. */
static int open_debug(struct rps_naming *naming, pid_t pid, const char *path)
{
    return open_file(naming, RPS_PROCESS_FILE_DEBUG, (struct rps_module_origin){.pid = pid}, "",
                     path);
}

static int open_by_build_id(struct rps_naming *naming, pid_t pid, const char *build_id,
                            const char *end)
{
    char path[sizeof(RPS_DEBUG_DIRECTORY) + 2 * RPS_BUILD_ID_MAX + 32];

    snprintf(path, sizeof(path), RPS_DEBUG_DIRECTORY "/.build-id/%.2s/%s%s", build_id, build_id + 2,
             end);
    return open_debug(naming, pid, path);
}

static int ask_servers(struct rps_naming *naming, const char *build_id, const char *what)
{
    return rps_process_file_has_servers()
               ? open_file(naming, RPS_PROCESS_FILE_DEBUGINFOD,
                           (struct rps_module_origin){.pid = 0}, build_id, what)
               : -ENOENT;
}

/* Return ENODATA if the candidate does not exist, and ENOENT if its file is missing. */
static int open_binary_candidate(struct rps_naming *naming, const struct rps_naming_group *group,
                                 int image, uint32_t at)
{
    const struct rps_naming_options *options = naming->options;
    const struct rps_module *module = group->module;

    if (image >= 0)
        return at == 0 ? fcntl(image, F_DUPFD_CLOEXEC, 0) : -ENODATA;
    if (options->opens_paths && at-- == 0) {
        snprintf(naming->binary, sizeof(naming->binary), "%s", module->path);
        naming->binary_pid = group->origin.pid;
        return open_file(naming,
                         module->kind == RPS_MODULE_JIT ? RPS_PROCESS_FILE_JIT_MAP
                                                        : RPS_PROCESS_FILE_MAPPED,
                         group->origin, module->build_id, module->path);
    }
    if (at < 2 * options->binary_count)
        return note_binary(naming, open_binary(module, options->binary[at / 2], at % 2));
    at -= (uint32_t)(2 * options->binary_count);
    if (module->kind != RPS_MODULE_FILE || !is_build_id(module->build_id) || at > 1)
        return -ENODATA;
    naming->binary[0] = '\0';
    if (at == 0)
        return open_by_build_id(naming, 0, module->build_id, "");
    return ask_servers(naming, module->build_id, "executable");
}

/* Open a link in one of the three places where debuggers search. */
static int open_link(struct rps_naming *naming, pid_t pid, const char *link, uint32_t place)
{
    const char *start = place == 2 ? RPS_DEBUG_DIRECTORY : "",
               *middle = place == 1 ? ".debug/" : "";
    int length = (int)(rps_text_file_name(naming->binary) - naming->binary);
    char path[RPS_PROCESS_FILE_PATH_SIZE];

    if (link[0] == '/' ? place != 2 : naming->binary[0] != '/')
        return -ENOENT;
    if (link[0] == '/')
        snprintf(path, sizeof(path), "%s", link);
    else if (snprintf(path, sizeof(path), "%s%.*s%s%s", start, length, naming->binary, middle,
                      link) >= (int)sizeof(path))
        return -ENOENT;
    return open_debug(naming, pid, path);
}

/* Try build-id and link, below the root of the process and below our own; then debuginfod. */
static int open_debug_candidate(struct rps_naming *naming, const struct rps_naming_request *request,
                                uint32_t at)
{
    const char *id = is_build_id(request->build_id) ? request->build_id : NULL;
    pid_t pid = at < 4 ? naming->binary_pid : 0;

    if (at > 8)
        return -ENODATA;
    if (at == 8)
        return id ? ask_servers(naming, id, "debuginfo") : -ENOENT;
    if (at < 4 && pid <= 0)
        return -ENOENT;
    if (at % 4 == 0)
        return id ? open_by_build_id(naming, pid, id, ".debug") : -ENOENT;
    return is_link(request->link) ? open_link(naming, pid, request->link, at % 4 - 1) : -ENOENT;
}

int rps_naming_open(struct rps_naming *naming, const struct rps_naming_group *group, int image,
                    const struct rps_naming_request *request, uint32_t *ret_candidate)
{
    uint32_t at = request->candidate;
    int fd;

    do {
        fd = request->wanted == RPS_NAMING_BINARY ? open_binary_candidate(naming, group, image, at)
                                                  : open_debug_candidate(naming, request, at);
        at++;
    } while (fd == -ENOENT);
    *ret_candidate = at;
    return fd == -ETIMEDOUT && request->wanted == RPS_NAMING_DEBUG ? -ENODATA : fd;
}

int rps_naming_request_file(int requests, struct rps_naming_request *request)
{
    struct rps_naming_answer answer;
    int fd;

    if (rps_opener_pass(requests, request, sizeof(*request), -1) < 0 ||
        rps_opener_receive(requests, &answer, sizeof(answer), 0, &fd) != (ssize_t)sizeof(answer))
        return -ENODATA;
    request->candidate = answer.candidate;
    return fd >= 0 ? fd : answer.status < 0 ? answer.status : -ENODATA;
}
