/* See identity.h. */
#include "identity.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "path_check.h"
#include "rpistat/clock.h"

static int64_t mtime_ns(const struct stat *status)
{
    return status->st_mtim.tv_sec * RPS_NS_PER_S + status->st_mtim.tv_nsec;
}

void rps_unchanging_query(const char *name, char ret[RPS_UNCHANGING_QUERY_SIZE])
{
    struct stat status = {0};

    stat(name, &status);
    snprintf(ret, RPS_UNCHANGING_QUERY_SIZE, "?immutable=1&size=%jd&mtime=%jd",
             (intmax_t)status.st_size, (intmax_t)mtime_ns(&status));
}

int rps_unchanging_has_changed(sqlite3 *db)
{
    const char *name = sqlite3_db_filename(db, "main");
    struct stat status;

    if (!name || !sqlite3_uri_boolean(name, "immutable", 0))
        return 0;
    return stat(name, &status) != 0 || status.st_size != sqlite3_uri_int64(name, "size", -1) ||
           mtime_ns(&status) != sqlite3_uri_int64(name, "mtime", -1) ||
           rps_path_check_has_log(name);
}
