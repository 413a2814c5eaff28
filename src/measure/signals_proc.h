/*
 * Internals of reading system metrics, shared by its files: signals_proc.c (the reader: when, on
 * which thread, at what cost), signals_tree.c (the workload's threads and processes),
 * signals_machine.c (the machine), signals_group.c (control groups), signals_package.c (packages)
 * and signals_file.c (files of /proc).
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
 * Open a reader on the target, as open_signals of struct rps_pmu. `root` precedes /proc and /sys:
 * "", or a directory with similar files.
 */
int rps_signals_open(const char *root, const struct rps_system_options *options,
                     const struct rps_target *target, struct rps_system_reader *ret,
                     struct rps_error *err);

/* --- signals_file.c: files of /proc ----------------------------------------------------------- */

/* Files stay open as long as descriptors are available. */
struct rps_signal_files {
    int folder_fd; /* /proc, or another directory */
    int kept, kept_max;
};

/* Open directory "/proc", or another one, below root; -1: it does not exist. */
int rps_signal_files_open(struct rps_signal_files *files, const char *root, const char *folder);

/* Read a file from its beginning, up to size - 1 bytes, and add a zero. Returns the length or
 * -errno. *fd is the file if it stays open, otherwise -1; `path` is relative to the directory. */
ssize_t rps_signal_file_read(struct rps_signal_files *files, int *fd, const char *path, char *text,
                             size_t size);

/* The same for a thread's file; tid 0: the process's file. */
ssize_t rps_signal_task_read(struct rps_signal_files *files, int *fd, pid_t pid, pid_t tid,
                             const char *name, char *text, size_t size);

void rps_signal_file_close(struct rps_signal_files *files, int *fd);

/* Return the next number of a text, with any separators, and move *text past it; 0 at the end. */
uint64_t rps_signal_number(const char **text);

/* Return the number after a word of a text; -1: there is no such word. */
int64_t rps_signal_behind(const char *text, const char *word);

/* A counter, reported in whole units so that sums are exact. */
struct rps_signal_sum {
    int64_t total, told; /* the latter is what was reported, in units */
};

/* Set a counter's total. A decrease, as after a disk is removed, adds nothing. */
void rps_signal_count(struct rps_signal_sum *sum, int64_t total, int64_t unit);

/* Return the increase since the last call, in units. */
int64_t rps_signal_tell(struct rps_signal_sum *sum, int64_t unit);

/* --- signals_tree.c: the workload ------------------------------------------------------------- */

/* A thread was started, or has ended, or has become the only one of its process. */
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
    int hears; /* threads are known from events; 0: looked for at each reading */
    int group_fd[RPS_TARGET_CGROUPS_MAX]; /* directories of the control groups of the target */
    int group_count;
    uint32_t lacks;                   /* bit of a slot: its file does not exist */
    int64_t since_ns;                 /* start of counting, or its continuation */
    struct rps_signal_thread *thread; /* owned; in order of tid */
    size_t thread_count;
    struct rps_signal_process *first, *last; /* owned; parents before their children */
    uint64_t turn;                           /* number of readings so far */

    /* Readings: */
    struct rps_signal_sum time[RPS_TIMES], unseen; /* ns */
    struct rps_signal_sum hidden;                  /* ns; see struct rps_system_reading */
    struct rps_signal_sum io[RPS_IO_COUNT];        /* bytes */
    int64_t gauge[RPS_SYSTEM_SLOT_MAX];            /* THREADS to RSS */
    int64_t ended[RPS_SYSTEM_SLOT_MAX]; /* of threads that were read until they ended, since then:
                                           THREADS, and their last activity */
    uint32_t missing;                   /* bit of a slot: incompletely read */
    size_t process_count;               /* of live processes */
};

/* Build the tree of a target other than CPUs from its present threads. -1: no memory or /proc. */
int rps_signal_tree_init(struct rps_signal_tree *tree, const char *root,
                         const struct rps_target *target, int hears);

void rps_signal_tree_free(struct rps_signal_tree *tree);

/* Apply an event; they come in order of time. */
void rps_signal_tree_apply(struct rps_signal_tree *tree, const struct rps_signal_event *event);

/* Return threads as `left` of struct rps_system_reader does. */
size_t rps_signal_tree_left(struct rps_signal_tree *tree, pid_t *ret_pid, size_t size);

/* Read all threads and processes. */
void rps_signal_tree_read(struct rps_signal_tree *tree);

/* Report the increase since the last call, and the present gauges: ret->value and valid. */
void rps_signal_tree_tell(struct rps_signal_tree *tree, struct rps_system_reading *ret);

/* After rps_signal_tree_init: return the readable metrics. */
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
    int has_delay;               /* the exact delay is known: */
    struct rps_signal_sum delay; /* ns, summed over CPUs; otherwise */
    int64_t waiting, looks;      /* waiting threads, summed over so many samples */
    uint32_t valid;              /* bit of a slot: the last reading succeeded */
    char text[65536];
};

/* Initialize without a reading. -1: there is no /proc. */
int rps_signal_machine_init(struct rps_signal_machine *machine, const char *root);
void rps_signal_machine_free(struct rps_signal_machine *machine);

/* Sample the number of waiting threads; read the other metrics. */
void rps_signal_machine_look(struct rps_signal_machine *machine);
void rps_signal_machine_read(struct rps_signal_machine *machine);

/* ret->length_us: since the last report; 0: not needed. */
void rps_signal_machine_tell(struct rps_signal_machine *machine, struct rps_system_reading *ret);
void rps_signal_machine_state(const struct rps_signal_machine *machine,
                              struct rps_system_state *ret);

/* --- signals_group.c: a control group --------------------------------------------------------- */

#define RPS_GROUP_ROOT "/sys/fs/cgroup"

enum { RPS_GROUP_FILES = 3, RPS_GROUP_PATH_MAX = 4096 };

struct rps_signal_group {
    struct rps_signal_files files; /* RPS_GROUP_ROOT */
    int disks_fd;                  /* /sys/dev/block */
    int is_old;                    /* hierarchies of version 1 exist */
    int fd[RPS_GROUP_FILES];
    char path[RPS_GROUP_FILES][RPS_GROUP_PATH_MAX];
    struct rps_signal_sum sum[RPS_GROUP_SLOTS]; /* counters, in us and bytes */
    int64_t memory_kib;
    uint32_t valid, supported; /* bit of a slot: the last, and the first, reading succeeded */
    char text[65536];
};

/* Initialize with the group of a target that is a group, or of one process, if that group or an
 * ancestor has a CPU limit. Throttling is reported for the tightest limit. The first reading is
 * made. Returns 1: there is no group, and nothing to free. */
int rps_signal_group_init(struct rps_signal_group *group, const char *root,
                          const struct rps_target *target);
void rps_signal_group_free(struct rps_signal_group *group);
void rps_signal_group_read(struct rps_signal_group *group);
void rps_signal_group_tell(struct rps_signal_group *group, struct rps_system_reading *ret);
void rps_signal_group_state(const struct rps_signal_group *group, struct rps_system_state *ret);

/* --- signals_package.c: packages -------------------------------------------------------------- */

/* Clocks of a CPU: cycles while it ran, at the nominal clock and at the real one, and all cycles at
 * the nominal clock. */
enum { RPS_PACKAGE_MPERF, RPS_PACKAGE_APERF, RPS_PACKAGE_TSC, RPS_PACKAGE_CLOCKS };

struct rps_package_counter {
    int fd;
    int choice;   /* which name it was found by */
    double scale; /* of a count, in nJ or bytes */
};

struct rps_package_clock {
    int fd[RPS_PACKAGE_CLOCKS];
    uint64_t running_ns, value[RPS_PACKAGE_CLOCKS]; /* latest readings */
};

struct rps_signal_package {
    char sys[512];
    struct rps_package_counter *counter; /* owned */
    size_t count;
    struct rps_package_clock *clock; /* owned; one per CPU */
    int clock_count;
    int64_t clocks_ns;                            /* when these were last read, caller's time */
    int64_t mhz;                                  /* result; -1: none */
    struct rps_signal_sum sum[RPS_PACKAGE_SLOTS]; /* in nJ and bytes */
    int64_t read_ns, length_us;      /* when the counters were read, and since the previous time */
    uint32_t supported, valid, told; /* bit of a slot: the first reading succeeded; the last one;
                                        the last two */
    char reason[RPS_PACKAGE_SLOTS][80];
};

/* Open the counters of a machine with these CPUs; supported 0: none. `root` precedes /sys. */
void rps_signal_package_init(struct rps_signal_package *package, const char *root,
                             const struct rps_target *target);
void rps_signal_package_free(struct rps_signal_package *package);

/* begins 1: counting starts here. Each increase is reported with its real time between two
 * readings, so that a late period makes no peak. */
void rps_signal_package_read(struct rps_signal_package *package, int64_t time_ns, int begins);
void rps_signal_package_tell(struct rps_signal_package *package, struct rps_system_reading *ret);
void rps_signal_package_state(const struct rps_signal_package *package,
                              struct rps_system_state *ret);

/* Return the clock of CPUs while they ran, in MHz, from the increase in on_ns; -1: unknown. */
int64_t rps_signal_mhz(const double came[RPS_PACKAGE_CLOCKS], double on_ns);

#endif
