/* System metrics of a control group. In version 2 the group's directory has all files. In version 1
 * each controller has a hierarchy with a directory for the group. */
#include "system_proc.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rpistat/clock.h"
#include "rpistat/proc.h"

#define BIT(slot) (UINT32_C(1) << (slot))

enum { CPU, MEMORY, IO };

/* Names of the files in version 2, and in version 1 below the controller's directory. */
static const struct {
    const char *name, *controller, *old_name;
    uint32_t slots;
} files[RPS_GROUP_FILES] = {
    [CPU] = {"cpu.stat", "cpu", "cpu.stat", BIT(RPS_GROUP_THROTTLED)},
    [MEMORY] = {"memory.current", "memory", "memory.usage_in_bytes", BIT(RPS_GROUP_MEMORY)},
    [IO] = {"io.stat", "blkio", "blkio.throttle.io_service_bytes_recursive",
            BIT(RPS_GROUP_READ) | BIT(RPS_GROUP_WRITTEN)},
};

/* Read a file into group->text. Returns NULL on failure. A file without counts may be empty. */
static const char *read_text(struct rps_system_group *group, int *fd, const char *path)
{
    return rps_system_file_read(&group->files, fd, path, group->text, sizeof(group->text)) < 0
               ? NULL
               : group->text;
}

static void read_cpu(struct rps_system_group *group, const char *text)
{
    const int64_t unit = group->is_old ? RPS_NS_PER_US : 1;
    int64_t total = rps_system_behind(text, group->is_old ? "throttled_time " : "throttled_usec ");

    if (total < 0)
        return;
    rps_signal_count(&group->sum[RPS_GROUP_THROTTLED], total / unit, 1);
    group->valid |= files[CPU].slots;
}

static void read_memory(struct rps_system_group *group, const char *text)
{
    group->memory_kib = (int64_t)rps_system_number(&text) / 1024;
    group->valid |= files[MEMORY].slots;
}

/* Read the io of whole disks. Devices built from counted disks have no `device` directory. */
static void read_io(struct rps_system_group *group, const char *line)
{
    int64_t bytes[2] = {0, 0};
    char disk[64];

    for (; line && *line; line = strchr(line, '\n'), line += line != NULL) {
        unsigned long long in = 0, out = 0;

        if (sscanf(line, "%31[0-9:]", disk) != 1)
            continue;
        if (group->is_old && sscanf(line, "%*s Read %llu", &in) != 1 &&
            sscanf(line, "%*s Write %llu", &out) != 1)
            continue;
        if (!group->is_old && sscanf(line, "%*s rbytes=%llu wbytes=%llu", &in, &out) != 2)
            continue;
        strcat(disk, "/device");
        if (faccessat(group->disks_fd, disk, F_OK, 0) < 0)
            continue;
        bytes[0] += (int64_t)in;
        bytes[1] += (int64_t)out;
    }
    rps_signal_count(&group->sum[RPS_GROUP_READ], bytes[0], 1024);
    rps_signal_count(&group->sum[RPS_GROUP_WRITTEN], bytes[1], 1024);
    group->valid |= files[IO].slots;
}

void rps_system_group_read(struct rps_system_group *group)
{
    static void (*const read_file[RPS_GROUP_FILES])(struct rps_system_group *, const char *) = {
        [CPU] = read_cpu, [MEMORY] = read_memory, [IO] = read_io};

    group->valid = 0;
    for (int i = 0; i < RPS_GROUP_FILES; i++) {
        const char *text = read_text(group, &group->fd[i], group->path[i]);

        if (text)
            read_file[i](group, text);
    }
}

void rps_system_group_report(struct rps_system_group *group, struct rps_system_reading *ret)
{
    ret->value[RPS_GROUP_THROTTLED] = rps_system_sum_read(&group->sum[RPS_GROUP_THROTTLED], 1);
    ret->value[RPS_GROUP_MEMORY] = group->memory_kib;
    ret->value[RPS_GROUP_READ] = rps_system_sum_read(&group->sum[RPS_GROUP_READ], 1024);
    ret->value[RPS_GROUP_WRITTEN] = rps_system_sum_read(&group->sum[RPS_GROUP_WRITTEN], 1024);
    ret->valid = group->valid;
}

void rps_system_group_state(const struct rps_system_group *group, struct rps_system_state *ret)
{
    ret->supported = group->supported;
    for (int i = 0; i < RPS_GROUP_FILES; i++)
        for (int s = 0; s < RPS_GROUP_SLOTS; s++)
            if (files[i].slots & BIT(s) & ~group->supported)
                snprintf(ret->reason[s], sizeof(ret->reason[s]),
                         "the control group does not report it (%s)",
                         group->is_old ? files[i].old_name : files[i].name);
}

/* --- which group ------------------------------------------------------------------------------ */

static int is_there(const struct rps_system_group *group, const char *path)
{
    return faccessat(group->files.folder_fd, path, F_OK, 0) == 0;
}

/* Set the path of a file in the group's directory. `folder` is relative to the hierarchy: "a/b", or
 * "". A path from /proc may not exist in a container, which sees its own group as the root. */
static void set_file(struct rps_system_group *group, int file, const char *folder)
{
    const char *const parent = group->is_old ? files[file].controller : ".";
    const char *const name = group->is_old ? files[file].old_name : files[file].name;
    const size_t size = sizeof(group->path[file]);

    snprintf(group->path[file], size, "%s/%s/%s", parent, folder, name);
    if (!is_there(group, group->path[file]))
        snprintf(group->path[file], size, "%s/%s", parent, name);
}

/* Find the path of an open directory. In version 1 the path begins with a hierarchy. */
static int find_folder(struct rps_system_group *group, const char *root, int folder_fd)
{
    char link[64], text[RPS_GROUP_PATH_MAX], above[RPS_GROUP_PATH_MAX];
    const char *folder = text;
    ssize_t length;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", folder_fd);
    snprintf(above, sizeof(above), "%s" RPS_GROUP_ROOT "/", root);
    length = readlink(link, text, sizeof(text) - 1);
    text[length < 0 ? 0 : length] = '\0';
    if (strncmp(text, above, strlen(above)) != 0)
        return 1;
    folder += strlen(above);
    if (group->is_old)
        folder = strchr(folder, '/') ? strchr(folder, '/') + 1 : "";
    for (int i = 0; i < RPS_GROUP_FILES; i++)
        set_file(group, i, folder);
    return 0;
}

/* Return 1 if a line of /proc/PID/cgroup names the controller, in a list with commas. */
static int has_controller(const char *list, const char *controller)
{
    const size_t length = strlen(controller);

    for (; *list; list += *list == ',') {
        if (strncmp(list, controller, length) == 0 && (!list[length] || list[length] == ','))
            return 1;
        list += strcspn(list, ",");
    }
    return 0;
}

/* Find the groups of a process from lines like "4:cpu,cpuacct:/a/b" ("0::/a/b" in version 2). */
static void find_groups(struct rps_system_group *group, char *text)
{
    char *save = NULL;

    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char *list = strchr(line, ':'), *folder = list ? strchr(list + 1, ':') : NULL;

        if (!folder || folder[1] != '/')
            continue;
        *folder = '\0';
        for (int i = 0; i < RPS_GROUP_FILES; i++)
            if (group->is_old ? has_controller(list + 1, files[i].controller) : !list[1])
                set_file(group, i, folder + 2);
    }
}

/* Read a file of the group with directory `folder`. The file is in cpu.stat's directory. */
static const char *read_beside(struct rps_system_group *group, const char *folder, const char *name)
{
    char path[RPS_GROUP_PATH_MAX + 32];
    const char *text;
    int fd = -1;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    text = read_text(group, &fd, path);
    rps_system_file_close(&group->files, &fd);
    return text;
}

/* Return the number of CPUs that a group may use, or INFINITY if it has no limit. */
static double limit_of(struct rps_system_group *group, const char *folder)
{
    const char *text = read_beside(group, folder, group->is_old ? "cpu.cfs_quota_us" : "cpu.max");
    double quota;

    if (!text || text[0] < '0' || text[0] > '9') /* "max" or -1: no limit */
        return INFINITY;
    quota = (double)rps_system_number(&text);
    if (group->is_old)
        text = read_beside(group, folder, "cpu.cfs_period_us");
    return text ? quota / (double)rps_system_number(&text) : INFINITY;
}

/* Find the lowest limit among the group and its ancestors. Use the cpu.stat of the group that has
 * this limit, because that file counts the throttling by this limit. Returns 1 if there is no
 * limit. */
static int find_limit(struct rps_system_group *group)
{
    char folder[RPS_GROUP_PATH_MAX];
    double tightest = INFINITY;

    snprintf(folder, sizeof(folder), "%s", group->path[CPU]);
    for (char *end = strrchr(folder, '/'); end; end = strrchr(folder, '/')) {
        double limit;

        *end = '\0';
        limit = limit_of(group, folder);
        if (limit < tightest) /* the two paths are equal up to this length */
            strcpy(group->path[CPU] + strlen(folder), "/cpu.stat");
        tightest = fmin(limit, tightest);
    }
    return tightest == INFINITY;
}

static int find_groups_of(struct rps_system_group *group, const char *root, pid_t pid)
{
    if (rps_proc_read(group->of, sizeof(group->of), "%s/proc/%ld/cgroup", root, (long)pid) == 0)
        return 1;
    strcpy(group->text, group->of);
    find_groups(group, group->text);
    return 0;
}

int rps_system_group_is_left(const struct rps_system_group *group, const char *root, pid_t pid)
{
    char of[sizeof(group->of)];

    return rps_proc_read(of, sizeof(of), "%s/proc/%ld/cgroup", root, (long)pid) > 0 &&
           strcmp(of, group->of) != 0;
}

int rps_system_group_init(struct rps_system_group *group, const char *root,
                          const struct rps_target *target)
{
    struct rps_system_reading unused;
    char path[RPS_GROUP_PATH_MAX];
    int rc = 1;

    *group = (struct rps_system_group){.disks_fd = -1};
    memset(group->fd, -1, sizeof(group->fd));
    if (rps_system_files_open(&group->files, root, RPS_GROUP_ROOT) < 0)
        return 1;
    snprintf(path, sizeof(path), "%s/sys/dev/block", root);
    group->disks_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    group->is_old = !is_there(group, "cgroup.procs");
    if (target->cgroup_count == 1) /* several groups have no common limit */
        rc = find_folder(group, root, target->cgroup_fd[0]);
    else if (target->pid_count == 1)
        rc = find_groups_of(group, root, target->pid[0]);
    if (rc == 0 && find_limit(group) && target->kind != RPS_TARGET_CGROUP)
        rc = 1;
    if (rc != 0) {
        rps_system_group_free(group);
        return rc;
    }
    rps_system_group_read(group);
    rps_system_group_report(group, &unused);
    group->supported = group->valid;
    return 0;
}

void rps_system_group_free(struct rps_system_group *group)
{
    for (int i = 0; i < RPS_GROUP_FILES; i++)
        rps_system_file_close(&group->files, &group->fd[i]);
    if (group->files.folder_fd >= 0)
        close(group->files.folder_fd);
    if (group->disks_fd >= 0)
        close(group->disks_fd);
}
