/* The names of system signals, for who reads, stores and shows them. */
#include "rpistat/system_signals.h"

#define COUNTER RPS_SYSTEM_COUNTER
#define GAUGE   RPS_SYSTEM_GAUGE

static const struct rps_system_signal tree[RPS_TREE_SLOTS] = {
    [RPS_TREE_RUNNING] = {"running", "On a CPU", "us", COUNTER, "schedstat",
                          "Time that the workload's threads were on a CPU, of those that were read "
                          "twice."},
    [RPS_TREE_WAIT] = {"wait", "Waiting for a CPU", "us", COUNTER, "schedstat",
                       "Time that threads were ready to run and waited for a CPU; one that goes on "
                       "counts up to the reading."},
    [RPS_TREE_UNSEEN] =
        {"unseen", "Not seen", "us", COUNTER, "sampler",
         "Time that threads lived after they were read last, or that were gone before "
         "they were ever read."},
    [RPS_TREE_THREADS] = {"threads", "Threads", "threads", GAUGE, "task",
                          "Threads that the workload had, in all its processes."},
    [RPS_TREE_IN_IO] = {"in_io", "Asleep in block I/O", "threads", GAUGE, "wchan",
                        "Threads that waited for a disk, or for memory that comes from one."},
    [RPS_TREE_IN_LOCK] =
        {"in_lock", "Asleep in locks", "threads", GAUGE, "wchan",
         "Threads that waited for a lock, or for other threads, and ran in between."},
    [RPS_TREE_IN_MESSAGE] = {"in_message", "Asleep for messages", "threads", GAUGE, "wchan",
                             "Threads that waited for a pipe, a socket or a terminal, or in poll."},
    [RPS_TREE_IN_TIMER] = {"in_timer", "Asleep in timers", "threads", GAUGE, "wchan",
                           "Threads that slept for a time that they had chosen."},
    [RPS_TREE_IN_CHILD] = {"in_child", "Waiting for children", "threads", GAUGE, "wchan",
                           "Threads that waited for a process that they had started."},
    [RPS_TREE_IN_OTHER] = {"in_other", "Asleep otherwise", "threads", GAUGE, "wchan",
                           "Threads that slept in anything else."},
    [RPS_TREE_RSS] = {"rss", "Resident memory", "KiB", GAUGE, "statm",
                      "Memory that processes had resident, their sum: a page that several share "
                      "counts in each."},
    [RPS_TREE_READ] = {"read", "Read", "KiB", COUNTER, "io",
                       "What reads returned, from pipes, sockets and the cache too."},
    [RPS_TREE_WRITTEN] = {"written", "Written", "KiB", COUNTER, "io",
                          "What was written, to pipes, sockets and the cache too."},
    [RPS_TREE_DISK_READ] = {"disk_read", "Read from disks", "KiB", COUNTER, "io",
                            "What came from a disk, and not from the cache."},
    [RPS_TREE_DISK_WRITTEN] = {"disk_written", "Written to disks", "KiB", COUNTER, "io",
                               "Pages of files that were changed, and that a disk gets sooner or "
                               "later."},
    [RPS_TREE_IDLE] = {"idle", "Idle", "threads", GAUGE, "wchan",
                       "Threads that slept in futex, hardly ran, and waited for no lock."},
};

static const struct rps_system_signal machine[RPS_MACHINE_SLOTS] = {
    [RPS_MACHINE_WAIT] = {"m_wait", "Machine: waiting for a CPU", "threads", GAUGE,
                          "schedstat or loadavg",
                          "Threads of the whole machine that were ready to run and had no CPU."},
    [RPS_MACHINE_STEAL] = {"m_steal", "Machine: stolen", "us", COUNTER, "stat",
                           "Time that a hypervisor took from the CPUs, their sum."},
    [RPS_MACHINE_IOWAIT] =
        {"m_iowait", "Machine: idle for block I/O", "us", COUNTER, "stat",
         "Time that CPUs were idle while a thread waited for a disk, their sum."},
    [RPS_MACHINE_PSI_CPU] = {"m_psi_cpu", "Machine: pressure on CPUs", "us", COUNTER, "pressure",
                             "Time in which some thread of the machine waited for a CPU."},
    [RPS_MACHINE_PSI_IO] = {"m_psi_io", "Machine: pressure on I/O", "us", COUNTER, "pressure",
                            "Time in which some thread of the machine waited for I/O."},
    [RPS_MACHINE_PSI_MEMORY] = {"m_psi_memory", "Machine: pressure on memory", "us", COUNTER,
                                "pressure",
                                "Time in which some thread of the machine waited for memory."},
    [RPS_MACHINE_AVAILABLE] = {"m_available", "Machine: memory available", "KiB", GAUGE, "meminfo",
                               "Memory that programs could get without swapping."},
    [RPS_MACHINE_DISK_READ] = {"m_disk_read", "Machine: read from disks", "KiB", COUNTER,
                               "diskstats", "What all disks of the machine read."},
    [RPS_MACHINE_DISK_WRITTEN] = {"m_disk_written", "Machine: written to disks", "KiB", COUNTER,
                                  "diskstats", "What all disks of the machine wrote."},
    [RPS_MACHINE_NET_IN] = {"m_net_in", "Machine: received", "KiB", COUNTER, "net/dev",
                            "What came over the network, of the whole network namespace."},
    [RPS_MACHINE_NET_OUT] = {"m_net_out", "Machine: sent", "KiB", COUNTER, "net/dev",
                             "What went over the network, of the whole network namespace."},
};

static const struct rps_system_signal group[RPS_GROUP_SLOTS] = {
    [RPS_GROUP_THROTTLED] =
        {"g_throttled", "Group: stopped by its CPU limit", "us", COUNTER, "cpu.stat",
         "Time that the control group's CPU limit kept it from CPUs, their sum."},
    [RPS_GROUP_MEMORY] = {"g_memory", "Group: memory", "KiB", GAUGE, "memory",
                          "Memory that the control group had, with what it had cached of files."},
    [RPS_GROUP_READ] = {"g_read", "Group: read from disks", "KiB", COUNTER, "io.stat",
                        "What disks read for the control group."},
    [RPS_GROUP_WRITTEN] = {"g_written", "Group: written to disks", "KiB", COUNTER, "io.stat",
                           "What disks wrote for the control group."},
};

static const struct rps_system_signal package[RPS_PACKAGE_SLOTS] = {
    [RPS_PACKAGE_ENERGY] = {"p_energy", "Packages: energy", "uJ", COUNTER, "power/energy-pkg/",
                            "Energy that the processor packages took, their sum."},
    [RPS_PACKAGE_ENERGY_RAM] = {"p_energy_ram", "Packages: energy of memory", "uJ", COUNTER,
                                "power/energy-ram/",
                                "Energy that the memory of the packages took, their sum."},
    [RPS_PACKAGE_READ] = {"p_read", "Packages: read from memory", "KiB", COUNTER, "uncore_imc*",
                          "What memory controllers read, for CPUs and devices."},
    [RPS_PACKAGE_WRITTEN] = {"p_written", "Packages: written to memory", "KiB", COUNTER,
                             "uncore_imc*", "What memory controllers wrote, for CPUs and devices."},
    [RPS_PACKAGE_FREQUENCY] = {"p_frequency", "Packages: frequency", "MHz", GAUGE,
                               "msr/aperf/, msr/mperf/",
                               "The clock that CPUs had while they ran, on average."},
    [RPS_PACKAGE_COUNTERS] = {"p_counters", "Packages: counters", "counters", GAUGE, "perf_event",
                              "Counters of packages that were looked at, and CPUs' clocks."},
};

const struct rps_system_signal *const rps_system_signals[RPS_SYSTEM_SOURCES] = {
    [RPS_SYSTEM_TREE] = tree,
    [RPS_SYSTEM_MACHINE] = machine,
    [RPS_SYSTEM_GROUP] = group,
    [RPS_SYSTEM_PACKAGE] = package,
};

const int rps_system_signal_count[RPS_SYSTEM_SOURCES] = {
    [RPS_SYSTEM_TREE] = RPS_TREE_SLOTS,
    [RPS_SYSTEM_MACHINE] = RPS_MACHINE_SLOTS,
    [RPS_SYSTEM_GROUP] = RPS_GROUP_SLOTS,
    [RPS_SYSTEM_PACKAGE] = RPS_PACKAGE_SLOTS,
};

const char *const rps_system_sources[RPS_SYSTEM_SOURCES] = {
    [RPS_SYSTEM_TREE] = "tree",
    [RPS_SYSTEM_MACHINE] = "machine",
    [RPS_SYSTEM_GROUP] = "group",
    [RPS_SYSTEM_PACKAGE] = "package",
};
