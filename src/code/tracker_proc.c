/* A process that runs already, from /proc: as the samples that would have told of it. */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracker.h"

/* A line of /proc/PID/maps; only what can be executed matters. */
static void add_map(struct rps_tracker *tracker, pid_t pid, char *line)
{
    struct rps_sample sample = {.kind = RPS_SAMPLE_MAP, .pid = pid, .tid = pid};
    uint64_t end;
    char rights[5];
    int path = 0;

    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
               &sample.map_address, &end, rights, &sample.file_offset, &sample.major, &sample.minor,
               &sample.inode, &path) != 7 ||
        path == 0 || rights[2] != 'x' || end <= sample.map_address)
        return;
    sample.map_length = end - sample.map_address;
    sample.path = line + path;
    rps_tracker_add(tracker, &sample);
}

static void add_maps(struct rps_tracker *tracker, pid_t pid)
{
    char path[64], *line = NULL;
    size_t room = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%ld/maps", (long)pid);
    file = fopen(path, "re");
    if (!file)
        return;
    while (getline(&line, &room, file) > 0)
        add_map(tracker, pid, line);
    free(line);
    fclose(file);
}

static void add_thread_name(struct rps_tracker *tracker, pid_t pid, pid_t tid)
{
    struct rps_sample sample = {.kind = RPS_SAMPLE_NAME, .pid = pid, .tid = tid};
    char path[80], name[64];
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%ld/task/%ld/comm", (long)pid, (long)tid);
    file = fopen(path, "re");
    if (!file)
        return;
    if (fgets(name, sizeof(name), file)) {
        name[strcspn(name, "\n")] = '\0';
        sample.path = name;
        rps_tracker_add(tracker, &sample);
    }
    fclose(file);
}

void rps_tracker_add_process(struct rps_tracker *tracker, pid_t pid)
{
    struct dirent *entry;
    char path[64];
    DIR *folder;

    snprintf(path, sizeof(path), "/proc/%ld/task", (long)pid);
    folder = opendir(path);
    if (!folder)
        return;
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] != '.')
            add_thread_name(tracker, pid, (pid_t)strtol(entry->d_name, NULL, 10));
    }
    closedir(folder);
    add_maps(tracker, pid);
}
