/* Adds a running process from /proc, as if by the samples that would have reported it. */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpistat/code.h"
#include "rpistat/proc.h"
#include "rpistat/text.h"
#include "record_tracker_parts.h"

static const char *proc_of(const struct rps_tracker *tracker)
{
    return tracker->proc ? tracker->proc : "/proc";
}

/* Add a line of /proc/PID/maps; only executable maps matter. */
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
    char path[256], *line = NULL;
    size_t room = 0;
    FILE *file;

    snprintf(path, sizeof(path), "%s/%ld/maps", proc_of(tracker), (long)pid);
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
    char name[64];

    if (rps_proc_read(name, sizeof(name), "%s/%ld/task/%ld/comm", proc_of(tracker), (long)pid,
                      (long)tid) == 0)
        return;
    name[strcspn(name, "\n")] = '\0';
    sample.path = name;
    rps_tracker_add(tracker, &sample);
}

void rps_tracker_add_process(struct rps_tracker *tracker, pid_t pid)
{
    struct dirent *entry;
    char path[256];
    DIR *folder;

    snprintf(path, sizeof(path), "%s/%ld/task", proc_of(tracker), (long)pid);
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

void rps_tracker_add_known(struct rps_tracker *tracker, const struct rps_sample *sample)
{
    const pid_t pid = sample->kind == RPS_SAMPLE_FORK ? sample->parent_pid : sample->pid;

    if (tracker->proc && (sample->kind == RPS_SAMPLE_STACK || sample->kind == RPS_SAMPLE_FORK) &&
        rps_intern_find(&tracker->process, (uint32_t)pid, 0) < 0)
        rps_tracker_add_process(tracker, pid);
    rps_tracker_add(tracker, sample);
}

/* SAFETY: a process's command line may have secrets; only the source file is kept. */

/* Return 1 if an argument names a source file. An argument with one of the characters below is left
 * out. It may be a URL, a host or a command line (of sh -c), with a password. */
static int is_source(const char *argument)
{
    static const char suffixes[] = " adb ads asm awk c c++ cc clj cpp cs cu cxx d el erl ex f f03 "
                                   "f08 f77 f90 f95 for go groovy"
                                   " hs java jl js kt l lisp lua m ml mm mjs nim pas php pl proto "
                                   "py r rb rs S scala scm sh sql"
                                   " sv swift tcl tex ts tsx v vala vhd vhdl y zig C F F90 R ";
    const char *dot = strrchr(rps_text_file_name(argument), '.');
    char suffix[16];

    if (!dot || strlen(dot) < 2 || strlen(dot) > 10 || argument[0] == '-' ||
        strpbrk(argument, ":=@?* <>|&;"))
        return 0;
    snprintf(suffix, sizeof(suffix), " %s ", dot + 1);
    return strstr(suffixes, suffix) != NULL;
}

void rps_task_file_read(char ret[RPS_TASK_FILE_SIZE], const char *proc, pid_t pid)
{
    char text[32768];
    const char *at = text, *last, *from;
    int is_value = 1; /* 1 if the argument is the program itself or the value of -o. */
    const size_t got = rps_proc_read(text, sizeof(text), "%s/%ld/cmdline", proc, (long)pid);

    ret[0] = '\0';
    while (at < text + got && (is_value || !is_source(at))) {
        is_value = strcmp(at, "-o") == 0 || strcmp(at, "-main-file-name") == 0;
        at += strlen(at) + 1;
    }
    if (at >= text + got || (got == sizeof(text) - 1 && at + strlen(at) == text + got))
        return; /* The argument names no source file, or its end was not read. */
    last = rps_text_file_name(at);
    from = last > at ? memrchr(at, '/', (size_t)(last - at) - 1) : NULL;
    from = from ? from + 1 : at;
    from = strlen(from) < RPS_TASK_FILE_SIZE ? from : last;
    if (strlen(from) < RPS_TASK_FILE_SIZE)
        strcpy(ret, from);
}
