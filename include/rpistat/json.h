/* Write JSON to a stream or into memory, with commas and quoting. Numbers have the decimal mark of
 * the locale, which the caller leaves at "C". These functions do not check for write errors; the
 * caller checks the stream. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#define RPS_JSON_DEPTH_MAX 16

/* A JSON writer, initialised with {.out = stream}. Nested values are on separate lines. */
struct rps_json {
    FILE *out;
    int one_line; /* 1: write all values on one line, without a newline at the end */
    int depth;
    int filled[RPS_JSON_DEPTH_MAX]; /* 1 if a value was already written at this depth */
    int broken[RPS_JSON_DEPTH_MAX]; /* 1 if values at this depth are on separate lines */
    char closing[RPS_JSON_DEPTH_MAX];
    char *text; /* Memory from rps_json_open */
    size_t size;
};

/* Begin to write into memory. json must not move until rps_json_close. Return -1 without memory. */
int rps_json_open(struct rps_json *json, int one_line);

/* End the text that rps_json_open began, and return it for free(). NULL: memory ran out. */
char *rps_json_close(struct rps_json *json);

/* Begin an object or array. `name` is NULL in an array and for the outermost value. */
void rps_json_object(struct rps_json *json, const char *name);
void rps_json_array(struct rps_json *json, const char *name);
/* End the innermost object or array. */
void rps_json_end(struct rps_json *json);

/* SAFETY: write text with terminal controls escaped, U+FFFD for non-UTF-8 bytes, null for NULL. */
void rps_json_text(struct rps_json *json, const char *name, const char *text);
void rps_json_texts(struct rps_json *json, const char *name, const char *const *text, size_t count);
void rps_json_int64(struct rps_json *json, const char *name, int64_t value);
void rps_json_uint64(struct rps_json *json, const char *name, uint64_t value);
/* Write nine significant digits, or null if the value is not finite. */
void rps_json_double(struct rps_json *json, const char *name, double value);
/* Write value / 10^decimals exactly, with at most 18 decimals. */
void rps_json_decimal(struct rps_json *json, const char *name, int64_t value, int decimals);
/* Write ns exactly, as seconds. */
void rps_json_seconds(struct rps_json *json, const char *name, int64_t ns);
void rps_json_bool(struct rps_json *json, const char *name, int value);
void rps_json_null(struct rps_json *json, const char *name);
/* Write text that is JSON already. */
void rps_json_raw(struct rps_json *json, const char *name, const char *text);
