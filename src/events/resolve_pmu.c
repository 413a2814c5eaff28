/* Resolution: events of a PMU in sysfs, PMU/TERMS/. Small files of the kernel contain the PMU's
 * number, the terms of the PMU's events, and the bits of each parameter in an event's encoding.
 * (Documentation/ABI/testing/sysfs-bus-event_source-devices-format and -events) */
#include "resolve.h"

#include "rpistat/text.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Report a file below sysfs that exists but could not be read. */
static int unreadable(struct rps_event *event, const char *path, int error)
{
    if (error == EACCES || error == EPERM)
        return rps_resolve_not_here(event, RPS_EVENT_NOT_PERMITTED, "this user may not read %.180s",
                                    path);
    return rps_resolve_not_here(event, RPS_EVENT_UNSUPPORTED, "cannot read %.150s: %.60s", path,
                                strerror(error));
}

/* The context for an event PMU/TERMS/. */
struct pmu {
    const char *sys;
    const char *name;
    const char *terms; /* Terms as the user wrote them. */
    struct rps_event *event;
    struct rps_error *err;
};

static bool pmu_path(const struct pmu *pmu, char path[RPS_RESOLVE_PATH_SIZE], const char *kind,
                     const char *name)
{
    char folder[RPS_RESOLVE_PATH_SIZE];
    int length =
        snprintf(folder, sizeof(folder), "bus/event_source/devices/%s/%s", pmu->name, kind);

    return length < RPS_RESOLVE_PATH_SIZE && rps_resolve_path(path, pmu->sys, folder, name);
}

/* Parse one "N" or "N-M" at *text, and move *text past it. */
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

/* Return the config member of *event that a format like "config1:0-7" names. *ret_bits points to
 * the text after ':'. */
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

/* Distribute a value over the bits of a format, lowest bit first, replacing these bits. *ret_rest
 * is set to the high bits of the value that did not fit. Returns false for an invalid format. */
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

/* Read the format of a parameter from sysfs. The parameters config, config1 and config2 consist of
 * all 64 bits of the member with that name. */
static int read_format(const struct pmu *pmu, const char *name, char ret[RPS_RESOLVE_VALUE_SIZE])
{
    char path[RPS_RESOLVE_PATH_SIZE];
    int error = ENAMETOOLONG;

    if (pmu_path(pmu, path, "format", name))
        error = rps_resolve_read_line(path, ret);
    if (error == ENOENT && (strcmp(name, "config") == 0 || strcmp(name, "config1") == 0 ||
                            strcmp(name, "config2") == 0)) {
        snprintf(ret, RPS_RESOLVE_VALUE_SIZE, "%s:0-63", name);
        return 0;
    }
    if (error == ENOENT)
        rps_resolve_not_here(pmu->event, RPS_EVENT_UNSUPPORTED,
                             "PMU %.60s of this machine has no event or parameter named %.60s",
                             pmu->name, name);
    else if (error)
        unreadable(pmu->event, path, error);
    return error;
}

static int set_parameter(const struct pmu *pmu, const char *name, uint64_t value)
{
    char format[RPS_RESOLVE_VALUE_SIZE];
    uint64_t rest = 0;

    if (read_format(pmu, name, format) != 0)
        return 0;
    if (!place_bits(pmu->event, format, value, &rest))
        return rps_resolve_not_here(
            pmu->event, RPS_EVENT_UNSUPPORTED,
            "the kernel's format \"%.60s\" of parameter %.60s is not understood", format, name);
    if (rest != 0)
        return rps_error_set(pmu->err, RPS_USAGE,
                             "event %s: 0x%llx is too large for %s, which is %s", pmu->event->spec,
                             (unsigned long long)value, name, format);
    return 0;
}

/* Return true if the terms that the user wrote set the parameter. */
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

/* Set the terms of a named event. *ret_found: false if the PMU has no such event. */
static int set_named_event(const struct pmu *pmu, const char *name, bool *ret_found)
{
    char path[RPS_RESOLVE_PATH_SIZE], terms[RPS_RESOLVE_VALUE_SIZE];
    int error = ENAMETOOLONG;

    if (pmu_path(pmu, path, "events", name))
        error = rps_resolve_read_line(path, terms);
    *ret_found = error != ENOENT;
    if (error == ENOENT)
        return 0;
    if (error)
        return unreadable(pmu->event, path, error);
    return set_terms(pmu, terms, true);
}

/* Set one term: NAME=VALUE; or NAME alone, an event of the PMU or a parameter to be set to 1. */
static int set_term(const struct pmu *pmu, char *name, bool nested)
{
    char *text = strchr(name, '=');
    uint64_t value = 1;
    bool found = false;
    int result;

    if (text)
        *text++ = '\0';
    if (!rps_resolve_is_file_name(name))
        return rps_error_set(
            pmu->err, RPS_USAGE,
            "event %s: a term has no name; write terms like %s/event=0x3c,umask=0x1/",
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
                             "event %s: a value for %s is missing; write one, as in %s/%s,%s=1/",
                             pmu->event->spec, name, pmu->name, pmu->terms, name);
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

/* Set all terms of a comma-separated list. `nested`: the list is from an event's file in sysfs. */
static int set_terms(const struct pmu *pmu, const char *terms, bool nested)
{
    char list[RPS_RESOLVE_VALUE_SIZE];
    char *at = list, *term;
    int result = 0;

    snprintf(list, sizeof(list), "%s", terms);
    while (result == 0 && pmu->event->state == RPS_EVENT_MEASURED && *list &&
           (term = strsep(&at, ",")))
        result = set_term(pmu, term, nested);
    return result;
}

int rps_resolve_next_pmu(const char *sys, const char *pattern, char last[RPS_SPEC_SIZE])
{
    char path[RPS_RESOLVE_PATH_SIZE], found[RPS_SPEC_SIZE] = "";
    struct dirent *entry;
    DIR *folder;

    if (!rps_resolve_path(path, sys, "bus/event_source/devices", ""))
        return ENAMETOOLONG;
    folder = opendir(path);
    if (!folder)
        return errno;
    while ((entry = readdir(folder))) {
        if (entry->d_name[0] == '.' || strlen(entry->d_name) >= RPS_SPEC_SIZE ||
            strcmp(entry->d_name, last) <= 0 || fnmatch(pattern, entry->d_name, 0) != 0)
            continue;
        if (found[0] && strcmp(entry->d_name, found) >= 0)
            continue;
        /* The length of the name was checked above. */
        memcpy(found, entry->d_name, strlen(entry->d_name) + 1);
    }
    closedir(folder);
    if (found[0])
        strcpy(last, found);
    return found[0] ? 0 : ENOENT;
}

/* Return true for a PMU's name, or a pattern with at least one character other than *. */
static bool is_pmu_pattern(const char *text)
{
    char plain[RPS_SPEC_SIZE];
    size_t length = 0;

    for (; *text && length < sizeof(plain) - 1; text++) {
        if (*text != '*')
            plain[length++] = *text;
    }
    plain[length] = '\0';
    return rps_resolve_is_file_name(plain);
}

/* Read the PMU's number into event->type. If the PMU cannot be counted, set the event's state and
 * return false. */
static bool read_type(const struct pmu *pmu)
{
    struct rps_event *event = pmu->event;
    char path[RPS_RESOLVE_PATH_SIZE], line[RPS_RESOLVE_VALUE_SIZE];
    uint64_t type = 0;
    int error = ENAMETOOLONG;

    if (pmu_path(pmu, path, "type", ""))
        error = rps_resolve_read_line(path, line);
    if (error == ENOENT)
        rps_resolve_not_here(
            event, RPS_EVENT_UNSUPPORTED,
            "this machine has no PMU %.100s; choose one from /sys/bus/event_source/devices",
            pmu->name);
    else if (error)
        unreadable(event, path, error);
    else if (rps_parse_uint64("type", line, 0, UINT32_MAX, &type, NULL) < 0)
        rps_resolve_not_here(event, RPS_EVENT_UNSUPPORTED, "%.180s does not hold a number", path);
    event->type = (uint32_t)type;
    return event->state == RPS_EVENT_MEASURED;
}

/* Return true if the PMU counts events of a package instead of a thread. The kernel lists one CPU
 * of each package for such a PMU. */
static bool is_of_package(const struct pmu *pmu)
{
    char path[RPS_RESOLVE_PATH_SIZE], line[RPS_RESOLVE_VALUE_SIZE];

    return pmu_path(pmu, path, "cpumask", "") && rps_resolve_read_line(path, line) == 0;
}

int rps_resolve_pmu(struct rps_event *event, char *text, const char *sys, bool takes_packages,
                    struct rps_error *err)
{
    char *terms = strchr(text, '/') + 1;
    char *end = strchr(terms, '/');
    struct pmu pmu = {.sys = sys, .name = text, .terms = terms, .event = event, .err = err};
    char found[RPS_SPEC_SIZE] = "";

    terms[-1] = '\0';
    if (!end || end[1] != '\0' || !is_pmu_pattern(pmu.name))
        return rps_error_set(err, RPS_USAGE,
                             "event %s is not a PMU event; write PMU/EVENT/ or "
                             "PMU/event=0x3c,umask=0x1/, followed by :u or :k if needed",
                             event->spec);
    *end = '\0';
    if (strchr(text, '*') && rps_resolve_next_pmu(sys, text, found) == 0)
        pmu.name = found;
    if (!read_type(&pmu))
        return 0;
    if (!takes_packages && is_of_package(&pmu))
        return rps_resolve_not_here(event, RPS_EVENT_UNSUPPORTED,
                                    "it counts the whole package, not a program; use record -a, "
                                    "which also reads energy and memory traffic of packages");
    return set_terms(&pmu, terms, false);
}
