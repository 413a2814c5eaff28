/* Targets of a recording: processes, CPUs and control groups. */
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "rpistat/arena.h"
#include "rpistat/plan.h"
#include "rpistat/proc.h"
#include "rpistat/text.h"

#define CGROUP_FOLDER "/sys/fs/cgroup"
#define ONLINE_CPUS   "/sys/devices/system/cpu/online"

static int online_cpus(int **ret, int *ret_count, struct rps_error *err)
{
    char text[4096];

    if (rps_proc_read(text, sizeof(text), ONLINE_CPUS) == 0)
        snprintf(text, sizeof(text), "0-%ld", sysconf(_SC_NPROCESSORS_ONLN) - 1);
    text[strcspn(text, "\n")] = '\0';
    return rps_parse_cpus(ONLINE_CPUS, text, ret, ret_count, err);
}

static int check_online(const char *text, const int *cpu, int count, struct rps_error *err)
{
    int *online = NULL, online_count = 0;
    int rc = online_cpus(&online, &online_count, err);

    for (int i = 0; rc == 0 && i < count; i++) {
        int found = 0;

        for (int k = 0; k < online_count; k++)
            found |= online[k] == cpu[i];
        if (!found)
            rc = rps_error_set(
                err, RPS_FAILED,
                "-C %s: CPU %d is not online; choose CPUs that are listed in " ONLINE_CPUS, text,
                cpu[i]);
    }
    free(online);
    return rc;
}

static int open_cpus(const struct rps_record_settings *settings, struct rps_record_target *t,
                     struct rps_error *err)
{
    int rc;

    if (!settings->cpus)
        return online_cpus(&t->cpu, &t->target.cpu_count, err);
    rc = rps_parse_cpus("-C", settings->cpus, &t->cpu, &t->target.cpu_count, err);
    if (rc == 0)
        rc = check_online(settings->cpus, t->cpu, t->target.cpu_count, err);
    return rc;
}

static int open_process(struct rps_arena *arena, struct rps_record_target *t, const char *text,
                        struct rps_error *err)
{
    size_t count = (size_t)t->pidfd_count;
    uint64_t pid;
    int fd, rc = rps_parse_uint64("-p", text, 1, INT32_MAX, &pid, NULL);

    if (rc < 0)
        return rps_error_set(
            err, rc, "-p: '%s' is not a process number; write one like -p 1234 (see pgrep)", text);
    for (int i = 0; i < t->target.pid_count; i++)
        if (t->pid[i] == (pid_t)pid) /* if the list names a process twice, the process is counted
                                        once */
            return 0;
    fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
    if (fd < 0)
        return rps_error_set(err, RPS_FAILED, "-p %s: %s", text,
                             errno == ESRCH ? "no such process; find one with ps or pgrep"
                             /* the number is that of a thread; Linux 6.9 and later report a thread
                              * by these errors */
                             : errno == EINVAL || errno == ENOENT
                                 ? "it is a thread; name its process"
                                 : strerror(errno));
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    t->pidfd = rps_arena_grow(arena, t->pidfd, count, sizeof(*t->pidfd));
    t->pidfd[count] = fd;
    t->pid = rps_arena_grow(arena, t->pid, count, sizeof(*t->pid));
    t->pid[count] = (pid_t)pid;
    t->target.pid_count = ++t->pidfd_count;
    return 0;
}

static int open_processes(struct rps_arena *arena, const struct rps_record_settings *settings,
                          struct rps_record_target *t, struct rps_error *err)
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < settings->pid.count; i++) {
        char *rest = rps_arena_text(arena, settings->pid.text[i]), *item;

        while (rc == 0 && (item = strsep(&rest, ",")))
            rc = open_process(arena, t, item, err);
    }
    return rc;
}

/* Return 1 for the root of a hierarchy, which contains everything, including idle tasks. The root
 * is recorded as whole CPUs. Otherwise the kernel would report many times the elapsed time (Linux
 * 6.18), and would count idle time as CPU use. The root of a hierarchy has inode number 1. The root
 * of a container is an ordinary group with another number. */
static int is_root_cgroup(int fd)
{
    struct stat status;
    struct statfs system;

    return fstat(fd, &status) == 0 && status.st_ino == 1 && fstatfs(fd, &system) == 0 &&
           (system.f_type == CGROUP_SUPER_MAGIC || system.f_type == CGROUP2_SUPER_MAGIC);
}

/* Return the directory's path, with a slash at its end. */
static char *folder_path(int fd, char ret[PATH_MAX + 1])
{
    char link[64];
    ssize_t length;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    length = readlink(link, ret, PATH_MAX - 1);
    strcpy(ret + (length < 0 ? 0 : length), "/");
    return ret;
}

/* Refuse groups that contain each other: the inner group's contents would be counted twice. */
static int check_apart(const char *const *name, const struct rps_target *target,
                       struct rps_error *err)
{
    char path[2][PATH_MAX + 1];

    for (int i = 0; i < target->cgroup_count; i++) {
        folder_path(target->cgroup_fd[i], path[0]);
        for (int k = 0; k < target->cgroup_count; k++) {
            if (i != k &&
                strncmp(folder_path(target->cgroup_fd[k], path[1]), path[0], strlen(path[0])) == 0)
                return rps_error_set(err, RPS_USAGE,
                                     "-G %s contains all of -G %s; leave one of them out", name[i],
                                     name[k]);
        }
    }
    return 0;
}

static int open_cgroup(struct rps_arena *arena, const char *name, struct rps_record_target *t,
                       struct rps_error *err)
{
    static const char *const folders[] = {"", CGROUP_FOLDER "/", CGROUP_FOLDER "/perf_event/",
                                          CGROUP_FOLDER "/unified/"};
    int fd = -1;

    for (size_t i = name[0] == '/' ? 0 : 1; fd < 0 && i < 4; i++)
        fd = open(rps_arena_print(arena, "%s%s", folders[i], name),
                  O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return rps_error_set(err, RPS_FAILED,
                             "-G %s: no such control group; name a directory below " CGROUP_FOLDER,
                             name);
    t->target.cgroup_fd[t->target.cgroup_count++] = fd;
    return 0;
}

static void close_cgroups(struct rps_target *target)
{
    while (target->cgroup_count > 0)
        close(target->cgroup_fd[--target->cgroup_count]);
}

static int open_cgroups(struct rps_arena *arena, const struct rps_texts *name,
                        struct rps_record_target *t, struct rps_error *err)
{
    int rc = 0;

    t->target.kind = RPS_TARGET_CGROUP;
    for (int i = 0; i < name->count && rc == 0; i++)
        rc = open_cgroup(arena, name->text[i], t, err);
    if (rc == 0)
        rc = check_apart(name->text, &t->target, err);
    if (rc == 0 && is_root_cgroup(t->target.cgroup_fd[0])) {
        close_cgroups(&t->target);
        t->target.kind = RPS_TARGET_CPUS;
    }
    return rc;
}

/* Put a text such as "cgroup a, b", with as many names as fit. */
static void describe_cgroups(const struct rps_texts *name, struct rps_record_target *t)
{
    size_t used = 0;

    for (int i = 0; i < name->count && used < sizeof(t->text); i++)
        used += (size_t)snprintf(t->text + used, sizeof(t->text) - used, "%s%.200s",
                                 i > 0 ? ", " : "cgroup ", name->text[i]);
}

/* Put a text such as "CPU 0-1", with the user's own list, or "all 4 CPUs" without a list. */
static void describe_target(const struct rps_record_settings *settings, struct rps_record_target *t)
{
    size_t used;

    if (t->target.kind == RPS_TARGET_LAUNCH) {
        snprintf(t->text, sizeof(t->text), "command");
    } else if (settings->cgroup.count > 0) {
        describe_cgroups(&settings->cgroup, t);
    } else if (t->target.kind == RPS_TARGET_CPUS) {
        if (settings->cpus)
            snprintf(t->text, sizeof(t->text), "CPU %.200s", settings->cpus);
        else
            snprintf(t->text, sizeof(t->text), "all %d CPUs", t->target.cpu_count);
    } else {
        snprintf(t->text, sizeof(t->text), "process");
        for (int i = 0; i < t->target.pid_count; i++) {
            used = strlen(t->text);
            snprintf(t->text + used, sizeof(t->text) - used, "%s %ld", i ? "," : "",
                     (long)t->pid[i]);
        }
    }
}

int rps_record_target_open(struct rps_arena *arena, const struct rps_record_settings *settings,
                           struct rps_record_target *ret, struct rps_error *err)
{
    struct rps_record_target t = {0};
    int rc = 0;

    if (settings->pid.count > 0) {
        t.target.kind = RPS_TARGET_ATTACH;
        rc = rps_proc_is_own() ? open_processes(arena, settings, &t, err)
                               : rps_error_set(err, RPS_FAILED, "-p: " RPS_PROC_FOREIGN);
    } else if (settings->cgroup.count > 0) {
        rc = open_cgroups(arena, &settings->cgroup, &t, err);
        if (rc == 0)
            rc = open_cpus(settings, &t, err);
    } else if (settings->all_cpus || settings->cpus) {
        t.target.kind = RPS_TARGET_CPUS;
        rc = open_cpus(settings, &t, err);
    } else {
        t.target.kind = RPS_TARGET_LAUNCH;
    }
    if (rc < 0) {
        rps_record_target_close(&t);
        return rc;
    }
    t.target.pid = t.pid;
    t.target.cpu = t.cpu;
    describe_target(settings, &t);
    *ret = t;
    return 0;
}

/* Read the command line of a process; empty if the process has ended or is a kernel thread. */
static void read_command(struct rps_arena *arena, pid_t pid, struct rps_run *run)
{
    char path[64], **argv = NULL, *word = NULL;
    size_t room = 0;
    int argc = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%ld/cmdline", (long)pid);
    file = fopen(path, "re");
    while (file && getdelim(&word, &room, '\0', file) > 0) {
        argv = rps_arena_grow(arena, argv, (size_t)argc, sizeof(*argv));
        argv[argc++] = rps_arena_text(arena, word);
    }
    free(word);
    if (file)
        fclose(file);
    while (argc > 0 && argv[argc - 1][0] == '\0')
        argc--; /* a process that changed its title has empty arguments at the end */
    rps_run_set_command(run, argc, argv);
}

void rps_record_target_command(struct rps_arena *arena, const struct rps_record_target *target,
                               struct rps_run *run)
{
    int count = target->target.pid_count;
    char text[4096], **line = rps_arena_get(arena, (size_t)count, sizeof(*line));

    for (int i = 0; i < count; i++) {
        read_command(arena, target->pid[i], run);
        line[i] = rps_arena_text(arena, rps_text_command(text, sizeof(text), run->argc, run->argv));
    }
    if (count > 1)
        rps_run_set_command(run, count, line);
}

void rps_record_target_close(struct rps_record_target *target)
{
    for (int i = 0; i < target->pidfd_count; i++)
        close(target->pidfd[i]);
    close_cgroups(&target->target);
    free(target->cpu);
    memset(target, 0, sizeof(*target));
}

/* The choice of the plan of a recording. */

static int is_scenario(const char *name)
{
    const char *const *row = rps_plan_scenarios();

    while (*row && strcmp(*row, name) != 0)
        row++;
    return *row != NULL;
}

static int load_sets(const struct rps_record_settings *settings, const struct rps_pmu *pmu,
                     struct rps_plan **ret, const char *note, struct rps_error *err)
{
    int rc = rps_pmu_load_plan(pmu, settings->sets, ret, err);

    if (rc == 0 && !settings->scenario)
        rps_plan_keep_default(*ret);
    if (rc < 0 || !settings->scenario)
        return rc;
    rc = rps_plan_select(*ret, settings->scenario, err);
    if (rc == RPS_USAGE && *note && !settings->sets && is_scenario(settings->scenario))
        rps_error_write(err,
                        "--scenario %s needs hardware counters: %s; leave out the option, or "
                        "record on a machine that has such counters",
                        settings->scenario, note);
    return rc;
}

int rps_record_plan_load(const struct rps_record_settings *settings, const struct rps_pmu *pmu,
                         struct rps_plan **ret, const char *note, struct rps_error *err)
{
    struct rps_plan *plan = NULL;
    int rc;

    if (settings->events.count > 0)
        rc = rps_plan_from_events(settings->events.text, settings->events.count, &plan, err);
    else
        rc = load_sets(settings, pmu, &plan, note, err);
    for (int i = 0; rc == 0 && i < settings->metric.count; i++)
        rc = rps_plan_add_formula(plan, settings->metric.text[i], err);
    if (rc == 0 && settings->events.count > 0)
        rc = rps_plan_add_rates(plan, err);
    if (rc < 0) {
        rps_plan_free(plan);
        return rc;
    }
    *ret = plan;
    return 0;
}
