/* The time zone of an imported file (--zone). The C library can use only one time zone at a time,
 * so the file's zone is set while the file is read. */
#include "zone.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Return 1 for an offset such as +01 or -05:30. */
static int is_offset(const char *text)
{
    size_t hours = strspn(text + 1, "0123456789");

    return strchr("+-", text[0]) && hours == 2 && atoi(text + 1) <= 14 &&
           (!text[3] || (text[3] == ':' && strspn(text + 4, "0123456789") == 2 && !text[6]));
}

int rps_zone_check(const char *option, const char *text, struct rps_error *err)
{
    char path[256];

    snprintf(path, sizeof(path), "/usr/share/zoneinfo/%s", text);
    if (text[0] && (is_offset(text) || strcmp(text, "UTC") == 0 ||
                    (isalpha((unsigned char)text[0]) && !strstr(text, "..") && strlen(text) < 100 &&
                     access(path, R_OK) == 0)))
        return 0;
    return rps_error_set(
        err, RPS_USAGE,
        "%s: '%s' is not a time zone of this system; write Europe/Paris, UTC or +01:00", option,
        text);
}

int rps_zone_set(const char *zone)
{
    char text[16];

    if (rps_zone_check("", zone, NULL) < 0)
        return RPS_USAGE;
    if (is_offset(zone)) /* an offset in TZ has the opposite sign */
        snprintf(text, sizeof(text), "ZONE%c%.5s", zone[0] == '+' ? '-' : '+', zone + 1);
    setenv("TZ", is_offset(zone) ? text : zone, 1);
    tzset();
    return 0;
}

char *rps_zone_enter(const char *zone)
{
    const char *before = getenv("TZ");
    char *ret = before ? strdup(before) : NULL;

    if (zone)
        rps_zone_set(zone);
    return ret;
}

void rps_zone_leave(char *before)
{
    if (before)
        setenv("TZ", before, 1);
    else
        unsetenv("TZ");
    tzset();
    free(before);
}
