/*
 * Errors: how every room says that something failed.
 *
 * A function that can fail returns 0 or a negative code below and takes `struct rps_error *err`
 * last. On failure *err holds one sentence without a final newline: what failed, on what, and what
 * the user can do. Only cli prints it. Outputs named ret_x are untouched on failure.
 */
#ifndef RPISTAT_ERROR_H
#define RPISTAT_ERROR_H

enum rps_error_code {
    RPS_FAILED = -1,         /* the operation failed; exit status 1 */
    RPS_USAGE = -2,          /* the user asked for something that makes no sense; exit status 2 */
    RPS_CANNOT_EXEC = -126,  /* the workload is there but cannot be executed; exit status 126 */
    RPS_CANNOT_FIND = -127,  /* the workload cannot be found; exit status 127 */
};

struct rps_error {
    char message[768];
};

/*
 * Write a message (printf style; cut in the middle when too long) into err, which may be NULL, and return code,
 * so that a caller can write `return rps_error_set(err, RPS_FAILED, ...)`. Cannot fail.
 */
int rps_error_set(struct rps_error *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Put "CONTEXT: " (printf style) in front of the message that err already holds; returns code.
 */
int rps_error_prefix(struct rps_error *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The error of a failed allocation; returns RPS_FAILED. */
int rps_error_memory(struct rps_error *err);

/* 1 when err is that error: what failed with it says nothing of its subject. */
int rps_error_is_memory(const struct rps_error *err);

#endif
