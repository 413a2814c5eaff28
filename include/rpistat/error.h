/* Errors: how every module reports a failure.
 *
 * A function that can fail returns 0 or a negative code from this file, and takes `struct rps_error
 * *err` last. On failure, *err holds one sentence without a final newline: the failed operation,
 * its object, and the remedy. Only cli prints this sentence. On failure, the outputs, whose names
 * begin with ret_, are unchanged. */
#pragma once

#include <stddef.h>

enum rps_error_code {
    RPS_FAILED = -1,        /* The operation failed (exit status 1). */
    RPS_USAGE = -2,         /* The user's request makes no sense (exit status 2). */
    RPS_BUSY = -3,          /* Another program holds the store's lock (exit status 1). */
    RPS_CANNOT_EXEC = -126, /* The workload exists but cannot be executed (exit status 126). */
    RPS_CANNOT_FIND = -127, /* The workload cannot be found (exit status 127). */
};

struct rps_error {
    char message[768];
};

/* Number of elements of an array. */
#define RPS_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* rps_error_set(err, code, format, ...) writes a message into err, which may be NULL, and returns
 * code. The message has the style of printf. A message that is too long is cut in the middle. A
 * caller can write `return rps_error_set(err, RPS_FAILED, ...)`. The call cannot fail.
 * rps_error_set is a macro so that the compiler and static analysis see the returned value.
 * Functions below are inline for the same reason. */
#define rps_error_set(err, code, ...) (rps_error_write((err), __VA_ARGS__), rps_error_code(code))

/* Put "CONTEXT: " in front of the message that err already holds, and return code. */
#define rps_error_prefix(err, code, ...)                                                           \
    (rps_error_write_before((err), __VA_ARGS__), rps_error_code(code))

void rps_error_write(struct rps_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void rps_error_write_before(struct rps_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void rps_error_write_memory(struct rps_error *err);

static inline int rps_error_code(int code)
{
    return code;
}

/* Report a failed allocation, and return RPS_FAILED. */
static inline int rps_error_memory(struct rps_error *err)
{
    rps_error_write_memory(err);
    return RPS_FAILED;
}

/* Return 1 if err reports a failed allocation, so that the call's input may be correct. */
int rps_error_is_memory(const struct rps_error *err);

/* Limit of the process's address space. */

/* Return how many bytes the process may map (ulimit -v, ulimit -d), or SIZE_MAX if there is no
 * limit. Rings and queues use at most a quarter of this limit, so that all other memory fits. */
size_t rps_memory_limit(void);
