/* A process that runs already, from /proc: as the samples that would have told of it. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracker_parts.h"

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

/* Is it the name of a file of source code? Arguments with other characters may be URLs or hosts, which
 * can hold passwords. */
static int is_source(const char *argument)
{
    static const char suffixes[] = " adb ads asm awk c c++ cc clj cpp cs cu cxx d el erl ex f f03 "
                                   "f08 f77 f90 f95 for go groovy"
                                   " hs java jl js kt l lisp lua m ml mm mjs nim pas php pl proto "
                                   "py r rb rs S scala scm sh sql"
                                   " sv swift tcl tex ts tsx v vala vhd vhdl y zig C F F90 R ";
    const char *dot = strrchr(argument, '.');
    char suffix[16];

    if (!dot || argument[0] == '-' || strpbrk(argument, ":=@?*") || strchr(dot, '/') ||
        strlen(dot) >= sizeof(suffix) - 1)
        return 0;
    snprintf(suffix, sizeof(suffix), " %s ", dot + 1);
    return dot[1] && !strchr(dot, ' ') && strstr(suffixes, suffix);
}

/* The last two components of the path, or the last one where these are too long. */
static void copy_end(char ret[RPS_TRACKER_FILE_SIZE], const char *path)
{
    const char *last = strrchr(path, '/'), *from;

    last = last ? last + 1 : path;
    for (from = last > path ? last - 1 : path; from > path && from[-1] != '/';)
        from--;
    if (strlen(from) >= RPS_TRACKER_FILE_SIZE)
        from = last;
    if (strlen(from) < RPS_TRACKER_FILE_SIZE)
        strcpy(ret, from);
}

void rps_tracker_read_file(char ret[RPS_TRACKER_FILE_SIZE], const char *proc, pid_t pid)
{
    char path[128], text[32768];
    int fd, is_value = 0;
    ssize_t got = -1;

    ret[0] = '\0';
    snprintf(path, sizeof(path), "%s/%ld/cmdline", proc, (long)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        got = read(fd, text, sizeof(text) - 1);
        close(fd);
    }
    text[got > 0 ? got : 0] = '\0';
    for (size_t at = 0, length; (ssize_t)at < got; at += length + 1) {
        length = strlen(text + at);
        if (at > 0 && !is_value && at + length < sizeof(text) - 1 && is_source(text + at)) {
            copy_end(ret, text + at);
            return;
        }
        is_value = strcmp(text + at, "-o") == 0 || strcmp(text + at, "-main-file-name") == 0;
    }
}
