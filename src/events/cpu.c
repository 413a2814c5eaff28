/* Identifies the processor of this machine, and finds the set files for it.
 *
 * The processor is read from /proc/cpuinfo, which every kernel and container has. sysfs identifies
 * ARM cores only since Linux 4.7, and does not identify x86 cores. */
#include "rpistat/plan.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID_SIZE  96
#define KIND_MAX 8 /* Maximum number of core types in one machine. */

struct kind {
    char id[ID_SIZE];      /* For example 0x41/0xd49/r0p3. */
    char general[ID_SIZE]; /* For example 0x41/0xd49, which matches any revision; "" on x86. */
    bool armv8;
};

struct machine {
    int count;
    struct kind kind[KIND_MAX];
};

/* The values in one paragraph of /proc/cpuinfo. */
struct paragraph {
    char vendor[32];
    unsigned long family, model, stepping;
    unsigned long implementer, part, variant, revision;
    bool is_arm;
    bool armv8;
};

/* --- reading ---------------------------------------------------------------------------------- */

/* Return the value of a line "KEY : VALUE", or NULL for a line with another key. */
static const char *value_of(const char *line, const char *key)
{
    size_t length = strlen(key);

    if (strncmp(line, key, length) != 0)
        return NULL;
    line += length;
    line += strspn(line, " \t");
    if (*line != ':')
        return NULL;
    return line + 1 + strspn(line + 1, " \t");
}

static void read_number(const char *line, const char *key, unsigned long *ret)
{
    const char *value = value_of(line, key);

    if (value)
        *ret = strtoul(value, NULL, 0);
}

static void read_cpuinfo_line(struct paragraph *paragraph, const char *line)
{
    const char *value = value_of(line, "vendor_id");

    if (value)
        snprintf(paragraph->vendor, sizeof(paragraph->vendor), "%.*s", (int)strcspn(value, " \t\n"),
                 value);
    read_number(line, "cpu family", &paragraph->family);
    read_number(line, "model", &paragraph->model);
    read_number(line, "stepping", &paragraph->stepping);
    read_number(line, "CPU implementer", &paragraph->implementer);
    read_number(line, "CPU part", &paragraph->part);
    read_number(line, "CPU variant", &paragraph->variant);
    read_number(line, "CPU revision", &paragraph->revision);
    paragraph->is_arm = paragraph->is_arm || value_of(line, "CPU part");
    value = value_of(line, "CPU architecture");
    if (value) /* Early kernels write the name of the architecture in this line. */
        paragraph->armv8 = strtoul(value, NULL, 10) == 8 || strncmp(value, "AArch64", 7) == 0;
}

/* If the paragraph describes a new type of core, add this type. Then begin the next paragraph. */
static void end_paragraph(struct machine *machine, struct paragraph *paragraph)
{
    struct kind kind = {.armv8 = paragraph->armv8};

    if (paragraph->is_arm) {
        snprintf(kind.general, sizeof(kind.general), "0x%02lx/0x%03lx", paragraph->implementer,
                 paragraph->part);
        snprintf(kind.id, sizeof(kind.id), "0x%02lx/0x%03lx/r%lup%lu", paragraph->implementer,
                 paragraph->part, paragraph->variant, paragraph->revision);
    } else if (paragraph->vendor[0]) {
        snprintf(kind.id, sizeof(kind.id), "%s-%lu-%lX-%lX", paragraph->vendor, paragraph->family,
                 paragraph->model, paragraph->stepping);
    }
    memset(paragraph, 0, sizeof(*paragraph));
    if (kind.id[0] == '\0')
        return;
    for (int i = 0; i < machine->count; i++) {
        if (strcmp(machine->kind[i].id, kind.id) == 0)
            return;
    }
    if (machine->count < KIND_MAX)
        machine->kind[machine->count++] = kind;
}

/* Read all core types in the file. If the file is unreadable, return no core types. */
static void read_machine(const char *cpuinfo, struct machine *ret)
{
    FILE *file = fopen(cpuinfo, "re");
    struct paragraph paragraph = {.is_arm = false};
    char line[256];
    bool begins = true; /* True if the next bytes to be read are the beginning of a line. */

    memset(ret, 0, sizeof(*ret));
    if (!file)
        return;
    while (fgets(line, sizeof(line), file)) {
        if (begins && line[0] == '\n')
            end_paragraph(ret, &paragraph);
        else if (begins)
            read_cpuinfo_line(&paragraph, line);
        begins = strchr(line, '\n');
    }
    end_paragraph(ret, &paragraph);
    fclose(file);
}

/* --- matching --------------------------------------------------------------------------------- */

static bool is_for(const char *match, const struct kind *kind)
{
    char pattern[RPS_MATCH_SIZE];

    while (*match) {
        size_t length;

        match += strspn(match, ", \t");
        length = strcspn(match, ", \t");
        snprintf(pattern, sizeof(pattern), "%.*s", (int)length, match);
        if (length > 0 &&
            ((kind->armv8 && strcmp(pattern, "armv8") == 0) ||
             fnmatch(pattern, kind->general, 0) == 0 || fnmatch(pattern, kind->id, 0) == 0))
            return true;
        match += length;
    }
    return false;
}

static bool is_for_all(const char *match, const struct machine *machine)
{
    for (int i = 0; i < machine->count; i++) {
        if (!is_for(match, &machine->kind[i]))
            return false;
    }
    return machine->count > 0;
}

static void describe_cores(const struct machine *machine, char *ret, size_t size)
{
    size_t length = 0;

    snprintf(ret, size, "a processor that /proc/cpuinfo does not name");
    for (int i = 0; i < machine->count && length < size; i++)
        length += (size_t)snprintf(ret + length, size - length, "%s%s", i ? " and " : "",
                                   machine->kind[i].id);
}

int rps_plan_matches(const struct rps_plan *plan, const char *cpuinfo, struct rps_error *why)
{
    struct machine machine;
    char this[256];

    if (plan->match[0] == '\0')
        return 1;
    read_machine(cpuinfo, &machine);
    if (is_for_all(plan->match, &machine))
        return 1;
    describe_cores(&machine, this, sizeof(this));
    rps_error_set(why, RPS_USAGE,
                  "the event sets %s (%s) do not match this processor (%s), where their events "
                  "would count other things; use --sets generic",
                  plan->name, plan->title, this);
    return 0;
}

const char *rps_plan_for_cpu(const char *cpuinfo)
{
    struct machine machine;

    read_machine(cpuinfo, &machine);
    for (const char *const *name = rps_plan_names(); *name; name++) {
        struct rps_plan *plan = NULL;
        bool found;

        if (rps_plan_load(*name, &plan, NULL) < 0)
            continue;
        found = plan->match[0] && is_for_all(plan->match, &machine);
        rps_plan_free(plan);
        if (found)
            return *name;
    }
    return "generic";
}
