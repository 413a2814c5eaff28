/* The time zone of an imported file. */
#pragma once

#include "rpistat/error.h"

/* Check the argument of --zone: "Europe/Paris", "UTC", "+01:00". */
int rps_zone_check(const char *option, const char *text, struct rps_error *err);

/* Set the time zone. Returns 0, or a negative value if the system does not know the zone. */
int rps_zone_set(const char *zone);

/* Set the time zone, if it is not NULL. Returns the previous TZ (NULL: not set), for
 * rps_zone_leave, which also takes back rps_zone_set. */
char *rps_zone_enter(const char *zone);
void rps_zone_leave(char *before);
