/* Names of events that mean the same on every machine. The numbers of these events are part of
 * Linux's ABI. They are repeated here, because only the perf backend may include the kernel's
 * header. The backend asserts that the numbers are equal. */
#include "names.h"
#include "resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct generic {
    const char *name;
    enum rps_event_type type;
    uint64_t config;
    const char *unit;
};

static const struct generic generics[] = {
    {"cycles", RPS_EVENT_HARDWARE, 0, "cycles"},
    {"cpu-cycles", RPS_EVENT_HARDWARE, 0, "cycles"},
    {"instructions", RPS_EVENT_HARDWARE, 1, "events"},
    {"cache-references", RPS_EVENT_HARDWARE, 2, "events"},
    {"cache-misses", RPS_EVENT_HARDWARE, 3, "events"},
    {"branches", RPS_EVENT_HARDWARE, 4, "events"},
    {"branch-instructions", RPS_EVENT_HARDWARE, 4, "events"},
    {"branch-misses", RPS_EVENT_HARDWARE, 5, "events"},
    {"bus-cycles", RPS_EVENT_HARDWARE, 6, "cycles"},
    {"stalled-cycles-frontend", RPS_EVENT_HARDWARE, 7, "cycles"},
    {"idle-cycles-frontend", RPS_EVENT_HARDWARE, 7, "cycles"},
    {"stalled-cycles-backend", RPS_EVENT_HARDWARE, 8, "cycles"},
    {"idle-cycles-backend", RPS_EVENT_HARDWARE, 8, "cycles"},
    {"ref-cycles", RPS_EVENT_HARDWARE, 9, "cycles"},
    {"cpu-clock", RPS_EVENT_SOFTWARE, 0, "ns"},
    {"task-clock", RPS_EVENT_SOFTWARE, 1, "ns"},
    {"page-faults", RPS_EVENT_SOFTWARE, 2, "events"},
    {"faults", RPS_EVENT_SOFTWARE, 2, "events"},
    {"context-switches", RPS_EVENT_SOFTWARE, 3, "events"},
    {"cs", RPS_EVENT_SOFTWARE, 3, "events"},
    {"cpu-migrations", RPS_EVENT_SOFTWARE, 4, "events"},
    {"migrations", RPS_EVENT_SOFTWARE, 4, "events"},
    {"minor-faults", RPS_EVENT_SOFTWARE, 5, "events"},
    {"major-faults", RPS_EVENT_SOFTWARE, 6, "events"},
    {"alignment-faults", RPS_EVENT_SOFTWARE, 7, "events"},
    {"emulation-faults", RPS_EVENT_SOFTWARE, 8, "events"},
    {"dummy", RPS_EVENT_SOFTWARE, 9, "events"},
    {"bpf-output", RPS_EVENT_SOFTWARE, 10, "events"},
    {"cgroup-switches", RPS_EVENT_SOFTWARE, 11, "events"},
};

/* Names of caches in the order of the kernel's numbers. */
static const char *const caches[] = {"L1-dcache", "L1-icache", "LLC", "dTLB",
                                     "iTLB",      "branch",    "node"};

static const struct {
    const char *suffix;
    uint64_t config; /* operation << 8 | result << 16, as in perf_event_attr.config. */
} cache_operations[] = {
    {"-loads", 0x00000},        {"-load-misses", 0x10000}, {"-stores", 0x00100},
    {"-store-misses", 0x10100}, {"-prefetches", 0x00200},  {"-prefetch-misses", 0x10200},
};

const char *const rps_name_roles[] = {
    "instructions",    "frontend_stall", "backend_stall",  "l1d_access",
    "l1d_miss",        "l1i_miss",       "l2_access",      "l2_miss",
    "llc_access",      "llc_miss",       "dtlb_l1_miss",   "dtlb_miss",
    "dtlb_store_miss", "itlb_l1_miss",   "branches",       "branch_misses",
    "slots_retired",   "slots_frontend", "slots_backend",  "ops_issued",
    "task_clock",      "minor_faults",   "major_faults",   "context_switches",
    "syscalls",        "block_io",       "cpu_migrations", NULL};

/* --- finding ---------------------------------------------------------------------------------- */

static const struct generic *find_generic(const char *name)
{
    for (size_t i = 0; i < RPS_COUNT(generics); i++) {
        if (strcmp(name, generics[i].name) == 0)
            return &generics[i];
    }
    return NULL;
}

static bool find_cache(const char *name, uint64_t *ret_config)
{
    for (size_t cache = 0; cache < RPS_COUNT(caches); cache++) {
        size_t length = strlen(caches[cache]);

        if (strncmp(name, caches[cache], length) != 0)
            continue;
        for (size_t i = 0; i < RPS_COUNT(cache_operations); i++) {
            if (strcmp(name + length, cache_operations[i].suffix) == 0) {
                *ret_config = cache | cache_operations[i].config;
                return true;
            }
        }
    }
    return false;
}

bool rps_name_generic(const char *name, struct rps_event *event)
{
    const struct generic *generic = find_generic(name);

    if (generic) {
        event->type = generic->type;
        event->config = generic->config;
        return true;
    }
    if (!find_cache(name, &event->config))
        return false;
    event->type = RPS_EVENT_HW_CACHE;
    return true;
}

const char *rps_name_unit(const char *name)
{
    const struct generic *generic = find_generic(name);

    return generic ? generic->unit : "events";
}

bool rps_name_raw(const char *name, struct rps_event *event)
{
    size_t digits = name[0] == 'r' ? strlen(name + 1) : 0;

    if (digits < 1 || digits > 16 || strspn(name + 1, "0123456789abcdefABCDEF") != digits)
        return false;
    event->type = RPS_EVENT_RAW;
    event->config = strtoull(name + 1, NULL, 16);
    return true;
}

bool rps_name_role(const char *name)
{
    for (const char *const *role = rps_name_roles; *role; role++) {
        if (strcmp(*role, name) == 0)
            return true;
    }
    return false;
}

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

bool rps_name_is_id(const char *text, size_t length)
{
    if (length == 0 || !is_letter(*text))
        return false;
    for (size_t i = 0; i < length; i++) {
        if (!is_letter(text[i]) && !(text[i] >= '0' && text[i] <= '9') && text[i] != '.' &&
            text[i] != ':')
            return false;
    }
    return true;
}

/* --- modifiers -------------------------------------------------------------------------------- */

/* Parse "u", "k", or both. Return false for any other text. */
static bool scan_modifiers(const char *text, char ret[8])
{
    bool user = strchr(text, 'u'), kernel = strchr(text, 'k');

    if (*text == '\0' || strspn(text, "uk") != strlen(text) ||
        strlen(text) != (size_t)user + (size_t)kernel)
        return false;
    snprintf(ret, 8, "%s%s", user ? "u" : "", kernel ? "k" : "");
    return true;
}

void rps_name_take_modifiers(char *text, char ret[8])
{
    char *slash = strrchr(text, '/');
    char *colon = strrchr(text, ':');

    ret[0] = '\0';
    if (colon && colon > slash) {
        if (scan_modifiers(colon + 1, ret))
            *colon = '\0';
    } else if (slash && slash != strchr(text, '/') && scan_modifiers(slash + 1, ret)) {
        slash[1] = '\0';
    }
}

/* --- suggestions and lists -------------------------------------------------------------------- */

void rps_name_suggest(struct rps_suggestion *suggestion)
{
    for (size_t i = 0; i < RPS_COUNT(generics); i++)
        rps_suggestion_consider(suggestion, generics[i].name);
    for (size_t cache = 0; cache < RPS_COUNT(caches); cache++) {
        for (size_t i = 0; i < RPS_COUNT(cache_operations); i++) {
            char name[RPS_NAME_SIZE];

            snprintf(name, sizeof(name), "%s%s", caches[cache], cache_operations[i].suffix);
            rps_suggestion_consider(suggestion, name);
        }
    }
    for (const char *const *role = rps_name_roles; *role; role++)
        rps_suggestion_consider(suggestion, *role);
}

char *rps_names_join(const char *const *names, char *ret, size_t size)
{
    ret[0] = '\0';
    for (const char *const *at = names; *at; at++)
        rps_text_list(ret, size, *at);
    return ret;
}

/* Resolution of event names: reads small files of sysfs and tracefs, and reports missing events. */

bool rps_resolve_is_file_name(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "_-.";

    return *text && *text != '.' && strspn(text, allowed) == strlen(text);
}

bool rps_resolve_path(char path[RPS_RESOLVE_PATH_SIZE], const char *sys, const char *folder,
                      const char *name)
{
    int length =
        snprintf(path, RPS_RESOLVE_PATH_SIZE, "%s/%s%s%s", sys, folder, *name ? "/" : "", name);

    return length > 0 && length < RPS_RESOLVE_PATH_SIZE;
}

int rps_resolve_read_line(const char *path, char ret[RPS_RESOLVE_VALUE_SIZE])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length;
    int error = 0;

    if (fd < 0)
        return errno;
    length = read(fd, ret, RPS_RESOLVE_VALUE_SIZE);
    if (length < 0)
        error = errno;
    else if (length == RPS_RESOLVE_VALUE_SIZE)
        error = EFBIG;
    else
        ret[length] = '\0';
    close(fd);
    if (error == 0)
        ret[strcspn(ret, "\n")] = '\0';
    return error;
}

int rps_resolve_not_here(struct rps_event *event, enum rps_event_state state, const char *format,
                         ...)
{
    va_list arguments;

    event->state = state;
    va_start(arguments, format);
    vsnprintf(event->reason, sizeof(event->reason), format, arguments);
    va_end(arguments);
    return 0;
}
