/* Facts about the machine, read from uname, sysconf, /proc and /sys. */
#include "rpistat/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "rpistat/error.h"
#include "rpistat/proc.h"

/* Read the first line of a file without its newline; "" if it cannot be read. */
static void read_first_line(const char *path, char *ret, size_t size)
{
    rps_proc_read(ret, size, "%s", path);
    ret[strcspn(ret, "\n")] = '\0';
}

static int read_int(const char *path, int unknown)
{
    char text[32], *end;
    long value;

    read_first_line(path, text, sizeof(text));
    value = strtol(text, &end, 10);
    return end == text ? unknown : (int)value;
}

/* Read the value of the first "NAME : value" of /proc/cpuinfo with one of the names. */
static void read_cpu_model(char *ret, size_t size)
{
    static const char *const names[] = {"model name", "Processor", "cpu model", "Model",
                                        "Hardware"};
    char line[512];

    ret[0] = '\0';
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !ret[0]; i++) {
        FILE *file = fopen("/proc/cpuinfo", "re");

        while (file && !ret[0] && fgets(line, sizeof(line), file)) {
            size_t length = strlen(names[i]);
            const char *colon = strchr(line, ':');

            if (strncmp(line, names[i], length) != 0 || !strchr("\t :", line[length]) || !colon)
                continue;
            line[strcspn(line, "\n")] = '\0';
            snprintf(ret, size, "%s", colon + 1 + strspn(colon + 1, " \t"));
        }
        if (file)
            fclose(file);
    }
    if (!ret[0]) /* boards described by a device tree */
        read_first_line("/sys/firmware/devicetree/base/model", ret, size);
}

int rps_host_describe(struct rps_run *run, struct rps_error *err)
{
    struct utsname name;
    char *folder = getcwd(NULL, 0);

    if (uname(&name) == 0) {
        snprintf(run->host, sizeof(run->host), "%s", name.nodename);
        snprintf(run->kernel, sizeof(run->kernel), "%s %s", name.sysname, name.release);
        snprintf(run->architecture, sizeof(run->architecture), "%.63s", name.machine);
    }
    read_first_line("/proc/sys/kernel/random/boot_id", run->boot_id, sizeof(run->boot_id));
    read_cpu_model(run->cpu_model, sizeof(run->cpu_model));
    run->cpu_count = (int)sysconf(_SC_NPROCESSORS_ONLN);
    run->recorder_pid = getpid();
    run->paranoid = read_int("/proc/sys/kernel/perf_event_paranoid", -100);
    run->nmi_watchdog = read_int("/proc/sys/kernel/nmi_watchdog", -1);
    read_first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", run->governor,
                    sizeof(run->governor));
    free(run->folder);
    run->folder = folder ? folder : strdup("");
    return run->folder ? 0 : rps_error_memory(err);
}
