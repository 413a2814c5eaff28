/* Heartbeats: what reading and writing ask of them. The writer writes them with its batches. */
#include "heartbeat.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rpistat/clock.h"

void rps_heartbeat_boot_id(char *ret, size_t size)
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

    ret[0] = '\0';
    if (!file)
        return;
    if (!fgets(ret, (int)size, file))
        ret[0] = '\0';
    ret[strcspn(ret, "\n")] = '\0';
    fclose(file);
}

int rps_heartbeat_bind(sqlite3_stmt *stmt)
{
    char boot_id[64], host[256] = "";
    int code = sqlite3_bind_int64(stmt, 1, rps_clock_realtime_ns());

    rps_heartbeat_boot_id(boot_id, sizeof(boot_id));
    if (gethostname(host, sizeof(host) - 1) != 0)
        host[0] = '\0';
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(stmt, 2, boot_id, -1, SQLITE_TRANSIENT);
    return code == SQLITE_OK ? sqlite3_bind_text(stmt, 3, host, -1, SQLITE_TRANSIENT) : code;
}
