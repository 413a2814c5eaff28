/*
 * What the files that read system signals share: signals_proc.c (the reader: when, on which thread,
 * at what cost), signals_tree.c (the workload's threads and processes), signals_machine.c (the
 * machine), signals_group.c (control groups), signals_package.c (packages) and signals_file.c (files
 * of /proc).
 */
#ifndef RPISTAT_MEASURE_SIGNALS_PROC_H
#define RPISTAT_MEASURE_SIGNALS_PROC_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "rpistat/pmu.h"
#include "rpistat/sample.h"
#include "rpistat/system_signals.h"

/*
 * Open a reader on the target, as struct rps_pmu says of open_signals. `root` stands before /proc and
 * /sys: "", or a folder with files that look like theirs.
 */
int rps_signals_open(const char *root, const struct rps_system_options *options,
                     const struct rps_target *target, struct rps_system_reader *ret,
                     struct rps_error *err);

/* --- signals_file.c: files of /proc ----------------------------------------------------------- */

/* Files stay open as long as there is room for descriptors. */
struct rps_signal_files {
    int folder_fd; /* /proc, or another one */
    int kept, kept_max;
};

/* Folder "/proc", or another one, below root; -1 where there is none. */
int rps_signal_files_open(struct rps_signal_files *files, const char *root, const char *folder);

/* Read a file from its beginning, up to size - 1 bytes, with a zero behind: bytes, or -errno. *fd is
 * that file where it is kept open, else -1; `path` is in the folder. */
ssize_t rps_signal_file_read(struct rps_signal_files *files, int *fd, const char *path, char *text,
                             size_t size);

/* The same of a thread's file; tid 0: of the process'. */
ssize_t rps_signal_task_read(struct rps_signal_files *files, int *fd, pid_t pid, pid_t tid,
                             const char *name, char *text, size_t size);

void rps_signal_file_close(struct rps_signal_files *files, int *fd);

/* Numbers of a text, whatever stands between them: the next one, and *text behind it; 0 at the end. */
uint64_t rps_signal_number(const char **text);

/* The number behind a word of a text; -1: there is no such word. */
int64_t rps_signal_behind(const char *text, const char *word);

/* What is counted, told in whole units so that sums are exact. */
struct rps_signal_sum {
    int64_t total, told; /* the latter in units */
};

/* It has come to so much. Where that is less than before, as when a disk is taken out, nothing came. */
void rps_signal_count(struct rps_signal_sum *sum, int64_t total, int64_t unit);

/* What came since it was told before. */
int64_t rps_signal_tell(struct rps_signal_sum *sum, int64_t unit);

/* --- signals_tree.c: the workload ------------------------------------------------------------- */

/* A thread was made, or has ended, or has become the only one of its process. */
struct rps_signal_event {
    enum rps_sample_kind kind; /* FORK, EXIT, NAME by an exec */
    pid_t pid, tid, parent_tid;
    int64_t time_ns;
};

/* schedstat; io */
enum { RPS_RUNNING, RPS_WAITING, RPS_TIMES };
enum { RPS_IO_READ, RPS_IO_WRITTEN, RPS_IO_DISK_READ, RPS_IO_DISK_WRITTEN, RPS_IO_COUNT };

struct rps_signal_thread;
struct rps_signal_process;

struct rps_signal_tree {
    struct rps_signal_files files;
    int hears; /* threads are told by events; 0: looked for at each reading */
    int group_fd[RPS_TARGET_CGROUPS_MAX]; /* folders of control groups whose processes they are */
    int group_count;
    uint32_t lacks;                   /* bit of a slot: its file is not there */
    int64_t since_ns;                 /* counting began, or went on */
    struct rps_signal_thread *thread; /* owned; in order of tid */
    size_t thread_count;
    struct rps_signal_process *first, *last; /* owned; parents before their children */
    uint64_t turn;                           /* readings so far */

    /* What was read: */
    struct rps_signal_sum time[RPS_TIMES], unseen; /* ns */
    struct rps_signal_sum hidden;                  /* ns; see struct rps_system_reading */
    struct rps_signal_sum io[RPS_IO_COUNT];        /* bytes */
    int64_t gauge[RPS_SYSTEM_SLOT_MAX];            /* THREADS to RSS */
    int64_t ended[RPS_SYSTEM_SLOT_MAX]; /* of threads that were read until they ended, since then:
                                           THREADS, and what they last did */
    uint32_t missing;                   /* bit of a slot: not all of it could be read */
    size_t process_count;               /* that live */
};

/* The tree of a target that is no CPUs, as it stands now. -1 without memory, or /proc. */
int rps_signal_tree_init(struct rps_signal_tree *tree, const char *root,
                         const struct rps_target *target, int hears);

void rps_signal_tree_free(struct rps_signal_tree *tree);

/* Events come in order of time. */
void rps_signal_tree_apply(struct rps_signal_tree *tree, const struct rps_signal_event *event);

/* See `left` of struct rps_system_reader. */
size_t rps_signal_tree_left(struct rps_signal_tree *tree, pid_t *ret_pid, size_t size);

/* Read all of it. */
void rps_signal_tree_read(struct rps_signal_tree *tree);

/* Tell what came since this was called before, and what stands: ret->value and valid. */
void rps_signal_tree_tell(struct rps_signal_tree *tree, struct rps_system_reading *ret);

/* After rps_signal_tree_init: what can be read. */
void rps_signal_tree_state(const struct rps_signal_tree *tree, struct rps_system_state *ret);

/* --- signals_machine.c: the machine ----------------------------------------------------------- */

enum { RPS_MACHINE_FILES = 9 };

struct rps_signal_machine {
    struct rps_signal_files files;
    int disks_fd; /* /sys/block */
    int fd[RPS_MACHINE_FILES];
    int64_t cpus;
    struct rps_signal_sum sum[RPS_SYSTEM_SLOT_MAX]; /* counters, in us and bytes */
    int64_t available_kib;
    int has_delay;               /* that is known exactly, */
    struct rps_signal_sum delay; /* ns, summed over CPUs; else */
    int64_t waiting, looks;      /* threads that waited, the sum of so many looks */
    uint32_t valid;              /* bit of a slot: could be read last */
    char text[65536];
};

/* Nothing is read yet. -1: there is no /proc. */
int rps_signal_machine_init(struct rps_signal_machine *machine, const char *root);
void rps_signal_machine_free(struct rps_signal_machine *machine);

/* One look at how many threads wait; the others. */
void rps_signal_machine_look(struct rps_signal_machine *machine);
void rps_signal_machine_read(struct rps_signal_machine *machine);

/* ret->length_us: since it was told before, 0 where that is not wanted. */
void rps_signal_machine_tell(struct rps_signal_machine *machine, struct rps_system_reading *ret);
void rps_signal_machine_state(const struct rps_signal_machine *machine,
                              struct rps_system_state *ret);

/* --- signals_group.c: a control group --------------------------------------------------------- */

#define RPS_GROUP_ROOT "/sys/fs/cgroup"

enum { RPS_GROUP_FILES = 3, RPS_GROUP_PATH_MAX = 4096 };

struct rps_signal_group {
    struct rps_signal_files files; /* RPS_GROUP_ROOT */
    int disks_fd;                  /* /sys/dev/block */
    int is_old;                    /* there are hierarchies of version 1 */
    int fd[RPS_GROUP_FILES];
    char path[RPS_GROUP_FILES][RPS_GROUP_PATH_MAX];
    struct rps_signal_sum sum[RPS_GROUP_SLOTS]; /* counters, in us and bytes */
    int64_t memory_kib;
    uint32_t valid, supported; /* bit of a slot: could be read last, and at first */
    char text[65536];
};

/* Of a target that is a group this one; of one process its own, where that or one above has a CPU
 * limit. What limits stop is told of the tightest one. It has been read. 1: there is none, and
 * nothing to free. */
int rps_signal_group_init(struct rps_signal_group *group, const char *root,
                          const struct rps_target *target);
void rps_signal_group_free(struct rps_signal_group *group);
void rps_signal_group_read(struct rps_signal_group *group);
void rps_signal_group_tell(struct rps_signal_group *group, struct rps_system_reading *ret);
void rps_signal_group_state(const struct rps_signal_group *group, struct rps_system_state *ret);

/* --- signals_package.c: packages -------------------------------------------------------------- */

/* Of a CPU: its cycles at the nominal clock and at that which it had, both while it ran, and the
 * former all the time. */
enum { RPS_PACKAGE_MPERF, RPS_PACKAGE_APERF, RPS_PACKAGE_TSC, RPS_PACKAGE_CLOCKS };

struct rps_package_counter {
    int fd;
    int choice;   /* name that it was found by */
    double scale; /* of a count, in nJ or bytes */
};

struct rps_package_clock {
    int fd[RPS_PACKAGE_CLOCKS];
    uint64_t running_ns, value[RPS_PACKAGE_CLOCKS]; /* as read last */
};

struct rps_signal_package {
    char sys[512];
    struct rps_package_counter *counter; /* owned */
    size_t count;
    struct rps_package_clock *clock; /* owned; of each CPU */
    int clock_count;
    int64_t clocks_ns; /* when these were read last, time of the caller's */
    int64_t mhz;       /* what they said; -1: nothing */
    struct rps_signal_sum sum[RPS_PACKAGE_SLOTS]; /* in nJ and bytes */
    int64_t read_ns, length_us;      /* when the counters were read, and since the time before */
    uint32_t supported, valid, told; /* bit of a slot: could be read at first, last, and both last
                                        and before */
    char reason[RPS_PACKAGE_SLOTS][80];
};

/* Open on a machine whose CPUs these are; supported 0: it has none. `root` stands before /sys. */
void rps_signal_package_init(struct rps_signal_package *package, const char *root,
                             const struct rps_target *target);
void rps_signal_package_free(struct rps_signal_package *package);

/* begins 1: what comes is counted from here on. What is told came in the time between two readings,
 * as it was: a period that is handled late makes no peak. */
void rps_signal_package_read(struct rps_signal_package *package, int64_t time_ns, int begins);
void rps_signal_package_tell(struct rps_signal_package *package, struct rps_system_reading *ret);
void rps_signal_package_state(const struct rps_signal_package *package,
                              struct rps_system_state *ret);

/* The clock of CPUs while they ran, in MHz, of what came in on_ns; -1: not known. */
int64_t rps_signal_mhz(const double came[RPS_PACKAGE_CLOCKS], double on_ns);

#endif
