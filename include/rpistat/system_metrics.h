/* All system metrics, one row each: METRIC(slot, members of struct rps_system_metric). Append new
 * rows at the end of their source, because slots are columns of the store. The rows define the
 * slots (rpistat/system_reader.h), the rows of table `signal`, and columns of exported tables and
 * of `export --format signals`. The rows also define members of the report's JSON, panels of
 * pictures and signals of phases. The code that reads a metric is in measure/system_*.c. */
#pragma once

/* For the rows below: divisors of stored values, and plot panels with more than one line. */
#define RPS_PER_MIB 1024.
#define RPS_PER_S   1e6
#define RPS_PER_GB  (1e9 / 1024)

/* clang-format off */ /* rows of few lines */
#define RPS_TREE_METRICS(METRIC)                                                                   \
    METRIC(RUNNING, "running", "On a CPU", "us", RPS_SYSTEM_COUNTER, "schedstat",                  \
        "Time on a CPU of the workload's threads that were read at least twice.")                  \
    METRIC(WAIT, "wait", "Waiting for a CPU", "us", RPS_SYSTEM_COUNTER, "schedstat",               \
        "Time that threads were ready to run and waited for a CPU. Linux may count a wait late, "  \
        "so one period may show more than its length.",                                            \
        .column = {"wait", "_s_per_s", RPS_PER_S})                                                 \
    METRIC(UNSEEN, "unseen", "Not seen", "us", RPS_SYSTEM_COUNTER, "sampler",                      \
        "Time that threads lived after they were read last, or that were gone before they were "   \
        "ever read.")                                                                              \
    METRIC(THREADS, "threads", "Threads", "threads", RPS_SYSTEM_GAUGE, "task",                     \
        "Threads that the workload had, in all its processes.", .column = {"threads", "", 1},      \
        .phases = {RPS_PHASES_LEVEL, 1, .1})                                                       \
    METRIC(IN_IO, "in_io", "Asleep in block I/O", "threads", RPS_SYSTEM_GAUGE, "wchan",            \
        "Threads that waited for a disk, or for memory that comes from one.",                      \
        .column = {"in_io", "", 1})                                                                \
    METRIC(IN_LOCK, "in_lock", "Asleep in lock or thread waits", "threads", RPS_SYSTEM_GAUGE,      \
        "wchan",                                                                                   \
        "Threads that waited for a lock, or for other threads, and ran in between.",               \
        .column = {"in_lock", "", 1})                                                              \
    METRIC(IN_MESSAGE, "in_message", "Asleep in pipes or sockets", "threads", RPS_SYSTEM_GAUGE,    \
        "wchan",                                                                                   \
        "Threads that waited for a pipe, a socket or a terminal, or in poll.",                     \
        .column = {"in_message", "", 1})                                                           \
    METRIC(IN_TIMER, "in_timer", "Asleep in timers", "threads", RPS_SYSTEM_GAUGE, "wchan",         \
        "Threads that slept for a time that they had chosen, also in futex with a timeout.",       \
        .column = {"in_timer", "", 1})                                                             \
    METRIC(IN_CHILD, "in_child", "Waiting for children", "threads", RPS_SYSTEM_GAUGE, "wchan",     \
        "Threads that waited for a process that they had started.", .column = {"in_child", "", 1}) \
    METRIC(IN_OTHER, "in_other", "Asleep otherwise", "threads", RPS_SYSTEM_GAUGE, "wchan",         \
        "Threads that slept for other reasons.", .column = {"in_other", "", 1})                    \
    METRIC(RSS, "rss", "RSS summed over processes", "KiB", RPS_SYSTEM_GAUGE, "statm",              \
        "RSS summed over processes. A shared page is counted once per process.",                   \
        .column = {"rss", "_mib", RPS_PER_MIB, RPS_COLUMN_RANGE},                                  \
        .panel = {"RSS (MiB, summed over processes)", "RSS", "MiB", "Resident", "rss"},            \
        .phases = {RPS_PHASES_LEVEL, 4, .15, 1}, .watch = {"RSS", " MiB"})                         \
    METRIC(READ, "read", "Read", "KiB", RPS_SYSTEM_COUNTER, "io",                                  \
        "Data that reads returned, including reads from pipes, sockets and the cache.",            \
        .column = {"read", "_mib_s", RPS_PER_MIB, RPS_COLUMN_MEAN},                                \
        .phases = {RPS_PHASES_BY_CPU, .25, .7}, .watch = {"read", " MiB/s"})                       \
    METRIC(WRITTEN, "written", "Written", "KiB", RPS_SYSTEM_COUNTER, "io",                         \
        "Data that was written, including data to pipes, sockets and the cache.",                  \
        .column = {"written", "_mib_s", RPS_PER_MIB, RPS_COLUMN_MEAN},                             \
        .phases = {RPS_PHASES_BY_CPU, .25, .7}, .watch = {"written", " MiB/s"})                    \
    METRIC(DISK_READ, "disk_read", "Read from disks", "KiB", RPS_SYSTEM_COUNTER, "io",             \
        "Data that was read from a disk, not from the cache.",                                     \
        .column = {"disk_read", "_mib_s", RPS_PER_MIB})                                            \
    METRIC(DISK_WRITTEN, "disk_written", "Written to disks", "KiB", RPS_SYSTEM_COUNTER, "io",      \
        "Pages of files that were changed, and that a disk gets sooner or later.",                 \
        .column = {"disk_written", "_mib_s", RPS_PER_MIB})                                         \
    METRIC(IDLE, "idle", "Idle", "threads", RPS_SYSTEM_GAUGE, "wchan",                             \
        "Threads that slept in futex, hardly ran, and waited for no lock.",                        \
        .column = {"idle", "", 1, .later = 1})                                                     \
    METRIC(FDS, "fds", "Open file descriptors", "descriptors", RPS_SYSTEM_GAUGE, "fd",             \
        "File descriptors that processes had open, their sum.",                                    \
        .column = {"fds", "", 1, RPS_COLUMN_RANGE, .later = 2},                                    \
        .panel = {"Open file descriptors (sum over processes)", "FDs", "descriptors", "Open",      \
                  "fds"},                                                                          \
        .watch = {"FDs", ""})                                                                      \
    METRIC(FUTEX, "futex", "Asleep in futex", "threads", RPS_SYSTEM_GAUGE, "syscall",              \
        "Threads that slept in futex, idle or not, except those that a timeout wakes.",            \
        .column = {.later = 3})

#define RPS_MACHINE_METRICS(METRIC)                                                                \
    METRIC(WAIT, "m_wait", "Machine: waiting for a CPU", "threads", RPS_SYSTEM_GAUGE,              \
        "schedstat or loadavg",                                                                    \
        "Threads of the whole machine that were ready to run and had no CPU.",                     \
        .column = {"m_wait", "", 1, RPS_COLUMN_MEAN},                                              \
        .panel = {"Waiting for a CPU (threads of the machine)", "Waiting", "threads", "Waiting",   \
                  "waiting"})                                                                      \
    METRIC(STEAL, "m_steal", "Machine: stolen", "us", RPS_SYSTEM_COUNTER, "stat",                  \
        "Time that a hypervisor took from the CPUs, their sum.")                                   \
    METRIC(IOWAIT, "m_iowait", "Machine: idle for block I/O", "us", RPS_SYSTEM_COUNTER, "stat",    \
        "Time that CPUs were idle while a thread waited for a disk, their sum.")                   \
    METRIC(PSI_CPU, "m_psi_cpu", "Machine: pressure on CPUs", "us", RPS_SYSTEM_COUNTER,            \
        "pressure", "Time in which some thread of the machine waited for a CPU.")                  \
    METRIC(PSI_IO, "m_psi_io", "Machine: pressure on I/O", "us", RPS_SYSTEM_COUNTER, "pressure",   \
        "Time in which some thread of the machine waited for I/O.")                                \
    METRIC(PSI_MEMORY, "m_psi_memory", "Machine: pressure on memory", "us", RPS_SYSTEM_COUNTER,    \
        "pressure", "Time in which some thread of the machine waited for memory.")                 \
    METRIC(AVAILABLE, "m_available", "Machine: memory available", "KiB", RPS_SYSTEM_GAUGE,         \
        "meminfo", "Memory that programs could get without swapping.",                             \
        .column = {.divisor = RPS_PER_MIB},                                                        \
        .panel = {"Available memory (MiB)", "Avail.", "MiB", "Available", "available"},            \
        .watch = {"available", " MiB"})                                                            \
    METRIC(DISK_READ, "m_disk_read", "Machine: read from disks", "KiB", RPS_SYSTEM_COUNTER,        \
        "diskstats", "Data that all disks of the machine read.",                                   \
        .column = {.divisor = RPS_PER_MIB},                                                        \
        .panel = {"Disks (MiB/s)", "Disks", "MiB/s", "read", "disk-read"},                         \
        .watch = {"read", " MiB/s"})                                                               \
    METRIC(DISK_WRITTEN, "m_disk_written", "Machine: written to disks", "KiB", RPS_SYSTEM_COUNTER, \
        "diskstats", "Data that all disks of the machine wrote.",                                  \
        .column = {.divisor = RPS_PER_MIB},                                                        \
        .panel = {.line = "written", .file = "disk-written"}, .watch = {"written", " MiB/s"})      \
    METRIC(NET_IN, "m_net_in", "Machine: received", "KiB", RPS_SYSTEM_COUNTER, "net/dev",          \
        "Data received from the network, in the whole network namespace.",                         \
        .column = {.divisor = RPS_PER_MIB})                                                        \
    METRIC(NET_OUT, "m_net_out", "Machine: sent", "KiB", RPS_SYSTEM_COUNTER, "net/dev",            \
        "Data sent to the network, in the whole network namespace.",                               \
        .column = {.divisor = RPS_PER_MIB})

#define RPS_GROUP_METRICS(METRIC)                                                                  \
    METRIC(THROTTLED, "g_throttled", "Group: stopped by its CPU limit", "us", RPS_SYSTEM_COUNTER,  \
        "cpu.stat", "Time that the control group's CPU limit kept it from CPUs, their sum.",       \
        .column = {"g_throttled", "_s_per_s", RPS_PER_S})                                          \
    METRIC(MEMORY, "g_memory", "Group: memory", "KiB", RPS_SYSTEM_GAUGE, "memory",                 \
        "Memory of the control group, including its cache of files.",                              \
        .column = {"g_memory", "_mib", RPS_PER_MIB})                                               \
    METRIC(READ, "g_read", "Group: read from disks", "KiB", RPS_SYSTEM_COUNTER, "io.stat",         \
        "Data that disks read for the control group.", .column = {"g_read", "_mib_s", RPS_PER_MIB})\
    METRIC(WRITTEN, "g_written", "Group: written to disks", "KiB", RPS_SYSTEM_COUNTER, "io.stat",  \
        "Data that disks wrote for the control group.",                                            \
        .column = {"g_written", "_mib_s", RPS_PER_MIB})

#define RPS_PACKAGE_METRICS(METRIC)                                                                \
    METRIC(ENERGY, "p_energy", "Packages: energy", "uJ", RPS_SYSTEM_COUNTER, "power/energy-pkg/",  \
        "Energy that the processor packages took, their sum.", .column = {"power", "_w", 1e6},     \
        .panel = {"Power (W, sum over packages)", "Power", "W", "packages", "power"})              \
    METRIC(ENERGY_RAM, "p_energy_ram", "Packages: energy of memory", "uJ", RPS_SYSTEM_COUNTER,     \
        "power/energy-ram/", "Energy that the memory of the packages took, their sum.",            \
        .column = {"ram_power", "_w", 1e6},                                                        \
        .panel = {.line = "their memory", .file = "power-memory"})                                 \
    METRIC(READ, "p_read", "Packages: read from memory", "KiB", RPS_SYSTEM_COUNTER, "uncore_imc*", \
        "Data that memory controllers read, for CPUs and devices.",                                \
        .column = {"mem_read", "_gb_s", RPS_PER_GB},                                               \
        .panel = {"Memory traffic (GB/s, sum over packages)", "Memory", "GB/s", "read",            \
                  "memory-read"})                                                                  \
    METRIC(WRITTEN, "p_written", "Packages: written to memory", "KiB", RPS_SYSTEM_COUNTER,         \
        "uncore_imc*", "Data that memory controllers wrote, for CPUs and devices.",                \
        .column = {"mem_written", "_gb_s", RPS_PER_GB},                                            \
        .panel = {.line = "written", .file = "memory-written"})                                    \
    METRIC(FREQUENCY, "p_frequency", "Packages: frequency", "MHz", RPS_SYSTEM_GAUGE,               \
        "msr/aperf/, msr/mperf/", "The clock that CPUs had while they ran, on average.",           \
        .column = {"ghz", "", 1e3},                                                                \
        .panel = {"Frequency (GHz, of CPUs while they ran)", "Clock", "GHz", "Frequency",          \
                  "frequency"})                                                                    \
    METRIC(COUNTERS, "p_counters", "Packages: counters", "counters", RPS_SYSTEM_GAUGE,             \
        "perf_event", "Counters of packages that were looked at, and CPUs' clocks.")
/* clang-format on */
