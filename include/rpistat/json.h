/*
 * JSON written to a stream or into memory: commas and quoting are put here. Numbers have the
 * decimal sign of the locale, which the caller leaves at "C". Nothing is checked a value: ask the
 * stream.
 */
#ifndef RPISTAT_JSON_H
#define RPISTAT_JSON_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define RPS_JSON_DEPTH_MAX 16

/* {.out = stream}: nothing written yet. Nested values stand on lines of their own. */
struct rps_json {
    FILE *out;
    int one_line; /* 1: all of it on one line, without a newline at the end */
    int depth;
    int filled[RPS_JSON_DEPTH_MAX]; /* something stands at that depth already */
    int broken[RPS_JSON_DEPTH_MAX]; /* and on lines of its own */
    char closing[RPS_JSON_DEPTH_MAX];
    char *text; /* of rps_json_open */
    size_t size;
};

/* Begin to write into memory; json must not move until rps_json_close. -1 without memory. */
int rps_json_open(struct rps_json *json, int one_line);

/* End what rps_json_open began. The text is the caller's, for free(); NULL without memory. */
char *rps_json_close(struct rps_json *json);

/* Every value has a name inside an object, and NULL inside an array and at the top. */
void rps_json_object(struct rps_json *json, const char *name);
void rps_json_array(struct rps_json *json, const char *name);
/* End the innermost object or array. */
void rps_json_end(struct rps_json *json);

/* Bytes that are not UTF-8 become U+FFFD; what a terminal obeys is escaped; NULL is null. */
void rps_json_text(struct rps_json *json, const char *name, const char *text);
void rps_json_texts(struct rps_json *json, const char *name, const char *const *text, size_t count);
void rps_json_int64(struct rps_json *json, const char *name, int64_t value);
void rps_json_uint64(struct rps_json *json, const char *name, uint64_t value);
/* Nine significant digits; null when not finite. */
void rps_json_double(struct rps_json *json, const char *name, double value);
/* value / 10^decimals, exactly; at most 18 decimals. */
void rps_json_decimal(struct rps_json *json, const char *name, int64_t value, int decimals);
/* ns as seconds, exactly. */
void rps_json_seconds(struct rps_json *json, const char *name, int64_t ns);
void rps_json_bool(struct rps_json *json, const char *name, int value);
void rps_json_null(struct rps_json *json, const char *name);
/* Text that is JSON already. */
void rps_json_raw(struct rps_json *json, const char *name, const char *text);

#endif
