/* Internals of reading system metrics, shared by its files:
 *
 * - system_proc.c: the reader: when, on which thread, at what cost
 * - system_tree.c: the workload's threads and processes
 * - system_machine.c: the machine
 * - system_group.c: control groups
 * - system_package.c: packages
 * - system_file.c: files of /proc */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "rpistat/pmu.h"
#include "rpistat/sample.h"
#include "rpistat/system_reader.h"

/* Open a reader on the target, like open_system of struct rps_pmu. `root` is the directory that
 * contains /proc and /sys: "", or a directory with similar files. */
int rps_system_open(const char *root, const struct rps_system_options *options,
                    const struct rps_target *target, struct rps_system_reader *ret,
                    struct rps_error *err);

/* --- system_file.c: files of /proc ----------------------------------------------------------- */

/* A directory with files that stay open as long as descriptors are available. */
struct rps_system_files {
    int folder_fd; /* descriptor of /proc, or of another directory */
    int kept, kept_max;
};

/* Open a directory such as "/proc" below root. Returns -1 if the directory does not exist. */
int rps_system_files_open(struct rps_system_files *files, const char *root, const char *folder);

/* Read up to size - 1 bytes of a file and add a zero. Returns the length or -errno. *fd becomes the
 * descriptor if the file remains open, otherwise -1. `path` is relative to the directory. */
ssize_t rps_system_file_read(struct rps_system_files *files, int *fd, const char *path, char *text,
                             size_t size);

/* Read a thread's file like rps_system_file_read. If tid is 0, read the process's file. */
ssize_t rps_system_task_read(struct rps_system_files *files, int *fd, pid_t pid, pid_t tid,
                             const char *name, char *text, size_t size);

void rps_system_file_close(struct rps_system_files *files, int *fd);

/* Return the next number of *text, with any separators, and move *text past it; 0 at the end. */
uint64_t rps_system_number(const char **text);

/* Return the number after a word of a text, or -1 if the text lacks that word. */
int64_t rps_system_behind(const char *text, const char *word);

/* A counter that is reported in whole units, so that sums are exact. */
struct rps_system_file_sum {
    int64_t total, told; /* told: part of the total that was reported, in units */
};

/* Set a counter's total. A decrease, as after a disk is removed, adds nothing. */
void rps_signal_count(struct rps_system_file_sum *sum, int64_t total, int64_t unit);

/* Return the increase since the last call, in units. */
int64_t rps_system_sum_read(struct rps_system_file_sum *sum, int64_t unit);

/* --- system_tree.c: the workload ------------------------------------------------------------- */

/* An event of a thread: it was started, has ended, or has become the only thread of its process. */
struct rps_system_event {
    enum rps_sample_kind kind; /* FORK, EXIT, or NAME after an exec */
    pid_t pid, tid, parent_tid;
    int64_t time_ns;
};

/* Times from schedstat, and counters from io. */
enum { RPS_RUNNING, RPS_WAITING, RPS_TIMES };
enum { RPS_IO_READ, RPS_IO_WRITTEN, RPS_IO_DISK_READ, RPS_IO_DISK_WRITTEN, RPS_IO_COUNT };

struct rps_system_thread;
struct rps_system_process;

struct rps_system_tree {
    struct rps_system_files files;
    int hears; /* 1 if threads are known from events; 0: each reading searches the threads */
    int group_fd[RPS_TARGET_CGROUPS_MAX]; /* directories of the target's control groups */
    int group_count;
    uint32_t lacks;   /* bit mask of slots whose file does not exist */
    int has_fd_size;  /* 1 if the size of PID/fd is the descriptor count (Linux 6.2) */
    int64_t since_ns; /* time at which counting began or continued */
    struct rps_system_thread *thread; /* owned; in order of tid */
    size_t thread_count;
    struct rps_system_process *first, *last; /* owned; parents before their children */
    uint64_t turn;                           /* number of the readings so far */

    /* Results of the readings. */
    struct rps_system_file_sum time[RPS_TIMES], unseen; /* in ns */
    struct rps_system_file_sum hidden;                  /* in ns; see struct rps_system_reading */
    struct rps_system_file_sum io[RPS_IO_COUNT];        /* in bytes */
    int64_t gauge[RPS_SYSTEM_SLOT_MAX]; /* values of slots THREADS to RSS, IDLE and later */
    int64_t ended[RPS_SYSTEM_SLOT_MAX]; /* THREADS and last activity of threads that ended since
                                           the previous reading, read until the end */
    uint32_t missing;                   /* bit mask of incompletely read slots */
    size_t process_count;               /* number of live processes */
};

/* Build the tree of a target other than CPUs from its present threads. Returns -1 if memory is
 * short or /proc is missing. */
int rps_system_tree_init(struct rps_system_tree *tree, const char *root,
                         const struct rps_target *target, int hears);

void rps_system_tree_free(struct rps_system_tree *tree);

/* Apply an event of a thread. Events come in order of time. */
void rps_system_tree_apply(struct rps_system_tree *tree, const struct rps_system_event *event);

/* Return the remaining threads, as `left` of struct rps_system_reader does. */
size_t rps_system_tree_left(struct rps_system_tree *tree, pid_t *ret_pid, size_t size);

/* Read all threads and processes. */
void rps_system_tree_read(struct rps_system_tree *tree);

/* Report the counters' increase since the last call, and the gauges, in ret->value and valid. */
void rps_system_tree_report(struct rps_system_tree *tree, struct rps_system_reading *ret);

/* Return the readable metrics. Call this function after rps_system_tree_init. */
void rps_system_tree_state(const struct rps_system_tree *tree, struct rps_system_state *ret);

/* --- system_machine.c: the machine ----------------------------------------------------------- */

enum { RPS_MACHINE_FILES = 9 };

struct rps_system_machine {
    struct rps_system_files files;
    int disks_fd; /* descriptor of /sys/block */
    int fd[RPS_MACHINE_FILES];
    int64_t cpus;
    struct rps_system_file_sum sum[RPS_SYSTEM_SLOT_MAX]; /* counters in us and bytes */
    int64_t available_kib;
    int has_delay;                    /* 1 if the exact delay is known */
    struct rps_system_file_sum delay; /* with has_delay: delay in ns, summed over CPUs */
    int64_t waiting, looks;           /* sum of waiting threads; number of samples */
    uint32_t valid;                   /* bit mask of slots that the last reading returned */
    char text[65536];
};

/* Initialize without a reading. Returns -1 if there is no /proc. */
int rps_system_machine_init(struct rps_system_machine *machine, const char *root);
void rps_system_machine_free(struct rps_system_machine *machine);

/* Sample the number of waiting threads (look), or read the other metrics (read). */
void rps_system_machine_look(struct rps_system_machine *machine);
void rps_system_machine_read(struct rps_system_machine *machine);

/* Report the metrics, and in ret->length_us the time, since the last report (0: not needed). */
void rps_system_machine_report(struct rps_system_machine *machine, struct rps_system_reading *ret);
void rps_system_machine_state(const struct rps_system_machine *machine,
                              struct rps_system_state *ret);

/* --- system_group.c: a control group --------------------------------------------------------- */

#define RPS_GROUP_ROOT "/sys/fs/cgroup"

enum { RPS_GROUP_FILES = 3, RPS_GROUP_PATH_MAX = 4096 };

struct rps_system_group {
    struct rps_system_files files; /* files below RPS_GROUP_ROOT */
    int disks_fd;                  /* descriptor of /sys/dev/block */
    int is_old;                    /* 1 if hierarchies of version 1 exist */
    int fd[RPS_GROUP_FILES];
    char path[RPS_GROUP_FILES][RPS_GROUP_PATH_MAX];
    struct rps_system_file_sum sum[RPS_GROUP_SLOTS]; /* counters in us and bytes */
    int64_t memory_kib;
    uint32_t valid, supported; /* bit masks of slots that the last and the first reading returned */
    char of[4096];             /* groups of the process (/proc/PID/cgroup) */
    char text[65536];
};

/* Initialize with the control group of the target. The target is a control group, or one process.
 * For a process, its group or an ancestor of its group must have a CPU limit. Throttling is
 * reported for the tightest limit. This function makes the first reading. Returns 1 if no such
 * group exists, with nothing to be freed. */
int rps_system_group_init(struct rps_system_group *group, const char *root,
                          const struct rps_target *target);
/* Return 1 if the process has moved into another group since the initialization with this
 * process. */
int rps_system_group_is_left(const struct rps_system_group *group, const char *root, pid_t pid);
void rps_system_group_free(struct rps_system_group *group);
void rps_system_group_read(struct rps_system_group *group);
void rps_system_group_report(struct rps_system_group *group, struct rps_system_reading *ret);
void rps_system_group_state(const struct rps_system_group *group, struct rps_system_state *ret);

/* --- system_package.c: packages -------------------------------------------------------------- */

/* Clocks of a CPU: cycles at the nominal clock while the CPU ran, cycles at the real clock, and all
 * cycles at the nominal clock. */
enum { RPS_PACKAGE_MPERF, RPS_PACKAGE_APERF, RPS_PACKAGE_TSC, RPS_PACKAGE_CLOCKS };

struct rps_package_counter {
    int fd;
    int choice;   /* index of the name by which the counter was found */
    double scale; /* value of one count, in nJ or bytes */
};

struct rps_package_clock {
    int fd[RPS_PACKAGE_CLOCKS];
    uint64_t running_ns, value[RPS_PACKAGE_CLOCKS]; /* values of the last reading */
};

struct rps_system_package {
    char sys[512];
    struct rps_package_counter *counter; /* owned */
    size_t count;
    struct rps_package_clock *clock; /* owned; one per CPU */
    int clock_count;
    int64_t clocks_ns;                                 /* caller's time of the last reading */
    int64_t mhz;                                       /* resulting clock in MHz; -1: none */
    struct rps_system_file_sum sum[RPS_PACKAGE_SLOTS]; /* in nJ and bytes */
    int64_t read_ns, length_us;      /* time of the last reading, and time since the previous one */
    uint32_t supported, valid, told; /* bit masks of slots that are valid in: the first, the
                                        last, the last two readings */
    char reason[RPS_PACKAGE_SLOTS][80];
};

/* Open the counters of a machine with the target's CPUs. `supported` is 0 if no counter was opened.
 * `root` is the directory that contains /sys. */
void rps_system_package_init(struct rps_system_package *package, const char *root,
                             const struct rps_target *target);
void rps_system_package_free(struct rps_system_package *package);

/* Read the counters; if `begins` is 1, counting starts at this reading. Each increase is reported
 * with the real time between the two readings, so that a late period does not look like a peak. */
void rps_system_package_read(struct rps_system_package *package, int64_t time_ns, int begins);
void rps_system_package_report(struct rps_system_package *package, struct rps_system_reading *ret);
void rps_system_package_state(const struct rps_system_package *package,
                              struct rps_system_state *ret);

/* Compute the clock of CPUs while they ran, in MHz. `came` is the increase of the counters during
 * on_ns. Returns -1 if the clock is unknown. */
int64_t rps_system_mhz(const double came[RPS_PACKAGE_CLOCKS], double on_ns);
