/* Heartbeats of recorders, for reading and writing. The writer writes heartbeats together with its
 * batches of records. */
#include "database.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "rpistat/clock.h"
#include "rpistat/proc.h"
#include "rpistat/store.h"

void rps_heartbeat_boot_id(char *ret, size_t size)
{
    rps_proc_read(ret, size, "/proc/sys/kernel/random/boot_id");
    ret[strcspn(ret, "\n")] = '\0';
}

/* The boot id is read only once per process, because a list of runs needs it for each run. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static char this_boot[64], this_host[256];

static void find_here(void)
{
    rps_heartbeat_boot_id(this_boot, sizeof(this_boot));
    if (gethostname(this_host, sizeof(this_host) - 1) != 0)
        this_host[0] = '\0';
}

static int (*known_dead)(const char *uuid);

void rps_store_ask_recorders(int (*is_dead)(const char *uuid))
{
    known_dead = is_dead;
}

static void report_is_dead(sqlite3_context *context, int count, sqlite3_value **value)
{
    const char *uuid = (const char *)sqlite3_value_text(value[0]);

    (void)count;
    sqlite3_result_int(context, known_dead && uuid && known_dead(uuid));
}

int rps_heartbeat_add_function(sqlite3 *db)
{
    return sqlite3_create_function(db, "rpistat_is_dead", 1, SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL,
                                   report_is_dead, NULL, NULL);
}

int rps_heartbeat_bind(sqlite3_stmt *stmt)
{
    int code = sqlite3_bind_int64(stmt, 1, rps_clock_realtime_ns());

    pthread_once(&once, find_here);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(stmt, 2, this_boot, -1, SQLITE_STATIC);
    return code == SQLITE_OK ? sqlite3_bind_text(stmt, 3, this_host, -1, SQLITE_STATIC) : code;
}
