/*
 * Errors: how every module reports a failure.
 *
 * A function that can fail returns 0 or a negative code below and takes `struct rps_error *err`
 * last. On failure *err holds one sentence without a final newline: what failed, on what, and what
 * the user can do. Only cli prints it. Outputs named ret_x are untouched on failure.
 */
#ifndef RPISTAT_ERROR_H
#define RPISTAT_ERROR_H

enum rps_error_code {
    RPS_FAILED = -1,        /* the operation failed; exit status 1 */
    RPS_USAGE = -2,         /* the user requested something that makes no sense; exit status 2 */
    RPS_BUSY = -3,          /* another program holds the store's lock; exit status 1 */
    RPS_CANNOT_EXEC = -126, /* the workload is there but cannot be executed; exit status 126 */
    RPS_CANNOT_FIND = -127, /* the workload cannot be found; exit status 127 */
};

struct rps_error {
    char message[768];
};

/*
 * rps_error_set(err, code, format, ...): write a message (printf style; cut in the middle if too
 * long) into err, which may be NULL. Return code, so that a caller can write `return
 * rps_error_set(err, RPS_FAILED, ...)`. Cannot fail. It is a macro, and those below are inline, so
 * that the compiler and static analysis see the returned value at the call.
 */
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

/* Report a failed allocation; return RPS_FAILED. */
static inline int rps_error_memory(struct rps_error *err)
{
    rps_error_write_memory(err);
    return RPS_FAILED;
}

/* Return 1 if err reports a failed allocation, which says nothing about the subject of the call. */
int rps_error_is_memory(const struct rps_error *err);

#endif
