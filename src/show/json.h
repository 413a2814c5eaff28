/* JSON written to a stream: commas and quoting are put here, numbers are in the C locale. */
#ifndef RPISTAT_SHOW_JSON_H
#define RPISTAT_SHOW_JSON_H

#include <stdint.h>
#include <stdio.h>

#define RPS_JSON_DEPTH_MAX 16

/* {.out = stream}: nothing written yet. */
struct rps_json {
    FILE *out;
    int depth;
    int filled[RPS_JSON_DEPTH_MAX]; /* something stands at that depth already */
    int broken[RPS_JSON_DEPTH_MAX]; /* and on lines of its own */
    char closing[RPS_JSON_DEPTH_MAX];
};

/* Every value has a name inside an object, and NULL inside an array and at the top. */
void rps_json_object(struct rps_json *json, const char *name);
void rps_json_array(struct rps_json *json, const char *name);
/* End the innermost object or array. */
void rps_json_end(struct rps_json *json);

/* Bytes that are not UTF-8 become U+FFFD; NULL is null. */
void rps_json_text(struct rps_json *json, const char *name, const char *text);
void rps_json_int64(struct rps_json *json, const char *name, int64_t value);
void rps_json_uint64(struct rps_json *json, const char *name, uint64_t value);
/* Nine significant digits; null when not finite. */
void rps_json_double(struct rps_json *json, const char *name, double value);
void rps_json_bool(struct rps_json *json, const char *name, int value);
void rps_json_null(struct rps_json *json, const char *name);
/* Text that is JSON already. */
void rps_json_raw(struct rps_json *json, const char *name, const char *text);

#endif
