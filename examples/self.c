/* Self-measurement of the examples.
 *
 * The events that an example chooses are written to a document of event sets, as a user would write
 * it. The document is an unnamed file, so the example can be started in any directory. */
#include "self.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rpistat/region.h"

static void print_problem(void)
{
    const char *problem = rps_region_problem();

    if (problem[0])
        fprintf(stderr, "%s\n", problem);
}

void self_open(void)
{
    rps_region_open(NULL);
    print_problem();
}

/* Return the ID of an event. A role is already an ID; a perf name may contain dashes. */
static const char *id_of(const char *role, char ret[64])
{
    snprintf(ret, 64, "%s", role);
    for (char *c = ret; *c; c++) {
        if (*c == '-')
            *c = '_';
    }
    return ret;
}

static void write_event(FILE *file, const char *role)
{
    char id[64];

    fprintf(file, "[event %s]\nevent = %s\nlabel = %s\n", id_of(role, id), role, role);
    if (!strchr(role, '-'))
        fprintf(file, "role = %s\n", role);
}

static void write_document(FILE *file, const struct self_event *event, int count, int group)
{
    char id[64];
    int last = group;

    fprintf(file, "[plan]\nname = example\ntitle = An example's own events\n");
    write_event(file, "instructions");
    for (int i = 0; i < count; i++) {
        if (event[i].group < group)
            continue;
        write_event(file, event[i].role);
        last = event[i].group;
    }
    for (int g = group; g <= last; g++) {
        int first = g != group;

        fprintf(file, "[set group%d]\nevents = %s", g, first ? "" : "instructions");
        for (int i = 0; i < count; i++) {
            if (event[i].group == g) {
                fprintf(file, "%s%s", first ? "" : ", ", id_of(event[i].role, id));
                first = 0;
            }
        }
        fprintf(file, "\n");
    }
    fprintf(file, "[metric cpi]\nformula = clock / instructions\nlabel = CPI\n");
}

static int is_counted(const char *role)
{
    struct rps_region_item item;
    char id[64];

    id_of(role, id);
    for (int i = 0; rps_region_item(i, &item) == 0; i++) {
        if (item.kind == RPS_REGION_EVENT && strcmp(item.name, id) == 0)
            return item.reason[0] == '\0';
    }
    return 0;
}

int self_open_events(const struct self_event *event, int count, int group)
{
    int fd = memfd_create("events", MFD_CLOEXEC), next = group;
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    char path[64];

    rps_region_close();
    if (file) {
        write_document(file, event, count, group);
        fflush(file);
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    }
    rps_region_open(file ? path : NULL);
    if (file)
        fclose(file);
    if (group == 0 && !is_counted("instructions"))
        print_problem();
    /* Use the first groups that are counted completely, and at least one. */
    for (int i = 0; i < count; i++) {
        if (event[i].group > group && !is_counted(event[i].role))
            return event[i].group;
        if (event[i].group > next)
            next = event[i].group;
    }
    return -1;
}

double self_count(const char *region, const char *role)
{
    return rps_region_value(region, role);
}

void self_close(void)
{
    rps_region_close();
}

void self_report(void)
{
    rps_region_report(stderr);
    rps_region_close();
}
