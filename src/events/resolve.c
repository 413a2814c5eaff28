/*
 * Resolution: from what people call an event to the numbers perf_event_open takes.
 *
 * Names that are the same everywhere are in names.c and libpfm4's in pfm.c; everything else is read
 * from sysfs and tracefs, under a folder the caller names. That an event resolves says only that
 * its name has a meaning here: whether the processor can count it is found by opening it.
 *
 * perf's generic names come before roles, although some are both (`branches`): a document must be
 * able to say what Linux means by them, the one called "generic" above all.
 */
#include "resolve.h"

#include "names.h"
#include "pfm.h"

#include "rpistat/parse.h"
#include "rpistat/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define PATH_SIZE    1024
#define VALUE_SIZE   512 /* the longest content of a sysfs file that we read */

/* True for NAME:REST where NAME is an event that has no ':' in it: REST was meant as modifiers. */
static bool has_bad_modifiers(const char *text)
{
    char name[RPS_SPEC_SIZE];
    struct rps_event ignored = {0};
    size_t length = strcspn(text, ":");

    snprintf(name, sizeof(name), "%.*s", (int)length, text);
    return text[length] == ':' &&
           (rps_name_generic(name, &ignored) || rps_name_raw(name, &ignored));
}

/* --- files ----------------------------------------------------------------------------------- */

/* True for text that can be one component of a path in sysfs and cannot leave its folder. */
static bool is_file_name(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "_-.";

    return *text && *text != '.' && strspn(text, allowed) == strlen(text);
}

/* Join sys and a path below it; false when the result is too long. */
static bool join(char path[PATH_SIZE], const char *sys, const char *folder, const char *name)
{
    int length = snprintf(path, PATH_SIZE, "%s/%s%s%s", sys, folder, *name ? "/" : "", name);

    return length > 0 && length < PATH_SIZE;
}

/* Read a one-line file without its newline. Returns 0 or an errno. */
static int read_line(const char *path, char ret[VALUE_SIZE])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length;
    int error = 0;

    if (fd < 0)
        return errno;
    length = read(fd, ret, VALUE_SIZE);
    if (length < 0)
        error = errno;
    else if (length == VALUE_SIZE)
        error = EFBIG;
    else
        ret[length] = '\0';
    close(fd);
    if (error == 0)
        ret[strcspn(ret, "\n")] = '\0';
    return error;
}

/* --- outcomes -------------------------------------------------------------------------------- */

static int not_here(struct rps_event *event, enum rps_event_state state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The event cannot be counted here, which is no error: returns 0. */
static int not_here(struct rps_event *event, enum rps_event_state state, const char *format, ...)
{
    va_list arguments;

    event->state = state;
    va_start(arguments, format);
    vsnprintf(event->reason, sizeof(event->reason), format, arguments);
    va_end(arguments);
    return 0;
}

/* A file below sysfs that is there but could not be read. */
static int unreadable(struct rps_event *event, const char *path, int error)
{
    if (error == EACCES || error == EPERM)
        return not_here(event, RPS_EVENT_NOT_PERMITTED, "this user may not read %.180s", path);
    return not_here(event, RPS_EVENT_UNSUPPORTED, "cannot read %.150s: %.60s", path,
                    strerror(error));
}

/* --- PMUs of sysfs --------------------------------------------------------------------------- */

/* What an event PMU/TERMS/ is looked up in. */
struct pmu {
    const char *sys;
    const char *name;
    const char *terms; /* as the user gave them */
    struct rps_event *event;
    struct rps_error *err;
};

static bool pmu_path(const struct pmu *pmu, char path[PATH_SIZE], const char *kind,
                     const char *name)
{
    char folder[PATH_SIZE];
    int length =
        snprintf(folder, sizeof(folder), "bus/event_source/devices/%s/%s", pmu->name, kind);

    return length < PATH_SIZE && join(path, pmu->sys, folder, name);
}

/* One "N" or "N-M" at *text, and move *text behind it. */
static bool scan_bits(const char **text, unsigned *ret_low, unsigned *ret_high)
{
    char *end;

    if (**text < '0' || **text > '9')
        return false;
    *ret_low = *ret_high = (unsigned)strtoul(*text, &end, 10);
    if (*end == '-') {
        if (end[1] < '0' || end[1] > '9')
            return false;
        *ret_high = (unsigned)strtoul(end + 1, &end, 10);
    }
    *text = end;
    return *ret_low <= *ret_high && *ret_high < 64;
}

/* The word of the event that a format like "config1:0-7" names; *ret_bits is its part behind ':'.
 */
static uint64_t *format_word(struct rps_event *event, const char *format, const char **ret_bits)
{
    size_t length = strcspn(format, ":");

    if (format[length] != ':')
        return NULL;
    *ret_bits = format + length + 1;
    if (length == 6 && strncmp(format, "config", length) == 0)
        return &event->config;
    if (length == 7 && strncmp(format, "config1", length) == 0)
        return &event->config1;
    if (length == 7 && strncmp(format, "config2", length) == 0)
        return &event->config2;
    return NULL;
}

/*
 * Spread value over the bits of a format, lowest first, replacing what they held. *ret_rest is what
 * found no place. Returns false for a format that is not understood.
 */
static bool place_bits(struct rps_event *event, const char *format, uint64_t value,
                       uint64_t *ret_rest)
{
    const char *bits = NULL;
    uint64_t *word = format_word(event, format, &bits);
    unsigned low, high;

    if (!word)
        return false;
    for (;;) {
        if (!scan_bits(&bits, &low, &high))
            return false;
        for (unsigned bit = low; bit <= high; bit++) {
            *word = (*word & ~(UINT64_C(1) << bit)) | (value & 1) << bit;
            value >>= 1;
        }
        if (*bits == '\0')
            break;
        if (*bits++ != ',')
            return false;
    }
    *ret_rest = value;
    return true;
}

/* The format of a parameter: from sysfs, or all of a word for config, config1 and config2. */
static int read_format(const struct pmu *pmu, const char *name, char ret[VALUE_SIZE])
{
    char path[PATH_SIZE];
    int error = ENAMETOOLONG;

    if (pmu_path(pmu, path, "format", name))
        error = read_line(path, ret);
    if (error == ENOENT && (strcmp(name, "config") == 0 || strcmp(name, "config1") == 0 ||
                            strcmp(name, "config2") == 0)) {
        snprintf(ret, VALUE_SIZE, "%s:0-63", name);
        return 0;
    }
    if (error == ENOENT)
        not_here(pmu->event, RPS_EVENT_UNSUPPORTED,
                 "PMU %.60s of this machine has no event or parameter called %.60s", pmu->name,
                 name);
    else if (error)
        unreadable(pmu->event, path, error);
    return error;
}

static int set_parameter(const struct pmu *pmu, const char *name, uint64_t value)
{
    char format[VALUE_SIZE];
    uint64_t rest = 0;

    if (read_format(pmu, name, format) != 0)
        return 0;
    if (!place_bits(pmu->event, format, value, &rest))
        return not_here(pmu->event, RPS_EVENT_UNSUPPORTED,
                        "the kernel's format \"%.60s\" of parameter %.60s is not understood",
                        format, name);
    if (rest != 0)
        return rps_error_set(pmu->err, RPS_USAGE,
                             "event %s: 0x%llx is too large for %s, which is %s", pmu->event->spec,
                             (unsigned long long)value, name, format);
    return 0;
}

/* True when the user's own terms give the parameter a value. */
static bool is_given(const char *terms, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = terms; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return true;
    }
    return false;
}

static int set_terms(const struct pmu *pmu, const char *terms, bool nested);

/* The terms behind an event's name; *ret_found is false when the PMU has no such event. */
static int set_named_event(const struct pmu *pmu, const char *name, bool *ret_found)
{
    char path[PATH_SIZE], terms[VALUE_SIZE];
    int error = ENAMETOOLONG;

    if (pmu_path(pmu, path, "events", name))
        error = read_line(path, terms);
    *ret_found = error != ENOENT;
    if (error == ENOENT)
        return 0;
    if (error)
        return unreadable(pmu->event, path, error);
    return set_terms(pmu, terms, true);
}

/* One term: NAME=VALUE, or NAME for an event of the PMU or a parameter that is 1. */
static int set_term(const struct pmu *pmu, char *name, bool nested)
{
    char *text = strchr(name, '=');
    uint64_t value = 1;
    bool found = false;
    int result;

    if (text)
        *text++ = '\0';
    if (!is_file_name(name))
        return rps_error_set(pmu->err, RPS_USAGE,
                             "event %s: write its terms like %s/event=0x3c,umask=0x1/",
                             pmu->event->spec, pmu->name);
    if (!text && !nested) {
        result = set_named_event(pmu, name, &found);
        if (result < 0 || found)
            return result;
    }
    if (text && nested && strcmp(text, "?") == 0) {
        if (is_given(pmu->terms, name))
            return 0;
        return rps_error_set(pmu->err, RPS_USAGE,
                             "event %s: needs a value for %s, as in %s/%s,%s=1/", pmu->event->spec,
                             name, pmu->name, pmu->terms, name);
    }
    if (text) {
        char what[2 * RPS_SPEC_SIZE];

        snprintf(what, sizeof(what), "event %s: %s", pmu->event->spec, name);
        result = rps_parse_uint64(what, text, 0, UINT64_MAX, &value, pmu->err);
        if (result < 0)
            return result;
    }
    return set_parameter(pmu, name, value);
}

/* All terms of a comma-separated list; nested: of an event's file in sysfs. */
static int set_terms(const struct pmu *pmu, const char *terms, bool nested)
{
    char list[VALUE_SIZE];
    char *at = list, *term;
    int result = 0;

    snprintf(list, sizeof(list), "%s", terms);
    while (result == 0 && pmu->event->state == RPS_EVENT_MEASURED && *list &&
           (term = strsep(&at, ",")))
        result = set_term(pmu, term, nested);
    return result;
}

/*
 * The PMU that a pattern like armv8_* means, the first in the order of the alphabet: the kernel
 * names PMUs of ARM after the processor or number them. Returns 0 or an errno; ENOENT when there is
 * none.
 */
static int find_pmu(const char *sys, const char *pattern, char ret[RPS_SPEC_SIZE])
{
    char path[PATH_SIZE];
    struct dirent *entry;
    DIR *folder;
    int error = ENOENT;

    if (!join(path, sys, "bus/event_source/devices", ""))
        return ENAMETOOLONG;
    folder = opendir(path);
    if (!folder)
        return errno;
    while ((entry = readdir(folder))) {
        if (entry->d_name[0] == '.' || strlen(entry->d_name) >= RPS_SPEC_SIZE ||
            fnmatch(pattern, entry->d_name, 0) != 0)
            continue;
        if (error == 0 && strcmp(entry->d_name, ret) >= 0)
            continue;
        memcpy(ret, entry->d_name, strlen(entry->d_name) + 1); /* its length was looked at */
        error = 0;
    }
    closedir(folder);
    return error;
}

/* True for the name of a PMU, or a pattern of one: at least one character beside *. */
static bool is_pmu_pattern(const char *text)
{
    char plain[RPS_SPEC_SIZE];
    size_t length = 0;

    for (; *text && length < sizeof(plain) - 1; text++) {
        if (*text != '*')
            plain[length++] = *text;
    }
    plain[length] = '\0';
    return is_file_name(plain);
}

/* Number of the PMU: fills event->type, or its state; false when it cannot be counted. */
static bool read_type(const struct pmu *pmu)
{
    struct rps_event *event = pmu->event;
    char path[PATH_SIZE], line[VALUE_SIZE];
    uint64_t type = 0;
    int error = ENAMETOOLONG;

    if (pmu_path(pmu, path, "type", ""))
        error = read_line(path, line);
    if (error == ENOENT)
        not_here(event, RPS_EVENT_UNSUPPORTED, "no PMU called %.100s on this machine", pmu->name);
    else if (error)
        unreadable(event, path, error);
    else if (rps_parse_uint64("type", line, 0, UINT32_MAX, &type, NULL) < 0)
        not_here(event, RPS_EVENT_UNSUPPORTED, "%.180s does not hold a number", path);
    event->type = (uint32_t)type;
    return event->state == RPS_EVENT_MEASURED;
}

/* text is PMU/TERMS/ without modifiers; it is taken apart. */
static int resolve_pmu(struct rps_event *event, char *text, const char *sys, struct rps_error *err)
{
    char *terms = strchr(text, '/') + 1;
    char *end = strchr(terms, '/');
    struct pmu pmu = {.sys = sys, .name = text, .terms = terms, .event = event, .err = err};
    char found[RPS_SPEC_SIZE];

    terms[-1] = '\0';
    if (!end || end[1] != '\0' || !is_pmu_pattern(pmu.name))
        return rps_error_set(err, RPS_USAGE,
                             "event %s: a PMU event is written PMU/EVENT/ or "
                             "PMU/event=0x3c,umask=0x1/, with :u or :k behind it",
                             event->spec);
    *end = '\0';
    if (strchr(text, '*') && find_pmu(sys, text, found) == 0)
        pmu.name = found;
    return read_type(&pmu) ? set_terms(&pmu, terms, false) : 0;
}

/* --- tracepoints ----------------------------------------------------------------------------- */

enum trace {
    TRACE_FOUND,
    TRACE_ABSENT,      /* tracefs is there and does not know the tracepoint */
    TRACE_DENIED,      /* tracefs is there, or may be, and this user may not look into it */
    TRACE_NOT_MOUNTED, /* no tracefs in this place */
};

/* Look for SYSTEM/NAME in the tracefs that may be mounted at sys/folder. */
static enum trace look_up(const char *sys, const char *folder, const char *tracepoint,
                          uint64_t *ret_id)
{
    char events[PATH_SIZE], path[PATH_SIZE], line[VALUE_SIZE];
    struct stat status;
    int error;

    if (!join(events, sys, folder, "events") ||
        snprintf(path, sizeof(path), "%s/%s/id", events, tracepoint) >= PATH_SIZE)
        return TRACE_NOT_MOUNTED;
    error = read_line(path, line);
    if (error == 0 && rps_parse_uint64("id", line, 0, UINT64_MAX, ret_id, NULL) == 0)
        return TRACE_FOUND;
    if (error == EACCES || error == EPERM)
        return TRACE_DENIED;
    if (stat(events, &status) == 0)
        return TRACE_ABSENT;
    return TRACE_NOT_MOUNTED;
}

/* text is SYSTEM:NAME. */
static int resolve_tracepoint(struct rps_event *event, const char *text, const char *sys)
{
    static const char *const folders[] = {"kernel/tracing", "kernel/debug/tracing"};
    enum trace best = TRACE_NOT_MOUNTED;
    char path[RPS_SPEC_SIZE];

    snprintf(path, sizeof(path), "%s", text);
    *strchr(path, ':') = '/';
    event->type = RPS_EVENT_TRACEPOINT;
    for (size_t i = 0; i < COUNT(folders) && best != TRACE_FOUND; i++) {
        enum trace here = look_up(sys, folders[i], path, &event->config);

        if (here < best)
            best = here;
    }
    if (best == TRACE_ABSENT)
        return not_here(event, RPS_EVENT_UNSUPPORTED, "this kernel has no tracepoint %s", text);
    if (best == TRACE_DENIED)
        return not_here(event, RPS_EVENT_NOT_PERMITTED,
                        "tracepoints need root: this user may not read %.100s/kernel/tracing", sys);
    if (best == TRACE_NOT_MOUNTED)
        return not_here(event, RPS_EVENT_UNSUPPORTED,
                        "tracefs is not mounted: mount -t tracefs nodev /sys/kernel/tracing");
    return 0;
}

/* True for SYSTEM:NAME. */
static bool is_tracepoint(const char *text)
{
    char system[RPS_SPEC_SIZE];
    const char *colon = strchr(text, ':');

    if (!colon)
        return false;
    snprintf(system, sizeof(system), "%.*s", (int)(colon - text), text);
    return is_file_name(system) && is_file_name(colon + 1);
}

/* --- roles ----------------------------------------------------------------------------------- */

/* The event with that role in a document that is part of the program: 1 and *ret, 0 when there is
 * none, negative on error. */
static int find_in_document(const char *name, const char *role, struct rps_event *ret,
                            struct rps_error *err)
{
    struct rps_plan *plan = NULL;
    const struct rps_event *found;
    int result = rps_plan_load(name, &plan, err);

    if (result < 0)
        return result;
    found = rps_plan_role(plan, role, NULL, NULL);
    if (found)
        *ret = *found;
    rps_plan_free(plan);
    return found != NULL;
}

static int resolve_name(struct rps_event *event, char *text, const char *sys,
                        struct rps_error *err);

static int resolve_role(struct rps_event *event, const char *role, const char *sys,
                        const char *cpuinfo, struct rps_error *err)
{
    const char *document = rps_plan_for_cpu(cpuinfo);
    struct rps_event found;
    char text[RPS_SPEC_SIZE], modifiers[8];
    int result = find_in_document(document, role, &found, err);

    if (result == 0)
        result = find_in_document("software", role, &found, err);
    if (result < 0)
        return result;
    if (result == 0)
        return not_here(event, RPS_EVENT_UNSUPPORTED,
                        "the event sets for this processor (%.60s) have no %.60s", document, role);
    snprintf(text, sizeof(text), "%s", found.spec);
    rps_name_take_modifiers(text, modifiers);
    result = resolve_name(event, text, sys, err);
    if (result < 0)
        return result;
    if (event->modifiers[0] == '\0')
        memcpy(event->modifiers, modifiers, sizeof(modifiers));
    if (event->role[0] == '\0') {
        memcpy(event->role, found.role, sizeof(event->role));
        memcpy(event->unit, found.unit, sizeof(event->unit));
        memcpy(event->explain, found.explain, sizeof(event->explain));
    }
    return 0;
}

/* --- every kind of name ---------------------------------------------------------------------- */

static void consider(void *context, const char *name)
{
    rps_near_consider(context, name);
}

/* The error for text that is no event at all. */
static int unknown_event(const char *spec, const char *text, struct rps_error *err)
{
    struct rps_near near = {.typed = text};
    char printable[RPS_SPEC_SIZE], question[RPS_NEAR_MAX * RPS_NAME_SIZE + 32];

    rps_text_printable(printable, sizeof(printable), spec);
    if (has_bad_modifiers(text))
        return rps_error_set(err, RPS_USAGE, "event %s: the modifiers behind : are u and k",
                             printable);
    rps_near_consider_generic(&near);
    rps_pfm_each(consider, &near);
    return rps_error_set(err, RPS_USAGE,
                         "no event is called \"%s\": %s`rpistat events` lists what can be counted",
                         printable, rps_near_question(&near, question, sizeof(question)));
}

/* A tracepoint, or, since the two look alike, an event of libpfm4 with a unit mask. */
static int resolve_colon(struct rps_event *event, const char *text, const char *sys,
                         struct rps_error *err)
{
    struct rps_event other = *event;
    int result = resolve_tracepoint(event, text, sys);

    if (result < 0 || event->state == RPS_EVENT_MEASURED)
        return result;
    result = rps_pfm_find(&other, text, err);
    if (result == 1)
        *event = other;
    return result < 0 ? result : 0;
}

/* Everything but roles; text is taken apart. */
static int resolve_name(struct rps_event *event, char *text, const char *sys, struct rps_error *err)
{
    int result;

    if (rps_name_generic(text, event) || rps_name_raw(text, event))
        return 0;
    if (strchr(text, '/'))
        return resolve_pmu(event, text, sys, err);
    if (is_tracepoint(text) && !has_bad_modifiers(text))
        return resolve_colon(event, text, sys, err);
    result = rps_pfm_find(event, text, err);
    if (result != 0)
        return result < 0 ? result : 0;
    return unknown_event(event->spec, text, err);
}

int rps_resolve(struct rps_event *event, const char *sys, const char *cpuinfo,
                struct rps_error *err)
{
    struct rps_event found = *event;
    char text[RPS_SPEC_SIZE];
    int result;

    snprintf(text, sizeof(text), "%s", event->spec);
    rps_name_take_modifiers(text, found.modifiers);
    found.config = found.config1 = found.config2 = 0;
    found.state = RPS_EVENT_MEASURED;
    found.reason[0] = '\0';
    if (rps_name_role(text) && !rps_name_generic(text, &found))
        result = resolve_role(&found, text, sys, cpuinfo, err);
    else
        result = resolve_name(&found, text, sys, err);
    if (result == 0)
        *event = found;
    else if (event->where[0])
        rps_error_prefix(err, result, "%s", event->where);
    return result;
}

int rps_event_resolve(struct rps_event *event, const char *sys, struct rps_error *err)
{
    return rps_resolve(event, sys, "/proc/cpuinfo", err);
}
