/* System metrics of the machine. */
#include "system_proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rpistat/clock.h"

#define SECTOR_BYTES 512
#define BIT(slot)    (UINT32_C(1) << (slot))

enum { LOADAVG, STAT, PSI_CPU, PSI_IO, PSI_MEMORY, MEMINFO, DISKS, NETWORK, SCHEDSTAT };

static const char *const name[RPS_MACHINE_FILES] = {
    [LOADAVG] = "loadavg",
    [STAT] = "stat",
    [PSI_CPU] = "pressure/cpu",
    [PSI_IO] = "pressure/io",
    [PSI_MEMORY] = "pressure/memory",
    [MEMINFO] = "meminfo",
    [DISKS] = "diskstats",
    [NETWORK] = "net/dev",
    [SCHEDSTAT] = "schedstat",
};

/* Number of the file that contains each metric. */
static const int file_of[RPS_MACHINE_SLOTS] = {
    [RPS_MACHINE_WAIT] = LOADAVG,       [RPS_MACHINE_STEAL] = STAT,
    [RPS_MACHINE_IOWAIT] = STAT,        [RPS_MACHINE_PSI_CPU] = PSI_CPU,
    [RPS_MACHINE_PSI_IO] = PSI_IO,      [RPS_MACHINE_PSI_MEMORY] = PSI_MEMORY,
    [RPS_MACHINE_AVAILABLE] = MEMINFO,  [RPS_MACHINE_DISK_READ] = DISKS,
    [RPS_MACHINE_DISK_WRITTEN] = DISKS, [RPS_MACHINE_NET_IN] = NETWORK,
    [RPS_MACHINE_NET_OUT] = NETWORK,
};

static int64_t unit_of(int slot)
{
    return file_of[slot] >= DISKS ? 1024 : 1;
}

static void set_total(struct rps_system_machine *machine, int slot, int64_t total)
{
    rps_signal_count(&machine->sum[slot], total, unit_of(slot));
    machine->valid |= BIT(slot);
}

/* Read a file into machine->text. Returns the position of the first number, or NULL on failure. */
static const char *read_text(struct rps_system_machine *machine, int file)
{
    return rps_system_file_read(&machine->files, &machine->fd[file], name[file], machine->text,
                                sizeof(machine->text)) > 0
               ? machine->text
               : NULL;
}

static void read_stat(struct rps_system_machine *machine)
{
    const int64_t tick_us = 1000000 / sysconf(_SC_CLK_TCK);
    const char *at = read_text(machine, STAT);
    int64_t ticks[8]; /* user, nice, system, idle, iowait, irq, softirq, steal */

    if (!at)
        return;
    for (int i = 0; i < 8; i++)
        ticks[i] = (int64_t)rps_system_number(&at);
    set_total(machine, RPS_MACHINE_IOWAIT, ticks[4] * tick_us);
    set_total(machine, RPS_MACHINE_STEAL, ticks[7] * tick_us);
}

/* Return 1 for whole disks. Partitions and devices built from disks have no `device` directory. */
static int is_whole_disk(const struct rps_system_machine *machine, const char *disk)
{
    char path[96];

    snprintf(path, sizeof(path), "%.63s/device", disk);
    for (char *at = strchr(path, '/'); at && strcmp(at, "/device") != 0; at = strchr(at, '/'))
        *at = '!';
    return faccessat(machine->disks_fd, path, F_OK, 0) == 0;
}

/* Read the totals of both directions, in and out, of all disks or network devices. The slot of
 * `out` follows that of `in`. */
static void read_traffic(struct rps_system_machine *machine, int in_slot, int64_t unit)
{
    const int is_disk = in_slot == RPS_MACHINE_DISK_READ;
    const char *line = read_text(machine, is_disk ? DISKS : NETWORK);
    int64_t total[2] = {0, 0};

    if (!line)
        return;
    for (; line && *line; line = strchr(line, '\n'), line += line != NULL) {
        unsigned long long in, out;
        char device[64];
        int found =
            is_disk ? sscanf(line, "%*u %*u %63s %*u %*u %llu %*u %*u %*u %llu", device, &in, &out)
                    : sscanf(line, " %63[^:\n]: %llu %*u %*u %*u %*u %*u %*u %*u %llu", device, &in,
                             &out);

        if (found == 3 && (is_disk ? in + out > 0 && is_whole_disk(machine, device)
                                   : strcmp(device, "lo") != 0)) {
            total[0] += (int64_t)in;
            total[1] += (int64_t)out;
        }
    }
    set_total(machine, in_slot, total[0] * unit);
    set_total(machine, in_slot + 1, total[1] * unit);
}

/* Read how long threads waited for each CPU. This fails if the kernel does not count the waits, or
 * without space for all CPUs. Since Linux 6.12 the times may include sleeps (system_tree.c). */
static void read_delay(struct rps_system_machine *machine)
{
    const char *line = read_text(machine, SCHEDSTAT);
    int64_t delay_ns = 0;

    machine->has_delay = 0;
    if (!line || strlen(line) == sizeof(machine->text) - 1)
        return;
    for (; line && *line; line = strchr(line, '\n'), line += line != NULL) {
        unsigned long long ns;

        if (sscanf(line, "cpu%*u %*u %*u %*u %*u %*u %*u %*u %llu", &ns) == 1) {
            delay_ns += (int64_t)ns;
            machine->has_delay = 1;
        }
    }
    rps_signal_count(&machine->delay, delay_ns, 1);
}

/* Sample the number of waiting threads. The reader itself is among the running or ready threads. */
void rps_system_machine_look(struct rps_system_machine *machine)
{
    const char *text = machine->has_delay ? NULL : read_text(machine, LOADAVG);
    int64_t waiting;

    for (int i = 0; text && i < 3; i++)
        if ((text = strchr(text, ' ')))
            text++;
    if (!text)
        return;
    waiting = (int64_t)rps_system_number(&text) - 1 - machine->cpus;
    machine->waiting += waiting > 0 ? waiting : 0;
    machine->looks++;
}

void rps_system_machine_read(struct rps_system_machine *machine)
{
    const char *memory;

    machine->valid = 0;
    read_delay(machine);
    if (machine->looks == 0)
        rps_system_machine_look(machine);
    read_stat(machine);
    for (int slot = RPS_MACHINE_PSI_CPU; slot <= RPS_MACHINE_PSI_MEMORY; slot++) {
        const char *text = read_text(machine, file_of[slot]);
        int64_t total = text ? rps_system_behind(text, "total=") : -1;

        if (total >= 0)
            set_total(machine, slot, total);
    }
    memory = read_text(machine, MEMINFO);
    if (memory && (machine->available_kib = rps_system_behind(memory, "MemAvailable:")) >= 0)
        machine->valid |= BIT(RPS_MACHINE_AVAILABLE);
    read_traffic(machine, RPS_MACHINE_DISK_READ, SECTOR_BYTES);
    read_traffic(machine, RPS_MACHINE_NET_IN, 1);
}

void rps_system_machine_report(struct rps_system_machine *machine, struct rps_system_reading *ret)
{
    const int64_t delay_us = rps_system_sum_read(&machine->delay, RPS_NS_PER_US);

    if (machine->has_delay && ret->length_us > 0) {
        ret->value[RPS_MACHINE_WAIT] = (delay_us + ret->length_us / 2) / ret->length_us;
        machine->valid |= BIT(RPS_MACHINE_WAIT);
    } else if (machine->looks > 0) {
        ret->value[RPS_MACHINE_WAIT] = (machine->waiting + machine->looks / 2) / machine->looks;
        machine->valid |= BIT(RPS_MACHINE_WAIT);
    }
    machine->waiting = machine->looks = 0;
    ret->value[RPS_MACHINE_AVAILABLE] = machine->available_kib;
    for (int s = 0; s < RPS_MACHINE_SLOTS; s++)
        if (rps_system_metrics[RPS_SYSTEM_MACHINE][s].kind == RPS_SYSTEM_COUNTER)
            ret->value[s] = rps_system_sum_read(&machine->sum[s], unit_of(s));
    ret->valid = machine->valid;
}

int rps_system_machine_init(struct rps_system_machine *machine, const char *root)
{
    char path[4096];

    memset(machine->fd, -1, sizeof(machine->fd));
    machine->cpus = sysconf(_SC_NPROCESSORS_ONLN);
    snprintf(path, sizeof(path), "%s/sys/block", root);
    machine->disks_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (rps_system_files_open(&machine->files, root, "/proc") < 0)
        return -1;
    for (int s = 0; s < RPS_MACHINE_SLOTS; s++)
        if (faccessat(machine->files.folder_fd, name[file_of[s]], R_OK, 0) == 0)
            machine->valid |= BIT(s);
    return 0;
}

void rps_system_machine_free(struct rps_system_machine *machine)
{
    for (int i = 0; i < RPS_MACHINE_FILES; i++)
        rps_system_file_close(&machine->files, &machine->fd[i]);
    if (machine->files.folder_fd >= 0)
        close(machine->files.folder_fd);
    if (machine->disks_fd >= 0)
        close(machine->disks_fd);
}

void rps_system_machine_state(const struct rps_system_machine *machine,
                              struct rps_system_state *ret)
{
    ret->supported = machine->valid;
    for (int s = 0; s < RPS_MACHINE_SLOTS; s++)
        if (!(machine->valid & BIT(s)))
            snprintf(ret->reason[s], sizeof(ret->reason[s]), "/proc/%s cannot be read",
                     name[file_of[s]]);
}
